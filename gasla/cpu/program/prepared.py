"""A program prepared for runs on a graph: everything that its runs have in common is computed once.

A search may take only ten microseconds, and a line of Python takes half a microsecond or more after a kernel has filled
the caches. So `begin` has one line for each thing that differs between runs, and `advance` does little more than call
the kernel.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gasla.compiler.function import Call
from gasla.cpu.kernels import queues
from gasla.cpu.program import generate, launch
from gasla.cpu.program.initial_state import NOTHING, Levels, Start, default_delta, kind_of_levels, unsorted
from gasla.cpu.program.launch import ACTIVE, BEGAN, DONE, EDGE_SUM, ENOUGH, ITERATION, LAST, PUT_OFF, TOTAL, WORK
from gasla.cpu.program.workspace import Workspace, fitting, fitting_team, team_for, workspace_shapes, workspaces
from gasla.cpu.runtime import threads
from gasla.cpu.runtime.threads import ALONE, LASTING
from gasla.graph.arguments import NO_LIMIT
from gasla.graph.graph import Graph
from gasla.names import given as given_name
from gasla.program import reasons
from gasla.program.binding import (
    AUTO,
    FEW,
    PULL,
    Binding,
    NeighborLists,
    Outcome,
    Synchronous,
    field_layouts,
    layout,
    values_in_order,
)
from gasla.program.frontier import Frontier
from gasla.program.program import VertexProgram
from gasla.program.schedule import Schedule
from gasla.progress import follow, is_watched
from semirings.types import HALF

# a run on at most this many vertices may begin on one thread, which initializes the fields while other threads wake up
FILLED_ALONE = 1 << 17
LARGE = 1 << 24  # a graph with at least this many edges is always worked on by all threads
# names of the arguments that are arrays of the graph's adjacency lists, which the graph may cache
OF_GRAPH = {"in_p", "out_p", "gp", "gi", "gb", "sp", "si", "sb", "leaving"}
# an iteration with fewer vertices and edges than this counts as small, and may run on one thread; -1 stands for a limit
# that is measured on this machine (`threads.thin`)
THIN = -1
ZEROS = {
    **dict.fromkeys(("threshold", "last_threshold", "width", "spare"), 0.0),
    **dict.fromkeys(("receiver_count", "self_iteration"), 0),
    "self_bucket": -1,
    "log": np.zeros((0, 3), np.int64),
}


class Prepared(Synchronous, Binding):
    """A program prepared on a graph: the arguments of its kernel, and the state of the current run, from `begin` to
    `close`.

    Between runs the object holds no reference to the graph. The graph may hold a reference to it, so the two would form
    a cycle.
    """

    log_rows = 1024
    is_spare = False
    _workspace: Workspace | None = None  # the scratch arrays of the last run
    _taken: Workspace | None = None  # the scratch arrays of the current run
    _arguments: list[Any]  # the arguments of the kernel for the current run, from the one after the control array on
    _fields: dict[str, np.ndarray]
    _schedule: Schedule | None = None
    _sorted: Levels | None = None  # the arrays of the current schedule, whose vertices are sorted by iteration
    _has_begun = True  # whether kernels are launched within a run, for which `begin` has reserved the threads

    def __init__(
        self,
        program: VertexProgram,
        graph: Graph,
        way: int = AUTO,
        deterministic: bool = False,
        scheduled: bool = False,
        staged: bool = False,
    ) -> None:
        kind: Any = type(program)
        self.plan = generate.plan(kind, graph.id_dtype, deterministic, scheduled, staged)
        super().__init__(program, graph)
        # locked from `begin` to `close`, which keeps other runs from using the worker threads
        self.turn = threading.Lock()
        self._names = frozenset(self.plan.starting)
        self._calls = {} if staged else {"run_loop": Call(self.plan.kernels["run_loop"])}
        special = self.plan.doubled, self.plan.edge_states, self.traced.renames, self.traced.measures
        self._is_plain, self._starts_active = not any(special), self.plan.starts_active
        self.paces = np.zeros(launch.PACES_SIZE, np.int64)
        self._way, self._size, self._levels = way, graph.n + graph.m, kind_of_levels(self.ids)
        self._none_active = Frontier.none(graph.n)
        self._set_up_threads()
        if not staged:
            del self.program, self.graph

    def _set_up_threads(self) -> None:
        """Set up all that depends on the number of threads: control array, counters, and shapes of scratch arrays."""
        plan, graph = self.plan, self.graph
        self.number = threads.num_threads()
        self.team = self.threads = fitting_team(plan, graph, team_for(graph, self.number, once=plan.scheduled))
        self.control = self._control()
        # Python reads and sets the items of memoryviews faster than those of arrays, so both control arrays are
        # memoryviews.
        self._words, self._first = self.control.data, self.control.copy().data
        self._short = threads.SHORT // plan.weight
        self._shapes, self._workspace = workspace_shapes(plan, graph, self.team), None
        self._pool = workspaces(graph)
        lists = self._cached_arrays()
        kinds = self.traced.aggregate_types
        count = max(1, -(-graph.n // queues.DENSE_CHUNK)) if plan.sums_in_order else self.team
        parts = {f"part_{name}": np.empty((2, 8 * count), kind) for name, kind in kinds.items()}
        self._parts = [(parts[f"part_{name}"], plan.identities[name]) for name in kinds]
        counts = np.empty((3, queues.FIRST + self.team * queues.STRIDE), np.int64)
        self._changed_names = plan.carried
        carried = {f"set_{n}": np.zeros(1, self.traced.parameter_types.get(n, np.int64)) for n in self._changed_names}
        common = self._scalars() | lists | parts | carried | {"counts": counts}
        self._places = {name: i for i, name in enumerate(plan.arguments[3:])}
        # the arguments that all runs share, with None in place of those that differ from run to run
        self._common = [common.get(name) for name in self._places]
        self._starts = self._list_starts()
        known_arrays = (
            {name for start in self._starts for name in start.arguments} | common.keys() | self._shapes.keys()
        )
        known_arrays |= {"control", "receivers", "starts", "levels"}
        self._per_run_arrays = [name for name in plan.arrays if name not in known_arrays]
        self._has_more = bool(self._per_run_arrays or self._parts or self.traced.parameter_types or self._changed_names)

    def _control(self) -> np.ndarray:
        """Return the control array (state and settings of the loop) as it is at the start of every run."""
        control, plan = threads.new_control(), self.plan
        # A run that starts from few vertices may end soon. So one thread may begin alone while the other threads sleep.
        can_wait = plan.keeps_active and not (plan.scheduled or self.traced.measures) and self.graph.n <= FILLED_ALONE
        control[launch.ENTRIES], control[launch.SOURCE], control[launch.WAY] = self.graph.m, -1, self._way
        control[launch.WAITS] = launch.IF_OTHERS_SLEEP if can_wait and self._way != PULL else launch.FOR_CORES
        control[launch.UNTIL], control[launch.THIN], control[launch.LASTING] = ALONE, THIN, LASTING
        control[launch.PACES], control[launch.LARGE] = self.paces.__array_interface__["data"][0], LARGE
        return control

    def begin(
        self,
        program: VertexProgram,
        graph: Graph,
        fields: Mapping[str, Any],
        frontier: Frontier | None,
        schedule: Schedule | None = None,
        delta: float | None = None,
        out: Mapping[str, Any] | None = None,
    ) -> "Prepared":
        """Set up a run of the program, up to its first iteration.

        The number of threads stays the same until the run ends, as each thread has queues of its own.
        """
        self.program, self.graph = program, graph
        try:
            if self.number != threads.number_now():
                workspaces(graph).clear()
                self._set_up_threads()
            try:
                self._taken = self._pool.pop()
            except IndexError:  # another run on this graph has taken the scratch arrays, so this run makes its own
                self._taken = {}
            if self._taken is not self._workspace:
                self._use(self._taken)
            self.threads = threads.take(self.turn, self.team)
            self.iteration, self.edges, self.ended, self.stopped = 0, 0, False, False
            self._words[:] = self._first
            self._start(fields, out)
            self._schedule = schedule
            if schedule is not None:
                self._follow(schedule)
            else:
                assert frontier is not None
                self._set_first_active(frontier)
            if delta is not None and self.plan.prioritised:
                self._put("delta", float(delta))
            if self.plan.measures_first:
                self._first_aggregates()
        except BaseException:
            self.close()
            raise
        return self

    def compile_ahead(self, program: VertexProgram, graph: Graph) -> None:
        """Do nothing.

        The GPU engine compiles kernels in the background here. On the CPU, that would slow down the calling thread.
        """

    def in_turns(self, programs: Sequence[VertexProgram], graph: Graph) -> None:
        """Return None, which tells the caller to run the phases of several programs one after another itself."""

    def close(self) -> None:
        """End the run: return the scratch arrays for the next run, and drop the references to this run's arrays.

        Scratch arrays that threads still use, because the run was interrupted, are not returned.
        """
        if self._taken is not None and self._words[threads.STOP] == 0:
            self._pool.append(self._taken)
            if self.is_spare:
                self._workspace = None
                for name in self._shapes:
                    self._common[self._places[name]] = None
        self._taken = self._schedule = self._sorted = None
        self._arguments, self._fields = [], {}
        for call in self._calls.values():
            call.keep(self._common)
        self.program = self.graph = None  # type: ignore[assignment]

    def go_on(self, active: np.ndarray, parameters: Mapping[str, Any]) -> None:
        """Set the active vertices and the parameters of the next iteration, and ensure that it takes place.

        A distributed run (see `gasla.engines.Part`) calls this between iterations. The queue of the first thread holds
        the active vertices, and other threads take some of them from it.
        """
        for name, value in parameters.items():
            self._put(f"self_{name}", self.traced.parameter_types[name].type(value))
        words, plan = self._words, self.plan
        self.ended = False
        # these are copies of fields, which are outdated because vertices of other ranks may have been updated
        for name in plan.behind:
            self._get(f"was_{name}")[...] = self._fields[name]
        if words[launch.FILLED] == 0:
            words[launch.SOURCE] = -1
            self._set_first_active(Frontier(self.graph.n, active))
            if plan.everyone:  # all vertices gather here, so the next iteration takes place even if no vertex is active
                words[ACTIVE] = self.graph.n
            return
        words[ACTIVE], words[launch.FORM] = self.graph.n if plan.everyone else len(active), queues.LIST
        if "queues" in self._places:
            counters = self._get("counts")[(self.iteration + 2) % 3]
            counters[queues.FIRST + queues.NEXT :: queues.STRIDE] = 0
            counters[queues.FIRST + queues.NEXT] = len(active)
            self._get("queues")[self.iteration & 1, 0, : len(active)] = active
        if "sp" in self._places:
            offsets = self._get("sp")
            words[EDGE_SUM] = int((offsets[active + 1] - offsets[active]).sum())
        if plan.starts_active:
            self.set_active(Frontier(self.graph.n, active), self.iteration & 1)
        if plan.sends_news:
            self._get("news")[active] = (1 << len(plan.parts)) - 1
        # as at the start of a run, all active vertices belong to the first bucket of priorities, so the buckets' bounds
        # are reset
        if plan.prioritised:
            lows, bounds = self._get("lows"), self._get("bounds")
            lows[:] = np.inf
            lows[:, 1::8] = bounds[:] = -np.inf

    # --- making the arguments of the kernel, and the initial values of fields -----------------------------------------

    def _use(self, workspace: Workspace) -> None:
        """Pass the scratch arrays of a workspace, kept from an earlier run on the graph, to the kernel."""
        self._workspace = workspace
        for name, array in fitting(workspace, self._shapes).items():
            self._common[self._places[name]] = array

    def _put(self, name: str, value: Any) -> None:
        """Set the value of an argument of the kernel, by the argument's name."""
        self._arguments[self._places[name]] = value

    def _get(self, name: str) -> Any:
        """Return the value that an argument of the kernel has now, by the argument's name."""
        return self._arguments[self._places[name]]

    def _start(self, fields: Mapping[str, Any], out: Mapping[str, Any] | None) -> None:
        """Set the arguments of the kernel that differ from run to run: fields, edge arrays, parameters and aggregates.

        `fields` has the user's initial values, and `out` arrays for the results, by name.
        """
        if self.traced.renames:
            fields = self.by_inner_name(fields)
        if not fields.keys() <= self._names:
            self.check(fields)
        self._arguments, self._fields = self._common.copy(), {}
        outs = self.check_out(out, fields) if out else {}
        for start in self._starts:
            array, initial = outs.get(start.name), fields.get(start.name)
            self._fields[start.name] = (
                self._make_field(start, initial) if array is None else self._fill(start, initial, array)
            )
        if self._has_more:
            sides = self._sides() if self._per_run_arrays else None
            for name in self._per_run_arrays:
                assert sides is not None
                self._put(name, self._make_array(name, fields, sides))
            for part, identity in self._parts:
                part.fill(identity)
            arguments, places, values = self._arguments, self._places, self.parameters()
            for name, value in values.items():
                arguments[places[f"self_{name}"]] = value
            for name in self._changed_names:
                arguments[places[f"set_{name}"]][0] = values.get(name, -1)
        if self.plan.has_halves:
            self._arguments = [_as_kernel_argument(array) for array in self._arguments]

    def _make_field(self, start: Start, initial: Any) -> np.ndarray:
        """Return a new array for a vertex field, and set the kernel's arguments that say with which values to fill it.

        `start` has the initial values that the program declares for the field. `initial` has those that the user has
        given, or is None. Values that the kernel can't fill in are copied to the array by this function.
        """
        arguments, place = self._arguments, start.place
        if initial is None and start.value is not None:
            initial_arguments = start.alike
        elif type(initial) is dict and start.value is not None:
            initial_arguments = start.seed(initial, self.graph.n, self._check_seed)
        elif type(initial) is np.ndarray and start.values_layout and self._is_ready(initial, start.values_layout):
            initial_arguments = initial, NOTHING
        elif (number := start.number(initial)) is not None:
            initial_arguments = number
        else:
            return self._make_from_other(start, initial)
        # these arrays belong to this object, and the next run is likely to pass them again, so all runs share them
        if initial_arguments[0] is not initial:
            self._common[place + 1], self._common[place + 2] = initial_arguments
        array = (
            self._new(self._where(start.name), start.shape, start.type)
            if start.is_large
            else np.empty(start.shape, start.type)
        )
        arguments[place], (arguments[place + 1], arguments[place + 2]) = array, initial_arguments
        return array

    def _fill(self, start: Start, initial: Any, array: np.ndarray) -> np.ndarray:
        """Use an array that the user passed as `out` for a vertex field, and set the field's initial values.

        If there are none, because `initial` is None or the array itself, the array keeps its values. `start` describes
        the field.
        """
        initial_arguments = start.nothing
        if type(initial) is dict and start.value is not None:
            initial_arguments = start.seed(initial, self.graph.n, self._check_seed)
        elif initial is not None and initial is not array:
            self.check({start.name: initial})
            array[...] = self._start_array(start.name, initial)
        arguments, place = self._arguments, start.place
        arguments[place] = array.view(np.ndarray)
        if start.values_layout:
            arguments[place + 1], arguments[place + 2] = initial_arguments
        return array

    def _make_from_other(self, start: Start, initial: Any) -> np.ndarray:
        """Return a new array for a vertex field, with initial values that the kernel can't fill in as they are.

        These are an array of another type, a function or a mapping.
        """
        if isinstance(initial, FEW) and start.value is not None:
            return self._make_field(start, dict(initial))
        value = None
        if initial is not None:
            self.check({start.name: initial})
            value = self._alike(start.name, initial) if start.values_layout and not isinstance(initial, FEW) else None
        array = (
            self._vertex_array(start.name, initial)
            if value is None
            else self._new(self._where(start.name), start.shape, start.type)
        )
        self._put(start.array, array)
        if start.values_layout:
            initial_arguments = start.nothing if value is None else (value, NOTHING)
            self._arguments[start.place + 1 : start.place + 3] = initial_arguments
        return array

    def _check_seed(self, name: str, v: Any, x: Any) -> None:
        """Raise an error if `v` is not the id of a vertex, or if `x` is not a value of the type of the field `name`."""
        self.check({name: {v: x}})

    def _scalars(self) -> dict[str, Any]:
        """Return the scalar arguments of the kernel at the start of a run, by name.

        Among them are the parameters of the program, and properties of the graph.
        """
        scalars = ZEROS | {
            "self_n": self.graph.n,
            "skewed": int(self._has_uneven_degrees()),
            "narrow": int(self._has_short_lists()),
        }
        scalars |= {f"self_{name}": kind.type(0) for name, kind in self.traced.aggregate_types.items()}
        return scalars | {"delta": default_delta(self.plan, self.lengths())}

    def _list_starts(self) -> list[Start]:
        """Return for each vertex field an object with the initial values that the program declares for it."""
        plan, starts, shapes = self.plan, [], field_layouts(self.plan, self.graph.n)
        for name, kind in self.traced.vertex_types.items():
            init, is_filled = self.program.vertex_fields[given_name(name)].init, name in plan.filled
            value = self._alike(name, init) if is_filled else None
            values_layout = layout(kind, self.graph.n) if is_filled else None
            starts.append(Start(name, self._places[f"v_{name}"], kind, value, shapes[name], values_layout))
        return starts

    def _cached_arrays(self) -> dict[str, np.ndarray]:
        """Return those array arguments of the kernel that the graph caches, by name, so that all runs share them.

        They are the arrays of its adjacency lists, and edge values in the order of the lists.
        """
        sides, arrays = self._sides(), {}
        for name in self.plan.arrays:
            lists, field = sides[0 if name[0] == "g" else 1], name[3:]
            if name in OF_GRAPH:
                is_cached = name in ("in_p", "out_p") or lists.are_cached
            else:
                holds_values = name[1:3] == "v_"
                is_cached = holds_values and lists.caches_values(self.traced.edge_types[field], self.weighted(field))
            if is_cached:
                arrays[name] = self._graph_array(name, sides)
        return arrays

    def _has_uneven_degrees(self) -> bool:
        """Return whether the graph's degrees differ so much that a push must count the edges of active vertices.

        Otherwise their number is estimated from the number of active vertices.
        """
        if not self.plan.sends or self.graph.n == 0:
            return False
        graph = self.graph
        if self.program.direction == "all":
            return True
        largest = graph.max_out_degree if self.program.direction == "in" else graph.max_in_degree
        return largest > 4 * (graph.m // graph.n + 1)

    def _has_short_lists(self) -> bool:
        """Return whether the adjacency lists that vertices gather over are short: at most 16 edges each, and few on
        average.
        """
        graph, plan, whole_graph = self.graph, self.plan, self.graph.known("whole")
        if not plan.gathers or plan.only_pushes or self.program.direction == "all":
            return False
        # if this graph is a part of a distributed graph, "whole" has the size of that graph, so that all parts decide
        # alike
        n, m = whole_graph[:2] if whole_graph else (graph.n, graph.m)
        if m == 0 or m > 6 * n:
            return False
        longest = graph.max_in_degree if self.program.direction == "in" else graph.max_out_degree
        return (whole_graph[2] if whole_graph else longest) <= 16

    def _make_array(
        self, name: str, fields: Mapping[str, Any], sides: tuple[NeighborLists, NeighborLists]
    ) -> np.ndarray:
        if name.startswith(("e_", "was_")):
            field = name.partition("_")[2]
            self.check({field: fields[field] for field in fields.keys() & {field}})
            return self._edge_array(field, fields)
        if name.startswith("value_"):
            field = name.removeprefix("value_")
            return values_in_order(self.weighted(field), self.traced.edge_types[field])
        return self._graph_array(name, sides)

    def _graph_array(self, name: str, sides: tuple[NeighborLists, NeighborLists]) -> np.ndarray:
        if name in ("in_p", "out_p"):
            return (self.graph.in_ if name == "in_p" else self.graph.out).indptr
        lists = sides[0 if name[0] == "g" else 1]
        if name == "leaving":
            return lists.leaving()
        if name[1] == "v":
            return lists.values(self.traced.edge_types[name[3:]], self.weighted(name[3:]))
        return {"p": lists.indptr, "i": lists.indices, "e": lists.ids, "b": lists.partners}[name[1]]()

    # --- running the kernel, and reading the state of the run ---------------------------------------------------------

    def call(self, stage: str) -> None:
        """Run the kernel of one stage of an iteration, such as "gather_list", on all threads."""
        call, launch = self._calls.get(stage), threads.launch if self._has_begun else threads.run_parallel
        if call is None:
            call = self._calls[stage] = Call(self.plan.kernels[stage])
        launch(call, self.control, self._arguments, self.threads, short=self._size <= self._short)

    def _follow(self, schedule: Schedule) -> None:
        """Pass a schedule, which says in which iteration each vertex receives, to the kernel.

        In the first run with a schedule, the kernel sorts the vertices by iteration. Later runs use the sorted array.
        """
        sorted_arrays = schedule.made.get(self._levels)
        words, self._sorted = self._words, sorted_arrays or unsorted(schedule, self.ids, self.team)
        place = self._places["receivers"]
        self._arguments[place : place + 3] = self._sorted
        words[ACTIVE], words[launch.SORTED] = schedule.depth, sorted_arrays is not None
        words[launch.BACKWARD] = schedule.is_reversed

    def _set_first_active(self, frontier: Frontier) -> None:
        """Set the vertices that are active at the start of a run: in the threads' queues or in a bitmap."""
        words, plan = self._words, self.plan
        if not plan.keeps_active:
            words[ACTIVE] = self.graph.n if len(frontier) else 0
            return
        only = frontier.only
        words[ACTIVE] = count = 1 if only is not None else len(frontier)
        if only is not None:
            words[launch.SOURCE] = only
        else:
            self._fill_queues(frontier.ids, self.threads)
        if count > ALONE:
            words[launch.WAITS] = launch.FOR_CORES
        if self._starts_active:
            self._get("bits")[:] = 0
            self.set_active(frontier)

    def _fill_queues(self, ids: np.ndarray, team: int) -> None:
        """Divide the vertices `ids` that are active at the start evenly among the queues of `team` threads.

        The kernel `queues.begin` computes the same division.
        """
        queues, count = self._get("queues"), len(ids)
        for t in range(team):
            ids_of_thread = ids[(count * t + team - 1) // team : (count * (t + 1) + team - 1) // team]
            queues[0, t, : len(ids_of_thread)] = ids_of_thread

    def set_active(self, frontier: Frontier, parity: int = 0) -> None:
        """Set the bitmap of active vertices for even iterations (parity 0) or odd iterations (parity 1), which have one
        each.
        """
        packed = np.packbits(frontier.mask, bitorder="little")
        self._get("bits")[parity].view(np.uint8)[: len(packed)] = packed

    def _first_aggregates(self) -> None:
        """Compute the aggregates of the initial state, so that the first iteration can read them."""
        place = self._places["self_iteration"]
        self._arguments[place] = -1
        self.call("start")
        self._arguments[place] = 0
        self._get("counts")[2, queues.DENSE_TICKET] = 0

    def advance(self, until: int, progress: Callable[[int], Any] | None = None, trace: bool = False) -> None:
        """Run iterations until `until` have been run, the program ends, or Python must handle Ctrl-C.

        `progress` is called with the number of iterations meanwhile. `trace` says whether to log each iteration.
        """
        control, words, watch = self.control, self._words, None
        words[LAST], words[BEGAN] = until, self.iteration
        if trace:
            self._put("log", np.zeros((self.log_rows, 3), np.int64))
        if is_watched():
            follow(lambda: (int(control[threads.PROGRESS]), 0), "iterations")
        # edges read so far, and out-edges of the active vertices: a lower bound on what the run will have read
        short = max(words[WORK] + words[EDGE_SUM], self._size) <= self._short
        if progress is not None:
            watch, short = (lambda: progress(int(control[threads.PROGRESS]))), False
        words[ENOUGH] = self._short if short else NO_LIMIT
        loop = self._calls["run_loop"]
        threads.launch(loop, control, self._arguments, self.threads, watch, short, by=launch.run_loop)
        if self._schedule is not None:
            self._schedule.made[self._levels] = self._sorted
        self.iteration, self.edges = words[ITERATION], words[TOTAL]
        self.stopped = words[DONE] != 0
        self.ended = self.plan.is_over(words[ACTIVE] + words[PUT_OFF], self.graph.n) or self.stopped

    def log(self, rows: int) -> np.ndarray:
        rows_of_log: np.ndarray = self._get("log")[:rows].copy()
        return rows_of_log

    def reasons(self) -> Mapping[int, str]:
        """Return the reasons why iterations push or pull, each under the number of the direction."""
        return reasons.ways(self.plan, self._way)

    def outcome(self) -> Outcome:
        """Return the result of the run so far, a tuple.

        Its items are: fields, iterations, whether the run has ended, number of edges read, active vertices, and
        aggregates.
        """
        if self._is_plain and self._words[ACTIVE] == 0 and self.plan.ends_when_still:
            return self._fields, self.iteration, self.ended, self.edges, self._none_active, {}
        return self.state(), self.iteration, self.ended, self.edges, self.frontier(), self.aggregates()

    def state(self) -> Mapping[str, np.ndarray]:
        """Return the current values of all fields of the run's program, by name."""
        values = self._fields.copy()
        for name in self.plan.doubled:
            values[name] = values[name][self.iteration & 1]
        for name in self.plan.edge_states:
            values[name] = self._get(f"e_{name}").view(layout(self.traced.edge_types[name], 0)[1])
        return self.by_given_name(values)

    def changed(self) -> Mapping[str, Any]:
        """Return the current values of the parameters that the program's `idle` may change, by name."""
        return self.by_given_name({name: self._get(f"set_{name}").item() for name in self.plan.changes})

    def aggregates(self) -> Mapping[str, Any]:
        """Return the values of the aggregates in the last iteration, by name."""
        if self.iteration == 0 and self.traced.measures and not self.plan.measures_first:
            self._first_aggregates()
        row, step = (self.iteration - 1) & 1, 8
        parts_end = None if self.plan.sums_in_order else self.threads * step
        sums = {
            n: a.monoid.reduce(self._get(f"part_{n}")[row, :parts_end:step]) for n, a in self.traced.aggregates.items()
        }
        sums |= {n: self._get(f"to_{n}")[(self.iteration + 2) % 3].copy() for n in self.traced.deposits}
        return self.by_given_name(sums)

    def frontier(self) -> Frontier:
        """Return the set of vertices that are active in the next iteration."""
        n = self.graph.n
        if not self.plan.keeps_active:
            return Frontier.none(n) if self.plan.is_over(self._words[ACTIVE], n) else Frontier.all(n)
        if self._words[ACTIVE] == 0:
            return Frontier.none(n)
        row = self.iteration & 1
        if self.control[launch.FORM] == queues.LIST:
            sizes = self._get("counts")[(self.iteration + 2) % 3, queues.FIRST + queues.NEXT :: queues.STRIDE]
            queues_of_row = self._get("queues")[row]
            return Frontier.of(n, np.concatenate([queues_of_row[t, : sizes[t]] for t in range(self.threads)]))
        bytes_ = self._get("bits")[row].view(np.uint8)
        return Frontier(n, mask=np.unpackbits(bytes_, count=n, bitorder="little").astype(bool))


def _as_kernel_argument(value: Any) -> Any:
    """Return an argument in the form that kernels take: a float16 array as an array of its bits (uint16).

    Any other argument is returned unchanged.
    """
    return value.view(np.uint16) if isinstance(value, np.ndarray) and value.dtype == HALF else value
