"""Draw random samples of neighbors, and prepare the prefix sums of weights by which weighted walks choose edges.

Parameters of the kernels
-------------------------
thread, threads :
    index of this thread, from 0, and the number of threads of the run
control :
    (72,) int64 array that all threads of the run share: counters by which they take blocks of work and wait for each
    other, and the flag that stops the run
indptr, indices, edge_ids :
    (n + 1,) offsets of the adjacency lists, (m,) ids of neighbors, and (m,) the number of each entry's edge
weights :
    a tuple of (m,) float64, the prefix sums of the weights in each list, and (m,) uint32, the guide table of each list,
    or None
ids :
    (rows,) the vertices whose neighbors are drawn, or the vertices to number
firsts, k :
    (rows + 1,) int64, where each row of the result begins, or None if each row has `k` entries
row, key, replace :
    number of the first row; hash of the seed; whether an edge may be drawn twice
neighbors, edges :
    (entries,) ids, first the positions that are drawn, then the neighbors there; (entries,) int64, the numbers of the
    edges that are drawn, or None
values, marks, after, places :
    (m,) values that ascend in each list; (rows,) the value to search for in each list; whether to search for the
    position after equal values; (rows,) int64, the positions found
count, known, total :
    the number of distinct vertices so far; (most,) ids, these vertices; (1,) uint64, their number in the end
table, at :
    (2 * slots,) a hash table, pairs of a vertex and its index, -1 in empty slots; (rows,) int64, the index of each
    vertex
"""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from gasla.arrays import running_sums
from gasla.compiler.function import compiled
from gasla.cpu.kernels.draws import aimed, exceeding, fraction, mixed, share
from gasla.cpu.kernels.walk_steps import TRIES, weight
from gasla.cpu.runtime.blocks import block_size, blocks, run, threads_for
from gasla.cpu.runtime.intrinsics import ONE, ZERO, prefetch
from gasla.engines import Draws
from gasla.graph.adjacency import Adjacency

Array = np.ndarray[Any, Any]

_ROWS = np.uint64(64)  # number of samples (rows of the result) that a thread draws at once
# estimated time for each drawn neighbor, in units of the time to read one edge; large, as draws wait for memory
_MISSES = 16
_PAIR = np.uint64(2)
# the slot of the hash table is prefetched for the vertex this many entries ahead, to hide the wait for memory
_AHEAD = np.uint64(8)


def list_sums(lists: Adjacency, weights: Array) -> Array:
    """Return the prefix sums of the weights in each adjacency list, added in order."""
    sums, n = np.empty(len(lists.indices)), len(lists.indptr) - 1
    work = n + len(lists.indices)
    run(_sum, work, lists.indptr, weights, sums, block_size(n, threads_for(work)), loose=True)
    return sums


def list_guides(lists: Adjacency, sums: Array) -> Array:
    """Return a guide table for each adjacency list, by which a weighted draw finds its edge in few steps.

    For a list of d entries, entry j of its table is the first position whose prefix sum of weights exceeds j / d of the
    total. So a draw begins its search there.
    """
    guides, n = np.empty(len(sums), np.uint32), len(lists.indptr) - 1
    work = n + len(sums)
    run(_guide, work, lists.indptr, sums, guides, block_size(n, threads_for(work)), loose=True)
    return guides


def sample(lists: Adjacency, ids: Array, k: int, draws: Draws) -> Array:
    """Draw `k` random neighbors of each vertex in `ids`.

    Return an array with a row of neighbors for each vertex. A row is filled with -1 if there are fewer.
    """
    neighbors = np.empty((len(ids), k), ids.dtype)
    _draw_rows(lists, ids, None, k, 0, draws, neighbors.reshape(-1), None)
    return neighbors


