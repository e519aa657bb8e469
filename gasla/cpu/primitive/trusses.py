"""Compute truss numbers by removing edges in the order of their support, the number of triangles left at an edge.

In each round all edges with the smallest support, called the level, are removed together. The triangles of a removed
edge disappear, which lowers the support of their other edges. Edges whose support falls to the level are removed in the
next round. So each triangle is visited once, when its first edge is removed, and the supports are only computed once,
before the first round.

To find the triangles of an edge, the entries of the shorter adjacency list of its two ends are looked up in the longer
list. The longer list is marked in an array first, unless it is much longer: then it is searched. Removed edges are
deleted from the adjacency lists when more than half of the entries are removed edges.

H. Kabir, K. Madduri: Parallel k-truss decomposition on multicore systems. IEEE HPEC 2017.

Parameters of the kernels
-------------------------
thread, threads :
    index of this thread, from 0, and the number of threads of the run
control :
    (72,) int64 array that all threads of the run share: counters by which they take blocks of work and wait for each
    other, and the flag that stops the run
indptr, indices, counts :
    (n + 1,) offsets of sorted adjacency lists, (2m,) ids of neighbors, and (2m,) the support of each entry's edge
starts, ends :
    (n,) positions at which the lists begin and end; removed edges are deleted, so lists become shorter
ids :
    (2m,) the number of each list entry's edge
places :
    (n,) the position of the next entry of each list
owners, others :
    (m,) ids, both ends of each edge, first the end with the longer list
support :
    (m,) the number of triangles left at each edge, and in the end the level at which it was removed
states :
    (m,) uint8, `_STAYS`, `_GOES` if the edge is removed in this round, or `_GONE`
all_marks, marks :
    (threads, n) and this thread's row: 1 + the number of the edge from the vertex at hand to each vertex, or 0
lists, stay, queue :
    (2, m) and its two rows: the numbers of the edges that stay, and of the edges to remove
words, own :
    int64 words that threads share: the end of the queue at `_TAIL`, and for each thread, from index `own` on, the
    lowest level of its edges and the number of its edges at that level
grain :
    number of vertices in a block
first, last, level, low :
    levels: `first` and `last` are the smallest and the largest one to compute
begin, end, start, stop, head, tail, k, high :
    positions in a list or in the queue
e, a, b :
    numbers of edges
shared :
    whether several threads lower the support of edges, which then needs atomic operations
"""

# mypy: disable-error-code="no-untyped-def"
import math
from typing import Any

import numpy as np

from gasla.arrays import index_dtype
from gasla.compiler.function import compiled
from gasla.cpu.primitive.neighbors import orient
from gasla.cpu.primitive.support import count_at_edges
from gasla.cpu.runtime.blocks import block_size, blocks, go_on, inlined, run, threads_for
from gasla.cpu.runtime.intrinsics import fetch_add_relaxed, load_unordered
from gasla.cpu.runtime.threads import barrier
from gasla.graph.graph import Graph

Array = np.ndarray[Any, Any]

# state of an edge: not removed yet, to be removed in this round, or removed in an earlier round
_STAYS, _GOES, _GONE = np.uint8(0), np.uint8(1), np.uint8(2)
_NONE, _ONE = np.uint64(0), np.uint64(1)
# number of int64 words in a cache line of 64 bytes, so that each thread's words are on a line of their own
_LINE = np.uint64(8)
_TAIL = _NONE  # `words[_TAIL]` is the number of edges that were ever appended to the queue of edges to remove
# The triangles of some edges that share a vertex are found by comparing this vertex's adjacency list with the lists of
# the edges' other ends. If the vertex's list is more than this many times as long as the other lists together, their
# entries are looked up in it by bisection. Otherwise the neighbors in it are first marked in an array.
_SPARSE = np.uint64(8)
# smallest and largest number of edges that a thread takes at once from the queue of edges to remove
_LEAST, _MOST = np.uint64(16), np.uint64(1024)
_LOOKS = 16  # estimated time for each edge, in units of the time to read one edge; decides how many threads run
_ALL = np.iinfo(np.int64).max


