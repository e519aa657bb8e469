"""Scan statistics: the number of edges among each vertex and its neighbors.

A vertex whose value is high for its degree stands out as a place of unusual activity. An edge among the neighbors of a
vertex makes a triangle with it, so the statistic is the number of triangles plus the degree.
"""

from typing import Any

import numpy as np

from gasla.algorithms.community.triangle_count import triangle_count
from gasla.graph.graph import as_graph
from gasla.operations.on_one_device import on_one_device
from gasla.operations.primitives import simplify
from gasla.rows import Row, Task, scores


@on_one_device("triangles")
def scan_statistics(graph: Any) -> Any:
    """Count the edges among the closed neighborhood of every vertex: the vertex itself and its neighbors.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected, as by `triangle_count`. Values are ignored; stored zeros are edges.

    Returns
    -------
    (n,) array of int64
        On the device of the graph. Its maximum is the scan statistic of the graph.

    See Also
    --------
    gasla.clustering : the edges among the neighbors, relative to the most that there can be.

    References
    ----------
    C. E. Priebe, J. M. Conroy, D. J. Marchette, Y. Park: Scan Statistics on Enron Graphs. Computational & Mathematical
    Organization Theory 11 (2005).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> gasla.scan_statistics(graph)
    array([3, 3, 4, 1])
    """
    graph = as_graph(graph)
    triangles: Any = triangle_count(graph, per_vertex=True)
    return triangles.per_vertex + simplify(graph).out_degrees.astype(np.int64)


ROW = Row(
    scan_statistics,
    scores("scan-statistics", {"counts": "scan_statistic"}, lambda _: "most edges among a vertex and its neighbors:"),
    Task(),
    method="triangles at vertices by oriented lists (Schank, Wagner, WEA 2005)",
    longer="Lists are intersected at every edge: the work grows with m to the power of 1.5, not with m.",
)
