"""Receivers known ahead: which vertices a run takes in which iteration, sorted once for any number of runs."""

from __future__ import annotations

import operator
from collections.abc import Hashable
from functools import cached_property
from typing import Any

import numpy as np

from gasla.arrays import array_module

__all__ = ["Schedule", "as_schedule"]

INT32 = np.dtype(np.int32)
MOST = 2**31  # iterations: engines number them in 32 bits


class Schedule:
    """The iteration in which each vertex receives.

    `run` takes the levels themselves as well; a Schedule sorts them only once, and can be taken backwards.

    Parameters
    ----------
    levels : (n,) array of integers, NumPy's or CuPy's
        An iteration for each vertex; -1 for never.
    first : int
        The level of the first iteration: vertices of lower ones never receive.
    depth : int, optional
        The number of iterations, where that is known: then nobody looks for the last level, or waits for a GPU to tell.

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

    def __init__(self, levels: Any, first: int = 0, depth: int | None = None) -> None:
        self.levels = array_module(levels).ascontiguousarray(levels)
        if self.levels.ndim != 1 or self.levels.dtype.kind != "i":
            given = f"{self.levels.dtype}{self.levels.shape}"
            raise ValueError(f"schedule is {given}; expected integers of shape (n,), one a vertex")
        try:
            self.first = operator.index(first)
        except TypeError:
            raise TypeError(f"first is {first!r}; expected a level, an integer") from None
        if depth is not None:
            self.depth = depth
        self.is_reversed = False
        self.made: dict[Hashable, Any] = {}  # of the levels, by engines; the reversed one has the same

    def __len__(self) -> int:
        """The number of vertices."""
        return len(self.levels)

    @cached_property
    def depth(self) -> int:
        """The number of iterations."""
        return max(0, int(self.levels.max()) - self.first + 1) if len(self) else 0

    def reversed(self) -> Schedule:
        """The same levels, the last of them first."""
        other = Schedule.__new__(Schedule)
        other.levels, other.first, other.depth = self.levels, self.first, self.depth
        other.is_reversed, other.made = not self.is_reversed, self.made
        return other


def in_32_bits(schedule: Schedule) -> tuple[Any, int]:
    """The levels as int32, and which of them is the first."""
    levels, first, depth = schedule.levels, schedule.first, schedule.depth
    if depth >= MOST:
        raise ValueError(f"the schedule has {depth} iterations; expected less than {MOST}")
    if levels.dtype == INT32 and abs(first) + depth < MOST:
        return levels, first
    xp: Any = array_module(levels)
    if depth == 0:
        return xp.full(len(levels), -1, np.int32), 0
    return xp.subtract(xp.maximum(levels.astype(np.int64), first - 1), first).astype(np.int32), 0


def as_schedule(n: int, given: Any) -> Schedule:
    """A schedule for a graph of n vertices, from whatever a person may hand over for one."""
    schedule = given if isinstance(given, Schedule) else Schedule(given)
    if len(schedule) != n:
        raise ValueError(f"schedule has {len(schedule)} levels; expected one for each of the {n} vertices")
    return schedule
