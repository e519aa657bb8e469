"""Runs a program on a graph on the GPU: allocates the arrays of the kernel, launches it, and waits for it."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gasla.arrays import as_bits, current_device, finish
from gasla.gpu.program import generate, levels, phases, relabel
from gasla.gpu.program.inputs import default_delta, offset_type
from gasla.gpu.program.plan import Start, Variant, as_ctypes_value
from gasla.gpu.program.variants import for_lists_of, variant_for
from gasla.gpu.program.workspace import Cached, field_bytes, free_workspaces, frontier_of, is_small, workspace_sizes
from gasla.gpu.runtime import compile
from gasla.gpu.runtime.joint_memory import free_blocks
from gasla.gpu.runtime.waiting import wait
from gasla.graph.graph import Graph
from gasla.host_memory import free_bytes
from gasla.program import Frontier, Schedule, VertexProgram, reasons
from gasla.program.binding import AUTO, PUSH, Binding, NeighborLists, Outcome
from gasla.progress import follow, is_watched

# a number of vertices and edges; a run that visits more of them takes over 0.1 s, so it must react to Ctrl-C
LONG = 1 << 33


class Prepared:
    """A vertex program that is prepared for runs on the GPU, with fixed options such as whether runs are deterministic.

    Each graph caches, once per device, what all runs of the program on it share: the kernel and its memory (`Cached`).
    """

    is_spare = False

    def __init__(self, way: int = AUTO, deterministic: bool = False, scheduled: bool = False) -> None:
        self.turn = threading.Lock()
        self._way, self._deterministic, self._scheduled = way, deterministic, scheduled

    def compile_ahead(self, program: VertexProgram, graph: Graph) -> None:
        """Start to compile the program's kernel in a background thread.

        A caller that has other work to do before a run, such as making arrays, does this work meanwhile.
        """
        compile.compile_ahead(self._find(program, graph).plan.source)
        if self._scheduled:
            levels.begin(graph.id_dtype)

    def in_turns(self, programs: Sequence[VertexProgram], graph: Graph) -> phases.Together | None:
        """Prepare runs in which several programs take turns in a single launch of one kernel.

        Return None if the GPU can't run them in one launch, so that the caller has to launch each program itself.
        """
        return phases.together(programs, graph, self._way, self._deterministic)

    def begin(
        self,
        program: VertexProgram,
        graph: Graph,
        fields: Mapping[str, Any],
        frontier: Frontier | None,
        schedule: Schedule | None = None,
        delta: float | None = None,
        out: Mapping[str, Any] | None = None,
    ) -> "Run":
        """Create a run in its initial state, without launching it. A caller may have several runs at the same time."""
        run = Run(self._find(program, graph), program, graph, fields, self._way, schedule, out)
        run.activate(frontier, delta)
        return run

    def _find(self, program: VertexProgram, graph: Graph) -> Cached:
        return _find_cached(program, graph, self._deterministic, self._scheduled, self._way)


class Run(Binding):
    """One run of a program on the GPU, and the arrays that its kernel reads and writes."""

    log_rows = 1024
    asks = False  # whether a wait for the kernel's end also asks the CUDA driver, from the first poll on
    iteration, edges, ended, stopped = 0, 0, False, False
    # aggregates in device memory, if the caller does not wait for the run, and else None
    _shown: Mapping[str, Any] | None = None

    def __init__(
        self,
        cached: Cached,
        program: VertexProgram,
        graph: Graph,
        fields: Mapping[str, Any],
        way: int,
        schedule: Schedule | None,
        out: Mapping[str, Any] | None,
    ) -> None:
        self._cached, self.plan, self._way = cached, cached.plan, way
        super().__init__(program, graph)
        self.numbering = relabel.numbering(graph, program.direction) if self.plan.relabelled else None
        fields = self.by_inner_name(fields)
        self.check(fields)
        self._caller_arrays = self.check_out(out, fields) if out else {}
        self._take_memory(fields, schedule)

    def _take_memory(self, fields: Mapping[str, Any], schedule: Schedule | None) -> None:
        """Allocate all arrays of the run, in which `fields` are the initial values of fields by name.

        If memory is short, free what earlier runs have cached, and try once more.
        """
        self._fresh = True
        if not self._fits(fields, schedule):
            finish("gpu")  # wait for runs whose kernels are active
            free_workspaces()  # workspaces that are cached for other programs
            free_blocks([current_device()])  # the limit of CuPy's memory pool also counts blocks that no array uses
            if not self._fits(fields, schedule):
                raise MemoryError(self._too_little_memory())

    def close(self) -> None:
        """Return the run's workspace (its kernel with arguments and buffers) to the cache, for a later run.

        The kernel may still be running then (`Cached.take_workspace` says when the next run may take the workspace).
        """
        workspace = self.__dict__.pop("_workspace", None)
        if workspace is not None:
            self._cached.workspaces.append(workspace)

    __del__ = close  # closes a run whose results nobody has read

    # The following methods allocate and fill the arrays of a run.

    def _fits(self, fields: Mapping[str, Any], schedule: Schedule | None) -> bool:
        """Allocate all arrays of the run. Return True, or False if the GPU's memory runs out.

        CuPy's MemoryError is not passed on, because it refers to the arrays and would keep them from being freed.
        """
        # arrays that the kernel reads and writes, by the name of the kernel's argument
        self._arrays: dict[str, Any] = {}
        self._raw_memory: dict[str, Any] = {}
        try:
            self._workspace = self._cached.take_workspace(self, self.numbering)
            self._arguments = self._workspace.arguments
            if self._workspace.program is not self.program:
                for name, argument, value_type in self.plan.parameters:
                    setattr(self._arguments, argument, self._number(name, value_type))
                self._workspace.keep_parameters(self.program)
            self._set_fields(fields)
            self._levels = 0 if schedule is None else self._set_schedule(schedule)
        except MemoryError:
            self._arrays.clear()
            self._raw_memory.clear()
            self.__dict__.pop("_workspace", None)
            return False
        return True

    def _too_little_memory(self) -> str:
        needed_bytes = _workspace_size(self.plan, self.graph) + field_bytes(self.plan, self.graph)
        streaming_advice = "gasla.Graph(graph, device='gpu', stream=True), whose neighbor lists stay in host memory"
        return (
            f"a run of {type(self.program).__name__} needs {needed_bytes:,} bytes of GPU memory besides the graph, and "
            f"{free_bytes():,} are free; free some arrays, or take "
            f"{'a smaller graph' if self.graph.is_streamed else streaming_advice}"
        )

    def _set(self, name: str, array: Any) -> None:
        self._arrays[name] = array
        setattr(self._arguments, name, array.data.ptr)

    def _set_fields(self, fields: Mapping[str, Any]) -> None:
        arguments, cached, allocate, array_type = self._arguments, self._cached, self.xp.cuda.alloc, self.xp.ndarray
        for name, start in self.plan.starts.items():
            initial = fields.get(name)
            if name in self._caller_arrays and self.numbering is None:
                self._set_caller_array(name, start, initial)
                continue
            initial = self._caller_arrays.get(name) if initial is None else initial
            if is_ready := isinstance(initial, array_type) and self._is_ready(initial, cached.layouts[name]):
                self._set(start.source, initial)
            if is_ready or self._fill_uniformly(name, start, initial):
                memory = self._raw_memory[name] = allocate(cached.sizes[name])
                setattr(arguments, start.field, memory.ptr)
            else:
                self._set(start.field, self._vertex_array(name, initial))
                setattr(arguments, start.fills, False)
                if name in self.plan.read_by_level:
                    self._set(start.source, self._arrays[start.field].copy())
        for name in self.plan.edge_states:
            self._set(f"e_{name}", self._edge_array(name, fields))
        for name in self.plan.edges_behind:
            self._set(f"was_{name}", self._arrays[f"e_{name}"].copy())

    def _set_caller_array(self, name: str, start: Start, initial_values: Any) -> None:
        """Let the run write the field `name` to the array that its caller has passed for this field's results.

        `start` has the names of the kernel's arguments for the field. The initial values, unless they are None, are
        copied into the array.
        """
        array = self._caller_arrays[name]
        if initial_values is not None and initial_values is not array:
            as_bits(array)[...] = as_bits(self._start_array(name, initial_values))
        self._set(start.field, array)
        setattr(self._arguments, start.fills, False)
        if name in self.plan.read_by_level:
            self._set(start.source, array.copy())

    def _fill_uniformly(self, name: str, start: Start, initial_values: Any) -> bool:
        """Set the kernel's arguments so that the kernel itself fills a field with its initial values.

        The kernel can do this if the initial value is the same number for all vertices, or for all but one. Otherwise
        return False, and the caller makes an array of the initial values.
        """
        if initial_values is not None and type(initial_values) is not dict:
            value = start.number_of(initial_values)
            if value is not None:
                setattr(self._arguments, start.value, value)
            return value is not None
        if start.number is None or (initial_values and len(initial_values) > (self.numbering is None)):
            return False
        for v, x in (initial_values or {}).items():
            start_number = start.number_of(x)
            if start_number is None and start.is_wide:
                return False
            setattr(self._arguments, start.at, self._vertex(name, v))
            setattr(
                self._arguments, start.seed, as_ctypes_value(x, start.kind) if start_number is None else start_number
            )
        return True

    def _wrap_memory(self) -> None:
        """Make CuPy arrays of the memory of the fields, and record which arrays have the current values of the fields.

        If a field has two copies, the current one depends on whether the number of iterations so far is even or odd.
        """
        for name, memory in self._raw_memory.items():
            self._arrays[f"v_{name}"] = self.xp.ndarray(*self._cached.field_layouts[name], memory)
        self._raw_memory.clear()
        fields = {name: self._arrays[start.field] for name, start in self.plan.starts.items()}
        fields |= {name: self._arrays[f"e_{name}"] for name in self.plan.edge_states}
        self._fields = fields, fields
        if self.plan.doubled:
            even, odd = ({name: fields[name][buffer_side] for name in self.plan.doubled} for buffer_side in range(2))
            self._fields = fields | even, fields | odd

    def _set_schedule(self, schedule: Schedule) -> int:
        """Pass the vertices to the kernel, sorted by the iteration in which a schedule lets them receive.

        Return the schedule's number of iterations.
        """
        # Kernels on another stream may still be filling the arrays, so each stream has arrays of its own in the cache.
        stream = self.xp.cuda.get_current_stream()
        key = "gpu", current_device(), self.ids, stream.ptr
        if key not in schedule.made:
            schedule.made[key] = levels.by_level(schedule, self.ids)
        sorted_schedule = schedule.made[key]
        for name, array in (
            ("levels", sorted_schedule.levels),
            ("aside", sorted_schedule.order),
            ("starts", sorted_schedule.starts),
        ):
            self._set(name, array)
        self._arguments.first_level, self._arguments.backward = sorted_schedule.first, schedule.is_reversed
        return schedule.depth

    def _start_array(self, name: str, start_value: Any) -> Any:
        array = super()._start_array(name, start_value)
        return array if self.numbering is None else self.numbering.renumber(array)

    def _sides(self) -> tuple[NeighborLists, NeighborLists]:
        gather, send = super()._sides()
        if self.numbering is not None:
            gather = relabel.RenumberedLists(self.graph, gather.side, self.numbering)
        return gather, send

    # The following methods launch the kernel, and read what it has computed.

    def activate(self, frontier: Frontier | None, delta: float | None) -> None:
        """Set the vertices that are active in the first iteration.

        If `frontier` is None, the run has a schedule, which gives the vertices that receive in each iteration. `delta`
        is the width of a bucket (a range of priorities that are processed together), or None for the default.
        """
        arguments, xp = self._arguments, self.xp
        if not self.plan.only_pulls:
            arguments.way = self._way
        if frontier is None:
            arguments.active_count = self._levels
        elif (frontier := self.plan.first_active(frontier)).is_all:
            arguments.active_count = frontier.n
        elif frontier.only is not None:
            arguments.active_count, arguments.first_active = 1, frontier.only
        elif count := len(frontier.ids):
            arguments.active_count = count
            self._set("active_ids", xp.ascontiguousarray(xp.asarray(frontier.ids), dtype=self.ids))
        if self.plan.prioritised:
            if delta is None and self._cached.delta is None:
                self._cached.delta = default_delta(self)
            arguments.delta = self._cached.delta if delta is None else delta

    def advance(self, until: int, progress: Callable[[int], Any] | None = None, trace: bool = False) -> None:
        """Run the program until the iteration with the number `until`, or to its end if that comes first, and wait for
        the end.
        """
        self.launch(until, trace)
        self.finish(progress)

    def leave(self, until: int) -> bool:
        """Launch the run without waiting for its end. Return False, without a launch, if the host has to wait.

        The host need not wait if no progress bar watches the run, and if it is known in advance which copy of each
        field will hold the results: because fields have a single copy and iterations are likely to be few, or because
        the number of iterations is fixed.
        """
        if is_watched():
            return False
        n, is_over = self.graph.n, self.plan.is_over(self._arguments.active_count, self.graph.n)
        has_fixed_iterations = self.plan.never_ends and not is_over and until * (n + self.graph.m) <= LONG
        if not has_fixed_iterations and (self.plan.doubled or self.plan.variant.local or self.plan.never_ends):
            return False
        if has_fixed_iterations:
            self._shown = self._workspace.show_on_device()
        self.launch(until)
        if has_fixed_iterations:
            self.iteration = until
        return True

    def known(self) -> dict[str, Any]:
        """Return the results that are known before the kernel has ended, by name, if the number of iterations is fixed.

        Aggregates are 0-d arrays on the GPU, which have their values once the kernel has ended.
        """
        if self._shown is None:
            return {}
        return {"iterations": self.iteration, "converged": False, "aggregates": self.aggregates()}

    def _stop(self) -> None:
        """Stop the kernel after its current iteration, and wait for its end. This follows an error or Ctrl-C."""
        self._workspace.stop()
        self.xp.cuda.get_current_stream().synchronize()

    def launch(self, until: int, trace: bool = False) -> None:
        """Launch the kernel without waiting for its end. The kernel runs up to the iteration with the number `until`.

        The caller must call `finish` before it reads `iteration` or other results of the run.
        """
        self._launch(until, trace)
        if self._fresh:
            self._wrap_memory()  # the host does this while the kernel runs

    def _launch(self, iteration_limit: int, trace: bool = False) -> None:
        """Launch the kernel up to iteration `iteration_limit`. With `trace`, it also logs each iteration."""
        arguments, page = self._arguments, self._workspace.page
        arguments.limit, arguments.fresh = iteration_limit, self._fresh
        if trace:
            if "log" not in self._arrays:
                self._set("log", self.xp.empty((self.log_rows, 4), np.int64))
            arguments.log_from, arguments.log_rows = self.iteration, self.log_rows
        page.progress = self.iteration
        try:
            self._workspace.launch()
        except BaseException:
            self._stop()
            raise

    def finish(self, progress: Callable[[int], Any] | None = None) -> None:
        """Wait for the kernel to end, and read how far the run has come."""
        self._wait(progress)
        self._read_control()

    def _wait(self, progress: Callable[[int], Any] | None) -> None:
        """Wait for the kernel to end, and call `progress` with the number of iterations meanwhile.

        An exception, such as Ctrl-C, stops the kernel before it is passed on.
        """
        page = self._workspace.page
        follow(lambda: (int(page.progress), 0), "iterations")
        try:
            show = None if progress is None else lambda: progress(int(page.progress))
            wait(page, self._workspace.launched, show, self.asks)
        except BaseException:
            self._stop()
            raise

    def _read_control(self) -> None:
        """Read how many iterations the run has done, and whether it has ended, from the memory that the kernel writes
        to.
        """
        self._fresh, control = False, self._workspace.control
        self.iteration, self.edges, self.stopped = control.iteration, control.total, bool(control.done)
        self.ended = self.stopped or self.plan.is_over(control.size + control.far, self.graph.n)

    def log(self, rows: int) -> np.ndarray:
        return np.asarray(self._arrays["log"][:rows].get())

    def reasons(self) -> Mapping[int, str]:
        """Return the reasons why iterations push and why they pull, by the number that the run's log has for each
        reason.
        """
        return reasons.ways(self.plan, self._way)

    def outcome(self) -> Outcome:
        """Return everything that the run has computed so far: fields, counts, active vertices and aggregates."""
        return self.state(), self.iteration, self.ended, self.edges, self.frontier(), self.aggregates()

    def state(self) -> Mapping[str, Any]:
        """Return the run's current fields, by their names in the program."""
        current_fields = self._fields[self.iteration & 1]
        return self.by_given_name(
            current_fields
            if self.numbering is None
            else Fields(current_fields, self.numbering, self.plan.edge_states, self._caller_arrays)
        )

    def aggregates(self) -> Mapping[str, Any]:
        """Return the aggregates (reductions over all vertices) of the last iteration, by their names in the program."""
        return self.by_given_name(self._workspace.aggregates(self._shown, self.iteration))

    def changed(self) -> Mapping[str, Any]:
        """Return the current values, by name, of those parameters that the program's hook `idle` may change during a
        run.
        """
        if not self.plan.changes:
            return {}
        new_parameters = self._workspace.arrays["changed"].get().view(self.plan.changed)[0]
        return self.by_given_name({name: new_parameters[name].item() for name in self.plan.changes})

    def frontier(self) -> Frontier:
        """Return the vertices that are active now, after the last launch."""
        return frontier_of(self.plan, self._workspace, self._workspace.control, self.graph.n)


