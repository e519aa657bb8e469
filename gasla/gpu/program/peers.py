"""Runs whose kernels exchange values with those of other GPUs: the memory that they share, and the run on one GPU.

Each GPU has one persistent kernel, on its part of the graph. kernels/loop/peers.cuh says what happens in a superstep.
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

MOST = 32  # GPUs: each is served by one lane of a warp
KINDS = ("notice", "bits", "values")
PEER = np.dtype(  # gasla::Peer
    [(name, np.uint64) for name in ("sends", "mirrored", "receives", "plain", "first", "sent", "received")]
    + [(f"{kind}_{side}", np.uint64, 2) for kind in KINDS for side in ("there", "here")]
)
ALIGNMENT = 256  # bytes
ENTRIES = 64  # in a buffer of values a multiple of these: a list in the memory of a bitmap has as many, or more
WAIT = 60  # seconds for which a kernel waits for a peer (peers.cuh)
UNKNOWN = -1  # active vertices of all GPUs, where the kernel has not heard of some (peers.cuh)
ENABLED = 704  # cudaErrorPeerAccessAlreadyEnabled


def can_exchange(plan: Plan) -> bool:
    """Return whether kernels can exchange by themselves what a program's vertices read of each other.

    They send the fields of all vertices if every vertex takes part, and else those of active vertices. So without
    `everyone`, no field that neighbors read may change while its vertex stays inactive.
    """
    traced, functions = plan.traced, plan.traced.functions
    if functions.keys() & TOGETHER or traced.looks_up or plan.edge_states:
        return False
    if has_wide_values(traced) or (plan.prioritised and not plan.is_single):
        return False
    if plan.everyone:
        return not plan.keeps_active
    later = set(traced.seen_by_neighbors) & traced.revised
    return plan.active_only or not ({"activate"} & functions.keys() or later)


def are_peers(cards: Sequence[int]) -> bool:
    """Return whether the GPUs of all ranks can reach each other's memory, and are not too many."""
    runtime: Any = require_gpu().cuda.runtime
    pairs = {(a, b) for a in cards for b in cards if a != b}
    return len(cards) <= MOST and all(runtime.deviceCanAccessPeer(a, b) for a, b in pairs)


def enable(cards: Sequence[int]) -> None:
    """Let kernels on the current GPU reach the memory of all other GPUs."""
    runtime: Any = require_gpu().cuda.runtime
    here = runtime.getDevice()
    for card in sorted(set(cards) - {here}):
        try:
            runtime.deviceEnablePeerAccess(card)
        except runtime.CUDARuntimeError as error:
            if error.status != ENABLED:
                raise


@functools.cache
def _stream(card: int, rank: int) -> Any:
    return require_gpu().cuda.Stream(non_blocking=True)


def on(card: int) -> AbstractContextManager[Any]:
    """Make a GPU the current one."""
    found: AbstractContextManager[Any] = require_gpu().cuda.Device(card)
    return found


def waiting(card: int) -> Callable[[], None]:
    """Return a function that waits for the work on a GPU's current stream. Other threads may call it later."""
    stream = require_gpu().cuda.get_current_stream()

    def wait() -> None:
        with on(card):
            stream.synchronize()

    return wait


def free_unused(cards: Sequence[int]) -> None:
    """Free on these GPUs the workspaces that no run uses, and memory that no array uses."""
    for card in sorted(set(cards)):
        with on(card):
            finish("gpu")  # workspaces of a kernel that runs are kept
    free_workspaces()
    joint_memory.free_blocks(cards)


def card_of(card: int, rank: int, shares_card: bool) -> "Card":
    """Return a function that makes the GPU of a rank the current one.

    If ranks share it, each has a stream of its own, as the kernels of one stream run in turn.
    """
    device = require_gpu().cuda.Device
    return functools.partial(_on_stream, card, rank) if shares_card else functools.partial(device, card)


@contextmanager
def _on_stream(card: int, rank: int) -> Iterator[None]:
    with on(card), _stream(card, rank):
        yield


