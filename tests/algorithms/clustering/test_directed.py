"""Clustering of directed graphs, by both definitions, against NetworkX and against its words."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import datasets, verify
from gasla.cli.compute import on_host

Array = np.ndarray[Any, Any]
DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]
MODES = ("neighborhood", "directed")


def digraph(graph: gasla.Graph) -> nx.DiGraph:
    """Without loops."""
    src, dst = graph.edges()
    made = nx.DiGraph()
    made.add_nodes_from(range(graph.n))
    made.add_edges_from((u, v) for u, v in zip(src.tolist(), dst.tolist()) if u != v)
    return made


def right(graph: gasla.Graph, mode: str) -> Array:
    plain = digraph(graph)
    if mode == "directed":
        found = nx.clustering(plain)
        return np.array([found[v] for v in range(graph.n)], float)
    scores = np.zeros(graph.n)
    for v in plain:
        near = {*plain.successors(v), *plain.predecessors(v)}
        if len(near) > 1:
            scores[v] = plain.subgraph(near).number_of_edges() / (len(near) * (len(near) - 1))
    return scores


def clustering(graph: gasla.Graph, mode: Any, device: Any = "cpu") -> Array:
    scores: Array = on_host(gasla.clustering(graph.to(device), mode=mode))
    return scores


HARD = {
    "no vertex": gasla.Graph.from_edges([], []),
    "one vertex": gasla.Graph.from_edges([], [], n=1),
    "loops": gasla.Graph.from_edges([0, 1, 1], [0, 1, 0]),
    "mutual pair": gasla.Graph.from_edges([0, 1], [1, 0], n=4),
    "parallel edges": gasla.Graph.from_edges([0, 0, 1, 2, 2, 2], [1, 1, 2, 0, 0, 2]),
    "star": gasla.Graph.from_edges(np.zeros(300, int), np.arange(1, 301)),
    "hub with a rim": gasla.Graph.from_edges(
        np.r_[np.zeros(300, int), np.arange(1, 300)], np.r_[np.arange(1, 301), np.arange(2, 301)]
    ),
    "two triangles": gasla.Graph.from_edges([5, 0, 3, 1, 4, 4], [0, 3, 5, 4, 2, 1], [0.0, 1, -2, np.nan, np.inf, 0]),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("mode", MODES)
def test_hard_shapes_give_right_answers(mode: str, device: Any) -> None:
    for name, graph in HARD.items():
        scores = clustering(graph, mode, device)
        assert scores.dtype == np.float64 and scores.shape == (graph.n,)
        np.testing.assert_allclose(scores, right(graph, mode), rtol=1e-12, err_msg=name)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 14), st.integers(0, 90), st.integers(0, 2**32), st.sampled_from(MODES))
def test_answers_are_those_of_networkx_and_of_the_definition(n: int, m: int, seed: int, mode: str) -> None:
    src, dst = np.random.default_rng(seed).integers(0, n, (2, m))
    graph = gasla.Graph.from_edges(src, dst, n=n)
    scores = clustering(graph, mode)
    np.testing.assert_allclose(scores, right(graph, mode), rtol=1e-12)
    verify.clustering(graph, scores, mode=mode)


@pytest.mark.parametrize("mode", MODES)
def test_on_a_symmetric_matrix_all_definitions_agree(mode: str) -> None:
    graph = gasla.Graph(datasets.rmat(7))
    one_more = gasla.Graph.from_edges(*(np.append(ends, v) for ends, v in zip(graph.edges(), (0, 128))), n=129)
    np.testing.assert_allclose(clustering(one_more, mode)[1:128], right(one_more, mode)[1:128], rtol=1e-12)
    np.testing.assert_allclose(clustering(graph, mode), gasla.clustering(graph), rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_flights_and_int64_ids(mode: str) -> None:
    matrix = datasets.openflights().matrix
    flights = gasla.Graph(matrix)
    scores = clustering(flights, mode)
    verify.clustering(flights, scores, mode=mode)
    wide = gasla.Graph.from_csr(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64))
    np.testing.assert_array_equal(clustering(wide, mode), scores)


def test_unknown_modes_are_refused() -> None:
    with pytest.raises(ValueError, match="mode is 'both'; expected one of 'undirected', 'neighborhood', 'directed'"):
        gasla.clustering(HARD["star"], mode="both")  # type: ignore[arg-type]
