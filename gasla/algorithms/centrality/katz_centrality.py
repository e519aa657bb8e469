"""Katz centrality: the number of walks that lead to a vertex, each edge of a walk damped by a factor alpha.

In every iteration each vertex gathers its in-neighbors' scores, multiplies their sum by `alpha`, and adds its constant
`beta`. After k iterations all walks of up to k edges are counted. The run ends when the change of the scores is small.
It also ends when the scores diverge because `alpha` is too large, which is reported. Two aggregates, the change and the
sum of squares, tell both. The sum of squares also gives the norm, so normalization needs no pass of its own.
"""

from math import inf
from typing import Any

import numpy as np

import semirings
from gasla.algorithms.centrality.ranking import ScoresResult, Spread, weights_dtype
from gasla.arrays import module_of
from gasla.graph.arguments import LARGEST, check_flags, real_number, score_type, vertex_numbers, whole_number
from gasla.graph.graph import Graph, as_graph
from gasla.graph.weights import in_range, takes_weight
from gasla.log import warn
from gasla.operations.on_one_device import on_one_device
from gasla.operations.result import ConvergenceWarning
from gasla.operations.run import run
from gasla.program import aggregate, option, parameter, vertex
from gasla.rows import Row, scores


class Katz(Spread):
    """score(v) = beta + alpha * (sum over in-edges u -> v of score(u)), in each iteration."""

    # Whether beta differs between vertices. It then is the vertex field `own` instead of the parameter `beta`.
    varies = option(False)
    score = vertex(Spread.real)
    own = vertex(Spread.real, when=varies)
    alpha = parameter(Spread.real, 0.1)
    beta = parameter(Spread.real, 1.0)
    tolerance = parameter(np.float64, 1e-6)
    most = parameter(
        np.float64, LARGEST
    )  # if the sum of squared scores exceeds this number, the run counts as divergent and ends

    def gather(self, src, dst, edge):
        return self.along(edge, src.score)

    def apply(self, vertex, gathered):
        constant = vertex.own if self.varies else self.beta
        return {"score": constant + self.alpha * gathered}

    @aggregate(semirings.plus)
    def change(self, before, after):
        return abs(after.score - before.score)

    @aggregate(semirings.plus)
    def square(self, before, after):
        score = semirings.cast(after.score, np.float64)
        return score * score

    def stop(self):
        return (self.change < self.tolerance) | semirings.logical_not((self.change < inf) & (self.square < self.most))


