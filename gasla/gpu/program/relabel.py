"""Renumbers vertices by descending degree, so that hubs, where most edges start, share cache lines.

A numbering is made once for a graph and the lists that a program gathers over. Users never see it: fields are permuted
on their way in and back on their way out; ids and degrees are looked up under the user's numbers. Where a GPU has a
part of a graph, whose mirrors have no lists, vertices are numbered by how often they occur in lists.
"""

import threading
from typing import Any

import numpy as np

from gasla.arrays import as_bits, module_of
from gasla.gpu.program import rows
from gasla.gpu.program.plan import GpuPlan
from gasla.graph import lists_gpu
from gasla.graph.graph import Graph
from gasla.host_memory import free_bytes
from gasla.program.binding import NeighborLists

LEAST_EDGES = 1 << 22  # below this, gathered values fit the cache in any order
SKEW = 16  # minimum ratio of the longest list to the mean
WHOLE = 64  # longest list that is not cut; shorter than elsewhere, as lists of similar length are adjacent
HUBS = 180 << 10  # bytes of shared memory for values of hubs; the rest serves as L1 cache
OTHER_SHARED = 20 << 10  # bytes of shared memory that a block needs for other purposes
FREE_PER_EDGE = 40  # bytes of device memory per edge that must be free

_lock = threading.Lock()  # one numbering at a time: two may not fit in memory


class Numbering:
    """Vertices numbered by descending length of their lists, or by how often they occur in lists (`by_use`).

    Attributes
    ----------
    originals : array
        The user's id of each renumbered vertex.
    inverse : array
        The new id of each of the user's vertices.
    """

    def __init__(self, base: NeighborLists, by_use: bool = False) -> None:
        xp: Any = module_of(base.graph.device)
        indptr, indices = base.indptr(), base.indices()
        less = -xp.bincount(indices, minlength=base.graph.n) if by_use else indptr[:-1] - indptr[1:]
        order = xp.argsort(less)  # a stable radix sort
        self.originals = order.astype(base.graph.id_dtype)
        self.inverse = xp.empty_like(self.originals)
        self.inverse[order] = xp.arange(len(order), dtype=self.originals.dtype)
        self.indptr, self.indices = lists_gpu.renumbered(indptr, indices, self.inverse)

    def renumber(self, array: Any) -> Any:
        """Permute a field from the user's order to this one."""
        return as_bits(array)[self.originals].view(array.dtype)

    def restore(self, array: Any) -> Any:
        """Permute a field from this order to the user's."""
        return as_bits(array)[self.inverse].view(array.dtype)


class RenumberedLists(NeighborLists):
    """Neighbor lists in a numbering."""

    has_ids = True

    def __init__(self, graph: Graph, side: str, numbering: Numbering) -> None:
        super().__init__(graph, side, ordered=False)
        self._base, self._numbering = NeighborLists(graph, side, ordered=False), numbering

    def indptr(self) -> Any:
        return self._numbering.indptr

    def indices(self) -> Any:
        return self._numbering.indices

    stored_ids = indices

    def ids(self) -> Any:
        return self._base.ids()[self._positions()]

    def leaving(self) -> Any:
        return super().leaving()[self._positions()]

    def partners(self) -> Any:
        return self._base.partners()[self._positions()]

    def values(self, dtype: np.dtype, graph: Graph) -> Any:
        return as_bits(self._base.values(dtype, graph))[self._positions()].view(dtype)

    def _positions(self) -> Any:
        """Return the position in the graph's own lists of each entry of these lists."""
        base, inverse = self._base, self._numbering.inverse
        return self.graph.kept(
            ("positions", self.side), lambda _: lists_gpu.renumbered_positions(base.indptr(), base.indices(), inverse)
        )


def numbering(graph: Graph, side: str, by_use: bool = False) -> Numbering:
    """Return the numbering for lists of a graph ("in", "out" or "all"), made when first asked for."""
    with _lock:
        return graph.kept(
            ("numbering", side), lambda graph: Numbering(NeighborLists(graph, side, ordered=False), by_use)
        )


def is_worthwhile(graph: Graph, side: str, properties: rows.RowProperties) -> bool:
    """Return whether a reduction over all lists gains by renumbering, and there is memory for it."""
    if graph.known(("numbering", side)):
        return True
    mean = properties.entries / max(1, properties.rows)
    if graph.is_streamed or properties.entries < LEAST_EDGES or properties.longest < SKEW * mean:
        return False
    return free_bytes() >= FREE_PER_EDGE * properties.entries


def lists_bytes(plan: GpuPlan, graph: Graph) -> int:
    """Return bytes of a numbering and of the renumbered lists that a program's kernel reads."""
    if not plan.relabelled:
        return 0
    entries = graph.m * (2 if plan.traced.program.direction == "all" else 1)
    ids, offset = graph.id_dtype.itemsize, plan.offset_type.itemsize
    values: int = sum(plan.traced.edge_types[name].itemsize for name in plan.edge_values)
    numbers = offset * (plan.needs_gather_ids + plan.needs_gather_partners) + plan.needs_leaving
    positions = graph.offset_dtype.itemsize * bool(values or numbers)
    return (graph.n + 1) * offset + 2 * graph.n * ids + entries * (ids + values + numbers + positions)


def partition_renumbered(indptr: Any, indices: Any) -> rows.RowPartition:
    """Divide renumbered lists among threads."""
    return rows.make_partition(indptr, rows.find_properties(indptr, indices), rows.PACKED, WHOLE)


def hub_memory(plan: GpuPlan) -> int:
    """Return bytes of shared memory per block for the values of hubs."""
    import cupy

    if not plan.hub_fields:
        return 0
    return max(0, min(HUBS, int(cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]) - OTHER_SHARED))


def count_hubs(plan: GpuPlan, n: int) -> int:
    """Return how many vertices, the first in the numbering, count as hubs."""
    return min(n, hub_memory(plan) // plan.hub_bytes) // 32 * 32 if plan.hub_fields else 0
