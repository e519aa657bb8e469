"""Count the triangles of a simple undirected graph: the common neighbors of both ends of all edges.

Each triangle is found once. Vertices are ordered, and for each edge u -> v and each edge u -> w with u < v < w, the
question is whether there is an edge v -> w. Two methods give the same result:
- If all adjacency lists are short, vertices are ordered by their ids, and lists are merged.
- Otherwise vertices are ordered by degree, so that no vertex has many higher neighbors (`ByDegree`). The higher
  neighbors of v are marked in an array of bytes. For each lower neighbor u, the entries of u's list after v are looked
  up there.

Parameters of the kernels
-------------------------
thread, threads :
    index of this thread, from 0, and the number of threads of the run
control :
    (72,) int64 array that all threads of the run share: counters by which they take blocks of work and wait for each
    other, and the flag that stops the run
indptr, indices :
    (n + 1,) offsets and (2m,) ids, sorted adjacency lists; in `_probe` (n + 1,) and (m,), the lists of a `ByDegree`
totals :
    (threads,) int64, the number of triangles that each thread has counted
counts :
    (threads, n) int64, the number of triangles at each vertex that each thread has counted, or None
grain :
    number of vertices in a block
share, shares :
    this process counts the blocks whose number is `share` modulo `shares`
by_degree :
    (largest degree + 2,) int64, first the number of vertices of each degree, then the next rank for each degree
ranks, vertices :
    (n,) ids, the rank of each vertex by degree, and the vertex of each rank
places :
    (parts, n) uint64, how many higher neighbors each rank has in each range of ranks, then where this part of the list
    begins, and how many entries follow
bounds :
    (parts + 1,) int64, the first rank of each range of ranks
starts, heads, rest_starts, rests :
    the other fields of the `ByDegree` that is filled: `indptr`, `indices`, `rest_starts` and `rests`
first, last :
    the first rank of this range, and its end
all_marks :
    (threads, n) uint8, 1 for the vertices in the list at hand
closed :
    (m,) int32, the number of triangles that each edge closes, or None
"""

# mypy: disable-error-code="no-untyped-def"
import math
from typing import Any, NamedTuple

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.runtime.blocks import block_size, blocks, go_on, run, threads_for
from gasla.cpu.runtime.intrinsics import prefetch
from gasla.cpu.runtime.threads import barrier, is_stopped
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph

Array = np.ndarray[Any, Any]

SHORT = 16  # if no vertex has more neighbors, merging lists is faster than ordering vertices by degree
_ONE = np.uint64(1)
_GRAIN = np.uint64(64)  # number of vertices that a thread takes at once; small, because a single vertex may take long
# largest number of threads that fill the lists of a `ByDegree`, because each thread needs 8 bytes per vertex
_PARTS = 8
# an entry of `ByDegree.rests` (the part of an adjacency list after some vertex) is one uint64: the position where this
# part begins, and the number of its entries in the low 24 bits
_LEFT_BITS = np.uint64(24)
_LEFT = np.uint64((1 << 24) - 1)
# `ByDegree.rests` has an entry for each rest, which is a part of an adjacency list. While a thread reads one rest, it
# prefetches the rest that is this many entries further on, to hide the wait for memory.
_AHEAD = np.uint64(8)
_STOP_EVERY = np.uint64(1024)  # number of vertices after which a thread tests whether the run is to be stopped
_LOOKS = 4  # estimated time for each edge, in units of the time to read one edge; decides how many threads run


class ByDegree(NamedTuple):
    """The edges of a simple graph, each from its lower to its higher end, where vertices are ranked by degree.

    ``vertices[r]`` is the vertex of rank r. The higher neighbors of r are ``indices[indptr[r]:indptr[r + 1]]``,
    ascending. ``rests[rest_starts[r]:rest_starts[r + 1]]`` has an entry for each lower neighbor u of r: the position
    and the length of the rest of u's list after r.
    """

    vertices: Array
    indptr: Array
    indices: Array
    rest_starts: Array
    rests: Array


def simplify(graph: Graph) -> Graph:
    """Return the graph with each edge once in both directions and without self-loops.

    If it is simple, return itself.
    """
    return graph if graph.is_simple else graph.kept("simple", _make_simple)


