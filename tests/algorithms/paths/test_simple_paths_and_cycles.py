"""Simple paths and cycles are those that NetworkX finds, counted and listed."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest

import gasla
from gasla import primitives, verify
from gasla.algorithms.paths import cycle_patterns
from gasla.arrays import moved
from gasla.cpu.primitive import path_search as kernels
from gasla.graph import memory_limit
from gasla.operations.vertex_lists import VertexLists
from tests.helpers.law import VERIFIED, Answer, Row
from tests.helpers.law import Asked as LawAsked
from tests.helpers.mutants import ALL, Array, Asked, Question, Questions, Small

Rows = list[tuple[int, ...]]


def turned(row: Any, both_ways: bool) -> tuple[int, ...]:
    """A cycle from its smallest vertex, if it goes both ways towards the smaller neighbor."""
    row = [*row]
    first = row.index(min(row))
    row = row[first:] + row[:first]
    return (row[0], *row[:0:-1]) if both_ways and len(row) > 1 and row[1] > row[-1] else tuple(row)


def padded(rows: Iterable[tuple[int, ...]]) -> Rows:
    return sorted((*row, *(-1,) * (5 - len(row))) for row in rows)


def on_host(found: Any) -> VertexLists:
    """Lists that may be on a GPU, in host memory."""
    return VertexLists(moved(found.indptr, "cpu"), moved(found.vertices, "cpu"))


def cycles_of(q: LawAsked, directed: bool) -> Answer:
    found = on_host(gasla.simple_cycles(q.given, 4, directed=directed))
    q.check(verify.simple_cycles, 4, found, directed=directed)
    assert gasla.simple_cycles(q.given, 4, directed=directed, count=True) == len(found)
    return {"cycles": padded(turned(q.was[row].tolist(), not directed) for row in found)}


def paths_of(q: LawAsked) -> Answer:
    found: Any = gasla.simple_paths(q.given, q.v(0), q.v(1), 4)
    q.check(verify.simple_paths, q.v(0), q.v(1), 4, found)
    return {"paths": padded(tuple(q.was[row].tolist()) for row in found)}


def a_cycle(q: LawAsked) -> Answer:
    found = gasla.find_cycle(q.given)
    q.check(verify.find_cycle, found)
    return {"found": found is not None}


LAWS = [
    Row("simple_cycles", lambda q: cycles_of(q, True)),
    Row("simple_cycles", lambda q: cycles_of(q, False), "directed=False"),
    Row("simple_paths", paths_of, gpu=False),
    Row("find_cycle", a_cycle, renamed=VERIFIED),
]


def _lists(rows: Rows) -> dict[str, Array]:
    ends = np.cumsum([0, *map(len, rows)])
    return {"indptr": ends, "vertices": np.array([v for row in rows for v in row], np.int32)}


def _same(rows: Rows) -> Any:
    def is_right(indptr: Array, vertices: Array) -> bool:
        ends = indptr.tolist()
        if ends[:1] != [0] or ends[-1] != len(vertices) or (np.diff(indptr) < 1).any():
            return False
        return sorted(map(tuple, VertexLists(indptr, vertices).tolist())) == sorted(rows)

    return is_right


def cycle_questions(g: Small) -> Asked:
    for directed in (True, False):
        graph = g.directed if directed else g.directed.to_undirected()
        rows = [turned(row, not directed) for row in nx.simple_cycles(graph, length_bound=4)]

        def check(indptr: Array, vertices: Array, directed: bool = directed) -> None:
            verify.simple_cycles(g.matrix, 4, VertexLists(indptr, vertices), directed=directed)

        yield Question(check, _lists(rows), _same(rows))


def path_questions(g: Small) -> Asked:
    for target in (1, g.n - 1):
        rows = [tuple(path) for path in nx.all_simple_paths(g.directed, 0, target, cutoff=4)]

        def check(indptr: Array, vertices: Array, target: int = target) -> None:
            verify.simple_paths(g.matrix, 0, target, 4, VertexLists(indptr, vertices))

        yield Question(check, _lists(rows), _same(rows))


def one_cycle(g: Small) -> Asked:
    for directed in (True, False):
        graph = g.directed if directed else g.directed.to_undirected()
        every = {turned(row, not directed) for row in nx.simple_cycles(graph)}

        def is_right(cycle: Array, every: Any = every, directed: bool = directed) -> bool:
            return len(cycle) > 0 and len({*cycle.tolist()}) == len(cycle) and turned(cycle, not directed) in every

        def check(cycle: Array, directed: bool = directed) -> None:
            verify.find_cycle(g.matrix, cycle, directed=directed)

        if every:
            yield Question(check, {"cycle": np.array(min(every), np.int32)}, is_right)


QUESTIONS: Questions = {
    "simple_cycles": (cycle_questions, ALL),
    "simple_paths": (path_questions, ALL),
    "find_cycle": (one_cycle, ("directed", "undirected", "multigraph", "islands")),
}


def drawn(seed: int) -> tuple[gasla.Graph, nx.DiGraph | nx.Graph, bool]:
    """A graph with loops and parallel edges, and NetworkX's without the latter."""
    rng = np.random.default_rng(seed)
    n, directed = int(rng.integers(1, 9)), bool(rng.integers(2))
    src, dst = rng.integers(0, n, (2, int(rng.integers(0, 2 * n + 1))))
    graph: Any = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(zip(src.tolist(), dst.tolist(), strict=True))
    return gasla.Graph.from_edges(src, dst, n=n), graph, directed


