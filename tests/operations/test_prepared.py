"""Prepared runs, and runs like one before on the same graph, which find all that it settled."""

import sys
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import gasla
import semirings
from gasla import datasets, verify
from gasla.algorithms.traversal.bfs import Levels
from gasla.cpu.program import workspace
from gasla.cpu.program.prepared import Prepared as Runs
from gasla.cpu.runtime import threads
from gasla.cpu.runtime.workers import MOST
from gasla.graph.graph import Graph
from gasla.operations.result import pending_result
from tests.algorithms.test_basics import chain, matrices
from tests.helpers import programs, wide_programs
from tests.helpers.waiting import count_sleepers
from tests.program.test_runs import CASES, NAMES

SOON = (programs.Hops, programs.Nearest)
SOME_AND_ALL = [pytest.param(*case, marks=[] if case[0] in SOON else pytest.mark.slow) for case in CASES]


class Fading(gasla.VertexProgram):
    """What comes along edges, times a parameter; and how much there is in all."""

    x = gasla.vertex(np.float64, init=1)
    factor = gasla.parameter(np.float64, 0.5)
    weight = gasla.edge(np.float64)
    reduce = semirings.plus
    everyone = True

    def gather(self, src, dst, edge):
        return src.x * edge.weight

    def apply(self, vertex, gathered):
        return {"x": self.factor * gathered}

    def activate(self, before, after):
        return True

    @gasla.aggregate(semirings.plus)
    def total(self, before, after):
        return after.x


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Even for the smallest graph."""
    monkeypatch.setattr(workspace, "SMALL", 0)
    gasla.set_num_threads(2)
    yield
    gasla.set_num_threads(MOST)


@pytest.fixture(params=["one thread", "two threads", "a second one later on"])
def thread_count(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As many threads even for the smallest graph; the second one comes at once, or in the midst of a run."""
    monkeypatch.setattr(workspace, "SMALL", 0)
    monkeypatch.setattr("gasla.cpu.program.prepared.ALONE", 3)
    monkeypatch.setattr("gasla.cpu.program.prepared.THIN", 2)
    monkeypatch.setattr("gasla.cpu.program.prepared.LASTING", 1)
    monkeypatch.setattr("gasla.cpu.program.prepared.LARGE", 0)
    sleepers = 1000 if request.param == "a second one later on" else -1000
    count_sleepers(sleepers)
    gasla.set_num_threads(1 if request.param == "one thread" else 2)
    yield
    gasla.set_num_threads(MOST)
    count_sleepers(-sleepers)


# --- the same as a run alone -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("thread_count")
@settings(max_examples=40)
@given(A=matrices(), data=st.data())
def test_a_prepared_search_equals_bfs(A: csr_array, data: st.DataObject) -> None:
    graph, ones = Graph(A), csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
    search = gasla.prepare(Levels, graph)
    for source in data.draw(st.lists(st.integers(0, A.shape[0] - 1), min_size=2, max_size=4)):
        levels, parents = gasla.bfs(graph, source, parents=True)
        expected = dijkstra(ones, indices=source)
        np.testing.assert_array_equal(np.where(levels < 0, np.inf, levels), expected)
        verify.bfs(graph, source, levels, parents)
        np.testing.assert_array_equal(gasla.bfs(graph, source), levels)
        np.testing.assert_array_equal(search(active=[source], level={source: 0}).level, levels)
        depth = data.draw(st.integers(0, 4))
        cut = gasla.bfs(graph, source, depth_limit=depth)
        np.testing.assert_array_equal(cut, np.where(levels > depth, -1, levels))
        np.testing.assert_array_equal(search(active=[source], level={source: 0}, max_iterations=depth).level, cut)
        np.testing.assert_array_equal(gasla.sssp(graph, source), dijkstra(A, indices=source))


@pytest.mark.thorough
@pytest.mark.usefixtures("thread_count")
@settings(max_examples=40)
@given(A=matrices(least=1), weighted=st.booleans())
def test_betweenness_of_all_sources_is_the_sum_of_each(A: csr_array, weighted: bool) -> None:
    n = A.shape[0]
    options = {"normalized": False, "weighted": weighted}
    alone = [gasla.betweenness_centrality(Graph(A), sources=[s], **options) for s in range(n)]
    together = gasla.betweenness_centrality(Graph(A), **options)
    # From one source it is an estimate of what all come to: n - 1 times as much.
    np.testing.assert_allclose(together, sum(alone) / max(n - 1, 1), rtol=1e-12, atol=1e-12)


