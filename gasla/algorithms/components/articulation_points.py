"""Articulation points: vertices whose removal disconnects their component.

Two edges are in the same biconnected component if they are on a common cycle. In a spanning forest (spanning_forest.py)
every vertex represents the edge from its parent. A non-tree edge is on a cycle with the parent edges of both its ends.
The parent edges of a vertex and of its parent are on a common cycle if a non-tree edge leads from the subtree of the
vertex out of the subtree of its parent. Both kinds of pairs are linked; a vertex is an articulation point if its tree
edges are in several components.
"""

from typing import Any

import numpy as np

from gasla.algorithms.components.spanning_forest import DepthFirst, Forest, sorted_graph, spanning_forest
from gasla.arrays import module_of
from gasla.graph.graph import Graph, whole_graph
from gasla.operations.primitives import compress, link, simplify
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
        return _by_low_points(forest).astype(graph.id_dtype)
    v, parents = forest.children, forest.parents
    above = parents[v]
    label = blocks_above(simple, forest)
    top = forest.levels[above] == 0
    label[above[top]] = label[v[top]]  # for a root, the label of any edge to it
    is_cut = xp.zeros(graph.n, bool)
    is_cut[above[label[v] != label[above]]] = True
    return xp.flatnonzero(is_cut).astype(graph.id_dtype)


def _by_low_points(forest: DepthFirst) -> Any:
    """Articulation points: no edge leads from the subtree of a child past the vertex."""
    parents, numbers, low = forest
    n = len(parents)
    v = np.flatnonzero(parents != np.arange(n))
    above = parents[v]
    is_root = parents[above] == above
    is_cut = np.bincount(above[is_root], minlength=n) > 1  # a root of several subtrees
    is_cut[above[~is_root & (low[v] >= numbers[above])]] = True
    return np.flatnonzero(is_cut)


def blocks_above(graph: Graph, forest: Forest | DepthFirst) -> Any:
    """For each vertex other than roots, a label of the biconnected component of the edge from its parent.

    Labels are vertices. That of a root is the root, which is the label of no other vertex.
    """
    xp: Any = module_of(graph.device)
    label = xp.arange(graph.n, dtype=graph.id_dtype)
    parents = forest.parents
    if isinstance(forest, DepthFirst):  # every edge leads from a vertex to one of those above it
        joined = xp.flatnonzero(forest.low < forest.numbers[parents])
    else:
        below = forest.children[forest.levels[forest.children] > 1]
        joined = below[forest.is_left_from(below, parents[below])]
        link(_other_edges(graph, parents), label)
    link(sorted_graph(joined, parents[joined], graph.n), label)
    compress(label)
    return label


def _other_edges(graph: Graph, parents: Any) -> Graph:
    """The non-tree edges, each in one direction."""
    xp: Any = module_of(graph.device)
    src, dst = graph.out.owners(), graph.out.indices
    once = xp.flatnonzero(src < dst)
    src, dst = src[once], dst[once]
    others = xp.flatnonzero((parents[src] != dst) & (parents[dst] != src))
    return sorted_graph(src[others], dst[others], graph.n)


def _by_degree(f: Any) -> Any:
    """Return the points by descending out-degree."""
    return f["points"][np.argsort(-f.graph.out_degrees[f["points"]], kind="stable")]


ROW = Row(
    articulation_points,
    Command(
        *("articulation-points", {"points": "articulation_point"}),
        lambda f: f.counted("points", "articulation points", "; highest out-degrees:"),
        lambda f: f.listed(_by_degree(f), f.graph.out_degrees[_by_degree(f)]),
        "ids",
    ),
    Task(checked_by="", form="ascending"),
)
