"""Attributes of graphs over ranks: programs, `weighted_by` and columns, compared with one process and NumPy."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st

import gasla
import semirings
from gasla import distributed
from gasla.distributed.engine.rank_run import RankRun
from gasla.distributed.thread_ranks import ThreadCommunicator
from tests.distributed.test_ranks import SHAPES, SUPPRESSED, check, is_taken, over
from tests.helpers import programs
from tests.helpers.generated_programs import Case, cases

KINDS = [np.int64, np.float32, np.bool_]
NAMES = ["count of it", "size", "open"]
READ = "semirings.where(edge.is_open, edge.count, semirings.cast(edge.size, np.int64))"  # stands for `edge.w`
DECLARED = "\n    ".join(
    [
        f"count = gasla.edge(np.int64, attribute={NAMES[0]!r})",
        f"size = gasla.edge(np.float32, attribute={NAMES[1]!r})",
        f"is_open = gasla.edge(np.bool_, attribute={NAMES[2]!r})",
    ]
)


@dataclass(frozen=True, repr=False)
class Attributed(Case):
    """A case whose program reads three attributes, of different types, in place of the values."""

    @property
    def graph(self) -> gasla.Graph:
        graph = super().graph
        values, rng = graph.values, np.random.default_rng(len(self.edges[0]))
        is_open, other = rng.random(graph.m) < 0.5, rng.integers(50, 60, graph.m)
        size = np.where(is_open, other, values).astype(np.float32)
        return graph.with_values(None).with_edge_attributes(
            {NAMES[0]: np.where(is_open, values, other), NAMES[1]: size, NAMES[2]: is_open}
        )


def attributed(case: Case) -> Attributed:
    source = case.source.replace("w = gasla.edge(np.int64)", DECLARED).replace("edge.w", READ)
    return Attributed(**(vars(case) | {"source": source}))


def reads_values(case: Case) -> bool:
    return "edge.w" in case.source and is_taken(case)


def try_programs(count: int, share: int, compiled: bool) -> None:
    @settings(
        max_examples=count, deadline=None, database=None, suppress_health_check=SUPPRESSED, phases=[Phase.generate]
    )
    @given(cases(("run", "deterministic")).filter(reads_values).map(attributed), st.integers(1, 4))
    def attempt(case: Case, ranks: int) -> None:
        check(case, ranks, compiled)

    seed(share)(attempt)()


def test_some_programs_have_the_same_bits() -> None:
    try_programs(6, 1, compiled=False)


@pytest.mark.slow
def test_many_programs_have_the_same_bits() -> None:
    try_programs(500, 2, compiled=False)
    try_programs(30, 3, compiled=True)


@pytest.mark.thorough
@pytest.mark.parametrize("shared", [True, False])
def test_supersteps_that_begin_anew_have_the_same_bits(shared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on cards where the host decides between supersteps; here on the CPU."""
    monkeypatch.setattr(RankRun, "has_card", True)
    monkeypatch.setattr(ThreadCommunicator, "shares_memory", shared)
    try_programs(30, 4, compiled=False)


def test_attributed_programs_are_those_that_read_values() -> None:
    """What the comparisons above rest on: in one process, attributes in place of values give the same answers."""

    @settings(max_examples=5, deadline=None, database=None, suppress_health_check=SUPPRESSED, phases=[Phase.generate])
    @given(cases(("run",)).filter(reads_values))
    def attempt(case: Case) -> None:
        options: Any = {"active": case.active and list(case.active), "max_iterations": min(case.limit, 20)}
        one, two = (gasla.run(c.program, c.graph, compile=False, **options) for c in (case, attributed(case)))
        for name in one.state:
            np.testing.assert_array_equal(one.state[name], two.state[name])

    seed(5)(attempt)()


# --- columns ----------------------------------------------------------------------------------------------------------


def drawn(n: int = 40, m: int = 160, start: int = 0) -> gasla.Graph:
    rng = np.random.default_rng(start)
    graph = gasla.Graph.from_edges(*rng.integers(0, n, (2, m)), rng.integers(1, 9, m).astype(np.float64), n=n)
    columns = rng.integers(-9, 9, m), rng.random(m).astype(np.float32), rng.random(m) < 0.5
    return graph.with_edge_attributes(dict(zip(NAMES, columns, strict=True)))


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_columns_are_those_of_one_process(ranks: int) -> None:
    graph, some = drawn(), np.array([7, 0, 159, 7])
    spread = over(graph, ranks)
    assert [*spread.edge_attributes] == NAMES and "edge_attributes=['count of it'" in repr(spread)
    for name, kind in zip(NAMES, KINDS, strict=True):
        column, expected = spread.edge_attributes[name], graph.edge_attributes[name]
        assert (column.dtype, column.shape) == (kind, (graph.m,))
        np.testing.assert_array_equal(column[some], expected[some])
        assert (column.min(), column.max()) == (expected.min(), expected.max())
        np.testing.assert_array_equal(np.unique(column), np.unique(expected))
        with pytest.raises(TypeError, match=f"no process has all values of the edge attribute '{name}'"):
            np.sum(column)


