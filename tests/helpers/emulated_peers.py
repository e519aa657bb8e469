"""Several GPUs without a GPU: kernels that exchange values, each on an emulated grid, under ranks that are threads."""

import ctypes
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gasla.distributed.engine import card_run, distributed_run
from gasla.distributed.engine.shard import Shard
from gasla.gpu.program import peers
from gasla.gpu.program.inputs import offset_type
from gasla.gpu.program.plan import Variant
from gasla.program.binding import PULL
from gasla.program.frontier import Frontier
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
        mirrors: peers.Mirrors,
        swap: Callable[[Sequence[Any]], Sequence[Any]],
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
        buffers = peers.Buffers(self.plan, mirrors, lambda size: np.full(size, 0xAB, np.uint8), address)
        self._swapped = swap([(row, None, buffers.memory) for row in buffers.places])
        there = np.array([row for row, _, _ in self._swapped], np.uint64)
        self.put("peers", buffers.peers(there, address).view(np.uint8))
        self.arguments.ranks = len(there)
        self.arguments.lanes, self.arguments.way, self.arguments.launch = 4, way, LAUNCH
        if self.plan.only_pulls:
            self.arguments.way = PULL
        self.arguments.fresh, self.arguments.delta = True, 1.0
        self.iteration, self.edges, self.ended, self.stopped = 0, 0, False, False

    def activate(self, frontier: Frontier, delta: float | None) -> None:
        """Set the initial active set."""
        arguments = self.arguments
        arguments.active_ids = arguments.first_active = 0
        arguments.active_count = self.graph.n if frontier.is_all else len(frontier.ids)
        if not frontier.is_all:
            self.put("active_ids", np.asarray(frontier.ids, self.ids))

    def advance(self, until: int, progress: Any = None) -> None:
        """Run until an iteration, or the end; an error of `progress` asks the kernel to stop."""
        self.arguments.limit = until
        kernel = threading.Thread(target=self.kernel, args=(ctypes.byref(self.arguments),), daemon=True)
        self.page.stop = 0
        kernel.start()
        try:
            while kernel.is_alive():
                kernel.join(0.05)
                if progress is not None:
                    progress(int(self.page.progress))
        except BaseException:
            self.page.stop = LAUNCH
            kernel.join()
            raise
        self.arguments.fresh, now = False, self.page.control
        self.iteration, self.edges, self.stopped = now.iteration, now.total, bool(now.done)
        self.ended = self.stopped or self.plan.is_over(now.everywhere, 1)

    @property
    def everywhere(self) -> int:
        """How many vertices are active on all ranks."""
        return int(self.page.control.everywhere)

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


def address(array: np.ndarray) -> int:
    """Where an array begins."""
    return array.ctypes.data


def without_gpus(patch: pytest.MonkeyPatch) -> None:
    """Let ranks that are threads run such programs by emulated kernels, and refuse none that GPUs take."""

    def cards(communicator: Any, shard: Shard, program: Any, options: Any) -> list[int]:
        sizes = communicator.allgather(np.array([shard.graph.n]))
        kind: Any = type(program)
        exchanges = card_run.choices(kind, options.id_type, options.deterministic).exchanges
        return [0] * communicator.size if exchanges and np.min(sizes) > 0 else []

    def stream(rank: int, shares_card: bool) -> AbstractContextManager[Any]:
        return nullcontext()

    patch.setattr(distributed_run, "shared_cards", cards)
    patch.setattr(peers, "enable", lambda cards: None)
    patch.setattr(peers, "own_stream", stream)
    patch.setattr(peers, "PeerRun", EmulatedPeerRun)
