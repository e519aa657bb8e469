"""What a run needs beside its fields: kernel, arguments, workspace. Made for program and graph, cached between runs."""

import ctypes
import math
import threading
import weakref
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from gasla.arrays import require_gpu
from gasla.gpu.program import generate, relabel, rows, tables
from gasla.gpu.program.inputs import graph_arrays
from gasla.gpu.program.plan import GpuPlan, Variant
from gasla.gpu.runtime import compile
from gasla.graph.graph import Graph
from gasla.program.binding import PULL, Binding, field_layouts, layout
from semirings import TupleType, VectorType

SEGMENT = 2048  # as in kernels/loop/thin.cuh
UNCUT, PIECE = 256, 1024  # entries, as in kernels/schedule/schedule.cuh
SHARE = 2048  # vertices and edges for a block, where there are several
SMALL = 4 * SHARE  # vertices and edges that one block deals with alone, the faster as it need not wait for others
NEAR = 2048  # vertices for which that block has room in shared memory
WHOLE = 256  # entries of a row that a warp takes at a time, where values are wide


class Control(ctypes.Structure):
    """Where a run stands between launches: `gasla::Control`."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("iteration", "total", "size", "edges", "remaining", "far", "bucket")),
        *((name, ctypes.c_double) for name in ("threshold", "last_threshold")),
        *((name, ctypes.c_uint32) for name in ("form", "done", "splits", "slot", "stamp")),
    ]


class Page(ctypes.Structure):
    """What host and device share while a kernel runs, in the host's memory: `gasla::Page`."""

    _fields_ = [
        ("control", Control),
        ("progress", ctypes.c_int64),
        ("stop", ctypes.c_uint32),
        ("ended", ctypes.c_uint32),
    ]


SHOWN = 256  # where the page holds the aggregates
BARRIER, COUNTERS, STATE, FAR, ZEROED = 0, 16, 256, 512, 1024  # places in the small buffer that starts as zeros


_cached: "weakref.WeakSet[Cached]" = weakref.WeakSet()  # with any graph
_pages: deque["PageMemory"] = deque()  # that no workspace has


