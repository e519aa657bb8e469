"""k-trusses: the largest subgraph in which every edge is in at least k - 2 triangles of the subgraph.

Edges in too few triangles are removed, which removes triangles of other edges, until no edge is in too few
(`primitives.peel_edges`). The largest k of a truss that has edges is found by bisection, in which only edges between
vertices of high core numbers are examined.
"""

from typing import Any

import numpy as np

from gasla.algorithms.community.core_number import core_number
from gasla.algorithms.community.edge_support import at_stored_edges
from gasla.arrays import any_true, module_of
from gasla.graph.arguments import whole_number
from gasla.graph.graph import Graph, whole_graph
from gasla.operations.primitives import peel_edges, simplify
from gasla.rows import Row, edge_values


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
    graph = whole_graph(graph)
    # Each edge of the k-truss is in at least k - 2 triangles, so edges that are removed when their support is at most k
    # - 3 are not in the k-truss.
    level = None if k is None else whole_number("k", k) - 3
    simple = simplify(graph)
    if level is None:
        is_within = _last_truss(simple)
    else:
        is_within = (
            peel_edges(simple, level, level) > level if level >= 0 else module_of(graph.device).ones(simple.m, bool)
        )
    return at_stored_edges(graph, simple, is_within)


def _last_truss(simple: Graph) -> Any:
    """Return a mask of the edges of a simple graph in the k-truss of the largest k for which it has edges.

    This k is found by bisection. An edge of the (s + 2)-truss joins vertices of the (s + 1)-core, so only edges between
    vertices of high core numbers are peeled.
    """
    xp: Any = module_of(simple.device)
    is_within = xp.ones(simple.m, bool)
    core = core_number(simple)
    # the smaller core number of the two ends of each edge
    edge_core = xp.minimum(*(core[endpoint] for endpoint in simple.edges()))
    # Invariant of the bisection: all edges in `is_within` are in at least `lower_bound` triangles, and no truss has
    # edges that are all in more than `upper_bound` triangles.
    lower_bound, upper_bound = 0, int(edge_core.max()) - 1 if simple.m else 0
    while lower_bound < upper_bound:
        middle = (lower_bound + upper_bound + 1) // 2
        edges = xp.flatnonzero(is_within & (edge_core > middle))
        remain = peel_edges(simple.select(edges), middle - 1, middle - 1) >= middle
        if any_true(remain):
            is_within = xp.zeros(simple.m, bool)
            is_within[edges[remain]] = True
            lower_bound = middle
        else:
            upper_bound = middle - 1
    return is_within


ROW = Row(
    k_truss,
    edge_values(
        *("k-truss", {"edges": "truss"}, lambda f: f.inside("edges", f"stored edges {f.of_degree('truss')}")),
        lambda f: f.edges(f.members("edges")),
    ),
    method="PKT: edges peeled with their triangles (Kabir, Madduri, HPEC 2017; AccTruss: Che et al., PVLDB 13, 2020)",
    longer="Triangles at every edge, then edges are peeled with their triangles, round after round.",
)