class Fields(Mapping[str, Any]):
    """The fields of a finished run whose kernel works on renumbered vertices: a mapping from names to arrays.

    An array is converted to the user's numbering when it is first read.
    """

    def __init__(
        self,
        fields: Mapping[str, Any],
        numbering: relabel.Numbering,
        edge_states: list[str],
        caller_arrays: Mapping[str, Any],
    ) -> None:
        self._arrays, self._numbering = fields, numbering
        self._known = {name: fields[name] for name in edge_states} | dict(caller_arrays)
        # The caller's own arrays must have the results at once, because the caller may not read them through this
        # mapping.
        for name, array in caller_arrays.items():
            as_bits(array)[...] = as_bits(numbering.restore(fields[name]))

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            self._known[name] = self._numbering.restore(self._arrays[name])
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


def workspace_bytes(program: VertexProgram, graph: Graph, deterministic: bool) -> int:
    """Return an upper bound of the bytes that a run needs besides the graph and its fields."""
    return _workspace_size(_find_cached(program, graph, deterministic, False, AUTO).plan, graph)


def _workspace_size(plan: generate.Module, graph: Graph) -> int:
    array_sizes = workspace_sizes(plan, graph, compile.multiprocessors())
    return sum(array_sizes.values()) + relabel.lists_bytes(plan, graph)


