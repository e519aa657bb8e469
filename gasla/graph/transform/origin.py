"""`Graph.origin`: maps between the vertex and edge numbers of a graph and of the graph from which it was made.

Only the old number of each new vertex or edge is stored. The maps in both directions are computed from it at first use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import Device, array_module, index_dtype, module_of, moved
from gasla.graph.adjacency import Array, lists_on
from gasla.graph.attributes import Attributes
from gasla.graph.exchange.vertex_names import Names
from gasla.graph.neighbor_lists import Lists, finished_property
from gasla.once import once_property


class IdMap:
    """A map from old to new numbers of vertices or edges. Several old numbers may be merged into one, or dropped.

    Parameters
    ----------
    device : "cpu" or "gpu"
    old, new : int
        Number of old ids and of new ids.
    members : array of integers, optional
        The old ids, grouped by new id, ascending within each group. By default, the identity.
    begins : (new,) array of integers, optional
        Where the group of each new id begins in `members`. By default each group has one member.
    became : (old,) array of integers, optional
        Instead of `members` and `begins`: the new id of each old id, if none is dropped.
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

    @finished_property
    def old_ids(self) -> Array:
        """The old number of each new vertex or edge. If several were merged, it is the smallest of their numbers."""
        if self._became is not None:
            offsets, _, members = lists_on(self._became).group(self._became, self._became, self.counts[1])
            return members[offsets[:-1]]
        if self._members is None:
            return self._arange(self.counts[1])
        return self._members if self._begins is None else self._members[self._begins]

    @finished_property
    def new_ids(self) -> Array:
        """The new number of each old vertex or edge, or -1 if it was dropped."""
        if self._became is not None:
            return self._became
        if self._members is None:
            return self._arange(self.counts[0])
        result = module_of(self.device).full(self.counts[0], -1, self._members.dtype)
        result[self._members] = self._places()
        return result

    def map_names(self, names: Names) -> Names | None:
        """Return the names of the new vertices of this map, or None if vertices were merged."""
        if self.merges:
            return None
        return names if self._members is None else Names(names.each[moved(self._members, "cpu")])

    @property
    def merges(self) -> bool:
        """Whether several old vertices or edges may have become one."""
        return self._became is not None or self._begins is not None

    def map_attributes(self, attributes: Attributes) -> Attributes:
        """Return the attributes of the new vertices or edges of this map: those that they had in the previous graph.

        If several vertices or edges were merged, the attributes are those of the one with the smallest number.
        """
        return attributes if self._is_identity else attributes.taken(lambda: self.old_ids)

    @property
    def _is_identity(self) -> bool:
        return self._members is None and self._became is None

    def _places(self) -> Array:
        """Return the new number of each vertex or edge that was not dropped, in the order of `_members`.

        The field `_members` has their old numbers.
        """
        assert self._members is not None
        count = len(self._members)
        return self._arange(count) if self._begins is None else run_numbers(self._begins, count, self._members.dtype)

    def _arange(self, count: int) -> Array:
        dtype = index_dtype(max(self.counts))
        ids: Array = module_of(self.device).arange(count, dtype=dtype)
        return ids

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays that the map holds now."""
        bytes_by_id = {id(array): array.nbytes for array in vars(self).values() if hasattr(array, "nbytes")}
        return sum(bytes_by_id.values())


class LazyIdMap(IdMap):
    """An `IdMap` (map from old to new numbers) that a function computes when one of its arrays is first read."""

    def __init__(self, device: Device, old: int, new: int, find: Callable[[], IdMap]) -> None:
        super().__init__(device, old, new)
        self._find = find

    @finished_property
    def old_ids(self) -> Array:
        return self._found.old_ids

    @finished_property
    def new_ids(self) -> Array:
        return self._found.new_ids

    @once_property
    def _found(self) -> IdMap:
        return self._find()

    @property
    def _is_identity(self) -> bool:
        return False

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays that the map holds now.

        Arrays of the previous graph, from which the map is computed later, don't count.
        """
        map_: IdMap | None = vars(self).get("_found")
        return 0 if map_ is None else map_.nbytes


