"""Weakly connected components: which vertices hang together, the direction of edges aside.

Returned are the number of components and a label for each vertex: 0, 1, ... in the order of each component's smallest
vertex. A vertex without edges is a component of its own.

Afforest: a forest of vertices grows along the first two edges of each. That gathers nearly all vertices of the one
large component that most graphs have, so the other edges are looked at only for vertices outside it. (If the graph is
not symmetric an edge may lead out of that component unseen from outside: then its edges are looked at too, and linked
where they lead out.)

M. Sutton, T. Ben-Nun, A. Barak: Optimizing Parallel Graph Connectivity Computation via Subgraph Sampling. IPDPS 2018.
"""

from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import any_true, array_module
from gasla.graph.arguments import check_previous, new_edges
from gasla.graph.graph import Graph, as_graph
from gasla.graph.validate import check_range
from gasla.operations.primitives import label_components


class ComponentsResult(NamedTuple):
    """How many components there are, and the component of every vertex."""

    count: int  # type: ignore[assignment]  # a tuple has a method of this name
    labels: np.ndarray[Any, Any]  # or CuPy's, as then is `count`, of no dimension


def connected_components(graph: Any, *, start: ComponentsResult | None = None) -> ComponentsResult:
    """Find the weakly connected components of a graph.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Edges join their ends whichever way they point.
    start : ComponentsResult, optional
        What this returned for the graph that `graph` was made of by `Graph.changed`, with edges added alone: only those
        are looked at.

    Returns
    -------
    ComponentsResult
        A named tuple ``(count, labels)``: the number of components, and for each vertex the number of its own, from 0
        in the order of each component's smallest vertex.

    Raises
    ------
    TypeError, ValueError
        If `start` is of another graph, as far as that shows, or edges were removed since.

    Notes
    -----
    On a GPU it may return while its kernel still runs, as CuPy's functions do, and `count` is a CuPy array of no
    dimension, as CuPy's sums are: `int(result.count)` waits for the number.

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 3, 4], [2, 4, 1], n=6)
    >>> gasla.connected_components(graph)
    ComponentsResult(count=3, labels=array([0, 1, 0, 1, 1, 2], dtype=int32))
    """
    if start is None:
        return ComponentsResult(*label_components(graph))
    return _joined(as_graph(graph), start)


def _joined(graph: Graph, before: ComponentsResult) -> ComponentsResult:
    """Components of components: each is a vertex, which new edges join.

    They keep their order, as each is named after its smallest vertex, and the first of those joined has the smallest.
    """
    src, dst = new_edges(graph)
    if not isinstance(before, tuple) or len(before) != 2:
        raise TypeError(f"start is {type(before).__name__}; expected a ComponentsResult, as this returned before")
    labels = check_previous(graph, "start.labels", before[1], graph.id_dtype)
    xp: Any = array_module(labels)
    tails, heads = labels[src], labels[dst]
    if not any_true(xp.not_equal(tails, heads)):
        return ComponentsResult(before[0], labels.copy())
    count = int(before[0])
    check_range("start.labels", labels, count)
    joined, numbers = label_components(Graph.from_edges(tails, heads, n=count))
    return ComponentsResult(joined, numbers[labels])
