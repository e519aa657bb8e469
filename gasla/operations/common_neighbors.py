"""Common neighbors of pairs of vertices (counted, weighted or as arrays), edge lookup, cliques and trusses.

The public names are in `gasla.primitives`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.arrays import module_of, moved
from gasla.engines import engine
from gasla.graph.arguments import whole_number
from gasla.graph.graph import Graph, as_graph, whole_graph
from gasla.graph.validate import as_array
from gasla.program.frontier import EdgeFrontier

Array = Any  # an array of NumPy or CuPy
# the default of `last`: a level that no edge reaches, as it is larger than the number of triangles at any edge
MOST_LEVEL = 2**62


def intersect(graph: Any, edges: EdgeFrontier, weights: Array | None = None) -> Array:
    """Count the common out-neighbors of pairs of vertices, or add up their weights.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
    edges : EdgeFrontier
        The pairs, as from `gasla.stages.expand` or as ``EdgeFrontier(graph.n, ids, src, dst)``; they need not be edges.
    weights : (n,) array of numbers, optional
        Weight of each vertex as a common neighbor. By default each counts 1, and sums are integers.

    Returns
    -------
    array of int64, with `weights` of float64
        One number per pair. A neighbor counts as often as it occurs in both lists. Weights are added
        in ascending order of the neighbors on the CPU, and in another fixed order on a GPU.

    Raises
    ------
    TypeError
        If `edges` is not an EdgeFrontier, its ends are not integers, or the weights are not real numbers.
    ValueError
        If an end is not a vertex of the graph, or `weights` does not have one entry per vertex.

    Examples
    --------
    >>> import numpy as np
    >>> from gasla import EdgeFrontier, Graph, primitives
    >>> square = Graph.from_edges([0, 0, 1, 1, 2, 2, 3, 3], [1, 2, 0, 3, 0, 3, 1, 2])
    >>> corners = EdgeFrontier(4, np.arange(2), np.array([0, 0]), np.array([1, 3]))
    >>> primitives.intersect(square, corners)
    array([0, 2])
    >>> primitives.intersect(square, corners, weights=np.array([0.5, 1, 2, 4]))
    array([0., 3.])
    """
    graph = whole_graph(graph)
    src, dst = ends_of(graph, edges)
    on_graph = None if weights is None else _check_weights(graph, weights)
    return engine(graph.engine).primitives().intersect(graph, src, dst, on_graph)


def common(graph: Any, edges: EdgeFrontier, above: Array | None = None) -> tuple[Array, Array]:
    """List the common out-neighbors of pairs of vertices.

    For a pair of a vertex and itself these are its out-neighbors.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
    edges : EdgeFrontier
        The pairs, as from `gasla.stages.expand` or as ``EdgeFrontier(graph.n, ids, src, dst)``; they need not be edges.
    above : array of integers, optional
        A bound for each pair, -1 or a vertex id: only larger neighbors are listed. Smaller ones are skipped at no cost,
        which enumerates each set of vertices once, in ascending order.

    Returns
    -------
    which : array of int64
        For each common neighbor, the position of its pair in `edges`; ascending.
    vertices : array of the type of ids
        The common neighbors, ascending for each pair. A neighbor is listed as often as it occurs in both lists.

    Raises
    ------
    TypeError
        If `edges` is not an EdgeFrontier, or its ends are not integers.
    ValueError
        If an end is not a vertex of the graph, or `above` does not have one integer per pair.

    Notes
    -----
    Segmented intersection (Y. Wang et al.: Gunrock: GPU Graph Analytics. ACM Transactions on Parallel Computing 4(1),
    2017). On a GPU it takes about 60 bytes for each entry of the shorter list of each pair.

    See Also
    --------
    intersect : Count them.

    Examples
    --------
    >>> import numpy as np
    >>> from gasla import EdgeFrontier, Graph, primitives
    >>> square = Graph.from_edges([0, 0, 1, 1, 2, 2, 3, 3], [1, 2, 0, 3, 0, 3, 1, 2])
    >>> corners = EdgeFrontier(4, np.arange(2), np.array([0, 0]), np.array([1, 3]))
    >>> primitives.common(square, corners)
    (array([1, 1]), array([1, 2], dtype=int32))
    >>> primitives.common(square, corners, above=np.array([-1, 1]))
    (array([1]), array([2], dtype=int32))
    """
    graph = whole_graph(graph)
    src, dst = ends_of(graph, edges)
    if above is not None:
        above = _check_bounds(graph, above, len(src))
    return engine(graph.engine).primitives().common(graph, src, dst, above)


def has_edges(graph: Any, edges: EdgeFrontier) -> Array:
    """Test which pairs of vertices are edges of a graph.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
    edges : EdgeFrontier
        The pairs: ``EdgeFrontier(graph.n, ids, src, dst)``.

    Returns
    -------
    array of bool
        For each pair, whether there is an edge from `src` to `dst`.

    Raises
    ------
    TypeError, ValueError
        As `common`.

    Examples
    --------
    >>> import numpy as np
    >>> from gasla import EdgeFrontier, Graph, primitives
    >>> path = Graph.from_edges([0, 1], [1, 2])
    >>> primitives.has_edges(path, EdgeFrontier(3, np.arange(2), np.array([0, 0]), np.array([1, 2])))
    array([ True, False])
    """
    graph = whole_graph(graph)
    return engine(graph.engine).primitives().has_edges(graph, *ends_of(graph, edges))


def count_cliques(graph: Any, k: int) -> int:
    """Count the cliques of k vertices: sets in which every two vertices are joined by an edge.

    This is a whole algorithm, for which the CPU engine and the GPU engine each have a built-in kernel.
    `gasla.count_cliques` is this function.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected.
    k : int
        1 or more.

    Returns
    -------
    int
        Exact, however large.

    Notes
    -----
    Each clique is counted at its first vertex in degree order, among that vertex's later neighbors, as bit sets.
    N. Chiba, T. Nishizeki: Arboricity and Subgraph Listing Algorithms. SIAM Journal on Computing 14(1), 1985.
    S. Jain, C. Seshadhri: The Power of Pivoting for Exact Clique Counting. WSDM 2020.

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> primitives.count_cliques(Graph.from_edges([0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3]), 4)
    1
    """
    graph, k = as_graph(graph), whole_number("k", k)
    if k > 3:
        graph.require_whole("k above 3")
    if k == 0:
        raise ValueError("k is 0; expected 1 or more, the vertices of a clique")
    primitives = engine(graph.engine).primitives()
    simple = primitives.simplify(graph)
    if k <= 2:
        return simple.n if k == 1 else simple.m // 2
    if simple.max_out_degree < k - 1:
        return 0
    lists = primitives.orient(simple)
    if k == 3:
        return int(primitives.count_common_neighbors(lists, False)[0])
    return primitives.count_cliques(simple, lists, k)


def peel_edges(graph: Any, first: int = 0, last: int | None = None) -> Array:
    """Remove edges level by level until none is left: at level k, the edges in at most k triangles of remaining edges.

    This is a whole algorithm, for which the CPU engine has a built-in kernel. `gasla.k_truss` calls it.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Simple and undirected, as from `simplify`.
    first, last : int
        The levels. By default all, until no edge is left.

    Returns
    -------
    (m,) array of int64
        The level at which each stored edge is removed, in input order, the same for both directions. Edges that remain
        have `last` + 1. An edge of level k is in the (k + 2)-truss, and not in the (k + 3)-truss.

    Raises
    ------
    TypeError
        If a level is not an integer.
    ValueError
        If a level is negative, `last` is less than `first`, or the graph is not simple and undirected.

    Notes
    -----
    On the CPU, each triangle is visited once, when the first of its edges is removed. Memory is 20 bytes per stored
    edge, up to 50 if some are in no triangle, and 4 per vertex and thread; twice as much with int64 ids. On a GPU the
    triangles are counted anew each time that edges are removed. H. Kabir, K. Madduri: Parallel k-truss decomposition on
    multicore systems. IEEE HPEC 2017.

    Examples
    --------
    >>> from gasla import Graph, primitives
    >>> primitives.peel_edges(primitives.simplify(Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])))
    array([1, 1, 1, 1, 1, 1, 0, 0])
    """
    graph = whole_graph(graph)
    first = min(whole_number("first", first), MOST_LEVEL)
    last = MOST_LEVEL if last is None else min(whole_number("last", last), MOST_LEVEL)
    if last < first:
        raise ValueError(f"last is {last}; expected first, {first}, or more")
    if not graph.is_simple:
        raise ValueError("the graph is not simple and undirected; expected one from gasla.primitives.simplify(graph)")
    return engine(graph.engine).primitives().peel_edges(graph, first, last)


def ends_of(graph: Graph, edges: EdgeFrontier) -> tuple[Array, Array]:
    """Return the sources and targets of the edges in an `EdgeFrontier` as arrays on the graph's device.

    Raise an error if any of them is not a vertex of the graph.
    """
    if not isinstance(edges, EdgeFrontier):
        raise TypeError(f"edges is {edges!r}; expected an EdgeFrontier, as stages.expand gives it")
    if len(edges.src) != len(edges.dst):
        raise ValueError(
            f"edges have {len(edges.src)} sources and {len(edges.dst)} destinations; expected equally many"
        )
    for endpoint in (edges.src, edges.dst):
        if endpoint.dtype.kind not in "iu":
            raise TypeError(f"the ends of edges are {endpoint.dtype}; expected integers, ids of vertices")
        for extreme_id in (int(endpoint.min()), int(endpoint.max())) if len(endpoint) else ():
            if not 0 <= extreme_id < graph.n:
                raise ValueError(
                    f"vertex {extreme_id} is outside a graph of {graph.n} vertices; expected 0 to {graph.n - 1}"
                )
    return moved(edges.src, graph.device), moved(edges.dst, graph.device)


def _check_weights(graph: Graph, weights: Array) -> Array:
    """Return the weights of all vertices as float64 on the graph's device.

    Raise an error if the argument is not an array of n real numbers.
    """
    xp: Any = module_of(graph.device)
    weights = as_array("weights", weights)
    if weights.dtype.kind not in "biuf":
        raise TypeError(f"weights are {weights.dtype}; expected real numbers")
    if weights.shape != (graph.n,):
        raise ValueError(f"weights have shape {weights.shape}; expected ({graph.n},), one per vertex")
    return xp.ascontiguousarray(moved(weights, graph.device), np.float64)


def _check_bounds(graph: Graph, lower_bounds: Array, count: int) -> Array:
    lower_bounds = module_of(graph.device).asarray(moved(lower_bounds, graph.device))
    if lower_bounds.dtype.kind not in "iu" or lower_bounds.shape != (count,):
        raise ValueError(f"above is {lower_bounds.dtype}{lower_bounds.shape}; expected {count} integers, one per pair")
    return lower_bounds.clip(-1, graph.n - 1).astype(graph.id_dtype)
