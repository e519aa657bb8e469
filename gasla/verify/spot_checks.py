"""Spot checks: randomly sampled vertices, edges or pairs of an answer, against a direct computation.

For these answers there is no property that is faster to check than the answer is to compute. `samples` is the number
of items computed again; all of them if there are no more. Nothing here runs gasla's kernels.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import (
    SAMPLES,
    Array,
    Edges,
    VerificationError,
    check_sources,
    common_weights,
    edge_answer,
    edge_name,
    edges_by_id,
    edges_of,
    require,
    sample,
    takes_names,
    vertex_answer,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Lengths = Literal["weight"] | None
Measure = Literal[
    "jaccard", "overlap", "sorensen", "cosine", "adamic_adar", "resource_allocation", "preferential_attachment"
]  # fmt: skip
EDGES = 20_000_000  # edges visited in searches, unless `samples` is given
TOLERANCE = 1e-9  # relative error of scores


@takes_names
def closeness(
    graph: Any,
    scores: ArrayLike,
    *,
    distance: Lengths = None,
    wf_improved: bool = True,
    sources: Iterable[Any] | None = None,
    samples: int | None = None,
) -> None:
    """Check the closeness of sampled vertices by their distances from all sources.

    Parameters
    ----------
    graph, distance, wf_improved, sources
        As for `gasla.closeness_centrality`, or the sources it drew.
    scores : array of float
        The answer.
    samples : int, optional
        Number of vertices to check; by default as many as 2e7 edges allow, at least one.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> closeness(path, [2 / 3, 1.0, 2 / 3])
    >>> closeness(path, [2 / 3, 0.5, 2 / 3])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 1 has the score 0.5, but its distances give 1
    """

    def score(lengths: Array, count: int) -> float:
        mean = lengths.size / lengths.sum() if lengths.sum() > 0 else 0.0
        return mean * lengths.size / count if wf_improved and count else mean

    _by_distances(graph, scores, distance, sources, score, samples)


@takes_names
def harmonic(
    graph: Any,
    scores: ArrayLike,
    *,
    distance: Lengths = None,
    sources: Iterable[Any] | None = None,
    k: int | None = None,
    samples: int | None = None,
) -> None:
    """Check the harmonic centrality of sampled vertices by their distances from all sources.

    Parameters
    ----------
    graph, distance, sources, k
        As for `gasla.harmonic_centrality`; with `k`, the sources it drew.
    scores, samples
        As for `closeness`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> harmonic(csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]), [1.5, 2.0, 1.5])
    """
    n = len(np.asarray(scores))

    def score(lengths: Array, count: int) -> float:
        total = (1 / lengths[lengths > 0]).sum()
        return total if k is None else total * (n - 1) / count if count else 0.0

    _by_distances(graph, scores, distance, sources, score, samples)


def _by_distances(
    graph: Any,
    scores: ArrayLike,
    distance: Lengths,
    sources: Iterable[int] | None,
    score: Callable[[Array, int], float],
    samples: int | None,
) -> None:
    """Compare sampled scores with those computed from the distances to a vertex, and the number of other sources."""
    from scipy.sparse.csgraph import dijkstra

    edges = edges_of(graph)
    given = vertex_answer("scores", scores, edges.n, "f").astype(np.float64)
    require(np.isfinite(given), lambda v: f"vertex {v} has the score {given[v]}")
    require(given >= 0, lambda v: f"vertex {v} has the negative score {given[v]:g}")
    chosen = check_sources(sources, edges.n)
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


@takes_names
def similarity(
    graph: Any, scores: ArrayLike, measure: Measure = "jaccard", pairs: Any = None, *, samples: int = 1 << 12
) -> None:
    """Check a similarity measure for sampled edges, or for sampled pairs.

    Parameters
    ----------
    graph, pairs
        As for `gasla.jaccard`.
    scores : array of float
        The answer, one score per stored edge in input order, or per pair.
    measure : str
        The name of the measure.
    samples : int
        Number of pairs to check.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> similarity(csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]]), [0.5], "jaccard", ([0], [2]))
    Traceback (most recent call last):
    gasla.verify.VerificationError: the jaccard of 0 and 2 is 1, not 0.5
    """
    score, edges = np.asarray(scores), edges_of(graph)
    u, v = edges_by_id(graph)[:2] if pairs is None else (np.asarray(ids) for ids in pairs)
    if score.shape != u.shape or score.dtype.kind != "f":
        raise VerificationError(
            f"scores: {len(u)} floating-point numbers were expected, one per pair, not {score.dtype}{score.shape}"
        )
    some, simple = sample(len(u), samples), edges.simple()
    u, v, degree = u[some], v[some], np.diff(simple.indptr).astype(np.float64)
    right = scored(measure, degree[u], degree[v], common_weights(simple, u, v, weights_of(measure, degree)))
    require(
        np.isclose(score[some], right, rtol=TOLERANCE, atol=0),
        lambda i: f"the {measure} of {u[i]} and {v[i]} is {right[i]:.6g}, not {score[some[i]]:.6g}",
    )


@takes_names
def shared_nearest_neighbors(graph: Any, counts: ArrayLike, pairs: Any = None, *, samples: int = 1 << 12) -> None:
    """Check the numbers of common out-neighbors of sampled edges, or of sampled pairs.

    Parameters
    ----------
    graph, pairs
        As for `gasla.shared_nearest_neighbors`.
    counts : array of int
        The answer, one number per stored edge in input order, or per pair.
    samples : int
        Number of pairs to check.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> shared_nearest_neighbors(csr_array([[0, 1, 1], [0, 0, 1], [0, 0, 0]]), [1, 0, 1])
    Traceback (most recent call last):
    gasla.verify.VerificationError: 1 and 2 have 0 common neighbors, not 1
    """
    given, edges = np.asarray(counts), edges_of(graph)
    u, v = edges_by_id(graph)[:2] if pairs is None else (np.asarray(ids) for ids in pairs)
    if given.shape != u.shape or given.dtype.kind not in "iu":
        raise VerificationError(
            f"counts: {len(u)} integers were expected, one per pair, not {given.dtype}{given.shape}"
        )
    pattern = edges.matrix()
    pattern.sum_duplicates()
    some = sample(len(u), samples)
    u, v = u[some], v[some]
    right = common_weights(pattern, u, v).astype(np.int64)
    require(
        given[some] == right,
        lambda i: f"{u[i]} and {v[i]} have {right[i]} common neighbors, not {given[some[i]]}",
    )


def weights_of(measure: Measure, degree: Array) -> Array:
    """The weight of each vertex as a common neighbor."""
    with np.errstate(divide="ignore"):
        if measure == "adamic_adar":
            return 1 / np.log(np.maximum(degree, 1))
        return 1 / np.maximum(degree, 1) if measure == "resource_allocation" else np.ones(len(degree))


def scored(measure: Measure, a: Array, b: Array, common: Array) -> Array:
    """The score from both degrees and the total weight of the common neighbors."""
    if measure in ("adamic_adar", "resource_allocation"):
        return common
    if measure == "preferential_attachment":
        return a * b
    sizes = {"jaccard": a + b - common, "overlap": np.minimum(a, b), "sorensen": (a + b) / 2, "cosine": np.sqrt(a * b)}
    size = sizes[measure]
    return np.divide(common, size, out=np.zeros(len(a)), where=size > 0)


def triangles(graph: Any, total: int, per_vertex: ArrayLike, *, samples: int = SAMPLES) -> None:
    """Check triangle counts: they sum to three times the total, and those of sampled vertices are counted again.

    Parameters
    ----------
    graph
        As for `gasla.triangle_count`.
    total, per_vertex : int, array of int
        The answer.
    samples : int
        Number of vertices to check.

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
        lambda v: f"vertex {v} has {degree[v]} neighbors, too few for {count[v]} triangles",
    )


