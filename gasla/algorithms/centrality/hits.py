"""Hubs and authorities: a vertex is a good authority if good hubs lead to it, and a good hub if it leads to good ones.

Returned are both scores of every vertex, each set summing to 1, and how the iteration ended.

Two programs take turns over the same fields, one along each direction of the edges. Each divides by what the other's
scores came to in all, which is the other's aggregate: no pass over the vertices is spent on the scale.

J. Kleinberg: Authoritative sources in a hyperlinked environment. Journal of the ACM 46 (1999).
"""

from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.centrality.ranking import distribution, has_settled, type_of_weights
from gasla.arrays import module_of
from gasla.graph.arguments import check_flags, real_number, score_type, whole_number
from gasla.graph.graph import as_graph
from gasla.graph.weights import in_range
from gasla.operations.run import run
from gasla.program.fields import aggregate, edge, parameter, vertex
from gasla.program.options import option
from gasla.program.program import VertexProgram


class Authorities(VertexProgram):
    """authority(v) = the sum of hub(u) over the edges u -> v, over what hubs come to in all."""

    real = option(np.float64)
    weights = option(None)  # their type, where edges count by weight
    hub = vertex(real)
    authority = vertex(real)
    weight = edge(weights, when=weights)
    hubs = parameter(np.float64, 1)
    everyone = True
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.hub * edge.weight if self.weights else src.hub

    def apply(self, vertex, gathered):
        return {"authority": semirings.where(gathered > 0, gathered / self.hubs, 0)}

    def activate(self, before, after):
        return True

    @aggregate(semirings.plus)
    def authorities(self, before, after):
        return after.authority


class Hubs(VertexProgram):
    """hub(u) = the sum of authority(v) over the edges u -> v, over what authorities come to in all."""

    real = option(np.float64)
    weights = option(None)
    hub = vertex(real)
    authority = vertex(real)
    weight = edge(weights, when=weights)
    authorities = parameter(np.float64, 1)
    tolerance = parameter(np.float64, 1e-8)
    everyone = True
    direction = "out"
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.authority * edge.weight if self.weights else src.authority

    def apply(self, vertex, gathered):
        return {"hub": semirings.where(gathered > 0, gathered / self.authorities, 0)}

    def activate(self, before, after):
        return True

    @aggregate(semirings.plus)
    def hubs(self, before, after):
        return after.hub

    @aggregate(semirings.plus)
    def change(self, before, after):
        return abs(after.hub - before.hub)

    def stop(self):
        return self.change <= self.tolerance * self.hubs


class HITSResult(NamedTuple):
    """Both scores, how many iterations they took, by how much the last changed hubs, and whether that was enough."""

    hubs: np.ndarray
    authorities: np.ndarray
    iterations: int
    residual: float
    converged: bool


def hits(
    graph: Any,
    *,
    max_iter: int = 100,
    tol: float = 1e-8,
    nstart: Any = None,
    normalized: bool = True,
    weighted: bool = True,
    dtype: Any = None,
) -> HITSResult:
    """Hub and authority scores of every vertex.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j.
    max_iter : int
        The run ends at the latest after this many iterations, with a warning.
    tol : float
        The run ends when hub scores that sum to 1 change by no more than this in all (L1). With 0 it takes just
        `max_iter` iterations, unless nothing changes any more, and nobody is warned.
    nstart : (n,) array or dict of vertex to number, optional
        Where hub scores start, in proportion; by default alike everywhere.
    normalized : bool
        Whether scores sum to 1; otherwise the largest is 1.
    weighted : bool
        Whether edges count by the matrix's values, which must be finite and not negative.
    dtype : float32 or float64, optional
        Of the scores: by default that of the values if they are used and floating-point, else float64.

    Returns
    -------
    HITSResult(hubs, authorities, iterations, residual, converged)
        Arrays on the graph's device, 0 where no edge leads out of a vertex, or into it.

    Raises
    ------
    ValueError
        For weights that are NaN, infinite or negative, a negative tolerance, or a start of the wrong kind.

    Warns
    -----
    ConvergenceWarning
        If the tolerance was not met.

    Notes
    -----
    Where several scores serve equally well, as in a graph of several parts alike, they depend on the start: parts keep
    the proportion that they began with.

    References
    ----------
    J. Kleinberg: Authoritative sources in a hyperlinked environment. Journal of the ACM 46 (1999).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 0, 1, 1, 2], [2, 3, 2, 3, 3], n=4)
    >>> found = gasla.hits(graph)
    >>> found.hubs.round(3), found.authorities.round(3)
    (array([0.39 , 0.39 , 0.219, 0.   ]), array([0.   , 0.   , 0.438, 0.562]))
    """
    graph, max_iter = as_graph(graph), whole_number("max_iter", max_iter)
    check_flags(weighted=weighted, normalized=normalized)
    tol = real_number("tol", tol)
    weights = type_of_weights(graph, weighted)
    kind, xp = score_type(weights, dtype), module_of(graph.device)
    if graph.n == 0:
        return HITSResult(xp.zeros(0, kind), xp.zeros(0, kind), 0, 0.0, True)
    start = 1 / graph.n if nstart is None else distribution(graph, nstart, "nstart").astype(kind)
    if weights is not None:
        graph, _ = in_range(graph, kind)
    programs = [program(real=kind, weights=weights) for program in (Authorities, Hubs)]
    result = run(programs, graph, max_iterations=max_iter, notice=False, hub=start, tolerance=tol)
    total = float(result.aggregates.get("hubs", 0))
    last = run(programs[0], graph, max_iterations=1, notice=False, hub=result.state["hub"])  # of the hubs as they are
    hubs, authorities = _scaled(result.state["hub"], normalized), _scaled(last.authority, normalized)
    residual = float(result.aggregates.get("change", 0)) / total if total != 0 else 0.0
    converged = has_settled("hub scores", result.converged, residual, max_iter, silent=tol == 0)
    return HITSResult(hubs, authorities, result.iterations, residual, converged)


def _scaled(scores: Any, to_sum: bool) -> Any:
    """Scores that sum to 1, or of which the largest is 1; as they are if all are 0."""
    whole = scores.sum(dtype=np.float64) if to_sum else scores.max()
    return scores / whole.astype(scores.dtype) if whole > 0 else scores
