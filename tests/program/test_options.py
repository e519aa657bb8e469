"""Options of programs: constants known while tracing, by which one program takes the place of several classes."""

import enum
from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla import distributed, stages
from gasla.arrays import moved
from gasla.program.plan import Plan

SRC, DST = np.array([0, 0, 1, 2, 3, 3, 4]), np.array([1, 2, 3, 3, 4, 0, 0])
GRAPH = gasla.Graph.from_edges(SRC, DST, np.array([0.5, 0.25, 1, 0.5, 0.5, 0.25, 1]))
WAYS = [
    pytest.param({}, id="cpu"),
    pytest.param({"compile": False}, id="numpy"),
    pytest.param({"device": "gpu"}, id="gpu", marks=pytest.mark.gpu),
]


class Rank(gasla.VertexProgram):
    """Ranks, by weight or not, of either type, until they settle or not, with a residual or not."""

    weighted = gasla.option(False)
    real = gasla.option(np.float64)
    settles = gasla.option(True)
    norm = gasla.option("L1")
    direction = gasla.option("in")
    rank = gasla.vertex(real, init=1)
    weight = gasla.edge(real, when=weighted)
    alpha = gasla.parameter(real, 0.5)
    reduce = semirings.plus
    everyone = True

    def gather(self, src, dst, edge):
        return src.rank * edge.weight if self.weighted else src.rank / 2

    def apply(self, vertex, gathered):
        return {"rank": semirings.cast(1 - self.alpha + self.alpha * gathered, self.real)}

    def activate(self, before, after):
        return True

    @gasla.aggregate(semirings.plus, real, when=settles)
    def residual(self, before, after):
        change = abs(after.rank - before.rank)
        if self.norm == "L1":
            return change
        return change * change

    def stop(self):
        return self.settles and self.residual < 1e-5


class Plain(gasla.VertexProgram):
    """What Rank is by default, and has been set to."""

    rank = gasla.vertex(np.float64, init=1)
    alpha = gasla.parameter(np.float64, 0.5)
    reduce = semirings.plus
    everyone = True

    def gather(self, src, dst, edge):
        return src.rank / 2

    def apply(self, vertex, gathered):
        return {"rank": 1 - self.alpha + self.alpha * gathered}

    def activate(self, before, after):
        return True

    @gasla.aggregate(semirings.plus)
    def residual(self, before, after):
        return abs(after.rank - before.rank)

    def stop(self):
        return self.residual < 1e-5


