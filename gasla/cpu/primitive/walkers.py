"""Walkers and samples, on the CPU: each step is a function of the key, the walker, the step and the draw alone.

A step is two reads far apart: where a list begins, and an entry of it. A thread takes a group of walkers one step
further together and asks for what each will read, so that the reads of a group overlap.

Keys are hashes: `semirings.hash(seed, walker, step, draw)` is the key of the seed, mixed with the rest one by one.
"""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from gasla.cpu.runtime.blocks import block_size, blocks, entry_point, jit, run, threads_for
from gasla.cpu.runtime.intrinsics import prefetch, select
from gasla.cpu.runtime.threads import STOP, launched
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph

Array = np.ndarray[Any, Any]

_GROUP, _BIASED_GROUP = 64, 256  # walkers that go together; fewer and fewer of them draw again
_FEW = np.uint64(16)  # entries that are looked at one by one
_ROWS = np.uint64(64)  # samples that a thread takes at once
_TRIES = np.uint64(32)  # draws that may be refused, beside one an edge, before all of a list are weighed
_NOWHERE = np.uint64(2**64 - 1)
_ZERO, _ONE, _HALF, _LOW = np.uint64(0), np.uint64(1), np.uint64(32), np.uint64(2**32 - 1)
_A, _B, _C = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


def list_sums(lists: Adjacency, weights: Array) -> Array:
    """The sums of each list's weights up to each position, added in order."""
    sums, n = np.empty(len(lists.indices)), len(lists.indptr) - 1
    work = n + len(lists.indices)
    run(_sum, work, lists.indptr, weights, sums, block_size(n, threads_for(work)), loose=True)
    return sums


def walk(graph: Graph, starts: Array, length: int, key: int, sums: Array | None, bias: tuple[float, float]) -> Array:
    """Walks of so many steps, a row a walker. Biased by what a way back, and one farther off, weigh: 1 is unbiased."""
    lists, walks = graph.out, np.empty((len(starts), length + 1), graph.id_dtype)
    near = graph.sorted_out if bias != (1, 1) else lists
    sorted_lists = (near.indptr, near.indices) if bias != (1, 1) else (None, None)
    work, group = walks.size, _GROUP if bias == (1, 1) else _BIASED_GROUP
    team = threads_for(work)
    scratch, marks = np.empty((team, 9, group), np.uint64), np.empty((team, group))
    sought = np.empty((team, group), walks.dtype)
    most = work * (1 + int(_TRIES) * (bias != (1, 1)))
    args = (lists.indptr, lists.indices, sums, *sorted_lists, starts, np.uint64(key), *map(float, bias), walks)
    run(_walk, work, *args, scratch, marks, sought, most=most, loose=True)
    return walks


def sample(graph: Graph, ids: Array, k: int, key: int, replace: bool) -> Array:
    """`k` out-neighbours of each, -1 where there are no more."""
    lists, found = graph.out, np.empty((len(ids), k), graph.id_dtype)
    most = found.size * (1 if replace else 1 + k)
    run(_sample, found.size, lists.indptr, lists.indices, ids, np.uint64(key), replace, found, most=most, loose=True)
    return found


@jit
def _mixed(state, number):
    """Hash a number, as `semirings.hash` does."""
    z = (number + _ONE) * _A + state
    z = (z ^ (z >> _30)) * _B
    z = (z ^ (z >> _27)) * _C
    return z ^ (z >> _31)


@jit
def _share(bits, count):
    """`bits * count / 2**64`, rounded down; the count is less than 2**32."""
    return ((bits >> _HALF) * count + (((bits & _LOW) * count) >> _HALF)) >> _HALF


@jit
def _fraction(bits):
    """A number in [0, 1) from a hash, as `semirings.random` makes it."""
    return np.float64(bits >> _11) * 2.0**-53


@jit
def _choice(sums, first, last, bits):
    """A position of a list, by lot; nowhere if it is empty or weighs nothing."""
    if first == last:
        return _NOWHERE
    if sums is None:
        return first + _share(bits, last - first)
    total = sums[last - _ONE]
    if total == 0:
        return _NOWHERE
    mark = _fraction(bits) * total
    if mark >= total:  # by rounding, where the total is hardly more than 0
        mark = 0.0
    low, high = first, last - _ONE
    while low < high:
        middle = (low + high) >> _ONE
        if sums[middle] > mark:
            high = middle
        else:
            low = middle + _ONE
    return low


@entry_point
def _sum(thread, threads, control, indptr, weights, sums, block):
    if launched(thread, threads, control):
        return
    n = np.uint64(len(indptr) - 1)
    for start, end in blocks(control, n, block):
        for v in range(start, end):
            total = 0.0
            for k in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
                total += np.float64(weights[k])
                sums[k] = total


