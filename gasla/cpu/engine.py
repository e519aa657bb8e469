"""Binds a program to a graph on the CPU: makes the arrays that its generated module works on, and calls it."""

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from operator import index
from typing import Any, NamedTuple

import numpy as np

from gasla.binding import AUTO, FEW, NO_LIMIT, PULL, Binding, NeighbourLists, layout, rooms
from gasla.cpu import generate, runtime, threads
from gasla.cpu.arguments import Field
from gasla.frontier import Frontier
from gasla.graph import Graph
from gasla.program import VertexProgram
from gasla.progress import follow
from gasla.schedule import Schedule

SMALL = 1 << 15  # vertices and edges below which one thread does all, for want of work; eight times as many if once
ALONE = 1 << 17  # edges that a run may look at before others are woken to help: that takes 0.1 to 0.3 ms
FILLED_ALONE = 1 << 17  # vertices whose fields are filled meanwhile; where there are more, others help from the start
ZEROS = {  # Numba soon knows the types of Python's own numbers; of NumPy's, and of bool, it takes longer
    **dict.fromkeys(("threshold", "last_threshold"), 0.0),
    **dict.fromkeys(("receiver_count", "self_iteration"), 0),
    "log": np.zeros((0, 3), np.int64),
}
NOTHING = np.zeros(0, np.int64)


class _Facts(NamedTuple):
    """What runs of one program on one graph have in common."""

    plan: generate.Module
    threads: int
    common: dict[str, Any]  # scalars as they start; neighbour lists and edge values as far as they are the graph's own
    shapes: dict[str, tuple[tuple[int, ...], np.dtype]]  # of the workspace
    others: list[str]  # arrays that each run makes, but for vertex fields
    rooms: dict[str, tuple[tuple[int, ...], np.dtype]]  # for vertex fields: shapes and types
    starts: dict[str, np.ndarray | None]  # what the program has its vertex fields start with, if one value everywhere
    nothing: dict[str, np.ndarray]  # no value, of each vertex field's type: that there is nothing to fill


class _Workspace:
    """Scratch arrays of any content, as fresh pages cost as much as a search: one run's at a time."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._ready: dict[Any, dict[str, Any]] = {}

    def of_kind(self, key: Any, facts: _Facts) -> dict[str, Any]:
        """What all runs of a kind are passed, as the last one left it: with what the graph keeps, and counters."""
        ready = self._ready.get(key)
        if ready is None:
            arrays = {name: _fitting(self.arrays.get(name), *room) for name, room in facts.shapes.items()}
            if any(self.arrays.get(name, array) is not array for name, array in arrays.items()):
                self._ready.clear()  # nobody keeps the one before
            self.arrays |= arrays
            counts = np.empty((3, runtime.FIRST + facts.threads * runtime.BLOCK), np.int64)
            ready = facts.common | arrays | {"control": threads.new_control(), "counts": counts}
            self._ready[key] = ready
        return ready


class _Kept:
    """What is kept with a graph between runs: facts, and the last run's workspace."""

    def __init__(self, _: Graph) -> None:
        self.facts: dict[Any, _Facts] = {}
        self.spare: list[_Workspace] = []


