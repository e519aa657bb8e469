"""Runs of vertex programs against an independent engine, in every way that gasla can run them."""

import ast
import copy
import dataclasses
import inspect
import pickle
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
import semirings
from benchmarks.programs import Tree
from gasla import stages
from gasla.algorithms.centrality.betweenness.brandes import Count
from gasla.algorithms.paths.sssp import BellmanFord, TightSearch
from gasla.algorithms.traversal import bfs
from gasla.arrays import moved
from gasla.cpu.program import launch
from gasla.cpu.program.prepared import Prepared
from gasla.cpu.runtime import threads
from gasla.cpu.runtime.workers import MOST
from gasla.gpu.program.generate import Module
from gasla.gpu.program.plan import GpuPlan, Variant
from gasla.gpu.runtime.compile import compile_source
from gasla.graph.graph import Graph
from gasla.program.plan import Plan
from gasla.program.reductions.absorbing import absorbing_fields
from tests.helpers import programs
from tests.helpers.reference_engine import Reference
from tests.helpers.waiting import count_sleepers

# Program, what it starts with given a source, whether it starts from the source alone, and a limit of iterations.
CASES: list[tuple[type, Any, bool, int]] = [
    (programs.Hops, lambda s: {"hops": {s: 0}}, True, 10**6),
    (programs.Cheapest, lambda s: {"cost": {s: 0}}, True, 10**6),
    (programs.Bits, lambda s: {}, False, 10**6),
    (programs.Paths, lambda s: {"paths": {s: 1}, "level": {s: 0}}, True, 10**6),
    (programs.Reach, lambda s: {"level": {s: 0}}, True, 10**6),
    (programs.Seven, lambda s: {"level": {s: 0}}, True, 10**6),
    (programs.Nearest, lambda s: {"cost": {s: 0}}, True, 10**6),
    (programs.Chain, lambda s: {}, False, 3),
    (programs.Spread, lambda s: {}, False, 4),
    (programs.Flow, lambda s: {}, True, 5),
    (programs.Settling, lambda s: {}, False, 9),
    (programs.Parity, lambda s: {}, False, 9),
    (programs.Waking, lambda s: {}, True, 6),
    (programs.Counter, lambda s: {}, True, 4),
    (programs.Alarm, lambda s: {}, True, 4),
    (programs.Ring, lambda s: {}, True, 4),
    (programs.Rising, lambda s: {}, True, 5),
    (programs.Bell, lambda s: {}, True, 4),
    (programs.Drawing, lambda s: {}, True, 4),
    (programs.Late, lambda s: {}, False, 9),
    (programs.LateFlow, lambda s: {}, False, 9),
]
PROGRAMS = [program for program, *_ in CASES]
NAMES = [program.__name__ for program in PROGRAMS]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Small directed graphs with self loops, parallel edges and edges in any order."""
    n = draw(st.integers(1, 12))
    ends = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(ends, ends, st.integers(0, 9)), max_size=40))
    src, dst, weights = np.array(edges, np.int64).reshape(-1, 3).T
    if draw(st.booleans()):
        src, dst, weights = np.concatenate([src, dst]), np.concatenate([dst, src]), np.concatenate([weights, weights])
    return Graph.from_edges(src, dst, weights, n=n)


def same(result: Any, reference: Reference) -> None:
    """Every field and aggregate of the run is what the independent engine found."""
    for name, expected in {**reference.vertex, **reference.edge}.items():
        if name in result.state:
            got = result.state[name]
            np.testing.assert_array_equal(got.T if got.ndim == 2 else got, expected, err_msg=name)
    for name, expected in reference.aggregates.items():
        np.testing.assert_array_equal(getattr(result, name), expected, strict=True, err_msg=name)


@pytest.fixture(params=[0, 3, 6], ids=["always", "in wide iterations", "in the widest"])
def two_threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two threads even for the smallest graph, in all iterations or in those of so many vertices and edges."""
    monkeypatch.setattr("gasla.cpu.program.workspace.SMALL", 0)
    monkeypatch.setattr("gasla.cpu.program.prepared.THIN", request.param)
    monkeypatch.setattr("gasla.cpu.program.prepared.LASTING", 1)
    monkeypatch.setattr("gasla.cpu.program.prepared.LARGE", 0)
    gasla.set_num_threads(2)
    count_sleepers(-1000)  # so that the second one is not waited for to wake
    yield
    count_sleepers(1000)
    gasla.set_num_threads(MOST)


@pytest.mark.parametrize(
    ("program", "start", "alone", "limit"),
    [
        pytest.param(*case, marks=pytest.mark.slow if place % 3 else pytest.mark.thorough if place > 3 else [])
        for place, case in enumerate(CASES)
    ],
    ids=NAMES,
)
@settings(max_examples=25)
@given(graph=graphs(), data=st.data())
def test_equals_the_independent_engine(
    program: Any, start: Any, alone: bool, limit: int, graph: Graph, data: Any
) -> None:
    source = data.draw(st.integers(0, graph.n - 1))
    active = [source] if alone else None
    reference = Reference(program(), graph, **start(source)).run(active, limit)
    for direction in ("auto", "push", "pull"):
        result = gasla.run(program, graph, active=active, max_iterations=limit, direction=direction, **start(source))
        same(result, reference)
        assert result.converged == reference.converged


