"""Counts and lists paths of bounded length that visit no vertex twice; a path from a vertex to itself is a cycle.

A search backward from the target finds how many edges away each vertex is, as far as that is cheaper than the search
forward. A path goes on to a vertex only if the edges left suffice to reach the target; a vertex on the path never does.

The last edge is not searched but looked up, as `near` says which vertices have an edge to the target. Counting looks up
the last two: `closing[v]` is the number of ways from v to the target in two edges, or one. While a vertex with an edge
to the target is on the path, its in-neighbors have one way less.

Bounded searches find cycles: from each vertex to itself by smaller ones, so that each cycle is found at its largest
vertex. Their lists ascend.

Parameters of the kernels
-------------------------
thread, threads :
    number of this thread, from 0, and of all threads
control :
    words by which threads take blocks, meet and see that the run is stopped
indptr, heads, in_indptr, tails, lists :
    (n + 1,) int64 and (m,) ids, twice: out-neighbors and in-neighbors; a tuple of all four
firsts :
    (sources + 1,) int64, the number of the first edge of each search's first step
sources, targets, target :
    ids of both ends of each search, and of this one
is_bounded, top :
    whether vertices of the path are smaller than the source; the first id that no path visits
count, grain :
    number of first edges, and of those that a thread takes at once
one_way :
    whether only one direction of each cycle is listed
least, most, deep, lengths :
    fewest and most edges of a path, and the edges that the search looks ahead for; a tuple of the three
share :
    of the edges of the search forward, below which the search backward goes on
far :
    distance from the target up to which all vertices are known
all_near, near :
    (threads, n) int32, `deep` minus the distance to the target, where it is known
all_queue, all_paths :
    (threads, n + 1) and (threads, deep + 1) ids, the search backward, and the path
all_places, path, at :
    (threads, 3, deep + 1) int64 and rows of these: for each vertex on the path `_NEXT`, `_END`, `_KNOWN`
all_closing, marks :
    (threads, n) number of ways to close a path in two edges; a tuple of `near` and a row of these
all_counts, counts :
    (threads, 16) int64, two words of a count for each thread
tally, block_starts, total, limit, writers, entries, row_lengths :
    the rows that are written, as `row_lists` has them
rows :
    this thread's writer, and where rows and their lengths go
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
_OFF = 1 << 30  # is subtracted from `closing` of vertices on the path, more than any number of ways
_CARRY = 1 << 62  # a count above this is carried to a second word
_LOOKS = 64  # work per first edge, roughly, in units of one edge that is read
_GRAIN = 64  # first edges that a thread takes at once, at most
_SHARE = 0.3  # the backward search goes on while it reads less than this share of the forward search's edges
_NEXT, _END, _KNOWN = np.uint64(0), np.uint64(1), np.uint64(2)  # of a vertex on the path: positions in its list; `near`


class _Searches:
    """The searches from sources to targets, their first edges numbered, and the memory of the threads."""

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
    """Count the paths of `least` to `most` edges from each source to its target (`primitives.count_paths`)."""
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
    """List paths as offsets and vertices (`primitives.list_paths`).

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


# --- what both have in common ----------------------------------------------------------------------------------------


@compiled
def _parts(firsts, start, end):
    """Yield the searches whose first edges are in a range, with the part of the range of each."""
    low = owner_of(firsts, start)
    while start < end:
        stop = min(end, np.uint64(firsts[low + _ONE]))
        if start < stop:
            yield low, start, stop
        start, low = stop, low + _ONE


