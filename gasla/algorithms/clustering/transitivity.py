"""Transitivity: of all pairs of neighbors of the same vertex, which part are neighbors of each other.

Returned is a number from 0 to 1. A triangle is three such pairs, one at each corner. Unlike the mean of `clustering`,
vertices of many neighbors count for more.

M. E. J. Newman, D. J. Watts, S. H. Strogatz: Random graph models of social networks. PNAS 99 (2002).
"""

from typing import Any

import numpy as np

from gasla.algorithms.community.triangle_count import triangle_count
from gasla.graph.graph import as_graph
from gasla.operations.primitives import simplify


def transitivity(graph: Any) -> float:
    """The share of paths of two edges whose ends are joined by a third.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected, as by `triangle_count`. Values are not looked at.

    Returns
    -------
    float
        Three times the triangles over the paths of two edges; 0 where there is no such path.

    See Also
    --------
    gasla.clustering : the same at each vertex.

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
