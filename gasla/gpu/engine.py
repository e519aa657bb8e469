"""Binds a program to a graph on the GPU: makes the arrays that its kernel works on, launches it, and waits."""

import ctypes
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gasla.arrays import require_gpu
from gasla.binding import Binding, Lists
from gasla.frontier import Frontier
from gasla.gpu import compile, generate, relabel
from gasla.gpu.inputs import graph_arrays, offset_type
from gasla.gpu.plan import Shape
from gasla.gpu.rows import PACKED
from gasla.gpu.rows import plan as row_plan
from gasla.graph import Graph
from gasla.program import VertexProgram
from gasla.progress import follow
from gasla.schedule import Schedule
from semirings import TupleType, VectorType

SEGMENT = 2048  # as in kernels/thin.cuh
SMALL = 2048  # vertices and edges for a block
PATIENCE = 2e-3  # seconds of waiting by asking again and again, before sleeping in between


class Control(ctypes.Structure):
    """Where a run stands between launches: `gasla::Control`."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("iteration", "total", "size", "edges", "remaining", "far")),
        *((name, ctypes.c_double) for name in ("threshold", "last_threshold")),
        *((name, ctypes.c_uint32) for name in ("form", "done", "splits", "slot")),
    ]


class Page(ctypes.Structure):
    """What host and device share while a kernel runs, in the host's memory: `gasla::Page`."""

    _fields_ = [("control", Control), ("progress", ctypes.c_int64), ("stop", ctypes.c_uint32)]


SHOWN = 256  # where the page holds what the aggregates came to
BARRIER, COUNTERS, STATE, FAR, ZEROED = 0, 16, 256, 512, 1024  # places in the small buffer that starts as zeros

_spaces: "weakref.WeakKeyDictionary[Graph, dict[Any, list[Space]]]" = weakref.WeakKeyDictionary()
_shapes: "weakref.WeakKeyDictionary[Graph, dict[Any, Shape]]" = weakref.WeakKeyDictionary()
_lock = threading.Lock()


