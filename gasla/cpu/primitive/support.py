"""Count the triangles at each edge of a simple undirected graph, or sum the weights of vertices opposite to it.

As in `neighbors`, each triangle u < v < w is found once, by the thread that processes v. It is then counted at its
three edges. Other threads may count at the edges u -> v and u -> w at the same time, so each thread has its own
counters, which are summed at the end. If all adjacency lists are short, the lists of both ends of each edge are merged
instead.

The weights of the vertices opposite to an edge are summed as integers, so that the sums do not depend on the order in
which threads find triangles.

Parameters of the kernels
-------------------------
thread, threads :
    index of this thread, from 0, and the number of threads of the run
control :
    (72,) int64 array that all threads of the run share: counters by which they take blocks of work and wait for each
    other, and the flag that stops the run
indptr, indices :
    (n + 1,) offsets of sorted adjacency lists, and (2m,) ids of neighbors
ranks :
    (n,) ids, the rank of each vertex by degree
starts, heads, rest_starts, rests :
    the fields `indptr`, `indices`, `rest_starts` and `rests` of a `ByDegree`
tallies, tally :
    (threads, n) ids and this thread's row: 1 + the number of triangles found at the edge to each vertex, or 0
counters :
    (counting threads, m) ids, the number of triangles at each edge that each thread has found; or one row of it
weighing :
    a tuple of the vertices by rank and their weights, or None to count triangles
counts :
    (2m,) int64, the number of triangles at each list entry's edge, or the sum of weights, which is written
grain :
    number of vertices in a block
v, low, high, first, last :
    a vertex or a rank; the range of its list; the range of its entries in `rests`
"""

# mypy: disable-error-code="no-untyped-def"
import math
from typing import Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.primitive.neighbors import ByDegree
from gasla.cpu.runtime.blocks import block_size, blocks, go_on, run, threads_for
from gasla.cpu.runtime.intrinsics import prefetch, select
from gasla.cpu.runtime.threads import barrier
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph

Array = np.ndarray[Any, Any]

# largest number of threads that count triangles, because each one has counters of its own, which take memory for each
# edge
MOST_COUNTING = 8
_ONE = np.uint64(1)
_GRAIN = np.uint64(64)  # number of vertices that a thread takes at once; small, because a single vertex may take long
# an entry of `ByDegree.rests` describes the rest of an adjacency list; this many low bits hold the length of the rest
_LEFT_BITS = np.uint64(24)
_LEFT = np.uint64((1 << 24) - 1)
# the rest of an adjacency list is prefetched this many rests before it is read, to hide the wait for memory
_AHEAD = np.uint64(8)
_BITS = 62  # weights are rounded to multiples of a unit; the unit is such that sums of weights are at most 2**62 units
# smallest positive weight in units, so that rounding weights to units has a relative error of at most 2**-34
_FINE = 2.0**33
_LOOKS = 4  # estimated time for each edge, in units of the time to read one edge; decides how many threads run


def sum_at_edges(graph: Graph, lists: Adjacency | ByDegree, weights: Array) -> Array | None:
    """Return for each stored edge the sum of the weights of the vertices opposite to it in triangles.

    See `primitives.sum_at_edges`.
    """
    # a vertex of degree 1 or less is in no triangle, so its weight must not make the sums overflow
    weights = np.where(graph.out_degrees > 1, weights, 0)
    largest = float(weights.max(initial=0)) * graph.max_out_degree
    unit = math.ldexp(1, math.frexp(largest)[1] - _BITS)
    if not (largest < np.inf and unit > 0) or weights.min(initial=np.inf, where=weights > 0) < unit * _FINE:
        return None
    return _count_or_sum_at_edges(graph, lists, np.rint(weights / unit).astype(np.int64)) * unit


