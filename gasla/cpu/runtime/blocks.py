"""Shares a pass over all vertices among threads: a free one takes the next block."""

import functools
from typing import Any

import numpy as np

from gasla.compiler.function import Compiled, apart, compiled
from gasla.cpu.runtime.intrinsics import fetch_add
from gasla.cpu.runtime.threads import SHORT, STOP, TICKET, barrier, new_control, num_threads, run_parallel
from gasla.progress import follow

stage = apart  # for what is called seldom
# For sums and products of floats, which a monoid's owner says are associative: several at once, in a fixed order.
reassociating = functools.partial(Compiled, marks=frozenset({"reassociating"}))
packing = functools.partial(Compiled, packs=True)  # for short vectors, whose text is that of so many numbers
inlined = functools.partial(Compiled, marks=frozenset({"inline"}))  # for helpers in hot loops

SIZE, N, LEAVE = TICKET + 1, TICKET + 2, TICKET + 3  # of `blocks` and `go_on`, in the ticket's cache line
SMALL = 1 << 18  # vertices and edges below which one thread does all: to wake another takes about as long


def run(kernel: Any, work: int, *args: Any, most: int = 0, loose: bool = False) -> None:
    """Call `kernel(thread, threads, control, *args)` on as many threads as `work` vertices and edges deserve.

    A large run leaves the caller's thread free even if it has but one, so that Ctrl-C is heard; also one that may come
    to as `most` steps. `loose` as for `run_parallel`.
    """
    control = new_control()
    follow(lambda: _blocks_taken(control), "blocks")
    run_parallel(kernel, control, args, threads_for(work), short=max(work, most) <= SHORT, loose=loose)


def _blocks_taken(control: np.ndarray) -> tuple[int, int]:
    """How many blocks were taken, and of how many."""
    count = -(-int(control[N]) // max(int(control[SIZE]), 1))
    return min(int(control[TICKET]), count), count


def threads_for(work: int) -> int:
    """How many threads share `work` vertices and edges."""
    return 1 if work < SMALL else num_threads()


def block_size(n: int, threads: int) -> np.uint64:
    """Vertices that a thread takes at once: few enough that all threads stay busy, enough to be worth a ticket."""
    return np.uint64(min(max(n // (16 * threads), 64), 4096))


@compiled
def go_on(thread, threads, control, again):  # type: ignore[no-untyped-def]
    """Wait for all; False if all are to leave, as this pass was stopped. Blocks are given out `again` if wanted."""
    barrier(control, threads)
    if thread == 0:
        control[LEAVE] = control[STOP]  # read once, so that all threads leave at the same barrier
        control[TICKET] = 0 if again else control[TICKET]
    barrier(control, threads)
    return control[LEAVE] == 0


@compiled
def blocks(control, n, size):  # type: ignore[no-untyped-def]
    """The blocks for this thread to work on, each from where to where, until none is left or the run is to stop."""
    while not control[STOP]:
        control[SIZE], control[N] = size, n  # for a progress bar
        start = np.uint64(fetch_add(control, TICKET, 1)) * size
        if start >= n:
            break
        yield start, min(start + size, n)
