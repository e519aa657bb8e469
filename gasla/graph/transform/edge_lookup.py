"""Edge numbers of pairs of vertices, found by bisection in the sorted adjacency lists of all sources at once.

The bisection uses array operations that NumPy and CuPy have in common.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.arrays import array_module, running_sums
from gasla.graph.adjacency import Adjacency, Array
from gasla.graph.neighbor_lists import Lists


def first_edge_ids(lists: Lists, src: Array, dst: Array) -> Array:
    """Return the number of the edge ``src[k] -> dst[k]`` for every k, as int64, or -1 where there is no such edge.

    Of parallel edges it is the smallest number.
    """
    xp, ascending = array_module(src), lists.sorted_out
    first_matches, match_ends = _find_ranges(ascending, src, dst)
    ids = xp.full(len(src), -1, np.int64)
    exists = first_matches < match_ends
    ids[exists] = _edge_numbers(ascending, first_matches[exists])
    return ids


def all_edge_ids(lists: Lists, src: Array, dst: Array) -> Array:
    """Return the numbers of all edges ``src[k] -> dst[k]``, parallel edges included, as int64.

    The numbers ascend, and each occurs once.

    Raise ValueError for a pair without an edge.
    """
    xp: Any = array_module(src)
    ascending = lists.sorted_out
    first_matches, match_ends = _find_ranges(ascending, src, dst)
    if (first_matches == match_ends).any():
        pair = int((first_matches == match_ends).argmax())
        raise ValueError(f"remove names an edge {int(src[pair])} -> {int(dst[pair])}, and the graph has none")
    starts = running_sums(match_ends - first_matches)
    pair = xp.searchsorted(starts, xp.arange(int(starts[-1])), side="right") - 1
    return xp.unique(_edge_numbers(ascending, first_matches[pair] + xp.arange(len(pair)) - starts[pair]))


def _edge_numbers(lists: Adjacency, positions: Array) -> Array:
    numbers = positions if lists.edge_ids is None else lists.edge_ids[positions]
    return numbers.astype(np.int64, copy=False)


def _find_ranges(lists: Adjacency, src: Array, dst: Array) -> tuple[Array, Array]:
    """Return where the edges ``src[k] -> dst[k]`` are in sorted adjacency lists, as ranges of positions.

    The first array has where each range begins, and the second where it ends. Parallel edges are adjacent there, so a
    range may have several edges.
    """
    list_starts, end = (lists.indptr[src + offset].astype(np.int64) for offset in (0, 1))
    first_matches = _bisect(lists.indices, list_starts, end, dst, after=False)
    return first_matches, _bisect(lists.indices, first_matches, end, dst, after=True)


def _bisect(indices: Array, search_starts: Array, search_ends: Array, target: Array, after: bool) -> Array:
    """Return, for each of many searches in sorted lists, the first position whose entry is at least `target`.

    A search is among the positions of `indices` from `search_starts` to `search_ends`. With `after`, it returns the
    first position whose entry is greater than `target`.
    """
    xp: Any = array_module(indices)
    for _ in range(int((search_ends - search_starts).max()).bit_length() if len(search_starts) else 0):
        middle = (search_starts + search_ends) // 2
        entry = indices[xp.minimum(middle, len(indices) - 1)]
        is_before = (search_starts < search_ends) & ((entry <= target) if after else (entry < target))
        search_starts, search_ends = (
            xp.where(is_before, middle + 1, search_starts),
            xp.where(is_before, search_ends, middle),
        )
    return search_starts