@pytest.mark.thorough
@pytest.mark.usefixtures("thread_count")
@pytest.mark.parametrize(("program", "start", "alone", "limit"), SOME_AND_ALL, ids=NAMES)
def test_a_prepared_run_equals_a_run(program: Any, start: Any, alone: bool, limit: int) -> None:
    rng = np.random.default_rng(5)
    edges, values = rng.integers(0, 50, (2, 150)), rng.integers(0, 9, 150)
    run = gasla.prepare(program, Graph.from_edges(*edges, values, n=50))
    for source in (3, 8, 3):
        options = {"active": [source] if alone else None, "max_iterations": limit, **start(source)}
        expected = gasla.run(program, Graph.from_edges(*edges, values, n=50), **options)
        found = run(**options, wait=False)
        for name in ("iterations", "converged", "edges"):
            assert getattr(found, name) == getattr(expected, name)
        np.testing.assert_array_equal(found.active.mask, expected.active.mask)
        for now, then in ((found.state, expected.state), (found.aggregates, expected.aggregates)):
            assert now.keys() == then.keys()
            for name, values_then in then.items():
                np.testing.assert_array_equal(now[name], values_then, err_msg=name)


class Until(programs.Hops):
    """Ends before everybody is reached."""

    def stop(self):
        return self.iteration >= 2


@pytest.mark.thorough
@pytest.mark.usefixtures("thread_count")
@pytest.mark.parametrize("program", [programs.Hops, Until])
def test_whatever_it_starts_with(program: type) -> None:
    """Nothing, some vertices, a number, or an array, which stays as it is."""
    own = np.arange(10, dtype=np.int32)[::-1].copy()
    run = gasla.prepare(program, chain(10))
    for start in ({3: 0}, None, {3: 5, 4: 2}, own, {3: 0}, 7, {np.int64(3): np.int32(1)}):
        fields = {} if start is None else {"hops": start}
        for active in ([3], None, np.arange(10) > 6):
            expected, found = (call(active=active, **fields) for call in (partial(gasla.run, program, chain(10)), run))
            np.testing.assert_array_equal(found.hops, expected.hops)
            assert found.iterations == expected.iterations
    np.testing.assert_array_equal(own, np.arange(10)[::-1])


@pytest.mark.thorough
@pytest.mark.usefixtures("thread_count")
def test_parameters_and_aggregates() -> None:
    """A call may change a parameter, for itself; what an aggregate came to stays."""
    ring = Graph.from_edges([0, 1, 2], [1, 2, 0], np.ones(3))
    fade = gasla.prepare(Fading(factor=0.25), ring)
    found = [fade(max_iterations=2), fade(max_iterations=2, factor=1), fade(max_iterations=2)]
    assert [result.x.tolist() for result in found] == [[1 / 16] * 3, [1] * 3, [1 / 16] * 3]
    assert [result.total for result in found] == [3 / 16, 3, 3 / 16]
    assert gasla.run(Fading, ring, max_iterations=2, factor=2).total == 12
    with pytest.raises(TypeError, match=r"Fading\.factor is array"):
        fade(max_iterations=2, factor=np.array([1, 2]))
    with pytest.raises(TypeError, match="Fading has no field 'speed' to start with"):
        fade(max_iterations=2, speed=3)


@pytest.mark.usefixtures("thread_count")
def test_a_schedule_is_sorted_once_for_all_runs() -> None:
    """Which the first of them sorts for all."""
    graph = Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3])
    schedule = gasla.Schedule(np.array([-1, 0, 0, 1]))
    count = gasla.prepare(programs.Chain, graph, scheduled=True)
    orders = (schedule, schedule.reversed(), np.array([3, 2, 1, 0]), schedule, gasla.Schedule(schedule.levels, 0, 2))
    for order in orders:
        expected = gasla.run(programs.Chain, Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3]), schedule=order)
        found = count(schedule=order)
        assert found.iterations == expected.iterations
        for name, values in expected.state.items():
            np.testing.assert_array_equal(found.state[name], values)
    with pytest.raises(ValueError, match="Chain was prepared with scheduled=True, and called without a schedule"):
        count()
    with pytest.raises(ValueError, match="Chain was prepared without scheduled=True, and called with a schedule"):
        gasla.prepare(programs.Chain, graph)(schedule=schedule)


