"""Graphs larger than the GPU's memory: adjacency lists and edge values stay in page-locked host memory.

Kernels read them there over PCIe. Offsets, degrees and the fields of vertices are in GPU memory. All adjacency lists,
permuted values and properties are computed by the CPU's code, from the lists and values in the field `host`, and are
copied once into page-locked memory.

With ``stream="compressed"`` the kernels of vertex programs read packed ids (`gasla.graph.packed`). Products and
primitives read the ids themselves, which are copied into page-locked memory when one of them first needs them.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal

import numpy as np

from gasla.arrays import Device, address, converted, current_device, moved
from gasla.graph.adjacency import Adjacency, Array
from gasla.graph.edge_values import Values
from gasla.graph.neighbor_lists import Lists, finished_property
from gasla.graph.packed import PLACE, pack
from gasla.host_memory import cards, free_bytes, mapped, on_host, pinned, pinned_empty

Stream = bool | Literal["compressed"]


class StreamedAdjacency(Adjacency):
    """Adjacency lists in page-locked host memory that GPU kernels read. Only the offsets (`indptr`) are in GPU memory.

    Parameters
    ----------
    host : Adjacency
        The same adjacency lists for the CPU. Its `indices` are in page-locked memory.
    indptr : CuPy array
        The offsets in GPU memory.
    """

    def __init__(self, host: Adjacency, indptr: Array) -> None:
        super().__init__(indptr, mapped(host.indices), self._lent_ids)
        self.host = host
        if host.edge_ids_known and host.edge_ids is None:
            self._edge_ids = None

    def _lent_ids(self) -> Any:
        """Return the edge numbers as an array in page-locked memory, which GPU kernels read.

        The array has the dtype of offsets. If the edge numbers equal the positions, return None.
        """
        ids = self.host.edge_ids
        if ids is None:
            return None
        self.host._edge_ids = pinned(ids, self.indptr.dtype)
        return mapped(self.host._edge_ids)

    @property
    def properties(self) -> Any:
        return self.host.properties

    def to(self, device: Device) -> Adjacency:
        return self if device == self.device else self.host

    def owners(self) -> Array:
        return lent(self.host.owners())

    def as_keys(self, n: int) -> Array:
        return lent(self.host.as_keys(n))

    def in_order(self) -> Adjacency:
        ordered_lists = self.host.in_order()
        return self if ordered_lists is self.host else streamed_lists(ordered_lists, self.indices.dtype, self.indptr)

    def transposed(self) -> Adjacency:
        return streamed_lists(self.host.transposed(), self.indices.dtype)

    def numbers(self) -> Array:
        ids = self.edge_ids
        return lent(self.host.numbers()) if ids is None else ids

    def by_position(self, values: Array | None) -> Array | None:
        host_values = None if values is None else on_host(values)
        if host_values is None or self.edge_ids is None:
            return super().by_position(values)
        return lent(self.host.by_position(host_values))


class PackedIds:
    """Packed vertex ids, which kernels of vertex programs take in place of a CuPy array of ids.

    Parameters
    ----------
    host : array
        The vertex ids in host memory, not packed.
    n : int
        Number of vertices of the graph.
    """

    dtype = np.dtype(np.int32)

    def __init__(self, host: Array, n: int) -> None:
        self.host = host
        groups, self.words = pack(host, n, lambda count: pinned_empty(count, np.uint32))
        groups[:, PLACE] += np.uint64(self.words.ctypes.data)
        self.groups = moved(groups, "gpu")

    @property
    def data(self) -> Any:
        """The memory whose address is passed to kernels: the array of groups of packed ids."""
        return self.groups.data

    @property
    def nbytes(self) -> int:
        return int(self.words.nbytes + self.groups.nbytes)

    @cached_property
    def unpacked(self) -> Any:
        """The vertex ids as an ordinary array in page-locked memory, for kernels that can't read packed ids."""
        return mapped(pinned(self.host, self.dtype))

    def get(self) -> Array:
        """Return the vertex ids in host memory, not packed, as `get` of a CuPy array does."""
        return self.host

    def __len__(self) -> int:
        return len(self.host)


_packed: weakref.WeakValueDictionary[tuple[Any, ...], PackedIds] = weakref.WeakValueDictionary()


def packed_ids(host: Array, n: int) -> PackedIds:
    """Return the packed form of an array of vertex ids.

    While the packed form of an array exists, all calls with this array return it, because both directions of a
    symmetric graph have the same array of ids.
    """
    key = address(host), len(host), host.dtype, n, current_device()
    packed = _packed.get(key)
    return packed if packed is not None else _packed.setdefault(key, PackedIds(host, n))


