"""Top-k similarity finds for each vertex the k other vertices that are most similar to it, by their common neighbors.

Vertices with a common neighbor are two edges apart, so candidates are the entries of the squared adjacency matrix. The
matrix is computed, scored and reduced to the best k in blocks of rows, since the whole may have an entry for every pair
of vertices. Vertices with equal neighborhoods, such as the leaves of a star, have equal rows, which are computed once.
"""

import warnings
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from gasla.algorithms.neighborhood.two_hops import paths_from, two_hops
from gasla.algorithms.similarity.measures import FORMULAS, weights_in
from gasla.arrays import module_of, moved, running_sums, shares
from gasla.graph.arguments import NO_LIMIT, check_choice, whole_number
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.memory_limit import require_room
from gasla.operations.primitives import simplify
from gasla.operations.sparse import Sparse
from gasla.operations.top_k import top_k
from gasla.rows import Command, Row

Array = np.ndarray[Any, Any]
Measure = Literal["jaccard", "overlap", "sorensen", "cosine", "adamic_adar", "resource_allocation"]
MOST = 1 << 22  # number of entries of the result that are written in one block, to bound memory
LONG = 1 << 28  # number of paths of two edges above which a warning says that the computation takes long


class SimilarResult(NamedTuple):
    """The most similar vertices and their scores, in a row per vertex with the most similar first.

    Rows with fewer candidates are padded with the vertex -1 and the score 0.
    """

    vertices: Array
    scores: Array


def top_k_similar(graph: Any, k: int = 10, *, measure: Measure = "jaccard") -> SimilarResult:
    """Find the k most similar vertices for each vertex.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected, as by `jaccard`. Values are ignored; stored zeros are edges.
    k : int, default 10
        Number of vertices to find per vertex, 0 or more.
    measure : {"jaccard", "overlap", "sorensen", "cosine", "adamic_adar", "resource_allocation"}
        The similarity measure, as in the function of this name.

    Returns
    -------
    vertices : (n, k) array of the type of ids
        The most similar vertices among those with a common neighbor, adjacent or not, the vertex itself excluded. Ties
        are broken by the smaller id. -1 if there are fewer than k.
    scores : (n, k) array of float64
        Their scores; 0 where `vertices` is -1.

    Raises
    ------
    TypeError, ValueError
        If `k` is not an integer of 0 or more, or `measure` is unknown.
    MemoryError
        If the result needs more memory than is available.

    Warns
    -----
    UserWarning
        Before a long computation, if there are more than 2^28 paths of two edges, which takes seconds on a CPU; the
        message names the vertex of the largest degree.

    Notes
    -----
    Time is proportional to the number of paths of two edges, at most the sum of squared degrees; vertices with equal
    neighborhoods count once. Memory besides the result on the CPU is about 60 bytes for each of up to 4 million pairs
    of vertices (or of the pairs of one vertex, if it has more), 24 bytes per vertex and thread, and twice the result.

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
    graph, k = whole_graph(graph), whole_number("k", k, NO_LIMIT)
    check_choice("measure", measure, get_args(Measure))
    xp: Any = module_of(graph.device)
    simple = simplify(graph)
    require_room("the result has", graph.n * k, 2 * (simple.out.indices.itemsize + 8), graph.device, "a smaller k")
    formula = FORMULAS[measure]
    degrees = simple.out_degrees.astype(np.float64)
    vertices, scores = xp.empty((graph.n, k), simple.out.indices.dtype), xp.empty((graph.n, k))
    first_equal = _first_with_same_neighbors(simple)
    representatives = xp.flatnonzero(first_equal == xp.arange(graph.n))
    _warn_of_hubs(simple, representatives)
    best_ids, best_scores = (
        xp.empty((len(representatives), k + 1), simple.out.indices.dtype),
        xp.empty((len(representatives), k + 1)),
    )
    for block in two_hops(simple, weights_in(graph, formula), representatives):
        score = formula.score(xp, degrees[block.owners], degrees[block.vertices], block.weights)
        rows = Sparse((len(block.indptr) - 1, graph.n), block.indptr, block.vertices, score)
        # one more than k, since a vertex may be among the most similar to itself
        best_ids[block.rows], best_scores[block.rows] = top_k(rows, k + 1)
    row_of_vertex = xp.searchsorted(representatives, first_equal)
    for vertex_range in shares(xp.full(graph.n, k + 1), MOST):
        ids, ids_of_rows = best_ids[row_of_vertex[vertex_range]], xp.arange(graph.n)[vertex_range]
        keep = ids != ids_of_rows[:, None]
        keep[:, k] &= ~keep.all(axis=1)  # without itself a vertex has k + 1 candidates; drop the last
        vertices[vertex_range], scores[vertex_range] = (
            all_of[keep].reshape(len(ids_of_rows), k) for all_of in (ids, best_scores[row_of_vertex[vertex_range]])
        )
    return SimilarResult(vertices, scores)


def _first_with_same_neighbors(simple: Graph) -> Array:
    """Return for each vertex the first vertex that has the same neighbors, which usually is the vertex itself."""
    xp: Any = module_of(simple.device)
    lists, n = simple.sorted_out, simple.n
    draws = moved(np.random.default_rng(0).integers(2**63, size=n), simple.device)
    sums = xp.diff(running_sums(draws[lists.indices])[lists.indptr])  # hashes of the sets of neighbors
    order = xp.argsort(sums, kind="stable")
    degrees = simple.out_degrees[order]
    is_equal = xp.zeros(n, bool)
    is_equal[1:] = (sums[order][1:] == sums[order][:-1]) & (degrees[1:] == degrees[:-1])
    pairs = xp.flatnonzero(is_equal)
    # Equal hashes may belong to different sets of neighbors, so compare the neighbors themselves.
    previous_lists, next_lists = lists.of(order[pairs - 1]), lists.of(order[pairs])
    is_equal[pairs] = xp.diff(running_sums(previous_lists.indices != next_lists.indices)[previous_lists.indptr]) == 0
    starts = xp.flatnonzero(~is_equal)
    first_vertex = xp.empty(n, np.int64)
    first_vertex[order] = order[starts][running_sums(~is_equal)[1:] - 1]
    return first_vertex


def _warn_of_hubs(simple: Graph, chosen_vertices: Array) -> None:
    """Warn the user if `chosen_vertices` have so many paths of two edges that finding similar vertices takes long."""
    paths = int(paths_from(simple)[chosen_vertices].sum())
    if paths > LONG:
        v = int(simple.out_degrees.argmax())
        warnings.warn(
            f"top_k_similar has {paths:,} paths of two edges to process; vertex {v} alone has "
            f"{int(simple.out_degrees[v]):,} neighbors, any two of which may be similar",
            stacklevel=3,
        )


ROW = Row(
    top_k_similar,
    Command(
        *("top-k-similar", {"vertices": "similar", "scores": "score"}),
        lambda f: f"{(f['vertices'] >= 0).any(axis=1).sum():,} of {f.graph.n:,} vertices share a neighbor with others",
        *(lambda f: f.similar(), "rows"),
    ),
    method="rows of a sparse product, of which k entries are kept (Nagasaka et al., Parallel Computing 90, 2019)",
    longer="Rows of the squared matrix are computed and reduced: all paths of two edges.",
)
