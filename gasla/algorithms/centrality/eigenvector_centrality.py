"""Eigenvector centrality: a vertex counts as much as those count that have an edge to it.

Returned are scores, which are the left eigenvector of the matrix's largest eigenvalue, and whether and how fast they
settled.

Power iteration: every vertex adds its in-neighbors' scores to its own, and all are divided by their norm. The norm is
that of the iteration before, an aggregate: a vector that is one division behind points the same way, so that an
iteration is one pass. Adding a vertex's own score shifts all eigenvalues by one, without which nothing would settle
where the graph has no odd cycle.

P. Bonacich: Power and centrality: a family of measures. American Journal of Sociology 92 (1987).
R. von Mises, H. Pollaczek-Geiringer: Praktische Verfahren der Gleichungsauflösung. ZAMM 9 (1929).
"""

import warnings
from math import inf, ldexp
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.centrality.ranking import type_of_weights
from gasla.arrays import module_of
from gasla.graph.arguments import check_flags, real_number, score_type, vertex_numbers, weight_range, whole_number
from gasla.graph.graph import Graph, as_graph
from gasla.graph.weights import in_range
from gasla.operations.result import ConvergenceWarning
from gasla.operations.run import run
from gasla.program.fields import aggregate, edge, parameter, vertex
from gasla.program.options import option
from gasla.program.program import VertexProgram


class Power(VertexProgram):
    """score(v) = (score(v) + sum over in-edges of score(u)) / (norm of all scores), in each iteration."""

    real = option(np.float64)
    weights = option(None)  # their type, where edges count by weight
    score = vertex(real)
    weight = edge(weights, when=weights)
    unit = parameter(real, 1.0)  # by which weights are multiplied: small ones would drown in a vertex's own score
    tolerance = parameter(np.float64, 1e-6)
    reduce = semirings.plus
    everyone = True

    def gather(self, src, dst, edge):
        return src.score * edge.weight if self.weights else src.score

    def apply(self, vertex, gathered):
        more = gathered * self.unit if self.weights else gathered
        return {"score": (vertex.score + more) / semirings.cast(self.norm(), self.real)}

    def activate(self, before, after):
        return True  # the change alone ends the run

    @aggregate(semirings.plus)
    def square(self, before, after):
        score = semirings.cast(after.score, np.float64)
        return score * score

    @aggregate(semirings.plus)
    def change(self, before, after):
        return abs(after.score - before.score)

    def norm(self):
        """Of the scores as the last iteration left them."""
        return semirings.sqrt(self.square)

    def stop(self):
        return (self.change < self.tolerance * self.norm()) | semirings.logical_not(self.square < inf)


class EigenvectorResult(NamedTuple):
    """Scores, how many iterations they took, the last iteration's change, and whether that met the tolerance."""

    scores: np.ndarray
    iterations: int
    residual: float
    converged: bool


def eigenvector_centrality(
    graph: Any,
    *,
    max_iter: int = 100,
    tol: float = 1e-6,
    nstart: Any = None,
    weighted: bool = False,
    dtype: Any = None,
) -> EigenvectorResult:
    """Eigenvector centrality of every vertex: in proportion to the sum of the scores of those with an edge to it.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j, which adds to the score of j. For the right eigenvector take `A.T`.
    max_iter : int
        The run ends at the latest after this many iterations, with a warning.
    tol : float
        The run ends when the scores, whose squares sum to 1, change by less than this in the mean. With 0 it takes
        just `max_iter` iterations, and nobody is warned. Small changes don't mean that the end is near: where the two
        largest eigenvalues are, as on large grids, ask for less.
    nstart : (n,) array or dict of vertex to number, optional
        Scores to start with, not negative; by default all alike.
    weighted : bool
        Whether the matrix's values multiply scores; otherwise every edge counts as 1.
    dtype : float32 or float64, optional
        Of the scores: by default that of the values if they are used and floating-point, else float64.

    Returns
    -------
    EigenvectorResult(scores, iterations, residual, converged)
        Scores are not negative, and their squares sum to 1. `residual` is the mean change of a score in the last
        iteration.

    Raises
    ------
    ValueError
        For weights that are NaN, infinite or negative, or so large that scores overflow; for a start that is negative,
        not finite or 0 everywhere, or parameters outside their range.

    Warns
    -----
    ConvergenceWarning
        If the tolerance was not met.

    See Also
    --------
    gasla.katz_centrality : which gives every vertex something of its own, and so something to directed graphs without
        cycles.

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
    weights = type_of_weights(graph, weighted)
    kind = score_type(weights, dtype)
    start = _start(graph, nstart)
    if graph.n == 0:
        return EigenvectorResult(module_of(graph.device).zeros(0, kind), 0, 0.0, True)
    unit = 1.0
    if weights is not None:
        largest = float(weight_range(graph, shares=True)[1])
        if largest < 1:  # of larger ones it is said where scores overflow
            graph, exponent = in_range(graph, kind)
            largest = ldexp(largest, -exponent)
        unit = 1 / largest if 0 < largest < 1 else 1.0
    program = Power(real=kind, weights=weights, tolerance=float(tol) * graph.n, unit=unit)
    found = run(program, graph, max_iterations=max_iter, notice=False, score=start)
    norm = float(found.square) ** 0.5
    if not 0 < norm < inf:
        raise ValueError(f"scores overflow in {kind}: the weights are too large; divide all of them by one number")
    residual = float(found.change) / norm / graph.n if found.iterations else inf
    converged = residual < tol
    if not (converged or tol == 0):
        warnings.warn(
            f"the scores still changed by {residual:.3g} in the mean after {found.iterations} iterations; "
            "raise max_iter, or tol",
            ConvergenceWarning,
            stacklevel=2,
        )
    scores = found.score
    scores /= kind.type(norm)
    return EigenvectorResult(scores, found.iterations, residual, converged)


def _start(graph: Graph, nstart: Any) -> Any:
    """Scores whose squares sum to 1."""
    if nstart is None:
        return max(graph.n, 1) ** -0.5
    start: Any = vertex_numbers(graph, "nstart", nstart, least=0)
    largest = float(start.max()) if graph.n else 1.0
    if largest == 0:
        raise ValueError("nstart is 0 everywhere; expected some positive numbers")
    start = start / largest  # whose squares neither overflow nor vanish
    return start / float((start * start).sum()) ** 0.5 if graph.n else start
