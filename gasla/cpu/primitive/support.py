"""The number of triangles at each edge of a simple undirected graph, for all edges at once.

As in `neighbors`, each triangle u < v < w is found once, by the thread of v. It counts at three edges. Other threads
may count at u -> v and u -> w meanwhile, so each thread has its own counters, which are summed at the end. Where all
lists are short, the lists of both ends of each edge are merged instead.
"""

# mypy: disable-error-code="no-untyped-def"
import math
from typing import Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.primitive.neighbors import ByDegree
from gasla.cpu.runtime.blocks import block_size, blocks, go_on, run, threads_for
from gasla.cpu.runtime.intrinsics import prefetch
from gasla.cpu.runtime.threads import barrier
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph

Array = np.ndarray[Any, Any]

MOST_COUNTING = 8  # at most this many threads have counters of their own, one counter per edge
_ONE = np.uint64(1)
_GRAIN = np.uint64(64)  # vertices that a thread takes at once; one vertex may be much work
_LEFT_BITS = np.uint64(24)  # as in ByDegree
_LEFT = np.uint64((1 << 24) - 1)
_AHEAD = np.uint64(8)  # list remainders between the current one and the one whose entries are prefetched
_LOOKS = 4  # work per edge, roughly, in units of one edge that is read


def count_at_edges(graph: Graph, lists: Adjacency | ByDegree) -> tuple[int, Array]:
    """Return the number of triangles, and the number at each stored edge, in the order of the input."""
    n, m = graph.n, graph.m
    work, counts = _LOOKS * (n + m), np.empty(m, np.int64)
    if isinstance(lists, Adjacency):
        by = lists
        run(_merge, work, lists.indptr, lists.indices, counts, block_size(n, threads_for(work)))
    else:
        by = graph.out
        team = threads_for(work)
        ranks = np.empty(n, graph.id_dtype)
        ranks[lists.vertices] = np.arange(n, dtype=graph.id_dtype)
        tallies = np.zeros((team, n), graph.id_dtype)
        counters = np.zeros((min(team, MOST_COUNTING), m // 2), graph.id_dtype)
        most = m * math.isqrt(m)
        run(_mark, work, by.indptr, by.indices, ranks, *lists[1:], tallies, counters, counts, most=most, team=team)
    total = int(counts.sum()) // 6  # each counts at three edges, which are stored twice
    return total, by.by_edge(counts)


@compiled
def _merge(thread, threads, control, indptr, indices, counts, grain):
    """Merge the ascending lists of both ends of each edge; the count is stored for both directions."""
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
                    count += i < high and indices[i] == b
                    if np.uint64(b) == u:
                        back = j
                    j += _ONE
                counts[at] = counts[back] = count


@compiled
def _mark(
    thread, threads, control, indptr, indices, ranks,
    starts, heads, rest_starts, rests, tallies, counters, counts,
):  # fmt: skip
    """Count each triangle at its edges, sum the counters of all threads, and store them by the graph's own lists."""
    n, counting, tally = np.uint64(len(ranks)), len(counters), tallies[thread]
    if thread < counting:
        for taken, end in blocks(control, n, _GRAIN):  # from the highest ranks down, as those take longest
            for r in range(n - end, n - taken):
                low, high = np.uint64(starts[r]), np.uint64(starts[r + _ONE])
                if low != high:
                    first, last = np.uint64(rest_starts[r]), np.uint64(rest_starts[r + _ONE])
                    _count(heads, low, high, rests, first, last, tally, counters[thread])
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
    """Count the triangles of the vertex with the list [low, high): tally[w] is 1 + those found at its edge to w."""
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
