"""The initial state of a run: the initial values of its fields, the arrays of a schedule, and the width of buckets."""

import math
import sys
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from gasla.graph.graph import Graph
from gasla.graph.memory_limit import LARGE
from gasla.graph.weights import mean_size
from gasla.program.binding import Layout, layout
from gasla.program.fields import bounds_of
from gasla.program.schedule import Schedule, in_32_bits

NOTHING = np.zeros(0, np.int64)

# the arrays of a schedule, which says in which iteration (level) each vertex receives: the vertices sorted by level,
# the offsets of the levels, and the level of each vertex
Levels = tuple[np.ndarray, np.ndarray, np.ndarray]


class Start:
    """The initial values of a vertex field: a value for all vertices, and other values for a few of them.

    The kernel writes these values to the field at the start of a run.
    """

    def __init__(
        self,
        name: str,
        place: int,
        kind: Any,
        value: np.ndarray | None,
        field_layout: Layout,
        values_layout: Layout | None,
    ) -> None:
        self.name, self.array = name, f"v_{name}"
        self.arguments = self.array, f"from_{name}", f"at_{name}"
        # shape and dtype of an array with an initial value for each vertex, or None if the kernel does not fill the
        # field
        self.values_layout = values_layout
        # The index of the field's array among the kernel's arguments. The next two arguments are the initial values and
        # the vertices that have them.
        self.place = place
        self.shape, self.type = field_layout
        self.is_large = math.prod(self.shape) * self.type.itemsize >= LARGE
        # array with the one initial value of all vertices, or None if the program declares no such value
        self.value = value
        self._one = np.empty(*layout(kind, 1))
        self.alike, self.nothing = (value, NOTHING), (self._one[:0], NOTHING)
        # the value for all vertices followed by the values for some vertices, and the ids of these vertices
        self._seeds = self.nothing
        bounds = bounds_of(kind)
        self._plain = (int,) if bounds else (int, float)
        self._bounds = bounds or (-sys.float_info.max, sys.float_info.max)

    def number(self, initial: Any) -> tuple[Any, Any] | None:
        """Return the arguments by which the kernel sets the field to one Python number at all vertices.

        Return None if `initial` is not a number, or may be out of range, so that the caller has to check it.
        """
        if not (self.values_layout and type(initial) in self._plain and self._bounds[0] <= initial <= self._bounds[1]):
            return None
        # no dtype of NumPy can hold an integer out of this range
        if type(initial) is int and not -(2**63) <= initial < 2**64:
            return None
        self._one[...] = initial
        return self._one, NOTHING

    def seed(self, initial: Mapping[int, Any], n: int, check: Callable[[str, Any, Any], None]) -> tuple[Any, Any]:
        """Return the kernel's arguments that give a few vertices their own initial values, and the default to all
        others.

        `initial` maps ids of vertices to values, and n is the number of vertices. `check` raises an error for a wrong
        id or value.
        """
        values, ids = self._seeds
        if len(values) != len(initial) + 1:
            assert self.value is not None
            values, ids = np.repeat(self.value, len(initial) + 1, axis=0), np.empty(len(initial), NOTHING.dtype)
            self._seeds = values, ids
        lowest, highest = self._bounds
        for i, (v, x) in enumerate(initial.items()):
            if not (type(v) is int and 0 <= v < n and type(x) in self._plain and lowest <= x <= highest):
                check(self.name, v, x)
            ids[i], values[i + 1] = v, x
        return self._seeds


def kind_of_levels(ids: np.dtype[Any]) -> Hashable:
    """Return the key under which a schedule (the levels of a run) caches its arrays as the CPU engine needs them.

    The arrays depend on `ids`, the dtype of vertex ids.
    """
    return "cpu", ids


def unsorted(schedule: Schedule, ids: np.dtype[Any], team: int) -> Levels:
    """Return the arrays of a schedule for its first run, in which the kernel sorts the vertices by level.

    A schedule says in which iteration (level) each vertex receives. Each of the `team` threads counts the vertices of
    each level in its own row of the array of offsets.
    """
    levels, first = in_32_bits(schedule)
    starts = np.empty((team + 1, schedule.depth + 1), np.int64)
    starts[0, 0] = first
    return np.empty(len(levels), ids), starts, levels


def default_delta(plan: Any, graph: Graph) -> float:
    """Return the default width of the buckets of priorities: the mean edge value (from a sample) over the mean degree.

    If degrees are small, the width is several times that. Iterations then have little work, and having fewer of them
    saves more time than reading some edges twice costs. The width also grows with the number of parts of a value that
    are reduced together. If priorities are not sums of edge values, it is 0: the kernel then uses a fraction of the
    range of the priorities of waiting vertices.
    """
    if not plan.prioritised:
        return 1.0
    if not plan.adds_up:
        return 0.0
    values, m = graph.values, graph.m
    mean = 1.0 if values is None or m == 0 else mean_size(values[:: max(1, m // 4096)])
    degree = max(m, 1) / max(graph.n, 1)
    delta = max(1.0, 24.0 / degree) * max(1.0, len(plan.parts) / 4) * mean / degree
    return min(float(delta), sys.float_info.max) if delta > 0 else 1.0
