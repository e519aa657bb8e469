"""Ranks as processes of MPI, by mpi4py: each runs the same script, under `mpiexec` or as workers of dask-mpi.

A round is one collective over slots of a fixed size, which carry the kind of the round, the lengths of messages, and
those that fit in; larger ones follow from point to point. The collective is a nonblocking one, so that a rank that has
failed need not wait for ever for the others to come and hear of it.
"""

import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gasla.distributed.communicator import Rank, RankError
from gasla.distributed.failures import LastWords, note
from gasla.distributed.rounds import EXCHANGE, FAILED, GONE, LEAVE, NOTHING, SPLIT, Rounds, invoke

SLOT = 512
_HEAD = 16  # bytes: the kind of the round, and the length of the message
_CAPACITY = SLOT - _HEAD
_PIECE = 1 << 30  # bytes of a message that go at a time: MPI counts in 32 bits
PATIENCE = 0.6  # seconds that a rank which has failed waits for the others before it ends the job, see `mpi`


def mpi() -> Any:
    """MPI as mpi4py has it, or an error that says how to get it.

    Where it begins here, Open MPI is told to abort a second later: it may notice before its launcher that a rank on
    another host is gone, and knows neither its name nor its host.
    """
    os.environ.setdefault("OMPI_MCA_mpi_abort_delay", "1")
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise ImportError(f"ranks over MPI need mpi4py and an MPI ({error}): pip install 'gasla[mpi]'") from None
    return MPI


