"""Adamic–Adar index: common neighbours, each of which counts the more the fewer neighbours it has itself.

Returned is a number for each pair: the sum over common neighbours of 1 / log(degree). Who shares somebody that few know
is likelier to be friends than who shares somebody that all know.

L. Adamic, E. Adar: Friends and neighbors on the Web. Social Networks 25 (2003).
"""

from typing import Any

import numpy as np

from gasla.algorithms.similarity.pairs_in_common import Pairs, per_common_neighbour, sums_in_common
from gasla.graph.graph import as_graph

Array = np.ndarray[Any, Any]


def adamic_adar(graph: Any, pairs: Pairs | None = None) -> Array:
    """The Adamic–Adar index of pairs: the sum of 1 / log(degree) over their common neighbours.

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
        One number a pair, on the device of the graph. 0 where there are none; infinite for
        a vertex and itself, if a neighbour of it has no other.

    Raises
    ------
    TypeError, ValueError
        If `pairs` is not two arrays of integers of one length, or names a vertex outside the graph.

    See Also
    --------
    gasla.resource_allocation : the same with 1 / degree.
    gasla.jaccard : common neighbours count the same, but relative to degrees.

    References
    ----------
    L. Adamic, E. Adar: Friends and neighbors on the Web. Social Networks 25 (2003).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> gasla.adamic_adar(graph).round(3)
    array([0.91 , 1.443, 1.443, 0.   ])
    >>> gasla.adamic_adar(graph, pairs=([0], [3])).round(3)
    array([0.91])
    """
    graph = as_graph(graph)
    return sums_in_common(graph, pairs, per_common_neighbour(graph, "adamic_adar"))
