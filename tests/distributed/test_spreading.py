"""Shards of a graph are those of a plain computation, on the CPU and on cards, whatever the form of the graph."""

import tracemalloc
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
import semirings
from gasla import distributed
from gasla.arrays import moved
from gasla.distributed.engine import partition, shard
from gasla.distributed.engine.distributed_run import degrees_on, shard_on
from gasla.distributed.engine.partition import Edges
from gasla.distributed.thread_ranks import ThreadRanks
from tests.distributed.test_ranks import SHAPES, random_graph
from tests.helpers.emulated_ranks import Emulated
from tests.helpers.strict_cupy import CardArray, without_gpu

WAYS = [("in", False), ("out", False), ("all", False), ("in", True), ("out", True)]


@pytest.fixture(params=[False, True], ids=["at once", "rounds"], autouse=True)
def rounds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small graphs are sent in one round, or in many and in small chunks."""
    if request.param:
        monkeypatch.setattr(partition, "ROUND", 3)
        monkeypatch.setattr(shard, "CHUNK", 5)


def expected(graph: gasla.Graph, bounds: np.ndarray, rank: int, direction: str, mirrors_all: bool) -> dict[str, Any]:
    """A rank's shard, edge by edge."""
    first, last = bounds[rank : rank + 2].tolist()
    src, dst = (ends.tolist() for ends in graph.edges())
    entries = []
    for e in range(graph.m):
        if direction != "in" and first <= src[e] < last:
            entries.append((src[e], e, False, dst[e]))
        if direction != "out" and first <= dst[e] < last:
            entries.append((dst[e], e, True, src[e]))
    entries.sort()
    others = set(range(graph.n)) if mirrors_all else {other for *_, other in entries}
    mirrors = sorted(v for v in others if not first <= v < last)
    local = {v: i for i, v in enumerate([*range(first, last), *mirrors])}
    ids = np.array([e for _, e, _, _ in entries], np.int64)
    return {
        "mirrors": mirrors,
        "ends": ([local[other] for *_, other in entries], [local[v] for v, *_ in entries]),
        "edge_ids": ids,
        "leaves": None if direction != "all" else [stored for _, _, stored, _ in entries],
        "values": None if graph.values is None else graph.values[ids],
    }


def check(spread: distributed.Graph, graph: gasla.Graph) -> None:
    """Every array of every shard is right, and on the device of the rank."""
    device = "gpu" if spread.ranks.has_cards else "cpu"
    for direction, mirrors_all in WAYS:
        found = spread.ranks.each(shard_on, spread.handle.key, direction, mirrors_all)
        wanted = [expected(graph, one.bounds, rank, direction, mirrors_all) for rank, one in enumerate(found)]
        for one, right in zip(found, wanted, strict=True):
            assert one.graph.device == device and {gasla.arrays.device_of(x) for x in one.sends} == {device}
            same(one.mirrors, right["mirrors"])
            same(one.edge_ids, right["edge_ids"])
            same(one.leaves, right["leaves"])
            same(one.graph.values, right["values"])
            for ends, rights in zip(one.graph.edges(), right["ends"], strict=True):
                same(ends, rights)
            for other, (a, b) in enumerate(pairwise(one.bounds.tolist())):
                same(one.sends[other], [v - one.first for v in wanted[other]["mirrors"] if v in own(one)])
                same(one.ids[one.cuts[other] : one.cuts[other + 1]], [v for v in right["mirrors"] if a <= v < b])
            assert one.ids.tolist() == [*own(one), *right["mirrors"]]
            here = gasla.Graph.from_edges(*map(np.asarray, one.graph_on("cpu").edges()), n=one.graph.n)
            same(one.graph_on("cpu").in_degrees, here.in_degrees)
        for which in ("in", "out"):
            every = getattr(graph, f"{which}_degrees")
            args = spread.handle.key, direction, which, mirrors_all
            for one, counts in zip(found, spread.ranks.each(degrees_on, *args), strict=True):
                same(counts, every[one.ids])


def own(one: Any) -> range:
    return range(one.first, one.first + one.own)


