"""What the engines say of their runs is so: each sentence of a program that it is true of, and not of another."""

import sys
from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla.cpu.program.generate import plan as cpu_plan
from gasla.gpu.explanation import loop
from gasla.gpu.program.generate import Module
from gasla.gpu.program.plan import Variant
from gasla.graph.graph import Graph
from gasla.operations.prepare import TRACE, WAYS
from gasla.program.binding import PULL, PUSH
from gasla.program.plan import Plan
from gasla.program.reasons import ways
from tests.helpers import programs, wide_programs
from tests.program.test_runs import PROGRAMS

EDGES = [0, 0, 1, 2, 3], [1, 2, 2, 3, 0]
GRAPH = Graph.from_edges(*EDGES, [4, 1, 1, 2, 1])
FLOATS = GRAPH.with_values(np.array([4, 1, 1, 2, 1.0]))
HUB = Graph.from_edges(range(1, 51), [0] * 50)


class Forty(programs.Spread):
    """More numbers than are sent one by one, though each absorbs on its own."""

    everyone = False
    x = gasla.vertex((np.int64, (12,)))
    reduce = semirings.max

    def gather(self, src, dst, edge):
        return src.x

    def apply(self, vertex, gathered):
        return {"x": semirings.maximum(vertex.x, gathered)}


class Ordered(programs.Chain):
    everyone = False
    sources = "active"


class Looking(programs.Hops):
    def mask(self, vertex):
        return vertex.hops > 3


class Asking(programs.Cheapest):
    @gasla.aggregate(semirings.plus, np.float32)
    def total(self, before, after):
        return after.cost


class Falling(programs.Hops):
    def gather(self, src, dst, edge):
        return 7 - src.hops


class Wide(Forty):
    x = gasla.vertex((np.float32, (64,)))


def said(program: Any, graph: Graph = GRAPH, **options: Any) -> list[str]:
    return gasla.explain(program, graph, **options).splitlines()


Case = tuple[Any, Graph, dict[str, Any]]


def case(program: Any, graph: Graph = GRAPH, **options: Any) -> Case:
    return program, graph, options


