"""SALSA: where two random walks end up that follow an edge one way and another the other way, in turns.

Returned are two scores of every vertex, each set summing to 1, and how the iteration ended: how often the walk from
authority to authority is at a vertex, back along an edge and forward along another, and how often that from hub to hub.

It is to HITS what PageRank is to a count of links: a vertex deals its score out among its edges, so that parts of a
graph keep the share that they begin with, and a tight community doesn't draw all scores to itself. Two programs take
turns over the same fields.

R. Lempel, S. Moran: SALSA: the stochastic approach for link-structure analysis. ACM Transactions on Information Systems
19 (2001).
"""

from math import ldexp
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.centrality.ranking import has_settled, type_of_weights
from gasla.arrays import module_of
from gasla.graph.arguments import LARGEST, check_flags, real_number, score_type, whole_number
from gasla.graph.graph import Graph, as_graph
from gasla.graph.weights import in_range
from gasla.operations.multiply import mxv, vxm
from gasla.operations.run import run
from gasla.program.fields import aggregate, edge, parameter, vertex
from gasla.program.options import option
from gasla.program.program import VertexProgram


class Forward(VertexProgram):
    """authority(v) = the sum over the edges u -> v of what hub u deals out to each."""

    real = option(np.float64)
    weights = option(None)  # their type, where edges count by weight
    authority = vertex(real)
    from_authority = vertex(real)  # what it deals out to each of its in-edges
    from_hub = vertex(real)
    inverse_in = vertex(real)
    weight = edge(weights, when=weights)
    everyone = True
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.from_hub * edge.weight if self.weights else src.from_hub

    def apply(self, vertex, gathered):
        return {"authority": gathered, "from_authority": gathered * vertex.inverse_in}

    def activate(self, before, after):
        return True


class Back(VertexProgram):
    """hub(u) = the sum over the edges u -> v of what authority v deals out to each."""

    real = option(np.float64)
    weights = option(None)
    hub = vertex(real)
    from_authority = vertex(real)
    from_hub = vertex(real)
    inverse_out = vertex(real)
    weight = edge(weights, when=weights)
    tolerance = parameter(np.float64, 1e-6)
    everyone = True
    direction = "out"
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.from_authority * edge.weight if self.weights else src.from_authority

    def apply(self, vertex, gathered):
        return {"hub": gathered, "from_hub": gathered * vertex.inverse_out}

    def activate(self, before, after):
        return True

    @aggregate(semirings.plus)
    def change(self, before, after):
        return abs(after.hub - before.hub)

    def stop(self):
        return self.change <= self.tolerance


class SALSAResult(NamedTuple):
    """Both scores, how many iterations they took, by how much the last changed hubs, and whether that was enough."""

    hubs: np.ndarray
    authorities: np.ndarray
    iterations: int
    residual: float
    converged: bool


def salsa(
    graph: Any, *, max_iter: int = 1000, tol: float = 1e-6, weighted: bool = True, dtype: Any = None
) -> SALSAResult:
    """Hub and authority scores of every vertex by random walks.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        `A[i, j]` is the edge i -> j.
    max_iter : int
        The run ends at the latest after this many iterations, with a warning.
    tol : float
        The run ends when hub scores change by no more than this in all (L1). With 0 it takes just `max_iter`
        iterations, unless nothing changes any more, and nobody is warned.
    weighted : bool
        Whether edges are followed in proportion to the matrix's values, which must be finite and not negative.
    dtype : float32 or float64, optional
        Of the scores: by default that of the values if they are used and floating-point, else float64.

    Returns
    -------
    SALSAResult(hubs, authorities, iterations, residual, converged)
        Arrays on the graph's device, 0 where no edge leads out of a vertex, or into it. Without an edge all are 0.

    Raises
    ------
    ValueError
        For weights that are NaN, infinite or negative, whose sum at a vertex is infinite, or whose sum is so small
        beside the largest weight that one over it overflows; or for a negative tolerance.

    Warns
    -----
    ConvergenceWarning
        If the tolerance was not met.

    Notes
    -----
    The walk starts at a hub drawn at random, of those that have an out-edge. In a part of the graph that it can't leave
    an authority's score is in proportion to its in-edges, or to their weights.

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
    weights = type_of_weights(graph, weighted)
    kind, xp = score_type(weights, dtype), module_of(graph.device)
    graph, fields = _fields(graph, weights, kind)
    programs = [program(real=kind, weights=weights) for program in (Forward, Back)]
    result = run(programs, graph, max_iterations=max_iter, notice=False, tolerance=tol, **fields)
    residual = float(result.aggregates.get("change", 0))
    converged = has_settled("hub scores", result.converged or graph.n == 0, residual, max_iter, silent=tol == 0)
    hubs, authorities = (xp.asarray(result.state[name]) for name in ("hub", "authority"))
    return SALSAResult(hubs, authorities, result.iterations, residual, converged)


def _fields(graph: Graph, weights: np.dtype | None, kind: np.dtype) -> tuple[Graph, dict[str, Any]]:
    """What the programs start with: a walker at each hub alike, and one over what leads out of each vertex, and in.

    Before it comes the graph to run on.
    """
    xp: Any = module_of(graph.device)
    if weights is None:
        leaves, enters = graph.out_degrees.astype(np.float64), graph.in_degrees.astype(np.float64)
    else:
        graph, exponent = in_range(graph, kind)
        leaves, enters = mxv(graph, xp.ones(graph.n)), vxm(xp.ones(graph.n), graph)
        if exponent > 0 and float(xp.maximum(leaves, enters).max()) > ldexp(LARGEST, -exponent):
            raise ValueError("the weights at a vertex sum to infinity; expected a finite sum: scale them down")
    with np.errstate(over="ignore"):
        inverse_out, inverse_in = ((x > 0) / xp.where(x > 0, x, 1).astype(kind) for x in (leaves, enters))
    if weights is not None and not bool(xp.isfinite(inverse_out).all() & xp.isfinite(inverse_in).all()):
        raise ValueError(
            f"the weights at a vertex are so small beside the largest that one over their sum overflows {kind}; "
            "expected weights nearer to each other, or dtype=np.float64"
        )
    hub = (leaves > 0) / max(int((leaves > 0).sum()), 1)
    named = {"hub": hub, "from_hub": hub * inverse_out, "inverse_out": inverse_out, "inverse_in": inverse_in}
    return graph, {name: x.astype(kind) for name, x in named.items()}
