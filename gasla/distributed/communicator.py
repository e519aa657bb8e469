"""The two interfaces that a transport (threads, MPI, Dask) implements.

All ranks run the same function, each on its part of a graph. The function uses a `Communicator` to exchange data with
other ranks. The caller uses `Ranks` to call the function: one process calls it on all ranks (threads, Dask client), or
every process runs the same script and calls it on its own rank (`mpiexec`). User code is the same in both cases.
"""

import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from gasla.arrays import Device


class Communicator(Protocol):
    """Collective operations between ranks. All ranks call the same methods in the same order.

    Each call returns on every rank or raises on every rank: a rank that fails calls `abort`, which wakes the others.
    """

    rank: int  # number of this rank, from 0
    size: int
    superstep: int  # set by runs, for error messages; 0 outside of a run
    shares_memory: bool  # whether ranks are threads of one process; then parts may be any objects
    link: Any  # connects GPUs of several processes (links.py); None without one

    def exchange(self, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Send ``parts[r]`` to each rank r, and return the parts received, in rank order (all-to-all).

        Parts are byte arrays of any length, unknown to the receiver. The own part comes back as it is. Received arrays
        are valid until the next exchange.
        """

    def allgather(self, array: np.ndarray) -> list[np.ndarray]:
        """Return the one-dimensional arrays of all ranks, in rank order. Types must be equal. Lengths may differ."""

    def barrier(self) -> None:
        """Wait until all ranks have called this."""

    def split(self, color: int) -> Self:
        """Return a communicator of the ranks that passed the same color, in rank order."""

    def abort(self, error: BaseException) -> None:
        """Report that this rank has failed: every other rank raises in its current or next operation."""


def share_bytes(communicator: Communicator, own: bytes) -> list[bytes]:
    """Return the bytes that each rank passes, in rank order (collective)."""
    return [part.tobytes() for part in communicator.allgather(np.frombuffer(own, np.uint8))]


@dataclass(eq=False)
class Rank:
    """The first argument of functions called on a rank: its communicator, data kept between calls, and its card."""

    communicator: Communicator
    kept: dict[Any, Any] = field(default_factory=dict)
    has_card: bool = False  # the current GPU

    @property
    def device(self) -> Device:
        """Where the rank computes."""
        return "gpu" if self.has_card else "cpu"

    @property
    def reaches_cards(self) -> bool:
        """Whether the ranks have a card each in one process, so that arrays go from card to card."""
        return self.has_card and self.communicator.shares_memory


class Member(NamedTuple):
    """A rank with a GPU that this process drives."""

    rank: int
    card: int
    host: str  # name of the host, with the card, in errors
    kept: dict[Any, Any]


class Dropped:
    """Keys of data on ranks that is no longer needed, which ranks drop at their next call.

    Attributes
    ----------
    keys : list
    freed : list
        References to owners of further keys.
    """

    def __init__(self) -> None:
        self.keys: list[Any] = []
        self.freed: list[weakref.ref[Any]] = []  # owners
        self._owners: dict[int, tuple[weakref.ref[Any], Any]] = {}  # and their keys

    def add(self, key: Any) -> None:
        """Add a key."""
        self.keys.append(key)

    def add_with(self, owner: Any, key: Any) -> None:
        """Add a key when its owner is freed, by a built-in method: Ctrl-C in a finalizer in Python would be lost."""
        reference = weakref.ref(owner, self.freed.append)
        self._owners[id(reference)] = reference, key

    def taken(self) -> Iterator[Any]:
        """Take the keys out, one after another. Another thread may take some meanwhile."""
        while self.freed:
            try:
                reference = self.freed.pop()
            except IndexError:  # another thread has taken it
                break
            self.keys.append(self._owners.pop(id(reference))[1])
        while self.keys:
            try:
                key = self.keys.pop()
            except IndexError:
                break
            yield key


class Ranks(Protocol):
    """Calls functions on ranks."""

    @property
    def dropped(self) -> Dropped:
        """What ranks drop at their next call."""

    @property
    def size(self) -> int:
        """Number of ranks."""

    @property
    def here(self) -> Sequence[int]:
        """The ranks controlled by this process: its own under `mpiexec`, else all."""

    @property
    def has_cards(self) -> bool:
        """Whether each rank has a GPU, and runs vertex programs there."""

    def members(self) -> Sequence[Member]:
        """Return all ranks, if each has a GPU of this process.

        It may then use what they keep without `each`. Otherwise return none.
        """

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call `function(rank, *arguments)`, with a `Rank`, on each rank in `here`. Return the results in order.

        The first exception is raised here, with a note that names the rank; RankErrors that it caused elsewhere are
        not.
        """

    def together(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call `function(group, *arguments)` in each process, which drives the GPUs of its ranks by the calling thread.

        None where ranks have no GPUs. `peer_groups.py` has the groups. An exception in one process makes the others
        raise, as in `each`.
        """

    def place(self, key: Any, parts: Sequence[Any]) -> bool:
        """Compute Dask's delayed parts and keep them on the ranks, by number.

        Return False if ranks are not Dask workers.
        """

    def held(self, function: Callable[..., Any], *arguments: Any) -> list[Any] | None:
        """Return Dask futures of `function(rank, *arguments)` on each rank, or None if ranks are not Dask workers."""

    def leave(self, error: BaseException | None) -> None:
        """End the use of the ranks. `error` is an exception to report to the others, if any."""


class RankError(RuntimeError):
    """Another rank has failed, so an operation on this rank can't complete."""
