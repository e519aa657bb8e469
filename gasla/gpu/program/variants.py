"""Chooses what a program's kernel is specialized for, by the graph's size, its degrees and the order of its ids."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gasla.gpu.program import relabel, rows, tables
from gasla.gpu.program.inputs import offset_type
from gasla.gpu.program.plan import Variant, has_wide_values
from gasla.gpu.runtime import compile
from gasla.graph.graph import Graph
from gasla.program.binding import NeighborLists
from gasla.program.program import VertexProgram


class Shape(NamedTuple):
    """The properties of a graph and a device by which the variant of a program's kernel is chosen, such as the longest
    row.
    """

    is_small: bool = False  # whether one block runs the whole program
    # threads per row in a reduction over all rows, or PACKED (0) if the entries of 32 rows are packed side by side
    lanes: int = rows.PACKED
    is_relabelled: bool = False  # whether a reduction over all rows is faster with renumbered vertices
    has_bounded_degree: bool = False  # whether the highest degree is not far above the mean degree
    is_local: bool = False  # whether neighbors have nearby ids, as in road networks
    longest_row: int = tables.SHORT + 1
    most_shared: int = 0  # bytes of shared memory that a block may use


class ShapeOf:
    """The properties of a graph by which the variant of a program's kernel is chosen, with the same names as in
    `Shape`.

    A property is computed when it is first read, because some need a pass over the graph.
    """

    def __init__(self, program: VertexProgram, graph: Graph, scheduled: bool, small: bool) -> None:
        gathers = program.everyone or scheduled
        list_side = program.direction if gathers else {"in": "out", "out": "in", "all": "all"}[program.direction]
        self._lists, self._graph, self._direction = (
            NeighborLists(graph, list_side, ordered=False),
            graph,
            program.direction,
        )
        self.is_small = small

    @functools.cached_property
    def _partition(self) -> rows.RowPartition:
        return rows.partition_rows(self._lists.indptr(), self._lists.stored_ids())

    @functools.cached_property
    def _properties(self) -> rows.RowProperties:
        lists = self._lists
        properties: rows.RowProperties = self._graph.kept(
            ("rows", lists.side), lambda _: rows.find_properties_once(lists.indptr(), lists.stored_ids())
        )
        return properties

    @property
    def lanes(self) -> int:
        return self._partition.lanes

    @property
    def is_relabelled(self) -> bool:
        return self.lanes == rows.PACKED and relabel.is_worthwhile(
            self._graph, self._direction, self._partition.properties
        )

    @property
    def has_bounded_degree(self) -> bool:
        return rows.has_bounded_degree(self._properties.longest, self._properties.entries, self._graph.n)

    @property
    def is_local(self) -> bool:
        return self._properties.near >= 0.5

    @property
    def longest_row(self) -> int:
        return tables.longest_row(self._graph, self._direction)

    @property
    def most_shared(self) -> int:
        return compile.most_shared()


def choose(
    program: VertexProgram, ids: Any, offsets: np.dtype, deterministic: bool, scheduled: bool, shape: Shape | ShapeOf
) -> Variant:
    """Choose the variant of a program's kernel, such as how many threads process a row.

    The choice depends on the dtypes of vertex ids and of `offsets`, the options of the run, and the properties of a
    graph in `shape`.
    """
    traced, small = program.traced(ids), shape.is_small
    if traced.keyed is not None:
        slots = tables.slots_in_shared(traced.keyed, shape.longest_row, shape.most_shared)
        return Variant(offsets, deterministic, scheduled, small=small and not scheduled, table_slots=slots)
    if small and not scheduled:
        return Variant(offsets, deterministic, small=True)
    if program.everyone and not scheduled and has_wide_values(traced):
        return Variant(offsets, deterministic)
    if program.everyone and not scheduled:
        commutes = program.reduce is None or program.reduce.commutative
        return Variant(offsets, deterministic, row_lanes=shape.lanes, relabelled=commutes and shape.is_relabelled)
    bounded = shape.has_bounded_degree
    local = bounded and not scheduled and shape.is_local
    return Variant(offsets, deterministic, scheduled, bounded, local, small=small)


def variant_for(program: VertexProgram, graph: Graph, deterministic: bool, scheduled: bool, small: bool) -> Variant:
    """Choose the variant of a program's kernel for a graph, by the graph's size, degrees and order of ids.

    If `small`, one block runs the whole program.
    """
    shape = ShapeOf(program, graph, scheduled, small)
    variant = choose(program, graph.id_dtype, offset_type(program, graph), deterministic, scheduled, shape)
    return for_lists_of(graph, variant)


def for_lists_of(graph: Graph, variant: Variant) -> Variant:
    """Return a kernel's variant, changed for how a graph's adjacency lists are stored.

    They may be in host memory, and the ids in them may be packed (use fewer bits), so that the kernel needs other code
    to read them.
    """
    return replace(variant, streamed=graph.is_streamed, packed=graph.lists.packs)
