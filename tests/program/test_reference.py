"""Programs by NumPy, with nothing compiled: what they give, what they refuse, and what a person sees on the way."""

import functools
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

import gasla
import semirings
from gasla.graph.graph import Graph
from gasla.reference.segments import reduce_segments
from semirings import TupleType
from tests.helpers import programs

GRAPH = Graph.from_edges([0, 0, 1, 2, 2, 3, 3], [1, 2, 3, 3, 2, 0, 1], [4.0, 1, 1, 5, 2, 1, 1], n=5)
SHAPES = {
    "empty": Graph.from_edges([], [], n=0),
    "one vertex": Graph.from_edges([], [], n=1),
    "a loop": Graph.from_edges([0], [0], [3.0]),
    "parallel edges": Graph.from_edges([1, 1, 0, 1], [0, 0, 1, 0], [3.0, 1, 2, 5]),
    "disconnected": Graph.from_edges([0, 3, 2], [1, 4, 2], [1.0, 2, 3], n=7),
    "a star": Graph.from_edges([0] * 40, range(1, 41), np.arange(1, 41.0)),
    "into one": Graph.from_edges(range(1, 41), [0] * 40, np.arange(1, 41.0)),
    "a long path": Graph.from_edges(range(60), range(1, 61), np.ones(60)),
    "wide offsets": Graph.from_csr(np.array([0, 2, 3, 3], np.int64), [2, 1, 2], [1.0, 7, 2]),
    "by columns": Graph(sp.csc_array(np.array([[0, 2.0, 7], [1, 0, 3], [0, 4, 0]]))),
}


@pytest.fixture(autouse=True)
def nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("something is being compiled")

    monkeypatch.setattr("gasla.cpu.prepare", refuse)


def run(program: Any, graph: Any, **options: Any) -> gasla.Result:
    return gasla.run(program, graph, compile=False, **options)


@pytest.mark.parametrize("graph", SHAPES.values(), ids=SHAPES)
def test_distances_are_those_of_others(graph: Graph) -> None:
    if graph.n == 0:
        assert run(programs.Hops, graph).hops.shape == (0,)
        return
    hops = run(programs.Hops, graph, active=[0], hops={0: 0})
    edges = nx.MultiDiGraph(list(zip(graph.out.owners().tolist(), graph.out.indices.tolist())))
    edges.add_nodes_from(range(graph.n))
    expected = nx.single_source_shortest_path_length(edges, 0)
    assert hops.hops.tolist() == [expected.get(v, 10**6) for v in range(graph.n)]
    assert hops.converged
    assert hops.iterations == max(expected.values()) + 1
    ways = graph.out_values if graph.values is not None else np.ones(graph.m)
    least = np.full((graph.n, graph.n), np.inf)
    np.minimum.at(least, (graph.out.owners(), graph.out.indices), ways)
    distances = dijkstra(np.where(np.isinf(least), 0, least), indices=0)
    np.testing.assert_allclose(run(programs.Cheapest, graph, active=[0], cost={0: 0}).cost, distances)


@pytest.mark.parametrize("direction", ["in", "out", "all"])
def test_sums_are_those_of_a_matrix(direction: str) -> None:
    class Sums(gasla.VertexProgram):
        everyone = True
        x = gasla.vertex((np.float64, (2,)), init=lambda vertex: np.stack([vertex.id + 1, vertex.id % 2]))
        weight = gasla.edge(np.float64)
        reduce = semirings.plus

        def gather(self, src, dst, edge):
            return src.x * edge.weight

        def apply(self, vertex, gathered):
            return {"x": gathered / self.n}

    program = type("Sums", (Sums,), {"direction": direction})
    A = sp.coo_array((GRAPH.out_values, (GRAPH.out.owners(), GRAPH.out.indices)), (5, 5)).toarray()
    A = {"in": A.T, "out": A, "all": A + A.T}[direction]
    x = np.stack([np.arange(5) + 1, np.arange(5) % 2], axis=1).astype(float)
    np.testing.assert_allclose(run(program, GRAPH, max_iterations=3).x, A @ A @ A @ x / 125)


