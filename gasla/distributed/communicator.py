"""The interfaces that a transport (threads, MPI, Dask) implements: `Communicator` between ranks, and `Ranks` for
callers.

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

    Each call returns on every rank or raises on every rank. A rank that fails calls `abort`, which wakes all others.
    """

    rank: int  # number of this rank, from 0 to size - 1
    size: int
    superstep: int  # number of the superstep in which a run is, for error messages; 0 outside of a run
    # whether ranks are threads of one process, so that any Python objects can be exchanged, without a copy
    shares_memory: bool
    link: Any  # connection between GPUs of several processes (`links.Link`), or None

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
        """Report that this rank has failed, so that all other ranks raise in their current or next operation."""


def share_bytes(communicator: Communicator, own: bytes) -> list[bytes]:
    """Send a bytes object to all ranks, and return the bytes objects of all ranks, in rank order (collective).

    `own` is what this rank sends.
    """
    return [byte_array.tobytes() for byte_array in communicator.allgather(np.frombuffer(own, np.uint8))]


@dataclass(eq=False)
class Rank:
    """A rank, as the first argument of functions that run on it.

    It has the rank's communicator, a dictionary of the data that the rank stores between calls, and whether the rank
    has a GPU.
    """

    communicator: Communicator
    kept: dict[Any, Any] = field(default_factory=dict)
    has_card: bool = False  # whether this rank has a GPU, which is then CUDA's current device

    @property
    def device(self) -> Device:
        """The device on which the rank computes: "gpu" if it has a GPU, and otherwise "cpu"."""
        return "gpu" if self.has_card else "cpu"

    @property
    def reaches_cards(self) -> bool:
        """Whether the ranks are GPUs of one process, so that arrays can be copied from the GPU of one rank to that of
        another.
        """
        return self.has_card and self.communicator.shares_memory


class Member(NamedTuple):
    """A rank whose GPU is driven by this process, as the calling thread sees the rank."""

    rank: int
    card: int
    host: str  # name of the host, and number of the GPU, as error messages show them
    kept: dict[Any, Any]


class Dropped:
    """The keys of data that ranks store and nobody needs any more. Ranks delete the data when a function is next called
    on them.

    Attributes
    ----------
    keys : list
        The keys.
    freed : list
        Weak references to objects that no longer exist, for each of which there is a further key.
    """

    def __init__(self) -> None:
        self.keys: list[Any] = []
        # weak references to objects that have been freed, each of which owned a key
        self.freed: list[weakref.ref[Any]] = []
        # for each weak reference, by its id: the reference, and the key that its object owns
        self._owners: dict[int, tuple[weakref.ref[Any], Any]] = {}

    def add(self, key: Any) -> None:
        """Add the key of data that ranks shall delete when a function is next called on them."""
        self.keys.append(key)

    def add_with(self, owner: Any, key: Any) -> None:
        """Arrange that `key` is added as soon as the object `owner` is freed, so that ranks then delete the data under
        the key.

        A weak reference appends itself to a list by a built-in method. If it called a function in Python instead,
        Ctrl-C during that function would be ignored.
        """
        reference = weakref.ref(owner, self.freed.append)
        self._owners[id(reference)] = reference, key

    def taken(self) -> Iterator[Any]:
        """Remove the keys of data to delete one by one, and yield them. It is safe if several threads call this at the
        same time.
        """
        while self.freed:
            try:
                reference = self.freed.pop()
            except IndexError:  # another thread has taken the last reference in the meantime
                break
            self.keys.append(self._owners.pop(id(reference))[1])
        while self.keys:
            try:
                key = self.keys.pop()
            except IndexError:
                break
            yield key


class Ranks(Protocol):
    """The ranks, as seen by the process that calls functions on them. Subclasses are for threads, MPI and Dask."""

    @property
    def dropped(self) -> Dropped:
        """The keys of data that nobody needs any more. Ranks delete the data when a function is next called on them."""

    @property
    def size(self) -> int:
        """The number of ranks."""

    @property
    def here(self) -> Sequence[int]:
        """The ranks that this process controls: its own rank under `mpiexec`, and otherwise all ranks."""

    @property
    def has_cards(self) -> bool:
        """Whether each rank has a GPU, and runs vertex programs there."""

    def members(self) -> Sequence[Member]:
        """Return all ranks if this process drives a GPU for each of them, and may read the data on these GPUs directly.

        Otherwise return an empty sequence.
        """

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call `function(rank, *arguments)`, with a `Rank`, on each rank in `here`. Return the results in rank order.

        If ranks raise exceptions, the first one is raised here, with a note that names the rank. A RankError that only
        reports the failure of another rank is not.
        """

    def together(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call `function(group, *arguments)` once in each process, where `group` stands for the process's ranks and
        their GPUs.

        The calling thread drives the GPUs of the process's ranks.

        The groups are in `peer_groups.py`. Return None if ranks have no GPUs. An exception in one process makes the
        other processes raise, as in `each`.
        """

    def place(self, key: Any, parts: Sequence[Any]) -> bool:
        """Compute the partitions of a Dask collection (`parts`, Dask's delayed values), and store them on the ranks.

        Rank by rank, the partitions are stored in a dictionary under `key`, with the index of the partition in `parts`
        as the key. Return False, without computing anything, if the ranks are not Dask workers, and otherwise True.
        """

    def held(self, function: Callable[..., Any], *arguments: Any) -> list[Any] | None:
        """Call `function(rank, *arguments)` on each rank by Dask, and return Dask futures of the results, which stay
        there.

        Return None if the ranks are not Dask workers.
        """

    def leave(self, error: BaseException | None) -> None:
        """End the use of the ranks. If there was an error, it is reported to the other ranks."""


class RankError(RuntimeError):
    """Another rank has failed, so an operation on this rank can't complete."""
