"""Shared nearest neighbors: compared with products of the adjacency matrix, on hard shapes, of points."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array

import gasla
from gasla import verify
from gasla.arrays import moved
from gasla.verify import VerificationError
from tests.algorithms.community.test_edge_support import HARD, Edges, on
from tests.algorithms.community.test_triangles import edge_lists

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]


def check(device: Any, edges: Edges) -> None:
    n, src, dst = edges
    pattern = coo_array((np.ones(len(src), np.int64), (src, dst)), shape=(n, n)).toarray() > 0
    common = pattern.astype(np.int64) @ pattern.T.astype(np.int64)
    graph = on(device, edges)
    found = moved(gasla.shared_nearest_neighbors(graph), "cpu")
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, common[src, dst])
    verify.shared_nearest_neighbors(on("cpu", edges), found)
    pairs = np.arange(n)[:40], np.arange(n)[::-1][:40]
    np.testing.assert_array_equal(moved(gasla.shared_nearest_neighbors(graph, pairs), "cpu"), common[pairs])


@settings(max_examples=40, deadline=None)
@given(edges=edge_lists())
def test_counts_are_products_of_rows(edges: Edges) -> None:
    check("cpu", edges)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", HARD)
def test_hard_shapes(shape: str, device: Any) -> None:
    check(device, HARD[shape])


@settings(max_examples=20, deadline=None)
@given(n=st.integers(2, 40), k=st.integers(1, 6), seed=st.integers(0, 10**6))
def test_points_share_what_is_nearest_to_both(n: int, k: int, seed: int) -> None:
    points = np.random.default_rng(seed).random((n, 2))
    graph = gasla.nearest_neighbors_graph(points, min(k, n - 1))
    near = [set(graph.neighbors(v).tolist()) for v in range(n)]
    wanted = [len(near[u] & near[v]) for u, v in zip(*(ends.tolist() for ends in graph.edges()))]
    np.testing.assert_array_equal(gasla.shared_nearest_neighbors(graph), wanted)


def test_clusters_of_jarvis_and_patrick() -> None:
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(center, 0.1, (20, 2)) for center in ((0, 0), (5, 0), (0, 5))])
    graph = gasla.nearest_neighbors_graph(points, 10)
    alike = graph.select(gasla.shared_nearest_neighbors(graph) >= 4)
    labels = gasla.connected_components(alike).labels
    assert all(len(np.unique(labels[first : first + 20])) == 1 for first in (0, 20, 40))
    assert len(np.unique(labels)) == 3


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_int64_and_lists_in_any_order(kind: Any) -> None:
    indptr = np.array([0, 3, 5, 8], np.int64)
    graph = gasla.Graph.from_csr(indptr, np.array([2, 0, 1, 2, 1, 1, 2, 2], kind))
    np.testing.assert_array_equal(gasla.shared_nearest_neighbors(graph), [2, 3, 2, 2, 2, 2, 2, 2])


def test_wrong_pairs_are_named() -> None:
    graph = gasla.Graph.from_edges([0, 1], [1, 2])
    with pytest.raises(ValueError, match=r"^v\[0\] is 3, outside a graph of 3 vertices"):
        gasla.shared_nearest_neighbors(graph, ([0], [3]))
    with pytest.raises(ValueError, match="u has 1 entries and v has 2; expected equal lengths"):
        gasla.shared_nearest_neighbors(graph, ([0], [1, 2]))
    with pytest.raises(TypeError, match=r"expected \(u, v\), two arrays of vertices"):
        gasla.shared_nearest_neighbors(graph, "pairs")


def test_the_verifier_rejects_wrong_numbers() -> None:
    graph = gasla.Graph.from_edges([0, 0, 1], [1, 2, 2])
    verify.shared_nearest_neighbors(graph, [1, 0, 0])
    with pytest.raises(VerificationError, match="0 and 1 have 1 common neighbors, not 2"):
        verify.shared_nearest_neighbors(graph, [2, 0, 0])
    with pytest.raises(VerificationError, match="3 integers were expected"):
        verify.shared_nearest_neighbors(graph, [1.0, 0, 0])


def test_the_verifier_leaves_the_graph_as_it_is() -> None:
    graph = gasla.Graph.from_csr([0, 3, 4, 4], [2, 1, 2, 2])
    lists = graph.out.indices.copy()
    verify.shared_nearest_neighbors(graph, gasla.shared_nearest_neighbors(graph))
    np.testing.assert_array_equal(graph.out.indices, lists)
