"""Edges of a graph that every rank can read: each rank sends slices of them to owners, in the order of the input."""

from typing import Any

import numpy as np

from gasla.arrays import array_module, here, index_dtype, module_of
from gasla.distributed.communicator import Rank
from gasla.distributed.engine.partition import Edges, Rounds, rounds_of
from gasla.graph.adjacency import Adjacency, Array, lists_on
from gasla.graph.neighbor_lists import Lists


class GraphSlices:
    """The edges of a graph that every rank can read, as one rank sends them to the ranks that own their targets.

    In each round, all ranks together send a range of consecutive edges, of which each rank sends an equal part.

    Parameters
    ----------
    rank : Rank
        The rank that sends.
    lists : Lists
        The edges in the form of the input, in the host's memory or on any GPU of this process.
    values : ndarray, optional
        One value per edge.
    """

    def __init__(self, rank: Rank, lists: Lists, values: Array | None) -> None:
        self._rank, self._size, self._device = rank.communicator.rank, rank.communicator.size, rank.device
        self._lists, self._values = lists, values
        self.count = lists.m * (self._rank + 1) // self._size - lists.m * self._rank // self._size
        self._given = lists.rows or lists.columns
        if self._given is not None and array_module(self._given.indptr) is not np:
            # This rank's GPU searches the array of offsets, so that array is copied to it. The array of neighbors is
            # only read in slices, so it may stay on any GPU.
            self._given = Adjacency(here(self._given.indptr, self._device), self._given.indices)

    def extent(self) -> tuple[int, int]:
        """Return the smallest and the largest vertex id that the graph may have: 0 and n - 1.

        The ids of a graph are checked when the graph is made, so they need not be read here.
        """
        return 0, self._lists.n - 1

    def plan(self, m: int) -> Rounds:
        """Return in how many rounds all ranks together send the graph's `m` edges to their owners."""
        return Rounds(rounds_of(self._device, m, self._size), 1)

    def targets(self, number: int, rounds: int) -> Array:
        """Return the targets of the edges that this rank sends in round `number` of `rounds`."""
        return self._ends(self._slice(number, rounds), 1)

    def edges(self, number: int, rounds: int) -> Edges:
        """Return the edges that this rank sends in round `number` of `rounds`."""
        edge_range, xp = self._slice(number, rounds), module_of(self._device)
        ids = xp.arange(edge_range.start, edge_range.stop, dtype=index_dtype(self._lists.m))
        values = None if self._values is None else here(self._values[edge_range], self._device)
        return Edges(self._ends(edge_range, 0), self._ends(edge_range, 1), ids, values)

    def _slice(self, round_number: int, rounds: int) -> slice:
        """Return the slice of the graph's edges, in the order of the input, that this rank sends in round
        `round_number` of `rounds`.
        """
        m, piece_number, piece_count = self._lists.m, round_number * self._size + self._rank, rounds * self._size
        return slice(m * piece_number // piece_count, m * (piece_number + 1) // piece_count)

    def _ends(self, edge_range: slice, end_index: int) -> Array:
        """Return the sources (`end_index` is 0) or the targets (`end_index` is 1) of the edges at the positions
        `edge_range`.
        """
        if self._given is None:
            assert self._lists.ends is not None
            return here(self._lists.ends[end_index][edge_range], self._device)
        if end_index == (self._lists.rows is not None):
            return here(self._given.indices[edge_range], self._device)
        return self._owners(self._given.indptr, edge_range)

    def _owners(self, indptr: Array, edge_range: slice) -> Array:
        """Return, for each of the positions `edge_range` in an array of neighbors, the vertex whose adjacency list has
        this entry.

        `indptr` has the offsets of the lists. Only the offsets that are needed are copied to the rank's device.
        """
        xp: Any = array_module(indptr)
        if edge_range.start == edge_range.stop:
            return module_of(self._device).zeros(0, self._lists.id_dtype)
        range_bounds = xp.asarray([edge_range.start, edge_range.stop - 1])
        first_row, last_row = (xp.searchsorted(indptr, range_bounds, side="right") - 1).tolist()
        offsets_inside = xp.clip(indptr[first_row : last_row + 2], edge_range.start, edge_range.stop) - edge_range.start
        offsets = here(offsets_inside.astype(index_dtype(edge_range.stop - edge_range.start)), self._device)
        entries = module_of(self._device).empty(edge_range.stop - edge_range.start, self._lists.id_dtype)
        owners = lists_on(offsets).owners(offsets, entries)
        owners += first_row
        return owners