@pytest.mark.thorough
@pytest.mark.parametrize(("program", "start", "alone", "limit"), CASES, ids=NAMES)
@pytest.mark.usefixtures("two_threads")
def test_two_threads_on_a_larger_graph(program: Any, start: Any, alone: bool, limit: int) -> None:
    rng = np.random.default_rng(len(program.__name__))
    n, m = 700, 3000  # of many out- and many in-edges
    graph = Graph.from_edges(
        rng.integers(0, n, m) ** 2 // n, rng.integers(0, n, m) ** 4 // n**3, rng.integers(0, 9, m), n=n
    )
    source = int(np.flatnonzero(graph.out_degrees)[0])
    active = [source] if alone else None
    reference = Reference(program(), graph, **start(source)).run(active, limit)
    for direction in ("auto", "push", "pull"):
        for _ in range(5):  # a race would not show every time
            result = gasla.run(
                program, graph, active=active, max_iterations=limit, direction=direction, **start(source)
            )
            same(result, reference)


def staged(program: Any, graph: Graph, active: Any, limit: int, fields: dict[str, Any]) -> stages.State:
    """A run as its user would write it from the stages."""
    ends_when_still = Plan(program.traced(graph.id_dtype)).ends_when_still
    state = stages.start(program, graph, **fields)
    frontier = gasla.Frontier.all(graph.n) if active is None else gasla.Frontier(graph.n, active)
    for state.iteration in range(limit):
        receivers = stages.contract(state, None if program.everyone else stages.expand(state, frontier))
        gathered = stages.gather(state, receivers, frontier) if "gather" in state.has else None
        frontier = stages.apply(state, receivers, gathered)
        if "scatter" in state.has:
            stages.scatter(state, frontier)
        if "post_apply" in state.has:
            stages.post_apply(state, receivers)
        if not frontier and ends_when_still:
            break
    return state


# Aggregates are the loop's own affair.
STAGED = [case for case in CASES if not issubclass(case[0], programs.Settling)]
# Between them these have every stage, values of one part, of several and vectors, a mask, and sources of both kinds.
SOON_STAGED = (programs.Nearest, programs.Flow)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("program", "start", "alone", "limit"),
    [pytest.param(*c, id=c[0].__name__, marks=[] if c[0] in SOON_STAGED else pytest.mark.slow) for c in STAGED],
)
@settings(max_examples=10)
@given(graph=graphs(), data=st.data())
def test_staged_equals_fused(program: Any, start: Any, alone: bool, limit: int, graph: Graph, data: Any) -> None:
    source = data.draw(st.integers(0, graph.n - 1))
    active = [source] if alone else None
    state = staged(program, graph, active, limit, start(source))
    result = gasla.run(program, graph, active=active, max_iterations=limit, **start(source))
    for name, expected in result.state.items():
        np.testing.assert_array_equal(getattr(state, name), expected, err_msg=name)


PUSHING = (programs.Hops, programs.Cheapest, programs.Bits, programs.Paths, programs.Reach, programs.Seven)


@pytest.mark.parametrize("compiled", [True, False])
def test_an_aggregate_is_of_who_received(compiled: bool) -> None:
    class Counting(gasla.VertexProgram):
        everyone = True
        x = gasla.vertex(np.int64)
        first = gasla.parameter(np.int64, 3)

        def mask(self, vertex):
            return vertex.id < self.first

        def apply(self, vertex, gathered):
            return {"x": vertex.x + 1}

        @gasla.aggregate(semirings.plus, np.int64)
        def count(self, before, after):
            return 1

    path = gasla.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4])
    for first, most, count in [(3, 0, 5), (3, 1, 3), (3, 2, 3), (9, 1, 5)]:
        found = gasla.run(Counting(first=first), path, max_iterations=most, compile=compiled)
        assert found.aggregates["count"] == count


@pytest.mark.parametrize(("program", "start", "alone", "limit"), CASES, ids=NAMES)
def test_deterministic_runs_pull(program: Any, start: Any, alone: bool, limit: int) -> None:
    assert ("push(" in result_source(program, False)) == (program in PUSHING)
    assert "push(" not in result_source(program, True)


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_stages_take_what_they_use_and_no_more(program: Any, deterministic: bool) -> None:
    tree = ast.parse(result_source(program, deterministic))
    stages = [f for f in tree.body if isinstance(f, ast.FunctionDef) and ast.unparse(f.decorator_list[0]) == "stage"]
    taken = {f.name: [a.arg for a in f.args.args] for f in stages if any(a.arg == "control" for a in f.args.args)}
    assert "fill" in taken and {"gather_all", "push"} & set(taken)
    for stage in stages:
        if stage.name in taken:
            assert set(taken[stage.name]) <= {x.id for x in ast.walk(stage) if isinstance(x, ast.Name)}


@pytest.mark.thorough
@pytest.mark.parametrize("program", [pytest.param(programs.Hops, marks=pytest.mark.slow), programs.Paths])
def test_deterministic_runs(program: Any) -> None:
    graph = Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3], np.ones(4))
    start = {"hops": {0: 0}} if program is programs.Hops else {"paths": {0: 1}, "level": {0: 0}}
    result = gasla.run(program, graph, active=[0], deterministic=True, **start)
    same(result, Reference(program(), graph, **start).run([0]))


SUMS = [
    (programs.Cooling, False),
    *(pytest.param(*case, marks=pytest.mark.slow) for case in ((programs.Warming, False), (programs.Cooling, True))),
]


def bits_of_sums(program: Any, scheduled: bool, graph: Graph) -> Any:
    """What a run that is to be the same every time comes to, to the last bit."""
    order = {"schedule": np.arange(graph.n) % 9} if scheduled else {"max_iterations": 4}
    result = gasla.run(program, graph, deterministic=True, **order)
    return moved(result.heat, "cpu").tobytes(), float(result.total)


@pytest.mark.thorough
@pytest.mark.parametrize(("program", "scheduled"), SUMS)
@pytest.mark.usefixtures("two_threads")
def test_sums_of_floats_are_the_same_every_time(program: Any, scheduled: bool) -> None:
    graph = Graph.from_edges(*np.random.default_rng(0).integers(0, 20_000, (2, 100_000)), n=20_000)
    found = {bits_of_sums(program, scheduled, graph) for _ in range(20)}
    gasla.set_num_threads(1)
    found.add(bits_of_sums(program, scheduled, graph))  # chunks of vertices, not threads, are what is summed
    assert len(found) == 1


