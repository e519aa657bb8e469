"""Cliques, against NetworkX on small graphs; and common neighbors that are listed, and edges looked up."""

from math import comb
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import EdgeFrontier, datasets, primitives
from gasla.cpu.primitive import listing as cpu
from gasla.cpu.primitive import neighbors
from gasla.gpu.primitive import listing as gpu
from gasla.graph.graph import Graph
from tests import oracles
from tests.algorithms.community.test_edge_support import DEVICES, HARD, Edges, on, peer, plain
from tests.algorithms.community.test_triangles import edge_lists, use_threads

DENSE = st.tuples(st.integers(4, 16), st.integers(0, 2**32 - 1), st.floats(0.2, 0.95))


def cliques_of(graph: nx.Graph, most: int) -> list[int]:
    """How many there are of 1, 2, … vertices."""
    counts = [0] * most
    for clique in nx.enumerate_all_cliques(graph):
        if len(clique) > most:
            break
        counts[len(clique) - 1] += 1
    return counts


def random_edges(n: int, seed: int, density: float) -> Edges:
    """Each pair or not, in either direction, some twice, and loops."""
    rng = np.random.default_rng(seed)
    src, dst = np.nonzero(rng.random((n, n)) < density)
    return n, src, dst


def complete(n: int) -> Graph:
    return Graph.from_edges(*np.triu_indices(n, 1), n=n)