class Bound(Binding):
    """A program, a graph, and the arrays of a run."""

    log_rows = 1024

    def __init__(
        self,
        program: VertexProgram,
        graph: Graph,
        fields: Mapping[str, Any],
        deterministic: bool = False,
        schedule: Schedule | None = None,
    ) -> None:
        kind: Any = type(program)
        self.plan = generate.module(kind, graph.id_dtype, _shape(program, graph, deterministic, schedule is not None))
        super().__init__(program, graph)
        self.numbering = relabel.numbering(graph, program.direction) if self.plan.relabelled else None
        self.check(fields)
        self._now = Control()
        self._fresh = True
        self._log: Any = None
        if not self._fits(fields, schedule):
            with _lock:
                _spaces.clear()  # what is kept for the next run of other programs
            if not self._fits(fields, schedule):
                raise MemoryError(self._too_little_memory())

    def close(self) -> None:
        """Let the next run have the workspace."""
        with _lock:
            _spaces.setdefault(self.graph, {}).setdefault(self._space.key, []).append(self._space)

    def _take_space(self) -> "Space":
        key = self.plan, self.xp.cuda.runtime.getDevice()
        with _lock:
            spare = _spaces.get(self.graph, {}).get(key)
            if spare:
                return spare.pop()
        return Space(self, key)

    # --- arrays ---------------------------------------------------------------------------------------------------

    def _make_arrays(self, fields: Mapping[str, Any], schedule: Schedule | None) -> None:
        self._arrays: dict[str, Any] = {}
        self._space = self._take_space()
        self._arguments = self._space.arguments
        for name, value in self.parameters().items():
            setattr(self._arguments, f"self_{name}", value.item())
        self._set_fields(fields)
        self._levels = 0 if schedule is None else self._set_schedule(schedule)

    def _fits(self, fields: Mapping[str, Any], schedule: Schedule | None) -> bool:
        """Make the arrays; whether there was memory enough. CuPy's error is dropped, with the arrays that it holds."""
        try:
            self._make_arrays(fields, schedule)
        except MemoryError:
            self._arrays.clear()
            self.__dict__.pop("_space", None)
            return False
        return True

    def _too_little_memory(self) -> str:
        sizes = workspace_sizes(self.plan, self.graph, compile.multiprocessors())
        need = sum(sizes.values()) + field_bytes(self.plan, self.graph)
        return (
            f"a run of {type(self.program).__name__} needs {need:,} bytes of GPU memory beside the graph, and "
            f"{_free(self.xp):,} are free; free some arrays, or take a smaller graph"
        )

    def _set(self, name: str, array: Any) -> None:
        self._arrays[name] = array
        setattr(self._arguments, name, array.data.ptr)

    def _set_fields(self, fields: Mapping[str, Any]) -> None:
        for name in self.traced.vertex_types:
            start = self._start(name, fields.get(name)) if name in self.plan.filled else None
            if start is None:
                self._set(f"v_{name}", self._vertex_array(name, fields))
            else:
                shape = (2, self.graph.n) if name in self.plan.doubled else (self.graph.n,)
                self._set(f"v_{name}", self.xp.empty(shape, self.traced.vertex_types[name]))
                for part, value in zip(("start", "at", "seed"), start, strict=True):
                    setattr(self._arguments, f"{part}_{name}", value)
            if name in self.plan.filled:
                setattr(self._arguments, f"fills_{name}", start is not None)
        for name in self.plan.edge_states:
            self._set(f"e_{name}", self._edge_array(name, fields))

    def _start(self, name: str, given: Any) -> tuple[Any, int, Any] | None:
        """A field that starts alike everywhere but for one vertex, as (value, that vertex or -1, its value)."""
        kind, where = self.traced.vertex_types[name], f"{type(self.program).__name__}.{name}"
        value = self.program.vertex_fields[name].init if given is None or isinstance(given, Mapping) else given
        seeds = given if isinstance(given, Mapping) else {}
        if callable(value) or not isinstance(value, int | float | np.number | np.bool_):
            return None
        if len(seeds) > (1 if self.numbering is None else 0):
            return None
        start = np.asarray(value).astype(kind).item()
        for v, x in seeds.items():
            return start, self._vertex(where, v), np.asarray(x).astype(kind).item()
        return start, -1, start

    def _set_schedule(self, schedule: Schedule) -> int:
        """The vertices by level, and where each level starts among them; returns how many levels there are."""
        order, starts = schedule.sorted(("gpu", self.xp.cuda.runtime.getDevice(), self._ids), self._by_level)
        self._set("aside", order)
        self._set("starts", starts)
        return len(starts) - 1

    def _by_level(self, levels: Any) -> tuple[Any, Any]:
        xp = self.xp
        levels = xp.asarray(levels)
        depth = int(levels.max()) + 1 if levels.size else 0
        keys = (xp.maximum(levels, -1) + 1).astype(np.min_scalar_type(depth + 1))
        order = xp.argsort(keys)  # a stable radix sort, the faster the shorter the keys
        starts = xp.searchsorted(keys[order], xp.arange(1, depth + 2, dtype=keys.dtype))
        return order.astype(self._ids), starts

    def _start_array(self, name: str, fields: Mapping[str, Any]) -> Any:
        array = super()._start_array(name, fields)
        return array if self.numbering is None else self.numbering.there(array)

    def _sides(self) -> tuple[Lists, Lists]:
        gather, send = super()._sides()
        if self.numbering is not None:
            gather = relabel.RenumberedLists(self.graph, gather.side, self.numbering)
        return gather, send

    # --- running --------------------------------------------------------------------------------------------------

    def begin(self, frontier: Frontier, way: int, delta: float | None) -> None:
        """Set the loop at its start."""
        arguments, xp = self._arguments, self.xp
        arguments.way = 2 if self.plan.shape.deterministic else way
        arguments.active_count = self._levels if self.plan.scheduled else len(frontier)
        arguments.active_ids = arguments.first_active = 0
        if not frontier.is_all:
            if len(frontier) == 1:
                arguments.first_active = int(frontier.ids[0])
            elif len(frontier):
                self._set("active_ids", xp.ascontiguousarray(xp.asarray(frontier.ids), dtype=self._ids))
        if self.plan.prioritised:
            arguments.delta = self._default_delta() if delta is None else delta

    def _default_delta(self) -> float:
        """The mean edge value times a few over the mean degree; many times that where few edges meet.

        There iterations are thin, and fewer of them are worth some edges looked at twice.
        """
        if "delta" not in self._space.known:
            values, degree = self.graph.values, max(self.graph.m, 1) / max(self.graph.n, 1)
            sample = None if values is None or self.graph.m == 0 else values[:: max(1, self.graph.m // 65536)]
            mean = 1.0 if sample is None else float(self.xp.abs(sample).mean(dtype=np.float64))
            delta = (512 / degree if self._is_local() else 4) * mean / degree
            self._space.known["delta"] = delta if np.isfinite(delta) and delta > 0 else 1.0
        return float(self._space.known["delta"])

    def _is_local(self) -> bool:
        """Whether neighbours are near each other, as in a road network: frontiers will be thin and iterations many."""
        lists = self.graph.out
        return self.plan.thin and bool(row_plan(lists.indptr, lists.indices).facts.near >= 0.5)

    def advance(self, until: int, progress: Callable[[int], Any] | None = None, trace: bool = False) -> None:
        """Run iterations until the one numbered `until`, or the program's end."""
        arguments, page = self._arguments, self._space.page
        arguments.limit, arguments.fresh, arguments.log_from = until, self._fresh, self.iteration
        if trace and self._log is None:
            self._log = self.xp.empty((self.log_rows, 4), np.int64)
            self._set("log", self._log)
        arguments.log_rows = self.log_rows if trace else 0
        page.stop, page.progress = 0, self.iteration
        follow(lambda: (int(page.progress), 0), "iterations")
        try:
            self._space.kernel.cooperative(arguments, blocks=self._space.blocks)
            self._wait(progress)
        except BaseException:  # such as Ctrl-C: the kernel ends after the iteration at hand
            page.stop = 1
            self.xp.cuda.get_current_stream().synchronize()
            raise
        self._fresh = False
        self._now = Control.from_buffer_copy(page.control)

    def _wait(self, progress: Callable[[int], Any] | None) -> None:
        """Until the kernel has ended."""
        stream, page = self.xp.cuda.get_current_stream(), self._space.page
        began = told = time.perf_counter()
        while not stream.done:
            now = time.perf_counter()
            if progress is not None and now - told > 0.1:
                told = now
                progress(int(page.progress))
            if now - began > PATIENCE:
                time.sleep(5e-5)

    @property
    def iteration(self) -> int:
        return self._now.iteration

    @property
    def ended(self) -> bool:
        now = self._now
        return not self._fresh and bool(now.done or now.size + now.far == 0)

    @property
    def edges(self) -> int:
        return self._now.total

    def log(self, rows: int) -> np.ndarray:
        assert self._log is not None
        return np.asarray(self._log[:rows].get())

    def state(self) -> Mapping[str, Any]:
        """The fields as they are now."""
        now = {n: self._arrays[f"v_{n}"] for n in self.traced.vertex_types}
        for name in self.plan.doubled:
            now[name] = now[name][self.iteration & 1]
        edges = {n: self._arrays[f"e_{n}"] for n in self.plan.edge_states}
        return {**now, **edges} if self.numbering is None else relabel.InOwnOrder(self.numbering, now, edges)

    def aggregates(self) -> dict[str, Any]:
        """What the aggregates came to in the last iteration."""
        return {n: self._space.shown[f"sum_{n}"].copy()[()] for n in self.traced.aggregates}

    def frontier(self) -> Frontier:
        """The active vertices as they are now."""
        n, count = self.graph.n, self._now.size
        if count == 0:
            return Frontier(n, [])
        if not self.plan.keeps_active:
            return Frontier.all(n)
        side = self.iteration & 1
        if self._now.form == 0:
            return Frontier(n, self._space.queued(side)[:count].copy())
        bits = self._space.arrays["bits"].reshape(2, -1)[side]
        return Frontier(n, mask=self.xp.unpackbits(bits.view(np.uint8), bitorder="little")[:n].astype(bool))


class Space:
    """What a run needs beside its fields: kernel, arguments, workspace. Kept with the graph between runs."""

    def __init__(self, bound: Bound, key: Any) -> None:
        self.key, self.known = key, {}  # type: ignore[var-annotated]
        plan, graph, cupy = bound.plan, bound.graph, require_gpu()
        self.kernel = compile.Kernel(plan.source, "run_loop", generate.THREADS, 1, relabel.hub_room(plan))
        self.blocks = max(1, min(self.kernel.blocks, (graph.n + graph.m) // SMALL + 1))
        self.arguments: Any = plan.struct()
        sizes = workspace_sizes(plan, graph, self.blocks)
        self.arrays = {name: cupy.empty(size, np.uint8) for name, size in sizes.items()}
        self._entry = entry_type(plan)
        self.arguments.hubs = relabel.hubs(plan, graph.n)
        if plan.thin or plan.flat:
            if graph.m <= 5 * graph.n:  # little to do between barriers, which are shorter the fewer wait
                self.blocks = max(1, self.blocks // 2)
            self.arguments.lanes = _lanes(graph.m / graph.n)
        zeroed = cupy.zeros(ZEROED, np.uint8)
        self.arrays["zeroed"] = zeroed
        for name, place in (("barrier", BARRIER), ("counters", COUNTERS), ("control", STATE), ("far", FAR)):
            setattr(self.arguments, name, zeroed.data.ptr + place)
        self._pinned = cupy.cuda.alloc_pinned_memory(4096)
        self.page = Page.from_address(self._pinned.ptr)
        sums = np.dtype([(f"sum_{n}", k) for n, k in plan.traced.aggregate_types.items()], align=True)
        if sums.itemsize:
            self.shown = np.frombuffer(self._pinned, sums, 1, SHOWN).reshape(())
        self.arguments.page, self.arguments.shown = self._pinned.ptr, self._pinned.ptr + SHOWN
        for name in sizes:
            setattr(self.arguments, name, self.arrays[name].data.ptr)
        for name, array in graph_arrays(bound).items():
            self._hold(name, array)
        if bound.numbering is not None:
            self._hold("originals", bound.numbering.originals)
        if plan.rows:
            self._share_rows(bound)
        self.arguments.self_n, self.arguments.m = graph.n, len(self.arrays["gi"])
        self.arguments.words = (graph.n + 31) // 32
        wide = plan.offset_type.itemsize == 8
        self.arguments.shift = max(1, graph.n.bit_length()) if wide else 32

    def _hold(self, name: str, array: Any) -> None:
        self.arrays[name] = array
        setattr(self.arguments, name, array.data.ptr)

    def _share_rows(self, bound: Bound) -> None:
        """How all rows are shared out among threads."""
        lists = self.arrays["gp"], self.arrays["gi"]
        self._rows = row_plan(*lists) if bound.numbering is None else relabel.row_plan(*lists)
        self.arrays["partials"] = self._rows.partials(_gathered_bytes(bound.plan))
        rows = self._rows.argument(self.arrays["partials"])
        self.arguments.rows[:] = rows.reshape(1).view(np.uint64).tolist()

    def queued(self, side: int) -> Any:
        """The vertices of one of the two queues."""
        prefix, whole = self._entry
        width = self._vertex_bytes
        words = self.arrays["queue"].view(f"i{width}").reshape(2, -1, whole // width)
        return words[side, :, prefix // width]

    @property
    def _vertex_bytes(self) -> int:
        return int(self.arrays["gi"].dtype.itemsize)


def entry_type(plan: Any) -> tuple[int, int]:
    """Bytes before the vertex in an entry of a queue, and of the whole entry."""
    prefix, vertex = plan.offset_type.itemsize, plan.traced.id_type.itemsize
    widest = max(prefix, vertex)
    return max(prefix, vertex), 2 * widest


def workspace_sizes(plan: Any, graph: Graph, blocks: int) -> dict[str, int]:
    """Bytes of every array that a run needs beside the graph and its fields."""
    n, words = graph.n, 4 * ((graph.n + 31) // 32)
    ids = graph.id_dtype.itemsize
    by_turns = bool(plan.absorbs) or (plan.push_at_once and not plan.closes)
    sizes: dict[str, int] = {}
    if plan.keeps_active:
        sizes |= {"queue": 2 * n * entry_type(plan)[1], "bits": 2 * words}
    if plan.claims:
        sizes["claimed"] = (2 if by_turns else 1) * words
    if plan.closes:
        sizes["closed"] = words
    if not plan.scheduled and (not plan.everyone or plan.keeps_receivers):
        sizes["aside"] = n * ids
    if plan.prioritised:
        sizes |= {"far_bits": words, "far_lists": 2 * n * ids}
    if plan.keeps:
        sizes |= {name: n * _bytes(kind) for name, kind in plan.components}
    if plan.thin:
        widest = max(plan.offset_type.itemsize, ids)
        sizes |= {"segments": 2 * blocks * SEGMENT * (16 if widest == 4 else 24), "segment_counts": 2 * blocks * 8}
    if plan.traced.aggregates:
        sums = np.dtype([(n, k) for n, k in plan.traced.aggregate_types.items()], align=True)
        sizes["parts"] = 2 * blocks * sums.itemsize
    return sizes


def _bytes(kind: Any) -> int:
    if isinstance(kind, VectorType):
        return int(kind.length * kind.scalar.itemsize)
    assert not isinstance(kind, TupleType)
    return int(kind.itemsize)


def field_bytes(plan: Any, graph: Graph) -> int:
    """Bytes of the fields of a program that are its own."""
    vertices = sum(_bytes(kind) * (2 if n in plan.doubled else 1) for n, kind in plan.traced.vertex_types.items())
    return graph.n * vertices + graph.m * sum(_bytes(plan.traced.edge_types[n]) for n in plan.edge_states)


def _free(cupy: Any) -> int:
    """Bytes that CuPy's pool could still give out."""
    pool = cupy.get_default_memory_pool()
    free = int(cupy.cuda.runtime.memGetInfo()[0] + pool.free_bytes())
    return min(free, pool.get_limit() - pool.used_bytes()) if pool.get_limit() else free


def _shape(program: VertexProgram, graph: Graph, deterministic: bool, scheduled: bool) -> Shape:
    """What the kernel is made for, from the graph."""
    known = _shapes.setdefault(graph, {})
    key = type(program), deterministic, scheduled
    if key not in known:
        lanes, relabelled = 0, False
        if program.everyone and not scheduled:
            rows = _row_plan(program, graph)
            lanes, commutes = rows.lanes, program.reduce is None or program.reduce.commutative
            relabelled = lanes == PACKED and commutes and relabel.pays(graph, program.direction, rows.facts)
        degrees = graph.in_degrees if scheduled and program.direction != "out" else graph.out_degrees
        thin = not program.everyone and _is_flat(graph, degrees)
        offsets = offset_type(program, graph)
        known[key] = Shape(offsets, deterministic, scheduled, thin, lanes, relabelled=relabelled)
    return known[key]


def _is_flat(graph: Graph, degrees: Any) -> bool:
    """Whether no vertex has very many edges, so that a few lanes a vertex are balanced enough."""
    if graph.n == 0:
        return False
    return int(degrees.max()) <= 64 + 4 * graph.m // graph.n


def _lanes(degree: float) -> int:
    """Threads that share a vertex of a thin frontier."""
    return 4 if degree <= 5 else 8 if degree <= 10 else 16 if degree <= 24 else 32


def _row_plan(program: VertexProgram, graph: Graph) -> Any:
    lists = Lists(graph, program.direction, ordered=False)
    return row_plan(lists.indptr(), lists.indices())


def _gathered_bytes(plan: Any) -> int:
    kind = plan.traced.gathered_type
    if isinstance(kind, TupleType):
        return int(np.dtype([(f"f{i}", _plain(k)) for i, k in enumerate(kind.items)], align=True).itemsize)
    return _bytes(kind)


def _plain(kind: Any) -> Any:
    return (kind.scalar, (kind.length,)) if isinstance(kind, VectorType) else kind