def test_an_aggregate_must_commute() -> None:
    last = gasla.aggregate(semirings.second, np.int64)(lambda self, before, after: after.level)
    program = type("Last", (programs.Flow,), {"last": last})
    with pytest.raises(
        TypeError, match=r"the aggregate Last\.last reduces with Monoid\('second'\); expected .* commutes"
    ):
        gasla.run(program, ring(4), max_iterations=1)


def result_source(program: Any, deterministic: bool) -> str:
    from gasla.cpu.program.generate import module_source

    return module_source(program.traced(np.dtype(np.int32)), deterministic=deterministic)


def ring(n: int) -> Graph:
    """On which `Counter` never ends."""
    return Graph.from_edges(np.arange(n), np.roll(np.arange(n), -1), n=n)


@pytest.mark.thorough
def test_trace_callback_and_progress() -> None:
    n = 300
    graph = Graph.from_edges(np.arange(n - 1), np.arange(1, n), n=n)
    seen: list[int] = []
    result = gasla.run(
        programs.Hops, graph, active=[0], hops={0: 0}, trace=True, callback=lambda r: seen.append(r.iterations)
    )
    assert seen == list(range(1, n + 1))
    assert list(result.trace["active"]) == [1] * n
    assert set(result.trace["direction"]) <= {"push", "pull"}
    assert result.edges == result.trace["edges"].sum() == n - 1
    stopped = gasla.run(programs.Hops, graph, active=[0], hops={0: 0}, callback=lambda r: r.iterations == 7)
    assert (stopped.iterations, stopped.converged, list(stopped.active)) == (7, False, [7])
    gasla.run(programs.Counter, ring(300), max_iterations=1)  # compiles
    told: list[int] = []

    def progress(iterations: int) -> None:
        told.append(iterations)
        if len(told) == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        gasla.run(programs.Counter, ring(300), progress=progress)
    assert 0 < told[0] < told[1]


def test_schedule_takes_vertices_in_the_order_given() -> None:
    graph = Graph.from_edges([0, 0, 1, 2, 1], [1, 2, 3, 3, 2])
    result = gasla.run(Count, graph, schedule=np.array([-1, 0, 1, 2]), paths={0: 1})
    assert result.paths.tolist() == [1, 1, 2, 3]
    assert result.iterations == 3
    assert result.converged


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_a_schedule_serves_several_runs_and_backwards(kind: Any) -> None:
    rng = np.random.default_rng(7)
    graph = Graph.from_edges(*rng.integers(0, 500, (2, 4000)), n=500)
    levels = rng.integers(-1, 9, 500).astype(kind)
    schedule = gasla.Schedule(levels)
    backwards = np.where(levels < 0, -1, levels.max() - levels)
    back = schedule.reversed()
    for chosen, alike in ((schedule, levels), (back, backwards), (back.reversed(), levels)):
        result = gasla.run(programs.Counter, graph, schedule=chosen, trace=True)
        expected = gasla.run(programs.Counter, graph, schedule=alike, trace=True)
        for name, values in expected.state.items():
            np.testing.assert_array_equal(result.state[name], values, err_msg=name)
        np.testing.assert_array_equal(result.trace["active"], expected.trace["active"])


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("first", [0, 3, -100, 2**31, 2**62])
def test_levels_of_a_schedule_are_of_any_type_and_begin_anywhere(kind: Any, first: int) -> None:
    graph = Graph.from_edges([0, 0, 1, 2, 1], [1, 2, 3, 3, 2])
    if not np.iinfo(kind).min <= first <= np.iinfo(kind).max - 3:
        schedule = gasla.Schedule(np.arange(4, dtype=kind), first=max(first, 4))  # nobody takes part
        assert gasla.run(Count, graph, schedule=schedule, paths={0: 1}).paths.tolist() == [1, 0, 0, 0]
        return
    schedule = gasla.Schedule((np.arange(4) - 1 + first).astype(kind), first=first)
    for turned in (schedule, schedule.reversed(), schedule):
        result = gasla.run(Count, graph, schedule=turned, paths={0: 1})
        assert result.paths.tolist() == ([1, 1, 1, 0] if turned.is_reversed else [1, 1, 2, 3])
        assert result.iterations == 3


def test_a_schedule_has_no_more_iterations_than_32_bits_count() -> None:
    schedule = np.array([0, 2**31 - 1, 0, 0])
    with pytest.raises(ValueError, match="the schedule has 2147483648 iterations; expected less than 2147483648"):
        gasla.run(programs.Counter, ring(4), schedule=schedule)


