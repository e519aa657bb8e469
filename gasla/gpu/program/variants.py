"""Which variant of a kernel a graph wants: by its size, its degrees, and how near neighbours' numbers are."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from gasla.gpu.program import relabel, rows, tables
from gasla.gpu.program.plan import Variant, has_wide_values
from gasla.gpu.program.workspace import NEAR
from gasla.gpu.runtime import compile
from gasla.graph.graph import Graph
from gasla.program.binding import NeighbourLists
from gasla.program.program import VertexProgram


class Shape(NamedTuple):
    """What is asked of a graph, of the lists that a program goes over, and of the device."""

    is_small: bool = False  # one block does all
    is_near: bool = False  # and its shared memory has room for what is gathered
    lanes: int = rows.PACKED  # threads for a row of a reduction over all rows
    is_relabelled: bool = False  # such a reduction gains by other numbers of vertices, if the order of terms is free
    is_flat: bool = False  # no vertex has very many edges
    is_local: bool = False  # neighbours have near numbers
    longest_row: int = tables.SHORT + 1
    most_shared: int = 0  # bytes of shared memory for a block


class ShapeOf:
    """The `Shape` of a graph, each part found when it is asked for."""

    def __init__(self, program: VertexProgram, graph: Graph, scheduled: bool, small: bool) -> None:
        gathers = program.everyone or scheduled
        side = program.direction if gathers else {"in": "out", "out": "in", "all": "all"}[program.direction]
        self._lists, self._graph, self._direction = NeighbourLists(graph, side, ordered=False), graph, program.direction
        self.is_small, self.is_near = small, graph.n <= NEAR

    @functools.cached_property
    def _shares(self) -> rows.RowShares:
        return rows.share_out(self._lists.indptr(), self._lists.indices())

    @functools.cached_property
    def _facts(self) -> rows.RowFacts:
        lists = self._lists
        found: rows.RowFacts = self._graph.kept(
            ("rows", lists.side), lambda _: rows.find_facts_once(lists.indptr(), lists.indices())
        )
        return found

    @property
    def lanes(self) -> int:
        return self._shares.lanes

    @property
    def is_relabelled(self) -> bool:
        return self.lanes == rows.PACKED and relabel.pays(self._graph, self._direction, self._shares.facts)

    @property
    def is_flat(self) -> bool:
        return rows.is_flat(self._facts.longest, self._facts.entries, self._graph.n)

    @property
    def is_local(self) -> bool:
        return self._facts.near >= 0.5

    @property
    def longest_row(self) -> int:
        return tables.longest_row(self._graph, self._direction)

    @property
    def most_shared(self) -> int:
        return compile.most_shared()


def choose(
    program: VertexProgram, ids: Any, offsets: np.dtype, deterministic: bool, scheduled: bool, shape: Shape | ShapeOf
) -> Variant:
    """What the kernel is made for."""
    traced, small = program.traced(ids), shape.is_small
    if traced.keyed is not None:
        slots = tables.slots_near(traced.keyed, shape.longest_row, shape.most_shared)
        return Variant(offsets, deterministic, scheduled, small=small and not scheduled, table_slots=slots)
    if small and not scheduled:
        return Variant(offsets, deterministic, small=True, near=shape.is_near)
    if program.everyone and not scheduled and has_wide_values(traced):
        return Variant(offsets, deterministic)
    if program.everyone and not scheduled:
        commutes = program.reduce is None or program.reduce.commutative
        return Variant(offsets, deterministic, row_lanes=shape.lanes, relabelled=commutes and shape.is_relabelled)
    thin = shape.is_flat
    local = thin and not scheduled and shape.is_local
    return Variant(offsets, deterministic, scheduled, thin, local, small=small)
