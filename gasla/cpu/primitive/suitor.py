"""A maximal matching by proposals: each vertex proposes to the best neighbor that would accept it.

A neighbor accepts if the edge is better for it than that of its suitor, who is then rejected and proposes elsewhere. In
the end, any two vertices of which one is the suitor of the other are each other's suitors. They are the matching of a
sequential loop over the edges, from best to worst. Threads take vertices in any order: the result is the same.

To find the neighbor to propose to, a list is searched. After `_SEARCHES` of these a heap of its entries is made, so
that a vertex which is rejected often does not read its list as often.

F. Manne, M. Halappanavar: New Effective Multithreaded Matching Algorithms. IPDPS 2014.

Parameters of the kernels
-------------------------
thread, threads :
    number of this thread, from 0, and of all threads
control :
    words by which threads take blocks, meet and see that the run is stopped
indptr, indices :
    (n + 1,) and (m,) adjacency lists
weights :
    (m,) weight of each list entry
degrees :
    (n,) uint8, by which ties of weights are broken
bars :
    (n,) weight below which a vertex rejects
suitors :
    (n,) ids, the suitor of each vertex, or -1
offers :
    (n,) weight of the edge along which each vertex proposed last
searches :
    (n,) uint8, how often each list was searched before it became a heap
heaps, sizes :
    (m,) and (n,) heaps of positions, each in the place of the list, and their sizes
grain :
    number of vertices in a block
u, v, k :
    a vertex, its neighbor, and the position of the edge in `indices`
low, high, size, at :
    positions in the list of u, or in its heap
"""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from gasla.arrays import index_dtype
from gasla.compiler.function import compiled
from gasla.cpu.runtime.blocks import block_size, blocks, inlined, run, threads_for
from gasla.cpu.runtime.intrinsics import (
    compare_and_swap_acq_rel,
    load_acquire,
    load_relaxed,
    store_relaxed,
    store_release,
)
from gasla.cpu.runtime.threads import is_stopped
from gasla.graph.adjacency import Adjacency

Array = np.ndarray[Any, Any]

_ONE, _TWO = np.uint64(1), np.uint64(2)
_BITS = np.uint64(48)  # bits of u ^ v in an edge's key; the degree is stored above
_SEARCHES = 32  # searches of a vertex's list before its entries are put on a heap
_LOOKS = 16  # rough work per edge, in units of the work to read one edge


def match_heaviest(lists: Adjacency, weights: Array, degrees: Array) -> Array:
    """Return the mate of each vertex, or -1 (`primitives.match_heaviest`). Lists have each edge in both directions."""
    n, m, place_type = len(lists.indptr) - 1, len(lists.indices), index_dtype(len(lists.indices))
    least = weights.dtype.type(-np.inf if weights.dtype.kind == "f" else np.iinfo(weights.dtype).min)
    bars, offers, suitors = np.full(n, least), np.full(n, least), np.full(n, -1, lists.indices.dtype)
    heaps, sizes, searches = np.empty(m, place_type), np.zeros(n, place_type), np.zeros(n, np.uint8)
    given = lists.indptr, lists.indices, weights, degrees, bars, suitors, offers, searches, heaps, sizes
    run(_match, n + m, *given, block_size(n, threads_for(n + m)), most=_LOOKS * (n + m))
    return suitors


@compiled
def _match(
    thread, threads, control, indptr, indices, weights, degrees, bars, suitors, offers, searches, heaps, sizes, grain
):
    """Let each vertex propose to its best neighbor. A vertex that is rejected proposes again.

    `offers[u]` is the weight of the edge along which u proposed last. `bars[v]` is that of the edge of v's suitor, or
    of an earlier one: it rejects most others without a look at the suitor.
    """
    for start, stop in blocks(control, np.uint64(len(suitors)), grain):
        for first in range(start, stop):
            next_one = np.int64(first)
            while next_one >= 0:
                u = np.uint64(next_one)
                k = _candidate(indptr, indices, weights, degrees, bars, suitors, offers, searches, heaps, sizes, u)
                if k < 0:
                    break
                next_one = _propose(indices, weights, degrees, bars, suitors, offers, u, np.uint64(k))
                if is_stopped(control):
                    return


@compiled
def _propose(indices, weights, degrees, bars, suitors, offers, u, k):
    """Propose along the edge at k. Return the vertex that has to propose next: the one rejected, u itself, or -1."""
    v = np.uint64(indices[k])
    store_release(offers, u, weights[k])
    while _beats_suitor(weights, degrees, suitors, offers, u, v, k):
        suitor = np.int64(load_acquire(suitors, v))
        is_better = suitor < 0 or _is_better(weights, degrees, offers, u, v, k, np.uint64(suitor))
        if is_better and compare_and_swap_acq_rel(suitors, v, suitor, u):
            store_relaxed(bars, v, weights[k])
            return suitor
    return np.int64(u)