@pytest.mark.thorough
@pytest.mark.parametrize("scatters", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_who_is_active_where_everyone_receives(scatters: bool) -> None:
    class Rising(gasla.VertexProgram):
        everyone = True
        sources = "active"
        x = gasla.vertex(np.int64, init=lambda vertex: vertex.id)
        reduce = semirings.max

        def gather(self, src, dst, edge):
            return src.x

        def apply(self, vertex, gathered):
            return {"x": semirings.maximum(vertex.x, gathered)}

        def activate(self, before, after):
            return after.x > before.x

    if scatters:
        Rising = type("Rising", (Rising,), {"y": gasla.edge(np.int64, init=0), "scatter": lambda *ends: {"y": 1}})  # type: ignore[misc]
    graph = Graph.from_edges([5, 4, 3, 2, 1], [4, 3, 2, 1, 0])
    seen = [gasla.run(Rising, graph, max_iterations=i).active.ids.tolist() for i in range(7)]
    assert seen == [list(range(6 - i)) for i in range(7)]


class Tally(gasla.VertexProgram):
    """Counts how often an edge is visited, and by whom."""

    direction = "all"
    everyone = True
    count = gasla.edge(np.int32, init=0)
    ends = gasla.edge((np.int64, (2,)), init=-1)
    x = gasla.vertex(np.int32)

    def apply(self, vertex, gathered):
        return {"x": vertex.x + 1}

    def activate(self, before, after):
        return after.id % 3 != 0

    def scatter(self, src, dst, edge):
        return {
            "count": edge.count + 1,
            "ends": semirings.vector(*(semirings.cast(v.id, np.int64) for v in (src, dst))),
        }


@pytest.mark.thorough
@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("deterministic", [False, True])
def test_where_edges_count_both_ways_their_tails_scatter_once(deterministic: bool) -> None:
    rng = np.random.default_rng(2)
    src, dst = rng.integers(0, 300, (2, 3000))
    src, dst = np.concatenate([src, [7, 7, 8, 9]]), np.concatenate([dst, [8, 8, 7, 9]])  # parallel, back, a loop
    result = gasla.run(Tally, Graph.from_edges(src, dst, n=300), max_iterations=3, deterministic=deterministic)
    visited = src % 3 != 0
    np.testing.assert_array_equal(result.count, 3 * visited)
    np.testing.assert_array_equal(result.ends, np.where(visited[:, None], np.stack([src, dst], axis=1), -1))


def searching(gather: Any, **others: Any) -> Any:
    """A program whose apply does what its reduction does."""
    body = {"f": gasla.vertex(np.int64), "reduce": semirings.min, "gather": gather}
    body["apply"] = lambda self, vertex, gathered: {"f": semirings.minimum(vertex.f, gathered)}
    return type("Searching", (gasla.VertexProgram,), body | others)


@pytest.mark.parametrize(
    ("program", "travels"),
    [
        (searching(lambda self, src, dst, edge: src.f + edge.id), True),
        (searching(lambda self, src, dst, edge: (src.f * 7919 + dst.id) % 1000), False),
        (searching(lambda self, src, dst, edge: -src.f), False),
        (searching(lambda self, src, dst, edge: (src.f + dst.f) // 2), False),
        (searching(lambda self, src, dst, edge: src.f + self.iteration), False),
        (searching(lambda self, src, dst, edge: src.f, edge_mask=lambda self, src, dst, edge: src.f > 3), False),
        (searching(lambda self, src, dst, edge: src.f, mask=lambda self, vertex: vertex.id > self.iteration), False),
        (
            searching(
                lambda self, src, dst, edge: src.f,
                flow=gasla.edge(np.int64, init=0),
                scatter=lambda self, src, dst, edge: {"flow": edge.flow + 1},
            ),
            False,
        ),
    ],
)
def test_values_travel_within_an_iteration_only_where_that_shows_nowhere(program: Any, travels: bool) -> None:
    assert (absorbing_fields(program.traced()) == ("f",)) == travels


@pytest.mark.slow
def test_what_the_inactive_hold_counts_as_heard_in_every_way() -> None:
    program = searching(lambda self, src, dst, edge: src.f + 1)
    graph = Graph.from_edges([0, 1, 2], [2, 2, 3])  # 2 hears of 0, and 1 holds less
    ways: list[dict[str, Any]] = [{"direction": way} for way in ("auto", "push", "pull")]
    for options in ({"deterministic": True}, {"deterministic": True, "direction": "pull"}, *ways):
        assert gasla.run(program, graph, active=[0], f=[5, 1, 9, 9], **options).f.tolist() == [5, 1, 6, 7]


@pytest.mark.slow
def test_steps_are_kept_where_an_order_would_show() -> None:
    program = searching(lambda self, src, dst, edge: (src.f * 7919 + dst.id) % 1000)
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(*rng.integers(0, 2000, (2, 6000)), n=2000)
    start = rng.integers(0, 10**6, 2000)
    expected = Reference(program(), graph, f=start).run().vertex["f"]
    for way in ("auto", "push", "pull"):
        np.testing.assert_array_equal(gasla.run(program, graph, f=start, direction=way).f, expected)


@pytest.mark.usefixtures("two_threads")
def test_edges_are_counted_once_whoever_takes_a_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gasla.cpu.program.prepared.THIN", 1000)
    graph = ring(6000)
    levels = np.minimum(np.arange(6000), 30)  # one vertex each, and then most
    for schedule in (gasla.Schedule(levels), gasla.Schedule(levels).reversed()):
        result = gasla.run(programs.Chain, graph, schedule=schedule, trace=True)
        assert result.edges == result.trace["edges"].sum() == graph.m


def test_a_schedule_must_fit_the_graph() -> None:
    with pytest.raises(ValueError, match="schedule has 3 levels; expected one for each of the 4 vertices"):
        gasla.run(programs.Counter, ring(4), schedule=np.array([0, 1, 2]))


def test_the_start_of_a_run_may_be_given_as_a_frontier_a_mask_or_ids() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3])
    mask = np.array([True, False, True, False])
    for active in (mask, [0, 2], gasla.Frontier(4, mask=mask)):
        assert gasla.run(programs.Counter, graph, active=active, max_iterations=1).times.tolist() == [0, 1, 0, 1]
    assert gasla.run(programs.Counter, graph, active=[]).iterations == 0
    for one in ([1], gasla.Frontier(4, mask=np.arange(4) == 1), gasla.Frontier.one(4, 1)):
        assert gasla.run(programs.Counter, graph, active=one, max_iterations=1).times.tolist() == [0, 0, 1, 0]


def test_a_frontier_knows_its_only_vertex() -> None:
    one, some = gasla.Frontier.one(5, 3), gasla.Frontier(5, [3, 1])
    assert one.only == 3 and one.ids.tolist() == [3] and one.mask.tolist() == [False, False, False, True, False]
    assert len(one) == 1 and 3 in one and 1 not in one and one.to("cpu") is one
    assert gasla.Frontier(5, [3]).only == gasla.Frontier(5, mask=one.mask).only == 3
    assert gasla.Frontier.all(1).only == 0 and some.only is gasla.Frontier.none(5).only is None


class Kinds(gasla.VertexProgram):
    """Fields of a number, and of pairs; each alone, and in two copies."""

    everyone = True
    number = gasla.vertex(np.int16, init=3)
    pair = gasla.vertex(semirings.VectorType(np.dtype(np.float32), 2), init=(1, 2))
    old_number = gasla.vertex(np.int64)
    old_pair = gasla.vertex(semirings.VectorType(np.dtype(np.float64), 2), init=0.5)
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.old_number + semirings.cast(src.old_pair[1], np.int64)

    def apply(self, vertex, gathered):
        return {"old_number": vertex.old_number, "old_pair": vertex.old_pair}


@pytest.mark.thorough
@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("limit", [0, 2])
def test_fields_start_as_given(limit: int) -> None:
    graph, n = ring(100), 100
    numbers, pairs = np.arange(n, dtype=np.int64), np.arange(2 * n, dtype=np.float64).reshape(n, 2)
    few, few_pairs = {0: 7, 49: 8, 50: 9, np.int32(99): 10}, {98: (3, 4), 1: 5}
    starts: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, {}),
        ({}, dict.fromkeys(("number", "old_number"), few) | dict.fromkeys(("pair", "old_pair"), few_pairs)),
        ({}, {"number": {3: 1}, "pair": {99: (8, 9), 2: 4}}),  # others, as many and fewer, in arrays that are kept
        ({"number": 4, "pair": 6, "old_number": 5, "old_pair": (7, 8)}, {}),
        ({"number": numbers.astype(np.int16), "pair": pairs, "old_number": numbers, "old_pair": pairs}, {}),
    ]
    for whole, places in starts:
        result = gasla.run(Kinds, graph, max_iterations=limit, **whole, **places)
        for name, declared in Kinds.vertex_fields.items():
            expected = np.zeros_like(result.state[name])
            expected[:] = whole.get(name, declared.init)
            for v, value in places.get(name, {}).items():
                expected[v] = value
            np.testing.assert_array_equal(result.state[name], expected, err_msg=name)
            if name.startswith("old_"):
                result.state[name][:] = 1
    assert (numbers == np.arange(n)).all() and (pairs == np.arange(2 * n).reshape(n, 2)).all(), "the caller's own"


