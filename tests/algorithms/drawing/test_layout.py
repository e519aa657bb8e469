"""Layouts: finite, the same again, neighbors close together, and a grid as a grid."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import gasla
from gasla import verify
from gasla.graph.graph import Graph
from tests.algorithms.community.test_edge_support import DEVICES, HARD, on, plain
from tests.algorithms.community.test_triangles import edge_lists


def lengths(positions: np.ndarray, src: Any, dst: Any) -> np.ndarray:
    return np.asarray(np.linalg.norm(positions[src] - positions[dst], axis=1))


def grid(rows: int, columns: int) -> Graph:
    ids = np.arange(rows * columns).reshape(rows, columns)
    src = np.r_[ids[:, :-1].ravel(), ids[:-1].ravel()]
    return Graph.from_edges(src, np.r_[ids[:, 1:].ravel(), ids[1:].ravel()])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", HARD)
def test_hard_shapes_have_positions(device: Any, shape: str) -> None:
    graph = on(device, HARD[shape])
    positions = plain(gasla.layout(graph))
    assert positions.shape == (graph.n, 2)
    assert positions.dtype == np.float64
    verify.layout(graph.to("cpu"), positions)
    if shape == "a star":  # which takes a second each time
        return
    np.testing.assert_array_equal(plain(gasla.layout(graph)), positions)
    if graph.n > 2:
        assert not np.array_equal(plain(gasla.layout(graph, seed=1)), positions)


@settings(max_examples=25)
@given(edge_lists())
def test_all_small_graphs_have_positions(edges: Any) -> None:
    graph = on("cpu", edges)
    verify.layout(graph, gasla.layout(graph))


@pytest.mark.parametrize("device", DEVICES)
def test_a_grid_is_drawn_as_a_grid(device: Any) -> None:
    """Distances in the picture are those in the grid, but for a factor: they correlate."""
    rows, columns = 24, 36
    positions = plain(gasla.layout(grid(rows, columns).to(device)))
    wanted = np.stack(np.divmod(np.arange(rows * columns), columns), axis=1)
    some = np.random.default_rng(0).integers(0, rows * columns, (2, 5000))
    assert np.corrcoef(lengths(positions, *some), lengths(wanted, *some))[0, 1] > 0.95


def test_neighbors_are_closer_than_others() -> None:
    """In the graph of flights, whose ends are apart by a third of what random airports are."""
    flights = Graph(gasla.datasets.openflights().matrix)
    graph = flights.subgraph(np.flatnonzero(flights.out_degrees))
    positions, some = gasla.layout(graph), np.random.default_rng(0).integers(0, graph.n, (2, 20_000))
    assert np.median(lengths(positions, *graph.edges())) < 0.6 * np.median(lengths(positions, *some))


@pytest.mark.parametrize("n", [5, 9, 14])
def test_two_that_are_no_neighbors_are_the_farthest(n: int) -> None:
    """Of a complete graph without one edge."""
    src, dst = np.triu_indices(n, 1)
    positions = gasla.layout(Graph.from_edges(src[1:], dst[1:]))  # without 0, 1
    apart = np.linalg.norm(positions[:, None] - positions, axis=2)
    assert apart[0, 1] == apart.max()


def test_components_are_kept_together() -> None:
    """A thousand pairs, and as many vertices without edges: none is far from the others, and pairs are close."""
    pairs = Graph.from_edges(np.arange(0, 2000, 2), np.arange(1, 2000, 2), n=3000)
    positions = gasla.layout(pairs)
    radius = np.linalg.norm(positions, axis=1)
    assert radius.max() < 5 * np.median(radius)
    assert np.median(lengths(positions, *pairs.edges())) < 0.2 * np.median(radius)


def test_values_and_directions_do_not_matter() -> None:
    graph = grid(5, 6)
    src, dst = graph.edges()
    other = Graph.from_edges(np.r_[dst, src, [0]], np.r_[src, dst, [0]], np.arange(2 * graph.m + 1.0))
    np.testing.assert_array_equal(gasla.layout(other), gasla.layout(graph))
