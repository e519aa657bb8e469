"""Verifiers of betweenness, by the share of each edge in the shortest paths from a source.

The sum of all scores follows from distances alone. No property tells how the sum is divided among vertices, so `shares`
computes the part that a source adds a second time, for a sample of the sources.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.graph.graph import as_graph, is_undirected
from gasla.progress import track
from gasla.verify._common import (
    Array,
    Edges,
    VerificationError,
    check_source,
    check_sources,
    distances_from,
    edge_answer,
    edge_name,
    edges_of,
    require,
    scores_of,
    verifier,
    vertex_answer,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@verifier("positive")
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
    """Verify `gasla.betweenness_centrality` for the sources that it drew.

    Without weights the scores sum to (distance - 1) over all reachable pairs. No score is below the part of sampled
    sources, whose searches visit `effort` edges; where these are all sources, every score is equal to it.

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
    score = scores_of("scores", scores, edges.n)
    chosen = check_sources(sources, edges.n)
    directed = not is_undirected(graph, weighted)
    scale = _scale_of_vertices(edges.n, None if sources is None else chosen, normalized, directed, endpoints)
    if not weighted:
        total = float(np.divide(score, scale, out=np.zeros(edges.n), where=scale != 0).sum())
        _require_sum(edges, chosen, total, 1 if endpoints else -1)

    def dependencies(share: Array, source: int) -> Array:
        ends = edges.dst if endpoints else edges.src  # what arrives at a vertex includes the path that ends there
        part = np.bincount(ends, share, edges.n)
        part[source] = share[edges.src == source].sum() if endpoints else 0
        return part

    due, some = _sum_of_parts(edges, chosen, weighted, effort, seed, dependencies)
    _require_due(score, due * scale, some, chosen.size, lambda v: f"vertex {v}", "its dependencies give")


@verifier("positive")
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
    """Verify `gasla.edge_betweenness_centrality` for the sources that it drew.

    Without weights the scores sum to the distances of all reachable pairs. No score is below the part of sampled
    sources, as for `betweenness`, whose searches visit `effort` edges.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> edge_betweenness(path, [2.0, 2.0], normalized=False)
    >>> edge_betweenness(path, [1.0, 3.0], normalized=False)
    Traceback (most recent call last):
    gasla.verify.VerificationError: edge 0 → 1 has the score 1, but shortest paths give 2
    """
    graph = as_graph(graph)
    edges, score = edges_of(graph), edge_answer("scores", graph, scores, "f").astype(np.float64)
    require(np.isfinite(score) & (score >= 0), lambda e: f"{edge_name(edges, e)} has the score {score[e]}")
    chosen = check_sources(sources, edges.n)
    undirected = is_undirected(graph, weighted)
    share = 1 / max(edges.n - 1, 1) if normalized else 1 / (2 if undirected else 1)
    scale = share * (1 if normalized else max(edges.n, 1)) / max(chosen.size, 1)
    if not weighted:
        _require_sum(edges, chosen, float(score.sum()) / scale / (2 if undirected else 1), 0)
    due, some = _sum_of_parts(edges, chosen, weighted, effort, seed, lambda share, _: share)
    due = _both_ways(edges, due, weighted) if undirected else due
    _require_due(score, due * scale, some, chosen.size, lambda e: edge_name(edges, e), "shortest paths give")


@verifier("positive")
def number_of_shortest_paths(graph: Any, source: Any, counts: ArrayLike, *, weighted: bool = False) -> None:
    """Verify `counts` of `gasla.number_of_shortest_paths`, by distances of SciPy.

    The source has 1, and each other vertex the sum over the edges to it that are on a shortest path.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> number_of_shortest_paths(path, 0, [1.0, 1.0, 1.0])
    >>> number_of_shortest_paths(path, 1, [1.0, 1.0, 1.0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 0 has 1 shortest paths; expected 0 by its in-neighbors
    """
    edges = edges_of(graph)
    source, count = check_source(source, edges.n), vertex_answer("counts", counts, edges.n, "f")
    tight = _tight_edges(edges, source, weighted)
    right = np.bincount(edges.dst[tight], count[edges.src[tight]], edges.n)
    right[source] = 1
    require(
        np.isclose(count, right, rtol=1e-9, atol=0),
        lambda v: f"vertex {v} has {count[v]:g} shortest paths; expected {right[v]:g} by its in-neighbors",
    )


def _require_sum(edges: Edges, sources: Array, total: float, more: int) -> None:
    """Verify that the scores, before scaling, sum to the sum of (distance + `more`) over all reachable pairs."""
    matrix, right = edges.matrix(), 0.0
    for s in track(sources.tolist(), "sources"):
        distance = distances_from(matrix, s)
        right += float((distance[np.isfinite(distance) & (np.arange(edges.n) != s)] + more).sum())
    if not abs(total - right) <= 1e-6 * right + 1e-9:
        raise VerificationError(f"the scores sum to {total:.12g} before scaling, but distances to {right:.12g}")


