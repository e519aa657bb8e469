"""Ranks that are workers of a Dask cluster, which communicate over MPI (dask-mpi) or over Dask's connections.

Dask starts functions on the workers and sends back results, but takes no part in a superstep. Messages over Dask's
connections go directly from worker to worker, and a round of messages takes about a millisecond.

Workers notice the loss of another worker only after half a minute. The scheduler notices it at once and notifies the
client, which then makes the other ranks fail.
"""

import time
import uuid
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from gasla.distributed.communicator import Dropped, Member, RankError
from gasla.distributed.dask_worker import (
    Outcome,
    find_cards,
    hold,
    interrupt,
    keep,
    pack,
    paused,
    register,
    unregister,
    work,
)
from gasla.distributed.failures import WorkerLost, note, place, raise_first

LOOK = 2.0  # While the client waits for a call, it asks every this many seconds whether each rank has begun the call.
PATIENCE = 1.5  # seconds that the client waits for the remaining ranks to end a call after one rank was lost


class DaskRanks:
    """Ranks that are the current workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        The client of the cluster.
    gpus : bool
        Whether each worker uses a GPU. If the first GPUs that the workers of a host see differ, as under dask-cuda,
        each worker uses its first one. Otherwise worker i of a host uses GPU i.
    """

    def __init__(self, client: Any, gpus: bool = False) -> None:
        import distributed

        if getattr(client, "asynchronous", False):
            raise TypeError("client is asynchronous; expected a distributed.Client without asynchronous=True")
        self._addresses = list(client.nthreads())
        self.size, self.here = len(self._addresses), range(len(self._addresses))
        if self.size == 0:
            raise ValueError("the Dask cluster has no workers; expected at least one: client.wait_for_workers(n)")
        self._user, self.has_cards, numbers = client, gpus, list[int]()
        if gpus:
            numbers = choose_cards(self._find_cards())
        # A client has only one event handler, which the user may need. So events are handled by a second client.
        self._client = distributed.Client(client.scheduler.address, security=client.security, set_as_default=False)
        self._session, self._calls, self._lost = uuid.uuid4().hex, 0, set[str]()
        self.dropped = Dropped()
        self._stuck = False
        self._news: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self._client.subscribe_topic("all", self._handle_event)
        worlds = self._client.run(register, self._session, self._addresses, numbers, workers=self._addresses)
        self._worlds = [worlds[address] for address in self._addresses]
        self.over_mpi = None not in self._worlds and len(set(self._worlds)) == self.size

    def _find_cards(self) -> list[Any]:
        """Return, for each Dask worker, a key that is the same for all workers of its host, the bus id of its first
        GPU, and the number of its GPUs.
        """
        cards = self._user.run(find_cards, workers=self._addresses, on_error="return")
        for rank, address in enumerate(self._addresses):
            if isinstance(cards[address], BaseException):
                note(cards[address], place(rank, self.size, address, 0))
                raise cards[address]
        return [cards[address] for address in self._addresses]

    def _handle_event(self, event: Any) -> None:
        """Record a lost worker when the scheduler reports one.

        Dask calls this on the client's thread for each event.
        """
        event_data = event[1]
        if (
            isinstance(event_data, dict)
            and event_data.get("action") == "remove-worker"
            and event_data["worker"] in self._addresses
        ):
            self._lost.add(event_data["worker"])
            self._news.put(("lost", event_data["worker"]))

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call `function(rank, *arguments)` on the Dask worker of each rank. Return the results in rank order."""
        packed_call, worlds = (
            pack((function, arguments, [*self.dropped.taken()])),
            self._worlds if self.over_mpi else None,
        )
        return self._run_on_ranks(
            self._client, lambda rank, call: (work, self._session, rank, call, worlds, packed_call)
        )

    def place(self, key: Any, parts: Sequence[Any]) -> bool:
        """Compute the partitions of a Dask collection (`parts`, Dask's delayed values), and store each on one of the
        ranks under `key`.

        A value that a worker has already computed stays on that worker.
        """
        import distributed

        futures = self._user.compute(list(parts))
        distributed.wait(futures)
        holders = self._user.who_has(futures)
        numbers_by_rank: list[list[int]] = [[] for _ in self.here]
        for part_number, future in enumerate(futures):
            holding_ranks = [
                self._addresses.index(address) for address in holders[future.key] if address in self._addresses
            ]
            numbers_by_rank[
                min(holding_ranks, key=lambda rank: len(numbers_by_rank[rank]))
                if holding_ranks
                else part_number * self.size // len(parts)
            ].append(part_number)
        self._run_on_ranks(
            self._user,
            lambda rank, _: (
                keep,
                self._session,
                rank,
                key,
                numbers_by_rank[rank],
                [futures[part_number] for part_number in numbers_by_rank[rank]],
            ),
        )
        return True

    def together(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Return None, because no process drives the GPUs of several workers."""

    def members(self) -> Sequence[Member]:
        """Return an empty sequence, because the GPUs of Dask workers don't belong to this process."""
        return ()

    def held(self, function: Callable[..., Any], *arguments: Any) -> list[Any] | None:
        """Return Dask futures of `function(rank, *arguments)`, one per rank.

        The function can't communicate with other ranks.
        """
        self._raise_if_lost(0)
        return [
            self._user.submit(hold, self._session, rank, function, arguments, workers=[address], pure=False)
            for rank, address in enumerate(self._addresses)
        ]

    def _run_on_ranks(self, client: Any, task: Callable[[int, int], tuple[Any, ...]]) -> list[Any]:
        """Run a Dask task on each rank, and return the results in rank order. If ranks have failed, raise the first
        rank's error.

        `task(rank, call)` returns the function that the task calls, and its arguments. `call` is the number of this
        call of the client. The function returns an `Outcome`: a value or an error, and where it was raised.
        """
        self._raise_if_lost(0)
        self._calls += 1
        call, news = self._calls, SimpleQueue[tuple[str, Any]]()
        self._news, options = news, {"pure": False, "retries": 0, "priority": 1}
        futures = [
            client.submit(*task(rank, call), workers=[address], **options)
            for rank, address in enumerate(self._addresses)
        ]
        for rank, future in enumerate(futures):
            future.add_done_callback(lambda _, rank=rank: news.put(("done", rank)))
        try:
            outcomes = self._wait_for_outcomes(futures, call)
            if len(outcomes) < self.size:
                self._stop(call, "a worker was lost")
                outcomes |= self._wait_for_outcomes(futures, call, PATIENCE)
        except BaseException as error:  # Ctrl-C is a BaseException, and must end the ranks' tasks, too.
            self._stop(call, f"the client was stopped: {type(error).__name__}")
            self._wait_for_outcomes(futures, call, PATIENCE)
            raise
        finally:
            client.cancel(futures)
        self._raise_if_lost(max((outcome.superstep for outcome in outcomes.values()), default=0))
        errors = {rank: outcome.error for rank, outcome in outcomes.items() if outcome.error is not None}
        if errors:
            raise_first(errors, [outcomes[rank].place if rank in outcomes else f"rank {rank}" for rank in self.here])
        return [outcomes[rank].value for rank in self.here]

    def _wait_for_outcomes(self, futures: list[Any], call: int, seconds: float | None = None) -> dict[int, Outcome]:
        """Wait until the tasks of all ranks have ended, and return their outcomes (a value or an error) by rank.

        Return only those that have ended if `seconds` have passed, if a worker was lost, or if Dask itself has failed.
        """
        end = None if seconds is None else time.monotonic() + seconds
        outcomes = {rank: _outcome(rank, future) for rank, future in enumerate(futures) if future.done()}
        while len(outcomes) < self.size - (len(self._lost) if end is not None else 0):
            try:
                event, rank_or_address = self._news.get(timeout=LOOK if end is None else max(0, end - time.monotonic()))
            except Empty:
                if end is not None:
                    break
                self._check_begun(call)
                continue
            if event == "done":
                outcomes[rank_or_address] = _outcome(rank_or_address, futures[rank_or_address])
            if end is None and (event == "lost" or futures[rank_or_address].status != "finished"):
                break
        return outcomes

    def _check_begun(self, call: int) -> None:
        """Raise MemoryError if Dask has paused a worker, so that its rank can't begin a call.

        Dask pauses a worker whose memory is nearly full. All other ranks would wait for its rank.
        """
        addresses_left = [address for address in self._addresses if address not in self._lost]
        for address, is_paused in self._client.run(
            paused, self._session, call, workers=addresses_left, on_error="ignore"
        ).items():
            if is_paused:
                where = place(self._addresses.index(address), self.size, address, 0)
                # Over MPI, ranks that wait for another rank's message can't be interrupted, so the workers can't be
                # used any more.
                self._stuck = self.over_mpi
                raise MemoryError(
                    f"{where}: Dask has paused the worker, because its memory is nearly full; "
                    "expected more or larger workers, or a higher distributed.worker.memory.pause"
                )

    def _stop(self, call: int, reason: str) -> None:
        """Make the ranks on all Dask workers that still exist raise an error with the text `reason` in their current or
        next operation.

        `call` is the number of the client's call that has failed. This returns at once, without waiting for answers of
        the workers.
        """
        addresses_left = [address for address in self._addresses if address not in self._lost]
        arguments = (interrupt, self._session, call, reason)
        Thread(
            target=self._client.run,
            args=arguments,
            kwargs={"workers": addresses_left, "on_error": "ignore"},
            daemon=True,
        ).start()

    def _raise_if_lost(self, superstep: int) -> None:
        for rank, address in enumerate(self._addresses):
            if address in self._lost:
                raise WorkerLost(rank, self.size, address, superstep)
        if self._stuck:
            raise RankError("ranks still wait for one that never began; restart the workers")

    def leave(self, error: BaseException | None) -> None:
        """End the use of the workers as ranks, as at the end of a cluster's ``with`` block."""
        addresses_left = [address for address in self._addresses if address not in self._lost]
        if addresses_left:
            self._client.run(unregister, self._session, workers=addresses_left, on_error="ignore")
        self._client.unsubscribe_topic("all")  # If the client closed without this, the scheduler would log an error.
        self._client.close()


def choose_cards(there: Sequence[tuple[bytes, bytes, int]]) -> list[int]:
    """Return the device number of the GPU that each worker uses, from what `find_cards` has returned on each worker.

    If the first GPUs that the workers of a host see differ, each worker uses the first one. Otherwise worker i of a
    host uses GPU i.

    Examples
    --------
    >>> choose_cards([(b"host1", b"GPU a", 2), (b"host1", b"GPU a", 2), (b"host2", b"GPU a", 2)])
    [0, 1, 0]
    >>> choose_cards([(b"host1", b"GPU a", 2), (b"host1", b"GPU b", 2)])
    [0, 0]
    """
    cards = []
    for rank_number, (host, _, count) in enumerate(there):
        first_gpus = [gpu for other_host, gpu, _ in there if other_host == host]
        earlier_ranks = sum(other_host == host for other_host, _, _ in there[:rank_number])
        cards.append(0 if len(set(first_gpus)) == len(first_gpus) else earlier_ranks % count)
    return cards


def _outcome(rank: int, future: Any) -> Outcome:
    """Return how the task of a rank, Dask's `future`, has ended: its `Outcome`, or an error if Dask has failed or has
    cancelled the task.
    """
    if future.status == "finished":
        outcome: Outcome = future.result()
        return outcome
    error = future.exception() if future.status == "error" else RankError(f"the task of rank {rank} was cancelled")
    return Outcome(None, error, f"rank {rank}", 0)