@pytest.mark.parametrize("seeds", [range(24), pytest.param(range(24, 800), marks=pytest.mark.slow, id="many")])
def test_cycles_are_those_of_networkx(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """However far the search backward goes."""
    for seed in seeds:
        monkeypatch.setattr(kernels, "_SHARE", [0.0, 0.3, 1e9][seed % 3])
        graph, other, directed = drawn(seed)
        for least, most in ((1, 1), (1, 2), (3, 3), (1, 4), (4, 5), (1, 9)):
            want = sorted(turned(c, not directed) for c in nx.simple_cycles(other, most) if least <= len(c))
            options: dict[str, Any] = {"min_length": least, "directed": directed}
            found: Any = gasla.simple_cycles(graph, most, **options)
            assert sorted(map(tuple, found.tolist())) == want, (seed, least, most)
            assert gasla.simple_cycles(graph, most, **options, count=True) == len(want)
            few: Any = gasla.simple_cycles(graph, most, **options, limit=len(want) // 2)
            assert few.tolist() == found.tolist()[: len(want) // 2]
            through: Any = [0, *list(other.edges)[:2]]
            for one in (e for e in through if e == 0 or e[0] != e[1]):
                some = [c for c in want if one in c] if one == 0 else [c for c in want if passes(c, one, directed)]
                found = gasla.simple_cycles(graph, most, **options, through=one)
                assert sorted(map(tuple, found.tolist())) == some, (seed, least, most, one)
                assert gasla.simple_cycles(graph, most, **options, through=one, count=True) == len(some)


def passes(cycle: tuple[int, ...], edge: tuple[int, int], directed: bool) -> bool:
    steps = [*pairwise((*cycle, cycle[0]))]
    return edge in steps or (not directed and edge[::-1] in steps)


def test_paths_are_those_of_networkx_in_its_order() -> None:
    for seed in range(30):
        graph, other, directed = drawn(seed)
        graph = graph if directed else graph.symmetrized()
        ends = [(u, v) for u in range(min(graph.n, 3)) for v in range(graph.n) if u != v]
        for least, most in ((1, 1), (2, 3), (1, 9)):
            want = [[*p] for u, v in ends for p in nx.all_simple_paths(other, u, v, most) if least < len(p)]
            sources, targets = np.array(ends, int).reshape(-1, 2).T
            found: Any = gasla.simple_paths(graph, sources, targets, most, min_length=least)
            assert sorted(found.tolist()) == sorted(want)
            assert gasla.simple_paths(graph, sources, targets, most, min_length=least, count=True) == len(want)
            assert [(p[0], p[-1]) for p in found.tolist()] == [(p[0], p[-1]) for p in want]
    fan: Any = gasla.simple_paths(graph, 0, np.arange(graph.n), 2)
    assert fan.tolist() == [p for v in range(graph.n) for p in gasla.simple_paths(graph, 0, v, 2).tolist()]  # type: ignore[union-attr]
    ladder = nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 4))
    found = gasla.simple_paths(gasla.Graph.from_networkx(ladder), 0, 15, 8)
    assert found.tolist() == [*nx.all_simple_paths(ladder, 0, 15, 8)]


def test_one_cycle_is_found_if_there_is_one() -> None:
    for seed in range(60):
        graph, other, directed = drawn(seed)
        found = gasla.find_cycle(graph, directed=directed)
        verify.find_cycle(graph, found, directed=directed)
        assert (found is None) == (next(nx.simple_cycles(other), None) is None)


@pytest.mark.gpu
def test_one_cycle_is_found_on_a_gpu() -> None:
    for seed in range(10):
        graph, _, directed = drawn(seed)
        found = gasla.find_cycle(graph.to("gpu"), directed=directed)
        verify.find_cycle(graph, None if found is None else found.get(), directed=directed)


def test_cycles_as_patterns_are_the_same() -> None:
    """What a GPU does, in host memory."""
    for seed in range(16):
        graph, _, directed = drawn(seed)
        simple = graph.simple() if directed else primitives.simplify(graph)
        src, dst = (ends[:1].tolist() for ends in simple.edges())
        for ends in (None, *((u, u) for u in src), *zip(src, dst)):
            through: Any = ends if ends is None or ends[0] != ends[1] else ends[0]
            every: Any = gasla.simple_cycles(graph, 4, min_length=3, directed=directed, through=through)
            for limit in (None, 2):
                each = cycle_patterns.matchings(simple, 3, 4, directed, ends)
                found = [row for one in each for row in cycle_patterns.listed(one, limit, directed).tolist()]
                assert all(row in every.tolist() for row in found)
                assert limit or len(found) == len(every)


@pytest.mark.gpu
def test_a_gpu_finds_the_same_cycles() -> None:
    for seed in range(12):
        graph, _, directed = drawn(seed)
        src, dst = (ends.tolist() for ends in graph.edges())
        through: list[Any] = [None, *src[:1], *((u, v) for u, v in zip(src[:1], dst[:1]) if u != v)]
        for given in through:
            options: dict[str, Any] = {"directed": directed, "through": given}
            every = sorted(gasla.simple_cycles(graph, 5, **options).tolist())  # type: ignore[union-attr]
            there = graph.to("gpu")
            assert sorted(on_host(gasla.simple_cycles(there, 5, **options)).tolist()) == every
            assert gasla.simple_cycles(there, 5, **options, count=True) == len(every)
            few = on_host(gasla.simple_cycles(there, 5, **options, limit=2)).tolist()
            assert len(few) == min(len(every), 2) and all(row in every for row in few)


@pytest.mark.gpu
def test_long_cycles_are_refused_on_a_gpu() -> None:
    ring = gasla.Graph.from_edges(np.arange(9), np.arange(1, 10) % 9)
    with pytest.raises(ValueError, match="max_length is 9, and the graph is on the GPU, which finds cycles of up to 8"):
        gasla.simple_cycles(ring.to("gpu"), 20)
    assert gasla.simple_cycles(ring.to("gpu"), 8, count=True) == 0


def test_threads_find_the_same_in_the_same_order(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    graph = gasla.Graph.from_edges(*rng.integers(0, 60, (2, 400)), n=60)
    every: Any = gasla.simple_cycles(graph, 5)
    number = gasla.simple_cycles(graph, 5, count=True)
    pairs = np.arange(0, 40), np.arange(20, 60)
    paths: Any = gasla.simple_paths(graph, *pairs, 4)
    monkeypatch.setattr(kernels, "_LOOKS", 1 << 20)
    assert gasla.simple_cycles(graph, 5).tolist() == every.tolist()  # type: ignore[union-attr]
    assert gasla.simple_cycles(graph, 5, limit=77).tolist() == every.tolist()[:77]  # type: ignore[union-attr]
    assert gasla.simple_cycles(graph, 5, count=True) == number == len(every)
    assert gasla.simple_paths(graph, *pairs, 4).tolist() == paths.tolist()  # type: ignore[union-attr]


def test_counts_beyond_64_bits_are_exact() -> None:
    """A count is carried to a second word."""
    n = 9
    complete = gasla.Graph(nx.to_scipy_sparse_array(nx.complete_graph(n)))
    want = sum(1 for _ in nx.simple_cycles(nx.complete_graph(n)))
    assert gasla.simple_cycles(complete, n, directed=False, count=True) == want
    counts = np.array([kernels._CARRY - 1, 3])
    kernels._add_up(np.arange(2, dtype=np.int32), np.uint64(0), np.uint64(2), np.uint64(9), np.array([2, 5]), counts)
    assert counts.tolist() == [6, 4]


def test_hard_shapes() -> None:
    none, star = gasla.Graph.from_edges([], [], n=0), gasla.Graph.from_edges(np.zeros(5000, int), np.arange(1, 5001))
    assert gasla.simple_cycles(none, 5, count=True) == 0 and gasla.find_cycle(none) is None
    assert len(gasla.simple_cycles(star.symmetrized(), 6, directed=False)) == 0  # type: ignore[arg-type]
    assert gasla.simple_cycles(star.symmetrized(), 6, count=True) == 5000
    ring = gasla.Graph.from_edges(np.arange(5000), np.roll(np.arange(5000), -1))
    assert gasla.simple_cycles(ring, 5000).lengths.tolist() == [5000]  # type: ignore[union-attr]
    assert gasla.simple_cycles(ring, 4999, count=True) == 0
    assert gasla.simple_paths(ring, 0, 4999, 10**30, count=True) == 1
    assert len(gasla.simple_paths(ring, 3, 3, 9)) == 0  # type: ignore[arg-type]
    wide = gasla.Graph.from_csr(np.arange(6), np.roll(np.arange(5), -1))
    assert wide.out.indices.dtype == np.int64
    assert gasla.simple_cycles(wide, 5).vertices.dtype == wide.id_dtype  # type: ignore[union-attr]
    assert gasla.simple_paths(wide, 0, 3, 5).tolist() == [[0, 1, 2, 3]]  # type: ignore[union-attr]
    assert len(gasla.find_cycle(ring)) == 5000  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"through": (0, 2)}, ValueError, "there is no such edge"),
        ({"through": (0, 1, 2)}, ValueError, "through has 3 vertices"),
        ({"through": (1, 1)}, ValueError, "a vertex twice"),
        ({"through": 9}, ValueError, "through"),
        ({"limit": -1}, ValueError, "limit is -1"),
        ({"min_length": 1.5}, TypeError, "min_length is 1.5"),
    ],
)
def test_errors_say_what_is_wrong(options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        gasla.simple_cycles(gasla.Graph.from_edges([0, 1, 2], [1, 2, 0]), 3, **options)


def test_more_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    ring = gasla.Graph.from_edges([0, 1, 2], [1, 2, 0])
    with pytest.raises(ValueError, match="source has 2 vertices and target 3"):
        gasla.simple_paths(ring, [0, 1], [2, 1, 0], 3)
    with pytest.raises(ValueError, match="least is 0; expected 1 or more"):
        gasla.primitives.count_paths(ring, [0], [1], 0, 3)
    with pytest.raises(ValueError, match="self loops or parallel edges"):
        gasla.primitives.list_paths(gasla.Graph.from_edges([0], [0]), [0], [0], 1, 3)
    with pytest.raises(ValueError, match="lists do not ascend"):
        gasla.primitives.list_paths(gasla.Graph.from_edges([0, 0], [2, 1]), [0], [0], 1, 3, bounded=True)
    monkeypatch.setattr(memory_limit, "LARGE", 1)
    monkeypatch.setattr(memory_limit, "available", lambda device: 11)
    with pytest.raises(MemoryError, match=r"3 entries.*pass count=True or a limit"):
        gasla.simple_cycles(ring, 3)
