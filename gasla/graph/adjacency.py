"""Compressed neighbor lists (CSR or CSC) on either device; `lists_cpu` and `lists_gpu` have the same functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from gasla.arrays import Device, array_module, device_of, finish, index_dtype, moved, running_sums
from gasla.once import once_property, only_one

Array = np.ndarray[Any, Any]  # NumPy's or CuPy's


class Adjacency:
    """Compressed neighbor lists: the neighbors of v are ``indices[indptr[v]:indptr[v + 1]]``.

    ``edge_ids[k]`` is the number (position in the input) of the edge at position k; ``None`` means k itself. It may be
    given as a function, called when the ids are first read. Unpacks as ``indptr, indices, edge_ids``.
    """

    def __init__(self, indptr: Array, indices: Array, edge_ids: Array | Callable[[], Array] | None = None) -> None:
        self.indptr = indptr
        self.indices = indices
        self._edge_ids = edge_ids

    @property
    def stored_ids(self) -> Any:
        """`indices` as the kernels of programs read them: packed, if the lists are."""
        return self.indices

    @property
    def edge_ids(self) -> Array | None:
        ids = self._edge_ids  # read once: another thread may replace the function by its result at any time
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
        """Return whether the edge ids have been computed. If not, they are computed when first read."""
        return not callable(self._edge_ids)

    @once_property
    def properties(self) -> Any:
        """Properties such as whether the lists ascend: `Properties` of the device's module."""
        return lists_on(self.indptr).Properties(self.indptr, self.indices)

    @property
    def is_sorted(self) -> bool:
        """Whether every neighbor list ascends."""
        return bool(self.properties.ascend)

    @classmethod
    def grouped(cls, keys: Array, others: Array, n: int) -> Adjacency:
        """Return lists of `others` by key, each in the order of the input."""
        return cls(*lists_on(keys).group(keys, others, n))

    @property
    def device(self) -> Device:
        """The device of the arrays, "cpu" or "gpu"."""
        return device_of(self.indptr)

    def to(self, device: Device) -> Adjacency:
        """Return itself if the arrays are on that device, else a copy there."""
        if device == self.device:
            return self
        ids = None if self.edge_ids is None else moved(self.edge_ids, device)
        return Adjacency(moved(self.indptr, device), moved(self.indices, device), ids)

    def owners(self) -> Array:
        """Return for each entry the vertex in whose list it is."""
        return lists_on(self.indptr).owners(self.indptr, self.indices)

    def row(self, v: int) -> Array:
        """Return the list of one vertex: a view."""
        begin, end = self.indptr[v : v + 2].tolist()
        return self.indices[begin:end]

    def of(self, vertices: Array) -> Adjacency:
        """Return the lists of some vertices, in the order given, without edge numbers."""
        xp: Any = array_module(self.indptr)
        firsts, indptr = self.indptr[vertices], running_sums(self.indptr[vertices + 1] - self.indptr[vertices])
        positions = xp.arange(int(indptr[-1]))
        owners = lists_on(indptr).owners(indptr, positions)
        return Adjacency(indptr, self.indices[firsts[owners] + positions - indptr[owners]])

    def as_keys(self, n: int) -> Array:
        """Return each entry as the int64 key ``owner * n + neighbor``. Keys ascend if the adjacency lists do."""
        return self.owners().astype(np.int64) * n + self.indices

    def in_order(self) -> Adjacency:
        """Return these adjacency lists, each in the order of the input.

        If they already are, return the object itself.
        """
        lists, ids = lists_on(self.indptr), self.edge_ids
        if ids is None or lists.Properties(self.indptr, ids).ascend:
            return self
        owners, others = array_module(ids).empty((2, len(ids)), self.indices.dtype)
        owners[ids], others[ids] = self.owners(), self.indices
        return Adjacency.grouped(owners, others, len(self.indptr) - 1)

    def transposed(self) -> Adjacency:
        """Return the transposed lists, neighbors ascending in each (stable), with edge numbers."""
        return Adjacency(*lists_on(self.indptr).transpose(*self))

    def numbers(self) -> Array:
        """Return the number of the edge at each position, always as an array."""
        if self.edge_ids is not None:
            return self.edge_ids
        m = len(self.indices)
        return array_module(self.indices).arange(m, dtype=index_dtype(m))

    def transposed_edge_ids(self) -> Array:
        """Return the edge numbers in the order of the transposed lists."""
        return self.transposed().numbers()

    def by_position(self, values: Array | None) -> Array | None:
        """Permute edge values from the order of the input to the order of the adjacency lists.

        If both are equal, return `values` itself.
        """
        return values if values is None or self.edge_ids is None else values[self.edge_ids]

    def by_edge(self, values: Array) -> Array:
        """Permute edge values from the order of the adjacency lists to the order of the input.

        If both are equal, return `values` itself.
        """
        if self.edge_ids is None:
            return values
        in_order = array_module(values).empty_like(values)
        in_order[self.edge_ids] = values
        return in_order

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()  # other threads may add to it while it is pickled

    def __iter__(self) -> Iterator[Array | None]:
        return iter((self.indptr, self.indices, self.edge_ids))

    def arrays(self) -> list[Array]:
        """Return the arrays held now."""
        ids = None if callable(self._edge_ids) else self._edge_ids
        return [self.indptr, self.indices] if ids is None else [self.indptr, self.indices, ids]


def lists_on(array: Array) -> ModuleType:
    """Return the module of list functions for the device of `array`."""
    if device_of(array) == "cpu":
        from gasla.graph import lists_cpu as lists
    else:
        from gasla.graph import lists_gpu as lists  # type: ignore[no-redef]
    return lists
