"""Phases that take turns in one launch, without a GPU: the kernel of a run of phases on an emulated grid."""

import ctypes
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gasla.gpu.program.generate import THREADS
from gasla.gpu.program.phases import Control, Done, Phases, PhasesRun
from gasla.gpu.program.plan import Variant
from gasla.gpu.program.workspace import entry_type
from gasla.graph.graph import Graph
from gasla.program import VertexProgram
from tests.helpers.emulated_loop import BLOCK, EmulatedRun

ENTRY = 'extern "C" int run(const Phases* a) {{ return warp::run_grid({blocks}, [=] {{ run_phases(*a); }}); }}\n'
LAUNCH = 7


class EmulatedPhase(EmulatedRun):
    """The arrays and arguments of one of the phases; stands for its `Workspace`."""

    def __init__(
        self, plan: Any, graph: Graph, blocks: int, constants: Mapping[str, tuple[str, str]], folder: Path
    ) -> None:
        super().__init__(plan.traced.program, graph, plan.variant, blocks, dict(constants), folder)
        self.entry = ENTRY.format(blocks=blocks)
        if self.plan.partitions_rows and not self.plan.wide:
            self._share_rows()
        sums: Any = np.dtype([*self.traced.aggregate_types.items()], align=True)
        shown = self.page_array[512 : 512 + sums.itemsize].view(sums).reshape(()) if sums.itemsize else {}
        self.shown = {name: shown[name] for name in self.traced.aggregates}

    def reset(self) -> None:
        """Do nothing: each run has arguments of its own."""

    def put(self, name: str, array: np.ndarray) -> np.ndarray:
        """Hand an array to the kernel, and remember its name."""
        found = self.__dict__.setdefault("named", {})[name] = super().put(name, array)
        return found

    def bitmap(self, side: int) -> Any:
        """One of the two bitmaps of active vertices."""
        return self.named["bits"].reshape(2, -1)[side]

    def queued(self, side: int) -> Any:
        """The vertices in one of the two queues."""
        prefix, whole = entry_type(self.plan)
        width = self.ids.itemsize
        return self.named["queue"].view(f"i{width}").reshape(2, -1, whole // width)[side, :, prefix // width]


class EmulatedWorkspaces:
    """The arrays of all phases, and the kernel; stands for those of a GPU."""

    def __init__(self, phases: Phases, graph: Graph, blocks: int, constants: Any, folder: Path) -> None:
        assert phases.plans is not None
        self.each = [EmulatedPhase(plan, graph, blocks, constants, folder) for plan in phases.plans]
        self.page, self.arguments = self.each[0].page, phases.struct()
        self.done, self.ends = Done(), (Control * len(self.each))()
        turns = self.arguments.turns
        turns.page, turns.done, turns.ends = map(ctypes.addressof, (self.page, self.done, self.ends))
        self.kernel = self.each[0].built(phases.source.replace(f"THREADS = {THREADS};", f"THREADS = {BLOCK};"))

    def stop(self) -> None:
        """Do nothing: a launch has ended when it returns."""

    def launch(self) -> int:
        """Run the kernel."""
        self.arguments.turns.launch = LAUNCH
        for i, one in enumerate(self.each):
            one.arguments.page, one.arguments.launch = self.arguments.turns.page, LAUNCH
            one.arguments.barrier, one.arguments.lanes = self.each[0].arguments.barrier, 4
            held = getattr(self.arguments, f"of_{i}")  # of another struct with the same members
            ctypes.memmove(ctypes.addressof(held), ctypes.addressof(one.arguments), ctypes.sizeof(held))
        assert self.kernel(ctypes.byref(self.arguments)) == 0
        return LAUNCH


class EmulatedTogether:
    """An engine's way to run phases without their caller, by an emulated grid."""

    def __init__(self, blocks: int, folder: Path, constants: Any = None, way: int = 0, **variant: bool) -> None:
        self.blocks, self.folder, self.constants, self.way, self.variant = blocks, folder, constants or {}, way, variant
        self.launches = 0

    def run(
        self,
        programs: Sequence[VertexProgram],
        stays: Sequence[int],
        graph: Graph,
        state: Mapping[str, Any],
        active: Any,
        limit: int,
        goes_on: bool,
        delta: Any,
        progress: Any,
    ) -> Any:
        """Run them in one launch."""
        offsets = graph.out.indptr.dtype
        phases = Phases(programs, [Variant(offsets, **self.variant) for _ in programs], graph.id_dtype)
        assert phases.plans is not None
        self.folder.mkdir(exist_ok=True)
        phases.workspaces.append(EmulatedWorkspaces(phases, graph, self.blocks, self.constants, self.folder))
        self.launches += 1
        return PhasesRun(phases, programs, stays, graph, state, self.way, delta).run(active, limit, goes_on, progress)
