"""Transitivity: the fraction of paths of two edges whose ends are adjacent; a triangle has three."""

from typing import Any

import numpy as np

from gasla.algorithms.community.triangle_count import triangle_count
from gasla.graph.graph import as_graph
from gasla.operations.on_one_device import on_one_device
from gasla.operations.primitives import simplify
from gasla.rows import Row, Task, number


@on_one_device("triangles")
def transitivity(graph: Any) -> float:
    """Compute the transitivity: the fraction of paths of two edges that are closed by a third.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected, as by `triangle_count`. Values are ignored; stored zeros are edges.

    Returns
    -------
    float
        Three times the number of triangles over the number of paths of two edges; 0 if there is no such path.

    See Also
    --------
    gasla.clustering : the coefficient of each vertex.
    gasla.average_clustering : gives every vertex the same weight.

    References
    ----------
    M. E. J. Newman, D. J. Watts, S. H. Strogatz: Random graph models of social networks. PNAS 99 (2002).

    Examples
    --------
    >>> import gasla
    >>> gasla.transitivity(gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3]))
    0.6
    """
    graph = as_graph(graph)
    count: Any = triangle_count(graph)
    degrees = simplify(graph).out_degrees.astype(np.int64)
    return 3 * int(count) / max(int((degrees * (degrees - 1)).sum()) // 2, 1)


ROW = Row(
    transitivity,
    number("transitivity", "the fraction of paths of two edges that a third one closes"),
    Task(agree="near"),
    method="the triangle count and the sum of paths of two edges (TRUST, 2021)",
    longer="Lists are intersected at every edge: the work grows with m to the power of 1.5, not with m.",
)
