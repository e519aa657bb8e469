"""Eigenvector centrality: the score of a vertex is proportional to the sum of its in-neighbors' scores.

The scores are the left eigenvector of the largest eigenvalue of the adjacency matrix, found by power iteration. In each
iteration, every vertex adds its in-neighbors' scores to its own score, and all sums are divided by the norm of the
scores. Adding a vertex's own score shifts all eigenvalues by one. Without the shift, the iteration would not converge
on a graph without odd cycles. The divisor is the norm after the previous iteration, which an aggregate has computed.
Scaling does not change the direction of the vector, so an iteration stays a single pass.

R. von Mises, H. Pollaczek-Geiringer: Praktische Verfahren der Gleichungsauflösung. ZAMM 9 (1929).
"""

from math import inf, ldexp
from typing import Any

import numpy as np

import semirings
from gasla.algorithms.centrality.ranking import ScoresResult, Spread, weights_dtype
from gasla.arrays import module_of
from gasla.graph.arguments import check_flags, real_number, score_type, vertex_numbers, weight_range, whole_number
from gasla.graph.graph import Graph, as_graph
from gasla.graph.weights import in_range, takes_weight
from gasla.log import warn
from gasla.operations.on_one_device import on_one_device
from gasla.operations.result import ConvergenceWarning
from gasla.operations.run import run
from gasla.program import aggregate, parameter, vertex
from gasla.rows import Row, scores


class Power(Spread):
    """score(v) = (score(v) + sum over in-edges u -> v of score(u)) / (norm of all scores), in each iteration."""

    score = vertex(Spread.real)
    # Factor of weights that are all below 1. Without it, a vertex's own score would outweigh the sum over its
    # neighbors.
    unit = parameter(Spread.real, 1.0)
    tolerance = parameter(np.float64, 1e-6)

    def gather(self, src, dst, edge):
        return self.along(edge, src.score)

    def apply(self, vertex, gathered):
        more = gathered * self.unit if self.weights else gathered
        return {"score": (vertex.score + more) / semirings.cast(self.norm(), self.real)}

    @aggregate(semirings.plus)
    def square(self, before, after):
        score = semirings.cast(after.score, np.float64)
        return score * score

    @aggregate(semirings.plus)
    def change(self, before, after):
        return abs(after.score - before.score)

    def norm(self):
        """Return the norm of all vertices' scores after the previous iteration, by which this iteration divides the
        scores.
        """
        return semirings.sqrt(self.square)

    def stop(self):
        return (self.change < self.tolerance * self.norm()) | semirings.logical_not(self.square < inf)


@takes_weight
@on_one_device(divided=True)
def eigenvector_centrality(
    graph: Any, *, max_iter: int = 100, tol: float = 1e-6, nstart: Any = None, weighted: bool = False, dtype: Any = None
) -> ScoresResult:
    """Compute the eigenvector centrality of every vertex.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j, which adds to the score of j. Pass `A.T` for the right eigenvector.
    max_iter : int
        Maximum number of iterations.
    tol : float
        The run ends when the mean change of a score is less than this, with the sum of squares normalized to 1. With 0
        it runs for `max_iter` iterations without a warning. Convergence is slow if the two largest eigenvalues are
        close, as on large grids: a small change then does not prove accuracy, and a smaller `tol` is needed.
    nstart : (n,) array or dict of vertex to number, optional
        Initial scores, 0 or more; equal by default.
    weighted : bool
        Whether values multiply the scores. Otherwise every edge counts 1.
    dtype : float32 or float64, optional
        Type of the scores; by default the type of the values if they are used and floating-point, else float64.

    Returns
    -------
    ScoresResult(scores, iterations, residual, converged)
        `scores`, shape (n,), are not negative, and their squares sum to 1. `residual` is the mean change of a score in
        the last iteration.

    Raises
    ------
    ValueError
        If a weight is NaN, infinite or negative, scores overflow, `nstart` is negative, not finite or 0 everywhere, or
        a parameter is out of range.

    Warns
    -----
    ConvergenceWarning
        If the tolerance was not met.

    See Also
    --------
    gasla.katz_centrality : gives every vertex a score of its own; useful on directed acyclic graphs.

    Notes
    -----
    Parallel edges add up, self loops count once. A stored zero is an edge unless `weighted`.

    References
    ----------
    P. Bonacich: Power and centrality: a family of measures. American Journal of Sociology 92 (1987).

    Examples
    --------
    >>> import gasla, numpy as np
    >>> from scipy.sparse import csr_array
    >>> path = csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> result = gasla.eigenvector_centrality(path)
    >>> result.scores.round(3), result.converged
    (array([0.5  , 0.707, 0.5  ]), True)
    """
    graph = as_graph(graph)
    check_flags(weighted=weighted)
    tol = real_number("tol", tol)
    max_iter = whole_number("max_iter", max_iter)
    weights = weights_dtype(graph, weighted)
    score_dtype = score_type(weights, dtype)
    start = _initial_scores(graph, nstart)
    if graph.n == 0:
        return ScoresResult(module_of(graph.device).zeros(0, score_dtype), 0, 0.0, True)
    unit = 1.0
    if weights is not None:
        largest = float(weight_range(graph, shares=True)[1])
        if largest < 1:  # weights of 1 or more are not scaled: if scores overflow, an error is raised after the run
            graph, exponent = in_range(graph, score_dtype)
            largest = ldexp(largest, -exponent)
        unit = 1 / largest if 0 < largest < 1 else 1.0
    program = Power(real=score_dtype, weights=weights, tolerance=float(tol) * graph.n, unit=unit)
    result = run(program, graph, max_iterations=max_iter, notice=False, score=start)
    norm = float(result.square) ** 0.5
    if not 0 < norm < inf:
        raise ValueError(
            f"scores overflow in {score_dtype}: the weights are too large; divide all of them by one number"
        )
    residual = float(result.change) / norm / graph.n if result.iterations else inf
    converged = residual < tol
    if not (converged or tol == 0):
        warn(
            f"the mean change of a score was still {residual:.3g} after {result.iterations} iterations; "
            "raise max_iter, or tol",
            ConvergenceWarning,
        )
    scores = result.score
    scores /= score_dtype.type(norm)
    return ScoresResult(scores, result.iterations, residual, converged)


def _initial_scores(graph: Graph, nstart: Any) -> Any:
    """Return the initial scores: equal ones, or those of `nstart`, scaled such that their squares sum to 1."""
    if nstart is None:
        return max(graph.n, 1) ** -0.5
    start: Any = vertex_numbers(graph, "nstart", nstart, least=0)
    largest = float(start.max()) if graph.n else 1.0
    if largest == 0:
        raise ValueError("nstart is 0 everywhere; expected some positive number")
    start = start / largest  # divided by the largest, so that the sum of squares neither overflows nor underflows
    return start / float((start * start).sum()) ** 0.5 if graph.n else start


ROW = Row(
    eigenvector_centrality,
    scores("eigenvector", {"scores": "eigenvector"}, lambda f: f.convergence("highest scores")),
    method="power iteration, or thick-restart Lanczos (Wu, Simon, SIAM J. Matrix Analysis 22, 2000)",
    longer="Each iteration reads every edge, and tens of iterations are needed until scores have converged.",
)
