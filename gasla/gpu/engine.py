"""Binds a program to a graph on the GPU: makes the arrays that its kernel works on, launches it, and waits."""

import threading
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gasla.arrays import require_gpu
from gasla.binding import Binding
from gasla.frontier import Frontier
from gasla.gpu import compile, generate
from gasla.gpu.inputs import graph_arrays, offset_type
from gasla.gpu.plan import Shape
from gasla.gpu.rows import plan as row_plan
from gasla.graph import Graph
from gasla.program import VertexProgram
from gasla.progress import follow
from semirings import TupleType, VectorType

SEGMENT = 2048  # as in kernels/thin.cuh
SMALL = 2048  # vertices and edges for a block
PATIENCE = 2e-3  # seconds of waiting by asking again and again, before sleeping in between

CONTROL = np.dtype(
    [
        *((name, np.int64) for name in ("iteration", "total", "size", "edges", "remaining", "far")),
        ("threshold", np.float64),
        ("last_threshold", np.float64),
        *((name, np.uint32) for name in ("form", "done", "splits", "slot")),
    ]
)
PAGE = np.dtype([("control", CONTROL), ("progress", np.int64), ("stop", np.uint32), ("pad", np.uint32)])
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
        schedule: Any = None,
    ) -> None:
        kind: Any = type(program)
        self.plan = generate.module(kind, graph.id_dtype, _shape(program, graph, deterministic, schedule is not None))
        super().__init__(program, graph)
        self.check(fields)
        self._space = self._take_space()
        self._arguments = self._space.arguments
        self._now: Any = np.zeros((), CONTROL)
        self._fresh = True
        self._arrays: dict[str, Any] = {}
        for name, value in self.parameters().items():
            self._arguments[f"self_{name}"] = value
        self._set_fields(fields)
        self._levels = 0 if schedule is None else self._set_schedule(schedule)
        self._log: Any = None

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

    def _set(self, name: str, array: Any) -> None:
        self._arrays[name] = array
        self._arguments[name] = array.data.ptr

    def _set_fields(self, fields: Mapping[str, Any]) -> None:
        for name in self.traced.vertex_types:
            start = self._start(name, fields.get(name)) if name in self.plan.filled else None
            if start is None:
                self._set(f"v_{name}", self._vertex_array(name, fields))
            else:
                shape = (2, self.graph.n) if name in self.plan.doubled else (self.graph.n,)
                self._set(f"v_{name}", self.xp.empty(shape, self.traced.vertex_types[name]))
                self._arguments[f"start_{name}"], self._arguments[f"at_{name}"], self._arguments[f"seed_{name}"] = start
            if name in self.plan.filled:
                self._arguments[f"fills_{name}"] = start is not None
        for name in self.plan.edge_states:
            self._set(f"e_{name}", self._edge_array(name, fields))

    def _start(self, name: str, given: Any) -> tuple[Any, int, Any] | None:
        """A field that starts alike everywhere but for one vertex, as (value, that vertex or -1, its value)."""
        kind, where = self.traced.vertex_types[name], f"{type(self.program).__name__}.{name}"
        value = self.program.vertex_fields[name].init if given is None or isinstance(given, Mapping) else given
        seeds = given if isinstance(given, Mapping) else {}
        if callable(value) or len(seeds) > 1 or not isinstance(value, int | float | np.number | np.bool_):
            return None
        start = np.asarray(value).astype(kind)
        for v, x in seeds.items():
            return start, self._vertex(where, v), np.asarray(x).astype(kind)
        return start, -1, start

    def _set_schedule(self, levels: Any) -> int:
        """The vertices by level, and where each level starts among them; returns how many levels there are."""
        xp = self.xp
        levels = xp.asarray(levels)
        depth = int(levels.max()) + 1 if levels.size else 0
        order = xp.argsort(levels)  # a stable radix sort
        counts = xp.bincount(levels + 1, minlength=depth + 1) if levels.size else xp.zeros(1, np.int64)
        starts = xp.cumsum(counts)
        self._set("aside", order.astype(self._ids))
        self._set("starts", starts)
        return depth

    # --- running --------------------------------------------------------------------------------------------------

    def begin(self, frontier: Frontier, way: int, delta: float | None) -> None:
        """Set the loop at its start."""
        arguments, xp = self._arguments, self.xp
        arguments["way"] = 2 if self.plan.shape.deterministic else way
        arguments["active_count"] = self._levels if self.plan.scheduled else len(frontier)
        arguments["active_ids"], arguments["first_active"] = 0, 0
        if not frontier.is_all:
            if len(frontier) == 1:
                arguments["first_active"] = int(frontier.ids[0])
            elif len(frontier):
                self._set("active_ids", xp.ascontiguousarray(xp.asarray(frontier.ids), dtype=self._ids))
        if self.plan.prioritised:
            arguments["delta"] = self._default_delta() if delta is None else delta

    def _default_delta(self) -> float:
        """The mean edge value times a few over the mean degree; many times that where few edges meet.

        There iterations are thin, and fewer of them are worth some edges looked at twice.
        """
        if "delta" not in self._space.known:
            values, degree = self.graph.values, max(self.graph.m, 1) / max(self.graph.n, 1)
            sample = None if values is None or self.graph.m == 0 else values[:: max(1, self.graph.m // 65536)]
            mean = 1.0 if sample is None else float(self.xp.abs(sample).mean(dtype=np.float64))
            delta = (4 if degree > 8 else 64) * mean / degree
            self._space.known["delta"] = delta if np.isfinite(delta) and delta > 0 else 1.0
        return float(self._space.known["delta"])

    def advance(self, until: int, progress: Callable[[int], Any] | None = None, trace: bool = False) -> None:
        """Run iterations until the one numbered `until`, or the program's end."""
        arguments, page = self._arguments, self._space.page
        arguments["limit"], arguments["fresh"] = until, self._fresh
        arguments["log_from"] = self.iteration
        if trace and self._log is None:
            self._log = self.xp.empty((self.log_rows, 4), np.int64)
            self._set("log", self._log)
        arguments["log_rows"] = self.log_rows if trace else 0
        page["stop"], page["progress"] = 0, self.iteration
        follow(lambda: (int(page["progress"]), 0), "iterations")
        self._space.kernel.cooperative(arguments, blocks=self._space.blocks)
        self._wait(progress)
        self._fresh = False
        self._now = page["control"].copy()

    def _wait(self, progress: Callable[[int], Any] | None) -> None:
        """Until the kernel has ended. Ctrl-C ends it after the iteration at hand."""
        stream, page = self.xp.cuda.get_current_stream(), self._space.page
        began = told = time.perf_counter()
        try:
            while not stream.done:
                now = time.perf_counter()
                if progress is not None and now - told > 0.1:
                    told = now
                    progress(int(page["progress"]))
                if now - began > PATIENCE:
                    time.sleep(5e-5)
        except BaseException:
            page["stop"] = 1
            stream.synchronize()
            raise

    @property
    def iteration(self) -> int:
        return int(self._now["iteration"])

    @property
    def ended(self) -> bool:
        now = self._now
        return not self._fresh and bool(now["done"] or now["size"] + now["far"] == 0)

    @property
    def edges(self) -> int:
        return int(self._now["total"])

    def log(self, rows: int) -> np.ndarray:
        assert self._log is not None
        return np.asarray(self._log[:rows].get())

    def state(self) -> dict[str, Any]:
        """The fields as they are now."""
        now = {n: self._arrays[f"v_{n}"] for n in self.traced.vertex_types}
        for name in self.plan.doubled:
            now[name] = now[name][self.iteration & 1]
        return {**now, **{n: self._arrays[f"e_{n}"] for n in self.plan.edge_states}}

    def aggregates(self) -> dict[str, Any]:
        """What the aggregates came to in the last iteration."""
        return {n: self._space.shown[f"sum_{n}"].copy()[()] for n in self.traced.aggregates}

    def frontier(self) -> Frontier:
        """The active vertices as they are now."""
        n, count = self.graph.n, int(self._now["size"])
        if count == 0:
            return Frontier(n, [])
        if not self.plan.keeps_active:
            return Frontier.all(n)
        side = self.iteration & 1
        if self._now["form"] == 0:
            return Frontier(n, self._space.queued(side)[:count].copy())
        bits = self._space.arrays["bits"].reshape(2, -1)[side]
        return Frontier(n, mask=self.xp.unpackbits(bits.view(np.uint8), bitorder="little")[:n].astype(bool))


class Space:
    """What a run needs beside its fields: kernel, arguments, workspace. Kept with the graph between runs."""

    def __init__(self, bound: Bound, key: Any) -> None:
        self.key, self.known = key, {}  # type: ignore[var-annotated]
        plan, graph, cupy = bound.plan, bound.graph, require_gpu()
        self.kernel = compile.Kernel(plan.source, "run_loop", generate.THREADS)
        self.blocks = max(1, min(self.kernel.blocks, (graph.n + graph.m) // SMALL + 1))
        self.arguments = np.zeros((), plan.struct)
        sizes = workspace_sizes(plan, graph, self.blocks)
        _require_memory(cupy, f"a run of {plan.traced.program.__name__}", sum(sizes.values()))
        self.arrays = {name: cupy.empty(size, np.uint8) for name, size in sizes.items()}
        self._entry = entry_type(plan)
        if "segments" in sizes:
            self.arguments["lanes"] = _lanes(graph.m / graph.n)
        zeroed = cupy.zeros(ZEROED, np.uint8)
        self.arrays["zeroed"] = zeroed
        for name, place in (("barrier", BARRIER), ("counters", COUNTERS), ("control", STATE), ("far", FAR)):
            self.arguments[name] = zeroed.data.ptr + place
        self._pinned = cupy.cuda.alloc_pinned_memory(4096)
        self.page = np.frombuffer(self._pinned, PAGE, 1)[0:1].reshape(())
        sums = np.dtype([(f"sum_{n}", k) for n, k in plan.traced.aggregate_types.items()], align=True)
        if sums.itemsize:
            self.shown = np.frombuffer(self._pinned, sums, 1, SHOWN).reshape(())
        self.arguments["page"], self.arguments["shown"] = self._pinned.ptr, self._pinned.ptr + SHOWN
        for name in sizes:
            self.arguments[name] = self.arrays[name].data.ptr
        for name, array in graph_arrays(bound).items():
            self._hold(name, array)
        if plan.rows:
            self._share_rows(bound)
        self.arguments["self_n"], self.arguments["m"] = graph.n, len(self.arrays["gi"])
        self.arguments["words"] = (graph.n + 31) // 32
        wide = plan.offset_type.itemsize == 8
        self.arguments["shift"] = max(1, graph.n.bit_length()) if wide else 32

    def _hold(self, name: str, array: Any) -> None:
        self.arrays[name] = array
        self.arguments[name] = array.data.ptr

    def _share_rows(self, bound: Bound) -> None:
        """How all rows are shared out among threads."""
        plan = row_plan(self.arrays["gp"], self.arrays["gi"])
        self.arrays["partials"] = plan.partials(_gathered_bytes(bound.plan))
        self.arguments["rows"] = plan.argument(self.arrays["partials"])

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
        sizes |= {"segments": 2 * blocks * SEGMENT * 3 * widest, "segment_counts": 2 * blocks * 8}
    if plan.traced.aggregates:
        sums = np.dtype([(n, k) for n, k in plan.traced.aggregate_types.items()], align=True)
        sizes["parts"] = 2 * blocks * sums.itemsize
    return sizes


def _bytes(kind: Any) -> int:
    if isinstance(kind, VectorType):
        return int(kind.length * kind.scalar.itemsize)
    assert not isinstance(kind, TupleType)
    return int(kind.itemsize)


def _require_memory(cupy: Any, what: str, need: int) -> None:
    free = cupy.cuda.runtime.memGetInfo()[0] + cupy.get_default_memory_pool().free_bytes()
    if need > free:
        raise MemoryError(
            f"{what} needs {need:,} bytes of GPU memory beside the graph and its fields, and {free:,} are free; "
            "free some arrays, or take a smaller graph"
        )


def _shape(program: VertexProgram, graph: Graph, deterministic: bool, scheduled: bool) -> Shape:
    """What the kernel is made for, from the graph."""
    known = _shapes.setdefault(graph, {})
    key = type(program), deterministic, scheduled
    if key not in known:
        lanes = 0
        if program.everyone and not scheduled:
            lanes = _row_plan(program, graph).lanes
        thin = not program.everyone and _is_flat(graph)
        known[key] = Shape(offset_type(program, graph), deterministic, scheduled, thin, lanes)
    return known[key]


def _is_flat(graph: Graph) -> bool:
    """Whether no vertex has very many edges, so that a few lanes a vertex are balanced enough."""
    if graph.n == 0:
        return False
    degrees = graph.out_degrees
    return int(degrees.max()) <= 64 + 4 * graph.m // graph.n


def _lanes(degree: float) -> int:
    """Threads that share a vertex of a thin frontier."""
    return 4 if degree <= 5 else 8 if degree <= 10 else 16 if degree <= 24 else 32


def _row_plan(program: VertexProgram, graph: Graph) -> Any:
    both = graph.both if program.direction == "all" else graph.in_ if program.direction == "in" else graph.out
    return row_plan(both.indptr, both.indices)


def _gathered_bytes(plan: Any) -> int:
    kind = plan.traced.gathered_type
    if isinstance(kind, TupleType):
        return int(np.dtype([(f"f{i}", _plain(k)) for i, k in enumerate(kind.items)], align=True).itemsize)
    return _bytes(kind)


def _plain(kind: Any) -> Any:
    return (kind.scalar, (kind.length,)) if isinstance(kind, VectorType) else kind