class PackedAdjacency(StreamedAdjacency):
    """Adjacency lists in host memory whose vertex ids are packed into few bits.

    Parameters
    ----------
    host : Adjacency
        The same adjacency lists for the CPU, not packed.
    indptr : CuPy array
        The offsets in GPU memory.
    packed : PackedIds
        The packed ids of all neighbors.
    """

    def __init__(self, host: Adjacency, indptr: Array, packed: PackedIds) -> None:
        self.host, self.indptr, self.packed = host, indptr, packed
        self._edge_ids = None if host.edge_ids_known and host.edge_ids is None else self._lent_ids

    @property
    def indices(self) -> Any:  # type: ignore[override]
        """The neighbor ids as an ordinary array, which is allocated and filled when it is first read."""
        return self.packed.unpacked

    @property
    def stored_ids(self) -> Any:
        return self.packed

    def in_order(self) -> Adjacency:
        ordered_lists = self.host.in_order()
        return (
            self
            if ordered_lists is self.host
            else PackedAdjacency(ordered_lists, self.indptr, packed_ids(ordered_lists.indices, self.n))
        )

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.indptr) - 1

    def arrays(self) -> list[Array]:
        ids = [] if callable(self._edge_ids) or self._edge_ids is None else [self._edge_ids]
        return [self.indptr, self.packed.groups, self.packed.words, *ids]


def lent(array: Any) -> Any:
    """Return a NumPy array in page-locked memory as an array that GPU kernels read.

    It is copied there unless it is there already.
    """
    return mapped(pinned(array))


def streamed_lists(host: Adjacency, ids: np.dtype[Any], indptr: Array | None = None) -> StreamedAdjacency:
    """Return adjacency lists that GPU kernels read in page-locked memory, made from lists in host memory.

    Vertex ids get the dtype `ids`. `indptr` are the offsets in GPU memory. If they are None, the offsets are copied
    there.
    """
    pinned_lists = Adjacency(host.indptr, pinned(host.indices, ids), host._edge_ids)
    return StreamedAdjacency(pinned_lists, moved(host.indptr, "gpu") if indptr is None else indptr)


def _property_of(name: str, lend: Callable[[StreamedLists, Any], Any]) -> Any:
    """Return a cached property for `StreamedLists`, which takes the property `name` of the lists in host memory.

    The function `lend` converts its value to a form that GPU kernels read.
    """

    def read_from_host(lists: StreamedLists) -> Any:
        return lend(lists, getattr(lists.host, name))

    read_from_host.__name__ = name
    read_from_host.__doc__ = f"`Graph.{name}`."
    return finished_property(read_from_host)


def _numbers_of_edges(lists: StreamedLists, numbers: Any) -> Any:
    return mapped(pinned(numbers, lists.offset_dtype))