def clustering(graph: Any, scores: ArrayLike, *, mode: str = "undirected", samples: int = SAMPLES) -> None:
    """Check the clustering coefficients of sampled vertices: the fraction of pairs of neighbors that are adjacent.

    Parameters
    ----------
    graph, mode
        As for `gasla.clustering`.
    scores : array of float
        The answer.
    samples : int
        Number of vertices to check.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> clustering(csr_array([[0, 1, 1], [0, 0, 1], [0, 0, 0]]), [1.0, 0.5, 1.0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: the clustering of vertex 1 is 1, not 0.5
    """
    edges = edges_of(graph)
    score = vertex_answer("scores", scores, edges.n, "f")
    some = sample(edges.n, samples)
    if mode == "undirected":
        some, count, degree = _around(edges.simple(), samples)
        right = count / np.maximum(degree * (degree - 1) // 2, 1)[some]
    else:
        right = _of_directed(edges, some, mode)
    require(
        np.abs(score[some] - right) <= 1e-12,
        lambda i: f"the clustering of vertex {some[i]} is {right[i]:.6g}, not {score[some[i]]:.6g}",
    )


def scan_statistics(graph: Any, counts: ArrayLike, *, samples: int = SAMPLES) -> None:
    """Check the scan statistics of sampled vertices: the number of edges among the vertex and its neighbors.

    Parameters
    ----------
    graph
        As for `gasla.scan_statistics`.
    counts : array of int
        The answer.
    samples : int
        Number of vertices to check.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> scan_statistics(csr_array([[0, 1, 1], [0, 0, 1], [0, 0, 0]]), [3, 2, 3])
    Traceback (most recent call last):
    gasla.verify.VerificationError: 3 edges are among vertex 1 and its neighbors, not 2
    """
    simple = edges_of(graph).simple()
    given = vertex_answer("counts", counts, simple.shape[0], "iu")
    some, closed, degree = _around(simple, samples)
    right = closed + degree[some]
    require(
        given[some] == right,
        lambda i: f"{right[i]} edges are among vertex {some[i]} and its neighbors, not {given[some[i]]}",
    )


def _of_directed(edges: Edges, some: Array, mode: str) -> Array:
    """The clustering coefficients of some vertices by a definition for directed graphs."""
    from scipy.sparse import csr_array

    one_way = edges.matrix(keep=edges.src != edges.dst)
    one_way.sum_duplicates()
    one_way.data[:] = 1
    rows: Any
    if mode == "neighborhood":
        rows = edges.simple()[some].astype(np.float64)
        ends = np.asarray(rows.sum(axis=1)).ravel()
        closed, possible = (rows @ one_way).multiply(rows).sum(axis=1), ends * (ends - 1)
    else:
        sides = csr_array(one_way + one_way.T)
        rows = sides[some]
        ends = np.asarray(rows.sum(axis=1)).ravel()
        closed = (rows @ sides).multiply(rows).sum(axis=1) / 2
        possible = ends * (ends - 1) - 2 * np.asarray((rows == 2).sum(axis=1)).ravel()
    ratio: Array = np.asarray(closed).ravel() / np.maximum(possible, 1)
    return ratio


def _around(simple: "csr_array", samples: int) -> tuple[Array, Array, Array]:
    """Sampled vertices, the number of edges among the neighbors of each, and the degrees of all vertices."""
    degree = np.diff(simple.indptr).astype(np.int64)
    some = sample(len(degree), samples)
    rows = simple[some]
    closed = np.asarray((rows @ simple).multiply(rows).sum(axis=1)).ravel()
    return some, closed.astype(np.int64) // 2, degree


def edge_support(graph: Any, support: ArrayLike, *, samples: int = SAMPLES) -> None:
    """Check the support of sampled edges: the number of common neighbors of their ends.

    Parameters
    ----------
    graph
        As for `gasla.edge_support`.
    support : array of int
        The answer, one count per stored edge in input order.
    samples : int
        Number of edges to check.

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
    """Check the aggregated features of sampled vertices, up to rounding.

    Parameters
    ----------
    graph, reduce, weighted
        As for `gasla.aggregate_features`.
    features, aggregated : (n, k) or (n,) arrays
        The features, and the answer.
    samples : int
        Number of vertices to check.

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
            messages = (rows[edges.src[entering]].astype(np.float64).T * weight).T
            total = weight.sum() if reduce == "mean" and weight.any() else 1.0
            reduction = {"max": np.max, "min": np.min}.get(reduce, np.sum)
            right = reduction(messages, axis=0) / total if len(messages) else np.zeros(rows.shape[1:])
            slack = (2 + len(messages)) * np.finfo(kind).eps * np.abs(messages).sum(axis=0) / abs(total)
            near = np.isclose(given[v].astype(np.float64), right, rtol=0, atol=slack, equal_nan=True)
        if not near.all():
            raise VerificationError(f"the features of vertex {v} come to {given[v]}; expected {right}")
