"""Triangle counts, and the stages that they are made of, against NetworkX, igraph and SciPy."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array

import gasla
from gasla import verify
from gasla.cpu.primitive import neighbors as module
from gasla.graph.graph import Graph
from gasla.operations.primitives import Oriented, count_common_neighbors, intersect, orient, simplify
from gasla.program.frontier import EdgeFrontier


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """So many threads even for the smallest graph."""
    use_threads(monkeypatch, request.param)
    return request.param


def use_threads(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr("gasla.cpu.runtime.blocks.SMALL", 0)
    monkeypatch.setattr("gasla.cpu.runtime.blocks.num_threads", lambda: count)


@pytest.fixture(params=["sorted", "oriented"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of counting, whatever the degrees."""
    monkeypatch.setattr(module, "SHORT", 10**9 if request.param == "sorted" else -1)
    return request.param


@st.composite
def edge_lists(draw: st.DrawFn) -> tuple[int, np.ndarray, np.ndarray]:
    """Directed, with self loops and parallel edges, dense enough for triangles."""
    n = draw(st.integers(1, 14))
    ends = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(ends, ends), max_size=60))
    src, dst = np.array(edges, np.int64).reshape(-1, 2).T
    return n, src, dst


def networkx_triangles(n: int, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from((u, v) for u, v in zip(src.tolist(), dst.tolist()) if u != v)
    found = nx.triangles(graph)
    return np.array([found[v] for v in range(n)])


def undirected(n: int, m: int, seed: int, skewed: bool) -> csr_array:
    """A random simple symmetric matrix; skewed: low ids have most edges."""
    random = np.random.default_rng(seed)
    ends = random.random((2, m))
    src, dst = ((ends**3 if skewed else ends) * n).astype(np.int64)
    keep = src != dst
    pattern = coo_array((np.ones(keep.sum(), bool), (src[keep], dst[keep])), shape=(n, n)).tocsr()
    return csr_array(pattern + pattern.T)


def scipy_triangles(matrix: csr_array) -> np.ndarray:
    counts = matrix.astype(np.int64)
    return np.asarray((counts @ counts).multiply(counts).sum(axis=1)).ravel() // 2


@given(edge_lists())
def test_random_graphs_give_right_answers(edges: tuple[int, np.ndarray, np.ndarray]) -> None:
    n, src, dst = edges
    graph = Graph.from_edges(src, dst, n=n)
    counts = networkx_triangles(n, src, dst)
    for short in (-1, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "SHORT", short)
            assert gasla.triangle_count(graph) == counts.sum() // 3
            result = gasla.triangle_count(graph, per_vertex=True)
        assert result.total == counts.sum() // 3
        np.testing.assert_array_equal(result.per_vertex, counts)
    verify.triangles(graph, result.total, result.per_vertex)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(100, 2000), st.integers(1, 20), st.booleans())
def test_two_threads_agree_on_larger_graphs(seed: int, n: int, degree: int, skewed: bool) -> None:
    matrix = undirected(n, n * degree, seed, skewed)
    counts = scipy_triangles(matrix)
    graph = Graph(matrix)
    with pytest.MonkeyPatch.context() as patch:
        use_threads(patch, 2)
        for short, order in ((10**9, "ids"), (-1, "degrees")):
            patch.setattr(module, "SHORT", short)
            oriented = orient(graph)
            assert oriented.order == order
            total, found = count_common_neighbors(oriented, per_vertex=True)
            assert total == counts.sum() // 3
            np.testing.assert_array_equal(found, counts)
            assert count_common_neighbors(oriented) == (total, None)


def test_a_graph_is_made_simple_once() -> None:
    src, dst = np.random.default_rng(1).integers(0, 200, (2, 1000))
    graph = Graph.from_edges(src, dst, n=200)
    assert not graph.is_symmetric and graph.out.edge_ids is not None
    before, counts = graph.nbytes, [gasla.triangle_count(graph) for _ in range(2)]
    simple = simplify(graph)
    assert simple.is_symmetric and not simple.has_parallel_edges and simple.values is None
    assert counts[0] == counts[1] == gasla.triangle_count(simple) and not simple._known
    assert graph.nbytes == before + simple.nbytes
    assert simple.out.indices.nbytes + simple.out.indptr.nbytes <= 8 * graph.m + 4 * (graph.n + 1)


