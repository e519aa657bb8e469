"""Connected components, and the stages that they are made of, against SciPy and a plain union-find."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components as scipy_components

import gasla
from gasla import verify
from gasla.algorithms.components.connected_components import ComponentsResult
from gasla.graph.graph import Graph
from gasla.operations.primitives import compress, hook, label_components, likely_largest, link, number


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """So many threads even for the smallest graph."""
    use_threads(monkeypatch, request.param)
    return request.param


def use_threads(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr("gasla.cpu.runtime.blocks.SMALL", 0)
    monkeypatch.setattr("gasla.cpu.runtime.blocks.num_threads", lambda: count)


@st.composite
def edge_lists(draw: st.DrawFn) -> tuple[int, np.ndarray, np.ndarray]:
    """Sparse enough for several components; directed, with self loops and parallel edges."""
    n = draw(st.integers(1, 30))
    ends = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(ends, ends), max_size=n))
    src, dst = np.array(edges, np.int64).reshape(-1, 2).T
    return n, src, dst


def expected(n: int, src: np.ndarray, dst: np.ndarray) -> tuple[int, np.ndarray]:
    """SciPy's components, numbered by smallest vertex."""
    count, labels = scipy_components(coo_array((np.ones(len(src)), (src, dst)), shape=(n, n)), directed=False)
    _, first = np.unique(labels, return_index=True)
    order = np.argsort(np.argsort(first))
    return count, order[labels]


def check(graph: Graph) -> ComponentsResult:
    """With lists of one direction, of the other, and of both."""
    src, dst = graph.lists.edges()
    count, labels = expected(graph.n, src, dst)
    by_source = Graph.from_csr(graph.out.indptr, graph.out.indices)
    by_target = Graph.from_csr(graph.in_.indptr, graph.in_.indices).reversed()
    assert [len(each.lists.available) for each in (by_source, by_target, graph)] == [1, 1, 2]
    for each in (by_source, by_target, graph):
        result = gasla.connected_components(each)
        assert result.count == count
        np.testing.assert_array_equal(result.labels, labels)
    return result


@given(edge_lists(), st.booleans())
def test_random_graphs_give_right_answers(edges: tuple[int, np.ndarray, np.ndarray], both_ways: bool) -> None:
    n, src, dst = edges
    if both_ways:
        src, dst = np.concatenate([src, dst]), np.concatenate([dst, src])
    graph = Graph.from_edges(src, dst, n=n)
    result = check(graph)
    verify.components(graph, result.labels, result.count)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(200, 3000), st.floats(0.2, 2), st.booleans())
def test_two_threads_agree_on_larger_graphs(seed: int, n: int, degree: float, both_ways: bool) -> None:
    random = np.random.default_rng(seed)
    src, dst = random.integers(0, n, (2, int(n * degree)))
    if both_ways:
        src, dst = np.concatenate([src, dst]), np.concatenate([dst, src])
    with pytest.MonkeyPatch.context() as patch:
        use_threads(patch, 2)
        check(Graph.from_edges(src, dst, n=n))


@pytest.mark.parametrize("n", [0, 1, 5])
def test_without_edges_every_vertex_is_a_component(n: int, threads: int) -> None:
    result = gasla.connected_components(csr_array((n, n)))
    assert result.count == n
    np.testing.assert_array_equal(result.labels, np.arange(n))


def test_self_loops_and_parallel_edges(threads: int) -> None:
    check(Graph.from_edges([0, 0, 3, 3, 3, 4], [0, 0, 1, 1, 3, 4], n=6))


def test_an_edge_out_of_the_giant_that_only_its_source_stores(threads: int) -> None:
    """Vertices 0 to 999 are a component; vertex 5 alone knows of 1001, and 1002 of nobody."""
    ring = np.arange(1000)
    src = np.concatenate([ring, np.roll(ring, 1), np.full(3, 5)])
    dst = np.concatenate([np.roll(ring, 1), ring, [6, 4, 1001]])
    assert check(Graph.from_edges(src, dst, n=1003)).count == 3


@pytest.mark.thorough
@pytest.mark.parametrize("towards", ["centre", "leaves", "both"])
def test_a_star_of_a_million_leaves_is_one_component(towards: str, threads: int) -> None:
    leaves = np.arange(1, 1_000_001, dtype=np.int32)
    centre = np.zeros_like(leaves)
    src, dst = (centre, leaves) if towards == "leaves" else (leaves, centre)
    if towards == "both":
        src, dst = np.concatenate([src, dst]), np.concatenate([dst, src])
    result = gasla.connected_components(Graph.from_edges(src, dst))
    assert result.count == 1
    assert not result.labels.any()


