"""What communicators that send messages have in common: each call is one round, in which all ranks take part.

A round says of what kind it is. So ranks that do different things find out instead of waiting for each other, and a
rank that has failed takes part in the round that the others come to next, and tells them so.
"""

import socket
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gasla.distributed.communicator import Rank, RankError
from gasla.distributed.failures import describe_failure, place

FAILED, GONE, EXCHANGE, ALLGATHER, BARRIER, SPLIT, END, LEAVE = range(8)
_NAMES = (
    "a failure",
    "a failure",
    "exchange",
    "allgather",
    "barrier",
    "split",
    "the end of a call",
    "the end of the cluster",
)
_SHIFT = 8  # of the number of a type, which all have to have alike
NOTHING = np.zeros(0, np.uint8)


class Rounds:
    """A communicator but for `meet`, which is one round, and `split`."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size, self.superstep = rank, size, 0
        self.host = socket.gethostname()

    def meet(self, kind: int, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Send each rank its part in a round of some kind, and get one from each."""
        raise NotImplementedError

    def exchange(self, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """See `Communicator`."""
        return self.meet(EXCHANGE, parts)

    def allgather(self, array: np.ndarray) -> list[np.ndarray]:
        """See `Communicator`."""
        array = np.ascontiguousarray(array)
        parts = self.meet(ALLGATHER + (array.dtype.num << _SHIFT), [array.view(np.uint8)] * self.size)
        return [part.view(array.dtype).copy() for part in parts]

    def barrier(self) -> None:
        """See `Communicator`."""
        self.meet(BARRIER, [NOTHING] * self.size)

    def end(self, kind: int = END) -> None:
        """Wait until every rank has come to the end of a call, and none has failed."""
        self.meet(kind, [NOTHING] * self.size)

    @property
    def place(self) -> str:
        """Where this rank is, in words."""
        return place(self.rank, self.size, self.host, self.superstep)

    def abort(self, error: BaseException) -> None:
        """See `Communicator`."""
        raise NotImplementedError

    def message_of(self, error: BaseException) -> np.ndarray:
        """What the others are told of a failure here."""
        text = str(error) if isinstance(error, RankError) else describe_failure(self.place, error)
        return np.frombuffer(text.encode(), np.uint8)

    def check(self, kind: int, kinds: Sequence[int], texts: Sequence[Any]) -> None:
        """Raise if a rank has failed, or does something else; `texts` are what those that failed say."""
        for rank, there in enumerate(kinds):
            if there in (FAILED, GONE):
                raise RankError(bytes(texts[rank]).decode(errors="replace"))
        for rank, there in enumerate(kinds):
            if there != kind:
                raise RankError(
                    f"rank {self.rank} of {self.size} is at {_name(kind)} and rank {rank} at {_name(there)}; "
                    "expected every rank to make the same calls in the same order"
                )


def _name(kind: int) -> str:
    number = kind >> _SHIFT
    of = next((f" of {t.__name__}" for t in np.sctypeDict.values() if np.dtype(t).num == number), "") if number else ""
    return _NAMES[kind & ((1 << _SHIFT) - 1)] + of


def invoke(rank: Rank, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """What a function returns on a rank, once it has on all of them; if it raises, the others hear of it."""
    communicator: Any = rank.communicator
    communicator.superstep = 0
    try:
        found = function(rank, *arguments)
        communicator.end()
    except BaseException as error:
        communicator.abort(error)
        raise
    return found
