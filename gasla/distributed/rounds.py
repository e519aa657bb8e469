"""The common base of communicators. Each operation is one *round* of messages, in which all ranks take part.

Every message has the kind of its round, such as a barrier. So ranks that call different operations get an error instead
of a deadlock, and a failed rank can report its failure in the next round of the other ranks.
"""

import socket
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gasla.distributed.communicator import Rank, RankError
from gasla.distributed.failures import describe_failure, place

FAILED, LEFT, EXCHANGE, ALLGATHER, BARRIER, SPLIT, END, LEAVE = range(8)
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
_SHIFT = 8  # For an allgather, the bits above these have the number of the dtype, because ranks must agree on it.
EMPTY = np.zeros(0, np.uint8)


class Rounds:
    """Base class of communicators. Subclasses implement `meet` (one round), `split` and `abort`."""

    shares_memory = False
    link: Any = None  # connection between GPUs of several processes (`links.Link`), or None

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size, self.superstep = rank, size, 0
        self.host = socket.gethostname()

    def meet(self, kind: int, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Send each rank its part in one round, and return the part received from each."""
        raise NotImplementedError

    def exchange(self, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Send each rank its part, and return the parts received, in rank order (all-to-all)."""
        return self.meet(EXCHANGE, parts)

    def allgather(self, array: np.ndarray) -> list[np.ndarray]:
        """Return the one-dimensional arrays of all ranks, in rank order."""
        array = np.ascontiguousarray(array)
        parts = self.meet(ALLGATHER + (array.dtype.num << _SHIFT), [array.view(np.uint8)] * self.size)
        return [part.view(array.dtype).copy() for part in parts]

    def barrier(self) -> None:
        """Wait until all ranks have called this."""
        self.meet(BARRIER, [EMPTY] * self.size)

    def end(self, kind: int = END) -> None:
        """Wait until all ranks have reached the end of a call, or raise if one has failed."""
        self.meet(kind, [EMPTY] * self.size)

    @property
    def place(self) -> str:
        """The rank, its host, and, in a run, the superstep, as a text for error messages."""
        return place(self.rank, self.size, self.host, self.superstep)

    def abort(self, error: BaseException) -> None:
        """Report that this rank has failed, so that all other ranks raise in their current or next operation."""
        raise NotImplementedError

    def message_of(self, error: BaseException) -> np.ndarray:
        """Return the message, as bytes, that tells the other ranks about a failure of this rank."""
        text = str(error) if isinstance(error, RankError) else describe_failure(self.place, error)
        return np.frombuffer(text.encode(), np.uint8)

    def check(self, kind: int, kinds: Sequence[int], texts: Sequence[Any]) -> None:
        """Raise RankError if a rank has failed, or has called another operation in this round.

        `kinds` has the kind of round by rank, and `texts` the messages of ranks that have failed.
        """
        for rank, other in enumerate(kinds):
            if other in (FAILED, LEFT):
                raise RankError(bytes(texts[rank]).decode(errors="replace"))
        for rank, other in enumerate(kinds):
            if other != kind:
                raise RankError(
                    f"rank {self.rank} of {self.size} calls {_name(kind)} and rank {rank} {_name(other)}; "
                    "expected every rank to make the same calls in the same order"
                )


def _name(kind: int) -> str:
    number = kind >> _SHIFT
    of = next((f" of {t.__name__}" for t in np.sctypeDict.values() if np.dtype(t).num == number), "") if number else ""
    return _NAMES[kind & ((1 << _SHIFT) - 1)] + of


def invoke(rank: Rank, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Call a function on a rank, and return its result after it has returned on all ranks.

    If it raises an exception, all other ranks raise a RankError. Then all ranks close their connection between GPUs,
    because one rank may have ended its own.
    """
    communicator: Any = rank.communicator
    communicator.superstep = 0
    try:
        answer = function(rank, *arguments)
        communicator.end()
    except BaseException as error:
        communicator.abort(error)
        if communicator.link is not None:
            communicator.link.close()
        raise
    return answer