def test_functions_are_called_with_arrays_of_the_types_that_were_declared() -> None:
    seen: list[Any] = []

    class Seen(gasla.VertexProgram):
        level = gasla.vertex(np.float32, init=1)
        rate = gasla.parameter(np.float32, 0.5)
        reduce = semirings.plus

        def gather(self, src, dst, edge):
            if isinstance(src.level, np.ndarray):
                seen.append((src.id.tolist(), dst.id.tolist(), edge.id.tolist(), self.iteration))
            return src.level * self.rate

        def apply(self, vertex, gathered):
            seen.append(getattr(gathered, "dtype", None))
            return {"level": semirings.cast(gathered / self.n, np.float32)}

    run(Seen, GRAPH, active=[0], max_iterations=1)
    # Vertices 1 and 2 hear from 0, and gather over all of their in-edges, each in the order of the input.
    assert seen[1:] == [([0, 3, 0, 2], [1, 1, 2, 2], [0, 6, 1, 4], 0), np.float32]


def test_python_numbers_take_the_type_of_what_is_beside_them() -> None:
    """As everywhere in NumPy, and in compiled code."""
    seen: set[np.dtype[Any]] = set()

    class Weak(gasla.VertexProgram):
        x = gasla.vertex((np.float32, (12,)), init=0.1)
        y = gasla.vertex(np.int8, init=1)
        everyone = True

        def apply(self, vertex, gathered):
            found = {"x": vertex.x * 999 + 0.1, "y": 2 + vertex.y}
            seen.update(value.dtype for value in found.values() if isinstance(value, np.ndarray))
            return found

    found = gasla.run(Weak, Graph.from_edges([], [], n=3), max_iterations=1, compile=False)
    assert seen == {np.dtype(np.float32), np.dtype(np.int8)}
    x = np.float32(0.1)
    assert (found.x == x * np.float32(999) + x).all() and (found.y == 3).all()


def test_functions_that_give_one_value_for_all() -> None:
    class Constant(gasla.VertexProgram):
        everyone = True
        x = gasla.vertex(np.int64)
        y = gasla.vertex((np.float32, (3,)))
        flow = gasla.edge((np.int16, (2,)), init=0)
        reduce = semirings.plus

        def mask(self, vertex):
            return True

        def edge_mask(self, src, dst, edge):
            return True

        def gather(self, src, dst, edge):
            return 2

        def apply(self, vertex, gathered):
            return {"x": gathered, "y": 1.5}

        def activate(self, before, after):
            return True

        def scatter(self, src, dst, edge):
            return {"flow": self.iteration + 3}

        @gasla.aggregate(semirings.plus, np.int32)
        def count(self, before, after):
            return 1

        def stop(self):
            return False

    found = run(Constant, GRAPH, max_iterations=2)
    assert found.x.tolist() == [2, 4, 4, 4, 0]
    assert (found.y == np.float32(1.5)).all()
    assert found.flow.tolist() == [[4, 4]] * 7
    assert found.count == 5
    assert found.count.dtype == np.int32
    assert len(found.active) == 5
    assert not found.converged


COMPOSE = semirings.Monoid(lambda f, g: (f[0] * g[0] % 97, (f[0] * g[1] + f[1]) % 97), (1, 0), commutative=False)


@pytest.mark.parametrize("monoid", [semirings.plus, semirings.max, semirings.first, COMPOSE])
def test_rows_are_reduced_each_in_order(monoid: Any) -> None:
    rng, number = np.random.default_rng(1), np.dtype(np.int64)
    pair = monoid is COMPOSE
    kind = TupleType((number, number)) if pair else number
    for lengths in ([], [0], [1], [0, 3, 0, 0, 1, 64, 7, 0], [1000], rng.integers(0, 5, 300)):
        rows = np.repeat(np.arange(len(lengths)), lengths)
        parts = tuple(rng.integers(0, 97, len(rows)) for _ in range(1 + pair))
        found = reduce_segments(monoid, parts, rows, len(lengths), kind)
        for row in range(len(lengths)):
            values: list[Any] = [v if pair else v[0] for v in zip(*(p[rows == row] for p in parts))]
            total = functools.reduce(monoid.combine, values or [monoid.identity(kind)])
            assert tuple(f[row] for f in found) == (total if pair else (total,))