class ExplicitIdMap(IdMap):
    """An `IdMap` (map from old to new numbers) whose arrays are given for both directions."""

    def __init__(self, device: Any, old_ids: Array, new_ids: Array) -> None:
        super().__init__(device, len(new_ids), len(old_ids))
        self.__dict__.update(old_ids=old_ids, new_ids=new_ids)

    @property
    def _is_identity(self) -> bool:
        return False


class MovedIdMap(IdMap):
    """An `IdMap` (map from old to new numbers) on another device, to which each array is copied at first use."""

    def __init__(self, device: Device, given: IdMap) -> None:
        super().__init__(device, *given.counts)
        self._given = given

    @finished_property
    def old_ids(self) -> Array:
        return moved(self._given.old_ids, self.device)

    @finished_property
    def new_ids(self) -> Array:
        return moved(self._given.new_ids, self.device)

    @property
    def merges(self) -> bool:
        return self._given.merges

    @property
    def _is_identity(self) -> bool:
        return self._given._is_identity

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays that the map holds now, on both devices."""
        return super().nbytes + self._given.nbytes


class Origin:
    """Where the vertices and edges of a graph came from: `Graph.origin`.

    The arrays are on the device where the graph was made, have the dtype int32 if ids fit, and must not be written to.
    They are computed at first use. For that the graph keeps up to 8 bytes per edge of the previous graph.

    Attributes
    ----------
    vertices : (n,) array
        The number of each vertex in the previous graph; the smallest if several were merged.
    edges : (m,) array
        The number of each edge in the previous graph; the smallest if several were merged.
    new_vertices, new_edges : array
        The number of each vertex and edge of the previous graph in this one; -1 if it was dropped.

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

    def __init__(self, vertices: IdMap, edges: IdMap) -> None:
        self.vertex_map, self.edge_map = vertices, edges

    @property
    def vertices(self) -> Array:
        return self.vertex_map.old_ids

    @property
    def edges(self) -> Array:
        return self.edge_map.old_ids

    @property
    def new_vertices(self) -> Array:
        return self.vertex_map.new_ids

    @property
    def new_edges(self) -> Array:
        return self.edge_map.new_ids

    def to(self, device: Device) -> Origin:
        """Return the same maps with their arrays on a device."""
        return Origin(MovedIdMap(device, self.vertex_map), MovedIdMap(device, self.edge_map))

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays that both maps hold now."""
        return self.vertex_map.nbytes + self.edge_map.nbytes

    def __repr__(self) -> str:
        (vertices, n), (edges, m) = self.vertex_map.counts, self.edge_map.counts
        return f"Origin({n} of {vertices} vertices, {m} of {edges} edges)"


class Derived(NamedTuple):
    """The parts of a graph that is made from another graph: its adjacency lists, its edge values, and its `Origin`."""

    lists: Lists
    values: Array | None
    origin: Origin


def derived(
    lists: Lists, n: int, src: Array, dst: Array, values: Array | None, vertices: IdMap, selected: Array | None
) -> Derived:
    """Return the parts of a graph that has some edges of another graph, without checks.

    The new graph has n vertices, and `src`, `dst` and `values` are its edges. `selected` has their numbers in the other
    graph, and `vertices` is the map from that graph's vertices.
    """
    new_lists = Lists.of_edges(n, lists.device, src, dst)
    return Derived(new_lists, values, Origin(vertices, IdMap(lists.device, lists.m, new_lists.m, selected)))


def run_numbers(begins: Array, count: int, dtype: np.dtype) -> Array:
    """Return for each position of an array the number of the run (of equal entries, for example) that it is in, from 0.

    `count` is the length of the array. `begins` has where each run begins, in ascending order from 0.
    """
    xp = array_module(begins)
    steps = xp.zeros(count, dtype)
    steps[begins[1:]] = 1
    numbers: Array = xp.cumsum(steps, dtype=dtype) if count else steps
    return numbers
