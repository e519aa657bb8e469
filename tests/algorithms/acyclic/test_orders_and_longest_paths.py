"""Topological orders and longest paths: beside NetworkX and igraph, on hard shapes, and what is said of cycles."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array, triu

import gasla
from gasla import datasets, engines, primitives, verify
from gasla.algorithms.acyclic.topological_order import Order
from gasla.cli.compute import on_host
from gasla.verify import VerificationError

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]
Edges = list[tuple[int, int, int]]


def acyclic(n: int, m: int, seed: int, least: int = 1) -> coo_array:
    """Edges that lead forward in an order of the vertices by lot; some are parallel, some of length 0 if `least` is."""
    rng = np.random.default_rng(seed)
    src, dst = np.sort(rng.integers(0, n, (m, 2)), axis=1).T
    keep, name = src < dst, rng.permutation(n).astype(np.int32)
    weights = rng.integers(least, 10, m).astype(np.float32)  # small whole numbers, whose sums are exact
    return coo_array((weights[keep], (name[src[keep]], name[dst[keep]])), shape=(n, n))


def path(n: int) -> csr_array:
    ids = np.arange(n, dtype=np.int32)  # of wide ones every program would be compiled once more
    return csr_array((np.ones(n - 1, np.float32), (ids[:-1], ids[1:])), shape=(n, n))


SHAPES: dict[str, Callable[[], Any]] = {
    "random": lambda: acyclic(60, 150, 1),
    "dense": lambda: acyclic(30, 400, 2),
    "sparse": lambda: acyclic(100, 40, 3),
    "lengths of zero": lambda: acyclic(40, 100, 4, least=0),
    "negative lengths": lambda: acyclic(40, 100, 5, least=-9),
    "path": lambda: path(50),
    "path backwards": lambda: path(50).T,
    "star": lambda: coo_array((np.ones(20, np.float32), (np.zeros(20, int), np.arange(1, 21))), shape=(21, 21)),
    "star inwards": lambda: coo_array((np.ones(20, np.float32), (np.arange(1, 21), np.zeros(20, int))), shape=(21, 21)),
    "no edges": lambda: csr_array((5, 5), dtype=np.float32),
    "one vertex": lambda: csr_array((1, 1), dtype=np.float32),
    "rmat": lambda: triu(datasets.with_weights(datasets.rmat(9), largest=9), 1),
    "grid": lambda: triu(datasets.with_weights(datasets.grid(8), largest=9), 1),
}


def as_networkx(matrix: Any) -> nx.DiGraph:
    """Each pair once, with its longest edge."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(matrix.shape[0]))
    entries = coo_array(matrix)
    for u, v, w in zip(*entries.coords, entries.data):
        known = graph.get_edge_data(int(u), int(v), {"weight": w})["weight"]
        graph.add_edge(int(u), int(v), weight=max(w, known))
    return graph


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_levels_are_the_generations_of_networkx(shape: str, device: Any) -> None:
    matrix = SHAPES[shape]()
    order, levels = on_host(gasla.topological_order(gasla.Graph(matrix).to(device), levels=True))
    verify.topological_order(matrix, order, levels)
    for level, vertices in enumerate(nx.topological_generations(as_networkx(matrix))):
        assert sorted(vertices) == np.flatnonzero(levels == level).tolist()
    assert order.dtype == levels.dtype == np.int32
    np.testing.assert_array_equal(on_host(gasla.topological_order(gasla.Graph(matrix).to(device))), order)


