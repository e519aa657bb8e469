"""Runs of the reference engine (`gasla.engines.Runs`): a program's functions are called, not compiled."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gasla.arrays import Device, moved
from gasla.graph.graph import Graph
from gasla.program import Frontier, Schedule, VertexProgram
from gasla.program.binding import FEW, PULL, PUSH, Binding, Outcome, Synchronous, check_values
from gasla.program.plan import Plan
from gasla.progress import follow
from gasla.reference.edge_order import Edges
from gasla.reference.steps import Steps


class Interpreted:
    """Begins runs of a program on a graph with the reference engine. All runs share the sorted edges."""

    is_spare = False

    def __init__(self, program: VertexProgram, graph: Graph, deterministic: bool, scheduled: bool) -> None:
        self.turn = threading.Lock()
        kind: Any = type(program)
        self._plan = Plan(kind.traced(graph.id_dtype), deterministic, scheduled)
        self._edges = Edges(graph.to("cpu"), program.direction)
        if self._plan.knows_partners:
            # made here, so that a graph in which an edge has no reverse edge raises the error before the run begins
            _ = graph.to("cpu").reverse_edge_ids

    def compile_ahead(self, program: VertexProgram, graph: Graph) -> None:
        """Do nothing, as the reference engine calls the program's functions without compiling them."""

    def in_turns(self, programs: Sequence[VertexProgram], graph: Graph) -> None:
        """Return None, so that the caller runs the phases of several programs one after another itself.

        Other engines may do this in one run.
        """

    def begin(
        self,
        program: VertexProgram,
        graph: Graph,
        fields: Mapping[str, Any],
        frontier: Frontier | None,
        schedule: Schedule | None,
        delta: float | None,
        out: Mapping[str, Any] | None,
    ) -> "Run":
        """Return a run of the program with the given initial state, before its first iteration.

        `delta`, the width of buckets of priorities, is ignored, as it does not change results.
        """
        return Run(self._plan, self._edges, program, graph, fields, frontier, schedule, out)