SENTENCES: list[tuple[str, Case, Case]] = [
    ("An iteration pushes where few edges are active, and pulls where many are.", case(programs.Hops), case(Asking)),
    ("Every iteration pushes, because direction='push'.", case(programs.Hops, direction="push"), case(programs.Hops)),
    ("Every iteration pulls, because direction='pull'.", case(programs.Hops, direction="pull"), case(programs.Hops)),
    ("Every iteration pushes: active vertices push along", case(programs.Cheapest), case(programs.Hops)),
    ("It never pushes, because nothing is gathered.", case(programs.Counter), case(programs.Hops)),
    ("It never pushes, because everyone = True", case(programs.Spread), case(programs.Hops)),
    ("It never pushes, because deterministic=True", case(programs.Hops, deterministic=True), case(programs.Hops)),
    ("because the receivers of each iteration are known", case(programs.Hops, scheduled=True), case(programs.Hops)),
    ("It never pushes, because compose depends on the order of values", case(Ordered), case(programs.Paths)),
    ("It never pushes, because values of inactive neighbors", case(programs.Waking), case(programs.Paths)),
    ("more than are pushed one by one.", case(Forty), case(programs.Hops)),
    ("If few edges are active, their destinations receive", case(programs.Waking), case(programs.Hops)),
    ("If few edges are active, their destinations receive", case(programs.Waking), case(programs.Spread)),
    ("It absorbs: values are reduced directly into hops", case(programs.Hops), case(Looking)),
    ("It absorbs", case(programs.Cheapest), case(programs.Cheapest, deterministic=True)),
    ("in the next iteration, because mask reads hops.", case(Looking), case(programs.Hops)),
    ("in the next iteration, because total reads what each", case(Asking), case(programs.Cheapest)),
    ("in the next iteration, because what gather returns does not grow", case(Falling), case(programs.Hops)),
    ("in the next iteration, because plus is not idempotent.", case(programs.Paths), case(programs.Hops)),
    ("in the next iteration, because everyone = True.", case(programs.Rising), case(programs.Hops)),
    ("in the next iteration, because deterministic", case(programs.Hops, deterministic=True), case(programs.Hops)),
    ("The first neighbor to reach a vertex applies to it at once", case(programs.Reach), case(programs.Seven)),
    ("are reduced in an accumulator", case(programs.Seven), case(programs.Reach)),
    ("are gathered, because sources = 'active'.", case(programs.Paths), case(programs.Waking)),
    ("are gathered, because others have been reduced before.", case(programs.Hops), case(programs.Paths)),
    ("Vertices are taken in buckets", case(programs.Cheapest), case(programs.Hops)),
    ("found from the mean edge value", case(programs.Cheapest), case(programs.Hops)),
    ("Values are reduced in the order of the input, because compose", case(programs.Chain), case(programs.Spread)),
    ("A pull ends at the first value", case(programs.Ring), case(programs.Alarm)),
    ("A pull ends once no further value can change", case(programs.Alarm), case(programs.Waking)),
    ("are added up in the order of the vertices", case(programs.Cooling, deterministic=True), case(programs.Cooling)),
    ("priority is not used, because total reads", case(Asking), case(programs.Cheapest)),
    ("x has two copies, one read and one written", case(programs.Spread), case(programs.Waking)),
    ("All receivers gather before any applies: neighbors read load", case(programs.Waking), case(programs.Spread)),
    ("Edge ids are read with the neighbor lists, to find flow.", case(programs.Flow), case(programs.Waking)),
    ("In-edges are gathered over in lists made from the given edges", case(programs.Waking), case(programs.Settling)),
    ("Out-edges are gathered over as the graph was given.", case(programs.Settling), case(programs.Waking)),
    ("Out-edges are pushed along as the graph was given.", case(programs.Waking), case(programs.Spread)),
    ("In-edges are gathered over", case(programs.Hops), case(programs.Cheapest)),
    ("In-edges are searched for active neighbors", case(programs.Counter), case(programs.Waking)),
    ("Edges of both directions are traversed", case(programs.Bits), case(programs.Hops)),
    ("is converted from int64 to float64: 40 bytes", case(programs.Nearest), case(programs.Nearest, FLOATS)),
    ("weight of in-edges is copied into the order of", case(programs.Nearest, FLOATS), case(programs.Nearest)),
    ("weight of out-edges is read where it was given.", case(programs.Nearest, FLOATS), case(programs.Nearest)),
    ("weight of in-edges is 1, as the graph has no values", case(programs.Nearest, HUB), case(programs.Nearest)),
    ("Neighbor lists are short", case(programs.Spread), case(programs.Spread, HUB)),
    ("Neighbor lists are short", case(programs.Spread), case(programs.Rising)),
    ("One thread does all: waking others does not pay", case(programs.Waking), case(programs.Waking, "large")),  # type: ignore[arg-type]
    ("It runs on the CPU", case(programs.Waking), case(programs.Waking)),
]  # fmt: skip


@pytest.fixture(scope="module")
def large() -> Graph:
    rng = np.random.default_rng(1)
    return Graph.from_edges(*rng.integers(0, 9000, (2, 30_000)), rng.integers(1, 9, 30_000), n=9000)


@pytest.mark.parametrize(("sentence", "with_it", "without"), SENTENCES, ids=[s[:40] for s, *_ in SENTENCES])
def test_a_sentence_is_said_where_it_is_so_and_nowhere_else(
    sentence: str, with_it: Case, without: Case, large: Graph
) -> None:
    def text(program: Any, graph: Any, options: dict[str, Any]) -> str:
        return gasla.explain(program, large if isinstance(graph, str) else graph, **options)

    assert sentence in text(*with_it)
    assert without == with_it or sentence not in text(*without)