class MPICommunicator(Rounds):
    """See `Communicator`.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
        Nobody else's.
    patience : float or None
        How long to wait for the others to hear of a failure here before the job is ended; None is for ever.
    """

    def __init__(self, comm: Any, patience: float | None = PATIENCE) -> None:
        super().__init__(comm.rank, comm.size)
        self._comm, self._patience = comm, patience
        self._torn = False  # in the middle of a round
        self._out, self._exchanged, self._passing = (_Slots(self.size) for _ in range(3))
        self._large = [NOTHING] * self.size

    def meet(self, kind: int, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """See `Rounds`."""
        self.raise_if_interrupted()
        self._torn = True
        into = self._exchanged if kind == EXCHANGE else self._passing  # of an exchange, it may be read for longer
        self._out.fill(kind, parts, self.rank)
        self._comm.Ialltoall(self._out.buffer, into.buffer).Wait()
        kinds, lengths = into.heads.T.tolist()
        if kinds.count(kind) < self.size:
            self._torn = False
            self.check(kind, kinds, [into.slots[peer, _HEAD:][: lengths[peer]] for peer in range(self.size)])
        found = [into.slots[peer, _HEAD : _HEAD + lengths[peer]] for peer in range(self.size)]
        found[self.rank] = parts[self.rank]
        if max(lengths) > _CAPACITY or max(map(len, parts)) > _CAPACITY:
            self._send_large(parts, lengths, found, self._large if kind == EXCHANGE else [NOTHING] * self.size)
        self._torn = False
        return found

    def raise_if_interrupted(self) -> None:
        """Raise if the caller of the ranks has stopped them."""

    def _send_large(
        self, parts: Sequence[np.ndarray], lengths: list[int], found: list[np.ndarray], buffers: list[np.ndarray]
    ) -> None:
        """Send what doesn't fit in slots, and receive it in buffers that serve the next time too."""
        requests = []
        for peer in self._others():
            if (length := lengths[peer]) > _CAPACITY:
                if len(buffers[peer]) < length:
                    buffers[peer] = np.empty(length, np.uint8)
                found[peer] = buffers[peer][:length]
                requests += [self._comm.Irecv(piece, peer) for piece in _pieces(found[peer])]
        for peer in self._others():
            if len(parts[peer]) > _CAPACITY:
                requests += [self._comm.Isend(piece, peer) for piece in _pieces(np.ascontiguousarray(parts[peer]))]
        mpi().Request.Waitall(requests)

    def _others(self) -> list[int]:
        """The other ranks, the next one first: not all begin with the same."""
        return [(self.rank + step) % self.size for step in range(1, self.size)]

    def split(self, color: int) -> "MPICommunicator":
        """See `Communicator`."""
        self.end(SPLIT)
        return MPICommunicator(self._comm.Split(color, self.rank), self._patience)

    def abort(self, error: BaseException) -> None:
        """See `Communicator`. If the others can't be told in time, the job ends here."""
        if isinstance(error, RankError):  # which all ranks have
            return
        if self._torn:
            self.stop(error)
        if set(self._tell(FAILED, error)) != {FAILED}:  # where all refuse alike, a person has given it wrong
            note(error, self.place)

    def _tell(self, kind: int, error: BaseException) -> list[int]:
        """Take part in a round with a failure; what kind it is for each rank."""
        self._out.fill(kind, [self.message_of(error)[:_CAPACITY]] * self.size, -1)
        request = self._comm.Ialltoall(self._out.buffer, self._passing.buffer)
        end = None if self._patience is None else time.monotonic() + self._patience
        while not request.Test():
            if end is not None and time.monotonic() > end:
                self.stop(error)
            time.sleep(0.001)
        kinds: list[int] = self._passing.heads[:, 0].tolist()
        return kinds

    def leave(self, error: BaseException | None) -> None:
        """Part once every rank does, with an error or without, and has heard of one elsewhere."""
        failure = error
        if error is None:
            try:
                self.end(LEAVE)
            except RankError as found:
                failure = found
        if failure is not None and (error is not None or not self._all_left()):
            while not set(self._tell(GONE, failure)) <= {GONE, LEAVE}:
                pass
        if failure is None:
            self._comm.Free()
        elif error is None:
            raise failure

    def _all_left(self) -> bool:
        return set(self._passing.heads[:, 0].tolist()) <= {GONE, LEAVE}

    def stop(self, error: BaseException) -> None:
        """Say what has failed, and end all processes of the job."""
        note(error, self.place)
        traceback.print_exception(error)
        sys.stdout.flush()
        sys.stderr.flush()
        self._comm.Abort(1)


class _Slots:
    """A slot for each rank."""

    def __init__(self, size: int) -> None:
        self.slots = np.zeros((size, SLOT), np.uint8)
        self.heads = self.slots[:, :_HEAD].view(np.int64)
        self.buffer = [self.slots, SLOT, mpi().BYTE]

    def fill(self, kind: int, parts: Sequence[np.ndarray], own: int) -> None:
        """Put in what fits, for all ranks but one."""
        self.heads[:, 0] = kind
        self.heads[:, 1] = lengths = [len(part) for part in parts]
        for peer, length in enumerate(lengths):
            if 0 < length <= _CAPACITY and peer != own:
                self.slots[peer, _HEAD : _HEAD + length] = parts[peer]


def _pieces(message: np.ndarray) -> list[np.ndarray]:
    return [message[start : start + _PIECE] for start in range(0, len(message), _PIECE)]


class MPIRanks:
    """See `Ranks`: every process runs the same script, and speaks for its own rank.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm, optional
        Of these processes, by default all of the job.
    """

    def __init__(self, comm: Any = None) -> None:
        comm = mpi().COMM_WORLD if comm is None else comm
        self.communicator = MPICommunicator(comm.Dup())
        self.size, self.here = comm.size, (comm.rank,)
        self._rank = Rank(self.communicator)
        self._dropped: list[Any] = []
        self._last_words = LastWords(
            lambda: f"{self.communicator.place}: told to end (SIGTERM), as by a launcher that has lost another rank"
        )

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """See `Ranks`."""
        while self._dropped:
            self._rank.kept.pop(self._dropped.pop(), None)
        return [invoke(self._rank, function, arguments)]

    def place(self, key: Any, parts: Sequence[Any]) -> bool:
        """See `Ranks`."""
        return False

    def held(self, function: Callable[..., Any], *arguments: Any) -> list[Any] | None:
        """See `Ranks`."""
        return None

    def forget(self, key: Any) -> None:
        """See `Ranks`."""
        self._dropped.append(key)

    def leave(self, error: BaseException | None) -> None:
        """See `Ranks`."""
        try:
            self.communicator.leave(error)
        finally:
            self._last_words.forget()
