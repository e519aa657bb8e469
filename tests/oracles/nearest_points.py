"""Oracle of graphs of nearest neighbors, by all distances from sampled points."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.datasets import great_circle
from gasla.verify._common import SAMPLES, Array, Edges, VerificationError, edge_name, edges_of, require, sample

ORDERS = {"euclidean": 2, "manhattan": 1, "chebyshev": np.inf}  # of NumPy's norms
TOLERANCE = 1e-9  # relative error of distances
NEARLY = {"cosine": 1e-15, "haversine": 1e-8}  # and absolute errors


def nearest_neighbors_graph(
    points: ArrayLike,
    graph: Any,
    k: int,
    *,
    metric: str = "euclidean",
    symmetric: bool = False,
    samples: int = SAMPLES,
) -> None:
    """Verify the distances of all edges, and that neighbors of sampled points are nearest: no other point is nearer.

    Parameters
    ----------
    points, k, metric, symmetric
        As for `gasla.nearest_neighbors_graph`.
    graph : Graph
        The answer.
    samples : int
        Number of points to check.

    Examples
    --------
    >>> import gasla
    >>> points = [[0.0], [1.0], [5.0]]
    >>> nearest_neighbors_graph(points, gasla.Graph.from_edges([0, 1, 2], [1, 0, 1], [1.0, 1.0, 4.0]), 1)
    >>> nearest_neighbors_graph(points, gasla.Graph.from_edges([0, 1, 2], [1, 0, 0], [1.0, 1.0, 5.0]), 1)
    Traceback (most recent call last):
    gasla.verify.VerificationError: point 2 has a neighbor at distance 5; the farthest of the nearest is at 4
    """
    rows, edges = np.asarray(points, np.float64), edges_of(graph)
    exponent = int(np.frexp(np.abs(rows).max(initial=0))[1]) if metric in ORDERS else 0
    rows, lengths = np.ldexp(rows, -exponent), np.ldexp(edges.weight, -exponent)
    if edges.n != len(rows):
        raise VerificationError(f"the graph has {edges.n} vertices; expected one for each of {len(rows)} points")
    require(edges.src != edges.dst, lambda e: f"{edge_name(edges, e)} is a loop")
    right = _between(rows[edges.src], rows[edges.dst], metric)
    require(
        np.abs(lengths - right) <= TOLERANCE * right + NEARLY.get(metric, 0),
        lambda e: f"{edge_name(edges, e)} has the value {edges.weight[e]:.9g}; expected {right[e] * 2.0**exponent:.9g}",
    )
    _check_numbers(edges, k, symmetric)
    if k == 0:
        return
    some = sample(edges.n, samples)
    if symmetric:
        _check_either(edges, rows, lengths, k, metric, some)
        return
    for v in some.tolist():
        near = _radius(_distances(rows, v, metric), v, k)
        own = lengths[edges.indptr[v] : edges.indptr[v + 1]]
        if own.max() > near * (1 + TOLERANCE) + NEARLY.get(metric, 0):
            raise VerificationError(
                f"point {v} has a neighbor at distance {np.ldexp(own.max(), exponent):.9g}; the farthest of the "
                f"nearest is at {np.ldexp(near, exponent):.9g}"
            )
        if (own[1:] < own[:-1]).any():
            raise VerificationError(f"the neighbors of point {v} are not in ascending order of distance")


def _check_numbers(edges: Edges, k: int, symmetric: bool) -> None:
    """No edge twice; k edges from each point, or k and more, and each in both directions."""
    keys = np.sort(edges.src.astype(np.int64) * edges.n + edges.dst)
    if (keys[1:] == keys[:-1]).any():
        raise VerificationError("a point is a neighbor of the same point twice")
    degree = np.diff(edges.indptr)
    if symmetric:
        back = np.sort(edges.dst.astype(np.int64) * edges.n + edges.src)
        require(keys == back, lambda e: f"{keys[e] // edges.n} → {keys[e] % edges.n} or its reverse is missing")
        require((degree >= k) & ((degree == 0) | (k > 0)), lambda v: f"point {v} has {degree[v]} neighbors, not {k}")
    else:
        require(degree == k, lambda v: f"point {v} has {degree[v]} neighbors, not {k}")


def _check_either(edges: Edges, rows: Array, lengths: Array, k: int, metric: str, some: Array) -> None:
    """Sampled points have all that are nearest to them, and others only to which they are nearest."""
    for v in some.tolist():
        own = slice(edges.indptr[v], edges.indptr[v + 1])
        distance = _distances(rows, v, metric)
        near = _radius(distance, v, k)
        needed = distance < near * (1 - TOLERANCE) - NEARLY.get(metric, 0)
        needed[v], needed[edges.dst[own]] = False, False
        if needed.any():
            raise VerificationError(f"point {v} lacks the neighbor {int(needed.argmax())}, one of the {k} nearest")
        for u in edges.dst[own][lengths[own] > near * (1 + TOLERANCE) + NEARLY.get(metric, 0)].tolist():
            far = _radius(_distances(rows, u, metric), u, k) * (1 + TOLERANCE) + NEARLY.get(metric, 0)
            if distance[u] > far:
                raise VerificationError(f"point {u} is a neighbor of {v}; neither is among the nearest of the other")


def _distances(rows: Array, v: int, metric: str) -> Array:
    """The distances of all points from point v."""
    return _between(rows, rows[v], metric)


def _between(rows: Array, others: Array, metric: str) -> Array:
    """The distances between rows, or of all from one."""
    if metric == "haversine":
        return np.asarray(great_circle(*rows.T, *others.T))
    if metric == "cosine":
        norms = np.linalg.norm(rows, axis=1) * np.linalg.norm(others, axis=-1)
        return np.asarray(1 - (rows * others).sum(axis=1) / norms)
    return np.asarray(np.linalg.norm(rows - others, ORDERS[metric], axis=1))


def _radius(distance: Array, v: int, k: int) -> float:
    """The distance of the k-th nearest point from point v, of the distances from it."""
    return float(np.partition(np.delete(distance, v), k - 1)[k - 1])