def sample_lists(lists: Adjacency, ids: Array, k: int, row: int, draws: Draws) -> tuple[Array, Array, Array]:
    """Draw up to `k` neighbors of each vertex in `ids`.

    Return three arrays with one entry for each draw: the neighbor, the number of its edge, and the number of the row,
    which is counted from `row` and tells the vertex.
    """
    degrees = (lists.indptr[1:][ids] - lists.indptr[:-1][ids]).astype(np.int64, copy=False)
    lengths = np.where(degrees > 0, k, 0) if draws.replace else np.minimum(degrees, k)
    firsts = running_sums(lengths)
    neighbors, edges = np.empty(firsts[-1], ids.dtype), np.empty(firsts[-1], np.int64)
    _draw_rows(lists, ids, firsts, k, row, draws, neighbors, edges)
    return neighbors, edges, np.repeat(np.arange(row, row + len(ids)), lengths)


def _draw_rows(
    lists: Adjacency,
    ids: Array,
    firsts: Array | None,
    k: int,
    row: int,
    draws: Draws,
    neighbors: Array,
    edges: Array | None,
) -> None:
    """Draw neighbors of each vertex in `ids`, and write them to `neighbors`, and their edges to `edges` if it is given.

    Parameters
    ----------
    lists, draws :
        adjacency lists; the hash of the seed, whether an edge may be drawn twice, and the prefix sums of weights or
        None. All other parameters are those of the kernels.
    """
    key, replace, weights = draws
    longest = len(neighbors) // max(len(ids), 1) + 1
    most_steps = len(neighbors) * (1 if replace else longest) * (1 if weights is None else longest)
    numbers = np.uint64(k), np.uint64(row), np.uint64(key)
    edge_ids = None if edges is None else lists.edge_ids
    run(
        *(_sample, _MISSES * len(neighbors), lists.indptr, lists.indices, edge_ids, weights),
        *(ids, firsts, *numbers, replace, neighbors, edges),
        most=most_steps,
        loose=True,
    )


def search_lists(lists: Adjacency, values: Array, ids: Array, marks: Array, after: bool) -> Array:
    """Search the ascending values of each vertex's adjacency list for a number that belongs to the vertex, by
    bisection.

    `values` has a value for each list entry, and `marks` the number (mark) for each vertex in `ids`. Return the
    position before which all values are smaller than the mark. With `after`, return the position before which all
    values are smaller than the mark or equal to it.
    """
    places = np.empty(len(ids), np.int64)
    run(_search, _MISSES * len(ids), lists.indptr, values, ids, marks, after, places, loose=True)
    return places


def append_distinct(vertices: Array, ids: Array) -> tuple[Array, Array]:
    """Append the ids that the array `vertices` lacks, each once and in the order of their first appearance in `ids`.

    Return the extended array, and the index of each of the `ids` in it.
    """
    capacity = len(vertices) + len(ids)
    # a hash table with linear probing, whose slots are pairs of a vertex and its index in `distinct`; -1 in empty slots
    table = np.full(2 << (2 * capacity).bit_length(), -1, vertices.dtype)
    distinct, indices_of_ids = np.empty(capacity, vertices.dtype), np.empty(len(ids), np.int64)
    distinct[: len(vertices)] = vertices
    count = np.zeros(1, np.uint64)
    run(
        _number_vertices,
        0,
        np.uint64(len(vertices)),
        ids,
        table,
        distinct,
        indices_of_ids,
        count,
        most=capacity,
        loose=True,
    )
    return distinct[: int(count[0])].copy(), indices_of_ids


@compiled
def _sum(thread, threads, control, indptr, weights, sums, grain):
    n = np.uint64(len(indptr) - 1)
    for start, end in blocks(control, n, grain):
        for v in range(start, end):
            total = 0.0
            for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + ONE])):
                total += np.float64(weights[k])
                sums[k] = total


@compiled
def _guide(thread, threads, control, indptr, sums, guides, grain):
    n = np.uint64(len(indptr) - 1)
    for start, end in blocks(control, n, grain):
        for v in range(start, end):
            first, last = np.uint64(indptr[v]), np.uint64(indptr[v + ONE])
            size, k = last - first, first
            for j in range(size):
                mark = np.float64(j) / np.float64(size) * sums[last - ONE]
                while k < last - ONE and sums[k] <= mark:
                    k += ONE
                guides[first + j] = k - first


