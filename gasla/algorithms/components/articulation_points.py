"""Articulation points: vertices whose removal disconnects their component.

Two edges are in the same biconnected component if they are on a common cycle. In a spanning forest (spanning_forest.py)
every vertex represents the edge from its parent. A non-tree edge is on a cycle with the parent edges of both its ends,
unless one end is an ancestor of the other. The parent edges of a vertex and of its parent are on a common cycle if a
non-tree edge leads from the subtree of the vertex out of the subtree of its parent. Pairs of edges on a common cycle
are linked to one component. A vertex is an articulation point if its tree edges are in several components.
"""

from typing import Any

import numpy as np

from gasla.algorithms.components.spanning_forest import DepthFirst, Forest, spanning_forest
from gasla.arrays import array_module, module_of
from gasla.graph.graph import Graph, whole_graph
from gasla.operations.primitives import compress, likely_largest, link, simplify
from gasla.rows import Command, Row, Task


def articulation_points(graph: Any) -> np.ndarray:
    """Find the articulation points of a graph: vertices whose removal disconnects their component.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        Read as undirected. Values are ignored; stored zeros are edges. Self loops and parallel edges do not matter.

    Returns
    -------
    (k,) array of ids
        The articulation points in ascending order; deterministic.

    See Also
    --------
    gasla.bridges : edges whose removal disconnects their component.

    References
    ----------
    R. E. Tarjan, U. Vishkin: An efficient parallel biconnectivity algorithm. SIAM J. Computing 14 (1985).

    Examples
    --------
    >>> import gasla
    >>> triangle_and_tail = gasla.Graph.from_edges([0, 1, 2, 2, 3], [1, 2, 0, 3, 4])
    >>> gasla.articulation_points(triangle_and_tail)
    array([2, 3], dtype=int32)
    """
    graph = whole_graph(graph)
    xp: Any = module_of(graph.device)
    simple = simplify(graph)
    forest = spanning_forest(simple)
    if isinstance(forest, DepthFirst):
        return _points_by_low_points(forest).astype(graph.id_dtype)
    parents, label, vertices = forest.parents, blocks_above(simple, forest), xp.arange(graph.n)
    children_of_roots = xp.flatnonzero((parents[parents] == parents) & (parents != vertices))
    # A root has no parent, so it gets the label that belongs to the edge to one of its children.
    label[parents[children_of_roots]] = label[children_of_roots]
    is_cut = xp.zeros(graph.n, bool)
    is_cut[parents[xp.flatnonzero(label != label[parents])]] = True
    return xp.flatnonzero(is_cut).astype(graph.id_dtype)


def _points_by_low_points(forest: DepthFirst) -> Any:
    """Return the articulation points of a graph in ascending order, from low points in a depth-first forest.

    A vertex is an articulation point if no edge leads from the subtree of one of its children to an ancestor of the
    vertex. A root is an articulation point if it has several children.
    """
    parents, numbers, low_points = forest
    n = len(parents)
    children = np.flatnonzero(parents != np.arange(n))
    parent_of = parents[children]
    is_root = parents[parent_of] == parent_of
    # A root is an articulation point if it has several children.
    is_cut = np.bincount(parent_of[is_root], minlength=n) > 1
    is_cut[parent_of[~is_root & (low_points[children] >= numbers[parent_of])]] = True
    return np.flatnonzero(is_cut)


def blocks_above(graph: Graph, forest: Forest | DepthFirst) -> Any:
    """Return for each vertex a label of the biconnected component of the edge that joins the vertex to its parent.

    Labels are ids of vertices. The label of a root, which has no parent, is its own id, and no other vertex has it.
    """
    xp: Any = module_of(graph.device)
    label = xp.arange(graph.n, dtype=graph.id_dtype)
    parents = forest.parents
    # In a depth-first forest every edge joins a vertex to an ancestor, so the low point alone says what leaves a
    # subtree.
    if isinstance(forest, DepthFirst):
        joins_parent = forest.low < forest.numbers[parents]
    else:
        joins_parent = forest.leaves_subtree(parents)
    link(_graph_of_single_edges(xp.where(joins_parent, parents, label)), label)
    if isinstance(forest, Forest) and graph.n:  # edges of vertices in the largest component so far are not read
        link(graph, label, last=2, across=forest.trees)
        compress(label)
        link(graph, label, known=likely_largest(label), across=forest.trees)
    compress(label)
    return label


def _graph_of_single_edges(neighbors: Any) -> Graph:
    """Return a graph with one edge from each vertex v, to the vertex `neighbors[v]`, by which sets of vertices are
    united.
    """
    xp: Any = array_module(neighbors)
    return Graph.from_csr(xp.arange(len(neighbors) + 1, dtype=neighbors.dtype), neighbors)


def _points_by_degree(result_view: Any) -> Any:
    """Return the articulation points, sorted by descending out-degree. `result_view` has the results of the command."""
    return result_view["points"][np.argsort(-result_view.graph.out_degrees[result_view["points"]], kind="stable")]


ROW = Row(
    articulation_points,
    Command(
        *("articulation-points", {"points": "articulation_point"}),
        lambda f: f.counted("points", "articulation points", "; highest out-degrees:"),
        lambda f: f.listed(_points_by_degree(f), f.graph.out_degrees[_points_by_degree(f)]),
        "ids",
    ),
    Task(checked_by="", form="ascending"),
    method="an Euler tour of a spanning tree (Tarjan, Vishkin, 1985); FAST-BCC (Dong et al., PPoPP 2023)",
    longer="A spanning forest, an Euler tour of it, and subtree bounds: each several passes with random reads.",
)
