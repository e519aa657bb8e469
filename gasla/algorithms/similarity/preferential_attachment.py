"""Preferential attachment: how likely two vertices are to be joined next where who has many neighbours gets more.

Returned is a number for each pair: the product of both degrees.

A.-L. Barabási, R. Albert: Emergence of scaling in random networks. Science 286 (1999).
"""

from typing import Any

import numpy as np

from gasla.algorithms.similarity.pairs_in_common import Pairs, degrees_of
from gasla.graph.graph import as_graph

Array = np.ndarray[Any, Any]


def preferential_attachment(graph: Any, pairs: Pairs | None = None) -> Array:
    """The preferential attachment score of pairs: the product of the numbers of their neighbours.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected: direction, self loops and parallel edges are ignored. If it isn't both, the one
        that is so is kept with it for further calls: up to 8 bytes an edge and 4 a vertex (`Graph.nbytes`).
    pairs : (u, v), two arrays of vertices, optional
        Which pairs; by default the ends of each stored edge, in the order of the input.

    Returns
    -------
    array of float64
        One number a pair, on the device of the graph. 0 where one has no neighbour.

    Raises
    ------
    TypeError, ValueError
        If `pairs` is not two arrays of integers of one length, or names a vertex outside the graph.

    See Also
    --------
    gasla.jaccard, gasla.adamic_adar : by neighbours that both have.

    References
    ----------
    A.-L. Barabási, R. Albert: Emergence of scaling in random networks. Science 286 (1999).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> gasla.preferential_attachment(graph)
    array([4., 6., 6., 3.])
    """
    a, b = degrees_of(as_graph(graph), pairs)
    return a * b
