"""Verifiers of betweenness of vertices and edges: the sum of all scores, and the contributions of sampled sources."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gasla.graph.graph import as_graph, is_undirected
from gasla.progress import track
from gasla.verify._common import (
    Array,
    Edges,
    VerificationError,
    check_sources,
    edge_answer,
    edges_of,
    require,
    takes_names,
    vertex_answer,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@takes_names
def betweenness(
    graph: Any,
    scores: ArrayLike,
    *,
    sources: Iterable[Any] | None = None,
    normalized: bool = True,
    weighted: bool = False,
    endpoints: bool = False,
    effort: float = 2e7,
    seed: int = 0,
) -> None:
    """Verify betweenness centrality.

    Without weights the scores must sum to (distance - 1) over all reachable pairs. Then the dependencies of sampled
    sources, or of all if the effort allows it, are computed: with all sources every score must be equal to their sum,
    otherwise none may be lower.

    Parameters
    ----------
    graph, sources, normalized, weighted, endpoints
        As for `gasla.betweenness_centrality`, or the sources it drew.
    scores : array of float
        The answer.
    effort : float, default 2e7
        How many edges may be visited for dependencies; at least one source is used.
    seed : int
        Seed for sampling sources.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> betweenness(path, [0.0, 1.0, 0.0])
    >>> betweenness(path, [0.0, 0.5, 0.5])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 1 has the score 0.5, but its dependencies give 1
    """
    graph = as_graph(graph)
    edges = edges_of(graph)
    score = vertex_answer("scores", scores, edges.n, "f").astype(np.float64)
    require(np.isfinite(score), lambda v: f"vertex {v} has the score {score[v]}")
    require(score >= 0, lambda v: f"vertex {v} has the negative score {score[v]}")
    chosen = check_sources(sources, edges.n)
    directed = not is_undirected(graph, weighted)
    scale = _betweenness_scale(edges.n, None if sources is None else chosen, normalized, directed, endpoints)

    if not weighted:
        _betweenness_sum(edges, score, scale, chosen, endpoints)
    again = affordable(edges, chosen, effort, seed)
    due = np.zeros(edges.n)
    for s in track(again.tolist(), "sources"):
        due += _dependencies(edges, s, weighted, endpoints)
    due *= scale
    require(
        is_near(score, due, again.size == chosen.size),
        lambda v: (
            f"vertex {v} has the score {score[v]:.9g}, but its dependencies give {due[v]:.9g}"
            + ("" if again.size == chosen.size else f" for {again.size} of the sources alone")
        ),
    )


def affordable(edges: Edges, chosen: Array, effort: float, seed: int) -> Array:
    """All sources, or a random sample of as many as the effort allows."""
    most = max(1, int(effort / max(1, edges.dst.size + edges.n)))
    if most >= chosen.size:
        return chosen
    return np.random.default_rng(seed).choice(chosen, most, replace=False)


def is_near(score: Array, due: Array, is_all: bool) -> Array:
    """Whether scores equal the contributions of all sources, or are not below those of some."""
    off = np.abs(score - due) if is_all else due - score
    return off <= 1e-6 * due + 1e-12 * due.max(initial=0.0)


def _betweenness_scale(n: int, sources: Array | None, normalized: bool, directed: bool, endpoints: bool) -> Array:
    """The factor of each vertex's sum of dependencies, by NetworkX's rules for a sample of sources."""
    pairs_of = n if endpoints else n - 1  # number of possible ends of a path from a vertex
    if pairs_of < 2:
        return np.ones(n)
    count = pairs_of if sources is None or sources.size == n else sources.size

    def scale(among: int) -> float:
        if among == 0:
            return 0.0
        return 1 / (among * (pairs_of - 1)) if normalized else pairs_of / (among * (1 if directed else 2))

    result = np.full(n, scale(count))
    if sources is not None and sources.size < n and not endpoints:  # a source is not inside its own paths
        result[sources] = scale(count - 1)
    return result


def _betweenness_sum(edges: Edges, score: Array, scale: Array, sources: Array, endpoints: bool) -> None:
    matrix = edges.matrix()
    inside = 0.0
    for s in track(sources.tolist(), "sources"):
        distance = distances(matrix, s)
        reached = np.isfinite(distance)
        reached[s] = False
        inside += float((distance[reached] + (1 if endpoints else -1)).sum())
    total = float(np.divide(score, scale, out=np.zeros(edges.n), where=scale != 0).sum())
    if abs(total - inside) > 1e-6 * inside + 1e-9:
        raise VerificationError(
            f"the dependencies of all vertices sum to {total:.12g}, but the inner vertices of all shortest paths "
            f"from {sources.size} sources to {inside:.12g}"
        )


def distances(matrix: "csr_array", source: int) -> Array:
    """Distances from a vertex; inf if unreachable."""
    from scipy.sparse.csgraph import dijkstra

    return dijkstra(matrix, indices=[source])[0]


def _dependencies(edges: Edges, source: int, weighted: bool, endpoints: bool) -> Array:
    """The contribution of a source to each vertex."""
    found = dependencies_from(edges, source, weighted)
    dependency, reached = found.dependency, found.log_count > -np.inf
    dependency[source] = 0.0
    if endpoints:
        dependency[reached] += 1
        dependency[source] = reached.sum() - 1
    return dependency


class Dependencies(NamedTuple):
    """The result of Brandes' algorithm from one source; path counts are logarithms, to avoid overflow."""

    is_tight: Array  # whether each edge is on a shortest path
    log_count: Array
    dependency: Array