@pytest.mark.thorough
@given(edge_lists())
def test_simplify_keeps_every_edge_in_both_directions_once(edges: tuple[int, np.ndarray, np.ndarray]) -> None:
    n, src, dst = edges
    graph = Graph.from_edges(src, dst, n=n)
    wanted = np.zeros((n, n), bool)
    wanted[src, dst] = wanted[dst, src] = True
    np.fill_diagonal(wanted, False)
    simple = simplify(graph)
    assert simple.is_simple and simplify(simple) is simple and simplify(graph) is simple
    assert (simple is graph) == graph.is_simple
    assert simple.m == wanted.sum()
    np.testing.assert_array_equal(simple.out.owners(), wanted.nonzero()[0])
    np.testing.assert_array_equal(simple.sorted_out.indices, wanted.nonzero()[1])


@pytest.mark.thorough
def test_igraph_agrees(threads: int, way: str) -> None:
    import igraph

    matrix = undirected(3000, 40_000, 1, True)
    peer = igraph.Graph(n=3000, edges=np.argwhere(np.triu(matrix.toarray())))
    assert gasla.triangle_count(matrix) == len(peer.list_triangles())


@pytest.mark.parametrize("n", [0, 1, 5])
def test_a_graph_without_edges_has_no_triangle(n: int, threads: int, way: str) -> None:
    assert gasla.triangle_count(csr_array((n, n))) == 0
    result = gasla.triangle_count(csr_array((n, n)), per_vertex=True)
    np.testing.assert_array_equal(result.per_vertex, np.zeros(n))


def test_self_loops_parallel_edges_and_direction_do_not_count(threads: int, way: str) -> None:
    graph = Graph.from_edges([0, 0, 1, 2, 2, 3, 3], [1, 1, 2, 0, 2, 3, 0], n=5)
    assert gasla.triangle_count(graph) == 1
    np.testing.assert_array_equal(gasla.triangle_count(graph, per_vertex=True).per_vertex, [1, 1, 1, 0, 0])


def test_self_loops_in_a_symmetric_graph(threads: int, way: str) -> None:
    matrix = csr_array(np.ones((5, 5)))
    np.testing.assert_array_equal(gasla.triangle_count(matrix, per_vertex=True).per_vertex, np.full(5, 6))


def test_lists_need_not_be_sorted(threads: int, way: str) -> None:
    graph = Graph.from_csr([0, 2, 4, 6], [2, 1, 0, 2, 1, 0])
    assert gasla.triangle_count(graph) == 1


def test_many_parallel_edges() -> None:
    """Their number passes what eight bits hold."""
    src, dst = np.tile([0, 1, 2], 256), np.tile([1, 2, 0], 256)
    assert gasla.triangle_count(Graph.from_edges(src, dst)) == 1


