"""PageRank-Nibble: a community around one vertex, found by exploring only its neighborhood.

Scores approximate the PageRank of a surfer who always jumps back to the source. At first the source has all of the
*residual*. A vertex whose residual is at least `epsilon` times its degree keeps a part of the residual as score, and
sends the rest to its neighbors: a *push*. All vertices that can push do so at once, and only their neighbors are
visited. Every push converts more than `epsilon * alpha` per edge into score, and scores sum to at most 1. So all pushes
together read at most 1 / (epsilon * alpha) edges, however large the graph is.

The *sweep* sorts vertices by decreasing score over degree. The community is the prefix of smallest conductance.
"""

from collections.abc import Hashable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.independence.undirected import undirected
from gasla.arrays import array_module, module_of
from gasla.graph.arguments import NO_LIMIT, check_flags, check_weights, real_number
from gasla.graph.exchange.vertex_names import translate_vertex
from gasla.graph.graph import as_graph
from gasla.graph.weights import takes_weight
from gasla.operations.multiply import mxv, vxm
from gasla.operations.on_one_device import on_one_device
from gasla.operations.run import run
from gasla.program import ID, VertexProgram, aggregate, edge, option, parameter, vertex
from gasla.rows import Command, Row

# smallest and largest sum of the weights at a vertex, so that quotients neither overflow nor underflow
RANGE = 1e-150, 1e150


class Pushes(VertexProgram):
    """The pushes of PageRank-Nibble: each vertex moves a part of its residual to its score, and the rest to its
    neighbors.

    A vertex pushes if its residual is at least `epsilon` times its degree. It adds the fraction `retained` of the
    residual to its score. Its neighbors get the rest in proportion to the weights of the edges.
    """

    weights = option(None)  # dtype of the weights; None if unweighted
    direction = option("in")
    degree = vertex(np.float64)
    score = vertex(np.float64)
    residual = vertex(np.float64)
    sent = vertex(np.float64)  # what a vertex that pushes sends along each edge, per unit of weight
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
    """inside(v) = twice the weight of v's edges to vertices before v in the sweep, plus the weight of v's self loops.

    The sweep is an order of the vertices with a score, from which communities are cut off. inside(v) is v's degree
    minus the increase of the cut when v is added. Vertices that are not in the sweep get the place n, after all others.
    The aggregate `twice_left` is twice the weight of the edges between them and the sweep.
    """

    weights = option(None)  # dtype of the weights; None if unweighted
    sums = option(np.int64)
    direction = option("in")
    place = vertex(ID)
    inside = vertex(sums)
    weight = edge(weights, when=weights)
    reduce = semirings.plus
    sources = "active"

    def gather(self, src, dst, edge):
        times = semirings.where(src.place < dst.place, 2, semirings.where(src.id == dst.id, 1, 0))
        return semirings.cast(edge.weight, np.float64) * times if self.weights else times

    def apply(self, vertex, gathered):
        return {"inside": gathered}

    @aggregate(semirings.plus, np.float64)
    def twice_left(self, before, after):
        return semirings.where(after.place == self.n, semirings.cast(after.inside, np.float64), 0.0)


class NibbleResult(NamedTuple):
    """A community, as vertices by decreasing score over degree, its conductance, and the score of every vertex."""

    vertices: np.ndarray
    conductance: float
    scores: np.ndarray