def dependencies_from(edges: Edges, source: int, weighted: bool) -> Dependencies:
    """Run Brandes' algorithm from one source.

    If a length vanishes when added to a distance, an edge may be tight in both directions: among paths of equal length,
    those with the fewest vanishing edges are the shortest.
    """
    length = edges.weight if weighted else np.ones(edges.dst.size)
    distance = distances(edges.matrix(length), source)
    reached = np.isfinite(distance)
    with np.errstate(invalid="ignore"):
        tight = distance[edges.src] + length == distance[edges.dst]
    tight &= reached[edges.src] & reached[edges.dst] & (edges.dst != source)
    tight = _ascending(edges, source, distance, tight, length)
    paths = edges.matrix(keep=tight)

    log_count = np.full(edges.n, -np.inf)
    log_count[source] = 0.0
    layers = list(_layers(paths, source))
    for start, end in layers:
        np.logaddexp.at(log_count, end, log_count[start])
    if np.isneginf(log_count[reached]).any():
        raise ValueError(f"edges of weight 0 form a cycle near source {source}: shortest paths can't be counted")
    dependency = np.zeros(edges.n)
    for start, end in reversed(layers):
        np.add.at(dependency, start, np.exp(log_count[start] - log_count[end]) * (1 + dependency[end]))
    return Dependencies(tight, log_count, dependency)


def _ascending(edges: Edges, source: int, distance: Array, tight: Array, length: Array) -> Array:
    """Keep of the tight edges that vanish only those whose head is one hop further than their tail.

    Hops count the vanishing edges since the path reached that distance.
    """
    level = tight & (distance[edges.src] == distance[edges.dst]) & (length > 0)
    if not level.any():
        return tight
    hops = np.full(edges.n, edges.n)
    hops[[source, *edges.dst[tight & ~level]]] = 0
    for hop in range(edges.n):  # each iteration finds a vertex, or is the last
        found = level & (hops[edges.src] == hop) & (hops[edges.dst] > hop)
        if not found.any():
            break
        hops[edges.dst[found]] = hop + 1
    return tight & (~level | (hops[edges.src] + 1 == hops[edges.dst]))


def _layers(paths: "csr_array", source: int) -> Iterator[tuple[Array, Array]]:
    """Yield the edges of an acyclic graph in topological order of their tails, layer by layer.

    Ends: each vertex is in at most one frontier, when its count of waiting edges reaches 0.
    """
    waiting = np.bincount(paths.indices, minlength=paths.shape[0])
    frontier = np.array([source])
    while frontier.size:
        count = paths.indptr[frontier + 1] - paths.indptr[frontier]
        first = np.repeat(paths.indptr[frontier] - np.concatenate(([0], np.cumsum(count)[:-1])), count)
        end = paths.indices[first + np.arange(first.size)]
        yield np.repeat(frontier, count), end
        targets, arrived = np.unique(end, return_counts=True)
        waiting[targets] -= arrived
        frontier = targets[waiting[targets] == 0]


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
    chosen = check_sources(sources, edges.n)
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
