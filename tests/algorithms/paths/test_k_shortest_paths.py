"""The k shortest paths between two vertices: beside all simple paths and SciPy, on hard shapes, and what is refused."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csc_array, csr_array
from scipy.sparse.csgraph import yen

import gasla
from gasla import datasets, verify
from gasla.algorithms.paths import k_shortest_paths as k_shortest
from gasla.cli.compute import on_host
from gasla.verify import VerificationError
from tests.algorithms.paths.test_shortest_path import SHAPES, edges

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]


def simple_paths(matrix: coo_array, source: int, target: int) -> list[tuple[float, list[int]]]:
    """All of them, by length and then by vertices."""
    G = nx.DiGraph()
    G.add_nodes_from(range(matrix.shape[0]))
    for u, v, length in zip(*(ids.tolist() for ids in matrix.coords), matrix.data.tolist()):
        G.add_edge(u, v, length=min(length, G.edges[u, v]["length"] if G.has_edge(u, v) else length))
    if source == target:
        return [(0.0, [source])]
    paths = list(nx.all_simple_paths(G, source, target))
    return sorted((nx.path_weight(G, path, "length"), path) for path in paths)


@pytest.mark.parametrize("patience", [k_shortest.PATIENCE, pytest.param(1, marks=pytest.mark.thorough)])
@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_all_paths_in_order(patience: int, data: st.DataObject) -> None:
    """Also if searches soon begin again with bounds around their paths."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(k_shortest, "PATIENCE", patience)
        patch.setattr(k_shortest, "MANY", patience // 10)
        check_all_paths_in_order(data)


def check_all_paths_in_order(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 7))
    matrix = edges(n, data.draw(st.integers(0, 25)), data.draw(st.integers(0, 10**6)), data.draw(st.integers(0, 4)))
    source, target = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, n - 1))
    right = simple_paths(matrix, source, target)
    k = data.draw(st.integers(0, len(right) + 1))
    found = gasla.k_shortest_paths(matrix, source, target, k)
    assert [(distance, path.tolist()) for distance, path, _ in found] == right[:k]
    verify.k_shortest_paths(matrix, source, target, k, found)


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_real_lengths(data: st.DataObject) -> None:
    n, seed = data.draw(st.integers(2, 7)), data.draw(st.integers(0, 10**6))
    matrix = edges(n, data.draw(st.integers(0, 20)), seed)
    matrix.data = np.random.default_rng(seed).random(matrix.nnz)
    right = simple_paths(matrix, 0, n - 1)
    found = gasla.k_shortest_paths(matrix, 0, n - 1, 5)
    np.testing.assert_allclose([path.distance for path in found], [length for length, _ in right[:5]], rtol=1e-12)
    verify.k_shortest_paths(matrix, 0, n - 1, 5, found)


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_hard_shapes(shape: str, device: Any) -> None:
    matrix = SHAPES[shape]()
    graph = gasla.Graph(matrix)
    merged = coo_array(matrix)
    order = np.lexsort((merged.data, *merged.coords[::-1]))
    ends = np.stack(merged.coords)[:, order]
    first = np.append(True, (np.diff(ends) != 0).any(axis=0))[: ends.shape[1]]
    lightest = csr_array((merged.data[order][first].astype(float), tuple(ends[:, first])), shape=matrix.shape)
    for source, target in {(0, graph.n - 1), (graph.n // 2, 0)}:
        there = gasla.k_shortest_paths(graph.to(device), source, target, 6)
        found = on_host(there)
        if lightest.nnz:  # otherwise SciPy raises an error
            np.testing.assert_array_equal([path.distance for path in found], yen(lightest, source, target, 6))
        verify.k_shortest_paths(graph, source, target, 6, there, samples=32)
        for _, path, by in found:
            assert path.dtype == graph.id_dtype
            assert by.dtype == np.int64


SHAPES_AT_A_HUB = {
    "star": [(1, 0), (0, 2)],
    "detour": [(1, 0), (0, 2), (0, 3), (3, 4), (4, 2)],
    "long detour": [(1, 0), (0, 2), (0, 3), (3, 4), (4, 5), (5, 6), (6, 2)],
    "two hubs": [(1, 0), (3, 2)],
    "pendant paths": [(1, 0), (0, 2)],
}


def at_a_hub(shape: str, leaves: int) -> gasla.Graph:
    """Two vertices, 1 and 2, and a hub, 0, with many neighbors; only between two hubs do paths go through these."""
    some = np.arange(10, 10 + leaves)
    ends = [np.array(SHAPES_AT_A_HUB[shape]), np.stack([0 * some, some], 1)]
    if shape == "two hubs":
        ends.append(np.stack([some, 0 * some + 3], 1))
    elif shape == "pendant paths":
        ends.append(np.stack([some, some + leaves], 1))
    src, dst = np.concatenate(ends).T
    graph = gasla.Graph.from_edges(src, dst).symmetrized()
    return graph.with_values(np.ones(graph.m))


@pytest.mark.parametrize("shape", SHAPES_AT_A_HUB)
def test_a_hub_is_not_searched_leaf_by_leaf(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vertices that lead back to the hub alone are left out by another run, instead of being read one by one."""
    graph, lists, read = at_a_hub(shape, 10_000), k_shortest.Edges._lists, []
    few = nx.from_scipy_sparse_array(at_a_hub(shape, 5).to_scipy())
    paths = sorted(len(path) - 1 for path in nx.all_simple_paths(few, 1, 2))
    monkeypatch.setattr(k_shortest.Edges, "_lists", lambda self, v: (read.append(v), lists(self, v))[1])
    assert [path.distance for path in gasla.k_shortest_paths(graph, 1, 2, 4)] == paths[:4]
    assert len(read) < 2 * (k_shortest.PATIENCE + (graph.n + graph.m) // k_shortest.SHARE)


def test_ties_are_in_lexicographic_order() -> None:
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 4), ordering="sorted")
    found = gasla.k_shortest_paths(nx.to_scipy_sparse_array(grid), 0, 15, 21)
    right = sorted(map(tuple, nx.all_shortest_paths(grid, 0, 15)))
    assert [tuple(path.path.tolist()) for path in found[:20]] == right
    assert [path.distance for path in found] == [6.0] * 20 + [8.0]


def test_a_path_through_a_cycle_of_length_0_visits_no_vertex_twice() -> None:
    graph = gasla.Graph.from_edges([0, 1, 2, 1, 2, 0], [1, 2, 1, 3, 3, 2], np.array([1, 0, 0, 0, 0, 1]))
    found = gasla.k_shortest_paths(graph, 0, 3, 9)
    assert [path.path.tolist() for path in found] == [[0, 1, 2, 3], [0, 1, 3], [0, 2, 1, 3], [0, 2, 3]]
    assert {path.distance for path in found} == {1.0}


def test_other_forms_of_graphs() -> None:
    matrix = edges(30, 120, 3)
    right = [path[0] for path in simple_paths(coo_array(edges(30, 45, 3)), 0, 5)[:4]]
    assert [path.distance for path in gasla.k_shortest_paths(csc_array(edges(30, 45, 3)), 0, 5, 4)] == right
    unweighted = gasla.Graph(matrix).with_values(None)
    verify.k_shortest_paths(unweighted, 0, 5, 4, gasla.k_shortest_paths(unweighted, 0, 5, 4))
    for kind in (np.int64, np.bool_, np.float64):
        graph = gasla.Graph(matrix).with_values(matrix.data.astype(kind))
        verify.k_shortest_paths(graph, 0, 5, 4, gasla.k_shortest_paths(graph, 0, 5, 4))


def test_an_edge_of_infinite_length_leads_nowhere() -> None:
    graph = gasla.Graph.from_edges([0, 0, 1], [1, 2, 2], [1.0, np.inf, 2.0])
    assert [path.distance for path in gasla.k_shortest_paths(graph, 0, 2, 3)] == [3.0]


def test_values_that_are_written_to_are_seen() -> None:
    values = np.array([1.0, 1.0, 5.0])
    graph = gasla.Graph.from_edges([0, 1, 0], [1, 2, 2], values)
    assert [path.distance for path in gasla.k_shortest_paths(graph, 0, 2, 2)] == [2.0, 5.0]
    values[0] = 9
    assert [path.distance for path in gasla.k_shortest_paths(graph, 0, 2, 2)] == [5.0, 10.0]


@pytest.mark.thorough
def test_a_large_graph_is_searched_in_part() -> None:
    roads = gasla.Graph(datasets.with_weights(datasets.ny_roads()))
    found = gasla.k_shortest_paths(roads, 0, 200_000, 50)
    assert len({tuple(path.path.tolist()) for path in found}) == 50
    assert found[0].distance == gasla.shortest_path(roads, 0, 200_000).distance
    verify.k_shortest_paths(roads, 0, 200_000, 50, found, samples=3)


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ((0, 5, 1), ValueError, "target 5 is outside a graph of 2 vertices"),
        ((0, 1, -1), ValueError, "k is -1; expected 0 or more"),
        ((0, 1, 2.0), TypeError, r"k is 2\.0; expected a whole number"),
    ],
)
def test_unsupported_input_is_refused(arguments: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        gasla.k_shortest_paths(csr_array([[0, 1.0], [0, 0]]), *arguments)


def test_negative_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match=r"edge 0 has the length -1\.0; expected 0 or more"):
        gasla.k_shortest_paths(csr_array([[0, -1.0], [0, 0]]), 0, 1, 2)


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        ([(3.0, [0, 1, 2], [0, 2]), (5.0, [0, 2], [1])], "there are 2 paths; expected 1 at most"),
        ([(5.0, [0, 2], [1])], r"begins with \[0\], and then goes to 1, is missing; its length is 3"),
        ([(3.0, [0, 2], [1])], r"the path has length 5\.0, not 3"),
        ([(5.0, [0, 1, 2], [0, 2])], r"the path has length 3\.0, not 5"),
        ([], r"begins with \[0\], and then goes to 1, is missing"),
    ],
)
def test_the_verifier_rejects_wrong_answers(paths: Any, words: str) -> None:
    triangle = csr_array([[0, 1.0, 5.0], [0, 0, 2.0], [0, 0, 0]])
    verify.k_shortest_paths(triangle, 0, 2, 1, gasla.k_shortest_paths(triangle, 0, 2, 1))
    with pytest.raises(VerificationError, match=words):
        verify.k_shortest_paths(triangle, 0, 2, 1, paths)
