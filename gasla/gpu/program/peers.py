"""Runs whose kernels exchange values with those of other GPUs: the memory that they share, and the run on one GPU.

Each GPU has one persistent kernel, on its part of the graph. kernels/loop/peers.cuh says what happens in a superstep.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from gasla.arrays import require_gpu
from gasla.gpu.program.engine import Run
from gasla.gpu.program.inputs import offset_type
from gasla.gpu.program.plan import GpuPlan, Variant, bytes_of, has_wide_values
from gasla.gpu.program.variants import ShapeOf, choose
from gasla.gpu.program.workspace import Cached
from gasla.gpu.runtime import compile
from gasla.graph.graph import Graph
from gasla.program.frontier import Frontier
from gasla.program.plan import Plan
from gasla.program.program import VertexProgram

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
    """Whether kernels can exchange by themselves what a program's vertices read of each other.

    They send the fields of all vertices if every vertex takes part, and else those of active vertices. So without
    `everyone`, no field that neighbors read may change while its vertex stays inactive.
    """
    traced, functions = plan.traced, plan.traced.functions
    if {"scatter", "bucket", "idle", "wake"} & functions.keys() or traced.looks_up or plan.edge_states:
        return False
    if has_wide_values(traced) or (plan.prioritised and not plan.is_single):
        return False
    if plan.everyone:
        return not plan.keeps_active
    later = set(traced.seen_by_neighbors) & traced.writes("post_apply")
    return plan.active_only or not ({"activate"} & functions.keys() or later)


def current() -> int:
    """The current GPU's number."""
    return compile.device()


def are_peers(cards: Sequence[int]) -> bool:
    """Whether the GPUs of all ranks can reach each other's memory, and are not too many."""
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


def own_stream(rank: int, shares_card: bool) -> AbstractContextManager[Any]:
    """The stream of a rank: one of its own if ranks share a GPU, where kernels of one stream would run in turn."""
    return _stream(compile.device(), rank) if shares_card else nullcontext()


