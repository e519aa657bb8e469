"""Articulation points: vertices without which a graph falls into more components.

Returned are their ids.

Edges that are on a cycle together hang together: they are a biconnected component. In a spanning forest
(spanning_forest.py) every vertex stands for the edge from its parent. An edge of no tree is on a cycle with the edges
from both its ends' parents. The edges above and below a vertex are on a cycle if another edge leads from the
subtree of the lower one out of that of the vertex. Both kinds of pairs are linked; a vertex is an articulation point
where the edges of its tree are of several components.

R. E. Tarjan, U. Vishkin: An efficient parallel biconnectivity algorithm. SIAM J. Computing 14 (1985).
"""

from typing import Any

import numpy as np

from gasla.algorithms.components.spanning_forest import Forest, listed, spanning_forest
from gasla.arrays import module_of
from gasla.graph.graph import Graph, as_graph
from gasla.operations.primitives import compress, link, simplify


def articulation_points(graph: Any) -> np.ndarray:
    """The vertices of a graph without which their component would not hang together.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        Read as undirected: edges join their ends whichever way they point. Values are not looked at, and stored zeros
        are edges. Loops and parallel edges change nothing.

    Returns
    -------
    (k,) array of ids
        In ascending order. The same every time.

    See Also
    --------
    gasla.bridges : edges in place of vertices.

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
    graph = as_graph(graph)
    xp: Any = module_of(graph.device)
    simple = simplify(graph)
    forest = spanning_forest(simple)
    v, parents = forest.children, forest.parents
    above = parents[v]
    label = _biconnected(simple, forest)
    top = forest.levels[above] == 0
    label[above[top]] = label[v[top]]  # a root takes that of any edge to it
    apart = xp.zeros(graph.n, bool)
    apart[above[label[v] != label[above]]] = True
    return xp.flatnonzero(apart).astype(graph.id_dtype)


def _biconnected(graph: Graph, forest: Forest) -> Any:
    """For each vertex but roots, a label of the biconnected component that the edge from its parent is in."""
    xp: Any = module_of(graph.device)
    v, parents = forest.children, forest.parents
    below = v[forest.levels[v] > 1]
    joined = below[forest.is_left_from(below, parents[below])]
    label = xp.arange(graph.n, dtype=graph.id_dtype)
    link(listed(joined, parents[joined], graph.n), label)
    link(_other_edges(graph, parents), label)
    compress(label)
    return label


def _other_edges(graph: Graph, parents: Any) -> Graph:
    """The edges that are in no tree, each once."""
    xp: Any = module_of(graph.device)
    src, dst = graph.out.owners(), graph.out.indices
    once = xp.flatnonzero(src < dst)
    src, dst = src[once], dst[once]
    others = xp.flatnonzero((parents[src] != dst) & (parents[dst] != src))
    return listed(src[others], dst[others], graph.n)
