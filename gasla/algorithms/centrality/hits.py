"""HITS: hubs are vertices with edges to good authorities, authorities are vertices with edges from good hubs.

Two programs alternate over the same fields: one gathers along the edges, the other against them. Each divides its sums
by the total of the other program's scores. This total is an aggregate of the other program, so normalization needs no
pass over the vertices.
"""

from typing import Any

import numpy as np

import semirings
from gasla.algorithms.centrality.ranking import HubsResult, Spread, check_converged, distribution, weights_dtype
from gasla.arrays import module_of
from gasla.graph.arguments import check_flags, real_number, score_type, whole_number
from gasla.graph.graph import as_graph
from gasla.graph.weights import in_range, takes_weight
from gasla.operations.ahead import compile_ahead
from gasla.operations.on_one_device import on_one_device
from gasla.operations.run import run
from gasla.program import aggregate, parameter, vertex
from gasla.rows import Row, links


class Authorities(Spread):
    """authority(v) = sum of hub(u) over the edges u -> v, divided by the sum of all hub scores."""

    hub = vertex(Spread.real)
    authority = vertex(Spread.real)
    hubs = parameter(np.float64, 1)

    def gather(self, src, dst, edge):
        return self.along(edge, src.hub)

    def apply(self, vertex, gathered):
        return {"authority": semirings.where(gathered > 0, gathered / self.hubs, 0)}

    @aggregate(semirings.plus)
    def authorities(self, before, after):
        return after.authority


class Hubs(Spread):
    """hub(u) = sum of authority(v) over the edges u -> v, divided by the sum of all authority scores."""

    hub = vertex(Spread.real)
    authority = vertex(Spread.real)
    authorities = parameter(np.float64, 1)
    tolerance = parameter(np.float64, 1e-8)
    direction = "out"

    def gather(self, src, dst, edge):
        return self.along(edge, src.authority)

    def apply(self, vertex, gathered):
        return {"hub": semirings.where(gathered > 0, gathered / self.authorities, 0)}

    @aggregate(semirings.plus)
    def hubs(self, before, after):
        return after.hub

    @aggregate(semirings.plus)
    def change(self, before, after):
        return abs(after.hub - before.hub)

    def stop(self):
        return self.change <= self.tolerance * self.hubs


@takes_weight
@on_one_device()
def hits(
    graph: Any,
    *,
    max_iter: int = 100,
    tol: float = 1e-8,
    nstart: Any = None,
    normalized: bool = True,
    weighted: bool = True,
    dtype: Any = None,
) -> HubsResult:
    """Compute the hub and authority scores of every vertex.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j.
    max_iter : int
        Maximum number of iterations.
    tol : float
        The run ends when hub scores, normalized to sum to 1, change by at most this in sum (L1 norm). With 0 it runs
        for `max_iter` iterations without a warning, or until nothing changes.
    nstart : (n,) array or dict of vertex to number, optional
        Initial hub scores, up to a factor; equal by default.
    normalized : bool
        Whether each set of scores sums to 1. Otherwise its maximum is 1.
    weighted : bool
        Whether edges count by their values, which must be finite and not negative. Otherwise each counts 1.
    dtype : float32 or float64, optional
        Type of the scores; by default the type of the values if they are used and floating-point, else float64.

    Returns
    -------
    HubsResult(hubs, authorities, iterations, residual, converged)
        Scores of shape (n,), on the device of the graph; a hub score is 0 without out-edges, an authority score without
        in-edges. `residual` is the L1 change of the hub scores in the last iteration.

    Raises
    ------
    ValueError
        If a weight is NaN, infinite or negative, `tol` is negative, or `nstart` is not a valid distribution.

    Warns
    -----
    ConvergenceWarning
        If the tolerance was not met.

    Notes
    -----
    If the scores are not unique, as in a graph of several equal components, they depend on the start: each component
    keeps its initial share. Parallel edges add up, self loops count once. A stored zero is an edge unless `weighted`.

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
    weights = weights_dtype(graph, weighted)
    score_dtype, xp = score_type(weights, dtype), module_of(graph.device)
    if graph.n == 0:
        return HubsResult(xp.zeros(0, score_dtype), xp.zeros(0, score_dtype), 0, 0.0, True)
    start = 1 / graph.n if nstart is None else distribution(graph, nstart, "nstart").astype(score_dtype)
    if weights is not None:
        graph, _ = in_range(graph, score_dtype)
    programs = [program(real=score_dtype, weights=weights) for program in (Authorities, Hubs)]
    compile_ahead(graph, programs, programs[0])
    result = run(programs, graph, max_iterations=max_iter, notice=False, hub=start, tolerance=tol)
    hub_total = float(result.aggregates.get("hubs", 0))
    hubs = _scale_scores(result.state["hub"], normalized)
    # An additional iteration makes the authority scores those that follow from the final hub scores.
    final_run = run(programs[0], graph, max_iterations=1, notice=False, hub=hubs)
    authorities = _scale_scores(final_run.authority, normalized)
    residual = float(result.aggregates.get("change", 0)) / hub_total if hub_total != 0 else 0.0
    converged = check_converged("hub scores", result.converged, residual, max_iter, silent=tol == 0)
    return HubsResult(hubs, authorities, result.iterations, residual, converged)


def _scale_scores(scores: Any, to_sum: bool) -> Any:
    """Return the scores divided by their sum if `to_sum`, or else by the largest score.

    Scores that are all 0 stay unchanged.
    """
    score_total = scores.sum(dtype=np.float64) if to_sum else scores.max()
    return (scores / score_total.astype(np.float64)).astype(scores.dtype) if score_total > 0 else scores


ROW = Row(
    hits,
    links("hits"),
    method="power iteration in both directions (Kleinberg, Journal of the ACM 46, 1999)",
    longer="Twenty iterations read every edge twice, once in each direction.",
)