@compiled
def _candidate(indptr, indices, weights, degrees, bars, suitors, offers, searches, heaps, sizes, u):
    """Return the position of u's best edge to a neighbor that would accept it, or -1."""
    low, high = np.uint64(indptr[u]), np.uint64(indptr[u + _ONE])
    if searches[u] < _SEARCHES:
        searches[u] += 1
        return _search(indices, weights, degrees, bars, suitors, offers, u, low, high)
    if searches[u] == _SEARCHES:
        searches[u] += 1
        sizes[u] = _make_heap(indices, weights, degrees, bars, suitors, offers, heaps, u, low, high)
    while sizes[u] > 0:
        size = np.uint64(sizes[u]) - _ONE
        k = np.uint64(heaps[low])
        sizes[u], heaps[low] = size, heaps[low + size]
        _sift(indices, weights, degrees, heaps, u, low, size, np.uint64(0))
        if _accepts(weights, degrees, bars, suitors, offers, u, np.uint64(indices[k]), k):
            return np.int64(k)
    return np.int64(-1)


@compiled
def _search(indices, weights, degrees, bars, suitors, offers, u, low, high):
    """Search the whole list of u, from `low` to `high`."""
    best = np.int64(-1)
    for k in range(low, high):
        v = np.uint64(indices[k])
        is_best = v != u and (best < 0 or _precedes(indices, weights, degrees, u, k, np.uint64(best)))
        if is_best and _accepts(weights, degrees, bars, suitors, offers, u, v, k):
            best = np.int64(k)
    return best


@inlined
def _key(degrees, u, v):
    """Order edges of equal weight: less is better. No two edges of a vertex to distinct neighbors are equal."""
    return np.uint64(min(degrees[u], degrees[v])) << _BITS | (u ^ v)


@inlined
def _precedes(indices, weights, degrees, u, a, b):
    """Return whether u's edge at position a is better than the one at b."""
    if weights[a] != weights[b]:
        return weights[a] > weights[b]
    return _key(degrees, u, np.uint64(indices[a])) < _key(degrees, u, np.uint64(indices[b]))


@inlined
def _accepts(weights, degrees, bars, suitors, offers, u, v, k):
    """Return whether v prefers u, along the edge at k, to its suitor.

    It may turn out later that it does not any more.
    """
    bar = load_relaxed(bars, v)
    if weights[k] != bar:
        return weights[k] > bar
    return _beats_suitor(weights, degrees, suitors, offers, u, v, k)


@inlined
def _beats_suitor(weights, degrees, suitors, offers, u, v, k):
    """Return whether v has no suitor, or prefers u, along the edge at k.

    A suitor that is rejected never returns. So one that is still there after its offer was read had made that offer.
    """
    while True:
        suitor = np.int64(load_acquire(suitors, v))
        if suitor < 0 or _is_better(weights, degrees, offers, u, v, k, np.uint64(suitor)):
            return True
        if np.int64(load_relaxed(suitors, v)) == suitor:
            return False


@inlined
def _is_better(weights, degrees, offers, u, v, k, suitor):
    """Return whether the edge at k, from u to v, is better than the edge of v's suitor."""
    offer = load_acquire(offers, suitor)
    if weights[k] != offer:
        return weights[k] > offer
    return _key(degrees, u, v) < _key(degrees, suitor, v)


@compiled
def _make_heap(indices, weights, degrees, bars, suitors, offers, heaps, u, low, high):
    """Make a heap, the best first, of the entries of u's list whose vertices would accept u. Return its size."""
    size = np.uint64(0)
    for k in range(low, high):
        v = np.uint64(indices[k])
        if v != u and _accepts(weights, degrees, bars, suitors, offers, u, v, k):
            heaps[low + size] = k
            size += _ONE
    for i in range(size // _TWO):
        _sift(indices, weights, degrees, heaps, u, low, size, size // _TWO - _ONE - i)
    return size


@compiled
def _sift(indices, weights, degrees, heaps, u, low, size, at):
    """Move the entry at a place of the heap down until none below it is better."""
    while _TWO * at + _ONE < size:
        child = _TWO * at + _ONE
        if child + _ONE < size:
            a, b = np.uint64(heaps[low + child + _ONE]), np.uint64(heaps[low + child])
            child += _precedes(indices, weights, degrees, u, a, b)
        top, below = np.uint64(heaps[low + at]), np.uint64(heaps[low + child])
        if not _precedes(indices, weights, degrees, u, below, top):
            return
        heaps[low + at], heaps[low + child] = below, top
        at = child