def _make_simple(graph: Graph) -> Graph:
    from scipy.sparse import csr_array

    lists = graph.out
    indptr, indices = lists.indptr, lists.indices
    if graph.has_self_loops:
        keep = lists.owners() != indices
        new_positions = np.zeros(graph.m + 1, indptr.dtype)
        np.cumsum(keep, out=new_positions[1:])
        indptr, indices = new_positions[indptr], indices[keep]
    pattern = csr_array((np.ones(len(indices), bool), indices, indptr), shape=(graph.n, graph.n))
    symmetric_pattern = pattern + pattern.T  # + is a logical or for booleans, so an edge in both directions counts once
    return Graph.from_csr(symmetric_pattern.indptr, symmetric_pattern.indices)


def orient(graph: Graph) -> Adjacency | ByDegree:
    """Return the adjacency lists in the form in which `count_common_neighbors` counts triangles fastest.

    These are the sorted adjacency lists if no vertex has more than `SHORT` neighbors, or else a `ByDegree`.
    """
    return graph.sorted_out if graph.max_out_degree <= SHORT else by_degree(graph)


def count_common_neighbors(
    lists: Adjacency | ByDegree, per_vertex: bool, share: tuple[int, int] = (0, 1)
) -> tuple[int, Array | None]:
    """Count the triangles of a graph, or share i of k equal shares of them, where `share` is (i, k).

    Return their number, and with `per_vertex` also the number of triangles at each vertex.
    """
    count: Any = _count_by_merging if isinstance(lists, Adjacency) else _count_by_marking
    result: tuple[int, Array | None] = count(lists, per_vertex, *map(np.uint64, share))
    return result


def _bound_of_steps(m: int) -> int:
    """Return an upper bound of the steps that counting the triangles of a graph of m edges takes.

    If each edge is stored at its end of lower degree, no adjacency list has much more than sqrt(m) entries.
    """
    return m * math.isqrt(m)


def _count_by_merging(
    lists: Adjacency, per_vertex: bool, share: np.uint64, shares: np.uint64
) -> tuple[int, Array | None]:
    n, m = len(lists.indptr) - 1, len(lists.indices)
    work = _LOOKS * (n + m)
    team = threads_for(work)
    totals = np.zeros(team, np.int64)
    counts = np.zeros((team, n), np.int64) if per_vertex else None
    # shares of several processes need blocks of a fixed size, so that they do not depend on the number of threads
    grain = block_size(n, team) if shares == _ONE else _GRAIN
    arguments = lists.indptr, lists.indices, totals, counts, grain, share, shares
    run(_merge, work, *arguments, most=_bound_of_steps(m), loose=True, team=team)
    return sum(totals.tolist()), None if counts is None else counts.sum(axis=0)