@entry_point
def _walk(
    thread, threads, control, indptr, indices, sums, near_indptr, near_indices, starts, key, back, off, walks,
    scratch, marks, sought,
):  # fmt: skip
    if launched(thread, threads, control):
        return
    n, steps = np.uint64(len(starts)), np.uint64(walks.shape[1] - 1)
    keys, places, highs, my_marks = scratch[thread, 0], scratch[thread, 1], scratch[thread, 2], marks[thread]
    for start, end in blocks(control, n, np.uint64(marks.shape[1])):
        for w in range(start, end):
            keys[w - start] = _mixed(key, w)
            walks[w, _ZERO] = starts[w]
            prefetch(indptr, np.uint64(starts[w]))
        for t in range(steps):
            if control[STOP]:
                break
            now = walks[start:end, t]
            for i in range(end - start):
                first, last = _ZERO, _ZERO
                if now[i] >= 0:
                    first, last = np.uint64(indptr[np.uint64(now[i])]), np.uint64(indptr[np.uint64(now[i]) + _ONE])
                if sums is None:
                    places[i] = _choice(sums, first, last, _mixed(_mixed(keys[i], t), _ZERO))
                    prefetch(indices, places[i])
                else:
                    places[i], highs[i] = first, last
                    prefetch(sums, last - _ONE)
            if sums is not None:
                _choose_together(indices, sums, keys, t, places[: end - start], highs, my_marks)
            if near_indptr is not None and t > _ZERO:
                bias, before = (back, off), walks[start:end, t - _ONE]
                lists, near = (indptr, indices, sums), (near_indptr, near_indices)
                _accept_together(lists, near, before, now, bias, t, scratch[thread], my_marks, sought[thread])
            for w in range(start, end):
                place = places[w - start]
                if place == _NOWHERE:
                    walks[w, t + _ONE] = -1
                    continue
                to = indices[place]
                walks[w, t + _ONE] = to
                prefetch(indptr, np.uint64(to))


@jit
def _choose_together(indices, sums, keys, t, places, highs, marks):
    """`_choice` of a group, one step of each bisection after the other; places and highs begin as bounds of lists."""
    count = np.uint64(len(places))
    for i in range(count):
        total = 0.0 if places[i] == highs[i] else sums[highs[i] - _ONE]
        if total == 0:
            places[i] = highs[i] = _NOWHERE
        else:
            mark = _fraction(_mixed(_mixed(keys[i], t), _ZERO)) * total
            marks[i] = mark if mark < total else 0.0
            highs[i] -= _ONE
            prefetch(sums, (places[i] + highs[i]) >> _ONE)
    is_open = True
    while is_open:
        is_open = False
        for i in range(count):
            low, high = places[i], highs[i]
            if low < high:
                middle = (low + high) >> _ONE
                is_left = sums[middle] > marks[i]
                places[i] = low = select(is_left, low, middle + _ONE)
                highs[i] = high = select(is_left, middle, high)
                prefetch(sums, (low + high) >> _ONE)
                is_open = True
    for i in range(count):
        prefetch(indices, places[i])


@jit
def _accept_together(lists, near, before, now, bias, t, scratch, marks, sought):
    """Of a group the first positions drawn that the bias lets pass: all draw, then all look who is near, in turns.

    Places begin as drawn before, of all edges alike. After many draws all edges are weighed, so that there is an end.
    """
    indices = lists[1]
    keys, places, highs, states, draws, lows, opened, doubtful, searching = scratch
    back, off = bias
    top, sure, never = max(back, off, 1.0), min(off, 1.0), max(off, 1.0)
    count = _ZERO
    for i in range(np.uint64(len(now))):
        if places[i] != _NOWHERE:
            opened[count], states[i], draws[i] = i, _mixed(keys[i], t), _ONE
            count += _ONE
    while count > _ZERO:
        refused = doubts = _ZERO
        for k in range(count):
            i = opened[k]
            to, mark = indices[places[i]], _fraction(_mixed(states[i], draws[i])) * top
            if to == before[i]:
                is_refused = mark >= back
            elif sure <= mark < never:  # it depends on whether that is near
                marks[i], doubtful[doubts], sought[i] = mark, i, to
                doubts += _ONE
                continue
            else:
                is_refused = mark >= sure
            if is_refused:
                opened[refused] = i
                refused += _ONE
        if doubts > _ZERO:
            _search_together(near, before, lows, highs, doubtful[:doubts], searching, sought)
        for k in range(doubts):
            i = doubtful[k]
            if marks[i] >= (1.0 if highs[i] else off):
                opened[refused] = i
                refused += _ONE
        count = _draw_again(lists, near, before, now, bias, places, states, draws, opened, refused)


