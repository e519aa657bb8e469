"""Minimum spanning forests: beside Kruskal's loop in the same order, SciPy and NetworkX, and on hard shapes."""

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csc_array, csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

import gasla
from gasla import Graph, datasets, verify
from gasla.cli.compute import on_host
from gasla.verify import VerificationError

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]


def both(n: int, src: Any, dst: Any, weight: Any) -> csr_array:
    """Both directions of every edge, rows ascending; parallel ones stay."""
    src, dst, weight = np.append(src, dst), np.append(dst, src), np.append(weight, weight)
    order = np.lexsort((dst, src))
    indptr = np.append(0, np.cumsum(np.bincount(src[order], minlength=n)))
    return csr_array((weight[order], dst[order].astype(np.int32), indptr.astype(np.int32)), shape=(n, n))


def random(n: int, m: int, seed: int, weights: int = 5, kind: Any = np.float32) -> csr_array:
    """Loops and parallel edges among them; many edges weigh the same."""
    rng = np.random.default_rng(seed)
    return both(n, *rng.integers(0, n, (2, m)), (rng.integers(0, weights, m) - 2).astype(kind))


def one_way(n: int, m: int, seed: int) -> coo_array:
    """Edges in no order, of which few have their other direction."""
    rng = np.random.default_rng(seed)
    return coo_array((rng.integers(-3, 3, m).astype(np.float32), rng.integers(0, n, (2, m))), shape=(n, n))


def path(n: int) -> csr_array:
    return both(n, np.arange(n - 1), np.arange(1, n), np.arange(n - 1, dtype=np.float32))


SHAPES: dict[str, Callable[[], Any]] = {
    "random": lambda: random(60, 150, 1),
    "sparse": lambda: random(90, 50, 2),
    "all weights alike": lambda: random(60, 200, 3, weights=1),
    "one way": lambda: one_way(60, 150, 4),
    "by columns": lambda: csc_array(random(50, 100, 5)),
    "path": lambda: path(200),
    "star": lambda: both(300, np.zeros(299, int), np.arange(1, 300), np.ones(299, np.float32)),
    "directions of other weights": lambda: csr_array(np.array([[0, 5, 1], [2, 0, 7], [9, 3, 0]], np.float32)),
    "infinite weights": lambda: both(4, [0, 1, 2], [1, 2, 0], np.full(3, np.inf, np.float32)),
    "loops alone": lambda: csr_array(np.eye(5, dtype=np.float32)),
    "no edges": lambda: csr_array((5, 5), dtype=np.float32),
    "one vertex": lambda: csr_array((1, 1), dtype=np.float32),
    "no vertex": lambda: Graph.from_csr([0], np.zeros(0, np.int32), np.zeros(0, np.float32)),
    "wide ids": lambda: _widened(random(40, 90, 6)),
}


def _widened(matrix: csr_array) -> Graph:
    return Graph.from_csr(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data)


def ends(graph: Graph) -> tuple[Any, Any]:
    """Of every edge, by its number."""
    numbers = graph.out.numbers()
    src, dst = np.empty((2, graph.m), np.int64)
    src[numbers], dst[numbers] = graph.out.owners(), graph.out.indices
    return src, dst


def kruskal(graph: Graph) -> list[int]:
    """The lightest edges first, then by their ends, then by their numbers."""
    src, dst = ends(graph)
    weight = np.ones(graph.m) if graph.values is None else graph.values
    parent, taken = list(range(graph.n)), []

    def root(v: int) -> int:
        while parent[v] != v:
            parent[v] = v = parent[parent[v]]
        return v

    for e in np.lexsort((np.arange(graph.m), np.maximum(src, dst), np.minimum(src, dst), weight)).tolist():
        a, b = root(int(src[e])), root(int(dst[e]))
        if a != b:
            parent[a] = b
            taken.append(e)
    return sorted(taken)


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_edges_are_kruskals(shape: str, device: Any) -> None:
    graph = gasla.Graph(SHAPES[shape]())
    found = on_host(gasla.minimum_spanning_forest(graph.to(device)))
    assert found.edges.tolist() == kruskal(graph)
    assert found.edges.dtype == np.int64
    assert graph.values is not None
    assert found.total == graph.values[found.edges].sum(dtype=np.float64)
    verify.minimum_spanning_forest(graph, found.edges, found.total)


