"""Verifiers of PageRank, HITS and SALSA: one more step, computed by SciPy, must not change the scores."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import (
    Array,
    Edges,
    VerificationError,
    edges_of,
    near_one,
    require,
    takes_names,
    vertex_answer,
)

STEPS = 4  # factor of the tolerance: minor components may still grow by more than the last change


@takes_names
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
    graph, alpha, personalization, dangling, weighted, tol, normalized
        As for `gasla.pagerank`.
    ranks : array of float
        The answer.

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
    given = vertex_answer("ranks", ranks, edges.n, "f")
    if edges.n == 0:
        return
    rank = given.astype(np.float64)
    require(np.isfinite(rank), lambda v: f"vertex {v} has the rank {given[v]}")
    require(rank >= 0, lambda v: f"vertex {v} has the negative rank {given[v]}")

    total = rank.sum()
    slack = tol + 16 * np.finfo(given.dtype).eps * max(total, 1.0)
    if not normalized:  # the tolerance applies to each vertex, which ignores smaller changes
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
    matrix = edges.matrix(near_one(edges.weight) if weighted else None)
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


def hits(graph: Any, hubs: ArrayLike, authorities: ArrayLike, *, weighted: bool = True, tol: float = 1e-8) -> None:
    """Verify hub and authority scores of HITS, in any scale.

    Parameters
    ----------
    graph, weighted, tol
        As for `gasla.hits`.
    hubs, authorities : array of float
        The answer.

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
    hub, authority = (_scores(edges, name, x) for name, x in (("hubs", hubs), ("authorities", authorities)))
    slack = STEPS * tol + 64 * max(np.finfo(np.asarray(x).dtype).eps for x in (hubs, authorities))
    _compare("authorities", _to_sum(matrix.T @ hub), _to_sum(authority), slack)
    _compare("hubs", _to_sum(matrix @ authority), _to_sum(hub), slack)


def salsa(graph: Any, hubs: ArrayLike, authorities: ArrayLike, *, weighted: bool = True, tol: float = 1e-6) -> None:
    """Verify hub and authority scores of SALSA.

    Parameters
    ----------
    graph, weighted, tol
        As for `gasla.salsa`.
    hubs, authorities : array of float
        The answer.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> fork = csr_array([[0, 1, 1], [0, 0, 0], [0, 0, 0]])
    >>> salsa(fork, [1.0, 0, 0], [0, 0.5, 0.5])
    """
    edges = edges_of(graph)
    matrix = edges.matrix(near_one(edges.weight) if weighted else None)
    hub, authority = (_scores(edges, name, x) for name, x in (("hubs", hubs), ("authorities", authorities)))
    leaves, enters = np.asarray(matrix.sum(axis=1)).ravel(), np.asarray(matrix.sum(axis=0)).ravel()
    slack = STEPS * tol + 64 * max(np.finfo(np.asarray(x).dtype).eps for x in (hubs, authorities))
    for name, score in (("hubs", hub), ("authorities", authority)):
        if (leaves > 0).any() and abs(score.sum() - 1) > 1e3 * slack:
            raise VerificationError(f"the {name} sum to {score.sum():.9g}, not to 1")
    share_out, share_in = (
        np.divide(s, x, out=np.zeros(edges.n), where=x > 0) for s, x in ((hub, leaves), (authority, enters))
    )
    _compare("authorities", matrix.T @ share_out, authority, slack)
    _compare("hubs", matrix @ share_in, hub, slack)


def _scores(edges: Edges, name: str, values: ArrayLike) -> Array:
    given = vertex_answer(name, values, edges.n, "f")
    require(np.isfinite(given), lambda v: f"vertex {v} has the score {given[v]} among the {name}")
    require(given >= 0, lambda v: f"vertex {v} has the negative score {given[v]} among the {name}")
    return given.astype(np.float64)


def _to_sum(score: Array) -> Array:
    total = score.sum()
    return score / total if total > 0 else score


def _compare(name: str, again: Array, score: Array, slack: float) -> None:
    moved = np.abs(again - score)
    if moved.sum() > slack:
        worst = int(np.argmax(moved))
        raise VerificationError(
            f"one more step moves the {name} by {moved.sum():.3g}, over the tolerance {slack:.3g}; "
            f"vertex {worst} moves most, from {score[worst]:.6g} to {again[worst]:.6g}"
        )
