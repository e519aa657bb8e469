"""Graphs from graphs, held against SciPy and against edges taken one by one."""

import functools
import pickle
import tracemalloc
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gasla
import semirings
from gasla import Graph, datasets
from gasla.graph.transform import contract_cpu, subgraph_cpu
from tests.gpu.test_graph import both_ways, sent, sort
from tests.graph.test_graph import edge_lists

MONOIDS = [semirings.plus, semirings.min, semirings.times, semirings.first, semirings.any]
GPU = pytest.param("gpu", marks=pytest.mark.gpu)


def host(x: Any) -> Any:
    return x.get() if hasattr(x, "get") else x


def edges_of(graph: Graph) -> list[tuple[Any, ...]]:
    """(source, target, value) in the order of the numbers of edges."""
    src, dst = (host(ends).tolist() for ends in graph.edges())
    values = [None] * graph.m if graph.values is None else host(graph.values).tolist()
    return list(zip(src, dst, values, strict=True))


def merged(edges: list[tuple[Any, ...]], monoid: Any, counted: bool = True) -> list[tuple[Any, ...]]:
    """One edge for all between the same two, by rows."""
    found = defaultdict(list)
    for s, d, v in edges:
        found[s, d].append(v)
    total = {}
    for ends, values in found.items():
        bare = values[0] is None
        if monoid is None or (bare and monoid.idempotent):
            total[ends] = values[0]
        else:
            total[ends] = functools.reduce(monoid.combine, [1] * len(values) if bare else map(np.int64, values))
    return [(*ends, total[ends]) for ends in sorted(total)]


def merged_alike(edges: list[tuple[Any, ...]], monoid: Any) -> list[tuple[Any, ...]]:
    """`merged`; where `any` may take either of several, it takes the same both ways of a symmetric matrix."""
    found = merged(edges, monoid)
    if monoid is not semirings.any or Counter(edges) != Counter((d, s, v) for s, d, v in edges):
        return found
    total = {(s, d): v for s, d, v in found}
    return [(s, d, total[min(s, d), max(s, d)]) for s, d, _ in found]


def check_origin(graph: Graph, before: Graph, ends: bool = True) -> None:
    """Edges lie where those that they were lay, and numbers there and back agree."""
    origin = graph.origin
    assert origin is not None
    vertices, edges, new_vertices, new_edges = (
        host(x) for x in (origin.vertices, origin.edges, origin.new_vertices, origin.new_edges)
    )
    assert len(vertices) == graph.n and len(edges) == graph.m
    assert len(new_vertices) == before.n and len(new_edges) == before.m
    for new, first, count in ((new_vertices, vertices, graph.n), (new_edges, edges, graph.m)):
        for i in range(count):
            assert first[i] == np.flatnonzero(new == i)[0]
        assert ((new >= -1) & (new < count)).all()
    if ends:
        old, now = edges_of(before), edges_of(graph)
        for e, became in enumerate(new_edges.tolist()):
            if became >= 0:
                assert tuple(new_vertices[list(old[e][:2])]) == now[became][:2]


def places(data: Any, device: str) -> list[Graph]:
    n, src, dst, values = data
    values = None if values is None else np.nan_to_num(np.asarray(values), posinf=9, neginf=-9).astype(np.int64)
    graphs = both_ways(n, src, dst, values)
    graphs.append(Graph(sp.csc_array(sp.coo_array((np.ones(len(src)), (src, dst)), shape=(n, n)))))
    return graphs if device == "cpu" else [graph.to("gpu") for graph in graphs]


def put(x: Any, graph: Graph) -> Any:
    return x if graph.device == "cpu" else sent(x)