@pytest.mark.usefixtures("thread_count")
def test_traces_callbacks_and_progress() -> None:
    search, seen = gasla.prepare(programs.Hops, chain(10)), list[int]()
    for _ in range(2):
        found = search(active=[3], hops={3: 0}, trace=True, callback=lambda result: seen.append(result.iterations))
        assert found.trace is not None
        assert found.trace["active"].tolist() == [1] * len(found.trace)
        assert seen == list(range(1, found.iterations + 1))
        seen.clear()
        assert search(active=[3], hops={3: 0}, progress=seen.append).iterations == found.iterations
        assert search(active=[3], hops={3: 0}, callback=lambda result: True).iterations == 1


def test_values_that_have_changed() -> None:
    """They are noticed, unless one says that they haven't."""
    weights = np.ones(3)
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0], weights)
    fade, hasty = gasla.prepare(Fading, graph), gasla.prepare(Fading, graph, notice=False)
    assert fade(max_iterations=1).total == hasty(max_iterations=1).total == 1.5
    weights[:] = 2
    assert fade(max_iterations=1).total == gasla.run(Fading, graph, max_iterations=1, notice=False).total == 3


@pytest.mark.thorough
def test_bad_arguments_are_refused() -> None:
    graph = chain(3)
    for call in (partial(gasla.prepare, programs.Hops, graph), partial(gasla.run, programs.Hops, graph)):
        with pytest.raises(ValueError, match="direction is 'up'; expected 'auto', 'push' or 'pull'"):
            call(direction="up")
        with pytest.raises(ValueError, match="device is 'tpu'; expected 'cpu' or 'gpu'"):
            call(device="tpu")
    with pytest.raises(TypeError, match=r"program is 3; expected a gasla\.VertexProgram"):
        gasla.prepare(3, graph)  # type: ignore[arg-type]
    search = gasla.prepare(programs.Hops, graph)
    outside = "outside a graph of 3 vertices"
    bad = {outside: {"active": [3]}, f"is given for vertex 7, {outside}": {"hops": {7: 0}}, "delta is 0": {"delta": 0}}
    for words, options in bad.items():
        with pytest.raises(ValueError, match=words):
            search(**options)
    np.testing.assert_array_equal(search(active=[0], hops={0: 0}).hops, [0, 1, 2])
    assert repr(search) == "Prepared(Hops, Graph(n=3, m=2, values=float64))"


# --- what it leaves --------------------------------------------------------------------------------------------------


def test_results_are_arrays_of_their_own() -> None:
    graph = chain(10)
    search = gasla.prepare(Levels, graph)
    found = [gasla.bfs(graph, s) for s in (3, 5, 7)] + [search(active=[s], level={s: 0}).level for s in (3, 5, 7)]
    for source, levels in zip((3, 5, 7, 3, 5, 7), found, strict=True):
        np.testing.assert_array_equal(levels, np.where(np.arange(10) < source, -1, np.arange(10) - source))


@pytest.mark.thorough
def test_what_is_given_is_not_what_comes_back() -> None:
    """Not even where the program writes nothing into it."""
    own = np.arange(3.0)
    found = gasla.prepare(programs.Chain, chain(3), scheduled=True)
    given = {name: own.astype(field.type) for name, field in programs.Chain.vertex_fields.items()}
    state = found(schedule=np.full(3, -1), **given).state
    for name, values in given.items():
        np.testing.assert_array_equal(state[name], values)
        assert not np.shares_memory(state[name], values)


