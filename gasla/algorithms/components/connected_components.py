"""Weakly connected components: vertices joined by paths that may follow edges in either direction.

The method is Afforest. A forest of vertices is grown along the first two edges of each vertex. This finds nearly all
vertices of the one large component that most graphs have. So the other edges are read only for vertices outside this
component. In a graph that is not symmetric, an edge may lead out of the component and be missed from outside, so the
edges of its vertices are read as well.
"""

from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import any_true, array_module
from gasla.graph.arguments import check_previous, new_edges
from gasla.graph.graph import Graph, as_graph
from gasla.graph.validate import check_range
from gasla.operations.on_one_device import on_one_device
from gasla.operations.primitives import label_components
from gasla.rows import Row, Task, groups


class ComponentsResult(NamedTuple):
    """The number of components, and the component of every vertex."""

    count: int  # type: ignore[assignment]  # tuple.count is a method
    labels: np.ndarray[Any, Any]  # on a GPU a CuPy array, and `count` is one with 0 dimensions


@on_one_device()
def connected_components(graph: Any, *, start: ComponentsResult | None = None) -> ComponentsResult:
    """Find the weakly connected components of a graph.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as undirected. Values are ignored.
    start : ComponentsResult, optional
        A previous result to continue from, so that only new edges are read. `graph` must have been made by
        `Graph.changed` from the graph of that result, by inserting edges only.

    Returns
    -------
    ComponentsResult
        A named tuple ``(count, labels)``: the number of components, and the component of each vertex, shape (n,), ids,
        numbered from 0 in the order of the smallest vertex of each component.

    Raises
    ------
    TypeError, ValueError
        If `start` visibly belongs to another graph, or edges were removed since.

    Notes
    -----
    Stored zeros are edges. Parallel edges and self loops do not matter.

    On a GPU the function may return before its kernel finishes, as CuPy's functions do; `count` is then a CuPy array
    with 0 dimensions, and `int(result.count)` waits for it.

    References
    ----------
    M. Sutton, T. Ben-Nun, A. Barak: Optimizing Parallel Graph Connectivity Computation via Subgraph Sampling. IPDPS
    2018.

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 3, 4], [2, 4, 1], n=6)
    >>> gasla.connected_components(graph)
    ComponentsResult(count=3, labels=array([0, 1, 0, 1, 1, 2], dtype=int32))
    """
    if start is None:
        return ComponentsResult(*label_components(graph))
    return _join_components(as_graph(graph), start)


def _join_components(graph: Graph, previous_result: ComponentsResult) -> ComponentsResult:
    """Return the components of a graph to which edges were added since its components `previous_result` were found.

    The previous components are the vertices of a small graph, in which the new edges join them. Components are numbered
    in the order of their smallest vertices. Of several that are joined, the component of the smallest number has the
    smallest vertex, so the order is kept.
    """
    src, dst = new_edges(graph)
    if not isinstance(previous_result, tuple) or len(previous_result) != 2:
        raise TypeError(
            f"start is {type(previous_result).__name__}; expected a ComponentsResult, returned by this function"
        )
    labels = check_previous(graph, "start.labels", previous_result[1], graph.id_dtype)
    xp: Any = array_module(labels)
    tails, heads = labels[src], labels[dst]
    if not any_true(xp.not_equal(tails, heads)):
        return ComponentsResult(previous_result[0], labels.copy())
    count = int(previous_result[0])
    check_range("start.labels", labels, count)
    joined_labels, numbers = label_components(Graph.from_edges(tails, heads, n=count))
    return ComponentsResult(joined_labels, numbers[labels])


ROW = Row(
    connected_components,
    groups("components", "component", "components"),
    Task("components", part="labels", form="smallest_members"),
    method="Afforest (Sutton, Ben-Nun, Barak, IPDPS 2018); ECL-CC (Jaiganesh, Burtscher, HPDC 2018)",
)
