"""Spot checks, which compare randomly sampled vertices, edges or pairs of an answer with a direct computation.

These answers have no property that is faster to check than the answer is to compute. `samples` is the number of items
that are computed again, or all of them if there are no more. Nothing here runs gasla's kernels.
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
    distances_from,
    edge_answer,
    edge_name,
    edges_by_id,
    edges_of,
    near_one,
    require,
    require_weights,
    sample,
    verifier,
    vertex_answer,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Lengths = Literal["weight"] | None
Measure = Literal[
    "jaccard", "overlap", "sorensen", "cosine", "adamic_adar", "resource_allocation", "preferential_attachment"
]  # fmt: skip
# number of edges that all searches together may visit, if the caller does not set the number of samples
EDGES = 20_000_000
TOLERANCE = 1e-9  # largest relative error of scores that is accepted


@verifier("lengths")
def closeness(
    graph: Any,
    scores: ArrayLike,
    *,
    distance: Lengths = None,
    wf_improved: bool = True,
    sources: Iterable[Any] | None = None,
    samples: int | None = None,
    weighted: bool = False,
) -> None:
    """Verify `scores` of `gasla.closeness_centrality` for `samples` vertices, by their distances from all sources.

    By default the number of samples is such that searches visit about 2e7 edges, and at least one.

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

    _check_distance_scores(graph, scores, "weight" if weighted else distance, sources, score, samples)


@verifier("lengths")
def harmonic(
    graph: Any,
    scores: ArrayLike,
    *,
    distance: Lengths = None,
    sources: Iterable[Any] | None = None,
    k: int | None = None,
    samples: int | None = None,
    weighted: bool = False,
) -> None:
    """Verify `scores` of `gasla.harmonic_centrality` for `samples` vertices, as for `closeness`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> harmonic(csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]), [1.5, 2.0, 1.5])
    """
    n = len(np.asarray(scores))

    def score(lengths: Array, count: int) -> float:
        total = (1 / lengths[lengths > 0]).sum()
        return total if k is None else total * (n - 1) / count if count else 0.0

    _check_distance_scores(graph, scores, "weight" if weighted else distance, sources, score, samples)


