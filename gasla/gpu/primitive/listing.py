"""Finds the common neighbors of pairs of vertices, and tests whether pairs are edges, by arrays of CuPy.

An edge src -> dst is represented by the number src * n + dst. The edges in ascending adjacency lists are then ascending
numbers, in which `searchsorted` looks up all candidates at once. For a pair of vertices, the neighbors of the vertex
with fewer neighbors are looked up among those of the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.arrays import array_module, running_sums
from gasla.graph import lists_gpu as gpu_lists
from gasla.graph.graph import Graph

Array = Any  # an array of CuPy


def common(graph: Graph, sources: Array, targets: Array, above: Array | None) -> tuple[Array, Array]:
    """Return the common out-neighbors of sources[i] and targets[i] with ids above above[i], for each pair i.

    The result is an array of the indices i, and an array of the vertices.
    """
    lists, n = graph.sorted_out, graph.n
    xp, keys = array_module(lists.indices), edge_keys(graph)
    if not (len(keys) and len(sources)):
        return xp.empty(0, np.int64), lists.indices[:0]
    sources, targets = (xp.ascontiguousarray(ids, np.int64) for ids in (sources, targets))
    smallest_id = 0 if above is None else above.astype(np.int64) + 1
    starts = [xp.searchsorted(keys, ids * n + smallest_id) for ids in (sources, targets)]
    lengths = [lists.indptr[ids + 1] - first for ids, first in zip((sources, targets), starts)]
    second_is_shorter = lengths[1] < lengths[0]
    longer, start = xp.where(second_is_shorter, sources, targets), xp.where(second_is_shorter, starts[1], starts[0])
    candidate_offsets = running_sums(xp.minimum(*lengths))
    candidate_positions = xp.arange(int(candidate_offsets[-1]))
    if not len(candidate_positions):
        return candidate_positions, lists.indices[:0]
    pair_index = gpu_lists.owners(candidate_offsets, candidate_positions)
    candidate_positions += (start - candidate_offsets[:-1])[pair_index]
    vertices = lists.indices[candidate_positions]
    # If a vertex has several edges to the same neighbor, edge number i of these is common only if the other vertex has
    # at least i edges to this neighbor.
    earlier_parallels = candidate_positions - xp.searchsorted(keys, keys[candidate_positions])
    wanted_keys = longer[pair_index] * n + vertices
    key_positions = xp.searchsorted(keys, wanted_keys) + earlier_parallels
    hits = _is_key_at(keys, key_positions, wanted_keys)
    return pair_index[hits], vertices[hits]


def has_edges(graph: Graph, sources: Array, targets: Array) -> Array:
    """Return whether the edge sources[i] -> targets[i] exists, for each i."""
    xp, keys = array_module(graph.sorted_out.indices), edge_keys(graph)
    if not (len(keys) and len(sources)):
        return xp.zeros(len(sources), bool)
    wanted_keys = sources.astype(np.int64) * graph.n + targets
    return _is_key_at(keys, xp.searchsorted(keys, wanted_keys), wanted_keys)


def edge_keys(graph: Graph) -> Array:
    """Return the number src * n + dst of each edge, ascending. The graph caches the array."""
    return graph.kept("edge keys", lambda graph: graph.sorted_out.as_keys(graph.n))


def _is_key_at(keys: Array, at: Array, wanted: Array) -> Array:
    """Return, for each position in `at`, whether the ascending array `keys` has the number `wanted` at this position.

    A position after the last key counts as unequal. `keys` must not be empty.
    """
    return (at < len(keys)) & (keys[at.clip(max=len(keys) - 1)] == wanted)
