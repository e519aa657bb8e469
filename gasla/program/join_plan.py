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
    """The conditions under which a join matches a vertex of the graph with vertex number `vertex` of the pattern.

    For each vertex of the graph, a bit for each vertex k of the pattern says whether the two may be matched at all:
    they have the same label, and the graph's vertex has at least as many neighbors.
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
    """A test of a join: whether the vertex that is matched at one place of the order is among certain neighbors of
    another.

    `place` is the position of the former in the join's order of vertices, and `reach` says which neighbors.
    """

    reach: Reach
    place: int


class Free(NamedTuple):
    """A vertex of a join's pattern that no condition of another vertex mentions, so that its matches are only counted.

    The count is the number of the graph's vertices that satisfy `join`, less those that are matched already. `met` has
    the places of matched vertices that may have been counted, each with the tests that say whether the vertex was
    counted.
    """

    join: Join
    met: tuple[tuple[int, tuple[Test, ...]], ...] = ()

    @property
    def ready(self) -> int:
        """The number of vertices that must be matched before the matches of this pattern vertex can be counted."""
        return 1 + max([*(reach.place for reach in (*self.join.within, *self.join.outside)), *self.join.above])


class JoinPlan(NamedTuple):
    """The plan of a join, which says in which order and how a pattern's vertices are matched with vertices of a graph.

    `joins` are the conditions for the pattern's vertices that are matched one by one, and `free` is for the vertices
    whose matches are only counted. The second vertex that is matched is always a neighbor of the first.
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
        """The positions in `free` of those pattern vertices whose matches a table counts.

        The two neighbors of such a vertex in the pattern are the vertex that is matched first and one that is matched
        after the second. For each match of the first vertex, a table gets the number of common neighbors of this vertex
        and every other, by going along two edges.
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