@takes_weight
@on_one_device(divided=True)
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
) -> ScoresResult:
    """Compute the Katz centrality of every vertex: `beta` plus `alpha` times the sum of its in-neighbors' scores.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j, which adds to the score of j. Pass `A.T` to count walks in the other direction.
    alpha : float
        Damping factor per edge. Scores are finite if it is less than the inverse of the largest eigenvalue of the
        matrix, for which less than the inverse of the largest in-degree (or sum of weights) suffices.
    beta : float, (n,) array, or dict of vertex to number
        Constant score of every vertex, or of each. Vertices missing in a dict have 0.
    max_iter : int
        Maximum number of iterations.
    tol : float
        The run ends when the mean change of a score, before normalization, is less than this. With 0 it runs for
        `max_iter` iterations without a warning.
    nstart : (n,) array or dict, optional
        Initial scores, before normalization; by default `beta`.
    normalized : bool
        Whether to divide the scores by their norm, so that their squares sum to 1.
    weighted : bool
        Whether values multiply the scores. Otherwise every edge counts 1.
    dtype : float32 or float64, optional
        Type of the scores; by default the type of the values if they are used and floating-point, else float64.

    Returns
    -------
    ScoresResult(scores, iterations, residual, converged)
        `scores` has shape (n,). `residual` is the mean change of a score in the last iteration, before normalization.

    Raises
    ------
    ValueError
        If a weight is NaN, infinite or negative, a number is not finite, a parameter is out of range, `beta` is 0
        everywhere, the type of the scores cannot hold the square of a number in `nstart`, or scores overflow.

    Warns
    -----
    ConvergenceWarning
        If the tolerance was not met, or the scores diverge because `alpha` is too large.

    See Also
    --------
    gasla.eigenvector_centrality : the limit as `alpha` approaches the inverse of the largest eigenvalue.
    gasla.pagerank : divides the score of a vertex among its out-edges.

    Notes
    -----
    Parallel edges add up, self loops count once. A stored zero is an edge unless `weighted`.

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
    weights = weights_dtype(graph, weighted)
    score_dtype = score_type(weights, dtype)
    constants = _constants(graph, beta)
    if graph.n == 0:
        return ScoresResult(module_of(graph.device).zeros(0, score_dtype), 0, 0.0, True)
    beta_field = {"beta": constants} if isinstance(constants, float) else {"own": constants}
    program = Katz(real=score_dtype, weights=weights, varies="own" in beta_field)
    start = constants if nstart is None else _initial_scores(graph, nstart, score_dtype)
    graph, exponent = (graph, 0) if weights is None else in_range(graph, score_dtype)
    with np.errstate(over="ignore"):
        # Weights were multiplied by 2**-exponent, so alpha is multiplied by 2**exponent to make up for it.
        scaled_alpha = float(np.ldexp(alpha, exponent))
    if not scaled_alpha <= float(np.finfo(score_dtype).max):
        raise ValueError(f"scores overflow {score_dtype}: alpha is {alpha:g}, too large for these weights")
    numbers = {
        "alpha": scaled_alpha,
        "tolerance": tol * graph.n,
        "most": float(np.finfo(score_dtype).max),
        **beta_field,
    }
    result = run(program, graph, max_iterations=max_iter, notice=False, score=start, **numbers)
    residual, square = (float(result.change) / graph.n, float(result.square)) if result.iterations else (inf, 0.0)
    grows = not (square < numbers["most"] and (residual < inf or not result.iterations))
    converged = residual < tol and not grows
    scores = result.score
    if grows and not float(abs(scores).max()) < inf:
        raise ValueError(f"scores overflow {score_dtype}: {_alpha_message(alpha)}")
    if not (converged or (tol == 0 and not grows)):
        _warn_not_converged(residual, result.iterations, alpha, grows)
    if normalized:
        scores = _divide_by_norm(scores, square)
    return ScoresResult(scores, result.iterations, residual, converged)


def _constants(graph: Graph, beta: Any) -> Any:
    """Return the argument `beta` as a float, or as an array with a number for each vertex, after checks."""
    is_one = not isinstance(beta, dict | list | tuple) and getattr(beta, "ndim", 0) == 0
    constants: Any = real_number("beta", beta, least=-LARGEST) if is_one else vertex_numbers(graph, "beta", beta)
    if graph.n and not (constants if isinstance(constants, float) else bool((constants != 0).any())):
        raise ValueError("beta is 0 everywhere, and then so are all scores; expected a nonzero number somewhere")
    return constants


def _initial_scores(graph: Graph, nstart: Any, dtype: np.dtype[Any]) -> Any:
    """Return the argument `nstart`, the initial scores, as a number for each vertex.

    Raise ValueError if the square of a number overflows `dtype`.
    """
    start, limit = vertex_numbers(graph, "nstart", nstart), float(np.finfo(dtype).max) ** 0.5
    if (largest := float(abs(start).max())) > limit:
        v = int(abs(start).argmax())
        raise ValueError(
            f"nstart of vertex {v} is {largest:g} in size; expected at most {limit:g}, for scores of {dtype}"
        )
    return start


def _divide_by_norm(scores: Any, square: float) -> Any:
    """Return the scores divided by their Euclidean norm, in place unless they are distributed.

    `square` is the sum of their squares. If it has overflowed or underflowed, the scores are scaled first.
    """
    to_dtype = scores.dtype.type
    if np.finfo(np.float64).tiny < square < inf:
        scores /= to_dtype(square**0.5)
    elif largest := float(abs(scores).max()):
        scores /= to_dtype(largest)
        scores /= to_dtype(float((scores.astype(np.float64) ** 2).sum()) ** 0.5)
    return scores


def _alpha_message(alpha: float) -> str:
    """Return the part of an error message that says for which `alpha` the scores converge."""
    return (
        f"alpha is {alpha:g}, expected less than 1 / (largest eigenvalue), and beta and nstart whose squares are finite"
    )


def _warn_not_converged(residual: float, iterations: int, alpha: float, grows: bool) -> None:
    """Warn the caller of `katz_centrality` that the run did not converge."""
    if grows:
        message = f"the scores diverge; {_alpha_message(alpha)}"
    else:
        message = (
            f"the mean change of a score was still {residual:.3g} after {iterations} iterations; raise max_iter or "
        )
        message += f"tol, or lower alpha, {alpha:g}, unless it is below 1 / (largest eigenvalue)"
    warn(message, ConvergenceWarning)


ROW = Row(
    katz_centrality,
    scores("katz", {"scores": "katz"}, lambda f: f.convergence("highest scores")),
    method="power iteration by pulling (Katz, Psychometrika 18, 1953), in blocks as of PageRank",
    longer="Each iteration reads every edge, and tens of iterations are needed until scores have converged.",
)
