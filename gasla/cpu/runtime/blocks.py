"""Distributes a pass over all vertices among threads: a thread that is free takes the next block."""

import functools
from typing import Any

import numpy as np

from gasla.compiler.function import Compiled, apart, compiled
from gasla.cpu.runtime.intrinsics import fetch_add_relaxed, store_relaxed
from gasla.cpu.runtime.threads import (
    SHORT,
    TICKET,
    barrier,
    is_stopped,
    least_factor,
    new_control,
    num_threads,
    run_parallel,
)
from gasla.progress import follow

stage = apart  # decorates functions that are called rarely
# For sums and products of floats that a monoid declares associative: they are reordered, always in the same way.
reassociating = functools.partial(Compiled, marks=frozenset({"reassociating"}))
packing = functools.partial(Compiled, packs=True)  # for short vectors, which are written as tuples of numbers
inlined = functools.partial(Compiled, marks=frozenset({"inline"}))  # decorates helpers in hot loops

SIZE, N, LEAVE = TICKET + 1, TICKET + 2, TICKET + 3  # words of `blocks` and `go_on`, in the cache line of the ticket
SMALL = 1 << 18  # vertices and edges below which one thread runs: waking another takes as long


def run(kernel: Any, work: int, *args: Any, most: int = 0, loose: bool = False, team: int | None = None) -> None:
    """Call `kernel(thread, threads, control, *args)` on a number of threads that suits `work` vertices and edges.

    If `work` or `most`, a bound for its steps, is large, the calling thread takes no part, so that it can react to
    Ctrl-C. `loose` is as for `launch`. `team`, from `threads_for`, is the number of threads that arrays of `args` are
    made for; the number may change meanwhile, as another thread of Python may set it.
    """
    control = new_control()
    follow(lambda: _blocks_taken(control), "blocks")
    team = threads_for(work) if team is None else team  # fewer may run
    if team > 1 and work < SMALL * least_factor(team):
        team = 1
    run_parallel(kernel, control, args, team, short=max(work, most) <= SHORT, loose=loose)


def _blocks_taken(control: np.ndarray) -> tuple[int, int]:
    """Return the number of blocks taken, and of all blocks."""
    count = -(-int(control[N]) // max(int(control[SIZE]), 1))
    return min(int(control[TICKET]), count), count


def threads_for(work: int) -> int:
    """Return the number of threads for `work` vertices and edges."""
    return 1 if work < SMALL else num_threads()


def block_size(n: int, threads: int) -> np.uint64:
    """Return the number of vertices of a block.

    It is small enough to keep all threads busy, and worth an atomic operation.
    """
    return np.uint64(min(max(n // (16 * threads), 64), 4096))


@compiled
def go_on(thread, threads, control, again):  # type: ignore[no-untyped-def]
    """Wait for all threads.

    Return False if the pass was stopped. With `again`, blocks start from the first vertex again.
    """
    barrier(control, threads)
    if thread == 0:
        control[LEAVE] = is_stopped(control)  # read once, so that all threads leave at the same barrier
        control[TICKET] = 0 if again else control[TICKET]
    barrier(control, threads)
    return control[LEAVE] == 0


@compiled
def blocks(control, n, size):  # type: ignore[no-untyped-def]
    """Yield the blocks of this thread, as first vertex and end, until none is left or the run is stopped."""
    while not is_stopped(control):
        store_relaxed(control, SIZE, size)  # a progress bar reads it
        store_relaxed(control, N, n)
        start = np.uint64(fetch_add_relaxed(control, TICKET, 1)) * size
        if start >= n:
            break
        yield start, min(start + size, n)
