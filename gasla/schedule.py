"""Receivers known ahead: which vertices a run takes in which iteration, sorted once for any number of runs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from typing import Any

from gasla.arrays import array_module

__all__ = ["Schedule", "as_schedule"]


class Schedule:
    """The iteration in which each vertex receives.

    `run` takes the levels themselves as well; a Schedule sorts them only once, and can be taken backwards.

    Parameters
    ----------
    levels : (n,) array of integers, NumPy's or CuPy's
        An iteration for each vertex; -1 for never.
    first : int
        The level of the first iteration: vertices of lower ones never receive.

    Raises
    ------
    TypeError, ValueError
        For levels that are no integers, or have not one dimension; for a first one that is no integer.

    Examples
    --------
    Count the paths from vertex 0 to every other, along a directed acyclic graph.

    >>> import gasla, semirings, numpy as np
    >>> class Paths(gasla.VertexProgram):
    ...     paths = gasla.vertex(np.int64, init=0)
    ...     reduce = semirings.plus
    ...     def gather(self, src, dst, edge): return src.paths
    ...     def apply(self, vertex, gathered): return {"paths": gathered}
    >>> graph = gasla.Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3])
    >>> schedule = gasla.Schedule(np.array([-1, 0, 0, 1]))
    >>> gasla.run(Paths, graph, schedule=schedule, paths={0: 1}).paths
    array([1, 1, 1, 2])
    """

    def __init__(self, levels: Any, first: int = 0) -> None:
        self.levels = array_module(levels).ascontiguousarray(levels)
        if self.levels.ndim != 1 or self.levels.dtype.kind != "i":
            given = f"{self.levels.dtype}{self.levels.shape}"
            raise ValueError(f"schedule is {given}; expected integers of shape (n,), one a vertex")
        try:
            self.first = operator.index(first)
        except TypeError:
            raise TypeError(f"first is {first!r}; expected a level, an integer") from None
        self.is_reversed = False
        self._known: dict[Hashable, Any] = {}  # shared with the reversed one

    def __len__(self) -> int:
        """The number of vertices."""
        return len(self.levels)

    @property
    def depth(self) -> int:
        """The number of iterations."""
        return self.kept("depth", lambda _: max(0, int(self.levels.max()) - self.first + 1) if len(self) else 0)

    def reversed(self) -> Schedule:
        """The same levels, the last of them first."""
        other = Schedule.__new__(Schedule)
        other.levels, other.first, other._known = self.levels, self.first, self._known
        other.is_reversed = not self.is_reversed
        return other

    def kept(self, kind: Hashable, make: Callable[[Schedule], Any]) -> Any:
        """What an engine makes of the levels, the same whichever way they are taken, when it first asks for it."""
        if kind not in self._known:
            self._known[kind] = make(self)
        return self._known[kind]


def of_depth(levels: Any, first: int, depth: int) -> Schedule:
    """A schedule whose depth is known already, so that nobody has to look at all levels, and to wait for a GPU."""
    schedule = Schedule(levels, first)
    schedule._known["depth"] = depth
    return schedule


def as_schedule(n: int, given: Any) -> Schedule:
    """A schedule for a graph of n vertices, from whatever a person may hand over for one."""
    schedule = given if isinstance(given, Schedule) else Schedule(given)
    if len(schedule) != n:
        raise ValueError(f"schedule has {len(schedule)} levels; expected one for each of the {n} vertices")
    return schedule
