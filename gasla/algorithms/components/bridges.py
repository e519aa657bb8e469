"""Bridges: edges without which a graph falls into more components.

Returned are the pairs of vertices that bridges join.

A bridge is on no cycle, so it is in every spanning forest; and an edge of a forest is a bridge where no other edge
leads out of the subtree below it. Subtrees are ranges of numbers (spanning_forest.py), and the least and the greatest
number next to each are known.

R. E. Tarjan: A note on finding the bridges of a graph. Information Processing Letters 2 (1974).
R. E. Tarjan, U. Vishkin: An efficient parallel biconnectivity algorithm. SIAM J. Computing 14 (1985).
"""

from typing import Any

import numpy as np

from gasla.algorithms.components.spanning_forest import has_twin, spanning_forest
from gasla.arrays import module_of
from gasla.graph.graph import as_graph
from gasla.operations.primitives import simplify


def bridges(graph: Any) -> np.ndarray:
    """The edges of a graph that are on no cycle.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        Read as undirected: edges join their ends whichever way they point, and i -> j and j -> i are one edge. Values
        are not looked at, and stored zeros are edges. Parallel edges are no bridges, nor are loops.

    Returns
    -------
    (k, 2) array of ids
        A row a bridge: the smaller of its ends, then the other; rows ascend. The same every time.

    See Also
    --------
    gasla.articulation_points : vertices in place of edges.

    References
    ----------
    R. E. Tarjan, U. Vishkin: An efficient parallel biconnectivity algorithm. SIAM J. Computing 14 (1985).

    Examples
    --------
    >>> import gasla
    >>> triangle_and_tail = gasla.Graph.from_edges([0, 1, 2, 2, 3], [1, 2, 0, 3, 4])
    >>> gasla.bridges(triangle_and_tail)
    array([[2, 3],
           [3, 4]], dtype=int32)
    """
    graph = as_graph(graph)
    xp: Any = module_of(graph.device)
    simple = simplify(graph)
    forest = spanning_forest(simple)
    alone = ~forest.is_left_from(forest.children, forest.children)
    if simple is not graph:
        alone &= ~has_twin(graph, forest.parents)[forest.children]
    v = forest.children[alone]
    parents = forest.parents[v].astype(np.int64)
    pairs = xp.sort(xp.minimum(v, parents) * graph.n + xp.maximum(v, parents))
    return xp.stack([pairs // max(graph.n, 1), pairs % max(graph.n, 1)], axis=1).astype(graph.id_dtype)
