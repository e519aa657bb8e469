"""The part of a rank that runs on a Dask worker: its state, its incoming messages, and the execution of calls."""

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gasla.arrays import require_gpu
from gasla.distributed.communicator import Rank, RankError
from gasla.distributed.failures import describe_failure
from gasla.distributed.links import host_key
from gasla.distributed.rounds import SPLIT, Rounds, invoke
from gasla.engines import peers

# Identifies a communicator of a rank: the number of the client's call, then a number and a color for each `split`.
Channel = tuple[int, ...]

LOOK = 0.5  # While a rank waits, it checks every this many seconds whether the client still exists.


@dataclass
class Outcome:
    """How a call on a rank has ended: with a value or an error, on which rank and host, and in which superstep."""

    value: Any
    error: BaseException | None
    place: str
    superstep: int


@dataclass
class _RankState:
    """What a Dask worker stores for a rank while a cluster is open: the rank's data, its incoming messages, and
    failures of calls.
    """

    rank: int
    addresses: Sequence[str]
    card: int | None  # the device number of the rank's GPU, or None if ranks have no GPUs
    kept: dict[Any, Any] = field(default_factory=dict)
    mail: dict[tuple[Channel, int, int], tuple[int, np.ndarray]] = field(
        default_factory=dict
        # for each message that has arrived, by communicator, round and sender: the number of the operation, and the
        # content
    )
    failed: tuple[int, str] = (0, "")  # number of the last call that has failed on any rank, and the reason
    changed: threading.Condition = field(default_factory=threading.Condition)
    begun: int = 0  # number of the last call of the client that has begun on this rank
    mpi: Any = None  # communicator over MPI, or None
    link: Any = None  # the NCCL connection between the GPUs of all ranks, which outlives the communicator of a call

    def fail(self, call: int, why: str) -> None:
        """Record that a call of the client has failed, so that this rank raises an error in its current or next
        operation.
        """
        with self.changed:
            if self.failed[0] < call:
                self.failed = call, why
            self.changed.notify_all()

    def check(self, call: int, kind: type[Exception] = RankError) -> None:
        """Raise an error if the client's call of this number, or a later call, has failed on any rank."""
        if self.failed[0] >= call:
            raise kind(self.failed[1])


# keys: session (an open cluster) and rank, because one process may run several workers
_states: dict[tuple[str, int], _RankState] = {}


def pack(what: Any) -> bytes:
    """Return any object as the bytes of a pickle. Functions that are defined in the user's script are pickled with
    their code, because workers can't import the script.
    """
    import cloudpickle

    pickled_call: bytes = cloudpickle.dumps(what)
    return pickled_call


# --- functions that run on the thread of a worker's event loop --------------------------------------------------------


def register(session: str, addresses: list[str], cards: Sequence[int], dask_worker: Any) -> int | None:
    """Create the state of the rank on this Dask worker, and install the handlers for messages that other workers send
    to it.

    `session` is the key of an open cluster, and `addresses` has the workers' addresses in rank order. `cards` has the
    device numbers of the GPUs of all ranks, and is empty if ranks have no GPUs. Return the process's rank in
    `MPI.COMM_WORLD`, or None if it is not in an MPI job.
    """
    rank = addresses.index(dask_worker.address)
    _states[session, rank] = _RankState(rank, addresses, cards[rank] if cards else None)
    dask_worker.handlers["gasla_deliver"] = _deliver
    dask_worker.handlers["gasla_fail"] = _fail
    # A worker that Dask's nanny has started is in no MPI job, and must not import MPI. So MPI is used only if the
    # process has imported it already.
    MPI = sys.modules.get("mpi4py.MPI")
    if MPI is None or not MPI.Is_initialized() or MPI.COMM_WORLD.size == 1:
        return None
    return int(MPI.COMM_WORLD.rank)


def find_cards() -> tuple[bytes, bytes, int]:
    """Return a key for the host of this worker, the bus id of its first GPU, and the number of GPUs that it sees."""
    count = int(require_gpu().cuda.runtime.getDeviceCount())
    return host_key(), peers().shared_memory.bus_id(), count


def unregister(session: str) -> None:
    """Remove the states of all ranks of a session (an open cluster, which is being closed) from this Dask worker."""
    for key in [key for key in _states if key[0] == session]:
        state = _states.pop(key)
        for link in (state.link, getattr(state.mpi, "link", None)):
            if link is not None:
                link.close()


def interrupt(session: str, call: int, why: str) -> None:
    """Make the ranks of a session (an open cluster) on this worker raise an error in their current or next operation.

    `call` is the number of the client's call that has failed, and `why` the text of the error.
    """
    for (other_session, _), state in list(_states.items()):
        if other_session == session:
            state.fail(call, why)