def _sum_of_parts(
    edges: Edges, sources: Array, weighted: bool, effort: float, seed: int, part: Callable[[Array, int], Array]
) -> tuple[Array, int]:
    """Return the sum of the parts that a sample of the sources adds to the scores, and the size of the sample."""
    most = max(1, int(effort / max(1, edges.dst.size + edges.n)))
    some = sources if most >= sources.size else np.random.default_rng(seed).choice(sources, most, replace=False)
    parts = (part(shares(edges, s, weighted), s) for s in track(some.tolist(), "sources"))
    return np.asarray(sum(parts, np.zeros(1))), some.size


def _require_due(score: Array, due: Array, some: int, count: int, name: Callable[[int], str], words: str) -> None:
    """Verify that scores equal `due` if it is the sum over all sources, or else are at least `due`."""
    due = np.broadcast_to(due, score.shape)
    off = np.abs(score - due) if some == count else due - score
    sample = "" if some == count else f" for {some} of the sources alone"
    require(
        off <= 1e-6 * due + 1e-12 * due.max(initial=0.0),
        lambda i: f"{name(i)} has the score {score[i]:.9g}, but {words} {due[i]:.9g}{sample}",
    )


def _scale_of_vertices(n: int, sources: Array | None, normalized: bool, directed: bool, endpoints: bool) -> Array:
    """Return the factor of each vertex's sum of dependencies, by NetworkX's rules for a sample of sources."""
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


def _both_ways(edges: Edges, parts: Array, weighted: bool) -> Array:
    """Return for each edge the sum of `parts` in both directions. Parallel edges of equal length get their mean."""
    length = np.unique(edges.weight, return_inverse=True)[1] if weighted else np.zeros(edges.dst.size, np.int64)
    ways = [np.stack([*ends, length]) for ends in ((edges.src, edges.dst), (edges.dst, edges.src))]
    _, which = np.unique(np.concatenate(ways, axis=1), axis=1, return_inverse=True)
    own, back = np.split(which.ravel(), 2)
    mean = np.bincount(own, parts) / np.maximum(np.bincount(own), 1)
    return np.asarray(mean[own] + mean[back])


def shares(edges: Edges, source: int, weighted: bool) -> Array:
    """Send one from a source to every vertex, equally along all shortest paths. Return how much crosses each edge.

    Path counts are logarithms, which do not overflow. If a length vanishes when added to a distance, an edge may be
    tight in both directions: among paths of equal length, those with the fewest vanishing edges are the shortest.
    """
    tight = _tight_edges(edges, source, weighted)
    src, dst = edges.src[tight], edges.dst[tight]

    log_count = np.full(edges.n, -np.inf)
    log_count[source] = 0.0
    layers = list(_layers(edges.matrix(np.arange(tight.size), tight), source))
    for layer in layers:
        np.logaddexp.at(log_count, edges.dst[layer], log_count[edges.src[layer]])
    share, passed = np.zeros(edges.dst.size), np.zeros(edges.n)
    share[tight] = np.exp(log_count[src] - log_count[dst])  # of what ends at, or passes, the head
    for layer in reversed(layers):
        share[layer] *= 1 + passed[edges.dst[layer]]
        np.add.at(passed, edges.src[layer], share[layer])
    return share


def _tight_edges(edges: Edges, source: int, weighted: bool) -> Array:
    """Return which edges lie on a shortest path from the source."""
    length = edges.weight if weighted else np.ones(edges.dst.size)
    distance = distances_from(edges.matrix(length), source)
    tight = distance[edges.src] + length == distance[edges.dst]
    tight &= np.isfinite(distance[edges.dst]) & (edges.dst != source)
    return _ascending(edges, source, distance, tight)


def _ascending(edges: Edges, source: int, distance: Array, tight: Array) -> Array:
    """Keep of the tight edges that vanish only those whose head is one hop further than their tail.

    Hops count the vanishing edges since the path reached that distance.
    """
    level = tight & (distance[edges.src] == distance[edges.dst])
    if not level.any():
        return tight
    hops = np.full(edges.n, edges.n)
    hops[[source, *edges.dst[tight & ~level]]] = 0
    for hop in range(edges.n):  # each iteration finds a vertex, or is the last
        is_next = level & (hops[edges.src] == hop) & (hops[edges.dst] > hop)
        if not is_next.any():
            break
        hops[edges.dst[is_next]] = hop + 1
    return tight & (~level | (hops[edges.src] + 1 == hops[edges.dst]))


def _layers(paths: "csr_array", source: int) -> Iterator[Array]:
    """Yield the edges of an acyclic graph, whose ids are its values, in topological order of their tails.

    Ends: each vertex is in at most one frontier, when its count of waiting edges reaches 0.
    """
    waiting = np.bincount(paths.indices, minlength=paths.shape[0])
    frontier = np.array([source])
    while frontier.size:
        rows = paths[frontier]
        yield rows.data
        targets, arrived = np.unique(rows.indices, return_counts=True)
        waiting[targets] -= arrived
        frontier = targets[waiting[targets] == 0]
