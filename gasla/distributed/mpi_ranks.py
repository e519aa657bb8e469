"""Ranks that are MPI processes, by mpi4py, under `mpiexec` or as workers of dask-mpi.

All messages of an exchange are sent by one MPI all-to-all of fixed-size *slots*. A slot has the number of the operation
that the sender calls, the length of the message, and the message itself if it fits. Larger messages follow point to
point. The all-to-all is nonblocking, so a failed rank does not wait forever for ranks that don't take part.
"""

import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from typing import Any

import numpy as np

from gasla.arrays import require_gpu
from gasla.distributed.communicator import Dropped, Member, Rank, RankError
from gasla.distributed.failures import TerminationMessage, note
from gasla.distributed.peer_groups import Processes
from gasla.distributed.rounds import EMPTY, EXCHANGE, FAILED, LEAVE, LEFT, SPLIT, Rounds, invoke

SLOT = 512
_HEAD = 16  # bytes of a slot's header: a number for the operation that the rank calls, and the length of the message
_CAPACITY = SLOT - _HEAD
_PIECE = 1 << 30  # MPI counts bytes in 32 bits, so a larger message is sent in pieces of this many bytes
_LARGE, _WARNING = 0, 1  # MPI tags of large messages and of warnings
# Seconds that a failed rank waits for other ranks before it aborts the job. They are fewer than the second by which
# `mpi` delays Open MPI's abort.
PATIENCE = 0.6


def mpi() -> Any:
    """Import and return `mpi4py.MPI`. If mpi4py is missing, the ImportError says how to install it.

    This also delays Open MPI's abort of a job by a second. Open MPI's library may notice the loss of a rank before the
    launcher does, but only the launcher reports which rank was lost and on which host.
    """
    os.environ.setdefault("OMPI_MCA_mpi_abort_delay", "1")
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise ImportError(f"MPI ranks need mpi4py and an MPI library ({error}): pip install 'gasla[mpi]'") from None
    return MPI


