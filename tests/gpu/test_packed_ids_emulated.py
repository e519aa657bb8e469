"""Kernels that read packed ids, without a GPU: generated loops and stages on an emulated grid, and what NVRTC says."""

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla.algorithms.traversal import bfs
from gasla.gpu.program import generate, rows
from gasla.gpu.program import staged as gpu
from gasla.gpu.program.plan import Variant
from gasla.gpu.runtime.compile import compile_source
from gasla.graph.graph import Graph
from tests.gpu import (
    test_keys_emulated,
    test_runs_emulated,
    test_schedule_emulated,
    test_stages_emulated,
    test_wide_vectors_emulated,
)
from tests.gpu.test_stages_emulated import emulated  # noqa: F401  (a fixture)
from tests.helpers import emulated_loop, programs, wide_programs
from tests.helpers.emulated_loop import FLAGS, hub_neighbors, includes, packed
from tests.helpers.reference_engine import Reference

pytestmark = pytest.mark.thorough
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

SHORTEST = test_runs_emulated.SHORTEST
LISTS = """
extern "C" void unpack(PackedIds ids, u64 count, int* found) {
    for (u64 k = 0; k < count; ++k) found[k] = ids[k];
}
extern "C" void hubs(const offset_t* offsets, PackedIds ids, u64 rows, vertex_t* found) {
    warp::run([=] { hub_neighbors(offsets, ids, rows, found); });
}
"""


