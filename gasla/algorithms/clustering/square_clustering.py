"""Square clustering: the number of squares at a vertex relative to the number that its neighbors could form.

The result is between 0 and 1 for each vertex. Two neighbors u and w of v form a square with each further common
neighbor. The number of possible squares at v follows from degrees, and from the triangles and squares at v.

Vertices are ordered by degree, as for triangles, so that hubs come last. Each square is counted once, from its last
vertex v: the opposite corner x and the two vertices in between precede v. If there are c paths v - u - x of two edges
in which u and x precede v, there are c (c - 1) / 2 squares at v and at x, and c - 1 at each u. Paths are counted by a
matrix product for a block of vertices v, and summed at u by a masked product. Time is proportional to the number of
these paths, which is at most the sum over edges of the smaller degree: for a star, its number of leaves.

P. Lind, M. González, H. Herrmann: Cycles and clustering in bipartite networks. Physical Review E 72 (2005).
"""

from typing import Any

import numpy as np

import semirings
from gasla.algorithms.neighborhood import two_hops
from gasla.arrays import any_true, array_module, module_of, running_sums, shares
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph, whole_graph
from gasla.operations.matrices import mxm
from gasla.operations.primitives import Oriented, count_common_neighbors, orient
from gasla.operations.sparse import Sparse
from gasla.rows import Row, Task, scores

Array = np.ndarray[Any, Any]


def square_clustering(graph: Any) -> Array:
    """Compute the square clustering coefficient of each vertex: its squares over the squares its neighbors could form.

    Two neighbors u and w of v with q common neighbors besides v could form q squares, and one more for each vertex
    other than v, u and w that is adjacent to exactly one of them.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected, as by `triangle_count`. Values are ignored; stored zeros are edges.

    Returns
    -------
    (n,) array of float64
        On the device of the graph; 0 if no square is possible.

    Raises
    ------
    ValueError
        If the number of squares at a vertex might overflow int64: its degree times the sum of its neighbors' degrees is
        2^63 or more.

    See Also
    --------
    gasla.clustering : the coefficient for triangles.

    Notes
    -----
    Time is proportional to the sum over all edges of the smaller degree of both ends. Memory besides the result is
    about 60 bytes for each of up to 4 million pairs of vertices (or of the pairs of one vertex, if it has more), 8
    bytes per edge, and 24 bytes per vertex and thread.

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
    graph = whole_graph(graph)
    xp: Any = module_of(graph.device)
    oriented = orient(graph)
    simple = oriented.graph
    degrees = simple.out_degrees.astype(np.int64)
    neighbor_degrees = two_hops.paths_from(simple)  # the sum of the neighbors' degrees
    _require_exact(degrees, neighbor_degrees)
    triangles: Any = count_common_neighbors(oriented, per_vertex=True)[1]
    squares = _count_squares(oriented, degrees)
    possible = (degrees - 1) * (neighbor_degrees - degrees) - 2 * triangles - squares
    return xp.where(possible > 0, squares / xp.maximum(possible, 1), 0.0)


def _require_exact(degrees: Array, around: Array) -> None:
    """Raise ValueError if the number of squares (cycles of four edges) at a vertex might overflow int64.

    The number is at most half of the vertex's degree times the sum of its neighbors' degrees, which is given as
    `around`.
    """
    bounds = degrees.astype(np.float64) * around
    if len(bounds) and float(bounds.max()) >= 2.0**63:
        v = int(bounds.argmax())
        raise ValueError(
            f"vertex {v} has {int(degrees[v]):,} neighbors, whose degrees sum to {int(around[v]):,}; expected a "
            "product below 2^63, so that its squares can be counted in int64"
        )


def _count_squares(oriented: Oriented, degrees: Array) -> Array:
    """Return for each vertex the number of squares, cycles of four edges, that contain it."""
    simple, earlier = oriented.graph.with_values(None), oriented.forward.reversed().out
    xp: Any = module_of(simple.device)
    squares, n = xp.zeros(simple.n, np.int64), simple.n
    for rows in shares(_row_sums(earlier, degrees[earlier.indices]), two_hops.MOST):
        lasts = xp.arange(n)[rows]
        middles = earlier.of(lasts)
        pattern = xp.ones(len(middles.indices), bool)
        paths = mxm(Sparse((len(lasts), n), middles.indptr, middles.indices, pattern), simple, semirings.plus_pair)
        last_vertex = lasts[Adjacency(paths.indptr, paths.indices).owners()]
        keep = (paths.data > 1) & oriented.precedes(paths.indices, last_vertex)
        if not any_true(keep):
            continue
        other_paths = paths.data - 1
        squares[rows] += xp.diff(running_sums(xp.where(keep, paths.data * other_paths // 2, 0))[paths.indptr])
        corners = Graph.from_edges(paths.indices[keep], last_vertex[keep], other_paths[keep], n=n)
        corner_values: Any = corners.out_values
        squares += _row_sums(corners.out, (corner_values + 1) * corner_values // 2)
        edges = Graph.from_edges(middles.indices, lasts[middles.owners()], n=n)
        at_edges = mxm(simple, corners, semirings.plus_second, mask=edges)
        squares += xp.diff(running_sums(at_edges.data)[at_edges.indptr])
    return squares


def _row_sums(lists: Adjacency, values: Any) -> Any:
    """Return, for each adjacency list in `lists`, the sum of the values of its entries.

    The sums are exact modulo 2**64, since int64 wraps around.
    """
    xp: Any = array_module(values)
    return xp.diff(running_sums(values)[lists.indptr])


ROW = Row(
    square_clustering,
    scores(
        *("square-clustering", {"scores": "square_clustering"}), lambda _: "highest square clustering coefficients:"
    ),
    Task(agree="near"),
    method="paths of two edges from the end of lower degree (Chiba, Nishizeki, SIAM J. Computing 14, 1985)",
    longer="Paths of two edges are counted by products: the sum over edges of the smaller degree.",
)