@dataclass
class Mirrors:
    """What a rank needs to exchange values.

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


class Buffers:
    """The memory into which other GPUs store: for each rank notices, bitmaps and values, each with two halves."""

    def __init__(
        self, plan: GpuPlan, mirrors: Mirrors, empty: Callable[[int], Any], address: Callable[[Any], int]
    ) -> None:
        self.mirrors = mirrors
        per_vertex = sum(bytes_of(plan.traced.vertex_types[name]) for name in plan.traced.seen_by_neighbors)
        sums = np.dtype([*plan.traced.aggregate_types.items()], align=True).itemsize
        counts = np.diff(np.asarray(mirrors.cuts, np.int64))
        each = [np.full(len(counts), 24 + sums), -(-counts // 32) * 4, -(-counts // 16) * 16 * per_vertex]
        sizes = -(-np.repeat(each, 2, axis=0) // ALIGNMENT) * ALIGNMENT  # of kind and half, for each rank
        ends = sizes.cumsum().reshape(sizes.shape)
        self.memory = empty(int(ends[-1, -1]))
        self.memory[: ends[1, -1]] = 0  # no notice has come yet
        self.places = (ends - sizes).T.astype(np.uint64) + np.uint64(address(self.memory))  # (rank, kind and half)

    def peers(self, there: np.ndarray, address: Callable[[Any], int]) -> np.ndarray:
        """The structs for the kernel; `there[r]` are the addresses that rank r has for this rank."""
        found = np.zeros(len(self.places), PEER)
        cuts = np.asarray(self.mirrors.cuts, np.int64)
        found["first"], found["received"] = cuts[:-1], np.diff(cuts)
        for rank, ids in enumerate(self.mirrors.sends):
            found[rank]["sends"], found[rank]["sent"] = (address(ids) if len(ids) else 0), len(ids)
        for rank, ids in enumerate(self.mirrors.receives or []):
            found[rank]["receives"] = address(ids) if len(ids) else 0
        for i, kind in enumerate(KINDS):
            found[f"{kind}_here"], found[f"{kind}_there"] = (x[:, 2 * i : 2 * i + 2] for x in (self.places, there))
        return found


class PeerRun(Run):
    """The part of a run on one GPU. All GPUs must make the same calls, at about the same time.

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
    mirrors : Mirrors
    swap : callable
        Sends one object to each rank, and returns those received (collective).
    share : int
        How many ranks have this GPU.
    """

    # A wait without a pause would keep the interpreter from the threads that launch the other kernels.
    patience = 0.0

    def __init__(
        self,
        program: VertexProgram,
        graph: Graph,
        fields: Mapping[str, Any],
        way: int,
        deterministic: bool,
        mirrors: Mirrors,
        swap: Callable[[Sequence[Any]], Sequence[Any]],
        share: int,
    ) -> None:
        super().__init__(_find_cached(program, graph, deterministic), program, graph, fields, way, None, None)
        cupy = self.xp
        buffers = Buffers(
            self.plan, mirrors, lambda size: cupy.empty(size, np.uint8), lambda array: int(array.data.ptr)
        )
        cupy.cuda.get_current_stream().synchronize()  # notices are zero before another GPU writes one
        orders = [None] * len(mirrors.sends) if self.numbering is None else self._renumber_mirrors(mirrors)
        # The memory of all ranks is kept until this run ends: a kernel that is told to stop may still store there.
        self._swapped = swap([(*each, buffers.memory) for each in zip(buffers.places, orders, strict=True)])
        there = np.array([row for row, _, _ in self._swapped], np.uint64)
        mirrors.sends = [
            self._sent(rank, ids, order)
            for rank, (ids, (_, order, _)) in enumerate(zip(mirrors.sends, self._swapped, strict=True))
        ]
        peers = buffers.peers(there, lambda array: int(array.data.ptr))
        self._set("peers", cupy.asarray(peers.view(np.uint8)))
        self._arguments.ranks = len(peers)
        self._workspace.blocks = max(1, min(self._workspace.blocks, self._workspace.kernel.blocks // share))

    def _renumber_mirrors(self, mirrors: Mirrors) -> list[Any]:
        """Set the mirrors by their new numbers, ascending; returns the order in which each rank must send to this."""
        numbering: Any = self.numbering

        def make(graph: Graph) -> list[tuple[Any, Any]]:
            found = []
            for first, last in pairwise(mirrors.cuts):
                new = numbering.inverse[first:last]
                order = self.xp.argsort(new)
                found.append((order, new[order]))
            return found

        made = self.graph.kept(("mirrors", self.program.direction), make)
        mirrors.receives = [new for _, new in made]
        return [order for order, _ in made]

    def _sent(self, rank: int, ids: Any, order: Any) -> Any:
        """The vertices to send to a rank, by their numbers here, in the order that it asks for; kept for later runs."""
        if order is None and self.numbering is None:
            return ids
        key = "sent", self.program.direction, rank, self.numbering is not None
        known = self.graph.known(key)
        if known is None or known[0] is not order:
            here = ids if order is None else ids[self.xp.asarray(order)]
            known = order, here if self.numbering is None else self.numbering.inverse[here]
            self.graph.kept(key, lambda _: known)
        return known[1]

    def finish(self, progress: Callable[[int], Any] | None = None) -> None:
        """Wait for the kernel to end, and read where the run stands."""
        super().finish(progress)
        self.ended = self.stopped or self.plan.is_over(self.everywhere, 1)
        if not self.ended and self.iteration < self._arguments.limit:
            raise TimeoutError(
                f"the kernel waited {WAIT} s for that of another GPU, in superstep {self.iteration + 1}; expected all "
                "GPUs to be free for this run: other work on one of them may have to end first"
            )

    @property
    def everywhere(self) -> int:
        """How many vertices are active or waiting on all GPUs; a vertex counts again where it is mirrored."""
        return int(self._workspace.control.everywhere)

    def frontier(self) -> Frontier:
        """The currently active vertices, mirrors among them."""
        if self.plan.keeps_active:
            return super().frontier()
        return Frontier.none(self.graph.n) if self.ended else Frontier.all(self.graph.n)


def _find_cached(program: VertexProgram, graph: Graph, deterministic: bool) -> Cached:
    """Find what runs with these options share; make it if needed."""
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

    found: Cached = graph.kept(("peers", kind, deterministic, compile.device()), make)
    return found


def peers_variant(variant: Variant) -> Variant:
    """The variant of a kernel that exchanges values: frontiers are lists or bitmaps."""
    return replace(variant, peers=True, bounded_degree=False, local=False, small=False, shared=False)
