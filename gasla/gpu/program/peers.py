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
from typing import Any, Protocol

import numpy as np

from gasla.arrays import address, current_device, finish, require_gpu
from gasla.gpu.program.engine import Run
from gasla.gpu.program.inputs import offset_type
from gasla.gpu.program.plan import GpuPlan, Variant, bytes_of, has_wide_values
from gasla.gpu.program.variants import ShapeOf, choose
from gasla.gpu.program.workspace import Cached
from gasla.gpu.runtime import joint_memory, nccl, shared_memory
from gasla.gpu.runtime.waiting import is_idle, yielding
from gasla.graph.graph import Graph
from gasla.program import Frontier, VertexProgram
from gasla.program.hooks import TOGETHER
from gasla.program.plan import Plan

__all__ = [
    "MOST",
    "Mirrors",
    "PeerRun",
    "are_peers",
    "can_exchange",
    "enable",
    "joint_memory",
    "meet",
    "nccl",
    "on",
    "part",
    "shared_memory",
    "yielding",
]

MOST = 32  # GPUs: each is served by one lane of a warp
KINDS = ("notice", "bits", "values")
PEER = np.dtype(  # gasla::Peer
    [(name, np.uint64) for name in ("sends", "receives", "sent", "first", "received")]
    + [(f"{kind}_{side}", np.uint64, 2) for kind in KINDS for side in ("there", "here")]
)
ALIGNMENT = 256  # bytes
WAIT = 60  # seconds for which a kernel waits for a peer (peers.cuh)
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
    """Let kernels on the current GPU reach the memory of the others."""
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


def on(card: int, rank: int = 0, shares_card: bool = False) -> AbstractContextManager[Any]:
    """Make a GPU the current one. If ranks share it, each has a stream of its own, as kernels of one run in turn."""
    device: AbstractContextManager[Any] = require_gpu().cuda.Device(card)
    return _both(device, _stream(card, rank)) if shares_card else device