@compiled
def _sample(
    thread, threads, control, indptr, indices, edge_ids, weights, ids, firsts, k, row, key, replace, neighbors, edges
):
    """Draw positions in the adjacency lists of a block of vertices, then read the neighbors and the edge numbers there.

    All positions are drawn first, so that the list entries can be prefetched.
    """
    n = np.uint64(len(ids))
    for start, end in blocks(control, n, _ROWS):
        for w in range(start, end):
            prefetch(indptr, np.uint64(ids[w]))
        for w in range(start, end):
            row_start, row_end = _row_bounds(firsts, k, w)
            first, last = np.uint64(indptr[np.uint64(ids[w])]), np.uint64(indptr[np.uint64(ids[w]) + ONE])
            positions, state = neighbors[row_start:row_end], mixed(key, row + w)
            count = _draw(positions, first, last, weights, replace, state)
            for j in range(count):
                prefetch(indices, first + np.uint64(positions[j]))
                if edge_ids is not None:
                    prefetch(edge_ids, first + np.uint64(positions[j]))
            for j in range(count, row_end - row_start):
                positions[j] = -1
        for w in range(start, end):
            row_start, row_end = _row_bounds(firsts, k, w)
            first = np.uint64(indptr[np.uint64(ids[w])])
            for j in range(row_start, row_end):
                is_drawn = neighbors[j] >= 0
                place = first + np.uint64(neighbors[j])
                if edges is not None:
                    edges[j] = _edge_number(edge_ids, place) if is_drawn else -1
                if is_drawn:
                    neighbors[j] = indices[place]


@compiled
def _search(thread, threads, control, indptr, values, ids, marks, after, places):
    """Search the values of each vertex's adjacency list for the vertex's mark (the number to look for), by bisection.

    Write the positions that are found to `places`.
    """
    n = np.uint64(len(ids))
    for start, end in blocks(control, n, _ROWS):
        for w in range(start, end):
            prefetch(indptr, np.uint64(ids[w]))
        for w in range(start, end):
            low, high = np.uint64(indptr[np.uint64(ids[w])]), np.uint64(indptr[np.uint64(ids[w]) + ONE])
            while low < high:
                middle = low + (high - low) // _PAIR
                if values[middle] < marks[w] or (after and values[middle] == marks[w]):
                    low = middle + ONE
                else:
                    high = middle
            places[w] = low


@compiled
def _edge_number(edge_ids, place):
    """Return the number of the edge at position `place` of the adjacency lists.

    It is the position itself if `edge_ids`, which has the edge number of each list entry, is None.
    """
    if edge_ids is None:
        return np.int64(place)
    return np.int64(edge_ids[place])


@compiled
def _row_bounds(firsts, k, w):
    """Return where row w of the samples begins in the array of drawn neighbors, and where it ends.

    `firsts` has these positions, or is None if each row has `k` entries.
    """
    if firsts is None:
        return w * k, w * k + k
    return np.uint64(firsts[w]), np.uint64(firsts[w + ONE])


@compiled
def _draw(positions, first, last, weights, replace, state):
    """Draw positions in the adjacency list of one vertex, and write them to `positions`.

    Positions are counted from the start of the list. Draws are uniform, or by weight if `weights` is not None. Return
    how many positions were drawn.
    """
    degree, k = last - first, np.uint64(len(positions))
    if degree == ZERO:
        return ZERO
    if weights is not None:
        return _draw_by_weight(positions, first, last, weights, replace, state)
    if replace:
        for j in range(k):
            positions[j] = share(mixed(state, j), degree)
        return k
    count = min(k, degree)
    if count == degree:  # Floyd's algorithm below would take all entries as well, only more slowly
        for j in range(count):
            positions[j] = j
        return count
    for j in range(count):
        top = degree - count + j
        place = share(mixed(state, j), top + ONE)
        positions[j] = top if _is_drawn(positions, j, place) else place
    return count