@pytest.mark.thorough
def test_empty_graphs_and_no_edges() -> None:
    for n in (0, 1, 5):
        graph = Graph.from_edges([], [], n=n)
        for program, _, alone, limit in CASES:
            result = gasla.run(program, graph, active=[0] if alone and n else None, max_iterations=min(limit, 9))
            assert all(len(a) == (graph.m if k in program.edge_fields else n) for k, a in result.state.items())


class Closing(gasla.VertexProgram):
    """Gathers nothing, and looks along edges at what apply writes: all have to look before any applies."""

    y = gasla.vertex(np.int64, init=lambda vertex: vertex.id % 4)
    sources = "active"

    def edge_mask(self, src, dst, edge):
        return src.y <= dst.y + 1

    def apply(self, vertex, gathered):
        return {"y": (vertex.y + 1) % 9}


@pytest.mark.slow
def test_without_gather_all_look_along_edges_before_any_applies() -> None:
    rng = np.random.default_rng(2)
    graph = Graph.from_edges(*rng.integers(0, 40, (2, 160)), n=40)
    for options in ({}, {"deterministic": True}, {"direction": "pull"}):
        same(gasla.run(Closing, graph, max_iterations=4, **options), Reference(Closing(), graph).run(None, 4))
    levels = rng.integers(-1, 3, 40)
    found = gasla.run(Closing, graph, schedule=levels).y
    np.testing.assert_array_equal(found, np.arange(40) % 4 + (levels >= 0))


@pytest.mark.thorough
def test_int64_offsets_and_ids() -> None:
    small = Graph.from_edges([0, 1, 2, 0], [1, 2, 0, 2], np.array([1, 2, 3, 9]))
    wide = Graph.from_csr(small.out.indptr.astype(np.int64), small.out.indices.astype(np.int64), small.out_values)
    for graph in (small, wide):
        assert gasla.run(programs.Cheapest, graph, active=[0], cost={0: 0}).cost.tolist() == [0, 1, 3]


def test_inputs_are_not_changed_and_outputs_are_the_callers_own() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], n=3)
    start = np.array([0, 10**6, 10**6], np.int32)
    first = gasla.run(programs.Hops, graph, active=[0], hops=start).hops
    assert start.tolist() == [0, 10**6, 10**6]
    kept = first.copy()
    gasla.run(programs.Hops, graph, active=[2], hops={2: 0})
    np.testing.assert_array_equal(first, kept)


class Weighed(gasla.VertexProgram):
    """A field that is only read."""

    weight = gasla.vertex(np.int32)
    sum = gasla.vertex(np.int64)
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.weight

    def apply(self, vertex, gathered):
        return {"sum": gathered}