def paused(session: str, call: int, dask_worker: Any) -> bool:
    """Return whether Dask has paused this worker before a rank of the session (an open cluster) has begun a call of the
    client.

    `call` is the number of the call. The rank can't begin it then, and all other ranks would wait.
    """
    waits = any(state.begun < call for (other_session, _), state in _states.items() if other_session == session)
    return waits and str(dask_worker.status.name) == "paused"


# Dask passes the arguments of these two handlers by their names, which are those that the senders use.


def _deliver(session: str, rank: int, sender: int, channel: list[int], number: int, kind: int, part: Any) -> None:
    state = _states.get((session, rank))
    if state is not None:
        with state.changed:
            state.mail[tuple(channel), number, sender] = kind, part
            state.changed.notify_all()


def _fail(session: str, rank: int, call: int, why: str) -> None:
    state = _states.get((session, rank))
    if state is not None:
        state.fail(call, why)


# --- functions that run on the thread of a Dask task, and the communicator that they use ------------------------------


def work(session: str, rank: int, call: int, worlds: list[int] | None, message: bytes) -> Outcome:
    """Call a function on a rank, as a Dask task, and return its outcome: a value or an error.

    `call` is the number of the client's call. `worlds` has the rank of each worker's process in `MPI.COMM_WORLD`, or is
    None without MPI. `message` has the pickled function and its arguments.
    """
    import pickle

    state = _states.get((session, rank))
    if state is None:
        return Outcome(None, RankError(f"rank {rank} has moved to another worker"), f"rank {rank}", 0)
    state.begun = call
    with state.changed:
        state.mail = {key: part for key, part in state.mail.items() if key[0][0] >= call}
    cancellation = _Cancellation(session, rank)
    if worlds:
        communicator = _mpi_communicator(state, call, worlds, cancellation)
    else:
        communicator = DaskCommunicator(state, session, (call,), cancellation)

    def perform(rank: Rank) -> Any:
        function, arguments, dropped = pickle.loads(message)
        for key in dropped:
            rank.kept.pop(key, None)
        with _on_card(state):
            return function(rank, *arguments)

    value, failure = None, None
    try:
        value = invoke(_rank(communicator, state), perform, ())
    except BaseException as error:
        failure = _make_picklable(error)
    return Outcome(value, failure, communicator.place, communicator.superstep)


def keep(session: str, rank: int, key: Any, numbers: list[int], parts: list[Any]) -> Outcome:
    """Store the partitions of a Dask collection that were placed on this worker in the rank's data under `key`, by
    number.
    """
    _states[session, rank].kept[key] = dict(zip(numbers, parts, strict=True))
    return Outcome(None, None, f"rank {rank}", 0)


