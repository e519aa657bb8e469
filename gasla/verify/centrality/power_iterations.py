"""Verifiers of power iterations. They compute one more step with SciPy, which must not change the scores."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import (
    Array,
    VerificationError,
    edges_of,
    near_one,
    require,
    require_weights,
    scores_of,
    vector_of,
    verifier,
    vertex_answer,
)

# One more step may change scores by this multiple of the tolerance, because components of smaller eigenvalues may still
# grow by more than the last step of the algorithm.
STEPS = 4


@verifier()
def pagerank(
    graph: Any,
    ranks: ArrayLike,
    *,
    alpha: float = 0.85,
    personalization: Any = None,
    dangling: Any = None,
    weighted: bool = True,
    tol: float = 1e-6,
    normalized: bool = True,
) -> None:
    """Verify `ranks` of `gasla.pagerank`: one more step, by SciPy, moves them by no more than the tolerance.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> pair = csr_array([[0, 1], [1, 0]])
    >>> pagerank(pair, [0.5, 0.5])
    >>> pagerank(pair, [0.6, 0.4])
    Traceback (most recent call last):
    gasla.verify.VerificationError: one more step moves the ranks by 0.37, over the tolerance 1e-06; vertex 0 ...
    """
    if weighted and normalized:
        require_weights(graph, "shares")
    edges = edges_of(graph)
    rank, n = scores_of("ranks", ranks, edges.n), edges.n
    if n == 0:
        return
    total = rank.sum()
    slack = tol + 16 * _epsilon_of(ranks) * max(total, 1.0)
    # The algorithm compares the change of each vertex with the tolerance and ignores smaller changes. The sum over n
    # vertices may be n times as large.
    if not normalized:
        slack *= n / max(1 - alpha, 1e-3)
    elif not abs(total - 1) <= slack / max(1 - alpha, 1e-3):
        raise VerificationError(f"the ranks sum to {total:.9g}, not to 1")

    matrix = edges.matrix(near_one(edges.weight) if weighted and normalized else None)
    strength = np.asarray(matrix.sum(axis=1)).ravel()
    next_rank = alpha * (matrix.T @ _divide_by_positive(rank, strength))
    if normalized:
        jumps = np.full(n, 1 / n) if personalization is None else _scale_to_sum_one(vector_of(personalization, n))
        lost = jumps if dangling is None else _scale_to_sum_one(vector_of(dangling, n))
        next_rank += alpha * rank[strength == 0].sum() * lost + (1 - alpha) * jumps
    else:
        next_rank += 1 - alpha
    _require_still("ranks", rank, next_rank, slack)


@verifier("shares")
def article_rank(
    graph: Any, ranks: ArrayLike, *, alpha: float = 0.85, weighted: bool = True, tol: float = 1e-6
) -> None:
    """Verify `ranks` of `gasla.article_rank`: one more step, by SciPy, moves them by no more than the tolerance.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> pair = csr_array([[0, 1], [1, 0]])
    >>> article_rank(pair, [6 / 23, 6 / 23])
    >>> article_rank(pair, [0.3, 0.2])
    Traceback (most recent call last):
    gasla.verify.VerificationError: one more step moves the ranks by 0.142, over the tolerance 1.33e-05; vertex 1 ...
    """
    edges = edges_of(graph)
    rank, n = scores_of("ranks", ranks, edges.n), edges.n
    matrix = edges.matrix(near_one(edges.weight) if weighted else None)
    strength = np.asarray(matrix.sum(axis=1)).ravel()
    next_rank = 1 - alpha + alpha * (matrix.T @ _divide_by_positive(rank, strength + strength.sum() / max(n, 1)))
    slack = (tol + 16 * _epsilon_of(ranks) * max(rank.sum(), 1.0)) * n / max(1 - alpha, 1e-3)
    _require_still("ranks", rank, next_rank, slack)


@verifier("shares")
def hits(graph: Any, hubs: ArrayLike, authorities: ArrayLike, *, weighted: bool = True, tol: float = 1e-8) -> None:
    """Verify `hubs` and `authorities` of `gasla.hits`, at any scale: one more step, by SciPy, moves neither.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> fork = csr_array([[0, 1, 1], [0, 0, 0], [0, 0, 0]])
    >>> hits(fork, [1.0, 0, 0], [0, 0.5, 0.5])
    >>> hits(fork, [1.0, 0, 0], [0, 0.6, 0.4])
    Traceback (most recent call last):
    gasla.verify.VerificationError: one more step moves the authorities by 0.2, over the tolerance ...
    """
    edges = edges_of(graph)
    matrix = edges.matrix(near_one(edges.weight) if weighted else None)
    hub, authority = scores_of("hubs", hubs, edges.n), scores_of("authorities", authorities, edges.n)
    slack = STEPS * tol + 64 * max(_epsilon_of(hubs), _epsilon_of(authorities))
    _require_still("authorities", _scale_to_sum_one(authority), _scale_to_sum_one(matrix.T @ hub), slack)
    _require_still("hubs", _scale_to_sum_one(hub), _scale_to_sum_one(matrix @ authority), slack)


@verifier("shares")
def salsa(graph: Any, hubs: ArrayLike, authorities: ArrayLike, *, weighted: bool = True, tol: float = 1e-6) -> None:
    """Verify `hubs` and `authorities` of `gasla.salsa`: one more step, by SciPy, moves neither.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> fork = csr_array([[0, 1, 1], [0, 0, 0], [0, 0, 0]])
    >>> salsa(fork, [1.0, 0, 0], [0, 0.5, 0.5])
    """
    edges = edges_of(graph)
    matrix = edges.matrix(near_one(edges.weight) if weighted else None)
    hub, authority = scores_of("hubs", hubs, edges.n), scores_of("authorities", authorities, edges.n)
    leaves, enters = (np.asarray(matrix.sum(axis=axis)).ravel() for axis in (1, 0))
    slack = STEPS * tol + 64 * max(_epsilon_of(hubs), _epsilon_of(authorities))
    for name, score in (("hubs", hub), ("authorities", authority)):
        if (leaves > 0).any() and not abs(score.sum() - 1) <= 1e3 * slack:
            raise VerificationError(f"the {name} sum to {score.sum():.9g}, not to 1")
    _require_still("authorities", authority, matrix.T @ _divide_by_positive(hub, leaves), slack)
    _require_still("hubs", hub, matrix @ _divide_by_positive(authority, enters), slack)


@verifier("shares")
def katz(
    graph: Any,
    scores: ArrayLike,
    *,
    alpha: float = 0.1,
    beta: Any = 1.0,
    tol: float = 1e-6,
    normalized: bool = True,
    weighted: bool = False,
) -> None:
    """Verify `scores` of `gasla.katz_centrality`: one more step, by SciPy, moves them by no more than the tolerance.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> edge = csr_array([[0, 1], [0, 0]])
    >>> katz(edge, [1.0, 1.1], normalized=False)
    >>> katz(edge, [1.0, 1.2], normalized=False)
    Traceback (most recent call last):
    gasla.verify.VerificationError: one more step moves the scores by 0.1, over the tolerance ...
    """
    edges = edges_of(graph)
    score = vertex_answer("scores", scores, edges.n, "f").astype(np.float64)
    require(np.isfinite(score), lambda v: f"vertex {v} has the score {score[v]}")
    if edges.n == 0:
        return
    constants = vector_of(beta, edges.n)
    matrix = edges.matrix(edges.weight if weighted else None)
    from_neighbors = alpha * (matrix.T @ score)
    scale = 1.0
    if normalized:
        _require_norm(scores, score)
        # the scores were divided by their norm, so the constants have to be multiplied by 1 / norm
        scale = float((score - from_neighbors) @ constants / (constants @ constants))
        if scale < 0:
            raise VerificationError(
                "the scores have the wrong sign: normalization divides by the norm, which is positive"
            )
    growth = max(1.0, alpha * float(matrix.sum(axis=1).max()))
    next_score = from_neighbors + scale * constants
    _require_still(
        "scores", score, next_score, edges.n * tol * growth * abs(scale) + _rounding_error(scores, score, next_score)
    )


@verifier("shares")
def eigenvector(graph: Any, scores: ArrayLike, *, tol: float = 1e-6, weighted: bool = False) -> None:
    """Verify `scores` of `gasla.eigenvector_centrality`: one more step changes the scores by no more than the
    tolerance.

    Their squares sum to 1.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> pair = csr_array([[0, 1], [1, 0]])
    >>> eigenvector(pair, [0.5**0.5, 0.5**0.5])
    >>> eigenvector(pair, [0.6, 0.8])
    Traceback (most recent call last):
    gasla.verify.VerificationError: one more step moves the scores by 0.2, over the tolerance ...
    """
    edges = edges_of(graph)
    score = scores_of("scores", scores, edges.n)
    if edges.n == 0:
        return
    _require_norm(scores, score)
    weight = near_one(edges.weight) if weighted else np.ones(edges.dst.size)
    largest = weight.max(initial=0)
    matrix = edges.matrix(np.ldexp(weight, -int(np.frexp(largest)[1])) if 0 < largest < 1 else weight)
    product = matrix.T @ score + score
    norm = float(np.sqrt(product @ product))
    growth, next_score = 2 * (1 + float(matrix.sum(axis=1).max())) / norm, product / norm
    _require_still("scores", score, next_score, edges.n * tol * growth + _rounding_error(scores, score, next_score))


def _epsilon_of(given: ArrayLike) -> float:
    return float(np.finfo(np.asarray(given).dtype).eps)


def _rounding_error(given: ArrayLike, score: Array, next_score: Array) -> float:
    return 64 * _epsilon_of(given) * float((np.abs(score) + np.abs(next_score)).sum())


def _divide_by_positive(score: Array, by: Array) -> Array:
    return np.divide(score, by, out=np.zeros(len(score)), where=by > 0)


def _scale_to_sum_one(score: Array) -> Array:
    total = score.sum()
    return score / total if total > 0 else score


def _require_norm(given: ArrayLike, score: Array) -> None:
    norm = float(np.sqrt(score @ score))
    if abs(norm - 1) > len(score) ** 0.5 * 16 * _epsilon_of(given):
        raise VerificationError(f"the squares of the scores sum to {norm**2:.9g}, not to 1")


def _require_still(name: str, score: Array, next_score: Array, slack: float) -> None:
    """Verify that one more step, whose result is `next_score`, changes the scores by at most `slack`, summed over all
    vertices.
    """
    change = np.abs(next_score - score)
    if not change.sum() <= slack or change.sum() == np.inf:
        worst = int(np.argmax(change))
        raise VerificationError(
            f"one more step moves the {name} by {change.sum():.3g}, over the tolerance {slack:.3g}; "
            f"vertex {worst} moves most, from {score[worst]:.6g} to {next_score[worst]:.6g}"
        )