@pytest.mark.parametrize(
    "program",
    [Weighed, programs.Hops, *(pytest.param(p, marks=pytest.mark.slow) for p in (programs.Spread, programs.Flow))],
    ids=lambda p: p.__name__,
)
@pytest.mark.slow
def test_no_array_that_is_given_is_handed_out_or_written_to(program: Any) -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0], [1, 2, 3])
    given = {name: array.copy() for name, array in gasla.run(program, graph, max_iterations=0).state.items()}
    before = {name: array.copy() for name, array in given.items()}
    seen: list[Any] = []
    look: Any = lambda result: seen.append(dict(result.state))
    seen.append(gasla.run(program, graph, max_iterations=2, callback=look, **given).state)
    if not hasattr(program, "scatter"):
        seen.append(gasla.run(program, graph, schedule=[0, 1, -1], **given).state)
    state = stages.start(program, graph, **given)
    seen.append({name: getattr(state, name) for name in given})
    for found in seen:
        for name, array in found.items():
            assert not any(np.shares_memory(array, one) for one in given.values()), name
            array[:] = 9
    for name, array in before.items():
        np.testing.assert_array_equal(given[name], array)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"active": [9]}, ValueError, "vertex 9 is outside a graph of 3 vertices"),
        ({"active": [1, 1]}, ValueError, "appears twice"),
        ({"active": [0.5]}, TypeError, "expected a list of integers"),
        ({"hops": np.zeros(2, np.int32)}, ValueError, r"shape \(2,\); expected \(3,\)"),
        ({"hops": np.zeros(3)}, TypeError, "starts with float64; expected int32"),
        ({"hops": {7: 1}}, ValueError, "vertex 7, outside a graph of 3"),
        ({"hops": "one"}, TypeError, "starts with <U3; expected int32"),
        ({"hops": 2**31}, ValueError, "expected values of int32, whole numbers from -2147483648 to 2147483647"),
        ({"hops": {1: 10**30}}, ValueError, "expected values of int32"),
        ({"hops": {1: 0.5}}, ValueError, r"Hops\.hops starts with 0\.5; expected values of int32"),
        ({"hops": np.array([0, 1, 2**31])}, ValueError, "expected values of int32"),
        ({"speed": 1}, TypeError, "no field 'speed'"),
        ({"direction": "sideways"}, ValueError, "expected 'auto', 'push' or 'pull'"),
        ({"max_iterations": -1}, ValueError, "max_iterations is -1"),
        ({"max_iterations": 2.5}, TypeError, "max_iterations is 2.5; expected a whole number"),
        ({"device": "tpu"}, ValueError, "device is 'tpu'"),
        ({"schedule": [1.0, 2.0, 3.0]}, ValueError, "expected integers of shape"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], kind: type[Exception], message: str) -> None:
    graph = Graph.from_edges([0, 1], [1, 2], n=3)
    with pytest.raises(kind, match=message):
        gasla.run(programs.Hops, graph, **arguments)


def test_bad_programs_are_refused() -> None:
    for what in ("bfs", int):
        with pytest.raises(TypeError, match=r"expected a gasla\.VertexProgram"):
            gasla.run(what, Graph.from_edges([0], [1]))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'speed'"):
        programs.Hops(speed=1)
    own = {*inspect.signature(gasla.run).parameters} - {"values"} | {f.name for f in dataclasses.fields(gasla.Result)}
    for name in own | {"id", "gather", "reduce"}:
        with pytest.raises(ValueError, match=f"P.{name}: this name is gasla's own"):
            type("P", (gasla.VertexProgram,), {name: gasla.vertex(np.int32)})
    with pytest.raises(ValueError, match="expected 'in', 'out' or 'all'"):
        type("P", (gasla.VertexProgram,), {"direction": "up"})

    for field in (gasla.vertex(np.int8, init=300), gasla.edge(np.int8, init=0.5)):
        with pytest.raises(ValueError, match=r"P\.x starts with (300|0\.5); expected values of int8"):
            type("P", (gasla.VertexProgram,), {"x": field}).traced()  # type: ignore[attr-defined]

    def program(**body: Any) -> Any:
        return type("P", (gasla.VertexProgram,), {"x": gasla.vertex(np.int32), "reduce": semirings.plus, **body})

    def applies(function: Any) -> Any:
        return program(gather=lambda self, src, dst, edge: src.x, apply=function)

    for body, kind, message in (
        (applies(lambda self, vertex, gathered: gathered), TypeError, "expected a dict of the fields"),
        (applies(lambda self, vertex, gathered: {"y": gathered}), ValueError, "a field 'y'"),
        (applies(lambda self, vertex, gathered: {"x": gathered * 0.5}), TypeError, "semirings.cast"),
        (applies(lambda self, vertex, gathered: {"x": vertex.y}), AttributeError, "no field 'y'; it has"),
        (applies(lambda self, vertex, gathered: {"x": 1} if gathered else {}), TypeError, "where"),
        (program(gather=lambda self, src, dst, edge: src.x, reduce=max), TypeError, "expected a semirings.Monoid"),
        (
            program(w=gasla.edge(np.int32), scatter=lambda self, src, dst, edge: {"w": edge.w}),
            ValueError,
            "the matrix's own values",
        ),
    ):
        with pytest.raises(kind, match=message):
            body.traced()
    with pytest.raises(AttributeError, match=r"return \{'x': value\}"):
        applies(lambda self, vertex, gathered: setattr(vertex, "x", 1)).traced()


@pytest.mark.parametrize("ids", [np.int32, np.int64])
def test_the_first_to_come_applies_at_once_if_it_is_no_identity(ids: Any) -> None:
    for program, at_once in (
        (bfs.Levels, True),
        (bfs.Parents, True),
        (TightSearch, True),
        (Tree, True),
        (programs.Reach, True),
        (programs.Seven, False),
    ):
        plan = Plan(program.traced(np.dtype(ids)))
        assert plan.pushes
        assert plan.push_at_once == plan.takes_first == at_once
        assert GpuPlan(program.traced(np.dtype(ids)), Variant(np.dtype(ids))).push_at_once == at_once
    assert GpuPlan(bfs.Parents.traced(np.dtype(ids)), Variant(np.dtype(ids))).applies_once