@pytest.mark.parametrize("ranks", [1, 3])
def test_weights_are_those_of_one_process(ranks: int) -> None:
    graph = drawn()
    spread = over(graph, ranks)
    for name in NAMES[1:]:
        one, found = graph.weighted_by(name), spread.weighted_by(name)
        assert found is spread.weighted_by(name) and found.weighted_by(name) is found
        assert (found.value_type, found.value_range) == (one.value_type, one.value_range)
        start: Any = {"active": [0], "cost": {0: 0}, "compile": False}
        for direction in ("in", "out", "all"):
            kind = type("Cheapest", (programs.Cheapest,), {"direction": direction})
            np.testing.assert_array_equal(gasla.run(kind, found, **start).cost, gasla.run(kind, one, **start).cost)
        assert [*found.weighted_by(NAMES[0]).edge_attributes] == NAMES
    np.testing.assert_array_equal(gasla.sssp(spread.weighted_by("size"), 3), gasla.sssp(graph.weighted_by("size"), 3))
    assert over(graph.weighted_by("size"), ranks).weighted_by("size").value_type == np.float32
    with pytest.raises(ValueError, match=r"'sise' is no edge attribute.*did you mean 'size'"):
        spread.weighted_by("sise")


class Marks(programs.Hops):
    """Hops, and for each edge the sum of an attribute and a value when its source was reached."""

    size = gasla.edge(np.float32, attribute="size")
    own = gasla.edge(np.float64)
    mark = gasla.edge(np.float64, init=-1)

    def scatter(self, src: Any, dst: Any, edge: Any) -> Any:
        return {"mark": semirings.cast(edge.size, np.float64) + edge.own}


@pytest.mark.parametrize("direction", ["in", "out"])
def test_what_scatter_writes_becomes_a_column(direction: str) -> None:
    graph, kind = drawn(), type("Marks", (Marks,), {"direction": direction})
    spread = over(graph, 3)
    options: Any = {"active": [1, 5], "hops": {1: 0, 5: 0}, "compile": False}
    expected = gasla.run(kind, graph, **options).mark
    mark = gasla.run(kind, spread, **options).mark
    np.testing.assert_array_equal(mark, expected)
    found = spread.with_edge_attributes(mark=mark).edge_attributes["mark"]
    np.testing.assert_array_equal(found[np.arange(graph.m)], expected)


def test_columns_come_from_arrays_functions_and_other_columns() -> None:
    graph = drawn()
    spread, every = over(graph, 3), np.arange(graph.m)
    days = np.arange(graph.m).astype("datetime64[D]")
    given: dict[str, Any] = {
        "list": every.tolist(),
        "days": days,
        "twice": lambda edges: 2 * edges["size"],
        "size": None,
    }
    one, found = (g.with_edge_attributes(given) for g in (graph, spread))
    found = found.with_edge_attributes(weight=found.values, count=spread.edge_attributes["count of it"])
    one = one.with_edge_attributes(weight=graph.values, count=graph.edge_attributes["count of it"])
    assert [*found.edge_attributes] == [*one.edge_attributes] and [*spread.edge_attributes] == NAMES
    for name in one.edge_attributes:
        column = found.edge_attributes[name][every]
        assert column.dtype == one.edge_attributes[name].dtype, name
        np.testing.assert_array_equal(column, one.edge_attributes[name])
    assert found.weighted_by("weight") is found


def test_the_same_name_may_be_another_column_in_a_graph_made_from_another() -> None:
    graph = drawn()
    spread = over(graph, 2)
    other = spread.with_edge_attributes(size=np.zeros(graph.m, np.float32))
    kind = type("Out", (Marks,), {"direction": "out"})
    options: Any = {"active": [1], "hops": {1: 0}, "compile": False}
    for g, expected in ((spread, graph), (other, graph.with_edge_attributes(size=np.zeros(graph.m, np.float32)))):
        np.testing.assert_array_equal(gasla.run(kind, g, **options).mark, gasla.run(kind, expected, **options).mark)


