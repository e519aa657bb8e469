"""Verifier of edge betweenness: the sum of all scores, and the contributions of sampled sources."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.graph.graph import as_graph, is_undirected
from gasla.progress import track
from gasla.verify._common import (
    Array,
    Edges,
    VerificationError,
    check_source,
    edge_answer,
    edges_of,
    require,
    takes_names,
)
from gasla.verify.centrality.betweenness import affordable, dependencies_from, distances, is_near


@takes_names
def edge_betweenness(
    graph: Any,
    scores: ArrayLike,
    *,
    sources: Iterable[Any] | None = None,
    normalized: bool = True,
    weighted: bool = False,
    effort: float = 2e7,
    seed: int = 0,
) -> None:
    """Verify betweenness of edges.

    Without weights the scores must sum to the distances of all reachable pairs. Then the contributions of sampled
    sources, or of all if the effort allows it, are computed: with all sources every score must be equal to them,
    otherwise none may be lower.

    Parameters
    ----------
    graph, sources, normalized, weighted
        As for `gasla.edge_betweenness_centrality`, or the sources it drew.
    scores : array of float
        The answer, one score per stored edge.
    effort : float, default 2e7
        How many edges may be visited for contributions; at least one source is used.
    seed : int
        Seed for sampling sources.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> edge_betweenness(path, [2.0, 2.0], normalized=False)
    >>> edge_betweenness(path, [1.0, 3.0], normalized=False)
    Traceback (most recent call last):
    gasla.verify.VerificationError: the edge 0 -> 1 has the score 1, but shortest paths give 2
    """
    graph = as_graph(graph)
    edges, score = edges_of(graph), edge_answer("scores", graph, scores, "f").astype(np.float64)
    require(np.isfinite(score) & (score >= 0), lambda e: f"the edge {_named(edges, e)} has the score {score[e]}")
    chosen = np.arange(edges.n) if sources is None else np.array([check_source(s, edges.n) for s in sources], np.int64)
    undirected = is_undirected(graph, weighted)
    share = 1 / (edges.n - 1) if normalized else 1 / (2 if undirected else 1)
    scale = share * (1 if normalized else edges.n) / max(chosen.size, 1) if edges.n > 1 else 1.0

    if not weighted:
        matrix = edges.matrix()
        far = sum(float(d[np.isfinite(d)].sum()) for s in chosen.tolist() for d in [distances(matrix, s)])
        total, far = float(score.sum()), far * scale * (2 if undirected else 1)
        if abs(total - far) > 1e-6 * far + 1e-9:
            raise VerificationError(f"the scores of all edges sum to {total:.12g}, but distances to {far:.12g}")
    again = affordable(edges, chosen, effort, seed)
    due = np.zeros(edges.dst.size)
    for s in track(again.tolist(), "sources"):
        due += _parts(edges, s, weighted)
    if undirected:
        due = _both(edges, due, weighted)
    due *= scale
    require(
        is_near(score, due, again.size == chosen.size),
        lambda e: f"the edge {_named(edges, e)} has the score {score[e]:.9g}, but shortest paths give {due[e]:.9g}",
    )


def _named(edges: Edges, e: int) -> str:
    return f"{edges.src[e]} -> {edges.dst[e]}"


def _parts(edges: Edges, source: int, weighted: bool) -> Array:
    """The contribution of a source to each edge."""
    tight, log_count, dependency = dependencies_from(edges, source, weighted)
    src, dst = edges.src[tight], edges.dst[tight]
    parts = np.zeros(edges.dst.size)
    parts[tight] = np.exp(log_count[src] - log_count[dst]) * (1 + dependency[dst])
    return parts


def _both(edges: Edges, parts: Array, weighted: bool) -> Array:
    """Add the contributions of both directions of each edge; parallel edges of equal length share their mean."""
    length = np.unique(edges.weight, return_inverse=True)[1] if weighted else np.zeros(edges.dst.size, np.int64)
    ways = [np.stack([*ends, length]) for ends in ((edges.src, edges.dst), (edges.dst, edges.src))]
    _, which = np.unique(np.concatenate(ways, axis=1), axis=1, return_inverse=True)
    own, back = np.split(which.ravel(), 2)
    mean = np.bincount(own, parts) / np.maximum(np.bincount(own), 1)
    return np.asarray(mean[own] + mean[back])