def peel_edges(graph: Graph, first: int, last: int) -> Array:
    """Return the level of each stored edge of a simple graph, in the order of the input.

    The level of an edge is the support, the number of triangles left at it, with which it is removed when edges of the
    smallest support are removed first. Levels are computed from `first` to `last`. Edges that remain after that have
    `last` + 1.
    """
    _, counts = count_at_edges(graph, orient(graph))
    if counts.max(initial=0) <= first:
        return np.full(graph.m, first, np.int64)
    stays = counts > 0  # an edge in no triangle changes the support of no other edge, so its level is `first`
    counts = counts[stays].astype(graph.id_dtype)
    levels_of_rest = _levels(graph if stays.all() else graph.select(stays), counts, first, last)
    levels = np.full(graph.m, first, np.int64)
    levels[stays] = levels_of_rest
    return levels


def _levels(graph: Graph, counts: Array, first: int, last: int) -> Array:
    """Return the support with which each stored edge is removed, given the edges' support in the whole graph.

    An undirected edge is stored in both directions, so there are m // 2 edges with numbers of their own.
    """
    n, m, lists, id_type = graph.n, graph.m, graph.sorted_out, graph.id_dtype
    number_type = index_dtype(m // 2 + 1)  # dtype of the edges' numbers and of marks, which are a number plus 1
    ids, ends, support = np.empty(m, number_type), np.empty((2, m // 2), id_type), np.empty(m // 2, id_type)
    _number(lists.indptr, lists.indices, lists.by_position(counts), lists.indptr[:-1].copy(), ids, *ends, support)
    team = threads_for(_LOOKS * (n + m))
    words, grain = np.zeros(8 * (team + 1), np.int64), block_size(n, team)
    run(
        _peel, _LOOKS * (n + m),
        # these arrays are copied, because the run deletes removed edges from the adjacency lists
        lists.indptr, lists.indptr[1:].copy(), lists.indices.copy(), ids.copy(),
        *ends, support, np.zeros(m // 2, np.uint8),
        np.zeros((team, n), number_type), np.empty((2, m // 2), number_type),
        words, grain, first, last, most=m * math.isqrt(m), team=team,
    )  # fmt: skip
    return lists.by_edge(np.minimum(support, min(last + 1, np.iinfo(id_type).max))[ids])


@compiled
def _number(indptr, indices, counts, places, ids, owners, others, support):
    """Number the undirected edges in the order of their owners, and store their ends and support.

    The owner of an edge is its end with the longer list. ``ids[k]`` is the number of the edge of list entry k.
    Adjacency lists are sorted, so the entries of each list are met in their order, and ``places[v]`` is the next entry
    of v's list.
    """
    count = _NONE
    for u in range(np.uint64(len(indptr) - 1)):
        low, high = np.uint64(indptr[u]), np.uint64(indptr[u + _ONE])
        for at in range(low, high):
            v = np.uint64(indices[at])
            degree = np.uint64(indptr[v + _ONE] - indptr[v])
            if degree < high - low or (degree == high - low and v < u):
                owners[count], others[count], support[count] = u, v, counts[at]
                ids[at] = count
                count += _ONE
    for u in range(np.uint64(len(indptr) - 1)):
        low, high = np.uint64(indptr[u]), np.uint64(indptr[u + _ONE])
        for at in range(low, high):
            v = np.uint64(indices[at])
            back = np.uint64(places[v])
            places[v] += 1
            degree = np.uint64(indptr[v + _ONE] - indptr[v])
            if degree < high - low or (degree == high - low and v < u):
                ids[back] = ids[at]


@compiled
def _peel(
    thread, threads, control, starts, ends, indices, ids, owners, others, support, states, all_marks, lists, words,
    grain, first, last,
):  # fmt: skip
    """Remove all edges with a support (number of triangles left at the edge) of at most `last`, the smallest support
    first.

    `lists` has two rows: the edges that stay, and the queue of
    edges to remove.
    """
    edges, n, marks, stay, queue = np.uint64(len(support)), np.uint64(len(ends)), all_marks[thread], lists[0], lists[1]
    # index in `words` of two words of this thread: the lowest support of its edges, and how many of its edges have it
    own = _LINE * (np.uint64(thread) + _ONE)
    begin = edges * np.uint64(thread) // np.uint64(threads)
    end = edges * np.uint64(thread + 1) // np.uint64(threads)
    for e in range(begin, end):
        stay[e] = e
    head, compact, level, is_over = _NONE, _NONE, np.int64(first), False
    while not is_over:
        end = _find_lowest_level(stay, begin, end, support, states, level, words, own)
        if not go_on(thread, threads, control, True):
            return
        low = np.int64(_ALL)
        for other in range(threads):
            low = min(low, words[_LINE * (np.uint64(other) + _ONE)])
        is_over = low > last or low == _ALL
        if not is_over:
            level = low
            if words[own] == level:
                _queue_level(stay, begin, end, support, level, queue, words, own)
            if not _remove_in_rounds(
                thread, threads, control, starts, ends, indices, ids, owners, others, support, states, marks, queue,
                words, head, level,
            ):  # fmt: skip
                return
            head = np.uint64(words[_TAIL])
            if head - compact > edges - head:
                for start, stop in blocks(control, n, grain):
                    for v in range(start, stop):
                        ends[v] = _delete_removed(indices, ids, states, np.uint64(starts[v]), np.uint64(ends[v]))
                if not go_on(thread, threads, control, True):
                    return
                compact = head


@compiled
def _remove_in_rounds(
    thread, threads, control, starts, ends, indices, ids, owners, others, support, states, marks, queue, words, tail,
    level,
):  # fmt: skip
    """Remove the edges in the queue from position `tail` on, and the edges that these removals append, round by round.

    In a round, all edges that were appended since the round before are removed. Returns False if the run is stopped.
    """
    goes_on, head = go_on(thread, threads, control, True), tail
    while goes_on:
        new_tail = np.uint64(words[_TAIL])
        _mark_states(thread, threads, queue, states, head, tail, _GONE)
        _mark_states(thread, threads, queue, states, tail, new_tail, _GOES)
        # `_remove_edges` below appends edges and so changes the tail, so wait until all threads have read it
        barrier(control, threads)
        head, tail = tail, new_tail
        if head == tail:
            break
        size = max(_LEAST, min(_MOST, (tail - head) // np.uint64(8 * threads)))
        for start, stop in blocks(control, tail - head, size):
            _remove_edges(
                starts, ends, indices, ids, owners, others, support, states, marks, queue, words, head + start,
                head + stop, level, threads > 1,
            )  # fmt: skip
        goes_on = go_on(thread, threads, control, True)
    return goes_on


@compiled
def _find_lowest_level(stay, begin, end, support, states, level, words, own):
    """Drop removed edges from this thread's range of `stay`, and find the lowest support of the edges that remain.

    The support of an edge is the number of triangles left at it. The lowest one, and the number of edges that have it,
    are stored in `words`. Return the new end of this thread's range of `stay`.
    """
    low, count, new_end = np.int64(_ALL), np.int64(0), begin
    for k in range(begin, end):
        e = np.uint64(stay[k])
        if states[e] == _STAYS:
            stay[new_end] = e
            new_end += _ONE
            level_of_e = max(np.int64(support[e]), level)
            count = 1 if level_of_e < low else count + (level_of_e == low)
            low = min(low, level_of_e)
    words[own], words[own + _ONE] = low, count
    return new_end


@compiled
def _queue_level(stay, begin, end, support, level, queue, words, own):
    """Append those edges of this thread's range of `stay` whose support is `level`, the lowest, to the queue of
    removals.
    """
    at = np.uint64(fetch_add_relaxed(words, _TAIL, words[own + _ONE]))
    for k in range(begin, end):
        e = np.uint64(stay[k])
        if np.int64(support[e]) <= level:
            support[e], queue[at] = level, e
            at += _ONE


@compiled
def _mark_states(thread, threads, queue, states, low, high, state):
    """Set the state (stays, to be removed, or gone) of the edges at positions `low` to `high` of the queue of removals.

    Each thread sets an equal share of them.
    """
    count, share = high - low, np.uint64(thread)
    for k in range(low + count * share // np.uint64(threads), low + count * (share + _ONE) // np.uint64(threads)):
        states[np.uint64(queue[k])] = state


@compiled
def _delete_removed(indices, ids, states, low, high):
    """Delete removed edges from the adjacency list at positions `low` to `high`, and return its new end."""
    new_end = low
    for k in range(low, high):
        if states[np.uint64(ids[k])] != _GONE:
            indices[new_end], ids[new_end] = indices[k], ids[k]
            new_end += _ONE
    return new_end


@compiled
def _remove_edges(
    starts, ends, indices, ids, owners, others, support, states, marks, queue, words, start, stop, level, shared
):
    """Remove the edges at positions `start` to `stop` of the queue. Lower the support of edges in triangles with them.

    The owner of an edge is its end with the longer adjacency list. This list is marked once for consecutive edges that
    have the same owner.
    """
    while start < stop:
        hub, last, lookup_count = np.uint64(owners[np.uint64(queue[start])]), start, _NONE
        while last < stop and np.uint64(owners[np.uint64(queue[last])]) == hub:
            v = np.uint64(others[np.uint64(queue[last])])
            lookup_count += np.uint64(ends[v]) - np.uint64(starts[v])
            last += _ONE
        low, high = np.uint64(starts[hub]), np.uint64(ends[hub])
        if lookup_count * _SPARSE < high - low:
            for at in range(start, last):
                e = np.uint64(queue[at])
                v = np.uint64(others[e])
                _search(
                    indices, ids, np.uint64(starts[v]), np.uint64(ends[v]), low, high, e, support, states, queue, words,
                    level, shared,
                )  # fmt: skip
        else:
            for k in range(low, high):
                marks[np.uint64(indices[k])] = ids[k] + 1
            for at in range(start, last):
                e = np.uint64(queue[at])
                v = np.uint64(others[e])
                for k in range(np.uint64(starts[v]), np.uint64(ends[v])):
                    mark = np.uint64(marks[np.uint64(indices[k])])
                    if mark:
                        _lower_support(e, mark - _ONE, np.uint64(ids[k]), support, states, queue, words, level, shared)
            for k in range(low, high):
                marks[np.uint64(indices[k])] = 0
        start = last


@compiled
def _search(indices, ids, k, end, low, high, e, support, states, queue, words, level, shared):
    """Find the triangles of edge e by searching the entries of one end's list in the longer list of the other end.

    The entries are at positions k to `end`, and the longer list is at `low` to `high`. Lowers the support of the other
    two edges of each triangle. Both lists are sorted, so each bisection begins where the one before it ended.
    """
    while k < end and low < high:
        w, last = indices[k], high
        while low < last:
            middle = (low + last) >> _ONE
            if indices[middle] < w:
                low = middle + _ONE
            else:
                last = middle
        if low < high and indices[low] == w:
            _lower_support(e, np.uint64(ids[low]), np.uint64(ids[k]), support, states, queue, words, level, shared)
        k += _ONE


@inlined
def _lower_support(e, a, b, support, states, queue, words, level, shared):
    """Lower the support of edges a and b, which form a triangle with the removed edge e, if both are left.

    If two edges of a triangle are removed in the same round, the one with the smaller number lowers the support of the
    third edge.
    """
    state_a, state_b = states[a], states[b]
    if state_a != _GONE and state_b != _GONE:
        if state_a == _STAYS and (state_b == _STAYS or e < b):
            _decrease_support(a, support, queue, words, level, shared)
        if state_b == _STAYS and (state_a == _STAYS or e < a):
            _decrease_support(b, support, queue, words, level, shared)


@inlined
def _decrease_support(e, support, queue, words, level, shared):
    """Lower the support of edge e (the number of triangles left at it) by 1, but not below `level`.

    Append the edge to the queue of edges to remove when its support reaches `level`.
    """
    if load_unordered(support, e) > level:
        if shared:
            old_support = np.int64(fetch_add_relaxed(support, e, -1))
        else:
            old_support = np.int64(support[e])
            support[e] -= 1
        if old_support == level + 1:
            queue[np.uint64(fetch_add_relaxed(words, _TAIL, 1))] = e
        elif old_support <= level:
            fetch_add_relaxed(support, e, 1)
