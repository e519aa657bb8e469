"""Condensation: what is left of a directed graph if every strongly connected component becomes one vertex.

Returned is a graph, which has no cycles. Its `origin` tells into which of its vertices each vertex went.

F. Harary, R. Z. Norman, D. Cartwright: Structural Models. Wiley 1965.
"""

from typing import Any

import numpy as np

import semirings
from gasla.algorithms.components.strongly_connected_components import strongly_connected_components
from gasla.graph.graph import Graph, as_graph
from gasla.graph.transform.segmented_reduce import require_monoid
from gasla.graph.weights import check_sums, sum_type
from semirings import Monoid


def condensation(graph: Any, labels: Any = None, *, combine: Monoid = semirings.plus) -> Graph:
    """Make the graph of the strongly connected components, which has no cycles.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Directed. Loops, and edges within a component, are left out.
    labels : (n,) array of integers, optional
        The component of each vertex, as `gasla.strongly_connected_components` returned it for this graph.
    combine : semirings.Monoid
        What the values of edges between the same two components come to, as by `Graph.contract`. Edges without values
        are counted by `plus`.

    Returns
    -------
    Graph
        On the device of the graph. Its vertices are numbered as components are, in the order of their smallest
        vertices; ``origin.new_vertices`` is the component of each vertex. There is one right answer.

    Raises
    ------
    TypeError, ValueError
        As by `Graph.contract`, if labels don't fit the graph; if integers, which `plus` adds up, sum to more than their
        own type holds.

    References
    ----------
    F. Harary, R. Z. Norman, D. Cartwright: Structural Models. Wiley 1965.

    Examples
    --------
    A cycle of three, and two edges from there to one vertex.

    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 1, 2], [1, 2, 0, 3, 3])
    >>> small = gasla.condensation(graph)
    >>> small.out.indices, small.values, small.origin.new_vertices
    (array([1], dtype=int32), array([2]), array([0, 0, 0, 1], dtype=int32))
    """
    graph = as_graph(graph)
    if combine is not None:
        require_monoid(combine)
    found = strongly_connected_components(graph).labels if labels is None else labels
    if combine is not semirings.plus or graph.values is None or graph.values.dtype.kind not in "iu":
        return graph.contract(found, combine, loops=False)
    return _contract_exactly(graph, found)


def _contract_exactly(graph: Graph, labels: Any) -> Graph:
    """Contract the components and add up integers, which keep their type; refuse a sum that this can't hold."""
    values: Any = graph.values
    check_sums("condensation", graph)
    if values.dtype.itemsize == 8:
        return graph.contract(labels, semirings.plus, loops=False)
    wide = graph.with_values(values.astype(sum_type(values.dtype)))
    made = wide.contract(labels, semirings.plus, loops=False)
    bounds, found = np.iinfo(values.dtype), made.value_range or (0, 0)
    for total in map(int, found):
        if not bounds.min <= total <= bounds.max:
            raise ValueError(
                f"condensation adds up values to {total}, more than {values.dtype} holds; expected int64: "
                "graph.with_values(graph.values.astype(np.int64))"
            )
    return made.with_values(made.values.astype(values.dtype))  # type: ignore[union-attr]