def test_an_interpreter_shows_an_explanation_by_lines() -> None:
    said = gasla.explain(Forty, GRAPH)
    assert repr(said) == str(said) and len(repr(said).splitlines()) > 1


@pytest.mark.thorough
@pytest.mark.parametrize("options", [{}, {"deterministic": True}, {"scheduled": True}], ids=str)
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_said_is_what_is_generated(program: Any, options: dict[str, bool]) -> None:
    if options.get("scheduled") and (hasattr(program, "mask") or hasattr(program, "scatter")):
        return
    plan = cpu_plan(program, np.dtype(np.int32), **options)
    lines = said(program, **options)
    text = "\n".join(lines)
    loop_text = plan.source_text.partition("def run_loop(")[2]
    assert ("It never pushes" in text) == ("push(" not in loop_text)
    assert ("Every iteration pushes" in text) == ("push(" in loop_text and "gather_all(" not in loop_text)
    assert text.count("has two copies") == len(plan.doubled)
    assert ("Vertices are taken in buckets" in text) == ("split(" in loop_text)
    assert ("pushed along" in text) == ("sp" in plan.arrays and program.direction != "all")
    assert ("Edge ids are read" in text) == bool({"ge", "se"} & set(plan.arrays))
    assert plan.gathers_few_at_once == ("if narrow and " in plan.source_text)
    assert ("in the order of the vertices" in text) == ("sum_up(" in loop_text)
    if "All receivers gather before" in text:
        assert "apply_list(" in loop_text
    if "scheduled" not in options:
        assert f"{gasla.workspace(program, GRAPH, **options):,} at most" in text
    assert all(line.endswith(".") for line in lines)


def test_threads_that_share_the_work_are_as_many_as_run(large: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gasla.cpu.runtime.threads.num_threads", lambda: 2)
    sentence = "2 threads share the work; one goes on alone where iterations have little work."
    assert sentence in said(programs.Waking, large)
    assert "One thread does all" in gasla.explain(programs.Counter, large, scheduled=True)  # each takes part but once
    monkeypatch.setattr("gasla.cpu.runtime.threads.num_threads", lambda: 1)
    assert "One thread does all, as it is the only one." in said(programs.Waking, large.with_values(None))


def test_a_bucket_is_of_edge_values_or_a_part_of_what_waits() -> None:
    class Widest(programs.Cheapest):
        reduce = semirings.max

        def gather(self, src, dst, edge):
            return semirings.minimum(src.cost, edge.weight)

        def apply(self, vertex, gathered):
            return {"cost": semirings.maximum(vertex.cost, gathered)}

        def activate(self, before, after):
            return after.cost > before.cost

        def priority(self, vertex):
            return -vertex.cost

    assert "found as a fraction of the waiting range" in gasla.explain(Widest, FLOATS)


@pytest.mark.thorough
def test_whether_there_is_code_already() -> None:
    number = int(np.random.default_rng().integers(2**40))

    class New(gasla.VertexProgram):
        everyone = True
        x = gasla.vertex(np.int64)

        def apply(self, vertex, gathered):
            return {"x": vertex.x + number}

    graph = Graph.from_edges(*EDGES)
    assert "Its code is compiled in the first call" in gasla.explain(New, graph)
    assert "has compiled" not in gasla.explain(New, graph)
    gasla.run(New, graph, max_iterations=1)
    assert "Its code is compiled already." in gasla.explain(New, graph)


@pytest.mark.thorough
def test_nothing_runs_or_stays_locked() -> None:
    graph = Graph.from_edges(*EDGES, [1.0] * 5)
    first = gasla.explain(programs.Cheapest, graph)
    assert gasla.explain(programs.Cheapest, graph) == first
    assert gasla.run(programs.Cheapest, graph, active=[0], cost={0: 0}).cost.tolist() == [0, 1, 1, 2]
    prepared = gasla.prepare(programs.Cheapest, graph)
    assert prepared(active=[0], cost={0: 0}, callback=lambda _: bool(gasla.explain(programs.Cheapest, graph)) and None)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="scheduled is 1; expected True or False"):
        gasla.explain(programs.Hops, GRAPH, scheduled=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected 'auto', 'push' or 'pull'"):
        gasla.explain(programs.Hops, GRAPH, direction="up")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"expected a gasla\.VertexProgram"):
        gasla.explain(3, GRAPH)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the matrix holds float64, and the program's edge field is int64"):
        gasla.explain(programs.Spread, FLOATS)
    with pytest.raises(ValueError, match="has no mask, scatter"):
        gasla.explain(programs.Flow, GRAPH, scheduled=True)
    for wrong in (np.float64, np.int16):
        with pytest.raises(ValueError, match=rf"id_type is {np.dtype(wrong)}; expected int32 or int64"):
            gasla.source(programs.Hops, "cpu", wrong)


