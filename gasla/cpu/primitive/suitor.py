"""Compute a maximal matching of heavy edges: each vertex proposes to its best neighbor that would accept it.

A neighbor accepts if the edge is better for it than the edge of its present suitor, the vertex whose proposal it holds.
That suitor is then rejected, and proposes to another neighbor. In the end suitors are mutual, and these pairs are the
matching. It is the matching that a sequential loop over the edges, from best to worst, would find. Threads may take
vertices in any order, as the result is the same.

To find the neighbor to propose to, a vertex searches its adjacency list. After `_SEARCHES` searches it makes a heap of
the list's entries instead, so that a vertex which is rejected often does not read its whole list each time.

F. Manne, M. Halappanavar: New Effective Multithreaded Matching Algorithms. IPDPS 2014.

Parameters of the kernels
-------------------------
thread, threads :
    index of this thread, from 0, and the number of threads of the run
control :
    (72,) int64 array that all threads of the run share: counters by which they take blocks of work and wait for each
    other, and the flag that stops the run
indptr, indices :
    (n + 1,) offsets of the adjacency lists, and (m,) ids of neighbors
weights :
    (m,) weight of each list entry
degrees :
    (n,) uint8, the degree of each vertex, up to 255, which decides between edges of equal weight
bars :
    (n,) weights: a vertex rejects proposals along lighter edges
suitors :
    (n,) ids, the suitor of each vertex, or -1
offers :
    (n,) weight of the edge along which each vertex proposed last
searches :
    (n,) uint8, how often each list was searched before it became a heap
heaps, sizes :
    (m,) heaps of positions in `indices`, each in the range of its vertex's list; (n,) the sizes of the heaps
grain :
    number of vertices in a block
u, v, k :
    a vertex, a neighbor of it, and the position of the edge between them in `indices`
low, high, size, at :
    the range of u's list in `indices`; the size of u's heap; a position on that heap
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
# number of low bits of the key of an edge u - v that hold u ^ v; the smaller degree of its ends is in the bits above
_BITS = np.uint64(48)
_SEARCHES = 32  # number of times that a vertex's list is searched before its entries are put on a heap
_LOOKS = 16  # estimated time for each edge, in units of the time to read one edge; tells whether the run takes long


def match_heaviest(lists: Adjacency, weights: Array, degrees: Array) -> Array:
    """Return the vertex that each vertex is matched with in a matching of heavy edges, or -1
    (`primitives.match_heaviest`).

    The adjacency lists have each edge in both directions.
    """
    n, m, place_type = len(lists.indptr) - 1, len(lists.indices), index_dtype(len(lists.indices))
    lightest = weights.dtype.type(-np.inf if weights.dtype.kind == "f" else np.iinfo(weights.dtype).min)
    bars, offers, suitors = np.full(n, lightest), np.full(n, lightest), np.full(n, -1, lists.indices.dtype)
    heaps, sizes, searches = np.empty(m, place_type), np.zeros(n, place_type), np.zeros(n, np.uint8)
    arrays = lists.indptr, lists.indices, weights, degrees, bars, suitors, offers, searches, heaps, sizes
    run(_match, n + m, *arrays, block_size(n, threads_for(n + m)), most=_LOOKS * (n + m))
    return suitors


@compiled
def _match(
    thread, threads, control, indptr, indices, weights, degrees, bars, suitors, offers, searches, heaps, sizes, grain
):
    """Match vertices: let each propose to its best neighbor. A vertex that is rejected proposes again, to another
    neighbor.

    ``offers[u]`` is the weight of the edge along which u proposed last. ``bars[v]`` is the weight of the edge from v to
    its suitor, the vertex whose proposal v holds, or to an earlier suitor. Most proposals are rejected by comparing
    their weight with it, without reading the suitor.
    """
    for start, stop in blocks(control, np.uint64(len(suitors)), grain):
        for first_proposer in range(start, stop):
            proposer = np.int64(first_proposer)
            while proposer >= 0:
                u = np.uint64(proposer)
                k = _best_candidate(indptr, indices, weights, degrees, bars, suitors, offers, searches, heaps, sizes, u)
                if k < 0:
                    break
                proposer = _propose(indices, weights, degrees, bars, suitors, offers, u, np.uint64(k))
                if is_stopped(control):
                    return


@compiled
def _propose(indices, weights, degrees, bars, suitors, offers, u, k):
    """Let vertex u propose a match along the edge at position k. Return the vertex that has to propose next, or -1 if
    none.

    This is the vertex whose proposal is rejected in favor of u, or u itself if a better proposal came first.
    """
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
def _best_candidate(indptr, indices, weights, degrees, bars, suitors, offers, searches, heaps, sizes, u):
    """Return the position of u's best edge to a neighbor that would accept a proposal, or -1 if there is none."""
    low, high = np.uint64(indptr[u]), np.uint64(indptr[u + _ONE])
    if searches[u] < _SEARCHES:
        searches[u] += 1
        return _search_list(indices, weights, degrees, bars, suitors, offers, u, low, high)
    if searches[u] == _SEARCHES:
        searches[u] += 1
        sizes[u] = _make_heap(indices, weights, degrees, bars, suitors, offers, heaps, u, low, high)
    while sizes[u] > 0:
        size = np.uint64(sizes[u]) - _ONE
        k = np.uint64(heaps[low])
        sizes[u], heaps[low] = size, heaps[low + size]
        _sift_down(indices, weights, degrees, heaps, u, low, size, np.uint64(0))
        if _accepts(weights, degrees, bars, suitors, offers, u, np.uint64(indices[k]), k):
            return np.int64(k)
    return np.int64(-1)