@takes_weight
@on_one_device()
def pagerank_nibble(
    graph: Any, source: Hashable, *, alpha: float = 0.1, epsilon: float = 1e-6, weighted: bool = False
) -> NibbleResult:
    """Find the community of a vertex by personalized PageRank and a sweep cut.

    Parameters
    ----------
    graph : Graph or SciPy or CuPy sparse array or matrix
        Read as undirected: if the matrix is not symmetric, the two directions of an edge add up.
    source : int or name
        The vertex to find the community of.
    alpha : float
        Probability that the paper's lazy surfer, who stays in place in every other step, jumps back to the source; more
        than 0, at most 1. Smaller values give larger communities.
    epsilon : float
        A vertex pushes while its residual is at least `epsilon` times its degree (or sum of weights); more than 0.
        Scaling all weights by c and `epsilon` by 1 / c changes nothing. Smaller values give more accurate scores, and
        perhaps larger communities.
    weighted : bool
        Whether edges count by their values, which must be finite and not negative. Otherwise each counts 1.

    Returns
    -------
    NibbleResult(vertices, conductance, scores)
        `vertices` are the ids of the community, and `scores`, shape (n,), are float64, on the device of the graph.
        `conductance` is the weight of the edges that leave the community over its volume. Scores are lower bounds of
        PageRank; the remaining residual of each vertex is less than `epsilon` times its degree. If no prefix of the
        sweep has edges both inside and outside, the community is the source alone, with conductance NaN. A whole
        component has conductance 0 if there are edges elsewhere.

    Raises
    ------
    TypeError, ValueError
        If the source is not a vertex, `alpha` or `epsilon` is out of range, a weight is negative or not finite, or the
        weights at a vertex sum to a number outside 1e-150 to 1e150, other than 0.

    Notes
    -----
    Stored zeros are edges, of weight 0 if `weighted`, which do not count. Parallel edges add up, self loops count once.

    Floats are summed in any order, so scores may differ in their last bits from call to call. Degrees, and whether the
    graph is undirected, are kept with a `Graph`. A call writes 3 numbers per vertex, and reads at most
    1 / (epsilon * alpha) edges, and those of the sweep.

    References
    ----------
    R. Andersen, F. Chung, K. Lang: Local Graph Partitioning using PageRank Vectors. FOCS 2006.

    J. Shun, F. Roosta-Khorasani, K. Fountoulakis, M. Mahoney: Parallel Local Graph Clustering. VLDB 2016.

    Examples
    --------
    Two triangles joined by an edge:

    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3]).reversed()
    >>> found = gasla.pagerank_nibble(graph, 0)
    >>> sorted(found.vertices.tolist()), round(found.conductance, 3)
    ([0, 1, 2], 0.143)
    """
    graph = as_graph(graph)
    source = translate_vertex(graph, source)
    check_flags(weighted=weighted)
    alpha, epsilon = real_number("alpha", alpha, most=1, above=True), real_number("epsilon", epsilon, above=True)
    if 1 - alpha == 1:
        raise ValueError(
            f"alpha is {alpha}; expected 2**-53 or more: below, 1 - alpha rounds to 1, and pushes never end"
        )
    weighted = weighted and graph.value_type is not None
    if weighted:
        graph.notice_values()
    degree = graph.kept(("nibble", weighted), partial(_vertex_degrees, weighted=weighted))
    scores = _push_scores(graph, source, degree, alpha, epsilon, weighted)
    return _best_prefix(graph, source, degree, scores, weighted)


def _vertex_degrees(graph: Any, weighted: bool) -> Any:
    """Return the degree of each vertex, or the sum of the weights of its edges if `weighted`.

    If the graph is not symmetric, edges in both directions count. Raise ValueError if a sum is outside of `RANGE`.
    """
    both_directions = not (graph.has_symmetric_values if weighted else graph.is_symmetric)
    if not weighted:
        return (graph.out_degrees + (graph.in_degrees if both_directions else 0)).astype(np.float64)
    check_weights(graph, shares=True)
    ones = module_of(graph.device).ones(graph.n)
    with np.errstate(over="ignore"):  # the check below reports an overflow
        degree = mxv(graph, ones) + (vxm(ones, graph) if both_directions else 0)
    is_wrong = (degree != 0) & ~((degree >= RANGE[0]) & (degree <= RANGE[1]))
    if bool(is_wrong.any()):
        v = int(is_wrong.argmax())
        raise ValueError(
            f"the weights at vertex {v} sum to {degree[v].item()}; expected 1e-150 to 1e150, or 0: scale all weights"
        )
    return degree


