"""Graphs over ranks, which are threads here: the same bits as in one process, and what is refused by name."""

import copy
import functools
import importlib
import os
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any
from unittest import mock

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph

import gasla
import semirings
from gasla import distributed
from gasla.arrays import moved
from gasla.cpu.runtime import memory
from gasla.distributed import replicas
from gasla.distributed.engine import unsupported
from gasla.distributed.engine.messages import NO_UPDATES, Updates, pack_message, unpack_message
from gasla.distributed.engine.partition import owners_of
from gasla.distributed.engine.rank_run import RankRun
from gasla.distributed.engine.rank_runs import RankRuns
from gasla.distributed.engine.unsupported import check_supported
from gasla.distributed.engine.vertex_aggregates import VertexAggregates
from gasla.distributed.thread_ranks import ThreadCommunicator
from tests.helpers import ROOT, programs
from tests.helpers.generated_programs import Case, cases
from tests.helpers.generated_runs import hurries
from tests.helpers.law import Asked
from tests.helpers.laws import ROWS

MANY = int(os.environ.get("GASLA_GENERATED", "1000"))
SUPPRESSED = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def over(graph: Any, ranks: int) -> distributed.Graph:
    return distributed.Graph.from_graph(graph, distributed.ThreadRanks(ranks))


def is_taken(case: Case) -> bool:
    """Whether ranks have such programs. NumPy asks for partners even where that comes to nothing, and has none."""
    if "edge.back" in case.source:
        return False
    program = case.program
    try:
        check_supported(program(), program.traced(np.dtype(np.int32)))
    except ValueError:
        return False
    return True


def check(case: Case, ranks: int, compiled: bool) -> None:
    """The same bits, and as long as values don't go on within an iteration the same number of them.

    Where programs come to an end by themselves there is no limit, and values drain. The second run of a program over
    the same ranks has what the first has prepared.
    """
    runs_on = case.limit >= 10**6
    options: dict[str, Any] = {
        "active": None if case.active is None else list(case.active),
        "max_iterations": None if runs_on else case.limit,
        "deterministic": case.mode == "deterministic",
        "compile": compiled,
    }
    one = gasla.run(case.program, case.graph, **options)
    spread = over(case.graph, ranks)
    for _ in range(2):
        found = gasla.run(case.program, spread, **options)
    if compiled and hurries(case) and not (one.converged and found.converged):
        return
    for name in one.state:
        expected, got = np.asarray(one.state[name]), np.asarray(found.state[name])
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(got, expected, err_msg=name)
        assert got.tobytes() == expected.tobytes(), f"{name}: other bits"
    if hurries(case) and (compiled or runs_on):
        return
    assert (found.iterations, found.converged) == (one.iterations, one.converged)
    for name, value in one.aggregates.items():  # sums of halves, which are exact
        assert np.array_equal(found.aggregates[name], value), name
    if not case.program.everyone:
        np.testing.assert_array_equal(np.sort(found.active.ids), np.sort(one.active.ids), err_msg="active")


def try_programs(count: int, share: int, compiled: bool) -> None:
    @settings(
        max_examples=count, deadline=None, database=None, suppress_health_check=SUPPRESSED, phases=[Phase.generate]
    )
    @given(cases(("run", "deterministic")).filter(is_taken), st.integers(1, 5))
    def attempt(case: Case, ranks: int) -> None:
        check(case, ranks, compiled)

    seed(share)(attempt)()


def test_runs_share_what_is_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank prepares a program once, and again only while another run has what it prepared, or after a failure."""
    made: list[Any] = []
    prepare = RankRuns._find_sent_fields
    monkeypatch.setattr(RankRuns, "_find_sent_fields", lambda runs: [made.append(runs), prepare(runs)])
    spread, options = over(random_graph(), 2), {"active": [3], "hops": {3: 0}}
    expected = gasla.run(programs.Hops, random_graph(), **options).hops

    def nested(_: Any) -> None:
        np.testing.assert_array_equal(gasla.run(programs.Hops, spread, max_iterations=99, **options).hops, expected)

    for callback, count in ((None, 2), (None, 2), (nested, 4), (nested, 4)):
        found = gasla.run(programs.Hops, spread, callback=callback, max_iterations=100, **options)
        np.testing.assert_array_equal(found.hops, expected)
        assert len(made) == count
    with monkeypatch.context() as patched:
        patched.setattr(RankRun, "_iterate", lambda run: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            gasla.run(programs.Hops, spread, max_iterations=100, **options)
    np.testing.assert_array_equal(gasla.run(programs.Hops, spread, **options).hops, expected)


def test_a_rank_makes_few_python_calls() -> None:
    """For five supersteps, without those of Python's barrier, by which only ranks that are threads meet."""
    spread, calls = over(random_graph(), 2), Counter[int]()

    def count(frame: Any, event: str, _: Any) -> None:
        if event == "call" and "threading" not in frame.f_code.co_filename:
            calls[threading.get_ident()] += 1

    options: dict[str, Any] = {"max_iter": 5, "tol": 0}
    gasla.pagerank(spread, **options)
    threading.setprofile(count)
    try:
        gasla.pagerank(spread, **options)
    finally:
        threading.setprofile(None)  # type: ignore[arg-type]
    assert 0 < max(calls.values()) < 900


def test_some_programs_have_the_same_bits() -> None:
    """By NumPy on each rank, as to compile takes seconds: the ranks' part is the same."""
    try_programs(15, 2026, compiled=False)


@pytest.mark.slow
def test_many_programs_have_the_same_bits() -> None:
    """A thousand runs."""
    try_programs(MANY, 1, compiled=False)