class Bound(Binding):
    """A program, a graph, and the arrays of a run."""

    log_rows = 1024
    iteration, edges, ended = 0, 0, False
    _work = 0  # edges looked at, and those that lead on

    def __init__(
        self,
        program: VertexProgram,
        graph: Graph,
        fields: Mapping[str, Any],
        way: int = AUTO,
        deterministic: bool = False,
        schedule: Schedule | None = None,
        staged: bool = False,
    ) -> None:
        kind: Any = type(program)
        options = deterministic, schedule is not None, staged
        self._kept = graph.kept("cpu", _Kept)
        key = kind, options, threads.num_threads()
        known = self._kept.facts.get(key)
        self.plan = known.plan if known else generate.plan(kind, graph.id_dtype, *options)
        super().__init__(program, graph)
        self.threads = known.threads if known else _team(graph, once=self.plan.scheduled)
        self._way = way
        self.check(fields)
        self._facts = known or self._kept.facts.setdefault(key, self._find_facts())
        try:
            self._workspace = self._kept.spare.pop()
        except IndexError:
            self._workspace = _Workspace()
        self._ready = self._workspace.of_kind(key, self._facts)
        self.control: np.ndarray = self._ready["control"]
        self._schedule = None if schedule is None else self._sorted(schedule)
        self.arrays = self._make_arrays(fields)  # and scalars
        if self.traced.parameter_types:
            for name, value in self.parameters().items():
                self.arrays[f"self_{name}"] = value

    def close(self) -> None:
        threads.release(self)
        if self.control.item(threads.STOP) == 0:
            self._kept.spare[:] = [self._workspace]  # for the next run

    # --- arrays ----------------------------------------------------------------------------------------------------

    def _make_arrays(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        found = self._ready.copy()
        if self._schedule:
            found["receivers"], found["starts"] = self._schedule
        for name in self._facts.others:
            found[name] = self._make(name, fields)
        self._fields: dict[str, np.ndarray] = {}
        for field in self.plan.fields:
            self._fields[field.name] = found[field.array] = self._make_field(field, fields, found)
        return found

    def _make_field(self, field: Field, fields: Mapping[str, Any], found: dict[str, np.ndarray]) -> np.ndarray:
        """A field's array; what starts alike everywhere but for some vertices, the run itself will fill."""
        name, kind, n = field.name, self.traced.vertex_types[field.name], self.graph.n
        if name not in self.plan.filled:
            return self._vertex_array(name, fields)
        given, at = fields.get(name), NOTHING
        if given is None or isinstance(given, FEW):
            value = self._start(name)
            if value is not None and given:
                value, at = self._seeded(field, value, given)
        elif type(given) is np.ndarray and self._is_ready(given, layout(kind, n)):
            if name not in self.plan.copied:
                found[field.values], found[field.places] = self._facts.nothing[name], at
                return given
            value = given
        else:
            value = self._alike(name, given)
        if value is None:
            array, value = self._vertex_array(name, fields), self._facts.nothing[name]
        else:
            array = np.empty(*self._facts.rooms[name])
        found[field.values], found[field.places] = value, at
        return array

    def _seeded(self, field: Field, start: np.ndarray, given: Mapping[int, Any]) -> tuple[np.ndarray, np.ndarray]:
        """What a field starts with, followed by what it does at some vertices; and which these are."""
        ready, count, i = self._ready, len(given), 0
        at, value = ready.get(field.places), ready.get(field.values)
        if at is None or value is None or len(at) != count:  # else both are an earlier run's
            at, value = np.empty(count, NOTHING.dtype), np.empty((1 + count, *start.shape[1:]), start.dtype)
            value[0] = start[0]
            ready[field.places], ready[field.values] = at, value
        for v, x in given.items():
            at[i], i = self._vertex(field.name, index(v)), i + 1
            value[i] = x
        return value, at

    def _start(self, name: str) -> np.ndarray | None:
        """What the program has a field start with; found once."""
        starts = self._facts.starts
        if name not in starts:
            starts[name] = self._alike(name, self.program.vertex_fields[name].init)
        return starts[name]

    def _find_facts(self) -> _Facts:
        plan, graph = self.plan, self.graph
        shapes = workspace_shapes(plan, graph, self.threads)
        is_scheduled = plan.scheduled and not plan.staged
        if is_scheduled:
            del shapes["receivers"]
        lists = {name: self._graph_array(name) for name in plan.arrays if self._is_kept(name)}
        of_fields = {name for field in plan.fields for name in field[1:]}
        elsewhere = {*shapes, *lists, *of_fields, *(("receivers", "starts") if is_scheduled else ())}
        others = [name for name in plan.arrays if name not in elsewhere | {"control", "counts", "log"}]
        common = ZEROS | {"self_n": graph.n, "skewed": int(self._skewed()), "narrow": int(self._narrow())}
        common |= {f"self_{name}": kind.type(0) for name, kind in self.traced.aggregate_types.items()}
        common |= lists | {"delta": self._default_delta()}
        nothing = {name: np.empty(*layout(kind, 0)) for name, kind in self.traced.vertex_types.items()}
        return _Facts(plan, self.threads, common, shapes, others, rooms(plan, graph.n), {}, nothing)

    def _is_kept(self, name: str) -> bool:
        """Whether an array is one that the graph keeps."""
        if name in ("in_p", "out_p"):
            return True
        lists = self._lists[0 if name[0] == "g" else 1]
        if name in ("gp", "gi", "sp", "si"):
            return lists.are_kept
        return name[1:3] == "v_" and lists.keeps_values(self.traced.edge_types[name[3:]])

    def _skewed(self) -> bool:
        """Whether degrees differ so much that the number of active vertices says little of their edges."""
        if not self.plan.sends or self.graph.n == 0:
            return False
        graph = self.graph
        if self.program.direction == "all":
            return True
        largest = graph.max_out_degree if self.program.direction == "in" else graph.max_in_degree
        return largest > 4 * (graph.m // graph.n + 1)

    def _narrow(self) -> bool:
        """Whether all vertices gather over few edges."""
        graph = self.graph
        if not self.plan.gathers or graph.m == 0 or self.program.direction == "all" or graph.m > 6 * graph.n:
            return False
        return (graph.max_in_degree if self.program.direction == "in" else graph.max_out_degree) <= 16

    def _sorted(self, schedule: Schedule) -> tuple[np.ndarray, np.ndarray]:
        """The vertices by level, and where each iteration starts: at the end of them, if the schedule is reversed."""
        order, starts = schedule.kept(("cpu", self._ids), self._by_level)
        return order, starts[::-1].copy() if schedule.is_reversed else starts

    def _by_level(self, schedule: Schedule) -> tuple[np.ndarray, np.ndarray]:
        """The same of a schedule that isn't reversed."""
        levels, order = schedule.levels, np.empty(self.graph.n, self._ids)
        try:
            crew = self.threads if self.threads > 1 and threads.hold(self) else 1
            starts, places = np.empty(schedule.depth + 1, np.int64), np.zeros((crew, schedule.depth), np.int64)
            arguments, short = (levels, schedule.first, places, starts, order), len(levels) <= threads.SHORT
            threads.run_parallel(runtime.sort_by_level, self.control, arguments, crew, held=crew > 1, short=short)
        finally:
            threads.release(self)
        return order[: starts[-1]], starts

    def _make(self, name: str, fields: Mapping[str, Any]) -> np.ndarray:
        prefix, _, rest = name.partition("_")
        if prefix == "e":
            return self._edge_array(rest, fields)
        if prefix == "part":
            return np.full((2, 8 * self.threads), self.plan.identities[rest], self.traced.aggregate_types[rest])
        return self._graph_array(name)

    def _graph_array(self, name: str) -> np.ndarray:
        if name in ("in_p", "out_p"):
            return (self.graph.in_ if name == "in_p" else self.graph.out).indptr
        lists = self._lists[0 if name[0] == "g" else 1]
        if name[1] == "v":
            return lists.values(self.traced.edge_types[name[3:]])
        return {"p": lists.indptr, "i": lists.indices, "e": lists.ids}[name[1]]()

    @cached_property
    def _lists(self) -> tuple[NeighbourLists, NeighbourLists]:
        return self._sides()

    # --- running ---------------------------------------------------------------------------------------------------

    def call(self, stage: str) -> None:
        """Run one stage function of the module on all threads."""
        kernel, arguments = getattr(self.plan.loaded, stage), self.plan.after_control(self.arrays)
        short = self.graph.n + self.graph.m <= threads.SHORT
        threads.run_parallel(kernel, self.control, arguments, self.threads, held=threads.are_held(self), short=short)

    def begin(self, frontier: Frontier, delta: float | None) -> None:
        """Set the loop at its start, on as many threads as it then has to its end: each has lists of its own."""
        if self.threads > 1 and not threads.hold(self):
            self.threads = 1
        control, plan = self.control, self.plan
        count = len(frontier) if plan.keeps_active else self.graph.n
        control[runtime.FILLED] = control[threads.STOP] = 0  # the run itself zeroes the rest
        control[runtime.WAY] = self._way
        control[runtime.ACTIVE] = len(self._schedule[1]) - 1 if self._schedule else count
        control[runtime.REMAINING] = control[runtime.EDGE_SUM] = self.graph.m
        self._alone = self.threads > 1 and self._can_wait(count) and not threads.are_awake(self.threads)
        if plan.keeps_active:
            if frontier.only is not None:
                self.arrays["queues"][0, 0, 0] = frontier.only
            else:
                self._queue(frontier.ids, 1 if self._alone else self.threads)
            if plan.starts_active:
                self.arrays["bits"][:] = 0
                self.set_active(frontier)
        if plan.prioritised and delta is not None:
            self.arrays["delta"] = float(delta)
        if self.traced.aggregates:
            self._first_aggregates()

    def _can_wait(self, count: int) -> bool:
        """Whether others can join later: where nothing but lists is each thread's own."""
        can_wait = self.plan.keeps_active and not self.traced.aggregates and not self._schedule
        return can_wait and self._way != PULL and count <= ALONE and self.graph.n <= FILLED_ALONE

    def _queue(self, ids: np.ndarray, crew: int) -> None:
        """Share out the active vertices among threads, as `runtime.begin` counts them."""
        queues, count = self.arrays["queues"], len(ids)
        for t in range(crew):
            part = ids[(count * t + crew - 1) // crew : (count * (t + 1) + crew - 1) // crew]
            queues[0, t, : len(part)] = part

    def set_active(self, frontier: Frontier, parity: int = 0) -> None:
        """Say who is active, for a gather that looks at those alone."""
        packed = np.packbits(frontier.mask, bitorder="little")
        self.arrays["bits"][parity].view(np.uint8)[: len(packed)] = packed

    def _default_delta(self) -> float:
        """The mean edge value (from a sample) over the mean degree; several times that where few edges meet.

        There iterations are thin, and fewer of them are worth some edges looked at twice.
        """
        if not self.plan.prioritised:
            return 1.0
        values, m = self.graph.values, self.graph.m
        mean = 1.0 if values is None or m == 0 else float(np.abs(values[:: max(1, m // 4096)]).mean(dtype=np.float64))
        degree = max(m, 1) / max(self.graph.n, 1)
        delta = max(1.0, 24.0 / degree) * mean / degree
        return float(delta) if np.isfinite(delta) and delta > 0 else 1.0

    def _first_aggregates(self) -> None:
        """Reduce over the initial state, as though an iteration before the first had left it."""
        self.arrays["self_iteration"] = -1
        self.call("start")
        self.arrays["self_iteration"] = 0
        self.arrays["counts"][2, runtime.DENSE_TICKET] = 0

    def advance(self, until: int, progress: Callable[[int], Any] | None = None, trace: bool = False) -> None:
        """Run iterations until the one numbered `until`, or the program's end, or until others should help."""
        control = self.control
        control[runtime.LAST] = until
        if self.ended:
            return
        if trace:
            self.arrays["log"] = np.zeros((self.log_rows, 3), np.int64)
        crew = 1 if self._alone else self.threads
        short = self._alone or (progress is None and max(self._work, self.graph.n + self.graph.m) <= threads.SHORT)
        control[runtime.ENOUGH] = ALONE if self._alone else threads.SHORT if short else NO_LIMIT
        watch = None if progress is None else lambda: progress(int(control[runtime.PROGRESS]))
        follow(lambda: (int(control[runtime.PROGRESS]), 0), "iterations")
        kernel, arguments = self.plan.loaded.run_loop, self.plan.after_control(self.arrays)
        threads.run_parallel(kernel, control, arguments, crew, watch, self.threads > 1, short)
        self.iteration, self.edges = control.item(runtime.ITERATION), control.item(runtime.TOTAL)
        waiting = control.item(runtime.ACTIVE) + control.item(runtime.PUT_OFF)
        self.ended = waiting == 0 or control.item(runtime.DONE) != 0
        if not self.ended:
            self._work = control.item(runtime.WORK) + control.item(runtime.EDGE_SUM)
            self._alone = self._alone and self._work <= ALONE

    def log(self, rows: int) -> np.ndarray:
        return self.arrays["log"][:rows].copy()

    def state(self) -> dict[str, np.ndarray]:
        """The fields as they are now."""
        now = self._fields.copy()
        for name in self.plan.doubled:
            now[name] = now[name][self.iteration & 1]
        for name in self.plan.edge_states:
            now[name] = self.arrays[f"e_{name}"]
        return now

    def aggregates(self) -> dict[str, Any]:
        """What the aggregates came to in the last iteration."""
        row, step = (self.iteration - 1) & 1, 8
        return {
            n: a.monoid.reduce(self.arrays[f"part_{n}"][row, : self.threads * step : step])
            for n, a in self.traced.aggregates.items()
        }

    def frontier(self) -> Frontier:
        """The active vertices as they are now."""
        n = self.graph.n
        if self.control.item(runtime.ACTIVE) == 0:
            return Frontier.none(n)
        if not self.plan.keeps_active:
            return Frontier.all(n)
        row = self.iteration & 1
        if self.control[runtime.FORM] == runtime.LIST:
            sizes = self.arrays["counts"][(self.iteration + 2) % 3, runtime.FIRST + runtime.NEXT :: runtime.BLOCK]
            queues = self.arrays["queues"][row]
            return Frontier(n, np.concatenate([queues[t, : sizes[t]] for t in range(self.threads)]))
        bytes_ = self.arrays["bits"][row].view(np.uint8)
        return Frontier(n, mask=np.unpackbits(bytes_, count=n, bitorder="little").astype(bool))


def _fitting(spare: np.ndarray | None, shape: tuple[int, ...], kind: np.dtype) -> np.ndarray:
    """An array of any content: a spare one, if it is of that shape and type."""
    return spare if spare is not None and spare.shape == shape and spare.dtype == kind else np.empty(shape, kind)


def workspace_shapes(plan: Any, graph: Graph, team: int) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
    """The scratch arrays that a run needs beside the graph and its fields: shapes and types."""
    n, words, ids, bits = graph.n, graph.n // 64 + 1, graph.id_dtype, np.dtype(np.uint64)
    shapes: dict[str, tuple[tuple[int, ...], np.dtype]] = {
        "queues": ((2, team, n), ids),
        "receivers": ((team, n), ids),
        "far": ((team, n), ids),
        "activated": ((n,), np.dtype(bool)),
        "bits": ((2, words), bits),
        "claimed": ((2, words), bits),
        "far_bits": ((words,), bits),
        "lows": ((3, 8 * team), np.dtype(np.float64)),
        "bounds": ((2,), np.dtype(np.float64)),
    }
    for name, kind in plan.components:
        shapes[name] = layout(kind, n)
    return {name: shape for name, shape in shapes.items() if name in plan.arrays}


def workspace_bytes(program: VertexProgram, graph: Graph, deterministic: bool) -> int:
    """What those come to."""
    kind: Any = type(program)
    shapes = workspace_shapes(generate.plan(kind, graph.id_dtype, deterministic), graph, _team(graph)).values()
    return sum(math.prod(shape) * kind.itemsize for shape, kind in shapes)


def _team(graph: Graph, once: bool = False) -> int:
    """How many threads share the work; less is worth waking others for where each vertex takes part `once`."""
    return 1 if graph.n + graph.m < SMALL << (3 if once else 0) else threads.num_threads()
