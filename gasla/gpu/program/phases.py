"""Runs of several programs ("phases") that take turns in one launch, so that the host decides nothing between them.

Every phase has its own loop (`kernels/phases`) and keeps the loop's arrays from turn to turn. All phases read and write
the same arrays of fields. Whatever else one phase passes on to the next stays on the device, too: the active vertices,
the number of turns, and aggregates that other phases take as parameters.
"""

import ctypes
import functools
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gasla.arrays import address, current_device, require_gpu
from gasla.gpu.program import generate, tables
from gasla.gpu.program.inputs import default_delta
from gasla.gpu.program.plan import Variant, as_ctypes
from gasla.gpu.program.variants import variant_for
from gasla.gpu.program.workspace import Control, Workspace, blocks_for, frontier_of, is_small, keep_workspaces_of
from gasla.gpu.runtime import compile
from gasla.gpu.runtime.waiting import wait
from gasla.graph.graph import Graph
from gasla.names import given
from gasla.program import Frontier, VertexProgram
from gasla.program.binding import PUSH, Binding, Outcome, layout
from gasla.program.tracing import Traced, trace_start
from gasla.progress import follow

# Several programs (phases) run in turns: in each turn, every phase runs once, one after the other. This is the name of
# the parameter that tells a program how many turns were finished before the current one.
TURN = "turn"
# bytes; every CUDA driver can pass so many bytes of arguments to a kernel, but not every driver can pass more
MOST_ARGUMENTS = 4096
# In pinned memory, the struct `Done` comes first, and the states of the phases begin at this offset in bytes.
ENDS = 64


class Handed(ctypes.Structure):
    """The active vertices with which a run of several phases begins, as passed to the kernel (`gasla::Handed`)."""

    _fields_ = [(name, ctypes.c_int64) for name in ("size", "first", "ids", "entries", "bits")]


class Done(ctypes.Structure):
    """The counts that a kernel writes at the end of a run of several phases, such as the number of turns
    (`gasla::Done`).

    A *stay* is one run of one phase, in one turn.
    """

    _fields_ = [(name, ctypes.c_int64) for name in ("turns", "edges", "stays", "is_over")]


class Turns(ctypes.Structure):
    """Those arguments of a kernel for several phases that are not about one phase, such as the largest number of turns.

    The struct is `gasla::Turns` in CUDA.
    """

    _fields_ = [
        ("active", Handed),
        *((name, ctypes.c_int64) for name in ("limit", "page", "done", "ends")),
        *((name, ctypes.c_uint32) for name in ("launch", "goes_on")),
    ]


class Part(Binding):
    """One of the programs that take turns in one launch (a phase), bound to the graph whose vertices they process."""

    def __init__(self, plan: generate.Module, program: VertexProgram, graph: Graph) -> None:
        self.plan = plan
        super().__init__(program, graph)


def shared_types(traced: Sequence[Traced]) -> dict[str, np.dtype] | None:
    """Return the types, by name, of the numbers that change during a launch of phases, such as the number of turns.

    Most of these numbers are parameters of one phase and aggregates of another. Return None if the phases can't share
    them on the GPU: if an aggregate has a type other than the parameter's, as only the host could convert it, or if
    such a parameter is an aggregate with a value per vertex.
    """
    aggregate_types = {
        name: value_type for traced_phase in traced for name, value_type in traced_phase.aggregate_types.items()
    }
    parameters = {
        name: value_type for traced_phase in traced for name, value_type in traced_phase.parameter_types.items()
    }
    turn_type = parameters.setdefault(TURN, np.dtype(np.int64))
    if TURN in aggregate_types or turn_type.kind not in "iuf" or turn_type.itemsize < 4:
        return None
    for traced_phase in traced:
        if parameters.keys() & traced_phase.deposit_types.keys():
            return None
        if any(
            name in parameters and parameters[name] != value_type
            for name, value_type in traced_phase.aggregate_types.items()
        ):
            return None
    return {name: value_type for name, value_type in parameters.items() if name == TURN or name in aggregate_types}


