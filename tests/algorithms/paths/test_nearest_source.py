"""The nearest of several sources: beside the distances from each, on hard shapes, and what is refused."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import gasla
from gasla import verify
from gasla.algorithms.paths.nearest_source import NearestSourceResult
from gasla.cli.compute import on_host
from gasla.verify import VerificationError
from tests.algorithms.paths.test_shortest_path import SHAPES, edges

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]


def check(graph: Any, sources: list[int], found: Any, cutoff: float | None = None) -> None:
    rows = gasla.multi_source_shortest_paths(graph, sources)
    distances = rows.min(axis=0, initial=np.inf)
    near = distances < np.inf if cutoff is None else distances <= cutoff
    np.testing.assert_array_equal(found.distances, np.where(near, distances, np.inf))
    nearest = rows.argmin(axis=0) if sources else -1
    np.testing.assert_array_equal(found.nearest, np.where(near, nearest, -1))
    assert found.nearest.dtype == np.int32
    verify.nearest_source(graph, sources, *found, cutoff=cutoff)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_first_of_the_nearest(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 12))
    matrix = edges(n, data.draw(st.integers(0, 40)), data.draw(st.integers(0, 10**6)), data.draw(st.integers(0, 5)))
    sources = data.draw(st.lists(st.integers(0, n - 1), max_size=5))
    for cutoff in (None, 3):
        check(matrix, sources, gasla.nearest_source(matrix, sources, cutoff=cutoff), cutoff)


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_hard_shapes_have_the_nearest_source(shape: str, device: Any) -> None:
    graph = gasla.Graph(SHAPES[shape]())
    sources = np.random.default_rng(0).integers(0, graph.n, 5).tolist()
    there = graph.to(device)
    check(graph, sources, NearestSourceResult(*on_host(gasla.nearest_source(there, sources))))
    unweighted = graph.with_values(None)
    check(unweighted, sources, NearestSourceResult(*on_host(gasla.nearest_source(unweighted.to(device), sources))))


def test_negative_lengths_are_allowed() -> None:
    graph = gasla.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4], [5, -4, 1, 2])
    check(graph, [4, 2, 0], gasla.nearest_source(graph, [4, 2, 0]))


@pytest.mark.thorough
def test_other_types_and_the_interpreter() -> None:
    matrix = edges(100, 300, 5)
    for kind in (np.int64, np.float64):
        graph = gasla.Graph(matrix).with_values(matrix.data.astype(kind))
        check(graph, [5, 3], gasla.nearest_source(graph, [5, 3]))
        with gasla.engines.interpreted():
            check(graph, [5, 3], gasla.nearest_source(graph, [5, 3]))


def test_cells_are_those_of_networkx_where_no_two_are_as_near() -> None:
    G = nx.gnm_random_graph(60, 150, seed=2, directed=True)
    rng = np.random.default_rng(1)
    nx.set_edge_attributes(G, {e: float(w) for e, w in zip(G.edges, rng.random(150))}, "weight")
    sources = [7, 40, 3]
    found = gasla.nearest_source(nx.to_scipy_sparse_array(G), sources).nearest
    cells = nx.voronoi_cells(G, set(sources))
    assert [set(np.flatnonzero(found == i).tolist()) for i in range(3)] == [cells[s] for s in sources]
    assert set(np.flatnonzero(found < 0).tolist()) == cells.get("unreachable", set())


@pytest.mark.parametrize(
    ("sources", "kind", "words"),
    [
        ([0, 3], ValueError, "sources: source 3 is outside a graph of 2 vertices"),
        (0, TypeError, "sources is 0; expected several vertices"),
        ([0.5], TypeError, r"sources: source is 0\.5"),
    ],
)
def test_unsupported_input_is_refused(sources: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        gasla.nearest_source(csr_array([[0, 1.0], [0, 0]]), sources)


@pytest.mark.parametrize(
    ("nearest", "words"),
    [
        ([1, 1, 1, 0], "vertex 2 is as near to source 0 as to source 1, which has a larger position"),
        ([1, 0, 0, 0], "vertex 1 is said to be nearest to source 0, vertex 3, but no shortest path leads from there"),
        ([1, 1, 0, 2], "vertex 3 is at distance 0.0, but its nearest source is said to be 2"),
    ],
)
def test_the_verifier_rejects_wrong_answers(nearest: list[int], words: str) -> None:
    graph = gasla.Graph.from_edges([0, 1, 3], [1, 2, 2], [1.0, 3.0, 4.0])
    verify.nearest_source(graph, [3, 0], *gasla.nearest_source(graph, [3, 0]))
    with pytest.raises(VerificationError, match=words):
        verify.nearest_source(graph, [3, 0], [0.0, 1.0, 4.0, 0.0], nearest)