def _check_distance_scores(
    graph: Any,
    scores: ArrayLike,
    distance: Lengths,
    sources: Iterable[int] | None,
    score: Callable[[Array, int], float],
    samples: int | None,
) -> None:
    """Verify sampled scores of a centrality that follows from distances, by distances that SciPy finds.

    `score` returns the right score of a vertex. Its arguments are the finite distances from the sources to the vertex,
    and the number of sources other than the vertex.
    """
    edges = edges_of(graph)
    answer = vertex_answer("scores", scores, edges.n, "f").astype(np.float64)
    require(~np.isnan(answer), lambda v: f"vertex {v} has the score NaN")
    require(answer >= 0, lambda v: f"vertex {v} has the negative score {answer[v]:g}")
    chosen = check_sources(sources, edges.n)
    length = np.ones(edges.dst.size) if distance is None else edges.weight
    backwards, expected = edges._replace(src=edges.dst, dst=edges.src, weight=length).lightest(), answer.copy()
    sampled = sample(edges.n, samples or max(1, EDGES // (edges.dst.size + edges.n + 1)))
    for v in sampled.tolist():
        distances = distances_from(backwards, v)[chosen[chosen != v]]
        expected[v] = score(distances[np.isfinite(distances)], distances.size)
    require(
        np.isclose(answer, expected, rtol=1e-6, atol=0),
        lambda v: f"vertex {v} has the score {answer[v]:.9g}, but its distances give {expected[v]:.9g}",
    )


@verifier()
def similarity(
    graph: Any, scores: ArrayLike, measure: Measure = "jaccard", pairs: Any = None, *, samples: int = 1 << 12
) -> None:
    """Verify `scores` of a `measure`, as of `gasla.jaccard`, for `samples` edges or pairs.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> similarity(csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]]), [0.5], "jaccard", ([0], [2]))
    Traceback (most recent call last):
    gasla.verify.VerificationError: the jaccard of 0 and 2 is 1, not 0.5
    """
    u, v, score = _sampled_pairs(graph, "scores", scores, "f", pairs, samples)
    simple = edges_of(graph).simple()
    degree = np.diff(simple.indptr).astype(np.float64)
    expected = scored(measure, degree[u], degree[v], common_weights(simple, u, v, weights_of(measure, degree)))
    require(
        np.isclose(score, expected, rtol=TOLERANCE, atol=0),
        lambda i: f"the {measure} of {u[i]} and {v[i]} is {expected[i]:.6g}, not {score[i]:.6g}",
    )


@verifier()
def shared_nearest_neighbors(graph: Any, counts: ArrayLike, pairs: Any = None, *, samples: int = 1 << 12) -> None:
    """Verify `counts` of `gasla.shared_nearest_neighbors` for `samples` edges or pairs.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> shared_nearest_neighbors(csr_array([[0, 1, 1], [0, 0, 1], [0, 0, 0]]), [1, 0, 1])
    Traceback (most recent call last):
    gasla.verify.VerificationError: 1 and 2 have 0 common neighbors, not 1
    """
    u, v, answer = _sampled_pairs(graph, "counts", counts, "iu", pairs, samples)
    pattern = edges_of(graph).matrix()
    pattern.sum_duplicates()
    expected = common_weights(pattern, u, v).astype(np.int64)
    require(answer == expected, lambda i: f"{u[i]} and {v[i]} have {expected[i]} common neighbors, not {answer[i]}")


def _sampled_pairs(
    graph: Any, name: str, values: ArrayLike, kinds: str, pairs: Any, samples: int
) -> tuple[Array, Array, Array]:
    """Draw a sample of pairs of vertices. Return both vertices of each sampled pair, and the answer's value for the
    pair.

    If `pairs` is None, the edges of the graph are the pairs. `kinds` holds the allowed letters of the values' dtype.
    """
    answer = np.asarray(values)
    u, v = edges_by_id(graph)[:2] if pairs is None else (np.asarray(ids) for ids in pairs)
    if answer.shape != u.shape or answer.dtype.kind not in kinds:
        wanted = f"{len(u)} {'floating-point numbers' if kinds == 'f' else 'integers'}"
        raise VerificationError(f"{name}: {wanted} were expected, one per pair, not {answer.dtype}{answer.shape}")
    sampled = sample(len(u), samples)
    return u[sampled], v[sampled], answer[sampled]


def weights_of(measure: Measure, degree: Array) -> Array:
    """Return for each vertex the weight that it adds to the similarity of two vertices as their common neighbor."""
    with np.errstate(divide="ignore"):
        if measure == "adamic_adar":
            return 1 / np.log(np.maximum(degree, 1))
        return 1 / np.maximum(degree, 1) if measure == "resource_allocation" else np.ones(len(degree))


def scored(measure: Measure, a: Array, b: Array, common: Array) -> Array:
    """Return the similarity of pairs of vertices by a measure.

    `a` and `b` are the degrees of the two vertices of each pair, and `common` the weight of their common neighbors.
    """
    if measure in ("adamic_adar", "resource_allocation"):
        return common
    if measure == "preferential_attachment":
        return a * b
    sizes = {"jaccard": a + b - common, "overlap": np.minimum(a, b), "sorensen": (a + b) / 2, "cosine": np.sqrt(a * b)}
    size = sizes[measure]
    return np.divide(common, size, out=np.zeros(len(a)), where=size > 0)


@verifier()
def triangles(graph: Any, total: int, per_vertex: ArrayLike, *, samples: int = SAMPLES) -> None:
    """Verify `total` and `per_vertex` of `gasla.triangle_count`.

    All counts sum to three times the total. For `samples` vertices, the count is compared with the number of edges
    among the neighbors.

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
    sampled, degree = sample(len(count), samples), np.diff(simple.indptr).astype(np.int64)
    expected = edges_among_neighbors(simple, sampled)
    require(
        count[sampled] == expected,
        lambda i: f"vertex {sampled[i]} is in {expected[i]} triangles, not {count[sampled[i]]}",
    )
    require(
        (count >= 0) & (count <= degree * (degree - 1) // 2),
        lambda v: f"vertex {v} has {degree[v]} neighbors, too few for {count[v]} triangles",
    )


@verifier("shares")
def clustering(
    graph: Any, scores: ArrayLike, *, mode: str = "undirected", weighted: bool = False, samples: int = SAMPLES
) -> None:
    """Verify `scores` of `gasla.clustering` for `samples` vertices.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> clustering(csr_array([[0, 1, 1], [0, 0, 1], [0, 0, 0]]), [1.0, 0.5, 1.0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: the clustering of vertex 1 is 1, not 0.5
    """
    edges = edges_of(graph)
    score = vertex_answer("scores", scores, edges.n, "f")
    sampled = sample(edges.n, samples)
    expected = _weighted_coefficients(edges, sampled) if weighted else _coefficients(edges, sampled, mode)
    require(
        np.abs(score[sampled] - expected) <= 1e-12,
        lambda i: f"the clustering of vertex {sampled[i]} is {expected[i]:.6g}, not {score[sampled[i]]:.6g}",
    )


@verifier()
def scan_statistics(graph: Any, counts: ArrayLike, *, samples: int = SAMPLES) -> None:
    """Verify `counts` of `gasla.scan_statistics` for `samples` vertices.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> scan_statistics(csr_array([[0, 1, 1], [0, 0, 1], [0, 0, 0]]), [3, 2, 3])
    Traceback (most recent call last):
    gasla.verify.VerificationError: 3 edges are among vertex 1 and its neighbors, not 2
    """
    simple = edges_of(graph).simple()
    answer = vertex_answer("counts", counts, simple.shape[0], "iu")
    sampled = sample(len(answer), samples)
    expected = edges_among_neighbors(simple, sampled) + np.diff(simple.indptr)[sampled]
    require(
        answer[sampled] == expected,
        lambda i: f"{expected[i]} edges are among vertex {sampled[i]} and its neighbors, not {answer[sampled[i]]}",
    )


def _coefficients(edges: Edges, some: Array, mode: str) -> Array:
    """Return the unweighted clustering coefficients of the vertices `some`, in a mode of `gasla.clustering`."""
    from scipy.sparse import csr_array

    if mode == "undirected":
        simple = edges.simple()
        degree = np.diff(simple.indptr).astype(np.int64)[some]
        return np.asarray(edges_among_neighbors(simple, some) / np.maximum(degree * (degree - 1) // 2, 1))
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


def _weighted_coefficients(edges: Edges, some: Array) -> Array:
    """Return the weighted clustering coefficients of the vertices `some`.

    They are the sums over triangles of the geometric mean of the three weights, divided by the number of pairs of
    neighbors.
    """
    from scipy.sparse import csr_array

    is_proper = edges.src != edges.dst
    src, dst, weight = edges.src[is_proper], edges.dst[is_proper], edges.weight[is_proper].astype(np.float64)
    if not weight.max(initial=0) > 0:
        return np.zeros(len(some))
    keys, pair_index = np.unique(np.minimum(src, dst) * edges.n + np.maximum(src, dst), return_inverse=True)
    largest = np.zeros(len(keys))
    np.maximum.at(largest, pair_index, weight)
    ends, roots = np.divmod(keys, edges.n), np.cbrt(largest / largest.max())
    upper = csr_array((roots, ends), shape=(edges.n, edges.n))
    sides = csr_array(upper + upper.T)
    closed = np.asarray((sides[some] @ sides).multiply(sides[some]).sum(axis=1)).ravel() / 2
    degree = np.bincount(np.concatenate(ends), minlength=edges.n)[some]
    shares: Array = closed / np.maximum(degree * (degree - 1) / 2, 1)
    return shares


def edges_among_neighbors(simple: "csr_array", some: Array) -> Array:
    """Return the number of edges among the neighbors of each vertex in `some`.

    An edge between two neighbors u and w of a vertex v makes w a common neighbor of v and u, and u a common neighbor of
    v and w. So the numbers of common neighbors of v and each of its neighbors count each edge twice, and their sum is
    halved.
    """
    degree = np.diff(simple.indptr)[some]
    row_index = np.repeat(np.arange(len(some)), degree)
    shared = common_weights(simple, some[row_index], simple[some].indices)
    return np.bincount(row_index, shared, len(some)).astype(np.int64) // 2


@verifier()
def edge_support(graph: Any, support: ArrayLike, *, samples: int = SAMPLES) -> None:
    """Verify `support` of `gasla.edge_support` for `samples` edges: the number of common neighbors of the edge's ends.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> edge_support(csr_array([[0, 1, 1], [0, 0, 1], [0, 0, 0]]), [1, 1, 2])
    Traceback (most recent call last):
    gasla.verify.VerificationError: edge 1 → 2 is in 1 triangles, not 2
    """
    edges, count = edges_of(graph), edge_answer("support", graph, support, "iu")
    sampled = sample(len(count), samples)
    src, dst = edges.src[sampled], edges.dst[sampled]
    expected = np.where(src == dst, 0, common_weights(edges.simple(), src, dst)).astype(np.int64)
    require(
        count[sampled] == expected,
        lambda i: f"{edge_name(edges, sampled[i])} is in {expected[i]} triangles, not {count[sampled[i]]}",
    )


@verifier()
def aggregate_features(
    graph: Any,
    features: ArrayLike,
    aggregated: ArrayLike,
    reduce: str = "sum",
    *,
    weighted: bool = True,
    samples: int = SAMPLES,
) -> None:
    """Verify `aggregated` of `gasla.aggregate_features` for `samples` vertices, up to rounding.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> pair = csr_array([[0.0, 2.0], [0.0, 0.0]])
    >>> aggregate_features(pair, [[1.0], [5.0]], [[0.0], [5.0]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: the features of vertex 1 come to [5.]; expected [2.]
    """
    if weighted and reduce == "mean":
        require_weights(graph, "shares")
    edges, rows, answer = edges_of(graph), np.asarray(features), np.asarray(aggregated)
    if answer.shape != rows.shape:
        raise VerificationError(f"the answer has shape {answer.shape}; expected that of the features, {rows.shape}")
    weights = near_one(edges.weight) if reduce == "mean" else edges.weight
    eps = np.finfo(answer.dtype if answer.dtype.kind == "f" else np.float64).eps
    reduction, is_sum = {"max": np.max, "min": np.min}.get(reduce, np.sum), reduce in ("sum", "mean")
    sampled = sample(edges.n, samples)
    order = np.flatnonzero(np.isin(edges.dst, sampled))
    order = order[np.argsort(edges.dst[order], kind="stable")]
    starts, ends = (np.searchsorted(edges.dst[order], sampled, side) for side in ("left", "right"))
    for v, start, end in zip(sampled.tolist(), starts, ends):
        entering = order[start:end]
        weight = weights[entering] if weighted else np.ones(len(entering))
        messages = (rows[edges.src[entering]].astype(np.float64).T * weight).T
        total = weight.sum() if reduce == "mean" and weight.any() else 1.0
        expected = reduction(messages, axis=0) / total if len(messages) else np.zeros(rows.shape[1:])
        sizes = np.where(np.isfinite(messages), np.abs(messages / total), 0)
        slack = ((2 + len(messages)) * eps * sizes).sum(axis=0) if is_sum else 2 * eps * np.abs(expected)
        is_close = np.isclose(answer[v].astype(np.float64), expected, rtol=0, atol=slack, equal_nan=True)
        if not is_close.all():
            raise VerificationError(f"the features of vertex {v} come to {answer[v]}; expected {expected}")
