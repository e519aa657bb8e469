"""`self.at(index)`: fields of vertices that are no neighbors, on both engines and by plain loops of Python."""

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla.arrays import moved
from gasla.gpu.program.generate import module
from gasla.gpu.program.plan import Variant
from gasla.program.plan import Plan
from tests.gpu.test_schedule_emulated import WALKS, Emulated, skewed
from tests.helpers import generated_runs
from tests.helpers.generated_programs import cases
from tests.program.test_generated import try_programs, worker  # noqa: F401

pytestmark = pytest.mark.thorough

MANY = int(os.environ.get("GASLA_GENERATED", "40"))
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
on_gpu = pytest.mark.gpu
THAT_LOOK_UP = cases(modes=("run", "deterministic", "scheduled")).filter(lambda case: "self.at" in case.source)
RUNS_THAT_LOOK_UP = cases(modes=("run", "deterministic")).filter(lambda case: "self.at" in case.source)
DEVICES = ["cpu", pytest.param("gpu", marks=on_gpu)]


@pytest.mark.slow
@pytest.mark.parametrize("share", range(int(os.environ.get("GASLA_SHARES", "1"))))
@pytest.mark.parametrize(
    ("engine", "strategy"),
    [
        pytest.param(generated_runs.on_cpu, THAT_LOOK_UP, id="cpu"),
        pytest.param(generated_runs.emulated, RUNS_THAT_LOOK_UP, id="emulated", marks=needs_compiler),
        pytest.param(generated_runs.on_gpu, THAT_LOOK_UP, id="gpu", marks=on_gpu),
    ],
)
def test_generated_programs_that_look_others_up(engine: Any, strategy: Any, share: int, worker: Any) -> None:  # noqa: F811
    try_programs(worker, engine, strategy, MANY, share)


class Roots(gasla.VertexProgram):
    """The roots of trees: each iteration doubles how far a vertex sees."""

    everyone = True
    parent = gasla.vertex(gasla.ID, missing=-7)

    def apply(self, vertex, gathered):
        return {"parent": self.at(vertex.parent).parent}


class Nearby(gasla.VertexProgram):
    """Of those that changed: the least label near, and of whom that names; a weight of whom a parameter names."""

    label = gasla.vertex(gasla.ID, init=lambda v: v.id, missing=-1)
    weight = gasla.vertex((np.float32, (3,)), init=lambda v: np.stack([v.id * 0.5, -v.id, v.id + 1]), missing=(1, 2, 3))
    far = gasla.parameter(np.int64, -1)
    direction = "all"
    reduce = semirings.min

    def gather(self, src, dst, edge):
        return src.label

    def apply(self, vertex, gathered):
        known = semirings.minimum(vertex.label, gathered)
        return {"label": semirings.minimum(known, self.at(known).label), "weight": self.at(self.far + known).weight}

    def activate(self, before, after):
        return after.label != self.at(before.id).label


class Levels(gasla.VertexProgram):
    """Breadth-first search up to a goal."""

    level = gasla.vertex(np.int32, init=2**30, missing=-1)
    goal = gasla.parameter(gasla.ID, 0)
    reduce = semirings.min

    def gather(self, src, dst, edge):
        return src.level + 1

    def apply(self, vertex, gathered):
        return {"level": semirings.minimum(vertex.level, gathered)}

    def stop(self):
        return (self.at(self.goal).level < 2**30) & (self.at(self.goal).level >= 0)


def graph_of(n: int, edges: list[tuple[int, int]], device: str) -> gasla.Graph:
    src, dst = zip(*edges, strict=True) if edges else ((), ())
    graph = gasla.Graph.from_edges(np.array(src, np.int64), np.array(dst, np.int64), n=n)
    return graph.to(device)


SHAPES = {
    "one vertex": (1, []),
    "a loop": (1, [(0, 0)]),
    "parallel": (3, [(2, 0), (2, 0), (0, 2)]),
    "disconnected": (7, [(6, 5), (5, 4), (1, 0)]),
    "star": (9, [(8, v) for v in range(8)]),
    "path": (60, [(v, v - 1) for v in range(1, 60)]),
}