class StreamedLists(Lists):
    """The adjacency lists of a graph for the GPU, whose arrays with one entry per edge are in host memory.

    Kernels read these arrays in page-locked memory. The field `host` has the same lists for the CPU.

    Parameters
    ----------
    given : Lists
        The adjacency lists of the graph on the CPU. The object is not changed: `host` is a copy of it. As soon as an
        array has been copied to page-locked memory, `host` refers to that copy, so that the memory of the original can
        be freed.
    packs : bool
        Whether kernels read vertex ids in a form that is packed into few bits (`gasla.graph.packed`). The packed ids
        are made from the ordinary arrays of ids, which `host` keeps.

    Raises
    ------
    ValueError
        If vertex ids have 64 bits and were to be packed.
    """

    def __init__(self, given: Lists, packs: bool = False) -> None:
        super().__init__(given.n, "gpu")
        if packs and self.id_dtype.itemsize == 8:
            raise ValueError(
                f"stream is 'compressed' and the graph has {self.n:,} vertices; expected fewer than {2**31:,}, whose "
                "ids have 32 bits: stream=True takes any graph"
            )
        self.packs = packs
        self.m, self.files = given.m, given.files
        self.host = copy.copy(given)
        self._converted: weakref.WeakValueDictionary[tuple[int, Any], Any] = weakref.WeakValueDictionary()
        # by the `id` of an array of offsets in host memory: this array, and its copy in GPU memory
        self._offsets_on_card: dict[int, tuple[Array, Array]] = {}
        for name in ("rows", "columns"):
            if getattr(self.host, name) is not None and not packs:
                self._move_to_pinned(name)

    def _move_to_pinned(self, name: str) -> Adjacency:
        """Move adjacency lists of the field `host` into page-locked memory, and return them.

        `name` is the property of `host` that has the lists. Other properties of `host` with the same arrays are
        replaced too, so that the original arrays can be freed.
        """
        original_lists: Adjacency = getattr(self.host, name)
        indptr = original_lists.indptr.astype(self.offset_dtype, copy=False)
        indices = pinned(original_lists.indices, self.id_dtype)
        if indptr is original_lists.indptr and indices is original_lists.indices:
            return original_lists
        adjacencies = {
            key: adjacency for key, adjacency in self.host.__dict__.items() if isinstance(adjacency, Adjacency)
        }
        replaced = {}
        for adjacency in adjacencies.values():
            if adjacency.indices is original_lists.indices and id(adjacency) not in replaced:
                replaced[id(adjacency)] = _with_arrays(
                    adjacency, indptr if adjacency.indptr is original_lists.indptr else adjacency.indptr, indices
                )
        self.host.__dict__.update(
            {key: replaced[id(adjacency)] for key, adjacency in adjacencies.items() if id(adjacency) in replaced}
        )
        return replaced[id(original_lists)]

    def _lend(self, host: Adjacency) -> StreamedAdjacency:
        key = id(host.indptr)
        if key not in self._offsets_on_card:
            self._offsets_on_card[key] = host.indptr, moved(host.indptr.astype(self.offset_dtype, copy=False), "gpu")
        indptr = self._offsets_on_card[key][1]
        if not self.packs:
            return StreamedAdjacency(host, indptr)
        return PackedAdjacency(host, indptr, packed_ids(host.indices, self.n))

    def _lists(self, name: str) -> StreamedAdjacency:
        host: Adjacency = getattr(self.host, name)  # this computes the property if it has not been read before
        return self._lend(host if self.packs else self._move_to_pinned(name))

    @finished_property
    def out(self) -> Adjacency:
        return self._lists("out")

    @finished_property
    def in_(self) -> Adjacency:
        return self._lists("in_")

    @finished_property
    def both(self) -> Adjacency:
        return self._lists("both")

    @finished_property
    def sorted_out(self) -> Adjacency:
        return self.out if self.host.sorted_out is self.host.out else self._lists("sorted_out")

    leaving = _property_of("leaving", lambda _, found: lent(found))
    out_edge_ids = _property_of("out_edge_ids", _numbers_of_edges)
    in_edge_ids = _property_of("in_edge_ids", _numbers_of_edges)
    reverse_edge_ids = _property_of("reverse_edge_ids", _numbers_of_edges)
    out_degrees = _property_of("out_degrees", lambda _, found: moved(found, "gpu"))
    in_degrees = _property_of("in_degrees", lambda _, found: moved(found, "gpu"))
    max_out_degree = _property_of("max_out_degree", lambda _, found: found)
    max_in_degree = _property_of("max_in_degree", lambda _, found: found)
    is_symmetric = _property_of("is_symmetric", lambda _, found: found)
    has_self_loops = _property_of("has_self_loops", lambda _, found: found)
    has_parallel_edges = _property_of("has_parallel_edges", lambda _, found: found)
    is_simple = _property_of("is_simple", lambda _, found: found)

    @property
    def given(self) -> Adjacency:
        return self.out if self.host.rows is not None or self.host.columns is None else self.in_

    @property
    def any_ids(self) -> Array:
        return self.given.indices

    def edges(self) -> tuple[Array, Array]:
        src, dst = self.host.edges()
        return lent(src), lent(dst)

    def partners(self) -> Array:
        return _numbers_of_edges(self, self.host.partners())

    def are_both_ways(self, values: Array) -> bool:
        host_values = on_host(values)
        return self.host.are_both_ways(values.get() if host_values is None else host_values)  # type: ignore[attr-defined]

    def as_type(self, array: Array, kind: Any) -> Array:
        host_array, kind = on_host(array), np.dtype(kind)
        if host_array is None or array.dtype == kind:
            return super().as_type(array, kind)
        key = address(array), kind
        # An earlier run may have converted these values to the same dtype, and its result may still exist.
        values = self._converted.get(key)
        return values if values is not None else self._converted.setdefault(key, lent(converted(host_array, kind)))

    def ones(self, count: int, kind: Any) -> Array:
        key = count, np.dtype(kind)
        values = self._converted.get(key)
        return values if values is not None else self._converted.setdefault(key, lent(np.ones(count, kind)))

    def reversed(self) -> Lists:
        return StreamedLists(self.host.reversed(), self.packs)

    def to(self, device: Device) -> Lists:
        return self if device == "gpu" else self.host

    def __reduce__(self) -> tuple[Any, ...]:
        return StreamedLists, (self.host, self.packs)


