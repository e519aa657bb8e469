"""The generated loop of the GPU without a GPU: what emulated whole runs and scheduled ones have in common."""

import ctypes
import shutil
import subprocess
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gasla.gpu.program.generate import THREADS, Module
from gasla.gpu.program.inputs import graph_arrays
from gasla.gpu.program.plan import Variant
from gasla.gpu.program.rows import ROWS
from gasla.gpu.program.workspace import (
    BARRIER,
    COUNTERS,
    FAR,
    STATE,
    ZEROED,
    Control,
    Page,
    gathered_bytes,
    workspace_sizes,
)
from gasla.graph.graph import Graph
from gasla.graph.packed import PLACE, pack
from gasla.program.binding import Binding
from gasla.program.frontier import as_frontier
from tests.helpers import ROOT

EMULATION = Path(__file__).with_name("emulation")
KERNELS = ROOT / "gasla" / "gpu" / "kernels"
BLOCK = 64  # threads
WHOLE = 5  # entries of a row of wide values that a warp takes at a time
FLAGS = ("-std=c++20", "-w", "-pthread", "-shared", "-fPIC", "-fno-strict-aliasing", f"-DBLOCK={BLOCK}")


def includes(kernels: Path = KERNELS) -> list[str]:
    """Options by which g++ finds the kernels, and CUDA for them on the CPU."""
    folders = [EMULATION, kernels, *(path for path in kernels.iterdir() if path.is_dir())]
    return [f"-I{folder}" for folder in folders]


def kernel_file(name: str, kernels: Path = KERNELS) -> Path:
    """Where a file of the kernels is, in whichever folder."""
    return next(kernels.rglob(name))


def hub_neighbors(lists: Any) -> np.ndarray:
    """For each vertex the neighbor that has most neighbors itself, the first of them; itself if it has none."""
    degrees = np.diff(lists.indptr)
    order = np.lexsort((lists.indices, -degrees[lists.indices], np.repeat(np.arange(len(degrees)), degrees)))
    found = np.arange(len(degrees), dtype=lists.indices.dtype)
    found[degrees > 0] = lists.indices[order[lists.indptr[:-1][degrees > 0]]]
    return found


