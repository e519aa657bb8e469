"""The values of a graph's edges, and what follows from them; each is found when it is first asked for, and kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, TypeVar

import numpy as np

from gasla.arrays import Device, array_module, checksum, moved, with_bits_of_numbers, words_of
from gasla.graph.adjacency import Array
from gasla.graph.neighbor_lists import Lists, lasting
from gasla.graph.validate import range_of

T = TypeVar("T")


def _noted(make: Callable[[Values], T]) -> cached_property[T]:
    """`lasting` for what follows from values: their checksum is noted first, as callers may write into the array."""

    @wraps(make)
    def made(values: Values) -> T:
        values.note()
        return make(values)

    return lasting(made)


class Values:
    """What follows from values and lists; `each` holds the values by edge numbers, None for a graph without."""

    def __init__(self, lists: Lists, each: Array | None) -> None:
        self.lists, self.each = lists, each
        self.noted: tuple[bytes, bytes] | None = None  # the checksum of the values when something was last derived

    @property
    def device(self) -> Device:
        """Where the lists are."""
        return self.lists.device

    def note(self) -> None:
        """Note what the values are from which something is about to be derived."""
        if self.device == "cpu" and self.noted is None and self.each is not None:
            self.noted = self.checksum()

    def checksum(self) -> tuple[bytes, bytes]:
        """The checksum of the values as they are now."""
        return checksum(*self._words)

    @cached_property
    def _words(self) -> tuple[np.ndarray, np.ndarray]:
        assert self.each is not None
        return words_of(self.each)

    @_noted
    def are_symmetric(self) -> bool:
        """Whether all edges i -> j and all j -> i carry equal values."""
        lists, values = self.lists, self.each
        if not lists.is_symmetric or values is None or self.are_mirrored:
            return lists.is_symmetric
        numbers = with_bits_of_numbers(values)
        return (numbers is not values or lists.has_parallel_edges) and lists.are_both_ways(numbers)

    @_noted
    def are_mirrored(self) -> bool:
        """Whether every edge and its only partner have values of the same bits."""
        if not self.lists.is_symmetric or self.lists.has_parallel_edges:
            return False
        return self.each is None or self.lists.are_both_ways(self.each)

    @_noted
    def range(self) -> tuple[Any, Any] | None:
        """The least and the largest."""
        return None if self.each is None or len(self.each) == 0 else range_of(self.each)

    @_noted
    def by_out(self) -> Array | None:
        """In the order of `out`."""
        return self.lists.out.by_position(self.each)

    @_noted
    def by_in(self) -> Array | None:
        """In the order of `in_`; the array of `by_out` where the two are the same."""
        if self.lists.in_.indices is self.lists.out.indices and self.are_mirrored:
            return self.by_out
        return self.lists.in_.by_position(self.each)

    def to(self, device: Device, lists: Lists) -> Values:
        """A copy on another device, with all yes-or-no properties."""
        copy = Values(lists, None if self.each is None else moved(self.each, device))
        copy.__dict__.update({name: known for name, known in self.__dict__.items() if isinstance(known, bool)})
        return copy

    def arrays(self) -> list[Array]:
        """The arrays held now."""
        return [part for part in self.__dict__.values() if isinstance(part, array_module(part).ndarray)]

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in self.__dict__.items() if name != "_words"} | {"noted": None}