# --- the trace ------------------------------------------------------------------------------------------------------


def traced(program: Any, graph: Graph, **options: Any) -> set[tuple[str, str]]:
    trace = gasla.run(program, graph, trace=True, **options).trace
    return {(str(row["direction"]), str(row["reason"])) for row in trace}


@pytest.mark.slow
def test_a_trace_names_the_reason_of_each_direction(large: Graph) -> None:
    few, many = ("push", "few edges are active"), ("pull", "many edges are active")
    start: dict[str, Any] = {"active": [0], "hops": {0: 0}}
    assert traced(programs.Hops, large, **start) == {few, many}
    assert traced(programs.Hops, large, **start, direction="push") == {("push", "direction='push'")}
    assert traced(programs.Hops, large, **start, direction="pull") == {("pull", "direction='pull'")}
    assert traced(programs.Cheapest, FLOATS, active=[0], cost={0: 0}) == {("push", "near vertices first")}
    assert traced(programs.Hops, large, **start, compile=False) == {("pull", "compile=False")}
    assert gasla.run(programs.Hops, GRAPH, max_iterations=0, trace=True).trace.shape == (0,)


@pytest.mark.slow  # a program each
def test_a_trace_names_the_reason_of_who_never_pushes(large: Graph) -> None:
    assert traced(programs.Waking, large, active=[0], max_iterations=2) == {
        ("push", "few edges are active; their neighbors pull")
    }
    assert traced(programs.Waking, large, max_iterations=1) == {("pull", "many edges are active")}
    assert traced(programs.Spread, large, max_iterations=2) == {("pull", "everyone receives")}
    schedule = np.arange(large.n) % 3
    assert traced(programs.Counter, large, schedule=schedule) == {("pull", "a schedule gives the receivers")}


@pytest.mark.parametrize("program", PROGRAMS)
def test_reasons_fit_into_a_trace(program: Any) -> None:
    most = TRACE["reason"].itemsize // 4
    t = program.traced(np.dtype(np.int32))
    offsets = np.dtype(np.int32)
    plans = [Plan(t), Plan(t, deterministic=True), Plan(t, scheduled=True)]
    plans += [Module(t, Variant(offsets)), Module(t, Variant(offsets, small=True)), Module(t, Variant(offsets, True))]
    for plan in plans:
        for asked in WAYS.values():
            found = ways(plan, asked)
            assert found.keys() == {PULL, PUSH}
            assert all(0 < len(reason) <= most for reason in found.values())


def test_a_gpu_takes_wide_vectors_by_warps() -> None:
    plan = Module(wide_programs.spreading(40).traced(np.dtype(np.int32)), Variant(np.dtype(np.int32)))
    assert plan.reason_to_pull == "a warp gathers wide vectors for one vertex; they are never sent"
    sentence = "A warp handles one vertex at a time; its lanes hold the items of wide vectors, 32 side by side."
    assert sentence in loop(plan)


# --- on a GPU -------------------------------------------------------------------------------------------------------

