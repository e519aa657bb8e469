"""The common base of communicators. Each operation is one *round* of messages: each rank sends a message to each rank.

A message has the number of the operation that its sender calls, such as a barrier. So ranks that call different
operations get an error instead of a deadlock, and a failed rank can report its failure in place of the message that the
other ranks wait for.
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
# In an allgather, ranks must also agree on the dtype. So the number of the dtype is added to the number of the
# operation, in the bits above the lowest 8.
_SHIFT = 8
EMPTY = np.zeros(0, np.uint8)


class Rounds:
    """The base class of communicators, in which each operation is an exchange of messages between all ranks.

    Subclasses implement `meet` (one exchange of messages), `split` and `abort`.
    """

    shares_memory = False
    link: Any = None  # connection between GPUs of several processes (`links.Link`), or None

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size, self.superstep = rank, size, 0
        self.host = socket.gethostname()

    def meet(self, kind: int, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Send `parts[r]` to each rank r, and return what each rank sends to this one, in rank order.

        `kind` is a number for the operation. A RankError is raised if the ranks call different operations.
        """
        raise NotImplementedError

    def exchange(self, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Send each rank its part, and return the parts received, in rank order (all-to-all)."""
        return self.meet(EXCHANGE, parts)

    def allgather(self, array: np.ndarray) -> list[np.ndarray]:
        """Return the one-dimensional arrays of all ranks, in rank order."""
        array = np.ascontiguousarray(array)
        bytes_of_ranks = self.meet(ALLGATHER + (array.dtype.num << _SHIFT), [array.view(np.uint8)] * self.size)
        return [array_bytes.view(array.dtype).copy() for array_bytes in bytes_of_ranks]

    def barrier(self) -> None:
        """Wait until all ranks have called this."""
        self.meet(BARRIER, [EMPTY] * self.size)

    def end(self, kind: int = END) -> None:
        """Wait until all ranks have reached the end of a call, or raise a RankError if one has failed.

        `kind` is the number of the operation: the end of a call, of the cluster, or of a split.
        """
        self.meet(kind, [EMPTY] * self.size)

    @property
    def place(self) -> str:
        """The rank, its host, and, in a run, the superstep, as a text for error messages."""
        return place(self.rank, self.size, self.host, self.superstep)

    def abort(self, error: BaseException) -> None:
        """Report that this rank has failed with `error`, so that all other ranks raise in their current or next
        operation.
        """
        raise NotImplementedError

    def message_of(self, error: BaseException) -> np.ndarray:
        """Return the message, as bytes, that tells the other ranks about a failure of this rank."""
        text = str(error) if isinstance(error, RankError) else describe_failure(self.place, error)
        return np.frombuffer(text.encode(), np.uint8)

    def check(self, kind: int, kinds: Sequence[int], texts: Sequence[Any]) -> None:
        """Raise RankError if a rank has failed, or if it calls another operation than this rank.

        `kind` is the number of this rank's operation, `kinds` has those of all ranks, and `texts` has the error
        messages of ranks that have failed, by rank.
        """
        for rank, other_kind in enumerate(kinds):
            if other_kind in (FAILED, LEFT):
                raise RankError(bytes(texts[rank]).decode(errors="replace"))
        for rank, other_kind in enumerate(kinds):
            if other_kind != kind:
                raise RankError(
                    f"rank {self.rank} of {self.size} calls {_name(kind)} and rank {rank} {_name(other_kind)}; "
                    "expected every rank to make the same calls in the same order"
                )


def _name(operation_code: int) -> str:
    type_number = operation_code >> _SHIFT
    type_suffix = (
        next(
            (
                f" of {scalar_type.__name__}"
                for scalar_type in np.sctypeDict.values()
                if np.dtype(scalar_type).num == type_number
            ),
            "",
        )
        if type_number
        else ""
    )
    return _NAMES[operation_code & ((1 << _SHIFT) - 1)] + type_suffix


def invoke(rank: Rank, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Call a function on a rank, wait until the function has returned on all ranks, and return its result on this rank.

    If the function raises an exception, all other ranks raise a RankError. Then every rank closes its NCCL connection,
    because a connection that one rank has ended is of no use to the other ranks.
    """
    communicator: Any = rank.communicator
    communicator.superstep = 0
    try:
        function_result = function(rank, *arguments)
        communicator.end()
    except BaseException as error:
        communicator.abort(error)
        if communicator.link is not None:
            communicator.link.close()
        raise
    return function_result