class Sums(gasla.VertexProgram):
    """A reduction over all rows, with weights."""

    everyone = True
    x = gasla.vertex(np.int32, init=lambda vertex: vertex.id)
    weight = gasla.edge(np.int32)
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.x * edge.weight

    def apply(self, vertex, gathered):
        return {"x": gathered % 1000 + 1}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Functions that read packed ids, compiled by g++."""
    folder = tmp_path_factory.mktemp("packed")
    source = rows.formatted(rows.HUB_NEIGHBORS, np.dtype(np.int32), np.dtype(np.int32), True)
    (folder / "lists.cpp").write_text(f'#include "loop.hpp"\n{source}{LISTS}')
    command = ["g++", *FLAGS, *includes(), str(folder / "lists.cpp"), "-o", str(folder / "lists.so")]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(folder / "lists.so"))


def address(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


@needs_compiler
@pytest.mark.parametrize("n", [1, 2, 3, 1000, 2**20 + 1, 2**31 - 1])
@pytest.mark.parametrize("order", ["ascending", "descending", "any", "all alike"])
def test_kernels_read_what_was_packed(n: int, order: str, library: ctypes.CDLL) -> None:
    rng = np.random.default_rng(n)
    for count in (0, 1, 31, 32, 33, 256, 257, 1000):
        ids = rng.integers(0, n, count, np.int32) if order != "all alike" else np.full(count, n - 1, np.int32)
        ids = np.sort(ids) if order == "ascending" else np.sort(ids)[::-1].copy() if order == "descending" else ids
        (groups, words), found = packed(ids, n), np.empty_like(ids)
        library.unpack(address(groups), ctypes.c_uint64(count), address(found))
        np.testing.assert_array_equal(found, ids)
        assert len(words) <= 31 * 8 * len(groups)


@needs_compiler
def test_hub_neighbors(library: ctypes.CDLL) -> None:
    lists = test_runs_emulated.skewed().in_
    (groups, _words), found = packed(lists.indices, 200), np.empty(200, np.int32)
    library.hubs(address(lists.indptr), address(groups), ctypes.c_uint64(200), address(found))
    whole = np.diff(lists.indptr) <= 64  # of longer lists it compares a sample
    np.testing.assert_array_equal(found[whole], hub_neighbors(lists)[whole])
    assert whole.sum() > 150


@needs_compiler
@pytest.mark.parametrize(
    ("program", "mode", "constants"),
    [
        (bfs.Levels, {}, "as they are"),
        pytest.param(bfs.Levels, {"bounded_degree": True}, "soon wide", marks=pytest.mark.slow),
        (bfs.Levels, {"bounded_degree": True, "local": True}, "little room"),
        (SHORTEST, {"bounded_degree": True}, "soon wide"),
        pytest.param(SHORTEST, {}, "soon wide", marks=pytest.mark.slow),
        (bfs.Parents, {}, "as they are"),
    ],
)
def test_searches_and_shortest_paths(program: Any, mode: dict[str, Any], constants: str, tmp_path: Path) -> None:
    graph = test_runs_emulated.skewed() if constants == "as they are" else test_runs_emulated.grid(7)
    small = test_runs_emulated.CONSTANTS[constants]
    run = test_runs_emulated.emulated_run(program, graph, small, tmp_path, packed=True, **mode)
    test_runs_emulated.check(run, program)


@needs_compiler
@pytest.mark.parametrize("program", [programs.Rising, programs.LateFlow])
@pytest.mark.parametrize("blocks", [1, 2])
def test_everyone(program: Any, blocks: int, tmp_path: Path) -> None:
    graph = test_runs_emulated.skewed()
    variant = Variant(graph.out.indptr.dtype, packed=True, small=blocks == 1)
    run = test_runs_emulated.EmulatedRun(program, graph, variant, blocks, {}, tmp_path)
    reference = Reference(program(), graph).run(None, 4)
    fields = run.run(None, limit=4, at_once=3)
    for name, values in fields.items():
        np.testing.assert_array_equal(values, {**reference.vertex, **reference.edge}[name], err_msg=name)


@needs_compiler
@pytest.mark.parametrize("lanes", [0, 8])
def test_rows(lanes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulated_loop, "WHOLE", 40)
    graph = test_runs_emulated.skewed()
    graph = graph.with_values(graph.values.astype(np.int32))
    run = test_runs_emulated.emulated_run(Sums, graph, {}, tmp_path, packed=True, row_lanes=lanes)
    assert run.plan.rows and graph.in_degrees.max() > 80
    run._share_rows()
    expected = Reference(Sums(), graph).run(None, 3).vertex["x"]
    np.testing.assert_array_equal(run.run(None, limit=3, at_once=2)["x"], expected)


@needs_compiler
def test_vectors(tmp_path: Path) -> None:
    program, graph = wide_programs.spreading(33), test_wide_vectors_emulated.graph()
    run = test_wide_vectors_emulated.emulated_run(program, graph, tmp_path, packed=True)
    test_wide_vectors_emulated.check(run, program, [1, 5], 5)


@needs_compiler
def test_reductions_by_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, graph = test_keys_emulated.Labels, test_keys_emulated.shapes()["rows"]
    slots = test_keys_emulated.SLOTS
    run = test_keys_emulated.emulated(program, graph, tmp_path, monkeypatch, packed=True, table_slots=slots)
    expected = gasla.run(program, graph, max_iterations=4, compile=False)
    for field, values in run.run(None, limit=4, at_once=3).items():
        np.testing.assert_array_equal(values, getattr(expected, field))


@needs_compiler
def test_schedules(tmp_path: Path) -> None:
    program, graph = test_schedule_emulated.First, test_schedule_emulated.skewed("i4")
    run = test_schedule_emulated.Emulated(program, graph, {"packed": True}, tmp_path)
    schedule, start = gasla.Schedule(np.minimum(np.arange(graph.n), 9), first=2), test_schedule_emulated.STARTS[program]
    expected = gasla.run(program, graph, schedule=schedule, **start)
    for name, values in run.run(schedule, 4, 3, False, True, start).items():
        np.testing.assert_array_equal(values, expected.state[name])


@needs_compiler
@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize("program", test_stages_emulated.QUICK)
def test_stages(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = []

    class Packed(gpu.Staged):
        def __init__(self, program: Any, graph: Graph, fields: Any) -> None:
            super().__init__(program, graph, fields)
            for name in {"gi", "si"} & self.arrays.keys():
                kept.append(packed(self.arrays[name], graph.n))
                self._set(name, kept[-1][0])

    monkeypatch.setattr(gpu, "Staged", Packed)
    monkeypatch.setattr("gasla.graph.neighbor_lists.Lists.packs", True)
    case = next(case for case in test_stages_emulated.STAGED if case[0] is program)
    rng = np.random.default_rng(5)
    graph = Graph.from_edges(
        rng.integers(0, 60, 900) ** 2 // 60, rng.integers(0, 60, 900), rng.integers(0, 9, 900), n=60
    )
    test_stages_emulated.check(*case[:3], min(case[3], 4), graph, 0)
    assert kept


@pytest.mark.parametrize("architecture", ["compute_80", "compute_90"])
@pytest.mark.parametrize(
    ("program", "mode"),
    [
        (bfs.Levels, {}),
        (SHORTEST, {"bounded_degree": True}),
        (Sums, {}),
        (test_keys_emulated.Moods, {"small": True}),
        (test_schedule_emulated.First, {"scheduled": True, "deterministic": True}),
        (bfs.Levels, {"staged": True}),
    ],
)
def test_kernels_compile(program: Any, mode: dict[str, Any], architecture: str) -> None:
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    offsets = np.dtype(np.int32 if architecture == "compute_90" else np.int64)
    module = generate.module(program, np.dtype(np.int32), Variant(offsets, packed=True, **mode))
    check = f"static_assert(sizeof(Program::Arguments) == {ctypes.sizeof(module.struct)});"
    assert compile_source(f"{module.source}\n{check}", architecture)
