"""Triangles and common neighbors on the GPU, by every order and way of sharing work out."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import gasla
from gasla import Graph, primitives, verify
from gasla.gpu.primitive import neighbors as module
from gasla.gpu.runtime import compile as gpu
from gasla.graph import generators
from gasla.graph.adjacency import Adjacency
from gasla.program.frontier import EdgeFrontier
from tests.algorithms.community.test_edge_support import support_of
from tests.algorithms.community.test_triangles import edge_lists, scipy_triangles, undirected
from tests.helpers.in_turns import in_turns

pytestmark = pytest.mark.thorough

WAYS = {"merged": 10**9, "looked up": -1}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each way of counting, whatever the degrees."""
    monkeypatch.setattr(module, "FLAT", WAYS[request.param])
    return request.param


def on_gpu(graph: Any) -> Graph:
    return Graph(graph).to("gpu")


def dense(n: int, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
    """The matrix of the simple undirected graph."""
    matrix = np.zeros((n, n), np.int64)
    matrix[src, dst] = matrix[dst, src] = 1
    np.fill_diagonal(matrix, 0)
    return matrix


def check(graph: Graph, counts: np.ndarray) -> None:
    """Both forms of the count, against what each vertex should have."""
    total = int(counts.sum()) // 3
    found = gasla.triangle_count(graph)
    assert found == total
    assert (found.dtype, found.shape) == (np.int64, ())  # an array, so that nobody waits
    result = gasla.triangle_count(graph, per_vertex=True)
    assert result.total == total
    assert result.per_vertex.dtype == np.int64
    np.testing.assert_array_equal(result.per_vertex.get(), counts)


KINDS = list(product([4, 8], [4, 8], [(False, False), (True, False), (False, True)]))


@pytest.mark.parametrize(
    ("vertex", "offset", "counts", "architecture"), in_turns(KINDS, [("compute_80",), ("compute_90",)])
)
def test_kernels_compile(vertex: int, offset: int, counts: tuple[bool, bool], architecture: str) -> None:
    assert gpu.compile_source(module.source(vertex, offset, *counts), architecture)


@given(edge_lists())
def test_simple_lists(edges: tuple[int, np.ndarray, np.ndarray]) -> None:
    n, src, dst = edges
    lists = Graph.from_edges(src, dst, n=n).out
    indptr, indices = module.simple_lists(lists.indptr, lists.indices)
    wanted = dense(n, src, dst)
    np.testing.assert_array_equal(np.diff(indptr), wanted.sum(axis=1))
    np.testing.assert_array_equal(indices, wanted.nonzero()[1])


# --- triangles -------------------------------------------------------------------------------------------------------


@pytest.mark.gpu
@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=60)
@given(edges=edge_lists())
def test_random_graphs_give_right_answers(way: str, edges: tuple[int, np.ndarray, np.ndarray]) -> None:
    n, src, dst = edges
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FLAT", WAYS[way])
        check(Graph.from_edges(src, dst, n=n).to("gpu"), scipy_triangles(csr_array(dense(n, src, dst))))


