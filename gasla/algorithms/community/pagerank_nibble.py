"""PageRank-Nibble: the community of one vertex, found by looking no further than around it.

Returned are the community, its conductance (the share of its edges' ends that are those of edges out of it), and the
scores that led there.

Scores approximate PageRank of a surfer who always jumps back to the source. All its rank begins as *residual* there.
A vertex with more of it than `epsilon` for each edge keeps a part as score and sends the rest on: a *push*.
Here all that can push do so at once, and what arrives is dealt with by those who receive it, so that nobody else is
looked at. Every push turns more than `epsilon * alpha` an edge into score, and all scores sum to 1 at most: so all
pushes together read no more than 1 / (epsilon * alpha) edges, however large the graph is.

The *sweep* orders vertices by score over degree, the highest first. Of all beginnings of that order it takes the one of
least conductance.

R. Andersen, F. Chung, K. Lang: Local Graph Partitioning using PageRank Vectors. FOCS 2006. J. Shun, F. Roosta-
Khorasani, K. Fountoulakis, M. Mahoney: Parallel Local Graph Clustering. VLDB 2016 (pushes all at once, and whole).
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.independence.undirected import undirected
from gasla.arrays import array_module, module_of
from gasla.graph.arguments import NO_LIMIT, check_flags, check_weights, real_number, source_vertex
from gasla.graph.graph import as_graph
from gasla.operations.multiply import mxv, vxm
from gasla.operations.run import run
from gasla.program.fields import ID, edge, parameter, vertex
from gasla.program.options import option
from gasla.program.program import VertexProgram

RANGE = 1e-150, 1e150  # of the sum of weights at a vertex, so that shares of shares are numbers


class Pushes(VertexProgram):
    """A vertex with enough residual adds the share `retained` of it to its score, and sends on the rest."""

    weights = option(None)  # their type, where edges count by weight
    direction = option("in")
    degree = vertex(np.float64)
    score = vertex(np.float64)
    residual = vertex(np.float64)
    sent = vertex(np.float64)  # along each edge, by active vertices; times its weight, where there are weights
    weight = edge(weights, when=weights)
    retained = parameter(np.float64, 0)
    epsilon = parameter(np.float64, 0)
    reduce = semirings.plus
    sources = "active"

    def gather(self, src, dst, edge):
        return src.sent * edge.weight if self.weights else src.sent

    def apply(self, vertex, gathered):
        residual = vertex.residual + gathered
        pushed = semirings.where(residual >= self.epsilon * vertex.degree, residual, 0.0)
        return {
            "score": vertex.score + self.retained * pushed,
            "residual": residual - pushed,
            "sent": (1 - self.retained) * pushed / vertex.degree,
        }

    def activate(self, before, after):
        return after.sent > 0


class Inside(VertexProgram):
    """inside(v) = v's edges to vertices before it and back, and loops: what its degree is more than the cut gains."""

    weights = option(None)  # their type, where edges count by weight
    sums = option(np.int64)
    direction = option("in")
    place = vertex(ID)
    inside = vertex(sums)
    weight = edge(weights, when=weights)
    reduce = semirings.plus
    sources = "active"

    def mask(self, vertex):
        return vertex.place < self.n

    def gather(self, src, dst, edge):
        times = semirings.where(src.place < dst.place, 2, semirings.where(src.id == dst.id, 1, 0))
        return semirings.cast(edge.weight, np.float64) * times if self.weights else times

    def apply(self, vertex, gathered):
        return {"inside": gathered}


class NibbleResult(NamedTuple):
    """The community, those of highest score over degree first; its conductance; the score of every vertex."""

    vertices: np.ndarray
    conductance: float
    scores: np.ndarray


def pagerank_nibble(
    graph: Any, source: int, *, alpha: float = 0.1, epsilon: float = 1e-6, weighted: bool = False
) -> NibbleResult:
    """Find the community of a vertex, by PageRank from there and a sweep over it.

    Parameters
    ----------
    graph : Graph or SciPy or CuPy sparse array or matrix
        Read as undirected: in a matrix that isn't symmetric, the two directions of an edge add up.
    source : int
        The vertex whose community it is.
    alpha : float
        How likely the paper's lazy surfer, who stays where it is in every other step, jumps back to the source: more
        than 0, and 1 at most. With less, communities are larger.
    epsilon : float
        A vertex pushes while its residual is this for each of its edges, or more; with weights, for each unit of what
        they weigh: so weights times c, and this over c, give the same. More than 0. With less, scores are nearer, and
        communities may be larger.
    weighted : bool
        Whether an edge counts by its value, which is finite and 0 or more; by default each counts 1.

    Returns
    -------
    NibbleResult(vertices, conductance, scores)
        `vertices` are ids, and `scores` (n,) float64, on the device of the graph. Scores are below PageRank, by less
        than `epsilon` for each edge of a vertex in the sense that what is left of the residual is. Where no beginning
        of the order has edges both in it and elsewhere, nothing can be cut off: the community is the source alone, of
        conductance NaN. A whole component, with edges elsewhere, has conductance 0. Edges of weight 0 don't count.

    Raises
    ------
    TypeError, ValueError
        If the source is no vertex, `alpha` or `epsilon` out of range, a weight negative or not finite, or the
        weights at a vertex so large or small that their sum is not from 1e-150 to 1e150.

    Notes
    -----
    Sums of floats are added in any order, so that scores may differ in their last bits from call to call. What the
    sweep needs of a graph, whether it is undirected and its degrees, is kept with a `Graph`; a call writes 3 numbers
    a vertex, and reads no more edges than 1 / (epsilon * alpha), and those of the sweep.

    References
    ----------
    R. Andersen, F. Chung, K. Lang: Local Graph Partitioning using PageRank Vectors. FOCS 2006.

    J. Shun, F. Roosta-Khorasani, K. Fountoulakis, M. Mahoney: Parallel Local Graph Clustering. VLDB 2016.

    Examples
    --------
    Two triangles, and an edge between them.

    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3]).reversed()
    >>> found = gasla.pagerank_nibble(graph, 0)
    >>> sorted(found.vertices.tolist()), round(found.conductance, 3)
    ([0, 1, 2], 0.143)
    """
    graph = as_graph(graph)
    source = source_vertex(graph, source)
    check_flags(weighted=weighted)
    alpha, epsilon = real_number("alpha", alpha, most=1, above=True), real_number("epsilon", epsilon, above=True)
    if 1 - alpha == 1:
        raise ValueError(
            f"alpha is {alpha}; expected 2**-53 or more, as 1 - alpha is 1 below that, and pushes never end"
        )
    weighted = weighted and graph.values is not None
    if weighted:
        graph.notice_values()
    degree = graph.kept(("nibble", weighted), partial(_degrees, weighted=weighted))
    scores = _scores(graph, source, degree, alpha, epsilon, weighted)
    return _swept(graph, source, degree, scores, weighted)


