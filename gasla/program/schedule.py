"""Schedules: the iteration in which each vertex receives, given before a run and sorted once for many runs."""

from __future__ import annotations

import operator
from collections.abc import Hashable
from functools import cached_property
from typing import Any

import numpy as np

from gasla.arrays import array_module, imported

__all__ = ["Schedule", "as_schedule"]

INT32 = np.dtype(np.int32)
MOST = 2**31  # a schedule must have fewer iterations than this, as engines number iterations in 32 bits


class Schedule:
    """The iteration in which each vertex receives.

    `run` also takes the array of levels; a Schedule is sorted only once for many runs, and can be reversed.

    Parameters
    ----------
    levels : (n,) array of integers, NumPy's or CuPy's
        The iteration of each vertex; -1 for never.
    first : int
        The level of the first iteration: vertices of lower levels never receive.
    depth : int, optional
        The number of iterations, if known: this saves the search for the highest level, and on a GPU the wait for it.

    Raises
    ------
    TypeError, ValueError
        If levels are not a one-dimensional array of integers, or `first` is not an integer.

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
        levels = imported(levels)
        self.levels = array_module(levels).ascontiguousarray(levels)
        if self.levels.ndim != 1 or self.levels.dtype.kind != "i":
            type_and_shape = f"{self.levels.dtype}{self.levels.shape}"
            raise ValueError(f"schedule is {type_and_shape}; expected integers of shape (n,), one per vertex")
        try:
            self.first = operator.index(first)
        except TypeError:
            raise TypeError(f"first is {first!r}; expected a level, an integer") from None
        if depth is not None:
            self.depth = depth
        self.is_reversed = False
        # Data that engines have computed from this schedule, such as vertices sorted by level. The reversed schedule
        # uses the same data.
        self.made: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        """Return the number of vertices."""
        return len(self.levels)

    @cached_property
    def depth(self) -> int:
        """The number of iterations that a run with this schedule has."""
        return max(0, int(self.levels.max()) - self.first + 1) if len(self) else 0

    def reversed(self) -> Schedule:
        """Return the schedule with the order of its iterations reversed."""
        result = Schedule.__new__(Schedule)
        result.levels, result.first, result.depth = self.levels, self.first, self.depth
        result.is_reversed, result.made = not self.is_reversed, self.made
        return result


def in_32_bits(schedule: Schedule) -> tuple[Any, int]:
    """Return the levels of a schedule (the iteration in which each vertex receives) as int32, and its first level.

    Raise ValueError if the schedule has too many iterations for 32 bits.
    """
    levels, first_level, depth = schedule.levels, schedule.first, schedule.depth
    if depth >= MOST:
        raise ValueError(f"the schedule has {depth} iterations; expected less than {MOST}")
    if levels.dtype == INT32 and abs(first_level) + depth < MOST:
        return levels, first_level
    xp: Any = array_module(levels)
    if depth == 0:
        return xp.full(len(levels), -1, np.int32), 0
    return xp.subtract(xp.maximum(levels.astype(np.int64), first_level - 1), first_level).astype(np.int32), 0


def as_schedule(n: int, given: Any) -> Schedule:
    """Convert the argument `schedule` of a run, which is a Schedule or an array of levels, to a Schedule.

    Raise an error if it does not fit a graph of n vertices.
    """
    schedule = given if isinstance(given, Schedule) else Schedule(given)
    if len(schedule) != n:
        raise ValueError(f"schedule has {len(schedule)} levels; expected one for each of the {n} vertices")
    return schedule
