"""Ranks as threads of one process: to try a program out on several, and for tests."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gasla.distributed.communicator import Rank, RankError


class _Table:
    """Where ranks put what they have for each other: a row each, and two tables that are used by turns.

    A rank comes to the table after next only once all have met again, and so have read what was in it.
    """

    def __init__(self, size: int) -> None:
        self.barrier = threading.Barrier(size)
        self.rows: list[list[Any]] = [[None] * size, [None] * size]
        self.error: BaseException | None = None

    def fail(self, error: BaseException) -> None:
        """Whoever waits, or will, raises."""
        self.error = self.error or error
        self.barrier.abort()


class ThreadCommunicator:
    """See `Communicator`. Arrays are handed over as they are: nothing is copied."""

    def __init__(self, rank: int, table: _Table) -> None:
        self.rank, self.size, self._table, self._round = rank, len(table.rows[0]), table, 0

    def _share(self, what: Any) -> list[Any]:
        row = self._table.rows[self._round & 1]
        self._round += 1
        row[self.rank] = what
        self.barrier()
        return row

    def exchange(self, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """See `Communicator`."""
        return [sent[self.rank] for sent in self._share(parts)]

    def allgather(self, array: np.ndarray) -> list[np.ndarray]:
        """See `Communicator`."""
        return list(self._share(array))

    def barrier(self) -> None:
        """See `Communicator`."""
        try:
            self._table.barrier.wait()
        except threading.BrokenBarrierError:
            raise RankError("another rank failed") from self._table.error

    def split(self, color: int) -> "ThreadCommunicator":
        """See `Communicator`."""
        colors = list(self._share(color))
        members = [rank for rank in range(self.size) if colors[rank] == color]
        tables = self._share(_Table(len(members)))
        return ThreadCommunicator(members.index(self.rank), tables[members[0]])

    def abort(self, error: BaseException) -> None:
        """See `Communicator`."""
        self._table.fail(error)


class ThreadRanks:
    """See `Ranks`: a thread each, for as long as a call takes."""

    def __init__(self, size: int) -> None:
        self.size, self.here = size, range(size)
        self._kept: list[dict[Any, Any]] = [{} for _ in range(size)]
        self._dropped: list[Any] = []

    def forget(self, key: Any) -> None:
        """See `Ranks`."""
        self._dropped.append(key)

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """See `Ranks`."""
        while self._dropped:
            key = self._dropped.pop()
            for kept in self._kept:
                kept.pop(key, None)
        table, results = _Table(self.size), [None] * self.size
        errors: dict[int, BaseException] = {}

        def work(rank: int) -> None:
            try:
                results[rank] = function(Rank(ThreadCommunicator(rank, table), self._kept[rank]), *arguments)
            except BaseException as error:  # raised again by the thread that waits
                errors[rank] = error
                table.fail(error)

        threads = [threading.Thread(target=work, args=(rank,), daemon=True) for rank in range(self.size)]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        except BaseException as error:  # Ctrl-C
            table.fail(error)
            raise
        if errors:
            raise_first(errors, self.size)
        return results


def raise_first(errors: dict[int, BaseException], size: int) -> None:
    """Raise what failed by itself: the error of the first rank whose failure wasn't another's."""
    own = [rank for rank, error in sorted(errors.items()) if not isinstance(error, RankError)]
    rank = own[0] if own else min(errors)
    error = errors[rank]
    if len(own) < size:  # all ranks refuse alike what a person has given wrong
        error.add_note(f"on rank {rank} of {size}")
    raise error