def count_at_edges(graph: Graph, lists: Adjacency | ByDegree) -> tuple[int, Array]:
    """Return the number of triangles of the graph, and the number at each stored edge, in the order of the input."""
    counts = _count_or_sum_at_edges(graph, lists, None)
    # in `counts` each triangle occurs six times: at three edges, which are stored in both directions
    return int(counts.sum()) // 6, counts


def _count_or_sum_at_edges(graph: Graph, lists: Adjacency | ByDegree, weights: Array | None) -> Array:
    """Return the number of triangles at each stored edge, or the summed weights of the vertices opposite to it in
    triangles.

    Edges are in the order of the input. `weights` has the weight of each vertex, or is None to count triangles.
    """
    n, m = graph.n, graph.m
    work, counts = _LOOKS * (n + m), np.empty(m, np.int64)
    if isinstance(lists, Adjacency):
        adjacency = lists
        run(_merge, work, (lists.indptr, lists.indices), weights, counts, block_size(n, threads_for(work)))
    else:
        adjacency = graph.out
        team = threads_for(work)
        ranks = np.empty(n, graph.id_dtype)
        ranks[lists.vertices] = np.arange(n, dtype=graph.id_dtype)
        count_dtype = graph.id_dtype if weights is None else np.dtype(np.int64)
        tallies, counters = np.zeros((team, n), count_dtype), np.zeros((min(team, MOST_COUNTING), m // 2), count_dtype)
        weighing = None if weights is None else (lists.vertices, weights[lists.vertices])
        arrays = adjacency.indptr, adjacency.indices, ranks, *lists[1:], weighing, tallies, counters, counts
        run(_mark, work, *arrays, most=m * math.isqrt(m), team=team)
    result: Array = adjacency.by_edge(counts)
    return result


@compiled
def _merge(thread, threads, control, lists, weights, counts, grain):
    """Count the triangles at each edge by merging the sorted adjacency lists of its two ends.

    The count is stored at both entries of the edge, one for each direction.
    """
    indptr, indices = lists
    for start, end in blocks(control, np.uint64(len(indptr) - 1), grain):
        for u in range(start, end):
            low, high = np.uint64(indptr[u]), np.uint64(indptr[u + _ONE])
            for at in range(low, high):
                v = np.uint64(indices[at])
                if v >= u:
                    break
                i, j, j_end, count = low, np.uint64(indptr[v]), np.uint64(indptr[v + _ONE]), 0
                back = j
                while j < j_end:
                    b = indices[j]
                    while i < high and indices[i] < b:
                        i += _ONE
                    is_common = i < high and indices[i] == b
                    count += is_common if weights is None else select(is_common, weights[np.uint64(b)], 0)
                    if np.uint64(b) == u:
                        back = j
                    j += _ONE
                counts[at] = counts[back] = count


@compiled
def _mark(
    thread, threads, control, indptr, indices, ranks,
    starts, heads, rest_starts, rests, weighing, tallies, counters, counts,
):  # fmt: skip
    """Count each triangle at its three edges, add up the counters of all threads, and store the sums by adjacency list
    entry.
    """
    n, counting, tally = np.uint64(len(ranks)), len(counters), tallies[thread]
    if thread < counting:
        # begin with the highest ranks, as their vertices take longest, and should not come last
        for taken, end in blocks(control, n, _GRAIN):
            for r in range(n - end, n - taken):
                low, high = np.uint64(starts[r]), np.uint64(starts[r + _ONE])
                if low != high:
                    first, last = np.uint64(rest_starts[r]), np.uint64(rest_starts[r + _ONE])
                    if weighing is None:
                        _count(heads, low, high, rests, first, last, tally, counters[thread])
                    else:
                        lower = indptr, indices, ranks, rests, first
                        _add_weights(lower, weighing, heads, r, low, high, (tally, counters[thread]))
    if not go_on(thread, threads, control, True):
        return
    edges = np.uint64(len(heads))
    for k in range(
        edges * np.uint64(thread) // np.uint64(threads), edges * np.uint64(thread + 1) // np.uint64(threads)
    ):
        for other in range(1, counting):
            counters[0, k] += counters[other, k]
    barrier(control, threads)
    for start, end in blocks(control, n, _GRAIN):
        for v in range(start, end):
            low, high = np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])
            _store_counts(v, low, high, indices, ranks, starts, heads, rest_starts, rests, tally, counters[0], counts)