# --- cliques ---------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
@settings(max_examples=30)
@given(DENSE)
def test_cliques_of_random_graphs(device: Any, dense: tuple[int, int, float]) -> None:
    edges = random_edges(*dense)
    wanted = cliques_of(peer(*edges), 10)
    for short in (-1, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(neighbors, "SHORT", short)
            graph = on(device, edges)
            assert [gasla.count_cliques(graph, k) for k in range(1, 11)] == wanted


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", HARD)
def test_cliques_of_hard_shapes(device: Any, shape: str) -> None:
    graph = on(device, HARD[shape])
    assert [gasla.count_cliques(graph, k) for k in range(1, 7)] == cliques_of(peer(*HARD[shape]), 6)


@pytest.mark.parametrize("device", DEVICES)
def test_large_cliques_are_counted_by_choices(device: Any) -> None:
    """No integer of the machine holds these; several words of bits a row, and several threads."""
    graph = complete(150).to(device)
    for k in (4, 5, 75, 148, 150):
        assert gasla.count_cliques(graph, k) == comb(150, k)
    assert gasla.count_cliques(graph, 151) == 0
    n = 3 * 40  # Moon and Moser's: everybody but two others
    src, dst = np.nonzero(np.arange(n)[:, None] // 3 != np.arange(n) // 3)
    for k in (4, 5, 6):
        assert gasla.count_cliques(Graph.from_edges(src, dst).to(device), k) == comb(40, k) * 3**k


@pytest.mark.thorough
def test_cliques_of_airports_and_a_star() -> None:
    flights = Graph(datasets.openflights().matrix)
    for k in (3, 4, 7):
        oracles.count_cliques(flights, gasla.count_cliques(flights, k), k)
    star = Graph.from_edges(np.zeros(100_000, int), np.arange(1, 100_001))
    assert [gasla.count_cliques(star, k) for k in (2, 3, 4, 8)] == [100_000, 0, 0, 0]


@pytest.mark.parametrize("kind", [np.int32, pytest.param(np.int64, marks=pytest.mark.slow)])  # to compile anew
def test_cliques_on_several_threads_and_with_wide_ids(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    n, src, dst = random_edges(70, 3, 0.4)
    graph = Graph.from_csr(np.append(0, np.bincount(src, minlength=n)).cumsum(), dst[::-1].astype(kind))
    whole = [gasla.count_cliques(graph, k) for k in (4, 6)]
    use_threads(monkeypatch, 2)
    assert [gasla.count_cliques(graph, k) for k in (4, 6)] == whole
    for k, count in zip((4, 6), whole):
        oracles.count_cliques(graph, count, k)


@pytest.mark.parametrize(("k", "error"), [(0, ValueError), (-1, ValueError), (2.5, TypeError), ("4", TypeError)])
def test_a_clique_has_a_number_of_vertices(k: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="k is"):
        gasla.count_cliques(complete(3), k)


# --- common neighbors -----------------------------------------------------------------------------------------------


def some_pairs(graph: Graph, seed: int) -> tuple[EdgeFrontier, Any]:
    rng = np.random.default_rng(seed)
    src, dst, above = rng.integers(0, max(graph.n, 1), (3, 40 if graph.n else 0)).astype(graph.id_dtype)
    return EdgeFrontier(graph.n, np.arange(len(src)), src, dst), above - 1


@given(edge_lists(), st.integers(0, 2**32 - 1))
def test_common_neighbors_are_counted_as_by_numpy(edges: Edges, seed: int) -> None:
    """By NumPy over both lists; what a GPU does, on arrays of NumPy; and of graphs that aren't simple."""
    n, src, dst = edges
    graph = on("cpu", edges)
    pairs, above = some_pairs(graph, seed)
    count = np.zeros((n, n), int)
    np.add.at(count, (src, dst), 1)
    common = np.minimum(count[pairs.src], count[pairs.dst])
    for bound in (None, above):
        if bound is not None:
            common = np.where(np.arange(n) > bound[:, None], common, 0)
        which, vertices = primitives.common(graph, pairs, bound)
        np.testing.assert_array_equal(which, np.repeat(np.arange(len(common)), common.sum(axis=1)))
        np.testing.assert_array_equal(vertices, np.repeat(np.tile(np.arange(n), len(common)), common.ravel()))
        for a, b in zip(gpu.common(graph, pairs.src, pairs.dst, bound), (which, vertices)):
            np.testing.assert_array_equal(a, b)
    there = primitives.has_edges(graph, pairs)
    np.testing.assert_array_equal(there, count[pairs.src, pairs.dst] > 0)
    np.testing.assert_array_equal(gpu.has_edges(graph, pairs.src, pairs.dst), there)


@pytest.mark.gpu
@given(edge_lists(), st.integers(0, 2**32 - 1))
def test_common_neighbors_on_a_gpu(edges: Edges, seed: int) -> None:
    graph = on("cpu", edges)
    pairs, above = some_pairs(graph, seed)
    for bound in (None, above):
        found = primitives.common(graph.to("gpu"), pairs, bound)
        for a, b in zip(found, primitives.common(graph, pairs, bound)):
            np.testing.assert_array_equal(plain(a), b)
    np.testing.assert_array_equal(
        plain(primitives.has_edges(graph.to("gpu"), pairs)), primitives.has_edges(graph, pairs)
    )


def test_lopsided_lists_on_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    use_threads(monkeypatch, 2)
    src, dst = np.append(np.zeros(900, int), np.ones(5, int)), np.append(np.arange(2, 902), np.arange(2, 3000, 600))
    graph = Graph.from_edges(src, dst, n=3000)
    both = np.array([0, 1] * 2000, np.int32)
    which, vertices = cpu.common(graph, both, both[::-1].copy(), None)
    np.testing.assert_array_equal(which, np.repeat(np.arange(4000), 2))
    np.testing.assert_array_equal(vertices, [2, 602] * 4000)


@pytest.mark.gpu
def test_cliques_of_larger_graphs_on_a_gpu() -> None:
    for graph in (Graph(datasets.rmat(9)), Graph(datasets.openflights().matrix)):
        for k in (3, 4, 5, 9):
            assert gasla.count_cliques(graph.to("gpu"), k) == gasla.count_cliques(graph, k)


@pytest.mark.gpu
def test_cliques_at_lists_of_several_parts_on_a_gpu() -> None:
    """A vertex has more later neighbors than a block's table takes at a time."""
    graph = complete(1_300).to("gpu")
    assert [gasla.count_cliques(graph, k) for k in (4, 5, 700)] == [comb(1_300, k) for k in (4, 5, 700)]


def test_arguments_of_primitives_are_checked() -> None:
    graph = complete(4)
    pairs = EdgeFrontier(4, np.arange(2), np.array([0, 1]), np.array([1, 2]))
    with pytest.raises(TypeError, match="expected an EdgeFrontier"):
        primitives.common(graph, [0, 1])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"vertex 4 is outside a graph of 4"):
        primitives.has_edges(graph, EdgeFrontier(4, pairs.ids, pairs.src, np.array([1, 4])))
    with pytest.raises(ValueError, match="2 sources and 1 destinations"):
        primitives.common(graph, EdgeFrontier(4, pairs.ids, pairs.src, pairs.dst[:1]))
    for above in (np.zeros(3, int), np.zeros(2)):
        with pytest.raises(ValueError, match="expected 2 integers, one per pair"):
            primitives.common(graph, pairs, above)
