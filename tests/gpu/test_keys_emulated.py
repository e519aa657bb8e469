"""Reductions by key on the GPU without a GPU: the generated loop on an emulated grid, and what NVRTC says."""

import ctypes
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla.gpu.program import tables
from gasla.gpu.program.generate import Module
from gasla.gpu.program.plan import Variant
from gasla.gpu.runtime.compile import compile_source
from gasla.graph.graph import Graph
from tests.helpers.emulated_loop import BLOCK, EmulatedRun
from tests.helpers.keyed_programs import Chosen, Labels

pytestmark = pytest.mark.thorough

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
SLOTS = 64  # of a warp: 48 entries, and 96 of a block


class Moods(gasla.VertexProgram):
    """Where something changed nearby: the least total of what neighbors that are active, and heavy, bring by mood."""

    mood = gasla.vertex(np.int64, init=lambda v: semirings.cast(v.id % 7, np.int64) + 2**40)
    seen = gasla.vertex(np.float32)
    weight = gasla.edge(np.float32)
    sources = "active"
    reduce = semirings.min

    def mask(self, vertex):
        return vertex.id % 5 != 1

    def edge_mask(self, src, dst, edge):
        return edge.weight > 1

    def key(self, src, dst, edge):
        return semirings.where(src.mood % 7 == 3, -1, src.mood)

    def gather(self, src, dst, edge):
        return edge.weight + src.seen / 2

    def choose(self, vertex, key, total):
        return -total, (key + vertex.id) % 3

    def apply(self, vertex, gathered):
        mood = semirings.where(gathered.key < 0, vertex.mood, gathered.key + self.iteration % 2)
        return {"mood": mood, "seen": semirings.where(gathered.key < 0, vertex.seen, gathered.total)}


class Heard(Moods):
    """The same of all neighbors, changed or not."""

    sources = "all"
    direction = "all"


def shapes() -> dict[str, Graph]:
    """Rows for every way: short ones of any length, of a warp's table, of a block's, and beyond; all of one key."""
    rng = np.random.default_rng(28)
    n = 400
    lengths = np.r_[np.arange(70), 95, 96, 97, 130, 300]
    dst = np.repeat(np.arange(len(lengths)), lengths)
    src = rng.integers(0, n, len(dst))
    return {
        "rows": Graph.from_edges(src, dst, rng.integers(-1, 5, len(dst)), n=n),
        "alike": Graph.from_edges(np.full(200, 7), np.repeat([3, 5], 100), np.full(200, 2), n=9),
        "pair": Graph.from_edges([0, 1, 1], [1, 0, 1], [2, 3, 4]),
        "one": Graph.from_edges([], [], [], n=1),
    }


def emulated(program: Any, graph: Graph, folder: Path, monkeypatch: Any, blocks: int = 2, **shape: Any) -> EmulatedRun:
    monkeypatch.setattr(tables, "WARPS", BLOCK // 32)
    return EmulatedRun(program, graph, Variant(graph.out.indptr.dtype, **shape), blocks, {}, folder)


@needs_compiler
@pytest.mark.parametrize(
    ("program", "mode"),
    [
        (Labels, ""),
        pytest.param(Chosen, "deterministic", marks=pytest.mark.slow),
        (Heard, ""),
        (Moods, "small"),
        pytest.param(Moods, "", marks=pytest.mark.slow),
        pytest.param(Labels, "deterministic", marks=pytest.mark.slow),
        pytest.param(Chosen, "", marks=pytest.mark.slow),
        pytest.param(Labels, "no tables near", marks=pytest.mark.slow),
        pytest.param(Heard, "deterministic", marks=pytest.mark.slow),
        pytest.param(Heard, "small", marks=pytest.mark.slow),
    ],
)
def test_equals_the_reference(program: Any, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shape: dict[str, Any] = {"table_slots": 0 if mode == "no tables near" else SLOTS}
    if mode in ("small", "deterministic"):
        shape[mode] = True
    for name, graph in shapes().items():
        run = emulated(program, graph, tmp_path / name, monkeypatch, 1 if mode == "small" else 2, **shape)
        for active, way in ((None, 0), ([0], 1)) if not program.everyone else ((None, 0),):
            expected = gasla.run(program, graph, active=active, max_iterations=4, compile=False)
            fields = run.run(active, way=way, limit=4, at_once=3)
            for field, values in fields.items():
                np.testing.assert_array_equal(values, getattr(expected, field), err_msg=f"{name} {active} {field}")
            assert run.page.control.iteration == expected.iterations


@pytest.mark.parametrize("program", [Chosen, pytest.param(Labels, marks=pytest.mark.slow), Moods])
def test_every_kernel_compiles(program: Any) -> None:
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    for architecture, kind, shape in (
        ("compute_90", "i4", {"table_slots": 320}),
        ("compute_80", "i8", {"deterministic": True}),
    ):
        module = Module(program.traced(np.dtype(kind)), Variant(np.dtype(kind), **shape))
        size = f"static_assert(sizeof(Program::Arguments) == {ctypes.sizeof(module.struct)});"
        assert compile_source(f"{module.source}\n{size}", architecture, program.__name__)


def test_sizes_of_tables() -> None:
    graph = shapes()["rows"]
    keyed = Labels.traced(np.dtype("i4")).keyed
    assert keyed is not None
    lengths = np.diff(graph.in_.indptr)
    assert tables.longest_row(graph, "in") == 300
    assert tables.slots_in_shared(keyed, 32, 10**6) == 0
    slots = tables.slots_in_shared(keyed, 300, 232448)
    assert slots % 32 == 0 and tables.WARPS * slots * tables.slot_bytes(keyed) <= tables.MOST_SHARED
    assert tables.table_sizes(graph, "in", 64, True) == ((lengths > 48).sum(), 0)
    assert tables.table_sizes(graph, "in", 64, False) == (0, 2 * lengths[lengths > 48].sum())
    assert tables.table_sizes(graph, "in", 0, True) == ((lengths > 32).sum(), 2 * lengths[lengths > 32].sum())


def test_wide_vectors_beside_keys_are_refused() -> None:
    class Wide(Labels):
        """A wide vector beside."""

        features = gasla.vertex((np.float32, (40,)))

    with pytest.raises(TypeError, match="Wide reduces by key, and has vectors of more than 8 numbers"):
        Module(Wide.traced(np.dtype("i4")), Variant(np.dtype("i4")))