def ranks(weighted: bool, iterations: int, direction: str = "in", kind: Any = np.float64) -> np.ndarray:
    """The same by NumPy."""
    assert GRAPH.values is not None
    A = np.zeros((5, 5))
    A[SRC, DST] = GRAPH.values if weighted else 0.5
    rank = np.ones(5)
    for _ in range(iterations):
        rank = 0.5 + 0.5 * (A.T if direction == "in" else A) @ rank
    return rank.astype(kind)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("direction", ["in", "out"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_program_runs_with_every_option(weighted: bool, direction: str, way: dict[str, Any]) -> None:
    program = Rank(weighted=weighted, direction=direction, settles=False)
    found = gasla.run(program, GRAPH, max_iterations=4, **way)
    np.testing.assert_allclose(moved(found.rank, "cpu"), ranks(weighted, 4, direction))
    assert found.aggregates == {} and not found.converged
    settled = gasla.run(Rank(weighted=weighted, direction=direction), GRAPH, **way)
    assert settled.converged and settled.aggregates.keys() == {"residual"}


@pytest.mark.parametrize("way", WAYS)
def test_types_follow_an_option(way: dict[str, Any]) -> None:
    found = gasla.run(Rank(real=np.dtype("f4"), weighted=True), GRAPH, **way)
    assert found.rank.dtype == np.float32
    np.testing.assert_allclose(moved(found.rank, "cpu"), ranks(True, 40, kind=np.float32), rtol=1e-4)


def test_what_options_leave_is_what_a_class_without_them_says() -> None:
    """The text that engines compile is that of the class that one would write by hand."""
    assert gasla.source(Rank, "cpu") == gasla.source(Rank(), "cpu") == gasla.source(Plain, "cpu")
    assert gasla.source(Rank, "cuda") == gasla.source(Plain, "cuda")
    assert gasla.explain(Rank, GRAPH) == gasla.explain(Plain, GRAPH)
    assert gasla.workspace(Rank, GRAPH) == gasla.workspace(Plain, GRAPH)
    assert "weight" in gasla.source(Rank(weighted=True), "cpu")


def test_prepared_runs_and_stages() -> None:
    prepared = gasla.prepare(Rank(weighted=True), GRAPH)
    once = gasla.run(Rank(weighted=True, alpha=0.25), GRAPH, max_iterations=3)
    assert prepared(alpha=0.25, max_iterations=3).rank.tolist() == once.rank.tolist()
    with pytest.raises(TypeError, match=r"Rank has no field 'weighted'.*is an option: set it by Rank\(weighted=…\)"):
        prepared(weighted=False, max_iterations=3)

    class Most(gasla.VertexProgram):
        least = gasla.option(False)
        x = gasla.vertex(np.int64, init=lambda vertex: vertex.id)
        reduce = semirings.max

        def gather(self, src, dst, edge):
            return -src.x if self.least else src.x

        def apply(self, vertex, gathered):
            return {"x": gathered}

    for least, expected in [(False, [4, 0, 0, 2, 3]), (True, [-3, 0, 0, -1, -3])]:
        state = stages.start(Most(least=least), GRAPH)
        receivers = stages.contract(state, stages.expand(state, gasla.Frontier.all(5)))
        stages.apply(state, receivers, stages.gather(state, receivers))
        assert state.x.tolist() == expected


@pytest.mark.parametrize("way", WAYS)
def test_phases_have_options_of_their_own(way: dict[str, Any]) -> None:
    class Sum(gasla.VertexProgram):
        doubles = gasla.option(False)
        total = gasla.vertex(np.int64, init=1)
        reduce = semirings.plus
        everyone = True

        def gather(self, src, dst, edge):
            return 2 * src.total if self.doubles else src.total

        def apply(self, vertex, gathered):
            return {"total": gathered}

    found = gasla.run([Sum(), Sum(doubles=True)], GRAPH, max_iterations=1, **way)
    A = np.zeros((5, 5), np.int64)
    A[SRC, DST] = 1
    assert moved(found.total, "cpu").tolist() == (2 * A.T @ (A.T @ np.ones(5, np.int64))).tolist()


@pytest.mark.parametrize("compiled", [pytest.param(True, marks=pytest.mark.thorough), False])
def test_ranks_run_programs_with_options(compiled: bool) -> None:
    over = distributed.Graph.from_graph(GRAPH, distributed.ThreadRanks(2))
    for given in ({"weighted": True}, {"direction": "out", "norm": "L2"}):
        one, found = (gasla.run(Rank(**given), graph, compile=compiled) for graph in (GRAPH, over))
        np.testing.assert_allclose(np.asarray(found.rank), one.rank)
        assert found.iterations == one.iterations


@pytest.mark.parametrize("device", ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
def test_walk_programs_have_options_too(device: str) -> None:
    class Walk(gasla.WalkProgram):
        stays = gasla.option(False)
        home = gasla.vertex(np.int64, when=stays)

        def restart(self, vertex):
            return vertex.home >= 0 if self.stays else 0

    path = gasla.Graph.from_edges([0, 1, 2], [1, 2, 3])
    path = path.to(device)
    assert gasla.walk(Walk, path, [0], 3, seed=1).tolist() == [[0, 1, 2, 3]]
    assert gasla.walk(Walk(stays=True), path, [0], 3, seed=1).tolist() == [[0, 0, 0, 0]]
    assert gasla.source(Walk, "cpu") != gasla.source(Walk(stays=True), "cpu")


def test_a_run_in_place_keeps_the_options() -> None:
    found = gasla.run(Rank(weighted=True), GRAPH, order="in place")
    np.testing.assert_allclose(found.rank, ranks(True, 40), rtol=1e-4)


class Word(enum.Enum):
    ONE = 1


def test_a_class_for_each_combination() -> None:
    class Any(gasla.VertexProgram):
        value = gasla.option(None)
        x = gasla.vertex(np.int64)

    values = [None, True, 1, 1.0, "1", np.float64, np.dtype("f8"), Word.ONE, (1, 2), np.int32(1), semirings.plus]
    kinds = [type(Any(value=value)) for value in values]
    assert len({*kinds}) == len(kinds) and type(Any()) is type(Any(value=None)) is kinds[0]
    assert [kind.value for kind in kinds] == values  # type: ignore[attr-defined]
    assert all(issubclass(kind, Any) and kind.__name__ == "Any" and not kind.options for kind in kinds)
    assert Any.options.keys() == {"value"} and isinstance(Any(value=3), Any)


def test_subclasses_set_options_and_change_defaults() -> None:
    class Weighted(Rank):
        weighted = True  # for good
        norm = gasla.option("L2")

    assert Weighted.options.keys() == {"real", "settles", "norm", "direction"}
    assert Weighted().weighted is True and Weighted().norm == "L2"
    assert "weight" in Weighted.edge_fields and "weight" not in Rank().edge_fields
    assert gasla.run(Weighted(norm="L1"), GRAPH).rank.tolist() == gasla.run(Rank(weighted=True), GRAPH).rank.tolist()

    class Further(type(Rank(weighted=True))):  # type: ignore[misc]
        alpha = gasla.parameter(np.float64, 0.75)

    assert Further().values == {"alpha": 0.75} and Further().weighted is True


def test_declarations_follow_options() -> None:
    class Declared(gasla.VertexProgram):
        k = gasla.option(2)
        at_home = gasla.option(None)
        first = gasla.option(5)
        v = gasla.vertex((np.int64, (k,)), init=first)
        flow = gasla.edge(np.int64, init=first)
        size = gasla.parameter(np.int64, first)

        @gasla.aggregate(semirings.plus, np.int64, at=at_home)
        def total(self, before, after):
            return after.v[0]

        everyone = True

        def apply(self, vertex, gathered):
            return {"v": vertex.v + self.k}

    found = gasla.run(Declared(k=3, first=7), GRAPH, max_iterations=1)
    assert found.v.tolist() == [[10, 10, 10]] * 5 and Declared(first=7).values == {"size": 7}
    assert int(found.aggregates["total"]) == 50


def test_a_setting_may_have_the_value_of_another_option() -> None:
    class Steps(gasla.VertexProgram):
        spreads = gasla.option(True)
        everyone = spreads
        total = gasla.option(semirings.plus)
        reduce = total
        x = gasla.vertex(np.int64, init=1)

        def gather(self, src, dst, edge):
            return src.x

        def apply(self, vertex, gathered):
            return {"x": gathered + 1}

    assert Steps.options.keys() == {"spreads", "total"}
    assert type(Steps(spreads=False)).everyone is False and Steps().everyone is True
    path = gasla.Graph.from_edges([0, 0, 1], [1, 1, 2])
    assert gasla.run(Steps, path, max_iterations=1).x.tolist() == [1, 3, 2]
    assert gasla.run(Steps(spreads=False, total=semirings.max), path, max_iterations=1).x.tolist() == [1, 2, 2]
    with pytest.raises(TypeError, match=r"Steps has no parameter 'everyone'; its parameters: none; its options: spre"):
        Steps(everyone=False)


def test_tests_that_say_nothing_are_left_out() -> None:
    class Tests(gasla.VertexProgram):
        all = gasla.option(True)
        x = gasla.vertex(np.int64, init=100)
        reduce = semirings.min

        def mask(self, vertex):
            return self.all or vertex.id > 1

        def edge_mask(self, src, dst, edge):
            return self.all or src.id < dst.id

        def stop(self):
            return not self.all and self.iteration == 2

        def gather(self, src, dst, edge):
            return src.x + 1

        def apply(self, vertex, gathered):
            return {"x": semirings.minimum(vertex.x, gathered)}

    assert Tests().traced().functions.keys() == {"gather", "apply"}
    assert Tests(all=False).traced().functions.keys() == {"mask", "edge_mask", "stop", "gather", "apply"}
    for compiled in (True, False):
        assert gasla.run(Tests, GRAPH, active=[0], x={0: 0}, compile=compiled).x.tolist() == [0, 1, 1, 2, 3]
    with pytest.raises(ValueError, match="never ends by itself"):
        gasla.run(Rank(settles=False), GRAPH)
    assert Plan(Rank(settles=False).traced()).never_ends


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"wieghted": True},
            "Rank has no parameter 'wieghted'; its parameters: alpha; its options: direction, weighted, real, ",
        ),
        ({"weighted": 1}, r"Rank\.weighted is 1; expected True or False"),
        ({"real": [1]}, r"Rank\.real is \[1\]; expected a hashable value"),
        ({"norm": np.zeros(2)}, r"Rank\.norm is array.*; expected a hashable value"),
        ({"norm": len}, None),
        ({"norm": lambda x: x}, r"Rank\.norm is <function .*; expected a value: write a function as a method"),
        ({"direction": "up"}, r"Rank\.direction is 'up'; expected 'in', 'out' or 'all'"),
    ],
)
def test_values_are_refused_before_work_starts(given: dict[str, Any], said: str | None) -> None:
    if said is None:
        assert Rank(**given).norm is len
        return
    with pytest.raises((TypeError, ValueError), match=said):
        Rank(**given)


