"""The CPU kernels that `ceilings` times, of which each exercises one hardware limit on all threads."""

# mypy: disable-error-code="no-untyped-def"
import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.runtime.blocks import inlined
from gasla.cpu.runtime.intrinsics import fetch_add_relaxed
from gasla.cpu.runtime.threads import barrier

_A, _B = np.uint32(0x9E3779B1), np.uint32(0x85EBCA77)
_FIRST, _LAST = np.uint32(15), np.uint32(13)


@inlined
def _scattered(x):
    x = np.uint32(x * _A)
    x ^= x >> _FIRST
    x = np.uint32(x * _B)
    return x ^ (x >> _LAST)


@compiled
def copy(thread, threads, control, a, b, rounds):
    """Copy this thread's part of array `a` to `b`, and back. There are `rounds` copies in total, of alternating
    direction.
    """
    first, last = np.uint64(len(a) * thread // threads), np.uint64(len(a) * (thread + 1) // threads)
    for _ in range(rounds):
        for i in range(first, last):
            b[i] = a[i]
        a, b = b, a


@compiled
def gather(thread, threads, control, x, reads, sums):
    """Read `reads` 4-byte words at random positions of the array `x`, whose length is a power of two."""
    k, mask = np.uint32(thread) * reads, np.uint32(len(x) - 1)
    a = b = c = d = np.uint32(0)
    for i in range(k, k + reads, np.uint32(4)):
        a += x[_scattered(i) & mask]
        b += x[_scattered(i + np.uint32(1)) & mask]
        c += x[_scattered(i + np.uint32(2)) & mask]
        d += x[_scattered(i + np.uint32(3)) & mask]
    sums[64 * thread] = a + b + c + d


@compiled
def add(thread, threads, control, x, adds):
    """Add 1 atomically to `adds` 4-byte words at random positions of the array `x`, whose length is a power of two."""
    k, mask = np.uint32(thread) * adds, np.uint32(len(x) - 1)
    for i in range(adds):
        fetch_add_relaxed(x, _scattered(k + np.uint32(i)) & mask, np.uint32(1))


@compiled
def wait(thread, threads, control, rounds):
    """Wait at a barrier for all other threads, `rounds` times."""
    for _ in range(rounds):
        barrier(control, threads)
