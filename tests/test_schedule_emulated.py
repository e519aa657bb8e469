"""Scheduled runs of the GPU without a GPU: the generated loop on an emulated block of two warps, on NumPy's arrays."""

import ctypes
import shutil
import subprocess
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import programs
import pytest
from test_gpu_schedule import PROGRAMS, Alone, First, graph_of

import gasla
from gasla.binding import Binding
from gasla.gpu.generate import THREADS, Module
from gasla.gpu.inputs import graph_arrays
from gasla.gpu.plan import Shape
from gasla.gpu.space import BARRIER, COUNTERS, FAR, STATE, ZEROED, Page, workspace_sizes
from gasla.graph import Graph

HERE = Path(__file__).parent
BLOCK = 64
FLAGS = ("-std=c++20", "-O1", "-w", "-pthread", "-shared", "-fPIC", "-fno-strict-aliasing", f"-DBLOCK={BLOCK}")
RUN = 'extern "C" void run(const Program::Arguments* a) { warp::run([=] { run_loop(*a); }); }\n'
QUICK = (First, Alone, programs.Spread)
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


class Emulated(Binding):
    """A scheduled program on a graph, with what its kernel works on."""

    def __init__(self, program: Any, graph: Graph, flat: bool, folder: Path) -> None:
        offsets = graph.out.indptr.dtype
        self.plan = Module(program.traced(graph.id_dtype), Shape(offsets, scheduled=True, thin=flat))
        super().__init__(program(), graph)
        self.folder, self.arguments, self.arrays = folder, self.plan.struct(), []
        for name, size in workspace_sizes(self.plan, graph, 1).items():
            self.put(name, np.full(size, 0xAB, np.uint8))
        zeroed, page = self.put("barrier", np.zeros(ZEROED, np.uint8)), self.put("page", np.zeros(1024, np.uint8))
        self.page = Page.from_address(page.ctypes.data)
        self.arguments.shown = page.ctypes.data + 512
        for name, place in (("barrier", BARRIER), ("counters", COUNTERS), ("control", STATE), ("far", FAR)):
            setattr(self.arguments, name, zeroed.ctypes.data + place)
        for name, array in graph_arrays(self).items():
            self.put(name, array)
        self.arguments.self_n, self.arguments.words = graph.n, (graph.n + 31) // 32
        self.arguments.shift = 32 if offsets.itemsize == 4 else 20

    def put(self, name: str, array: np.ndarray) -> np.ndarray:
        self.arrays.append(np.ascontiguousarray(array))
        setattr(self.arguments, name, self.arrays[-1].ctypes.data)
        return self.arrays[-1]

    @cached_property
    def kernel(self) -> Any:
        """Compiled such that all lengths of rows occur on a small graph."""
        kernels = self.folder / "kernels"
        shutil.copytree(HERE.parent / "gasla" / "gpu" / "kernels", kernels)
        text = (kernels / "schedule.cuh").read_text()
        for name, given, small in (("ROW_OF_WARP", 256, 40), ("ROW_OF_BLOCK", 2048, 100), ("STASH", 64, 3)):
            assert f"{name} = {given};" in text
            text = text.replace(f"{name} = {given};", f"{name} = {small};")
        (kernels / "schedule.cuh").write_text(text)
        source = self.plan.source.replace(f"THREADS = {THREADS};", f"THREADS = {BLOCK};")
        (self.folder / "loop.cpp").write_text(f'#include "loop.hpp"\n{source}{RUN}')
        command = ["g++", *FLAGS, f"-I{HERE / 'emulation'}", f"-I{kernels}", str(self.folder / "loop.cpp")]
        subprocess.run([*command, "-o", str(self.folder / "loop.so")], check=True)
        return ctypes.CDLL(str(self.folder / "loop.so")).run

    def run(self, levels: np.ndarray, lanes: int, at_once: int, log: bool, start: dict[str, Any]) -> dict[str, Any]:
        """The fields after all iterations, `at_once` in a launch."""
        fields = {name: self.put(f"v_{name}", self._vertex_array(name, start)) for name in self.traced.vertex_types}
        depth, keys = int(levels.max()) + 1, np.maximum(levels, -1) + 1
        order = np.argsort(keys, kind="stable")
        self.put("aside", order.astype(self.graph.id_dtype))
        self.put("starts", np.searchsorted(keys[order], np.arange(1, depth + 2)).astype(np.int64))
        self.log = self.put("log", np.zeros((depth + 1, 4), np.int64))
        arguments, now = self.arguments, self.page.control
        arguments.active_count, arguments.lanes, arguments.log_rows = depth, lanes, (depth + 1) * log
        arguments.fresh, arguments.limit = True, 0
        while arguments.fresh or (now.size and not now.done):
            arguments.limit += at_once
            self.kernel(ctypes.byref(arguments))
            arguments.fresh = False
        return fields


def grid(offsets: str) -> Graph:
    v = np.arange(144).reshape(12, 12)
    src, dst = np.concatenate([v[:, 1:].ravel(), v[1:].ravel()]), np.concatenate([v[:, :-1].ravel(), v[:-1].ravel()])
    return graph_of(np.concatenate([src, dst]), np.concatenate([dst, src]), 144, offsets == "i8")


def skewed(offsets: str) -> Graph:
    rng = np.random.default_rng(4)
    dst = (90 * rng.random(1500) ** 4).astype(np.int64)
    dst[:400] = 5
    return graph_of(rng.integers(0, 90, 1500), dst, 90, offsets == "i8")


@pytest.mark.parametrize("flat", [False, True], ids=["packed", "flat"])
@pytest.mark.parametrize(
    ("program", "start"),
    [pytest.param(*p, id=p[0].__name__, marks=[] if p[0] in QUICK else pytest.mark.slow) for p in PROGRAMS],
)
def test_equals_the_cpu(program: Any, start: dict[str, Any], flat: bool, tmp_path: Path) -> None:
    for offsets, graph in (("i4", skewed("i4")), ("i8", grid("i8"))):
        emulated = Emulated(program, graph, flat, tmp_path / offsets)
        some = np.random.default_rng(3).integers(-1, 6, graph.n)
        for levels, lanes in ((some, 4), (np.minimum(np.arange(graph.n), 9), 16)):
            expected = gasla.run(program, graph, schedule=levels, trace=True, **start)
            for at_once, log in ((100, False), (1, True)):
                fields = emulated.run(levels, lanes, at_once, log, start)
                for name, values in fields.items():
                    np.testing.assert_array_equal(values, expected.state[name], err_msg=name)
                now = emulated.page.control
                assert now.iteration == expected.iterations
                assert now.total == expected.edges or program in (programs.Hops, programs.Bits)  # which may end early
            assert emulated.log[: now.iteration, 0].tolist() == expected.trace["active"].tolist()
            assert emulated.log[:, 1].sum() == now.total
