"""Clustering coefficients: the fraction of pairs of neighbors of a vertex that are adjacent.

The result is between 0 and 1 for each vertex. An adjacent pair of neighbors is a triangle at the vertex.

D. J. Watts, S. H. Strogatz: Collective dynamics of 'small-world' networks. Nature 393 (1998).
"""

from typing import Any

import numpy as np

from gasla.algorithms.community.triangle_count import triangle_count
from gasla.arrays import module_of
from gasla.graph.graph import as_graph
from gasla.operations.primitives import simplify


def clustering(graph: Any) -> np.ndarray[Any, Any]:
    """Compute the clustering coefficient of each vertex: the fraction of pairs of its neighbors that are adjacent.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected, as by `triangle_count`. Values are ignored; stored zeros are edges.

    Returns
    -------
    (n,) array of float64
        On the device of the graph; 0 for vertices with fewer than two neighbors.

    See Also
    --------
    gasla.transitivity : the fraction over the whole graph.
    gasla.triangle_count : the number of triangles at each vertex.

    References
    ----------
    D. J. Watts, S. H. Strogatz: Collective dynamics of 'small-world' networks. Nature 393 (1998).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> gasla.clustering(graph).round(3)
    array([1.   , 1.   , 0.333, 0.   ])
    """
    graph = as_graph(graph)
    xp: Any = module_of(graph.device)
    result: Any = triangle_count(graph, per_vertex=True)
    degrees = simplify(graph).out_degrees.astype(np.float64)
    pairs = degrees * (degrees - 1) / 2
    return result.per_vertex / xp.maximum(pairs, 1)
