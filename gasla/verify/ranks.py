"""Verify PageRank: one step of the power iteration, done by SciPy, must leave the ranks where they are."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import Array, Edges, VerificationError, answer, edges_of, require


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
    """Verify that ranks are a fixed point of the power iteration, to within the tolerance.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph.
    ranks : array of float
        The answer.
    alpha, personalization, dangling, weighted, tol, normalized
        What `gasla.pagerank` was given.

    Raises
    ------
    VerificationError
        If a rank is negative or no number, if the ranks do not sum to one, or if one more step moves them too far.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> pair = csr_array([[0, 1], [1, 0]])
    >>> pagerank(pair, [0.5, 0.5])
    >>> pagerank(pair, [0.6, 0.4])
    Traceback (most recent call last):
    gasla.verify.VerificationError: one more step moves the ranks by 0.37, over the tolerance 1e-06; vertex 0 ...
    """
    edges = edges_of(graph)
    given = answer("ranks", ranks, edges.n, "f")
    if edges.n == 0:
        return
    rank = given.astype(np.float64)
    require(np.isfinite(rank), lambda v: f"vertex {v} has the rank {given[v]}")
    require(rank >= 0, lambda v: f"vertex {v} has the negative rank {given[v]}")

    total = rank.sum()
    slack = tol + 16 * np.finfo(given.dtype).eps * max(total, 1.0)
    if not normalized:  # the tolerance is each vertex's own, for every small move that it kept to itself
        slack *= edges.n / max(1 - alpha, 1e-3)
    elif abs(total - 1) > slack / max(1 - alpha, 1e-3):
        raise VerificationError(f"the ranks sum to {total:.9g}, not to 1")

    again = _power_step(edges, rank, alpha, personalization, dangling, weighted and normalized, normalized)
    moved = np.abs(again - rank)
    if moved.sum() > slack:
        worst = int(np.argmax(moved))
        raise VerificationError(
            f"one more step moves the ranks by {moved.sum():.3g}, over the tolerance {tol:g}; "
            f"vertex {worst} moves most, from {given[worst]} to {again[worst]:.6g}"
        )


def _power_step(
    edges: Edges, rank: Array, alpha: float, personalization: Any, dangling: Any, weighted: bool, normalized: bool
) -> Array:
    matrix = edges.matrix(edges.weight if weighted else None)
    strength = np.asarray(matrix.sum(axis=1)).ravel()
    share = np.divide(rank, strength, out=np.zeros(edges.n), where=strength != 0)
    followed = matrix.T @ share
    if not normalized:
        return alpha * followed + (1 - alpha)
    jumps = _distribution(personalization, edges.n, np.full(edges.n, 1 / edges.n))
    lost = rank[strength == 0].sum()
    return alpha * (followed + lost * _distribution(dangling, edges.n, jumps)) + (1 - alpha) * jumps


def _distribution(given: Any, n: int, default: Array) -> Array:
    if given is None:
        return default
    if isinstance(given, Mapping):
        weights = np.zeros(n)
        weights[list(given.keys())] = list(given.values())
    else:
        weights = np.asarray(given, np.float64)
    return weights / weights.sum()