def test_a_schedule_begins_anywhere_and_goes_backwards() -> None:
    class Order(gasla.VertexProgram):
        when = gasla.vertex(np.int64, init=-1)

        def apply(self, vertex, gathered):
            return {"when": self.iteration}

    graph = Graph.from_edges([0], [1], n=5)
    schedule = gasla.Schedule(np.array([5, 3, -1, 4, 2]), first=3)
    for given, expected in ((schedule, [2, 0, -1, 1, -1]), (schedule.reversed(), [0, 2, -1, 1, -1])):
        found = run(Order, graph, schedule=given)
        assert found.when.tolist() == expected
        assert found.converged
        assert found.iterations == 3
        assert len(found.active) == 0
    assert run(Order, graph, schedule=schedule, max_iterations=1).when.tolist() == [-1, 0, -1, -1, -1]


def test_all_that_a_run_takes() -> None:
    seen: list[int] = []
    levels = np.full(5, 10**6, np.int32)
    result = run(
        programs.Hops, GRAPH, active=[0], hops={0: 0}, trace=True, wait=False, progress=lambda i: None,
        callback=lambda r: seen.append(r.iterations), deterministic=True, direction="push", notice=False, delta=1,
        out={"hops": levels},
    )  # fmt: skip
    assert result.hops is levels
    assert levels.tolist() == [0, 1, 1, 2, 10**6]
    assert seen == [1, 2, 3]
    assert result.trace is not None
    assert result.trace["active"].tolist() == [1, 2, 1]
    assert result.trace["edges"].tolist() == [2, 3, 2]
    assert result.edges == 7
    assert set(result.trace["direction"]) == {"pull"}
    went_on = run(programs.Hops, GRAPH, active=[0], out={"hops": levels})
    assert went_on.iterations == 1


def test_prepared_runs_may_be_called_so_too() -> None:
    search = gasla.prepare(programs.Hops, GRAPH, compile=False)
    assert [search(active=[s], hops={s: 0}).hops[3] for s in range(3)] == [2, 1, 1]
    weighted = Graph.from_edges([0, 1], [1, 2], [1.0, 2])
    costs = gasla.prepare(programs.Cheapest, weighted, compile=False)
    assert costs(active=[0], cost={0: 0}).cost.tolist() == [0, 1, 3]
    assert weighted.values is not None
    weighted.values[0] = 7
    assert costs(active=[0], cost={0: 0}).cost.tolist() == [0, 7, 9]


def test_nothing_that_is_given_changes_or_is_handed_out() -> None:
    given = {"level": np.arange(5), "count": np.zeros(5, np.int32), "flow": np.arange(7)}
    before = {name: array.copy() for name, array in given.items()}
    found = run(programs.Flow, GRAPH, max_iterations=3, **given)
    for name, array in before.items():
        np.testing.assert_array_equal(given[name], array)
        assert not np.shares_memory(found.state[name], given[name])


