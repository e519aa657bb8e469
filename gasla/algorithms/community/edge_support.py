"""Edge support: the number of triangles that each edge is in, which is the number of common neighbors of its ends.

Each triangle is listed once, as in `triangle_count`, and counted at its three edges.
"""

from typing import Any

import numpy as np

from gasla.arrays import module_of
from gasla.graph.graph import Graph, whole_graph
from gasla.operations.primitives import count_common_neighbors, orient
from gasla.rows import Row, Task, edge_values

Array = np.ndarray[Any, Any]


def edge_support(graph: Any) -> Array:
    """Count the triangles that each edge is in.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected, as by `triangle_count`. Values are ignored; stored zeros are edges.

    Returns
    -------
    (m,) array of int64
        One count per stored edge, in input order, on the device of the graph: the same for all edges between two
        vertices; 0 for self loops.

    See Also
    --------
    gasla.k_truss : the largest subgraph in which every edge has a given support.

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
    graph = whole_graph(graph)
    oriented = orient(graph)
    _, counts = count_common_neighbors(oriented, per_edge=True)
    assert counts is not None
    return at_stored_edges(graph, oriented.graph, counts)


def at_stored_edges(graph: Graph, simple: Graph, values: Array) -> Array:
    """Return for each edge of a graph, in the order of the input, the value of the same edge in the simple graph.

    `simple` is `simplify(graph)`, and `values` has an entry for each of its edges. Self loops get 0.
    """
    if simple is graph:
        return values
    xp: Any = module_of(graph.device)
    src, dst = graph.out.owners(), graph.out.indices
    at_stored = xp.zeros(graph.m, values.dtype)
    if simple.m:
        lists, values_by_position = simple.sorted_out, simple.sorted_out.by_position(values)
        assert values_by_position is not None
        # keys ascend with the adjacency lists, as searchsorted needs
        keys = _edge_keys(lists.owners(), lists.indices, graph.n)
        positions = xp.searchsorted(keys, _edge_keys(src, dst, graph.n))
        is_edge = src != dst  # the simple graph has all edges but self loops, whose value stays 0
        at_stored[graph.out.numbers()[is_edge]] = values_by_position[positions[is_edge]]
    return at_stored


def _edge_keys(src: Array, dst: Array, n: int) -> Array:
    """Return a number for each pair of vertices (src, dst), which ascends with src and then with dst."""
    return src.astype(np.int64) * n + dst


ROW = Row(
    edge_support,
    edge_values("edge-support", {"support": "support"}, lambda f: f.positive("support", "are in triangles")),
    Task(),
    method="oriented lists, intersected at each edge (Schank, Wagner, WEA 2005; TRUST, 2021)",
    longer="Lists are intersected at every edge: the work grows with m to the power of 1.5, not with m.",
)
