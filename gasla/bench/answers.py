"""What two right answers share: parents become depths, labels smallest members; and when those are equal enough."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.arrays import array_module

UNREACHED = 1e300  # distances from here on mean out of reach: some peers write inf, some the largest double


def equal(a: Any, b: Any) -> bool:
    """Whether they are the same."""
    return bool((a == b).all())


def near_in_sum(a: Any, b: Any) -> bool:
    """Whether they differ by little in all: float32 sums do."""
    return bool(abs(a - b).sum() < 1e-3)


def near(a: Any, b: Any) -> bool:
    """Whether each is near the other's."""
    return bool((abs(a - b) <= 1e-6 + 1e-3 * abs(b)).all())


def nothing(order: Any, _: list[int]) -> Any:
    """Two orders share nothing but that they are right."""
    return order[:0]


def depths(parents: Any, source: int) -> Any:
    """Return how many steps every vertex is from the source along its parents, -1 where they do not lead there."""
    xp = array_module(parents)
    vertices = xp.arange(len(parents))
    ancestor = xp.where(parents < 0, vertices, parents)
    ancestor[source] = source
    steps = (ancestor != vertices).astype(np.int64)
    for _ in range(len(parents).bit_length()):  # each round doubles how far it looks; parents may go round in a circle
        if not bool((ancestor != (further := ancestor[ancestor])).any()):
            break
        steps += steps[ancestor]
        ancestor = further
    return xp.where(ancestor == source, steps, -1)


def distances(values: Any, _: list[int]) -> Any:
    """Infinite where out of reach."""
    values = values.astype(np.float64)
    return array_module(values).where(values < UNREACHED, values, np.inf)


def smallest_members(labels: Any, _: list[int]) -> Any:
    """For each vertex the smallest of its component."""
    _, first, inverse = array_module(labels).unique(labels, return_index=True, return_inverse=True)
    return first[inverse]


def ranks(values: Any, _: list[int]) -> Any:
    """Ranks with sum one: NetworKit lets the share of vertices without edges go."""
    values = values.astype(np.float64)
    return values / values.sum()


def unit(values: Any, _: list[int]) -> Any:
    """Scores relative to their norm."""
    values = values.astype(np.float64)
    return values / float((values * values).sum()) ** 0.5


def ascending(ids: Any, _: list[int]) -> Any:
    """Ids in order."""
    return array_module(ids).sort(ids)


def pairs(rows: Any, _: list[int]) -> Any:
    """Pairs of vertices in order, each as one number."""
    rows = rows.astype(np.int64)
    return array_module(rows).sort((rows.min(axis=1) << 32) + rows.max(axis=1))


def scores(values: Any, sources: list[int]) -> Any:
    """Scores relative to the largest, but for the sources: peers scale undirected graphs and sources in other ways."""
    values = values.astype(np.float64)
    values[array_module(values).asarray(sources)] = 0
    largest = float(values.max())
    return values / largest if np.isfinite(largest) and largest > 0 else values


def upper_places(matrix: Any) -> np.ndarray[Any, Any]:
    """For each stored entry, which of those above the diagonal is its edge, in the order of the rows."""
    n, rows = matrix.shape[0], np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    keys = np.minimum(rows, matrix.indices) * n + np.maximum(rows, matrix.indices)
    return np.searchsorted(np.sort(keys[rows < matrix.indices]), keys)
