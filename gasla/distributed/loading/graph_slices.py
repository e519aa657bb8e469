"""Edges of a graph that every rank can read: each sends slices of them to their owners, in the order of the input."""

from typing import Any

import numpy as np

from gasla.arrays import array_module, here, index_dtype, module_of
from gasla.distributed.communicator import Rank
from gasla.distributed.engine.partition import Edges, Rounds, rounds_of
from gasla.graph.adjacency import Adjacency, Array, lists_on
from gasla.graph.neighbor_lists import Lists


class GraphSlices:
    """A rank's slices of the edges of a whole graph.

    In each round, ranks send consecutive slices of the edges, of equal lengths.

    Parameters
    ----------
    rank : Rank
    lists : Lists
        The edges in the form of the input, in the host's memory or on any card of this process.
    values : ndarray, optional
        One value per edge.
    """

    def __init__(self, rank: Rank, lists: Lists, values: Array | None) -> None:
        self._rank, self._size, self._device = rank.communicator.rank, rank.communicator.size, rank.device
        self._lists, self._values = lists, values
        self.count = lists.m * (self._rank + 1) // self._size - lists.m * self._rank // self._size
        self._given = lists.rows or lists.columns
        if self._given is not None and array_module(self._given.indptr) is not np:
            # Offsets are searched by the card that holds them. A slice of the other arrays may be on any card.
            self._given = Adjacency(here(self._given.indptr, self._device), self._given.indices)

    def extent(self) -> tuple[int, int]:
        """Return the range of possible ids. A graph has checked its ids."""
        return 0, self._lists.n - 1

    def plan(self, m: int) -> Rounds:
        """Return the rounds in which `m` edges are sent."""
        return Rounds(rounds_of(self._device, m, self._size), 1)

    def targets(self, number: int, rounds: int) -> Array:
        """Return the targets of this rank's edges of a round."""
        return self._ends(self._slice(number, rounds), 1)

    def edges(self, number: int, rounds: int) -> Edges:
        """Return this rank's edges of a round."""
        part, xp = self._slice(number, rounds), module_of(self._device)
        ids = xp.arange(part.start, part.stop, dtype=index_dtype(self._lists.m))
        values = None if self._values is None else here(self._values[part], self._device)
        return Edges(self._ends(part, 0), self._ends(part, 1), ids, values)

    def _slice(self, number: int, rounds: int) -> slice:
        """Return which edges this rank reads in a round: the list positions from start to stop."""
        m, piece, pieces = self._lists.m, number * self._size + self._rank, rounds * self._size
        return slice(m * piece // pieces, m * (piece + 1) // pieces)

    def _ends(self, part: slice, which: int) -> Array:
        """Return the sources (0) or the targets (1) of some edges."""
        if self._given is None:
            assert self._lists.ends is not None
            return here(self._lists.ends[which][part], self._device)
        if which == (self._lists.rows is not None):
            return here(self._given.indices[part], self._device)
        return self._owners(self._given.indptr, part)

    def _owners(self, indptr: Array, part: slice) -> Array:
        """Return the vertices in whose lists some entries are. Only offsets of these lists are copied."""
        xp: Any = array_module(indptr)
        if part.start == part.stop:
            return module_of(self._device).zeros(0, self._lists.id_dtype)
        ends = xp.asarray([part.start, part.stop - 1])
        first, last = (xp.searchsorted(indptr, ends, side="right") - 1).tolist()
        inside = xp.clip(indptr[first : last + 2], part.start, part.stop) - part.start
        offsets = here(inside.astype(index_dtype(part.stop - part.start)), self._device)
        entries = module_of(self._device).empty(part.stop - part.start, self._lists.id_dtype)
        owners = lists_on(offsets).owners(offsets, entries)
        owners += first
        return owners