@pytest.mark.thorough
@pytest.mark.usefixtures("no_collector")
@pytest.mark.usefixtures("thread_count")
@pytest.mark.parametrize(("program", "start", "alone", "limit"), SOME_AND_ALL, ids=NAMES)
def test_fields_that_live_in_arrays_of_the_callers(program: Any, start: Any, alone: bool, limit: int) -> None:
    """From what these hold, or from what is given; the same as in fresh ones, and nothing is copied."""
    if program.everyone:
        return
    graph = Graph(datasets.rmat(6))
    search, options = gasla.prepare(program, graph), {"active": [3] if alone else None, "max_iterations": limit}
    expected = search(**options, **start(3)).state
    begun = search(**options | {"max_iterations": 0}, **start(3)).state
    for values in ({}, start(3)):
        out = {name: (begun[name] if not values else expected[name]).copy() for name in program.vertex_fields}
        found = search(**options, out=out, **values).state
        for name in program.vertex_fields:
            assert found[name] is out[name]
            np.testing.assert_array_equal(out[name], expected[name])


@pytest.mark.parametrize(
    ("out", "error", "says"),
    [
        (lambda n: {"hop": np.zeros(n, np.int32)}, TypeError, "has no vertex field 'hop'.*expected some of: hops"),
        (lambda n: {"hops": np.zeros(n, np.int64)}, TypeError, "expected a numpy array.*int32"),
        (lambda n: {"hops": np.zeros(2 * n, np.int32)[::2]}, TypeError, "C-contiguous"),
        (lambda n: {"hops": np.frombuffer(bytes(4 * n), np.int32)}, TypeError, "writable"),
        (lambda n: {"hops": [0] * n}, TypeError, "is given list in `out`"),
    ],
)
def test_arrays_that_no_field_can_live_in(out: Any, error: type[Exception], says: str) -> None:
    graph = Graph(datasets.grid(4))
    with pytest.raises(error, match=says):
        gasla.run(programs.Hops, graph, active=[0], hops={0: 0}, out=out(graph.n))


def test_arrays_that_share_memory() -> None:
    graph = Graph(datasets.grid(4))
    both = np.zeros(2 * graph.n - 1, np.int64)
    with pytest.raises(ValueError, match="shares memory"):
        gasla.run(programs.Paths, graph, active=[0], out={"paths": both[: graph.n]}, level=both[-graph.n :])
    with pytest.raises(ValueError, match="two copies"):
        gasla.run(Fading, graph, max_iterations=1, out={"x": np.ones(graph.n)})


@pytest.mark.thorough
def test_what_nobody_reads_while_everyone_changes_it_lives_in_arrays_given() -> None:
    graph = chain(10)
    x = np.arange(10 * 12, dtype=np.float32).reshape(10, 12)
    out = {"x": x.copy(), "y": np.full_like(x, 7)}
    result = gasla.run(wide_programs.summing(12), graph, max_iterations=1, out=out)
    assert result.x is out["x"] and result.y is out["y"]
    np.testing.assert_array_equal(out["x"], x)
    np.testing.assert_array_equal(out["y"], gasla.run(wide_programs.summing(12), graph, max_iterations=1, x=x).y)


def test_nobody_keeps_what_a_run_gave() -> None:
    graph = chain(10)
    search = gasla.prepare(Levels, graph)
    kept = []
    for _ in range(3):
        levels, parents = gasla.bfs(graph, 3, parents=True)
        scores = gasla.betweenness_centrality(graph, sources=[1, 2, 3])
        found = search(active=[3], level={3: 0})
        kept += map(weakref.ref, (levels, parents, scores, found, found.level))
    del levels, parents, scores, found
    assert [ref() for ref in kept] == [None] * 15


@pytest.mark.usefixtures("no_collector")
def test_a_graph_goes_with_the_last_of_its_prepared_runs() -> None:
    graph = chain(10)
    search, freed = gasla.prepare(Levels, graph), weakref.ref(graph)
    with suppress(ValueError):
        search(active=[3], level={11: 0})
    search(active=[3], level={3: 0})
    del graph
    assert freed() is not None
    del search
    assert freed() is None


class Left:
    """A run that a GPU is at."""

    iteration, edges, ended, log_rows = 4, 70, True, 1024

    def __init__(self, known: dict[str, Any], error: type[BaseException] | None = None) -> None:
        self.done, self._known, self._error = list[str](), known, error

    def known(self) -> dict[str, Any]:
        return self._known

    def finish(self) -> None:
        self.done.append("finish")
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        self.done.append("close")

    def state(self) -> dict[str, Any]:
        return {"level": np.arange(3)}

    def outcome(self) -> Any:
        return self.state(), self.iteration, self.ended, self.edges, gasla.Frontier.none(3), {"total": 5}