@compiled
def _draw_by_weight(positions, first, last, weights, replace, state):
    """Draw positions within an adjacency list with probabilities proportional to weights. Return how many were drawn.

    Without replacement, an edge that was drawn before is drawn again, up to `TRIES` times. Then the draw is made among
    the other edges alone.
    """
    sums, guides = weights
    k, count = np.uint64(len(positions)), ZERO
    if sums[last - ONE] == 0:
        return ZERO
    if k >= last - first and not replace:
        for place in range(first, last):
            if weight(weights, first, place) > 0:
                positions[count] = place - first
                count += ONE
        return count
    while count < k:
        place, is_new, tries = ZERO, False, ZERO
        while not is_new and tries < TRIES:
            bits = mixed(mixed(state, count), tries)
            mark, guide = aimed(sums, first, last, fraction(bits))
            place = exceeding(sums, first, first + np.uint64(guides[guide]), mark) - first
            is_new = replace or not _is_drawn(positions, count, place)
            tries += ONE
        if not is_new:
            place = _draw_from_rest(positions, count, first, last, weights, fraction(mixed(mixed(state, count), TRIES)))
            if place == last - first:
                break
        positions[count] = place
        count += ONE
    return count


@compiled
def _draw_from_rest(positions, count, first, last, weights, part):
    """Draw an edge of one vertex by weight, among the edges that have not been drawn before.

    The positions drawn before are in `positions`, and `part` is a random number from 0 to 1. Returns a position in the
    list, or the length of the list if all remaining edges weigh 0.
    """
    total = 0.0
    for place in range(first, last):
        if weight(weights, first, place) > 0 and not _is_drawn(positions, count, place - first):
            total += weight(weights, first, place)
    mark, chosen, total = part * total, last, 0.0
    for place in range(first, last):
        edge_weight = weight(weights, first, place)
        if edge_weight > 0 and total <= mark and not _is_drawn(positions, count, place - first):
            chosen = place
            total += edge_weight
    return chosen - first


@compiled
def _is_drawn(positions, count, place):
    """Return whether `place` is among the first `count` positions in `positions`, which were drawn before."""
    is_drawn = False
    for i in range(count):
        is_drawn |= np.uint64(positions[i]) == place
    return is_drawn


@compiled
def _number_vertices(thread, threads, control, count, ids, table, known, at, total):
    """Give each distinct vertex in `ids` an index by first appearance, on one thread, by a hash table with linear
    probing.

    Write the index of each of the `ids` to `at`, and the distinct vertices to `known`.
    """
    if thread == 0:
        for v in range(count):
            slot = _find_slot(table, np.uint64(known[v]))
            table[slot], table[slot + ONE] = known[v], v
        length = np.uint64(len(ids))
        for i in range(length):
            if i + _AHEAD < length:
                prefetch(table, _first_slot(table, np.uint64(ids[i + _AHEAD])))
            slot = _find_slot(table, np.uint64(ids[i]))
            if table[slot] < 0:
                table[slot], table[slot + ONE] = ids[i], count
                known[count] = ids[i]
                count += ONE
            at[i] = table[slot + ONE]
        total[0] = count


@compiled
def _first_slot(table, v):
    """Return the slot of the hash table `table` (pairs of a vertex and its index) at which the search for vertex v
    begins.
    """
    return mixed(ZERO, v) & (np.uint64(len(table)) - _PAIR)


@compiled
def _find_slot(table, v):
    """Return the slot of the hash table `table` that holds vertex v and its index, or the empty slot for v."""
    slot = _first_slot(table, v)
    while table[slot] >= 0 and np.uint64(table[slot]) != v:
        slot = (slot + _PAIR) & (np.uint64(len(table)) - _PAIR)
    return slot
