"""Binds a program to a graph on the CPU: makes the arrays that its generated module works on, and calls it."""

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from operator import index
from typing import Any

import numpy as np

from gasla.cpu.program import generate, launch, levels, queues
from gasla.cpu.program.again import Again
from gasla.cpu.program.signature import Field
from gasla.cpu.program.spare import Workspace, kind_of_run, spare
from gasla.cpu.runtime import threads
from gasla.cpu.runtime.threads import ALONE, LASTING, THIN
from gasla.graph.arguments import NO_LIMIT
from gasla.graph.graph import Graph
from gasla.names import given as given_name
from gasla.program.binding import AUTO, FEW, PULL, Binding, NeighbourLists, Room, layout, rooms
from gasla.program.fields import bounds_of
from gasla.program.frontier import Frontier
from gasla.program.program import VertexProgram
from gasla.program.schedule import Schedule
from gasla.progress import follow, is_watched

SMALL = 1 << 15  # vertices and edges below which one thread does all, for want of work; eight times as many if once
FILLED_ALONE = 1 << 17  # vertices whose fields are filled meanwhile; where there are more, others help from the start
ZEROS = {  # Numba soon knows the types of Python's own numbers; of NumPy's, and of bool, it takes longer
    **dict.fromkeys(("threshold", "last_threshold"), 0.0),
    **dict.fromkeys(("receiver_count", "self_iteration"), 0),
    "log": np.zeros((0, 3), np.int64),
}
NOTHING = np.zeros(0, np.int64)


class _Start:
    """How a vertex field starts where the run itself fills it: everywhere alike, but for some vertices."""

    def __init__(self, field: Field, kind: Any, value: np.ndarray | None, room: Room) -> None:
        self.field, self.room = field, room
        self.value = value  # an array of one; None where the program has it start otherwise
        self.nothing = np.empty(*layout(kind, 0)), NOTHING  # in place of seeds: nothing is to be filled
        self.seeds = self.nothing  # what it starts with, first everywhere and then at some vertices; and at which
        bounds = bounds_of(kind)
        self._plain = (int,) if bounds else (int, float)
        self._bounds = bounds or (-math.inf, math.inf)

    def seed(self, given: Mapping[int, Any], n: int, check: Callable[[str, Any, Any], None]) -> None:
        """Note at which of n vertices it starts with something else; `check` has a closer look."""
        values, places = self.seeds
        if len(values) != len(given) + 1:
            assert self.value is not None
            values, places = np.repeat(self.value, len(given) + 1, axis=0), np.empty(len(given), NOTHING.dtype)
            self.seeds = values, places
        least, most = self._bounds
        for i, (v, x) in enumerate(given.items()):
            if not (type(v) is int and 0 <= v < n and type(x) in self._plain and least <= x <= most):
                check(self.field.name, v, x)
            places[i], values[i + 1] = v, x

    def forms(self, argument: int, copied: set[str], source: np.ndarray) -> tuple[Any, ...]:
        """What it may start with, if it is such an argument of a run that fills it.

        Its name, argument and layout; whether an array given is copied; and what fills it otherwise: everywhere alike,
        nothing, and one value for all vertices but a source.
        """
        assert self.value is not None
        seeds, name = np.repeat(self.value, 2, axis=0), self.field.name
        return name, argument, *self.room, name in copied, (self.value, NOTHING), self.nothing, (seeds, source)


def bind(
    program: VertexProgram,
    graph: Graph,
    fields: Mapping[str, Any],
    way: int = AUTO,
    deterministic: bool = False,
    schedule: Schedule | None = None,
) -> "Bound":
    """A program and a graph at the start of a run: as the last run of that kind left them, if it has ended."""
    key = kind_of_run(program, deterministic, schedule is not None)
    workspace = spare(graph).pop("workspace", None) or Workspace()
    bound = workspace.bound.get(key)
    if bound is None or bound.number != threads.num_threads():
        bound = Bound(program, graph, workspace, deterministic, schedule is not None)
        workspace.bound[key] = bound
    bound.start(program, graph, fields, way, schedule)
    return bound


