"""Runs on several GPUs whose kernels exchange values without the host: the memory that they share, and each GPU's run.

Each GPU has one kernel, which runs on its part of the graph to the end of the run. kernels/loop/peers.cuh says what
happens in a superstep, that is, in an iteration with the exchange after it.
"""

import functools
import itertools
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from gasla.arrays import address, finish, module_of, require_gpu
from gasla.gpu.program import relabel
from gasla.gpu.program.engine import Run
from gasla.gpu.program.inputs import offset_type
from gasla.gpu.program.plan import STORES, GpuPlan, Variant, bytes_of, has_wide_values
from gasla.gpu.program.variants import ShapeOf, choose
from gasla.gpu.program.workspace import Cached, free_workspaces
from gasla.gpu.runtime import joint_memory, nccl, shared_memory
from gasla.gpu.runtime.waiting import is_idle, is_lost, yielding
from gasla.graph.graph import Graph
from gasla.program import Frontier, VertexProgram
from gasla.program.hooks import TOGETHER
from gasla.program.part import OWN
from gasla.program.plan import Plan

__all__ = [
    "MOST",
    "Mirrors",
    "PeerRun",
    "are_peers",
    "can_exchange",
    "card_of",
    "enable",
    "free_unused",
    "is_lost",
    "joint_memory",
    "meet",
    "nccl",
    "number",
    "on",
    "part",
    "shared_memory",
    "waiting",
    "yielding",
]

MOST = 32  # largest number of GPUs in a run, because each of the 32 threads of a warp waits for one GPU
KINDS = ("notice", "bits", "values")
PEER = np.dtype(  # the struct `gasla::Peer`, by which a kernel knows the memory of one of the other GPUs
    [(name, np.uint64) for name in ("sends", "mirrored", "receives", "plain", "first", "sent", "received")]
    + [(f"{kind}_{side}", np.uint64, 2) for kind in KINDS for side in ("there", "here")]
)
ALIGNMENT = 256  # alignment in bytes of each buffer into which other GPUs store
# Active vertices are sent as a bitmap, or as a list in the memory of the bitmap, which is a multiple of 64 words. The
# size of a buffer of values is rounded up to a multiple of 64 vertices as well, so that it has room for the value of
# each entry of such a list.
ENTRIES = 64
WAIT = 60  # seconds that a kernel waits for another GPU before the run fails (as in peers.cuh)
# what a kernel reports as the number of active vertices of all GPUs if some GPU has not answered in time (peers.cuh)
UNKNOWN = -1
ENABLED = 704  # number of CUDA's error cudaErrorPeerAccessAlreadyEnabled


def can_exchange(plan: Plan) -> bool:
    """Return whether the kernels of several GPUs can exchange what a program needs without the host.

    If the program sets `everyone`, a kernel sends the fields of all vertices after each iteration. Otherwise a kernel
    sends only those of active vertices. So the result is False if a field that neighbors read may change at a vertex
    that stays inactive, because its new value would not be sent.
    """
    traced, functions = plan.traced, plan.traced.functions
    if functions.keys() & TOGETHER or traced.looks_up or plan.edge_states:
        return False
    if has_wide_values(traced) or (plan.prioritised and not plan.is_single):
        return False
    if plan.everyone:
        return not plan.keeps_active
    fields_revised_for_neighbors = set(traced.seen_by_neighbors) & traced.revised
    return plan.active_only or not ({"activate"} & functions.keys() or fields_revised_for_neighbors)


def are_peers(cards: Sequence[int]) -> bool:
    """Return whether the GPUs with the numbers `cards` can all access each other's memory, and are at most `MOST`.

    Only then can their kernels exchange values without the host.
    """
    runtime: Any = require_gpu().cuda.runtime
    pairs = {(from_card, to_card) for from_card in cards for to_card in cards if from_card != to_card}
    return len(cards) <= MOST and all(runtime.deviceCanAccessPeer(from_card, to_card) for from_card, to_card in pairs)