@pytest.mark.slow
def test_compiled_programs_have_the_same_bits() -> None:
    """Some seconds for each, as it is compiled twice."""
    try_programs(MANY // 20, 2, compiled=True)


@pytest.fixture(params=[True, False])
def beginning_anew(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Supersteps begin anew, as on cards of one process and of several; here on the CPU."""
    monkeypatch.setattr(RankRun, "has_card", True)
    monkeypatch.setattr(ThreadCommunicator, "shares_memory", request.param)


@pytest.mark.thorough
def test_supersteps_that_begin_anew_have_the_same_bits(beginning_anew: None) -> None:
    try_programs(40, 3, compiled=False)


@pytest.mark.slow
def test_compiled_supersteps_that_begin_anew_have_the_same_bits(beginning_anew: None) -> None:
    try_programs(MANY // 20, 4, compiled=True)


# --- shapes -----------------------------------------------------------------------------------------------------------

SHAPES = {
    "empty": gasla.Graph.from_edges([], [], n=0),
    "one vertex": gasla.Graph.from_edges([], [], n=1),
    "a loop": gasla.Graph.from_edges([0], [0], [3.0]),
    "parallel edges": gasla.Graph.from_edges([1, 1, 0, 1], [0, 0, 1, 0], [3.0, 1, 2, 5]),
    "disconnected": gasla.Graph.from_edges([0, 3, 2], [1, 4, 2], [1.0, 2, 3], n=7),
    "a star": gasla.Graph.from_edges([0] * 40, range(1, 41), np.arange(1, 41.0)),
    "into one": gasla.Graph.from_edges(range(1, 41), [0] * 40, np.arange(1, 41.0)),
    "a long path": gasla.Graph.from_edges(range(60), range(1, 61), np.ones(60)),
    "wide offsets": gasla.Graph.from_csr(np.array([0, 2, 3, 3], np.int64), [2, 1, 2], [1.0, 7, 2]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_each_shape_gives_a_right_answer(name: str) -> None:
    graph, ranks = SHAPES[name], 3
    spread = over(graph, ranks)
    assert (spread.n, spread.m) == (graph.n, graph.m)
    np.testing.assert_array_equal(spread.out_degrees.compute(), graph.out_degrees)
    np.testing.assert_array_equal(spread.in_degrees.compute(), graph.in_degrees)
    for fact in ("is_symmetric", "has_self_loops", "has_parallel_edges", "is_simple"):
        assert getattr(spread, fact) == getattr(graph, fact), fact
    start = {"active": [0], "cost": {0: 0}} if graph.n else {}
    one = gasla.run(programs.Cheapest, graph, compile=False, **start)
    found = gasla.run(programs.Cheapest, spread, compile=False, **start)
    np.testing.assert_array_equal(found.cost.compute(), one.cost)
    assert found.cost.shape == (graph.n,)


@settings(max_examples=80, deadline=None, database=None)
@given(st.data(), st.integers(1, 4), st.booleans(), st.sampled_from([np.float32, np.float64, np.int8, np.int64]))
def test_symmetry_is_that_of_one_process(data: Any, ranks: int, both: bool, kind: type) -> None:
    """Of edges, and of edges with values."""
    ends, some = st.integers(0, 6), [0, 1, 2] if np.dtype(kind).kind == "i" else [0.0, -0.0, np.nan, 2.0]
    edges = data.draw(st.lists(st.tuples(ends, ends, st.sampled_from(some)), max_size=12))
    edges += [(j, i, x) for i, j, x in edges] if both else []
    src, dst, values = (list(column) for column in zip(*edges, strict=True)) if edges else ([], [], [])
    graph = gasla.Graph.from_edges(src, dst, np.array(values, kind), n=7)
    spread = over(graph, ranks)
    assert spread.is_symmetric == graph.is_symmetric
    assert spread.has_symmetric_values == graph.has_symmetric_values


def test_ranges_are_balanced_by_edges_and_vertices() -> None:
    n, rng = 1000, np.random.default_rng(0)
    graph = gasla.Graph.from_edges(rng.integers(0, n, 8 * n), (n * rng.random(8 * n) ** 3).astype(int), n=n)
    spread = over(graph, 4)
    shares = spread.ranks.each(lambda rank, key: rank.kept[key]["share"], spread.handle.key)
    work = [len(s.shard.edge_ids) + np.diff(s.bounds)[i] for i, s in enumerate(shares)]
    assert max(work) < 1.1 * sum(work) / 4
    assert owners_of(np.array([0, 2, 2, 5]), np.arange(5)).tolist() == [0, 0, 2, 2, 2]


@settings(max_examples=80, deadline=None, database=None)
@given(st.data())
def test_news_come_as_they_were_told(data: Any) -> None:
    """And take no more bytes for their places than a bitmap, nor than the smallest numbers that hold the gaps."""
    held = data.draw(st.sampled_from([1, 9, 300, 70_000, 70_000_000]))
    places = np.unique(data.draw(st.lists(st.integers(0, held - 1), min_size=1, max_size=400))).astype(np.int64)
    some = np.arange(len(places))
    values = [some.astype(np.float32), np.stack([some, some], axis=1)]
    active = data.draw(st.sampled_from([None, some % 3 == 0]))
    message = pack_message(b"12345", Updates(places, active, values), held)
    found = unpack_message(message, 5, held, [(np.dtype(np.float32), ()), (some.dtype, (2,))])
    assert bytes(message[:5]) == b"12345" and unpack_message(message[:5], 5, held, []) is NO_UPDATES
    np.testing.assert_array_equal(found.places, places)
    assert (found.is_active is None) == (active is None)
    if active is not None:
        np.testing.assert_array_equal(found.is_active, active)
    for got, given_values in zip(found.values, values, strict=True):
        np.testing.assert_array_equal(got, given_values)
    width = np.min_scalar_type(np.diff(places, prepend=0).max()).itemsize
    most = 0 if len(places) == held else min(width * len(places), -(-held // 8))
    assert len(message) == 15 + most + 20 * len(places) + (0 if active is None else -(-len(places) // 8))


# --- results, and who may start ---------------------------------------------------------------------------------------


class Sums(gasla.VertexProgram):
    everyone = True
    x = gasla.vertex((np.float64, (2,)), init=lambda vertex: np.stack([vertex.id + 1, vertex.id % 2]))
    weight = gasla.edge(np.float64)
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.x * edge.weight

    def apply(self, vertex, gathered):
        return {"x": gathered / self.n}


GRAPH = gasla.Graph.from_edges([0, 0, 1, 2, 2, 3, 3], [1, 2, 3, 3, 2, 0, 1], [4.0, 1, 1, 5, 2, 1, 1], n=5)


def test_results_are_blocks_and_start_other_runs() -> None:
    spread = over(GRAPH, 3)
    first = gasla.run(Sums, spread, max_iterations=2, compile=False)
    second = gasla.run(Sums, spread, max_iterations=1, compile=False, x=first.x)
    expected = gasla.run(Sums, GRAPH, max_iterations=3, compile=False).x
    assert isinstance(second.x, distributed.BlockArray)
    assert repr(second.x) == "BlockArray(float64(5, 2), in 3 blocks)"
    for found in (second.x.compute(), second.x.local, np.asarray(second.x), second.x * 1, second.x[:], second.x.copy()):
        np.testing.assert_array_equal(found, expected)
    given = np.ones((5, 2))
    one = gasla.run(Sums, GRAPH, max_iterations=1, compile=False, x=given)
    np.testing.assert_array_equal(gasla.run(Sums, spread, max_iterations=1, compile=False, x=given).x, one.x)
    assert (given == 1).all()


class Trails(gasla.VertexProgram):
    """What a scatter has written is read, by whoever gathers, in the next iteration."""

    x = gasla.vertex(np.int64, init=lambda vertex: vertex.id)
    trail = gasla.edge((np.int64, (2,)), init=1)
    flow = gasla.edge(np.int64, init=2)
    weight = gasla.edge(np.float64)
    reduce = semirings.plus

    def edge_mask(self, src, dst, edge):
        return edge.flow % 5 != 0

    def gather(self, src, dst, edge):
        return src.x + edge.trail[0] * edge.flow

    def apply(self, vertex, gathered):
        return {"x": (vertex.x + gathered) % 13}

    def scatter(self, src, dst, edge):
        more = semirings.cast(edge.weight, np.int64) + edge.id
        return {"trail": semirings.vector(src.x, dst.x), "flow": edge.flow + more - src.id * self.iteration}


@pytest.mark.parametrize("everyone", [False, True])
@pytest.mark.parametrize("direction", ["in", "out"])
@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])  # seconds to compile
def test_edges_are_written_to_where_they_are(everyone: bool, direction: str, compiled: bool) -> None:
    program = type("Trails", (Trails,), {"direction": direction, "everyone": everyone})
    graph = random_graph(20, 60)
    options: dict[str, Any] = {"compile": compiled, "max_iterations": 4, "active": [0, 7]}
    given = {"flow": np.arange(60) % 3}
    one, found = (gasla.run(program, g, **options, **given) for g in (graph, over(graph, 3)))
    for name, values in one.state.items():
        np.testing.assert_array_equal(found.state[name], values, err_msg=name)
    np.testing.assert_array_equal(np.sort(found.active.ids), np.sort(one.active.ids))


def test_edge_fields_start_other_runs() -> None:
    graph, options = random_graph(20, 60), {"compile": False, "max_iterations": 2}
    spread = over(graph, 3)
    one, found = (gasla.run(Trails, g, **options) for g in (graph, spread))
    one, found = (gasla.run(Trails, g, **options, **r.state) for g, r in ((graph, one), (spread, found)))
    for name, values in one.state.items():
        np.testing.assert_array_equal(found.state[name], values, err_msg=name)


class Leaving(gasla.VertexProgram):
    """Edges count by which end sees them."""

    everyone = True
    x = gasla.vertex(np.int64, init=lambda vertex: vertex.id)
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return semirings.where(edge.leaves, src.x, 2 * src.x + edge.id)

    def apply(self, vertex, gathered):
        return {"x": gathered % 1009}


@pytest.mark.parametrize("direction", ["in", "out", "all"])
def test_edges_are_seen_from_the_end_at_which_they_are(direction: str) -> None:
    program = type("Leaving", (Leaving,), {"direction": direction})
    options: dict[str, Any] = {"compile": False, "max_iterations": 3}
    np.testing.assert_array_equal(
        gasla.run(program, over(GRAPH, 3), **options).x, gasla.run(program, GRAPH, **options).x
    )


class Alternates(programs.Hops):
    """Even edges are open in even iterations, odd ones in odd iterations."""

    def edge_mask(self, src, dst, edge):
        return edge.id % 2 == self.iteration % 2


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])  # seconds to compile
def test_edges_whose_mask_reads_the_iteration_are_gathered_again(compiled: bool) -> None:
    """Values of inactive neighbors count: over an edge that was closed when they changed, they have not arrived."""
    for number in range(30):
        ends = np.random.default_rng(number).integers(0, 8, (2, 20))
        one, start = gasla.Graph.from_edges(*ends, n=8), {"active": [0], "hops": {0: 0}, "compile": compiled}
        expected, found = (gasla.run(Alternates, graph, **start) for graph in (one, over(one, 2)))
        np.testing.assert_array_equal(found.hops, expected.hops)
        assert found.iterations == expected.iterations


def test_callbacks_and_traces_see_every_superstep() -> None:
    seen: list[int] = []
    options: dict[str, Any] = {"active": [0], "hops": {0: 0}, "compile": False, "trace": True}
    found = gasla.run(programs.Hops, over(GRAPH, 2), callback=lambda r: seen.append(r.hops.sum()), **options)
    one = gasla.run(programs.Hops, GRAPH, **options)
    assert len(seen) == found.iterations == one.iterations
    np.testing.assert_array_equal(found.trace["active"], one.trace["active"])
    assert (found.trace["exchanges"] == 1).all()
    assert (found.trace["bytes"] > 0).all()
    stopped = gasla.run(programs.Hops, over(GRAPH, 2), callback=lambda r: True, **options)
    assert (stopped.iterations, stopped.converged) == (1, False)


def test_a_person_can_ask_how_a_graph_lies_and_what_a_run_does() -> None:
    report = over(GRAPH, 3).report()
    assert (report["vertices"].sum(), report["edges"].sum()) == (GRAPH.n, GRAPH.m)
    assert report["share"].sum() == pytest.approx(3)
    said = gasla.explain(programs.Cheapest, over(GRAPH, 2))
    assert "a rank sends changed values of cost" in said
    assert "until it has no work left" in said


def test_what_a_person_gives_wrong_is_said_as_for_one_process() -> None:
    spread = over(GRAPH, 2)
    with pytest.raises(ValueError, match="vertex 9, outside a graph of 5"):
        gasla.run(programs.Hops, spread, hops={9: 0}, compile=False)
    with pytest.raises(ValueError, match="shape"):
        gasla.run(programs.Hops, spread, hops=np.zeros(3, np.int32), compile=False)
    with pytest.raises(TypeError, match="no field 'nothing'"):
        gasla.run(programs.Hops, spread, nothing=1, compile=False)
    ends = np.array([0]), np.array([7]), np.array([0])
    with pytest.raises(ValueError, match="an edge has the vertex 7"):
        distributed.Graph.from_shares(spread.ranks, 5, lambda rank: distributed.Edges(*ends, None))
    assert gasla.run(programs.Hops, spread, active=[0], hops={0: 0}, compile=False).converged  # ranks are as they were


def test_what_one_rank_alone_finds_is_raised_here_and_named() -> None:
    def load(rank: distributed.Rank) -> distributed.Edges:
        if rank.communicator.rank == 1:
            raise OSError("a broken file")
        return distributed.Edges(*np.zeros((3, 0), int), None)

    with pytest.raises(OSError, match="a broken file") as caught:
        distributed.Graph.from_shares(distributed.ThreadRanks(3), 5, load)
    assert caught.value.__notes__ == [f"on rank 1 of 3 on {socket.gethostname()}"]


class Scatters(programs.Hops):
    flow = gasla.edge(np.int64, init=0)
    direction = "all"

    def scatter(self, src, dst, edge):
        return {"flow": edge.flow + 1}


class Late(programs.Hops):
    flow = gasla.edge(np.int64, init=0)

    def scatter(self, src, dst, edge):
        return {"flow": semirings.cast(src.hops, np.int64)}

    def post_apply(self, vertex):
        return {"hops": vertex.hops}


class Partners(programs.Hops):
    flow = gasla.edge(np.int64, init=0)

    def edge_mask(self, src, dst, edge):
        return edge.back.flow == 0


REFUSED: dict[str, tuple[Any, dict[str, Any]]] = {
    "scatter along both": (Scatters, {}),
    "scatter that reads hops": (Late, {}),
    "edge.back": (Partners, {}),
    "in place": (programs.Hops, {"order": "in place"}),
    "a schedule": (programs.Hops, {"schedule": np.zeros(5, np.int32)}),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_ranks_cannot_do_is_refused_by_name(what: str) -> None:
    program, options = REFUSED[what]
    with pytest.raises(ValueError, match=f"{what}.*distributed graphs don't support"):
        gasla.run(program, over(GRAPH, 2), compile=False, **options)


def test_the_page_shows_what_is_refused() -> None:
    page = (ROOT / "docs" / "ranks.md").read_text(encoding="utf-8")
    for part, reason in unsupported.UNSUPPORTED.items():
        assert f"`{part}`" in page
        assert reason.partition("; use")[0] in page, part


def test_vertices_keep_their_names() -> None:
    """A graph over ranks has the names of the one that it is made of."""
    one = gasla.Graph.from_networkx(nx.DiGraph([("a", "b"), ("b", "c"), ("d", "a")]))
    spread = over(one, 2)
    assert spread.names.tolist() == ["a", "b", "c", "d"] and spread.vertex("c") == 2
    found = gasla.run(programs.Hops, spread, active=[0], hops={0: 0}, compile=False).hops
    pytest.importorskip("pyarrow")
    assert spread.named(hops=found).to_pydict() == one.named(hops=found.compute()).to_pydict()


def test_what_ranks_are_asked_for_waits_for_no_lock_of_theirs() -> None:
    """Before Python 3.12 a cached property has one lock for all graphs: ranks would wait for the caller."""
    spread = over(GRAPH, 2)
    assert (spread.max_in_degree, spread.max_out_degree) == (GRAPH.max_in_degree, GRAPH.max_out_degree)
    assert spread.nbytes == spread.report()["bytes"].sum() > 0
    for cls in gasla.Graph.__mro__:
        cached = {name for name, x in vars(cls).items() if isinstance(x, functools.cached_property)}
        assert cached - {"_words"} <= vars(distributed.Graph).keys()


def test_what_no_process_has_is_refused() -> None:
    spread = over(GRAPH, 2)
    for name in ("out", "in_", "both", "out_values"):
        with pytest.raises(TypeError, match=f"no process has all edges; expected a gasla.Graph for its {name}"):
            getattr(spread, name)
    for call in (
        lambda: gasla.primitives.hook(spread),
        lambda: spread.reversed(),
        lambda: copy.copy(spread),
        lambda: spread.values.astype(int),
        lambda: np.asarray(spread.values),
        lambda: spread.select([0]),
        lambda: gasla.stages.start(programs.Hops, spread),
        lambda: gasla.workspace(programs.Hops, spread),
        lambda: distributed.Graph.from_csr([0, 0], []),
        lambda: gasla.Graph(spread),
        lambda: gasla.batch([spread]),
        lambda: gasla.verify.bfs(spread, 0, np.zeros(5, int)),
    ):
        with pytest.raises(TypeError, match=r"distributed( g|\.G)raph.*expected"):
            call()


# --- the library's algorithms -----------------------------------------------------------------------------------------


def random_graph(n: int = 60, m: int = 240) -> gasla.Graph:
    rng = np.random.default_rng(1)
    return gasla.Graph.from_edges(*rng.integers(0, n, (2, m)), rng.integers(1, 9, m).astype(float), n=n)


@pytest.mark.parametrize("edges", [0, 20, 600])
def test_triangles_are_those_of_one_process(edges: int) -> None:
    graph = random_graph(50, edges)
    expected = gasla.triangle_count(graph, per_vertex=True)
    found = gasla.triangle_count(over(graph, 3), per_vertex=True)
    assert found.total == gasla.triangle_count(over(graph, 4)) == expected.total
    np.testing.assert_array_equal(found.per_vertex, expected.per_vertex)


@pytest.mark.parametrize("name", SHAPES)
def test_components_of_shapes_are_those_of_one_process(name: str) -> None:
    one, found = (gasla.connected_components(g) for g in (SHAPES[name], over(SHAPES[name], 3)))
    assert found.count == one.count
    np.testing.assert_array_equal(found.labels, one.labels)


@settings(max_examples=60, deadline=None, database=None)
@given(st.integers(1, 40), st.data(), st.integers(1, 6))
def test_components_are_those_of_scipy(n: int, data: Any, ranks: int) -> None:
    ends = st.lists(st.integers(0, n - 1), max_size=2 * n)
    edges = np.array([*zip(data.draw(ends), data.draw(ends), strict=False)], int).reshape(-1, 2)
    count, labels = csgraph.connected_components(sparse.csr_array((np.ones(len(edges)), edges.T), shape=(n, n)))
    found = gasla.connected_components(over(gasla.Graph.from_edges(*edges.T, n=n), ranks))
    firsts = np.unique(labels, return_index=True)[1]
    assert found.count == count
    np.testing.assert_array_equal(np.argsort(np.argsort(firsts))[labels], found.labels)


def test_components_take_few_supersteps_wherever_a_path_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that changes ranks 2,000 times; labels that went from neighbor to neighbor took that many."""
    meet, rounds = ThreadCommunicator.meet, [0] * 3

    def counting(self: ThreadCommunicator, kind: int, parts: Any) -> Any:
        rounds[self.rank] += 1
        return meet(self, kind, parts)

    monkeypatch.setattr(ThreadCommunicator, "meet", counting)
    way = np.arange(3000).reshape(3, 1000).T.ravel()  # from rank to rank
    spread = over(gasla.Graph.from_edges(way[:-1], way[1:]), 3)
    before = rounds[0]
    assert gasla.connected_components(spread).count == 1
    assert rounds[0] - before < 40


ON_GENERATED: dict[str, Any] = {  # each of them reads or reduces at any vertex, or takes turns in phases
    "label_propagation": lambda g: [gasla.label_propagation(g, seed=5)],
    "label_propagation, weighted": lambda g: [gasla.label_propagation(g, weighted=True)],
    "label_propagation, synchronous": lambda g: [gasla.label_propagation(g, method="synchronous", max_iter=4)],
    "maximal_matching": lambda g: [gasla.maximal_matching(g, weighted=True)],
    "strongly_connected_components": gasla.strongly_connected_components,
    "minimum_spanning_forest": gasla.minimum_spanning_forest,
    "betweenness_centrality": lambda g: [
        gasla.betweenness_centrality(g, endpoints=True, normalized=False),
        gasla.betweenness_centrality(g, weighted=True, k=min(3, g.n), seed=1),
    ],
    "edge_betweenness_centrality": lambda g: [
        gasla.edge_betweenness_centrality(g, k=min(4, g.n), seed=1),
        gasla.edge_betweenness_centrality(g, weighted=True, k=min(2, g.n), seed=1, normalized=False),
    ],
}


@st.composite
def weighted_graphs(draw: st.DrawFn) -> gasla.Graph:
    """A small multigraph, whose weights are whole numbers; or what is symmetric of it."""
    n = draw(st.integers(1, 12))
    ends = st.lists(st.integers(0, n - 1), max_size=3 * n)
    edges = np.array([*zip(draw(ends), draw(ends), strict=False)], int).reshape(-1, 2)
    graph = gasla.Graph.from_edges(*edges.T, 1 + np.arange(len(edges)) * 7 % 5, n=n)
    return graph.symmetrized(semirings.plus) if draw(st.booleans()) else graph


@pytest.mark.parametrize("name", ON_GENERATED)
def test_algorithms_on_generated_graphs_have_the_bits_of_one_process(name: str) -> None:
    @settings(max_examples=6, deadline=None, database=None, suppress_health_check=SUPPRESSED, phases=[Phase.generate])
    @given(weighted_graphs(), st.integers(1, 4))
    def attempt(graph: gasla.Graph, ranks: int) -> None:
        with gasla.engines.interpreted():
            for one, found in zip(ON_GENERATED[name](graph), ON_GENERATED[name](over(graph, ranks)), strict=True):
                np.testing.assert_array_equal(found, one)
                assert np.asarray(found).dtype == np.asarray(one).dtype

    seed(7)(attempt)()


@pytest.mark.parametrize("name", SHAPES)
def test_forests_and_strong_components_of_shapes(name: str) -> None:
    one, spread = SHAPES[name], over(SHAPES[name], 3)
    with gasla.engines.interpreted():
        np.testing.assert_array_equal(
            gasla.minimum_spanning_forest(spread).edges, gasla.minimum_spanning_forest(one)[0]
        )
        found, expected = (gasla.strongly_connected_components(g) for g in (spread, one))
    np.testing.assert_array_equal(found.labels, expected.labels)


@pytest.mark.parametrize("columns", [(), (1,), (5,)])
@pytest.mark.parametrize("kind", [np.float32, np.int64, None])
def test_products_have_the_bits_of_one_process(columns: tuple[int, ...], kind: Any) -> None:
    """Sums of floats, too: kernels reduce the last rows of a matrix in another order, wherever ranks end."""
    rng = np.random.default_rng(3)
    most = semirings.Semiring(semirings.max, lambda a, x: a - x)
    for ranks, n in ((2, 90), (5, 90)) if columns else ((2, 90), (5, 90), (16, 12)):  # the last have idle ranks
        ends, weights = rng.integers(0, n, (2, 10 * n)), (9 * rng.random(10 * n)).astype(kind or float)
        one = gasla.Graph.from_edges(*ends, None if kind is None else weights, n=n)
        x, spread = rng.random((n, *columns)).astype(np.float32), over(one, ranks)
        for semiring in (semirings.plus_times, most):
            found = gasla.vxm(x, spread, semiring)
            np.testing.assert_array_equal(found, gasla.vxm(x, one, semiring))
            np.testing.assert_array_equal(gasla.mxv(spread, found, semiring), gasla.mxv(one, found, semiring))
            assert found.local.dtype == found.dtype


def test_what_products_over_ranks_cannot_do_is_refused() -> None:
    spread = over(GRAPH, 2)
    with pytest.raises(ValueError, match=r"x has shape \(4,\); expected \(5,\), one value for each column"):
        gasla.mxv(spread, np.ones(4))
    with pytest.raises(TypeError, match=r"of which no process has all edges; .*, which reads indices"):
        gasla.vxm(np.ones(5), spread, semirings.max_secondi)
    pairs = semirings.Semiring(semirings.product(semirings.min, semirings.max), lambda a, x: (a * x, a * x))
    with pytest.raises(TypeError, match=r"of which no process has all edges; .*, which gives several values"):
        gasla.vxm(np.ones(5), spread, pairs)


@settings(max_examples=8, deadline=None, database=None)
@given(weighted_graphs(), st.integers(1, 4), st.sampled_from(["sum", "mean", "max", "min"]), st.booleans())
def test_features_are_those_of_one_process(graph: gasla.Graph, ranks: int, reduce: Any, weighted: bool) -> None:
    features = (np.arange(2 * graph.n).reshape(-1, 2) * 7 % 11 / 3).astype(np.float32)
    one, found = (gasla.aggregate_features(g, features, reduce, weighted=weighted) for g in (graph, over(graph, ranks)))
    np.testing.assert_array_equal(found, one)
    assert found.dtype == one.dtype


class Uphill(gasla.WalkProgram):
    """Walks that end at high vertices."""

    height = gasla.vertex(np.int64)

    def stop(self, vertex):
        return semirings.where(vertex.height > 6, 0.5, 0.0)


@pytest.mark.parametrize("weighted", [False, True])
def test_walks_are_those_of_one_process(weighted: bool) -> None:
    starts = np.arange(70) * 7 % 60
    expected = gasla.random_walks(random_graph(), starts, 9, weighted=weighted, seed=2)
    for ranks in (1, 3, 90):
        found = gasla.random_walks(over(random_graph(), ranks), starts, 9, weighted=weighted, seed=2)
        np.testing.assert_array_equal(found, expected)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert len(gasla.random_walks(over(GRAPH, 2), np.zeros(0, int), 3)) == 0


@pytest.mark.parametrize("together", [1, 2, 8])
def test_terms_are_added_in_the_order_of_items(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirds and large numbers, whose sum depends on the order; more ranks than items, and than entries."""
    monkeypatch.setattr(replicas, "TOGETHER", together)
    items = [1e16, 1.0, -1e16, 1 / 3, 1e8, 7.0]

    def terms(graph: gasla.Graph, some: list[float]) -> Any:
        assert graph.is_whole
        return (np.full(graph.n, x) / (1 + np.arange(graph.n)) for x in some)

    expected = GRAPH.sum_shares(terms, items)
    np.testing.assert_array_equal(expected, sum(terms(GRAPH, items), np.zeros(GRAPH.n)))
    for ranks in (1, 2, 5, 9):
        assert over(GRAPH, ranks).sum_shares(terms, items).tobytes() == expected.tobytes()
    for graph in (GRAPH, over(GRAPH, 2)):
        with pytest.raises(ValueError, match="there are no items"):
            graph.sum_shares(terms, [])


def test_replicas_are_the_graph() -> None:
    def arrays(graph: gasla.Graph, items: Any, first: int) -> np.ndarray:
        return np.repeat(np.concatenate([*graph.edges(), graph.values])[np.newaxis], len(items), axis=0)

    for graph in (GRAPH, SHAPES["parallel edges"], SHAPES["wide offsets"]):
        found = over(graph, 3).map_shares(arrays, [0] * 4)
        np.testing.assert_array_equal(found, arrays(graph, [0] * 4, 0))


def test_values_are_placed_where_runs_read_them() -> None:
    values = np.arange(2.0 * GRAPH.n).reshape(-1, 2)
    for ranks in (1, 3, GRAPH.n + 2):
        spread = over(GRAPH, ranks)
        held = spread.placed(values)
        np.testing.assert_array_equal(held.compute(), values)
        np.testing.assert_array_equal(
            gasla.run(Sums, spread, max_iterations=2, x=held).x,
            gasla.run(Sums, GRAPH, max_iterations=2, x=GRAPH.placed(values)).x,
        )
        with pytest.raises(ValueError, match=f"values has 2 entries; expected {GRAPH.n}, one per vertex"):
            spread.placed(values[:2])


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("combine", [semirings.plus, semirings.min])
def test_contracted_graphs_are_those_of_one_process(combine: Any, loops: bool) -> None:
    for graph in [*SHAPES.values(), GRAPH, GRAPH.with_values(None)]:
        labels = np.random.default_rng(2).integers(0, max(1, graph.n // 2), graph.n)
        expected = graph.contract(labels, combine, loops=loops)
        for ranks in (1, 3):
            found = over(graph, ranks).contract(labels, combine, loops=loops)
            assert found.is_whole and found.n == expected.n
            for one, other in zip(found.edges(), expected.edges(), strict=True):
                np.testing.assert_array_equal(one, other)
            np.testing.assert_array_equal(found.values, expected.values)
            np.testing.assert_array_equal(found.origin.new_vertices, expected.origin.new_vertices)
            np.testing.assert_array_equal(found.origin.vertices, expected.origin.vertices)
            with pytest.raises(TypeError, match="does not know which edges became one"):
                found.origin.new_edges  # noqa: B018
    with pytest.raises(TypeError, match="combine is None; expected a monoid"):
        over(GRAPH, 2).contract(np.zeros(GRAPH.n, int), None)
    with pytest.raises(ValueError, match="label"):
        over(GRAPH, 2).contract(np.full(GRAPH.n, GRAPH.n))


def test_a_rank_cannot_call_all_ranks() -> None:
    """On cards it would wait for itself; a function that ranks call gets arrays, which are read before."""
    spread = over(GRAPH, 2)
    degrees = spread.in_degrees
    with pytest.raises(RuntimeError, match=r"a function on a rank has called .* on all ranks"):
        spread.map_shares(lambda graph, items, first: degrees[items], [0, 1])
    np.testing.assert_array_equal(spread.map_shares(lambda graph, items, first: np.array(items), [3, 1]), [3, 1])


def test_a_rank_that_fails_in_its_share_is_named() -> None:
    def failing(graph: gasla.Graph, items: list[int]) -> Any:
        for item in items:
            if item == 4:
                raise ZeroDivisionError("no term")
            yield np.ones(3)

    spread = over(GRAPH, 3)
    with pytest.raises(ZeroDivisionError, match="no term") as caught:
        spread.sum_shares(failing, list(range(7)))
    assert caught.value.__notes__[0].startswith("on rank 1 of 3")
    np.testing.assert_array_equal(spread.sum_shares(failing, [0, 1, 2]), [3, 3, 3])  # ranks are as they were


@pytest.mark.thorough
@pytest.mark.parametrize("distance", [None, "weight"])
def test_closeness_divides_a_graph_that_does_not_fit_each_rank(monkeypatch: pytest.MonkeyPatch, distance: Any) -> None:
    graph = random_graph()
    spread = over(graph, 3)
    expected = gasla.closeness_centrality(graph, distance=distance)
    shared = gasla.closeness_centrality(spread, distance=distance)
    monkeypatch.setattr(distributed.Graph, "sum_shares", _no_room)
    divided = gasla.closeness_centrality(spread, distance=distance)
    for found in (shared, divided):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


SHARED: dict[str, Callable[[Any], Any]] = {
    "searches": lambda g: gasla.multi_source_bfs(g, [3, 5, 3, 40, 1], depth_limit=4),
    "paths": lambda g: gasla.multi_source_shortest_paths(g, [3, 5, 3, 40, 1]),
    "near paths": lambda g: gasla.multi_source_shortest_paths(g, [3, 5], cutoff=9.0, dtype=np.float32),
    "ranks": lambda g: gasla.pagerank(
        g, personalization=[{v: 1.0} for v in range(0, 60, 3)], dangling={2: 1.0}, dtype=np.float32, tol=1e-4
    ),
    "ranks of arrays": lambda g: gasla.pagerank(
        g, personalization=np.eye(9, 60), nstart=np.ones((9, 60)), tol=0, max_iter=3, weighted=False
    ),
}


@pytest.mark.parametrize("name", SHARED)
def test_rows_of_many_sources_are_shared(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And are those of one process: ranks have the whole graph, or divide it where one has no room."""
    graph = random_graph().with_values(None) if name == "ranks of arrays" else random_graph()
    expected, shares = SHARED[name](graph), []
    share = distributed.Graph.map_shares
    monkeypatch.setattr(distributed.Graph, "map_shares", lambda *given: shares.append(1) or share(*given))
    for ranks in (1, 4):
        found = SHARED[name](over(graph, ranks))
        assert len(shares) == 1 and shares.pop()
        same_rows(found, expected)
    monkeypatch.setattr(distributed.Graph, "map_shares", _no_room)
    same_rows(SHARED[name](over(graph, 2)), expected)


def same_rows(found: Any, expected: Any) -> None:
    if isinstance(expected, np.ndarray):
        found, expected = (found,), (expected,)
    assert (np.asarray(found[0]).dtype, found[0].shape) == (expected[0].dtype, expected[0].shape)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1:], expected[1:], rtol=1e-12)


@pytest.mark.parametrize("number", range(4))
def test_shares_of_weights_of_any_size(number: int) -> None:
    """The weights of each vertex by a factor of its own, as which its edges have the same shares."""
    rng = np.random.default_rng(number)
    src, dst = rng.integers(0, 6, (2, 12))
    weights, factors = rng.integers(1, 9, 12).astype(float), 2.0 ** rng.permutation([-1000, 1000, 0, -900, 900, -500])
    with gasla.engines.interpreted():
        expected = gasla.pagerank(gasla.Graph.from_edges(src, dst, weights, n=6)).ranks
        graph = gasla.Graph.from_edges(src, dst, weights * factors[src], n=6)
        for found in (gasla.pagerank(graph), gasla.pagerank(over(graph, 3))):
            np.testing.assert_allclose(found.ranks, expected, rtol=1e-9)


def test_errors_of_many_personalizations_are_those_of_one_process() -> None:
    for wrong, message in (([{0: -1.0}], "vertex 0 is -1.0"), ([{0: 1.0}, {400: 1.0}], "vertex 400 is outside")):
        with pytest.raises(ValueError, match=message):
            gasla.pagerank(over(random_graph(), 2), personalization=wrong)
    with pytest.raises(ValueError, match="dangling has 3 distributions; expected one, or 2"):
        gasla.pagerank(over(random_graph(), 2), personalization=[{0: 1.0}] * 2, dangling=[{0: 1.0}] * 3)


def _no_room(*_: Any) -> None:
    raise MemoryError


def test_a_graph_that_does_not_fit_each_rank_is_not_replicated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 500)
    with pytest.raises(
        MemoryError, match=r"^betweenness_centrality: each rank .* rank 0 has 250; expected more memory"
    ):
        gasla.betweenness_centrality(over(GRAPH, 2))
    with pytest.raises(MemoryError, match=r"^random_walks: each rank"):
        gasla.random_walks(over(GRAPH, 2), [0], 3)