def _find_cached(program: VertexProgram, graph: Graph, deterministic: bool, scheduled: bool, way: int) -> Cached:
    """Return the kernel and the memory that all runs of a program on a graph with equal options share.

    They are made at the first call, and cached with the graph.
    """
    program_class: Any = type(program)
    must_push = way == PUSH and not (deterministic or scheduled or program.everyone)
    uses_one_block = is_small(graph) and not must_push  # a single block can't push
    # The key has the program's class, which determines the kernel, not the program itself. Programs with the parameters
    # 1 and True would be equal keys, but may need different kernels.
    key = "gpu", program_class, deterministic, scheduled, uses_one_block, current_device()
    cached: Cached | None = graph.known(key)
    return cached or _make_cached(key, program, graph)


def _make_cached(key: tuple[Any, ...], program: VertexProgram, graph: Graph) -> Cached:
    """Make the kernel and the memory that all runs of a program on a graph share, and cache them under `key`.

    The kernel's variant is chosen by the graph's degrees. If there is too little memory to inspect the degrees, the
    basic variant is used, and the result is not cached.
    """
    _, program_class, *variant_options, _ = key
    try:
        return graph.kept(
            key, lambda graph: Cached(program_class, graph, variant_for(program, graph, *variant_options))
        )
    # Choosing a variant of the kernel by the graph's degrees has taken too much memory. The basic variant needs no look
    # at the degrees. If its run lacks memory, too, the run's error says how much.
    except MemoryError:
        basic_variant = Variant(offset_type(program, graph), *variant_options[:2])
        return Cached(program_class, graph, for_lists_of(graph, basic_variant))
