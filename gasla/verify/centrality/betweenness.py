"""Verifiers of betweenness, which follow one unit that each source sends to every vertex along shortest paths.

The sum of all scores follows from distances alone. No property tells how this sum is divided among vertices, so
`shares` recomputes what a source adds to the score of each edge, for a sample of the sources.
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
    """Verify `scores` of `gasla.betweenness_centrality`, for the same `sources`.

    Without weights the scores sum to (distance - 1) over all reachable pairs. For a random sample of the sources, whose
    searches visit `effort` edges in total, the sample's part of each score is computed again. No score is below this
    part. If all sources are in the sample, each score is equal to the part.

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
        ends = edges.dst if endpoints else edges.src  # with `endpoints`, a path also counts for its last vertex
        part = np.bincount(ends, share, edges.n)
        part[source] = share[edges.src == source].sum() if endpoints else 0
        return part

    sampled_part, sample_size = _sum_sampled_parts(edges, chosen, weighted, effort, seed, dependencies)
    _require_due(
        score, sampled_part * scale, sample_size, chosen.size, lambda v: f"vertex {v}", "its dependencies give"
    )


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
    sampled_part, sample_size = _sum_sampled_parts(edges, chosen, weighted, effort, seed, lambda share, _: share)
    sampled_part = _sum_both_directions(edges, sampled_part, weighted) if undirected else sampled_part
    _require_due(
        score, sampled_part * scale, sample_size, chosen.size, lambda e: edge_name(edges, e), "shortest paths give"
    )


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
    expected = np.bincount(edges.dst[tight], count[edges.src[tight]], edges.n)
    expected[source] = 1
    require(
        np.isclose(count, expected, rtol=1e-9, atol=0),
        lambda v: f"vertex {v} has {count[v]:g} shortest paths; expected {expected[v]:g} by its in-neighbors",
    )


def _require_sum(edges: Edges, sources: Array, total: float, more: int) -> None:
    """Verify that all scores before scaling sum to the same as (distance + `more`) over all reachable pairs."""
    matrix, expected = edges.matrix(), 0.0
    for s in track(sources.tolist(), "sources"):
        distance = distances_from(matrix, s)
        expected += float((distance[np.isfinite(distance) & (np.arange(edges.n) != s)] + more).sum())
    if not abs(total - expected) <= 1e-6 * expected + 1e-9:
        raise VerificationError(f"the scores sum to {total:.12g} before scaling, but distances to {expected:.12g}")


def _sum_sampled_parts(
    edges: Edges, sources: Array, weighted: bool, effort: float, seed: int, part: Callable[[Array, int], Array]
) -> tuple[Array, int]:
    """Compute for a random sample of the sources what they add to the scores. Return the sums, and the size of the
    sample.

    `effort` is the number of edges and vertices that all searches may visit, and so limits the sample. `part` turns the
    result of `shares` for a source into the unscaled scores that the source adds.
    """
    sample_size = max(1, int(effort / max(1, edges.dst.size + edges.n)))
    sampled = (
        sources
        if sample_size >= sources.size
        else np.random.default_rng(seed).choice(sources, sample_size, replace=False)
    )
    parts = (part(shares(edges, s, weighted), s) for s in track(sampled.tolist(), "sources"))
    return np.asarray(sum(parts, np.zeros(1))), sampled.size


def _require_due(score: Array, due: Array, some: int, count: int, name: Callable[[int], str], words: str) -> None:
    """Verify scores against `due`, the sum of what `some` of the `count` sources add to each score.

    If `some` equals `count`, the scores must equal `due`. Otherwise they must be at least `due`.
    """
    due = np.broadcast_to(due, score.shape)
    excess = np.abs(score - due) if some == count else due - score
    suffix = "" if some == count else f" for {some} of the sources alone"
    require(
        excess <= 1e-6 * due + 1e-12 * due.max(initial=0.0),
        lambda i: f"{name(i)} has the score {score[i]:.9g}, but {words} {due[i]:.9g}{suffix}",
    )


def _scale_of_vertices(n: int, sources: Array | None, normalized: bool, directed: bool, endpoints: bool) -> Array:
    """Return the factor that turns each vertex's sum of dependencies into its score.

    The factors follow NetworkX's rules for scores from a sample of the sources.
    """
    pairs_of = n if endpoints else n - 1  # number of vertices at which a path from one vertex may end
    if pairs_of < 2:
        return np.ones(n)
    count = pairs_of if sources is None or sources.size == n else sources.size

    def scale(among: int) -> float:
        if among == 0:
            return 0.0
        return 1 / (among * (pairs_of - 1)) if normalized else pairs_of / (among * (1 if directed else 2))

    result = np.full(n, scale(count))
    # a path from a source does not count for the source itself, so a source gets scores from one source fewer
    if sources is not None and sources.size < n and not endpoints:
        result[sources] = scale(count - 1)
    return result


