"""Square clustering: the squares at a vertex, as a share of those that its neighbors could make.

Returned is a number from 0 to 1 for each vertex. Two neighbors u and w of v make a square with each further common
neighbor. How many squares are possible at v follows from degrees, the triangles at v and the squares at v.

Vertices are put in an order, as for triangles, in which those of many neighbors come late. A square is found once,
from its last vertex v: the opposite corner x comes before v, and so do the two in between. With c paths v - u - x of
two edges, where u and x come before v, there are c (c - 1) / 2 squares at v and at x, and c - 1 at each u. Paths are
counted by a product of matrices for some v at a time, and added up at u by a product at given entries. A path costs a
step, and there are no more of them than the sum, over edges, of the smaller degree: in a star as many as leaves.

P. Lind, M. González, H. Herrmann: Cycles and clustering in bipartite networks. Physical Review E 72 (2005). P. Zhang et
al.: Clustering coefficient and community structure of bipartite networks. Physica A 387 (2008). N. Chiba, T. Nishizeki:
Arboricity and Subgraph Listing Algorithms. SIAM Journal on Computing 14 (1985).
"""

from typing import Any

import numpy as np

import semirings
from gasla.algorithms.neighborhood import two_hops
from gasla.arrays import any_true, array_module, module_of, running_sums, shares
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph, as_graph
from gasla.operations.matrices import mxm
from gasla.operations.primitives import Oriented, count_common_neighbours, orient
from gasla.operations.sparse import Sparse

Array = np.ndarray[Any, Any]


def square_clustering(graph: Any) -> Array:
    """The square clustering coefficient of each vertex: the squares at it over those that its neighbors could make.

    Two neighbors u and w of v, of q common neighbors beside it, could make so many: q, and those whom only one of
    them knows, v, u and w aside.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected, as by `triangle_count`. Values are not looked at.

    Returns
    -------
    (n,) array of float64
        On the device of the graph; 0 where there is no possible square.

    Raises
    ------
    ValueError
        If the squares at a vertex might exceed int64: its degree, times the sum of its neighbors', is 2^63 or more.

    See Also
    --------
    gasla.clustering : the same for triangles.

    Notes
    -----
    The time is that of the sum, over all edges, of the smaller degree of both ends, however large the other is. Memory
    beside the result is about 60 bytes for each of up to 4 million pairs of vertices, or of the pairs of one vertex if
    it has more; 8 bytes an edge; and 24 bytes a vertex for each thread.

    References
    ----------
    P. Zhang et al.: Clustering coefficient and community structure of bipartite networks. Physica A 387 (2008).

    N. Chiba, T. Nishizeki: Arboricity and Subgraph Listing Algorithms. SIAM Journal on Computing 14 (1985).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 3, 3], [1, 2, 3, 0, 4])
    >>> gasla.square_clustering(graph).round(3)
    array([0.5  , 1.   , 0.5  , 0.333, 0.   ])
    """
    graph = as_graph(graph)
    xp: Any = module_of(graph.device)
    oriented = orient(graph)
    simple = oriented.graph
    degrees = simple.out_degrees.astype(np.int64)
    around = two_hops.paths_from(simple)  # the degrees of the neighbors of each
    _require_exact(degrees, around)
    triangles: Any = count_common_neighbours(oriented, per_vertex=True)[1]
    squares = _squares(oriented, degrees)
    possible = (degrees - 1) * (around - degrees) - 2 * triangles - squares
    return xp.where(possible > 0, squares / xp.maximum(possible, 1), 0.0)


def _require_exact(degrees: Array, around: Array) -> None:
    """Refuse a graph whose counts may not fit int64; squares at a vertex are at most half of this product."""
    most = degrees.astype(np.float64) * around
    if len(most) and float(most.max()) >= 2.0**63:
        v = int(most.argmax())
        raise ValueError(
            f"vertex {v} has {int(degrees[v]):,} neighbors, and they have {int(around[v]):,} together; expected a "
            "product below 2^63, so that the squares at it can be counted in int64"
        )


def _squares(oriented: Oriented, degrees: Array) -> Array:
    """How many cycles of four edges each vertex is on."""
    simple, earlier = oriented.graph.with_values(None), oriented.forward.reversed().out
    xp: Any = module_of(simple.device)
    squares, n = xp.zeros(simple.n, np.int64), simple.n
    for rows in shares(_row_sums(earlier, degrees[earlier.indices]), two_hops.MOST):
        lasts = xp.arange(n)[rows]
        middles = earlier.of(lasts)
        pattern = xp.ones(len(middles.indices), bool)
        found = mxm(Sparse((len(lasts), n), middles.indptr, middles.indices, pattern), simple, semirings.plus_pair)
        last = lasts[Adjacency(found.indptr, found.indices).owners()]
        keep = (found.data > 1) & oriented.precedes(found.indices, last)
        if not any_true(keep):
            continue
        others = found.data - 1
        squares[rows] += xp.diff(running_sums(xp.where(keep, found.data * others // 2, 0))[found.indptr])
        corners = Graph.from_edges(found.indices[keep], last[keep], others[keep], n=n)
        further: Any = corners.out_values
        squares += _row_sums(corners.out, (further + 1) * further // 2)
        edges = Graph.from_edges(middles.indices, lasts[middles.owners()], n=n)
        at_edges = mxm(simple, corners, semirings.plus_second, mask=edges)
        squares += xp.diff(running_sums(at_edges.data)[at_edges.indptr])
    return squares


def _row_sums(lists: Adjacency, values: Any) -> Any:
    """The sum of the values of each list; exact, as int64 wraps around and back."""
    xp: Any = array_module(values)
    return xp.diff(running_sums(values)[lists.indptr])