def packed(ids: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Packed ids with addresses, as kernels take them: the groups; and the words, to be kept as long."""
    groups, words = pack(ids, n, lambda count: np.empty(count + 16, np.uint32)[8 : 8 + count])  # kernels copy 32 bytes
    groups[:, PLACE] += np.uint64(words.ctypes.data)
    return groups, words


_built: dict[tuple[Any, ...], ctypes.CDLL] = {}  # in this process, by all that they are made of


class EmulatedLoop(Binding):
    """A program on a graph, with what its kernel works on.

    The kernels are compiled with some `constants`, {name: (given, small)}, made small; `entry` is the C function `run`
    that the library offers. It is compiled into `folder`, unless that has been done for another graph.
    """

    entry: str

    def __init__(
        self,
        program: Any,
        graph: Graph,
        variant: Variant,
        blocks: int,
        constants: dict[str, tuple[Any, Any]],
        folder: Path,
    ) -> None:
        self.plan = Module(program.traced(graph.id_dtype), variant)
        super().__init__(program(), graph)
        self.folder, self.constants, self.arguments, self.arrays = folder, constants, self.plan.struct(), []
        for name, size in workspace_sizes(self.plan, graph, blocks).items():
            self.put(name, np.full(size, 0 if name == "segments" else 0xAB, np.uint8))
        self.zeroed, page = self.put("barrier", np.zeros(ZEROED, np.uint8)), self.put("page", np.zeros(1024, np.uint8))
        self.page, self.page_array = Page.from_address(page.ctypes.data), page
        self.arguments.shown = page.ctypes.data + 512
        for name, place in (("barrier", BARRIER), ("counters", COUNTERS), ("control", STATE), ("far", FAR)):
            setattr(self.arguments, name, self.zeroed.ctypes.data + place)
        for name, array in graph_arrays(self).items():
            self.put(name, array)
        if self.plan.hub_first:
            self.put("hub_neighbors", hub_neighbors(graph.in_))
        self.arguments.self_n, self.arguments.m, self.arguments.words = graph.n, graph.m, (graph.n + 31) // 32
        self.arguments.shift = 32 if variant.offset_type.itemsize == 4 else 20

    def placed(self, array: np.ndarray) -> np.ndarray:
        """The array in memory that the kernel can work on."""
        return np.ascontiguousarray(array)

    def put(self, name: str, array: np.ndarray) -> np.ndarray:
        """Hand an array to the kernel."""
        if name in ("gi", "si") and self.plan.variant.packed:
            array, words = packed(array, self.graph.n)
            self.arrays.append(words)
        self.arrays.append(self.placed(array))
        setattr(self.arguments, name, self.arrays[-1].ctypes.data)
        return self.arrays[-1]

    @cached_property
    def kernel(self) -> Any:
        """Compiled such that all that the constants separate occurs on a small graph."""
        source = self.plan.source.replace(f"THREADS = {THREADS};", f"THREADS = {BLOCK};")
        return self.built(source)

    def built(self, source: str) -> Any:
        """The entry of a source with the constants."""
        key = source, self.entry, tuple(self.constants.items())
        if key not in _built:
            _built[key] = self._build(source)
        return _built[key].run

    def _build(self, source: str) -> ctypes.CDLL:
        kernels = self.folder / "kernels"
        shutil.copytree(KERNELS, kernels)
        for name, (given, small) in self.constants.items():
            (file,) = (path for path in kernels.rglob("*.cuh") if f" {name} = {given};" in path.read_text())
            file.write_text(file.read_text().replace(f" {name} = {given};", f" {name} = {small};"))
        (self.folder / "loop.cpp").write_text(f'#include "loop.hpp"\n{source}{self.entry}')
        command = ["g++", *FLAGS, *includes(kernels), str(self.folder / "loop.cpp")]
        subprocess.run([*command, "-o", str(self.folder / "loop.so")], check=True)
        return ctypes.CDLL(str(self.folder / "loop.so"))


GRID = """
extern "C" int run(const Program::Arguments* a) {{ return warp::run_grid({blocks}, [=] {{ run_loop(*a); }}); }}
"""
SINGLE_BLOCK = 'extern "C" int run(const Program::Arguments* a) { warp::run([=] { run_loop(*a); }); return 0; }\n'


class EmulatedRun(EmulatedLoop):
    """A whole run: by one block, or by several, each of which is a thread of the system."""

    def __init__(
        self,
        program: Any,
        graph: Graph,
        variant: Variant,
        blocks: int,
        constants: dict[str, tuple[Any, Any]],
        folder: Path,
    ) -> None:
        self.entry = SINGLE_BLOCK if blocks == 1 else GRID.format(blocks=blocks)
        super().__init__(program, graph, variant, blocks, constants, folder)
        if self.plan.wide and self.plan.partitions_rows:
            self._share_rows()
        Control.from_address(self.zeroed.ctypes.data + STATE).stamp = 2**31 - 6  # stamps come round in the first run

    def _share_rows(self) -> None:
        """Share out rows as `rows.make_partition` does, with long ones on a small graph, too."""
        lengths = np.diff(self._sides()[0].indptr().astype(np.int64))
        (rows,) = np.nonzero(lengths > WHOLE)
        counts = -(-lengths[rows] // WHOLE)
        starts = counts.cumsum() - counts
        numbers = np.arange(counts.sum()) - np.repeat(starts, counts)
        cut = counts > 1
        arrays = {"cut_rows": rows[cut], "cut_pieces": starts[cut].astype(np.uint32)}
        arrays |= {"long_rows": np.repeat(rows, counts), "numbers": numbers.astype(np.uint32)}
        arrays["partials"] = np.full(
            len(numbers) * (1 + (gathered_bytes(self.plan) if self.plan.gathers else 1)), 0xAB, np.uint8
        )
        shared = np.zeros((), ROWS)
        for name, array in arrays.items():
            self.arrays.append(self.placed(array))
            shared[name] = self.arrays[-1].ctypes.data
        shared["offsets"], shared["count"] = self.arguments.gp, self.row_count
        shared["pieces"], shared["cut"], shared["limit"], shared["piece"] = len(numbers), cut.sum(), WHOLE, WHOLE
        self.arguments.rows[:] = shared.reshape(1).view(np.uint64).tolist()

    def field(self, name: str, given: Any) -> np.ndarray:
        """The array of a field, for the kernel to fill if it can."""
        array = self._vertex_array(name, given)
        if name in self.plan.starts:
            self.put(f"from_{name}", array[0] if name in self.plan.doubled else array)
            setattr(self.arguments, f"fills_{name}", 1)
            array = np.full_like(array, 77)
        return self.put(f"v_{name}", array)

    def run(
        self,
        active: Any,
        *,
        lanes: int = 4,
        way: int = 0,
        limit: int = 10**6,
        at_once: int = 10**6,
        delta: float = 1.0,
        **start: Any,
    ) -> dict[str, Any]:
        """The fields after all iterations, `at_once` in a launch."""
        fields = {name: self.field(name, start.get(name)) for name in self.traced.vertex_types}
        fields |= {name: self.put(f"e_{name}", self._edge_array(name, start)) for name in self.plan.edge_states}
        for name in self.plan.edges_behind:
            self.put(f"was_{name}", fields[name].copy())
        for name, value in self.parameters().items():
            setattr(self.arguments, f"self_{name}", value.item())
        arguments, now = self.arguments, self.page.control
        arguments.active_ids = arguments.first_active = 0
        frontier = self.plan.first_active(as_frontier(self.graph, active))
        arguments.active_count = len(frontier)
        if not frontier.is_all:
            self.put("active_ids", np.asarray(frontier.ids, self.ids))
        arguments.lanes, arguments.way, arguments.fresh, arguments.limit = lanes, way, True, 0
        if self.plan.prioritised:
            arguments.delta = delta
        while arguments.fresh or (
            (now.size + now.far or not self.plan.ends_when_still) and not now.done and now.iteration < limit
        ):
            arguments.limit = min(limit, arguments.limit + at_once)
            assert self.kernel(ctypes.byref(arguments)) == 0
            arguments.fresh = False
        return {name: a[now.iteration & 1] if name in self.plan.doubled else a for name, a in fields.items()}
