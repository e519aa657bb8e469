"""Ranks that are threads of one process: each with a GPU, or on the CPU for tests and experiments."""

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from gasla.arrays import require_gpu
from gasla.distributed.communicator import Dropped, Member, Rank, RankError
from gasla.distributed.failures import describe_failure, raise_first
from gasla.distributed.peer_groups import OneProcess
from gasla.distributed.rounds import SPLIT, Rounds, invoke
from gasla.engines import peers

# seconds that a call waits for the threads of all other ranks to end after one rank has failed, or after Ctrl-C
PATIENCE = 2.0


turn_over_cards = threading.RLock()
"""A lock that a thread holds while it calls functions on several GPUs, so that only one such call runs at a time.
Without it, the kernels of two calls could wait for each other's GPUs forever.
"""
# thread-local: `_on_rank.is_here` is True on threads that run a rank, and is not set on all other threads
_on_rank = threading.local()


class _Table:
    """The memory by which ranks that are threads exchange arrays: two rows with an entry per rank, which are used
    alternately.

    In each exchange, every rank writes to its entry of one row, waits at a barrier for all other ranks, and reads the
    row. The next exchange uses the other row. So a rank writes to a row again only after all ranks have read its old
    content.
    """

    def __init__(self, size: int) -> None:
        self.barrier = threading.Barrier(size)
        self.rows: list[list[Any]] = [[None] * size, [None] * size]
        self.error: BaseException | None = None
        self.failure = ""

    def fail(self, where: str, error: BaseException) -> None:
        """Record that a rank has failed with `error` at the place `where`, and wake all ranks' threads that wait at the
        barrier.

        These threads, and threads that reach the barrier later, raise an error.
        """
        if self.error is None:
            self.error, self.failure = error, describe_failure(where, error)
        self.barrier.abort()


