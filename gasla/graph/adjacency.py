"""Adjacency lists in compressed form (CSR or CSC), in host memory or on a GPU.

`Adjacency` holds the arrays. What is computed from them is in two modules with the same functions: `lists_cpu` for
NumPy's arrays and `lists_gpu` for CuPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from gasla.arrays import Device, array_module, device_of, finish, index_dtype, moved, running_sums
from gasla.once import once_property, only_one

Array = np.ndarray[Any, Any]  # a NumPy array, or a CuPy array on the GPU


class Adjacency:
    """Adjacency lists in compressed form: the neighbors of vertex v are ``indices[indptr[v]:indptr[v + 1]]``.

    ``edge_ids[k]`` is the number (position in the input) of the edge stored at position k of ``indices``; ``None``
    means that this number is k itself. It may be given as a function, which is called when the edge numbers are first
    read. The object unpacks as ``indptr, indices, edge_ids``.
    """

    def __init__(self, indptr: Array, indices: Array, edge_ids: Array | Callable[[], Array] | None = None) -> None:
        self.indptr = indptr
        self.indices = indices
        self._edge_ids = edge_ids

    @property
    def stored_ids(self) -> Any:
        """The neighbors of all vertices as an array or object from which compiled vertex programs read them.

        This is `indices`, or an object with packed ids if the graph is compressed.
        """
        return self.indices

    @property
    def edge_ids(self) -> Array | None:
        # The field is read once, because another thread may replace the function that it holds by the function's
        # result.
        ids = self._edge_ids
        if callable(ids):
            with only_one(self, "edge_ids"):
                ids = self._edge_ids
                if callable(ids):
                    ids = ids()
                    finish(self.device)
                    self._edge_ids = ids
        return ids

    @property
    def edge_ids_known(self) -> bool:
        """Whether the edge numbers have been computed.

        If they have not, they are computed when `edge_ids` is first read.
        """
        return not callable(self._edge_ids)

    @once_property
    def properties(self) -> Any:
        """Properties of the adjacency lists, such as whether each of them is sorted.

        They are attributes of an object of the class `Properties` of `lists_cpu` or `lists_gpu`.
        """
        return lists_on(self.indptr).Properties(self.indptr, self.indices)

    @property
    def is_sorted(self) -> bool:
        """Whether every adjacency list is sorted in ascending order."""
        return bool(self.properties.ascend)

    @classmethod
    def grouped(cls, keys: Array, others: Array, n: int) -> Adjacency:
        """Return the adjacency lists of n vertices, built from edges in any order.

        Edge k puts the vertex ``others[k]`` into the adjacency list of the vertex ``keys[k]``. Within each adjacency
        list, edges keep the order of the input.
        """
        return cls(*lists_on(keys).group(keys, others, n))

    @property
    def device(self) -> Device:
        """The device of the arrays, "cpu" or "gpu"."""
        return device_of(self.indptr)

    def to(self, device: Device) -> Adjacency:
        """Return the object itself if its arrays are on the given device. Otherwise return a copy on that device."""
        if device == self.device:
            return self
        ids = None if self.edge_ids is None else moved(self.edge_ids, device)
        return Adjacency(moved(self.indptr, device), moved(self.indices, device), ids)

    def owners(self) -> Array:
        """Return, for each entry of `indices`, the vertex whose adjacency list has the entry."""
        return lists_on(self.indptr).owners(self.indptr, self.indices)

    def row(self, v: int) -> Array:
        """Return the neighbors of one vertex, as a view of `indices`."""
        row_start, end = self.indptr[v : v + 2].tolist()
        return self.indices[row_start:end]

    def of(self, vertices: Array) -> Adjacency:
        """Return the adjacency lists of some vertices, in the order of the array `vertices`, without edge numbers."""
        xp: Any = array_module(self.indptr)
        firsts, indptr = self.indptr[vertices], running_sums(self.indptr[vertices + 1] - self.indptr[vertices])
        positions = xp.arange(int(indptr[-1]))
        owners = lists_on(indptr).owners(indptr, positions)
        return Adjacency(indptr, self.indices[firsts[owners] + positions - indptr[owners]])

    def as_keys(self, n: int) -> Array:
        """Return one number for each entry of the adjacency lists, which identifies its edge: ``owner * n + neighbor``.

        The owner is the vertex in whose adjacency list the neighbor is. The numbers are int64, and ascend if each
        adjacency list does.
        """
        return self.owners().astype(np.int64) * n + self.indices

    def in_order(self) -> Adjacency:
        """Return these adjacency lists with each vertex's edges in the order in which the graph's input gave them.

        If they are in this order already, return the object itself.
        """
        lists, ids = lists_on(self.indptr), self.edge_ids
        if ids is None or lists.Properties(self.indptr, ids).ascend:
            return self
        owners, neighbors = array_module(ids).empty((2, len(ids)), self.indices.dtype)
        owners[ids], neighbors[ids] = self.owners(), self.indices
        return Adjacency.grouped(owners, neighbors, len(self.indptr) - 1)

    def transposed(self) -> Adjacency:
        """Return the adjacency lists of the opposite direction: of in-neighbors if these are of out-neighbors.

        They have edge numbers. The neighbors in each list ascend, and parallel edges keep their order.
        """
        return Adjacency(*lists_on(self.indptr).transpose(*self))

    def numbers(self) -> Array:
        """Return the number of the edge at each position of `indices`, the neighbors of all vertices.

        The result is an array even where these numbers equal the positions, and `edge_ids` is None.
        """
        if self.edge_ids is not None:
            return self.edge_ids
        m = len(self.indices)
        return array_module(self.indices).arange(m, dtype=index_dtype(m))

    def transposed_edge_ids(self) -> Array:
        """Return the numbers of all edges in the order of `transposed`, the lists of the opposite direction."""
        return self.transposed().numbers()

    def by_position(self, values: Array | None) -> Array | None:
        """Return edge values, given in the order of edge numbers, in the order of the entries of the adjacency lists.

        If both orders are the same, return the array `values` itself.
        """
        return values if values is None or self.edge_ids is None else values[self.edge_ids]

    def by_edge(self, values: Array) -> Array:
        """Return edge values, given in the order of the entries of the adjacency lists, in the order of edge numbers.

        If both orders are the same, return the array `values` itself.
        """
        if self.edge_ids is None:
            return values
        in_order = array_module(values).empty_like(values)
        in_order[self.edge_ids] = values
        return in_order

    def __getstate__(self) -> dict[str, Any]:
        # a copy, because other threads may add cached properties while the object is pickled
        return self.__dict__.copy()

    def __iter__(self) -> Iterator[Array | None]:
        return iter((self.indptr, self.indices, self.edge_ids))

    def arrays(self) -> list[Array]:
        """Return the arrays that the adjacency lists hold now. Edge numbers that are not computed yet are left out."""
        ids = None if callable(self._edge_ids) else self._edge_ids
        return [self.indptr, self.indices] if ids is None else [self.indptr, self.indices, ids]


def lists_on(array: Array) -> ModuleType:
    """Return the module whose functions build and test adjacency lists of the array's kind.

    It is `lists_cpu` for NumPy arrays and `lists_gpu` for CuPy arrays.
    """
    if device_of(array) == "cpu":
        import gasla.graph.lists_cpu as lists
    else:
        import gasla.graph.lists_gpu as lists  # type: ignore[no-redef]
    return lists