def test_a_run_under_way_is_asked_once() -> None:
    """For anything but its fields; and then lets go of its workspace."""
    for ask in (lambda r: r.iterations, lambda r: r.active, lambda r: r.total, lambda r: r.aggregates, repr):
        run: Any = Left({})
        result = pending_result(run)
        np.testing.assert_array_equal(result.level, np.arange(3))
        assert result.trace is None and run.done == []
        with pytest.raises(AttributeError, match="the result has no '_repr_latex_'"):
            getattr(result, "_repr_latex_")  # noqa: B009
        assert run.done == []
        ask(result)
        assert run.done == ["finish", "close"]
        assert (result.iterations, result.edges, result.converged, result.total) == (4, 70, True, 5)
        assert not result.active and result.aggregates == {"total": 5}
        with pytest.raises(AttributeError, match="the result has no 'speed'; its fields: level"):
            getattr(result, "speed")  # noqa: B009
        assert run.done == ["finish", "close"]


def test_what_is_known_of_a_run_under_way_is_not_waited_for() -> None:
    total = np.array(7)
    run: Any = Left({"iterations": 20, "converged": False, "aggregates": {"total": total}})
    result = pending_result(run)
    assert (result.iterations, result.converged, result.total) == (20, False, total) and result.total is total
    assert run.done == []
    assert result.edges == 70 and run.done == ["finish", "close"]
    assert (result.iterations, result.converged, result.total) == (20, False, total) and result.total is total


def test_ctrl_c_while_a_run_under_way_is_waited_for() -> None:
    run: Any = Left({}, KeyboardInterrupt)
    result = pending_result(run)
    with pytest.raises(KeyboardInterrupt):
        print(result.iterations)
    assert run.done == ["finish", "close"]
    np.testing.assert_array_equal(result.level, np.arange(3))


# --- several at once -------------------------------------------------------------------------------------------------


def test_two_calls_of_one_at_once() -> None:
    search = gasla.prepare(programs.Hops, chain(5))
    with pytest.raises(RuntimeError, match="a prepared run of Hops was called while another call of it is under way"):
        search(callback=lambda result: search())
    np.testing.assert_array_equal(search(active=[0], hops={0: 0}).hops, np.arange(5))


@pytest.mark.usefixtures("thread_count")
def test_one_within_another() -> None:
    """Of the same program on the same graph: two prepared runs, and one that isn't."""
    graph, found = chain(5), list[Any]()
    first, second = (gasla.prepare(programs.Hops, graph) for _ in range(2))

    def others(_: Any) -> None:
        found.append(second(active=[1], hops={1: 0}).hops)
        found.append(gasla.run(programs.Hops, graph, active=[2], hops={2: 0}).hops)

    for _ in range(2):
        np.testing.assert_array_equal(first(active=[0], hops={0: 0}, callback=others).hops, np.arange(5))
    for number, hops in enumerate(found):
        source = 1 + number % 2
        np.testing.assert_array_equal(hops[source:], np.arange(5 - source))


@pytest.mark.parametrize("name", ["callback", "progress"])
def test_what_is_no_function_is_refused(name: str) -> None:
    search = gasla.prepare(Levels, chain(3))
    for call in (search, lambda **given: gasla.run(Levels, chain(3), **given)):
        with pytest.raises(TypeError, match=f"{name} is 5; expected a function, or None"):
            call(**{name: 5})


@pytest.mark.usefixtures("two_threads")
def test_while_others_have_the_threads() -> None:
    graph, turn = chain(10), threading.Lock()
    search = gasla.prepare(Levels, graph)
    expected = gasla.sssp(graph, 0)
    with turn:
        assert threads.hold(turn)
        np.testing.assert_array_equal(gasla.sssp(graph, 0), expected)
        np.testing.assert_array_equal(search(active=[0], level={0: 0}).level, expected)
    np.testing.assert_array_equal(gasla.sssp(graph, 0), expected)


