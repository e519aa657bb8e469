"""List the common neighbors of pairs of vertices, and find out which pairs are edges.

The two sorted lists of a pair are merged from the first neighbor above a bound. If one list is far longer, the entries
of the short list are searched in it. A first pass counts the common neighbors, and a second pass writes them.

Parameters of the kernels
-------------------------
thread, threads :
    index of this thread, from 0, and the number of threads of the run
control :
    (72,) int64 array that all threads of the run share: counters by which they take blocks of work and wait for each
    other, and the flag that stops the run
indptr, indices :
    (n + 1,) offsets of sorted adjacency lists, and (m,) ids of neighbors
sources, targets :
    (pairs,) ids, both vertices of each pair
above :
    (pairs,) ids that the common neighbors must exceed, or empty
counts, places, place :
    (pairs,) int64, the number of common neighbors; (pairs,) int64, where the first one of each pair is written; the
    place of one pair
vertices :
    ids, the common neighbors of all pairs, which are written
is_writing :
    whether common neighbors are written, and not only counted
are_edges :
    (pairs,) bool, the result of `has_edges`
i, i_end, j, j_end :
    the ranges of two lists in `indices`
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
_GRAIN = np.uint64(512)  # number of pairs of vertices that a thread takes at once
_LOOKS = 16  # estimated time for each pair, in units of the time to read one edge; decides how many threads run
# if one list of a pair is more than this many times as long as the other, the shorter list's entries are searched in it
_LOPSIDED = np.uint64(16)


def common(graph: Graph, sources: Array, targets: Array, above: Array | None) -> tuple[Array, Array]:
    """Return the common out-neighbors of sources[i] and targets[i], as two arrays: the index i and the vertex.

    If `above` is given, only vertices larger than above[i] are returned.
    """
    lists, count, no_vertices = graph.sorted_out, len(sources), np.empty(0, graph.id_dtype)
    ends = [np.ascontiguousarray(ids, graph.id_dtype) for ids in (sources, targets)]
    bounds = no_vertices if above is None else np.ascontiguousarray(above, graph.id_dtype)
    counts, places = np.zeros(count, np.int64), np.zeros(count, np.int64)
    work, most = _LOOKS * count, count * graph.max_out_degree
    inputs = lists.indptr, lists.indices, *ends, bounds
    run(_list_common, work, *inputs, counts, places, no_vertices, False, most=most, loose=True)
    sums = running_sums(counts)
    vertices = np.empty(int(sums[-1]), graph.id_dtype)
    run(_list_common, work, *inputs, counts, sums, vertices, True, most=most, loose=True)
    return np.repeat(np.arange(count), counts), vertices


def has_edges(graph: Graph, sources: Array, targets: Array) -> Array:
    """Return whether there is an edge sources[i] -> targets[i], for each i."""
    lists, are_edges = graph.sorted_out, np.zeros(len(sources), np.bool_)
    ends = [np.ascontiguousarray(ids, graph.id_dtype) for ids in (sources, targets)]
    run(_look_up, _LOOKS * len(sources), lists.indptr, lists.indices, *ends, are_edges, loose=True)
    return are_edges


@compiled
def _list_common(
    thread, threads, control, indptr, indices, sources, targets, above, counts, places, vertices, is_writing
):
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
    """Count the common entries of two ascending adjacency lists, at positions `i` to `i_end` and `j` to `j_end` of
    `indices`.

    The list at `i` is the shorter one. With `is_writing`, also write the common entries to `vertices`, from position
    `place` on.
    """
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