def test_a_complete_graph_has_all_triangles(threads: int, way: str) -> None:
    n = 300
    result = gasla.triangle_count(csr_array(np.ones((n, n)) - np.eye(n)), per_vertex=True)
    assert result.total == n * (n - 1) * (n - 2) // 6
    assert (result.per_vertex == (n - 1) * (n - 2) // 2).all()


@pytest.mark.thorough
def test_wheel_of_a_million(threads: int) -> None:
    """A star of a million leaves whose leaves form a ring: a triangle per leaf."""
    leaves = np.arange(1, 1_000_001, dtype=np.int32)
    src = np.concatenate([np.zeros_like(leaves), leaves])
    dst = np.concatenate([leaves, np.roll(leaves, -1)])
    graph = Graph.from_edges(np.concatenate([src, dst]), np.concatenate([dst, src]))
    result = gasla.triangle_count(graph, per_vertex=True)
    assert result.total == len(leaves)
    assert result.per_vertex[0] == len(leaves)
    assert (result.per_vertex[1:] == 2).all()


def test_path_of_a_hundred_thousand(threads: int, way: str) -> None:
    ids = np.arange(99_999)
    graph = Graph.from_edges(np.concatenate([ids, ids + 1]), np.concatenate([ids + 1, ids]))
    assert gasla.triangle_count(graph) == 0


@pytest.mark.parametrize("kind", [pytest.param("offsets", marks=pytest.mark.slow), "offsets and ids"])
def test_int64_ids_give_the_same_answer(kind: str, way: str) -> None:
    matrix = undirected(50, 300, 2, True)
    indices = matrix.indices.astype(np.int32 if kind == "offsets" else np.int64)
    graph = Graph.from_csr(matrix.indptr.astype(np.int64), indices)
    result = gasla.triangle_count(graph, per_vertex=True)
    np.testing.assert_array_equal(result.per_vertex, scipy_triangles(matrix))


def test_a_call_works_while_another_run_holds_the_threads(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_threads(monkeypatch, 2)
    monkeypatch.setattr("gasla.cpu.runtime.threads.are_taken", lambda: True)
    matrix = undirected(100, 1000, 5, True)
    result = gasla.triangle_count(matrix, per_vertex=True)
    np.testing.assert_array_equal(result.per_vertex, scipy_triangles(matrix))


# --- stages ----------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@given(edge_lists(), st.data())
def test_intersect_counts_common_neighbors(edges: tuple[int, np.ndarray, np.ndarray], data: st.DataObject) -> None:
    n, src, dst = edges
    graph = Graph.from_edges(src, dst, n=n)
    ends = st.lists(st.integers(0, n - 1), min_size=5, max_size=5)
    pairs = EdgeFrontier(n, np.arange(5), np.array(data.draw(ends)), np.array(data.draw(ends)))
    stored = np.zeros((n, n), np.int64)
    np.add.at(stored, (src, dst), 1)
    np.testing.assert_array_equal(intersect(graph, pairs), np.minimum(stored[pairs.src], stored[pairs.dst]).sum(axis=1))


def test_intersect_searches_long_lists() -> None:
    """Vertex 0 has every vertex as a neighbor, the others every seventh up to the number of their id."""
    lists = [np.arange(3000), *(np.arange(0, v, 7) for v in range(1, 3000))]
    graph = Graph.from_csr(np.cumsum([0, *map(len, lists)]), np.concatenate(lists))
    others = np.arange(1, 3000)
    sizes = np.array([len(x) for x in lists[1:]])
    zeros = np.zeros_like(others)
    np.testing.assert_array_equal(intersect(graph, EdgeFrontier(3000, others, zeros, others)), sizes)
    np.testing.assert_array_equal(intersect(graph, EdgeFrontier(3000, others, others, zeros)), sizes)


def test_intersect_sums_to_the_triangles() -> None:
    matrix = undirected(200, 2000, 3, True)
    src, dst = matrix.nonzero()
    counts = intersect(Graph(matrix), EdgeFrontier(200, np.arange(len(src)), src, dst))
    np.testing.assert_array_equal(np.bincount(src, counts, 200), 2 * scipy_triangles(matrix))


PAIR = Graph.from_edges([0], [2])


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (
            lambda: intersect(PAIR, EdgeFrontier(3, np.zeros(1), np.array([0]), np.array([3]))),
            ValueError,
            "vertex 3 is outside a graph of 3 vertices",
        ),
        (
            lambda: intersect(PAIR, EdgeFrontier(3, np.zeros(1), np.array([0]), np.array([0.5]))),
            TypeError,
            "the ends of edges are float64; expected integers",
        ),
        (lambda: intersect(PAIR, ([0], [2])), TypeError, "expected an EdgeFrontier, as stages.expand gives it"),
        (lambda: count_common_neighbors(PAIR), TypeError, r"expected an Oriented: gasla.primitives.orient\(graph\)"),
        (lambda: orient([[1]]), TypeError, "sparse"),
    ],
)
def test_arguments_are_checked(call: Callable[[], None], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        call()


def edges_of(oriented: Oriented) -> tuple[np.ndarray, np.ndarray]:
    return oriented.forward.out.owners(), oriented.forward.out.indices


def test_orient_keeps_each_edge_once_towards_the_later_vertex(way: str, threads: int) -> None:
    matrix = undirected(100, 800, 4, True)
    oriented = orient(Graph(matrix))
    assert oriented.order == {"sorted": "ids", "oriented": "degrees"}[way]
    src, dst = edges_of(oriented)
    degrees = np.diff(matrix.indptr) if oriented.order == "degrees" else np.zeros(100)
    assert ((degrees[src] < degrees[dst]) | ((degrees[src] == degrees[dst]) & (src < dst))).all()
    seen = coo_array((np.ones(len(src)), (src, dst)), shape=(100, 100))
    np.testing.assert_array_equal((seen + seen.T).toarray(), matrix.toarray())


def test_lists_by_degree_hold_the_same_edges(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the engine goes by, in ranks; and the rests of lists, each from after a neighbor to the list's end."""
    graph = Graph(undirected(100, 800, 4, True))
    lists = module.by_degree(graph)
    src = np.repeat(np.arange(100), np.diff(lists.indptr))
    assert (src < lists.indices).all()
    monkeypatch.setattr(module, "SHORT", -1)
    pairs = set(zip(*(ends.tolist() for ends in edges_of(orient(graph)))))
    assert set(zip(lists.vertices[src].tolist(), lists.vertices[lists.indices].tolist())) == pairs
    begins, counts = (lists.rests >> np.uint64(24)).astype(int), (lists.rests & np.uint64((1 << 24) - 1)).astype(int)
    np.testing.assert_array_equal(lists.indices[begins - 1], np.repeat(np.arange(100), np.diff(lists.rest_starts)))
    np.testing.assert_array_equal(begins + counts, lists.indptr[src[begins - 1] + 1])
