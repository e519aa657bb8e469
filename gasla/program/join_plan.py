"""Plans of joins, which match a pattern in a graph: the order of the pattern's vertices, and the conditions for each.

A join extends a match by one vertex at a time. A *place* is the position of a vertex in this order.
"""

from __future__ import annotations

from typing import NamedTuple


class Reach(NamedTuple):
    """The neighbors of an already matched vertex: its out-neighbors, or its in-neighbors if `backward`.

    Relation 0 has all edges. Each further `relation` has some of them, such as the edges of one label, in adjacency
    lists of its own.
    """

    place: int
    backward: bool = False
    relation: int = 0


class Join(NamedTuple):
    """The conditions for a vertex of the graph to be matched next, with the vertex number `vertex` of the pattern.

    Each vertex of the graph has a bit for each vertex k of the pattern. It says whether the two may be matched: they
    have the same label, and the graph's vertex has at least as many neighbors.
    """

    within: tuple[Reach, ...]  # the neighbors among which the matched vertex must be
    outside: tuple[Reach, ...] = ()  # the neighbors among which the matched vertex must not be
    # places of vertices matched before that may satisfy all other conditions: a vertex must not be matched twice
    apart: tuple[int, ...] = ()
    # places of vertices matched before whose ids must be smaller, so that symmetric matches count once
    above: tuple[int, ...] = ()
    vertex: int = 0
    has_label: bool = False  # whether the vertex of the pattern has a label
    # whether bit `vertex` of the graph's vertex is tested: the pattern's vertex has a label or several neighbors
    is_checked: bool = False


class Test(NamedTuple):
    """A test whether the vertex matched at a place is a neighbor of a vertex that was matched before it."""

    reach: Reach
    place: int


class Free(NamedTuple):
    """A vertex of the pattern on which no other depends.

    It is not matched: the graph's vertices that fit it are counted. A vertex that is already matched must not be
    counted. `met` has the places of matched vertices that fit, each with the tests on which this depends.
    """

    join: Join
    met: tuple[tuple[int, tuple[Test, ...]], ...] = ()

    @property
    def ready(self) -> int:
        """The number of vertices that must be matched before the vertices that fit this one can be counted."""
        return 1 + max([*(reach.place for reach in (*self.join.within, *self.join.outside)), *self.join.above])


class JoinPlan(NamedTuple):
    """A plan of a join: the vertices of a pattern that are matched, and those that are only counted.

    The second matched vertex is a neighbor of the first.
    """

    joins: tuple[Join, ...]
    free: tuple[Free, ...] = ()
    directed: bool = False

    @property
    def size(self) -> int:
        """The number of vertices of the pattern that are matched, not counted."""
        return len(self.joins)

    @property
    def tabled(self) -> list[int]:
        """The numbers of the counted vertices that join the first matched vertex with one matched after the second.

        For these, a table of common neighbors is made once for each first vertex, by going two edges from it.
        """
        return [k for k, free in enumerate(self.free) if _is_between(free.join)]


def _is_between(join: Join) -> bool:
    places = [reach.place for reach in join.within]
    return len(places) == 2 and places[0] == 0 and places[1] > 1 and not join.outside and not any(join.above)
