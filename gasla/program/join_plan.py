"""Plans of joins, which search a graph for all matches of a pattern (a small graph).

A join extends a match by one vertex at a time. A plan gives the order of the pattern's vertices, and the conditions
for each. A *place* is the position of a vertex in this order.
"""

from __future__ import annotations

from typing import NamedTuple


class Reach(NamedTuple):
    """The neighbors of a vertex that is already matched: its out-neighbors, or its in-neighbors if `backward`.

    `place` is the position of the vertex in the order of the join. `relation` says along which edges: 0 stands for
    all edges, and a higher number for some of them, such as those with one label, which have adjacency lists of
    their own.
    """

    place: int
    backward: bool = False
    relation: int = 0


class Join(NamedTuple):
    """The conditions for a vertex of the graph to be matched with vertex number `vertex` of the pattern.

    Each vertex of the graph also has one bit for each vertex k of the pattern. The bit says whether the two may be
    matched: they have the same label, and the graph's vertex has at least as many neighbors.
    """

    within: tuple[Reach, ...]  # sets of neighbors: the matched vertex must be in each of them
    outside: tuple[Reach, ...] = ()  # sets of neighbors: the matched vertex must be in none of them
    # Places of earlier vertices to which the matched vertex must not be equal. Only earlier vertices that could satisfy
    # all other conditions are compared.
    apart: tuple[int, ...] = ()
    # Places of earlier vertices that must have smaller ids than the matched vertex. So matches that differ only by a
    # symmetry of the pattern are counted once.
    above: tuple[int, ...] = ()
    vertex: int = 0
    has_label: bool = False  # whether the pattern's vertex has a label, which the matched vertex must have too
    # Whether a vertex of the graph is tested for its bit number `vertex`. This is needed if the pattern's vertex has a
    # label or several neighbors.
    is_checked: bool = False


class Test(NamedTuple):
    """A test whether the vertex matched at `place` is among the neighbors that `reach` describes."""

    reach: Reach
    place: int


class Free(NamedTuple):
    """A vertex of the pattern that no condition of another vertex mentions, so that its matches are only counted.

    The count is the number of the graph's vertices that satisfy `join`, less those that are matched already. `met`
    has the places of matched vertices that may have been counted, each with the tests that say whether it was.
    """

    join: Join
    met: tuple[tuple[int, tuple[Test, ...]], ...] = ()

    @property
    def ready(self) -> int:
        """The number of vertices that must be matched before the vertices that satisfy `join` can be counted."""
        return 1 + max([*(reach.place for reach in (*self.join.within, *self.join.outside)), *self.join.above])


class JoinPlan(NamedTuple):
    """A plan of a join, which says how a pattern's vertices are matched with vertices of a graph.

    `joins` are the conditions for the pattern's vertices that are matched one by one, and `free` is for those whose
    matches are only counted. The second vertex that is matched is always a neighbor of the first.
    """

    joins: tuple[Join, ...]
    free: tuple[Free, ...] = ()
    directed: bool = False

    @property
    def size(self) -> int:
        """The number of vertices of the pattern that are matched one by one.

        Vertices whose matches are only counted are not among them.
        """
        return len(self.joins)

    @property
    def tabled(self) -> list[int]:
        """The positions in `free` of vertices whose neighbors are the first matched vertex and one after the
        second.

        For each first vertex, the numbers of its common neighbors with all others are computed once, by going along two
        edges, and put in a table.
        """
        return [k for k, free_vertex in enumerate(self.free) if _is_between(free_vertex.join)]


def _is_between(join: Join) -> bool:
    matched_positions = [reach.place for reach in join.within]
    return (
        len(matched_positions) == 2
        and matched_positions[0] == 0
        and matched_positions[1] > 1
        and not join.outside
        and not any(join.above)
    )
