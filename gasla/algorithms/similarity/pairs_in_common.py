"""What all measures of similarity share: which pairs are asked for, and what their ends have in common.

Pairs are those that are given, or the ends of all stored edges. For these, common neighbours are the triangles at an
edge, each of which is found once; pairs that are given, and sums of weights, take an intersection of lists each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.algorithms.community.edge_support import at_stored_edges, edge_support
from gasla.arrays import array_module, device_of, module_of
from gasla.graph.graph import Graph
from gasla.graph.validate import as_ids, check_range
from gasla.operations.primitives import intersect, simplify
from gasla.program.frontier import EdgeFrontier

Array = np.ndarray[Any, Any]
Pairs = tuple[Any, Any]


def chosen_pairs(graph: Graph, pairs: Pairs | None) -> tuple[Array, Array]:
    """The ends of the pairs, or of all stored edges in the order of the input; where the graph is."""
    xp: Any = module_of(graph.device)
    if pairs is None:
        owners, others, numbers = graph.out.owners(), graph.out.indices, graph.out.edge_ids
        if numbers is None:
            return owners, others
        ends = xp.empty((2, graph.m), owners.dtype)
        ends[0][numbers], ends[1][numbers] = owners, others
        return ends[0], ends[1]
    if not isinstance(pairs, (tuple, list)) or len(pairs) != 2:
        raise TypeError(f"pairs is {type(pairs).__name__}; expected (u, v), two arrays of vertices of one length")
    u, v = as_ids("u", pairs[0]), as_ids("v", pairs[1])
    if len(u) != len(v):
        raise ValueError(f"u has {len(u)} entries and v has {len(v)}; expected as many of each")
    for name, ids in (("u", u), ("v", v)):
        check_range(name, ids, graph.n)
        if device_of(ids) != graph.device and array_module(ids) is not np:
            raise TypeError(
                f"{name} is on the {device_of(ids)} and the graph on the {graph.device}; expected one device"
            )
    return xp.asarray(u), xp.asarray(v)


def degrees_of(graph: Graph, pairs: Pairs | None) -> tuple[Array, Array]:
    """How many neighbours both ends of each pair have, as float64."""
    return _degrees_at(graph, *chosen_pairs(graph, pairs))


def _degrees_at(graph: Graph, u: Array, v: Array) -> tuple[Array, Array]:
    degrees = simplify(graph).out_degrees.astype(np.float64)
    return degrees[u], degrees[v]


def neighbours_of(graph: Graph, pairs: Pairs | None) -> tuple[Array, Array, Array]:
    """How many neighbours both ends of each pair have, and how many in common, as float64."""
    u, v = chosen_pairs(graph, pairs)
    a, b = _degrees_at(graph, u, v)
    if pairs is not None:
        return a, b, intersect(simplify(graph), EdgeFrontier(graph.n, u, u, v)).astype(np.float64)
    xp: Any = module_of(graph.device)
    common = edge_support(graph).astype(np.float64)
    return a, b, xp.where(u == v, a, common) if graph.has_self_loops else common


def sums_in_common(graph: Graph, pairs: Pairs | None, weights: Array) -> Array:
    """What the common neighbours of both ends of each pair weigh; of edges, of one direction each."""
    simple, (u, v) = simplify(graph), chosen_pairs(graph, pairs)
    if pairs is not None:
        return intersect(simple, EdgeFrontier(graph.n, u, u, v), weights)
    xp: Any = module_of(graph.device)
    sums, (src, dst) = xp.zeros(simple.m), chosen_pairs(simple, None)
    here, back = xp.flatnonzero(src < dst), xp.flatnonzero(src > dst)
    sums[here] = intersect(simple, EdgeFrontier(graph.n, here, src[here], dst[here]), weights)
    sums[back] = sums[simple.reverse_edge_ids[back]]
    found = at_stored_edges(graph, simple, sums)
    if graph.has_self_loops:
        loops = xp.flatnonzero(u == v)
        found[loops] = intersect(simple, EdgeFrontier(graph.n, loops, u[loops], v[loops]), weights)
    return found


def per_common_neighbour(graph: Graph, measure: str) -> Array:
    """What each vertex adds to such a measure where it is a common neighbour."""
    xp: Any = module_of(graph.device)
    degrees = simplify(graph).out_degrees.astype(np.float64)
    if measure == "resource_allocation":
        return 1 / xp.maximum(degrees, 1)
    return xp.where(degrees > 1, 1 / xp.log(xp.maximum(degrees, 2)), np.inf)