def same(found: Any, right: Any) -> None:
    if right is None:
        assert found is None
    else:
        assert moved(found, "cpu").tolist() == list(right)


@pytest.mark.parametrize("count", [1, 3, pytest.param(11, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str, count: int, ranks: Any) -> None:
    check(distributed.Graph.from_graph(SHAPES[name], ranks(count)), SHAPES[name])


@pytest.mark.parametrize("kind", [np.float32, np.int8, np.bool_])
@pytest.mark.parametrize("form", ["rows", "columns", "pairs"])
def test_forms_of_a_graph(form: str, kind: Any, ranks: Any) -> None:
    """Rows or columns in any order, and pairs; values of several types."""
    drawn = np.random.default_rng(2)
    pairs = gasla.Graph.from_edges(*drawn.integers(0, 50, (2, 300)), drawn.integers(0, 2, 300).astype(kind), n=50)
    rows = gasla.Graph.from_csr(pairs.out.indptr, pairs.out.indices, pairs.values)
    graph = {"rows": rows, "columns": rows.reversed(), "pairs": pairs}[form]
    check(distributed.Graph.from_graph(graph, ranks(4)), graph)


def test_a_graph_that_is_on_a_card(ranks: Any) -> None:
    """It goes from card to card."""
    made = ranks(2)
    if made.has_cards:
        for graph in (random_graph(), gasla.Graph(sp.random_array((40, 40), density=0.2, rng=1, format="csr"))):
            check(distributed.Graph.from_graph(graph.to("gpu"), made), graph)


def test_edges_in_any_order(ranks: Any) -> None:
    """Ranks that have read parts of the input in another order than that of the ranks."""
    graph = random_graph()
    src, dst = graph.edges()
    ids = np.random.default_rng(4).permutation(graph.m)

    def part(rank: distributed.Rank) -> Edges:
        mine = ids[rank.communicator.rank :: 3]
        return Edges(src[mine], dst[mine], mine, graph.values[mine])  # type: ignore[index]

    check(distributed.Graph.from_shares(ranks(3), graph.n, part), graph)


def test_ranks_with_few_and_many_edges(ranks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some need wider types for what they count than others."""

    def kind_for(bound: int) -> np.dtype[Any]:
        return np.dtype(np.int32 if bound < 200 else np.int64)

    monkeypatch.setattr(partition, "index_dtype", kind_for)
    graph = gasla.Graph.from_edges(*np.random.default_rng(3).integers(0, 50, (2, 300)), n=50)
    src, dst = graph.edges()

    def part(rank: distributed.Rank) -> Edges:
        mine = [np.arange(250), np.arange(250, 299), np.arange(299, 300)][rank.communicator.rank]
        return Edges(src[mine], dst[mine], mine, None)

    check(distributed.Graph.from_shares(ranks(3), graph.n, part), graph)


@pytest.mark.parametrize("sparse", [0, 10**9])
def test_numbers_with_and_without_room_for_all_vertices(
    sparse: int, ranks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard, "SPARSE", sparse)
    check(distributed.Graph.from_graph(random_graph(), ranks(3)), random_graph())


@settings(max_examples=12, database=None)
@given(st.data())
def test_any_graph(data: Any) -> None:
    n = data.draw(st.integers(1, 12))
    ends = data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30))
    src, dst = (np.array([pair[which] for pair in ends], np.int64) for which in (0, 1))
    graph = gasla.Graph.from_edges(src, dst, np.arange(len(ends)), n=n)
    check(distributed.Graph.from_graph(graph, ThreadRanks(data.draw(st.integers(1, 10)))), graph)


def test_bounds_of_many_vertices_end_at_bins(ranks: Any) -> None:
    n = 5 << partition.BINS
    graph = gasla.Graph.from_edges(np.arange(0, n, 7), np.arange(0, n, 7)[::-1], n=n)
    spread = distributed.Graph.from_graph(graph, ranks(3))
    bounds = spread.ranks.each(shard_on, spread.handle.key, "in")[0].bounds
    assert bounds[0] == 0 and bounds[-1] == n and not (bounds[1:-1] % 8).any()
    assert np.diff(bounds).max() < 1.01 * n / 3
    np.testing.assert_array_equal(np.asarray(spread.in_degrees), graph.in_degrees)


class Counted(gasla.VertexProgram):
    """Reads what a rank has of the whole graph, and writes a field of edges."""

    seen = gasla.vertex(np.int64, init=lambda vertex: vertex.id)
    passed = gasla.edge(np.int64, init=0)
    reduce = semirings.plus
    everyone = True

    def gather(self, src, dst, edge):
        return src.seen * 3 + edge.id + src.out_degree - dst.in_degree

    def apply(self, vertex, gathered):
        return {"seen": gathered % 1009}

    def scatter(self, src, dst, edge):
        return {"passed": edge.passed + src.seen}


def test_what_the_host_computes(ranks: Any) -> None:
    """Ranks with cards copy their shards to the host for what has no kernel there."""
    graph = random_graph()
    spread = distributed.Graph.from_graph(graph, ranks(3))
    one, found = (gasla.run(Counted, each, max_iterations=3, compile=False) for each in (graph, spread))
    for name in ("seen", "passed"):
        np.testing.assert_array_equal(np.asarray(getattr(found, name)), getattr(one, name))
    again = gasla.run(Counted, spread, max_iterations=1, compile=False, seen=found.seen, passed=found.passed)
    expected = gasla.run(Counted, graph, max_iterations=1, compile=False, seen=one.seen, passed=one.passed)
    np.testing.assert_array_equal(np.asarray(again.passed), expected.passed)
    x = np.arange(graph.n)
    np.testing.assert_array_equal(gasla.mxv(spread, x, semirings.plus_times), gasla.mxv(graph, x, semirings.plus_times))
    for fact in ("is_symmetric", "has_self_loops", "has_parallel_edges"):
        assert getattr(spread, fact) == getattr(graph, fact)


def test_report_and_values(ranks: Any) -> None:
    graph = random_graph()
    spread = distributed.Graph.from_graph(graph, ranks(3))
    report = spread.report()
    assert report["edges"].sum() == graph.m and report["vertices"].sum() == graph.n
    assert (report["bytes"] > 12 * report["edges"]).all()
    wanted = np.array([5, 0, 5, graph.m - 1])
    np.testing.assert_array_equal(spread.values[wanted], graph.values[wanted])  # type: ignore[index]
    assert spread.valued.range == (graph.values.min(), graph.values.max())  # type: ignore[union-attr]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("kind", [None, np.float32])
def test_memory_is_bounded_on_cards(kind: Any, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build takes at most 1.9 times what it comes to, without the second copy that a GPU's sort makes of its keys."""
    without_gpu(monkeypatch)
    m, drawn = 1 << 20, np.random.default_rng(5)
    values = None if kind is None else np.ones(m, kind)
    rows = gasla.Graph.from_edges(*drawn.integers(0, m // 16, (2, m))).out
    graph = gasla.Graph.from_csr(rows.indptr, rows.indices, values)
    for module, name in ((partition, "ROUND"), (shard, "CHUNK")):
        monkeypatch.setattr(module, name, m // count // 8)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        spread = distributed.Graph.from_graph(graph, Emulated(count))
        kept, most = (found - before for found in tracemalloc.get_traced_memory())
    finally:
        tracemalloc.stop()
    assert 0.9 * kept < spread.nbytes <= 1.02 * kept
    assert most < 1.9 * kept


def test_the_stand_in_refuses_to_mix(monkeypatch: pytest.MonkeyPatch) -> None:
    cupy: Any = without_gpu(monkeypatch)
    there, here = cupy.arange(3), np.arange(3)
    assert isinstance(there + 1, CardArray) and cupy.ndarray is CardArray
    for mix in (
        lambda: there + here,
        lambda: there[here],
        lambda: np.concatenate([there, there]),
        lambda: cupy.concatenate([there, here]),
    ):
        with pytest.raises(TypeError):
            mix()