@pytest.mark.gpu
@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(100, 2000),
    degree=st.integers(1, 20),
    skewed=st.booleans(),
)
def test_larger_random_graphs(way: str, seed: int, n: int, degree: int, skewed: bool) -> None:
    matrix = undirected(n, n * degree, seed, skewed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FLAT", WAYS[way])
        check(on_gpu(matrix), scipy_triangles(matrix))


@pytest.mark.gpu
@pytest.mark.sanitize
@pytest.mark.parametrize("seed", range(4))
def test_edges_of_random_graphs(way: str, seed: int) -> None:
    matrix = undirected(1500, 30_000, seed, seed % 2 == 0)
    src, dst = matrix.nonzero()
    order = np.random.default_rng(seed).permutation(len(src))
    src, dst = src[order], dst[order]
    for graph, ends in ((Graph(matrix), matrix.nonzero()), (Graph.from_edges(src, dst, n=1500), (src, dst))):
        total, found = primitives.count_common_neighbors(primitives.orient(graph.to("gpu")), per_edge=True)
        wanted = support_of(1500, *ends)
        assert found.dtype == np.int64 and int(total) * 6 == wanted.sum()
        np.testing.assert_array_equal(found.get(), wanted)


@pytest.mark.gpu
@pytest.mark.parametrize("n", [module.LONG, module.LONG + 2, 300, 3000])
def test_edges_of_complete_graphs(n: int) -> None:
    """Of 3000 vertices forward lists are looked up in parts."""
    found = gasla.edge_support(on_gpu(csr_array(np.ones((n, n)) - np.eye(n))))
    assert len(found) == n * (n - 1) and (found.get() == n - 2).all()


@pytest.mark.gpu
def test_edges_of_two_hubs() -> None:
    """A hundred thousand vertices that know the same two hubs, who know each other."""
    others = np.arange(2, 100_002, dtype=np.int32)
    src = np.concatenate([[0], np.zeros_like(others), np.ones_like(others)])
    dst = np.concatenate([[1], others, others])
    found = gasla.edge_support(Graph.from_edges(src, dst).to("gpu")).get()
    assert found[0] == len(others) and (found[1:] == 1).all()


@pytest.mark.gpu
@pytest.mark.parametrize("n", [0, 1, 5])
def test_without_edges(n: int, way: str) -> None:
    check(on_gpu(csr_array((n, n))), np.zeros(n, np.int64))


@pytest.mark.gpu
@pytest.mark.sanitize
def test_self_loops_parallel_edges_and_direction_do_not_count(way: str) -> None:
    graph = Graph.from_edges([0, 0, 1, 2, 2, 3, 3], [1, 1, 2, 0, 2, 3, 0], n=5).to("gpu")
    check(graph, np.array([1, 1, 1, 0, 0]))


@pytest.mark.gpu
def test_self_loops_in_a_symmetric_graph(way: str) -> None:
    check(on_gpu(csr_array(np.ones((5, 5)))), np.full(5, 6))


@pytest.mark.gpu
def test_lists_need_not_be_sorted(way: str) -> None:
    check(Graph.from_csr([0, 2, 4, 6], [2, 1, 0, 2, 1, 0]).to("gpu"), np.array([1, 1, 1]))


@pytest.mark.gpu
@pytest.mark.sanitize
@pytest.mark.parametrize("n", [module.LONG, module.LONG + 2, 300])
def test_complete_graph(n: int) -> None:
    check(on_gpu(csr_array(np.ones((n, n)) - np.eye(n))), np.full(n, (n - 1) * (n - 2) // 2))


@pytest.mark.gpu
def test_lists_longer_than_half_a_table() -> None:
    """A complete graph whose forward lists are looked up in parts, with all neighbors in pieces."""
    n = 5000
    indices = np.tile(np.arange(n, dtype=np.int32), n)
    indices = indices[np.repeat(np.arange(n), n) != indices]
    graph = Graph.from_csr(np.arange(n + 1, dtype=np.int32) * (n - 1), indices).to("gpu")
    graph.lists.__dict__.update(is_simple=True)  # saves the proof
    check(graph, np.full(n, (n - 1) * (n - 2) // 2))


@pytest.mark.gpu
def test_wheel_of_a_million() -> None:
    """A star of a million leaves whose leaves form a ring: a triangle per leaf."""
    leaves = np.arange(1, 1_000_001, dtype=np.int32)
    src = np.concatenate([np.zeros_like(leaves), leaves])
    dst = np.concatenate([leaves, np.roll(leaves, -1)])
    graph = Graph.from_edges(np.concatenate([src, dst]), np.concatenate([dst, src])).to("gpu")
    check(graph, np.concatenate([[len(leaves)], np.full(len(leaves), 2)]))


@pytest.mark.gpu
def test_friends_of_two_hubs() -> None:
    """A hundred thousand vertices that know the same two hubs, who know each other: hubs with tiny forward lists."""
    others = np.arange(2, 100_002, dtype=np.int32)
    src = np.concatenate([[0], np.zeros_like(others), np.ones_like(others)])
    dst = np.concatenate([[1], others, others])
    graph = Graph.from_edges(np.concatenate([src, dst]), np.concatenate([dst, src])).to("gpu")
    check(graph, np.concatenate([[len(others)] * 2, np.ones_like(others)]))


@pytest.mark.gpu
def test_path_of_a_hundred_thousand(way: str) -> None:
    ids = np.arange(99_999)
    graph = Graph.from_edges(np.concatenate([ids, ids + 1]), np.concatenate([ids + 1, ids])).to("gpu")
    check(graph, np.zeros(100_000, np.int64))


@pytest.mark.gpu
@pytest.mark.sanitize
def test_int64_offsets(way: str) -> None:
    matrix = undirected(50, 300, 2, True)
    graph = Graph.from_csr(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)).to("gpu")
    assert graph.out.indptr.dtype == np.int64
    check(graph, scipy_triangles(matrix))


@pytest.mark.gpu
@pytest.mark.sanitize
@pytest.mark.parametrize("offset", [np.int32, np.int64])
@pytest.mark.parametrize("seed", [1, 2])
def test_int64_ids(offset: type, seed: int) -> None:
    """Ids that a graph takes only from 2**31 vertices on: the functions below are called with lists of them."""
    import cupy

    matrix = undirected(3000, 100_000, seed, True)
    indptr, indices = cupy.asarray(matrix.indptr.astype(offset)), cupy.asarray(matrix.indices.astype(np.int64))
    counts = scipy_triangles(matrix)
    for lists in (Adjacency(indptr, indices), module.by_degree(indptr, indices, cupy.diff(indptr))):
        total, found = module.count_common_neighbors(lists, per_vertex=True)
        assert total == counts.sum() // 3
        np.testing.assert_array_equal(found.get(), counts)
        assert module.count_common_neighbors(lists, per_vertex=False) == (total, None)


@pytest.mark.gpu
@pytest.mark.sanitize
@pytest.mark.parametrize("count", [2, 3, 200])
def test_shares_add_up(count: int) -> None:
    """Also where there are fewer vertices than shares take."""
    import cupy

    matrix = undirected(3000, 100_000, 1, True)
    indptr, indices = cupy.asarray(matrix.indptr), cupy.asarray(matrix.indices)
    expected = scipy_triangles(matrix)
    for lists in (Adjacency(indptr, indices), module.by_degree(indptr, indices, cupy.diff(indptr))):
        found = [module.count_common_neighbors(lists, True, (i, count)) for i in range(count)]
        np.testing.assert_array_equal(sum(counts.get() for _, counts in found), expected)
        totals = [int(module.count_common_neighbors(lists, False, (i, count))[0]) for i in range(count)]
        assert totals == [int(total) for total, _ in found] and sum(totals) == expected.sum() // 3
        assert max(totals) < sum(totals)


@pytest.mark.gpu
def test_orient_is_what_it_is_on_the_cpu(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph(undirected(100, 800, 4, True))
    monkeypatch.setattr("gasla.cpu.primitive.neighbors.SHORT", WAYS[way])
    here, there = primitives.orient(graph), primitives.orient(graph.to("gpu"))
    assert here.order == there.order
    assert (there.graph.device, there.forward.device) == ("gpu", "gpu")
    np.testing.assert_array_equal(there.forward.out.indptr.get(), here.forward.out.indptr)
    np.testing.assert_array_equal(there.forward.out.indices.get(), here.forward.out.indices)


@pytest.mark.gpu
@given(edge_lists())
def test_simplify_is_what_it_is_on_the_cpu(edges: tuple[int, np.ndarray, np.ndarray]) -> None:
    n, src, dst = edges
    here = Graph.from_edges(src, dst, n=n)
    there = here.to("gpu")
    simple = primitives.simplify(there)
    assert (simple is there) == there.is_simple == here.is_simple
    np.testing.assert_array_equal(simple.out.indptr.get(), primitives.simplify(here).out.indptr)
    np.testing.assert_array_equal(simple.sorted_out.indices.get(), primitives.simplify(here).sorted_out.indices)


@pytest.mark.gpu
@pytest.mark.parametrize("lanes", [1, 4, 32])
def test_any_number_of_threads_merges(lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FLAT", 10**9)
    monkeypatch.setattr(module, "_lanes", lambda mean_degree: lanes)
    matrix = undirected(1000, 20_000, 6, True)
    check(on_gpu(matrix), scipy_triangles(matrix))


@pytest.mark.gpu
def test_triangles_of_an_rmat_graph_are_right() -> None:
    matrix = generators.rmat(12, 16)
    result = gasla.triangle_count(on_gpu(matrix), per_vertex=True)
    verify.triangles(matrix, result.total, result.per_vertex.get(), samples=matrix.shape[0])


# --- stages ----------------------------------------------------------------------------------------------------------


@pytest.mark.gpu
@settings(max_examples=60)
@given(edge_lists(), st.data())
def test_intersect_counts_common_neighbors(edges: tuple[int, np.ndarray, np.ndarray], data: st.DataObject) -> None:
    n, src, dst = edges
    graph = Graph.from_edges(src, dst, n=n)
    ends = st.lists(st.integers(0, n - 1), min_size=5, max_size=5)
    pairs = EdgeFrontier(n, np.arange(5), np.array(data.draw(ends)), np.array(data.draw(ends)))
    counts = primitives.intersect(graph.to("gpu"), pairs)
    assert counts.dtype == np.int64
    np.testing.assert_array_equal(counts.get(), primitives.intersect(graph, pairs))


@pytest.mark.gpu
@pytest.mark.sanitize
def test_intersect_searches_long_lists() -> None:
    """Vertex 0 has every vertex as a neighbor, the others every seventh, thrice, up to the number of their id."""
    lists = [np.arange(20_000), *(np.arange(0, v, 7).repeat(3) for v in range(1, 20_000, 199))]
    lists += [np.zeros(0, int)] * (20_000 - len(lists))
    graph = Graph.from_csr(np.cumsum([0, *map(len, lists)]), np.concatenate(lists))
    a, b = (ends.ravel() for ends in np.meshgrid(np.arange(102), np.arange(102)))
    pairs = EdgeFrontier(20_000, np.arange(len(a)), a, b)
    np.testing.assert_array_equal(
        primitives.intersect(graph.to("gpu"), pairs).get(), primitives.intersect(graph, pairs)
    )


@pytest.mark.gpu
def test_intersect_without_edges() -> None:
    nothing = np.zeros(0, np.int32)
    assert len(primitives.intersect(on_gpu(csr_array((3, 3))), EdgeFrontier(3, nothing, nothing, nothing))) == 0


@pytest.mark.gpu
def test_intersect_refuses_a_vertex_outside_the_graph() -> None:
    graph = Graph.from_edges([0], [2]).to("gpu")
    with pytest.raises(ValueError, match="vertex 3 is outside a graph of 3 vertices"):
        primitives.intersect(graph, EdgeFrontier(3, np.zeros(1), np.array([0]), np.array([3])))
