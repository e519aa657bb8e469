"""Verifier of PageRank-Nibble. It checks the residual that the scores leave, and the conductance of every prefix."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.graph.graph import as_graph, is_undirected
from gasla.verify._common import Array, Edges, VerificationError, check_source, edges_of, require, scores_of, verifier

ROUNDING = 1e-13


@verifier("shares")
def pagerank_nibble(
    graph: Any,
    source: Any,
    vertices: ArrayLike,
    conductance: float,
    scores: ArrayLike,
    *,
    alpha: float = 0.1,
    epsilon: float = 1e-6,
    weighted: bool = False,
) -> None:
    """Verify `vertices`, `conductance` and `scores` of `gasla.pagerank_nibble`.

    No vertex has a residual large enough to push, and no prefix of the order by score over degree has less conductance.

    Examples
    --------
    >>> import gasla
    >>> pairs = gasla.Graph.from_edges([0, 1, 2, 3, 1, 2], [1, 0, 3, 2, 2, 1])
    >>> found = gasla.pagerank_nibble(pairs, 0)
    >>> pagerank_nibble(pairs, 0, *found)
    >>> pagerank_nibble(pairs, 0, [0], 1.0, found.scores)
    Traceback (most recent call last):
    gasla.verify.VerificationError: the first 2 vertices have conductance 0.333333; expected no less than 1
    """
    graph = as_graph(graph)
    edges = edges_of(graph) if weighted else edges_of(graph.with_values(None))
    if not is_undirected(graph, weighted):
        src, dst = np.r_[edges.src, edges.dst], np.r_[edges.dst, edges.src]
        edges = edges._replace(src=src, dst=dst, weight=np.r_[edges.weight, edges.weight])
    source, score = check_source(source, edges.n), scores_of("scores", scores, edges.n)
    weight = edges.weight
    degree = np.bincount(edges.src, weight, edges.n)
    if degree[source]:
        _check_residual(edges, weight, degree, source, score, 2 * alpha / (1 + alpha), epsilon)
    else:
        require(score == (np.arange(edges.n) == source), lambda v: f"vertex {v} has score {score[v]:g}")
    order = _order(source, np.asarray(vertices), score, degree)
    conductances = _conductances(edges, weight, degree, order)
    _check_best(conductances, len(np.asarray(vertices)), float(conductance))


def _check_residual(
    edges: Edges, weight: Array, degree: Array, source: int, score: Array, retained: float, epsilon: float
) -> None:
    """Verify that no vertex has a residual large enough to push to its neighbors, as PageRank-Nibble must end.

    The residual of a vertex is its initial residual (1 for the source) minus what it pushed, plus what its neighbors
    sent. Scores determine the residual, because a push adds the fraction `retained` of what is pushed to the vertex's
    score.
    """
    sent = score / np.where(degree > 0, degree, 1)
    arrived = np.bincount(edges.dst, sent[edges.src] * weight, edges.n)
    residual = (np.arange(edges.n) == source) - (score - (1 - retained) * arrived) / retained
    rounding = ROUNDING * (1 + degree * np.max(sent, initial=0)) / retained
    require(residual >= -rounding, lambda v: f"vertex {v} has residual {residual[v]:g}; expected 0 or more")
    require(
        (residual <= epsilon * degree * (1 + 1e-6) + rounding),
        lambda v: f"vertex {v} has residual {residual[v]:g}, and could push; expected {epsilon * degree[v]:g} at most",
    )


def _order(source: int, vertices: Array, score: Array, degree: Array) -> Array:
    """Return all vertices that have a score: first those of the community, then the rest by decreasing score over
    degree.

    Verify that the vertices of the community are different, have scores, and are in this order, too.
    """
    if vertices.ndim != 1 or vertices.dtype.kind not in "iu" or not len(vertices):
        raise VerificationError(f"vertices are {vertices.dtype}{vertices.shape}; expected ids in one dimension")
    inside = (vertices >= 0) & (vertices < len(score))
    require(inside, lambda i: f"{vertices[i]} is not a vertex; expected 0 to {len(score) - 1}")
    member = np.zeros(len(score), bool)
    member[vertices] = True
    if member.sum() != len(vertices):
        raise VerificationError("a vertex appears twice in the community")
    require(score[vertices] > 0, lambda i: f"vertex {vertices[i]} of the community has score 0")
    rest = np.flatnonzero(~member & (score > 0))
    ratio = score / np.where(degree > 0, degree, 1)
    order = np.concatenate((vertices, rest[np.argsort(-ratio[rest], kind="stable")]))
    descends = ratio[order[1:]] <= ratio[order[:-1]] * (1 + ROUNDING)
    require(
        descends, lambda i: f"vertex {order[i + 1]} has more score over degree than {order[i]}, which comes before it"
    )
    return order


def _conductances(edges: Edges, weight: Array, degree: Array, order: Array) -> Array:
    """Return for each prefix of an order of vertices the conductance of the set of these vertices.

    An edge is cut by all prefixes that end between its first and its second vertex. Sums are taken from the side of
    smaller volume, to avoid the larger rounding errors of the other side.
    """
    position = np.full(edges.n, len(order))
    position[order] = np.arange(len(order))
    first_end, last_end = (f(position[edges.src], position[edges.dst]) for f in (np.minimum, np.maximum))
    cut_change = (np.bincount(first_end, weight, len(order) + 1) - np.bincount(last_end, weight, len(order) + 1)) / 2
    degree_at = np.bincount(position, degree, len(order) + 1)
    volume, outside = np.cumsum(degree_at)[:-1], np.cumsum(degree_at[::-1])[-2::-1]
    cut = np.where(volume <= outside, np.cumsum(cut_change)[:-1], -np.cumsum(cut_change[::-1])[-2::-1])
    smaller_volume = np.minimum(volume, outside)
    conductances: Array = np.where(
        smaller_volume > 0, np.clip(cut, 0, smaller_volume) / np.where(smaller_volume > 0, smaller_volume, 1), np.inf
    )
    return conductances


def _check_best(conductances: Array, count: int, conductance: float) -> None:
    best = int(np.argmin(conductances))
    answer = conductances[count - 1]
    if np.isnan(conductance) and answer == np.inf:
        answer = conductance = np.inf
    if not abs(answer - conductance) <= 1e-9 * (1 + abs(answer)) and not answer == conductance == np.inf:
        raise VerificationError(f"the community has conductance {answer:g}, not {conductance:g}")
    if conductances[best] < answer - 1e-9:
        raise VerificationError(
            f"the first {best + 1} vertices have conductance {conductances[best]:g}; expected no less than {answer:g}"
        )
