"""A run like one before it: all that one settled is at hand, so that little of Python comes before the kernel.

After a kernel has used all caches, a line of Python takes half a microsecond and more, and of a search that takes a
millisecond they should take fifty at most. So here a run from one vertex, or along a schedule, is a line for each thing
that changes; whatever else a run may be takes the long way, through `engine.Bound`.
"""

from collections.abc import Container, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import empty, ndarray

from gasla.cpu.program import levels
from gasla.cpu.program.launch import (
    ACTIVE,
    AGAIN,
    BACKWARD,
    ENDED,
    ENOUGH,
    FILLED,
    ITERATION,
    LAST,
    SORTED,
    SOURCE,
    WAY,
    Call,
    Page,
)
from gasla.cpu.runtime.threads import SHORT, busy, hold, run_parallel
from gasla.graph.arguments import NO_LIMIT
from gasla.program.schedule import Schedule

if TYPE_CHECKING:
    from gasla.cpu.program.engine import Bound

Left = tuple[dict[str, np.ndarray], int]  # the fields that a run leaves behind, and its number of iterations
Settled = tuple[list[Any], dict[str, np.ndarray]]  # the arguments of its kernel, and those fields


class Again:
    """The runs of a program on a graph, whose workspace the caller has."""

    def __init__(self, bound: "Bound") -> None:
        plan, common, starts, traced = bound.plan, bound.common, bound.starts, bound.traced
        has_more = plan.doubled or plan.edge_states or bound.others or traced.aggregates or traced.parameter_types
        has_more = has_more or traced.renames
        starts_from_one = plan.scheduled or (plan.keeps_active and not plan.starts_active)
        self.is_unusual = bool(has_more) or not starts_from_one or any(start.value is None for start in starts)
        names = [*(name for name in plan.arrays if name != "control"), *plan.scalars]
        self._arguments = [common.get(name) for name in names]
        self.levels, self._kind = names.index("receivers") if plan.scheduled else 0, levels.kind(bound.ids)
        self._place = np.zeros(1, np.int64)  # the source, where fields start with something else
        forms = (start.forms(names.index(start.field.array), plan.copied, self._place) for start in starts)
        self._fields = [] if self.is_unusual else [*forms]
        self._loop, self._control, self.team = plan.loaded.run_loop, bound.control, bound.team
        self._words = bound.control.data  # of which Python soon reads and writes one
        self.ids, self.number, self._size = bound.ids, bound.number, bound.size
        self._short = SHORT // plan.weight

    def __call__(
        self, source: int | None, schedule: Schedule | None, limit: int, given: Mapping[str, Any]
    ) -> Left | None:
        """Run it; None if others have the threads, or another number of them is wanted now."""
        try:
            if self.team > 1 and not hold(self):
                return None
            fields = None if schedule is not None else self._renewed(given)
            if fields is not None:
                iterations = self.to_end(self._page.call, source, limit)
            else:
                arguments, fields = self.settled(given)
                if schedule is None:
                    iterations = self.to_end((self._loop, arguments), source, limit)
                else:
                    iterations = self._along(schedule, arguments, source, limit)
            return None if iterations < 0 else (fields, iterations)
        finally:
            if "owner" in busy and busy["owner"] is self:
                del busy["owner"]

    def _along(self, schedule: Schedule, arguments: list[Any], source: int | None, limit: int) -> int:
        """`to_end` along a schedule, which the kernel sorts, for whoever is the next to have it, if nobody has."""
        known = schedule.made.get(self._kind)
        found = known or levels.unsorted(schedule, self.ids, self.team)
        arguments[self.levels : self.levels + 3] = found
        call, is_sorted = (self._loop, arguments), known is not None
        iterations = self.to_end(call, source, limit, schedule.depth, is_sorted, schedule.is_reversed)
        if iterations >= 0:
            schedule.made[self._kind] = found
        return iterations

    @cached_property
    def _page(self) -> Page:
        """What a run is passed that starts from a vertex with numbers in its fields."""
        arguments, _ = self.settled(dict.fromkeys((name for name, *_ in self._fields), 0))
        return self.page(arguments, [place for _, place, *_ in self._fields])

    def page(self, arguments: list[Any], fresh: Sequence[int] = ()) -> Page:
        """Such arguments, kept, but for some that are arrays."""
        return Page((self._loop, arguments), self.team, self._control, fresh)

    def _renewed(self, given: Mapping[str, Any]) -> dict[str, np.ndarray] | None:
        """The fields of a run from a vertex, which are on the page; None if it is passed otherwise."""
        fields, page = {}, self._page
        for number, (name, _, shape, kind, *_, seeds) in enumerate(self._fields):
            value = given.get(name)
            if type(value) is ndarray:
                return None
            seeds[0][1] = seeds[0][0] if value is None else value
            fields[name] = array = empty(shape, kind)
            page.renew(number, array)
        return fields

    def place_of(self, name: str) -> int:
        """Which argument a field is."""
        return next(place for field, place, *_ in self._fields if field == name)

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
        call: Call,
        source: int | None,
        limit: int = NO_LIMIT,
        depth: int | None = None,
        is_sorted: bool = False,
        is_backward: bool = False,
    ) -> int:
        """Run it by such a call, to its end or so many iterations; the number of these.

        From a vertex, or along the schedule among the arguments, of such a depth. The caller holds the threads. If
        another number of them is wanted now, it is -1, and nothing has happened.
        """
        (loop, arguments), words, team = call, self._words, self.team
        if source is not None:
            self._place[0] = source
        words[SOURCE] = -1 if source is None else source
        if depth is None:
            words[ACTIVE] = 1
        else:
            words[ACTIVE], words[SORTED], words[BACKWARD] = depth, is_sorted, is_backward
        words[LAST] = limit
        if self._size <= self._short:
            words[ENOUGH] = self._short
            loop(AGAIN, team, self._control, *arguments)
        else:
            words[WAY] = words[FILLED] = words[ENDED] = 0
        if words[ENDED] <= 0:  # it takes long, or workers that are to be hired first
            if words[ENDED] < 0:
                return -1
            words[ENOUGH] = NO_LIMIT
            run_parallel(loop, self._control, arguments, team, held=True)
        return words[ITERATION]
