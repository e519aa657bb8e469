"""What a run starts with: what its fields are filled with, the arrays of a schedule, how wide buckets are."""

import math
import sys
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from gasla.graph.graph import Graph
from gasla.graph.weights import mean_size
from gasla.program.binding import Layout, layout
from gasla.program.fields import bounds_of
from gasla.program.schedule import Schedule, in_32_bits

NOTHING = np.zeros(0, np.int64)

Levels = tuple[np.ndarray, np.ndarray, np.ndarray]  # receivers by level; where each level starts; levels


class Start:
    """How a vertex field starts: where the run itself fills it, everywhere alike but for some vertices."""

    def __init__(
        self, name: str, place: int, kind: Any, value: np.ndarray | None, own: Layout, wanted: Layout | None
    ) -> None:
        self.name, self.array = name, f"v_{name}"
        self.arguments = self.array, f"from_{name}", f"at_{name}"
        self.wanted = wanted  # shape and type of an array that may fill it; None where the run fills nothing
        self.place = place  # of the array among the arguments; what fills it comes next: values, and at which vertices
        self.shape, self.type = own
        self.value = value  # an array of one; None where the program has it start otherwise
        self.alike, self.nothing = (value, NOTHING), (np.empty(*layout(kind, 0)), NOTHING)
        self._seeds = self.nothing  # what it starts with, first everywhere and then at some vertices; and at which
        bounds = bounds_of(kind)
        self._plain = (int,) if bounds else (int, float)
        self._bounds = bounds or (-math.inf, math.inf)

    def seed(self, given: Mapping[int, Any], n: int, check: Callable[[str, Any, Any], None]) -> tuple[Any, Any]:
        """What fills it if it starts with something else at some of n vertices; `check` has a closer look at those."""
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
    """What those arrays are known by that a schedule keeps, once they are sorted; receivers as ids of a type."""
    return "cpu", ids


def unsorted(schedule: Schedule, ids: np.dtype[Any], team: int) -> Levels:
    """The arrays of a schedule, which the first run sorts with so many threads: each counts in a row of the starts."""
    levels, first = in_32_bits(schedule)
    starts = np.empty((team + 1, schedule.depth + 1), np.int64)
    starts[0, 0] = first
    return np.empty(len(levels), ids), starts, levels


def default_delta(plan: Any, graph: Graph) -> float:
    """The mean edge value (from a sample) over the mean degree; several times that where few edges meet.

    There iterations are thin, and fewer of them are worth some edges looked at twice. Many parts go on together the
    more the wider it is. Where priorities are no sums of edge values, it is 0: a part of the range that waits.
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