def near_by_loops(n: int, edges: list[tuple[int, int]], far: int) -> tuple[np.ndarray, np.ndarray]:
    label = list(range(n))
    start = [[v * 0.5, -v, v + 1] for v in range(n)]
    weight, active = list(start), set(range(n))
    while active:
        receivers = {d for s, d in edges if s in active} | {s for s, d in edges if d in active}
        was, had, active = list(label), list(weight), set()
        for v in receivers:
            near = [was[s] for s, d in edges if d == v] + [was[d] for s, d in edges if s == v]
            known = min([was[v], *near])
            label[v] = min(known, was[known])
            at = far + known
            weight[v] = had[at] if 0 <= at < n else [1, 2, 3]
            if label[v] != was[v]:
                active.add(v)
    return np.array(label), np.array(weight, np.float32).reshape(n, 3)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("device", DEVICES)
def test_roots_by_pointer_jumping(device: str, compiled: bool) -> None:
    n, rng = 500, np.random.default_rng(3)
    parent = np.array([0, *(rng.integers(0, v) for v in range(1, n))])
    root = parent.copy()
    parent[1::50] = root[1::50] = [
        n + 5,
        -1,
        -(2**31),
        2**31 - 1,
        n,
        *(-9,) * 5,
    ]  # of nobody
    for _ in range(12):
        root = np.array([root[p] if 0 <= p < n else -7 for p in root])
    graph = graph_of(n, [], device)
    result = gasla.run(Roots(), graph, max_iterations=12, parent=parent.astype(np.int32), compile=compiled)
    np.testing.assert_array_equal(moved(result.parent, "cpu"), root)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("device", DEVICES)
