"""Depth-first search, which gives the order in which vertices are visited and the order in which they are left."""

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from gasla.operations import primitives
from gasla.rows import Command, Row, Task

Array = np.ndarray[Any, Any]


class DepthFirstOrderResult(NamedTuple):
    """The vertices in preorder and in postorder, and the parent of every vertex in the search forest."""

    preorder: Array
    postorder: Array
    parents: Array


def depth_first_order(graph: Any, source: Hashable | None = None) -> DepthFirstOrderResult:
    """Search depth-first along edges, and return the order in which vertices are visited.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j. Values are ignored; stored zeros are edges. In host memory.
    source : int or name, optional
        Where to start. By default the search starts at each vertex in turn that has not been visited.

    Returns
    -------
    DepthFirstOrderResult(preorder, postorder, parents)
        The vertices that were visited, in the orders in which the search comes to them and leaves them. The parent of
        each vertex, in an array of shape (n,): a start is its own parent, and a vertex that was not visited has -1.

    Raises
    ------
    TypeError, ValueError
        If the source is not a vertex; if the graph is on a GPU.

    See Also
    --------
    gasla.bfs : visits near vertices first, on all threads or a GPU.
    gasla.topological_order : of a graph without cycles; the reverse of `postorder` is one.

    Notes
    -----
    Edges of a vertex are followed in the order of the input. On one thread, since each step depends on the one before.

    References
    ----------
    R. E. Tarjan: Depth-First Search and Linear Graph Algorithms. SIAM J. Computing 1 (1972).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 0, 1, 2, 4], [1, 2, 3, 1, 0])
    >>> preorder, postorder, parents = gasla.depth_first_order(graph, 0)
    >>> preorder, postorder
    (array([0, 1, 3, 2], dtype=int32), array([3, 1, 2, 0], dtype=int32))
    >>> parents
    array([ 0,  0,  0,  1, -1], dtype=int32)
    """
    return DepthFirstOrderResult(*primitives.depth_first_order(graph, source))


ROW = Row(
    depth_first_order,
    Command(
        *("depth-first-order", {"parents": "parent"}),
        lambda f: f"{len(f['preorder']):,} of {f.graph.n:,} vertices visited, in this order:",
        lambda f: f.listed(f["preorder"]),
    ),
    Task(part="preorder", form="nothing"),
    method="Tarjan's stack (SIAM J. Computing 1, 1972); the order is P-complete (Reif, 1985), so on one thread",
    longer="The order is sequential: one thread follows one edge after another, each a cache miss.",
)
