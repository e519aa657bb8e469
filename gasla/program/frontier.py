"""Frontiers: sets of vertices, stored as an array of ids or of booleans, and sets of edges."""

import reprlib
from collections.abc import Callable, Iterator
from functools import cached_property
from operator import and_, index, or_, xor
from typing import Any

import numpy as np

from gasla.arrays import Device, array_module, device_of, imported, module_of, moved
from gasla.graph.exchange.vertex_names import OfVertices, translate_vertices
from gasla.graph.validate import for_names

__all__ = ["EdgeFrontier", "Frontier"]


class Frontier:
    """A set of vertices of a graph, stored as an array of ids, a boolean mask, or both once both have been read.

    Sets of one graph have the operators ``|``, ``&``, ``-`` and ``^`` of Python's sets. Each operation is a pass over
    `n` booleans, on the GPU if one of the sets is there.

    Parameters
    ----------
    n : int
        Number of vertices of the graph.
    ids : array of integers, optional
        The vertices, without repetition, in any order.
    mask : (n,) array of bool, optional
        In place of `ids`: True for each vertex of the set.

    Examples
    --------
    >>> import gasla
    >>> frontier = gasla.Frontier(5, [3, 1])
    >>> len(frontier), 3 in frontier, frontier.mask
    (2, True, array([False,  True, False,  True, False]))
    >>> list(frontier | gasla.Frontier(5, [0])), list(frontier - gasla.Frontier(5, [3]))
    ([0, 1, 3], [1])
    """

    is_all = False
    _device: Device = "cpu"  # where the frontier of all vertices is, as it stores no array that would tell

    def __init__(self, n: int, ids: Any = None, *, mask: Any = None) -> None:
        if (ids is None) == (mask is None):
            raise TypeError("a Frontier takes ids or a mask; expected exactly one of them")
        self.n = index(n)
        if ids is not None:
            self.ids = _check_ids(self.n, ids)
        else:
            mask = imported(mask)
            mask = array_module(mask).asarray(mask)
            if mask.shape != (self.n,) or mask.dtype != np.dtype(bool):
                raise ValueError(f"the mask is {mask.dtype}{mask.shape}; expected bool({self.n},)")
            self.mask = mask

    @classmethod
    def all(cls, n: int, device: Device = "cpu") -> "Frontier":
        """Return the frontier of all n vertices of a graph."""
        frontier = cls.__new__(cls)
        frontier.n, frontier.is_all, frontier._device = int(n), True, device
        return frontier

    @classmethod
    def none(cls, n: int) -> "Frontier":
        """Return the empty frontier of a graph with n vertices."""
        frontier = cls.__new__(cls)
        frontier.n, frontier.ids = n, _NO_IDS
        return frontier

    @classmethod
    def one(cls, n: int, vertex: int) -> "Frontier":
        """Return the frontier of one vertex. Its id is not checked."""
        frontier = cls.__new__(cls)
        frontier.n, frontier.only = n, vertex
        return frontier

    @classmethod
    def of(cls, n: int, ids: Any) -> "Frontier":
        """Return the frontier of the vertices with the given ids.

        That each id is valid and occurs only once is not checked.
        """
        frontier = cls.__new__(cls)
        frontier.n, frontier.ids = n, ids
        return frontier

    def to(self, device: Device) -> "Frontier":
        """Return the set with its arrays on a device.

        This is the frontier itself if its arrays are on the device already, else a copy.
        """
        if self.is_all:
            return self if device == self._device else Frontier.all(self.n, device)
        arrays = {name: self.__dict__[name] for name in ("ids", "mask") if name in self.__dict__} or {"ids": self.ids}
        if all(device_of(array) == device for array in arrays.values()):
            return self
        frontier = Frontier.__new__(Frontier)
        frontier.__dict__.update(n=self.n, **{name: moved(array, device) for name, array in arrays.items()})
        return frontier

    @cached_property
    def ids(self) -> np.ndarray:
        """The ids of the vertices in the set, as an array."""
        if self.is_all:
            ids: np.ndarray = module_of(self._device).arange(self.n)
        elif "only" in self.__dict__:
            ids = np.array([self.only])
        else:
            ids = array_module(self.mask).flatnonzero(self.mask)
        return ids

    @cached_property
    def only(self) -> int | None:
        """The id of the vertex if the set has exactly one, or None."""
        return int(self.ids[0]) if len(self) == 1 else None

    @cached_property
    def mask(self) -> np.ndarray:
        """An array of n booleans, which is True for the vertices in the set."""
        if self.is_all:
            mask: np.ndarray = module_of(self._device).ones(self.n, bool)
        else:
            mask = array_module(self.ids).zeros(self.n, bool)
            mask[self.ids] = True
        return mask

    def __or__(self, other: "Frontier") -> "Frontier":
        return self._combine(other, "|", or_)

    def __and__(self, other: "Frontier") -> "Frontier":
        return self._combine(other, "&", and_)

    def __sub__(self, other: "Frontier") -> "Frontier":
        return self._combine(other, "-", lambda these, those: these & ~those)

    def __xor__(self, other: "Frontier") -> "Frontier":
        return self._combine(other, "^", xor)

    def _combine(self, other_frontier: "Frontier", sign: str, operation: Callable[[Any, Any], Any]) -> "Frontier":
        """Return the set of vertices that an operator such as ``|`` gives for this set and another.

        `operation` combines the masks of both sets, and `sign` is the operator as text, for errors.
        """
        if not isinstance(other_frontier, Frontier):
            raise TypeError(
                f"{self} {sign} {other_frontier!r}; expected another Frontier: gasla.Frontier({self.n}, ids) makes one"
            )
        if self.n != other_frontier.n:
            raise ValueError(f"{self} {sign} {other_frontier}; expected two frontiers of one graph")
        device: Device = "gpu" if "gpu" in (self._array_device, other_frontier._array_device) else "cpu"
        return Frontier(self.n, mask=operation(self.to(device).mask, other_frontier.to(device).mask))

    @property
    def _array_device(self) -> Device:
        """The device that holds the arrays of this set."""
        arrays = [self.__dict__[name] for name in ("ids", "mask") if name in self.__dict__]
        return device_of(arrays[0]) if arrays else self._device

    def __len__(self) -> int:
        if self.is_all:
            return self.n
        return 1 if self.__dict__.get("only") is not None else len(self.ids)

    def __contains__(self, vertex: int) -> bool:
        return 0 <= vertex < self.n and bool(self.mask[vertex])

    def __iter__(self) -> Iterator[int]:
        return iter(self.ids.tolist())

    def __repr__(self) -> str:
        return f"Frontier({len(self)} of {self.n} vertices)"