@compiled
def _search_list(indices, weights, degrees, bars, suitors, offers, u, low, high):
    """Return the position of u's best edge to a neighbor that would accept a proposal, by reading all of u's list.

    Return -1 if no neighbor would accept.
    """
    best = np.int64(-1)
    for k in range(low, high):
        v = np.uint64(indices[k])
        is_best = v != u and (best < 0 or _precedes(indices, weights, degrees, u, k, np.uint64(best)))
        if is_best and _accepts(weights, degrees, bars, suitors, offers, u, v, k):
            best = np.int64(k)
    return best


@inlined
def _tie_breaker(degrees, u, v):
    """Return a number for the edge between u and v that decides between edges of equal weight: the smaller one is
    better.

    The number is unique among the edges of u to different neighbors.
    """
    return np.uint64(min(degrees[u], degrees[v])) << _BITS | (u ^ v)


@inlined
def _precedes(indices, weights, degrees, u, a, b):
    """Return whether u's edge at position a is better than u's edge at position b: heavier, or first in a tie."""
    if weights[a] != weights[b]:
        return weights[a] > weights[b]
    return _tie_breaker(degrees, u, np.uint64(indices[a])) < _tie_breaker(degrees, u, np.uint64(indices[b]))


@inlined
def _accepts(weights, degrees, bars, suitors, offers, u, v, k):
    """Return whether vertex v would accept a proposal of a match from vertex u along the edge at position k.

    v accepts if it has no proposal yet, or a worse one. Another thread may make a better proposal to v at any time, so
    the proposal may be rejected nevertheless.
    """
    bar = load_relaxed(bars, v)
    if weights[k] != bar:
        return weights[k] > bar
    return _beats_suitor(weights, degrees, suitors, offers, u, v, k)


@inlined
def _beats_suitor(weights, degrees, suitors, offers, u, v, k):
    """Return whether v prefers u, along the edge at position k, to its suitor, the vertex whose proposal v holds.

    A suitor that was rejected never becomes v's suitor again. So if v still has the same suitor after the weight of
    this suitor's offer was read, the offer was the one made to v.
    """
    while True:
        suitor = np.int64(load_acquire(suitors, v))
        if suitor < 0 or _is_better(weights, degrees, offers, u, v, k, np.uint64(suitor)):
            return True
        if np.int64(load_relaxed(suitors, v)) == suitor:
            return False


@inlined
def _is_better(weights, degrees, offers, u, v, k, suitor):
    """Return whether the edge from u to v at position k is better than the edge from v's suitor to v.

    The heavier edge is better. Between edges of equal weight, `_tie_breaker` decides.
    """
    offer = load_acquire(offers, suitor)
    if weights[k] != offer:
        return weights[k] > offer
    return _tie_breaker(degrees, u, v) < _tie_breaker(degrees, suitor, v)


@compiled
def _make_heap(indices, weights, degrees, bars, suitors, offers, heaps, u, low, high):
    """Make a heap, the best first, of u's edges to neighbors that would accept a proposal. Return its size."""
    size = np.uint64(0)
    for k in range(low, high):
        v = np.uint64(indices[k])
        if v != u and _accepts(weights, degrees, bars, suitors, offers, u, v, k):
            heaps[low + size] = k
            size += _ONE
    for i in range(size // _TWO):
        _sift_down(indices, weights, degrees, heaps, u, low, size, size // _TWO - _ONE - i)
    return size


@compiled
def _sift_down(indices, weights, degrees, heaps, u, low, size, at):
    """Move the edge at position `at` of u's heap down until no edge below it is better."""
    while _TWO * at + _ONE < size:
        child = _TWO * at + _ONE
        if child + _ONE < size:
            next_child, first_child = np.uint64(heaps[low + child + _ONE]), np.uint64(heaps[low + child])
            child += _precedes(indices, weights, degrees, u, next_child, first_child)
        top, below = np.uint64(heaps[low + at]), np.uint64(heaps[low + child])
        if not _precedes(indices, weights, degrees, u, below, top):
            return
        heaps[low + at], heaps[low + child] = below, top
        at = child
