"""Edges by their ends: bisection in the ascending neighbor lists of all sources at once, in array code."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.arrays import array_module, running_sums
from gasla.graph.adjacency import Adjacency, Array
from gasla.graph.neighbor_lists import Lists


def first_edge_ids(lists: Lists, src: Array, dst: Array) -> Array:
    """Return the smallest number of the edges of each pair, as int64, or -1 where there is none."""
    xp, ascending = array_module(src), lists.sorted_out
    first, last = _places(ascending, src, dst)
    ids = xp.full(len(src), -1, np.int64)
    some = first < last
    ids[some] = _numbers(ascending, first[some])
    return ids


def all_edge_ids(lists: Lists, src: Array, dst: Array) -> Array:
    """Return the numbers of all edges between the ends of pairs, parallel ones too, ascending, each once, as int64.

    Raises ValueError for a pair without an edge.
    """
    xp: Any = array_module(src)
    ascending = lists.sorted_out
    first, last = _places(ascending, src, dst)
    if (first == last).any():
        pair = int((first == last).argmax())
        raise ValueError(f"remove names an edge {int(src[pair])} -> {int(dst[pair])}, and the graph has none")
    starts = running_sums(last - first)
    pair = xp.searchsorted(starts, xp.arange(int(starts[-1])), side="right") - 1
    return xp.unique(_numbers(ascending, first[pair] + xp.arange(len(pair)) - starts[pair]))


def _numbers(lists: Adjacency, places: Array) -> Array:
    numbers = places if lists.edge_ids is None else lists.edge_ids[places]
    return numbers.astype(np.int64, copy=False)


def _places(lists: Adjacency, src: Array, dst: Array) -> tuple[Array, Array]:
    """Return the places in ascending lists at which the entries `dst` of the lists of `src` begin and end."""
    begin, end = (lists.indptr[src + after].astype(np.int64) for after in (0, 1))
    first = _bisected(lists.indices, begin, end, dst, after=False)
    return first, _bisected(lists.indices, first, end, dst, after=True)


def _bisected(indices: Array, low: Array, high: Array, wanted: Array, after: bool) -> Array:
    """Return the first place from `low` to `high` whose entry is at least `wanted`, or above it if `after`."""
    xp: Any = array_module(indices)
    for _ in range(int((high - low).max()).bit_length() if len(low) else 0):
        middle = (low + high) // 2
        entry = indices[xp.minimum(middle, len(indices) - 1)]
        before = (low < high) & ((entry <= wanted) if after else (entry < wanted))
        low, high = xp.where(before, middle + 1, low), xp.where(before, high, middle)
    return low
