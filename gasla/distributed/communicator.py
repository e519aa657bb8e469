"""How ranks talk to each other, and how a caller has them work: the two interfaces that a transport implements.

Ranks run the same function on parts of one graph, each on its own. `Communicator` is what such a function uses: over
threads, MPI, Dask. `Ranks` is what calls it: on every rank, from one process that speaks for all (threads, a Dask
client), or on the process's own rank, where every process runs the same script (`mpiexec`). In both cases the person
writes the same lines, and `gasla.run` is called once in each process that runs them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np


class Communicator(Protocol):
    """One rank's way to the others. All ranks call the same methods in the same order.

    Each call ends on every rank, or raises on every rank: a rank that raises calls `abort`, and wakes the others.
    """

    rank: int  # from 0 on
    size: int
    superstep: int  # that a run is in, which it sets, so that errors can name it; 0 outside of one

    def exchange(self, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Send each rank its part, and get one from each, in rank order: arrays of bytes of any length.

        Receivers don't know lengths. The own part comes back as it is. What comes may be read until the next exchange.
        """

    def allgather(self, array: np.ndarray) -> list[np.ndarray]:
        """Every rank's array of one dimension, in rank order: the same type on all, lengths may differ."""

    def barrier(self) -> None:
        """Wait until every rank is here."""

    def split(self, color: int) -> Self:
        """A communicator among the ranks that gave the same color, in rank order."""

    def abort(self, error: BaseException) -> None:
        """Have every other rank raise where it waits next: this one has failed."""


@dataclass(eq=False)
class Rank:
    """Where a function runs: a rank's communicator, and what it keeps from one call to the next, by key."""

    communicator: Communicator
    kept: dict[Any, Any] = field(default_factory=dict)


class Ranks(Protocol):
    """What has ranks work."""

    @property
    def size(self) -> int:
        """How many there are."""

    @property
    def here(self) -> Sequence[int]:
        """Those that this process speaks for: all, or its own."""

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call `function(rank, *arguments)`, with a `Rank`, on each of those ranks; what they return, in order.

        An exception of one is raised here, with a note that names the rank; others that it made fail are not.
        """

    def place(self, key: Any, parts: Sequence[Any]) -> bool:
        """Have ranks keep what Dask's delayed parts come to, by their numbers; False if they aren't Dask's workers."""

    def held(self, function: Callable[..., Any], *arguments: Any) -> list[Any] | None:
        """What `function(rank, *arguments)` gives on each rank, left there as Dask's future; None if it isn't Dask."""

    def leave(self, error: BaseException | None) -> None:
        """Part: nothing more is called. If an error makes one process do so, the others hear of it."""

    def forget(self, key: Any) -> None:
        """Have ranks drop what they keep by this key when they are next called: a finalizer may ask for it."""


class RankError(RuntimeError):
    """Another rank has failed: what this one was waiting for won't come."""