def _push_scores(graph: Any, source: int, degree: Any, alpha: float, epsilon: float, weighted: bool) -> Any:
    """Return the score of each vertex, which is an approximate personalized PageRank, after pushes until none is
    possible.

    A push moves a part of a vertex's residual to its score, and the rest to its neighbors. The source always pushes
    once. The fraction `retained` that becomes score accounts for the lazy steps of the random walk.
    """
    retained, source_degree = 2 * alpha / (1 + alpha), degree[source].item()
    fields: dict[str, Any] = {
        "score": {source: retained if source_degree else 1.0},
        "sent": {source: (1 - retained) / source_degree if source_degree else 0.0},
    }
    options = {"weights": graph.value_type if weighted else None, "direction": undirected(graph, weighted=weighted)}
    program = Pushes(retained=retained, epsilon=epsilon, **options)
    # Each iteration with a push converts at least `smallest_push` into score, and all scores sum to 1. So there are at
    # most 1 / `smallest_push` iterations. This limit is doubled because of rounding.
    smallest_push = retained * epsilon * float(degree[degree > 0].min()) if source_degree else 1.0
    iteration_limit = int(min(2 / smallest_push + 2, NO_LIMIT)) if smallest_push > 0 else NO_LIMIT
    result = run(
        program,
        graph,
        active=[source] if source_degree else [],
        max_iterations=iteration_limit,
        degree=degree,
        notice=False,
        **fields,
    )
    if not result.converged:
        raise RuntimeError(
            f"pagerank_nibble: vertices still push after {iteration_limit} iterations, with alpha {alpha} and "
            f"epsilon {epsilon}; expected an end by then. Pass larger values, or report this graph"
        )
    return result.score


def _best_prefix(graph: Any, source: int, degree: Any, scores: Any, weighted: bool) -> NibbleResult:
    """Return the prefix of the sweep with the smallest conductance, among those with edges both inside and outside.

    The sweep lists the vertices with a score, by decreasing score over degree. Of several prefixes of equal conductance
    the shortest is taken. Volumes and cuts are summed from the side of smaller volume, so that rounding errors of the
    larger side do not count.
    """
    xp: Any = module_of(graph.device)
    scored = xp.flatnonzero(scores > 0)
    order = scored[xp.argsort(-(scores[scored] / xp.maximum(degree[scored], RANGE[0])), kind="stable")]
    place_in_sweep = xp.full(graph.n, graph.n, graph.id_dtype)
    place_in_sweep[order] = xp.arange(len(order))
    options: dict[str, Any] = {"weights": graph.value_type, "sums": np.float64} if weighted else {}
    program = Inside(direction=undirected(graph, weighted=weighted), **options)
    result = run(program, graph, active=order, max_iterations=1, place=place_in_sweep, notice=False)
    # by how much each vertex of the sweep increases the cut when it is added
    degrees, cut_increase = degree[order], degree[order] - result.inside[order]
    outside_degrees = degree.copy()
    outside_degrees[order] = 0
    # the sum of the degrees outside of the sweep, and the weight of the cut around the whole sweep
    volume_outside, total_cut = outside_degrees.sum(), result.aggregates["twice_left"] / 2
    volume, outside_volume = xp.cumsum(degrees), volume_outside + _sums_after(degrees)
    cut_weights = xp.where(volume <= outside_volume, xp.cumsum(cut_increase), total_cut - _sums_after(cut_increase))
    smaller_volume = xp.minimum(volume, outside_volume)
    conductance = xp.where(
        smaller_volume > 0,
        xp.minimum(xp.maximum(cut_weights, 0), smaller_volume) / xp.maximum(smaller_volume, RANGE[0]),
        np.inf,
    )
    best_length = int(conductance.argmin())
    smallest = float(conductance[best_length])
    if smallest == np.inf:
        return NibbleResult(xp.full(1, source, graph.id_dtype), np.nan, scores)
    return NibbleResult(order[: best_length + 1].astype(graph.id_dtype), smallest, scores)


def _sums_after(values: Any) -> Any:
    """Return for each entry of an array the sum of all entries after it, added from the last entry back."""
    sums = array_module(values).zeros_like(values)
    sums[:-1] = array_module(values).cumsum(values[:0:-1])[::-1]
    return sums


ROW = Row(
    pagerank_nibble,
    Command(
        *("pagerank-nibble", {"member": "member"}),
        lambda f: (
            f"the community of {f.end('source')} has {len(f['vertices']):,} of {f.graph.n:,} vertices and conductance "
            f"{f['conductance']:.3g}; its first vertices:"
        ),
        lambda f: f.named(f["vertices"]),
        unpack=lambda graph, found: {**found._asdict(), "member": np.isin(np.arange(graph.n), found.vertices)},
    ),
    method="pushes from a worklist (Andersen, Chung, Lang, FOCS 2006; Shun et al., VLDB 2016)",
    longer="Pushes spread in small rounds, each with a barrier, and what was reached is sorted.",
)