def test_the_class_of_a_combination_takes_no_other() -> None:
    program = Rank(weighted=True)
    assert type(program)(alpha=0.3).values == {"alpha": 0.3}
    with pytest.raises(TypeError, match=r"Rank\.weighted is True in this class; expected no other value"):
        type(program)(weighted=False)


def made(**members: Any) -> Any:
    """A program with an option `on` and a field x."""
    body = {"on": gasla.option(True), "x": gasla.vertex(np.int64), "reduce": semirings.plus} | members
    return type("Made", (gasla.VertexProgram,), body)


@pytest.mark.parametrize(
    ("members", "said"),
    [
        (
            {"wake": lambda self, vertex: True, "idle": lambda self: {"on": False}},
            "Made.idle returned a field 'on'.*it is an option, which no run changes",
        ),
        (
            {"gather": lambda self, src, dst, edge: src.on},
            r"a program's vertex has no field 'on'; it has .*; expected self\.on, an attribute of the program",
        ),
        (
            {"gather": lambda self, src, dst, edge: edge.on},
            r"a program's edge has no field 'on'; it has .*; expected self\.on",
        ),
        (
            {"mask": lambda self, vertex: bool(setattr(self, "on", 0))},
            r"Made\.mask assigns self\.on, which has no effect",
        ),
        (
            {"y": gasla.vertex(np.int64, when=gasla.option(True))},
            r"gasla\.option\(True\) is not a member of the class",
        ),
        ({"stop": gasla.option(True)}, r"Made\.stop: this name is gasla's own, as it is a function that a program"),
        ({"_x": gasla.option(True)}, r"Made\._x: this name is gasla's own, as it begins with _"),
    ],
)
def test_options_are_no_fields(members: dict[str, Any], said: str) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError), match=said):
        gasla.run(made(**members), GRAPH, max_iterations=1)


