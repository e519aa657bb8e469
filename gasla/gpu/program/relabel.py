"""Vertices numbered anew by falling degree, so that hubs, which most edges come from, share lines of the cache.

Made once for a graph and the lists that a program gathers over, and never shown: fields are put in this order on
their way in, and back on their way out; ids and degrees are looked up under the user's numbers.
"""

import threading
from typing import Any

import numpy as np

from gasla.arrays import as_bits, module_of
from gasla.gpu.program import rows
from gasla.gpu.program.plan import GpuPlan
from gasla.graph import lists_gpu
from gasla.graph.graph import Graph
from gasla.program.binding import NeighbourLists

LEAST_EDGES = 1 << 22  # with fewer, what is gathered lies near anyway
SKEW = 16  # the longest list over the mean
WHOLE = 64  # entries of the longest list that stays whole: shorter than elsewhere, as warps find lists of like length
HUBS = 180 << 10  # bytes of shared memory for hubs; the cache has what is left of it
OTHER_SHARED = 20 << 10  # bytes that a block needs for other things
FREE_PER_EDGE = 40  # bytes of memory that must be free, an edge

_lock = threading.Lock()  # a numbering may take more memory than there is for another


class Numbering:
    """The order of vertices by falling length of their lists.

    Attributes
    ----------
    originals : array
        The user's number of each vertex.
    places : array
        The number here of each of the user's vertices.
    """

    def __init__(self, base: NeighbourLists) -> None:
        xp: Any = module_of(base.graph.device)
        indptr, indices = base.indptr(), base.indices()
        order = xp.argsort(indptr[:-1] - indptr[1:])  # a stable radix sort
        self.originals = order.astype(base.graph.id_dtype)
        self.places = xp.empty_like(self.originals)
        self.places[order] = xp.arange(len(order), dtype=self.originals.dtype)
        self.indptr, self.indices = lists_gpu.renumbered(indptr, indices, self.places)

    def there(self, array: Any) -> Any:
        """A field in this order."""
        return as_bits(array)[self.originals].view(array.dtype)

    def back(self, array: Any) -> Any:
        """A field in the user's order."""
        return as_bits(array)[self.places].view(array.dtype)


class RenumberedLists(NeighbourLists):
    """The lists under a numbering."""

    has_ids = True

    def __init__(self, graph: Graph, side: str, numbering: Numbering) -> None:
        super().__init__(graph, side, ordered=False)
        self._base, self._numbering = NeighbourLists(graph, side, ordered=False), numbering

    def indptr(self) -> Any:
        return self._numbering.indptr

    def indices(self) -> Any:
        return self._numbering.indices

    def ids(self) -> Any:
        return self._base.ids()[self._positions()]

    def leaving(self) -> Any:
        return super().leaving()[self._positions()]

    def partners(self) -> Any:
        return self._base.partners()[self._positions()]

    def values(self, kind: np.dtype) -> Any:
        return as_bits(self._base.values(kind))[self._positions()].view(kind)

    def _positions(self) -> Any:
        """Where each entry of these lists is in the graph's own."""
        base, places = self._base, self._numbering.places
        return self.graph.kept(
            ("positions", self.side), lambda _: lists_gpu.renumbered_positions(base.indptr(), base.indices(), places)
        )


def numbering(graph: Graph, side: str) -> Numbering:
    """The numbering for lists of a graph ("in", "out" or "all"), made when first asked for."""
    with _lock:
        return graph.kept(("numbering", side), lambda graph: Numbering(NeighbourLists(graph, side, ordered=False)))


def pays(graph: Graph, side: str, facts: rows.RowFacts) -> bool:
    """Whether a reduction over all lists gains by relabelling, and there is memory for it."""
    import cupy

    if graph.known(("numbering", side)):
        return True
    mean = facts.entries / max(1, facts.rows)
    if facts.entries < LEAST_EDGES or facts.longest < SKEW * mean:
        return False
    free = cupy.cuda.runtime.memGetInfo()[0] + cupy.get_default_memory_pool().free_bytes()
    return bool(free >= FREE_PER_EDGE * facts.entries)


def lists_bytes(plan: GpuPlan, graph: Graph) -> int:
    """Bytes of a numbering, and of its lists that a program's kernel reads."""
    if not plan.relabelled:
        return 0
    entries = graph.m * (2 if plan.traced.program.direction == "all" else 1)
    ids, offset = graph.id_dtype.itemsize, plan.offset_type.itemsize
    values: int = sum(plan.traced.edge_types[name].itemsize for name in plan.edge_values)
    numbers = offset * (plan.needs_gather_ids + plan.needs_gather_partners) + plan.needs_leaving
    positions = graph.offset_dtype.itemsize * bool(values or numbers)
    return (graph.n + 1) * offset + 2 * graph.n * ids + entries * (ids + values + numbers + positions)


def row_shares(indptr: Any, indices: Any) -> rows.RowShares:
    """How lists under a numbering are shared out among threads."""
    return rows.make_shares(indptr, rows.find_facts(indptr, indices), rows.PACKED, WHOLE)


def hub_memory(plan: GpuPlan) -> int:
    """Bytes of shared memory for what is gathered of hubs."""
    import cupy

    if not plan.hub_fields:
        return 0
    return max(0, min(HUBS, int(cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]) - OTHER_SHARED))


def hubs(plan: GpuPlan, n: int) -> int:
    """How many of the first vertices count as hubs."""
    return min(n, hub_memory(plan) // plan.hub_bytes) // 32 * 32 if plan.hub_fields else 0
