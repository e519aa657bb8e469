"""The most similar vertices: for each vertex the k others that are most like it, by the neighbors that both have.

Vertices with a neighbor in common are two edges apart, so candidates are the entries of the adjacency matrix times
itself. Some rows of it at a time are computed, scored, and gone through for the best; the whole, which may
have as many entries as there are pairs of vertices, is never there. Vertices of the same neighbors, as the leaves of
a star are, have the same row, which is computed once.

J. Leskovec, A. Rajaraman, J. Ullman: Mining of Massive Datasets. Cambridge University Press, 2014, chapter 9.
"""

import warnings
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from gasla.algorithms.neighborhood.two_hops import paths_from, two_hops
from gasla.algorithms.similarity.measures import FORMULAS, weights_in
from gasla.arrays import module_of, moved, running_sums, shares
from gasla.graph.arguments import NO_LIMIT, check_choice, whole_number
from gasla.graph.graph import Graph, as_graph
from gasla.operations.primitives import simplify
from gasla.operations.sparse import Sparse
from gasla.operations.top_k import top_k

Array = np.ndarray[Any, Any]
Measure = Literal["jaccard", "overlap", "cosine", "adamic_adar", "resource_allocation"]
MOST = 1 << 22  # entries of the result that are filled in together
LONG = 1 << 28  # paths, more than which are warned of


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
        For each vertex those with which it shares most: neighbors or not, but never itself. Of equal scores the
        smaller id comes first. -1 where no more share a neighbor with it.
    scores : (n, k) array of float64
        Their scores; 0 where there is no more.

    Raises
    ------
    TypeError, ValueError
        If `k` is no such number, or `measure` none of these.

    Warns
    -----
    UserWarning
        Before work starts, if there are more than 2^28 paths of two edges to go through, which takes a CPU some
        seconds. It names the vertex that has most neighbors, and how many.

    Notes
    -----
    The work is that of all paths of two edges, but of vertices that have the same neighbors, as the leaves of a star,
    those of one alone. They are at most the sum of squares of degrees: where d vertices share a neighbor and differ in
    others, each of them is compared with all d. Memory beside the result, on the CPU, is about 60 bytes for each of up
    to 4 million pairs of vertices, or of the pairs of one vertex if it has more; 24 bytes a vertex for each thread; and
    twice that of the result.

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
    check_choice("measure", measure, get_args(Measure))
    xp: Any = module_of(graph.device)
    simple = simplify(graph)
    formula = FORMULAS[measure]
    degrees = simple.out_degrees.astype(np.float64)
    vertices, scores = xp.empty((graph.n, k), simple.out.indices.dtype), xp.empty((graph.n, k))
    first = _first_of_same(simple)
    chosen = xp.flatnonzero(first == xp.arange(graph.n))
    _warn_of_hubs(simple, chosen)
    best_ids, best = xp.empty((len(chosen), k + 1), simple.out.indices.dtype), xp.empty((len(chosen), k + 1))
    for some in two_hops(simple, weights_in(graph, formula), chosen):
        score = formula.score(xp, degrees[some.owners], degrees[some.vertices], some.weights)
        rows = Sparse((len(some.indptr) - 1, graph.n), some.indptr, some.vertices, score)
        best_ids[some.rows], best[some.rows] = top_k(rows, k + 1)  # a vertex may be among its own
    place = xp.searchsorted(chosen, first)
    for part in shares(xp.full(graph.n, k + 1), MOST):
        ids, here = best_ids[place[part]], xp.arange(graph.n)[part]
        keep = ids != here[:, None]
        keep[:, k] &= ~keep.all(axis=1)  # of one that isn't among its own, the last is one too many
        vertices[part], scores[part] = (all_of[keep].reshape(len(here), k) for all_of in (ids, best[place[part]]))
    return SimilarResult(vertices, scores)


def _first_of_same(simple: Graph) -> Array:
    """For each vertex the first that has the same neighbors: most often itself."""
    xp: Any = module_of(simple.device)
    lists, n = simple.sorted_out, simple.n
    draws = moved(np.random.default_rng(0).integers(2**63, size=n), simple.device)
    sums = xp.diff(running_sums(draws[lists.indices])[lists.indptr])  # the same for the same neighbors
    order = xp.argsort(sums, kind="stable")
    degrees = simple.out_degrees[order]
    alike = xp.zeros(n, bool)
    alike[1:] = (sums[order][1:] == sums[order][:-1]) & (degrees[1:] == degrees[:-1])
    pairs = xp.flatnonzero(alike)
    one, other = lists.of(order[pairs - 1]), lists.of(order[pairs])  # sums may be equal by chance
    alike[pairs] = xp.diff(running_sums(one.indices != other.indices)[one.indptr]) == 0
    starts = xp.flatnonzero(~alike)
    first = xp.empty(n, np.int64)
    first[order] = order[starts][running_sums(~alike)[1:] - 1]
    return first


def _warn_of_hubs(simple: Graph, chosen: Array) -> None:
    """Say before a long search what makes it long."""
    paths = int(paths_from(simple)[chosen].sum())
    if paths > LONG:
        v = int(simple.out_degrees.argmax())
        warnings.warn(
            f"top_k_similar has {paths:,} paths of two edges to go through; vertex {v} alone has "
            f"{int(simple.out_degrees[v]):,} neighbors, any two of which may be similar",
            stacklevel=3,
        )
