"""Shortest paths up to a cutoff: beside NetworkX, on hard shapes and other types, and what is refused."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import gasla
from gasla import verify
from gasla.verify import VerificationError
from tests.algorithms.paths.test_shortest_path import SHAPES, edges

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_cutoff_means_what_it_means_in_networkx(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 12))
    matrix = edges(n, data.draw(st.integers(0, 40)), data.draw(st.integers(0, 10**6)))
    source, cutoff = data.draw(st.integers(0, n - 1)), data.draw(st.sampled_from([0, 1, 2.5, 4, 8, np.inf]))
    G = nx.MultiDiGraph()
    G.add_nodes_from(range(n))
    G.add_weighted_edges_from(zip(*(ids.tolist() for ids in matrix.coords), matrix.data.tolist()))
    right = nx.single_source_dijkstra_path_length(G, source, cutoff=cutoff)
    distances, parents = gasla.sssp(matrix, source, parents=True, cutoff=cutoff)
    np.testing.assert_array_equal(distances, [right.get(v, np.inf) for v in range(n)])
    verify.sssp(matrix, source, distances, parents, cutoff=cutoff)


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_vertices_beyond_are_as_if_no_path_led_there(shape: str, device: Any) -> None:
    graph = gasla.Graph(SHAPES[shape]())
    there = graph.to(device)
    whole = gasla.sssp(graph, 0)
    for cutoff in (0, 3, 7.5, 40):
        found = gasla.sssp(there, 0, cutoff=cutoff)
        near = np.asarray(found.get() if device == "gpu" else found)
        np.testing.assert_array_equal(near, np.where(whole <= cutoff, whole, np.inf))
        assert near.dtype == whole.dtype


@pytest.mark.thorough
def test_several_sources_other_types_and_the_interpreter() -> None:
    matrix = edges(100, 300, 5)
    for kind in (np.int64, np.float64, None):
        graph = gasla.Graph(matrix).with_values(None if kind is None else matrix.data.astype(kind))
        whole = gasla.sssp(graph, [3, 9])
        right = np.where(whole <= 4, whole, np.inf)
        np.testing.assert_array_equal(gasla.sssp(graph, [3, 9], cutoff=4), right)
        with gasla.engines.interpreted():
            np.testing.assert_array_equal(gasla.sssp(graph, [3, 9], cutoff=4), right)
    np.testing.assert_array_equal(gasla.sssp(graph, 3, cutoff=4), gasla.sssp(graph, 3, cutoff=4, delta=0.5))


def test_a_cutoff_is_rounded_as_distances_are() -> None:
    graph = gasla.Graph.from_edges([0, 1], [1, 2], np.array([0.1, 1e30], np.float32))
    assert float(np.float32(0.1)) > 0.1
    assert gasla.sssp(graph, 0, cutoff=0.1)[1] == np.float32(0.1)
    assert np.isfinite(gasla.sssp(graph, 0, cutoff=1e300)).all()


def test_sums_beyond_the_cutoff_may_overflow() -> None:
    graph = gasla.Graph.from_edges([0, 1], [1, 2], np.array([3e38, 3e38], np.float32))
    assert gasla.sssp(graph, 0, cutoff=3.1e38)[1:].tolist() == [np.float32(3e38), np.inf]


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"cutoff": -1}, ValueError, r"cutoff is -1; expected a number, 0 or more"),
        ({"cutoff": np.nan}, ValueError, "cutoff is nan"),
        ({"cutoff": "2"}, TypeError, "cutoff is '2'; expected a number"),
        ({"cutoff": 2, "start": np.zeros(2)}, ValueError, "leave out cutoff, or start"),
    ],
)
def test_unsupported_input_is_refused(options: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        gasla.sssp(csr_array([[0, 1.0], [0, 0]]), 0, **options)


def test_negative_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="a cutoff was given, but lengths are negative"):
        gasla.sssp(csr_array([[0, -1.0], [0, 0]]), 0, cutoff=2)
    graph = gasla.Graph.from_edges([0, 1], [1, 2], [3.0, -2.0])
    assert gasla.ego_graph(graph, 0, 2, weighted=True).origin.vertices.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("distances", "words"),
    [
        ([0, 2, 5, np.inf], "vertex 2 is at distance 5.0, past the cutoff of 4"),
        ([0, np.inf, np.inf, np.inf], "vertex 1 is at distance inf, but the edge 0 → 1 offers 2.0"),
        ([0, 2, 4, np.inf], "vertex 2 is at distance 4.0, but no path from the source 0 is that short"),
    ],
)
def test_the_verifier_rejects_wrong_answers(distances: list[float], words: str) -> None:
    graph = gasla.Graph.from_edges([0, 1, 2], [1, 2, 3], [2.0, 3.0, 1.0])
    verify.sssp(graph, 0, gasla.sssp(graph, 0, cutoff=4), cutoff=4)
    with pytest.raises(VerificationError, match=words):
        verify.sssp(graph, 0, np.array(distances, float), cutoff=4)