def enable(cards: Sequence[int]) -> None:
    """Let kernels on the current GPU access the memory of the GPUs `cards`."""
    runtime: Any = require_gpu().cuda.runtime
    current_card = runtime.getDevice()
    for card in sorted(set(cards) - {current_card}):
        try:
            runtime.deviceEnablePeerAccess(card)
        except runtime.CUDARuntimeError as error:
            if error.status != ENABLED:
                raise


@functools.cache
def _stream(card: int, rank: int) -> Any:
    return require_gpu().cuda.Stream(non_blocking=True)


def on(card: int) -> AbstractContextManager[Any]:
    """Return a context manager that makes the GPU with the number `card` CuPy's current one."""
    device_context: AbstractContextManager[Any] = require_gpu().cuda.Device(card)
    return device_context


def waiting(card: int) -> Callable[[], None]:
    """Return a function that waits until the GPU `card` has done all work of the stream that is current now.

    Any thread may call the function later.
    """
    stream = require_gpu().cuda.get_current_stream()

    def wait() -> None:
        with on(card):
            stream.synchronize()

    return wait


def free_unused(cards: Sequence[int]) -> None:
    """Free memory of the GPUs `cards`: workspaces (buffers of runs) that no run uses, and what CuPy keeps for later
    arrays.
    """
    for card in sorted(set(cards)):
        with on(card):
            finish("gpu")  # waits, because the workspace of a running kernel can't be freed
    free_workspaces()
    joint_memory.free_blocks(cards)


def card_of(card: int, rank: int, shares_card: bool) -> "Card":
    """Return a function that makes a context manager, in whose `with` block the GPU of a rank is the current one.

    `card` is the number of the GPU. With `shares_card`, several ranks use this GPU. Each of them then gets a stream of
    its own, because kernels of one stream can't run at the same time.
    """
    device = require_gpu().cuda.Device
    return functools.partial(_on_stream, card, rank) if shares_card else functools.partial(device, card)


@contextmanager
def _on_stream(card: int, rank: int) -> Iterator[None]:
    with on(card), _stream(card, rank):
        yield


@dataclass
class Mirrors:
    """The vertices whose values a rank exchanges with other ranks.

    A *mirror* is a copy of a vertex that another rank owns.

    Attributes
    ----------
    sends : list of array
        `sends[r]` are the vertices of this rank that rank r mirrors, in the order of its mirrors. The arrays are on the
        GPU.
    cuts : sequence of int
        The vertices cuts[r] to cuts[r + 1] - 1 of this rank are mirrors of vertices of rank r.
    """

    sends: list[Any]
    cuts: Sequence[int]


# a function whose result makes the GPU of a rank the current one, in a `with` block
Card = Callable[[], AbstractContextManager[Any]]


