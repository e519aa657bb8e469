"""Count and list paths of bounded length that visit no vertex twice. A path from a vertex to itself is a cycle.

A breadth-first search backward from the target finds how many edges away each vertex is, for as long as that is cheaper
than the search forward. A path is only extended to a vertex if the edges left suffice to reach the target, and never to
a vertex that is on the path.

The last edge is looked up, not searched, as `near` tells which vertices have an edge to the target. Counting looks up
the last two edges: ``closing[v]`` is the number of ways from v to the target in two edges, or in one. While a vertex
with an edge to the target is on the path, its in-neighbors have one way fewer.

Cycles are found by bounded searches: from each vertex to itself by smaller vertices only, so that each cycle is found
at its largest vertex. These searches need sorted adjacency lists.

Parameters of the kernels
-------------------------
thread, threads :
    index of this thread, from 0, and the number of threads of the run
control :
    (72,) int64 array that all threads of the run share: counters by which they take blocks of work and wait for each
    other, and the flag that stops the run
indptr, heads, in_indptr, tails, lists :
    (n + 1,) int64 offsets and (m,) ids of out-neighbors; the same for in-neighbors; a tuple of all four
firsts :
    (sources + 1,) int64: the first edges of the paths of all searches are numbered, and this is each search's first
    number
sources, targets, target :
    ids of the source and the target of each search; the target of this search
is_bounded, top :
    whether vertices of a path must be smaller than the source; the smallest id that no path may visit
count, grain :
    number of first edges, and how many of them a thread takes at once
one_way :
    whether only one direction of each cycle is listed
least, most, deep, lengths :
    smallest and largest number of edges of a path; number of edges that the search looks ahead for; a tuple of the
    three
share :
    the search backward goes on while it reads less than this fraction of the edges of the search forward
far :
    distance from the target up to which all vertices are known
all_near, near :
    (threads, n) int32 and this thread's row: `deep` minus the distance to the target, if that is known, -1 for vertices
    on the path, or 0
all_queue, all_paths :
    (threads, n + 1) ids, the queue of the search backward; (threads, deep + 1) ids, the vertices of the path
all_places, path, at :
    (threads, 3, deep + 1) int64, and this thread's rows of `all_paths` and of this array: for each vertex on the path
    the values `_NEXT`, `_END` and `_KNOWN`
all_closing, marks :
    (threads, n) number of ways to close a path in two edges; a tuple of `near` and this thread's row
all_counts, counts :
    (threads, 16) int64 and this thread's row, a count in its first two words
tally, block_starts, total, limit, writers, entries, row_lengths :
    the arrays into which paths are counted or written, as `row_lists` describes them
rows :
    a tuple of this thread's row of `writers`, `entries` and `row_lengths`
"""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from gasla.arrays import running_sums
from gasla.compiler.function import compiled
from gasla.cpu.kernels.searches import owner_of
from gasla.cpu.primitive.row_lists import RowSearch, close_block, is_full, open_block, open_blocks, write
from gasla.cpu.runtime.blocks import blocks, run, threads_for
from gasla.cpu.runtime.threads import is_stopped
from gasla.graph.graph import Graph

Array = np.ndarray[Any, Any]

_ZERO, _ONE, _NONE = np.uint64(0), np.uint64(1), np.int64(-1)
# subtracted from ``closing[v]`` while v is on the path; larger than any number of ways, so the result is negative
_OFF = 1 << 30
# when a thread's count reaches this number, the count is reduced by it and a second word is incremented
_CARRY = 1 << 62
# estimated time for each first edge of a path, in units of the time to read one edge; decides how many threads run
_LOOKS = 64
_GRAIN = 64  # largest number of first edges of paths that a thread takes at once
# the backward search from the target ends when it would read more than this fraction of the forward search's edges
_SHARE = 0.3
# A thread searches for paths depth first, and keeps three numbers for each vertex on the current path: the position of
# the next entry to read in the vertex's adjacency list, the end of this list, and the value that `near` had for the
# vertex before it was on the path. These are the rows of ``all_places[thread]`` that hold the numbers.
_NEXT, _END, _KNOWN = np.uint64(0), np.uint64(1), np.uint64(2)