LOOPS = [
    ("A warp handles one vertex at a time", Wide, {}, None),
    ("One block does all", programs.Waking, {"small": True}, {}),
    ("by 4 threads per row", programs.Spread, {"row_lanes": 4}, {"row_lanes": 0}),
    ("packed 32 to a warp", programs.Spread, {"row_lanes": 0}, {"row_lanes": 4}),
    ("Vertices are renumbered by descending degree", programs.Spread, {"relabelled": True}, {}),
    ("small frontiers stay lists", programs.Hops, {"bounded_degree": True}, {}),
    ("as in a road network", programs.Hops, {"bounded_degree": True, "local": True}, {"bounded_degree": True}),
    ("Long rows of the schedule are cut into pieces", programs.Waking, {"scheduled": True}, {}),
    ("A few threads handle each", programs.Waking, {"scheduled": True, "bounded_degree": True}, {"scheduled": True}),
    ("load of a neighbor has its initial value", programs.Waking, {"scheduled": True}, {}),
    ("Long rows are cut into pieces, which are", wide_programs.summing(40), {}, {"small": True}),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "program", "shape", "other"), LOOPS, ids=[s[:40] for s, *_ in LOOPS])
def test_the_gpu_says_which_loop_it_has(
    sentence: str, program: Any, shape: dict[str, Any], other: dict[str, Any] | None
) -> None:
    t = program.traced(np.dtype(np.int32))
    assert sentence in "\n".join(loop(Module(t, Variant(np.dtype(np.int32), **shape))))
    without = programs.Waking if other is None else program  # whatever the shape
    assert sentence not in "\n".join(
        loop(Module(without.traced(np.dtype(np.int32)), Variant(np.dtype(np.int32), **other or {})))
    )


@pytest.mark.gpu
def test_a_gpu_gives_the_same_answer(large: Graph) -> None:
    small, there = GRAPH.to("gpu"), large.to("gpu")
    text = gasla.explain(programs.Hops, small)
    assert "Every iteration pulls: on a graph as small as this one" in text
    assert "One block does all" in text
    assert "It runs on the GPU" in text
    assert "An iteration pushes where few edges are active" in gasla.explain(programs.Hops, there)
    assert (
        "it never pushes, because deterministic=true" in gasla.explain(programs.Hops, there, deterministic=True).lower()
    )
    assert gasla.explain(programs.Hops, large, device="gpu") == gasla.explain(programs.Hops, there)
    gasla.run(programs.Hops, there, active=[0], hops={0: 0})
    assert "that NVRTC has compiled already" in gasla.explain(programs.Hops, there)
    start: dict[str, Any] = {"active": [0], "hops": {0: 0}}
    assert traced(programs.Hops, small, **start) == {("pull", "the graph is small")}
    assert traced(programs.Hops, there, **start, deterministic=True) == {("pull", "deterministic=True")}
    assert traced(programs.Hops, there, **start) <= {
        ("push", "few edges are active"),
        ("pull", "many edges are active"),
    }
    assert traced(programs.Spread, there, max_iterations=2) == {("pull", "everyone receives")}


def test_a_gpu_is_explained_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """CuPy is not imported, and small graphs get another loop than large ones."""
    monkeypatch.setitem(sys.modules, "cupy", None)
    small = gasla.Graph.from_edges([0, 1], [1, 2])
    large = gasla.Graph.from_edges(np.arange(20_000), np.arange(1, 20_001))
    for program in (programs.Hops, programs.Spread):
        texts = [gasla.explain(program, graph, target="cuda") for graph in (small, large)]
        assert "One block does all the work" in texts[0]
        assert "One block does all the work" not in texts[1]
        assert all(text.endswith("on a GPU, its degrees may choose another loop.") for text in texts)
        assert gasla.explain(program, large, target="cpu") == gasla.explain(program, large)
    with pytest.raises(ValueError, match="target is 'gpu'; expected 'cpu' or 'cuda'"):
        gasla.explain(programs.Hops, small, target="gpu")