def _with_arrays(lists: Adjacency, indptr: Array, indices: Array) -> Adjacency:
    """Return adjacency lists with the contents of `lists` in the arrays `indptr` and `indices`.

    Properties that have been computed for `lists` are kept.
    """
    copy = Adjacency(indptr, indices, lists._edge_ids)
    properties = vars(lists.__dict__["properties"]) if "properties" in lists.__dict__ else {}
    copy.properties.__dict__.update({name: value for name, value in properties.items() if isinstance(value, bool)})
    return copy


class StreamedValues(Values):
    """Edge values in page-locked host memory, for the GPU.

    They are a copy, which does not see later writes to the original.

    Parameters
    ----------
    lists : StreamedLists
        The adjacency lists of the same graph.
    each : array or None
        A NumPy or CuPy array with one value per edge.
    """

    lists: StreamedLists

    def __init__(self, lists: StreamedLists, each: Array | None) -> None:
        host_values = None if each is None else on_host(each)
        host_values = moved(each, "cpu") if host_values is None else host_values
        self.host = Values(lists.host, None if host_values is None else pinned(host_values))
        super().__init__(lists, None if self.host.each is None else mapped(self.host.each))

    @classmethod
    def of(cls, lists: StreamedLists, given: Values) -> StreamedValues:
        """Return streamed edge values (in page-locked memory) made from the values of a graph on the CPU.

        Boolean properties that have been computed are copied too.
        """
        streamed = cls(lists, given.each)
        streamed.host.__dict__.update(
            {name: value for name, value in given.__dict__.items() if isinstance(value, bool)}
        )
        return streamed

    @property
    def are_locked(self) -> bool:
        return True

    def handed_out(self) -> Array | None:
        return self.each

    def note(self) -> None:
        """Do nothing. No checksum is needed, because nobody can write to the copy that is in page-locked memory."""

    def _lend(self, name: str) -> Array | None:
        """Return an array of edge values, the field `name` of `host`, in page-locked memory, where GPU kernels read it.

        From then on the field `host` refers only to the array in page-locked memory, so that the original can be freed.
        """
        array = getattr(self.host, name)
        if array is None:
            return None
        self.host.__dict__[name] = pinned(array)
        return mapped(self.host.__dict__[name])

    @finished_property
    def by_out(self) -> Array | None:
        return self._lend("by_out")

    @finished_property
    def by_in(self) -> Array | None:
        return self._lend("by_in")

    are_symmetric = _property_of("are_symmetric", lambda _, found: found)
    are_mirrored = _property_of("are_mirrored", lambda _, found: found)
    range = _property_of("range", lambda _, found: found)

    def to(self, device: Device, lists: Lists) -> Values:
        return self if device == "gpu" else self.host

    def __reduce__(self) -> tuple[Any, ...]:
        return StreamedValues, (self.lists, self.host.each)


def values_of(lists: Lists, values: Array | None) -> Values:
    """Return the object for edge values that suits `lists`: `StreamedValues` for a streamed graph, else `Values`."""
    return StreamedValues(lists, values) if isinstance(lists, StreamedLists) else Values(lists, values)


def require_room(lists: Lists, values: Array | None, device: Device) -> None:
    """Raise MemoryError if the edges and values of a graph do not fit the free memory of the GPU.

    This is called before anything is copied to the GPU.
    """
    if device != "gpu":
        return
    size, free = list_bytes(lists, values), free_bytes()
    if size <= free:
        return
    count = -(-size // max(1, free))
    spread_hint = (
        f", or gasla.distributed.Cluster(cards={count}) spreads it over {count} GPUs" if count <= cards() else ""
    )
    raise MemoryError(
        f"a graph of {lists.n:,} vertices and {lists.m:,} edges takes {size:,} bytes on the GPU, and {free:,} are "
        "free; gasla.Graph(A, device='gpu', stream=True) keeps its neighbor lists in host memory, where the GPU reads "
        f"them{spread_hint}"
    )


def list_bytes(lists: Lists, values: Array | None) -> int:
    """Return how many bytes the edges and values of a graph, in the form of its input, take in GPU memory."""
    value_bytes = 0 if values is None else int(values.nbytes)
    if lists.ends is not None:
        return value_bytes + 2 * lists.id_dtype.itemsize * lists.m
    return value_bytes + lists.id_dtype.itemsize * lists.m + lists.offset_dtype.itemsize * (lists.n + 1)
