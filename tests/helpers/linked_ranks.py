"""Threads in place of processes with a GPU each that NCCL joins, and a wire between them in its place."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from gasla.distributed import thread_ranks
from gasla.distributed.links import Link
from gasla.distributed.thread_ranks import ThreadCommunicator


class Wire:
    """What connections of all ranks share."""

    def __init__(self) -> None:
        self.changed, self.sent = threading.Condition(), dict[tuple[int, int], Sequence[Any]]()
        self.count, self.bytes = 0, 0


class Connection:
    """See `gasla.gpu.runtime.nccl.Connection`."""

    def __init__(self, rank: int, wire: Wire) -> None:
        self._rank, self._wire, self._turn = rank, wire, 0
        self.aborted = False

    def exchange(self, sent: Sequence[Any], sizes: Sequence[int], show: Callable[[], None]) -> list[Any]:
        wire, self._turn = self._wire, self._turn + 1
        with wire.changed:
            wire.sent[self._turn, self._rank] = sent
            wire.count += 1
            wire.bytes += sum(part.nbytes for part in sent)
            wire.changed.notify_all()
        received = []
        for rank, size in enumerate(sizes):
            if not size:
                received.append(sent[rank][:0])
                continue
            with wire.changed:
                while (self._turn, rank) not in wire.sent:
                    wire.changed.wait(0.01)
                    show()
                received.append(wire.sent[self._turn, rank][self._rank].copy())
            assert received[-1].nbytes == size and received[-1].dtype == np.uint8
        return received

    def abort(self) -> None:
        self.aborted = True


class ApartCommunicator(ThreadCommunicator):
    """Threads in place of processes that are joined by NCCL."""

    shares_memory = False
    wire = Wire()
    warnings: set[int] = set()

    def __init__(self, rank: int, table: Any, card: int | None = None) -> None:
        super().__init__(rank, table, card)
        if type(self).wire is not None:
            self.link = Link(1, Connection(rank, self.wire))

    def warn(self, number: int) -> None:
        self.warnings.add(number)

    def is_warned(self, number: int) -> bool:
        return number in self.warnings


def join_threads(patch: pytest.MonkeyPatch) -> Wire:
    """Let threads have links. Each call of a function on ranks has new ones, as it has new communicators."""
    made = Wire()
    table = thread_ranks._Table

    def begin(size: int) -> Any:
        made.sent.clear()
        ApartCommunicator.warnings.clear()  # links of a call have the numbers of those before
        return table(size)

    patch.setattr(thread_ranks, "_Table", begin)
    patch.setattr(ApartCommunicator, "wire", made)
    patch.setattr(ApartCommunicator, "warnings", set())
    patch.setattr(thread_ranks, "ThreadCommunicator", ApartCommunicator)
    return made
