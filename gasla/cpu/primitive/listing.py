"""Lists the common neighbors of pairs of vertices, and finds out which pairs are edges.

Two lists are merged from the first neighbor above a bound; where one list is far longer, the entries of the short one
are searched in it. A first pass counts the common neighbors, a second pass writes them.

Parameters of the kernels
-------------------------
thread, threads :
    number of this thread, from 0, and of all threads
control :
    words by which threads take blocks, meet and see that the run is stopped
indptr, indices :
    (n + 1,) and (m,) sorted adjacency lists
sources, targets :
    (pairs,) ids
above :
    (pairs,) ids, which the common neighbors must exceed, or empty
counts, places, place :
    (pairs,) int64, how many there are, and where the first of each pair goes; that of one pair
vertices :
    ids, the common neighbors of all pairs
is_writing :
    whether they are written, and not only counted
are_edges :
    (pairs,) bool, the result of `has_edges`
i, i_end, j, j_end :
    the ranges of two lists
"""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from gasla.arrays import running_sums
from gasla.compiler.function import compiled
from gasla.cpu.kernels.searches import first_not_less
from gasla.cpu.runtime.blocks import blocks, run
from gasla.graph.graph import Graph

Array = np.ndarray[Any, Any]

_ONE = np.uint64(1)
_GRAIN = np.uint64(512)  # pairs that a thread takes at once
_LOOKS = 16  # work per pair, roughly, in units of one edge that is read
_LOPSIDED = np.uint64(16)  # if one list is this many times as long, the other's entries are searched in it


def common(graph: Graph, sources: Array, targets: Array, above: Array | None) -> tuple[Array, Array]:
    """Return the common out-neighbors of sources[i] and targets[i], as pairs of i and vertex.

    Each is larger than above[i], if given.
    """
    lists, count, none = graph.sorted_out, len(sources), np.empty(0, graph.id_dtype)
    ends = [np.ascontiguousarray(ids, graph.id_dtype) for ids in (sources, targets)]
    least = none if above is None else np.ascontiguousarray(above, graph.id_dtype)
    counts, places = np.zeros(count, np.int64), np.zeros(count, np.int64)
    work, most = _LOOKS * count, count * graph.max_out_degree
    fixed = lists.indptr, lists.indices, *ends, least
    run(_list, work, *fixed, counts, places, none, False, most=most, loose=True)
    sums = running_sums(counts)
    vertices = np.empty(int(sums[-1]), graph.id_dtype)
    run(_list, work, *fixed, counts, sums, vertices, True, most=most, loose=True)
    return np.repeat(np.arange(count), counts), vertices


def has_edges(graph: Graph, sources: Array, targets: Array) -> Array:
    """Return whether there is an edge sources[i] -> targets[i], for each i."""
    lists, are_edges = graph.sorted_out, np.zeros(len(sources), np.bool_)
    ends = [np.ascontiguousarray(ids, graph.id_dtype) for ids in (sources, targets)]
    run(_look_up, _LOOKS * len(sources), lists.indptr, lists.indices, *ends, are_edges, loose=True)
    return are_edges


@compiled
def _list(thread, threads, control, indptr, indices, sources, targets, above, counts, places, vertices, is_writing):
    for start, end in blocks(control, np.uint64(len(sources)), _GRAIN):
        for e in range(start, end):
            u, v = np.uint64(sources[e]), np.uint64(targets[e])
            i, i_end = np.uint64(indptr[u]), np.uint64(indptr[u + _ONE])
            j, j_end = np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])
            if len(above):
                i = first_not_less(indices, i, i_end, above[e] + 1)
                j = first_not_less(indices, j, j_end, above[e] + 1)
            if i_end - i > j_end - j:
                i, i_end, j, j_end = j, j_end, i, i_end
            counts[e] = _merge(indices, i, i_end, j, j_end, np.uint64(places[e]), vertices, is_writing)


@compiled
def _merge(indices, i, i_end, j, j_end, place, vertices, is_writing):
    """Count the common entries of two ascending lists, the shorter first. `is_writing` stores them from `place` on."""
    count, searches = 0, j_end - j > _LOPSIDED * (i_end - i)
    while i < i_end and j < j_end:
        w = indices[i]
        if searches:
            j = first_not_less(indices, j, j_end, w)
        else:
            while j < j_end and indices[j] < w:
                j += _ONE
        if j < j_end and indices[j] == w:
            if is_writing:
                vertices[place] = w
                place += _ONE
            count += 1
            j += _ONE
        i += _ONE
    return count


@compiled
def _look_up(thread, threads, control, indptr, indices, sources, targets, are_edges):
    for start, end in blocks(control, np.uint64(len(sources)), _GRAIN):
        for e in range(start, end):
            u = np.uint64(sources[e])
            at_end = np.uint64(indptr[u + _ONE])
            at = first_not_less(indices, np.uint64(indptr[u]), at_end, targets[e])
            are_edges[e] = at < at_end and indices[at] == targets[e]
