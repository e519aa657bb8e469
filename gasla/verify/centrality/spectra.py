"""Verifiers of Katz and eigenvector centrality: one more step, computed by SciPy, must not change the scores."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import Array, Edges, VerificationError, edges_of, require, takes_names, vertex_answer


@takes_names
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
    """Verify that Katz scores are `beta` plus `alpha` times the sum of in-neighbors' scores, to within the tolerance.

    Parameters
    ----------
    graph, alpha, beta, tol, normalized, weighted
        As for `gasla.katz_centrality`.
    scores : array of float
        The answer.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> edge = csr_array([[0, 1], [0, 0]])
    >>> katz(edge, [1.0, 1.1], normalized=False)
    >>> katz(edge, [1.0, 1.2], normalized=False)
    Traceback (most recent call last):
    gasla.verify.VerificationError: one more step moves the scores by 0.05 in the mean, over ...
    """
    edges = edges_of(graph)
    given, score = _scores(scores, edges)
    if edges.n == 0:
        return
    constants = np.zeros(edges.n)
    if isinstance(beta, Mapping):
        constants[list(beta.keys())] = list(beta.values())
    else:
        constants += np.asarray(beta, np.float64)
    matrix = edges.matrix(edges.weight if weighted else None)
    arriving = alpha * (matrix.T @ score)
    scale = 1.0
    if normalized:
        _require_norm(given, score)
        scale = float((score - arriving) @ constants / (constants @ constants))  # 1 / (norm before normalization)
        if scale < 0:
            raise VerificationError(
                "the scores have the wrong sign: normalization divides by the norm, which is positive"
            )
    growth = max(1.0, alpha * float(matrix.sum(axis=1).max()))
    _require_near(given, score, arriving + scale * constants, tol, growth * abs(scale))


def eigenvector(graph: Any, scores: ArrayLike, *, tol: float = 1e-6, weighted: bool = False) -> None:
    """Verify that scores are proportional to the sum of in-neighbors' scores, to within the tolerance.

    Parameters
    ----------
    graph, tol, weighted
        As for `gasla.eigenvector_centrality`.
    scores : array of float
        The answer.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> pair = csr_array([[0, 1], [1, 0]])
    >>> eigenvector(pair, [0.5**0.5, 0.5**0.5])
    >>> eigenvector(pair, [0.6, 0.8])
    Traceback (most recent call last):
    gasla.verify.VerificationError: one more step moves the scores by 0.1 in the mean, over the tolerance 1e-06; ...
    """
    edges = edges_of(graph)
    given, score = _scores(scores, edges)
    if edges.n == 0:
        return
    require(score >= 0, lambda v: f"vertex {v} has the negative score {given[v]}")
    _require_norm(given, score)
    matrix = edges.matrix(edges.weight if weighted else None)
    largest = matrix.data.max(initial=0)
    if 0 < largest < 1:
        matrix = matrix / largest
    further = matrix.T @ score + score
    norm = float(np.sqrt(further @ further))
    growth = (1 + float(matrix.sum(axis=1).max())) / norm
    _require_near(given, score, further / norm, tol, 2 * growth)


def _scores(scores: ArrayLike, edges: Edges) -> tuple[Array, Array]:
    """The scores as given, and as float64."""
    given = vertex_answer("scores", scores, edges.n, "f")
    require(np.isfinite(given), lambda v: f"vertex {v} has the score {given[v]}")
    return given, given.astype(np.float64)


def _require_norm(given: Array, score: Array) -> None:
    norm = float(np.sqrt(score @ score))
    if abs(norm - 1) > len(score) ** 0.5 * 16 * float(np.finfo(given.dtype).eps):
        raise VerificationError(f"the squares of the scores sum to {norm**2:.9g}, not to 1")


def _require_near(given: Array, score: Array, again: Array, tol: float, growth: float) -> None:
    """Verify that a step changes the scores by at most the tolerance times `growth`, a bound of the step's gain."""
    moved = np.abs(again - score)
    rounding = 64 * float(np.finfo(given.dtype).eps) * float(np.abs(score).sum() + np.abs(again).sum())
    if not moved.sum() <= len(score) * tol * growth + rounding:
        worst = int(np.argmax(moved))
        raise VerificationError(
            f"one more step moves the scores by {moved.mean():.3g} in the mean, over the tolerance {tol:g}; "
            f"vertex {worst} moves most, from {given[worst]} to {again[worst]:.6g}"
        )
