"""Support of edges: in how many triangles each edge is, which is how many neighbors its ends have in common.

Returned is a number for each stored edge. The graph is read as a simple undirected one: direction, self loops and
parallel edges don't count, and all stored edges between the same two vertices have the same support.

Each triangle is found once, as in `triangle_count`, and then counts at its three edges.

J. Cohen: Trusses: Cohesive subgraphs for social network analysis. National Security Agency, 2008.
"""

from typing import Any

import numpy as np

from gasla.arrays import module_of
from gasla.graph.graph import Graph, as_graph
from gasla.operations.primitives import count_common_neighbours, orient

Array = np.ndarray[Any, Any]


def edge_support(graph: Any) -> Array:
    """Count the triangles that each edge is in.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected: direction, self loops and parallel edges are ignored. If it isn't both, the one
        that is so is kept with it for further calls: up to 8 bytes an edge and 4 a vertex (`Graph.nbytes`).

    Returns
    -------
    (m,) array of int64
        One count for each stored edge, in the order of the input, on the device of the graph; 0 for self loops.

    See Also
    --------
    gasla.k_truss : the largest part in which every edge has some support.

    References
    ----------
    J. Cohen: Trusses: Cohesive subgraphs for social network analysis. National Security Agency, 2008.

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> gasla.edge_support(graph)
    array([1, 1, 1, 0])
    """
    graph = as_graph(graph)
    oriented = orient(graph)
    _, counts = count_common_neighbours(oriented, per_edge=True)
    assert counts is not None
    return at_stored_edges(graph, oriented.graph, counts)


def at_stored_edges(graph: Graph, simple: Graph, values: Array) -> Array:
    """What edges of `simplify(graph)` have, at each stored edge of the graph, in the order of the input; 0 at loops."""
    if simple is graph:
        return values
    xp: Any = module_of(graph.device)
    src, dst = graph.out.owners(), graph.out.indices
    found = xp.zeros(graph.m, values.dtype)
    if simple.m:
        lists, at = simple.sorted_out, simple.sorted_out.by_position(values)
        assert at is not None
        keys = _keys(lists.owners(), lists.indices, graph.n)  # ascending
        places = xp.searchsorted(keys, _keys(src, dst, graph.n))
        there = src != dst  # every other edge is in the simple graph
        found[graph.out.numbers()[there]] = at[places[there]]
    return found


def _keys(src: Array, dst: Array, n: int) -> Array:
    return src.astype(np.int64) * n + dst
