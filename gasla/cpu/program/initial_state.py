"""The initial state of a run: values that fill its fields, the arrays of a schedule, the width of buckets."""

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

Levels = tuple[np.ndarray, np.ndarray, np.ndarray]  # receivers sorted by level; offsets of levels; level of each vertex


class Start:
    """The initial values of a vertex field: one value, which the kernel fills in, except at some vertices."""

    def __init__(
        self, name: str, place: int, kind: Any, value: np.ndarray | None, own: Layout, wanted: Layout | None
    ) -> None:
        self.name, self.array = name, f"v_{name}"
        self.arguments = self.array, f"from_{name}", f"at_{name}"
        self.wanted = wanted  # shape and type of an array of initial values; None if the kernel does not fill the field
        self.place = (
            place  # index of the array among the arguments; the next two are initial values, and their vertices
        )
        self.shape, self.type = own
        self.is_large = math.prod(self.shape) * self.type.itemsize >= LARGE
        self.value = value  # an array of length 1; None if the program declares no single initial value
        self.alike, self.nothing = (value, NOTHING), (np.empty(*layout(kind, 0)), NOTHING)
        self._one = np.empty(*layout(kind, 1))
        self._seeds = self.nothing  # the initial value, then those of some vertices; and these vertices
        bounds = bounds_of(kind)
        self._plain = (int,) if bounds else (int, float)
        self._bounds = bounds or (-sys.float_info.max, sys.float_info.max)

    def number(self, given: Any) -> tuple[Any, Any] | None:
        """Return the initial values if all vertices start with a Python number. None asks for further checks."""
        if not (self.wanted and type(given) in self._plain and self._bounds[0] <= given <= self._bounds[1]):
            return None
        if type(given) is int and not -(2**63) <= given < 2**64:  # no type of NumPy holds it
            return None
        self._one[...] = given
        return self._one, NOTHING

    def seed(self, given: Mapping[int, Any], n: int, check: Callable[[str, Any, Any], None]) -> tuple[Any, Any]:
        """Return the initial values of a field for which `given` has values of a few of the n vertices.

        Return the default with these values, and the ids of their vertices. `check` raises an error for a wrong value.
        """
        values, places = self._seeds
        if len(values) != len(given) + 1:
            assert self.value is not None
            values, places = np.repeat(self.value, len(given) + 1, axis=0), np.empty(len(given), NOTHING.dtype)
            self._seeds = values, places
        least, most = self._bounds
        for i, (v, x) in enumerate(given.items()):
            if not (type(v) is int and 0 <= v < n and type(x) in self._plain and least <= x <= most):
                check(self.name, v, x)
            places[i], values[i + 1] = v, x
        return self._seeds


def kind_of_levels(ids: np.dtype[Any]) -> Hashable:
    """Return the key under which a schedule caches its sorted arrays, whose receivers are ids of a type."""
    return "cpu", ids


def unsorted(schedule: Schedule, ids: np.dtype[Any], team: int) -> Levels:
    """Return the arrays of a schedule before the first run sorts them. Each thread counts in its own row of offsets."""
    levels, first = in_32_bits(schedule)
    starts = np.empty((team + 1, schedule.depth + 1), np.int64)
    starts[0, 0] = first
    return np.empty(len(levels), ids), starts, levels


def default_delta(plan: Any, graph: Graph) -> float:
    """Return the default width of buckets: the mean edge value (from a sample) over the mean degree.

    It is several times that if degrees are small: iterations then have little work, and fewer iterations save more than
    reading some edges twice costs. It also grows with the number of parts that are reduced together. It is 0 if
    priorities are not sums of edge values: the width is then a fraction of the range of waiting priorities.
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
