"""The values of a graph's edges, and properties derived from them, computed at first use and cached."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial, wraps
from typing import Any, TypeVar

import numpy as np

from gasla.arrays import Device, array_module, checksum, moved, with_bits_of_numbers, words_of
from gasla.graph.adjacency import Array
from gasla.graph.neighbor_lists import Lists, finished_property
from gasla.graph.validate import range_of
from gasla.once import once_property

T = TypeVar("T")


def _noted(make: Callable[[Values], T]) -> once_property[T]:
    """Return a `finished_property` that first records the checksum of the values. Callers may write into the array."""

    @wraps(make)
    def made(values: Values) -> T:
        values.note()
        return make(values)

    return finished_property(made)


def of_parts(values: Any, function: Callable[[Array, Array | None], T]) -> list[T]:
    """Call a function with the values of edges, over ranks once on each rank, and return the results.

    It is called with values and the numbers of their edges; None stands for the numbers 0, 1, 2, ….
    """
    over_ranks = getattr(values, "of_ranks", None)
    return [function(values, None)] if over_ranks is None else over_ranks(function)


def first_edge(values: Any, test: Callable[[Array], Array]) -> tuple[int, Any]:
    """Return the number of the first edge whose value passes a test, as some value does, and the value."""
    return min(edge for edge in of_parts(values, partial(_first_of_part, test)) if edge is not None)


def _first_of_part(test: Callable[[Array], Array], values: Array, numbers: Array | None) -> tuple[int, Any] | None:
    (places,) = test(values).nonzero()
    if not len(places):
        return None
    place = places[0 if numbers is None else numbers[places].argmin()]
    return int(place if numbers is None else numbers[place]), values[place].item()


class Values:
    """Edge values and arrays derived from them. `each` has one value per edge number, or is None."""

    def __init__(self, lists: Lists, each: Array | None) -> None:
        self.lists, self.each = lists, each
        self.noted: Hashable | None = None  # checksum of the values that the cached properties belong to
        self.are_private = False  # on a GPU: whether gasla made the array and has not returned it to a caller

    @property
    def device(self) -> Device:
        """The device of the lists."""
        return self.lists.device

    @property
    def are_locked(self) -> bool:
        """Whether no caller can write to the values: as far as NumPy knows, or because no caller has the array."""
        if self.are_private:
            return True
        array: Any = self.each
        while isinstance(array, np.ndarray):
            if array.flags.writeable:
                return False
            array = array.base
        return array is None

    def handed_out(self) -> Array | None:
        """Return the values for a caller, who may write to them from now on."""
        if self.are_private:
            self.are_private = False
            self.note()  # what is cached already belongs to these values
        return self.each

    def note(self) -> None:
        """Record the checksum of the values before something is derived from them."""
        if self.noted is None and self.each is not None and not self.are_private:
            self.noted = self.checksum()

    def checksum(self) -> Hashable:
        """Return the current checksum of the values."""
        return self.range_and_checksum()[1] if self.lists.device == "gpu" else checksum(*self._words)

    def range_and_checksum(self) -> tuple[tuple[Any, Any], Hashable]:
        """Return the current range of values on a GPU, and their checksum, in one pass."""
        if not len(self.each):  # type: ignore[arg-type]
            return (0, 0), 0
        from gasla.gpu.runtime.min_max import summary

        *bounds, checksum = summary(self.each)
        return (bounds[0], bounds[1]), checksum

    @once_property
    def _words(self) -> tuple[np.ndarray, np.ndarray]:
        assert self.each is not None
        return words_of(self.each)

    @_noted
    def are_symmetric(self) -> bool:
        """Return whether the edges i -> j and j -> i have the same values, in any order, for all i and j."""
        lists, values = self.lists, self.each
        if not lists.is_symmetric or values is None or self.are_mirrored:
            return lists.is_symmetric
        numbers = with_bits_of_numbers(values)
        return (numbers is not values or lists.has_parallel_edges) and lists.are_both_ways(numbers)

    @_noted
    def are_mirrored(self) -> bool:
        """Return whether there are no parallel edges, and every edge and its reverse have bit-identical values."""
        if not self.lists.is_symmetric or self.lists.has_parallel_edges:
            return False
        return self.each is None or self.lists.are_both_ways(self.each)

    @_noted
    def range(self) -> tuple[Any, Any] | None:
        """Return the smallest and the largest value."""
        return None if self.each is None or len(self.each) == 0 else range_of(self.each)

    @_noted
    def by_out(self) -> Array | None:
        """Return the values in the order of `out`, the lists of out-edges.

        If the graph was made from CSC (lists of in-edges), and the matrix is symmetric in its values, too, the lists
        of both directions are the same. Then the values are in the right order already, and are not copied.
        """
        given = self.lists.columns if self.lists.rows is None else None
        if given is not None and given.indices is self.lists.out.indices and self.are_mirrored:
            return given.by_position(self.each)
        return self.lists.out.by_position(self.each)

    @_noted
    def by_in(self) -> Array | None:
        """Return the values in the order of `in_`. If `out` has the same order, return the array of `by_out`."""
        if self.lists.columns is not None:  # the columns were given, so `out` need not be built
            return self.lists.columns.by_position(self.each)
        if self.lists.in_.indices is self.lists.out.indices and self.are_mirrored:
            return self.by_out
        return self.lists.in_.by_position(self.each)

    def to(self, device: Device, lists: Lists) -> Values:
        """Return a copy on another device, with all Boolean properties computed so far."""
        copy = Values(lists, None if self.each is None else moved(self.each, device))
        copy.__dict__.update({name: known for name, known in self.__dict__.copy().items() if isinstance(known, bool)})
        copy.are_private = device == "gpu"
        return copy

    def arrays(self) -> list[Array]:
        """Return the arrays held now."""
        return [part for part in self.__dict__.copy().values() if isinstance(part, array_module(part).ndarray)]

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in self.__dict__.copy().items() if name != "_words"} | {"noted": None}
