"""Renumbers vertices by descending degree, so that hubs, where most edges start, share cache lines.

A numbering is made once for a graph and the lists that a program gathers over. Users never see it: fields are permuted
on their way in and back on their way out; ids and degrees are looked up under the user's numbers.

Where a GPU has a part of a graph, vertices are numbered by how often they occur in lists, because mirrors have no
lists. Only the first `HOT` are numbered without distinction, and after them own vertices come before mirrors: so few
rows are empty. Mirrors have the order in which their owner has them, which stores their values in this order.
"""

import threading
from typing import Any

import numpy as np

from gasla.arrays import array_module, as_bits, module_of
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
HOT = 1 << 16  # vertices of a part that are numbered first, whoever owns them: more than shared memory holds
OTHER_SHARED = 20 << 10  # bytes of shared memory that a block needs for other purposes
FREE_PER_EDGE = 40  # bytes of device memory per edge that must be free

_lock = threading.Lock()  # one numbering at a time: two may not fit in memory


class Numbering:
    """Vertices in another order.

    Attributes
    ----------
    originals : array
        The user's id of each renumbered vertex.
    inverse : array
        The new id of each of the user's vertices.
    rows : int
        Vertices from this one on are mirrors.
    """

    def __init__(self, base: NeighborLists, order: Any, rows: int) -> None:
        self.originals, self.rows = order.astype(base.graph.id_dtype), rows
        self.inverse = inverse_of(order, self.originals.dtype)
        self.indptr, self.indices = lists_gpu.renumbered(base.indptr(), base.indices(), self.inverse)

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


def numbering(graph: Graph, side: str) -> Numbering:
    """Return the numbering for lists of a graph ("in", "out" or "all"), made when first asked for.

    It is by descending length of lists, unless `number_part` has made another one.
    """

    def make(graph: Graph) -> Numbering:
        base = NeighborLists(graph, side, ordered=False)
        indptr = base.indptr()
        order = module_of(graph.device).argsort(indptr[:-1] - indptr[1:])  # a stable radix sort
        return Numbering(base, order, graph.n)

    with _lock:
        return graph.kept(("numbering", side), make)


def order_of_part(graph: Graph, side: str, own: int) -> tuple[Any, int]:
    """Return the vertices of a part by use, and the position from which on they are mirrors."""
    xp: Any = module_of(graph.device)
    uses = xp.bincount(NeighborLists(graph, side, ordered=False).indices(), minlength=graph.n)
    order = xp.argsort(-uses)
    hot, rest = order[:HOT], order[HOT:]
    is_own = xp.less(rest, own)
    return xp.concatenate([hot, rest[is_own], rest[xp.logical_not(is_own)]]), len(hot) + int(is_own.sum())


def number_part(graph: Graph, side: str, order: Any, rows: int, own: int, places: Any) -> None:
    """Number the vertices of a part by `order_of_part`, and mirrors after the first `rows` by their owners' order.

    `places` has a number for each mirror, ascending in the order of its owner.
    """
    xp: Any = module_of(graph.device)
    mirrors = xp.sort(order[rows:])
    order[rows:] = mirrors[xp.argsort(places[mirrors - own])]
    with _lock:
        graph.kept(("numbering", side), lambda graph: Numbering(NeighborLists(graph, side, ordered=False), order, rows))


def inverse_of(order: Any, dtype: np.dtype[Any]) -> Any:
    """Return the place of each entry of a permutation."""
    xp: Any = array_module(order)
    places = xp.empty(len(order), dtype)
    places[order] = xp.arange(len(order), dtype=dtype)
    return places


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