class Bound(Binding):
    """A program, a graph, and the arrays of a run. What isn't the run's own serves the next of its kind."""

    log_rows = 1024
    busy = threads.busy

    def __init__(
        self,
        program: VertexProgram,
        graph: Graph,
        workspace: Workspace,
        deterministic: bool = False,
        scheduled: bool = False,
        staged: bool = False,
    ) -> None:
        kind: Any = type(program)
        self.plan = plan = generate.plan(kind, graph.id_dtype, deterministic, scheduled, staged)
        super().__init__(program, graph)
        self._workspace, self.team = workspace, _team(graph, once=plan.scheduled)
        self.number, self.size = threads.num_threads(), graph.n + graph.m
        # Whether one begins alone while others sleep: what starts from few vertices may soon have ended.
        self.can_wait = plan.keeps_active and not (scheduled or self.traced.aggregates) and graph.n <= FILLED_ALONE
        self.control = threads.new_control()
        self.control[launch.ENTRIES], self.control[launch.SOURCE] = graph.m, -1
        self.control[launch.NUMBER] = self.number
        self.control[launch.WAITS] = launch.IF_OTHERS_SLEEP if self.can_wait else launch.FOR_CORES
        self.control[launch.UNTIL], self.control[launch.THIN], self.control[launch.LASTING] = ALONE, THIN, LASTING
        self.first = self.control.copy()  # as a run starts
        shapes = workspace_shapes(plan, graph, self.team)
        is_scheduled = scheduled and not staged
        if is_scheduled:
            del shapes["receivers"]
        sides = self._sides()
        lists = {name: self._graph_array(name, sides) for name in plan.arrays if self._is_kept(name, sides)}
        of_fields = {name for field in plan.fields for name in field[1:]}
        kinds = self.traced.aggregate_types
        count = max(1, -(-graph.n // queues.DENSE_CHUNK)) if plan.sums_in_order else self.team
        parts = {f"part_{name}": np.empty((2, 8 * count), kind) for name, kind in kinds.items()}
        self._parts = [*zip(parts.values(), plan.identities.values(), strict=True)]
        elsewhere = {*shapes, *lists, *of_fields, *parts, *(levels.NAMES if is_scheduled else ())}
        self.others = [name for name in plan.arrays if name not in elsewhere | {"control", "counts", "log"}]
        self.common = self._scalars() | lists | workspace.fitting(shapes) | parts
        self.common["control"] = self.control
        self.common["counts"] = np.empty((3, queues.FIRST + self.team * queues.BLOCK), np.int64)
        self.starts = self._find_starts()
        self._names = frozenset(plan.starting)

    @cached_property
    def again(self) -> Again:
        """What repeats such a run."""
        return Again(self)

    def start(
        self,
        program: VertexProgram,
        graph: Graph,
        fields: Mapping[str, Any],
        way: int = AUTO,
        schedule: Schedule | None = None,
    ) -> None:
        """Take or make what is a run's own."""
        self.program, self.graph, self.threads, self._way = program, graph, self.team, way
        self.iteration, self.edges, self.ended = 0, 0, False
        self._work = 0  # edges looked at, and those that lead on
        if self.traced.renames:
            fields = self.by_inner_name(fields)
        if not fields.keys() <= self._names:
            self.check(fields)
        arrays = self.arrays = self.common.copy()  # and scalars
        self._schedule = None
        if schedule is not None:
            known = schedule.made.get(levels.kind(self.ids))
            found = known or levels.unsorted(schedule, self.ids, self.team)
            self._schedule = schedule, found, known is not None
            arrays.update(zip(levels.NAMES, found, strict=True))
        if self.others:
            sides = self._sides()
            for name in self.others:
                arrays[name] = self._make(name, fields, sides)
        self._fields: dict[str, np.ndarray] = {}
        for start in self.starts:
            name = start.field.name
            self._fields[name] = arrays[start.field.array] = self._make_field(start, fields.get(name))
        for part, identity in self._parts:
            part.fill(identity)
        if self.traced.parameter_types:
            for name, value in self.parameters().items():
                arrays[f"self_{name}"] = value

    def close(self) -> None:
        kept = spare(self.graph)
        del self.graph, self.arrays, self._fields, self._schedule
        if self.control.item(threads.STOP) == 0:
            kept["workspace"] = self._workspace  # for the next run

    # --- arrays ----------------------------------------------------------------------------------------------------

    def _make_field(self, start: _Start, given: Any) -> np.ndarray:
        """A field's array, which the run itself fills wherever it can."""
        name, _, values, places = start.field
        if start.value is not None and (given is None or isinstance(given, FEW)):
            start.seed(given or {}, self.graph.n, self._check_seed)
            filling, array = start.seeds, np.empty(*start.room)
        else:
            if given is not None:
                self.check({name: given})
            if name not in self.plan.filled:
                return self._vertex_array(name, given)
            filling, array = self._with_values(start, given)
        self.arrays[values], self.arrays[places] = filling
        return array

    def _with_values(self, start: _Start, given: Any) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
        """What a field that starts otherwise is to be filled with, and its array."""
        name, value = start.field.name, None
        wanted = layout(self.traced.vertex_types[name], self.graph.n)
        if type(given) is np.ndarray and self._is_ready(given, wanted):  # a subclass, Numba may refuse
            value = given
        elif given is not None and not isinstance(given, FEW):
            value = self._alike(name, given)
        if value is None:
            return start.nothing, self._vertex_array(name, given)
        return (value, NOTHING), np.empty(*start.room)

    def _check_seed(self, name: str, v: Any, x: Any) -> None:
        """Refuse what is no vertex, or no value of a field's type."""
        self._vertex(name, index(v))
        self.check({name: {v: x}})

    def _scalars(self) -> dict[str, Any]:
        """Numbers among the arguments, as a run starts with them."""
        found = ZEROS | {"self_n": self.graph.n, "skewed": int(self._skewed()), "narrow": int(self._narrow())}
        found |= {f"self_{name}": kind.type(0) for name, kind in self.traced.aggregate_types.items()}
        return found | {"delta": self._default_delta()}

    def _find_starts(self) -> list[_Start]:
        """How each vertex field starts by the program's word."""
        plan, found, shapes = self.plan, [], rooms(self.plan, self.graph.n)
        for field in plan.fields:
            init = self.program.vertex_fields[given_name(field.name)].init
            value = self._alike(field.name, init) if field.name in plan.filled else None
            found.append(_Start(field, self.traced.vertex_types[field.name], value, shapes[field.name]))
        return found

    def _is_kept(self, name: str, sides: tuple[NeighbourLists, NeighbourLists]) -> bool:
        """Whether an array is one that the graph keeps."""
        if name in ("in_p", "out_p"):
            return True
        lists = sides[0 if name[0] == "g" else 1]
        if name in ("gp", "gi", "sp", "si", "leaving"):
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

    def _make(self, name: str, fields: Mapping[str, Any], sides: tuple[NeighbourLists, NeighbourLists]) -> np.ndarray:
        if name.startswith("e_"):
            self.check({field: fields[field] for field in fields.keys() & {name[2:]}})
            return self._edge_array(name[2:], fields)
        return self._graph_array(name, sides)

    def _graph_array(self, name: str, sides: tuple[NeighbourLists, NeighbourLists]) -> np.ndarray:
        if name in ("in_p", "out_p"):
            return (self.graph.in_ if name == "in_p" else self.graph.out).indptr
        lists = sides[0 if name[0] == "g" else 1]
        if name == "leaving":
            return lists.leaving()
        if name[1] == "v":
            return lists.values(self.traced.edge_types[name[3:]])
        return {"p": lists.indptr, "i": lists.indices, "e": lists.ids}[name[1]]()

    @property
    def _short(self) -> int:
        """Vertices and edges that take some tenths of a second: so long this thread may take part, and be deaf."""
        return threads.SHORT // self.plan.weight

    # --- running ---------------------------------------------------------------------------------------------------

    def call(self, stage: str) -> None:
        """Run one stage function of the module on all threads."""
        kernel, arguments = getattr(self.plan.loaded, stage), self.plan.after_control(self.arrays)
        short = self.size <= self._short
        threads.run_parallel(kernel, self.control, arguments, self.threads, held=threads.are_held(self), short=short)

    def begin(self, frontier: Frontier, delta: float | None) -> None:
        """Set the loop at its start, on as many threads as it then has to its end: each has lists of its own."""
        if self.threads > 1 and not threads.hold(self):
            self.threads = 1
        control, plan = self.control, self.plan
        only = frontier.only if plan.keeps_active else None
        count = 1 if only is not None else len(frontier) if plan.keeps_active else self.graph.n
        control[:] = self.first
        control[launch.WAY] = self._way
        control[launch.ACTIVE] = count
        if self._schedule is not None:
            schedule, _, is_sorted = self._schedule
            control[launch.ACTIVE] = schedule.depth
            control[launch.SORTED], control[launch.BACKWARD] = is_sorted, schedule.is_reversed
        if self._way == PULL or count > ALONE:
            control[launch.WAITS] = launch.FOR_CORES
        if plan.keeps_active:
            if only is not None:
                control[launch.SOURCE] = only
            else:
                self._queue(frontier.ids, self.threads)
            if plan.starts_active:
                self.arrays["bits"][:] = 0
                self.set_active(frontier)
        if plan.prioritised and delta is not None:
            self.arrays["delta"] = float(delta)
        if self.traced.aggregates:
            self._first_aggregates()

    def _queue(self, ids: np.ndarray, crew: int) -> None:
        """Share out the active vertices among threads, as `queues.begin` counts them."""
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

        Where priorities are no sums of edge values, it is 0: a part of the range of those that wait.

        There iterations are thin, and fewer of them are worth some edges looked at twice.
        """
        if not self.plan.prioritised:
            return 1.0
        if not self.plan.adds_up:
            return 0.0
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
        self.arrays["counts"][2, queues.DENSE_TICKET] = 0

    def advance(self, until: int, progress: Callable[[int], Any] | None = None, trace: bool = False) -> None:
        """Run iterations until the one numbered `until`, or the program's end, or until Python should hear Ctrl-C."""
        if self.ended:
            return
        control = self.control
        control[launch.LAST], control[launch.BEGAN] = until, self.iteration
        if trace:
            self.arrays["log"] = np.zeros((self.log_rows, 3), np.int64)
        if is_watched():
            follow(lambda: (int(control[queues.PROGRESS]), 0), "iterations")
        watch = None if progress is None else lambda: progress(int(control[queues.PROGRESS]))
        short = watch is None and max(self._work, self.size) <= self._short
        control[launch.ENOUGH] = self._short if short else NO_LIMIT
        kernel, arguments = self.plan.loaded.run_loop, self.plan.after_control(self.arrays)
        threads.run_parallel(kernel, control, arguments, self.threads, watch, self.threads > 1, short)
        if self._schedule is not None:
            schedule, sorted_, _ = self._schedule
            schedule.made[levels.kind(self.ids)] = sorted_
        self.iteration, self.edges = control.item(launch.ITERATION), control.item(launch.TOTAL)
        waiting = control.item(launch.ACTIVE) + control.item(launch.PUT_OFF)
        self.ended = waiting == 0 or control.item(launch.DONE) != 0
        if not self.ended:
            self._work = control.item(launch.WORK) + control.item(launch.EDGE_SUM)

    def log(self, rows: int) -> np.ndarray:
        return self.arrays["log"][:rows].copy()

    def state(self) -> Mapping[str, np.ndarray]:
        """The fields as they are now."""
        now = self._fields.copy()
        for name in self.plan.doubled:
            now[name] = now[name][self.iteration & 1]
        for name in self.plan.edge_states:
            now[name] = self.arrays[f"e_{name}"]
        return self.by_given_name(now)

    def aggregates(self) -> Mapping[str, Any]:
        """What the aggregates came to in the last iteration."""
        row, step = (self.iteration - 1) & 1, 8
        last = None if self.plan.sums_in_order else self.threads * step
        found = {
            n: a.monoid.reduce(self.arrays[f"part_{n}"][row, :last:step]) for n, a in self.traced.aggregates.items()
        }
        return self.by_given_name(found)

    def frontier(self) -> Frontier:
        """The active vertices as they are now."""
        n = self.graph.n
        if self.control.item(launch.ACTIVE) == 0:
            return Frontier.none(n)
        if not self.plan.keeps_active:
            return Frontier.all(n)
        row = self.iteration & 1
        if self.control[launch.FORM] == queues.LIST:
            sizes = self.arrays["counts"][(self.iteration + 2) % 3, queues.FIRST + queues.NEXT :: queues.BLOCK]
            listed = self.arrays["queues"][row]
            return Frontier(n, np.concatenate([listed[t, : sizes[t]] for t in range(self.threads)]))
        bytes_ = self.arrays["bits"][row].view(np.uint8)
        return Frontier(n, mask=np.unpackbits(bytes_, count=n, bitorder="little").astype(bool))


def workspace_shapes(plan: Any, graph: Graph, team: int) -> dict[str, Room]:
    """The scratch arrays that a run needs beside the graph and its fields: shapes and types."""
    n, words, ids, bits = graph.n, graph.n // 64 + 1, graph.id_dtype, np.dtype(np.uint64)
    shapes: dict[str, Room] = {
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
    shapes["summed"] = (words,), bits
    shapes |= {f"term_{name}": ((n,), kind) for name, kind in plan.traced.aggregate_types.items()}
    return {name: shape for name, shape in shapes.items() if name in plan.arrays}


def workspace_bytes(program: VertexProgram, graph: Graph, deterministic: bool) -> int:
    """What those come to."""
    kind: Any = type(program)
    shapes = workspace_shapes(generate.plan(kind, graph.id_dtype, deterministic), graph, _team(graph)).values()
    return sum(math.prod(shape) * kind.itemsize for shape, kind in shapes)


def _team(graph: Graph, once: bool = False) -> int:
    """How many threads share the work; less is worth waking others for where each vertex takes part `once`."""
    return 1 if graph.n + graph.m < SMALL << (3 if once else 0) else threads.num_threads()
