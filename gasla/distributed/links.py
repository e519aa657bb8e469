"""Exchange of arrays between GPUs of several processes by NCCL, where kernels can't exchange values directly.

Ranks agree on a `Link` over their communicator. It also tells them while NCCL waits that another rank has failed.
"""

import socket
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from gasla.arrays import array_module
from gasla.distributed.communicator import Communicator, Rank, share_bytes
from gasla.engines import peers

TASKS = 1 << 40  # Exchanges over links have task numbers from this one on, and kernels have smaller ones.
PATIENCE = 1.0  # seconds within which a warning of another rank arrives


class PeerFailed(Exception):
    """Another process has failed. Its error follows in the next round of messages.

    This is not an error of a rank, so no note says where it was raised.
    """


class WarningCommunicator(Communicator, Protocol):
    """A communicator whose ranks can also learn of a failure while they wait for something else than a round of
    messages.
    """

    host: str

    def warn(self, number: int) -> None:
        """Warn the other ranks that this one has given up the task of this number, which they may wait for."""

    def is_warned(self, number: int) -> bool:
        """Return whether another rank has given up the task of this number.

        Raise an error if the call was interrupted.
        """


class Link:
    """A connection between the GPUs of all ranks, over which they exchange arrays of bytes.

    Parameters
    ----------
    number : int
        Of this link among those of the ranks, the same on all of them.
    connection : Connection or None
        See `gasla.gpu.runtime.nccl`.
    obstacle : str
        Why there is no connection. Ranks then exchange through their hosts.
    """

    def __init__(self, number: int, connection: Any, obstacle: str = "") -> None:
        self.number, self.obstacle, self.ended = number, obstacle, False
        self._connection, self._exchanges = connection, 0

    def exchange(self, communicator: Any, sent: Sequence[Any], sizes: Sequence[int]) -> list[Any]:
        """Send each rank an array of bytes on this GPU.

        Return the arrays received, which have the given sizes (collective).

        `communicator` is a `WarningCommunicator`, by which this rank learns of failures while NCCL waits.
        """
        self._exchanges += 1
        task, own = TASKS * self.number + self._exchanges, communicator.rank

        def look() -> None:
            if communicator.is_warned(task):
                raise PeerFailed

        try:
            sent = [array_module(part).ascontiguousarray(part).reshape(-1).view(np.uint8) for part in sent]
            kept, sent[own] = sent[own], sent[own][:0]
            sizes = [0 if rank == own else size for rank, size in enumerate(sizes)]
            received: list[Any] = self._connection.exchange(sent, sizes, look)
        except BaseException as error:
            self._give_up(communicator, task, error)
            raise
        received[own] = kept
        return received

    def _give_up(self, communicator: WarningCommunicator, task: int, error: BaseException) -> None:
        """End the link after an error, and warn the other ranks.

        If another rank has caused the error, raise a RankError.
        """
        # a RuntimeError may come from NCCL, because another rank has failed
        until = time.monotonic() + (PATIENCE if isinstance(error, RuntimeError) else 0.0)
        is_caused = isinstance(error, PeerFailed)
        try:
            while not is_caused and time.monotonic() < until:
                is_caused = communicator.is_warned(task)
                time.sleep(0.01)
            if is_caused:
                communicator.barrier()  # at once, because the failed rank does not wait long for this round
        finally:
            if not is_caused:
                with suppress(Exception):  # not raised, because the caller raises the first failure
                    communicator.warn(task)
            self.close()

    def close(self) -> None:
        """End the NCCL connection, after which the link can't be used."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.abort()
        self.ended = True


def find_link(communicator: Any) -> Link | None:
    """Return the link of a communicator if it can be used, and otherwise None.

    Either all ranks have such a link or none has, because `invoke` closes it on all ranks after an error.
    """
    link: Link | None = communicator.link
    return None if link is None or link.ended or link.obstacle else link


def connect(rank: Rank) -> None:
    """Make a link between the GPUs of ranks in several processes, unless there is one that works (collective)."""
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
    obstacle = first_text(communicator, peers().nccl.obstacle()) or _find_shared_card(communicator)
    if not obstacle:
        key = peers().nccl.new_key() if communicator.rank == 0 else np.zeros(0, np.uint8)
        connection, problem = _connect_nccl(communicator, communicator.allgather(key)[0])
        obstacle = first_text(communicator, problem)
        if obstacle and connection is not None:
            connection.abort()
        if obstacle and communicator.rank == 0:
            warnings.warn(f"values between GPUs go through the memory of the hosts, as {obstacle}", stacklevel=2)
    communicator.link = Link(number, connection, obstacle)


def _connect_nccl(communicator: Communicator, key: np.ndarray) -> tuple[Any, str]:
    """Return this rank's NCCL connection and "", or None and an error message (collective)."""
    try:
        return peers().nccl.Connection(communicator.rank, communicator.size, key), ""
    except RuntimeError as error:  # NCCL raises this if it finds no network
        return None, f"NCCL can't join them: {error}"


def first_text(communicator: Communicator, text: str) -> str:
    """Return the first text that is not empty, in the order of the ranks, or "" (collective)."""
    return next(filter(None, share_bytes(communicator, text.encode())), b"").decode()


def _find_shared_card(communicator: Communicator) -> str:
    """Return an error message if two ranks have the same GPU, which NCCL does not allow, or "" (collective)."""
    where = host_key() + b" " + peers().shared_memory.bus_id()
    cards = share_bytes(communicator, where)
    return "processes share a GPU" if len(set(cards)) < len(cards) else ""


def host_key() -> bytes:
    """Return a key that two processes share only if they run on the same host and see each other's process ids."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    with suppress(OSError):
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(parts).encode()