@given(st.integers(1, 12), st.data())
def test_the_kernel_and_the_program_agree_also_on_cycles(n: int, data: st.DataObject) -> None:
    vertex = st.integers(0, n - 1)
    src, dst = np.array(data.draw(st.lists(st.tuples(vertex, vertex), max_size=20)) or np.empty((0, 2)), int).T
    graph = gasla.Graph.from_edges(src, dst, n=n)
    order, levels, waiting = primitives.acyclic_order(graph)
    result = gasla.run(Order, graph, active=graph.in_degrees == 0)
    np.testing.assert_array_equal(levels, result.level)
    np.testing.assert_array_equal(waiting, result.waiting)
    if not waiting.any():
        with engines.programs_only():
            found = gasla.topological_order(graph, levels=True)
        np.testing.assert_array_equal(order, found.order)
        np.testing.assert_array_equal(levels, found.levels)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_orders_by_a_key_are_those_of_networkx(shape: str, device: Any) -> None:
    matrix = SHAPES[shape]()
    graph, n = gasla.Graph(matrix).to(device), matrix.shape[0]
    rng = np.random.default_rng(n)
    for key in (rng.random(n), rng.integers(0, 3, n), rng.permutation(n).astype(str), -np.arange(n)):
        order, levels = on_host(gasla.topological_order(graph, levels=True, key=key))
        verify.topological_order(matrix, order, levels, key=key)
        rank = np.empty(n, int)
        rank[np.argsort(key, kind="stable")] = np.arange(n)
        assert order.tolist() == [*nx.lexicographical_topological_sort(as_networkx(matrix), rank.__getitem__)]
        assert order.dtype == np.int32
        np.testing.assert_array_equal(on_host(gasla.topological_order(graph, key=key.tolist())), order)


NO_KEYS: list[tuple[Any, type[Exception], str]] = [
    ([1, 2], ValueError, r"key has shape \(2,\); expected \(3,\), a number or text per vertex"),
    (np.ones((3, 1)), ValueError, r"key has shape \(3, 1\); expected \(3,\)"),
    (1, ValueError, r"key has shape \(\); expected \(3,\)"),
    ("abc", ValueError, r"key has shape \(\); expected \(3,\)"),
    ([1, np.nan, 2], ValueError, "the key of vertex 1 is NaN"),
    (np.array([1, 2, np.nan]), ValueError, "the key of vertex 2 is NaN"),
    (np.array([3.0, np.nan, 1.0], object), ValueError, "the key of vertex 1 is NaN"),
    ([1, 2, Decimal("sNaN")], ValueError, "the key of vertex 2 is NaN"),
    ([(1, 2), (1, 3), (1, np.nan)], ValueError, "the key of vertex 2 is NaN"),
    (np.array(["2020", "NaT", "2019"], "datetime64[D]"), ValueError, "the key of vertex 1 is NaT"),
    (
        [np.timedelta64(1, "s"), np.timedelta64("NaT", "s"), np.timedelta64(3, "s")],
        ValueError,
        "the key of vertex 1 is NaT",
    ),
    ([[1], [1, 2], 3], ValueError, r"the key of vertex 0 is \[1\]; expected one number or text"),
    ([[1], [2], [3]], ValueError, r"the key of vertex 0 is \[1\]; expected one number or text"),
    (np.array([1, "a", None], object), TypeError, "key has entries that can't be compared"),
    ([1, None, 2], TypeError, "key has entries that can't be compared, such as None of vertex 1"),
    ([9, 10, "a"], TypeError, "key has entries that can't be compared: '<' not supported"),
    (["a", b"b", "c"], TypeError, "key has entries that can't be compared: '<' not supported"),
    ([{1}, {2}, {1, 2}], TypeError, r"key has entries that can't be compared, such as \{1\} of vertex 0"),
    ([1, 2j, 3], TypeError, "key has entries that can't be compared, such as 2j of vertex 1"),
    (np.array([1, 2j, 3]), TypeError, "key has entries that can't be compared: they are complex128"),
    (np.zeros(3, "i4,i4"), TypeError, "key has entries that can't be compared: they are "),
    (np.ma.masked_array([1, 2, 3], [False, True, False]), TypeError, "key is a masked array"),
]


