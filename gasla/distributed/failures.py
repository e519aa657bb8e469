"""How a rank's failure is told: the rank's number, its host, and the superstep that it was in."""

from collections.abc import Mapping, Sequence
from typing import NoReturn

from gasla.distributed.communicator import RankError


class WorkerLost(RankError):
    """A worker of a Dask cluster, or the process of a rank, is gone.

    Attributes
    ----------
    rank : int
    address : str
        Of the worker.
    superstep : int
        In which the others were when they heard of it; 0 outside of a run.
    """

    def __init__(self, rank: int, size: int, address: str, superstep: int) -> None:
        super().__init__(f"{place(rank, size, address, superstep)}: the worker was lost")
        self.rank, self.address, self.superstep = rank, address, superstep


def place(rank: int, size: int, host: str, superstep: int) -> str:
    """Where a rank is, in words.

    Examples
    --------
    >>> place(1, 4, "node7", 17)
    'rank 1 of 4 on node7, superstep 17'
    """
    return f"rank {rank} of {size} on {host}" + (f", superstep {superstep}" if superstep else "")


def told(where: str, error: BaseException) -> str:
    """A failure in one line, for the other ranks.

    Examples
    --------
    >>> told("rank 1 of 4 on node7", ValueError("no such source"))
    'rank 1 of 4 on node7 failed: ValueError: no such source'
    """
    text = str(error)
    return f"{where} failed: {type(error).__name__}" + (f": {text}" if text else "")


def note(error: BaseException, where: str) -> None:
    """Let an error say where it comes from, once.

    Examples
    --------
    >>> error = ValueError("no such source")
    >>> for _ in range(2):
    ...     note(error, "rank 1 of 4 on node7")
    >>> error.__notes__
    ['on rank 1 of 4 on node7']
    """
    text = f"on {where}"
    if text not in getattr(error, "__notes__", ()):
        error.add_note(text)


def raise_first(errors: Mapping[int, BaseException], places: Sequence[str]) -> NoReturn:
    """Raise what failed by itself: the error of the first rank whose failure wasn't another's.

    It gets a note of where that was, unless all ranks refuse alike what a person has given wrong.
    """
    own = [rank for rank, error in sorted(errors.items()) if not isinstance(error, RankError)]
    rank = own[0] if own else min(errors)
    error = errors[rank]
    alike = {(type(errors[rank]), str(errors[rank])) for rank in own}
    if (len(own) < len(places) or len(alike) > 1) and not isinstance(error, RankError):
        if not isinstance(error, Exception):  # a rank's exit isn't this process's
            raise RankError(told(places[rank], error)) from error
        note(error, places[rank])
    raise error
