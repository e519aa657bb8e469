"""A run like one before it: all that one settled is at hand, so that little of Python comes before the kernel.

After a kernel has used all caches, a line of Python takes half a microsecond and more, and of a search that takes a
millisecond they should take fifty at most. So here a run from one vertex, or along a schedule, is a line for each thing
that changes; whatever else a run may be takes the long way, through `engine.Bound`.
"""

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import empty, ndarray

from gasla.binding import NO_LIMIT
from gasla.cpu import levels
from gasla.cpu.runtime import (
    ACTIVE,
    BACKWARD,
    DONE,
    EDGE_SUM,
    ENOUGH,
    ITERATION,
    LAST,
    PUT_OFF,
    SORTED,
    WORK,
)
from gasla.cpu.threads import ALONE, SHORT, TOGETHER, are_awake, hold, release, run_held
from gasla.schedule import Schedule

if TYPE_CHECKING:
    from gasla.cpu.engine import Bound

Left = tuple[dict[str, np.ndarray], int]  # the fields that a run leaves behind, and its number of iterations
Settled = tuple[list[Any], dict[str, np.ndarray]]  # the arguments of its kernel, and those fields


class Again:
    """The runs of a program on a graph, whose workspace the caller has."""

    def __init__(self, bound: "Bound") -> None:
        plan, common, starts, traced = bound.plan, bound.common, bound.starts, bound.traced
        has_more = plan.doubled or plan.edge_states or bound.others or traced.aggregates or traced.parameter_types
        starts_from_one = plan.scheduled or (plan.keeps_active and not plan.starts_active)
        self.is_unusual = bool(has_more) or not starts_from_one or any(start.value is None for start in starts)
        names = [*(name for name in plan.arrays if name != "control"), *plan.scalars]
        self._arguments = [common.get(name) for name in names]
        self.levels, self._kind = names.index("receivers") if plan.scheduled else 0, levels.kind(bound.ids)
        self._place = np.zeros(1, np.int64)  # the source, where fields start with something else
        forms = (start.forms(names.index(start.field.array), plan.copied, self._place) for start in starts)
        self._fields = [] if self.is_unusual else [*forms]
        self._kernel, self._control, self.team = plan.loaded.run_loop, bound.control, bound.team
        self._words = bound.control.data  # of which Python soon reads and writes one
        self._first = bound.first.copy().data
        self._first[ACTIVE] = 1
        self._queues: Any = common.get("queues")
        self.ids, self._size = bound.ids, bound.size
        self._can_wait = bound.can_wait and bound.team > 1

    def __call__(
        self, source: int | None, schedule: Schedule | None, limit: int, given: Mapping[str, Any]
    ) -> Left | None:
        """Run it; None if others have the threads."""
        try:
            if self.team > 1 and not hold(self):
                return None
            arguments, fields = self.settled(given)
            if schedule is None:
                return fields, self.to_end(arguments, source, limit)
            found = schedule.made.get(self._kind)
            is_sorted = found is not None
            if found is None:  # the kernel sorts them, for whoever is the next to have this schedule
                found = schedule.made[self._kind] = levels.unsorted(schedule, self.ids, self.team)
            arguments[self.levels : self.levels + 3] = found
            return fields, self.to_end(arguments, source, limit, schedule.depth, is_sorted, schedule.is_reversed)
        finally:
            release(self)

    def settled(self, given: Mapping[str, Any], in_place: Container[str] = ()) -> Settled:
        """The arguments of a run with such start values, and the fields that it leaves; some arrays it goes on with."""
        arguments, fields = self._arguments.copy(), {}
        for name, place, shape, kind, is_copied, alike, nothing, seeds in self._fields:
            value = given.get(name)
            if type(value) is ndarray:
                if not is_copied or name in in_place:
                    fields[name], arguments[place : place + 3] = value, (value, *nothing)
                    continue
                filling = value, nothing[1]
            elif value is None:
                filling = alike
            else:
                filling = seeds
                seeds[0][1] = value
            fields[name] = array = empty(shape, kind)
            arguments[place : place + 3] = array, *filling
        return arguments, fields

    def to_end(
        self,
        arguments: list[Any],
        source: int | None,
        limit: int = NO_LIMIT,
        depth: int | None = None,
        is_sorted: bool = False,
        is_backward: bool = False,
    ) -> int:
        """Run it with such arguments, to its end or so many iterations; the number of these.

        From a vertex, or along the schedule among the arguments, of such a depth. The caller holds the threads.
        """
        control, words, team, work = self._control, self._words, self.team, self._size
        words[:] = self._first
        if source is not None:
            self._place[0] = source
        if depth is None:
            self._queues[0, 0, 0] = source
        else:
            words[ACTIVE], words[SORTED], words[BACKWARD] = depth, is_sorted, is_backward
        alone = self._can_wait and not are_awake(team)
        words[LAST] = limit
        while True:
            short = alone or work <= SHORT
            words[ENOUGH] = ALONE if alone else SHORT if short else NO_LIMIT
            if alone or team == 1:
                self._kernel(TOGETHER, 1, control, *arguments)
            else:
                run_held(self._kernel, control, arguments, team, short=short)
            iterations = words[ITERATION]
            if words[ACTIVE] + words[PUT_OFF] == 0 or words[DONE] or iterations >= limit:
                return iterations
            seen = words[WORK] + words[EDGE_SUM]
            alone, work = alone and seen <= ALONE, max(seen, work)
