"""Graphs of nearest neighbors: compared with all distances, at ties and equal points, and refused arguments."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import gasla
from gasla.arrays import moved
from gasla.verify import VerificationError
from tests import oracles

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]
METRICS = {"euclidean": "euclidean", "manhattan": "cityblock", "chebyshev": "chebyshev"}


def drawn(n: int, d: int, seed: int, scale: float = 1.0) -> np.ndarray:
    """Points of which some are equal, and many distances, too."""
    return np.random.default_rng(seed).integers(0, 6, (n, d)) * scale


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 30), d=st.integers(1, 4), k=st.integers(0, 12), seed=st.integers(0, 10**6), data=st.data())
def test_neighbors_are_the_nearest(metric: Any, n: int, d: int, k: int, seed: int, data: st.DataObject) -> None:
    points = drawn(n, d, seed, data.draw(st.sampled_from([1.0, 1e-100, 1e300])))
    k = min(k, n - 1)
    graph = gasla.nearest_neighbors_graph(points, k, metric=metric)
    assert graph.n == n and graph.m == n * k and graph.values.dtype == np.float64
    apart = cdist(points / points.max() if points.any() else points, points / (points.max() or 1), METRICS[metric])
    np.fill_diagonal(apart, np.inf)
    wanted = np.sort(apart, axis=1)[:, :k] * points.max()
    np.testing.assert_allclose(graph.values.reshape(n, k), wanted, rtol=1e-9)
    oracles.nearest_neighbors_graph(points, graph, k, metric=metric)
    both = gasla.nearest_neighbors_graph(points, k, metric=metric, symmetric=True)
    assert both.is_symmetric and both.has_symmetric_values and not both.has_parallel_edges
    pairs = {*zip(*(ends.tolist() for ends in graph.edges()))}
    assert {*zip(*(ends.tolist() for ends in both.edges()))} == pairs | {(v, u) for u, v in pairs}
    oracles.nearest_neighbors_graph(points, both, k, metric=metric, symmetric=True)


@pytest.mark.parametrize("device", DEVICES)
def test_types_and_devices_of_points(device: Any) -> None:
    wide = drawn(20, 3, 1)
    right = gasla.nearest_neighbors_graph(wide, 4)
    for points in (wide.astype(np.float32), wide.astype(np.int8), np.asfortranarray(wide), wide[::-1][::-1]):
        found = gasla.nearest_neighbors_graph(moved(points, device), 4)
        assert found.device == device
        np.testing.assert_array_equal(moved(found.values, "cpu"), right.values)
    np.testing.assert_array_equal(gasla.nearest_neighbors_graph(wide.tolist(), 4).values, right.values)


def test_graphs_without_edges() -> None:
    for points in (np.empty((0, 2)), np.ones((1, 2)), np.ones((4, 2))):
        for symmetric in (False, True):
            graph = gasla.nearest_neighbors_graph(points, 0, symmetric=symmetric)
            assert (graph.n, graph.m) == (len(points), 0)
            oracles.nearest_neighbors_graph(points, graph, 0, symmetric=symmetric)


@pytest.mark.parametrize(
    ("points", "options", "message"),
    [
        ([1.0, 2.0], {"k": 1}, r"points is float64\(2,\); expected an \(n, d\) array of numbers, a row per point"),
        (np.empty((2, 0)), {"k": 1}, "expected an"),
        ([["a"], ["b"]], {"k": 1}, "points is .*; expected an"),
        ([[0.0, 1.0], [np.nan, 2.0]], {"k": 1}, r"points has \[nan, 2\.0\] in row 1; expected finite coordinates"),
        ([[0.0], [np.inf]], {"k": 1}, "in row 1; expected finite"),
        ([[0.0], [1.0]], {"k": 2}, "k is 2; expected 1 at most, the number of other points"),
        ([[0.0], [1.0]], {"k": 0.5}, "k is 0.5; expected a whole number"),
        ([[0.0], [1.0]], {"k": 1, "metric": "cosine"}, "metric is 'cosine'; expected one of 'euclidean'"),
        ([[0.0], [1.0]], {"k": 1, "symmetric": "no"}, "symmetric is 'no'; expected True or False"),
    ],
)
def test_wrong_arguments_are_named(points: Any, options: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        gasla.nearest_neighbors_graph(points, **options)


def test_the_verifier_rejects_wrong_graphs() -> None:
    points = np.array([[0.0], [1.0], [3.0], [7.0]])

    def refuses(message: str, dst: Any, values: Any, **options: Any) -> None:
        graph = gasla.Graph.from_edges(np.arange(len(dst)), dst, values, n=len(dst))
        with pytest.raises(VerificationError, match=message):
            oracles.nearest_neighbors_graph(points, graph, 1, **options)

    refuses("expected one for each of 4 points", [1, 0], [1, 1])
    refuses("edge 0 → 0 is a loop", [0, 0, 1, 2], [0, 1, 2, 4])
    refuses("edge 3 → 2 has the value 5; expected 4", [1, 0, 1, 2], [1, 1, 2, 5])
    refuses("point 2 has a neighbor at distance 4; the farthest of the nearest is at 2", [1, 0, 3, 2], [1, 1, 4, 4])
    refuses("or its reverse is missing", [1, 0, 1, 2], [1, 1, 2, 4], symmetric=True)
