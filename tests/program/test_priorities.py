"""Priorities of all kinds of numbers: whatever they are, a run with them ends with what a run without them does."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
import semirings
from gasla.gpu.program.generate import Module
from gasla.gpu.program.plan import Variant
from gasla.gpu.runtime.compile import compile_source
from gasla.graph import generators
from gasla.graph.graph import Graph
from gasla.program.plan import Plan

GRAPH = Graph.from_edges([0, 0, 1, 2, 3, 4, 2], [1, 2, 3, 3, 4, 5, 5], np.array([1, 5, 1, 1, 2, 0.5, 9], np.float32))


class Nearest(gasla.VertexProgram):
    distance = gasla.vertex(np.float32, init=np.inf)
    weight = gasla.edge(np.float32)
    reduce = semirings.min

    def gather(self, src, dst, edge):
        return src.distance + edge.weight

    def apply(self, vertex, gathered):
        return {"distance": semirings.minimum(vertex.distance, gathered)}


class Ranked(Nearest):
    """What a vertex is ranked by is given."""

    rank = gasla.vertex(np.float64)

    def priority(self, vertex):
        return vertex.rank


class Mixed(Ranked):
    """Distances that are moved."""

    def priority(self, vertex):
        return vertex.distance - vertex.rank


HUGE = float(np.finfo(np.float64).max)
NUMBERS = [np.nan, np.inf, -np.inf, HUGE, -HUGE, 0.0, -0.0, 5e-324, 1e300, 3.0, -2.0, 1e17, float(2**63), -float(2**63)]
RANKS = st.lists(st.one_of(st.sampled_from(NUMBERS), st.floats()), min_size=6, max_size=6)
DELTAS = [None, 1.0, 1e-300, 1e300, np.inf, 5e-324]


@pytest.mark.thorough
@pytest.mark.parametrize("program", [Ranked, pytest.param(Mixed, marks=pytest.mark.slow)])
@settings(max_examples=60)
@given(ranks=RANKS, delta=st.sampled_from(DELTAS))
def test_no_priority_loses_a_vertex_or_holds_a_run_up(program: Any, ranks: list[float], delta: float | None) -> None:
    expected = gasla.run(Nearest, GRAPH, active=[0], distance={0: 0})
    start: dict[str, Any] = {"active": [0], "distance": {0: 0}, "rank": np.array(ranks), "max_iterations": 1000}
    with np.errstate(all="ignore"):
        found = gasla.run(program, GRAPH, delta=delta, **start)
    assert found.converged
    np.testing.assert_array_equal(found.distance, expected.distance)


@pytest.mark.parametrize("kind", [np.int64, pytest.param(np.uint64, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_the_ends_of_integers_are_priorities_too(kind: type) -> None:
    program = type("Ranked", (Ranked,), {"rank": gasla.vertex(kind)})
    ends = [np.iinfo(kind).min, np.iinfo(kind).max, 0, np.iinfo(kind).max - 1, 7, np.iinfo(kind).min]
    for ranks in (ends, ends[::-1]):
        for delta in DELTAS:
            ranked = {"rank": np.array(ranks, kind), "delta": delta, "max_iterations": 1000}
            found = gasla.run(program, GRAPH, active=[0], distance={0: 0}, **ranked)
            assert found.converged and found.distance.tolist() == [0, 1, 5, 2, 4, 4.5]


def test_nan_comes_after_all_other_priorities() -> None:
    """One vertex an iteration, by ascending priority."""
    ranks = np.array([np.nan, np.inf, HUGE / 2, 1.0, -HUGE / 2, -np.inf])
    hub = Graph.from_edges(np.zeros(6, int), np.arange(1, 7), np.ones(6, np.float32), n=7)
    order: list[int] = []
    seen: Any = lambda result: order.extend(result.active.ids - 1)
    gasla.run(Ranked, hub, active=[0], distance={0: 0}, rank=np.r_[0, ranks], delta=1.0, callback=seen)
    assert order == [5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize("delta", [0, -1.0, np.nan, "wide"])
def test_a_bucket_has_a_width(delta: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=f"delta is {delta!r}; expected a number"):
        gasla.run(Ranked, GRAPH, active=[0], delta=delta)


def test_what_may_not_go_into_a_priority() -> None:
    def later(self: Any, vertex: Any) -> Any:
        return vertex.distance + self.iteration

    with pytest.raises(ValueError, match=r"P\.priority reads self\.iteration; expected fields"):
        type("P", (Nearest,), {"priority": later}).traced()  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match=r"P\.priority returned .*; expected one number"):
        type("P", (Nearest,), {"priority": lambda self, vertex: (vertex.distance, 1)}).traced()  # type: ignore


class Widest(gasla.VertexProgram):
    """How wide the way to a vertex is at its narrowest."""

    width = gasla.vertex(np.float32)
    weight = gasla.edge(np.float32)
    reduce = semirings.max

    def gather(self, src, dst, edge):
        return semirings.minimum(src.width, edge.weight)

    def apply(self, vertex, gathered):
        return {"width": semirings.maximum(vertex.width, gathered)}

    def priority(self, vertex):
        return -vertex.width


@pytest.mark.slow
def test_buckets_are_of_use_where_priorities_are_no_sums() -> None:
    graph = Graph(generators.grid(12))
    start: dict[str, Any] = {"active": [0], "width": {0: 1001}}
    one_bucket, good, default = (gasla.run(Widest, graph, delta=delta, **start) for delta in (1e9, 40.0, None))
    np.testing.assert_array_equal(default.width, good.width)
    np.testing.assert_array_equal(default.width, one_bucket.width)
    assert default.edges < 2 * good.edges < one_bucket.edges / 2


@pytest.mark.parametrize(
    ("gather", "priority", "adds_up"),
    [
        (lambda self, src, dst, edge: src.distance + edge.weight, None, True),
        (lambda self, src, dst, edge: edge.weight + src.distance, None, True),
        (lambda self, src, dst, edge: src.distance + semirings.cast(edge.weight, np.float32), None, True),
        (lambda self, src, dst, edge: src.distance + 1, None, False),
        (lambda self, src, dst, edge: src.distance + 2 * edge.weight, None, False),
        (lambda self, src, dst, edge: src.distance + edge.weight, lambda self, vertex: -vertex.distance, False),
        (lambda self, src, dst, edge: src.distance + edge.weight, lambda self, vertex: vertex.distance**2, False),
        (lambda self, src, dst, edge: semirings.maximum(src.distance, edge.weight), None, False),
    ],
)
def test_whether_priorities_are_sums_of_edge_values(gather: Any, priority: Any, adds_up: bool) -> None:
    body = {"gather": gather, "priority": priority or (lambda self, vertex: vertex.distance)}
    program: Any = type("P", (Nearest,), body)
    assert Plan(program.traced()).adds_up == adds_up
    assert not Plan(Widest.traced()).adds_up


@pytest.mark.thorough
def test_kernels_that_look_for_the_range_of_what_waits_compile() -> None:
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    i4 = np.dtype(np.int32)
    for shape in (Variant(i4), Variant(i4, bounded_degree=True, local=True)):
        module = Module(Widest.traced(), shape)
        assert "ADDS_UP = false" in module.source and compile_source(module.source, "compute_90")


def near_graph(src: Any, dst: Any, lengths: Any) -> Graph:
    return Graph.from_edges(src, dst, np.asarray(lengths, np.float32), n=int(max(np.max(src), np.max(dst))) + 1)


class NearFirst(Nearest):
    def priority(self, vertex):
        return vertex.distance


def test_buckets_grow_where_no_vertex_improves_another() -> None:
    """The leaves of a star lie in 2000 buckets of the given width, and nothing is gained by opening each."""
    lengths = np.random.default_rng(0).permutation(2000) + 0.5
    star = near_graph(np.zeros(2000, int), np.arange(1, 2001), lengths)
    found = gasla.run(NearFirst, star, active=[0], distance={0: 0}, delta=1.0)
    np.testing.assert_array_equal(found.distance[1:], lengths)
    assert found.iterations < 50


def test_buckets_stay_narrow_where_vertices_would_be_active_twice() -> None:
    """A path beside shortcuts, the longer the later they arrive: in order of distance each vertex is active once."""
    n = 400
    ids = np.arange(n - 1)
    src, dst = np.r_[ids, np.zeros(n - 2, int)], np.r_[ids + 1, np.arange(2, n)]
    graph = near_graph(src, dst, np.r_[np.ones(n - 1), np.arange(2, n) * 1.5])
    found = gasla.run(NearFirst, graph, active=[0], distance={0: 0}, delta=1.0, trace=True)
    np.testing.assert_array_equal(found.distance, np.arange(n))
    assert found.trace is not None and found.trace["active"].sum() < 3 * n


@pytest.mark.parametrize("seed", range(4))
def test_threads_defer_the_same_vertices(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Far vertices have many edges of a core; then a path of near vertices is left to one thread alone."""
    monkeypatch.setattr("gasla.cpu.program.workspace.SMALL", 0)
    rng = np.random.default_rng(seed)
    core, far, path = 2000, 100, 600
    wide = rng.integers(0, core, (2, 20 * core)), 1 + rng.random(20 * core)
    away = np.stack((rng.integers(0, core, 30 * far), rng.integers(core, core + far, 30 * far)))
    way = np.r_[0, core + far + np.arange(path - 1)], core + far + np.arange(path)
    ends = np.concatenate((wide[0], away, np.stack(way)), axis=1)
    graph = near_graph(*ends, np.r_[wide[1], 1000 + 500 * rng.random(30 * far), np.ones(path)])
    expected = gasla.run(Nearest, graph, active=[0], distance={0: 0}).distance
    for delta in (None, 0.5, 50.0):
        found = gasla.run(NearFirst, graph, active=[0], distance={0: 0}, delta=delta)
        np.testing.assert_array_equal(found.distance, expected)