WRONG: dict[str, tuple[Any, str]] = {
    "a short array": ([1, 2], r"'new' has shape \(2,\); expected \(160,\)"),
    "strings": (["a"] * 160, "'new' holds <U1; expected"),
    "a short column": (lambda edges: edges["size"][:1], r"'new' has shape \(1,\); expected"),
    "other types": (lambda edges: np.zeros(len(edges["size"]), f"i{1 << len(edges['size']) % 3}"), "'new' holds int"),
}


@pytest.mark.parametrize("what", WRONG)
def test_columns_that_do_not_fit_are_refused(what: str) -> None:
    column, message = WRONG[what]
    with pytest.raises((TypeError, ValueError), match=message):
        over(drawn(), 3).with_edge_attributes(new=column)


def test_columns_of_other_graphs_are_refused() -> None:
    spread = over(drawn(), 3)
    again = distributed.Graph.from_graph(drawn(), spread.ranks)
    for column, message in (
        (spread.in_degrees, r"'new' has shape \(40,\); expected \(160,\)"),
        (again.edge_attributes["size"], "'new' is a column of another distributed graph"),
        (over(drawn(), 3).edge_attributes["size"], "'new' is on other ranks"),
        (None, "'new' is no edge attribute"),
    ):
        with pytest.raises(ValueError, match=message):
            spread.with_edge_attributes(new=column)


def test_a_missing_attribute_is_named_before_ranks_begin() -> None:
    for graph in (drawn(), over(drawn(), 2)):
        graph = graph.with_edge_attributes(size=None, sice=graph.values)
        with pytest.raises(ValueError, match=r"Marks.size reads an edge attribute.*did you mean 'sice'"):
            gasla.run(Marks, graph, active=[1], compile=False)


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str) -> None:
    graph = SHAPES[name]
    graph = graph.with_edge_attributes(a=np.arange(graph.m) % 3, b=np.ones(graph.m, bool))
    for ranks in (1, 3):
        spread = over(graph, ranks)
        assert np.unique(spread.edge_attributes["a"]).tolist() == np.unique(graph.edge_attributes["a"]).tolist()
        start: Any = {"active": [0], "cost": {0: 0}, "compile": False} if graph.n else {"compile": False}
        one, found = (gasla.run(programs.Cheapest, g.weighted_by("a"), **start) for g in (graph, spread))
        np.testing.assert_array_equal(found.cost, one.cost)


def test_each_rank_keeps_the_columns_of_its_edges_once() -> None:
    graph = drawn(200, 2000)
    bare, spread = (
        over(g, 2).report()["bytes"].sum() for g in (graph.with_edge_attributes(dict.fromkeys(NAMES)), graph)
    )
    assert spread - bare == graph.m * (8 + 4 + 1)


class Along(gasla.WalkProgram):
    """Walks along edges that are open."""

    is_open = gasla.edge(np.bool_, attribute="open")

    def accept(self, previous: Any, vertex: Any, target: Any, edge: Any) -> Any:
        return edge.is_open


def test_walks_read_attributes() -> None:
    graph = drawn()
    with gasla.engines.interpreted():
        one, found = (gasla.walk(Along, g, np.arange(40), 5, seed=2) for g in (graph, over(graph, 3)))
    np.testing.assert_array_equal(found, one)


# --- vertices ---------------------------------------------------------------------------------------------------------


class Tallest(gasla.VertexProgram):
    """The greatest height of a neighbor, and each vertex's own height and whether it is open."""

    height = gasla.vertex(np.float32, init=lambda vertex: vertex.height)
    top = gasla.vertex(np.float32, init=lambda vertex: -vertex.height)
    is_open = gasla.vertex(np.bool_, init=lambda vertex: vertex.open)
    reduce = semirings.max

    def gather(self, src: Any, dst: Any, edge: Any) -> Any:
        return src.height

    def apply(self, vertex: Any, gathered: Any) -> Any:
        return {"top": gathered}


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("direction", ["in", "out", "all"])
def test_fields_start_with_vertex_attributes(direction: str, ranks: int) -> None:
    rng, kind = np.random.default_rng(2), type("Tallest", (Tallest,), {"direction": direction})
    columns = {"height": rng.random(40).astype(np.float32), "open": rng.random(40) < 0.5}
    graph = drawn()
    one = graph.with_vertex_attributes(columns)
    made = over(one, ranks)
    for spread in (made, made.with_edge_attributes(new=np.ones(graph.m)), made.weighted_by("size"), over(graph, ranks)):
        found = spread if spread.vertex_attributes else spread.with_vertex_attributes(columns)
        for name, column in columns.items():
            np.testing.assert_array_equal(found.vertex_attributes[name], column)
            assert found.vertex_attributes[name].dtype == column.dtype
        expected, got = (gasla.run(kind, g, max_iterations=1, compile=False) for g in (one, found))
        np.testing.assert_array_equal(got.height, columns["height"])
        for field in ("top", "is_open"):
            np.testing.assert_array_equal(getattr(got, field), getattr(expected, field))


