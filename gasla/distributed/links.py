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

# Numbers of tasks of which ranks warn each other: exchanges by NCCL have numbers from this one on, runs of kernels
# smaller ones.
TASKS = 1 << 40
PATIENCE = 1.0  # seconds within which another rank's warning of its failure arrives


class PeerFailed(Exception):
    """The error that is raised when another process has failed. The text of its error follows in the next exchange of
    messages between ranks.

    This is not an error of a rank, so no note says where it was raised.
    """


class WarningCommunicator(Communicator, Protocol):
    """The interface of communicators whose ranks learn that another rank has failed even while they wait for a GPU and
    not for a message.
    """

    host: str

    def warn(self, number: int) -> None:
        """Warn the other ranks that this rank has given up the task of this number (a run of kernels, or an exchange by
        NCCL).

        The other ranks may be waiting for the same task.
        """

    def is_warned(self, number: int) -> bool:
        """Return whether another rank has given up the task of this number (a run of kernels, or an exchange by NCCL).

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
        """Send an array of bytes on this rank's GPU to each rank, and return the arrays received (collective).

        `sent` has the arrays by receiver, and `sizes` the sizes in bytes of the arrays received. `communicator` is a
        `WarningCommunicator`, by which this rank learns of failures while NCCL waits.
        """
        self._exchanges += 1
        task, own_rank = TASKS * self.number + self._exchanges, communicator.rank

        def look() -> None:
            if communicator.is_warned(task):
                raise PeerFailed

        try:
            sent = [array_module(part).ascontiguousarray(part).reshape(-1).view(np.uint8) for part in sent]
            own_part, sent[own_rank] = sent[own_rank], sent[own_rank][:0]
            sizes = [0 if rank == own_rank else size for rank, size in enumerate(sizes)]
            received: list[Any] = self._connection.exchange(sent, sizes, look)
        except BaseException as error:
            self._give_up(communicator, task, error)
            raise
        received[own_rank] = own_part
        return received

    def _give_up(self, communicator: WarningCommunicator, task: int, error: BaseException) -> None:
        """Close the NCCL connection after an error in the exchange `task`, and warn the other ranks of this rank's
        failure.

        If another rank has caused the error, raise a RankError.
        """
        # NCCL may have raised a RuntimeError because another rank has failed. So wait some time for that rank's
        # warning.
        deadline = time.monotonic() + (PATIENCE if isinstance(error, RuntimeError) else 0.0)
        is_caused = isinstance(error, PeerFailed)
        try:
            while not is_caused and time.monotonic() < deadline:
                is_caused = communicator.is_warned(task)
                time.sleep(0.01)
            if is_caused:
                # This raises the failed rank's error. It is called at once, because that rank does not wait long for
                # the others.
                communicator.barrier()
        finally:
            if not is_caused:
                # An error of the warning itself is ignored, because the caller raises the error that has caused the
                # warning.
                with suppress(Exception):
                    communicator.warn(task)
            self.close()

    def close(self) -> None:
        """End the NCCL connection, after which the link can't be used."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.abort()
        self.ended = True


def find_link(communicator: Any) -> Link | None:
    """Return the NCCL connection between the GPUs of a communicator's ranks, or None if there is none to use.

    Either all ranks have such a connection or none has, because all ranks close it when a call on the ranks has failed.
    """
    link: Link | None = communicator.link
    return None if link is None or link.ended or link.obstacle else link


def connect(rank: Rank) -> None:
    """Connect the GPUs of ranks in several processes by NCCL, which then sends arrays between them (collective).

    Nothing is done if there is a connection that works.
    """
    communicator: Any = rank.communicator
    if not rank.has_card or communicator.shares_memory or communicator.size == 1:
        return
    link: Link | None = communicator.link
    own_state = [0, 0] if link is None else [link.number, link.ended]
    all_states = np.stack(communicator.allgather(np.array(own_state, np.int64)))
    if link is not None and (all_states == [link.number, 0]).all():
        return
    if link is not None:
        link.close()
    link_number, connection = int(all_states[:, 0].max()) + 1, None
    obstacle = first_text(communicator, peers().nccl.obstacle()) or _find_shared_card(communicator)
    if not obstacle:
        key = peers().nccl.new_key() if communicator.rank == 0 else np.zeros(0, np.uint8)
        connection, problem = _connect_nccl(communicator, communicator.allgather(key)[0])
        obstacle = first_text(communicator, problem)
        if obstacle and connection is not None:
            connection.abort()
        if obstacle and communicator.rank == 0:
            warnings.warn(f"values between GPUs go through the memory of the hosts, as {obstacle}", stacklevel=2)
    communicator.link = Link(link_number, connection, obstacle)


def _connect_nccl(communicator: Communicator, key: np.ndarray) -> tuple[Any, str]:
    """Return this rank's NCCL connection and an empty text, or, if connecting has failed, None and an error message
    (collective).
    """
    try:
        return peers().nccl.Connection(communicator.rank, communicator.size, key), ""
    # NCCL raises this error if it finds no network, and ranks then exchange values through the memory of their hosts
    except RuntimeError as error:
        return None, f"NCCL can't join them: {error}"


def first_text(communicator: Communicator, text: str) -> str:
    """Return the first nonempty text in rank order among the texts that all ranks pass, or "" if all are empty
    (collective).

    So if ranks have different error messages, all ranks get the same one.
    """
    return next(filter(None, share_bytes(communicator, text.encode())), b"").decode()


def _find_shared_card(communicator: Communicator) -> str:
    """Return an error message if two ranks have the same GPU, which NCCL does not allow, or "" (collective)."""
    where = host_key() + b" " + peers().shared_memory.bus_id()
    cards = share_bytes(communicator, where)
    return "processes share a GPU" if len(set(cards)) < len(cards) else ""


def host_key() -> bytes:
    """Return a key that two processes share only if they run on the same host and see each other's process ids."""
    texts = [socket.gethostname()]
    with suppress(OSError):
        texts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    with suppress(OSError):
        texts.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(texts).encode()
