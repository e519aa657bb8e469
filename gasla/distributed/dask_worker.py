"""What of a rank is on a worker of Dask's: its seat, its mail from the others, and the work it does."""

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gasla.distributed.communicator import Rank, RankError
from gasla.distributed.failures import describe_failure
from gasla.distributed.rounds import SPLIT, Rounds, invoke

Channel = tuple[int, ...]  # the number of the call; of a part of its ranks, how they came about

LOOK = 0.5  # seconds between two looks whether the client is still there


@dataclass
class Outcome:
    """What a rank has come to."""

    value: Any
    error: BaseException | None
    place: str
    superstep: int


@dataclass
class _Seat:
    """A rank's place on a worker, from the opening of a cluster to its end."""

    rank: int
    addresses: Sequence[str]
    kept: dict[Any, Any] = field(default_factory=dict)
    mail: dict[tuple[Channel, int, int], tuple[int, np.ndarray]] = field(default_factory=dict)  # number, sender
    failed: tuple[int, str] = (0, "")  # the call, and why
    changed: threading.Condition = field(default_factory=threading.Condition)
    begun: int = 0  # the last call that it has begun
    mpi: Any = None  # its communicator, if it has one

    def fail(self, call: int, why: str) -> None:
        """Have the rank raise where it waits, or will."""
        with self.changed:
            if self.failed[0] < call:
                self.failed = call, why
            self.changed.notify_all()

    def check(self, call: int, kind: type[Exception] = RankError) -> None:
        """Raise if the call has failed."""
        if self.failed[0] >= call:
            raise kind(self.failed[1])


_seats: dict[tuple[str, int], _Seat] = {}  # several workers may be in a process


def pack(what: Any) -> bytes:
    """Something as bytes, functions of a script included."""
    import cloudpickle

    packed: bytes = cloudpickle.dumps(what)
    return packed


# --- on the thread of a worker's event loop ---------------------------------------------------------------------------


def sit(session: str, addresses: list[str], dask_worker: Any) -> int | None:
    """Take a seat, and listen; its rank in MPI's world if it is of a job of more than one."""
    rank = addresses.index(dask_worker.address)
    _seats[session, rank] = _Seat(rank, addresses)
    dask_worker.handlers["gasla_deliver"] = _deliver
    dask_worker.handlers["gasla_fail"] = _fail
    MPI = sys.modules.get("mpi4py.MPI")  # nobody else starts it: a worker under a nanny is no process of the job
    if MPI is None or not MPI.Is_initialized() or MPI.COMM_WORLD.size == 1:
        return None
    return int(MPI.COMM_WORLD.rank)


def stand(session: str) -> None:
    """Give the seats up."""
    for seat in [seat for seat in _seats if seat[0] == session]:
        del _seats[seat]


def interrupt(session: str, call: int, why: str) -> None:
    """Have the ranks on this worker fail."""
    for (other, _), seat in list(_seats.items()):
        if other == session:
            seat.fail(call, why)


def paused(session: str, call: int, dask_worker: Any) -> bool:
    """Whether this worker begins nothing more, and has not begun a call."""
    waits = any(seat.begun < call for (other, _), seat in _seats.items() if other == session)
    return waits and str(dask_worker.status.name) == "paused"


def _deliver(session: str, rank: int, sender: int, channel: list[int], number: int, kind: int, part: Any) -> None:
    seat = _seats.get((session, rank))
    if seat is not None:
        with seat.changed:
            seat.mail[tuple(channel), number, sender] = kind, part
            seat.changed.notify_all()


def _fail(session: str, rank: int, call: int, why: str) -> None:
    seat = _seats.get((session, rank))
    if seat is not None:
        seat.fail(call, why)


# --- on the thread of a task ------------------------------------------------------------------------------------------


def work(session: str, rank: int, call: int, worlds: list[int] | None, message: bytes) -> Outcome:
    """Do a rank's part of a call."""
    import pickle

    seat = _seats.get((session, rank))
    if seat is None:
        return Outcome(None, RankError(f"rank {rank} has another worker than it had before"), f"rank {rank}", 0)
    seat.begun = call
    with seat.changed:
        seat.mail = {key: part for key, part in seat.mail.items() if key[0][0] >= call}
    wanted = _Wanted(session, rank)
    if worlds:
        communicator = _over_mpi(seat, call, worlds, wanted)
    else:
        communicator = DaskCommunicator(seat, session, (call,), wanted)

    def perform(rank: Rank) -> Any:
        function, arguments, dropped = pickle.loads(message)
        for key in dropped:
            rank.kept.pop(key, None)
        return function(rank, *arguments)

    value, failure = None, None
    try:
        value = invoke(Rank(communicator, seat.kept), perform, ())
    except BaseException as error:
        failure = _portable(error)
    return Outcome(value, failure, communicator.place, communicator.superstep)


def keep(session: str, rank: int, key: Any, numbers: list[int], parts: list[Any]) -> Outcome:
    """Keep some parts at a rank, by their numbers."""
    _seats[session, rank].kept[key] = dict(zip(numbers, parts, strict=True))
    return Outcome(None, None, f"rank {rank}", 0)