def test_vertex_attributes_are_replaced_and_removed() -> None:
    graph = drawn().with_vertex_attributes(height=np.arange(40), age=np.ones(40))
    spread = over(graph, 3)
    other = spread.with_vertex_attributes(height=np.arange(40)[::-1], age=None)
    assert [*other.vertex_attributes] == ["height"] and [*spread.vertex_attributes] == ["height", "age"]
    assert [*other.edge_attributes] == NAMES and other.value_range == graph.value_range
    for g, expected in ((spread, np.arange(40)), (other, np.arange(40)[::-1])):
        rows = g.map_shares(lambda whole, items, _: whole.vertex_attributes["height"][items], np.arange(40))
        np.testing.assert_array_equal(rows, expected)
    with pytest.raises(ValueError, match=r"'height' has shape \(3,\); expected \(40,\)"):
        spread.with_vertex_attributes(height=[1, 2, 3])
    with pytest.raises(ValueError, match=r"'hight' is no vertex attribute.*did you mean 'height'"):
        spread.with_vertex_attributes(hight=None)


# --- time-respecting paths --------------------------------------------------------------------------------------------


@settings(max_examples=4, deadline=None)
@given(st.data())
def test_paths_are_those_of_one_process(data: st.DataObject) -> None:
    """By NumPy on each rank; tests/algorithms/temporal compare one process with brute force."""
    compare_paths(data)


@pytest.mark.thorough
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_many_paths_are_those_of_one_process(data: st.DataObject) -> None:
    compare_paths(data)


def compare_paths(data: st.DataObject) -> None:
    n, m = data.draw(st.integers(1, 9)), data.draw(st.integers(0, 30))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    kind = data.draw(st.sampled_from([np.int64, np.float32, np.uint8, np.bool_]))
    graph = gasla.Graph.from_edges(*rng.integers(0, n, (2, m)), n=n)
    graph = graph.with_edge_attributes(time=rng.integers(0, 8, m).astype(kind), long=rng.integers(0, 3, m))
    options = {
        "duration": data.draw(st.sampled_from(["long", 0, 1, 0.5])),
        "window": data.draw(st.sampled_from([None, (1, None), (None, 6), (2, 7)])),
    }
    spread, vertex = over(graph, data.draw(st.integers(1, 4))), data.draw(st.integers(0, n - 1))
    with gasla.engines.interpreted():
        for name in ("earliest_arrival", "latest_departure", "fastest_durations", "temporal_reachability"):
            question = [vertex, 0] if name == "temporal_reachability" else vertex
            expected = getattr(gasla, name)(graph, question, **options)
            found = np.asarray(getattr(gasla, name)(spread, question, **options))
            assert (found.dtype, found.tobytes()) == (expected.dtype, expected.tobytes()), name


@pytest.mark.parametrize("ranks", [1, 3])
def test_other_values_of_the_same_edges(ranks: int) -> None:
    one = drawn()
    spread, ones = over(one, ranks), np.ones(one.n)
    columns: list[Any] = [None, np.arange(one.m, dtype=np.int8), lambda values: values.astype(np.float32) / 2]
    for column in columns:
        expected, found = one.with_values(column), spread.with_values(column)
        assert (found.value_type, found.value_range) == (expected.value_type, expected.value_range)
        np.testing.assert_array_equal(gasla.vxm(ones, found), gasla.vxm(ones, expected))
    timed = spread.with_edge_attributes(number=np.arange(one.m))
    found = gasla.vxm(ones, timed.with_values(timed.edge_attributes["number"]))
    np.testing.assert_array_equal(found, gasla.vxm(ones, one.with_values(np.arange(one.m))))
    assert "number" in timed.with_values(None).edge_attributes
    with pytest.raises(ValueError, match=f"there are {one.m} edges and values of shape"):
        spread.with_values(np.ones(7))


def test_zeros_of_both_signs_are_one_time() -> None:
    """Whatever rank has them, the answer has the bits of 0.0."""
    graph = gasla.Graph.from_edges([0, 0], [1, 2]).with_edge_attributes(time=[-0.0, 0.0])
    for g in (graph, over(graph, 2)):
        assert gasla.earliest_arrival(g, 0, window=(-1, None)).tobytes() == np.array([-1.0, 0, 0]).tobytes()
