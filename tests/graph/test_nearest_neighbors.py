"""Graphs of nearest neighbors: compared with all distances, at ties and equal points, and refused arguments."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import gasla
from gasla.arrays import moved
from gasla.datasets import great_circle
from gasla.operations import nearest_neighbors
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


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize(("n", "d"), [(1, 16), (2, 17), (40, 16), (300, 40)])
@pytest.mark.parametrize("size", [16, 10**6])  # numbers in a block
def test_neighbors_in_many_dimensions(metric: Any, n: int, d: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest_neighbors, "BLOCK", size)
    rng = np.random.default_rng(n)
    points = rng.normal(3, 1, (n, d))
    points[n // 2 :] = points[: n - n // 2]  # equal ones
    k = min(7, n - 1)
    graph = gasla.nearest_neighbors_graph(points, k, metric=metric)
    oracles.nearest_neighbors_graph(points, graph, k, metric=metric)
    apart = cdist(points, points, metric)
    np.fill_diagonal(apart, np.inf)
    np.testing.assert_allclose(graph.values.reshape(n, k), np.sort(apart)[:, :k], rtol=1e-9, atol=1e-15)
    for unit in (1e-200, 1e290):
        scaled = gasla.nearest_neighbors_graph(points * unit, k, metric=metric)
        factor = 1 if metric == "cosine" else unit
        np.testing.assert_allclose(scaled.values, graph.values * factor, rtol=1e-9, atol=1e-15 * factor)


@pytest.mark.parametrize("metric", ["cosine", "haversine"])
@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 30), k=st.integers(0, 12), seed=st.integers(0, 10**6), symmetric=st.booleans())
def test_directions_and_places(metric: Any, n: int, k: int, seed: int, symmetric: bool) -> None:
    rng, k = np.random.default_rng(seed), min(k, n - 1)
    points = np.column_stack([rng.integers(-9, 10, n) * 10, rng.integers(-18, 19, n) * 10])
    points[(points == 0).all(axis=1)] += 1
    graph = gasla.nearest_neighbors_graph(points, k, metric=metric, symmetric=symmetric)
    oracles.nearest_neighbors_graph(points, graph, k, metric=metric, symmetric=symmetric)


@pytest.mark.parametrize("metric", [*METRICS, "cosine", "haversine"])
@pytest.mark.parametrize("d", [2, 20])
def test_queries_find_points_that_equal_them(metric: Any, d: int) -> None:
    if metric == "haversine":
        d = 2
    rng = np.random.default_rng(d)
    points, queries = rng.random((50, d)) + 0.1, rng.random((9, d)) + 0.1
    found = gasla.k_nearest_neighbors(points, 50, queries=np.concatenate([queries, points[:3]]), metric=metric)
    assert found.neighbors.shape == found.distances.shape == (12, 50)
    assert (np.sort(found.neighbors, axis=1) == np.arange(50)).all() and (np.diff(found.distances) >= 0).all()
    assert found.neighbors[9:, 0].tolist() == [0, 1, 2] and (found.distances[9:, 0] <= 1e-9).all()
    for q, near, apart in zip(queries, found.neighbors, found.distances, strict=False):
        right = (
            great_circle(*q, *points.T) if metric == "haversine" else cdist([q], points, METRICS.get(metric, metric))[0]
        )
        np.testing.assert_allclose(apart, right[near], rtol=1e-9, atol=1e-14)
    none = gasla.k_nearest_neighbors(points, 3, queries=points[:0], metric=metric)
    assert none.neighbors.shape == (0, 3)
    with pytest.raises(ValueError, match=r"k is 51; expected 50 at most, the number of points"):
        gasla.k_nearest_neighbors(points, 51, queries=queries, metric=metric)
    if metric != "haversine":
        with pytest.raises(ValueError, match="queries has rows of 1 numbers on the cpu, points of"):
            gasla.k_nearest_neighbors(points, 1, queries=queries[:, :1], metric=metric)


@pytest.mark.parametrize("device", DEVICES)
def test_types_and_devices_of_points(device: Any) -> None:
    wide = drawn(20, 3, 1)
    right = gasla.nearest_neighbors_graph(wide, 4)
    for points in (wide.astype(np.float32), wide.astype(np.int8), np.asfortranarray(wide), wide[::-1][::-1]):
        found = gasla.nearest_neighbors_graph(moved(points, device), 4)
        assert found.device == device
        np.testing.assert_array_equal(moved(found.values, "cpu"), right.values)
    many = np.random.default_rng(5).normal(size=(70, 20))
    right = gasla.k_nearest_neighbors(many, 4, metric="cosine")
    found = gasla.k_nearest_neighbors(moved(many, device), 4, metric="cosine")
    np.testing.assert_array_equal(moved(found.neighbors, "cpu"), right.neighbors)
    np.testing.assert_allclose(moved(found.distances, "cpu"), right.distances, rtol=1e-9)
    right = gasla.nearest_neighbors_graph(wide, 4)
    np.testing.assert_array_equal(gasla.nearest_neighbors_graph(wide.tolist(), 4).values, right.values)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("far", [1e3, 1e10])
@pytest.mark.parametrize("size", [16, 10**6])
def test_close_points_beside_a_far_one(device: Any, far: float, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest_neighbors, "BLOCK", size)
    points = np.zeros((100, 16))
    points[:99, 0] = np.random.default_rng(0).permutation(99) ** 1.1 * 1e-6
    points[99] = far
    apart = cdist(points, points)
    for queries in (None, points + 0):
        wanted = np.sort(apart + np.diag(np.full(100, np.inf)) if queries is None else apart, axis=1)[:, :3]
        given = None if queries is None else moved(queries, device)
        found = gasla.k_nearest_neighbors(moved(points, device), 3, queries=given)
        neighbors, distances = (moved(part, "cpu") for part in found)
        np.testing.assert_allclose(distances, wanted, rtol=1e-9)
        np.testing.assert_allclose(distances, np.take_along_axis(apart, neighbors.astype(int), axis=1), rtol=1e-9)


def test_one_dimension_needs_no_squares() -> None:
    points = np.array([[0], [3e-170], [1e-170], [1.0]])
    found = gasla.k_nearest_neighbors(points, 1)
    assert found.neighbors.ravel().tolist() == [2, 2, 0, 1]
    np.testing.assert_allclose(found.distances.ravel(), [1e-170, 2e-170, 1e-170, 1])


@pytest.mark.skipif(bool(np.finfo(np.longdouble).max <= np.finfo(np.float64).max), reason="longdouble is float64")
def test_numbers_beyond_float64_are_refused() -> None:
    points = np.array([[0, 1], [1, 1]], np.longdouble)
    assert gasla.k_nearest_neighbors(points, 1).distances.ravel().tolist() == [1, 1]
    points[1, 0] = np.longdouble(10) ** 400
    with pytest.raises(ValueError, match=r"points has \[inf, 1\.0\] in row 1; expected finite coordinates"):
        gasla.k_nearest_neighbors(points, 1)


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
        ([[0.0], [1.0]], {"k": 1, "metric": "minkowski"}, "metric is 'minkowski'; expected one of 'euclidean'"),
        (
            [[0.0], [1.0]],
            {"k": 1, "metric": "cosine"},
            r"points has \[0\.0\] in row 0; expected a row with a direction",
        ),
        ([[0.0], [1.0]], {"k": 1, "metric": "haversine"}, "points has 1 columns; expected two, latitude and longitude"),
        (
            [[0, 0], [-91, 5]],
            {"k": 1, "metric": "haversine"},
            r"points has \[-91\.0, 5\.0\] in row 1; expected finite deg",
        ),
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
