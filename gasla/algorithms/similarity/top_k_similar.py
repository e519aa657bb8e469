"""The most similar vertices: for each vertex the k others that are most like it, by the neighbours that both have.

Vertices with a neighbour in common are two edges apart, so candidates are the entries of the adjacency matrix times
itself. Some rows of it at a time are computed, scored, and gone through for the best; the whole, which may
have as many entries as there are pairs of vertices, is never there.

J. Leskovec, A. Rajaraman, J. Ullman: Mining of Massive Datasets. Cambridge University Press, 2014, chapter 9.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from gasla.algorithms.neighbourhood.two_hops import two_hops
from gasla.algorithms.similarity.cosine import cosine_of
from gasla.algorithms.similarity.jaccard import jaccard_of
from gasla.algorithms.similarity.overlap import overlap_of
from gasla.algorithms.similarity.pairs_in_common import per_common_neighbour
from gasla.arrays import module_of
from gasla.graph.arguments import NO_LIMIT, check_word, whole_number
from gasla.graph.graph import as_graph
from gasla.operations.primitives import simplify
from gasla.operations.selection.top_k import top_k
from gasla.operations.sparse import Sparse

Array = np.ndarray[Any, Any]
Measure = Literal["jaccard", "overlap", "cosine", "adamic_adar", "resource_allocation"]
COUNTED: dict[str, Callable[[Any, Any, Any], Any]] = {"jaccard": jaccard_of, "overlap": overlap_of, "cosine": cosine_of}


class SimilarResult(NamedTuple):
    """A row a vertex, the most similar first; behind those of a vertex that has fewer, -1 and 0."""

    vertices: Array
    scores: Array


def top_k_similar(graph: Any, k: int = 10, *, measure: Measure = "jaccard") -> SimilarResult:
    """For each vertex the k others that are most similar to it.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected, as by `jaccard`.
    k : int, default 10
        How many, 0 or more.
    measure : {"jaccard", "overlap", "cosine", "adamic_adar", "resource_allocation"}
        By which function they are compared.

    Returns
    -------
    vertices : (n, k) array of the type of ids
        For each vertex those with which it shares most: neighbours or not, but never itself. Of equal scores the
        smaller id comes first. -1 where no more share a neighbour with it.
    scores : (n, k) array of float64
        Their scores; 0 where there is no more.

    Raises
    ------
    TypeError, ValueError
        If `k` is no such number, or `measure` none of these.

    Notes
    -----
    The work is that of all paths of two edges: the sum of squares of degrees. Memory beside the result, on the CPU, is
    about 60 bytes for each of up to 4 million pairs of vertices, or of the pairs of one vertex if it has more; and 24
    bytes a vertex for each thread.

    References
    ----------
    J. Leskovec, A. Rajaraman, J. Ullman: Mining of Massive Datasets. Cambridge University Press, 2014, chapter 9.

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> vertices, scores = gasla.top_k_similar(graph, 2)
    >>> vertices
    array([[3, 1],
           [3, 0],
           [0, 1],
           [0, 1]], dtype=int32)
    >>> scores.round(3)
    array([[0.5  , 0.333],
           [0.5  , 0.333],
           [0.25 , 0.25 ],
           [0.5  , 0.5  ]])
    """
    graph, k = as_graph(graph), whole_number("k", k, NO_LIMIT)
    check_word("measure", measure, get_args(Measure))
    xp: Any = module_of(graph.device)
    simple = simplify(graph)
    weights = xp.ones(graph.n) if measure in COUNTED else per_common_neighbour(graph, measure)
    degrees = simple.out_degrees.astype(np.float64)
    vertices, scores = xp.full((graph.n, k), -1, simple.out.indices.dtype), xp.zeros((graph.n, k))
    for some in two_hops(simple, weights):
        score = some.weights
        if measure in COUNTED:
            score = COUNTED[measure](degrees[some.owners], degrees[some.vertices], score)
        best = top_k(Sparse((len(some.indptr) - 1, graph.n), some.indptr, some.vertices, score), k)
        vertices[some.rows], scores[some.rows] = best
    return SimilarResult(vertices, scores)
