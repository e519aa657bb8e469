"""Batches of graphs: results are those of single calls, in every form, and what is refused."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import gasla
from gasla.arrays import moved

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]


def drawn(n: int, m: int, seed: int) -> gasla.Graph:
    """Loops, parallel edges, and edges in any order."""
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, n, (2, m))
    graph = gasla.Graph.from_edges(src, dst, rng.integers(1, 9, m).astype(float), n=n)
    return graph.with_edge_attributes(time=rng.integers(0, 9, m)).with_vertex_attributes(size=rng.random(n))


SIZES = st.lists(st.tuples(st.integers(1, 8), st.integers(0, 16)), max_size=6)


@settings(max_examples=30, deadline=None)
@given(SIZES, st.integers(0, 10**6))
def test_results_are_those_of_single_calls(sizes: list[tuple[int, int]], seed: int) -> None:
    graphs = [drawn(n, m, seed + i) for i, (n, m) in enumerate(sizes)]
    batch = gasla.batch(graphs)
    assert batch.graph.n == sum(n for n, _ in sizes) and batch.graph.m == sum(m for _, m in sizes)
    if not graphs:
        return
    distances = batch.split(gasla.sssp(batch.graph, batch.vertex_starts[:-1]))
    scores = batch.split(gasla.clustering(batch.graph))
    supports = batch.split(gasla.edge_support(batch.graph), of="edge")
    rows = batch.split(gasla.aggregate_features(batch.graph, np.ones((batch.graph.n, 2))))
    for i, graph in enumerate(graphs):
        np.testing.assert_array_equal(distances[i], gasla.sssp(graph, 0))
        np.testing.assert_array_equal(scores[i], gasla.clustering(graph))
        np.testing.assert_array_equal(supports[i], gasla.edge_support(graph))
        np.testing.assert_array_equal(rows[i], gasla.aggregate_features(graph, np.ones((graph.n, 2))))


@settings(max_examples=30, deadline=None)
@given(SIZES, st.integers(0, 10**6))
def test_edges_values_and_attributes_stand_one_after_another(sizes: list[tuple[int, int]], seed: int) -> None:
    graphs = [drawn(n, m, seed + i) for i, (n, m) in enumerate(sizes)]
    batch = gasla.batch(iter(graphs))
    whole = batch.graph
    src, dst = whole.edges()
    for i, graph in enumerate(graphs):
        shift, edges = batch.vertex_starts[i], slice(*batch.edge_starts[i : i + 2])
        np.testing.assert_array_equal(np.stack([src, dst])[:, edges] - shift, np.stack(graph.edges()))
        np.testing.assert_array_equal(whole.values[edges], graph.values)
        np.testing.assert_array_equal(whole.edge_attributes["time"][edges], graph.edge_attributes["time"])
        sizes_of = batch.split(whole.vertex_attributes["size"])
        np.testing.assert_array_equal(sizes_of[i], graph.vertex_attributes["size"])


@pytest.mark.parametrize("device", DEVICES)
def test_batches_are_networkxs_disjoint_unions(device: Any) -> None:
    parts = [nx.gnp_random_graph(9, 0.4, seed=seed) for seed in range(20)]
    batch = gasla.batch([gasla.Graph.from_networkx(part).to(device) for part in parts])
    union = nx.disjoint_union_all(parts)
    counts = moved(gasla.triangle_count(batch.graph, per_vertex=True).per_vertex, "cpu")
    assert dict(enumerate(counts.tolist())) == nx.triangles(union)
    assert int(gasla.connected_components(batch.graph).count) == nx.number_connected_components(union)


def test_forms_and_types_may_differ() -> None:
    wide = csr_array((np.ones(1, np.float32), np.array([1], np.int64), np.array([0, 1, 1], np.int64)), shape=(2, 2))
    coo = gasla.Graph.from_edges([1, 0], [0, 1], [3, 4])
    csc = wide.tocsc()
    batch = gasla.batch([wide, coo, csc, csr_array((0, 0)), csr_array((3, 3))])
    assert batch.vertex_starts.tolist() == [0, 2, 4, 6, 6, 9]
    assert batch.graph.values.tolist() == [1, 3, 4, 1] and batch.graph.values.dtype == np.float64
    assert [part.tolist() for part in batch.split(batch.graph.out_degrees)] == [[1, 0], [1, 1], [1, 0], [], [0, 0, 0]]


def test_attributes_that_not_all_graphs_have_are_left_out() -> None:
    graph = gasla.Graph.from_edges([0], [1])
    batch = gasla.batch([graph.with_edge_attributes(a=[1], b=[2]), graph.with_edge_attributes(b=[2.5])])
    assert list(batch.graph.edge_attributes) == ["b"]
    assert batch.graph.edge_attributes["b"].tolist() == [2, 2.5]


def test_unsupported_batches_are_refused() -> None:
    graph = gasla.Graph.from_edges([0], [1])
    with pytest.raises(ValueError, match="graph 0 has no values, and graph 1 has; expected values in all, or in none"):
        gasla.batch([graph, graph.with_values([1.0])])
    with pytest.raises(TypeError):
        gasla.batch([graph, "graph"])
    batch = gasla.batch([graph, graph])
    with pytest.raises(
        ValueError, match=r"result is an array of shape \(3,\); expected an array of 4 entries, one for"
    ):
        batch.split(np.zeros(3))
    with pytest.raises(ValueError, match="expected an array of 2 entries, one for each of the edges"):
        batch.split(np.zeros(4), of="edge")
    with pytest.raises(ValueError, match="of is 'row'; expected 'vertex' or 'edge'"):
        batch.split(np.zeros(4), of="row")  # type: ignore[arg-type]


def test_no_graphs_are_a_batch_with_nothing_to_split() -> None:
    batch = gasla.batch([])
    assert (batch.graph.n, batch.vertex_starts.tolist(), batch.edge_starts.tolist()) == (0, [0], [0])
    assert batch.split(gasla.core_number(batch.graph)) == []
    assert batch.split(batch.graph.edges()[0], of="edge") == []
