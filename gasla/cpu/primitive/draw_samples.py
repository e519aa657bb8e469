"""Random samples of neighbors, and the prefix sums of weights by which weighted random walks choose edges."""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.kernels.draws import ONE, ZERO, aimed, exceeding, fraction, mixed, share
from gasla.cpu.kernels.walk_steps import TRIES, weight
from gasla.cpu.runtime.blocks import block_size, blocks, run, threads_for
from gasla.cpu.runtime.intrinsics import prefetch
from gasla.graph.adjacency import Adjacency

Array = np.ndarray[Any, Any]

_ROWS = np.uint64(64)  # samples that a thread takes at once


def list_sums(lists: Adjacency, weights: Array) -> Array:
    """The prefix sums of each list's weights, added in order."""
    sums, n = np.empty(len(lists.indices)), len(lists.indptr) - 1
    work = n + len(lists.indices)
    run(_sum, work, lists.indptr, weights, sums, block_size(n, threads_for(work)), loose=True)
    return sums


def list_guides(lists: Adjacency, sums: Array) -> Array:
    """For each list of d entries and each j below d: the first position whose prefix sum exceeds j / d of the total."""
    guides, n = np.empty(len(sums), np.uint32), len(lists.indptr) - 1
    work = n + len(sums)
    run(_guide, work, lists.indptr, sums, guides, block_size(n, threads_for(work)), loose=True)
    return guides


def sample(lists: Adjacency, ids: Array, k: int, key: int, replace: bool, weights: tuple[Array, Array] | None) -> Array:
    """Sample `k` neighbors of each vertex, one row per vertex; -1 where a vertex has fewer."""
    found = np.empty((len(ids), k), ids.dtype)
    _draw_rows(lists, ids, None, k, 0, key, replace, weights, found.reshape(-1), None)
    return found


def sample_lists(
    lists: Adjacency,
    ids: Array,
    firsts: Array,
    row: int,
    key: int,
    replace: bool,
    weights: tuple[Array, Array] | None,
) -> tuple[Array, Array]:
    """Sample neighbors of each vertex into lists of given lengths; with each, its position. -1 fills lists."""
    count = int(firsts[-1])
    found, places = np.empty(count, ids.dtype), np.empty(count, np.int64)
    _draw_rows(lists, ids, firsts, 0, row, key, replace, weights, found, places)
    return found, places


def _draw_rows(
    lists: Adjacency,
    ids: Array,
    firsts: Array | None,
    k: int,
    row: int,
    key: int,
    replace: bool,
    weights: tuple[Array, Array] | None,
    found: Array,
    places: Array | None,
) -> None:
    longest = len(found) // max(len(ids), 1) + 1
    most = len(found) * (1 if replace else longest) * (1 if weights is None else longest)
    numbers = np.uint64(k), np.uint64(row), np.uint64(key)
    run(
        *(_sample, len(found), lists.indptr, lists.indices, weights, ids, firsts, *numbers, replace, found, places),
        most=most,
        loose=True,
    )


def append_distinct(vertices: Array, found: Array) -> tuple[Array, Array]:
    """Append to distinct vertices those that are new in `found`; with it, the index of each entry of `found`."""
    size = 1 << (2 * (len(vertices) + len(found))).bit_length()
    table = np.full(size, -1, vertices.dtype if size < 2**31 else np.int64)
    known, at = np.empty(len(vertices) + len(found), vertices.dtype), np.empty(len(found), np.int64)
    known[: len(vertices)] = vertices
    count = np.zeros(1, np.uint64)
    run(_number, 0, np.uint64(len(vertices)), found, table, known, at, count, most=len(known), loose=True)
    return known[: int(count[0])].copy(), at


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
def _sample(thread, threads, control, indptr, indices, weights, ids, firsts, k, row, key, replace, found, places):
    """Draw positions within the lists of a block of vertices, then read the neighbors there."""
    n = np.uint64(len(ids))
    for start, end in blocks(control, n, _ROWS):
        for w in range(start, end):
            prefetch(indptr, np.uint64(ids[w]))
        for w in range(start, end):
            begin, stop = _bounds(firsts, k, w)
            first, last = np.uint64(indptr[np.uint64(ids[w])]), np.uint64(indptr[np.uint64(ids[w]) + ONE])
            drawn, state = found[begin:stop], mixed(key, row + w)
            count = _draw(drawn, first, last, weights, replace, state)
            for j in range(count):
                prefetch(indices, first + np.uint64(drawn[j]))
            for j in range(count, stop - begin):
                drawn[j] = -1
        for w in range(start, end):
            begin, stop = _bounds(firsts, k, w)
            first = np.uint64(indptr[np.uint64(ids[w])])
            for j in range(begin, stop):
                is_drawn = found[j] >= 0
                place = first + np.uint64(found[j])
                if places is not None:
                    places[j] = np.int64(place) if is_drawn else -1
                if is_drawn:
                    found[j] = indices[place]


