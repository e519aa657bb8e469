"""Overlap: of the neighbours of whichever of two vertices has fewer, which part the other has, too.

Returned is a number from 0 to 1 for each pair. It is 1 where one neighbourhood is inside the other, however large that
is.

D. Szymkiewicz: Une contribution statistique à la géographie floristique. Acta Societatis Botanicorum Poloniae 11
(1934).
"""

from typing import Any

import numpy as np

from gasla.algorithms.similarity.pairs_in_common import Pairs, neighbours_of
from gasla.arrays import array_module
from gasla.graph.graph import as_graph

Array = np.ndarray[Any, Any]


def overlap(graph: Any, pairs: Pairs | None = None) -> Array:
    """The overlap of pairs: common neighbours over the neighbours of the end that has fewer.

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
    D. Szymkiewicz: Une contribution statistique à la géographie floristique. Acta Societatis Botanicorum Poloniae 11
    (1934). G. Simpson: Notes on the measurement of faunal resemblance. American Journal of Science 258A (1960).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> gasla.overlap(graph)
    array([0.5, 0.5, 0.5, 0. ])
    >>> gasla.overlap(graph, pairs=([0], [3]))
    array([1.])
    """
    return overlap_of(*neighbours_of(as_graph(graph), pairs))


def overlap_of(a: Array, b: Array, common: Array) -> Array:
    """The same of ends of so many neighbours, and so many in common."""
    xp: Any = array_module(common)
    return common / xp.maximum(xp.minimum(a, b), 1)