@pytest.mark.parametrize("order", ["ascending", "descending", "shuffled"])
def test_path_of_a_hundred_thousand(order: str, threads: int) -> None:
    n = 100_000
    ids = np.arange(n)
    if order != "ascending":
        ids = ids[::-1] if order == "descending" else np.random.default_rng(0).permutation(n)
    result = gasla.connected_components(Graph.from_edges(ids[:-1], ids[1:], n=n + 1))
    assert result.count == 2
    assert not result.labels[:n].any()
    assert result.labels[n] == 1


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [pytest.param("offsets", marks=pytest.mark.slow), "offsets and ids"])
def test_int64_ids_give_the_same_answer(kind: str) -> None:
    indptr = np.array([0, 1, 1, 2, 2], np.int64)
    indices = np.array([2, 3], np.int32 if kind == "offsets" else np.int64)
    result = check(Graph.from_csr(indptr, indices))
    np.testing.assert_array_equal(result.labels, [0, 1, 0, 0])


def test_a_call_works_while_another_run_holds_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    use_threads(monkeypatch, 2)
    monkeypatch.setattr("gasla.cpu.runtime.threads.are_taken", lambda: True)
    check(Graph.from_edges([0, 1, 4], [2, 3, 4], n=6))


def test_input_is_not_changed() -> None:
    matrix = csr_array(np.eye(4, k=1))
    before = matrix.copy()
    gasla.connected_components(matrix)
    np.testing.assert_array_equal(matrix.toarray(), before.toarray())


# --- stages ----------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@given(edge_lists())
def test_link_makes_a_forest_of_the_components(edges: tuple[int, np.ndarray, np.ndarray]) -> None:
    n, src, dst = edges
    graph = Graph.from_edges(src, dst, n=n)
    parents = np.arange(n)
    link(graph, parents)
    assert (parents <= np.arange(n)).all()
    compress(parents)
    _, labels = expected(n, src, dst)
    smallest = np.unique(labels, return_index=True)[1]
    np.testing.assert_array_equal(parents, smallest[labels])


@given(edge_lists())
def test_hook_only_joins_neighbors(edges: tuple[int, np.ndarray, np.ndarray]) -> None:
    n, src, dst = edges
    parents = hook(Graph.from_edges(src, dst, n=n))
    joined = np.flatnonzero(parents != np.arange(n))
    assert (parents[joined] < joined).all()
    assert set(zip(joined.tolist(), parents[joined].tolist())) <= set(zip(src.tolist(), dst.tolist()))


@pytest.mark.thorough
@given(edge_lists(), st.booleans())
def test_every_known_tree_gives_the_same_components(edges: tuple[int, np.ndarray, np.ndarray], both: bool) -> None:
    n, src, dst = edges
    if both:
        src, dst = np.concatenate([src, dst]), np.concatenate([dst, src])
    graph = Graph.from_edges(src, dst, n=n)
    start = hook(graph)
    compress(start)
    for known in np.unique(start).tolist():
        parents = start.copy()
        link(graph, parents, known=known)
        count = number(parents)
        assert count == expected(n, src, dst)[0]
        np.testing.assert_array_equal(parents, expected(n, src, dst)[1])


def test_link_takes_positions_in_the_lists() -> None:
    graph = Graph.from_edges([3, 3, 3], [0, 1, 2])
    parents = np.arange(4)
    link(graph, parents, first=1, last=2)
    compress(parents)
    np.testing.assert_array_equal(parents, [0, 1, 2, 1])


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_number_flattens_first(kind: type, threads: int) -> None:
    parents = np.arange(-1, 100_000, dtype=kind).clip(0)
    parents[50_000] = 50_000
    assert number(parents) == 2
    np.testing.assert_array_equal(parents, np.arange(100_001) >= 50_000)


def test_likely_largest_finds_a_tree_of_most_vertices() -> None:
    parents = np.arange(10_000)
    parents[3000:] = 7
    assert likely_largest(parents) == 7


@pytest.mark.thorough
@given(edge_lists(), st.booleans())
def test_the_stages_one_by_one_label_as_in_one_launch(edges: tuple[int, np.ndarray, np.ndarray], both: bool) -> None:
    n, src, dst = edges
    if both:
        src, dst = np.concatenate([src, dst]), np.concatenate([dst, src])
    graph = Graph.from_edges(src, dst, n=n)
    parents = hook(graph)
    link(graph, parents, first=1, last=2)
    compress(parents)
    link(graph, parents, known=likely_largest(parents))
    count, labels = label_components(graph)
    assert number(parents) == count
    np.testing.assert_array_equal(parents, labels)


PAIR = Graph.from_edges([0], [3])


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: link(PAIR, np.arange(3)), ValueError, "3 entries; expected one for each of 4"),
        (lambda: link(PAIR, np.arange(4), first=-1), ValueError, "first and last are -1 and None; expected positions"),
        (lambda: link(PAIR, np.arange(4), last=-2), ValueError, "first and last are 0 and -2; expected positions"),
        (lambda: link(PAIR, np.arange(4), first=0.5), TypeError, "float"),
        (lambda: link(PAIR, np.arange(4), known=4), ValueError, "known is 4; expected a vertex of the graph, 0 to 3"),
        (lambda: likely_largest(np.zeros(0, int)), ValueError, "the forest is empty; expected at least one vertex"),
        (lambda: likely_largest([0]), TypeError, "the forest is list; expected an array of int32 or int64"),
        (lambda: hook([[1]]), TypeError, "sparse"),
    ],
)
def test_arguments_are_checked(call: Callable[[], None], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        call()
