"""Count triples of edges among at most three vertices, by their order in time and within a time window.

A loop visits the first two edges: from each first edge, all later edges within the window at either of its ends. These
two edges determine the three vertices, unless both join the same two. The third edges are counted, not visited: edges
between two vertices are sorted by time, so two short searches give their number within the rest of the window.

A. Paranjape, A. R. Benson, J. Leskovec: Motifs in Temporal Networks. WSDM 2017.

Parameters of the kernels
-------------------------
thread, threads :
    index of this thread, from 0, and the number of threads of the run
control :
    (72,) int64 array that all threads of the run share: counters by which they take blocks of work and wait for each
    other, and the flag that stops the run
src, dst, times, ends :
    (m,) int64: the source, the target and the time of each edge, and the last time of a third edge after it
places, place :
    (m,) int64, the position of each edge in the arrays of `Events.pairs`; the position of one edge, or -1
indptr, pair_times, larger, forward, pairs :
    the arrays of `Events.pairs`, and a tuple of the four
leaving_indptr, leaving, left :
    the arrays of `Events.leaving`, and a tuple of both
arriving_indptr, arriving, arrived :
    the arrays of `Events.arriving`, and a tuple of both
all_indptr, all_times, others, backward, all_places :
    the arrays of `Events.all`
totals, total :
    (threads, 36, 2) uint64, the number of triples of each kind in two words; this thread's (36, 2) part
x, y, u, v :
    vertices
first, second, last :
    times: edges count that are later than `first` (or `second`), and no later than `last`
k, base :
    the row of `total` to add to, and the first one of six such rows
"""

# mypy: disable-error-code="no-untyped-def"
from typing import Any, NamedTuple

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.runtime.blocks import blocks, run, threads_for
from gasla.cpu.runtime.threads import is_stopped

Array = np.ndarray[Any, Any]

_ONE, _TWO, _FOUR = np.uint64(1), np.uint64(2), np.uint64(4)
_GRAIN = np.uint64(64)  # number of edges that a thread takes at once as first edges of triples
_LOOKS = 256  # estimated time for each edge, in units of the time to read one edge; decides how many threads run


class Events(NamedTuple):
    """The edges of a temporal graph, sorted in four ways, for counting triples of edges in a time window.

    The first array of each tuple is the offset of each vertex in the tuple's other arrays.
    """

    # edges sorted by smaller end, larger end and time: offsets, times, larger ends, and how many edges before each one
    # lead to the larger end
    pairs: tuple[Array, Array, Array, Array]
    leaving: tuple[Array, Array]  # offsets, and the times of the edges from each vertex, ascending
    arriving: tuple[Array, Array]  # offsets, and the times of the edges to each vertex, ascending
    # edges at each vertex by time: offsets, times, other ends, whether each leads to the vertex, and its position in
    # `pairs`
    all: tuple[Array, Array, Array, Array, Array]


def edge_triples(n: int, src: Array, dst: Array, times: Array, ends: Array) -> list[int]:
    """Count the triples of edges with ascending times, by the kinds of the second and the third edge.

    The first edge leads from vertex 0 to vertex 1. The other edges are of kind 0>1, 1>0, 0>2, 2>0, 1>2 or 2>1. Entry
    6 i + j of the result is the number of triples whose second edge is of kind i and whose third edge is of kind j. The
    third edge is no later than the end of the first edge in `ends`. No edge is a self-loop, and times are ranks from 0.
    """
    work, m = _LOOKS * len(src), len(src)
    totals = np.zeros((threads_for(work), 36, 2), np.uint64)
    src, dst, times, ends = (np.ascontiguousarray(array, np.int64) for array in (src, dst, times, ends))
    events, places = _sort_events(n, src, dst, times)
    orders = [array for order in events for array in order]
    run(_count, work, src, dst, times, ends, places, *orders, totals, most=m * m, loose=True, team=len(totals))
    return [sum(low + (high << 64) for low, high in words_of_kind) for words_of_kind in totals.swapaxes(0, 1).tolist()]


def _sort_events(n: int, src: Array, dst: Array, times: Array) -> tuple[Events, Array]:
    """Return the edges of a temporal graph in all the orders of `Events`, and the position of each edge in
    `Events.pairs`.
    """

    def starts(owners: Array) -> Array:
        return np.append(0, np.bincount(owners, minlength=n).cumsum()).astype(np.int64)

    def order(owners: Array, times: Array) -> Array:
        # one combined key is sorted faster than two keys; edges of equal keys may come in any order
        return np.argsort(owners * last + times)

    last = int(times.max(initial=0)) + 1
    smaller, larger, places = np.minimum(src, dst), np.maximum(src, dst), np.empty(len(src), np.int64)
    _, pairs = np.unique(smaller * n + larger, return_inverse=True)
    by_pair, by_src, by_dst = (order(owners, times) for owners in (pairs, src, dst))
    places[by_pair] = np.arange(len(src))
    forward = np.append(0, (src < dst)[by_pair].cumsum())
    owners, others, both_times = np.append(src, dst), np.append(dst, src), np.append(times, times)
    by_owner = order(owners, both_times)
    backward, both_places = np.repeat([False, True], len(src)), np.append(places, places)
    events = Events(
        (starts(smaller), times[by_pair], larger[by_pair], forward),
        (starts(src), times[by_src]),
        (starts(dst), times[by_dst]),
        (starts(owners), both_times[by_owner], others[by_owner], backward[by_owner], both_places[by_owner]),
    )
    return events, places


