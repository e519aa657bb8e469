"""k-trusses: the largest part of a graph in which every edge is in at least k - 2 triangles of that part.

Returned is which edges are in it. It may be in several pieces, and empty. The truss of k is inside that of k - 1, and
inside the (k - 1)-core: a truss asks of edges what a core asks of vertices.

Edges of too few triangles are left out, all at once; what is left has fewer triangles, and so on until none is.

J. Cohen: Trusses: Cohesive subgraphs for social network analysis. National Security Agency, 2008.
"""

from typing import Any

import numpy as np

from gasla.algorithms.community.edge_support import at_stored_edges, edge_support
from gasla.arrays import module_of
from gasla.graph.arguments import whole_number
from gasla.graph.graph import as_graph
from gasla.operations.primitives import simplify


def k_truss(graph: Any, k: int) -> np.ndarray[Any, Any]:
    """Find the edges of the k-truss: the largest part in which every edge is in at least k - 2 triangles.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected, as by `edge_support`.
    k : int
        The truss of 2 and below are all edges between different vertices.

    Returns
    -------
    (m,) array of bool
        Whether each stored edge is in the truss, in the order of the input, on the device of the graph; False for self
        loops. There is one right answer.

    Raises
    ------
    TypeError
        If `k` is not a whole number.
    ValueError
        If `k` is negative.

    See Also
    --------
    gasla.edge_support : in how many triangles each edge is.
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
    least = whole_number("k", k) - 2
    xp: Any = module_of(graph.device)
    simple = part = simplify(graph)
    edges = xp.arange(simple.m)  # which of the simple graph's are left
    while least > 0 and part.m:
        enough = edge_support(part) >= least
        if enough.all():
            break
        edges, part = edges[enough], part.select(enough)
    found = xp.zeros(simple.m, bool)
    found[edges] = True
    return at_stored_edges(graph, simple, found)
