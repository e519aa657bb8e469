"""Test whether a graph is symmetric by hashing, in one pass over the edges and without transposing the adjacency lists.

Every edge i -> j adds hash(i, j) - hash(j, i) to a sum modulo 2**64. The sum of a symmetric graph is 0; any other graph
has sum 0 with a probability of about 2**-64. If values matter, their bits enter the hash. The order of edges, parallel
edges included, makes no difference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.runtime.threads import SHORT, new_control, num_threads, run_parallel

Array = np.ndarray[Any, Any]
_ODD = np.uint64(0x9E3779B97F4A7C15)
_NONE = np.empty(0, np.uint32)
_PARALLEL_FROM = 1 << 16  # number of edges from which on several threads are used


def is_symmetric(indptr: Array, indices: Array, values: Array | None = None) -> bool:
    """Return whether the edge j -> i is stored as often as i -> j, for all i and j.

    With `values`, this must hold for the edges of each value, compared by its bits.
    """
    return imbalance(indptr, indices, values) == 0


def imbalance(indptr: Array, indices: Array, values: Array | None = None, first: int = 0) -> int:
    """Return the sum of hash(i, j) - hash(j, i) over all edges i -> j, modulo 2**64.

    The adjacency lists are those of the vertices from `first` on. The sum over all vertices of a graph is 0 if the
    graph is symmetric.
    """
    indptr = indptr.astype(np.int64, copy=False)
    bits = _NONE if values is None else values.view(f"u{values.dtype.itemsize}")
    # Values of 8 and 16 bits become uint32, so that the kernel is compiled for fewer types.
    bits = bits.astype(np.uint32, copy=False) if bits.itemsize < 4 else bits
    threads = num_threads() if len(indices) >= _PARALLEL_FROM else 1
    sums = np.zeros(threads, np.uint64)
    run_parallel(_imbalance, new_control(), (indptr, indices, bits, sums, first), threads, short=len(indices) <= SHORT)
    return int(sums.sum())


@compiled
def _mix(z):  # type: ignore[no-untyped-def]  # the finalizer of splitmix64
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@compiled
def _hash(i, j, extra):  # type: ignore[no-untyped-def]
    return _mix((i << np.uint64(32) ^ j) * _ODD + extra)


@compiled
def _first_list_from(indptr, edge):  # type: ignore[no-untyped-def]
    """Return the first vertex whose adjacency list begins at position `edge` of all entries or later.

    It is found by binary search in the offsets of the lists.
    """
    low, high = 0, len(indptr) - 1
    while low < high:
        middle = (low + high) // 2
        if indptr[middle] < edge:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _imbalance(thread, threads, control, indptr, indices, bits, sums, base):  # type: ignore[no-untyped-def]
    """Compute one thread's part of the sum of hashes.

    It reads whole adjacency lists, with about m / threads edges in total.

    Parameters
    ----------
    thread, threads, control :
        the number of this thread, the number of threads, and an array by which threads see that the run is to stop
    indptr, indices :
        the adjacency lists: (n + 1,) int64 offsets and (m,) neighbors
    bits :
        (m,) unsigned integers, the bits of the value of each edge; empty if values don't matter
    sums :
        (threads,) uint64 array, to which each thread writes its part of the sum
    base :
        the id of the vertex that the first adjacency list belongs to
    """
    m = len(indices)
    first, last = _first_list_from(indptr, m * thread // threads), _first_list_from(indptr, m * (thread + 1) // threads)
    total = np.uint64(0)
    extra = np.uint64(0)
    with_values = len(bits) > 0
    for i in range(first, last):
        u = np.uint64(base + i)
        for k in range(indptr[i], indptr[i + 1]):
            v = np.uint64(indices[k])
            if with_values:
                extra = _mix(np.uint64(bits[k]) * _ODD)
            total += _hash(u, v, extra) - _hash(v, u, extra)
    sums[thread] = total