@jit
def _draw_again(lists, near, before, now, bias, places, states, draws, opened, refused):
    """Draw anew for refused walkers; returns how many of these have to be looked at once more, the first opened."""
    indptr, indices, sums = lists
    count = _ZERO
    for k in range(refused):
        i = opened[k]
        v = np.uint64(now[i])
        first, last = np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])
        bits = _mixed(states[i], draws[i] + _ONE)
        draws[i] += _ONE + _ONE
        if draws[i] > (_ONE + _ONE) * (_TRIES + last - first):
            fraction = _fraction(_mixed(states[i], draws[i]))
            places[i] = _weighed(lists, near, first, last, before[i], bias, fraction)
        else:
            places[i] = _choice(sums, first, last, bits)
            prefetch(indices, places[i])
            opened[count] = i
            count += _ONE
    return count


@jit
def _search_together(near, before, lows, highs, doubtful, opened, sought):
    """Whether the lists of the vertices before hold what is sought, 1 or 0 in highs: all bisections go step by step.

    The last entries, of a cache line or so, are looked at one by one.
    """
    near_indptr, near_indices = near
    count = _ZERO
    for i in doubtful:
        u = np.uint64(before[i])
        lows[i], highs[i] = np.uint64(near_indptr[u]), np.uint64(near_indptr[u + _ONE])
        prefetch(near_indices, (lows[i] + highs[i]) >> _ONE)
        opened[count] = i
        count += np.uint64(highs[i] - lows[i] > _FEW)
    while count > _ZERO:
        left = _ZERO
        for k in range(count):
            i = opened[k]
            low, high = lows[i], highs[i]
            middle = (low + high) >> _ONE
            is_right = near_indices[middle] < sought[i]
            low, high = select(is_right, middle, low), select(is_right, high, middle + _ONE)
            lows[i], highs[i] = low, high
            prefetch(near_indices, (low + high) >> _ONE)
            opened[left] = i
            left += np.uint64(high - low > _FEW)
        count = left
    for i in doubtful:
        to, found = sought[i], _ZERO
        for k in range(lows[i], highs[i]):
            found |= np.uint64(near_indices[k] == to)
        highs[i] = found


@jit
def _weighed(lists, near, first, last, before, bias, fraction):
    """A position by the weights of all, biased."""
    _, indices, sums = lists
    near_indptr, near_indices = near
    back, off = bias
    ids = near_indices[np.uint64(near_indptr[before]) : np.uint64(near_indptr[before + 1])]
    top, total, place = max(back, off, 1.0), 0.0, first
    for k in range(first, last):
        total += _weight(sums, first, k) * (_bias(indices[k], ids, before, back, off) / top)
    mark = fraction * total
    total = 0.0
    for k in range(first, last):
        more = _weight(sums, first, k) * (_bias(indices[k], ids, before, back, off) / top)
        if more > 0:
            place = k
            total += more
            if total > mark:
                break
    return place


@jit
def _weight(sums, first, k):
    """The weight of the edge at position k, 1 without weights."""
    if sums is None:
        return 1.0
    return sums[k] - (sums[k - _ONE] if k > first else 0.0)


@jit
def _bias(to, near, before, back, off):
    """What a step is multiplied by."""
    if to == before:
        return back
    low, high = _ZERO, np.uint64(len(near))
    while low < high:
        middle = (low + high) >> _ONE
        if near[middle] < to:
            low = middle + _ONE
        else:
            high = middle
    return 1.0 if low < np.uint64(len(near)) and near[low] == to else off


@entry_point
def _sample(thread, threads, control, indptr, indices, ids, key, replace, found):
    if launched(thread, threads, control):
        return
    n, k = np.uint64(len(ids)), np.uint64(found.shape[1])
    for start, end in blocks(control, n, _ROWS):
        for w in range(start, end):
            v, state = np.uint64(ids[w]), _mixed(key, w)
            first, degree = np.uint64(indptr[v]), np.uint64(indptr[v + _ONE]) - np.uint64(indptr[v])
            count = k if replace and degree else min(k, degree)
            if replace:
                for j in range(count):
                    found[w, j] = _share(_mixed(state, j), degree)
            else:
                _draw_apart(found[w], count, degree, state)
            for j in range(count):
                found[w, j] = indices[first + np.uint64(found[w, j])]
            for j in range(count, k):
                found[w, j] = -1


@jit
def _draw_apart(row, count, degree, state):
    """So many different numbers below the degree (Floyd): of two that meet, the later becomes the highest so far."""
    for j in range(count):
        top = degree - count + j
        drawn = _share(_mixed(state, j), top + _ONE)
        for i in range(j):
            if np.uint64(row[i]) == drawn:
                drawn = top
                break
        row[j] = drawn