class _Searches:
    """All path searches of one call, each from a source to its target, with the arguments of their kernels.

    Threads share the work by the edges with which paths begin: all are numbered, and a thread takes a block of numbers.
    """

    def __init__(self, graph: Graph, sources: Array, targets: Array, deep: int, is_bounded: bool) -> None:
        out, in_ = graph.out, graph.in_
        starts = out.indptr.astype(np.int64, copy=False)
        lengths = np.diff(running_sums(out.indices < out.owners())[starts]) if is_bounded else np.diff(starts)
        firsts = running_sums(lengths[sources])
        self.count = int(firsts[-1])
        self.work = _LOOKS * self.count
        self.threads = threads_for(self.work)
        self.grain = max(min(self.count // (64 * self.threads), _GRAIN), 1)
        ends = (ids.astype(graph.id_dtype, copy=False) for ids in (sources, targets))
        lists = starts, out.indices, in_.indptr.astype(np.int64, copy=False), in_.indices
        self.inputs = *lists, firsts, *ends, is_bounded, np.uint64(self.count), np.uint64(self.grain)
        shape = self.threads, 3, deep + 1
        path = np.zeros((self.threads, deep + 1), graph.id_dtype), np.zeros(shape, np.int64)
        queue = np.empty((self.threads, graph.n + 1), graph.id_dtype)
        self.memory = np.zeros((self.threads, graph.n), np.int32), queue, *path


def count_paths(graph: Graph, sources: Array, targets: Array, least: int, most: int, is_bounded: bool) -> int:
    """Return the number of paths of `least` to `most` edges from each source to its target, summed over all sources.

    See `primitives.count_paths`.
    """
    deep = max(most, 3)
    searches = _Searches(graph, sources, targets, deep, is_bounded)
    closing = np.zeros((searches.threads, graph.n), np.int32 if graph.n < _OFF else np.int64)
    counts = np.zeros((searches.threads, 16), np.int64)
    inputs = *searches.inputs, least, most, deep, _SHARE, *searches.memory, closing, counts
    run(_count, searches.work, *inputs, most=_CARRY, loose=True, team=searches.threads)
    return sum(low + high * _CARRY for low, high in counts[:, :2].tolist())


def list_paths(
    graph: Graph,
    sources: Array,
    targets: Array,
    least: int,
    most: int,
    is_bounded: bool,
    one_way: bool,
    limit: int | None,
) -> tuple[Array, Array]:
    """Return the paths of `least` to `most` edges from each source to its target, as offsets and vertices.

    See `primitives.list_paths`.

    Parameters
    ----------
    graph, limit :
        the graph; number of paths to list at most, or None. All others are as for the kernels.
    """
    deep = max(most, 2)
    searches = _Searches(graph, sources, targets, deep, is_bounded)
    inputs = *searches.inputs, one_way, least, most, deep, _SHARE, *searches.memory

    def search(*rows: Any) -> None:
        run(_list, searches.work, *rows, *inputs, most=_CARRY, loose=True, team=searches.threads)

    return RowSearch(search, -(-searches.count // searches.grain), graph.id_dtype, searches.threads).rows(limit)


# --- helpers of counting and of listing -------------------------------------------------------------------------------


@compiled
def _split_by_search(firsts, start, end):
    """Yield the path searches whose paths begin with the edges numbered `start` to `end`.

    The edges with which paths of all searches begin are numbered in order. Each search comes with its range of these
    numbers.
    """
    low = owner_of(firsts, start)
    while start < end:
        stop = min(end, np.uint64(firsts[low + _ONE]))
        if start < stop:
            yield low, start, stop
        start, low = stop, low + _ONE


@compiled
def _search_backward(lists, ends, top, deep, share, near, queue):
    """Search backward from the target of paths, and set ``near[v]`` to deep - d for vertices v at a distance of d
    edges.

    Return how many vertices were reached, and the distance up to which all vertices are known. The search ends when
    its next step would read more edges than the last step of the search forward, by a rough estimate.
    """
    indptr, heads, in_indptr, tails = lists
    source, target = ends
    paths, begin, end = 0.0, np.uint64(indptr[source]), np.uint64(indptr[source + _ONE])
    for k in range(begin, end):
        v = np.uint64(heads[k])
        if v >= top:
            break
        paths += np.float64(indptr[v + _ONE] - indptr[v])
    growth = paths / max(np.float64(end - begin), 1.0)
    for _ in range(min(deep - 4, 8)):
        paths *= growth
    queue[0], near[target] = target, -1
    first, count, far, edges = _ZERO, _ONE, 0, 0.0
    while far < deep - 1 and first < count and (far < 2 or edges <= share * paths):
        last, edges = count, 0.0
        far += 1
        for i in range(first, last):
            v = np.uint64(queue[i])
            for k in range(np.uint64(in_indptr[v]), np.uint64(in_indptr[v + _ONE])):
                u = np.uint64(tails[k])
                if u >= top:
                    break
                if near[u] == 0:
                    near[u] = deep - far
                    queue[count] = u
                    count += _ONE
                    edges += np.float64(in_indptr[u + _ONE] - in_indptr[u])
        first = last
    near[source] = -1
    return count, deep if first == count else far


@compiled
def _reset_search(source, count, near, queue):
    for i in range(count):
        near[np.uint64(queue[i])] = 0
    near[source] = 0


@compiled
def _may_reach_target(known, depth, deep, far):
    """Return whether a path that goes on to a vertex after `depth` edges may still reach the target.

    `known` is `deep` minus the vertex's distance to the target, 0 if the distance is unknown, or -1 on the path.
    """
    return known > depth or (known == 0 and deep - depth > far + 1)


# --- kernels that count paths -----------------------------------------------------------------------------------------


@compiled
def _count(
    thread, threads, control, indptr, heads, in_indptr, tails, firsts, sources, targets, is_bounded, count, grain,
    least, most, deep, share, all_near, all_queue, all_paths, all_places, all_closing, all_counts,
):  # fmt: skip
    near, queue, path, at = all_near[thread], all_queue[thread], all_paths[thread], all_places[thread]
    closing, counts = all_closing[thread], all_counts[thread]
    lists, lengths, marks = (indptr, heads, in_indptr, tails), (least, most, deep), (near, closing)
    current, reached, far = len(sources), _ZERO, 0
    source = target = top = _ZERO
    for start, end in blocks(control, count, grain):
        for i, first, last in _split_by_search(firsts, start, end):
            if current != np.int64(i):
                if current < len(sources):
                    _mark_ends(lists, (source, target), top, lengths, marks, -1)
                    _reset_search(source, reached, near, queue)
                current, source, target = np.int64(i), np.uint64(sources[i]), np.uint64(targets[i])
                top = source if is_bounded else np.uint64(len(near))
                reached, far = _search_backward(lists, (source, target), top, deep, share, near, queue)
                _mark_ends(lists, (source, target), top, lengths, marks, 1)
            low = np.uint64(indptr[source]) + first - np.uint64(firsts[i])
            if reached > _ONE and not is_stopped(control):
                path[0], at[_NEXT, 0], at[_END, 0] = source, low, low + last - first
                _count_from(control, lists, target, top, lengths, far, marks, path, at, counts)


@compiled
def _mark_ends(lists, ends, top, lengths, marks, by):
    """Set ``closing[v]``, the number of ways from v to the target in two edges or in one, before a search for paths.

    If `by` is -1 instead of 1, this is undone, at the end of the search.
    """
    in_indptr, tails = lists[2], lists[3]
    least, most, deep = lengths
    near, closing = marks
    source, target = ends
    for k in range(np.uint64(in_indptr[target]), np.uint64(in_indptr[target + _ONE])):
        v = np.uint64(tails[k])
        if v >= top:
            break
        if least < deep and deep - 1 <= most:
            closing[v] += by
        if deep <= most and near[v] >= 0:
            _add_ways(lists, v, top, closing, by)
    closing[target] -= by * _OFF
    if source != target:
        closing[source] -= by * _OFF


@compiled
def _add_ways(lists, v, top, closing, by):
    """Add `by` to ``closing[u]`` for each in-neighbor u of v, a vertex that has an edge to the target of a path search.

    ``closing[u]`` is the number of ways from u to the target in two edges, or in one. `by` is 1 or -1: while v is on
    the path, its in-neighbors have one way fewer.
    """
    in_indptr, tails = lists[2], lists[3]
    for k in range(np.uint64(in_indptr[v]), np.uint64(in_indptr[v + _ONE])):
        u = np.uint64(tails[k])
        if u >= top:
            break
        closing[u] += by


@compiled
def _count_from(control, lists, target, top, lengths, far, marks, path, at, counts):
    """Count the paths from ``path[0]`` to the target that begin with some first edges, by a depth-first search.

    `at` has the range of positions of the first edges in the adjacency lists.
    """
    indptr, heads = lists[0], lists[1]
    least, most, deep = lengths
    near, closing = marks
    low, high = np.uint64(at[_NEXT, 0]), np.uint64(at[_END, 0])
    if least <= 1:
        for k in range(low, high):
            counts[0] += np.uint64(heads[k]) == target
    if deep == 3:
        _add_up(heads, low, high, top, closing, counts)
        return
    depth = _ZERO
    while not is_stopped(control):
        k, end, v = np.uint64(at[_NEXT, depth]), np.uint64(at[_END, depth]), np.uint64(path[depth])
        u = np.uint64(heads[k]) if k < end else top
        at[_NEXT, depth] += 1
        if u >= top:
            if depth == 0:
                break
            near[v] = at[_KNOWN, depth]
            closing[v] += _OFF
            if deep <= most and near[v] == deep - 1:
                _add_ways(lists, v, top, closing, 1)
            depth -= _ONE
            continue
        known, length = np.int64(near[u]), np.int64(depth) + 1
        if not _may_reach_target(known, length - 1, deep, far):
            continue
        ends = known == deep - 1  # whether an edge leads from u to the target
        if ends:
            counts[0] += least <= length + 1 and length < most
            if deep <= most:
                _add_ways(lists, u, top, closing, -1)
        low, high = np.uint64(indptr[u]), np.uint64(indptr[u + _ONE])
        if length == deep - 3:
            _add_up(heads, low, high, top, closing, counts)
            if ends and deep <= most:
                _add_ways(lists, u, top, closing, 1)
        else:
            depth += _ONE
            path[depth], at[_NEXT, depth], at[_END, depth], at[_KNOWN, depth] = u, low, high, known
            near[u] = -1
            closing[u] -= _OFF


@compiled
def _add_up(heads, low, high, top, closing, counts):
    """Add to `counts` the numbers of ways to the target from the vertices at positions `low` to `high` of `heads`.

    ``closing[v]`` is the number of ways from vertex v.
    """
    total = 0
    for k in range(low, high):
        u = np.uint64(heads[k])
        if u >= top:
            break
        total += max(np.int64(closing[u]), 0)
    counts[0] += total
    if counts[0] >= _CARRY:
        counts[0] -= _CARRY
        counts[1] += 1


# --- kernels that list paths ------------------------------------------------------------------------------------------


@compiled
def _list(
    thread, threads, control, tally, block_starts, total, limit, writers, entries, row_lengths, indptr, heads,
    in_indptr, tails, firsts, sources, targets, is_bounded, count, grain, one_way, least, most, deep, share,
    all_near, all_queue, all_paths, all_places,
):  # fmt: skip
    near, queue, path, at = all_near[thread], all_queue[thread], all_paths[thread], all_places[thread]
    lists, lengths, rows = (
        (indptr, heads, in_indptr, tails),
        (least, most, deep),
        (writers[thread], entries, row_lengths),
    )
    current, reached, far = len(sources), _ZERO, 0
    source = target = top = _ZERO
    for block, start, end in open_blocks(control, total, limit, count, grain):
        open_block(writers[thread], block, tally, block_starts, limit)
        for i, first, last in _split_by_search(firsts, start, end):
            if current != np.int64(i):
                if current < len(sources):
                    _reset_search(source, reached, near, queue)
                current, source, target = np.int64(i), np.uint64(sources[i]), np.uint64(targets[i])
                top = source if is_bounded else np.uint64(len(near))
                reached, far = _search_backward(lists, (source, target), top, deep, share, near, queue)
            low = np.uint64(indptr[source]) + first - np.uint64(firsts[i])
            if reached > _ONE and not is_stopped(control):
                path[0], at[_NEXT, 0], at[_END, 0] = source, low, low + last - first
                _list_from(control, lists, target, top, one_way, lengths, far, near, path, at, rows)
        close_block(writers[thread], block, tally, block_starts, total)
    if current < len(sources):
        _reset_search(source, reached, near, queue)


@compiled
def _list_from(control, lists, target, top, one_way, lengths, far, near, path, at, rows):
    """Write the paths from ``path[0]`` to the target that begin with some first edges, by a depth-first search.

    `at` has the range of positions of the first edges in the adjacency lists.
    """
    indptr, heads = lists[0], lists[1]
    least, most, deep = lengths
    last = _NONE if target == np.uint64(path[0]) else np.int64(target)
    depth = _ZERO
    while True:
        k, end, v = np.uint64(at[_NEXT, depth]), np.uint64(at[_END, depth]), np.uint64(path[depth])
        u = np.uint64(heads[k]) if k < end else top
        at[_NEXT, depth] += 1
        length = np.int64(depth) + 1
        if k < end and u == target:
            if least <= length and length <= most and (not one_way or np.uint64(path[1]) < v):
                write(rows, path, length, _NONE, last)
        elif u >= top or is_full(rows) or is_stopped(control):
            if depth == 0:
                break
            near[v] = at[_KNOWN, depth]
            depth -= _ONE
        elif length == deep - 1:
            if near[u] == length and deep <= most and (not one_way or np.uint64(path[1]) < u):
                write(rows, path, length, np.int64(u), last)
        elif _may_reach_target(np.int64(near[u]), length - 1, deep, far):
            depth += _ONE
            path[depth], at[_NEXT, depth], at[_END, depth] = u, indptr[u], indptr[u + _ONE]
            at[_KNOWN, depth] = near[u]
            near[u] = -1