@pytest.mark.thorough
@given(st.integers(1, 12), st.integers(0, 40), st.integers(0, 2**32), st.booleans())
def test_edges_are_kruskals_whatever_the_graph(n: int, m: int, seed: int, symmetric: bool) -> None:
    graph = Graph(random(n, m, seed) if symmetric else one_way(n, m, seed))
    assert gasla.minimum_spanning_forest(graph).edges.tolist() == kruskal(graph)


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
def test_total_is_scipys_to_the_last_bit(device: Any) -> None:
    matrix = datasets.rmat(9).copy()
    matrix.data = matrix.data.astype(np.int64) * 2**40 + 1  # which no float32 holds
    found = on_host(gasla.minimum_spanning_forest(Graph(matrix).to(device)))
    expected = minimum_spanning_tree(matrix.astype(np.float64))
    assert found.total == int(expected.data.astype(np.int64).sum())
    assert found.total.dtype == np.int64
    assert len(found.edges) == matrix.shape[0] - connected_components(matrix, directed=False)[0]


def test_total_is_networkxs_on_openflights() -> None:
    matrix = datasets.openflights().matrix
    rng = np.random.default_rng(7)
    weighted = csr_array((rng.random(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
    found = gasla.minimum_spanning_forest(weighted)
    least = weighted.minimum(weighted.T) + (weighted - weighted.multiply(weighted.T > 0))  # where there is but one
    least = least + (weighted.T - weighted.T.multiply(weighted > 0))
    simple = nx.from_scipy_sparse_array(least)
    expected = nx.minimum_spanning_tree(simple).size(weight="weight")
    np.testing.assert_allclose(found.total, expected, rtol=1e-9)
    verify.minimum_spanning_forest(weighted, found.edges, found.total)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.bool_, np.int16, np.uint32, np.float64])
def test_weights_of_any_type(kind: Any) -> None:
    graph = Graph(random(60, 150, 8, kind=kind))
    found = gasla.minimum_spanning_forest(graph)
    assert found.edges.tolist() == kruskal(graph)
    verify.minimum_spanning_forest(graph, found.edges, found.total)


@pytest.mark.slow
def test_without_values_each_edge_weighs_one() -> None:
    graph = Graph.from_edges([3, 0, 1, 2, 2], [0, 1, 2, 0, 2], n=6)
    edges, total = gasla.minimum_spanning_forest(graph)
    assert (edges.tolist(), int(total)) == (kruskal(graph), 3)


@pytest.mark.thorough
def test_what_is_written_into_the_values_is_seen() -> None:
    matrix = random(30, 60, 9)
    graph = Graph(matrix)
    before = gasla.minimum_spanning_forest(graph).edges.tolist()
    matrix.data *= -1
    after = gasla.minimum_spanning_forest(graph).edges.tolist()
    assert (before, after) == (kruskal(Graph(random(30, 60, 9))), kruskal(graph))


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_what_is_no_weight_is_refused_by_name(bad: float) -> None:
    matrix = path(4)
    matrix.data[2] = bad
    with pytest.raises(ValueError, match=r"the weight of edge 2 is (nan|-inf); expected a number"):
        gasla.minimum_spanning_forest(matrix)


RING = Graph.from_edges([0, 1, 2, 3, 4], [1, 2, 3, 0, 4], np.array([4, 1, 2, 3, 0], np.float32))


@pytest.mark.parametrize(
    ("edges", "total", "complaint"),
    [
        ([1, 2, 9], None, "the graph has no edge 9"),
        ([1, 2, 2], None, "edge 2 is a duplicate"),
        ([0, 1, 2, 3], None, "some form a cycle"),
        ([1, 2, 4], None, "some form a cycle"),
        ([1, 2], None, "edge 0 joins vertices in different trees of the forest"),
        ([0, 1, 2], None, "edge 3 weighs 3.0, but an edge on the path between its ends weighs 4.0"),
        ([1, 2, 3], 7, "the edges weigh 6.0, not 7"),
        ([0.5], None, "numbers of edges were expected"),
    ],
)
def test_the_verifier_names_what_is_wrong(edges: Any, total: Any, complaint: str) -> None:
    with pytest.raises(VerificationError, match=complaint):
        verify.minimum_spanning_forest(RING, edges, total)