@pytest.mark.parametrize(("key", "kind", "message"), NO_KEYS)
def test_keys_without_an_order_are_refused(key: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        gasla.topological_order(path(3), key=key)
    with pytest.raises(kind, match=message):
        verify.topological_order(path(3), [0, 1, 2], key=key)


@pytest.mark.parametrize(
    "key",
    [
        [2**63 + 1, 2**63, -1],
        [2**53 + 1, 2**53, 0.5],
        [np.int64(2**53 + 1), np.float64(2**53), Fraction(1, 2)],
        [2**200, 2.0**100, True],
        ["a\0", "a", ""],
        np.array(["c", "b", "a"], object),
        [(1, 2), (1, 1), (0, 9)],
        np.array(["2021", "2020", "2019"], "datetime64[D]"),
        [np.datetime64("2021-01-01T00:00:00.000000001"), np.datetime64("2021-01-01"), np.datetime64("2020-01-01")],
        range(3, 0, -1),
        [np.inf, 0, -np.inf],
    ],
    ids=repr,
)
def test_keys_that_descend_reverse_the_order(key: Any) -> None:
    """Numbers of different types are compared exactly, and texts to their ends."""
    apart = gasla.Graph.from_edges([], [], n=3)
    assert gasla.topological_order(apart, key=key).tolist() == [2, 1, 0]
    verify.topological_order(apart, [2, 1, 0], key=key)
    with pytest.raises(VerificationError, match="could come"):
        verify.topological_order(apart, [1, 2, 0], key=key)


def test_names_are_keys_if_there_are_any() -> None:
    graph = gasla.Graph.from_edges([0, 0], [2, 1])
    assert gasla.topological_order(graph, key=graph.names).tolist() == [0, 1, 2]
    pyarrow = pytest.importorskip("pyarrow")
    named = gasla.Graph.from_table(pyarrow.table({"src": ["c", "c"], "dst": ["b", "a"]}))
    order = gasla.topological_order(named, key=named.names)
    assert named.names is not None and named.names[order].tolist() == ["c", "a", "b"]


def test_a_key_and_a_cycle_and_no_vertices() -> None:
    ring = gasla.Graph.from_edges([0, 1], [1, 0])
    with pytest.raises(ValueError, match="the graph has the cycle 0 → 1 → 0"):
        gasla.topological_order(ring, key=[0, 1])
    assert gasla.topological_order(gasla.Graph.from_edges([], [], n=0), key=[]).tolist() == []


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_longest_paths_are_as_long_as_in_networkx(shape: str, weighted: bool, device: Any) -> None:
    matrix = SHAPES[shape]()
    graph = gasla.Graph(matrix).to(device)
    found = on_host(gasla.longest_path(graph, weighted=weighted))
    verify.longest_path(matrix, found.lengths, found.parents, found.path, found.length, weighted=weighted)
    expected = nx.dag_longest_path_length(as_networkx(matrix), weight="weight" if weighted else "none")
    assert found.length == expected
    again = on_host(gasla.longest_path(graph, weighted=weighted))
    np.testing.assert_array_equal(again.parents, found.parents)
    np.testing.assert_array_equal(again.path, found.path)


def smallest_parents(matrix: Any, lengths: np.ndarray) -> np.ndarray:
    """Of every vertex the smallest one before it on a longest path to it; else the vertex itself."""
    n, entries = matrix.shape[0], coo_array(matrix)
    src, dst = entries.coords
    tight = lengths[src] + entries.data == lengths[dst]
    parents = np.full(n, n)
    np.minimum.at(parents, dst[tight], src[tight])
    return np.where(parents < n, parents, np.arange(n))


@pytest.mark.parametrize("shape", ["random", "dense", "lengths of zero", "negative lengths"])
def test_of_several_parents_the_smallest_is_given(shape: str) -> None:
    matrix = SHAPES[shape]()
    found = gasla.longest_path(matrix)
    np.testing.assert_array_equal(found.parents, smallest_parents(matrix, found.lengths))


@pytest.mark.thorough
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(-3, 3)), max_size=20))
def test_any_small_graph_gives_a_right_answer(edges: Edges) -> None:
    """In order if it is acyclic, and else refused by a cycle that is there."""
    src, dst, weights = np.array(edges or np.empty((0, 3)), int).reshape(-1, 3).T
    graph = gasla.Graph.from_edges(src, dst, weights.astype(np.float32), n=8)
    theirs = as_networkx(coo_array((weights, (src, dst)), shape=(8, 8)))
    if nx.is_directed_acyclic_graph(theirs):
        verify.topological_order(graph, *gasla.topological_order(graph, levels=True))
        found = gasla.longest_path(graph)
        verify.longest_path(graph, found.lengths, found.parents, found.path, found.length)
        assert found.length == nx.dag_longest_path_length(theirs)
        return
    for function in (gasla.topological_order, gasla.longest_path):
        with pytest.raises(ValueError, match="expected an acyclic one") as error:
            function(graph)
        check_cycle(theirs, str(error.value))