@compiled
def _bounds(firsts, k, w):
    """The first entry of a row of samples, and its end."""
    if firsts is None:
        return w * k, w * k + k
    return np.uint64(firsts[w]), np.uint64(firsts[w + ONE])


@compiled
def _draw(drawn, first, last, weights, replace, state):
    """Fill `drawn` with positions within a list; returns how many there are."""
    degree, k = last - first, np.uint64(len(drawn))
    if degree == ZERO:
        return ZERO
    if weights is not None:
        return _draw_by_weight(drawn, first, last, weights, replace, state)
    if replace:
        for j in range(k):
            drawn[j] = share(mixed(state, j), degree)
        return k
    count = min(k, degree)
    if count == degree:  # Floyd's algorithm finds these, too
        for j in range(count):
            drawn[j] = j
        return count
    for j in range(count):
        top = degree - count + j
        place = share(mixed(state, j), top + ONE)
        drawn[j] = top if _has(drawn, j, place) else place
    return count


@compiled
def _draw_by_weight(drawn, first, last, weights, replace, state):
    """As `_draw`, by weight: without replacement each draw is among the edges not drawn yet."""
    sums, guides = weights
    k, count = np.uint64(len(drawn)), ZERO
    if sums[last - ONE] == 0:
        return ZERO
    if k >= last - first and not replace:
        for place in range(first, last):
            if weight(weights, first, place) > 0:
                drawn[count] = place - first
                count += ONE
        return count
    while count < k:
        place, is_new, tries = ZERO, False, ZERO
        while not is_new and tries < TRIES:
            bits = mixed(mixed(state, count), tries)
            mark, guide = aimed(sums, first, last, fraction(bits))
            place = exceeding(sums, first, first + np.uint64(guides[guide]), mark) - first
            is_new = replace or not _has(drawn, count, place)
            tries += ONE
        if not is_new:
            place = _draw_of_rest(drawn, count, first, last, weights, fraction(mixed(mixed(state, count), TRIES)))
            if place == last - first:
                break
        drawn[count] = place
        count += ONE
    return count


@compiled
def _draw_of_rest(drawn, count, first, last, weights, part):
    """Draw among the edges not drawn yet by adding their weights; the length of the list if all weigh 0."""
    total = 0.0
    for place in range(first, last):
        if weight(weights, first, place) > 0 and not _has(drawn, count, place - first):
            total += weight(weights, first, place)
    mark, chosen, total = part * total, last, 0.0
    for place in range(first, last):
        more = weight(weights, first, place)
        if more > 0 and total <= mark and not _has(drawn, count, place - first):
            chosen = place
            total += more
    return chosen - first


@compiled
def _has(drawn, count, place):
    """Whether a position is among the first `count`."""
    found = False
    for i in range(count):
        found |= np.uint64(drawn[i]) == place
    return found


@compiled
def _number(thread, threads, control, count, found, table, known, at, total):
    """Number vertices by first appearance, in a hash table with linear probing."""
    if thread == 0:
        for v in range(count):
            table[_slot(table, known, np.uint64(known[v]))] = v
        for i in range(np.uint64(len(found))):
            v = np.uint64(found[i])
            slot = _slot(table, known, v)
            if table[slot] < 0:
                table[slot] = count
                known[count] = v
                count += ONE
            at[i] = table[slot]
        total[0] = count


@compiled
def _slot(table, known, v):
    """The slot of a vertex, or the empty slot where it belongs."""
    slot, last = mixed(ZERO, v) & (np.uint64(len(table)) - ONE), np.uint64(len(table)) - ONE
    while table[slot] >= 0 and np.uint64(known[np.uint64(table[slot])]) != v:
        slot = (slot + ONE) & last
    return slot
