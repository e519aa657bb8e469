"""Katz centrality: how many walks lead to a vertex, where each further edge of a walk counts less.

Returned are scores, and whether and how fast they settled.

Every vertex gathers its in-neighbors' scores in every iteration, takes `alpha` times their sum, and adds what it is
worth by itself, `beta`. After k iterations all walks of up to k edges are counted; an aggregate sums up what that
changed, and ends the run. So it does where walks grow faster than alpha shrinks them: then there is no end to add up
to, which is told. The norm is another aggregate, so that it takes no pass of its own.

L. Katz: A new status index derived from sociometric analysis. Psychometrika 18 (1953).
"""

import warnings
from math import inf
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.centrality.ranking import type_of_weights
from gasla.arrays import module_of
from gasla.graph.arguments import LARGEST, check_flags, real_number, score_type, vertex_numbers, whole_number
from gasla.graph.graph import Graph, as_graph
from gasla.graph.weights import in_range
from gasla.operations.result import ConvergenceWarning
from gasla.operations.run import run
from gasla.program.fields import aggregate, edge, parameter, vertex
from gasla.program.options import option
from gasla.program.program import VertexProgram


class Katz(VertexProgram):
    """score(v) = beta + alpha * (sum over in-edges of score(u)), in each iteration."""

    real = option(np.float64)
    weights = option(None)  # their type, where edges count by weight
    varies = option(False)  # vertices are worth different amounts: `own`, in place of `beta`
    score = vertex(real)
    own = vertex(real, when=varies)
    weight = edge(weights, when=weights)
    alpha = parameter(real, 0.1)
    beta = parameter(real, 1.0)
    tolerance = parameter(np.float64, 1e-6)
    most = parameter(np.float64, LARGEST)  # that scores' squares may come to
    reduce = semirings.plus
    everyone = True

    def gather(self, src, dst, edge):
        return src.score * edge.weight if self.weights else src.score

    def apply(self, vertex, gathered):
        worth = vertex.own if self.varies else self.beta
        return {"score": worth + self.alpha * gathered}

    def activate(self, before, after):
        return True  # the change alone ends the run

    @aggregate(semirings.plus)
    def change(self, before, after):
        return abs(after.score - before.score)

    @aggregate(semirings.plus)
    def square(self, before, after):
        score = semirings.cast(after.score, np.float64)
        return score * score

    def stop(self):
        return (self.change < self.tolerance) | semirings.logical_not((self.change < inf) & (self.square < self.most))


class KatzResult(NamedTuple):
    """Scores, how many iterations they took, the last iteration's change, and whether that met the tolerance."""

    scores: np.ndarray
    iterations: int
    residual: float
    converged: bool