def test_as_plain_loops_do(device: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gasla.cpu.program.workspace.SMALL", 0)  # several threads
    n, edges = SHAPES[name]
    graph = graph_of(n, edges, device)
    for far in (-1, 0, 2, 2**62):
        label, weight = near_by_loops(n, edges, far)
        for options in ({}, {"callback": lambda result: None}, {"deterministic": True}, {"compile": False}):
            result = gasla.run(Nearby(far=far), graph, **options)
            np.testing.assert_array_equal(moved(result.label, "cpu"), label)
            np.testing.assert_array_equal(moved(result.weight, "cpu"), weight)
    out = result.weight.copy()
    assert gasla.run(Nearby(far=far), graph, out={"weight": out}).weight is out
    np.testing.assert_array_equal(moved(out, "cpu"), weight)


@pytest.mark.parametrize("device", DEVICES)
def test_an_empty_graph_is_run(device: str) -> None:
    assert len(gasla.run(Nearby(), graph_of(0, [], device)).label) == 0
    assert len(gasla.run(Roots(), graph_of(0, [], device), max_iterations=2).parent) == 0
    assert len(gasla.run(Nearby(), graph_of(0, [], "cpu"), compile=False).label) == 0


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.slow
def test_a_goal_ends_a_search(device: str, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gasla.cpu.program.workspace.SMALL", 0)
    graph = graph_of(60, [(v, v + 1) for v in range(59)], device)
    for goal, level in ((0, 0), (1, 1), (30, 30), (59, 59)):
        result = gasla.run(Levels(goal=goal), graph, active=[0], level={0: 0}, compile=compiled)
        assert result.level[goal] == level
        assert result.iterations == max(level, 1) or (compiled and result.iterations <= level)
    for goal in (-1, 60, 2**31 - 1):  # nobody: it ends by itself
        result = gasla.run(Levels(goal=goal), graph, active=[0], level={0: 0}, compile=compiled)
        np.testing.assert_array_equal(moved(result.level, "cpu"), np.arange(60))


def test_a_goal_keeps_pushes_and_what_is_not_read_costs_nothing() -> None:
    plan = Plan(Levels.traced(np.dtype(np.int32)))
    assert plan.absorbs == ("level",) and plan.pushes and not plan.behind and plan.stop_sees_fields
    assert Plan(Nearby.traced(np.dtype(np.int32))).behind == {"label", "weight"}
    assert Plan(Roots.traced(np.dtype(np.int32))).doubled == {"parent"}

    class Constant(Levels):
        cost = gasla.vertex(np.int32, init=1, missing=0)

        def gather(self, src, dst, edge):
            return src.level + self.at(src.id + 1).cost

        stop = None

    plan = Plan(Constant.traced(np.dtype(np.int32)))
    assert plan.absorbs == ("level",) and not (plan.behind or plan.doubled)
    assert "was_" not in gasla.source(Constant)

    class Pruned(Levels):
        def activate(self, before, after):
            return (after.level < before.level) & (after.level < self.at(self.goal).level)

    assert "activate" in str(Plan(Pruned.traced(np.dtype(np.int32))).absorption)


def test_explain_says_what_is_copied() -> None:
    graph = graph_of(3, [(0, 1)], "cpu")
    assert "label has a second copy for self.at, with the values before the iteration" in str(
        gasla.explain(Nearby(), graph)
    )
    assert "count is reduced at vertices, in any order" in str(gasla.explain(Groups(), graph))
    assert "others, by self.at, read it while apply writes it" in str(gasla.explain(Roots(), graph))


@pytest.mark.parametrize(
    ("function", "told", "fields"),
    [
        (
            lambda self, v, g: {"x": self.at(v.id).y},
            "reads 'y' of another vertex, and the field has no value",
            {"y": 1},
        ),
        (lambda self, v, g: {"x": self.at(v.id * 0.5).x}, "expected a whole number, a vertex id", {}),
        (lambda self, v, g: {"x": self.at(v.id > 3).x}, "of type bool.; expected a whole number", {}),
        (lambda self, v, g: {"x": self.at("a").x}, "self.at\\('a'\\); expected a whole number", {}),
        (lambda self, v, g: {"x": self.at(v.id).z}, "has no field 'z'; it has id, in_degree, out_degree, x", {}),
        (lambda self, v, g: {"x": self.at(v.id).in_degree}, "hold it in a field, and read that", {}),
        (lambda self, v, g: {"x": self.at(v.id).w[0]}, "a vector of 20 items; expected at most 8", {"w": 20}),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(function: Any, told: str, fields: dict[str, int]) -> None:
    kinds = {name: gasla.vertex(np.int64 if k == 1 else (np.int64, (k,))) for name, k in fields.items()}
    wrong = type("Wrong", (gasla.VertexProgram,), {"x": gasla.vertex(np.int64, missing=0), **kinds, "apply": function})
    with pytest.raises((TypeError, AttributeError), match=told):
        wrong.traced(np.dtype(np.int32))


def test_wrong_declarations_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"P.x is, where missing, 300; expected values of uint8"):
        type("P", (gasla.VertexProgram,), {"x": gasla.vertex(np.uint8, missing=300)}).traced(np.dtype(np.int32))
    with pytest.raises(TypeError, match="has missing='a'; expected a value of type int64"):
        type("P", (gasla.VertexProgram,), {"x": gasla.vertex(np.int64, missing="a")}).traced(np.dtype(np.int32))
    for name in ("bucket", "priority"):
        looking = type("Levels", (Levels,), {name: lambda self, vertex: self.at(vertex.id + 1).level})
        with pytest.raises(ValueError, match=f"Levels.{name} reads 'level' of another vertex; expected fields"):
            looking.traced(np.dtype(np.int32))
    with pytest.raises(TypeError, match=r"Levels reads or reduces at other vertices, .* expected gasla.run"):
        gasla.stages.start(Levels(), graph_of(2, [(0, 1)], "cpu"))
    with pytest.raises(TypeError, match="is for the functions of a run"):
        Levels().at(3)


class Groups(gasla.VertexProgram):
    """How many are in a vertex's group, and the least of them, while groups merge."""

    group = gasla.vertex(gasla.ID, init=lambda v: v.id, missing=-1)
    size = gasla.vertex(np.int64, init=1)
    least = gasla.vertex(np.float32, init=0)
    direction = "all"
    reduce = semirings.min

    @gasla.aggregate(semirings.plus, np.int64, at=lambda self, vertex: vertex.group)
    def count(self, before, after):
        return 1

    @gasla.aggregate(semirings.min, np.float32, at=lambda self, vertex: vertex.group - 1)
    def first(self, before, after):
        return before.id * 0.5

    def gather(self, src, dst, edge):
        return src.group

    def apply(self, vertex, gathered):
        sizes = {"size": self.at(vertex.group).count, "least": self.at(vertex.group - 1).first}
        return {"group": semirings.minimum(vertex.group, gathered), **sizes}

    def activate(self, before, after):
        return after.group != before.group


class GroupsOfAll(Groups):
    everyone = True


class Sizes(Groups):
    """What only adds up changes no field."""

    def apply(self, vertex, gathered):
        return {}

    activate = None


def groups_by_loops(n: int, edges: list[tuple[int, int]], everyone: bool, limit: int) -> list[np.ndarray]:
    group, size, least, active = list(range(n)), [1] * n, [0.0] * n, set(range(n))
    count, first = [1] * n, [(v + 1) * 0.5 for v in range(n - 1)] + [np.inf]
    for _ in range(limit):
        if not active:
            break
        near: dict[int, list[int]] = {v: [] for v in range(n)} if everyone else {}
        for s, d in [*edges, *((d, s) for s, d in edges)]:
            if s in active or everyone:
                near.setdefault(d, [])
        for s, d in [*edges, *((d, s) for s, d in edges)]:
            if d in near:
                near[d].append(group[s])
        new = {v: min([group[v], *labels]) for v, labels in near.items()}
        for v in near:
            size[v], least[v] = count[group[v]], first[group[v] - 1] if group[v] else np.inf
        count, first = [0] * n, [np.inf] * n
        active = {v for v in near if new[v] != group[v]}
        for v, g in new.items():
            group[v] = g
            count[g] += 1
            if g:
                first[g - 1] = min(first[g - 1], v * 0.5)
    return [np.array(x) for x in (group, size, least, count, first)]


@pytest.mark.parametrize("program", [Groups, GroupsOfAll])
@pytest.mark.parametrize("device", DEVICES)
def test_aggregates_at_vertices(device: str, program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gasla.cpu.program.workspace.SMALL", 0)
    for n, edges in SHAPES.values():
        graph = graph_of(n, edges, device)
        for limit in (0, 1, 2, 5):
            expected = groups_by_loops(n, edges, program.everyone, limit)
            for options in ({}, {"callback": lambda result: None}, {"compile": False}, {"deterministic": True}):
                result = gasla.run(program(), graph, max_iterations=limit, **options)
                for name, values in zip(("group", "size", "least", "count", "first"), expected, strict=True):
                    np.testing.assert_array_equal(moved(getattr(result, name), "cpu"), values, err_msg=name)
    empty = gasla.run(program(), graph_of(0, [], device), max_iterations=2)
    assert len(empty.count) == 0 == len(empty.size)


def test_aggregates_at_vertices_that_are_refused() -> None:
    plus = gasla.aggregate(semirings.plus, at=lambda self, vertex: vertex.group)
    floats = type("Floats", (Groups,), {"weight": plus(lambda self, before, after: 0.5)})
    with pytest.raises(ValueError, match=r"Floats.weight reduces floats at vertices by plus, in any order"):
        gasla.run(floats(), graph_of(2, [(0, 1)], "cpu"), deterministic=True)
    told = "the at= of Half.weight calls self.at"
    half = gasla.aggregate(semirings.plus, at=lambda self, vertex: vertex.group * 0.5)
    with pytest.raises(TypeError, match=told):
        type("Half", (Groups,), {"weight": half(lambda self, before, after: 1)}).traced(np.dtype(np.int32))
    loop = plus(lambda self, before, after: self.at(before.id).count)
    with pytest.raises(ValueError, match="reads 'count' of another vertex, an aggregate; expected fields"):
        type("Loop", (Groups,), {"weight": loop}).traced(np.dtype(np.int32))
    with pytest.raises(TypeError, match="reads or reduces at other vertices"):
        gasla.stages.start(Groups(), graph_of(2, [(0, 1)], "cpu"))


@pytest.mark.parametrize(
    ("program", "shape"),
    [
        (Roots, {}),
        (Nearby, {"bounded_degree": True}),
        (Nearby, {"scheduled": True}),
        (Levels, {"small": True}),
        (Groups, {"scheduled": True}),
        (Sizes, {}),
    ],
)
def test_kernels_compile(program: Any, shape: dict[str, bool]) -> None:
    compile = pytest.importorskip("gasla.gpu.runtime.compile", reason="NVRTC comes with CuPy")
    source = module(program, np.dtype(np.int32), Variant(np.dtype(np.int32), **shape)).source
    assert compile.compile_source(source, "compute_90")


class Receivers(Groups):
    """The same of those whose turn it is, with a field that is read as it was before."""

    size = gasla.vertex(np.int64, init=lambda v: v.id % 5, missing=7)
    activate = None

    def apply(self, vertex, gathered):
        size = self.at(vertex.group).count + self.at(vertex.id - 2).size % 100
        return {"group": semirings.minimum(vertex.group, gathered), "size": size}

    def post_apply(self, vertex):
        return {"least": semirings.cast(self.at(vertex.id + 1).size, np.float32)}


@needs_compiler
@pytest.mark.parametrize("walk", ["packed", pytest.param("flat", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_schedules_on_an_emulated_gpu(walk: str, tmp_path: Path) -> None:
    graph = skewed("i4")
    emulated = Emulated(Receivers, graph, WALKS[walk], tmp_path)
    schedule = gasla.Schedule(np.random.default_rng(3).integers(-1, 6, graph.n))
    expected = gasla.run(Receivers, graph, schedule=schedule, compile=False)
    for name, values in gasla.run(Receivers, graph, schedule=schedule).state.items():
        np.testing.assert_array_equal(values, expected.state[name], err_msg=name)
    for at_once in (100, 1):
        for name, values in emulated.run(schedule, 4, at_once, False, False, {}).items():
            np.testing.assert_array_equal(values, expected.state[name], err_msg=name)


class Sizes(gasla.VertexProgram):
    """How many vertices name each one; no function sees aggregates before an iteration is over."""

    group = gasla.vertex(np.int64)
    everyone = True

    @gasla.aggregate(semirings.plus, np.int64, at=lambda self, vertex: vertex.group)
    def size(self, before, after):
        return 1

    @gasla.aggregate(semirings.plus, np.int64)
    def total(self, before, after):
        return after.group

    def apply(self, vertex, _):
        return {"group": vertex.group // 2}


class SizesAhead(Sizes):
    """The same, and its first iteration sees what they come to before it."""

    seen = gasla.vertex(np.int64, init=-1)

    def apply(self, vertex, _):
        return {"group": vertex.group // 2, "seen": self.total}


@pytest.mark.parametrize("program", [Sizes, SizesAhead])
@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.slow
def test_aggregates_of_the_initial_state_are_there_for_whoever_asks(program: Any, deterministic: bool) -> None:
    group = np.array([3, 3, 1, 0])
    graph = gasla.Graph.from_edges([], [], n=4)
    for steps in (0, 1, 2):
        result = gasla.run(program, graph, max_iterations=steps, group=group, deterministic=deterministic)
        now = group >> steps
        assert result.total == now.sum()
        assert np.array_equal(result.size, np.bincount(now, minlength=4))
        if program is SizesAhead and steps:
            assert set(result.seen) == {(group >> (steps - 1)).sum()}
