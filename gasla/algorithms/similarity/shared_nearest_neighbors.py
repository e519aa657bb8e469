"""Shared nearest neighbors are the common out-neighbors of two vertices. Their number compares points by
surroundings.
"""

from typing import Any

from gasla.algorithms.community.edge_support import edge_support
from gasla.algorithms.similarity.measures import Pairs, chosen_pairs
from gasla.graph.graph import whole_graph
from gasla.operations.primitives import intersect
from gasla.program import EdgeFrontier
from gasla.rows import Row, Task, edge_values


def shared_nearest_neighbors(graph: Any, pairs: Pairs | None = None) -> Any:
    """Count the out-neighbors that the vertices of each pair have in common.

    Of a graph from `nearest_neighbors_graph`, these are the points that are among the k nearest of both. Two points are
    alike if many are, however dense the points are there.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as directed, parallel edges as one. A vertex with a self loop is its own neighbor. Values are ignored;
        stored zeros are edges.
    pairs : (u, v), two arrays of ids or names, optional
        The pairs to count for; by default the ends of each stored edge, in input order.

    Returns
    -------
    array of int64
        One number per pair, on the device of the graph. For a vertex and itself, its number of out-neighbors.

    Raises
    ------
    TypeError, ValueError
        If `pairs` is not two integer arrays of equal length, or has an id outside the graph.

    See Also
    --------
    gasla.nearest_neighbors_graph : the graph of the k nearest neighbors of points.
    gasla.jaccard : of undirected graphs, relative to the number of all neighbors.

    Notes
    -----
    Clusters of Jarvis and Patrick are the components of the edges, in both directions, whose ends share enough
    neighbors: `connected_components(graph.select(counts >= least))`.

    References
    ----------
    R. A. Jarvis, E. A. Patrick: Clustering Using a Similarity Measure Based on Shared Near Neighbors. IEEE Transactions
    on Computers C-22 (1973). L. Ertöz, M. Steinbach, V. Kumar: Finding Clusters of Different Sizes, Shapes, and
    Densities in Noisy, High Dimensional Data. SDM 2003.

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.nearest_neighbors_graph([[0.0], [1.0], [2.0], [9.0]], 2)
    >>> gasla.shared_nearest_neighbors(graph)
    array([1, 1, 1, 1, 1, 1, 1, 1])
    >>> gasla.shared_nearest_neighbors(graph, pairs=([0, 3], [3, 3]))
    array([2, 2])
    """
    graph = whole_graph(graph)
    if pairs is None and graph.is_simple:
        # a common neighbor of an edge's two ends makes a triangle, which is found once for its three edges
        return edge_support(graph)
    u, v = chosen_pairs(graph, pairs)
    merged_graph = (
        graph.kept("merged", lambda g: g.with_values(None).simple(loops=True)) if graph.has_parallel_edges else graph
    )
    return intersect(merged_graph, EdgeFrontier(graph.n, u, u, v))


ROW = Row(
    shared_nearest_neighbors,
    edge_values(
        *("shared-nearest-neighbors", {"counts": "shared_nearest_neighbors"}),
        lambda f: f.positive("counts", "have ends with a common neighbor"),
    ),
    Task(),
    method="intersections of sorted lists, the shorter searched in the longer, as for triangles (TRUST, TPDS 32, 2021)",
    longer="Both lists of each of m pairs are read, so that a list is read once for each edge at its vertex.",
)