def test_a_field_that_an_option_leaves_out_is_not_there() -> None:
    on = gasla.option(False)
    program = made(on=on, y=gasla.vertex(np.int64, when=on), apply=lambda self, vertex, gathered: {"x": vertex.y})
    with pytest.raises(AttributeError, match="a program's vertex has no field 'y'"):
        program.traced()
    with pytest.raises(TypeError, match="Made has no field 'y' to start with"):
        gasla.run(made(on=on, y=gasla.vertex(np.int64, when=on)), GRAPH, y=3, max_iterations=1)


def test_an_option_has_no_value_where_the_class_is_written() -> None:
    with pytest.raises(TypeError, match="an option has no value in the class body"):

        class Wrong(gasla.VertexProgram):
            swift = gasla.option(True)
            order = "in place" if swift else "synchronous"


def test_an_option_may_be_called_nearly_as_a_hook_is() -> None:
    program = made(stops=gasla.option(True), apply=lambda self, vertex, gathered: {"x": vertex.x})
    assert program.traced().functions.keys() == {"apply"}


def test_programs_with_options_travel() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    sent = cloudpickle.loads(cloudpickle.dumps(Rank(weighted=True, alpha=0.25)))
    assert sent.weighted is True and sent.values == {"alpha": 0.25}
    expected = gasla.run(Rank(weighted=True, alpha=0.25), GRAPH, compile=False).rank
    assert gasla.run(sent, GRAPH, compile=False).rank.tolist() == expected.tolist()
