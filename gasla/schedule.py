"""Receivers known ahead: which vertices a run takes in which iteration, sorted once for any number of runs."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from gasla.arrays import array_module

__all__ = ["Schedule", "as_schedule"]

Sorted = tuple[Any, Any]  # vertices by level, and where each level starts among them; the last ends with the array


class Schedule:
    """The iteration in which each vertex receives.

    `run` takes the levels themselves as well; a Schedule sorts them only once, and can be taken backwards.

    Parameters
    ----------
    levels : (n,) array of integers, NumPy's or CuPy's
        An iteration for each vertex; -1 for never.

    Raises
    ------
    ValueError
        For levels that are no integers, or have not one dimension.

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

    def __init__(self, levels: Any) -> None:
        self.levels = array_module(levels).ascontiguousarray(levels)
        if self.levels.ndim != 1 or self.levels.dtype.kind != "i":
            given = f"{self.levels.dtype}{self.levels.shape}"
            raise ValueError(f"schedule is {given}; expected integers of shape (n,), one a vertex")
        self.is_reversed = False
        self._known: dict[Hashable, Any] = {}  # shared with the reversed one

    def __len__(self) -> int:
        """The number of vertices."""
        return len(self.levels)

    def reversed(self) -> Schedule:
        """The same levels, the last of them first."""
        other = Schedule.__new__(Schedule)
        other.levels, other._known, other.is_reversed = self.levels, self._known, not self.is_reversed
        return other

    def sorted(self, kind: Hashable, sort: Callable[[Any], Sorted]) -> Sorted:
        """Vertices by level and where levels start, found by `sort` when first asked for in arrays of this kind."""
        if kind not in self._known:
            self._known[kind] = sort(self.levels)
        order, starts = self._known[kind]
        if not self.is_reversed:
            return order, starts
        return array_module(order).ascontiguousarray(order[::-1]), len(order) - starts[::-1]

    def turns(self, kind: Hashable, place: Callable[[Any], Any]) -> Any:
        """The iteration of each vertex, backwards or not, in an array that `place` makes when first asked."""
        key = "turns", kind, self.is_reversed
        if key not in self._known:
            levels = self.levels
            if self.is_reversed and len(levels):
                xp = array_module(levels)
                levels = xp.where(xp.less(levels, 0), -1, levels.max() - levels)
            self._known[key] = place(levels)
        return self._known[key]


def as_schedule(n: int, given: Any) -> Schedule:
    """A schedule for a graph of n vertices, from whatever a person may hand over for one."""
    schedule = given if isinstance(given, Schedule) else Schedule(given)
    if len(schedule) != n:
        raise ValueError(f"schedule has {len(schedule)} levels; expected one for each of the {n} vertices")
    return schedule
