"""SALSA: hub and authority scores by random walks that alternate between following an edge forward and backward.

The authority score of a vertex is the stationary probability of the walk that goes back along an edge and forward along
another; the hub score that of the walk forward and then back. In contrast to HITS, a vertex divides its score among its
edges, so each component of the graph keeps its initial share, and a dense community does not attract all scores. Two
programs alternate over the same fields.
"""

from math import ldexp
from typing import Any

import numpy as np

import semirings
from gasla.algorithms.centrality.ranking import HubsResult, Spread, check_converged, weights_dtype
from gasla.arrays import module_of
from gasla.graph.arguments import LARGEST, check_flags, real_number, score_type, whole_number
from gasla.graph.graph import Graph, as_graph
from gasla.graph.weights import in_range, takes_weight
from gasla.operations.multiply import mxv, vxm
from gasla.operations.on_one_device import on_one_device
from gasla.operations.run import run
from gasla.program import aggregate, parameter, vertex
from gasla.rows import Row, Task, links


class Forward(Spread):
    """authority(v) = sum over the edges u -> v of hub(u) / out-degree(u): a vertex divides its score among its edges.

    With weights, an edge gets the fraction that its weight is of the weights of all out-edges of u.
    """

    authority = vertex(Spread.real)
    from_authority = vertex(Spread.real)  # authority divided by the sum of the weights of the vertex's in-edges
    from_hub = vertex(Spread.real)
    inverse_in = vertex(Spread.real)

    def gather(self, src, dst, edge):
        return self.along(edge, src.from_hub)

    def apply(self, vertex, gathered):
        return {"authority": gathered, "from_authority": gathered * vertex.inverse_in}


class Back(Spread):
    """hub(u) = sum over the edges u -> v of authority(v) / in-degree(v): a vertex divides its score among its edges.

    With weights, an edge gets the fraction that its weight is of the weights of all in-edges of v.
    """

    hub = vertex(Spread.real)
    from_authority = vertex(Spread.real)
    from_hub = vertex(Spread.real)
    inverse_out = vertex(Spread.real)
    tolerance = parameter(np.float64, 1e-6)
    direction = "out"

    def gather(self, src, dst, edge):
        return self.along(edge, src.from_authority)

    def apply(self, vertex, gathered):
        return {"hub": gathered, "from_hub": gathered * vertex.inverse_out}

    @aggregate(semirings.plus)
    def change(self, before, after):
        return abs(after.hub - before.hub)

    def stop(self):
        return self.change <= self.tolerance


@takes_weight
@on_one_device()
def salsa(
    graph: Any, *, max_iter: int = 1000, tol: float = 1e-6, weighted: bool = True, dtype: Any = None
) -> HubsResult:
    """Compute the SALSA hub and authority scores of every vertex.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j.
    max_iter : int
        Maximum number of iterations.
    tol : float
        The run ends when hub scores change by at most this in sum (L1 norm). With 0 it runs for `max_iter` iterations
        without a warning, or until nothing changes.
    weighted : bool
        Whether edges are followed in proportion to their values, which must be finite and not negative.
    dtype : float32 or float64, optional
        Type of the scores; by default the type of the values if they are used and floating-point, else float64.

    Returns
    -------
    HubsResult(hubs, authorities, iterations, residual, converged)
        Scores of shape (n,), on the device of the graph, each set summing to 1; a hub score is 0 without out-edges, an
        authority score without in-edges. Without any edge all are 0. `residual` is the L1 change of the hub scores in
        the last iteration.

    Raises
    ------
    ValueError
        If a weight is NaN, infinite or negative, the sum of the weights at a vertex is infinite, or so small relative
        to the largest weight that its inverse overflows, or if `tol` is negative.

    Warns
    -----
    ConvergenceWarning
        If the tolerance was not met.

    Notes
    -----
    The walk starts at a random vertex with out-edges. Within a component, authority scores are proportional to
    in-degrees, or to sums of weights. Parallel edges add up, self loops count once. A stored zero is an edge unless
    `weighted`.

    References
    ----------
    R. Lempel, S. Moran: SALSA: the stochastic approach for link-structure analysis. ACM Transactions on Information
    Systems 19 (2001).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 0, 1, 1, 2], [2, 3, 2, 3, 3], n=4)
    >>> found = gasla.salsa(graph)
    >>> found.hubs.round(3), found.authorities.round(3)
    (array([0.4, 0.4, 0.2, 0. ]), array([0. , 0. , 0.4, 0.6]))
    """
    graph, max_iter = as_graph(graph), whole_number("max_iter", max_iter)
    check_flags(weighted=weighted)
    tol = real_number("tol", tol)
    weights = weights_dtype(graph, weighted)
    score_dtype, xp = score_type(weights, dtype), module_of(graph.device)
    graph, fields = _initial_fields(graph, weights, score_dtype)
    programs = [program(real=score_dtype, weights=weights) for program in (Forward, Back)]
    result = run(programs, graph, max_iterations=max_iter, notice=False, tolerance=tol, **fields)
    residual = float(result.aggregates.get("change", 0))
    converged = check_converged("hub scores", result.converged or graph.n == 0, residual, max_iter, silent=tol == 0)
    hubs, authorities = (xp.asarray(result.state[name]) for name in ("hub", "authority"))
    return HubsResult(hubs, authorities, result.iterations, residual, converged)


def _initial_fields(graph: Graph, weights: np.dtype | None, dtype: np.dtype) -> tuple[Graph, dict[str, Any]]:
    """Return the graph on which SALSA runs, with scaled weights if needed, and the initial fields of its two programs.

    The fields are equal hub scores of the vertices with out-edges, and the inverse sums of the weights of each vertex's
    out-edges and in-edges.
    """
    xp: Any = module_of(graph.device)
    if weights is None:
        out_weight, in_weight = graph.out_degrees.astype(np.float64), graph.in_degrees.astype(np.float64)
    else:
        graph, exponent = in_range(graph, dtype)
        out_weight, in_weight = mxv(graph, xp.ones(graph.n)), vxm(xp.ones(graph.n), graph)
        if exponent > 0 and float(xp.maximum(out_weight, in_weight).max()) > ldexp(LARGEST, -exponent):
            raise ValueError("the weights at a vertex sum to infinity; expected a finite sum: scale them down")
    with np.errstate(over="ignore", divide="ignore"):  # the check below reports an overflow
        inverse_out, inverse_in = ((x > 0) / xp.where(x > 0, x, 1).astype(dtype) for x in (out_weight, in_weight))
    if weights is not None and not bool(xp.isfinite(inverse_out).all() & xp.isfinite(inverse_in).all()):
        raise ValueError(
            "the weights at a vertex are so small, relative to the largest, that the inverse of their sum overflows "
            f"{dtype}; expected weights nearer to each other, or dtype=np.float64"
        )
    hub = (out_weight > 0) / max(int((out_weight > 0).sum()), 1)
    fields = {"hub": hub, "from_hub": hub * inverse_out, "inverse_out": inverse_out, "inverse_in": inverse_in}
    return graph, {name: x.astype(dtype) for name, x in fields.items()}


ROW = Row(
    salsa,
    links("salsa"),
    Task(part="hubs", agree="near"),
    method="power iteration in both directions (Lempel, Moran, ACM TOIS 19, 2001)",
    longer="Iterations read every edge in both directions, and many are needed until scores have converged.",
)