def hold(session: str, rank: int, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """What a function gives of a rank, which says nothing to the others."""
    seat = _seats.get((session, rank))
    if seat is None:
        raise RankError(f"rank {rank} is no more: its worker is gone, or the cluster was left")
    alone: Any = None
    return function(Rank(alone, seat.kept), *arguments)


def _portable(error: BaseException) -> BaseException:
    """The error, or what says the same where it can't travel."""
    import pickle

    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


class _Wanted:
    """Whether anybody waits for what this task does; Dask tells a worker, and doesn't end what runs."""

    def __init__(self, session: str, rank: int) -> None:
        from distributed import get_worker

        self._seat, self._worker, self._looked = (session, rank), get_worker(), time.monotonic()
        self._task = self._worker.get_current_task()

    def check(self) -> None:
        """Look now and then; if nobody does, the rank gives its seat up, with what it keeps, and raises."""
        if time.monotonic() - self._looked > LOOK:
            self._looked = time.monotonic()
            task = self._worker.state.tasks.get(self._task)
            if task is None or task.state != "executing":
                _seats.pop(self._seat, None)
                raise ConnectionAbortedError("the client is gone, or has cancelled the call")


def _over_mpi(seat: _Seat, call: int, worlds: list[int], wanted: _Wanted) -> Any:
    """The rank's communicator over MPI, which it has from its first call on."""
    from gasla.distributed.mpi_ranks import MPICommunicator, mpi

    if seat.mpi is None:
        MPI = mpi()
        group = MPI.COMM_WORLD.group.Incl(worlds)
        seat.mpi = MPICommunicator(MPI.COMM_WORLD.Create_group(group), None)

    def raise_if_interrupted() -> None:
        seat.check(call, RuntimeError)  # which the others have to be told
        wanted.check()

    seat.mpi.raise_if_interrupted = raise_if_interrupted
    return seat.mpi


class DaskCommunicator(Rounds):
    """See `Communicator`, for one call; `members` of the ranks if it isn't all."""

    def __init__(
        self, seat: _Seat, session: str, channel: Channel, wanted: "_Wanted", members: Sequence[int] = ()
    ) -> None:
        from distributed import get_worker

        self._members = list(members) or list(range(len(seat.addresses)))
        super().__init__(self._members.index(seat.rank), len(self._members))
        self._seat, self._session, self._channel = seat, session, channel
        self._number, self._splits = 0, 0
        self._worker, self._wanted = get_worker(), wanted

    def meet(self, kind: int, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """See `Rounds`."""
        self._seat.check(self._channel[0])
        self._wanted.check()
        number, self._number = self._number, self._number + 1
        sending = asyncio.run_coroutine_threadsafe(self._send(number, kind, parts), self._worker.loop.asyncio_loop)
        found = {self.rank: (kind, parts[self.rank])}
        for peer, member in enumerate(self._members):
            if peer != self.rank:
                found[peer] = self._receive((self._channel, number, member))
        sending.result()
        self.check(kind, [found[peer][0] for peer in range(self.size)], ())
        return [found[peer][1] for peer in range(self.size)]

    async def _send(self, number: int, kind: int, parts: Sequence[np.ndarray]) -> None:
        from distributed.protocol import to_serialize

        common = {"session": self._session, "sender": self._seat.rank, "channel": self._channel}
        sent = [
            self._worker.rpc(self._seat.addresses[member]).gasla_deliver(
                rank=member, number=number, kind=kind, part=to_serialize(parts[peer]), **common
            )
            for peer, member in enumerate(self._members)
            if peer != self.rank
        ]
        await asyncio.gather(*sent)

    def _receive(self, which: tuple[Channel, int, int]) -> tuple[int, np.ndarray]:
        """Wait for a part."""
        seat = self._seat
        with seat.changed:
            while which not in seat.mail:
                seat.check(self._channel[0])
                seat.changed.wait(LOOK)
                self._wanted.check()
            return seat.mail.pop(which)

    def split(self, color: int) -> "DaskCommunicator":
        """See `Communicator`."""
        colors = [int(found[0]) for found in self.allgather(np.array([color]))]
        self.end(SPLIT)
        self._splits += 1
        members = [member for member, there in zip(self._members, colors) if there == color]
        return DaskCommunicator(self._seat, self._session, (*self._channel, self._splits, color), self._wanted, members)

    def abort(self, error: BaseException) -> None:
        """See `Communicator`."""
        call = self._channel[0]
        why = str(error) if isinstance(error, RankError) else describe_failure(self.place, error)
        self._seat.fail(call, why)
        asyncio.run_coroutine_threadsafe(self._tell(call, why), self._worker.loop.asyncio_loop)

    async def _tell(self, call: int, why: str) -> None:
        others = [rank for rank in range(len(self._seat.addresses)) if rank != self._seat.rank]
        sent = [
            self._worker.rpc(self._seat.addresses[rank]).gasla_fail(
                session=self._session, rank=rank, call=call, why=why
            )
            for rank in others
        ]
        await asyncio.gather(*sent, return_exceptions=True)
