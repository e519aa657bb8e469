"""Distributes a pass over all vertices among threads: a thread that has finished a block takes the next one."""

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

# decorator of compiled functions that are called rarely; they are compiled once and shared by all programs
stage = apart
# Decorator of kernels that sum or multiply floats by a monoid that is declared associative. LLVM may reorder these
# operations, in the same way in every run.
reassociating = functools.partial(Compiled, marks=frozenset({"reassociating"}))
# decorator of kernels that handle short vectors, which are written as tuples of numbers
packing = functools.partial(Compiled, packs=True)
# decorator of small functions in hot loops, which are compiled into their callers
inlined = functools.partial(Compiled, marks=frozenset({"inline"}))

# indices of the control words of `blocks` and `go_on`, which are in the same cache line as the word TICKET
SIZE, N, LEAVE = TICKET + 1, TICKET + 2, TICKET + 3
# with fewer vertices and edges than this, one thread runs, because waking another thread would take as long as the work
SMALL = 1 << 18


def run(kernel: Any, work: int, *args: Any, most: int = 0, loose: bool = False, team: int | None = None) -> None:
    """Call `kernel(thread, threads, control, *args)` on a number of threads that suits `work` vertices and edges.

    `most` is an upper bound of the kernel's steps. If it or `work` is large, the calling thread does not run the kernel
    but waits, so that it can react to Ctrl-C. A `loose` kernel has no barriers, so that threads may come late, as for
    `launch`. `team`, from `threads_for`, is the number of threads that arrays in `args` have room for. It is passed
    because another Python thread may change the number of threads meanwhile.
    """
    control = new_control()
    follow(lambda: _blocks_taken(control), "blocks")
    # the largest number of threads for which arrays have room; fewer threads may run
    team = threads_for(work) if team is None else team
    if team > 1 and work < SMALL * least_factor(team):
        team = 1
    run_parallel(kernel, control, args, team, short=max(work, most) <= SHORT, loose=loose)


def _blocks_taken(control: np.ndarray) -> tuple[int, int]:
    """Return how many blocks of vertices the threads have taken so far, and how many there are, for a progress bar."""
    block_count = -(-int(control[N]) // max(int(control[SIZE]), 1))
    return min(int(control[TICKET]), block_count), block_count


def threads_for(work: int) -> int:
    """Return the number of threads to use for a kernel that processes `work` vertices and edges."""
    return 1 if work < SMALL else num_threads()


def block_size(n: int, threads: int) -> np.uint64:
    """Return the number of vertices in a block that a thread takes at a time, for n vertices and a number of threads.

    Blocks are small enough to keep all threads busy, and large enough to be worth an atomic operation.
    """
    return np.uint64(min(max(n // (16 * threads), 64), 4096))


@compiled
def go_on(thread, threads, control, again):  # type: ignore[no-untyped-def]
    """Wait for all threads at a barrier, between two loops over blocks. Return False if the run was stopped.

    With `again`, the next blocks that threads take start from the first vertex again.
    """
    barrier(control, threads)
    if thread == 0:
        # one thread reads the stop flag for all, so that all threads leave at the same barrier
        control[LEAVE] = is_stopped(control)
        control[TICKET] = 0 if again else control[TICKET]
    barrier(control, threads)
    return control[LEAVE] == 0


@compiled
def blocks(control, n, size):  # type: ignore[no-untyped-def]
    """Yield the blocks of vertices that this thread takes, each as its first vertex and its end.

    This ends when none is left, or when the run is stopped. `n` is the number of vertices, and `size` that of a block.
    """
    while not is_stopped(control):
        # stored so that the progress bar, which another thread draws, can compute the number of blocks
        store_relaxed(control, SIZE, size)
        store_relaxed(control, N, n)
        start = np.uint64(fetch_add_relaxed(control, TICKET, 1)) * size
        if start >= n:
            break
        yield start, min(start + size, n)
