"""The edges of a graph without their values: adjacency lists in both directions, degrees and properties.

All of these are computed at first use and cached. Graphs that differ only in edge values share one `Lists`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from gasla.arrays import Device, any_true, array_module, converted, finish, index_dtype, module_of, moved
from gasla.graph.adjacency import Adjacency, Array, lists_on
from gasla.graph.mapped_files import MappedFiles
from gasla.once import once_property
from semirings.types import computed

T = TypeVar("T")

_SWAPPED = {  # pairs of properties that are exchanged when all edges of a graph are reversed, such as `out` and `in_`
    "out": "in_",
    "out_edge_ids": "in_edge_ids",
    "out_degrees": "in_degrees",
    "max_out_degree": "max_in_degree",
}
# properties that stay the same when all edges of a graph are reversed
_UNCHANGED = ("is_symmetric", "has_self_loops", "has_parallel_edges", "is_simple", "reverse_edge_ids")


def finished_property(make: Callable[[Any], T]) -> once_property[T]:
    """Make a method a cached property that waits for its CUDA stream before it returns arrays computed on a GPU.

    Other threads may read the arrays on other CUDA streams, which would not wait by themselves.
    """

    @wraps(make)
    def compute(graph_part: Any) -> T:
        result = make(graph_part)
        if graph_part.device == "gpu":
            finish("gpu")
        return result

    return once_property(compute)


class Lists:
    """The edges of a graph in the form in which they were given, and the adjacency lists built from them.

    Parameters
    ----------
    n : int
        Number of vertices.
    device : "cpu" or "gpu"
        Where the arrays are.
    rows, columns : Adjacency, optional
        Adjacency lists of out-edges (`rows`) or in-edges (`columns`), if the input was CSR or CSC.
    ends : (src, dst), optional
        Arrays of sources and targets, if the input was neither CSR nor CSC.
    """

    packs = False  # whether kernels read vertex ids in the packed form of `gasla.graph.packed`

    def __init__(
        self,
        n: int,
        device: Device,
        rows: Adjacency | None = None,
        columns: Adjacency | None = None,
        ends: tuple[Array, Array] | None = None,
    ) -> None:
        self.n, self.device = n, device
        self.rows, self.columns, self.ends = rows, columns, ends
        # the files that the arrays are mapped from, or None if they are in memory
        self.files: MappedFiles | None = None
        stored = rows or columns
        self.m = len(stored.indices) if stored is not None else 0 if ends is None else len(ends[0])

    @classmethod
    def of_edges(cls, n: int, device: Device, src: Array, dst: Array) -> Lists:
        """Return a `Lists` of these edges: as CSR if `src` is sorted, as CSC if `dst` is sorted, otherwise as pairs.

        Vertex ids are converted to the type `id_dtype`.
        """
        lists = cls(n, device, ends=(src, dst))
        xp = array_module(src)
        src, dst = (xp.ascontiguousarray(ids, dtype=lists.id_dtype) for ids in (src, dst))
        lists.ends = None
        if ascends(src):
            lists.rows = Adjacency(lists._offsets(src), dst)
        elif ascends(dst):
            lists.columns = Adjacency(lists._offsets(dst), src)
        else:
            lists.ends = src, dst
        return lists

    @property
    def id_dtype(self) -> np.dtype[Any]:
        """The dtype of vertex ids: int32 if the number of vertices fits, otherwise int64."""
        return index_dtype(self.n)

    @property
    def offset_dtype(self) -> np.dtype[Any]:
        """The dtype of edge numbers: int32 if the number of edges fits, otherwise int64."""
        return index_dtype(self.m)

    @finished_property
    def out(self) -> Adjacency:
        """The adjacency lists of out-edges: the out-neighbors of each vertex (`Graph.out`)."""
        if self.rows is not None:
            return self.rows
        if self.columns is not None:
            return self._reversed(self.columns)
        assert self.ends is not None
        src, dst = self.ends
        return Adjacency.grouped(src, dst, self.n)

    @finished_property
    def in_(self) -> Adjacency:
        """The adjacency lists of in-edges: the in-neighbors of each vertex (`Graph.in_`)."""
        if self.columns is not None:
            return self.columns
        if self.rows is not None:
            return self._reversed(self.rows)
        assert self.ends is not None
        src, dst = self.ends
        return Adjacency.grouped(dst, src, self.n)

    @property
    def given(self) -> Adjacency:
        """The adjacency lists that the graph was made from: of out-edges for CSR, and of in-edges for CSC.

        If it was made from pairs of sources and targets, these are the lists of out-edges.
        """
        return self.rows or self.columns or self.out

    @property
    def available(self) -> list[Adjacency]:
        """The adjacency lists of one direction or both that need not be built: the graph's input, or built already.

        If there are none, the lists of out-edges are built and returned.
        """
        built = self.rows or self.__dict__.get("out"), self.columns or self.__dict__.get("in_")
        return [lists for lists in built if lists is not None] or [self.out]

    @property
    def any_ids(self) -> Array:
        """Any array of vertex ids that the graph's input gave, such as the sources of edges.

        Callers use it to see the ids' dtype and device.
        """
        return self.ends[0] if self.ends is not None else self.given.indices

    @finished_property
    def both(self) -> Adjacency:
        """The adjacency lists of both directions: the out-neighbors and in-neighbors of each vertex (`Graph.both`)."""
        lists = self._lists_of_ends()
        return Adjacency(lists.indptr, lists.indices, array_module(lists.indices).right_shift(lists.numbers(), 1))

    @finished_property
    def leaving(self) -> Array:
        """A boolean array that says which entries of `both`, the adjacency lists of both directions, are out-edges."""
        numbers = self._lists_of_ends().numbers()
        return array_module(numbers).equal(numbers & 1, 0)

    def _lists_of_ends(self) -> Adjacency:
        """Return adjacency lists of both directions, like `both`, in which edge numbers also tell the direction.

        Edge e has the number 2e in the adjacency list of its source, and 2e + 1 in the list of its target.
        """
        edges = self.edges()
        edge_endpoints = array_module(edges[0]).stack(edges, axis=1)
        del edges
        return Adjacency.grouped(edge_endpoints.ravel(), edge_endpoints[:, ::-1].ravel(), self.n)

    def edges(self) -> tuple[Array, Array]:
        """Return the arrays of sources and targets of all edges, in the order of edge numbers."""
        if self.ends is not None:
            return self.ends
        lists = self.rows or self.columns
        assert lists is not None
        owners = lists.owners()
        return (owners, lists.indices) if self.rows is not None else (lists.indices, owners)

    def _reversed(self, lists: Adjacency) -> Adjacency:
        """Return the adjacency lists of the direction opposite to `lists`, with edge numbers computed at first use.

        Sorted adjacency lists of a symmetric graph equal those of the opposite direction, except for edge numbers. So
        their arrays are shared.
        """
        if lists.is_sorted and self.is_symmetric:
            indptr, indices = lists.indptr, lists.indices
        else:
            indptr, indices = lists_on(lists.indptr).transpose_pattern(lists.indptr, lists.indices)
        # The edge numbers are given as a function, which is called at first use: a search over in-edges never reads
        # them.
        return Adjacency(indptr, indices, lists.transposed_edge_ids)

    @finished_property
    def sorted_out(self) -> Adjacency:
        """The out-neighbors of each vertex, ascending (`Graph.sorted_out`)."""
        # If `out` has not been built, it is not built only to test whether it is sorted, because lists of edges in any
        # order hardly ever are.
        if self.ends is not None and "out" not in self.__dict__:
            if self.device == "gpu" and "in_" not in self.__dict__:
                return Adjacency(*lists_on(self.ends[0]).group_ascending(*self.ends, self.n))
            return self.in_.transposed()
        return self.out if self.out.is_sorted else self.in_.transposed()

    @once_property
    def is_symmetric(self) -> bool:
        """Whether each edge is stored in both directions, equally often (`Graph.is_symmetric`)."""
        return bool(self.given.properties.are_symmetric)

    @finished_property
    def out_edge_ids(self) -> Array:
        """The number of the edge at each position of `out` (`Graph.out_edge_ids`)."""
        return self.out.numbers()

    @finished_property
    def in_edge_ids(self) -> Array:
        """The number of the edge at each position of `in_` (`Graph.in_edge_ids`)."""
        return self.in_.numbers()

    @finished_property
    def out_degrees(self) -> Array:
        """The number of out-edges of each vertex (`Graph.out_degrees`)."""
        return self._degrees(self.rows, "out", self.columns)

    @finished_property
    def in_degrees(self) -> Array:
        """The number of in-edges of each vertex (`Graph.in_degrees`)."""
        return self._degrees(self.columns, "in_", self.rows)

    @once_property
    def max_out_degree(self) -> int:
        """The largest number of out-edges of a vertex (`Graph.max_out_degree`)."""
        return int(self.out_degrees.max()) if self.n else 0

    @once_property
    def max_in_degree(self) -> int:
        """The largest number of in-edges of a vertex (`Graph.max_in_degree`)."""
        return int(self.in_degrees.max()) if self.n else 0

    def _degrees(self, known_lists: Adjacency | None, name: str, opposite_lists: Adjacency | None) -> Array:
        """Return the number of edges of each vertex in one direction, out or in.

        If the adjacency lists of this direction exist (`known_lists`), the result is their lengths. Otherwise the ids
        at this end of the edges are counted, which is far cheaper than building the lists.
        """
        lists = known_lists or self.__dict__.get(name)
        if lists is not None:
            return array_module(lists.indptr).diff(lists.indptr).astype(self.offset_dtype, copy=False)
        if opposite_lists is not None:
            ids = opposite_lists.indices
        else:
            assert self.ends is not None
            ids = self.ends[0 if name == "out" else 1]
        return lists_on(ids).count_ids(ids, self.n).astype(self.offset_dtype)

    @once_property
    def has_self_loops(self) -> bool:
        """Whether an edge leads from a vertex to itself (`Graph.has_self_loops`)."""
        if self.ends is not None:
            return any_true(array_module(self.ends[0]).equal(*self.ends))
        lists = self.rows or self.columns
        assert lists is not None
        return bool(lists.properties.have_loops)

    @once_property
    def has_parallel_edges(self) -> bool:
        """Whether two edges have the same source and the same target (`Graph.has_parallel_edges`)."""
        lists = self.given
        if not lists.is_sorted:
            lists = self.sorted_out
        return bool(lists.properties.repeat)

    @once_property
    def is_simple(self) -> bool:
        """Whether the graph is symmetric, without parallel edges and self loops (`Graph.is_simple`)."""
        return self.is_symmetric and not self.has_parallel_edges and not self.has_self_loops

    @finished_property
    def reverse_edge_ids(self) -> Array:
        """The number of the reverse edge of each edge (`Graph.reverse_edge_ids`)."""
        partners = self.partners()
        unpaired = array_module(partners).less(partners, 0)
        if any_true(unpaired):
            edge = int(unpaired.argmax())
            src, dst = (int(endpoints[edge]) for endpoints in self.edges())
            raise ValueError(
                f"edge {edge}, {src} -> {dst}, has no reverse edge: {dst} -> {src} is stored less often; expected "
                "edges in both directions: graph.paired(fill=0) adds the missing ones"
            )
        return partners

    def partners(self) -> Array:
        """Return the number of the reverse edge of each edge, or -1 for an edge that has no reverse edge.

        Parallel edges are paired in order, as in `Graph.reverse_edge_ids`.
        """
        known: Array | None = self.__dict__.get("reverse_edge_ids")
        if known is not None:
            return known
        # adjacency lists whose entries, all together, are sorted by source, then target, then the order of the input
        rows = self.sorted_out
        # adjacency lists whose entries, all together, are sorted by target, then source, then the order of the input
        columns = self.out.transposed()
        ids, reverse_ids = rows.numbers(), columns.numbers()
        xp = array_module(ids)
        partners = xp.empty(self.m, self.offset_dtype)
        if not any_true(xp.not_equal(rows.indptr, columns.indptr)) and not any_true(
            xp.not_equal(rows.indices, columns.indices)
        ):
            partners[ids] = reverse_ids
            return partners
        own_keys, reverse_keys = rows.as_keys(self.n), columns.as_keys(self.n)
        first_match = xp.searchsorted(reverse_keys, own_keys)
        position = first_match + xp.arange(self.m) - xp.searchsorted(own_keys, own_keys)
        is_paired = xp.less(position, xp.searchsorted(reverse_keys, own_keys, side="right"))
        partners[...] = -1
        partners[ids[is_paired]] = reverse_ids[position[is_paired]]
        return partners

    def are_both_ways(self, values: Array) -> bool:
        """Return whether each pair of vertices i, j has edges i -> j with the same values as its edges j -> i.

        Values are compared by their bits. The order of parallel edges makes no difference.
        """
        lists = self.given
        is_symmetric: bool = lists_on(lists.indptr).is_symmetric(lists.indptr, lists.indices, lists.by_position(values))
        return is_symmetric

    def reversed(self) -> Lists:
        """Return a `Lists` of the same graph with every edge reversed.

        Arrays are shared, and edges keep their numbers.
        """
        reversed_lists = Lists(
            self.n, self.device, self.columns, self.rows, None if self.ends is None else self.ends[::-1]
        )
        reversed_lists.files = self.files
        attributes = self.__dict__
        reversed_lists.__dict__.update({name: attributes[name] for name in _UNCHANGED if name in attributes})
        for name, opposite_name in [
            *_SWAPPED.items(),
            *((second_name, first_name) for first_name, second_name in _SWAPPED.items()),
        ]:
            if opposite_name in attributes:
                reversed_lists.__dict__[name] = attributes[opposite_name]
        return reversed_lists

    def as_type(self, array: Array, kind: Any) -> Array:
        """Return an array with one entry for each edge, such as values or edge numbers, converted to another dtype."""
        return converted(array, np.dtype(kind))

    def ones(self, count: int, kind: Any) -> Array:
        """Return an array of `count` ones of a dtype, which stand for the values of edges without values."""
        return converted(module_of(self.device).ones(count, computed(kind)), kind)

    def to(self, device: Device) -> Lists:
        """Return a copy of these edges on another device, in the form in which they were given.

        Vertex ids are converted to `id_dtype`. Of what was computed from the edges, only boolean properties are copied.
        """
        rows, columns = (
            lists and Adjacency(lists.indptr, lists.indices.astype(self.id_dtype, copy=False)).to(device)
            for lists in (self.rows, self.columns)
        )
        endpoints = None if self.ends is None else (moved(self.ends[0], device), moved(self.ends[1], device))
        copy = Lists(self.n, device, rows, columns, endpoints)
        copy.__dict__.update({name: value for name, value in self._fields_now().items() if isinstance(value, bool)})
        return copy

    def _fields_now(self) -> dict[str, Any]:
        """Return a copy of the object's `__dict__`: its fields, and the properties cached so far.

        A copy is needed because other threads may add properties while a loop runs over the dict.
        """
        return self.__dict__.copy()

    def __getstate__(self) -> dict[str, Any]:
        return self._fields_now() | {"files": None}  # a pickle contains the arrays' data, so it needs no files

    def arrays(self) -> list[Array]:
        """Return all arrays that the object holds now: those of the graph's input, and cached ones."""
        arrays_now: list[Array] = [] if self.ends is None else [*self.ends]
        for field in self._fields_now().values():
            if isinstance(field, Adjacency):
                arrays_now += field.arrays()
            elif isinstance(field, array_module(field).ndarray):
                arrays_now.append(field)
        return arrays_now

    def _offsets(self, ascending: Array) -> Array:
        """Return the offsets (`indptr`) of adjacency lists, given the vertex of each entry in ascending order.

        Entry v of the result is the position of the first edge of vertex v, and the last entry is the number of edges.
        """
        xp = array_module(ascending)
        return xp.searchsorted(ascending, xp.arange(self.n + 1, dtype=ascending.dtype)).astype(self.offset_dtype)


def ascends(ids: Array) -> bool:
    """Return whether no entry of an array is smaller than the entry before it."""
    return not any_true(array_module(ids).less(ids[1:], ids[:-1]))