def katz_centrality(
    graph: Any,
    *,
    alpha: float = 0.1,
    beta: Any = 1.0,
    max_iter: int = 1000,
    tol: float = 1e-6,
    nstart: Any = None,
    normalized: bool = True,
    weighted: bool = False,
    dtype: Any = None,
) -> KatzResult:
    """Katz centrality of every vertex: `beta`, plus `alpha` times the scores of those with an edge to it.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j, which adds to the score of j. For walks the other way take `A.T`.
    alpha : float
        What an edge leaves of a score. Scores are finite where it is less than one over the largest eigenvalue of the
        matrix; that is so if it is less than one over the largest in-degree (or sum of weights).
    beta : float, (n,) array, or dict of vertex to number
        What a vertex is worth by itself. In a dict all others are worth 0.
    max_iter : int
        The run ends at the latest after this many iterations, with a warning.
    tol : float
        The run ends when the scores, before they are normalized, change by less than this in the mean. With 0 it
        takes just `max_iter` iterations, and nobody is warned.
    nstart : (n,) array or dict, optional
        Scores to start with, before normalization; by default `beta`.
    normalized : bool
        Whether the scores returned are divided by their norm, so that the sum of their squares is 1.
    weighted : bool
        Whether the matrix's values multiply scores; otherwise every edge counts as 1.
    dtype : float32 or float64, optional
        Of the scores: by default that of the values if they are used and floating-point, else float64.

    Returns
    -------
    KatzResult(scores, iterations, residual, converged)
        `residual` is the mean change of a score in the last iteration, before normalization.

    Raises
    ------
    ValueError
        For weights that are NaN, infinite or negative, for numbers that are not finite, or parameters outside their
        range; if `beta` is 0 everywhere, or scores overflow.

    Warns
    -----
    ConvergenceWarning
        If the tolerance was not met, or scores grow without end since `alpha` is too large.

    See Also
    --------
    gasla.eigenvector_centrality : what the scores come to as alpha grows.
    gasla.pagerank : where a score is divided among out-edges.

    References
    ----------
    L. Katz: A new status index derived from sociometric analysis. Psychometrika 18 (1953).

    Examples
    --------
    >>> import gasla, numpy as np
    >>> from scipy.sparse import csr_array
    >>> A = csr_array(np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]]))
    >>> gasla.katz_centrality(A, alpha=0.5, normalized=False).scores
    array([1.  , 1.5 , 2.25])
    """
    graph = as_graph(graph)
    check_flags(normalized=normalized, weighted=weighted)
    alpha, tol = real_number("alpha", alpha), real_number("tol", tol)
    max_iter = whole_number("max_iter", max_iter)
    weights = type_of_weights(graph, weighted)
    kind = score_type(weights, dtype)
    worth = _worth(graph, beta)
    if graph.n == 0:
        return KatzResult(module_of(graph.device).zeros(0, kind), 0, 0.0, True)
    own = {"beta": worth} if isinstance(worth, float) else {"own": worth}
    program = Katz(real=kind, weights=weights, varies="own" in own)
    start = worth if nstart is None else vertex_numbers(graph, "nstart", nstart)
    graph, exponent = (graph, 0) if weights is None else in_range(graph, kind)
    with np.errstate(over="ignore"):
        alpha_here = float(np.ldexp(alpha, exponent))  # as weights are multiplied by 2**-exponent
    if not alpha_here <= float(np.finfo(kind).max):
        raise ValueError(f"scores overflow {kind}: alpha is {alpha:g}, too large for these weights")
    numbers = {"alpha": alpha_here, "tolerance": tol * graph.n, "most": float(np.finfo(kind).max), **own}
    found = run(program, graph, max_iterations=max_iter, notice=False, score=start, **numbers)
    residual, square = (float(found.change) / graph.n, float(found.square)) if found.iterations else (inf, 0.0)
    grows = not (square < numbers["most"] and (residual < inf or not found.iterations))
    converged = residual < tol and not grows
    scores = found.score
    if grows and not float(abs(scores).max()) < inf:
        raise ValueError(f"scores overflow {kind}: {_too_large(alpha)}")
    if not (converged or (tol == 0 and not grows)):
        _warn(residual, found.iterations, alpha, grows)
    if normalized:
        _normalize(scores, square)
    return KatzResult(scores, found.iterations, residual, converged)


def _worth(graph: Graph, beta: Any) -> Any:
    """What vertices are worth by themselves: a number, or an array of one each."""
    is_one = not isinstance(beta, dict | list | tuple) and getattr(beta, "ndim", 0) == 0
    worth: Any = real_number("beta", beta, least=-LARGEST) if is_one else vertex_numbers(graph, "beta", beta)
    if graph.n and not (worth if isinstance(worth, float) else bool((worth != 0).any())):
        raise ValueError("beta is 0 everywhere, and so are all scores then; expected another number somewhere")
    return worth


def _normalize(scores: Any, square: float) -> None:
    """Divide scores by their norm, as the sum of their squares says where that is a number, neither 0 nor infinite."""
    kind = scores.dtype.type
    if np.finfo(np.float64).tiny < square < inf:
        scores /= kind(square**0.5)
    elif largest := float(abs(scores).max()):
        scores /= kind(largest)
        scores /= kind(float((scores.astype(np.float64) ** 2).sum()) ** 0.5)


def _too_large(alpha: float) -> str:
    return f"alpha is {alpha:g}, expected less than one over the largest eigenvalue, and beta small enough for squares"


def _warn(residual: float, iterations: int, alpha: float, grows: bool) -> None:
    """Warn the caller of `katz_centrality` that the tolerance was not met."""
    if grows:
        words = f"the scores grow without end; {_too_large(alpha)}"
    else:
        words = f"the scores still changed by {residual:.3g} in the mean after {iterations} iterations; "
        words += f"raise max_iter, or tol, or lower alpha, {alpha:g}, if it isn't below one over the largest eigenvalue"
    warnings.warn(words, ConvergenceWarning, stacklevel=3)