def can_start(traced: Traced) -> bool:
    """Return whether a kernel can evaluate a program's `start`, which gives the vertices that are active at first.

    The result is False if `start` does something with arrays that CUDA code can't express, or reads more than
    parameters and `n`.
    """
    try:
        start = trace_start(traced.program, traced.id_type)
    except Exception:
        return False
    return start is None or not (start.reads("other") or start.reads("self") - {*traced.parameter_types, "n"})


class Phases:
    """What a graph caches for runs of some phases on one device: the kernel's plans, and workspaces that no run uses.

    `plans` is None if the device can't run the phases in one launch, so that the host must launch each phase itself.
    """

    plans: tuple[generate.Module, ...] | None = None

    def __init__(self, programs: Sequence[VertexProgram], variants: Sequence[Variant], ids: np.dtype) -> None:
        classes: list[Any] = [type(program) for program in programs]
        traced = [kind.traced(ids) for kind in classes]
        values = shared_types(traced)
        self.workspaces: deque[_PhaseWorkspaces] = deque()
        self.meetings: deque[Any] = deque()
        if values is None or not all(map(can_start, traced)):
            return
        widest = max((v.offset_type for v in variants), key=lambda kind: kind.itemsize)
        variants = [replace(v, offset_type=widest, relabelled=False, shared=tuple(values)) for v in variants]
        plans = tuple(generate.module(k, ids, v) for k, v in zip(classes, variants, strict=True))
        of_phases = [(f"of_{i}", plan.struct) for i, plan in enumerate(plans)]
        shared_struct = type("SharedValues", (ctypes.Structure,), {"_fields_": _members(values)})
        members = [("turns", Turns), ("values", shared_struct), *of_phases]
        self.struct = type("Phases", (ctypes.Structure,), {"_fields_": members})
        if any(plan.changes or plan.edges_behind for plan in plans) or ctypes.sizeof(self.struct) > MOST_ARGUMENTS:
            return
        self.values, self.plans = values, plans
        self.deltas: dict[int, float] = {}
        keep_workspaces_of(self)

    @functools.cached_property
    def source(self) -> str:
        """The CUDA source of the kernel that runs all phases."""
        assert self.plans is not None
        return generate.phases_source(self.plans, self.values)


def _members(values: Mapping[str, np.dtype]) -> list[tuple[str, Any]]:
    return [(f"self_{name}", as_ctypes(value_type)) for name, value_type in values.items()]


class _PhaseWorkspaces:
    """The memory of a run of several phases: the kernel that runs all of them, and the arrays of each phase."""

    is_busy = False  # Every run waits for the end of its launch, so the kernel of an idle workspace is never active.

    def __init__(self, phases: Phases, parts: Sequence[Part]) -> None:
        plans, graph = phases.plans, parts[0].graph
        assert plans is not None
        shared_memory_bytes = max(tables.shared_bytes(plan, plan.variant.table_slots) for plan in plans)
        self.kernel = compile.Kernel(phases.source, "run_phases", generate.THREADS, 1, shared_memory_bytes)
        blocks = self.kernel.grid(max(blocks_for(plan, graph, self.kernel.blocks) for plan in plans))
        self.each = [Workspace(phase_part, None, self.kernel, blocks) for phase_part in parts]
        self.blocks, self.page = blocks, self.each[0].page
        self.arguments: Any = phases.struct()
        cupy: Any = require_gpu()
        self.pinned = cupy.cuda.alloc_pinned_memory(ENDS + len(parts) * ctypes.sizeof(Control))
        self.done = Done.from_address(self.pinned.ptr)
        self.ends = (Control * len(parts)).from_address(self.pinned.ptr + ENDS)
        turns = self.arguments.turns
        turns.page, turns.done, turns.ends = ctypes.addressof(self.page), self.pinned.ptr, self.pinned.ptr + ENDS

    def stop(self) -> None:
        """Ask the kernel that runs all phases to stop after its current iteration, and wait for its end."""
        self.each[0].stop()
        require_gpu().cuda.get_current_stream().synchronize()

    def launch(self) -> int:
        """Launch the kernel with the current arguments of all phases. Return the number of the launch."""
        first_workspace, turns = self.each[0], self.arguments.turns
        launch_number = turns.launch = first_workspace.next_launch()
        for i, workspace in enumerate(self.each):
            arguments = workspace.arguments
            arguments.page, arguments.launch, arguments.barrier = (
                turns.page,
                launch_number,
                first_workspace.arguments.barrier,
            )
            setattr(self.arguments, f"of_{i}", arguments)
        self.kernel.launch(self.blocks, (compile.struct(self.arguments),), cooperative=True)
        return launch_number