def check_cycle(graph: nx.DiGraph, message: str) -> None:
    """The vertices that a message names are on a cycle, in that order."""
    words = message.partition("cycle ")[2].partition(";")[0].partition(",")[0].split(" → ")
    assert words[0] == words[-1]
    assert all(graph.has_edge(int(u), int(v)) for u, v in pairwise(words) if "…" not in (u, v))


@pytest.mark.parametrize("device", DEVICES)
def test_cycles_are_named(device: Any) -> None:
    def refused(src: Any, dst: Any, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            gasla.topological_order(gasla.Graph.from_edges(src, dst).to(device))

    refused([0, 1], [1, 1], "the cycle 1 → 1; expected")
    refused([0, 1, 2, 2], [1, 2, 1, 3], "the cycle 1 → 2 → 1; expected")  # 3 is behind it, 0 before
    around = np.arange(100)
    refused([100, *around], [5, *(around + 1) % 100], "0 → 1 → 2 → 3 → 4 → … → 0, of 100 vertices")


def test_a_long_path_is_followed_to_its_end() -> None:
    n = 20_000
    order, levels = gasla.topological_order(path(n), levels=True)
    np.testing.assert_array_equal(order, np.arange(n))
    np.testing.assert_array_equal(levels, np.arange(n))
    found = gasla.longest_path(path(n))
    assert found.length == n - 1
    np.testing.assert_array_equal(found.path, np.arange(n))


@pytest.mark.slow  # more levels than 16 bits number
def test_levels_beyond_16_bits() -> None:
    n = 70_000
    name = np.random.default_rng(1).permutation(n)
    graph = gasla.Graph.from_edges(name[:-1], name[1:])
    np.testing.assert_array_equal(gasla.topological_order(graph), name)


OTHER = [pytest.param(dtype, marks=pytest.mark.slow) for dtype in (np.bool_, np.int8, np.int64, np.uint64, np.float64)]


@pytest.mark.parametrize("dtype", [np.float32, *OTHER])
def test_types_of_lengths(dtype: Any) -> None:
    matrix = csr_array(path(5).astype(dtype))
    found = gasla.longest_path(matrix)
    assert found.lengths.dtype == (np.float32 if dtype is np.float32 else np.float64)
    assert found.length == 4
    assert type(found.length) is float


@pytest.mark.parametrize("ids", [np.int32, pytest.param(np.int64, marks=pytest.mark.slow)])
def test_types_of_ids_and_rows_that_are_not_sorted(ids: Any) -> None:
    matrix = SHAPES["dense"]().tocsc()
    rows = matrix.tocsr()
    order, found = gasla.topological_order(rows), gasla.longest_path(rows)
    columns = gasla.Graph.from_csr(rows.indptr.astype(ids), rows.indices.astype(ids), rows.data)
    shuffled = np.random.default_rng(0).permutation(matrix.nnz)
    entries = rows.tocoo()
    edges = gasla.Graph.from_edges(*(ends[shuffled] for ends in entries.coords), entries.data[shuffled], n=30)
    for graph in (matrix, columns, edges):
        np.testing.assert_array_equal(gasla.topological_order(graph), order)
        np.testing.assert_array_equal(gasla.longest_path(graph).path, found.path)
        np.testing.assert_array_equal(gasla.longest_path(graph).parents, found.parents)


def test_of_parallel_edges_the_longest_counts() -> None:
    graph = gasla.Graph.from_edges([0, 0, 0], [1, 1, 1], np.array([2, 7, 3], np.float32))
    assert gasla.longest_path(graph).length == 7
    np.testing.assert_array_equal(gasla.topological_order(graph), [0, 1])


def test_lengths_that_are_no_numbers() -> None:
    for bad in (np.nan, -np.inf):
        with pytest.raises(ValueError, match=f"weight of edge 1 is {bad}"):
            gasla.longest_path(gasla.Graph.from_edges([0, 1], [1, 2], [1, bad]))
    graph = gasla.Graph.from_edges([0, 1], [1, 2], np.array([np.inf, -3], np.float32))
    endless = gasla.longest_path(graph)
    assert endless.lengths.tolist() == [0, np.inf, np.inf]
    assert endless.path.tolist() == [0, 1]
    verify.longest_path(graph, endless.lengths, endless.parents)


def test_values_that_change_are_noticed() -> None:
    matrix = path(4)
    graph = gasla.Graph(matrix)
    assert gasla.longest_path(graph).length == 3
    matrix.data[1] = -10
    assert gasla.longest_path(graph).length == 1


def test_as_many_orders_as_igraph_gives() -> None:
    igraph = pytest.importorskip("igraph")
    matrix = SHAPES["rmat"]().tocoo()
    theirs = igraph.Graph(n=matrix.shape[0], edges=np.column_stack(matrix.coords), directed=True)
    verify.topological_order(matrix, theirs.topological_sorting())


def changed(values: np.ndarray, place: int, to: Any) -> np.ndarray:
    copy = values.copy()
    copy[place] = to
    return copy


def test_the_verifier_rejects_wrong_orders() -> None:
    matrix = SHAPES["random"]()
    order, levels = gasla.topological_order(matrix, levels=True)
    deep = int(levels.argmax())
    for wrong in (order[::-1], order[:-1], changed(order, 0, order[1]), changed(order, 3, 60), order.astype(float)):
        with pytest.raises(VerificationError):
            verify.topological_order(matrix, wrong)
    for level in (levels + 1, changed(levels, deep, levels[deep] + 1), changed(levels, deep, 0), -levels, levels[1:]):
        with pytest.raises(VerificationError):
            verify.topological_order(matrix, order, level)
    with pytest.raises(VerificationError, match="vertex 1 comes before 0, which could come"):
        verify.topological_order(csr_array((2, 2)), [1, 0], key=[1, 2])
    verify.topological_order(csr_array((2, 2)), [1, 0], [0, 0], key=[2, 1])
    with pytest.raises(VerificationError, match="ids within a level"):
        verify.topological_order(csr_array((2, 2)), [1, 0], [0, 0])


def test_the_verifier_rejects_wrong_longest_paths() -> None:
    matrix = SHAPES["random"]()
    path, length, lengths, parents = gasla.longest_path(matrix)
    end = int(path[-1])
    for wrong in (changed(lengths, end, length + 1), changed(lengths, end, length - 1), -lengths, lengths[1:]):
        with pytest.raises(VerificationError):
            verify.longest_path(matrix, wrong, parents)
    for bad in (changed(parents, end, end), changed(parents, end, 60), changed(parents, end, -1), parents * 0):
        with pytest.raises(VerificationError):
            verify.longest_path(matrix, lengths, bad)
    for other in (path[1:], path[:-1], path[::-1], path[:0], path.astype(float)):
        with pytest.raises(VerificationError):
            verify.longest_path(matrix, lengths, parents, other)
    with pytest.raises(VerificationError, match="has the length"):
        verify.longest_path(matrix, lengths, parents, path, length + 1)
    with pytest.raises(VerificationError, match="cycle"):
        verify.longest_path(csr_array([[0, -1], [-1, 0]]), [0.0, 0.0], [0, 1])