class Cached:
    """What a graph caches for the runs of one program on one device."""

    def __init__(self, program: Any, graph: Graph, variant: Variant) -> None:
        self.plan = generate.module(program, graph.id_dtype, variant)
        self.layouts = {name: layout(kind, graph.n) for name, kind in self.plan.traced.vertex_types.items()}
        self.field_layouts = field_layouts(self.plan, graph.n)
        self.sizes = {name: math.prod(shape) * kind.itemsize for name, (shape, kind) in self.field_layouts.items()}
        self.workspaces: deque[Workspace] = deque()
        self.delta: float | None = None  # the width of a bucket, where none is given; found once
        _cached.add(self)

    def take_workspace(self, binding: Binding, numbering: Any) -> "Workspace":
        """A workspace that no other run has now; the run puts it back among `workspaces`, its kernel ended or not.

        If not, the next kernel on the same stream waits for it, and on another none would.
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
    """One run's at a time; `stream` is that of the last."""

    stream: tuple[int, int]

    def __init__(self, binding: Binding, numbering: Any) -> None:
        plan, graph, cupy = binding.plan, binding.graph, require_gpu()
        shared = relabel.hub_memory(plan) or NEAR * sum(map(plan.near_bytes, plan.near_fields))
        shared = shared or tables.shared_bytes(plan, plan.variant.table_slots)
        compile.compile_ahead(plan.source)
        if plan.has_heads:
            rows.begin_heads(plan.offset_type, plan.traced.id_type)
        lists = graph_arrays(binding)
        self.kernel = compile.Kernel(plan.source, "run_loop", generate.THREADS, 1, shared)
        self.blocks = self.kernel.grid(_blocks(plan, graph, self.kernel.blocks))
        self.arguments: Any = plan.struct()
        self._packed = (compile.struct(self.arguments),)
        self.arrays = {n: cupy.empty(size, np.uint8) for n, size in workspace_sizes(plan, graph, self.blocks).items()}
        self.arrays |= lists
        if numbering is not None:
            self.arrays["originals"] = numbering.originals
        for name, array in self.arrays.items():
            setattr(self.arguments, name, array.data.ptr)
        if plan.thin:
            self.arrays["segments"].fill(0)  # no slot looks as if it were of the iteration at hand
        self._entry = entry_type(plan)
        zeroed = self.arrays["zeroed"] = cupy.zeros(ZEROED, np.uint8)
        for name, place in (("barrier", BARRIER), ("counters", COUNTERS), ("control", STATE), ("far", FAR)):
            setattr(self.arguments, name, zeroed.data.ptr + place)
        self._memory = _memory_for_page() or PageMemory(cupy.cuda.alloc_pinned_memory(4096))
        # Unlike memory of the GPU, CuPy would not mind a kernel that is to write there.
        weakref.finalize(self, _pages.append, self._memory).atexit = False
        pinned = self._memory.pinned
        self.page = Page.from_address(pinned.ptr)
        self.control = self.page.control  # the same memory
        self.page.stop = self.page.ended = self._memory.launched = self._number = 0  # it may have been some other run's
        sums = self._sums = np.dtype([*plan.traced.aggregate_types.items()], align=True)
        shown: Any = np.frombuffer(pinned, sums, 1, SHOWN).reshape(()) if sums.itemsize else {}
        self.shown = {name: shown[name] for name in plan.traced.aggregates}  # what they came to
        self._deposits = plan.traced.deposit_types
        self.arguments.page, self.arguments.shown = pinned.ptr, pinned.ptr + SHOWN
        if plan.shares_rows:
            self._share_rows(plan, numbering)
        if plan.has_heads:
            rows.find_heads(self.arrays["gp"], self.arrays["gi"], self.arrays["heads"])
        self.arguments.self_n, self.arguments.m = graph.n, len(self.arrays["gi"])
        self.arguments.words = (graph.n + 31) // 32
        wide = plan.offset_type.itemsize == 8
        self.arguments.shift = max(1, graph.n.bit_length()) if wide else 32
        self.arguments.hubs = relabel.hubs(plan, graph.n)
        if plan.thin or plan.flat:
            lanes = _lanes(graph.m / graph.n)
            self.arguments.lanes = min(32, 2 * lanes) if plan.thin and lanes > 4 else lanes
        if plan.alone:
            self.arguments.lanes = _lanes_alone(graph.n, graph.m)
        if plan.only_pulls:
            self.arguments.way = PULL
        for start in plan.starts.values():
            setattr(self.arguments, start.fills, True)
            setattr(self.arguments, start.at, -1)
            if start.number is not None:
                setattr(self.arguments, start.value, start.number)
        self._bytes = memoryview(self.arguments).cast("B")
        self._at_start = bytes(self._bytes)

    @property
    def launched(self) -> int:
        """The number of the last launch."""
        return self._memory.launched

    def reset(self) -> None:
        """Arguments as no run has changed them."""
        self._bytes[:] = self._at_start

    def _share_rows(self, plan: GpuPlan, numbering: Any) -> None:
        """How all rows are shared out among threads."""
        lists = self.arrays["gp"], self.arrays["gi"]
        self._rows = (
            rows.share_out(*lists, WHOLE if plan.wide else None) if numbering is None else relabel.row_shares(*lists)
        )
        self.arrays["partials"] = self._rows.partials(
            (gathered_bytes(plan) if plan.gathers else 1) + plan.wide
        )  # and whether it receives
        argument = self._rows.argument(self.arrays["partials"])
        self.arguments.rows[:] = argument.reshape(1).view(np.uint64).tolist()

    @property
    def is_busy(self) -> bool:
        """Whether its kernel has not said yet that it ended."""
        return bool(self.page.ended < self.launched)

    def launch(self) -> None:
        """Start the kernel with the arguments as they are."""
        self.arguments.launch = self._number = (self._number + 1) % 2**32
        self.kernel.launch(self.blocks, self._packed, together=True)
        self._memory.launched = self._number

    def show_on_device(self) -> dict[str, Any]:
        """Where the kernel leaves what the aggregates come to, if not with the host: arrays of no dimension."""
        cupy: Any = require_gpu()
        memory = cupy.cuda.alloc(self._sums.itemsize)
        self.arguments.shown = memory.ptr
        places: Any = self._sums.fields
        return {name: cupy.ndarray((), places[name][0], memory + places[name][1]) for name in self.shown}

    def aggregates(self, shown: Mapping[str, Any] | None, iterations: int) -> dict[str, Any]:
        """What aggregates came to in the last of so many iterations; `shown` if not here."""
        found = {name: number[()] for name, number in (shown or self.shown).items()}
        kinds, row = self._deposits, (iterations + 2) % 3
        return found | {n: self.arrays[f"to_{n}"].view(k).reshape(3, -1)[row].copy() for n, k in kinds.items()}

    def stop(self) -> None:
        """Have the kernel end after the iteration at hand, if it was launched; not one before it."""
        self.page.stop = self.arguments.launch

    def queued(self, side: int) -> Any:
        """The vertices of one of the two queues."""
        prefix, whole = self._entry
        width = int(self.arrays["gi"].dtype.itemsize)
        words = self.arrays["queue"].view(f"i{width}").reshape(2, -1, whole // width)
        return words[side, :, prefix // width]


def _current_stream() -> tuple[int, int]:
    """Where kernels follow each other: CUDA has one name for all threads' own streams."""
    return require_gpu().cuda.get_current_stream().ptr, threading.get_ident()


class PageMemory:
    """Page-locked memory, and the last launch that writes to it."""

    def __init__(self, pinned: Any) -> None:
        self.pinned, self.launched = pinned, 0


def _memory_for_page() -> PageMemory | None:
    """Some that no kernel will write to any more."""
    for _ in range(len(_pages)):
        try:
            memory = _pages.popleft()
        except IndexError:  # another thread took it
            break
        if Page.from_address(memory.pinned.ptr).ended >= memory.launched:
            return memory
        _pages.append(memory)
    return None


def free_workspaces() -> None:
    """Free the workspaces that no kernel works in."""
    for one in list(_cached):
        one.workspaces = deque(workspace for workspace in list(one.workspaces) if workspace.is_busy)


def is_small(graph: Graph) -> bool:
    """Whether one block deals with the graph, and what it reads fits in that block's cache."""
    return graph.n + graph.m <= SMALL


def _blocks(plan: GpuPlan, graph: Graph, most: int) -> int:
    """How many blocks share the work: the more, the longer each waits for all."""
    if plan.variant.small:
        return 1
    share = SHARE // 32 if plan.wide else SHARE
    blocks = max(1, min(most, (graph.n + graph.m) // share + 1))
    if (plan.thin or plan.flat) and graph.m <= 5 * graph.n:  # little to do between barriers
        blocks = max(1, blocks // 2)
    return blocks


def _lanes(degree: float) -> int:
    """Threads that share a vertex of a schedule."""
    return 4 if degree <= 5 else 8 if degree <= 10 else 16 if degree <= 24 else 32


def _lanes_alone(n: int, m: int) -> int:
    """Threads that share a vertex where one block does all: no more than find something to do."""
    most = max(1, min(generate.THREADS // max(1, n), m // max(1, n), 32))
    return 1 << most.bit_length() - 1


def entry_type(plan: GpuPlan) -> tuple[int, int]:
    """Bytes before the vertex in an entry of a queue, and of the whole entry."""
    prefix, vertex = plan.offset_type.itemsize, plan.traced.id_type.itemsize
    widest = max(prefix, vertex)
    return max(prefix, vertex), 2 * widest


# --- sizes -----------------------------------------------------------------------------------------------------------


def workspace_sizes(plan: GpuPlan, graph: Graph, blocks: int) -> dict[str, int]:
    """Bytes of every array that a run needs beside the graph and its fields."""
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
        (plan.has_heads, "heads", n * ids),
        (plan.waits, "waits", 8 * n),
        (plan.has_buckets, "waiting", words),
        (plan.changes, "changed", plan.changed.itemsize),
        (plan.timed, "bits", words),
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
    if plan.thin:
        widest = max(plan.offset_type.itemsize, ids)
        sizes["segments"] = 2 * blocks * SEGMENT * (16 if widest == 4 else 32)
    if plan.traced.aggregates:
        sums = np.dtype([(n, k) for n, k in plan.traced.aggregate_types.items()], align=True)
        sizes["parts"] = 2 * blocks * sums.itemsize
    return sizes


def _piece_bytes(plan: GpuPlan) -> int:
    ids, offset = plan.traced.id_type, plan.offset_type
    return np.dtype([("row", ids), ("of", "u4"), ("first", offset), ("last", offset)], align=True).itemsize


def bytes_of(kind: Any) -> int:
    """What a value of this type takes."""
    if isinstance(kind, VectorType):
        return int(kind.length * kind.scalar.itemsize)
    assert not isinstance(kind, TupleType)
    return int(kind.itemsize)


def field_bytes(plan: GpuPlan, graph: Graph) -> int:
    """Bytes of the fields of a program that are its own."""
    vertices = sum(bytes_of(kind) * (2 if n in plan.doubled else 1) for n, kind in plan.traced.vertex_types.items())
    edges = [*plan.edge_states, *plan.edges_behind]
    return graph.n * vertices + graph.m * sum(bytes_of(plan.traced.edge_types[n]) for n in edges)


def gathered_bytes(plan: GpuPlan) -> int:
    """What one value that is gathered takes."""
    kind = plan.traced.gathered_type
    if isinstance(kind, TupleType):
        return int(np.dtype([(f"f{i}", _plain(k)) for i, k in enumerate(kind.items)], align=True).itemsize)
    return bytes_of(kind)


def _plain(kind: Any) -> Any:
    return (kind.scalar, (kind.length,)) if isinstance(kind, VectorType) else kind
