"""Where the vertices and edges of a graph came from that was made of another one, and where those of that one went.

Both follow from the old number of each new one, which is stored; each is worked out when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import Device, array_module, index_dtype, module_of, moved
from gasla.graph.adjacency import Array, lists_on
from gasla.graph.exchange.naming import Names
from gasla.graph.neighbor_lists import Lists, lasting


class Numbers:
    """Who became whom: each of the new ones was one or more of the old ones, and an old one became one, or none.

    Parameters
    ----------
    device : "cpu" or "gpu"
    old, new : int
        How many there were, and how many there are.
    members : array of integers, optional
        The old ones, by the new ones that they became: each those it was, ascending. By default, they stayed.
    begins : (new,) array of integers, optional
        Where in `members` each of the new ones begins. By default each was one.
    became : (old,) array of integers, optional
        In place of both: what each of the old ones became, of whom none is gone.
    """

    def __init__(
        self,
        device: Device,
        old: int,
        new: int,
        members: Array | None = None,
        begins: Array | None = None,
        became: Array | None = None,
    ) -> None:
        self.device = device
        self.counts = old, new
        self._members, self._begins, self._became = members, begins, became

    @lasting
    def first(self) -> Array:
        """Of each of the new ones, the first that it was."""
        if self._became is not None:
            offsets, _, members = lists_on(self._became).group(self._became, self._became, self.counts[1])
            return members[offsets[:-1]]
        if self._members is None:
            return self._arange(self.counts[1])
        return self._members if self._begins is None else self._members[self._begins]

    @lasting
    def became(self) -> Array:
        """Of each of the old ones, what it became; -1 if it is gone."""
        if self._became is not None:
            return self._became
        if self._members is None:
            return self._arange(self.counts[0])
        found = module_of(self.device).full(self.counts[0], -1, self._members.dtype)
        found[self._members] = self._places()
        return found

    def handed_on(self, names: Names) -> Names | None:
        """The names of the new ones, if each was one: what several became has none."""
        if self._became is not None or self._begins is not None:
            return None
        return names if self._members is None else Names(names.each[moved(self._members, "cpu")])

    def _places(self) -> Array:
        """What each of the members became."""
        assert self._members is not None
        count = len(self._members)
        return self._arange(count) if self._begins is None else numbered(self._begins, count, self._members.dtype)

    def _arange(self, count: int) -> Array:
        kind = index_dtype(max(self.counts))
        made: Array = module_of(self.device).arange(count, dtype=kind)
        return made

    @property
    def nbytes(self) -> int:
        """Bytes held now."""
        held = {id(part): part.nbytes for part in vars(self).values() if hasattr(part, "nbytes")}
        return sum(held.values())


class LaterNumbers(Numbers):
    """Numbers that are worked out when they are first asked for."""

    def __init__(self, device: Device, old: int, new: int, find: Callable[[], Numbers]) -> None:
        super().__init__(device, old, new)
        self._find = find

    @lasting
    def first(self) -> Array:
        return self._found.first

    @lasting
    def became(self) -> Array:
        return self._found.became

    @cached_property
    def _found(self) -> Numbers:
        return self._find()

    @property
    def nbytes(self) -> int:
        """Bytes held now, those of the graph before aside."""
        found: Numbers | None = vars(self).get("_found")
        return 0 if found is None else found.nbytes


class Known(Numbers):
    """Numbers that are known both ways."""

    def __init__(self, device: Any, first: Array, became: Array) -> None:
        super().__init__(device, len(became), len(first))
        self.__dict__.update(first=first, became=became)


class Origin:
    """Where the vertices and edges of a graph came from: `Graph.origin`.

    Arrays are on the device where the graph was made, of int32 where that suffices, and not to be written to. They are
    made when they are first asked for; what they are made of, up to 8 bytes for an edge of the graph before, is held as
    long as the graph is.

    Attributes
    ----------
    vertices : (n,) array
        The number that each vertex had in the graph before. Of one made of several, the least.
    edges : (m,) array
        The number that each edge had. Of one made of several, the least.
    new_vertices, new_edges : array
        For each vertex, and each edge, of the graph before its number here; -1 if it is not here.

    Examples
    --------
    >>> from gasla import Graph
    >>> graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    >>> part = graph.subgraph([3, 2, 1])
    >>> part.origin.vertices, part.origin.edges
    (array([3, 2, 1], dtype=int32), array([1, 2], dtype=int32))
    >>> part.origin.new_vertices, part.origin.new_edges
    (array([-1,  2,  1,  0], dtype=int32), array([-1,  0,  1, -1], dtype=int32))
    """

    def __init__(self, vertices: Numbers, edges: Numbers) -> None:
        self.vertex_numbers, self.edge_numbers = vertices, edges

    @property
    def vertices(self) -> Array:
        return self.vertex_numbers.first

    @property
    def edges(self) -> Array:
        return self.edge_numbers.first

    @property
    def new_vertices(self) -> Array:
        return self.vertex_numbers.became

    @property
    def new_edges(self) -> Array:
        return self.edge_numbers.became

    @property
    def nbytes(self) -> int:
        """Bytes held now."""
        return self.vertex_numbers.nbytes + self.edge_numbers.nbytes

    def __repr__(self) -> str:
        (vertices, n), (edges, m) = self.vertex_numbers.counts, self.edge_numbers.counts
        return f"Origin({n} of {vertices} vertices, {m} of {edges} edges)"


class Derived(NamedTuple):
    """What a graph is made of that is derived from another one."""

    lists: Lists
    values: Array | None
    origin: Origin


def derived(
    lists: Lists, n: int, src: Array, dst: Array, values: Array | None, vertices: Numbers, selected: Array | None
) -> Derived:
    """A graph of edges that are known to be right, of which `selected` says which of another's they were."""
    made = Lists.of_edges(n, lists.device, src, dst)
    return Derived(made, values, Origin(vertices, Numbers(lists.device, lists.m, made.m, selected)))


def numbered(begins: Array, count: int, kind: np.dtype) -> Array:
    """Of so many positions, in which run each is; the first run begins at 0."""
    xp = array_module(begins)
    steps = xp.zeros(count, kind)
    steps[begins[1:]] = 1
    made: Array = xp.cumsum(steps, dtype=kind) if count else steps
    return made
