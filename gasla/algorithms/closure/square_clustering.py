"""Square clustering: of the squares that might be at a vertex, which part is there.

Returned is a number from 0 to 1 for each vertex. Two neighbours u and w of v make a square with everybody else whom
both know. With p paths of two edges from v to x there are p (p - 1) / 2 squares that have v and x at opposite corners,
so that the rows of the product of the adjacency matrix with itself tell all; some of them at a time are computed.

P. Lind, M. González, H. Herrmann: Cycles and clustering in bipartite networks. Physical Review E 72 (2005). P. Zhang et
al.: Clustering coefficient and community structure of bipartite networks. Physica A 387 (2008).
"""

from typing import Any

import numpy as np

from gasla.algorithms.community.triangle_count import triangle_count
from gasla.algorithms.neighbourhood.two_hops import two_hops
from gasla.arrays import module_of, running_sums
from gasla.graph.graph import as_graph
from gasla.operations.primitives import simplify


def square_clustering(graph: Any) -> np.ndarray[Any, Any]:
    """The square clustering coefficient of each vertex: the squares at it over those that its neighbours could make.

    Two neighbours u and w of v, of q common neighbours beside it, could make so many: q, and those whom only one of
    them knows, v, u and w aside.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected, as by `triangle_count`. Values are not looked at.

    Returns
    -------
    (n,) array of float64
        On the device of the graph; 0 where there is no possible square.

    See Also
    --------
    gasla.clustering : the same for triangles.

    Notes
    -----
    Time and memory are those of `top_k_similar`.

    References
    ----------
    P. Zhang et al.: Clustering coefficient and community structure of bipartite networks. Physica A 387 (2008).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 3, 3], [1, 2, 3, 0, 4])
    >>> gasla.square_clustering(graph).round(3)
    array([0.5  , 1.   , 0.5  , 0.333, 0.   ])
    """
    graph = as_graph(graph)
    xp: Any = module_of(graph.device)
    simple, triangles = simplify(graph), triangle_count(graph, per_vertex=True).per_vertex  # type: ignore[union-attr]
    degrees = simple.out_degrees.astype(np.int64)
    squares = xp.zeros(graph.n, np.int64)
    for some in two_hops(simple, xp.ones(graph.n)):
        paths = some.weights.astype(np.int64)
        squares[some.rows] = xp.diff(running_sums(paths * (paths - 1) // 2)[some.indptr])
    around = xp.diff(running_sums(degrees[simple.out.indices])[simple.out.indptr])  # degrees of neighbours
    possible = (degrees - 1) * (around - degrees) - 2 * triangles - squares
    return xp.where(possible > 0, squares / xp.maximum(possible, 1), 0.0)