def _degrees(graph: Any, weighted: bool) -> Any:
    """What edges count at each vertex, once where each has its other direction, else at both ends."""
    both = not (graph.has_symmetric_values if weighted else graph.is_symmetric)
    if not weighted:
        return (graph.out_degrees + (graph.in_degrees if both else 0)).astype(np.float64)
    check_weights(graph, shares=True)
    ones = module_of(graph.device).ones(graph.n)
    degree = mxv(graph, ones) + (vxm(ones, graph) if both else 0)
    bad = (degree != 0) & ~((degree >= RANGE[0]) & (degree <= RANGE[1]))
    if bool(bad.any()):
        v = int(bad.argmax())
        raise ValueError(
            f"the weights at vertex {v} add up to {degree[v].item()}; expected 1e-150 to 1e150, or 0: scale them"
        )
    return degree


def _scores(graph: Any, source: int, degree: Any, alpha: float, epsilon: float, weighted: bool) -> Any:
    """Scores once no vertex can push; the source does so in any case. A lazy step is a plain one, or none."""
    retained, own = 2 * alpha / (1 + alpha), degree[source].item()
    fields: dict[str, Any] = {
        "score": {source: retained if own else 1.0},
        "sent": {source: (1 - retained) / own if own else 0.0},
    }
    form = {"weights": graph.values.dtype if weighted else None, "direction": undirected(graph, weighted=weighted)}
    program = Pushes(retained=retained, epsilon=epsilon, **form)
    # Each iteration in which a vertex pushes turns that much into score, which comes to 1 in all; twice, for rounding.
    least = retained * epsilon * float(degree[degree > 0].min()) if own else 1.0
    most = int(min(2 / least + 2, NO_LIMIT)) if least > 0 else NO_LIMIT
    found = run(
        program, graph, active=[source] if own else [], max_iterations=most, degree=degree, notice=False, **fields
    )
    if not found.converged:
        raise RuntimeError(
            f"pagerank_nibble: vertices still push after {most} iterations, with alpha {alpha} and epsilon {epsilon}; "
            "expected an end by then. Give larger ones, or report this graph"
        )
    return found.score


def _swept(graph: Any, source: int, degree: Any, scores: Any, weighted: bool) -> NibbleResult:
    """Of beginnings that have edges in them and elsewhere that of least conductance; of equal ones the smallest.

    Volumes and cuts are added up from the side that weighs less, so that what is left of a sum by rounding counts for
    no side.
    """
    xp: Any = module_of(graph.device)
    some = xp.flatnonzero(scores > 0)
    order = some[xp.argsort(-(scores[some] / xp.maximum(degree[some], RANGE[0])), kind="stable")]
    place = xp.full(graph.n, graph.n, graph.id_dtype)
    place[order] = xp.arange(len(order))
    form: dict[str, Any] = {"weights": graph.values.dtype, "sums": np.float64} if weighted else {}
    program = Inside(direction=undirected(graph, weighted=weighted), **form)
    inside = run(program, graph, active=order, max_iterations=1, place=place, notice=False).inside[order]
    own = degree[order]
    others = degree.copy()
    others[order] = 0
    rest, opened = others.sum(), own - inside  # what each vertex adds to the cut
    volume, outside = xp.cumsum(own), rest + _after(own)
    last = xp.minimum(xp.maximum(opened.sum(), 0), rest)
    cut = xp.where(volume <= outside, xp.cumsum(opened), last - _after(opened))
    less = xp.minimum(volume, outside)
    conductance = xp.where(less > 0, xp.minimum(xp.maximum(cut, 0), less) / xp.maximum(less, RANGE[0]), np.inf)
    best = int(conductance.argmin())
    least = float(conductance[best])
    if least == np.inf:
        return NibbleResult(xp.full(1, source, graph.id_dtype), np.nan, scores)
    return NibbleResult(order[: best + 1].astype(graph.id_dtype), least, scores)


def _after(values: Any) -> Any:
    """Of each value the sum of those after it, added from the last on."""
    sums = array_module(values).zeros_like(values)
    sums[:-1] = array_module(values).cumsum(values[:0:-1])[::-1]
    return sums