class PhasesRun:
    """A run of several phases (programs that take turns on the same fields) in one launch.

    `programs` have the parameters of the first turn. `stays` has, for each phase, the largest number of iterations that
    the phase runs in one turn. `state` has the arrays of fields by name. `way` says whether to push or pull, and
    `delta` is the width of a bucket of priorities, or None for the default.
    """

    def __init__(
        self,
        phases: Phases,
        programs: Sequence[VertexProgram],
        stays: Sequence[int],
        graph: Graph,
        state: Mapping[str, Any],
        way: int,
        delta: float | None,
    ) -> None:
        assert phases.plans is not None
        self.phases, self.graph, self.state = phases, graph, dict(state)
        self.parts = [Part(plan, program, graph) for plan, program in zip(phases.plans, programs, strict=True)]
        try:
            self.workspaces = phases.workspaces.pop()
        except IndexError:  # No workspace is idle: earlier runs have left none, or other runs use them.
            self.workspaces = _PhaseWorkspaces(phases, self.parts)
        # arrays that only the kernel reads; this list keeps them from being freed before the kernel ends
        self.kept: list[Any] = []
        self.last: dict[str, Any] = {}  # the arrays of aggregates with a value per vertex, by name
        self._place_fields()
        for i, (phase_part, workspace, stay_limit) in enumerate(
            zip(self.parts, self.workspaces.each, stays, strict=True)
        ):
            workspace.reset()
            self._set(i, phase_part, workspace.arguments, stay_limit, way, delta)

    def _place_fields(self) -> None:
        """Make the arrays of all fields that the phases read and write, and that all phases share.

        A field with two copies gets a new array for both. For any other field, the array that the caller has given is
        used if a kernel can read it. Otherwise the array is copied.
        """
        xp, doubled = self.parts[0].xp, {given(n) for phase_part in self.parts for n in phase_part.plan.doubled}
        self.pairs: dict[str, Any] = {}
        for phase_part in self.parts:
            for name, value_type in phase_part.traced.vertex_types.items():
                array, array_layout = self.state[given(name)], layout(value_type, self.graph.n)
                if given(name) in self.pairs:
                    continue
                if given(name) in doubled:
                    both_copies = self.pairs[given(name)] = xp.empty((2, *array_layout[0]), array_layout[1])
                    both_copies[0] = array
                    self.state[given(name)] = both_copies[0]
                elif not phase_part._is_ready(array, array_layout):
                    self.state[given(name)] = xp.ascontiguousarray(array)

    def _set(self, i: int, phase_part: Part, arguments: Any, stay_limit: int, way: int, delta: float | None) -> None:
        """Set the kernel's arguments for phase number `i`: parameters, fields, and the largest number of iterations."""
        plan, xp = phase_part.plan, phase_part.xp
        shared_values, shared = self.workspaces.arguments.values, self.phases.values
        for name, argument, value_type in plan.parameters:
            parameter_value = phase_part._number(name, value_type)
            setattr(arguments, argument, parameter_value)
            if name in shared:
                setattr(shared_values, f"self_{name}", parameter_value)
        for name, start in plan.starts.items():
            setattr(arguments, start.field, address(self.state[given(name)]))
            setattr(arguments, start.fills, False)
        for name in plan.edge_states:
            setattr(arguments, f"e_{name}", address(self.state[given(name)]))
        for name, value_type in plan.traced.deposit_types.items():
            if given(name) not in self.last:
                self.last[given(name)] = self.state.get(given(name))
            if self.last[given(name)] is None:
                self.last[given(name)] = xp.empty(self.graph.n, value_type)
            setattr(arguments, f"last_{name}", address(self.last[given(name)]))
        arguments.limit, arguments.fresh = stay_limit, True
        if not plan.only_pulls:
            arguments.way = way
        if plan.prioritised:
            if delta is None and i not in self.phases.deltas:
                self.phases.deltas[i] = default_delta(phase_part)
            arguments.delta = self.phases.deltas[i] if delta is None else delta

    def run(self, active: Frontier, limit: int, goes_on: bool, progress: Callable[[int], Any] | None) -> Outcome:
        """Run up to `limit` turns from the vertices `active`, and return the fields, counts and aggregates of the run.

        With `goes_on`, another turn may follow a turn that leaves no vertex active. `progress` is called with the
        number of turns while the kernel runs.
        """
        workspaces = self.workspaces
        turns, page = workspaces.arguments.turns, workspaces.page
        turns.active, turns.limit, turns.goes_on = self._handed(active), limit, goes_on
        page.progress = 0
        follow(lambda: (int(page.progress), 0), "turns")
        show = None if progress is None else lambda: progress(int(page.progress))
        try:
            wait(page, workspaces.launch(), show)
        except BaseException:
            workspaces.stop()
            raise
        totals = self._outcome()
        self.phases.workspaces.append(workspaces)
        return totals

    def _handed(self, active: Frontier) -> Handed:
        xp = self.parts[0].xp
        if active.is_all:
            return Handed(size=active.n)
        if active.only is not None:
            return Handed(size=1, first=active.only)
        ids = xp.ascontiguousarray(xp.asarray(active.ids), dtype=self.graph.id_dtype)
        self.kept.append(ids)
        return Handed(size=len(ids), ids=address(ids))

    def _outcome(self) -> Outcome:
        done, end_states = self.workspaces.done, self.workspaces.ends
        aggregates: dict[str, Any] = {}
        for phase_part, workspace in list(zip(self.parts, self.workspaces.each, strict=True))[: done.stays]:
            numbers = {name: aggregate[()] for name, aggregate in workspace.shown.items()}
            aggregates.update(phase_part.by_given_name(numbers))
            aggregates.update({given(n): self.last[given(n)] for n in phase_part.traced.deposit_types})
        last_phase = (done.stays - 1) % len(self.parts)
        phase_part, workspace, end_state = (
            self.parts[last_phase],
            self.workspaces.each[last_phase],
            end_states[last_phase],
        )
        active = frontier_of(phase_part.plan, workspace, end_state, self.graph.n)
        return self.state, done.turns, bool(done.is_over), done.edges, active, aggregates


