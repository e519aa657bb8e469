"""Runs of the GPU without a GPU: the generated loop on an emulated grid of blocks, on NumPy's arrays.

Small segments and low thresholds let a graph of a hundred vertices go through all forms of a frontier.
"""

import ctypes
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import gasla
import semirings
from gasla.algorithms.paths import sssp
from gasla.algorithms.traversal import bfs
from gasla.gpu.program.plan import Variant
from gasla.graph.graph import Graph
from tests.helpers import programs, rule_tables
from tests.helpers.emulated_loop import EmulatedRun
from tests.helpers.reference_engine import Reference

BLOCKS = 2
AS_THEY_ARE: dict[str, tuple[str, str]] = {}
LITTLE_ROOM = {"SEGMENT": ("2048", "16")}
IN_ORDER = {"SORTED": ("1024", "2"), "TURN": ("128", "32")}
SOON_WIDE = {"SMALL_EDGES": ("1 << 16", "20"), "LARGE_EDGES": ("1 << 18", "60")}
RUNS = (0, 0, 1000, 30.0), (7, 0, 1, 300.0), (3, 1, 1000, 1.0), (9, 1, 4, 100.0), (5, 2, 1, 1e9)


class Late(bfs.Levels):
    """Some iterations pass before a vertex is shut: until then those that took it let it go again."""

    def mask(self, vertex):
        return vertex.level < 4


