"""Eccentricities, sizes of neighborhoods, effective diameters: beside NetworkX and SciPy, and what is refused."""

import importlib
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import dijkstra

import gasla
from gasla import generators, verify
from gasla.algorithms.traversal.neighborhood_sizes import counters_by_hops, estimates
from gasla.arrays import moved
from gasla.verify import VerificationError

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]


def drawn(n: int, m: int, seed: int, symmetric: bool) -> gasla.Graph:
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, n, (2, m))
    if symmetric:
        src, dst = np.r_[src, dst], np.r_[dst, src]
    return gasla.Graph.from_edges(src, dst, rng.integers(0, 3, len(src)), n=n)


def levels(graph: gasla.Graph) -> Any:
    search: Any = dijkstra
    return search(verify._common.edges_of(graph).matrix(), unweighted=True).reshape(graph.n, graph.n)


def farthest(graph: gasla.Graph) -> Any:
    found = levels(graph)
    return np.where(np.isfinite(found), found, 0).max(axis=1, initial=0)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 14), st.integers(0, 24), st.integers(0, 10**6), st.booleans())
def test_eccentricities_are_those_of_all_searches(n: int, m: int, seed: int, symmetric: bool) -> None:
    graph = drawn(n, m, seed, symmetric)
    found = gasla.eccentricity(graph)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, farthest(graph))
    verify.eccentricity(graph, found)


SHAPES = {
    "no vertex": lambda: gasla.Graph.from_edges([], [], n=0),
    "one vertex with a loop": lambda: gasla.Graph.from_edges([0, 0], [0, 0], n=1),
    "no edge": lambda: gasla.Graph.from_edges([], [], n=3),
    "grid": lambda: gasla.Graph(generators.grid(6)),
    "two hundred pairs and paths": lambda: both(np.arange(600)[np.arange(600) % 3 > 0]),
    "ring": lambda: both(np.arange(100), wrap=True),
}


def both(src: Any, wrap: bool = False) -> gasla.Graph:
    dst = (src + 1) % len(src) if wrap else src + 1
    return gasla.Graph.from_edges(np.r_[src, dst], np.r_[dst, src])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_hard_shapes_have_eccentricities(shape: str, device: Any) -> None:
    graph = SHAPES[shape]()
    np.testing.assert_array_equal(moved(gasla.eccentricity(graph.to(device)), "cpu"), farthest(graph))


def test_few_searches_bound_the_eccentricities_of_a_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[int] = []
    module = importlib.import_module("gasla.algorithms.traversal.eccentricity")
    monkeypatch.setattr(module, "bfs", lambda graph, source: searches.append(source) or gasla.bfs(graph, source))
    graph = gasla.Graph.from_networkx(nx.convert_node_labels_to_integers(nx.grid_2d_graph(40, 60)))
    row, column = np.divmod(np.arange(graph.n), 60)
    expected = np.maximum(row, 39 - row) + np.maximum(column, 59 - column)
    np.testing.assert_array_equal(gasla.eccentricity(graph), expected)
    assert len(searches) < 60


def test_eccentricities_are_networkxs_of_connected_graphs() -> None:
    G = nx.barabasi_albert_graph(200, 2, seed=3)
    found = gasla.eccentricity(gasla.Graph.from_networkx(G))
    assert dict(enumerate(found.tolist())) == nx.eccentricity(G)


def test_names_of_vertices_are_not_taken_for_ids() -> None:
    for graph in (nx.path_graph([3, 0, 2, 1]), nx.DiGraph([(3, 0), (0, 2), (2, 1)])):
        named = gasla.Graph.from_networkx(graph)
        assert sorted(gasla.eccentricity(named).tolist()) == ([2, 2, 3, 3] if not graph.is_directed() else [0, 1, 2, 3])
        assert gasla.k_hop_counts(named, 1, registers=None).sum() == (10 if not graph.is_directed() else 7)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 14), st.integers(0, 30), st.integers(0, 10**6), st.integers(0, 4))