def _make_phases(programs: Sequence[VertexProgram], graph: Graph, deterministic: bool, small: bool) -> Phases:
    variants = [variant_for(program, graph, deterministic, False, small) for program in programs]
    return Phases(programs, variants, graph.id_dtype)


class Together:
    """Several phases that take turns on a GPU in one launch, without the Python loop that would otherwise call them."""

    def __init__(self, phases: Phases, way: int) -> None:
        self._phases, self._way = phases, way
        compile.compile_ahead(phases.source)

    def run(
        self,
        programs: Sequence[VertexProgram],
        stays: Sequence[int],
        graph: Graph,
        state: Mapping[str, Any],
        active: Frontier,
        limit: int,
        goes_on: bool,
        delta: float | None,
        progress: Callable[[int], Any] | None,
    ) -> Outcome | None:
        """Run the phases in one launch. Return None if the device has too little memory for this.

        Parameters
        ----------
        programs, stays, graph, state, active, limit, goes_on, delta, progress :
            as for `gasla.engines.Together.run`
        """
        try:
            run = PhasesRun(self._phases, programs, stays, graph, state, self._way, delta)
        except MemoryError:
            return None
        return run.run(active, limit, goes_on, progress)


def together(programs: Sequence[VertexProgram], graph: Graph, way: int, deterministic: bool) -> Together | None:
    """Prepare runs in which several phases (programs that take turns on the same fields) share one launch.

    Return None if the host must launch each phase itself. This is so if the GPU can't evaluate what happens between the
    phases, or has too little memory for all of them.
    """
    pushes = way == PUSH and not deterministic and any(not program.everyone for program in programs)
    small = is_small(graph) and not pushes
    key = "gpu phases", tuple(map(type, programs)), deterministic, small, current_device()
    try:
        phases: Phases = graph.kept(key, lambda graph: _make_phases(programs, graph, deterministic, small))
    except MemoryError:
        return None
    return Together(phases, way) if phases.plans is not None else None