SHORTEST: Any = type(sssp.DeltaStepping(real=np.float32, lengths=np.float32))
pytestmark = [pytest.mark.thorough, pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")]


def emulated_run(program: Any, graph: Graph, constants: Any, folder: Path, **shape_of_kernel: bool) -> EmulatedRun:
    return EmulatedRun(program, graph, Variant(graph.out.indptr.dtype, **shape_of_kernel), BLOCKS, constants, folder)


def grid(side: int) -> Graph:
    v = np.arange(side * side).reshape(side, side)
    src, dst = np.concatenate([v[:, 1:].ravel(), v[1:].ravel()]), np.concatenate([v[:, :-1].ravel(), v[:-1].ravel()])
    rng = np.random.default_rng(1)
    some = rng.random(len(src)) < 0.9
    src, dst, length = src[some], dst[some], rng.integers(1, 100, some.sum()).astype(np.float32)
    return Graph.from_edges(np.append(src, dst), np.append(dst, src), np.append(length, length), n=side * side)


def skewed() -> Graph:
    rng = np.random.default_rng(4)
    src, dst = rng.integers(0, 200, 900), (200 * rng.random(900) ** 4).astype(np.int64)
    length = rng.integers(1, 100, 900).astype(np.float32)
    return Graph.from_edges(np.append(src, dst), np.append(dst, src), np.append(length, length), n=200)


CONSTANTS = {"as they are": AS_THEY_ARE, "little room": LITTLE_ROOM, "soon wide": SOON_WIDE}
SOON = [(bfs.Levels, False, "little room"), (SHORTEST, False, "soon wide")]


class Last(gasla.VertexProgram):
    """What comes last, be it the smallest integer; of lists of any length."""

    everyone = True
    sources = "active"
    x = gasla.vertex(np.int8, init=-128)
    reduce = semirings.second

    def gather(self, src, dst, edge):
        return semirings.where(src.id % 3 == 0, src.x, src.id.astype(np.int8))

    def apply(self, vertex, gathered):
        return {"x": gathered}


def test_without_an_identity(tmp_path: Path) -> None:
    emulated = emulated_run(Last, skewed(), AS_THEY_ARE, tmp_path)
    reference = Reference(Last(), emulated.graph).run(None, 4)
    assert -128 in reference.vertex["x"]
    np.testing.assert_array_equal(emulated.run(None, limit=4, at_once=3)["x"], reference.vertex["x"])


@pytest.mark.parametrize(
    ("program", "wide", "constants"),
    [
        pytest.param(*case, CONSTANTS[name], id=f"{case[0].__name__}-{case[1]}-{name}", marks=marks)
        for case in ((bfs.Levels, False), (bfs.Levels, True), (SHORTEST, False))
        for name in CONSTANTS
        for marks in ([] if (*case, name) in SOON else [pytest.mark.slow],)
    ],
)
def test_equals_the_cpu(program: Any, wide: bool, constants: Any, tmp_path: Path) -> None:
    graph = grid(7)
    if wide:
        graph = Graph.from_csr(graph.out.indptr.astype(np.int64), graph.out.indices.astype(np.int64), graph.out_values)
    check(
        emulated_run(program, graph, constants, tmp_path, bounded_degree=True, local=constants is not SOON_WIDE),
        program,
    )


@pytest.mark.parametrize(
    ("program", "packed", "mode"),
    [
        (bfs.Levels, False, {}),
        (SHORTEST, False, {}),
        (SHORTEST, True, {"bounded_degree": True}),
        pytest.param(bfs.Parents, True, {}, marks=pytest.mark.slow),
    ],
)
def test_streamed_lists_are_pushed_along_in_order(
    program: Any, packed: bool, mode: dict[str, bool], tmp_path: Path
) -> None:
    graph = grid(7) if program is SHORTEST else skewed()
    emulated = emulated_run(program, graph, IN_ORDER, tmp_path, streamed=True, packed=packed, **mode)
    check(emulated, program)


def test_the_queue_of_streamed_lists_is_in_order(tmp_path: Path) -> None:
    graph = skewed()
    emulated = emulated_run(bfs.Levels, graph, IN_ORDER, tmp_path, streamed=True)
    fields = emulated.run([3], way=1, limit=2, level={3: 0})
    address = ctypes.cast(emulated.arguments.queue, ctypes.POINTER(ctypes.c_int32))
    prefixes, vertices = np.ctypeslib.as_array(address, (2, graph.n, 2))[1].T  # of the last iteration
    (expected,) = np.nonzero(fields["level"] == 1)
    assert len(expected) > 5
    np.testing.assert_array_equal(vertices[: len(expected)], expected)
    degrees = graph.out_degrees[expected]
    np.testing.assert_array_equal(prefixes[: len(expected)], degrees.cumsum() - degrees)


def test_long_lists(tmp_path: Path) -> None:
    check(emulated_run(bfs.Parents, skewed(), AS_THEY_ARE, tmp_path), bfs.Parents)


def test_everyone_hears_the_active(tmp_path: Path) -> None:
    emulated = emulated_run(programs.Rising, skewed(), AS_THEY_ARE, tmp_path)
    for active in ([3], None):
        reference = Reference(programs.Rising(), emulated.graph).run(active, 4)
        fields = emulated.run(active, limit=4, at_once=3)
        np.testing.assert_array_equal(fields["x"], reference.vertex["x"])


def test_a_still_iteration_ends_no_run_of_what_varies(tmp_path: Path) -> None:
    emulated = emulated_run(programs.LateFlow, skewed(), AS_THEY_ARE, tmp_path)
    reference = Reference(programs.LateFlow(), emulated.graph).run(None, 9)
    for at_once in (10**6, 3):
        fields = emulated.run(None, limit=9, at_once=at_once)
        assert emulated.page.control.iteration == 9
        np.testing.assert_array_equal(fields["value"], reference.vertex["value"])
        np.testing.assert_array_equal(fields["flow"], reference.edge["flow"])


@pytest.mark.parametrize(
    "mode",
    [
        pytest.param({}, id="packed", marks=pytest.mark.slow),
        pytest.param({"bounded_degree": True}, id="thin", marks=pytest.mark.slow),
        pytest.param({"bounded_degree": True, "local": True}, id="local"),
    ],
)
def test_vertices_that_are_let_go(mode: dict[str, bool], tmp_path: Path) -> None:
    emulated = emulated_run(Late, grid(7), SOON_WIDE, tmp_path, **mode)
    assert emulated.plan.closes
    assert not emulated.plan.applies_once
    for source, way, at_once, delta in RUNS:
        fields = emulated.run([source], way=way, at_once=at_once, delta=delta, level={source: 0})
        expected = Reference(Late(), emulated.graph, level={source: 0}).run([source]).vertex["level"]
        np.testing.assert_array_equal(fields["level"], expected)


@pytest.mark.parametrize(
    "mode", [{}, pytest.param({"bounded_degree": True, "local": True}, marks=pytest.mark.slow)], ids=str
)
def test_any_passes_zero_over(mode: dict[str, bool], tmp_path: Path) -> None:
    """What is pushed is brought together first: zero may be among it."""
    emulated = emulated_run(programs.Seven, grid(7), SOON_WIDE, tmp_path, **mode)
    assert emulated.plan.accumulates
    for source, way, at_once, delta in RUNS:
        fields = emulated.run([source], way=way, at_once=at_once, delta=delta, level={source: 0})
        expected = Reference(programs.Seven(), emulated.graph, level={source: 0}).run([source]).vertex
        for name, values in fields.items():
            np.testing.assert_array_equal(values, expected[name])


class Ranked(SHORTEST):  # type: ignore[misc]
    """Vertices wait by what is given."""

    rank = gasla.vertex(np.float64)

    def priority(self, vertex):
        return vertex.rank


class Widest(gasla.VertexProgram):
    """By how wide the way to a vertex is at its narrowest."""

    width = gasla.vertex(np.float32, init=0)
    weight = gasla.edge(np.float32)
    reduce = semirings.max

    def gather(self, src, dst, edge):
        return semirings.minimum(src.width, edge.weight)

    def apply(self, vertex, gathered):
        return {"width": semirings.maximum(vertex.width, gathered)}

    def priority(self, vertex):
        return -vertex.width


@pytest.mark.parametrize("mode", [{}, {"bounded_degree": True, "local": True}], ids=["packed", "thin"])
def test_no_priority_loses_a_vertex_or_holds_a_run_up(mode: dict[str, bool], tmp_path: Path) -> None:
    graph = grid(7)
    emulated = emulated_run(Ranked, graph, SOON_WIDE if mode else AS_THEY_ARE, tmp_path, **mode)
    expected = dijkstra(csr_array((graph.out_values, graph.out.indices, graph.out.indptr)), indices=0)
    numbers = np.array([np.nan, np.inf, -np.inf, np.finfo(float).max, -np.finfo(float).max, 0, 1e300, 3, -2, 1e17])
    for seed, delta in enumerate((0, 1.0, 1e-300, 1e300)):
        ranks = np.random.default_rng(seed).choice(numbers, graph.n)
        fields = emulated.run([0], at_once=1000, delta=delta, distance={0: 0}, rank=ranks)
        np.testing.assert_array_equal(fields["distance"], expected)


def test_buckets_are_parts_of_the_range_of_what_waits(tmp_path: Path) -> None:
    graph = grid(20)
    emulated = emulated_run(Widest, graph, SOON_WIDE, tmp_path, bounded_degree=True, local=True)
    expected = gasla.run(Widest, graph, active=[0], width={0: 101})
    assert not emulated.plan.adds_up and expected.edges < 4 * graph.m
    fields = emulated.run([0], at_once=10_000, delta=0, width={0: 101})
    np.testing.assert_array_equal(fields["width"], expected.width)
    assert emulated.page.control.total < 4 * graph.m


def check(emulated: EmulatedRun, program: Any) -> None:
    """Pushing and pulling, all at once or an iteration a launch; runs follow each other on what the last one left."""
    graph = emulated.graph
    for source, way, at_once, delta in RUNS:
        if program is SHORTEST:
            fields = emulated.run([source], way=way, at_once=at_once, delta=delta, distance={source: 0})
            lengths = csr_array((graph.out_values, graph.out.indices, graph.out.indptr))
            np.testing.assert_array_equal(fields["distance"], dijkstra(lengths, indices=source))
            continue
        start: dict[str, Any] = {name: {source: source * (name == "parent")} for name in program.vertex_fields}
        fields = emulated.run([source], way=way, at_once=at_once, delta=delta, **start)
        levels = gasla.bfs(graph, source)
        np.testing.assert_array_equal(fields["level"], levels)
        assert emulated.page.control.iteration == levels.max() + 1
        if way == 1:
            assert emulated.page.control.total == graph.out_degrees[levels >= 0].sum()
        if "parent" in fields:
            reached = np.flatnonzero(levels > 0)
            assert (levels[fields["parent"][reached]] == levels[reached] - 1).all()


@pytest.mark.parametrize("scatter", ["none", "some"])
def test_a_run_over_everyone_starts_as_without_a_gpu(scatter: str, tmp_path: Path) -> None:
    """With no active vertex at the end of an iteration, so that none follows; and aggregates read 0 at the start."""
    chosen = {"everyone": "yes", "gather": "plus", "apply": "once", "activate": "all", "scatter": scatter}
    row = {name: choices[0] for name, choices in rule_tables.FACTORS.items()} | chosen

    class Measured(rule_tables.program(row)):  # type: ignore[misc]
        @gasla.aggregate(semirings.plus, np.int64)
        def total(self, before, after):
            return after.x + self.total

        def post_apply(self, vertex):
            return {"y": (vertex.y + self.total) % 7}

    graph = Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3], [1, 2, 3, 4], n=5)
    kernel = EmulatedRun(Measured, graph, Variant(graph.out.indptr.dtype, small=True), 1, AS_THEY_ARE, tmp_path)
    for active in ([], [2], None):
        expected = gasla.run(Measured, graph, active=active, max_iterations=3, compile=False)
        found = kernel.run(active, limit=3)
        assert kernel.page.control.iteration == expected.iterations == (3 if active != [] else 0)
        for name in ("x", "y"):
            np.testing.assert_array_equal(found[name], expected.state[name])
