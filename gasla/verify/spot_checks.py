"""Spot checks: some vertices, edges or pairs of an answer, drawn at random, against a direct computation.

These answers have no property that is quicker to see than the answer itself is to compute. `samples` says how much of
one is computed again: all of it, where there is no more. Nothing here runs any of gasla's kernels.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gasla.graph.graph import as_graph
from gasla.verify._common import (
    SAMPLES,
    Array,
    VerificationError,
    check_source,
    common_weights,
    edge_answer,
    edge_name,
    edges_of,
    require,
    sample,
    vertex_answer,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Lengths = Literal["weight"] | None
Measure = Literal[
    "jaccard", "overlap", "cosine", "adamic_adar", "resource_allocation", "preferential_attachment"
]  # fmt: skip
EDGES = 20_000_000  # visited in searches from vertices, where `samples` is not given
TOLERANCE = 1e-9  # relative, of scores


def closeness(
    graph: Any,
    scores: ArrayLike,
    *,
    distance: Lengths = None,
    wf_improved: bool = True,
    sources: Iterable[int] | None = None,
    samples: int | None = None,
) -> None:
    """Check the closeness of some vertices by their distances from all sources.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph.
    scores : array of float
        The answer, of all vertices.
    distance, wf_improved, sources
        What `gasla.closeness_centrality` was given, or the sources that it drew.
    samples : int, optional
        How many vertices are looked at; by default as many as 2e7 edges allow, and one at least.

    Raises
    ------
    VerificationError
        If one of these scores is wrong, or any is negative.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> closeness(path, [2 / 3, 1.0, 2 / 3])
    >>> closeness(path, [2 / 3, 0.5, 2 / 3])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 1 has the score 0.5, but its distances give 1
    """

    def score(lengths: Array, among: int) -> float:
        mean = lengths.size / lengths.sum() if lengths.sum() > 0 else 0.0
        return mean * lengths.size / among if wf_improved and among else mean

    _by_distances(graph, scores, distance, sources, score, samples)


def harmonic(
    graph: Any,
    scores: ArrayLike,
    *,
    distance: Lengths = None,
    sources: Iterable[int] | None = None,
    k: int | None = None,
    samples: int | None = None,
) -> None:
    """Check the harmonic centrality of some vertices by their distances from all sources.

    Parameters
    ----------
    graph, scores, distance, samples
        As for `closeness`.
    sources, k
        What `gasla.harmonic_centrality` was given; with `k`, the sources that it drew.

    Raises
    ------
    VerificationError
        If one of these scores is wrong, or any is negative.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> harmonic(csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]), [1.5, 2.0, 1.5])
    """
    n = len(np.asarray(scores))

    def score(lengths: Array, among: int) -> float:
        total = (1 / lengths[lengths > 0]).sum()
        return total if k is None else total * (n - 1) / among if among else 0.0

    _by_distances(graph, scores, distance, sources, score, samples)


def _by_distances(
    graph: Any,
    scores: ArrayLike,
    distance: Lengths,
    sources: Iterable[int] | None,
    score: Callable[[Array, int], float],
    samples: int | None,
) -> None:
    """Compare some scores with what the distances to a vertex give, and the number of sources other than it."""
    from scipy.sparse.csgraph import dijkstra

    edges = edges_of(graph)
    given = vertex_answer("scores", scores, edges.n, "f").astype(np.float64)
    require(np.isfinite(given), lambda v: f"vertex {v} has the score {given[v]}")
    require(given >= 0, lambda v: f"vertex {v} has the negative score {given[v]:g}")
    chosen = np.arange(edges.n)
    if sources is not None:
        chosen = np.array([check_source(s, edges.n) for s in sources], np.int64)
    length = np.ones(edges.dst.size) if distance is None else edges.weight
    backwards, right = edges._replace(src=edges.dst, dst=edges.src, weight=length).lightest(), given.copy()
    some = sample(edges.n, samples or max(1, EDGES // (edges.dst.size + edges.n + 1)))
    for v in some.tolist():
        found = dijkstra(backwards, indices=[v])[0][chosen[chosen != v]]
        right[v] = score(found[np.isfinite(found)], found.size)
    require(
        np.abs(given - right) <= 1e-6 * right,
        lambda v: f"vertex {v} has the score {given[v]:.9g}, but its distances give {right[v]:.9g}",
    )


def similarity(
    graph: Any, scores: ArrayLike, measure: Measure = "jaccard", pairs: Any = None, *, samples: int = 1 << 12
) -> None:
    """Check how similar the ends of some edges, or of some of the given pairs, are.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph, read as simple and undirected.
    scores : array of float
        The answer, for each stored edge in the order of the input, or for each pair.
    measure : str
        The function that gave it.
    pairs : (u, v), two arrays of vertices, optional
        As the function was given them.
    samples : int
        How many pairs are looked at.

    Raises
    ------
    VerificationError
        If one of these scores is wrong.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> similarity(csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]]), [0.5], "jaccard", ([0], [2]))
    Traceback (most recent call last):
    gasla.verify.VerificationError: the jaccard of 0 and 2 is 1, not 0.5
    """
    score, edges = np.asarray(scores), edges_of(graph)
    if pairs is None:
        numbers = as_graph(graph).out.numbers()
        pairs = np.empty((2, len(numbers)), np.int64)
        pairs[:, numbers] = edges.src, edges.dst
    u, v = (np.asarray(ids) for ids in pairs)
    if score.shape != u.shape or score.dtype.kind != "f":
        raise VerificationError(
            f"scores: {len(u)} floating-point numbers were expected, one a pair, not {score.dtype}{score.shape}"
        )
    some, simple = sample(len(u), samples), edges.simple()
    u, v, degree = u[some], v[some], np.diff(simple.indptr).astype(np.float64)
    right = scored(measure, degree[u], degree[v], common_weights(simple, u, v, weights_of(measure, degree)))
    require(
        np.isclose(score[some], right, rtol=TOLERANCE, atol=0),
        lambda i: f"the {measure} of {u[i]} and {v[i]} is {right[i]:.6g}, not {score[some[i]]:.6g}",
    )


def weights_of(measure: Measure, degree: Array) -> Array:
    """What each vertex counts as a common neighbor."""
    with np.errstate(divide="ignore"):
        if measure == "adamic_adar":
            return 1 / np.log(np.maximum(degree, 1))
        return 1 / np.maximum(degree, 1) if measure == "resource_allocation" else np.ones(len(degree))


def scored(measure: Measure, a: Array, b: Array, common: Array) -> Array:
    """The measure, from both degrees and the sum of what common neighbors count."""
    if measure in ("adamic_adar", "resource_allocation"):
        return common
    if measure == "preferential_attachment":
        return a * b
    size = {"jaccard": a + b - common, "overlap": np.minimum(a, b), "cosine": np.sqrt(a * b)}[measure]
    return np.divide(common, size, out=np.zeros(len(a)), where=size > 0)


def triangles(graph: Any, total: int, per_vertex: ArrayLike, *, samples: int = SAMPLES) -> None:
    """Check a count of triangles: each has three corners, and some vertices' are counted among their neighbors.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph, read as simple and undirected.
    total, per_vertex : int, array of int
        The answer.
    samples : int
        How many vertices are looked at.

    Raises
    ------
    VerificationError
        If the counts do not sum to three times the total, or one of those that were looked at is wrong.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> triangle = csr_array([[0, 1, 1], [0, 0, 1], [0, 0, 0]])
    >>> triangles(triangle, 1, [1, 1, 1])
    >>> triangles(triangle, 1, [1, 2, 0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 1 is in 1 triangles, not 2
    """
    simple = edges_of(graph).simple()
    count = vertex_answer("per_vertex", per_vertex, simple.shape[0], "iu").astype(np.int64)
    if int(count.sum()) != 3 * total:
        raise VerificationError(
            f"the counts of all vertices sum to {count.sum()}, not to 3 × {total}: every triangle has three corners"
        )
    some, right, degree = _around(simple, samples)
    require(count[some] == right, lambda i: f"vertex {some[i]} is in {right[i]} triangles, not {count[some[i]]}")
    require(
        (count >= 0) & (count <= degree * (degree - 1) // 2),
        lambda v: f"vertex {v} has {degree[v]} neighbors, so that {count[v]} triangles are impossible",
    )


def clustering(graph: Any, scores: ArrayLike, *, samples: int = SAMPLES) -> None:
    """Check the clustering of some vertices: the share of the pairs of their neighbors that are joined.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph, read as simple and undirected.
    scores : array of float
        The answer, of all vertices.
    samples : int
        How many vertices are looked at.

    Raises
    ------
    VerificationError
        If one of these coefficients is wrong.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> clustering(csr_array([[0, 1, 1], [0, 0, 1], [0, 0, 0]]), [1.0, 0.5, 1.0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: the clustering of vertex 1 is 1, not 0.5
    """
    simple = edges_of(graph).simple()
    score = vertex_answer("scores", scores, simple.shape[0], "f")
    some, count, degree = _around(simple, samples)
    right = count / np.maximum(degree * (degree - 1) // 2, 1)[some]
    require(
        np.abs(score[some] - right) <= 1e-12,
        lambda i: f"the clustering of vertex {some[i]} is {right[i]:.6g}, not {score[some[i]]:.6g}",
    )


def _around(simple: "csr_array", samples: int) -> tuple[Array, Array, Array]:
    """Some vertices, how many edges there are among the neighbors of each, and the degrees of all vertices."""
    degree = np.diff(simple.indptr).astype(np.int64)
    some = sample(len(degree), samples)
    rows = simple[some]
    closed = np.asarray((rows @ simple).multiply(rows).sum(axis=1)).ravel()
    return some, closed.astype(np.int64) // 2, degree


def edge_support(graph: Any, support: ArrayLike, *, samples: int = SAMPLES) -> None:
    """Check in how many triangles some edges are: their ends have so many neighbors in common.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph, read as simple and undirected.
    support : array of int
        The answer, for each stored edge in the order of the input.
    samples : int
        How many edges are looked at.

    Raises
    ------
    VerificationError
        If one of these counts is wrong.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> edge_support(csr_array([[0, 1, 1], [0, 0, 1], [0, 0, 0]]), [1, 1, 2])
    Traceback (most recent call last):
    gasla.verify.VerificationError: edge 1 → 2 is in 1 triangles, not 2
    """
    edges, count = edges_of(graph), edge_answer("support", graph, support, "iu")
    some = sample(len(count), samples)
    src, dst = edges.src[some], edges.dst[some]
    right = np.where(src == dst, 0, common_weights(edges.simple(), src, dst)).astype(np.int64)
    require(
        count[some] == right,
        lambda i: f"{edge_name(edges, some[i])} is in {right[i]} triangles, not {count[some[i]]}",
    )


def aggregate_features(
    graph: Any,
    features: ArrayLike,
    aggregated: ArrayLike,
    reduce: str = "sum",
    *,
    weighted: bool = True,
    samples: int = SAMPLES,
) -> None:
    """Check what the features of some vertices' in-neighbors come to, but for rounding.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph.
    features, aggregated : (n, k) or (n,) arrays
        What every vertex gave, and the answer.
    reduce, weighted
        What `gasla.aggregate_features` was given.
    samples : int
        How many vertices are looked at.

    Raises
    ------
    VerificationError
        If the answer has another shape, or one of these rows is wrong.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> pair = csr_array([[0.0, 2.0], [0.0, 0.0]])
    >>> aggregate_features(pair, [[1.0], [5.0]], [[0.0], [5.0]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: the features of vertex 1 come to [5.]; expected [2.]
    """
    edges, rows, given = edges_of(graph), np.asarray(features), np.asarray(aggregated)
    if given.shape != rows.shape:
        raise VerificationError(f"the answer has shape {given.shape}; expected that of the features, {rows.shape}")
    kind = given.dtype if given.dtype.kind == "f" else np.dtype(np.float64)
    some = sample(edges.n, samples)
    leading = np.flatnonzero(np.isin(edges.dst, some))
    for v in some.tolist():
        entering = leading[edges.dst[leading] == v]
        weight = edges.weight[entering] if weighted else np.ones(len(entering))
        with np.errstate(all="ignore"):
            come = (rows[edges.src[entering]].astype(np.float64).T * weight).T
            total = weight.sum() if reduce == "mean" and weight.any() else 1.0
            better = {"max": np.max, "min": np.min}.get(reduce, np.sum)
            right = better(come, axis=0) / total if len(come) else np.zeros(rows.shape[1:])
            slack = (2 + len(come)) * np.finfo(kind).eps * np.abs(come).sum(axis=0) / abs(total)
            near = np.isclose(given[v].astype(np.float64), right, rtol=0, atol=slack, equal_nan=True)
        if not near.all():
            raise VerificationError(f"the features of vertex {v} come to {given[v]}; expected {right}")