def test_declarations_may_be_copied() -> None:
    for copied in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))):
        assert copied(gasla.ID) is gasla.ID
        program: Any = type("P", (gasla.VertexProgram,), {"x": copied(gasla.vertex(gasla.ID, init=1))})
        assert program.traced(np.dtype(np.int64)).vertex_types["x"] == np.int64


@pytest.mark.thorough
def test_what_is_gathered_is_read_by_name() -> None:
    class Offer(NamedTuple):
        cost: Any
        parent: Any

    class ByName(programs.Nearest):
        def gather(self, src, dst, edge):
            return Offer(*super().gather(src, dst, edge))

        def apply(self, vertex, gathered):
            return super().apply(vertex, (gathered.cost, gathered.parent))

    assert gasla.source(ByName, "cuda") == gasla.source(programs.Nearest, "cuda")
    graph = Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3], [1.0, 2.0, 5.0, 3.0])
    np.testing.assert_array_equal(gasla.run(ByName, graph, active=[0], cost={0: 0}).parent, [-1, 0, 0, 2])


def test_source_can_be_read() -> None:
    source = gasla.source(programs.Hops)
    assert "def push(" in source
    assert "def gather_(" in source
    assert "__device__" in gasla.source(programs.Hops, "cuda")
    with pytest.raises(ValueError, match="expected 'cpu' or 'cuda'"):
        gasla.source(programs.Hops, "fortran")


# What a run keeps by thread: lists of the active, aggregates, pieces of a run that somebody looks into, a schedule.
SHARED: dict[str, Any] = {
    "from one vertex": lambda graph: gasla.run(programs.Hops, graph, active=[0], hops={0: 0}).hops,
    "from many": lambda graph: (
        gasla.run(
            programs.Hops, graph, active=range(0, graph.n, 7), hops=np.where(np.arange(graph.n) % 7, 10**6, 0)
        ).hops
    ),
    "in pieces": lambda graph: (
        gasla.run(programs.Hops, graph, active=[0], hops={0: 0}, callback=lambda result: False).hops
    ),
    "aggregates": lambda graph: gasla.run(programs.Settling, graph).value,
    "a schedule": lambda graph: gasla.betweenness_centrality(graph, sources=[1, 2]),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.thorough if k else ()) for k, name in enumerate(SHARED)]
)
def test_many_runs_from_several_python_threads(name: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    rng = np.random.default_rng(3)
    graph = Graph.from_edges(rng.integers(0, 9000, 40000), rng.integers(0, 9000, 40000), n=9000)
    expected = SHARED[name](graph)
    with ThreadPoolExecutor(4) as pool:
        for answer in pool.map(lambda _: SHARED[name](graph), range(40)):
            np.testing.assert_allclose(answer, expected, rtol=1e-12)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_workspace_is_what_a_run_keeps_with_the_graph(
    program: type, deterministic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the kernel does, which need not be compiled for that."""

    def end(kernel: Any, control: np.ndarray, *others: Any, **options: Any) -> None:
        control[launch.ITERATION], control[launch.ACTIVE] = 1, 0

    monkeypatch.setattr(threads, "launch", end)
    graph = Graph.from_edges(np.arange(99), np.arange(1, 100), np.ones(99, np.int64), n=100)
    gasla.run(program, graph, max_iterations=1, deterministic=deterministic)
    (workspace,) = graph.known("workspaces")
    assert gasla.workspace(program, graph, deterministic) == sum(array.nbytes for array in workspace.values())


@pytest.mark.parametrize(("kind", "kept"), [(np.float64, True), (np.int64, False)])
def test_runs_have_in_common_what_the_graph_keeps_anyway(kind: type, kept: bool) -> None:
    graph = Graph.from_edges([0, 1], [1, 2], np.ones(2, kind))
    gasla.run(BellmanFord, graph, active=[0], distance={0: 0})
    ((runs,),) = (known for known in graph._known.values() if isinstance(known, list))
    assert isinstance(runs, Prepared)
    names = [name for name in ("gi", "si", "gv_weight", "sv_weight") if runs._common[runs._places[name]] is not None]
    own = {name: runs._common[runs._places[name]] for name in names}
    assert list(own) == ["gi", "si", "gv_weight", "sv_weight"][: 4 if kept else 2]
    held = graph.out.indices, graph.in_.indices, graph.out_values, graph.in_values
    assert all(any(array is part for part in held) for array in own.values())


@pytest.mark.usefixtures("no_collector")
def test_nothing_of_a_run_stays_with_the_graph_and_nothing_keeps_the_graph() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], np.ones(3), n=4)
    for _ in range(2):
        schedule = gasla.Schedule(np.array([0, 1, 2, -1]))
        found = gasla.run(BellmanFord, graph, active=[0], distance=np.array([0, np.inf, np.inf, np.inf])).distance
        levels = gasla.bfs(graph, 0)
        paths = gasla.run(Count, graph, schedule=schedule, paths={0: 1}).paths
        ((order, starts, _),) = schedule.made.values()
        ranks = gasla.pagerank(graph).ranks
        scores = gasla.betweenness_centrality(graph)
        gone = [weakref.ref(array) for array in (found, levels, paths, ranks, scores, schedule.levels, order, starts)]
        del found, levels, paths, ranks, scores, schedule, order, starts, _
        assert [array() is None for array in gone] == [True] * 8
    freed = weakref.ref(graph)
    del graph
    assert freed() is None


def test_thread_count_follows_what_was_set() -> None:
    from gasla.cpu.runtime.threads import num_threads

    before = gasla.get_num_threads()
    gasla.set_num_threads(1)
    assert num_threads() == 1
    gasla.set_num_threads(before)


@pytest.mark.thorough
@pytest.mark.parametrize("architecture", [pytest.param("compute_80", marks=pytest.mark.slow), "compute_90"])
def test_every_program_compiles_as_cuda(architecture: str) -> None:
    """The functions of each program, as the GPU will get them; NVRTC needs no GPU."""
    from gasla.algorithms.centrality import pagerank
    from gasla.algorithms.centrality.betweenness import brandes, edge_betweenness_centrality
    from gasla.algorithms.paths import sssp
    from gasla.algorithms.traversal import bfs
    from tests.helpers.semirings_engines import compile_cuda

    found = [programs, bfs, sssp, pagerank, brandes, edge_betweenness_centrality]
    every = {p for module in found for p in vars(module).values() if isinstance(p, type)}
    for program in every:
        if issubclass(program, gasla.VertexProgram) and program is not gasla.VertexProgram:
            assert compile_cuda(gasla.source(program, "cuda"), architecture)


def together(count: int, of: str) -> Any:
    """A program with so many numbers together: a vector, an edge's, what is gathered, or what apply gives."""
    vector = (np.float32, (count if of == "vector" else 1,))
    fields = {f"x{i}": gasla.vertex(np.float32) for i in range(count if of == "fields" else 1)}

    def gather(self, src, dst, edge):
        return tuple(src.x0 + i for i in range(count)) if of == "tuple" else src.v if of == "vector" else src.x0

    def apply(self, vertex, gathered):
        first = gathered[0] if of in ("vector", "tuple") else gathered
        return dict.fromkeys(fields, first)

    edge = {"e": gasla.edge((np.float32, (count,)), init=0)} if of == "edge" else {}
    reduce = semirings.argmin if of == "tuple" else semirings.plus
    body = {**fields, **edge, "v": gasla.vertex(vector), "reduce": reduce, "gather": gather, "apply": apply}
    return type("P", (gasla.VertexProgram,), body)


@pytest.mark.parametrize(
    ("of", "where", "said", "most"),
    [
        ("vector", "P.v", "a vector of 1025 items; expected at most 1024, as each thread holds a whole vector", 1024),
        ("edge", "P.e", "a vector of 1025 items; expected at most 1024, as each thread holds a whole vector", 1024),
        ("tuple", "P.gather", "31 together; expected at most 30, as each is a variable", 30),
        ("fields", "P.apply", "31 together; expected at most 30, as each is a variable", 30),
    ],
)
def test_more_numbers_together_than_can_be_compiled_are_refused(of: str, where: str, said: str, most: int) -> None:
    with pytest.raises(TypeError, match=f"{where}: {said}"):
        together(most + 1, of).traced()
    assert together(most, of).traced()


@pytest.mark.slow
@pytest.mark.parametrize("of", ["tuple", "fields"])
def test_as_many_numbers_together_as_are_allowed_run_and_compile(of: str) -> None:
    program = together(30, of)
    found = gasla.run(program, ring(5), x0=np.arange(5, dtype=np.float32), max_iterations=1)
    assert found.x0.tolist() == [4, 0, 1, 2, 3]
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    assert compile_source(Module(program.traced(), Variant(np.dtype(np.int32))).source, "compute_90")


@pytest.mark.parametrize("direction", ["in", "out"])
@pytest.mark.slow
def test_scatter_goes_along_with_activity(direction: str) -> None:
    """From the newly active, to those who would gather from them next."""

    def gather(self: Any, src: Any, dst: Any, edge: Any) -> Any:
        return src.x + 1

    body = {
        **{"x": gasla.vertex(np.int64), "ends": gasla.edge((np.int64, (2,)), init=-1), "direction": direction},
        **{"reduce": semirings.plus, "gather": gather, "apply": lambda self, vertex, gathered: {"x": gathered}},
        "scatter": lambda self, src, dst, edge: {"ends": semirings.vector(src.id, dst.id)},
    }
    program: Any = type("P", (gasla.VertexProgram,), body)
    found = gasla.run(program, Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4]), active=[2], max_iterations=1)
    expected = {"in": [[-1, -1], [-1, -1], [-1, -1], [3, 4]], "out": [[1, 0], [-1, -1], [-1, -1], [-1, -1]]}
    assert found.ends.tolist() == expected[direction]


