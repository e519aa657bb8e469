"""Plans of joins: in which order the vertices of a pattern are matched, and what each has to fulfill.

A join extends a match by one vertex at a time. Places are positions in the order of matching.
"""

from __future__ import annotations

from typing import NamedTuple


class Reach(NamedTuple):
    """The list of a matched vertex: its out-neighbors, or its in-neighbors if `backward`.

    All edges are in relation 0. Those in each further `relation`, such as the edges of a label, have lists of their
    own.
    """

    place: int
    backward: bool = False
    relation: int = 0


class Join(NamedTuple):
    """What a vertex of the graph has to fulfill to be matched next, to the vertex number `vertex` of the pattern.

    Bit k of a vertex of the graph says whether it may be matched to vertex k of the pattern: it has the same label, and
    at least as many neighbors.
    """

    within: tuple[Reach, ...]  # lists that have to contain it
    outside: tuple[Reach, ...] = ()  # lists that must not contain it
    apart: tuple[int, ...] = ()  # places of matched vertices that may fulfill all else as well: it must be none of them
    above: tuple[int, ...] = ()  # places of matched vertices whose ids must be smaller, so symmetric matches count once
    vertex: int = 0
    has_label: bool = False  # whether the vertex of the pattern has a label
    is_checked: bool = False  # whether bit `vertex` is tested: the pattern gives a label there, or several neighbors


class Test(NamedTuple):
    """Whether the vertex at a place is in the list of one that was matched before it."""

    reach: Reach
    place: int


class Free(NamedTuple):
    """A vertex that no further vertex depends on. It is not matched: what fits there is counted.

    A matched vertex must not count. `met` has those that fit there if all of some tests hold.
    """

    join: Join
    met: tuple[tuple[int, tuple[Test, ...]], ...] = ()

    @property
    def ready(self) -> int:
        """The number of vertices that have to be matched before it can be counted."""
        return 1 + max([*(reach.place for reach in (*self.join.within, *self.join.outside)), *self.join.above])


class JoinPlan(NamedTuple):
    """A join: the vertices to be matched, of which the second is a neighbor of the first, and those to be counted."""

    joins: tuple[Join, ...]
    free: tuple[Free, ...] = ()
    directed: bool = False

    @property
    def size(self) -> int:
        """The number of vertices that are matched."""
        return len(self.joins)

    @property
    def tabled(self) -> list[int]:
        """Which of the vertices to be counted are between the first vertex and a later one than the second.

        What fits there is counted once for each first vertex, by going two edges from it.
        """
        return [k for k, free in enumerate(self.free) if _is_between(free.join)]


def _is_between(join: Join) -> bool:
    places = [reach.place for reach in join.within]
    return len(places) == 2 and places[0] == 0 and places[1] > 1 and not join.outside and not any(join.above)
