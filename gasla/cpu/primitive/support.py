"""The number of triangles at each edge of a simple undirected graph, or a sum over them, for all edges at once.

As in `neighbors`, each triangle u < v < w is found once, by the thread of v. It counts at three edges. Other threads
may count at u -> v and u -> w meanwhile, so each thread has its own counters, which are summed at the end. Where all
lists are short, the lists of both ends of each edge are merged instead.

The weights of the vertices opposite to an edge are summed as integers, so that the sums do not depend on the order in
which threads find triangles.

Parameters of the kernels
-------------------------
thread, threads :
    number of this thread, from 0, and of all threads
control :
    words by which threads take blocks, meet and see that the run is stopped
indptr, indices :
    (n + 1,) and (2m,) sorted adjacency lists
ranks :
    (n,) ids, the rank of each vertex by degree
starts, heads, rest_starts, rests :
    the fields of a `ByDegree`, which describes them
tallies, tally :
    (threads, n) ids and this thread's row: 1 + triangles found at the edge to each vertex, or 0
counters :
    (counting threads, m) ids, triangles at each edge that each thread has found; or one row
weighing :
    a tuple of the vertices by rank and their weights, or None to count
counts :
    (2m,) int64, the triangles of each list entry's edge, or the sum of weights
grain :
    number of vertices in a block
v, low, high, first, last :
    a vertex or a rank, and the ranges of its list and of its remainders
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

MOST_COUNTING = 8  # at most this many threads have counters of their own, one counter per edge
_ONE = np.uint64(1)
_GRAIN = np.uint64(64)  # vertices that a thread takes at once; one vertex may be much work
_LEFT_BITS = np.uint64(24)  # as in ByDegree
_LEFT = np.uint64((1 << 24) - 1)
_AHEAD = np.uint64(8)  # entries are prefetched this many list remainders ahead
_BITS = 62  # number of bits for a sum of weights
_FINE = 2.0**33  # the smallest weight has at least this many units, so its relative error is at most 2**-34
_LOOKS = 4  # work per edge, roughly, in units of one edge that is read


def sum_at_edges(graph: Graph, lists: Adjacency | ByDegree, weights: Array) -> Array | None:
    """Return the sum of the weights of the vertices opposite to each stored edge (`primitives.sum_at_edges`)."""
    weights = np.where(graph.out_degrees > 1, weights, 0)  # other vertices are in no triangle
    largest = float(weights.max(initial=0)) * graph.max_out_degree
    unit = math.ldexp(1, math.frexp(largest)[1] - _BITS)
    if not (largest < np.inf and unit > 0) or weights.min(initial=np.inf, where=weights > 0) < unit * _FINE:
        return None
    return _at_edges(graph, lists, np.rint(weights / unit).astype(np.int64)) * unit


def count_at_edges(graph: Graph, lists: Adjacency | ByDegree) -> tuple[int, Array]:
    """Return the number of triangles, and the number at each stored edge, in the order of the input."""
    counts = _at_edges(graph, lists, None)
    return int(counts.sum()) // 6, counts  # each counts at three edges, which are stored twice


def _at_edges(graph: Graph, lists: Adjacency | ByDegree, weights: Array | None) -> Array:
    """Count the triangles at each stored edge, in the order of the input, or add up the weights opposite to it."""
    n, m = graph.n, graph.m
    work, counts = _LOOKS * (n + m), np.empty(m, np.int64)
    if isinstance(lists, Adjacency):
        by = lists
        run(_merge, work, (lists.indptr, lists.indices), weights, counts, block_size(n, threads_for(work)))
    else:
        by = graph.out
        team = threads_for(work)
        ranks = np.empty(n, graph.id_dtype)
        ranks[lists.vertices] = np.arange(n, dtype=graph.id_dtype)
        kind = graph.id_dtype if weights is None else np.dtype(np.int64)
        tallies, counters = np.zeros((team, n), kind), np.zeros((min(team, MOST_COUNTING), m // 2), kind)
        weighing = None if weights is None else (lists.vertices, weights[lists.vertices])
        given = by.indptr, by.indices, ranks, *lists[1:], weighing, tallies, counters, counts
        run(_mark, work, *given, most=m * math.isqrt(m), team=team)
    found: Array = by.by_edge(counts)
    return found


@compiled
def _merge(thread, threads, control, lists, weights, counts, grain):
    """Merge the ascending lists of both ends of each edge. The count is stored for both directions."""
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
    """Count each triangle at its edges, sum the counters of all threads, and store them by the graph's own lists."""
    n, counting, tally = np.uint64(len(ranks)), len(counters), tallies[thread]
    if thread < counting:
        for taken, end in blocks(control, n, _GRAIN):  # begin with the highest ranks, which take longest
            for r in range(n - end, n - taken):
                low, high = np.uint64(starts[r]), np.uint64(starts[r + _ONE])
                if low != high:
                    first, last = np.uint64(rest_starts[r]), np.uint64(rest_starts[r + _ONE])
                    if weighing is None:
                        _count(heads, low, high, rests, first, last, tally, counters[thread])
                    else:
                        lower = indptr, indices, ranks, rests, first
                        _add_up(lower, weighing, heads, r, low, high, (tally, counters[thread]))
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
            _write(v, low, high, indices, ranks, starts, heads, rest_starts, rests, tally, counters[0], counts)


@compiled
def _count(heads, low, high, rests, first, last, tally, counters):
    """Count the triangles of one vertex at their edges.

    Its neighbors are ``heads[low:high]``. While they are counted, tally[w] is 1 more than the number of triangles at
    the edge to w.
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
            hit = before > 0
            tally[w] = before + hit
            counters[k] += hit
            hits += hit
        counters[start - _ONE] += hits  # the edge to the vertex itself
    for k in range(low, high):
        w = np.uint64(heads[k])
        counters[k] += tally[w] - 1
        tally[w] = 0


@compiled
def _add_up(lower, weighing, heads, r, low, high, sums):
    """Add the weights of triangles like `_count`: tally[w] is 1 + the weights opposite to the edge to w."""
    indptr, indices, ranks, rests, at = lower
    vertices, weights = weighing
    tally, counters = sums
    for k in range(low, high):
        tally[np.uint64(heads[k])] = 1
    v, own = np.uint64(vertices[r]), weights[r]
    for e in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
        u = np.uint64(ranks[np.uint64(indices[e])])
        if u < r:  # remainders are in the order of these
            start, theirs, found = rests[at] >> _LEFT_BITS, weights[u], 0
            for k in range(start, start + (rests[at] & _LEFT)):
                w = np.uint64(heads[k])
                before = tally[w]
                hit = before > 0
                tally[w] = before + select(hit, theirs, 0)
                counters[k] += select(hit, own, 0)
                found += select(hit, weights[w], 0)
            counters[start - _ONE] += found
            at += _ONE
    for k in range(low, high):
        w = np.uint64(heads[k])
        counters[k] += tally[w] - 1
        tally[w] = 0


@compiled
def _write(v, low, high, indices, ranks, starts, heads, rest_starts, rests, tally, counters, counts):
    """Store the counts of v's edges: to higher ranks by a table, to lower ranks in the order of remainders."""
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