def hold(session: str, rank: int, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Return what `function(rank, *arguments)` returns, as a Dask task on the rank's worker.

    Other ranks need not call the function, so it can't communicate with them.
    """
    state = _states.get((session, rank))
    if state is None:
        raise RankError(f"rank {rank} no longer exists: its worker was lost, or the cluster was closed")
    no_communicator: Any = None
    with _on_card(state):
        return function(_rank(no_communicator, state), *arguments)


def _rank(communicator: Any, state: _RankState) -> Rank:
    return Rank(communicator, state.kept, state.card is not None)


def _on_card(state: _RankState) -> AbstractContextManager[Any]:
    """Return a context manager in which the rank's GPU is CUDA's current device. Without a GPU it does nothing."""
    return nullcontext() if state.card is None else require_gpu().cuda.Device(state.card)


def _make_picklable(error: BaseException) -> BaseException:
    """Return the error of a rank so that Dask can send it to the client: unchanged if it can be pickled, and otherwise
    as a RuntimeError with the same text.
    """
    import pickle

    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


class _Cancellation:
    """Detects that the client has cancelled this Dask task. Dask marks the task, but does not stop running code."""

    def __init__(self, session: str, rank: int) -> None:
        from distributed import get_worker

        self._state, self._worker, self._looked = (session, rank), get_worker(), time.monotonic()
        self._task = self._worker.get_current_task()

    def check(self) -> None:
        """Raise an error, and remove the rank's state, if the client has cancelled the task or no longer exists.

        To save time, only calls that are at least `LOOK` seconds apart look at the task.
        """
        if time.monotonic() - self._looked > LOOK:
            self._looked = time.monotonic()
            task = self._worker.state.tasks.get(self._task)
            if task is None or task.state != "executing":
                _states.pop(self._state, None)
                raise ConnectionAbortedError("the client was lost, or has cancelled the call")


def _mpi_communicator(state: _RankState, call: int, worlds: list[int], cancellation: _Cancellation) -> Any:
    """Return the communicator by which a rank on a Dask worker communicates over MPI.

    The first call of the client creates it, and later calls reuse it. While the communicator waits for other ranks, it
    raises an error if the client's call has failed or was cancelled.
    """
    from gasla.distributed.mpi_ranks import MPICommunicator, mpi

    if state.mpi is None:
        MPI = mpi()
        group = MPI.COMM_WORLD.group.Incl(worlds)
        state.mpi = MPICommunicator(MPI.COMM_WORLD.Create_group(group), None)

    def raise_if_interrupted() -> None:
        # A RankError would not be reported to the other ranks, as they are taken to know it. So this is a RuntimeError.
        state.check(call, RuntimeError)
        cancellation.check()

    state.mpi.raise_if_interrupted = raise_if_interrupted
    return state.mpi


class DaskCommunicator(Rounds):
    """A communicator between Dask workers for one call of the client. `members` are the ranks in it, by default all
    ranks.
    """

    def __init__(
        self, state: _RankState, session: str, channel: Channel, wanted: "_Cancellation", members: Sequence[int] = ()
    ) -> None:
        from distributed import get_worker

        self._members = list(members) or list(range(len(state.addresses)))
        super().__init__(self._members.index(state.rank), len(self._members))
        self._state, self._session, self._channel = state, session, channel
        self._number, self._splits = 0, 0
        self._worker, self._wanted = get_worker(), wanted

    @property
    def link(self) -> Any:
        """The connection between the GPUs of all ranks (`links.Link`), which later calls reuse.

        After a split it is None.
        """
        return self._state.link if len(self._channel) == 1 else None

    @link.setter
    def link(self, link: Any) -> None:
        self._state.link = link

    def warn(self, number: int) -> None:
        """Do nothing: the other ranks need no warning that this rank has given up a task, because `abort` notifies them
        at once.
        """

    def is_warned(self, number: int) -> bool:
        """Raise an error if another rank has failed or the client has given up the call. Otherwise return False.

        It is called again and again while this rank waits for a GPU and not for a message.
        """
        self._state.check(self._channel[0])
        self._wanted.check()
        return False

    def meet(self, kind: int, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Send `parts[r]` to each rank r, and return what each rank sends to this one.

        Messages go from worker to worker. `kind` is a number for the operation. A RankError is raised if the ranks call
        different operations.
        """
        self._state.check(self._channel[0])
        self._wanted.check()
        meeting_number, self._number = self._number, self._number + 1
        sending = asyncio.run_coroutine_threadsafe(
            self._send(meeting_number, kind, parts), self._worker.loop.asyncio_loop
        )
        received_parts = {self.rank: (kind, parts[self.rank])}
        for peer, member in enumerate(self._members):
            if peer != self.rank:
                received_parts[peer] = self._receive((self._channel, meeting_number, member))
        sending.result()
        self.check(kind, [received_parts[peer][0] for peer in range(self.size)], ())
        return [received_parts[peer][1] for peer in range(self.size)]

    async def _send(self, number: int, kind: int, parts: Sequence[np.ndarray]) -> None:
        from distributed.protocol import to_serialize

        common = {"session": self._session, "sender": self._state.rank, "channel": self._channel}
        deliveries = [
            self._worker.rpc(self._state.addresses[member]).gasla_deliver(
                rank=member, number=number, kind=kind, part=to_serialize(parts[peer]), **common
            )
            for peer, member in enumerate(self._members)
            if peer != self.rank
        ]
        await asyncio.gather(*deliveries)

    def _receive(self, mail_key: tuple[Channel, int, int]) -> tuple[int, np.ndarray]:
        """Wait for a message from another rank.

        Return the number of the operation that the sender calls, and the content. `mail_key` identifies the message:
        the communicator, the number of the exchange, and the sender.
        """
        state = self._state
        with state.changed:
            while mail_key not in state.mail:
                state.check(self._channel[0])
                state.changed.wait(LOOK)
                self._wanted.check()
            return state.mail.pop(mail_key)

    def split(self, color: int) -> "DaskCommunicator":
        """Return a communicator of the ranks that passed the same color, in rank order."""
        colors = [int(color_of_rank[0]) for color_of_rank in self.allgather(np.array([color]))]
        self.end(SPLIT)
        self._splits += 1
        members = [member for member, other_color in zip(self._members, colors) if other_color == color]
        return DaskCommunicator(
            self._state, self._session, (*self._channel, self._splits, color), self._wanted, members
        )

    def abort(self, error: BaseException) -> None:
        """Report to all ranks that this rank has failed. Ranks that wait for messages wake, and raise an error."""
        call = self._channel[0]
        reason = str(error) if isinstance(error, RankError) else describe_failure(self.place, error)
        self._state.fail(call, reason)
        asyncio.run_coroutine_threadsafe(self._tell(call, reason), self._worker.loop.asyncio_loop)

    async def _tell(self, call: int, reason: str) -> None:
        other_ranks = [rank for rank in range(len(self._state.addresses)) if rank != self._state.rank]
        calls = [
            self._worker.rpc(self._state.addresses[rank]).gasla_fail(
                session=self._session, rank=rank, call=call, why=reason
            )
            for rank in other_ranks
        ]
        await asyncio.gather(*calls, return_exceptions=True)
