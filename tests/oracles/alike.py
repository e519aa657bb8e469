"""Verify how alike vertices are: rows of the adjacency matrix multiplied entry by entry, by SciPy."""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gasla.graph.graph import as_graph
from gasla.verify._common import Array, VerificationError, edges_of, in_common, require

Measure = Literal[
    "jaccard", "overlap", "cosine", "adamic_adar", "resource_allocation", "preferential_attachment"
]  # fmt: skip
TOLERANCE = 1e-9  # relative


def similarity(graph: Any, scores: ArrayLike, measure: Measure = "jaccard", pairs: Any = None) -> None:
    """Verify how alike the ends of edges, or of given pairs, are; the graph is read as simple and undirected.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> similarity(path, [1.0], "jaccard", ([0], [2]))
    >>> similarity(path, [0.5], "jaccard", ([0], [2]))
    Traceback (most recent call last):
    gasla.verify.VerificationError: the jaccard of 0 and 2 is 1, not 0.5
    """
    u, v = _stored(graph) if pairs is None else (np.asarray(ids) for ids in pairs)
    score = np.asarray(scores)
    if score.shape != u.shape or score.dtype.kind != "f":
        raise VerificationError(
            f"scores: {len(u)} floating-point numbers were expected, one a pair, not {score.dtype}{score.shape}"
        )
    simple = edges_of(graph).simple()
    degree = np.diff(simple.indptr).astype(np.float64)
    right = scored(measure, degree[u], degree[v], in_common(simple, u, v, weights_of(measure, degree)))
    require(
        np.isclose(score, right, rtol=TOLERANCE, atol=0),
        lambda e: f"the {measure} of {u[e]} and {v[e]} is {right[e]:.6g}, not {score[e]:.6g}",
    )


def top_k_similar(
    graph: Any, vertices: ArrayLike, scores: ArrayLike, k: int, measure: Measure = "jaccard", *, samples: int = 4096
) -> None:
    """Verify which vertices are most similar to each; the graph is read as simple and undirected.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> top_k_similar(path, [[2], [-1], [0]], [[1.0], [0.0], [1.0]], 1)
    >>> top_k_similar(path, [[2], [-1], [-1]], [[1.0], [0.0], [0.0]], 1)
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 2 has 0 others; 1 were expected
    """
    simple = edges_of(graph).simple()
    n, degree = simple.shape[0], np.diff(simple.indptr).astype(np.float64)
    found, score = np.asarray(vertices), np.asarray(scores)
    if found.shape != (n, k) or score.shape != (n, k) or found.dtype.kind not in "iu" or score.dtype.kind != "f":
        raise VerificationError(
            f"vertices, scores: {n} rows of {k} integers and of {k} floating-point numbers were expected, "
            f"not {found.dtype}{found.shape} and {score.dtype}{score.shape}"
        )
    chosen = np.arange(n) if n <= samples else np.random.default_rng(0).choice(n, samples, replace=False)
    weighed = simple.multiply(weights_of(measure, degree)).tocsr()
    for v in chosen.tolist():
        row = weighed[[v]] @ simple
        others, shared = row.indices[row.indices != v], row.data[row.indices != v]
        right = np.zeros(n)
        right[others] = scored(measure, np.full(len(others), degree[v]), degree[others], shared)
        _best_of(v, right, found[v], score[v], measure in ("jaccard", "overlap", "cosine"))


def _best_of(v: int, right: Array, found: Array, score: Array, is_exact: bool) -> None:
    """Look at one vertex, to which the others are similar as it is said there; ties are certain where that is exact."""
    expected, count = min(int((right > 0).sum()), len(found)), int((found >= 0).sum())
    if count != expected:
        raise VerificationError(f"vertex {v} has {count} others; {expected} were expected")
    ids, here = found[:count], score[:count]
    if (found[count:] != -1).any() or score[count:].any() or (ids < 0).any():
        raise VerificationError(f"of vertex {v}, -1 and 0 were expected behind the last and nowhere else")
    if len(np.unique(ids)) < count or (ids >= len(right)).any() or v in ids:
        raise VerificationError(f"vertex {v} itself, or somebody twice, or no vertex is among its others: {ids}")
    wrong = ~np.isclose(here, right[ids], rtol=TOLERANCE, atol=0)
    if wrong.any():
        e = int(wrong.argmax())
        raise VerificationError(f"vertices {v} and {ids[e]} score {right[ids[e]]:.6g}, not {here[e]:.6g}")
    if (np.diff(here) > 0).any() or ((np.diff(here) == 0) & (np.diff(ids) < 0)).any():
        raise VerificationError(f"the others of vertex {v} are not in order: by score, and then by id")
    rest = right.copy()
    rest[ids] = 0
    if count and rest.max() > here[-1] * (1 + TOLERANCE):
        raise VerificationError(f"vertex {rest.argmax()} is more similar to {v} than {ids[-1]} is, and left out")
    ties = np.flatnonzero(rest[: ids[-1]] >= right[ids[-1]]) if count and is_exact else ids[:0]
    if len(ties):
        raise VerificationError(
            f"vertex {ties[0]} is as similar to {v} as {ids[-1]} is, has a smaller id, and is left out"
        )


def weights_of(measure: Measure, degree: Array) -> Array:
    """What each vertex counts where it is a common neighbour."""
    with np.errstate(divide="ignore"):
        if measure == "adamic_adar":
            return 1 / np.log(np.maximum(degree, 1))
        return 1 / np.maximum(degree, 1) if measure == "resource_allocation" else np.ones(len(degree))


def scored(measure: Measure, a: Array, b: Array, common: Array) -> Array:
    """A measure of ends of so many neighbours, and what those in common come to."""
    if measure in ("adamic_adar", "resource_allocation"):
        return common
    if measure == "preferential_attachment":
        return a * b
    size = {"jaccard": a + b - common, "overlap": np.minimum(a, b), "cosine": np.sqrt(a * b)}[measure]
    return np.divide(common, size, out=np.zeros(len(a)), where=size > 0)


def _stored(graph: Any) -> tuple[Array, Array]:
    """The ends of stored edges, in the order of the input."""
    graph = as_graph(graph)
    ends, numbers = np.empty((2, graph.m), np.int64), graph.out.numbers()
    ends[0][numbers], ends[1][numbers] = graph.out.owners(), graph.out.indices
    return ends[0], ends[1]