BAD: list[dict[str, Any]] = [
    {"nothing": 1},
    {"hops": np.zeros(4, np.int32)},
    {"hops": np.zeros(5)},
    {"hops": {7: 0}},
    {"hops": {0: 2**40}},
    {"hops": 0.5},
    {"active": [9]},
    {"active": [0, 0]},
    {"direction": "up"},
    {"delta": -1},
    {"max_iterations": -1},
    {"schedule": [0, 1]},
    {"out": {"nothing": np.zeros(5)}},
    {"out": {"hops": np.zeros(5)}},
    {"deterministic": "yes"},
    {"trace": None},
    {"wait": 1},
    {"notice": "no"},
]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: f"{next(iter(bad))}")
def test_bad_arguments_are_refused_as_ever(bad: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises((TypeError, ValueError)) as found:
        run(programs.Hops, GRAPH, **bad)
    monkeypatch.undo()
    with pytest.raises(type(found.value)) as expected:
        gasla.run(programs.Hops, GRAPH, **bad)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("call", [gasla.run, gasla.prepare])
@pytest.mark.parametrize("given", ["no", None, 0])
def test_compile_is_true_or_false(call: Any, given: Any) -> None:
    with pytest.raises(TypeError, match=f"compile is {given!r}; expected True or False"):
        call(programs.Hops, GRAPH, compile=given)
    with pytest.raises(TypeError, match=f"deterministic is {given!r}; expected True or False"):
        call(programs.Hops, GRAPH, deterministic=given)


def test_values_that_an_edge_field_cannot_hold_are_refused() -> None:
    class Whole(programs.Cheapest):
        cost = gasla.vertex(np.int64, init=99)
        weight = gasla.edge(np.int8)

    with pytest.raises(TypeError, match="the matrix holds float64, and the program's edge field is int8"):
        run(Whole, GRAPH)
    with pytest.raises(ValueError, match="the matrix holds numbers from 1 to 300"):
        run(Whole, Graph.from_edges([0, 1], [1, 2], [1, 300]))


@pytest.mark.thorough
def test_aggregates_of_the_initial_state_are_of_iteration_0(monkeypatch: pytest.MonkeyPatch) -> None:
    class When(gasla.VertexProgram):
        x = gasla.vertex(np.int64, init=1)
        everyone = True

        def apply(self, vertex, gathered):
            return {"x": vertex.x + 1}

        @gasla.aggregate(semirings.max, np.int64)
        def when(self, before, after):
            return self.iteration

    assert run(When, GRAPH, max_iterations=0).when == 0
    monkeypatch.undo()
    for iterations in (0, 1, 2):
        assert gasla.run(When, GRAPH, max_iterations=iterations).when == max(0, iterations - 1)


@pytest.mark.gpu
def test_on_a_gpu_it_leaves_arrays_there() -> None:
    import cupy

    there = GRAPH.to("gpu")
    start = cupy.full(GRAPH.n, 10**6, np.int32)
    start[0] = 0
    found = run(programs.Hops, there, active=cupy.array([0]), hops=start)
    assert isinstance(found.hops, cupy.ndarray)
    assert found.hops.get().tolist() == [0, 1, 1, 2, 10**6]
    assert int(start[1]) == 10**6
    levels = cupy.full(GRAPH.n, 10**6, np.int32)
    found = run(programs.Hops, GRAPH, device="gpu", active=[0], hops={0: 0}, out={"hops": levels})
    assert found.hops is levels
    assert levels.get().tolist() == [0, 1, 1, 2, 10**6]
    assert run(programs.Flow, there, max_iterations=2).active.mask.get().shape == (GRAPH.n,)
    assert run(programs.Flow, there, max_iterations=2).flow.get().shape == (GRAPH.m,)


@pytest.mark.parametrize("length", [4, 16])
def test_constants_of_one_dimension_are_vectors(length: int) -> None:
    """Also where there are as many vertices as items."""
    ramp = np.arange(length)

    class Ramps(gasla.VertexProgram):
        x = gasla.vertex((np.float64, (length,)), init=lambda vertex: vertex.id * ramp)
        y = gasla.vertex((np.float64, (length,)))
        reduce = semirings.plus
        everyone = True

        def gather(self, src, dst, edge):
            return src.x * ramp + src.id

        def apply(self, vertex, gathered):
            return {"y": semirings.where(ramp < 2, gathered + vertex.id * ramp, np.maximum(gathered, ramp))}

    graph = gasla.Graph.from_edges(np.arange(15), np.arange(1, 16), n=16)
    x = np.outer(np.arange(16), ramp)
    gathered = np.vstack([np.zeros(length), x[:-1] * ramp + np.arange(15)[:, None]])
    wanted = np.where(ramp < 2, gathered + x, np.maximum(gathered, ramp))
    np.testing.assert_array_equal(run(Ramps, graph, max_iterations=1).y, wanted)


@pytest.mark.parametrize("convert", [lambda x: semirings.cast(x, np.int32), semirings.popcount, semirings.ctz])
def test_what_is_converted_is_still_a_value_for_each(convert: Any) -> None:
    """Not a vector, though of one dimension."""

    class Converted(gasla.VertexProgram):
        x = gasla.vertex((np.int64, (12,)), init=1)
        y = gasla.vertex((np.int64, (12,)))
        w = gasla.edge(np.int64)
        reduce = semirings.plus
        everyone = True

        def gather(self, src, dst, edge):
            return src.x * convert(edge.w)

        def apply(self, vertex, gathered):
            return {"y": gathered * convert(vertex.id + 1)}

    graph = Graph.from_edges(*np.indices((12, 12)).reshape(2, -1), np.arange(144) % 7, n=12)
    found = run(Converted, graph, max_iterations=1).y
    sums = convert(graph.in_values).reshape(12, 12).sum(axis=1)
    np.testing.assert_array_equal(found, np.tile(sums * convert(np.arange(1, 13)), (12, 1)).T)


@pytest.mark.parametrize("turned", [False, True])
def test_choices_between_numbers_belong_to_vertices(turned: bool) -> None:
    """They are one a vertex, however many vertices there are, and take the type of what they meet."""

    class Halved(gasla.VertexProgram):
        x = gasla.vertex(np.float32, init=lambda vertex: vertex.id)
        seen = gasla.vertex(np.int32)
        reduce = semirings.plus
        everyone = True

        def gather(self, src, dst, edge):
            factor = semirings.where(src.x > 1, 0.5, 1)
            product = factor * src.x if turned else src.x * factor
            assert product.dtype == np.float32
            return product

        def apply(self, vertex, gathered):
            return {"x": gathered, "seen": semirings.cast(semirings.where(vertex.x > 1, 2, 1), np.int32)}

    found = run(Halved, gasla.Graph.from_edges([0, 1, 2], [1, 2, 3]), max_iterations=1)
    np.testing.assert_array_equal(found.x, [0, 0, 1, 1])
    np.testing.assert_array_equal(found.seen, [1, 1, 2, 2])


def test_algorithms_run_on_it_too() -> None:
    """Within `engines.interpreted`, and in that context alone."""
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0], [1.0, 2, 3])
    with gasla.engines.interpreted():
        assert gasla.sssp(graph, 0).tolist() == [0, 1, 3]
        assert not gasla.engines.compiles()
        kinds = {type(runs).__name__ for kept in graph._known.values() if isinstance(kept, list) for runs in kept}
    assert kinds == {"Interpreted"}
    assert gasla.engines.compiles()


def test_constant_vectors_are_whole_results_and_aggregates_first_read_zero() -> None:
    class Constants(gasla.VertexProgram):
        everyone = True
        x = gasla.vertex(np.int64, init=lambda vertex: vertex.id)
        v = gasla.vertex((np.int64, (2,)))
        reduce = semirings.plus

        def gather(self, src, dst, edge):
            return np.array([3, 4])

        def apply(self, vertex, gathered):
            return {"v": gathered, "x": vertex.x + self.total}

        @gasla.aggregate(semirings.plus, np.int64)
        def total(self, before, after):
            return after.x + self.total

    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 1], n=4)
    assert run(Constants, graph, max_iterations=0).total == 6
    found = run(Constants, graph, max_iterations=1)
    assert found.v.tolist() == [[0, 0], [6, 8], [3, 4], [3, 4]]
    assert found.x.tolist() == [6, 7, 8, 9]
    assert found.total == 30 + 4 * 6
