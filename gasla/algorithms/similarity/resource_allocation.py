"""Resource allocation index: what one vertex would get from the other if its neighbours shared out one unit each.

Returned is a number for each pair: the sum over common neighbours of 1 / degree.

T. Zhou, L. Lü, Y.-C. Zhang: Predicting missing links via local information. European Physical Journal B 71 (2009).
"""

from typing import Any

import numpy as np

from gasla.algorithms.similarity.pairs_in_common import Pairs, per_common_neighbour, sums_in_common
from gasla.graph.graph import as_graph

Array = np.ndarray[Any, Any]


def resource_allocation(graph: Any, pairs: Pairs | None = None) -> Array:
    """The resource allocation index of pairs: the sum of 1 / degree over their common neighbours.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected: direction, self loops and parallel edges are ignored. If it isn't both, the one
        that is so is kept with it for further calls: up to 8 bytes an edge and 4 a vertex (`Graph.nbytes`). Without
        `pairs` the edges' partners are, too, in 4 bytes an edge.
    pairs : (u, v), two arrays of vertices, optional
        Which pairs; by default the ends of each stored edge, in the order of the input.

    Returns
    -------
    array of float64
        One number a pair, on the device of the graph. 0 where there are none.

    Raises
    ------
    TypeError, ValueError
        If `pairs` is not two arrays of integers of one length, or names a vertex outside the graph.

    See Also
    --------
    gasla.adamic_adar : the same with 1 / log(degree).

    References
    ----------
    T. Zhou, L. Lü, Y.-C. Zhang: Predicting missing links via local information. European Physical Journal B 71 (2009).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> gasla.resource_allocation(graph).round(3)
    array([0.333, 0.5  , 0.5  , 0.   ])
    """
    graph = as_graph(graph)
    return sums_in_common(graph, pairs, per_common_neighbour(graph, "resource_allocation"))
