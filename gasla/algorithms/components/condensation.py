"""Condensation: the graph in which every strongly connected component is contracted to one vertex."""

from typing import Any

import numpy as np

import semirings
from gasla.algorithms.components.strongly_connected_components import strongly_connected_components
from gasla.arrays import moved
from gasla.graph.graph import Graph, as_graph
from gasla.graph.transform.segmented_reduce import require_monoid
from gasla.graph.weights import check_sums, sum_type
from gasla.operations.on_one_device import on_one_device
from gasla.rows import Command, Row
from semirings import Monoid


@on_one_device()
def condensation(graph: Any, labels: Any = None, *, combine: Monoid = semirings.plus) -> Graph:
    """Contract the strongly connected components to vertices.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j. Edges within a component, self loops among them, are dropped.
    labels : (n,) array of integers, optional
        The component of each vertex, as returned by `gasla.strongly_connected_components` for this graph.
    combine : semirings.Monoid
        Combines the values of parallel edges between two components, as in `Graph.contract`. Edges without values are
        counted with `plus`.

    Returns
    -------
    Graph
        An acyclic graph on the device of the input. Its vertices are numbered in the order of the smallest vertex of
        each component; ``origin.new_vertices`` is the component of each original vertex. The result is unique.

    Raises
    ------
    TypeError, ValueError
        As `Graph.contract`, if labels do not fit the graph; if `plus` overflows the type of integer values.

    References
    ----------
    F. Harary, R. Z. Norman, D. Cartwright: Structural Models. Wiley 1965.

    Examples
    --------
    A cycle of three vertices, and two edges from it to another vertex:

    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 1, 2], [1, 2, 0, 3, 3])
    >>> small = gasla.condensation(graph)
    >>> small.out.indices, small.values, small.origin.new_vertices
    (array([1], dtype=int32), array([2]), array([0, 0, 0, 1], dtype=int32))
    """
    graph = as_graph(graph)
    if combine is not None:
        require_monoid(combine)
    groups = strongly_connected_components(graph).labels if labels is None else labels
    if combine is not semirings.plus or graph.values is None or graph.values.dtype.kind not in "iu":
        return graph.contract(groups, combine, loops=False)
    return _contract_exactly(graph, groups)


def _contract_exactly(graph: Graph, labels: Any) -> Graph:
    """Return the graph with each component contracted to one vertex, where integer values are added up exactly.

    The sums get the dtype of the values. Raise ValueError if a sum overflows this dtype.
    """
    values: Any = graph.values
    check_sums("condensation", graph)
    if values.dtype.itemsize == 8:
        return graph.contract(labels, semirings.plus, loops=False)
    widened = graph.with_values(lambda given: given.astype(sum_type(given.dtype)))
    result = widened.contract(labels, semirings.plus, loops=False)
    bounds, value_range = np.iinfo(values.dtype), result.value_range or (0, 0)
    for extreme_value in map(int, value_range):
        if not bounds.min <= extreme_value <= bounds.max:
            raise ValueError(
                f"condensation adds up values to {extreme_value}, more than {values.dtype} holds; expected int64: "
                "graph.with_values(graph.values.astype(np.int64))"
            )
    return result.with_values(result.values.astype(values.dtype))  # type: ignore[union-attr]


ROW = Row(
    condensation,
    Command(
        *("condensation", {"labels": "component"}, lambda f: f.grouped("strong components")),
        lambda f: [*f.groups(), f"{f['condensed'].m:,} edges between components"],
        fixed={"labels": None},
        unpack=lambda _, made: {"condensed": made, "labels": moved(made.origin.new_vertices, "cpu"), "count": made.n},
    ),
    method="strong components, then the edges between them sorted or hashed (ECL-SCC, SC 2023)",
    longer="Strong components first, then the edges between them are sorted and merged.",
)