class Group(Protocol):
    """The ranks whose kernels exchange values, as one process sees them. A process may drive several ranks.

    Arguments have an entry for each rank that the process drives. Results have an entry for each of all ranks, in their
    order. All processes call the same methods in the same order.
    """

    here: Sequence[int]
    size: int

    def told(self, *numbers: int) -> list[list[int]]:
        """Send the integers `numbers` from this process to all other processes.

        Return a list with the numbers of every process, so that all processes can make the same decision.
        """

    def gather(self, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the arrays of all ranks, given in `parts` the arrays of the ranks that this process drives.

        All arrays have the same type, and the same shape except for the first axis.
        """

    def exchange(self, parts: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Send the array `parts[i][r]` from the rank number i of this process to the rank r, for all i and r.

        Return for each rank of this process a list of the arrays that it receives, in the order of the sending ranks.
        The arrays are on a GPU, which may be the sender's.
        """

    def memory(self, run: Any, size: int) -> Any:
        """Allocate `size` bytes on the current GPU, in memory that the kernels of all ranks can access."""

    def share(self, number: int, memories: Sequence[Any]) -> Any:
        """Let the kernels of all ranks read and write `memories`, an allocation for each rank that this process drives.

        Return an object with the attribute `addresses`: where the kernels of this process find the allocations of all
        ranks, including those in other processes. The addresses are valid as long as every process keeps the object
        that it got.
        """


def entries_of(count: Any) -> Any:
    """Return the capacity, in vertices, of a buffer for the values of `count` vertices (`gasla::entries_of` in CUDA).

    The capacity is `count`, rounded up to a multiple of ENTRIES.
    """
    return -(-count // ENTRIES) * ENTRIES


class Buffers:
    """The memory of one GPU into which the kernels of other GPUs store what they send during a run.

    The memory has three buffers for each rank. They hold *notices* (the counts that a rank reports after a superstep),
    bitmaps of active vertices, and values of vertices. Each buffer has two halves, one for even and one for odd
    supersteps. So a GPU that is a superstep ahead overwrites nothing that this GPU still reads.
    """

    def __init__(self, plan: GpuPlan, cuts: Sequence[int], empty: Callable[[int], Any]) -> None:
        bytes_per_vertex = sum(bytes_of(plan.traced.vertex_types[name]) for name in plan.traced.seen_by_neighbors)
        aggregate_bytes = np.dtype([*plan.traced.aggregate_types.items()], align=True).itemsize
        counts = np.diff(np.asarray(cuts, np.int64))
        buffer_sizes = [
            np.full(len(counts), 32 + aggregate_bytes),
            -(-counts // 32) * 4,
            entries_of(counts) * bytes_per_vertex,
        ]
        # buffer sizes in bytes: a row for each half of the notices, bitmaps and values, and a column for each rank
        aligned_sizes = -(-np.repeat(buffer_sizes, 2, axis=0) // ALIGNMENT) * ALIGNMENT
        array_ends = aligned_sizes.cumsum().reshape(aligned_sizes.shape)
        self.memory = empty(int(array_ends[-1, -1]))
        self.memory[: array_ends[1, -1]] = 0  # zero means that no notice has come yet
        # offsets in `memory`: a row for each rank, and a column for each half of the notices, bitmaps and values
        self.offsets = (array_ends - aligned_sizes).T.astype(np.uint64)

    def peers(
        self, cuts: Sequence[int], sent: "Sequence[_Sent]", receives: "Sequence[_Received]", there: np.ndarray
    ) -> Any:
        """Return an array of the structs `gasla::Peer`, one for each rank, by which this GPU's kernel exchanges values.

        `sent` and `receives` have, for each rank, the vertices whose values are sent to it and received from it.
        `there[r]` are the addresses in the memory of rank r to which this rank stores.
        """
        table = np.zeros(len(self.offsets), PEER)
        own_addresses = self.offsets + np.uint64(address(self.memory))
        table["received"] = np.diff(cuts)
        for struct, sent_to, received_from in zip(table, sent, receives, strict=True):
            struct["sent"], struct["sends"] = len(sent_to.ids), _address(sent_to.ids)
            struct["mirrored"], struct["receives"] = _address(sent_to.mirrored), _address(received_from.ids)
            struct["plain"], struct["first"] = received_from.plain, received_from.first % (1 << 64)
        for i, array_kind in enumerate(KINDS):
            table[f"{array_kind}_here"], table[f"{array_kind}_there"] = (
                x[:, 2 * i : 2 * i + 2] for x in (own_addresses, there)
            )
        return table


def _address(array: Any) -> int:
    """Return the address of an array, or 0 if the array is empty or None."""
    return 0 if array is None or not len(array) else address(array)


class PeerRun(Run):
    """A run of a program on one GPU, as one part of a run on several GPUs.

    Its kernel waits for the kernels of the other GPUs. So the host must launch all of them before it waits for one.

    Parameters
    ----------
    program : VertexProgram
        The program for this part: it knows that the graph has the GPU's own vertices first, and then mirrors.
    graph : Graph
        This GPU's part of the graph. Mirrors are copies of the neighbors that other GPUs own, and gather nothing.
    fields : mapping
        Start values by name of the field.
    way : int
        Whether iterations may push, pull, or both: one of the constants AUTO, PUSH and PULL.
    deterministic : bool
        Whether equal runs have to give equal bits.
    share : int
        The number of ranks that use this GPU. Each rank's kernel leaves blocks to the others, so that all run at once.
    """

    # The CUDA driver may hold back a launched kernel until it is called again. The kernels of other GPUs would then
    # wait, so a wait for the end of a run calls the driver all the time.
    asks = True

    def __init__(
        self, program: VertexProgram, graph: Graph, fields: Mapping[str, Any], way: int, deterministic: bool, share: int
    ) -> None:
        self._cached = _find_cached(program, graph, deterministic)
        self.plan, self._way = self._cached.plan, way
        self.bind(program, graph, self._cached.xp)
        self.numbering = relabel.numbering(graph, program.direction) if self.plan.relabelled else None
        self._caller_arrays = {}
        # The function that begins a run over ranks has checked the fields already, so they are not checked here.
        self._take_memory(self.by_inner_name(fields) if self.traced.renames else fields, None)
        self._workspace.blocks = max(1, min(self._workspace.blocks, self._workspace.kernel.blocks // share))

    @property
    def row_count(self) -> int:
        """The number of vertices of this GPU's part whose adjacency lists the kernel reads.

        All later vertices are mirrors (copies of vertices that other GPUs own), whose adjacency lists are empty.
        """
        return int(self.program.values[OWN]) if self.numbering is None else self.numbering.rows

    @property
    def meetings(self) -> deque[Any]:
        """The cached meetings (buffers that GPUs share) that no run uses now."""
        return self._cached.meetings

    def memory(self, size: int) -> Any:
        """Allocate `size` bytes on this run's GPU."""
        return self.xp.empty(size, np.uint8)

    def join(self, place: "Place", rounds: int) -> None:
        """Set the kernel's arguments about the other GPUs, such as the addresses to which it stores values.

        `place` has these arguments. `rounds` is how often the kernels of all GPUs have exchanged values in earlier
        runs, because kernels number their exchanges.
        """
        self._place = place  # a reference, so that the arrays to which the kernel's arguments point are not freed
        if self._workspace.place is not place:
            self._workspace.place = place
            for name, value in place.arguments(self.plan.sends_at_once).items():
                self._workspace.keep(name, value)
        self._arguments.met = rounds

    @property
    def rounds(self) -> int:
        """The number of times that the kernels of this GPU and of other GPUs have exchanged values so far.

        A run that uses the buffers of earlier runs again goes on with the number at which the last of them ended.
        """
        return int(self._workspace.control.round)

    def launch(self, until: int, trace: bool = False) -> None:
        """Launch this GPU's kernel up to iteration `until`, without waiting for its end.

        The kernel can't end before the kernels of the other GPUs have been launched.
        """
        arguments, workspace = self._arguments, self._workspace
        arguments.limit, arguments.fresh = until, self._fresh
        workspace.page.progress = self.iteration
        workspace.launch()

    def state(self) -> Mapping[str, Any]:
        """Return the current fields, by their names in the program."""
        if "_fields" not in self.__dict__:
            self._wrap_memory()
        return super().state()

    def finish(self, progress: Callable[[int], Any] | None = None) -> None:
        """Wait for the kernel to end, and read how far the run has come.

        Raise TimeoutError if the kernel gave up because it waited too long for another GPU.
        """
        workspace = self._workspace
        # Kernels of all GPUs end together. So if the host has waited for another GPU's kernel, this one has probably
        # ended, and nothing is left to wait for.
        if workspace.page.ended != self._arguments.launch:
            self._wait(progress)
        self._fresh, control = False, workspace.control
        self.iteration, self.edges, self.stopped = control.iteration, control.total, bool(control.done)
        self.ended = self.stopped or self.plan.is_over(control.everywhere, 1)
        if control.everywhere == UNKNOWN or (not self.ended and self.iteration < self._arguments.limit):
            raise TimeoutError(
                f"the kernel waited {WAIT} s for that of another GPU, in superstep {self.iteration + 1}; expected all "
                "GPUs to be free for this run: other work on one of them may have to end first"
            )

    @property
    def superstep(self) -> int:
        """The number of the current iteration, which the kernel reports while it runs."""
        return int(self._workspace.page.progress)

    def raise_failure(self) -> None:
        """Raise CuPy's error if this GPU's kernel has failed. Return at once, without an error, if the kernel still
        runs.
        """
        is_idle()

    def ask_to_stop(self) -> None:
        """Ask the kernel to end, even if the kernels of other GPUs never report. This returns at once."""
        self._workspace.stop()

    def wait_for_end(self) -> None:
        """Wait until the kernel has ended."""
        self.xp.cuda.get_current_stream().synchronize()

    def frontier(self) -> Frontier:
        """Return the vertices of this GPU's part of the graph that are active now, mirrors (copies of other GPUs'
        vertices) included.
        """
        if self.plan.keeps_active:
            return super().frontier()
        return Frontier.none(self.graph.n) if self.ended else Frontier.all(self.graph.n)


class Place(NamedTuple):
    """What the kernel of one rank has to know of the other ranks.

    Attributes
    ----------
    peers : array
        The structs `gasla::Peer`, one for each rank, on the GPU.
    structs : array
        The same structs in host memory.
    rank, ranks : int
        The number of this rank, and the number of ranks.
    arrays : tuple
        The arrays to which the structs point, which must not be freed.
    """

    peers: Any
    structs: np.ndarray
    rank: int
    ranks: int
    arrays: Any

    def arguments(self, sends_at_once: bool) -> dict[str, Any]:
        """Return the kernel's arguments about other ranks, by name.

        With `sends_at_once`, the kernel stores each new value in other GPUs' memory as soon as the value is computed.
        The addresses of that memory are then arguments themselves, because a kernel reads arguments faster than other
        memory.
        """
        arguments: dict[str, Any] = {"peers": address(self.peers), "rank": self.rank, "ranks": self.ranks}
        if sends_at_once:
            stores = np.zeros((), STORES)
            for i in range(self.ranks - 1):
                peer = self.structs[(self.rank + 1 + i) % self.ranks]
                entries = entries_of(int(peer["sent"]))
                of_peer = dict(zip(("even", "odd"), peer["values_there"], strict=True), entries=entries)
                for name, value in {"mirrored": peer["mirrored"], **of_peer}.items():
                    stores[f"of_{i}_{name}"] = value
            arguments["stores"] = tuple(stores.reshape(1).view(np.uint64).tolist())
        return arguments


class Meeting:
    """The buffers by which the kernels of all GPUs exchange values, for one run of a program at a time.

    A process has the buffers of its own ranks. Kernels number their exchanges, and the numbers go on in the next run,
    so the buffers need not be reset between runs.
    """

    def __init__(
        self, number: int, runs: Sequence[Any], mirrors: Sequence[Mirrors], on: Sequence[Card], group: Group
    ) -> None:
        self.number, self.rounds = number, 0
        self._buffers: list[Buffers] = []
        sent_by_run: list[list[_Sent]] = []
        for i, run in enumerate(runs):
            with on[i]():
                sent_by_run.append([_vertices_sent_to(run, peer, ids) for peer, ids in enumerate(mirrors[i].sends)])
                self._buffers.append(Buffers(run.plan, mirrors[i].cuts, functools.partial(group.memory, run)))
                # Other GPUs write notices here as soon as they get the address of this memory, so it must be zeroed
                # before.
                finish(run.graph.device)
        self._shared = group.share(number, [buffers.memory for buffers in self._buffers])
        offsets = group.gather([buffers.offsets for buffers in self._buffers])
        orders = group.exchange([[sent_vertices.order for sent_vertices in of_run] for of_run in sent_by_run])
        self.places: list[Place] = []
        for i, run in enumerate(runs):
            with on[i]():
                cuts = mirrors[i].cuts
                receives = [
                    _received(run, *mirror_range, order)
                    for mirror_range, order in zip(pairwise(cuts), orders[i], strict=True)
                ]
                rank = group.here[i]
                there = [
                    offsets[peer][rank] + np.uint64(memory_address)
                    for peer, memory_address in enumerate(self._shared.addresses)
                ]
                structs = self._buffers[i].peers(cuts, sent_by_run[i], receives, np.array(there, np.uint64))
                peers = run.xp.asarray(structs.view(np.uint8))
                self.places.append(Place(peers, structs, rank, group.size, (sent_by_run[i], receives)))
                finish(run.graph.device)


class _Sent(NamedTuple):
    """The vertices of this rank that another rank mirrors.

    Attributes
    ----------
    ids : array
        The ids of the vertices on this rank, ascending. Their values are sent in this order.
    order : array
        The position of each of these vertices in the other rank's own order of the mirrors. It is empty if both orders
        are the same.
    mirrored : array
        A struct `gasla::Mirrored` for each 32 vertices of this part.
    """

    ids: Any
    order: Any
    mirrored: Any


def _vertices_sent_to(run: Any, rank: int, ids: Any) -> _Sent:
    """Return the vertices of this GPU whose values are sent to a rank, in the order in which the kernel sends them.

    `ids` are the vertices that the rank mirrors (has copies of), in the order of its mirrors. The graph caches the
    result.
    """

    def ordered(_: Graph) -> tuple[Any, Any]:
        if run.numbering is None:
            return ids, run.xp.empty(0, np.int64)
        new_ids = run.numbering.inverse[ids]
        order = run.xp.argsort(new_ids).astype(np.int64)
        return new_ids[order], order

    key = "sent", run.program.direction, rank, run.numbering is not None
    ids, order = run.graph.kept(key, ordered)
    return _Sent(ids, order, run.graph.kept(("mirrored", *key), lambda _: _mirrored(run, ids)))


def _mirrored(run: Any, ids: Any) -> Any:
    """Return a struct `gasla::Mirrored` for each 32 vertices of a GPU's part of the graph.

    By the structs, a kernel finds the position of a vertex in `ids`, the ascending ids of the vertices that another GPU
    mirrors. A struct has a bit for each of its 32 vertices, set if the vertex is in `ids`. It also has the number of
    vertices in `ids` that come before the 32 vertices.
    """
    xp, word_count = run.xp, -(-run.graph.n // 32)
    flags = xp.zeros(32 * word_count, np.uint8)
    flags[ids] = 1
    table = xp.empty((word_count, 2), np.uint32)
    table[:, 0] = xp.packbits(flags, bitorder="little").view(np.uint32)
    counts = flags.reshape(word_count, 32).sum(axis=1, dtype=np.int64)
    table[:, 1] = xp.cumsum(counts) - counts
    return table


class _Received(NamedTuple):
    """The mirrors on this rank of another rank's vertices, in the order in which that rank sends their values.

    Attributes
    ----------
    ids : array or None
        The ids of the mirrors. A kernel only reads those before position `plain`.
    plain, first : int
        From position `plain` on, the id of a mirror is `first` plus its position.
    """

    ids: Any
    plain: int
    first: int


def _received(run: Any, first_mirror: int, mirror_end: int, order: Any) -> _Received:
    """Return the ids of this GPU's mirrors (copies) of another rank's vertices, in the order in which values are sent.

    `first_mirror` and `mirror_end` are the range of ids (the latter excluded) that these mirrors had before the
    vertices of this GPU's part were renumbered.
    """
    xp, numbering = run.xp, run.numbering
    if first_mirror == mirror_end or (numbering is None and not len(order)):
        return _Received(None, 0, first_mirror)
    ids = (
        xp.arange(first_mirror, mirror_end, dtype=run.graph.id_dtype)
        if numbering is None
        else numbering.inverse[first_mirror:mirror_end]
    )
    ids = ids[xp.array(order)] if len(order) else ids
    first_id = int(ids[-1]) - len(ids) + 1
    irregular_positions = xp.flatnonzero(ids != xp.arange(first_id, first_id + len(ids), dtype=ids.dtype))
    return _Received(ids, int(irregular_positions[-1]) + 1 if len(irregular_positions) else 0, first_id)


def number(
    programs: Sequence[Any],
    graphs: Sequence[Graph],
    deterministic: bool,
    mirrors: Sequence[Mirrors],
    on: Sequence[Card],
    group: Group,
) -> None:
    """Renumber the vertices of each GPU's part of the graph if this makes the program faster, and cache the numbering.

    Mirrors are numbered in the order in which their vertices are numbered on the GPUs that own them.
    """
    # for each part that is to be renumbered, the order of its vertices and its number of rows, else None
    orders: list[Any] = []
    for i, (program, graph) in enumerate(zip(programs, graphs, strict=True)):
        with on[i]():
            is_new = _find_cached(program, graph, deterministic).plan.relabelled and not _numbering(program, graph)
            own_count = program.values[OWN]
            orders.append(relabel.order_of_part(graph, program.direction, own_count) if is_new else None)
    if not np.any(group.gather([np.array([order is not None]) for order in orders])):
        return
    mirror_positions = []
    for i, (program, graph) in enumerate(zip(programs, graphs, strict=True)):
        with on[i]():
            numbering, xp = _numbering(program, graph), module_of(graph.device)
            inverse = None if numbering is None else numbering.inverse
            if orders[i] is not None:
                inverse = relabel.inverse_of(orders[i][0], graph.id_dtype)
            sends = mirrors[i].sends
            mirror_positions.append([(ids if inverse is None else inverse[ids]).astype(np.int64) for ids in sends])
            finish(graph.device)
    received_positions = group.exchange(mirror_positions)
    for i, (program, graph) in enumerate(zip(programs, graphs, strict=True)):
        if orders[i] is not None:
            with on[i]():
                positions_of_peers = [
                    xp.array(positions) + (rank << 32) for rank, positions in enumerate(received_positions[i])
                ]
                (order, rows), own_count = orders[i], program.values[OWN]
                relabel.number_part(
                    graph, program.direction, order, rows, own_count, xp.concatenate(positions_of_peers)
                )
                # Another GPU may reuse the memory of its `mirror_positions` after this, so the copies in
                # `positions_of_peers` must be complete.
                finish(graph.device)


def _numbering(program: Any, graph: Graph) -> Any:
    """Return the numbering of vertices that a GPU's part of the graph has been given for a program, or None."""
    return graph.known(("numbering", program.direction))


_counter = itertools.count(1)


def meet(runs: Sequence[Any], mirrors: Sequence[Mirrors], on: Sequence[Card], group: Group) -> Meeting:
    """Give the runs of this process the buffers by which the kernels of all GPUs exchange values, and return these
    buffers.

    The buffers of an earlier run are used again if all processes have cached the same `Meeting`. Otherwise new buffers
    are allocated.
    """
    meeting: Meeting | None = runs[0].meetings.popleft() if runs[0].meetings else None
    own_numbers = (-1, -1) if meeting is None else (meeting.number, meeting.rounds)
    all_numbers = group.told(next(_counter), *own_numbers)
    if meeting is None or [
        numbers_of_rank for numbers_of_rank in all_numbers if numbers_of_rank[1:] != all_numbers[0][1:]
    ]:
        meeting = Meeting(max([meeting_number for meeting_number, *_ in all_numbers]), runs, mirrors, on, group)
    for run, meeting_place in zip(runs, meeting.places, strict=True):
        run.join(meeting_place, meeting.rounds)
    return meeting


def part(runs: Sequence[Any], meeting: Meeting) -> None:
    """Cache the buffers (the `Meeting`) of runs on several GPUs that have ended, for a later run of the same program.

    If a run failed, its kernel may have exchanged values less often than the others. The buffers are then dropped,
    because kernels number their exchanges.
    """
    if len(rounds := {run.rounds for run in runs}) == 1:
        (meeting.rounds,) = rounds
        runs[0].meetings.append(meeting)


def _find_cached(program: VertexProgram, graph: Graph, deterministic: bool) -> Cached:
    """Return the kernel and the memory that all runs of a program on one GPU's part of a graph share.

    They are made at the first call, and cached with the part.
    """
    program_class: Any = type(program)

    def make(graph: Graph) -> Cached:
        variant = choose(
            program,
            graph.id_dtype,
            offset_type(program, graph),
            deterministic,
            False,
            ShapeOf(program, graph, False, False),
        )
        return Cached(program_class, graph, peers_variant(variant))

    # A part of a graph is on one GPU only, so the key need not contain the number of the GPU.
    cached: Cached = graph.kept(("peers", program_class, deterministic), make)
    return cached


def peers_variant(variant: Variant) -> Variant:
    """Return a kernel's variant (what the kernel is specialized for), changed so that it exchanges values with other
    GPUs.

    In the result, active vertices are always stored as an array of ids or as a bitmap, because they can't be sent in
    other forms.
    """
    return replace(variant, peers=True, bounded_degree=False, local=False, small=False)
