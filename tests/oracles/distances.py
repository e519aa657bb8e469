"""Verify closeness and harmonic centrality: some vertices' distances, from all that count, are found again."""

from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from gasla.progress import track
from gasla.verify._common import Array, answer, check_source, edges_of, require

Lengths = Literal["weight"] | None


def closeness(
    graph: Any,
    scores: ArrayLike,
    *,
    distance: Lengths = None,
    wf_improved: bool = True,
    sources: Iterable[int] | None = None,
    effort: float = 2e7,
    seed: int = 0,
) -> None:
    """Verify closeness centrality.

    Scores of vertices are computed again from their distances, of as many as the effort allows; no score may be
    negative, or above 1 where all lengths are.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> closeness(path, [2 / 3, 1.0, 2 / 3])
    >>> closeness(path, [2 / 3, 0.5, 2 / 3])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 1 has the score 0.5, but its distances give 1
    """

    def score(lengths: Array, among: int) -> float:
        mean = lengths.size / lengths.sum() if lengths.sum() > 0 else 0.0
        return mean * lengths.size / among if wf_improved and among else mean

    _again(graph, scores, distance, sources, score, effort, seed)


def harmonic(
    graph: Any,
    scores: ArrayLike,
    *,
    distance: Lengths = None,
    sources: Iterable[int] | None = None,
    k: int | None = None,
    effort: float = 2e7,
    seed: int = 0,
) -> None:
    """Verify harmonic centrality, as `closeness` does.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> harmonic(path, [1.5, 2.0, 1.5])
    >>> harmonic(path, [1.5, 2.0, 1.0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 2 has the score 1, but its distances give 1.5
    """
    n = len(np.asarray(scores))

    def score(lengths: Array, among: int) -> float:
        total = (1 / lengths[lengths > 0]).sum()
        return total if k is None else total * (n - 1) / among if among else 0.0

    _again(graph, scores, distance, sources, score, effort, seed)


def _again(
    graph: Any,
    scores: ArrayLike,
    distance: Lengths,
    sources: Iterable[int] | None,
    score: Callable[[Array, int], float],
    effort: float,
    seed: int,
) -> None:
    """Compare scores with what distances to a vertex give, and the number of sources other than it."""
    from scipy.sparse.csgraph import dijkstra

    edges = edges_of(graph)
    given = answer("scores", scores, edges.n, "f").astype(np.float64)
    require(np.isfinite(given), lambda v: f"vertex {v} has the score {given[v]}")
    require(given >= 0, lambda v: f"vertex {v} has the negative score {given[v]:g}")
    chosen = np.arange(edges.n)
    if sources is not None:
        chosen = np.array([check_source(s, edges.n) for s in sources], np.int64)
    shortest = _backwards(edges, distance)
    affordable = max(1, int(effort / max(1, edges.dst.size + edges.n)))
    asked = np.arange(edges.n)
    if affordable < edges.n:
        asked = np.random.default_rng(seed).choice(edges.n, affordable, replace=False)
    right = given.copy()
    for v in track(asked.tolist(), "vertices"):
        found = dijkstra(shortest, indices=[v])[0][chosen[chosen != v]]
        right[v] = score(found[np.isfinite(found)], found.size)
    require(
        np.abs(given - right) <= 1e-6 * right,
        lambda v: f"vertex {v} has the score {given[v]:.9g}, but its distances give {right[v]:.9g}",
    )


def _backwards(edges: Any, distance: Lengths) -> Any:
    """Every edge the other way, the shortest of parallel ones, with its length."""
    from scipy.sparse import csr_array

    length = np.ones(edges.dst.size) if distance is None else edges.weight
    order = np.lexsort((length, edges.src, edges.dst))
    src, dst, length = edges.src[order], edges.dst[order], length[order]
    first = np.ones(src.size, bool)
    first[1:] = (src[1:] != src[:-1]) | (dst[1:] != dst[:-1])
    return csr_array((length[first], (dst[first], src[first])), shape=(edges.n, edges.n))