def check_all(graph: Graph, seed: int) -> None:
    rng, edges = np.random.default_rng(seed), edges_of(graph)
    whole = graph.values is None or graph.values.dtype.kind != "f"
    mask = rng.random(graph.m) < 0.5
    some = graph.select(put(mask, graph))
    assert edges_of(some) == [edge for edge, kept in zip(edges, mask.tolist(), strict=True) if kept]
    assert edges_of(graph.select(put(np.flatnonzero(mask), graph))) == edges_of(some)
    check_origin(some, graph)
    chosen = rng.permutation(graph.n)[: graph.n // 2]
    for lists_known in (False, True):
        part = graph.subgraph(put(chosen, graph))
        number = {v: i for i, v in enumerate(chosen.tolist())}
        inside = [(number[s], number[d], v) for s, d, v in edges if s in number and d in number]
        assert edges_of(part) == inside and part.n == len(chosen)
        check_origin(part, graph)
        assert lists_known or graph.out
    monoid = MONOIDS[seed % len(MONOIDS)] if whole else semirings.max
    for combine in (None, monoid):
        for loops in (False, True):
            plain = graph.simple(combine, loops=loops)
            assert edges_of(plain) == merged_alike([e for e in edges if loops or e[0] != e[1]], combine)
            check_origin(plain, graph)
    both = graph.symmetrized(semirings.max)
    assert edges_of(both) == merged(edges + [(d, s, v) for s, d, v in edges if s != d], semirings.max)
    assert both.has_symmetric_values
    labels = rng.integers(0, max(graph.n // 2, 1), graph.n)
    there = {label: i for i, label in enumerate(sorted(set(labels.tolist())))}
    moved = [(there[labels[s]], there[labels[d]], v) for s, d, v in edges]
    for loops in (False, True):
        inner = [e for e in moved if loops or e[0] != e[1]]
        assert edges_of(graph.contract(put(labels, graph), None, loops=loops)) == inner
        small = graph.contract(put(labels, graph), monoid, loops=loops)
        assert edges_of(small) == merged_alike(inner, monoid) and small.n == len(there)
        check_origin(small, graph)
    turned = graph.reversed()
    assert edges_of(turned) == [(d, s, v) for s, d, v in edges]
    assert host(turned.in_.indices).tolist() == host(graph.out.indices).tolist()
    check_origin(turned, graph, ends=False)


@pytest.mark.parametrize("device", ["cpu", GPU])
@pytest.mark.parametrize("monoid", MONOIDS, ids=lambda monoid: monoid.name)
@settings(max_examples=25)
@given(data=edge_lists())
def test_both_directions_reduce_the_values_of_a_pair_in_the_order_of_the_input(
    device: str, monoid: Any, data: Any
) -> None:
    n, src, dst, _ = data
    graph = Graph.from_edges(src, dst, np.arange(len(src)) % 5 + 1, n=n).to(device)
    both = graph.symmetrized(monoid)
    pairs = defaultdict(list)
    for number, (s, d, v) in enumerate(edges_of(graph)):
        pairs[min(s, d), max(s, d)].append((number, s, d, v))
    wanted = sorted({(i, j) for pair in pairs for i, j in (pair, pair[::-1])})
    assert [edge[:2] for edge in edges_of(both)] == wanted
    became, origin = (host(ids).tolist() for ids in (both.origin.new_edges, both.origin.edges))
    for place, (i, j, value) in enumerate(edges_of(both)):
        edges = pairs[min(i, j), max(i, j)]
        each = [v for *_, v in edges]
        assert value in each if monoid is semirings.any else value == functools.reduce(monoid.combine, each)
        assert all(became[number] == place for number, s, d, _ in edges if (s, d) == (i, j))
        assert origin[place] == min(edges, key=lambda edge: ((edge[1], edge[2]) != (i, j), edge[0]))[0]
    assert both.has_symmetric_values


@pytest.mark.parametrize("device", ["cpu", GPU])
@settings(max_examples=25)
@given(data=edge_lists(), seed=st.integers(0, 99))
def test_graphs_from_graphs(device: str, data: Any, seed: int) -> None:
    for graph in places(data, device):
        check_all(graph, seed)


@pytest.mark.thorough
@settings(max_examples=15)
@given(data=edge_lists(), seed=st.integers(0, 99))
def test_graphs_from_graphs_as_on_a_gpu(data: Any, seed: int) -> None:
    """By the functions that make lists of CuPy's arrays, on NumPy's."""
    with pytest.MonkeyPatch.context() as patch:
        sort(patch)
        for module in ("merging", "subgraphs", "origin", "segmented_reduce"):
            patch.setattr(f"gasla.graph.transform.{module}.lists_on", gasla.graph.neighbor_lists.lists_on)
        patch.setattr("gasla.graph.transform.segmented_reduce.has_ufunc_loop", lambda monoid, parts: False)
        for graph in places(data, "cpu"):
            check_all(graph, seed)


@pytest.mark.parametrize("shape", ["star", "path", "nothing", "alone", "alike"])
def test_hard_shapes_give_right_answers(shape: str) -> None:
    src, dst, n = {
        "star": (np.zeros(500, int), np.arange(500), 500),
        "path": (np.arange(499), np.arange(1, 500), 500),
        "nothing": (np.zeros(0, int), np.zeros(0, int), 0),
        "alone": (np.array([0]), np.array([0]), 1),
        "alike": (np.ones(300, int), np.zeros(300, int), 2),
    }[shape]
    for kind in (np.int32, np.int64):
        graph = Graph.from_edges(src.astype(kind), dst.astype(kind), np.arange(len(src)), n=n)
        for made in (graph, Graph.from_csr(graph.out.indptr.astype(np.int64), graph.out.indices, graph.out_values)):
            check_all(made, 1)


def check_sums_of_groups(graph: Graph, labels: np.ndarray, loops: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By tables and by a sort there comes the same, to the last bit and of the same types."""
    with monkeypatch.context() as patch:
        patch.setattr(contract_cpu, "is_for", lambda *_: False)
        expected = graph.contract(labels, loops=loops)
    found = graph.contract(labels, loops=loops)
    assert found.origin is not None and expected.origin is not None
    for name in ("indptr", "indices"):
        one, other = getattr(found.out, name), getattr(expected.out, name)
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
    assert found.values.dtype == expected.values.dtype and found.is_symmetric == expected.is_symmetric
    np.testing.assert_array_equal(found.values, expected.values)
    for kept in (found, pickle.loads(pickle.dumps(found))):
        for name in ("vertices", "edges", "new_vertices", "new_edges"):
            np.testing.assert_array_equal(getattr(kept.origin, name), getattr(expected.origin, name))
    assert found.origin.nbytes == expected.origin.nbytes


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edges=edge_lists(), data=st.data())
def test_sums_of_groups(edges: Any, data: st.DataObject, monkeypatch: pytest.MonkeyPatch) -> None:
    n, src, dst, _ = edges
    order = np.argsort(src, kind="stable")
    src, dst = (ends[order].astype(np.int32) for ends in (src, dst))  # one type: it is compiled for each
    labels = np.array(data.draw(st.lists(st.integers(0, max(n - 1, 0)), min_size=n, max_size=n)), np.int64)
    monkeypatch.setattr(contract_cpu, "SMALL", 1)
    for weights in (None, np.random.default_rng(n).random(len(src)) - 0.5):
        graph = Graph.from_edges(src, dst, weights, n=n)
        check_sums_of_groups(graph, labels, data.draw(st.booleans()), monkeypatch)


def test_sums_of_groups_by_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many edges as threads share, and one group of half the vertices."""
    rng = np.random.default_rng(1)
    n, m = 5_000, 300_000
    graph = Graph.from_edges(np.sort(rng.integers(0, n, m)), rng.integers(0, n, m), rng.random(m), n=n)
    labels = np.where(rng.random(n) < 0.5, 7, rng.integers(0, n, n))
    assert contract_cpu.is_for(graph.lists.rows, graph.values, semirings.plus, n)
    check_sums_of_groups(graph, labels, True, monkeypatch)


@pytest.mark.parametrize("share", [0, 0.002, 0.5, 1])
@pytest.mark.parametrize("by_row", [True, False])
def test_lists_that_are_cut(share: float, by_row: bool) -> None:
    """Graphs that are large enough for a kernel, with loops, parallel edges, a hub and vertices without edges."""
    rng = np.random.default_rng(2)
    n, m = 5_000, 300_000
    first, second = np.sort(rng.integers(0, n - 9, m)), rng.integers(0, n, m)
    first[m // 2 :] = np.maximum(first[m // 2 :], n - 50)
    src, dst = (first, second) if by_row else (second, first)
    graph = Graph.from_edges(src, dst, rng.random(m), n=n)
    lists = graph.lists.rows if by_row else graph.lists.columns
    assert lists is not None and subgraph_cpu.is_for(lists)
    mask = rng.random(n) < share
    part = graph.subgraph(mask)
    within = np.flatnonzero(mask[src] & mask[dst])
    assert part.n == mask.sum() and part.origin is not None
    np.testing.assert_array_equal(part.origin.vertices, np.flatnonzero(mask))
    np.testing.assert_array_equal(part.origin.edges, within)
    np.testing.assert_array_equal(part.values, graph.values[within])
    for ends, were in zip(part.edges(), (src, dst), strict=True):
        np.testing.assert_array_equal(np.flatnonzero(mask)[ends], were[within])
    assert part.in_.indices.dtype == graph.id_dtype


def test_contraction_is_a_product_of_matrices() -> None:
    A = sp.csr_array(datasets.rmat(9))
    labels = np.random.default_rng(0).integers(0, 40, A.shape[0])
    P = sp.csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)))
    weighted = A.astype(np.float64)
    found = Graph(weighted).contract(labels)
    assert np.allclose(
        sp.csr_array((found.values, found.out.indices, found.out.indptr)).toarray(), (P.T @ A @ P).toarray()
    )


def test_of_edges_with_parallel_ones_combined() -> None:
    graph = Graph.from_edges([2, 0, 2, 2], [1, 0, 1, 0], [5.0, 3, 4, 1], n=4, combine=semirings.min)
    assert edges_of(graph) == [(0, 0, 3), (2, 0, 1), (2, 1, 4)] and graph.n == 4
    assert edges_of(Graph.from_edges([1, 1], [0, 0], combine=semirings.plus)) == [(1, 0, 2)]
    assert Graph.from_edges([1, 1], [0, 0], combine=semirings.max).values is None


def test_nothing_of_a_graph_changes() -> None:
    rng = np.random.default_rng(3)
    src, dst, values = rng.integers(0, 30, 200), rng.integers(0, 30, 200), rng.random(200)
    copies = src.copy(), dst.copy(), values.copy()
    graph, labels, mask = Graph.from_edges(src, dst, values, n=30), rng.integers(0, 9, 30), rng.random(200) < 0.5
    chosen = np.array([4, 2, 9], np.int32)
    before = edges_of(graph)
    part = graph.subgraph(chosen)
    for _ in (
        graph.contract(labels),
        graph.select(mask),
        graph.simple(semirings.plus),
        graph.symmetrized(semirings.max),
    ):
        assert edges_of(graph) == before
    assert all((a == b).all() for a, b in zip((src, dst, values), copies))
    chosen[:] = 0
    assert part.origin is not None and part.origin.vertices.tolist() == [4, 2, 9]
    again = pickle.loads(pickle.dumps(part))
    assert again.origin.vertices.tolist() == [4, 2, 9] and graph.nbytes > 0 and part.nbytes > part.origin.nbytes
    assert graph.with_values(None).origin is None and part.with_values(None).origin is part.origin


def test_unsupported_input_is_refused() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0], [1.0, 2, 3], n=4)
    for call, error, message in [
        (lambda: graph.contract([0, 1, 2]), ValueError, "there are 3 labels; expected one for each of 4 vertices"),
        (lambda: graph.contract([0, 1, 2, 4]), ValueError, r"labels\[3\] is 4, outside a graph of 4 vertices"),
        (lambda: graph.contract([0, -1, 2, 2]), ValueError, r"labels\[1\] is -1"),
        (lambda: graph.contract([0.0, 1, 2, 3]), TypeError, "labels has type float64; expected integers"),
        (lambda: graph.contract([0, 1, 2, 3], sum), TypeError, "expected a semirings.Monoid"),
        (lambda: graph.contract([0, 1, 2, 3], semirings.bor), TypeError, "float64"),
        (lambda: graph.contract([0, 1, 2, 3], semirings.argmin), TypeError, "it compares tuples"),
        (lambda: graph.select([True, False]), ValueError, r"edges is a mask of shape \(2,\); expected \(3,\)"),
        (lambda: graph.select([0.5]), TypeError, "edges holds float64; expected a mask of bool, or integers"),
        (lambda: graph.select([1, 0]), ValueError, "don't ascend"),
        (lambda: graph.select([1, 3]), ValueError, r"edges\[1\] is 3"),
        (lambda: graph.subgraph([0, 1, 0]), ValueError, "vertex 0 is given twice"),
        (lambda: graph.subgraph([4]), ValueError, r"vertices\[0\] is 4"),
        (lambda: graph.subgraph([True]), ValueError, r"vertices is a mask of shape \(1,\); expected \(4,\)"),
        (lambda: graph.symmetrized(), ValueError, "the graph has values and combine is not given"),
    ]:
        with pytest.raises(error, match=message):
            call()


def test_simple_takes_little_memory_beside_the_graph() -> None:
    """The table of memory of building, in the page on performance, at a tenth of its size."""
    rng = np.random.default_rng(0)
    src, dst = rng.integers(0, 20_000, (2, 200_000)).astype(np.int32)
    graph = Graph(sp.coo_array((rng.random(200_000), (src, dst)), shape=(20_000, 20_000)).tocsr())
    assert graph.has_self_loops
    tracemalloc.start()
    made = graph.simple(semirings.plus)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.2 * made.nbytes
