"""Jaccard similarity: of the neighbours that two vertices have between them, which part they have in common.

Returned is a number from 0 to 1 for each pair. Common neighbours are counted; how many there are in all follows from
degrees.

P. Jaccard: Étude comparative de la distribution florale dans une portion des Alpes et des Jura. Bulletin de la Société
Vaudoise des Sciences Naturelles 37 (1901).
"""

from typing import Any

import numpy as np

from gasla.algorithms.similarity.pairs_in_common import Pairs, neighbours_of
from gasla.arrays import array_module
from gasla.graph.graph import as_graph

Array = np.ndarray[Any, Any]


def jaccard(graph: Any, pairs: Pairs | None = None) -> Array:
    """The Jaccard similarity of pairs: common neighbours over all neighbours of either.

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
        One number a pair, on the device of the graph. 0 where neither has a neighbour. A vertex is like
        itself: 1, if it has a neighbour.

    Raises
    ------
    TypeError, ValueError
        If `pairs` is not two arrays of integers of one length, or names a vertex outside the graph.

    See Also
    --------
    gasla.overlap, gasla.cosine : the same count over other sizes.
    gasla.adamic_adar : common neighbours of few neighbours count more.
    gasla.top_k_similar : for each vertex those that are most like it.

    References
    ----------
    P. Jaccard: Étude comparative de la distribution florale dans une portion des Alpes et des Jura. Bulletin de la
    Société Vaudoise des Sciences Naturelles 37 (1901).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> gasla.jaccard(graph).round(3)
    array([0.333, 0.25 , 0.25 , 0.   ])
    >>> gasla.jaccard(graph, pairs=([0, 0], [3, 0]))
    array([0.5, 1. ])
    """
    return jaccard_of(*neighbours_of(as_graph(graph), pairs))


def jaccard_of(a: Array, b: Array, common: Array) -> Array:
    """The same of ends of so many neighbours, and so many in common."""
    xp: Any = array_module(common)
    return common / xp.maximum(a + b - common, 1)
