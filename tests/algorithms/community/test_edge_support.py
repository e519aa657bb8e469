"""Triangles at edges, and what is made of them, against NetworkX and SciPy."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import gasla
from gasla import datasets, verify
from gasla.bench import graphs
from gasla.bench.peers import make
from gasla.bench.tasks import Gasla
from gasla.cpu.primitive import neighbors
from gasla.graph.graph import Graph
from gasla.operations.primitives import count_common_neighbors, orient
from tests import oracles
from tests.algorithms.community.test_triangles import edge_lists, undirected, use_threads

Edges = tuple[int, np.ndarray, np.ndarray]
DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]
HARD: dict[str, Edges] = {
    "no vertex": (0, np.empty(0, int), np.empty(0, int)),
    "one vertex": (1, np.empty(0, int), np.empty(0, int)),
    "a loop": (1, np.zeros(1, int), np.zeros(1, int)),
    "loops and parallel edges": (4, np.array([0, 0, 1, 2, 2, 3]), np.array([1, 1, 2, 0, 2, 3])),
    "two pieces": (7, np.array([0, 1, 2, 4, 5, 6]), np.array([1, 2, 0, 5, 6, 4])),
    "a star": (500, np.zeros(499, int), np.arange(1, 500)),
    "a path": (500, np.arange(499), np.arange(1, 500)),
}


def peer(n: int, src: np.ndarray, dst: np.ndarray) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from((u, v) for u, v in zip(src.tolist(), dst.tolist()) if u != v)
    return graph


def support_of(n: int, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
    """By a matrix product: common neighbors of both ends."""
    pattern = csr_array((np.ones(len(src), np.int64), (src, dst)), shape=(n, n))
    both = csr_array(pattern + pattern.T)
    both.setdiag(0)
    both.eliminate_zeros()
    both.data[:] = 1
    common = csr_array((both @ both).multiply(both)).toarray()
    return common[src, dst]


def on(device: Any, edges: Edges) -> Graph:
    n, src, dst = edges
    return Graph.from_edges(src, dst, n=n).to(device)


def plain(array: Any) -> np.ndarray:
    return array if isinstance(array, np.ndarray) else array.get()


def check(device: Any, edges: Edges) -> None:
    """All four, for a graph as it is given."""
    n, src, dst = edges
    graph, other = on(device, edges), peer(*edges)
    support = plain(gasla.edge_support(graph))
    assert support.dtype == np.int64
    np.testing.assert_array_equal(support, support_of(*edges))
    scores = nx.clustering(other)
    np.testing.assert_allclose(plain(gasla.clustering(graph)), [scores[v] for v in range(n)])
    assert gasla.transitivity(graph) == pytest.approx(nx.transitivity(other))
    for k in range(6):
        truss = nx.k_truss(other, k)
        wanted = [u != v and truss.has_edge(u, v) for u, v in zip(src.tolist(), dst.tolist())]
        np.testing.assert_array_equal(plain(gasla.k_truss(graph, k)), np.array(wanted, bool))


@pytest.mark.parametrize("device", DEVICES)
@settings(max_examples=40)
@given(edges=edge_lists())
def test_random_graphs_give_right_answers(device: Any, edges: Edges) -> None:
    for short in (-1, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(neighbors, "SHORT", short)
            check(device, edges)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", HARD)
def test_hard_shapes_give_right_answers(device: Any, shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for short in (-1, 10**9):
        monkeypatch.setattr(neighbors, "SHORT", short)
        check(device, HARD[shape])


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
def test_the_airport_graph_gives_a_right_answer(device: Any) -> None:
    graph = Graph(datasets.openflights().matrix)
    check(device, (graph.n, graph.out.owners(), graph.out.indices))


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.integers(100, 2000), st.integers(1, 20), st.booleans(), st.integers(1, 3))
def test_several_threads_agree_on_larger_graphs(seed: int, n: int, degree: int, skewed: bool, threads: int) -> None:
    matrix = undirected(n, n * degree, seed, skewed)
    src, dst = matrix.nonzero()
    order = np.random.default_rng(seed).permutation(len(src))
    src, dst = src[order], dst[order]
    wanted = support_of(n, src, dst)
    with pytest.MonkeyPatch.context() as patch:
        use_threads(patch, threads)
        patch.setattr("gasla.cpu.primitive.support.MOST_COUNTING", 2)
        for short in (10**9, -1):
            patch.setattr(neighbors, "SHORT", short)
            oriented = orient(Graph.from_edges(src, dst, n=n))
            total, found = count_common_neighbors(oriented, per_edge=True)
            np.testing.assert_array_equal(found, wanted)
            assert total == wanted.sum() // 6 == count_common_neighbors(oriented)[0]


@pytest.mark.thorough
@pytest.mark.parametrize("way", [-1, 10**9])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_int64_and_lists_in_any_order(kind: Any, way: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbors, "SHORT", way)
    matrix = undirected(50, 300, 2, True)
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(kind)
    for v in range(50):
        indices[indptr[v] : indptr[v + 1]] = indices[indptr[v] : indptr[v + 1]][::-1].copy()
    found = gasla.edge_support(Graph.from_csr(indptr, indices))
    src = np.repeat(np.arange(50), np.diff(indptr))
    np.testing.assert_array_equal(found, support_of(50, src, indices.astype(np.int64)))


@pytest.mark.thorough
@given(edges=edge_lists(), k=st.integers(3, 6))
def test_every_edge_of_a_truss_has_its_triangles_there(edges: Edges, k: int) -> None:
    graph = on("cpu", edges)
    truss = graph.select(gasla.k_truss(graph, k))
    assert (gasla.edge_support(truss) >= k - 2).all()
    np.testing.assert_array_equal(gasla.k_truss(truss, k), np.ones(truss.m, bool))


def test_arguments_are_checked() -> None:
    graph = on("cpu", HARD["two pieces"])
    with pytest.raises(ValueError, match="per_vertex and per_edge are both True"):
        count_common_neighbors(orient(graph), per_vertex=True, per_edge=True)
    with pytest.raises(TypeError, match="k is"):
        gasla.k_truss(graph, 2.5)
    with pytest.raises(ValueError, match="k is -1"):
        gasla.k_truss(graph, -1)


@settings(max_examples=25)
@given(edges=edge_lists(), k=st.sampled_from([None, 2, 3, 4]))
def test_verifiers_accept_right_answers_only(edges: Edges, k: int | None) -> None:
    graph = on("cpu", edges)
    support, truss, scores = gasla.edge_support(graph), gasla.k_truss(graph, k), gasla.clustering(graph)
    verify.edge_support(graph, support)
    oracles.k_truss(graph, truss, k)
    verify.clustering(graph, scores)
    highest = nx.Graph(peer(*edges))
    if k is None and highest.number_of_edges():
        most = max(k for k in range(2, 15) if nx.k_truss(highest, k).number_of_edges())
        np.testing.assert_array_equal(truss, gasla.k_truss(graph, most))
    for e in range(min(graph.m, 6)):
        change = np.arange(graph.m) == e
        with pytest.raises(verify.VerificationError, match="triangles, not"):
            verify.edge_support(graph, support + change)
        twins = (edges[1] == edges[1][e]) & (edges[2] == edges[2][e])
        if twins.sum() == 1:
            with pytest.raises(verify.VerificationError):
                oracles.k_truss(graph, truss ^ change, k)
    with pytest.raises(verify.VerificationError, match="the clustering of vertex 0 is"):
        verify.clustering(graph, scores + 0.1)


@pytest.mark.parametrize("name", ["graphblas", "igraph"])
def test_peers_agree(name: str) -> None:
    pytest.importorskip(name)
    graph = graphs.load("rmat8")
    ours, theirs = Gasla(graph), make(name, graph)
    for algorithm in ("edge_support", "clustering", "k_truss"):
        if hasattr(theirs, algorithm):
            right = getattr(ours, algorithm)()
            found = theirs.dense(getattr(theirs, algorithm)())
            np.testing.assert_allclose(found, right)
