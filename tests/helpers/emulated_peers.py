"""Several GPUs without a GPU: kernels that exchange values, each on an emulated grid, under ranks that are threads."""

import ctypes
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gasla import distributed
from gasla.distributed.communicator import Member
from gasla.distributed.engine import cards_run, distributed_run
from gasla.distributed.peer_groups import OneProcess
from gasla.gpu.program import peers
from gasla.gpu.program.inputs import offset_type
from gasla.gpu.program.plan import Variant
from gasla.program.binding import PULL
from gasla.program.frontier import Frontier
from gasla.program.part import OWN
from tests.helpers.emulated_loop import EmulatedRun

BLOCKS = 2
LAUNCH = 1  # its number: a page that is not asked to stop has 0
_compiling = threading.Lock()


class _Instance:
    """A program that is already an instance, as `EmulatedRun` makes its own."""

    def __init__(self, program: Any) -> None:
        self.program, self.traced = program, type(program).traced

    def __call__(self) -> Any:
        return self.program


class EmulatedPeerRun(EmulatedRun):
    """See `PeerRun`."""

    def __init__(
        self,
        program: Any,
        graph: Any,
        fields: Mapping[str, Any],
        way: int,
        deterministic: bool,
        share: int,
    ) -> None:
        lanes = 4 if program.everyone else 0
        variant = peers.peers_variant(
            Variant(offset_type(program, graph), deterministic=deterministic, row_lanes=lanes)
        )
        with _compiling:
            super().__init__(_Instance(program), graph, variant, BLOCKS, {}, Path(tempfile.mkdtemp()))
            self.kernel  # noqa: B018 (compiled when first read)
        if self.plan.rows:
            self._share_rows()
        given = self.by_inner_name(fields)
        self._fields = {name: self.field(name, given.get(name)) for name in self.traced.vertex_types}
        for name in self.plan.edge_states:
            self.put(f"e_{name}", self._edge_array(name, given))
        for name, value in self.parameters().items():
            setattr(self.arguments, f"self_{name}", value.item())
        self.numbering = None
        self.meetings = graph.kept(("meetings", type(program)), lambda _: deque())
        self.arguments.lanes, self.arguments.way, self.arguments.launch = 4, way, LAUNCH
        if self.plan.only_pulls:
            self.arguments.way = PULL
        self.arguments.fresh, self.arguments.delta = True, 1.0
        self.iteration, self.edges, self.ended, self.stopped = 0, 0, False, False
        self._ended = threading.Event()  # a thread whose `join` is interrupted counts as ended
        self._ended.set()

    @property
    def row_count(self) -> int:
        """Vertices from this one on are mirrors."""
        return int(self.program.values[OWN])

    def activate(self, frontier: Frontier, delta: float | None) -> None:
        """Set the initial active set."""
        arguments = self.arguments
        arguments.active_ids = arguments.first_active = 0
        arguments.active_count = self.graph.n if frontier.is_all else len(frontier.ids)
        if not frontier.is_all:
            self.put("active_ids", np.asarray(frontier.ids, self.ids))

    def memory(self, size: int) -> np.ndarray:
        """Memory, not zero at first."""
        return np.full(size, 0xAB, np.uint8)

    def join(self, place: peers.Place, rounds: int) -> None:
        """Set what the kernel knows of the others."""
        self._place = place
        for name, value in place.arguments(self.plan.sends_at_once).items():
            setattr(self.arguments, name, value)
        self.arguments.met = rounds

    @property
    def rounds(self) -> int:
        """How often this kernel and its predecessors have met the others."""
        return int(self.page.control.round)

    @property
    def superstep(self) -> int:
        """The current iteration."""
        return int(self.page.progress)

    def launch(self, until: int) -> None:
        """Start the kernel."""
        self.arguments.limit, self.page.stop = until, 0
        self._ended.clear()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            self.kernel(ctypes.byref(self.arguments))
        finally:
            self._ended.set()

    def finish(self, progress: Callable[[int], Any]) -> None:
        """Wait for its end."""
        while not self._ended.wait(0.05):
            progress(self.superstep)
        self.arguments.fresh, now = False, self.page.control
        self.iteration, self.edges, self.stopped = now.iteration, now.total, bool(now.done)
        self.ended = self.stopped or self.plan.is_over(now.everywhere, 1)

    def raise_failure(self) -> None:
        """A thread does not fail."""

    def ask_to_stop(self) -> None:
        """Ask the kernel to end."""
        self.page.stop = LAUNCH

    def wait_for_end(self) -> None:
        """Wait until it has."""
        self._ended.wait()

    def state(self) -> Mapping[str, Any]:
        """The current fields."""
        side = self.iteration & 1
        return self.by_given_name({n: x[side] if n in self.plan.doubled else x for n, x in self._fields.items()})

    def aggregates(self) -> Mapping[str, Any]:
        """The aggregates of the last iteration."""
        sums = np.dtype([*self.traced.aggregate_types.items()], align=True)
        shown: Any = self.page_array[512 : 512 + sums.itemsize].view(sums)[0] if sums.itemsize else {}
        return self.by_given_name({name: shown[name] for name in self.traced.aggregate_types})

    def frontier(self) -> Frontier:
        """The active vertices."""
        n, now, side = self.graph.n, self.page.control, self.iteration & 1
        if not self.plan.keeps_active:
            return Frontier.none(n) if self.ended else Frontier.all(n)
        if now.form == 0:
            kind = np.dtype([("prefix", self.plan.offset_type), ("vertex", self.ids)], align=True)
            entries = self._array("queue").view(kind).reshape(2, -1)
            return Frontier.of(n, entries[side, : now.size]["vertex"].copy())
        bits = self._array("bits").reshape(2, -1)[side]
        return Frontier(n, mask=np.unpackbits(bits, bitorder="little")[:n].astype(bool))

    def _array(self, name: str) -> np.ndarray:
        at = getattr(self.arguments, name)
        return next(array for array in self.arrays if array.ctypes.data == at)

    def close(self) -> None:
        """Nothing is kept."""


def without_gpus(patch: pytest.MonkeyPatch) -> None:
    """Let ranks that are threads run such programs by emulated kernels, and refuse none that GPUs take."""

    def members(ranks: distributed.ThreadRanks) -> list[Member]:
        ranks._drop()
        return [Member(rank, 0, f"thread {rank}", kept) for rank, kept in enumerate(ranks._stores)]

    def together(ranks: distributed.ThreadRanks, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(OneProcess(ranks, ranks.members()), *arguments)

    patch.setattr(distributed.ThreadRanks, "members", members)
    patch.setattr(distributed.ThreadRanks, "together", together)
    patch.setattr(peers, "are_peers", lambda cards: True)
    patch.setattr(peers, "enable", lambda cards: None)
    patch.setattr(peers, "free_unused", lambda cards: None)
    patch.setattr(peers.joint_memory, "can_map", lambda cards: True)
    emulate_kernels(patch)


def emulate_kernels(patch: pytest.MonkeyPatch) -> None:
    """Run programs that GPUs take by emulated kernels, and refuse none of these."""

    def exchanges(program: Any, options: Any) -> bool:
        kind: Any = type(program)
        return cards_run.choices(kind, options.id_type, options.deterministic).exchanges

    patch.setattr(distributed_run, "exchanges", exchanges)
    patch.setattr(peers, "on", lambda *_: nullcontext())
    patch.setattr(peers, "waiting", lambda card: lambda: None)
    patch.setattr(peers, "card_of", lambda *_: nullcontext)
    patch.setattr(peers, "number", lambda *_: None)
    patch.setattr(peers, "PeerRun", EmulatedPeerRun)
