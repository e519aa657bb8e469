"""What a person asks of a graph's edges: `edges`, `neighbors`, `has_edge`, `len`, `to_scipy`, on every shape."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given

import gasla
from gasla import Graph, distributed
from tests.graph.test_graph import edge_lists

LETTERS = Graph.from_networkx(nx.MultiDiGraph([("c", "a"), ("c", "b"), ("c", "a"), ("a", "a"), ("b", "c")]))


def ways(n, src, dst, values):
    """One graph given as edges, rows and columns, the latter two with int64 offsets."""
    yield Graph.from_edges(src, dst, values, n=n)
    for by_column in (False, True):
        keys, others = (dst, src) if by_column else (src, dst)
        order = np.argsort(keys, kind="stable")
        data = np.ones(len(src)) if values is None else values[order]
        indptr = np.searchsorted(keys[order], np.arange(n + 1)).astype(np.int64)
        kind = sp.csc_array if by_column else sp.csr_array
        yield Graph(kind((data, others[order], indptr), shape=(n, n)))


@given(edge_lists())
def test_against_a_list_of_edges(data):
    n, src, dst, values = data
    pairs = list(zip(src.tolist(), dst.tolist(), strict=True))
    for graph in ways(*data):
        found = graph.edges()
        assert sorted(zip(*(ends.tolist() for ends in found), strict=True)) == sorted(pairs)
        assert len(graph) == graph.n == n and bool(graph)
        for u in range(n):
            after, before = {b for a, b in pairs if a == u}, {a for a, b in pairs if b == u}
            assert graph.neighbors(u).tolist() == sorted(after)
            assert graph.neighbors(u, direction="in").tolist() == sorted(before)
            assert graph.neighbors(u, direction="both").tolist() == sorted(after | before)
            assert [graph.has_edge(u, v) for v in range(n)] == [(u, v) in pairs for v in range(n)]
    first = Graph.from_edges(src, dst, values, n=n)
    assert all(np.array_equal(a, b) for a, b in zip(first.edges(), (src, dst), strict=True))


@given(edge_lists())
def test_to_scipy_and_back(data):
    n, src, dst, values = data
    graph = Graph.from_edges(src, dst, values, n=n)
    matrix = graph.to_scipy()
    ones = np.ones(len(src), np.int64) if values is None else values
    assert isinstance(matrix, sp.csr_array) and matrix.shape == (n, n) and matrix.nnz == graph.m
    assert matrix.dtype == ones.dtype
    dense = sp.coo_array((ones, (src, dst)), shape=(n, n)).toarray()
    np.testing.assert_array_equal(matrix.toarray(), dense)
    again = Graph(matrix)
    order = np.argsort(src, kind="stable")
    for mine, theirs in zip(again.edges(), (src[order], dst[order]), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert again.values.tobytes() == ones[order].tobytes()


def test_a_matrix_holds_copies():
    rows = sp.csr_array(([5.0, 3.0], [2, 1], [0, 2, 2, 2]), shape=(3, 3))
    graph = Graph(rows)
    matrix = graph.to_scipy()
    for mine, theirs in ((matrix.data, graph.values), (matrix.indices, graph.out.indices)):
        assert not np.shares_memory(mine, theirs)
    matrix.sort_indices()
    assert graph.out.indices.tolist() == [2, 1] and graph.values.tolist() == [5.0, 3.0]


def test_edge_numbers_are_those_of_values_and_ends_are_shared():
    src, dst = np.array([2, 0, 2], np.int32), np.array([0, 2, 1], np.int32)
    graph = Graph.from_edges(src, dst, [5, 3, 4])
    assert all(mine is given for mine, given in zip(graph.edges(), (src, dst), strict=True))
    turned = graph.reversed().edges()
    assert turned[0] is dst and turned[1] is src
    columns = Graph(sp.csc_array(([5, 3, 4], [2, 0, 1], [0, 1, 3, 3]), shape=(3, 3)))
    assert [ends.tolist() for ends in columns.edges()] == [[2, 0, 1], [0, 1, 1]]


def test_neighbors_are_a_copy():
    graph = Graph.from_edges([0, 0], [1, 2])
    graph.neighbors(0)[:] = 0
    assert graph.out.indices.tolist() == [1, 2]


def test_graphs_without_edges_and_without_vertices():
    nothing, alone = Graph.from_edges([], []), Graph.from_edges([], [], n=2)
    assert (len(nothing), len(alone)) == (0, 2) and nothing
    for graph in (nothing, alone):
        assert [len(ends) for ends in graph.edges()] == [0, 0]
        assert graph.to_scipy().shape == (len(graph), len(graph))
    assert alone.neighbors(1).tolist() == [] and not alone.has_edge(0, 1)


def test_undirected_graphs_have_one_kind_of_neighbor():
    graph = Graph.from_networkx(nx.Graph([(0, 1), (1, 2), (2, 2)]))
    for v, expected in enumerate(([1], [0, 2], [1, 2])):
        for direction in ("out", "in", "both"):
            assert graph.neighbors(v, direction=direction).tolist() == expected
    assert graph.has_edge(1, 0) and graph.has_edge(0, 1)


def test_names_are_taken_and_given():
    assert LETTERS.neighbors("c").tolist() == ["a", "b"]
    assert LETTERS.neighbors("a", direction="in").tolist() == ["c", "a"]  # in the order of numbers
    assert LETTERS.neighbors("a", direction="both").tolist() == ["c", "a"]
    assert LETTERS.has_edge("c", "b") and LETTERS.has_edge("a", "a") and not LETTERS.has_edge("a", "c")
    src, dst = LETTERS.edges()
    assert sorted(zip(LETTERS.names[src], LETTERS.names[dst], strict=True)) == [
        *(("a", "a"), ("b", "c"), ("c", "a"), ("c", "a"), ("c", "b"))
    ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g: g.neighbors(3), r"no vertex is named 3; the graph has no names, but numbers from 0 to 2"),
        (lambda g: g.neighbors(-1), r"no vertex is named -1"),
        (lambda g: g.neighbors("a"), r"no vertex is named 'a'"),
        (lambda g: g.neighbors(True), r"no vertex is named True"),
        (lambda g: g.neighbors(0, direction="up"), r"direction is 'up'; expected 'out', 'in' or 'both'"),
        (lambda g: g.neighbors(0, direction=["in"]), r"direction is \['in'\]; expected"),
        (lambda g: g.neighbors([0]), r"v is \[0\]; expected one vertex"),
        (lambda g: g.neighbors(np.array([0])), r"v is array\(\[0\]\); expected one vertex"),
        (lambda g: g.has_edge(0, 3), r"no vertex is named 3"),
        (lambda g: g.has_edge(0, [1, 2]), r"v is \[1, 2\]; expected one vertex.*primitives.has_edges"),
        (lambda g: g.has_edge(0.0, 1), r"no vertex is named 0.0"),
        (lambda _: LETTERS.neighbors("cc"), r"no vertex is named 'cc'; expected one of 3 names"),
        (lambda _: LETTERS.has_edge("a", 0), r"no vertex is named 0; expected one of 3 names"),
    ],
)
def test_unsupported_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(Graph.from_edges([0, 1], [1, 2]))


def test_a_distributed_graph_has_no_list_of_edges():
    spread = distributed.Graph.from_graph(Graph.from_edges([0, 1], [1, 2]), distributed.ThreadRanks(2))
    assert len(spread) == 3
    for name, call in {
        "edges": lambda: spread.edges(),
        "neighbors": lambda: spread.neighbors(0),
        "has_edge": lambda: spread.has_edge(0, 1),
        "to_scipy": lambda: spread.to_scipy(),
    }.items():
        with pytest.raises(
            TypeError, match=rf"^Graph\.{name}: graph is a distributed graph, of which no process has all"
        ):
            call()


@pytest.mark.gpu
def test_a_gpu_gives_the_same_answer():
    here = Graph.from_edges([2, 0, 2, 2, 1], [0, 2, 1, 1, 1], [5, 3, 4, 2, 1])
    for weights in (True, False):
        graph = here if weights else here.with_values(None)
        there = graph.to("gpu")
        for mine, theirs in zip(there.edges(), here.edges(), strict=True):
            assert gasla.arrays.device_of(mine) == "gpu" and mine.get().tolist() == theirs.tolist()
        for v in range(3):
            for direction in ("out", "in", "both"):
                found = there.neighbors(v, direction=direction)
                assert found.get().tolist() == here.neighbors(v, direction=direction).tolist()
            assert [there.has_edge(v, u) for u in range(3)] == [here.has_edge(v, u) for u in range(3)]
        assert len(there) == 3
        np.testing.assert_array_equal(there.to_scipy().toarray(), graph.to_scipy().toarray())
    names = LETTERS.to("gpu")
    assert names.neighbors("c").tolist() == ["a", "b"] and names.has_edge("c", "b")
