"""Clustering coefficients: the fraction of pairs of neighbors of a vertex that are adjacent.

The result is between 0 and 1 for each vertex. An adjacent pair of neighbors is a triangle at the vertex.

Two definitions are for directed graphs. Both add up a weight of each triangle at a vertex v. In a neighborhood, the
weight is the number of edges between the two neighbors (1 or 2). For directed triangles, it is the product of the
numbers of edges of the triangle's three sides, as each choice of an edge per side is a triangle.

In the order of degrees a triangle has a first vertex a, a second b and a last c. Two masked products of matrices of
forward edges compute the sums. One has the path a - b - c at the entry a -> c, for the sums at a and c. The other has
the path b - a - c at the entry b -> c, for the sum at b. No adjacency list is long in this order, which bounds the time
by m^1.5.
"""

from typing import Any, Literal, get_args

import numpy as np

import semirings
from gasla.algorithms.community.triangle_count import triangle_count
from gasla.arrays import module_of
from gasla.graph.arguments import check_choice, check_flags, weight_range
from gasla.graph.graph import Graph, as_graph
from gasla.graph.weights import takes_weight
from gasla.operations.matrices import mxm
from gasla.operations.on_one_device import on_one_device
from gasla.operations.primitives import Oriented, count_common_neighbors, orient, simplify
from gasla.rows import Row, Task, scores

Array = np.ndarray[Any, Any]
Mode = Literal["undirected", "neighborhood", "directed"]


@takes_weight
@on_one_device("triangles")
def clustering(graph: Any, *, mode: Mode = "undirected", weighted: bool = False) -> Array:
    """Compute the clustering coefficient of each vertex: the fraction of pairs of its neighbors that are adjacent.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple: self loops are ignored, and parallel edges count once. Stored zeros are edges.
    mode : "undirected", "neighborhood" or "directed"
        "undirected" reads edges as undirected, as `triangle_count` does. "neighborhood" is the fraction of ordered
        pairs (u, w) of neighbors that are an edge u -> w, where a neighbor has an edge from or to the vertex: the LCC
        of LDBC Graphalytics. "directed" counts directed triangles, in any combination of directions, relative to those
        possible with the edges of the vertex: `networkx.clustering` of a DiGraph. On a symmetric matrix all three are
        equal.
    weighted : bool
        Whether a triangle counts the geometric mean of its three values, relative to the largest value of the graph,
        as in `networkx.clustering` with a weight; for "undirected" only. Values are 0 or more; of parallel edges and
        of the two directions the larger value counts. By default, values are ignored.

    Returns
    -------
    (n,) array of float64
        On the device of the graph; 0 for vertices with fewer than two neighbors.

    Raises
    ------
    ValueError
        If `mode` is unknown; with `weighted`, if a value is negative, infinite or NaN, or for another mode.

    See Also
    --------
    gasla.transitivity : the fraction over the whole graph.
    gasla.triangle_count : the number of triangles at each vertex.

    References
    ----------
    D. J. Watts, S. H. Strogatz: Collective dynamics of 'small-world' networks. Nature 393 (1998).

    J.-P. Onnela, J. Saramäki, J. Kertész, K. Kaski: Intensity and coherence of motifs in weighted complex networks.
    Physical Review E 71 (2005).

    G. Fagiolo: Clustering in complex directed networks. Physical Review E 76 (2007).

    A. Iosup et al.: The LDBC Graphalytics Benchmark. arXiv:2011.15028 (2020).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> gasla.clustering(graph).round(3)
    array([1.   , 1.   , 0.333, 0.   ])
    >>> gasla.clustering(graph, mode="neighborhood").round(3)
    array([0.5  , 0.5  , 0.167, 0.   ])
    """
    check_choice("mode", mode, get_args(Mode))
    graph = as_graph(graph)
    check_flags(weighted=weighted)
    xp: Any = module_of(graph.device)
    if weighted and graph.value_type is not None:
        if mode != "undirected":
            raise ValueError(f"mode is {mode!r} and weighted is True; expected 'undirected', or weighted=False")
        graph.require_whole("weighted=True")
        return _mean_intensities(graph)
    if mode != "undirected":
        graph.require_whole(f"mode={mode!r}")
    if mode != "undirected" and not graph.is_symmetric:
        closed, possible = _neighborhood_counts(graph) if mode == "neighborhood" else _directed_counts(graph)
        return closed / xp.maximum(possible, 1)
    result: Any = triangle_count(graph, per_vertex=True)
    degrees = simplify(graph).out_degrees.astype(np.float64)
    pairs = degrees * (degrees - 1) / 2
    return result.per_vertex / xp.maximum(pairs, 1)