@dataclass
class Mirrors:
    """The vertices whose values a rank exchanges.

    Attributes
    ----------
    sends : list of array
        `sends[r]`: own vertices that rank r mirrors, in the order of its mirrors; arrays on the GPU.
    cuts : sequence of int
        Vertices cuts[r] to cuts[r + 1] - 1 mirror vertices of rank r.
    """

    sends: list[Any]
    cuts: Sequence[int]


Card = Callable[[], AbstractContextManager[Any]]  # makes the GPU of a rank the current one


class Group(Protocol):
    """The ranks whose kernels meet, as a process knows them: those that it drives itself, and all together.

    Arguments have an entry for each rank that the process drives, results for all ranks, in their order. All processes
    call the same methods in the same order.
    """

    here: Sequence[int]
    size: int

    def told(self, *numbers: int) -> list[list[int]]:
        """Return the numbers that each process gives."""

    def gather(self, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the arrays of all ranks, which have one type, and one shape but for the first axis."""

    def exchange(self, parts: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Send `parts[i][r]` to rank r. Return what each rank here receives, by the rank that has sent it.

        The arrays are on a GPU, which may be that of the sender.
        """

    def memory(self, run: Any, size: int) -> Any:
        """Return memory on the current GPU that the kernels of all ranks can reach."""

    def share(self, number: int, memories: Sequence[Any]) -> Any:
        """Return an object whose `addresses` are where kernels here reach the memories of all ranks.

        They stay there as long as the object, of any process.
        """


def entries_of(count: Any) -> Any:
    """Return the entries of each field in a buffer of values, at least those of a list (`gasla::entries_of`)."""
    return -(-count // ENTRIES) * ENTRIES


class Buffers:
    """The memory into which other GPUs store: for each rank notices, bitmaps and values, each with two halves."""

    def __init__(self, plan: GpuPlan, cuts: Sequence[int], empty: Callable[[int], Any]) -> None:
        per_vertex = sum(bytes_of(plan.traced.vertex_types[name]) for name in plan.traced.seen_by_neighbors)
        sums = np.dtype([*plan.traced.aggregate_types.items()], align=True).itemsize
        counts = np.diff(np.asarray(cuts, np.int64))
        each = [np.full(len(counts), 32 + sums), -(-counts // 32) * 4, entries_of(counts) * per_vertex]
        sizes = -(-np.repeat(each, 2, axis=0) // ALIGNMENT) * ALIGNMENT  # bytes of each kind and half, by rank
        ends = sizes.cumsum().reshape(sizes.shape)
        self.memory = empty(int(ends[-1, -1]))
        self.memory[: ends[1, -1]] = 0  # no notice has come yet
        self.offsets = (ends - sizes).T.astype(np.uint64)  # (rank, kind and half)

    def peers(
        self, cuts: Sequence[int], sent: "Sequence[_Sent]", receives: "Sequence[_Received]", there: np.ndarray
    ) -> Any:
        """Return the structs for the kernel. `there[r]` are the addresses that rank r has for this rank."""
        table = np.zeros(len(self.offsets), PEER)
        here = self.offsets + np.uint64(address(self.memory))
        table["received"] = np.diff(cuts)
        for struct, out, into in zip(table, sent, receives, strict=True):
            struct["sent"], struct["sends"] = len(out.ids), _address(out.ids)
            struct["mirrored"], struct["receives"] = _address(out.mirrored), _address(into.ids)
            struct["plain"], struct["first"] = into.plain, into.first % (1 << 64)
        for i, kind in enumerate(KINDS):
            table[f"{kind}_here"], table[f"{kind}_there"] = (x[:, 2 * i : 2 * i + 2] for x in (here, there))
        return table


def _address(array: Any) -> int:
    """Return the address of an array, or 0 if it is empty or None."""
    return 0 if array is None or not len(array) else address(array)


class PeerRun(Run):
    """The part of a run that one GPU does.

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

    # The driver may hold back a kernel of one GPU until it is called again, while those of others wait for it.
    asks = True

    def __init__(
        self,
        program: VertexProgram,
        graph: Graph,
        fields: Mapping[str, Any],
        way: int,
        deterministic: bool,
        share: int,
    ) -> None:
        self._cached = _find_cached(program, graph, deterministic)
        self.plan, self._way = self._cached.plan, way
        self.bind(program, graph, self._cached.xp)
        self.numbering = relabel.numbering(graph, program.direction) if self.plan.relabelled else None
        self._caller_arrays = {}
        # whoever begins a run over ranks has checked the fields
        self._take_memory(self.by_inner_name(fields) if self.traced.renames else fields, None)
        self._workspace.blocks = max(1, min(self._workspace.blocks, self._workspace.kernel.blocks // share))

    @property
    def row_count(self) -> int:
        """Vertices from this one on are mirrors."""
        return int(self.program.values[OWN]) if self.numbering is None else self.numbering.rows

    @property
    def meetings(self) -> deque[Any]:
        """Meetings that no run uses."""
        return self._cached.meetings

    def memory(self, size: int) -> Any:
        """Return memory on this GPU, of some bytes."""
        return self.xp.empty(size, np.uint8)

    def join(self, place: "Place", rounds: int) -> None:
        """Pass the structs of the other GPUs to the kernel, the rank of this one, and the number of meetings so far."""
        self._place = place  # the structs are used as long
        if self._workspace.place is not place:
            self._workspace.place = place
            for name, value in place.arguments(self.plan.sends_at_once).items():
                self._workspace.keep(name, value)
        self._arguments.met = rounds

    @property
    def rounds(self) -> int:
        """How often this kernel and its predecessors have met the kernels of other ranks."""
        return int(self._workspace.control.round)

    def launch(self, until: int, trace: bool = False) -> None:
        """Launch asynchronously, as the other GPUs are launched next."""
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
        """Wait for the kernel to end, and read where the run stands."""
        workspace = self._workspace
        if workspace.page.ended != self._arguments.launch:  # kernels end together: most have when the first one has
            self._wait(progress)
        self._fresh, now = False, workspace.control
        self.iteration, self.edges, self.stopped = now.iteration, now.total, bool(now.done)
        self.ended = self.stopped or self.plan.is_over(now.everywhere, 1)
        if now.everywhere == UNKNOWN or (not self.ended and self.iteration < self._arguments.limit):
            raise TimeoutError(
                f"the kernel waited {WAIT} s for that of another GPU, in superstep {self.iteration + 1}; expected all "
                "GPUs to be free for this run: other work on one of them may have to end first"
            )

    @property
    def superstep(self) -> int:
        """The current iteration, while the kernel runs."""
        return int(self._workspace.page.progress)

    def raise_failure(self) -> None:
        """Raise CuPy's error if the kernel has failed."""
        is_idle()

    def ask_to_stop(self) -> None:
        """Ask the kernel to end. It need not meet the other kernels before."""
        self._workspace.stop()

    def wait_for_end(self) -> None:
        """Wait until the kernel has ended."""
        self.xp.cuda.get_current_stream().synchronize()

    def frontier(self) -> Frontier:
        """Return the currently active vertices, mirrors among them."""
        if self.plan.keeps_active:
            return super().frontier()
        return Frontier.none(self.graph.n) if self.ended else Frontier.all(self.graph.n)


class Place(NamedTuple):
    """What the kernel of a rank knows of the other ranks at a meeting.

    Attributes
    ----------
    peers : array
        The structs, on the GPU.
    structs : array
        The same, in host memory.
    rank, ranks : int
    arrays : tuple
        To which the structs point.
    """

    peers: Any
    structs: np.ndarray
    rank: int
    ranks: int
    arrays: Any

    def arguments(self, sends_at_once: bool) -> dict[str, Any]:
        """Return the kernel's arguments, by name."""
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
    """What the kernels of all GPUs share, for one run of a program at a time: the part of it that a process has.

    Notices have the number of a meeting, and the next run goes on counting. So notices need not be reset between runs.
    """

    def __init__(
        self,
        number: int,
        runs: Sequence[Any],
        mirrors: Sequence[Mirrors],
        on: Sequence[Card],
        group: Group,
    ) -> None:
        self.number, self.rounds = number, 0
        self._buffers: list[Buffers] = []
        sent: list[list[_Sent]] = []
        for i, run in enumerate(runs):
            with on[i]():
                sent.append([_sent(run, r, ids) for r, ids in enumerate(mirrors[i].sends)])
                self._buffers.append(Buffers(run.plan, mirrors[i].cuts, functools.partial(group.memory, run)))
                finish(run.graph.device)  # notices are zero before another GPU writes one
        self._shared = group.share(number, [buffers.memory for buffers in self._buffers])
        offsets = group.gather([buffers.offsets for buffers in self._buffers])
        orders = group.exchange([[each.order for each in of_run] for of_run in sent])
        self.places: list[Place] = []
        for i, run in enumerate(runs):
            with on[i]():
                cuts = mirrors[i].cuts
                receives = [_received(run, *ends, order) for ends, order in zip(pairwise(cuts), orders[i], strict=True)]
                rank = group.here[i]
                there = [offsets[r][rank] + np.uint64(at) for r, at in enumerate(self._shared.addresses)]
                structs = self._buffers[i].peers(cuts, sent[i], receives, np.array(there, np.uint64))
                peers = run.xp.asarray(structs.view(np.uint8))
                self.places.append(Place(peers, structs, rank, group.size, (sent[i], receives)))
                finish(run.graph.device)


class _Sent(NamedTuple):
    """The own vertices that a peer mirrors.

    Attributes
    ----------
    ids : array
        Their numbers here, ascending: the order in which their values are sent.
    order : array
        The order that this is of the mirrors; empty if it is their own.
    mirrored : array
        `gasla::Mirrored` of each 32 vertices, mirrors among them.
    """

    ids: Any
    order: Any
    mirrored: Any


def _sent(run: Any, rank: int, ids: Any) -> _Sent:
    """Return what is sent to a rank, kept for later runs. `ids` are the mirrored vertices in the order of mirrors."""

    def ordered(_: Graph) -> tuple[Any, Any]:
        if run.numbering is None:
            return ids, run.xp.empty(0, np.int64)
        new = run.numbering.inverse[ids]
        order = run.xp.argsort(new).astype(np.int64)
        return new[order], order

    key = "sent", run.program.direction, rank, run.numbering is not None
    ids, order = run.graph.kept(key, ordered)
    return _Sent(ids, order, run.graph.kept(("mirrored", *key), lambda _: _mirrored(run, ids)))


def _mirrored(run: Any, ids: Any) -> Any:
    """Return a `gasla::Mirrored` per 32 vertices: bits of the vertices in `ids`, and how many ids come before."""
    xp, words = run.xp, -(-run.graph.n // 32)
    flags = xp.zeros(32 * words, np.uint8)
    flags[ids] = 1
    table = xp.empty((words, 2), np.uint32)
    table[:, 0] = xp.packbits(flags, bitorder="little").view(np.uint32)
    counts = flags.reshape(words, 32).sum(axis=1, dtype=np.int64)
    table[:, 1] = xp.cumsum(counts) - counts
    return table


class _Received(NamedTuple):
    """The mirrors of a peer's vertices by their numbers here, in the order in which it sends them.

    Attributes
    ----------
    ids : array or None
        Their numbers, of which those before `plain` are read.
    plain, first : int
        The number of any other is `first` plus its place.
    """

    ids: Any
    plain: int
    first: int


def _received(run: Any, first: int, last: int, order: Any) -> _Received:
    """Return the ids at which this rank receives the values of another rank.

    Before vertices were renumbered, the mirrors of that rank had the ids from `first` to `last` - 1.
    """
    xp, numbering = run.xp, run.numbering
    if first == last or (numbering is None and not len(order)):
        return _Received(None, 0, first)
    ids = xp.arange(first, last, dtype=run.graph.id_dtype) if numbering is None else numbering.inverse[first:last]
    ids = ids[xp.array(order)] if len(order) else ids
    base = int(ids[-1]) - len(ids) + 1
    others = xp.flatnonzero(ids != xp.arange(base, base + len(ids), dtype=ids.dtype))
    return _Received(ids, int(others[-1]) + 1 if len(others) else 0, base)


def number(
    programs: Sequence[Any],
    graphs: Sequence[Graph],
    deterministic: bool,
    mirrors: Sequence[Mirrors],
    on: Sequence[Card],
    group: Group,
) -> None:
    """Number the vertices of parts where programs gain by it, once, with mirrors in the order of their owners."""
    orders: list[Any] = []  # parts that are to be numbered, with their numbers of rows
    for i, (program, graph) in enumerate(zip(programs, graphs, strict=True)):
        with on[i]():
            is_new = _find_cached(program, graph, deterministic).plan.relabelled and not _numbering(program, graph)
            own = program.values[OWN]
            orders.append(relabel.order_of_part(graph, program.direction, own) if is_new else None)
    if not np.any(group.gather([np.array([order is not None]) for order in orders])):
        return
    places = []
    for i, (program, graph) in enumerate(zip(programs, graphs, strict=True)):
        with on[i]():
            known, xp = _numbering(program, graph), module_of(graph.device)
            inverse = None if known is None else known.inverse
            if orders[i] is not None:
                inverse = relabel.inverse_of(orders[i][0], graph.id_dtype)
            sends = mirrors[i].sends
            places.append([(ids if inverse is None else inverse[ids]).astype(np.int64) for ids in sends])
            finish(graph.device)
    received = group.exchange(places)
    for i, (program, graph) in enumerate(zip(programs, graphs, strict=True)):
        if orders[i] is not None:
            with on[i]():
                parts = [xp.array(part) + (rank << 32) for rank, part in enumerate(received[i])]
                (order, rows), own = orders[i], program.values[OWN]
                relabel.number_part(graph, program.direction, order, rows, own, xp.concatenate(parts))
                finish(graph.device)  # before another GPU reuses the memory of the places


def _numbering(program: Any, graph: Graph) -> Any:
    """Return the numbering that a part has already, or None."""
    return graph.known(("numbering", program.direction))


_counter = itertools.count(1)


def meet(
    runs: Sequence[Any],
    mirrors: Sequence[Mirrors],
    on: Sequence[Card],
    group: Group,
) -> Meeting:
    """Let runs join a `Meeting`: one that an earlier run has left in all processes, or a new one."""
    kept: Meeting | None = runs[0].meetings.popleft() if runs[0].meetings else None
    mine = (-1, -1) if kept is None else (kept.number, kept.rounds)
    of_all = group.told(next(_counter), *mine)
    if kept is None or [theirs for theirs in of_all if theirs[1:] != of_all[0][1:]]:
        kept = Meeting(max([number for number, *_ in of_all]), runs, mirrors, on, group)
    for run, place in zip(runs, kept.places, strict=True):
        run.join(place, kept.rounds)
    return kept


def part(runs: Sequence[Any], meeting: Meeting) -> None:
    """Keep the `Meeting` of runs that have ended, whose buffers and numbering a later run of the same program uses."""
    if len(rounds := {run.rounds for run in runs}) == 1:
        (meeting.rounds,) = rounds
        runs[0].meetings.append(meeting)


def _find_cached(program: VertexProgram, graph: Graph, deterministic: bool) -> Cached:
    """Return the objects that runs with these options share. Make them if needed."""
    kind: Any = type(program)

    def make(graph: Graph) -> Cached:
        variant = choose(
            program,
            graph.id_dtype,
            offset_type(program, graph),
            deterministic,
            False,
            ShapeOf(program, graph, False, False),
        )
        return Cached(kind, graph, peers_variant(variant))

    found: Cached = graph.kept(("peers", kind, deterministic), make)  # a part is on one GPU only
    return found


def peers_variant(variant: Variant) -> Variant:
    """Return the variant of a kernel that exchanges values: frontiers are lists or bitmaps."""
    return replace(variant, peers=True, bounded_degree=False, local=False, small=False)
