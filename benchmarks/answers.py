"""Do two answers say the same? Each takes one form first: parents become depths, labels become smallest members."""

from __future__ import annotations

from typing import Any

import numpy as np

UNREACHED = 1e300  # distances from here on mean out of reach: some peers write inf, some the largest double


def comparable(algorithm: str, answer: Any, sources: list[int]) -> np.ndarray:
    """Return the answer, found from these sources, as an array that two right answers share, up to rounding."""
    return _FORMS[algorithm](np.asarray(answer), sources)


def agree(algorithm: str, a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two comparable answers are equal, up to what float32 sums may differ by."""
    if a.shape != b.shape:
        return False
    if algorithm == "pagerank":
        return bool(np.abs(a - b).sum() < 1e-3)
    if algorithm == "betweenness":
        return bool(np.allclose(a, b, rtol=1e-3, atol=1e-6))
    return bool(np.array_equal(a, b))


def depths(parents: np.ndarray, source: int) -> np.ndarray:
    """Return how many steps every vertex is from the source along its parents, -1 where they do not lead there."""
    vertices = np.arange(len(parents))
    ancestor = np.where(parents < 0, vertices, parents)
    ancestor[source] = source
    steps = (ancestor != vertices).astype(np.int64)
    while not np.array_equal(ancestor, further := ancestor[ancestor]):
        steps += steps[ancestor]
        ancestor = further
    return np.where(ancestor == source, steps, -1)


def _distances(values: np.ndarray, _: list[int]) -> np.ndarray:
    values = values.astype(np.float64)
    return np.where(values < UNREACHED, values, np.inf)


def _smallest_members(labels: np.ndarray, _: list[int]) -> np.ndarray:
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return first[inverse]


def _ranks(values: np.ndarray, _: list[int]) -> np.ndarray:
    """Ranks with sum one: NetworKit lets the share of vertices without edges go."""
    values = values.astype(np.float64)
    return values / values.sum()


def _scores(values: np.ndarray, sources: list[int]) -> np.ndarray:
    """Scores relative to the largest, but for the sources: peers scale undirected graphs and sources in other ways."""
    values = values.astype(np.float64)
    values[sources] = 0
    return values / max(values.max(initial=0.0), np.finfo(np.float64).tiny) if np.isfinite(values).all() else values


_FORMS: dict[str, Any] = {
    "bfs": lambda parents, sources: depths(parents, sources[0]),
    "sssp": _distances,
    "pagerank": _ranks,
    "components": _smallest_members,
    "triangles": lambda count, _: count.astype(np.int64),
    "betweenness": _scores,
}
