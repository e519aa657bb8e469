"""What the kernel of joins, `gasla/cpu/kernels/join.py`, asks about a plan of joins when the kernel is compiled."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gasla.compiler.function import Compiled
from gasla.cpu.program.fingerprint import described
from gasla.program.join_plan import Free, Join, JoinPlan, Reach, Test

# number of low bits in the mark of a graph's vertex that tell which vertices of the pattern it may be matched to
_KINDS = 8


class Decisions:
    """What the kernel template `kernels/join.py` reads about a plan of joins, such as which adjacency lists to search.

    `way` is "count", "write" or "tally". For the last two, all vertices of the pattern are matched, and none only
    counted.
    """

    printed: Mapping[str, Compiled] = {}

    def __init__(self, plan: JoinPlan, way: str = "count") -> None:
        self.plan, self.joins, self.free, self.size = plan, plan.joins, plan.free, plan.size
        self.writes, self.tallies = way == "write", way == "tally"
        self.numbers, self.places = list(range(len(plan.free))), list(range(plan.size))
        self.tabled = plan.tabled
        self.marked = self._find_marked_lists()
        self.fingerprint = described("join", repr(plan), way)

    @property
    def checks_of_start(self) -> list[tuple[Reach, bool]]:
        """The adjacency lists of the first matched vertex that the second must be in (True) or must not be in (False).

        The list in which the second vertex is searched is left out.
        """
        return self.pending(self.joins[1], 1)[1:]

    def marked_of(self, place: int) -> list[Reach]:
        return [reach for reach in self.marked if reach.place == place]

    def ready_at(self, count: int) -> list[int]:
        """Return the numbers of the pattern vertices that can be counted as soon as `count` pattern vertices are
        matched.
        """
        return [k for k in self.numbers if max(self.free[k].ready, 2 if self.is_tabled(k) else 0) == count]

    def is_tabled(self, number: int) -> bool:
        return number in self.tabled

    def is_degree(self, number: int) -> bool:
        join = self.free[number].join
        return len(join.within) == 1 and not join.outside and not join.has_label

    def apart(self, join: Join, place: int) -> list[int]:
        """Return the matched vertices that the vertex to match next must differ from, so that no vertex is matched
        twice.

        `join` says how the next vertex is found, and `place` is the number of vertices that are matched already.
        Vertices are given by their places in the order of matching. Vertices that differ anyway are left out.
        """
        return [i for i in join.apart if i < place]

    def latest(self, join: Join, place: int) -> list[Reach]:
        """Return the adjacency lists of the vertex matched last in which the vertex to match next must be."""
        return [reach for reach in join.within if reach.place == place - 1]

    def earlier(self, join: Join, place: int) -> list[Reach]:
        """Return the adjacency lists in which the vertex to match next must be, except those of the vertex matched
        last.
        """
        return [reach for reach in join.within if reach.place < place - 1]

    def pending(self, join: Join, place: int) -> list[tuple[Reach, bool]]:
        """Return the adjacency lists of the vertex matched last that decide whether a vertex may be matched next.

        Each list comes with True if it must contain the next vertex, or with False if it must not.
        """
        outside = [(reach, False) for reach in join.outside if reach.place == place - 1]
        return [(reach, True) for reach in self.latest(join, place)] + outside

    def _lists_tested_by_marks(self, join: Join, place: int) -> list[tuple[Reach, bool]]:
        """Return the adjacency lists of earlier matched vertices in which a vertex may be searched by testing its mark.

        A mark has a bit for each of these lists, which tells whether the vertex is in it. The lists are those that must
        contain the vertex to match next (True), or must not contain it (False). A list is left out if it is the only
        one that must contain the next vertex: then the list itself is read.
        """
        within = self.earlier(join, place)
        if len(within) == 1 and not self.latest(join, place):
            within = []
        outside = [(reach, False) for reach in join.outside if reach.place < place - 1]
        return [(reach, True) for reach in within] + outside

    def mask(self, join: Join, place: int) -> int:
        return (
            sum(self.bit(reach) for reach, _ in self._lists_tested_by_marks(join, place))
            + self.kind(join) * join.is_checked
        )

    def value(self, join: Join, place: int) -> int:
        within = (reach for reach, is_within in self._lists_tested_by_marks(join, place) if is_within)
        return sum(map(self.bit, within)) + self.kind(join) * join.is_checked

    def kind(self, join: Join) -> int:
        """Return the bit of a mark, as a number, that says whether a vertex may be matched to this vertex of the
        pattern.

        A mark is a word for each vertex of the graph.
        """
        return 1 << join.vertex

    def bit(self, reach: Reach) -> int:
        """Return the bit of a mark, as a number, that says whether a vertex is in this adjacency list of a matched
        vertex.

        A mark is a word for each vertex of the graph.
        """
        return 1 << (_KINDS + self.marked.index(reach))

    def all_but(self, reach: Reach) -> int:
        return (1 << 8 * mark_type(self.plan).itemsize) - 1 - self.bit(reach)

    def slot(self, reach: Reach) -> int:
        return slot(self.plan, reach)

    def crossed(self, reach: Reach) -> Reach:
        """Return the adjacency list in the other direction: if u is in the list `reach` of v, then v is in the result's
        list of u.
        """
        return reach._replace(backward=self.plan.directed and not reach.backward)

    def name(self, reach: Reach) -> str:
        return f"{reach.place}{'b' if reach.backward else ''}{reach.relation or ''}"

    def certain(self, number: int) -> int:
        """Return how many matched vertices were certainly counted among the vertices that fit the pattern vertex
        `number`.

        This is subtracted from the count, because a match uses each vertex of the graph once.
        """
        return sum(map(functools.partial(self._is_certain, self.free[number]), self._matched_that_may_fit(number)))

    def met_of(self, number: int) -> list[tuple[int, tuple[Test, ...]]]:
        """Return the matched vertices that may have been counted among the vertices that fit the pattern vertex
        `number`.

        Each of them comes with the tests that decide whether it was counted, and so must be subtracted.
        """
        return [met for met in self._matched_that_may_fit(number) if not self._is_certain(self.free[number], met)]

    def _matched_that_may_fit(self, number: int) -> list[tuple[int, tuple[Test, ...]]]:
        counts_all = self.is_degree(number) or self.is_tabled(number)
        return [met for met in self.free[number].met if met[0] >= self.free[number].ready or counts_all]

    def _is_certain(self, free: Free, met: tuple[int, tuple[Test, ...]]) -> bool:
        return not met[1] and not free.join.has_label and not free.join.above

    def factors(self, first: int) -> list[int]:
        """Return the numbers of at most two pattern vertices that are only counted, from number `first` on.

        Their counts are factors of the number of matches.
        """
        return self.numbers[first : first + 2]

    def rest(self, items: Sequence[Any]) -> Sequence[Any]:
        return items[1:]

    def _find_marked_lists(self) -> list[Reach]:
        """Return the adjacency lists whose entries are marked for as long as the owner of the list is matched.

        The owner is the vertex of the graph whose neighbors the list holds.
        """
        steps = [(join, place) for place, join in enumerate(self.joins) if place > 1]
        steps += [(free.join, free.ready) for k, free in enumerate(self.free) if not self.is_tabled(k)]
        reaches = {reach for join, place in steps for reach, _ in self._lists_tested_by_marks(join, place)}
        reaches |= {test.reach for number in self.numbers for _, tests in self.met_of(number) for test in tests}
        return sorted(reaches)


def slot(plan: JoinPlan, reach: Reach) -> int:
    """Return the index of an adjacency list among all lists of its vertex.

    Each relation (a set of edges, such as those of one label) has one list, or two if the plan is directed.
    """
    return reach.relation * (1 + plan.directed) + reach.backward


@functools.cache
def mark_type(plan: JoinPlan) -> np.dtype[Any]:
    """Return the smallest unsigned type for marks, with a bit for each pattern vertex and each marked adjacency list.

    A mark is a word for each vertex of the graph. Its first 8 bits are for vertices of the pattern. At most 56 lists
    are marked.
    """
    return np.dtype(f"u{max(2, 1 << ((_KINDS + len(Decisions(plan).marked) - 1) // 8).bit_length())}")