@pytest.mark.slow
def test_vertices_that_no_edge_leads_to_receive_where_everyone_does() -> None:
    def applied(everyone: bool) -> list[int]:
        body: dict[str, Any] = {"x": gasla.vertex(np.int64), "everyone": everyone}
        body["apply"] = lambda self, vertex, gathered: {"x": vertex.x + 1}
        program: Any = type("P", (gasla.VertexProgram,), body)
        return gasla.run(program, Graph.from_edges([0], [1], n=3), max_iterations=1).x.tolist()

    assert applied(everyone=False) == [0, 1, 0]
    assert applied(everyone=True) == [1, 1, 1]


@pytest.mark.slow
def test_values_of_the_matrix_are_converted_within_their_kind() -> None:
    def weights(kind: Any, values: Any) -> Any:
        body = {"x": gasla.vertex(kind), "w": gasla.edge(kind), "reduce": semirings.plus}
        body["gather"] = lambda self, src, dst, edge: edge.w
        body["apply"] = lambda self, vertex, gathered: {"x": gathered}
        program: Any = type("P", (gasla.VertexProgram,), body)
        graph = Graph.from_edges([0, 1], [1, 2], np.array(values), n=3)
        return gasla.run(program, graph, max_iterations=1).x.tolist()

    assert weights(np.float32, [0.1, 2.0]) == [0, np.float32(0.1), 2]
    assert weights(np.float32, [3, 4]) == [0, 3, 4] == weights(np.int32, [3, 4])
    with pytest.raises(ValueError, match=r"the matrix holds numbers from 3 to 1099511627776, and .* is int32"):
        weights(np.int32, [3, 2**40])
    with pytest.raises(TypeError, match="the matrix holds float64, and the program's edge field is int32"):
        weights(np.int32, [3.0, 4.0])