def _sum_both_directions(edges: Edges, parts: Array, weighted: bool) -> Array:
    """Return for each edge its value in `parts`, plus the value of the edge in the opposite direction between the same
    vertices.

    Parallel edges of equal length get the mean of their parts.
    """
    length = np.unique(edges.weight, return_inverse=True)[1] if weighted else np.zeros(edges.dst.size, np.int64)
    keys = [np.stack([*ends, length]) for ends in ((edges.src, edges.dst), (edges.dst, edges.src))]
    _, key = np.unique(np.concatenate(keys, axis=1), axis=1, return_inverse=True)
    forward, backward = np.split(key.ravel(), 2)
    mean = np.bincount(forward, parts) / np.maximum(np.bincount(forward), 1)
    return np.asarray(mean[forward] + mean[backward])


def shares(edges: Edges, source: int, weighted: bool) -> Array:
    """Send one unit from a source to every vertex, equally along all shortest paths. Return how much crosses each edge.

    Path counts are kept as logarithms, so that they do not overflow. A length can be so small that adding it to a
    distance changes nothing. Such an edge may lie on shortest paths in both directions, so among paths of equal length,
    those with the fewest such edges count as the shortest.
    """
    tight = _tight_edges(edges, source, weighted)
    src, dst = edges.src[tight], edges.dst[tight]

    log_count = np.full(edges.n, -np.inf)
    log_count[source] = 0.0
    layers = list(_layers(edges.matrix(np.arange(tight.size), tight), source))
    for layer in layers:
        np.logaddexp.at(log_count, edges.dst[layer], log_count[edges.src[layer]])
    share, amount_through = np.zeros(edges.dst.size), np.zeros(edges.n)
    # the number of shortest paths that reach the head of an edge by this edge, divided by that of all shortest paths to
    # the head
    share[tight] = np.exp(log_count[src] - log_count[dst])
    for layer in reversed(layers):
        share[layer] *= 1 + amount_through[edges.dst[layer]]
        np.add.at(amount_through, edges.src[layer], share[layer])
    return share


def _tight_edges(edges: Edges, source: int, weighted: bool) -> Array:
    """Return for each edge whether it lies on a shortest path from the source."""
    length = edges.weight if weighted else np.ones(edges.dst.size)
    distance = distances_from(edges.matrix(length), source)
    tight = distance[edges.src] + length == distance[edges.dst]
    tight &= np.isfinite(distance[edges.dst]) & (edges.dst != source)
    return _without_level_cycles(edges, source, distance, tight)


def _without_level_cycles(edges: Edges, source: int, distance: Array, tight: Array) -> Array:
    """Return `tight`, the edges on shortest paths, without those that would close a cycle of vanishing edges.

    An edge vanishes if its length is so small that its two ends have the same distance. Of these edges the result keeps
    the ones whose head is one hop further than their tail. Hops are counted in vanishing edges, from the vertex
    where a path reached that distance.
    """
    level = tight & (distance[edges.src] == distance[edges.dst])
    if not level.any():
        return tight
    hops = np.full(edges.n, edges.n)
    hops[[source, *edges.dst[tight & ~level]]] = 0
    # each iteration reaches at least one more vertex or ends the loop, so n iterations are enough
    for hop in range(edges.n):
        is_next = level & (hops[edges.src] == hop) & (hops[edges.dst] > hop)
        if not is_next.any():
            break
        hops[edges.dst[is_next]] = hop + 1
    return tight & (~level | (hops[edges.src] + 1 == hops[edges.dst]))


def _layers(paths: "csr_array", source: int) -> Iterator[Array]:
    """Yield arrays of edge ids of an acyclic graph, such that all edges to a vertex come before the edges from it.

    `paths` is the adjacency matrix, with edge ids as values. The edges from a vertex are yielded only once, when all
    edges to the vertex have been yielded, so the loop ends.
    """
    waiting = np.bincount(paths.indices, minlength=paths.shape[0])
    frontier = np.array([source])
    while frontier.size:
        rows = paths[frontier]
        yield rows.data
        targets, arrived = np.unique(rows.indices, return_counts=True)
        waiting[targets] -= arrived
        frontier = targets[waiting[targets] == 0]