class Run(Synchronous, Binding):
    """One run of a program with the reference engine.

    For a graph on the GPU it works on copies on the CPU, and copies its results to the GPU.
    """

    log_rows = 1024
    iteration, edges, ended, stopped = 0, 0, False, False
    _device: Device

    def __init__(
        self,
        plan: Plan,
        edges: Edges,
        program: VertexProgram,
        graph: Graph,
        fields: Mapping[str, Any],
        frontier: Frontier | None,
        schedule: Schedule | None,
        out: Mapping[str, Any] | None,
    ) -> None:
        self.plan, self._device = plan, graph.device
        super().__init__(program, graph)
        fields = self.by_inner_name(fields)
        self.check(fields)
        self._lent = self.check_out(out, fields) if out else {}
        # from here on, the run uses the graph on the CPU and NumPy, even if the caller's graph is on the GPU
        self.graph, self.xp = graph.to("cpu"), np
        self._is_elsewhere = self.graph is not graph
        given = {name: _here(value) for name, value in ({**self._lent, **fields}).items()}
        vertex = {name: self._field(name, given.get(name)) for name in self.traced.vertex_types}
        active, levels = np.zeros(0, np.int64), None
        if frontier is not None:
            active = np.sort(moved(plan.first_active(frontier).ids, "cpu")).astype(np.int64)
        elif schedule is not None:
            levels = _iterations(schedule)
            self._depth = schedule.depth
        parameters = self.by_given_name(self.parameters())
        edge = {name: self._edge_field(name, given) for name in self.traced.edge_types}
        self._steps = Steps(program, plan, self.graph, edges, parameters, vertex, edge, active, levels)
        self.ended = self._is_over()

    def _field(self, name: str, given: Any) -> np.ndarray:
        """Return the array in which the run keeps a vertex field, with the field's start values.

        It is a new array, or the caller's array in `out`.
        """
        out_array = self._lent.get(name)
        if out_array is None or self._is_elsewhere:
            start_array = np.asarray(self._start_array(name, given))
            # An iteration reads all values before it writes any. So it may write to the array that it reads, and one
            # copy, which leaves the caller's array unchanged, suffices.
            return start_array.copy() if start_array is given else start_array
        if given is not out_array:
            out_array[...] = self._start_array(name, given)
        array: np.ndarray = out_array
        return array

    def _edge_field(self, name: str, given: Mapping[str, Any]) -> np.ndarray:
        """Return the array of the edge field `name` at the start of the run, with the edges in the order of the input.

        `given` has the initial values of fields that the caller has given.
        """
        kind = self.traced.edge_types[name]
        if name in self.plan.edge_states:
            return np.asarray(self._edge_array(name, given))
        is_read = name in (*self.plan.edge_values, *self.plan.back_values)
        graph = self.weighted(name) if is_read else self.graph
        if name in self.plan.edge_values:
            check_values(graph, kind)
        values = graph.values
        return np.ones(self.graph.m, kind) if values is None else values.astype(kind, copy=False)

    def _is_over(self) -> bool:
        """Return whether the run is over: its schedule is at its end, or no vertex is active."""
        if self._steps.levels is not None:
            return self._steps.iteration >= self._depth
        return self.plan.is_over(len(self._steps.active), self.graph.n)

    def advance(self, until: int, progress: Callable[[int], Any] | None = None, trace: bool = False) -> None:
        """Run iterations until `until` have been run in all, or until the program ends.

        `progress` is called with the number of iterations now and then. `trace` is ignored: every iteration is
        recorded.
        """
        steps, shown = self._steps, time.perf_counter()
        self._log: list[tuple[int, int, int]] = []
        follow(lambda: (steps.iteration, 0), "iterations")
        while not self.ended and self.iteration < until:
            active, edges = steps.step()
            self._log.append((active, edges, PULL))
            self.iteration, self.edges = steps.iteration, self.edges + edges
            self.stopped = steps.stopped
            self.ended = self.stopped or self._is_over()
            if progress is not None and time.perf_counter() - shown > 0.1:
                shown = time.perf_counter()
                progress(self.iteration)

    def go_on(self, active: np.ndarray, parameters: Mapping[str, Any]) -> None:
        """Continue a distributed run with other active vertices and changed parameters (see `gasla.engines.Part`)."""
        steps, types = self._steps, self.traced.parameter_types
        steps.active = np.sort(active).astype(np.int64)
        steps.parameters.update(self.by_given_name({name: types[name].type(x) for name, x in parameters.items()}))
        self.ended = False

    def close(self) -> None:
        """Do nothing, as a run holds no resources."""

    def log(self, rows: int) -> np.ndarray:
        """Return the first `rows` rows of the run's trace, one for each iteration.

        A row has the number of active vertices, the number of edges that were read, and the direction.
        """
        return np.array(self._log[:rows], np.int64).reshape(-1, 3)

    def reasons(self) -> Mapping[int, str]:
        """Return the reason for choosing a direction: every iteration pulls because of ``compile=False``."""
        return {PULL: "compile=False", PUSH: ""}

    def outcome(self) -> Outcome:
        """Return the current state of the run: the values that its `Result` has, such as fields and aggregates."""
        aggregates = self.by_given_name(self._steps.aggregates | self._steps.deposits)
        return self.state(), self.iteration, self.ended, self.edges, self._frontier(), aggregates

    def state(self) -> Mapping[str, Any]:
        """Return the current values of all fields, by their names in the program, on the graph's device."""
        edge = {name: self._steps.edge[name] for name in self.plan.edge_states}
        return self.by_given_name(
            {name: self._there(name, array) for name, array in (self._steps.vertex | edge).items()}
        )

    def changed(self) -> Mapping[str, Any]:
        """Return the current values of the parameters that the program's `idle` changes."""
        names = self.by_given_name(dict.fromkeys(self.plan.changes))
        return {name: self._steps.parameters[name] for name in names}

    def _there(self, name: str, array: np.ndarray) -> Any:
        """Return the array of the field `name`, which the run has on the CPU, on the device of the caller's graph.

        If the caller has given an array in `out`, copy the field to that array, and return it.
        """
        out_array = self._lent.get(name)
        if out_array is None or out_array is array:
            return moved(array, self._device)
        out_array[...] = moved(array, self._device)
        return out_array

    def _frontier(self) -> Frontier:
        """Return the vertices that are active in the next iteration, as a `Frontier`."""
        n = self.graph.n
        if self._is_over():
            return Frontier.none(n)
        if not self.plan.keeps_active:
            return Frontier.all(n, self._device)
        return Frontier(n, self._steps.active).to(self._device)


def _here(given: Any) -> Any:
    """Return initial values of a field that a caller has given, copied to the CPU.

    They are an array, or a dict of values at few vertices.
    """
    return {v: moved(x, "cpu") for v, x in given.items()} if isinstance(given, FEW) else moved(given, "cpu")


def _iterations(schedule: Schedule) -> np.ndarray:
    """Return the iteration in which each vertex receives values in a run along a schedule, or -1 if it never does."""
    levels = moved(schedule.levels, "cpu").astype(np.int64) - schedule.first
    levels = np.where((levels >= 0) & (levels < schedule.depth), levels, -1)
    return np.where(levels >= 0, schedule.depth - 1 - levels, -1) if schedule.is_reversed else levels