class ThreadCommunicator(Rounds):
    """A communicator between threads of one process. Arrays are passed by reference, without a copy."""

    shares_memory = True

    def __init__(self, rank: int, table: _Table, card: int | None = None) -> None:
        super().__init__(rank, len(table.rows[0]))
        self._table, self._round, self._card = table, 0, card
        if card is not None:
            self.host = f"card {card} of {self.host}"  # error messages name the GPU

    def meet(self, kind: int, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Send `parts[r]` to each rank r, and return what each rank sends to this one (one exchange, through shared
        memory).

        `kind` is a number for the operation. A RankError is raised if the ranks call different operations.
        """
        entries = self._share_in_table((kind, parts))
        self.check(kind, [other_kind for other_kind, _ in entries], ())
        return [sent[self.rank] for _, sent in entries]

    def _share_in_table(self, own_entry: Any) -> list[Any]:
        row = self._table.rows[self._round & 1]
        self._round += 1
        row[self.rank] = own_entry
        try:
            self._table.barrier.wait()
        except threading.BrokenBarrierError:
            raise RankError(self._table.failure) from self._table.error
        return row

    def split(self, color: int) -> "ThreadCommunicator":
        """Return a communicator of the ranks that passed the same color, in rank order."""
        colors = [int(color_of_rank[0]) for color_of_rank in self.allgather(np.array([color]))]
        members = [rank for rank in range(self.size) if colors[rank] == color]
        self.end(SPLIT)
        tables = self._share_in_table(_Table(len(members)))
        return ThreadCommunicator(members.index(self.rank), tables[members[0]], self._card)

    def abort(self, error: BaseException) -> None:
        """Record that this rank has failed with `error`. Ranks that wait for it at the barrier wake, and raise a
        RankError.
        """
        # A RankError only reports another rank's failure, which all ranks know already, so it is not reported again.
        if not isinstance(error, RankError):
            self._table.fail(self.place, error)


@contextmanager
def _on_card(card: int | None) -> Iterator[None]:
    """Return a context manager in which a GPU is the current device of this thread.

    Other threads can run while this thread waits for the GPU.
    """
    if card is None:
        yield
    else:
        with require_gpu().cuda.Device(card), peers().yielding():
            yield


def _wait_for(ended: SimpleQueue[int]) -> None:
    """Wait until one more rank has ended its call: until its thread has put its number into the queue `ended`.

    Once CUDA is loaded, Ctrl-C can't interrupt a wait without a timeout. So this waits again and again for 0.1 seconds.
    """
    while True:
        with suppress(Empty):
            ended.get(timeout=0.1)
            return


def _check_not_on_rank(function: Callable[..., Any]) -> None:
    """Raise RuntimeError if the current thread runs a rank, and so can't call a function on all ranks.

    The call would wait for all ranks, and so for the thread itself, forever.
    """
    if getattr(_on_rank, "is_here", False):
        raise RuntimeError(
            f"a function on a rank has called {getattr(function, '__name__', function)} on all ranks, as only the "
            "calling process can: read distributed arrays with compute() before calling a function on ranks"
        )


class ThreadRanks:
    """Ranks that are threads of this process.

    Each call starts one thread per rank. With `cards`, the current CUDA device of rank r's thread is `cards[r]`.

    After a failure or Ctrl-C the call waits for the other ranks up to `PATIENCE` seconds. A rank that does not reach an
    exchange in this time keeps running, and the next call waits for it.
    """

    def __init__(self, size: int, cards: Sequence[int] | None = None) -> None:
        self.size, self.here, self._cards = size, range(size), cards
        self.has_cards = cards is not None
        self._stores: list[dict[Any, Any]] = [{} for _ in range(size)]
        host = socket.gethostname()
        self._members = [
            Member(rank, card, f"card {card} of {host}", rank_store)
            for rank, (card, rank_store) in enumerate(zip(cards or (), self._stores, strict=False))
        ]
        self._group = OneProcess(self, self._members)
        # threads of ranks that did not end in time after an earlier call had failed; the next call waits for them
        self._late: list[threading.Thread] = []
        self.dropped = Dropped()

    def members(self) -> Sequence[Member]:
        """Return all ranks if each has a GPU, which this process drives. Otherwise return an empty sequence."""
        if getattr(_on_rank, "is_here", False):
            _check_not_on_rank(self.members)
        if self.dropped.freed or self.dropped.keys:
            self._drop()
        return self._members

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call `function(rank, *arguments)` on each rank. Return the results in the order of the ranks."""
        _check_not_on_rank(function)
        with nullcontext() if self._cards is None else turn_over_cards:
            return self._call_on_threads(function, arguments)

    def together(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call `function(group, *arguments)` once, in this thread, where `group` stands for all ranks.

        The function then drives the GPUs of all ranks from one thread. Return None if ranks have no GPUs.
        """
        if self._cards is None:
            return None
        if getattr(_on_rank, "is_here", False):
            _check_not_on_rank(function)
        with turn_over_cards:
            if self.dropped.freed or self.dropped.keys:
                self._drop()
            return function(self._group, *arguments)

    def _drop(self) -> None:
        for key in self.dropped.taken():
            for store in self._stores:
                store.pop(key, None)

    def _call_on_threads(self, function: Callable[..., Any], arguments: Sequence[Any]) -> list[Any]:
        for thread in self._late:
            thread.join()
        self._late = []
        self._drop()
        table, results = _Table(self.size), [None] * self.size
        cards = [None] * self.size if self._cards is None else self._cards
        communicators = [ThreadCommunicator(rank, table, cards[rank]) for rank in range(self.size)]
        errors: dict[int, BaseException] = {}
        ended: SimpleQueue[int] = SimpleQueue()

        def work(rank: int) -> None:
            _on_rank.is_here = True
            try:
                with _on_card(cards[rank]):
                    results[rank] = invoke(
                        Rank(communicators[rank], self._stores[rank], self.has_cards), function, arguments
                    )
            except BaseException as error:  # raised again by the calling thread
                errors[rank] = error
            finally:
                ended.put(rank)

        threads = [threading.Thread(target=work, args=(rank,), daemon=True) for rank in range(self.size)]
        try:
            for thread in threads:
                thread.start()
            for _ in threads:
                _wait_for(ended)
                if errors:
                    break
            else:
                for thread in threads:
                    thread.join()
        except BaseException as error:  # BaseException, because Ctrl-C must end the ranks, too
            table.fail("the calling thread", error)
            self._wait_for_end(threads)
            raise
        if errors:
            self._wait_for_end(threads)
            raise_first(dict(errors), [communicator.place for communicator in communicators])
        return results

    def _wait_for_end(self, threads: Sequence[threading.Thread]) -> None:
        """Wait up to `PATIENCE` seconds for the threads of ranks to end after a failure.

        A rank learns of the failure only at its next exchange. Threads that have not ended by then are noted, and the
        next call waits for them.
        """
        deadline = time.monotonic() + PATIENCE
        self._late = [thread for thread in threads if thread.is_alive()]
        for thread in self._late:
            thread.join(max(0.0, deadline - time.monotonic()))

    def place(self, key: Any, parts: Sequence[Any]) -> bool:
        """Return False without computing anything, because these ranks are not Dask workers, which alone take over
        partitions of Dask collections.
        """
        return False

    def held(self, function: Callable[..., Any], *arguments: Any) -> list[Any] | None:
        """Return None, because these ranks are not Dask workers."""
        return None

    def leave(self, error: BaseException | None) -> None:
        """Do nothing, because threads end with each call."""