def _mean_intensities(graph: Graph) -> Array:
    """Return for each vertex the mean intensity of its triangles, over all pairs of its neighbors.

    The intensity of a triangle is the cube root of the product of its three weights, relative to the largest weight.
    Pairs of neighbors that are not adjacent have the intensity 0.
    """
    graph.notice_values()
    weight_range(graph, shares=True)
    xp: Any = module_of(graph.device)
    simple = graph.with_values(graph.values.astype(np.float64)).simple(semirings.max)  # type: ignore[union-attr]
    both_ways = simple.symmetrized(semirings.max)
    values: Any = both_ways.values
    if not (len(values) and values.max() > 0):
        return xp.zeros(graph.n)
    roots = both_ways.with_values(xp.cbrt(values / values.max()))
    degrees = roots.out_degrees.astype(np.float64)
    return _triangle_sums(roots) / xp.maximum(degrees * (degrees - 1) / 2, 1)


def _neighborhood_counts(graph: Graph) -> tuple[Array, Array]:
    """Return for each vertex the number of edges among its neighbors, and the number of ordered pairs of neighbors.

    An edge among the neighbors is the edge opposite to the vertex in a triangle. If it has a reverse edge, both count.
    """
    edge_count_graph = _edge_counts(graph)
    oriented = orient(edge_count_graph)
    closed: Any = count_common_neighbors(oriented, per_vertex=True)[1]
    forward = _forward_edges(edge_count_graph, oriented)
    mutual = forward.select(forward.out_values == 2)
    if mutual.m:
        last_counts = mxm(forward, mutual, semirings.plus_pair, mask=forward).data
        first_counts = mxm(mutual, forward, semirings.plus_pair, mask=forward).data
        outer = mxm(forward.reversed(), mutual, semirings.plus_pair, mask=forward).data
        closed = closed + _sum_at_tails(forward, last_counts + outer) + _sum_at_heads(forward, first_counts)
    degrees = edge_count_graph.out_degrees.astype(np.float64)
    return closed, degrees * (degrees - 1)


def _directed_counts(graph: Graph) -> tuple[Array, Array]:
    """Return for each vertex the number of directed triangles, and the largest number that its edges could form.

    Each choice of one of the edges between two vertices makes another directed triangle.
    """
    edge_count_graph = _edge_counts(graph)
    edge_values: Any = edge_count_graph.out_values
    edge_counts, mutual = (
        _sum_at_tails(edge_count_graph, edge_values),
        _sum_at_tails(edge_count_graph, (edge_values == 2).astype(np.float64)),
    )
    return _triangle_sums(edge_count_graph), edge_counts * (edge_counts - 1) - 2 * mutual


def _triangle_sums(edge_count_graph: Graph) -> Array:
    """Return for each vertex of a simple undirected graph the sum of the products of the values of its triangles' three
    sides.
    """
    forward = _forward_edges(edge_count_graph, orient(edge_count_graph))
    values: Any = forward.out_values
    outer = values * mxm(forward, forward, mask=forward).data
    inner = values * mxm(forward.reversed(), forward, mask=forward).data
    return _sum_at_tails(forward, outer + inner) + _sum_at_heads(forward, outer)


def _edge_counts(graph: Graph) -> Graph:
    """Return a simple undirected graph whose values say how many edges, 1 or 2, join the two ends in `graph`."""
    simple = graph.simple()
    return simple.with_values(module_of(graph.device).ones(simple.m)).symmetrized(semirings.plus)


def _forward_edges(edge_count_graph: Graph, oriented: Oriented) -> Graph:
    """Return a simple graph with only the edges from lower to higher degree, which limits the lengths of adjacency
    lists.

    Vertices of equal degree are ordered, too, so one direction of each edge is kept.
    """
    return edge_count_graph.select(oriented.precedes(*edge_count_graph.edges()))


def _sum_at_tails(graph: Graph, values: Any) -> Array:
    """Return for each vertex the sum of the values of its out-edges.

    `values` has a value per edge, in the order of the graph's adjacency lists.
    """
    xp: Any = module_of(graph.device)
    return xp.bincount(graph.out.owners(), values, graph.n)


def _sum_at_heads(graph: Graph, values: Any) -> Array:
    """Return for each vertex the sum of the values of its in-edges.

    `values` has a value per edge, in the order of the graph's adjacency lists of out-edges.
    """
    xp: Any = module_of(graph.device)
    return xp.bincount(graph.out.indices, values, graph.n)


ROW = Row(
    clustering,
    scores("clustering", {"scores": "clustering"}, lambda _: "highest clustering coefficients:"),
    Task(agree="near"),
    method="triangles at vertices by oriented lists (Schank, Wagner, WEA 2005; TRUST, 2021)",
    longer="Lists are intersected at every edge: the work grows with m to the power of 1.5, not with m.",
)