class Groups(gasla.VertexProgram):
    """The size of each vertex's group."""

    everyone = True
    group = gasla.vertex(gasla.ID)
    size = gasla.vertex(np.int64)

    @gasla.aggregate(semirings.plus, np.int64, at=lambda self, vertex: vertex.group)
    def count(self, before, after):
        return 1

    def apply(self, vertex, _):
        return {"size": self.at(vertex.group).count}


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])  # seconds to compile
def test_aggregates_at_vertices_are_results(compiled: bool) -> None:
    options: dict[str, Any] = {"max_iterations": 2, "compile": compiled, "group": np.array([3, 0, 3, 4, -1])}
    one, found = (gasla.run(Groups, g, **options) for g in (GRAPH, over(GRAPH, 3)))
    np.testing.assert_array_equal(found.size, one.size)
    assert isinstance(found.aggregates["count"], distributed.BlockArray)
    np.testing.assert_array_equal(found.aggregates["count"], one.aggregates["count"])


def test_a_rank_that_fails_where_others_wait_for_its_aggregates(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(self: VertexAggregates, communicator: Any, parts: Any) -> int:
        if communicator.rank == 1 and communicator.superstep == 1:
            raise MemoryError("no memory for aggregates")
        return exchange(self, communicator, parts)

    exchange = VertexAggregates.exchange
    monkeypatch.setattr(VertexAggregates, "exchange", failing)
    options: dict[str, Any] = {"max_iterations": 3, "compile": False, "group": np.zeros(5, int)}
    with pytest.raises(MemoryError, match="no memory") as caught:
        gasla.run(Groups, over(GRAPH, 3), **options)
    assert "rank 1 of 3" in caught.value.__notes__[0] and "superstep 1" in caught.value.__notes__[0]
    with pytest.raises(ZeroDivisionError):
        gasla.run(Groups, over(GRAPH, 2), callback=lambda result: 1 // 0, **options)


def test_values_of_some_edges_come_from_their_ranks() -> None:
    spread = over(GRAPH, 3)
    assert (spread.is_whole, GRAPH.is_whole) == (False, True)
    np.testing.assert_array_equal(spread.values[np.array([6, 0, 3, 0])], GRAPH.values[[6, 0, 3, 0]])
    assert len(spread.values[np.zeros(0, int)]) == 0
    with pytest.raises(IndexError, match="edge 7 is outside a graph of 7 edges"):
        spread.values[np.array([7])]
    with pytest.raises(TypeError, match="no process has all values"):
        spread.values[:3]


@pytest.mark.thorough
def test_a_search_has_the_levels_of_one_process() -> None:
    graph = random_graph()
    for ranks in (1, 2, 5):
        np.testing.assert_array_equal(gasla.bfs(over(graph, ranks), 3), gasla.bfs(graph, 3))


def timed(graph: Any) -> Any:
    """The graph with times of its edges, in the order of the input."""
    times = np.arange(graph.m) * 7919 % 1000
    return graph.with_edge_attributes(time=moved(times, graph.device) if type(graph) is gasla.Graph else times)


def by_turns(graph: Any, **options: Any) -> Any:
    """Communities without levels on one thread, which ranks do not have either."""
    with mock.patch.object(importlib.import_module("gasla.algorithms.community.community_search"), "ONE_THREAD", 0):
        return gasla.louvain_communities(graph, **options)


EXACT = {
    "bfs": lambda g: gasla.bfs(g, 3, parents=True).levels,
    "multi_source_bfs": lambda g: gasla.multi_source_bfs(g, [3, 5]),
    "eccentricity": gasla.eccentricity,
    "k_hop_counts": lambda g: gasla.k_hop_counts(g, 2),
    "effective_diameter": lambda g: np.array(gasla.effective_diameter(g, registers=None)),
    "sssp": lambda g: gasla.sssp(g, 3),
    "sssp up to a cutoff": lambda g: gasla.sssp(g, 3, cutoff=4),
    "nearest_source": lambda g: gasla.nearest_source(g, [3, 4]).nearest,
    "sssp of several": lambda g: gasla.sssp(g, [3, 4], parents=True).distances,
    "pagerank": lambda g: gasla.pagerank(g, weighted=False).ranks,
    "pagerank, personal": lambda g: gasla.pagerank(g, weighted=False, personalization={3: 1}).ranks,
    "pagerank, not normalized": lambda g: gasla.pagerank(g, normalized=False).ranks,
    "connected_components": lambda g: gasla.connected_components(g).labels,
    "how many components": lambda g: gasla.connected_components(g).count,
    "core_number": lambda g: gasla.core_number(g),
    "maximal_independent_set": lambda g: gasla.maximal_independent_set(g, seed=1),
    "multi_source_shortest_paths": lambda g: gasla.multi_source_shortest_paths(g, [3, 5]),
    "topological_order": lambda g: gasla.topological_order(g),
    "longest_path": lambda g: gasla.longest_path(g).lengths,
    "k_core": lambda g: gasla.k_core(g, 2),
    "maximal_matching": gasla.maximal_matching,
    "label_propagation": lambda g: gasla.label_propagation(g, seed=3),
    "louvain_communities": lambda g: by_turns(g).labels,
    "leiden_communities": lambda g: by_turns(g, refine=True).labels,
    "strongly_connected_components": lambda g: gasla.strongly_connected_components(g).labels,
    "condensation": lambda g: np.concatenate(gasla.condensation(g).edges()),
    "minimum_spanning_forest": lambda g: gasla.minimum_spanning_forest(g).edges,
    "betweenness_centrality": lambda g: gasla.betweenness_centrality(g, endpoints=True),
    "edge_betweenness_centrality": lambda g: gasla.edge_betweenness_centrality(g, weighted=True),
    "walk": lambda g: gasla.walk(Uphill, g, np.arange(50), 6, seed=4, weighted=True, height=g.in_degrees),
    "random_walks": lambda g: gasla.random_walks(g, np.arange(50), 6, seed=4),
    "node2vec_walks": lambda g: gasla.node2vec_walks(g, np.arange(50), 6, p=0.5, q=2, seed=4),
    "aggregate_features": lambda g: gasla.aggregate_features(g, np.arange(3.0 * g.n).reshape(-1, 3) / 7, "mean"),
    "clustering": gasla.clustering,
    "scan_statistics": gasla.scan_statistics,
    "transitivity": lambda g: np.array(gasla.transitivity(g)),
    "count_cliques": lambda g: np.array(gasla.count_cliques(g, 3)),
    "preferential_attachment": lambda g: gasla.preferential_attachment(g, [[0, 1], [2, 3]]),
    "spectral_embedding": lambda g: gasla.spectral_embedding(g, 3).vectors,
    "fiedler_vector": gasla.fiedler_vector,
    "earliest_arrival": lambda g: gasla.earliest_arrival(timed(g), 3, duration=1),
    "latest_departure": lambda g: gasla.latest_departure(timed(g), 3, duration=1),
    "fastest_durations": lambda g: gasla.fastest_durations(timed(g), 3, duration=1),
    "temporal_reachability": lambda g: gasla.temporal_reachability(timed(g), [3, 5], duration=1),
}
CLOSE = {  # sums of floats in aggregates take part
    "pagerank, weighted": lambda g: gasla.pagerank(g).ranks,
    "hits": lambda g: gasla.hits(g).authorities,
    "katz_centrality": lambda g: gasla.katz_centrality(g).scores,
    "eigenvector_centrality": lambda g: gasla.eigenvector_centrality(g).scores,
    "salsa": lambda g: gasla.salsa(g).authorities,
    "closeness_centrality": gasla.closeness_centrality,
    "harmonic_centrality": gasla.harmonic_centrality,
    "average_clustering": lambda g: np.array(gasla.average_clustering(g)),
    "modularity": lambda g: np.array(gasla.modularity(g, np.zeros(g.n, int))),
    "pagerank_nibble": lambda g: gasla.pagerank_nibble(g, 3).scores,
}


ACYCLIC = {"topological_order", "longest_path"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*EXACT, *CLOSE])
def test_algorithms_are_those_of_one_process(name: str) -> None:
    """A program to compile for each, and another for ranks."""
    graph = random_graph()
    if name in ACYCLIC:
        src, dst = graph.to_edge_index()
        graph = graph.select(src < dst)
    for ranks in (2, 3):
        spread = over(graph, ranks)
        if name in EXACT:
            np.testing.assert_array_equal(EXACT[name](spread), EXACT[name](graph))
        else:
            np.testing.assert_allclose(CLOSE[name](spread), CLOSE[name](graph), rtol=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("options", [{}, {"normalized": False}, {"weighted": False}])
@pytest.mark.parametrize("form", ["as it is", "symmetric", "without values"])
def test_eigenvectors_of_graphs_that_are_not_written_out(options: dict[str, Any], form: str) -> None:
    graph = random_graph(300, 1500)
    if form == "symmetric":
        graph = graph.symmetrized(semirings.plus)
    if form == "without values":
        graph = graph.with_values(None)
    expected = gasla.spectral_embedding(graph, 2, **options)
    for ranks in (2, 3):
        found = gasla.spectral_embedding(over(graph, ranks), 2, **options)
        np.testing.assert_array_equal(found.vectors, expected.vectors)
        np.testing.assert_array_equal(found.values, expected.values)


LIBRARY = {name for name, home in gasla._HOMES.items() if home.startswith("algorithms.")}
LIBRARY |= {"walk", "sample_neighbors", "negative_edges", "split_edges", "mxm", "top_k"}
MARKED = {  # those that take a distributed graph, as the page says
    name
    for name, where in re.findall(
        r"^\| `(\w+)` \|.*\| (CPU[^|]*) \|", (ROOT / "docs" / "functions.md").read_text(encoding="utf-8"), re.M
    )
    if "ranks" in where
}
NOT_HAD: dict[str, Callable[[Asked], Any]] = {
    **{law.function: law.call for law in ROWS if law.function in LIBRARY - MARKED},
    "draw": lambda q: gasla.draw(q.given),
    "assignment": lambda q: gasla.assignment(q.given),
    "temporal_cycles": lambda q: gasla.temporal_cycles(q.given, 3, 10),
    "temporal_motif_counts": lambda q: gasla.temporal_motif_counts(q.given, 5),
    "pagerank": lambda q: gasla.pagerank(q.given, order="in place"),  # and other options
    "preferential_attachment": lambda q: gasla.preferential_attachment(q.given),
    "count_cliques": lambda q: gasla.count_cliques(q.given, 4),
    "clustering": lambda q: gasla.clustering(q.given, mode="directed"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", NOT_HAD)
def test_what_of_the_library_ranks_cannot_do_is_refused_by_name(name: str) -> None:
    """By the same words, and before any work."""
    spread = over(GRAPH, 2)
    asked = Asked(spread, GRAPH, np.arange(GRAPH.n), np.arange(GRAPH.m), GRAPH.m)
    words = f"^{name}: graph is a distributed graph, of which no process has all edges; expected a gasla.Graph"
    with (
        mock.patch.object(spread.ranks, "each", side_effect=AssertionError("work began")),
        pytest.raises(TypeError, match=words),
    ):
        NOT_HAD[name](asked)


def test_every_algorithm_is_tried_over_ranks_or_refused() -> None:
    """Here, or in a row of the laws."""
    tried = {name.partition(",")[0].partition(" of ")[0] for name in [*EXACT, *CLOSE]}
    tried |= {law.function for law in ROWS if law.ranks}
    assert tried & LIBRARY == MARKED & LIBRARY
    assert NOT_HAD.keys() >= LIBRARY - MARKED


@pytest.mark.slow
def test_values_travel_far_between_exchanges() -> None:
    """Drained: compiled runs of a grid take few exchanges, whatever its diameter."""
    grid = gasla.Graph(gasla.generators.grid(12))
    spread = over(grid, 4)
    np.testing.assert_array_equal(gasla.sssp(spread, 0), gasla.sssp(grid, 0))


def test_products_over_ranks_take_vectors_of_the_same_types() -> None:
    """float16 is converted to float32, as in one process, also of a field that is in blocks; texts are refused."""
    spread, x = over(GRAPH, 2), np.arange(GRAPH.n).astype(np.float16)
    for semiring in (semirings.min_plus, semirings.xor_and):
        expected = gasla.mxv(GRAPH, x, semiring)
        for vector in (x, spread.placed(x)):
            product = gasla.mxv(spread, vector, semiring)
            np.testing.assert_array_equal(product.compute(), expected)
            assert product.dtype == expected.dtype
    with pytest.raises(TypeError, match="x has type <U1; expected one of bool"):
        gasla.mxv(spread, np.array(["a"] * GRAPH.n))


@pytest.mark.parametrize("ranks", [2, 3])
def test_vertices_numbered_by_parts_have_fewer_mirrors(ranks: int) -> None:
    """As the page on ranks says, of a graph whose numbers say nothing about neighbors; results come back by `order`."""
    near = gasla.Graph(gasla.generators.rgg(9))
    mixed = near.subgraph(np.random.default_rng(ranks).permutation(near.n))
    parts = gasla.partition(mixed, ranks, objective="volume", node_weights=mixed.in_degrees + 1, tolerance=0.001)
    order = np.argsort(parts.labels, kind="stable")
    by_parts = over(mixed.subgraph(order), ranks)
    assert by_parts.report()["mirrors"].sum() < 0.3 * over(mixed, ranks).report()["mirrors"].sum()
    levels = np.empty(mixed.n, np.int64)
    levels[order] = gasla.bfs(by_parts, int(np.flatnonzero(order == 0)[0])).compute()
    assert np.array_equal(levels, gasla.bfs(mixed, 0))