_NO_IDS = np.zeros(0, np.int64)


class EdgeFrontier:
    """A set of edges: parallel arrays of edge ids (positions in the graph's input), sources and destinations."""

    def __init__(self, n: int, ids: Any, src: Any, dst: Any) -> None:
        arrays = (imported(array) for array in (ids, src, dst))
        self.n, (self.ids, self.src, self.dst) = n, (array_module(array).asarray(array) for array in arrays)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, keep: Any) -> "EdgeFrontier":
        """Return the edges that a boolean mask or a list of positions selects."""
        return EdgeFrontier(self.n, self.ids[keep], self.src[keep], self.dst[keep])

    def __repr__(self) -> str:
        return f"EdgeFrontier({len(self)} edges)"


def as_frontier(graph: OfVertices, active: Any) -> Frontier:
    """Convert the argument `active` of a run, which says which vertices are active at first, to a `Frontier`.

    `active` may be None for all vertices, a Frontier, a boolean mask, or ids or names of vertices.
    """
    n = graph.n
    if active is None:
        return Frontier.all(n)
    if isinstance(active, Frontier):
        if active.n != n:
            raise ValueError(f"the frontier is of a graph of {active.n} vertices; this graph has {n}")
        return active
    if graph.naming is not None:
        active = translate_vertices(graph, [active] if isinstance(active, str) else active, "active")
    if type(active) is list and len(active) == 1 and type(active[0]) is int and 0 <= active[0] < n:
        return Frontier.one(n, active[0])  # one vertex id in a list is the usual case, so it skips the checks of arrays
    active = imported(active)
    array = array_module(active).asarray(active)
    return Frontier(n, mask=array) if array.dtype == np.dtype(bool) else Frontier(n, array)


def _check_ids(n: int, ids: Any) -> np.ndarray:
    ids = imported(ids)
    xp = array_module(ids)
    array: np.ndarray = xp.asarray(ids)
    array = array if array.ndim else array.reshape(1)
    if array.size == 0:
        nothing: np.ndarray = xp.zeros(0, np.int64)
        return nothing
    if array.ndim != 1 or array.dtype.kind not in "iu":
        first_ids = reprlib.repr(array[:7].tolist()) if array_module(ids) is np else ""
        raise TypeError(
            f"vertex ids are {array.dtype}{array.shape} {first_ids}; expected a list of integers, such as [0, 3], or a "
            f"mask of {n} bools{for_names(array)}"
        )
    for extreme_id in (array[0],) if array.size == 1 else (array.min(), array.max()):
        if not 0 <= int(extreme_id) < n:
            raise ValueError(f"vertex {extreme_id} is outside a graph of {n} vertices; expected 0 to {n - 1}")
    # Sorting shows repeated ids. NumPy's unique would take 50 times as long for a million ids, as it fills a hash
    # table.
    ordered = xp.sort(array)
    if not (ordered[1:] > ordered[:-1]).all():
        raise ValueError("a vertex appears twice in the list of ids; expected each once (numpy.unique removes repeats)")
    return array
