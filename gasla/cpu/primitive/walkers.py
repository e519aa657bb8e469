"""Walkers and samples, on the CPU: who goes where is a function of the key, the walker, the step and the draw alone.

A step is two reads far apart: where a list begins, and an entry of it. A thread takes a group of walkers one step
further together and asks for what each will read, so that the reads of a group overlap.

Keys are hashes: `semirings.hash(seed, walker, step, draw)` is the key of the seed, mixed with the rest one by one.
"""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from gasla.cpu.runtime.blocks import block_size, blocks, entry_point, jit, run, threads_for
from gasla.cpu.runtime.intrinsics import prefetch
from gasla.cpu.runtime.threads import STOP, launched
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph

Array = np.ndarray[Any, Any]

_GROUP = np.uint64(64)  # walkers that go together
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
    work = walks.size
    scratch = np.empty((threads_for(work), 2 * int(_GROUP)), np.uint64)
    most = work * (1 + int(_TRIES) * (bias != (1, 1)))
    args = (lists.indptr, lists.indices, sums, *sorted_lists, starts, np.uint64(key), *map(float, bias), walks, scratch)
    run(_walk, work, *args, most=most, loose=True)
    return walks


def sample(graph: Graph, ids: Array, k: int, key: int, replace: bool) -> Array:
    """`k` out-neighbours of each, -1 where there are no more."""
    lists, found = graph.out, np.empty((len(ids), k), graph.id_dtype)
    most = found.size * (1 if replace else 1 + k)
    run(_sample, found.size, lists.indptr, lists.indices, ids, np.uint64(key), replace, found, most=most, loose=True)
    return found


@jit
def _mixed(state, number):
    """As in `semirings.hash`."""
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
    """As in `semirings.random`."""
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
    thread, threads, control, indptr, indices, sums, near_indptr, near_indices, starts, key, back, off, walks, scratch
):  # fmt: skip
    if launched(thread, threads, control):
        return
    n, steps = np.uint64(len(starts)), np.uint64(walks.shape[1] - 1)
    keys, places = scratch[thread, : np.int64(_GROUP)], scratch[thread, np.int64(_GROUP) :]
    for start, end in blocks(control, n, _GROUP):
        for w in range(start, end):
            keys[w - start] = _mixed(key, w)
            walks[w, _ZERO] = starts[w]
            prefetch(indptr, np.uint64(starts[w]))
        for t in range(steps):
            if control[STOP]:
                break
            for w in range(start, end):
                v, place = walks[w, t], _NOWHERE
                if v >= 0:
                    first, last = np.uint64(indptr[np.uint64(v)]), np.uint64(indptr[np.uint64(v) + _ONE])
                    place = _choice(sums, first, last, _mixed(_mixed(keys[w - start], t), _ZERO))
                    prefetch(indices, place)
                places[w - start] = place
            for w in range(start, end):
                place = places[w - start]
                if place == _NOWHERE:
                    walks[w, t + _ONE] = -1
                    continue
                if near_indptr is not None and t > _ZERO:
                    before, v = walks[w, t - _ONE], np.uint64(walks[w, t])
                    first, last = np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])
                    near = near_indices[np.uint64(near_indptr[before]) : np.uint64(near_indptr[before + 1])]
                    state = _mixed(keys[w - start], t)
                    place = _accepted(indices, sums, first, last, near, before, state, back, off, place)
                to = indices[place]
                walks[w, t + _ONE] = to
                prefetch(indptr, np.uint64(to))


@jit
def _accepted(indices, sums, first, last, near, before, state, back, off, place):
    """The first position drawn that the bias lets pass. After many tries all are weighed, so that there is an end."""
    top, draw = max(back, off, 1.0), _ONE
    for _ in range(_TRIES + last - first):
        mark = _fraction(_mixed(state, draw)) * top
        if mark < _bias(indices[place], near, before, back, off, mark):
            return place
        place = _choice(sums, first, last, _mixed(state, draw + _ONE))
        draw += _ONE + _ONE
    total = 0.0
    for k in range(first, last):
        total += _weight(sums, first, k) * (_bias(indices[k], near, before, back, off, -1.0) / top)
    mark = _fraction(_mixed(state, draw)) * total
    total = 0.0
    for k in range(first, last):
        more = _weight(sums, first, k) * (_bias(indices[k], near, before, back, off, -1.0) / top)
        if more > 0:
            place = k
            total += more
            if total > mark:
                break
    return place


@jit
def _weight(sums, first, k):
    """What `_choice` takes a position for."""
    if sums is None:
        return 1.0
    return sums[k] - (sums[k - _ONE] if k > first else 0.0)


@jit
def _bias(to, near, before, back, off, mark):
    """What a step is multiplied by; whether it ends near is looked up only where a mark's fate depends on it."""
    if to == before:
        return back
    if 0 <= mark < min(1.0, off) or mark >= max(1.0, off):
        return off
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