@pytest.mark.parametrize("small", [0, workspace.SMALL])
def test_on_another_number_of_threads(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where one does all."""
    monkeypatch.setattr(workspace, "SMALL", small)
    graph = Graph(datasets.rmat(9))
    search = gasla.prepare(Levels, graph)
    expected, levels = gasla.betweenness_centrality(graph, sources=range(9)), gasla.bfs(graph, 1)
    try:
        for count in (1, 2, 2, 1, 2):
            gasla.set_num_threads(count)
            np.testing.assert_array_equal(search(active=[1], level={1: 0}).level, levels)
            found = gasla.betweenness_centrality(graph, sources=range(9))
            np.testing.assert_allclose(found, expected, rtol=1e-12)
    finally:
        gasla.set_num_threads(MOST)


@pytest.mark.thorough
@pytest.mark.usefixtures("thread_count")
@pytest.mark.parametrize("middles", [2, 8])
def test_betweenness_of_a_source_with_more_paths_than_numbers(middles: int) -> None:
    """From the first vertex there are 2**1500, or surely too many; from those near the end few."""
    k = 1500
    junction = (middles + 1) * np.arange(k + 1)
    middle = junction[:-1, None] + 1 + np.arange(middles)
    src = np.concatenate([np.repeat(junction[:-1], middles), middle.ravel()])
    dst = np.concatenate([middle.ravel(), np.repeat(junction[1:], middles)])
    graph = Graph.from_edges(src, dst)
    sources = [*map(int, junction[[-3, -5, 0, -4]])]
    alone = [gasla.betweenness_centrality(Graph.from_edges(src, dst), sources=[s], normalized=False) for s in sources]
    for _ in range(2):
        together = gasla.betweenness_centrality(graph, sources=sources, normalized=False)
        keep = np.ones(graph.n, bool)
        keep[sources] = False  # of which the estimate knows three quarters
        np.testing.assert_allclose(together[keep], sum(alone)[keep] / 4, rtol=1e-12)


@pytest.mark.usefixtures("two_threads")
def test_betweenness_and_searches_in_several_threads() -> None:
    """They take the threads and the workspace of one graph from each other, anywhere between two lines of Python."""
    A, sources = datasets.rmat(9), range(4)
    expected = gasla.betweenness_centrality(Graph(A), sources=sources), gasla.bfs(Graph(A), 5)

    def work(graph: Graph, what: int) -> list[np.ndarray]:
        calls = (lambda: gasla.betweenness_centrality(graph, sources=sources), lambda: gasla.bfs(graph, 5))
        return [calls[what]() for _ in range(2)]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            kinds = 0, 1, 0, 0
            with ThreadPoolExecutor(4) as executor:
                answers = executor.map(partial(work, Graph(A)), kinds)
            for what, found in zip(kinds, answers, strict=True):
                for answer in found:
                    np.testing.assert_allclose(answer, expected[what], rtol=1e-12)
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("where", ["_start", "advance", "close"])
def test_ctrl_c_leaves_neither_threads_nor_a_call_taken(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = chain(10)
    search, ordinary = gasla.prepare(Levels, graph), getattr(Runs, where)
    calls = [
        lambda: search(active=[0], level={0: 0}).level,
        lambda: gasla.bfs(graph, 0),
        lambda: gasla.betweenness_centrality(graph, sources=range(4)),
    ]
    expected = [call() for call in calls]

    def interrupted(runs: Runs, *arguments: Any, **options: Any) -> Any:
        assert threads.are_taken()
        ordinary(runs, *arguments, **options)
        raise KeyboardInterrupt

    for call, right in zip(calls, expected, strict=True):
        with monkeypatch.context() as patch:
            patch.setattr(Runs, where, interrupted)
            with pytest.raises(KeyboardInterrupt):
                call()
        assert not threads.are_taken()
        np.testing.assert_array_equal(call(), right)


def test_an_open_bar_is_told_of_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    search, told = gasla.prepare(Levels, chain(10)), list[Any]()
    monkeypatch.setattr("gasla.cpu.program.prepared.is_watched", lambda: True)
    monkeypatch.setattr("gasla.cpu.program.prepared.follow", lambda count, unit: told.append((count, unit)))
    np.testing.assert_array_equal(search(active=[0], level={0: 0}).level, np.arange(10))
    [(count, unit)] = told
    assert unit == "iterations" and count() == (9, 0)


def test_more_iterations_than_a_word_counts_are_no_limit() -> None:
    np.testing.assert_array_equal(gasla.bfs(chain(10), 0, depth_limit=10**30), np.arange(10))