@compiled
def _count(
    thread, threads, control, src, dst, times, ends, places, indptr, pair_times, larger, forward,
    leaving_indptr, leaving, arriving_indptr, arriving, all_indptr, all_times, others, backward, all_places, totals,
):  # fmt: skip
    """Count the triples of edges that begin with each edge: visit the second edges at its source, then at its target.

    Second edges that join both ends of the first edge are visited at the source only.
    """
    total = totals[thread]
    pairs, left, arrived = (indptr, pair_times, larger, forward), (leaving_indptr, leaving), (arriving_indptr, arriving)
    for start, end in blocks(control, np.uint64(len(src)), _GRAIN):
        for e in range(start, end):
            u, v, first_time, last_time = np.uint64(src[e]), np.uint64(dst[e]), times[e], ends[e]
            for side in range(2):
                center, other = (u, v) if side == 0 else (v, u)
                list_end = np.uint64(all_indptr[center + _ONE])
                position = _first_later(all_times, np.uint64(all_indptr[center]), list_end, first_time)
                while position < list_end and all_times[position] <= last_time and not is_stopped(control):
                    w, is_back, second_time, place = (
                        np.uint64(others[position]),
                        backward[position],
                        all_times[position],
                        all_places[position],
                    )
                    if w != other:
                        base = np.uint64(6 * (2 + 2 * side + is_back))
                        _add_pair(pairs, u, v, np.int64(places[e]), second_time, last_time, total, base)
                        row_at_center, row_at_other = (_TWO, _FOUR) if side == 0 else (_FOUR, _TWO)
                        _add_pair(pairs, center, w, place, second_time, last_time, total, base + row_at_center)
                        _add_pair(pairs, other, w, np.int64(-1), second_time, last_time, total, base + row_at_other)
                    elif side == 0:
                        base = np.uint64(6 * is_back)
                        _add_pair(pairs, u, v, place, second_time, last_time, total, base)
                        _add_others(pairs, left, arrived, u, v, place, second_time, last_time, total, base)
                    position += _ONE


@compiled
def _add_pair(pairs, x, y, place, first, last, total, k):
    """Count the edges between x and y in a time window, those from x and those from y apart.

    Add the counts to ``total[k]`` and to ``total[k + 1]``. An edge counts if it is later than `first` and no later than
    `last`. `place` is the position of an edge between x and y at which the search begins, or -1.
    """
    from_x, from_y = _count_between(pairs, x, y, place, first, last)
    _add_count(total, k, from_x)
    _add_count(total, k + _ONE, from_y)


@compiled
def _add_others(pairs, left, arrived, u, v, place, second, last, total, base):
    """Count the third edges of triples whose first two edges both join u and v: edges from or to u, and from or to v.

    Edges in the time window between u or v and any other vertex count. These are all edges at u or v, minus the edges
    between u and v.
    """
    from_u, from_v = _count_between(pairs, u, v, place, second, last)
    _add_count(total, base + _TWO, _count_at_vertex(left, u, second, last) - from_u)
    _add_count(total, base + np.uint64(3), _count_at_vertex(arrived, u, second, last) - from_v)
    _add_count(total, base + _FOUR, _count_at_vertex(left, v, second, last) - from_v)
    _add_count(total, base + np.uint64(5), _count_at_vertex(arrived, v, second, last) - from_u)


@compiled
def _add_count(total, k, count):
    total[k, np.uint64(0)] += count
    total[k, np.uint64(1)] += np.uint64(total[k, np.uint64(0)] < count)


@compiled
def _count_at_vertex(events, v, first, last):
    """Return how many edges at vertex v are later than `first` and no later than `last`, by bisection.

    `events` is a tuple of two arrays: the offset of each vertex in the second array, and times of edges, ascending.
    """
    indptr, times = events
    high = np.uint64(indptr[v + _ONE])
    low = _first_later(times, np.uint64(indptr[v]), high, first)
    return _first_later(times, low, high, last) - low


@compiled
def _count_between(pairs, x, y, place, first, last):
    """Return the numbers of edges from x to y and from y to x that are later than `first` and no later than `last`.

    The search begins at `place`, the position of an edge between the two, or if that is -1, at the first edge of the
    smaller vertex.
    """
    indptr, times, larger, forward = pairs
    small, large = min(x, y), max(x, y)
    high = np.uint64(indptr[small + _ONE])
    low = _first_later_pair(times, larger, np.uint64(indptr[small] if place < 0 else place), high, large, first)
    if low == high or np.uint64(larger[low]) != large or times[low] > last:
        return np.uint64(0), np.uint64(0)
    end = _first_later_pair(times, larger, low, high, large, last)
    forward_count = np.uint64(forward[end] - forward[low])
    backward_count = end - low - forward_count
    return (forward_count, backward_count) if x < y else (backward_count, forward_count)


@compiled
def _first_later(times, low, high, time):
    """Return the first position between `low` and `high` of ascending `times` with a time later than `time`, by
    bisection.
    """
    while low < high:
        middle = (low + high) >> _ONE
        if times[middle] <= time:
            low = middle + _ONE
        else:
            high = middle
    return low


@compiled
def _first_later_pair(times, larger, low, high, b, time):
    """Return the first position from `low` on that comes after all edges to vertex b up to a time, in a list of edges.

    The edges are sorted by their larger end (in `larger`), then by time. The position returned has a larger end than b,
    or end b and a time later than `time`. The search takes strides that double, as the position is likely to be near.
    """
    stride = _ONE
    while low + stride < high and _is_before(times, larger, low + stride, b, time):
        low += stride
        stride += stride
    high = min(low + stride, high)
    while low < high:
        middle = (low + high) >> _ONE
        if _is_before(times, larger, middle, b, time):
            low = middle + _ONE
        else:
            high = middle
    return low


@compiled
def _is_before(times, larger, at, b, time):
    other = np.uint64(larger[at])
    return other < b or (other == b and times[at] <= time)
