"""Cosine similarity: the cosine of the angle between the rows of two vertices in the adjacency matrix.

Returned is a number from 0 to 1 for each pair: common neighbours over the geometric mean of both degrees.

G. Salton, M. McGill: Introduction to Modern Information Retrieval. McGraw-Hill, 1983.
"""

from typing import Any

import numpy as np

from gasla.algorithms.similarity.pairs_in_common import Pairs, neighbours_of
from gasla.arrays import array_module
from gasla.graph.graph import as_graph

Array = np.ndarray[Any, Any]


def cosine(graph: Any, pairs: Pairs | None = None) -> Array:
    """The cosine similarity of pairs: common neighbours over the geometric mean of both degrees.

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
        One number a pair, on the device of the graph. 0 where one has no neighbour. A vertex is like
        itself: 1, if it has a neighbour.

    Raises
    ------
    TypeError, ValueError
        If `pairs` is not two arrays of integers of one length, or names a vertex outside the graph.

    See Also
    --------
    gasla.jaccard : the same count over all neighbours of either.

    References
    ----------
    G. Salton, M. McGill: Introduction to Modern Information Retrieval. McGraw-Hill, 1983.

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> gasla.cosine(graph).round(3)
    array([0.5  , 0.408, 0.408, 0.   ])
    >>> gasla.cosine(graph, pairs=([0], [3])).round(3)
    array([0.707])
    """
    return cosine_of(*neighbours_of(as_graph(graph), pairs))


def cosine_of(a: Array, b: Array, common: Array) -> Array:
    """The same of ends of so many neighbours, and so many in common."""
    xp: Any = array_module(common)
    return common / xp.sqrt(xp.maximum(a * b, 1))