@contextmanager
def _both(one: AbstractContextManager[Any], other: AbstractContextManager[Any]) -> Iterator[None]:
    with one, other:
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
    receives : list of array, optional
        `receives[r]`: the same mirrors, where vertices are renumbered.
    """

    sends: list[Any]
    cuts: Sequence[int]
    receives: list[Any] | None = None


class Group(Protocol):
    """The ranks whose kernels meet, as a process knows them: those that it drives itself, and all together.

    Arguments have an entry for each rank that the process drives, results for all ranks, in their order. All processes
    call the same methods in the same order.
    """

    here: Sequence[int]
    size: int

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


class Buffers:
    """The memory into which other GPUs store: for each rank notices, bitmaps and values, each with two halves."""

    def __init__(self, plan: GpuPlan, cuts: Sequence[int], empty: Callable[[int], Any]) -> None:
        per_vertex = sum(bytes_of(plan.traced.vertex_types[name]) for name in plan.traced.seen_by_neighbors)
        sums = np.dtype([*plan.traced.aggregate_types.items()], align=True).itemsize
        counts = np.diff(np.asarray(cuts, np.int64))
        each = [np.full(len(counts), 24 + sums), -(-counts // 32) * 4, -(-counts // 16) * 16 * per_vertex]
        sizes = -(-np.repeat(each, 2, axis=0) // ALIGNMENT) * ALIGNMENT  # of kind and half, for each rank
        ends = sizes.cumsum().reshape(sizes.shape)
        self.memory = empty(int(ends[-1, -1]))
        self.memory[: ends[1, -1]] = 0  # no notice has come yet
        self.offsets = (ends - sizes).T.astype(np.uint64)  # (rank, kind and half)

    def peers(self, mirrors: Mirrors, there: np.ndarray) -> np.ndarray:
        """Return the structs for the kernel. `there[r]` are the addresses that rank r has for this rank."""
        table = np.zeros(len(self.offsets), PEER)
        here = self.offsets + np.uint64(address(self.memory))
        cuts = np.asarray(mirrors.cuts, np.int64)
        table["first"], table["received"] = cuts[:-1], np.diff(cuts)
        for rank, ids in enumerate(mirrors.sends):
            table[rank]["sends"], table[rank]["sent"] = (address(ids) if len(ids) else 0), len(ids)
        for rank, ids in enumerate(mirrors.receives or []):
            table[rank]["receives"] = address(ids) if len(ids) else 0
        for i, kind in enumerate(KINDS):
            table[f"{kind}_here"], table[f"{kind}_there"] = (x[:, 2 * i : 2 * i + 2] for x in (here, there))
        return table


class PeerRun(Run):
    """The part of a run on one GPU. All GPUs must be launched before one is waited for.

    Parameters
    ----------
    program : VertexProgram
        With the graph's own vertices first, then mirrors, over which no edge is gathered.
    graph : Graph
        This GPU's part.
    fields : mapping
        Start values.
    way : int
    deterministic : bool
    share : int
        How many ranks have this GPU.
    """

    # The driver may hold back a kernel of one GPU until it is called again, while those of others wait for it.
    patience = 0.0

    def __init__(
        self,
        program: VertexProgram,
        graph: Graph,
        fields: Mapping[str, Any],
        way: int,
        deterministic: bool,
        share: int,
    ) -> None:
        super().__init__(_find_cached(program, graph, deterministic), program, graph, fields, way, None, None)
        self._workspace.blocks = max(1, min(self._workspace.blocks, self._workspace.kernel.blocks // share))

    @property
    def meetings(self) -> deque[Any]:
        """Meetings that no run uses."""
        return self._cached.meetings

    def memory(self, size: int) -> Any:
        """Return memory on this GPU, of some bytes."""
        return self.xp.empty(size, np.uint8)

    def join(self, peers: Any, rank: int, ranks: int, rounds: int) -> None:
        """Pass the structs of the other GPUs to the kernel, the rank of this one, and the number of meetings so far."""
        self._set("peers", peers)
        self._arguments.rank, self._arguments.ranks, self._arguments.met = rank, ranks, rounds

    @property
    def rounds(self) -> int:
        """How often this kernel and its predecessors have met the others."""
        return int(self._workspace.control.round)

    def finish(self, progress: Callable[[int], Any] | None = None) -> None:
        """Wait for the kernel to end, and read where the run stands."""
        super().finish(progress)
        self.ended = self.stopped or self.plan.is_over(self._workspace.control.everywhere, 1)
        if not self.ended and self.iteration < self._arguments.limit:
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
        """Ask the kernel to end. It need not meet the others before."""
        self._workspace.stop()

    def wait_for_end(self) -> None:
        """Wait until the kernel has ended."""
        self.xp.cuda.get_current_stream().synchronize()

    def frontier(self) -> Frontier:
        """Return the currently active vertices, mirrors among them."""
        if self.plan.keeps_active:
            return super().frontier()
        return Frontier.none(self.graph.n) if self.ended else Frontier.all(self.graph.n)


class Meeting:
    """What the kernels of all GPUs share, for one run of a program at a time: the part of it that a process has.

    Notices have the number of a meeting, and the next run goes on counting. So notices need not be reset between runs.
    """

    def __init__(
        self,
        number: int,
        runs: Sequence[Any],
        mirrors: Callable[[int], Mirrors],
        on: Callable[[int], AbstractContextManager[Any]],
        group: Group,
    ) -> None:
        self.number, self.rounds = number, 0
        self._buffers: list[Buffers] = []
        known: list[Mirrors] = []
        orders = []
        for i, run in enumerate(runs):
            with on(i):
                renumbered, order = _renumber(run, mirrors(i))
                known.append(renumbered)
                orders.append(order)
                self._buffers.append(Buffers(run.plan, renumbered.cuts, functools.partial(group.memory, run)))
                finish(run.graph.device)  # notices are zero before another GPU writes one
        self._shared = group.share(number, [buffers.memory for buffers in self._buffers])
        offsets, asked = group.gather([buffers.offsets for buffers in self._buffers]), group.exchange(orders)
        self.peers: list[Any] = []
        self._mirrors: list[Mirrors] = []
        for i, run in enumerate(runs):
            with on(i):
                sends = [_sent(run, r, ids, asked[i][r]) for r, ids in enumerate(known[i].sends)]
                self._mirrors.append(replace(known[i], sends=sends))
                rank = group.here[i]
                there = [offsets[r][rank] + np.uint64(at) for r, at in enumerate(self._shared.addresses)]
                structs = self._buffers[i].peers(self._mirrors[i], np.array(there, np.uint64))
                self.peers.append(run.xp.asarray(structs.view(np.uint8)))
                finish(run.graph.device)


def _renumber(run: Any, mirrors: Mirrors) -> tuple[Mirrors, list[Any]]:
    """Return the mirrors by their new numbers, ascending, and the order in which each rank sends them.

    Without one, it is the rank's own.
    """
    if run.numbering is None:
        return mirrors, [run.xp.empty(0, np.int64)] * len(mirrors.sends)

    def make(graph: Graph) -> list[tuple[Any, Any]]:
        orders = []
        for first, last in pairwise(mirrors.cuts):
            new = run.numbering.inverse[first:last]
            order = run.xp.argsort(new)
            orders.append((order, new[order]))
        return orders

    made = run.graph.kept(("mirrors", run.program.direction), make)
    return replace(mirrors, receives=[new for _, new in made]), [order for order, _ in made]


def _sent(run: Any, rank: int, ids: Any, order: Any) -> Any:
    """Return the vertices to send to a rank, by their numbers here, in the order that it asks for.

    They are kept for later runs.
    """
    if len(order) == 0 and run.numbering is None:
        return ids
    key = "sent", run.program.direction, rank, run.numbering is not None
    known = run.graph.known(key)
    if known is None or known[0] is not order:
        here = ids[run.xp.array(order)] if len(order) else ids
        known = order, here if run.numbering is None else run.numbering.inverse[here]
        run.graph.kept(key, lambda _: known)
    return known[1]


_counter = itertools.count(1)


def meet(
    runs: Sequence[Any],
    mirrors: Callable[[int], Mirrors],
    on: Callable[[int], AbstractContextManager[Any]],
    group: Group,
) -> Meeting:
    """Take a meeting that no run uses, the same in all processes, or make one, and let all runs join it."""
    kept: Meeting | None = runs[0].meetings.popleft() if runs[0].meetings else None
    next_number = next(_counter)
    mine = [next_number, -1, -1] if kept is None else [next_number, kept.number, kept.rounds]
    of_all = np.stack(group.gather([np.array(mine, np.int64)]))
    if kept is None or not (of_all[:, 1:] == of_all[0, 1:]).all():
        kept = Meeting(int(of_all[:, 0].max()), runs, mirrors, on, group)
    for run, peers, rank in zip(runs, kept.peers, group.here, strict=True):
        run.join(peers, rank, group.size, kept.rounds)
    return kept


def part(runs: Sequence[Any], meeting: Meeting) -> None:
    """Keep the meeting of runs that have ended for another run."""
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

    cached: Cached = graph.kept(("peers", kind, deterministic, current_device()), make)
    return cached


def peers_variant(variant: Variant) -> Variant:
    """Return the variant of a kernel that exchanges values: frontiers are lists or bitmaps."""
    return replace(variant, peers=True, bounded_degree=False, local=False, small=False)
