"""k-trusses: the largest subgraph in which every edge is in at least k - 2 triangles of the subgraph.

All edges in too few triangles are removed at once; this reduces the support of others, and is repeated until none is.
"""

from typing import Any

import numpy as np

from gasla.algorithms.community.edge_support import at_stored_edges, edge_support
from gasla.arrays import module_of
from gasla.graph.arguments import whole_number
from gasla.graph.graph import Graph, as_graph
from gasla.operations.primitives import simplify


def k_truss(graph: Any, k: int | None = None) -> np.ndarray[Any, Any]:
    """Find the edges of the k-truss: the largest subgraph in which every edge is in at least k - 2 triangles.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected, as by `edge_support`.
    k : int, optional
        By default the largest k with a nonempty truss. For k <= 2 the truss holds all edges except self loops.

    Returns
    -------
    (m,) array of bool
        Whether each stored edge is in the truss, in input order, on the device of the graph; False for self loops. The
        truss may be disconnected, or empty; it is unique, and part of the (k - 1)-core.

    Raises
    ------
    TypeError
        If `k` is not an integer.
    ValueError
        If `k` is negative.

    See Also
    --------
    gasla.edge_support : the number of triangles that each edge is in.
    gasla.k_core : the same idea for vertices.

    References
    ----------
    J. Cohen: Trusses: Cohesive subgraphs for social network analysis. National Security Agency, 2008.

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> gasla.k_truss(graph, 3)
    array([ True,  True,  True, False])

    The truss as a graph:

    >>> graph.select(gasla.k_truss(graph, 3))
    Graph(n=4, m=3, values=None)
    """
    graph = as_graph(graph)
    least = None if k is None else whole_number("k", k) - 2
    xp: Any = module_of(graph.device)
    simple = simplify(graph)
    edges, part = xp.arange(simple.m), simple
    if least is not None:
        edges, _ = _peeled(edges, part, least)
    while least is None:  # ends, since each iteration removes the edges of least support
        more, smaller = _peeled(edges, part, int(edge_support(part).min()) + 1 if part.m else 0)
        if not len(more):
            break
        edges, part = more, smaller
    found = xp.zeros(simple.m, bool)
    found[edges] = True
    return at_stored_edges(graph, simple, found)


def _peeled(edges: Any, part: Graph, least: int) -> tuple[Any, Graph]:
    """Remove edges until each has support `least`. Returns the ids of the remaining edges, and the graph of them."""
    while least > 0 and part.m:
        enough = edge_support(part) >= least
        if enough.all():
            break
        edges, part = edges[enough], part.select(enough)
    return edges, part