@compiled
def _count(heads, low, high, rests, first, last, tally, counters):
    """Count the triangles of one vertex with a lower and a higher neighbor by rank, at each of the triangles' three
    edges.

    ``heads[low:high]`` are the vertex's neighbors of higher rank. Meanwhile ``tally[w]`` is 1 more than the number of
    triangles at the edge to w.
    """
    for k in range(low, high):
        tally[np.uint64(heads[k])] = 1
    for at in range(first, last):
        ahead = rests[min(at + _AHEAD, last - _ONE)] >> _LEFT_BITS
        prefetch(heads, ahead)
        prefetch(counters, ahead)
        start, hits = rests[at] >> _LEFT_BITS, 0
        for k in range(start, start + (rests[at] & _LEFT)):
            w = np.uint64(heads[k])
            before = tally[w]
            is_hit = before > 0
            tally[w] = before + is_hit
            counters[k] += is_hit
            hits += is_hit
        # the entry before the rest of the list is the edge from the list's owner to the vertex that is processed
        counters[start - _ONE] += hits
    for k in range(low, high):
        w = np.uint64(heads[k])
        counters[k] += tally[w] - 1
        tally[w] = 0


@compiled
def _add_weights(lower, weighing, heads, r, low, high, sums):
    """Add, at each edge of the triangles of the vertex of rank r, the weight of the opposite vertex to the edge's sum.

    This works like `_count`. Meanwhile ``tally[w]`` is 1 more than the sum of weights opposite to the edge to w.
    """
    indptr, indices, ranks, rests, at = lower
    vertices, weights = weighing
    tally, counters = sums
    for k in range(low, high):
        tally[np.uint64(heads[k])] = 1
    v, weight_of_v = np.uint64(vertices[r]), weights[r]
    for e in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
        u = np.uint64(ranks[np.uint64(indices[e])])
        # `rests` has an entry for each neighbor of lower rank, in the order of this list, so `at` steps along with `e`
        if u < r:
            start, weight_of_u, weight_sum = rests[at] >> _LEFT_BITS, weights[u], 0
            for k in range(start, start + (rests[at] & _LEFT)):
                w = np.uint64(heads[k])
                before = tally[w]
                hit = before > 0
                tally[w] = before + select(hit, weight_of_u, 0)
                counters[k] += select(hit, weight_of_v, 0)
                weight_sum += select(hit, weights[w], 0)
            counters[start - _ONE] += weight_sum
            at += _ONE
    for k in range(low, high):
        w = np.uint64(heads[k])
        counters[k] += tally[w] - 1
        tally[w] = 0


@compiled
def _store_counts(v, low, high, indices, ranks, starts, heads, rest_starts, rests, tally, counters, counts):
    """Store the numbers of triangles at v's edges in the order of v's adjacency list, in `counts`.

    While triangles are counted, these numbers are stored by the ranks of vertices. For neighbors of higher rank, they
    are looked up in `tally`. For neighbors of lower rank, `rests` tells where they are.
    """
    rank = ranks[v]
    r = np.uint64(rank)
    for k in range(np.uint64(starts[r]), np.uint64(starts[r + _ONE])):
        tally[np.uint64(heads[k])] = counters[k]
    at = np.uint64(rest_starts[r])
    for k in range(low, high):
        other = ranks[np.uint64(indices[k])]
        if other > rank:
            counts[k] = tally[np.uint64(other)]
        else:
            counts[k] = counters[(rests[at] >> _LEFT_BITS) - _ONE]
            at += _ONE