class MPICommunicator(Rounds):
    """A communicator between the processes of an MPI job.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
        The MPI communicator, which nothing else may use.
    patience : float or None
        Seconds to wait for the other ranks after a failure of this rank before the job is aborted. None waits forever.
    """

    def __init__(self, comm: Any, patience: float | None = PATIENCE) -> None:
        super().__init__(comm.rank, comm.size)
        self._comm, self._patience = comm, patience
        # True during an exchange of messages. If an error interrupts the exchange, this stays True, and no other
        # exchange can follow.
        self._is_interrupted = False
        self._out, self._exchanged, self._passing = (_Slots(self.size) for _ in range(3))
        self._large_buffers = [EMPTY] * self.size
        # MPI requests of the warnings that this rank has sent, with the arrays that they send. MPI reads an array until
        # its request ends, so the arrays must not be freed before.
        self._warnings: list[tuple[Any, np.ndarray]] = []
        # numbers of tasks (such as runs of kernels) that other ranks have given up after an error
        self._given_up: set[int] = set()

    def meet(self, kind: int, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Send `parts[r]` to each rank r, and return what each rank sends to this one, by one MPI all-to-all.

        `kind` is a number for the operation. A RankError is raised if the ranks call different operations. Messages
        that are too long for the all-to-all follow point to point.
        """
        self.raise_if_interrupted()
        self._is_interrupted = True
        # What an `exchange` returns must stay valid until the next `exchange`, so other operations receive into another
        # buffer.
        slots_received = self._exchanged if kind == EXCHANGE else self._passing
        self._out.fill(kind, parts, self.rank)
        self._comm.Ialltoall(self._out.buffer, slots_received.buffer).Wait()
        kinds_of_ranks, lengths = slots_received.heads.T.tolist()
        if kinds_of_ranks.count(kind) < self.size:
            self._is_interrupted = False
            self.check(
                kind, kinds_of_ranks, [slots_received.slots[peer, _HEAD:][: lengths[peer]] for peer in range(self.size)]
            )
        received_parts = [slots_received.slots[peer, _HEAD : _HEAD + lengths[peer]] for peer in range(self.size)]
        received_parts[self.rank] = parts[self.rank]
        if max(lengths) > _CAPACITY or max(map(len, parts)) > _CAPACITY:
            self._send_large(
                parts, lengths, received_parts, self._large_buffers if kind == EXCHANGE else [EMPTY] * self.size
            )
        self._is_interrupted = False
        return received_parts

    def raise_if_interrupted(self) -> None:
        """Do nothing, because under `mpiexec` there is no client that could interrupt a call.

        Under dask-mpi this is replaced by a function that raises an error if the client has interrupted the call.
        """

    def _send_large(
        self,
        parts_to_send: Sequence[np.ndarray],
        lengths: list[int],
        received_parts: list[np.ndarray],
        buffers: list[np.ndarray],
    ) -> None:
        """Exchange, point to point, those messages that are too long for the fixed-size slots of the MPI all-to-all.

        They are stored in `received_parts`, which has an entry per rank. `lengths` has the lengths in bytes of the
        messages from all ranks, and `buffers` has memory for received messages, which later exchanges reuse.
        """
        requests = []
        for peer in self._other_ranks():
            if (length := lengths[peer]) > _CAPACITY:
                if len(buffers[peer]) < length:
                    buffers[peer] = np.empty(length, np.uint8)
                received_parts[peer] = buffers[peer][:length]
                requests += [self._comm.Irecv(part_piece, peer, _LARGE) for part_piece in _pieces(received_parts[peer])]
        for peer in self._other_ranks():
            if len(parts_to_send[peer]) > _CAPACITY:
                requests += [
                    self._comm.Isend(part_piece, peer, _LARGE)
                    for part_piece in _pieces(np.ascontiguousarray(parts_to_send[peer]))
                ]
        mpi().Request.Waitall(requests)

    def _other_ranks(self) -> list[int]:
        """Return the numbers of all ranks except this one, beginning with the rank after this one.

        Each rank sends in this order, so that not all ranks send to the same one at a time.
        """
        return [(self.rank + step) % self.size for step in range(1, self.size)]

    def split(self, color: int) -> "MPICommunicator":
        """Return a communicator of the ranks that passed the same color, in rank order."""
        self.end(SPLIT)
        return MPICommunicator(self._comm.Split(color, self.rank), self._patience)

    def abort(self, error: BaseException) -> None:
        """Report to the other ranks that this rank has failed with `error`.

        If they don't take part in an exchange in time, abort the MPI job.
        """
        # A RankError only reports another rank's failure, which all ranks know already, so it is not reported again.
        if isinstance(error, RankError):
            return
        if self._is_interrupted:
            self.stop(error)
        # If all ranks fail, the arguments that they have in common are the cause. Then it does not matter which rank
        # has raised the error, so no note is added.
        if set(self._report_failure(FAILED, error)) != {FAILED}:
            note(error, self.place)

    def warn(self, number: int) -> None:
        """Warn the other ranks that this rank has given up a task, such as a run of kernels, after an error.

        They can receive the warning while they wait for something else than messages, such as a kernel.
        """
        content = np.array([number], np.int64)
        self._warnings += [(self._comm.Isend(content, peer, _WARNING), content) for peer in self._other_ranks()]

    def is_warned(self, number: int) -> bool:
        """Return whether another rank has warned that it has given up a task, such as a run of kernels, after an error.

        `number` is the number of the task.
        """
        self.raise_if_interrupted()
        content = np.zeros(1, np.int64)
        while self._comm.Iprobe(tag=_WARNING):
            self._comm.Recv(content, tag=_WARNING)
            self._given_up.add(int(content[0]))
        return number in self._given_up

    def _report_failure(self, operation: int, error: BaseException) -> list[int]:
        """Send an error's text to all ranks, in place of this rank's message in the exchange that they are in.

        Return the kind of operation that each rank has called in this exchange. If the other ranks don't take part in
        it in time, abort the MPI job.
        """
        self._out.fill(operation, [self.message_of(error)[:_CAPACITY]] * self.size, -1)
        request = self._comm.Ialltoall(self._out.buffer, self._passing.buffer)
        deadline = None if self._patience is None else time.monotonic() + self._patience
        while not request.Test():
            if deadline is not None and time.monotonic() > deadline:
                self.stop(error)
            time.sleep(0.001)
        kinds_of_ranks: list[int] = self._passing.heads[:, 0].tolist()
        return kinds_of_ranks

    def leave(self, error: BaseException | None) -> None:
        """End the communication of this rank with the other ranks, all of which have to call this, at the end of the
        cluster.

        `error` is this rank's error, or None. If this rank has none but another rank has failed, raise that rank's
        error.
        """
        failure = error
        if error is None:
            try:
                self.end(LEAVE)
            except RankError as found:
                failure = found
        if failure is not None and (error is not None or not self._all_left()):
            while not set(self._report_failure(LEFT, failure)) <= {LEFT, LEAVE}:
                pass
        if failure is None:
            self._comm.Free()
        elif error is None:
            raise failure

    def _all_left(self) -> bool:
        return set(self._passing.heads[:, 0].tolist()) <= {LEFT, LEAVE}

    def stop(self, error: BaseException) -> None:
        """Print an error, and abort all processes of the MPI job."""
        note(error, self.place)
        traceback.print_exception(error)
        sys.stdout.flush()
        sys.stderr.flush()
        self._comm.Abort(1)


class _Slots:
    """The buffer of an MPI all-to-all. Each rank has a slot of fixed size, for a header and a message."""

    def __init__(self, size: int) -> None:
        self.slots = np.zeros((size, SLOT), np.uint8)
        self.heads = self.slots[:, :_HEAD].view(np.int64)
        self.buffer = [self.slots, SLOT, mpi().BYTE]

    def fill(self, kind: int, parts: Sequence[np.ndarray], own: int) -> None:
        """Write a header into each rank's slot of the buffer, and the message to the rank if it fits into the slot.

        The message to the rank `own`, this rank itself, is not written, because it need not be sent.
        """
        self.heads[:, 0] = kind
        self.heads[:, 1] = lengths = [len(message) for message in parts]
        for peer, length in enumerate(lengths):
            if 0 < length <= _CAPACITY and peer != own:
                self.slots[peer, _HEAD : _HEAD + length] = parts[peer]


def _pieces(message: np.ndarray) -> list[np.ndarray]:
    return [message[start : start + _PIECE] for start in range(0, len(message), _PIECE)]


def card_of(comm: Any) -> int:
    """Return the device number of the GPU that this process of an MPI job uses (collective).

    It is the number of the process among the processes of its host, modulo the number of GPUs.
    """
    processes_of_host = comm.Split_type(mpi().COMM_TYPE_SHARED)
    rank_on_host = int(processes_of_host.rank)
    processes_of_host.Free()
    return rank_on_host % int(require_gpu().cuda.runtime.getDeviceCount())


class MPIRanks:
    """Ranks that are the processes of an MPI job. Every process runs the same script, and controls its own rank.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm, optional
        By default all processes of the job.
    gpus : bool
        Whether each process has a GPU. Process i of a host uses GPU i.
    """

    def __init__(self, comm: Any = None, gpus: bool = False) -> None:
        comm = mpi().COMM_WORLD if comm is None else comm
        self.has_cards = gpus
        self._card: Any = nullcontext()
        if gpus:
            self._card = require_gpu().cuda.Device(card_of(comm))
        self.communicator = MPICommunicator(comm.Dup())
        self.size, self.here = comm.size, (comm.rank,)
        self._rank = Rank(self.communicator, has_card=gpus)
        self._group = Processes(self.communicator, self._rank, self._card.id) if gpus else None
        self.dropped = Dropped()
        self._termination_message = TerminationMessage(
            lambda: f"{self.communicator.place}: terminated (SIGTERM); the MPI launcher may have lost another rank"
        )

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call `function(rank, *arguments)` on this process's rank. Return a list with the result as its only entry."""
        for key in self.dropped.taken():
            self._rank.kept.pop(key, None)
        with self._card:
            return [invoke(self._rank, function, arguments)]

    def together(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call `function(group, *arguments)` in this process, where `group` stands for this process's rank and its GPU.

        Return None if ranks have no GPUs.
        """
        if self._group is None:
            return None
        return self.each(lambda _: function(self._group, *arguments))[0]

    def place(self, key: Any, parts: Sequence[Any]) -> bool:
        """Return False, because these ranks are not Dask workers."""
        return False

    def members(self) -> Sequence[Member]:
        """Return an empty sequence, because each process controls only one of the ranks."""
        return ()

    def held(self, function: Callable[..., Any], *arguments: Any) -> list[Any] | None:
        """Return None, because these ranks are not Dask workers."""
        return None

    def leave(self, error: BaseException | None) -> None:
        """End the use of the ranks. If there was an error, it is reported to the other ranks."""
        shared = None
        if self.communicator.link is not None:
            self.communicator.link.close()
        if self._group is not None:
            # a GPU that has failed refuses to unmap memory, and that error must not hide the first one
            with suppress(Exception), self._card:
                shared = self._group.unmap()
        try:
            self.communicator.leave(error)
        finally:
            self._termination_message.forget()
            # Only now free the memory that the other ranks had mapped, because they have all unmapped it before they
            # left.
            del shared