def by_degree(graph: Graph) -> ByDegree:
    """Return a simple graph's edges, each once, with the vertices ranked by degree.

    The result takes about 6 bytes for each stored edge of the graph, or 8 bytes if ids are int64.
    """
    n, m, lists = graph.n, graph.m, graph.out
    work = _LOOKS * (n + m)
    result = ByDegree(
        vertices=np.empty(n, graph.id_dtype),
        indptr=np.empty(n + 1, np.int64),
        indices=np.empty(m // 2, graph.id_dtype),
        rest_starts=np.empty(n + 1, np.int64),
        rests=np.empty(m // 2, np.uint64),
    )
    team = threads_for(work)
    parts = min(team, _PARTS)
    ranks, places = np.empty(n, graph.id_dtype), np.empty((parts, n), np.uint64)
    degree_counts = np.zeros(graph.max_out_degree + 2, np.int64)
    bounds = np.empty(parts + 1, np.int64)
    run(_orient, work, lists.indptr, lists.indices, degree_counts, ranks, places, bounds, *result, team=team)
    return result


def _count_by_marking(
    lists: ByDegree, per_vertex: bool, share: np.uint64, shares: np.uint64
) -> tuple[int, Array | None]:
    n, m = len(lists.vertices), 2 * len(lists.indices)
    work = _LOOKS * (n + m)
    team = threads_for(work)
    totals, marks = np.zeros(team, np.int64), np.zeros((team, n), np.uint8)
    counts = np.zeros((team, n), np.int64) if per_vertex else None
    closed = np.zeros(len(lists.indices), np.int32) if per_vertex else None
    run(_probe, work, *lists[1:], marks, totals, counts, closed, share, shares, most=_bound_of_steps(m), team=team)
    if counts is None:
        return sum(totals.tolist()), None
    result = np.empty(n, np.int64)
    result[lists.vertices] = counts.sum(axis=0)
    return sum(totals.tolist()), result


# --- triangles by merging short adjacency lists -----------------------------------------------------------------------


@compiled
def _merge(thread, threads, control, indptr, indices, totals, counts, grain, share, shares):
    """Count the triangles of each vertex u with two smaller neighbors w < v, by merging the lists of u and v.

    The list of v contains u, which is larger than any w, so no search in that list runs past the list's end.
    """
    n, total = np.uint64(len(indptr) - 1), 0
    for start, end in blocks(control, n, grain):
        if start // grain % shares != share:
            continue
        low = np.uint64(indptr[start])
        for u in range(start, end):
            high = np.uint64(indptr[u + _ONE])
            at = low + _ONE
            while at < high:
                v = np.uint64(indices[at])
                if v >= u:
                    break
                j = np.uint64(indptr[v])
                other = indices[j]
                for i in range(low, at):
                    w = indices[i]
                    while other < w:
                        j += _ONE
                        other = indices[j]
                    total += w == other
                    if counts is not None and w == other:
                        counts[thread, u] += 1
                        counts[thread, v] += 1
                        counts[thread, np.uint64(w)] += 1
                at += _ONE
            low = high
    totals[thread] = total


# --- triangles by marking the lists of a ByDegree ---------------------------------------------------------------------


@compiled
def _orient(
    thread, threads, control, indptr, indices, by_degree, ranks, places, bounds,
    vertices, starts, heads, rest_starts, rests,
):  # fmt: skip
    """Fill the arrays of a `ByDegree` (a graph's edges, each from its lower to its higher end, ranked by degree).

    `starts` is its field `indptr`, and `heads` its field `indices`.
    """
    parts = places.shape[0]
    if thread == 0:
        _rank_by_degree(indptr, by_degree, ranks, vertices)
        _divide_ranks(indptr, vertices, bounds)
    barrier(control, threads)
    _count_higher(control, indptr, indices, ranks, bounds, places)
    if not go_on(thread, threads, control, False):
        return
    if thread == 0:
        _lay_out(indptr, vertices, places, starts, rest_starts)
    barrier(control, threads)
    for part in range(thread, parts, threads):
        first, last = np.uint64(bounds[part]), np.uint64(bounds[part + 1])
        _fill_lists(control, indptr, indices, ranks, vertices, places[part], heads, rest_starts, rests, first, last)


@compiled
def _rank_by_degree(indptr, by_degree, ranks, vertices):
    """Sort the vertices by degree with a counting sort, and set `vertices` (in this order) and `ranks` (each vertex's
    place).
    """
    n = np.uint64(len(ranks))
    for v in range(n):
        by_degree[np.uint64(indptr[v + _ONE] - indptr[v] + 1)] += 1
    for degree in range(_ONE, np.uint64(len(by_degree))):
        by_degree[degree] += by_degree[degree - _ONE]
    for v in range(n):
        degree = np.uint64(indptr[v + _ONE] - indptr[v])
        rank = by_degree[degree]
        by_degree[degree] = rank + 1
        ranks[v] = rank
        vertices[np.uint64(rank)] = v


@compiled
def _divide_ranks(indptr, vertices, bounds):
    """Divide the vertices, ranked by degree, into ranges of ranks with about equally many edges.

    Range p has the ranks from ``bounds[p]`` to ``bounds[p + 1]``.
    """
    n, m, parts = len(vertices), indptr[np.uint64(len(vertices))], len(bounds) - 1
    edges, part = 0, 1
    bounds[0] = 0
    for rank in range(n):
        v = np.uint64(vertices[rank])
        edges += indptr[v + _ONE] - indptr[v]
        while part < parts and edges * parts >= m * part:
            bounds[part] = rank + 1
            part += 1
    for rest in range(part, parts + 1):
        bounds[rest] = n


@compiled
def _count_higher(control, indptr, indices, ranks, bounds, places):
    """Count the neighbors of higher rank that each vertex has in each range of ranks.

    Vertices are ranked by degree. The count for rank r and range p is stored in ``places[p, r]``.
    """
    n, parts = np.uint64(len(ranks)), np.uint64(places.shape[0])
    for start, end in blocks(control, n, _GRAIN):
        for v in range(start, end):
            rank = ranks[v]
            r = np.uint64(rank)
            for part in range(parts):
                places[part, r] = 0
            for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
                higher = ranks[np.uint64(indices[k])]
                if higher > rank:
                    part = np.uint64(0)
                    while higher >= bounds[part + _ONE]:
                        part += _ONE
                    places[part, r] += _ONE


@compiled
def _lay_out(indptr, vertices, places, starts, rest_starts):
    """Turn the numbers of higher neighbors in `places` into positions at which the threads write these neighbors.

    Afterwards an entry of `places` has the position where a part of a list begins, and in its low 24 bits the number of
    entries from there to the end of the list. Also sets where each vertex's lists begin, `starts` and `rest_starts`.
    """
    n, parts = np.uint64(len(vertices)), np.uint64(places.shape[0])
    place, rest = np.uint64(0), np.uint64(0)
    for r in range(n):
        v = np.uint64(vertices[r])
        starts[r], rest_starts[r] = place, rest
        left = np.uint64(0)
        for part in range(parts):
            left += places[part, r]
        rest += np.uint64(indptr[v + _ONE] - indptr[v]) - left
        for part in range(parts):
            part_length = places[part, r]
            places[part, r] = place << _LEFT_BITS | left
            place += part_length
            left -= part_length
    starts[n], rest_starts[n] = place, rest


@compiled
def _fill_lists(control, indptr, indices, ranks, vertices, places, heads, rest_starts, rests, first, last):
    """Append each rank (a vertex, ranked by degree) from `first` to `last` to the lists of its lower neighbors.

    Ranks are appended in ascending order, so the lists are sorted.
    """
    for r in range(first, last):
        if r % _STOP_EVERY == 0 and is_stopped(control):
            break
        v, at = np.uint64(vertices[r]), np.uint64(rest_starts[r])
        for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
            lower = np.uint64(ranks[np.uint64(indices[k])])
            if lower < r:
                place = places[lower]
                heads[place >> _LEFT_BITS] = r
                # in one addition, increments the position (high bits) and decrements the number of entries (low bits)
                place += _LEFT
                places[lower] = place
                rests[at] = place
                at += _ONE


@compiled
def _probe(
    thread, threads, control, indptr, indices, rest_starts, rests, all_marks, totals, counts, closed, share, shares
):
    n, total, marks = np.uint64(len(indptr) - 1), np.uint64(0), all_marks[thread]
    for taken, end in blocks(control, n, _GRAIN):  # begin with the highest ranks, as their vertices take longest
        if taken // _GRAIN % shares != share:
            continue
        for r in range(n - end, n - taken):
            low, high = np.uint64(indptr[r]), np.uint64(indptr[r + _ONE])
            if low == high:
                continue
            for k in range(low, high):
                marks[np.uint64(indices[k])] = 1
            first, last = np.uint64(rest_starts[r]), np.uint64(rest_starts[r + _ONE])
            if counts is None:
                total += _count_marked(indices, rests, marks, first, last)
            else:
                hits = _count_marked_at_vertices(indices, rests, marks, first, last, closed, counts[thread])
                counts[thread, r] += np.int64(hits)
                total += hits
            for k in range(low, high):
                marks[np.uint64(indices[k])] = 0
    totals[thread] = total
    if counts is not None:
        barrier(control, threads)
        for r in range(n * np.uint64(thread) // np.uint64(threads), n * np.uint64(thread + 1) // np.uint64(threads)):
            for k in range(np.uint64(indptr[r]), np.uint64(indptr[r + _ONE])):
                counts[thread, r] += np.int64(closed[k])


@compiled
def _count_marked(indices, rests, marks, first, last):
    """Return the number of marked vertices in some parts of adjacency lists, which is the number of triangles of a
    vertex.

    The vertex's neighbors of higher rank are marked. ``rests[first:last]`` has the position and the length of each
    part.
    """
    hits = np.uint64(0)
    for at in range(first, last):
        prefetch(indices, rests[min(at + _AHEAD, last - _ONE)] >> _LEFT_BITS)
        low = rests[at] >> _LEFT_BITS
        for k in range(low, low + (rests[at] & _LEFT)):
            hits += np.uint64(marks[np.uint64(indices[k])])
    return hits


@compiled
def _count_marked_at_vertices(indices, rests, marks, first, last, closed, counts):
    """Count the triangles of one vertex with a neighbor of lower rank and a neighbor of higher rank.

    The neighbors of higher rank are marked. ``rests[first:last]`` has the position and the length of the part of each
    lower neighbor's list that follows the vertex. A marked entry there is a triangle. It is counted in `counts` at the
    marked vertex, and in `closed` at the edge from the lower neighbor to the vertex, which is the entry before this
    part. Return the number of triangles.
    """
    total = np.uint64(0)
    for at in range(first, last):
        low, hits = rests[at] >> _LEFT_BITS, 0
        for k in range(low, low + (rests[at] & _LEFT)):
            w = np.uint64(indices[k])
            hits += marks[w]
            counts[w] += marks[w]
        if low:
            closed[low - _ONE] = hits
        total += np.uint64(hits)
    return total
