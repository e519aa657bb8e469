"""Arrays between GPUs of ranks in several processes, by NCCL: on other hosts, or where kernels don't exchange them.

A `Link` belongs to a communicator, by which ranks agree on it, and hear that one of them has failed while NCCL waits.
"""

import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from gasla.arrays import array_module
from gasla.distributed.communicator import Communicator, Rank
from gasla.engines import peers

TASKS = 1 << 40  # warnings of exchanges have numbers from here on; those of kernels are smaller
PATIENCE = 1.0  # seconds in which a warning comes for certain


class PeerFailed(Exception):
    """Another process has failed, and says how in the next round. Not an error of a rank: none has this note."""


class WarningCommunicator(Communicator, Protocol):
    """A communicator whose ranks hear of a failure without taking part in a round."""

    host: str

    def warn(self, number: int) -> None:
        """Warn the other ranks, which may wait for something else than a round, that this one gives up a task."""

    def is_warned(self, number: int) -> bool:
        """Whether another rank has given up a task. Raises an error that this rank has to raise now."""


class Link:
    """Exchanges arrays of bytes between the GPUs of all ranks.

    Parameters
    ----------
    communicator : WarningCommunicator
    number : int
        Of this link among those of the communicator, the same on all ranks.
    connection : Connection or None
        See `gasla.gpu.runtime.nccl`.
    obstacle : str
        Why there is no connection; then ranks exchange by way of their hosts.
    """

    def __init__(self, communicator: WarningCommunicator, number: int, connection: Any, obstacle: str = "") -> None:
        self.communicator, self.number, self.obstacle, self.ended = communicator, number, obstacle, False
        self._connection, self._exchanges = connection, 0

    def exchange(self, sent: Sequence[Any], sizes: Sequence[int]) -> list[Any]:
        """Send each rank an array of bytes on this GPU; returns those received, of the given sizes (collective)."""
        self._exchanges += 1
        task, own = TASKS * self.number + self._exchanges, self.communicator.rank
        sent = [array_module(part).ascontiguousarray(part).reshape(-1).view(np.uint8) for part in sent]
        kept, empty = sent[own], sent[own][:0]
        sent[own] = empty
        try:
            received: list[Any] = self._connection.exchange(
                sent, [0 if rank == own else size for rank, size in enumerate(sizes)], lambda: self._look(task)
            )
        except BaseException as error:
            self._give_up(task, error)
            raise
        received[own] = kept
        return received

    def _look(self, task: int) -> None:
        if self.communicator.is_warned(task):
            raise PeerFailed

    def _give_up(self, task: int, error: BaseException) -> None:
        """End the link after an error; if that of another rank has caused it, this raises a RankError with it."""
        until = time.monotonic() + (PATIENCE if isinstance(error, RuntimeError) else 0.0)  # perhaps one of NCCL
        is_caused = isinstance(error, PeerFailed)
        with suppress(Exception):  # what had failed before is raised
            while not is_caused and time.monotonic() < until:
                is_caused = self.communicator.is_warned(task)
                time.sleep(0.01)
            if not is_caused:
                self.communicator.warn(task)
        self.close()
        if is_caused:
            self.communicator.barrier()

    def close(self) -> None:
        """End the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.abort()
        self.ended = True


def find_link(communicator: Any) -> Link | None:
    """The link of a communicator, if there is one that can be used."""
    link: Link | None = communicator.link
    return None if link is None or link.obstacle else link


def connect(rank: Rank) -> None:
    """Make a link between the GPUs of ranks in several processes, unless there is one (collective)."""
    communicator: Any = rank.communicator
    if not rank.has_card or communicator.shares_memory or communicator.size == 1:
        return
    link: Link | None = communicator.link
    known = [0, 0] if link is None else [link.number, link.ended]
    of_all = np.stack(communicator.allgather(np.array(known, np.int64)))
    if link is not None and (of_all == [link.number, 0]).all():
        return
    if link is not None:
        link.close()
    number, connection = int(of_all[:, 0].max()) + 1, None
    obstacle = _first(communicator, peers().nccl.obstacle()) or _shared_card(communicator)
    if not obstacle:
        key = peers().nccl.new_key() if communicator.rank == 0 else np.zeros(0, np.uint8)
        connection = peers().nccl.Connection(communicator.rank, communicator.size, communicator.allgather(key)[0])
    communicator.link = Link(communicator, number, connection, obstacle)


def _first(communicator: Communicator, text: str) -> str:
    """The first text of all ranks that is not empty."""
    texts = communicator.allgather(np.frombuffer(text.encode(), np.uint8))
    return next((found.tobytes().decode() for found in texts if len(found)), "")


def _shared_card(communicator: Communicator) -> str:
    """Says if two ranks have the same GPU, which NCCL refuses."""
    where = host_key() + b" " + peers().shared_memory.bus_id()
    found = [one.tobytes() for one in communicator.allgather(np.frombuffer(where, np.uint8))]
    return "processes share a GPU" if len(set(found)) < len(found) else ""


def host_key() -> bytes:
    """The same for processes of one host that see each other, and for no others."""
    found = [socket.gethostname()]
    with suppress(OSError):
        found.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    with suppress(OSError):
        found.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(found).encode()
