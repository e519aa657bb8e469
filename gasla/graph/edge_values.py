"""The values of a graph's edges, and properties such as their range, computed at first use and cached."""

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


def _checksummed_property(make: Callable[[Values], T]) -> once_property[T]:
    """Make a method of `Values` a cached property, which is computed from edge values when it is first read.

    Before it is computed, a checksum of the values is recorded. Callers may write to the array of values later, and the
    checksum shows then that the property is out of date.
    """

    @wraps(make)
    def compute(values: Values) -> T:
        values.note()
        return make(values)

    return finished_property(compute)


def of_parts(values: Any, function: Callable[[Array, Array | None], T]) -> list[T]:
    """Call a function with the edge values of each part of a graph, and return a list of what it returns.

    An ordinary graph has one part. A graph that is distributed over ranks has one on each rank, where the function is
    called. The function takes an array of values, and an array of the numbers of their edges, which is None if these
    are 0, 1, 2, ….
    """
    over_ranks = getattr(values, "of_ranks", None)
    return [function(values, None)] if over_ranks is None else over_ranks(function)


def first_edge(values: Any, test: Callable[[Array], Array]) -> tuple[int, Any]:
    """Return the number of the first edge whose value passes a test, and that value.

    `test` is a function that returns a mask for an array of values. At least one value must pass.
    """
    return min(edge for edge in of_parts(values, partial(_find_first_in_part, test)) if edge is not None)


def _find_first_in_part(test: Callable[[Array], Array], values: Array, numbers: Array | None) -> tuple[int, Any] | None:
    (positions,) = test(values).nonzero()
    if not len(positions):
        return None
    position = positions[0 if numbers is None else numbers[positions].argmin()]
    return int(position if numbers is None else numbers[position]), values[position].item()


class Values:
    """The values of a graph's edges, and arrays derived from them.

    The field `each` has one value per edge, in the order of edge numbers. It is None for a graph without values.
    """

    def __init__(self, lists: Lists, each: Array | None) -> None:
        self.lists, self.each = lists, each
        self.noted: Hashable | None = None  # checksum of the values from which the cached properties were computed
        self.are_private = False  # on a GPU: whether gasla allocated the array and has not returned it to any caller

    @property
    def device(self) -> Device:
        """The device of the graph's adjacency lists, "cpu" or "gpu", where the edge values are, too."""
        return self.lists.device

    @property
    def are_locked(self) -> bool:
        """Whether no caller can write to the values.

        This holds if NumPy marks the array as read-only, or if no caller ever got the array.
        """
        if self.are_private:
            return True
        array: Any = self.each
        while isinstance(array, np.ndarray):
            if array.flags.writeable:
                return False
            array = array.base
        return array is None

    def handed_out(self) -> Array | None:
        """Return the array of edge values to a caller outside gasla, who may write to it from then on."""
        if self.are_private:
            self.are_private = False
            # Record the checksum before the caller can write to the array: cached properties were computed from the
            # values as they are now.
            self.note()
        return self.each

    def note(self) -> None:
        """Record the checksum that the edge values have now, before a property is computed from them and cached.

        If the values have another checksum later, a caller has written to them, and the property is out of date.
        """
        if self.noted is None and self.each is not None and not self.are_private:
            self.noted = self.checksum()

    def checksum(self) -> Hashable:
        """Return the checksum of the values as they are now."""
        return self.range_and_checksum()[1] if self.lists.device == "gpu" else checksum(*self._words)

    def range_and_checksum(self) -> tuple[tuple[Any, Any], Hashable]:
        """Return the smallest and the largest of the values on a GPU as they are now, and their checksum.

        One pass over the values computes all three.
        """
        if not len(self.each):  # type: ignore[arg-type]
            return (0, 0), 0
        from gasla.gpu.runtime.min_max import summary

        *bounds, checksum = summary(self.each)
        return (bounds[0], bounds[1]), checksum

    @once_property
    def _words(self) -> tuple[np.ndarray, np.ndarray]:
        assert self.each is not None
        return words_of(self.each)

    @_checksummed_property
    def are_symmetric(self) -> bool:
        """Whether each pair of vertices i, j has edges i -> j with the same values as its edges j -> i."""
        lists, values = self.lists, self.each
        if not lists.is_symmetric or values is None or self.are_mirrored:
            return lists.is_symmetric
        numbers = with_bits_of_numbers(values)
        return (numbers is not values or lists.has_parallel_edges) and lists.are_both_ways(numbers)

    @_checksummed_property
    def are_mirrored(self) -> bool:
        """Whether there are no parallel edges, and every edge has a reverse edge with a bit-identical value."""
        if not self.lists.is_symmetric or self.lists.has_parallel_edges:
            return False
        return self.each is None or self.lists.are_both_ways(self.each)

    @_checksummed_property
    def range(self) -> tuple[Any, Any] | None:
        """The smallest and the largest value, or None for a graph without values or edges."""
        return None if self.each is None or len(self.each) == 0 else range_of(self.each)

    @_checksummed_property
    def by_out(self) -> Array | None:
        """The edge values in the order of the adjacency lists of out-edges (`out`).

        If the graph was made from CSC (lists of in-edges), and the matrix is symmetric in its values, too, the lists of
        both directions are the same. Then the values are in the right order already, and are not copied.
        """
        input_columns = self.lists.columns if self.lists.rows is None else None
        if input_columns is not None and input_columns.indices is self.lists.out.indices and self.are_mirrored:
            return input_columns.by_position(self.each)
        return self.lists.out.by_position(self.each)

    @_checksummed_property
    def by_in(self) -> Array | None:
        """The edge values in the order of the adjacency lists of in-edges (`in_`).

        If both directions have the same lists and values, this is the same array as `by_out`.
        """
        # The input was CSC, so this array can be made from it, without building the lists of out-edges.
        if self.lists.columns is not None:
            return self.lists.columns.by_position(self.each)
        if self.lists.in_.indices is self.lists.out.indices and self.are_mirrored:
            return self.by_out
        return self.lists.in_.by_position(self.each)

    def to(self, device: Device, lists: Lists) -> Values:
        """Return a copy of the edge values on another device, for `lists`, the graph's adjacency lists there.

        Boolean properties that have been computed are copied too.
        """
        copy = Values(lists, None if self.each is None else moved(self.each, device))
        copy.__dict__.update({name: value for name, value in self.__dict__.copy().items() if isinstance(value, bool)})
        copy.are_private = device == "gpu"
        return copy

    def arrays(self) -> list[Array]:
        """Return all arrays of edge values that are in memory now: the values, and cached arrays derived from them."""
        return [field for field in self.__dict__.copy().values() if isinstance(field, array_module(field).ndarray)]

    def __getstate__(self) -> dict[str, Any]:
        return {name: attribute for name, attribute in self.__dict__.copy().items() if name != "_words"} | {
            "noted": None
        }
