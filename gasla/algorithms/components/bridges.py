"""Bridges: edges whose removal disconnects their component.

A bridge is on no cycle, so it is in every spanning forest. An edge of a spanning forest is a bridge if no other edge
leads out of the subtree below it. Vertices are numbered such that each subtree is a range (spanning_forest.py). So the
smallest and the largest number of the neighbors of a subtree are compared with its range. In a depth-first forest,
which small or deep graphs get, the low point of a subtree suffices.

R. E. Tarjan: A note on finding the bridges of a graph. Information Processing Letters 2 (1974).
"""

from typing import Any

import numpy as np

from gasla.algorithms.components.spanning_forest import DepthFirst, has_twin, spanning_forest
from gasla.arrays import module_of
from gasla.graph.graph import whole_graph
from gasla.operations.primitives import simplify
from gasla.rows import Command, Row, Task


def bridges(graph: Any) -> np.ndarray:
    """Find the bridges of a graph: edges that are on no cycle.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        Read as undirected: i -> j and j -> i are one edge. Values are ignored; stored zeros are edges. Parallel edges
        and self loops are not bridges.

    Returns
    -------
    (k, 2) array of ids
        One row per bridge, the smaller end first; rows ascend. Deterministic.

    See Also
    --------
    gasla.articulation_points : vertices whose removal disconnects their component.

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
    graph = whole_graph(graph)
    xp: Any = module_of(graph.device)
    simple = simplify(graph)
    forest = spanning_forest(simple)
    parents = forest.parents
    if isinstance(forest, DepthFirst):
        is_bridge = (forest.low == forest.numbers) & (parents != np.arange(graph.n))
    else:
        is_bridge = ~forest.leaves_subtree() & (parents != xp.arange(graph.n))
    if simple is not graph:
        is_bridge &= ~has_twin(graph, parents)
    v = xp.flatnonzero(is_bridge)
    parents = parents[v].astype(np.int64)
    pairs = xp.sort(xp.minimum(v, parents) * graph.n + xp.maximum(v, parents))
    return xp.stack([pairs // max(graph.n, 1), pairs % max(graph.n, 1)], axis=1).astype(graph.id_dtype)


ROW = Row(
    bridges,
    Command(
        *("bridges", {"bridges": "bridges"}),
        lambda f: f.counted("bridges", "bridges", "; the first:"),
        *(lambda f: f.listed(f["bridges"], between=" and "), "ids"),
    ),
    Task(checked_by="", form="pairs"),
    method="an Euler tour of a spanning tree (Tarjan, Vishkin, 1985); FAST-BCC (Dong et al., PPoPP 2023)",
    longer="A spanning forest, an Euler tour of it, and subtree bounds: each several passes with random reads.",
)
