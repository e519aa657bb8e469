"""Label propagation: communities that are known, hard shapes, and what a division has to be like."""

from collections import Counter
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import gasla
from gasla import datasets, verify
from gasla.algorithms.community.label_propagation import Labels, RandomOrder
from gasla.cli.compute import on_host
from gasla.graph.graph import Graph
from gasla.verify import VerificationError

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]


def found(graph: Any, device: Any = "cpu", **options: Any) -> np.ndarray:
    labels: np.ndarray = on_host(gasla.label_propagation(Graph(graph).to(device), **options))
    return labels


def cliques(count: int, size: int, bridges: bool = True) -> csr_array:
    """Cliques in a row, each joined to the next by an edge."""
    graph = nx.disjoint_union_all([nx.complete_graph(size)] * count)
    if bridges:
        graph.add_edges_from((size * i, size * i + size + 1) for i in range(count - 1))
    return csr_array(nx.to_scipy_sparse_array(graph, weight=None, dtype=np.float32))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_cliques_are_communities(device: Any, seed: int) -> None:
    np.testing.assert_array_equal(found(cliques(20, 8), device, seed=seed, tol=0), np.arange(160) // 8)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.slow
def test_weights_count(device: Any) -> None:
    """A square whose sides weigh more by turns; without weights it is one ring."""
    square = csr_array(np.array([[0, 9, 0, 1], [9, 0, 1, 0], [0, 1, 0, 9], [1, 0, 9, 0]], np.float32))
    assert found(square, device, weighted=True, tol=0).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("device", DEVICES)
def test_bipartite_graphs_come_to_rest(device: Any) -> None:
    """Where all swapped labels at once, a grid would end with none of its edges within a community."""
    side = 40
    grid = csr_array(nx.to_scipy_sparse_array(nx.grid_2d_graph(side, side), dtype=np.float32))
    for matrix in (grid, csr_array(nx.to_scipy_sparse_array(nx.complete_bipartite_graph(9, 9), dtype=np.float32))):
        labels = found(matrix, device)
        verify.label_propagation(matrix, labels)
        sets = [set(np.flatnonzero(labels == c).tolist()) for c in range(labels.max() + 1)]
        quality = nx.community.modularity(nx.from_scipy_sparse_array(matrix), sets)
        assert quality > 0.6 if matrix is grid else len(sets) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("tol", [0, 1e-3])
def test_real_graphs_give_right_answers(device: Any, tol: float) -> None:
    for matrix in (datasets.openflights().matrix, datasets.rmat(10)):
        matrix = csr_array(matrix)
        verify.label_propagation(matrix, found(matrix, device, tol=tol), share=0.15)


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
def test_hard_shapes_give_right_answers(device: Any) -> None:
    assert found(csr_array((0, 0), dtype=np.float32), device).tolist() == []
    assert found(csr_array((3, 3), dtype=np.float32), device).tolist() == [0, 1, 2]
    loop = csr_array(np.eye(2, dtype=np.float32))
    assert found(loop, device).tolist() == [0, 1]
    hub = np.r_[0, np.arange(1, 500)]
    star = Graph.from_edges(np.zeros(500, np.int32), hub)
    assert on_host(gasla.label_propagation(star.to(device), tol=0)).tolist() == [0] * 500
    path = found(csr_array(np.eye(50, k=1, dtype=np.float32)), device)
    assert (np.diff(path) >= 0).all() and path.max() < 25  # pieces of two and more


def test_parallel_edges_count_each_and_directions_do_not() -> None:
    """Vertex 1 has two edges to 0, one each to 2 and 3, which are a pair of two edges."""
    src, dst = [1, 1, 1, 2, 2], [0, 0, 2, 3, 3]
    for s, d in ((src, dst), (dst, src)):
        assert gasla.label_propagation(Graph.from_edges(s, d), tol=0).tolist() in ([0, 0, 1, 1], [0, 0, 0, 0])


@pytest.mark.thorough
@settings(max_examples=25, deadline=None)
@given(st.integers(1, 30), st.integers(0, 90), st.integers(0, 2**32))
def test_whoever_could_move_has(n: int, m: int, seed: int) -> None:
    src, dst = np.random.default_rng(seed).integers(0, n, (2, m))
    graph = Graph.from_edges(src, dst, n=n)
    labels = gasla.label_propagation(graph, seed=seed, tol=0, max_iter=1000)
    verify.label_propagation(graph, labels, share=0.1)
    np.testing.assert_array_equal(labels, gasla.label_propagation(graph, seed=seed, tol=0, max_iter=1000))


def test_int64_ids_are_supported() -> None:
    matrix = cliques(5, 6)
    wide = Graph.from_csr(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64))
    np.testing.assert_array_equal(gasla.label_propagation(wide, tol=0), np.arange(30) // 6)


@pytest.mark.parametrize("ids", [np.int32, np.int64])
@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_a_lot_gives_every_vertex_a_label_of_its_own(seed: int, ids: Any) -> None:
    lot, most = RandomOrder(seed, np.dtype(ids)), np.iinfo(ids).max
    vertices = np.r_[np.arange(5000, dtype=ids), ids(most // 3) + np.arange(5000, dtype=ids), ids(most)]
    labels = lot.labels(vertices)
    assert labels.dtype == ids and labels.min() >= 0 and len(np.unique(labels)) == len(vertices)
    np.testing.assert_array_equal(lot.vertices(labels), vertices)
    comes_first = (labels[1:5000] < labels[:4999]).mean()  # a neighbor on a path
    assert 0.45 < comes_first < 0.55 and 0.4 < labels[:5000].mean() / most < 0.6


def test_unsupported_input_is_refused() -> None:
    matrix = cliques(2, 3)
    for wrong, says in (({"tol": -1}, "tol is -1"), ({"seed": "x"}, "seed is 'x'"), ({"max_iter": -1}, "max_iter")):
        with pytest.raises((TypeError, ValueError), match=says):
            gasla.label_propagation(matrix, **wrong)
    matrix.data[1] = -1
    with pytest.raises(ValueError, match="the weight of edge 1 is -1"):
        gasla.label_propagation(matrix, weighted=True)


def test_the_verifier_names_what_is_wrong() -> None:
    matrix = cliques(2, 4)
    for wrong, says in (
        ([1] * 4 + [0] * 4, "the community of vertex 0 is numbered 1; in the order"),
        ([0, 1, 2, 3, 4, 5, 6, 7], "is in community 0, where 0 of its edges lead, and 2 to community 1"),
    ):
        with pytest.raises(VerificationError, match=says):
            verify.label_propagation(matrix, wrong)
    with pytest.raises(VerificationError, match="vertex 2 has no neighbor, but shares its community"):
        verify.label_propagation(csr_array(np.eye(3, k=1) * [[1], [0], [0]]), [0, 0, 0])


@pytest.mark.thorough
@pytest.mark.parametrize("threads", [1, 2])
def test_engines_agree(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of all lengths, of which the short ones have code of their own, and activity."""
    if threads > 1:
        monkeypatch.setattr("gasla.cpu.program.workspace.SMALL", 0)
    for n, m in ((300, 350), (300, 900), (60, 2000), (4, 3)):
        src, dst = np.random.default_rng(m).integers(0, n, (2, m))
        graph = Graph.from_edges(np.r_[src, dst], np.r_[dst, src], n=n)
        drawn = RandomOrder(7, graph.id_dtype).labels(np.arange(n, dtype=graph.id_dtype))
        results = [gasla.run(Labels, graph, max_iterations=30, label=drawn, compile=c) for c in (False, True)]
        np.testing.assert_array_equal(results[0].label, results[1].label)
        assert results[0].iterations == results[1].iterations


# --- the synchronous method -------------------------------------------------------------------------------------------


def most_frequent(graph: Graph, iterations: int) -> list[int]:
    """The definition of CDLP in pure Python: neighbors along edges and against them both count."""
    src, dst = (ends.tolist() for ends in graph.edges())
    label = list(range(graph.n))
    for _ in range(iterations):
        counts: list[Counter[int]] = [Counter() for _ in label]
        for u, v in zip(src, dst):
            if u != v:
                counts[u][label[v]] += 1
                counts[v][label[u]] += 1
        label = [min(c, key=lambda name: (-c[name], name)) if c else label[v] for v, c in enumerate(counts)]
    return label


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 14), st.integers(0, 60), st.integers(0, 2**32), st.integers(0, 6), st.booleans())
def test_synchronous_labels_are_those_of_the_definition(n: int, m: int, seed: int, iterations: int, both: bool) -> None:
    src, dst = np.random.default_rng(seed).integers(0, max(n, 1), (2, m if n else 0))
    if both:
        src, dst = np.r_[src, dst], np.r_[dst, src]
    graph = Graph.from_edges(src, dst, n=n)
    labels = gasla.label_propagation(graph, method="synchronous", max_iter=iterations)
    assert labels.tolist() == most_frequent(graph, iterations)
    verify.label_propagation(graph, labels, method="synchronous", max_iter=iterations)


@pytest.mark.parametrize("device", DEVICES)
def test_synchronous_labels_may_alternate(device: Any) -> None:
    pair = csr_array(np.array([[0, 1], [1, 0]], np.float32))
    for iterations in range(4):
        labels = found(pair, device, method="synchronous", max_iter=iterations)
        assert labels.tolist() == [iterations % 2, 1 - iterations % 2]


@pytest.mark.parametrize("device", DEVICES)
def test_synchronous_labels_follow_weights(device: Any) -> None:
    square = csr_array(np.array([[0, 9, 0, 1], [9, 0, 1, 0], [0, 1, 0, 9], [1, 0, 9, 0]], np.float32))
    labels = found(square, device, weighted=True, method="synchronous", max_iter=1)
    assert labels.tolist() == [1, 0, 3, 2]
    verify.label_propagation(square, labels, weighted=True, method="synchronous", max_iter=1)
    with pytest.raises(VerificationError, match="the label of vertex 0 is 1, not 0"):
        verify.label_propagation(square, [0, 0, 3, 2], weighted=True, method="synchronous", max_iter=1)


@pytest.mark.thorough
def test_synchronous_labels_of_flights() -> None:
    matrix = datasets.openflights().matrix
    labels = gasla.label_propagation(matrix, method="synchronous", max_iter=10)
    verify.label_propagation(matrix, labels, method="synchronous", max_iter=10)
    wide = Graph.from_csr(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64))
    np.testing.assert_array_equal(gasla.label_propagation(wide, method="synchronous", max_iter=10), labels)
    assert len(np.unique(labels)) < len(np.unique(most_frequent(Graph(matrix), 1)))


def test_unknown_methods_are_refused() -> None:
    with pytest.raises(ValueError, match="method is 'fast'; expected one of 'pick-less', 'synchronous'"):
        gasla.label_propagation(cliques(2, 3), method="fast")  # type: ignore[arg-type]