def test_exact_counts_are_those_of_all_searches(n: int, m: int, seed: int, k: int) -> None:
    graph = drawn(n, m, seed, symmetric=False)
    found = gasla.k_hop_counts(graph, k, registers=None)
    np.testing.assert_array_equal(found, (levels(graph) <= k).sum(axis=1))
    verify.k_hop_counts(graph, k, found)
    for share in (0, 0.5, 0.9, 1):
        verify.effective_diameter(graph, gasla.effective_diameter(graph, share=share, registers=None), share=share)


@pytest.mark.parametrize("device", DEVICES)
def test_estimates_are_near(device: Any) -> None:
    graph = drawn(2000, 6000, 1, symmetric=True)
    right = levels(graph)
    for k in (0, 1, 3):
        found = moved(gasla.k_hop_counts(graph.to(device), k, registers=256), "cpu")
        error = found / (right <= k).sum(axis=1) - 1
        assert abs(error).max() < 6 * 1.04 / 16 and abs(error.mean()) < 0.05
        verify.k_hop_counts(graph, k, found, tolerance=0.4)
    exact = gasla.effective_diameter(graph, registers=None)
    assert abs(gasla.effective_diameter(graph.to(device), registers=256) - exact) < 0.1
    verify.effective_diameter(graph, exact, tolerance=0.02)


def test_estimates_of_another_seed_differ_and_those_of_the_same_agree() -> None:
    graph = drawn(300, 900, 1, symmetric=True)
    one, again, other = (gasla.k_hop_counts(graph, 2, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 40), st.integers(0, 80), st.integers(0, 10**6))
def test_counters_of_unions_are_maxima(n: int, m: int, seed: int) -> None:
    """A counter depends on the set that it has counted alone, whatever the paths."""
    graph = drawn(n, m, seed, symmetric=False)
    steps = list(counters_by_hops(graph, 32, seed))
    first, last = steps[0], steps[-1]
    reached = np.isfinite(levels(graph))
    right = np.array([first[row].max(axis=0) for row in reached])
    np.testing.assert_array_equal(last, right)
    with gasla.engines.interpreted():
        *_, same = counters_by_hops(graph, 32, seed)
    np.testing.assert_array_equal(last, same)


def test_a_counter_counts_many_vertices() -> None:
    from gasla.algorithms.traversal.neighborhood_sizes import _of_each

    for count in (10, 1000, 100_000):
        counters = _of_each(gasla.Graph.from_edges([], [], n=count), 256, 7)
        assert abs(estimates(counters.max(axis=0)[None])[0] / count - 1) < 0.25


def test_unsupported_arguments_are_refused() -> None:
    graph = drawn(4, 4, 0, symmetric=False)
    with pytest.raises(ValueError, match="k is -1; expected 0 or more"):
        gasla.k_hop_counts(graph, -1)
    for registers in (0, 63, 2048):
        with pytest.raises(ValueError, match=f"registers is {registers}; expected a power of two from 16 to 1024"):
            gasla.effective_diameter(graph, registers=registers)
    with pytest.raises(ValueError, match="share is 2; expected a number from 0 to 1"):
        gasla.effective_diameter(graph, share=2)


def test_verifiers_reject_wrong_answers() -> None:
    graph = drawn(8, 20, 1, symmetric=True)
    with pytest.raises(VerificationError, match="but its farthest vertex is at distance"):
        verify.eccentricity(graph, gasla.eccentricity(graph) + 1)
    with pytest.raises(VerificationError, match="vertices within 2 hops; there are"):
        verify.k_hop_counts(graph, 2, gasla.k_hop_counts(graph, 2, registers=None) + 1)
    with pytest.raises(VerificationError, match="no pair is farther apart than"):
        verify.effective_diameter(graph, 20.0)
