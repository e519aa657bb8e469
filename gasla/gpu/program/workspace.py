"""The memory of a run on the GPU besides the program's fields: the kernel, its arguments and its arrays.

A workspace is made for one program and one graph. The graph caches it, so that later runs need not allocate it again.
"""

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
from gasla.program.binding import PULL, Binding, are_fixed, field_layouts, layout
from semirings import TupleType, VectorType

# Where few vertices are active, the queue of active vertices is the array `segments`. This is the number of its entries
# for each block, as in kernels/loop/small_frontier.cuh.
SEGMENT = 2048
# numbers of entries: the longest row that a schedule doesn't cut into pieces, and the size of a piece
# (kernels/schedule/schedule.cuh)
UNCUT, PIECE = 256, 1024
# number of vertices and edges for each block of a launch, which has at most as many blocks as run at the same time
SHARE = 2048
# largest number of vertices and edges of a graph for which a single block is faster than several, as it needs no
# barrier between blocks
SMALL = 4 * SHARE
# largest number of entries of a row that one warp reduces in a program with wide vectors; longer rows are cut into
# pieces
WHOLE = 256


class Control(ctypes.Structure):
    """State of a run that stays in memory between launches, such as the iteration (`gasla::Control` in CUDA)."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("iteration", "total", "size", "edges", "remaining", "far", "bucket")),
        *((name, ctypes.c_double) for name in ("threshold", "last_threshold")),
        *((name, ctypes.c_uint32) for name in ("form", "done", "splits", "slot", "stamp")),
        *((name, ctypes.c_int64) for name in ("round", "everywhere")),
    ]


class Page(ctypes.Structure):
    """Pinned host memory by which host and kernel exchange messages during a run (`gasla::Page` in CUDA)."""

    _fields_ = [
        ("control", Control),
        ("progress", ctypes.c_int64),
        ("stop", ctypes.c_uint32),
        ("ended", ctypes.c_uint32),
    ]


# The kernel writes the program's aggregates into the pinned memory of `Page`, at this offset in bytes from its start.
SHOWN = 256
# byte offsets of the kernel's variables in a buffer that is zero at first; the last number is the size of the buffer
BARRIER, COUNTERS, STATE, FAR, ZEROED = 0, 16, 256, 512, 1024


# every `Cached` in use, of all graphs, so that `free_workspaces` finds the memory that it can free
_cached: "weakref.WeakSet[Cached]" = weakref.WeakSet()
# pages (pinned host memory) whose workspace no longer exists, and which a new workspace may take
_free_pages: deque["PageMemory"] = deque()


class Cached:
    """What a graph caches for all runs of one program on one device: the kernel's plan, and workspaces that no run uses
    now.

    A workspace is the memory of one run besides the program's fields.
    """

    def __init__(self, program: Any, graph: Graph, variant: Variant) -> None:
        self.plan = generate.module(program, graph.id_dtype, variant)
        self.layouts = {name: layout(value_type, graph.n) for name, value_type in self.plan.traced.vertex_types.items()}
        self.field_layouts = field_layouts(self.plan, graph.n)
        self.sizes = {
            name: math.prod(shape) * value_type.itemsize for name, (shape, value_type) in self.field_layouts.items()
        }
        self.xp: Any = require_gpu()
        self.workspaces: deque[Workspace] = deque()
        # the buffers of runs over several GPUs (`Meeting` in peers.py), if this is the first of the GPUs
        self.meetings: deque[Any] = deque()
        self.delta: float | None = None  # default width of a bucket of priorities, or None until it is computed
        _cached.add(self)

    def take_workspace(self, binding: Binding, numbering: Any) -> "Workspace":
        """Return a workspace (the kernel's arguments and arrays) that no other run uses. Make one if none is cached.

        The caller appends the workspace to `workspaces` after its run, even if the run's kernel is still active. A next
        kernel on the same CUDA stream waits for that kernel. A kernel on another stream would not wait, so a workspace
        whose kernel is active on another stream is skipped.
        """
        stream = _current_stream()
        for _ in range(len(self.workspaces)):
            try:
                workspace = self.workspaces.popleft()
            except IndexError:  # another thread has taken the last workspace meanwhile
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
    """The memory of one run at a time: the kernel, its arguments and its arrays.

    A caller passes a `kernel` and its number of blocks if the kernel also runs other programs, as it does for phases.
    `stream` is the CUDA stream of the last launch.
    """

    stream: tuple[int, int]

    def __init__(self, binding: Binding, numbering: Any, kernel: compile.Kernel | None = None, blocks: int = 0) -> None:
        plan, graph, cupy = binding.plan, binding.graph, require_gpu()
        if kernel is None:
            compile.compile_ahead(plan.source)
        if plan.hub_first:
            rows.compile_hub_neighbors(plan.offset_type, plan.traced.id_type, plan.variant.packed)
        graph_arrays_by_name = graph_arrays(binding)
        if kernel is None:
            shared = relabel.hub_memory(plan) or tables.shared_bytes(plan, plan.variant.table_slots)
            kernel = compile.Kernel(plan.source, "run_loop", generate.THREADS, 1, shared)
            blocks = kernel.grid(blocks_for(plan, graph, kernel.blocks))
        self.kernel, self.blocks = kernel, blocks
        self.arguments: Any = plan.struct()
        self._pointers = compile.Pointers(self.arguments)
        self.arrays = {
            n: cupy.empty(byte_count, np.uint8) for n, byte_count in workspace_sizes(plan, graph, self.blocks).items()
        }
        self.arrays |= graph_arrays_by_name
        if numbering is not None:
            self.arrays["originals"] = numbering.originals
        for name, array in self.arrays.items():
            setattr(self.arguments, name, array.data.ptr)
        if plan.small_frontiers:
            # An entry of this queue is valid if it carries the number ("stamp") of the current iteration. No stamp is
            # 0, so entries that are zeroed are never valid.
            self.arrays["segments"].fill(0)
        self._entry = entry_type(plan)
        zeroed = self.arrays["zeroed"] = cupy.zeros(ZEROED, np.uint8)
        for name, offset in (("barrier", BARRIER), ("counters", COUNTERS), ("control", STATE), ("far", FAR)):
            setattr(self.arguments, name, zeroed.data.ptr + offset)
        self._memory = _memory_for_page() or PageMemory(cupy.cuda.alloc_pinned_memory(4096))
        # A kernel may still write to the page when the workspace is freed. CuPy would free the page too, so it is kept
        # for another workspace.
        weakref.finalize(self, _free_pages.append, self._memory).atexit = False
        pinned = self._memory.pinned
        self.page = Page.from_address(pinned.ptr)
        self.control = self.page.control  # shares the page's memory
        # The page may show the number of another workspace's launch, so launches are numbered from 0 again.
        self.page.stop = self.page.ended = self._memory.launched = self._number = 0
        sums_type = self._sums = np.dtype([*plan.traced.aggregate_types.items()], align=True)
        aggregates_on_page: Any = np.frombuffer(pinned, sums_type, 1, SHOWN).reshape(()) if sums_type.itemsize else {}
        # the aggregates that the kernel writes to the page, by name
        self.shown = {name: aggregates_on_page[name] for name in plan.traced.aggregates}
        self._vertex_aggregate_types = plan.traced.deposit_types
        self.arguments.page, self.arguments.shown = pinned.ptr, pinned.ptr + SHOWN
        if plan.partitions_rows:
            self._partition_rows(plan, numbering, binding.row_count)
        if plan.hub_first:
            rows.find_hub_neighbors(self.arrays["gp"], self.arrays["gi"], self.arrays["hub_neighbors"])
        self.arguments.self_n, self.arguments.m = graph.n, len(self.arrays["gi"])
        self.arguments.words = (graph.n + 31) // 32
        has_wide_offsets = plan.offset_type.itemsize == 8
        self.arguments.shift = max(1, graph.n.bit_length()) if has_wide_offsets else 32
        self.arguments.hubs = relabel.count_hubs(plan, graph.n)
        if plan.small_frontiers or plan.lane_groups:
            lanes = _lanes_per_vertex(graph.m / graph.n)
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
        self.program: Any = None  # the program whose parameters the default arguments contain, if any
        self.place: Any = None  # what the kernel knows of other GPUs, in a run over several GPUs (`Place` in peers.py)

    @property
    def launched(self) -> int:
        """The number of the last launch that uses this workspace. The kernel writes it to the page (host memory) at its
        end.
        """
        return self._memory.launched

    def keep(self, name: str, value: Any) -> None:
        """Set an argument of the kernel, and also its default, which `reset` restores before later runs."""
        setattr(self.arguments, name, value)
        field = getattr(type(self.arguments), name)
        byte_range = slice(field.offset, field.offset + field.size)
        self._at_start[byte_range] = self._bytes[byte_range]

    def keep_parameters(self, program: Any) -> None:
        """Make a program's parameters the default arguments, so that the program's next run need not set them again.

        The caller has just reset the arguments, and then set the parameters. If a parameter is an array, to which the
        user may write between runs, no defaults are stored, and the next run sets all parameters.
        """
        if are_fixed(program.values):
            self._at_start[:], self.program = self._bytes, program
        else:
            self.program = None

    def reset(self) -> None:
        """Set all arguments of the kernel to their defaults, for a new run."""
        self._bytes[:] = self._at_start

    def _partition_rows(self, plan: GpuPlan, numbering: Any, count: int) -> None:
        """Divide the first `count` rows of the adjacency lists among warps, and tell the kernel about the division.

        All rows after these are empty, because they belong to mirrors (copies of vertices that another GPU owns).
        """
        adjacency_lists = self.arrays["gp"], self.arrays["gi"]
        self._rows = (
            rows.partition_rows(*adjacency_lists, WHOLE if plan.wide else None)
            if numbering is None
            else relabel.partition_renumbered(*adjacency_lists)
        )
        # For wide vectors, each piece of a long row also stores a byte, which tells whether the row's vertex is a
        # receiver (a vertex that gathers in this iteration).
        self.arrays["partials"] = self._rows.partials((gathered_bytes(plan) if plan.gathers else 1) + plan.wide)
        argument = self._rows.argument(self.arrays["partials"]).copy()
        argument["count"] = count
        self.arguments.rows[:] = argument.reshape(1).view(np.uint64).tolist()

    @property
    def is_busy(self) -> bool:
        """Whether the last launch still runs. A kernel writes the number of its launch to host memory when it ends."""
        return bool(self.page.ended < self.launched)

    def launch(self) -> None:
        """Launch the kernel with the current arguments, without waiting for its end."""
        self.arguments.launch = self._number = (self._number + 1) % 2**32
        self.kernel.launch_prepared(self.blocks, self._pointers)
        self._memory.launched = self._number

    def next_launch(self) -> int:
        """Return the next number for a launch, and record it as the number of the last launch.

        This is for a kernel that runs several programs ("phases"), each with a workspace of its own. The kernel reports
        its end on the page of this workspace.
        """
        self.arguments.launch = self._memory.launched = self._number = (self._number + 1) % 2**32
        return self._number

    def show_on_device(self) -> dict[str, Any]:
        """Let the kernel write a run's aggregates to device memory instead of host memory, so that the host need not
        wait for them.

        Return the aggregates as 0-d arrays by name. Their values are valid once the kernel has ended.
        """
        cupy: Any = require_gpu()
        memory = cupy.cuda.alloc(self._sums.itemsize)
        self.arguments.shown = memory.ptr
        fields: Any = self._sums.fields
        return {name: cupy.ndarray((), fields[name][0], memory + fields[name][1]) for name in self.shown}

    def aggregates(self, shown: Mapping[str, Any] | None, iterations: int) -> dict[str, Any]:
        """Return the aggregates of a run by name, after the last of `iterations` iterations.

        `shown` has the aggregates that are single numbers. If it is None, the kernel has written these numbers to host
        memory, from which they are read. Aggregates with a value per vertex are copied from the workspace's arrays.
        Each of these arrays has three rows, which are used in turn by the iterations.
        """
        aggregates = {name: aggregate[()] for name, aggregate in (shown or self.shown).items()}
        dtypes, row = self._vertex_aggregate_types, (iterations + 2) % 3
        return aggregates | {n: self.arrays[f"to_{n}"].view(k).reshape(3, -1)[row].copy() for n, k in dtypes.items()}

    def stop(self) -> None:
        """Ask the kernel of the last launch to end after its current iteration. This returns at once."""
        self.page.stop = self.arguments.launch

    def bitmap(self, side: int) -> Any:
        """Return the bitmap of active vertices of even iterations (`side` 0) or of odd ones (1), as 32-bit words."""
        return self.arrays["bits"].reshape(2, -1)[side]

    def queued(self, side: int) -> Any:
        """Return the vertex ids in the queue of even iterations (`side` 0) or of odd ones (1).

        A queue entry also holds an offset before the vertex, which this view of the memory skips.
        """
        prefix_bytes, entry_bytes = self._entry
        id_bytes = int(self.arrays["gi"].dtype.itemsize)
        queue_words = self.arrays["queue"].view(f"i{id_bytes}").reshape(2, -1, entry_bytes // id_bytes)
        return queue_words[side, :, prefix_bytes // id_bytes]


def _current_stream() -> tuple[int, int]:
    """Return the current CUDA stream's pointer together with the thread's id.

    The thread is needed because CUDA gives the per-thread default streams of all threads the same pointer.
    """
    return require_gpu().cuda.get_current_stream().ptr, threading.get_ident()


class PageMemory:
    """Pinned host memory for a page, on which a kernel reports its progress, and the number of the last launch that
    uses it.
    """

    def __init__(self, pinned: Any) -> None:
        self.pinned, self.launched = pinned, 0


def _memory_for_page() -> PageMemory | None:
    """Take from `_free_pages` host memory for a run, to which no kernel of an earlier run will write any more.

    Return None if there is none.
    """
    for _ in range(len(_free_pages)):
        try:
            memory = _free_pages.popleft()
        except IndexError:  # another thread has taken the last page meanwhile
            break
        if Page.from_address(memory.pinned.ptr).ended >= memory.launched:
            return memory
        _free_pages.append(memory)
    return None


def keep_workspaces_of(cached: Any) -> None:
    """Register a program's cached workspaces, so that `free_workspaces` frees them when device memory is short.

    They are the workspaces in the deque `cached.workspaces`, which no run uses.
    """
    _cached.add(cached)


def frontier_of(plan: GpuPlan, workspace: "Workspace", now: Control, n: int) -> Frontier:
    """Return the active vertices of a run after its kernel has stopped.

    `now` is the state that the kernel has left, and `n` the number of the graph's vertices. The vertices are read from
    the arrays of `workspace`.
    """
    active_count, queue_side = now.size, now.iteration & 1
    if not plan.keeps_active:
        return Frontier.none(n) if plan.is_over(active_count, n) else Frontier.all(n)
    if active_count == 0:
        return Frontier.none(n)
    if now.form == 0:
        return Frontier.of(n, workspace.queued(queue_side)[:active_count].copy())
    bits = workspace.bitmap(queue_side)
    return Frontier(n, mask=array_module(bits).unpackbits(bits.view(np.uint8), bitorder="little")[:n].astype(bool))


def free_workspaces() -> None:
    """Free the cached memory of runs, of all graphs, unless a run or a kernel uses it. This is for when memory is
    short.
    """
    for cached in list(_cached):
        cached.meetings.clear()
        cached.workspaces = deque(workspace for workspace in list(cached.workspaces) if workspace.is_busy)


def is_small(graph: Graph) -> bool:
    """Return whether a graph is so small that a single block runs programs, with all data in the block's cache."""
    return graph.n + graph.m <= SMALL


def blocks_for(plan: GpuPlan, graph: Graph, most: int) -> int:
    """Return the number of blocks with which a program's kernel is launched on a graph, at most `most`.

    A block has a minimum of vertices and edges to process, because each further block makes barriers slower.
    """
    if plan.variant.small:
        return 1
    work_per_block = SHARE // 32 if plan.wide else SHARE
    return max(1, min(most, (graph.n + graph.m) // work_per_block + 1))


def _lanes_per_vertex(degree: float) -> int:
    """Return how many threads visit the edges of one vertex together, given the graph's mean degree.

    The number is used where a schedule tells which vertices gather, and where few vertices are active.
    """
    return 4 if degree <= 5 else 8 if degree <= 10 else 16 if degree <= 24 else 32


def _lanes_of_single_block(n: int, m: int) -> int:
    """Return how many threads of a single block visit the edges of one vertex together: a power of two, up to 32.

    The threads of the block are divided among all n vertices. The result is at most the mean degree, m / n, so that
    every thread has an edge.
    """
    most_lanes = max(1, min(generate.THREADS // max(1, n), m // max(1, n), 32))
    return 1 << most_lanes.bit_length() - 1


def entry_type(plan: GpuPlan) -> tuple[int, int]:
    """Return two sizes in bytes of entries in a kernel's queue of active vertices: the part before the vertex, and the
    whole.

    The entries are the struct `Entry` in frontier.cuh.
    """
    offset_bytes, id_bytes = plan.offset_type.itemsize, plan.traced.id_type.itemsize
    widest = max(offset_bytes, id_bytes)
    return max(offset_bytes, id_bytes), 2 * widest


# The following functions return the sizes of a run's arrays in bytes. The memory that a run needs is estimated by them.


def workspace_sizes(plan: GpuPlan, graph: Graph, blocks: int) -> dict[str, int]:
    """Return the size in bytes, by argument name, of each array that a run needs besides the graph and its fields."""
    n, bitmap_bytes = graph.n, 4 * ((graph.n + 31) // 32)
    id_bytes = graph.id_dtype.itemsize
    has_two_claims = bool(plan.absorbs) or (plan.push_at_once and not plan.closes)
    array_bytes: dict[str, int] = {}
    if plan.keeps_active:
        array_bytes |= {"queue": 2 * n * entry_type(plan)[1], "bits": 2 * bitmap_bytes}
    if plan.claims:
        array_bytes["claimed"] = (2 if has_two_claims else 1) * bitmap_bytes
    if not plan.scheduled and (not plan.everyone or plan.keeps_receivers):
        array_bytes["aside"] = n * id_bytes
    if plan.prioritised:
        array_bytes |= {"far_bits": bitmap_bytes, "far_lists": 2 * n * id_bytes}
    for is_wanted, name, byte_count in [
        (plan.closes, "closed", bitmap_bytes),
        (plan.hub_first, "hub_neighbors", n * id_bytes),
        (plan.waits, "waits", 8 * n),
        (plan.has_buckets, "waiting", bitmap_bytes),
        (plan.changes, "changed", plan.changed.itemsize),
        (plan.read_by_level, "bits", bitmap_bytes),
    ]:
        if is_wanted:
            array_bytes[name] = byte_count
    if plan.cuts_rows:
        entries = graph.m * (2 if plan.traced.program.direction == "all" else 1)
        piece_count = entries // UNCUT + entries // PIECE + 1
        array_bytes |= {"pieces": piece_count * _piece_bytes(plan), "piece_values": piece_count * gathered_bytes(plan)}
    array_bytes |= tables.sizes(plan, graph, plan.variant.table_slots, plan.shares_keys)
    if plan.keeps_bits_of_receivers:
        array_bytes["received"] = bitmap_bytes
    if plan.keeps:
        array_bytes |= {name: n * bytes_of(value_type) for name, value_type in plan.components}
    array_bytes |= {
        f"to_{name}": 3 * n * bytes_of(value_type) for name, value_type in plan.traced.deposit_types.items()
    }
    array_bytes |= {f"was_{name}": n * bytes_of(plan.traced.vertex_types[name]) for name in plan.behind}
    if plan.small_frontiers:
        widest = max(plan.offset_type.itemsize, id_bytes)
        array_bytes["segments"] = 2 * blocks * SEGMENT * (16 if widest == 4 else 32)
    if plan.traced.aggregates:
        aggregate_struct = np.dtype([(n, k) for n, k in plan.traced.aggregate_types.items()], align=True)
        array_bytes["parts"] = 2 * blocks * aggregate_struct.itemsize
    return array_bytes


def _piece_bytes(plan: GpuPlan) -> int:
    id_type, offset_type = plan.traced.id_type, plan.offset_type
    return np.dtype(
        [("row", id_type), ("of", "u4"), ("first", offset_type), ("last", offset_type)], align=True
    ).itemsize


def field_bytes(plan: GpuPlan, graph: Graph) -> int:
    """Return how many bytes the vertex and edge fields of one run take, second copies included."""
    bytes_per_vertex = sum(
        bytes_of(value_type) * (2 if n in plan.doubled else 1) for n, value_type in plan.traced.vertex_types.items()
    )
    edge_fields = [*plan.edge_states, *plan.edges_behind]
    return graph.n * bytes_per_vertex + graph.m * sum(bytes_of(plan.traced.edge_types[n]) for n in edge_fields)


def gathered_bytes(plan: GpuPlan) -> int:
    """Return the bytes that a program's gathered value for one vertex takes on the device."""
    gathered_type = plan.traced.gathered_type
    if isinstance(gathered_type, TupleType):
        item_types = [(f"f{i}", _numpy_field_type(item)) for i, item in enumerate(gathered_type.items)]
        return int(np.dtype(item_types, align=True).itemsize)
    return bytes_of(gathered_type)


def _numpy_field_type(value_type: Any) -> Any:
    return (value_type.scalar, (value_type.length,)) if isinstance(value_type, VectorType) else value_type