@compiled
def _approach(lists, ends, top, deep, share, near, queue):
    """Set `near` of vertices d edges from the target to deep - d. Return their number, and up to which d all have it.

    The search backward ends when its next step reads more edges than the last step forward, at a rough guess.
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
def _forget(source, count, near, queue):
    for i in range(count):
        near[np.uint64(queue[i])] = 0
    near[source] = 0


@compiled
def _leads_on(known, depth, deep, far):
    """Return whether the vertex after `depth` edges may still reach the target, by its `near`."""
    return known > depth or (known == 0 and deep - depth > far + 1)


# --- counting --------------------------------------------------------------------------------------------------------


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
        for i, first, last in _parts(firsts, start, end):
            if current != np.int64(i):
                if current < len(sources):
                    _mark_ends(lists, (source, target), top, lengths, marks, -1)
                    _forget(source, reached, near, queue)
                current, source, target = np.int64(i), np.uint64(sources[i]), np.uint64(targets[i])
                top = source if is_bounded else np.uint64(len(near))
                reached, far = _approach(lists, (source, target), top, deep, share, near, queue)
                _mark_ends(lists, (source, target), top, lengths, marks, 1)
            low = np.uint64(indptr[source]) + first - np.uint64(firsts[i])
            if reached > _ONE and not is_stopped(control):
                path[0], at[_NEXT, 0], at[_END, 0] = source, low, low + last - first
                _count_from(control, lists, target, top, lengths, far, marks, path, at, counts)


@compiled
def _mark_ends(lists, ends, top, lengths, marks, by):
    """Set `closing` of all vertices for a search (`by` 1), or take it back (-1)."""
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
    """Add to the ways from each in-neighbor of a vertex."""
    in_indptr, tails = lists[2], lists[3]
    for k in range(np.uint64(in_indptr[v]), np.uint64(in_indptr[v + _ONE])):
        u = np.uint64(tails[k])
        if u >= top:
            break
        closing[u] += by


@compiled
def _count_from(control, lists, target, top, lengths, far, marks, path, at, counts):
    """Count the paths whose first edges are those of path[0] that `at` has."""
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
        known, after = np.int64(near[u]), np.int64(depth) + 1
        if not _leads_on(known, after - 1, deep, far):
            continue
        ends = known == deep - 1  # an edge leads to the target
        if ends:
            counts[0] += least <= after + 1 and after < most
            if deep <= most:
                _add_ways(lists, u, top, closing, -1)
        low, high = np.uint64(indptr[u]), np.uint64(indptr[u + _ONE])
        if after == deep - 3:
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
    """Count the ways to the target from all vertices in a part of a list."""
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


# --- listing ---------------------------------------------------------------------------------------------------------


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
        for i, first, last in _parts(firsts, start, end):
            if current != np.int64(i):
                if current < len(sources):
                    _forget(source, reached, near, queue)
                current, source, target = np.int64(i), np.uint64(sources[i]), np.uint64(targets[i])
                top = source if is_bounded else np.uint64(len(near))
                reached, far = _approach(lists, (source, target), top, deep, share, near, queue)
            low = np.uint64(indptr[source]) + first - np.uint64(firsts[i])
            if reached > _ONE and not is_stopped(control):
                path[0], at[_NEXT, 0], at[_END, 0] = source, low, low + last - first
                _list_from(control, lists, target, top, one_way, lengths, far, near, path, at, rows)
        close_block(writers[thread], block, tally, block_starts, total)
    if current < len(sources):
        _forget(source, reached, near, queue)


@compiled
def _list_from(control, lists, target, top, one_way, lengths, far, near, path, at, rows):
    """Write the paths whose first edges are those of path[0] that `at` has. The last edge is to be in its place."""
    indptr, heads = lists[0], lists[1]
    least, most, deep = lengths
    last = _NONE if target == np.uint64(path[0]) else np.int64(target)
    depth = _ZERO
    while True:
        k, end, v = np.uint64(at[_NEXT, depth]), np.uint64(at[_END, depth]), np.uint64(path[depth])
        u = np.uint64(heads[k]) if k < end else top
        at[_NEXT, depth] += 1
        after = np.int64(depth) + 1
        if k < end and u == target:
            if least <= after and after <= most and (not one_way or np.uint64(path[1]) < v):
                write(rows, path, after, _NONE, last)
        elif u >= top or is_full(rows) or is_stopped(control):
            if depth == 0:
                break
            near[v] = at[_KNOWN, depth]
            depth -= _ONE
        elif after == deep - 1:
            if near[u] == after and deep <= most and (not one_way or np.uint64(path[1]) < u):
                write(rows, path, after, np.int64(u), last)
        elif _leads_on(np.int64(near[u]), after - 1, deep, far):
            depth += _ONE
            path[depth], at[_NEXT, depth], at[_END, depth] = u, indptr[u], indptr[u + _ONE]
            at[_KNOWN, depth] = near[u]
            near[u] = -1
