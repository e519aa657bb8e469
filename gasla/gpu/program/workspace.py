"""Kernel, arguments and arrays of a run besides its fields; made for a program and a graph, cached between runs."""

import ctypes
import math
import threading
import weakref
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from gasla.arrays import array_module, require_gpu
from gasla.gpu.program import generate, relabel, rows, tables
from gasla.gpu.program.inputs import graph_arrays
from gasla.gpu.program.plan import GpuPlan, Variant, bytes_of
from gasla.gpu.runtime import compile
from gasla.graph.graph import Graph
from gasla.program import Frontier
from gasla.program.binding import PULL, Binding, field_layouts, layout
from semirings import TupleType, VectorType

SEGMENT = 2048  # as in kernels/loop/small_frontier.cuh
UNCUT, PIECE = 256, 1024  # entries, as in kernels/schedule/schedule.cuh
SHARE = 2048  # vertices and edges per block, where there are several blocks
SMALL = 4 * SHARE  # vertices and edges up to which a single block is faster, because it has no grid barrier
WHOLE = 256  # entries of a piece of a row, where values are wide


class Control(ctypes.Structure):
    """State of a run between launches: `gasla::Control`."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("iteration", "total", "size", "edges", "remaining", "far", "bucket")),
        *((name, ctypes.c_double) for name in ("threshold", "last_threshold")),
        *((name, ctypes.c_uint32) for name in ("form", "done", "splits", "slot", "stamp")),
        *((name, ctypes.c_int64) for name in ("round", "everywhere")),
    ]


class Page(ctypes.Structure):
    """Host memory that host and device share while a kernel runs: `gasla::Page`."""

    _fields_ = [
        ("control", Control),
        ("progress", ctypes.c_int64),
        ("stop", ctypes.c_uint32),
        ("ended", ctypes.c_uint32),
    ]


SHOWN = 256  # offset of the aggregates in the page
BARRIER, COUNTERS, STATE, FAR, ZEROED = 0, 16, 256, 512, 1024  # offsets in the zero-initialized buffer


_cached: "weakref.WeakSet[Cached]" = weakref.WeakSet()  # the cached structures of all graphs
_pages: deque["PageMemory"] = deque()  # pages that belong to no workspace


class Cached:
    """The data that a graph caches for the runs of one program on one device."""

    def __init__(self, program: Any, graph: Graph, variant: Variant) -> None:
        self.plan = generate.module(program, graph.id_dtype, variant)
        self.layouts = {name: layout(kind, graph.n) for name, kind in self.plan.traced.vertex_types.items()}
        self.field_layouts = field_layouts(self.plan, graph.n)
        self.sizes = {name: math.prod(shape) * kind.itemsize for name, (shape, kind) in self.field_layouts.items()}
        self.xp: Any = require_gpu()
        self.workspaces: deque[Workspace] = deque()
        self.meetings: deque[Any] = deque()  # runs over several GPUs of which this is the first part (peers.py)
        self.delta: float | None = None  # default width of a bucket, computed once
        _cached.add(self)

    def take_workspace(self, binding: Binding, numbering: Any) -> "Workspace":
        """Take a workspace that no other run uses. The run returns it to `workspaces`, even if its kernel still runs.

        On the same stream the next kernel waits for that one; on another stream it would not, so a busy workspace is
        skipped.
        """
        stream = _current_stream()
        for _ in range(len(self.workspaces)):
            try:
                workspace = self.workspaces.popleft()
            except IndexError:  # another thread took it
                break
            if workspace.stream == stream or not workspace.is_busy:
                workspace.reset()
                workspace.stream = stream
                return workspace
            self.workspaces.append(workspace)
        workspace = Workspace(binding, numbering)
        workspace.stream = stream
        return workspace


class Workspace:
    """Arrays and arguments, used by one run at a time. `stream` is that of the last launch.

    `kernel` is given, with the number of its blocks, if it runs other programs as well.
    """

    stream: tuple[int, int]

    def __init__(self, binding: Binding, numbering: Any, kernel: compile.Kernel | None = None, blocks: int = 0) -> None:
        plan, graph, cupy = binding.plan, binding.graph, require_gpu()
        if kernel is None:
            compile.compile_ahead(plan.source)
        if plan.hub_first:
            rows.compile_hub_neighbors(plan.offset_type, plan.traced.id_type, plan.variant.packed)
        lists = graph_arrays(binding)
        if kernel is None:
            shared = relabel.hub_memory(plan) or tables.shared_bytes(plan, plan.variant.table_slots)
            kernel = compile.Kernel(plan.source, "run_loop", generate.THREADS, 1, shared)
            blocks = kernel.grid(blocks_for(plan, graph, kernel.blocks))
        self.kernel, self.blocks = kernel, blocks
        self.arguments: Any = plan.struct()
        self._pointers = compile.Pointers(self.arguments)
        self.arrays = {n: cupy.empty(size, np.uint8) for n, size in workspace_sizes(plan, graph, self.blocks).items()}
        self.arrays |= lists
        if numbering is not None:
            self.arrays["originals"] = numbering.originals
        for name, array in self.arrays.items():
            setattr(self.arguments, name, array.data.ptr)
        if plan.small_frontiers:
            self.arrays["segments"].fill(0)  # so that no slot carries the stamp of an iteration
        self._entry = entry_type(plan)
        zeroed = self.arrays["zeroed"] = cupy.zeros(ZEROED, np.uint8)
        for name, place in (("barrier", BARRIER), ("counters", COUNTERS), ("control", STATE), ("far", FAR)):
            setattr(self.arguments, name, zeroed.data.ptr + place)
        self._memory = _memory_for_page() or PageMemory(cupy.cuda.alloc_pinned_memory(4096))
        # CuPy would free pinned memory while a kernel may still write to it; the page is kept for reuse instead.
        weakref.finalize(self, _pages.append, self._memory).atexit = False
        pinned = self._memory.pinned
        self.page = Page.from_address(pinned.ptr)
        self.control = self.page.control  # a view of the page
        # the page may have been used by another run
        self.page.stop = self.page.ended = self._memory.launched = self._number = 0
        sums = self._sums = np.dtype([*plan.traced.aggregate_types.items()], align=True)
        shown: Any = np.frombuffer(pinned, sums, 1, SHOWN).reshape(()) if sums.itemsize else {}
        self.shown = {name: shown[name] for name in plan.traced.aggregates}  # values of the aggregates
        self._deposits = plan.traced.deposit_types
        self.arguments.page, self.arguments.shown = pinned.ptr, pinned.ptr + SHOWN
        if plan.partitions_rows:
            self._partition_rows(plan, numbering, binding.row_count)
        if plan.hub_first:
            rows.find_hub_neighbors(self.arrays["gp"], self.arrays["gi"], self.arrays["hub_neighbors"])
        self.arguments.self_n, self.arguments.m = graph.n, len(self.arrays["gi"])
        self.arguments.words = (graph.n + 31) // 32
        wide = plan.offset_type.itemsize == 8
        self.arguments.shift = max(1, graph.n.bit_length()) if wide else 32
        self.arguments.hubs = relabel.count_hubs(plan, graph.n)
        if plan.small_frontiers or plan.lane_groups:
            lanes = _lanes(graph.m / graph.n)
            self.arguments.lanes = min(32, 2 * lanes) if plan.small_frontiers and lanes > 4 else lanes
        if plan.single_block:
            self.arguments.lanes = _lanes_of_single_block(graph.n, graph.m)
        if plan.only_pulls:
            self.arguments.way = PULL
        for start in plan.starts.values():
            setattr(self.arguments, start.fills, True)
            setattr(self.arguments, start.at, -1)
            if start.number is not None:
                setattr(self.arguments, start.value, start.number)
        self._bytes = memoryview(self.arguments).cast("B")
        self._at_start = bytearray(self._bytes)
        self.program: Any = None  # the program whose parameters are among the defaults of the arguments
        self.place: Any = None  # place of the arguments of a run over several GPUs (peers.py)

    @property
    def launched(self) -> int:
        """The number of the last launch."""
        return self._memory.launched

    def keep(self, name: str, value: Any) -> None:
        """Set an argument, now and by default."""
        setattr(self.arguments, name, value)
        member = getattr(type(self.arguments), name)
        span = slice(member.offset, member.offset + member.size)
        self._at_start[span] = self._bytes[span]

    def keep_parameters(self, program: Any) -> None:
        """Make the parameters of a program, which have been set just after a reset, defaults for its next run."""
        if all(type(value) in (int, float, bool) for value in program.values.values()):  # others may be written to
            self._at_start[:], self.program = self._bytes, program
        else:
            self.program = None

    def reset(self) -> None:
        """Reset the arguments to their defaults."""
        self._bytes[:] = self._at_start

    def _partition_rows(self, plan: GpuPlan, numbering: Any, count: int) -> None:
        """Divide the first `count` rows among warps. All later rows are empty."""
        lists = self.arrays["gp"], self.arrays["gi"]
        self._rows = (
            rows.partition_rows(*lists, WHOLE if plan.wide else None)
            if numbering is None
            else relabel.partition_renumbered(*lists)
        )
        self.arrays["partials"] = self._rows.partials(
            (gathered_bytes(plan) if plan.gathers else 1) + plan.wide
        )  # plus one byte per piece: whether its row receives
        argument = self._rows.argument(self.arrays["partials"]).copy()
        argument["count"] = count
        self.arguments.rows[:] = argument.reshape(1).view(np.uint64).tolist()

    @property
    def is_busy(self) -> bool:
        """Whether its kernel has not marked its end on the page yet."""
        return bool(self.page.ended < self.launched)

    def launch(self) -> None:
        """Launch the kernel with the current arguments."""
        self.arguments.launch = self._number = (self._number + 1) % 2**32
        self.kernel.launch_prepared(self.blocks, self._pointers)
        self._memory.launched = self._number

    def next_launch(self) -> int:
        """Return the number of a launch of a kernel that tells its end on this workspace's page."""
        self.arguments.launch = self._memory.launched = self._number = (self._number + 1) % 2**32
        return self._number

    def show_on_device(self) -> dict[str, Any]:
        """Let the kernel write the aggregates to device memory, not to the page. Return 0-d arrays."""
        cupy: Any = require_gpu()
        memory = cupy.cuda.alloc(self._sums.itemsize)
        self.arguments.shown = memory.ptr
        places: Any = self._sums.fields
        return {name: cupy.ndarray((), places[name][0], memory + places[name][1]) for name in self.shown}

    def aggregates(self, shown: Mapping[str, Any] | None, iterations: int) -> dict[str, Any]:
        """Return the aggregates of the last of `iterations` iterations. `shown` replaces those on the page."""
        totals = {name: number[()] for name, number in (shown or self.shown).items()}
        kinds, row = self._deposits, (iterations + 2) % 3
        return totals | {n: self.arrays[f"to_{n}"].view(k).reshape(3, -1)[row].copy() for n, k in kinds.items()}

    def stop(self) -> None:
        """Ask the kernel of the last launch to end after its current iteration."""
        self.page.stop = self.arguments.launch

    def bitmap(self, side: int) -> Any:
        """Return one of the two bitmaps of active vertices."""
        return self.arrays["bits"].reshape(2, -1)[side]

    def queued(self, side: int) -> Any:
        """Return the vertices in one of the two queues."""
        prefix, whole = self._entry
        width = int(self.arrays["gi"].dtype.itemsize)
        words = self.arrays["queue"].view(f"i{width}").reshape(2, -1, whole // width)
        return words[side, :, prefix // width]


def _current_stream() -> tuple[int, int]:
    """Identify the stream. CUDA gives the per-thread default streams of all threads the same pointer."""
    return require_gpu().cuda.get_current_stream().ptr, threading.get_ident()


class PageMemory:
    """Pinned memory for a page, and the number of the last launch that writes to it."""

    def __init__(self, pinned: Any) -> None:
        self.pinned, self.launched = pinned, 0


def _memory_for_page() -> PageMemory | None:
    """Take a page that no kernel will write to any more, if there is one."""
    for _ in range(len(_pages)):
        try:
            memory = _pages.popleft()
        except IndexError:  # another thread took it
            break
        if Page.from_address(memory.pinned.ptr).ended >= memory.launched:
            return memory
        _pages.append(memory)
    return None


def keep_workspaces_of(cached: Any) -> None:
    """Let `free_workspaces` also free the workspaces in `cached.workspaces`."""
    _cached.add(cached)


def frontier_of(plan: GpuPlan, workspace: "Workspace", now: Control, n: int) -> Frontier:
    """Return the active vertices of a run that stands at `now`."""
    count, side = now.size, now.iteration & 1
    if not plan.keeps_active:
        return Frontier.none(n) if plan.is_over(count, n) else Frontier.all(n)
    if count == 0:
        return Frontier.none(n)
    if now.form == 0:
        return Frontier.of(n, workspace.queued(side)[:count].copy())
    bits = workspace.bitmap(side)
    return Frontier(n, mask=array_module(bits).unpackbits(bits.view(np.uint8), bitorder="little")[:n].astype(bool))


def free_workspaces() -> None:
    """Free the workspaces that no kernel uses."""
    for one in list(_cached):
        one.meetings.clear()
        one.workspaces = deque(workspace for workspace in list(one.workspaces) if workspace.is_busy)


def is_small(graph: Graph) -> bool:
    """Return whether a single block runs programs on the graph. Its data then fits in that block's cache."""
    return graph.n + graph.m <= SMALL


def blocks_for(plan: GpuPlan, graph: Graph, most: int) -> int:
    """Number of blocks to launch: each further block makes barriers slower."""
    if plan.variant.small:
        return 1
    share = SHARE // 32 if plan.wide else SHARE
    blocks = max(1, min(most, (graph.n + graph.m) // share + 1))
    if (plan.small_frontiers or plan.lane_groups) and graph.m <= 5 * graph.n:  # there is little work between barriers
        blocks = max(1, blocks // 2)
    return blocks


def _lanes(degree: float) -> int:
    """Return threads per vertex of a schedule or a small frontier."""
    return 4 if degree <= 5 else 8 if degree <= 10 else 16 if degree <= 24 else 32


def _lanes_of_single_block(n: int, m: int) -> int:
    """Return threads per vertex in a single block: at most as many as have work."""
    most = max(1, min(generate.THREADS // max(1, n), m // max(1, n), 32))
    return 1 << most.bit_length() - 1


def entry_type(plan: GpuPlan) -> tuple[int, int]:
    """Return bytes before the vertex in a queue entry, and bytes of the whole entry (`Entry` in frontier.cuh)."""
    prefix, vertex = plan.offset_type.itemsize, plan.traced.id_type.itemsize
    widest = max(prefix, vertex)
    return max(prefix, vertex), 2 * widest


# --- sizes -----------------------------------------------------------------------------------------------------------


def workspace_sizes(plan: GpuPlan, graph: Graph, blocks: int) -> dict[str, int]:
    """Return bytes of each array that a run needs besides the graph and its fields."""
    n, words = graph.n, 4 * ((graph.n + 31) // 32)
    ids = graph.id_dtype.itemsize
    by_turns = bool(plan.absorbs) or (plan.push_at_once and not plan.closes)
    sizes: dict[str, int] = {}
    if plan.keeps_active:
        sizes |= {"queue": 2 * n * entry_type(plan)[1], "bits": 2 * words}
    if plan.claims:
        sizes["claimed"] = (2 if by_turns else 1) * words
    if not plan.scheduled and (not plan.everyone or plan.keeps_receivers):
        sizes["aside"] = n * ids
    if plan.prioritised:
        sizes |= {"far_bits": words, "far_lists": 2 * n * ids}
    for is_wanted, name, size in [
        (plan.closes, "closed", words),
        (plan.hub_first, "hub_neighbors", n * ids),
        (plan.waits, "waits", 8 * n),
        (plan.has_buckets, "waiting", words),
        (plan.changes, "changed", plan.changed.itemsize),
        (plan.read_by_level, "bits", words),
    ]:
        if is_wanted:
            sizes[name] = size
    if plan.cuts_rows:
        entries = graph.m * (2 if plan.traced.program.direction == "all" else 1)
        pieces = entries // UNCUT + entries // PIECE + 1
        sizes |= {"pieces": pieces * _piece_bytes(plan), "piece_values": pieces * gathered_bytes(plan)}
    sizes |= tables.sizes(plan, graph, plan.variant.table_slots, plan.shares_keys)
    if plan.keeps_bits_of_receivers:
        sizes["received"] = words
    if plan.keeps:
        sizes |= {name: n * bytes_of(kind) for name, kind in plan.components}
    sizes |= {f"to_{name}": 3 * n * bytes_of(kind) for name, kind in plan.traced.deposit_types.items()}
    sizes |= {f"was_{name}": n * bytes_of(plan.traced.vertex_types[name]) for name in plan.behind}
    if plan.small_frontiers:
        widest = max(plan.offset_type.itemsize, ids)
        sizes["segments"] = 2 * blocks * SEGMENT * (16 if widest == 4 else 32)
    if plan.traced.aggregates:
        sums = np.dtype([(n, k) for n, k in plan.traced.aggregate_types.items()], align=True)
        sizes["parts"] = 2 * blocks * sums.itemsize
    return sizes


def _piece_bytes(plan: GpuPlan) -> int:
    ids, offset = plan.traced.id_type, plan.offset_type
    return np.dtype([("row", ids), ("of", "u4"), ("first", offset), ("last", offset)], align=True).itemsize


def field_bytes(plan: GpuPlan, graph: Graph) -> int:
    """Return bytes of a run's own fields."""
    vertices = sum(bytes_of(kind) * (2 if n in plan.doubled else 1) for n, kind in plan.traced.vertex_types.items())
    edges = [*plan.edge_states, *plan.edges_behind]
    return graph.n * vertices + graph.m * sum(bytes_of(plan.traced.edge_types[n]) for n in edges)


def gathered_bytes(plan: GpuPlan) -> int:
    """Return bytes of one gathered value."""
    kind = plan.traced.gathered_type
    if isinstance(kind, TupleType):
        return int(np.dtype([(f"f{i}", _plain(k)) for i, k in enumerate(kind.items)], align=True).itemsize)
    return bytes_of(kind)


def _plain(kind: Any) -> Any:
    return (kind.scalar, (kind.length,)) if isinstance(kind, VectorType) else kind
