"""Renumbers vertices by descending degree, so that hubs (the vertices with most edges) share cache lines.

A graph keeps one numbering for each kind of its adjacency lists ("in", "out" or "all"). Users never see it: fields are
permuted before a run and back after it, and programs that read ids and degrees get those of the user's numbering.

On several GPUs, each GPU has a part of the graph: its own vertices with their adjacency lists, and mirrors (copies of
vertices that other GPUs own), whose adjacency lists are empty. In such a part, vertices are numbered by how often they
occur as neighbors. Own vertices and mirrors are mixed only among the first `HOT` vertices. After them come all other
own vertices and then all other mirrors, so that few of the rows that a kernel visits are empty. These mirrors have the
same order as on the GPU that owns them, which stores their new values in this order.
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

# edges of the smallest graph that is renumbered; in smaller graphs, the gathered values fit in the cache in any order
LEAST_EDGES = 1 << 22
SKEW = 16  # smallest ratio of the highest degree to the mean degree at which renumbering saves more time than it takes
# Entries of the longest row that is not cut into pieces. Rows of similar length are adjacent after renumbering, so the
# limit may be low.
WHOLE = 64
HUBS = 180 << 10  # bytes of shared memory per block for values of hubs; the remaining memory serves as L1 cache
# number of vertices of a GPU's part that are numbered first, own or mirrored, which is more than shared memory holds
HOT = 1 << 16
OTHER_SHARED = 20 << 10  # bytes of shared memory that a block needs besides the values of hubs
FREE_PER_EDGE = 40  # bytes of device memory per edge that must be free before vertices are renumbered

# Only one numbering is made at a time, because the temporary arrays of two may not fit in memory.
_lock = threading.Lock()


class Numbering:
    """A permutation of a graph's vertices, and the graph's adjacency lists with renumbered vertices.

    Attributes
    ----------
    originals : array
        The user's id of each renumbered vertex.
    inverse : array
        The new id of each of the user's vertices.
    rows : int
        The number of vertices before the first mirror. The vertices after them have empty adjacency lists.
    indptr, indices : array
        The adjacency lists, as offsets and new ids of neighbors.
    """

    def __init__(self, base: NeighborLists, order: Any, rows: int) -> None:
        self.originals, self.rows = order.astype(base.graph.id_dtype), rows
        self.inverse = inverse_of(order, self.originals.dtype)
        self.indptr, self.indices = lists_gpu.renumbered(base.indptr(), base.indices(), self.inverse)

    def renumber(self, array: Any) -> Any:
        """Return a copy of a vertex field in the order of the new ids, given the field in the user's order."""
        return as_bits(array)[self.originals].view(array.dtype)

    def restore(self, array: Any) -> Any:
        """Return a copy of a vertex field in the user's order, given the field in the order of the new ids."""
        return as_bits(array)[self.inverse].view(array.dtype)


class RenumberedLists(NeighborLists):
    """The adjacency lists of a graph whose vertices have been renumbered, as a kernel reads them.

    Neighbors have their new ids, and edge values are in the order of the renumbered lists.
    """

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
        """Return, for each entry of the renumbered adjacency lists, its position in the graph's own adjacency lists."""
        base, inverse = self._base, self._numbering.inverse
        return self.graph.kept(
            ("positions", self.side), lambda _: lists_gpu.renumbered_positions(base.indptr(), base.indices(), inverse)
        )


def numbering(graph: Graph, side: str) -> Numbering:
    """Return the numbering by which a kernel renumbers a graph's vertices. The graph caches one for each `side`.

    The `side` says which adjacency lists a program traverses: "in", "out" or "all". Vertices are numbered by descending
    degree, unless `number_part` has cached another numbering, for one GPU's part of the graph.
    """

    def make(graph: Graph) -> Numbering:
        base = NeighborLists(graph, side, ordered=False)
        indptr = base.indptr()
        # The radix sort is stable, so vertices of equal degree keep their order.
        order = module_of(graph.device).argsort(indptr[:-1] - indptr[1:])
        return Numbering(base, order, graph.n)

    with _lock:
        return graph.kept(("numbering", side), make)


def order_of_part(graph: Graph, side: str, own: int) -> tuple[Any, int]:
    """Return the order in which a GPU's part of a graph is numbered, and the position where the mirrors begin.

    Vertices that occur most often as neighbors come first. The first `own` vertices of the graph belong to this GPU.
    Beyond the first `HOT` vertices, all own vertices come before all mirrors (copies of vertices that other GPUs own).
    """
    xp: Any = module_of(graph.device)
    occurrences = xp.bincount(NeighborLists(graph, side, ordered=False).indices(), minlength=graph.n)
    order = xp.argsort(-occurrences)
    hot, cold = order[:HOT], order[HOT:]
    is_own = xp.less(cold, own)
    return xp.concatenate([hot, cold[is_own], cold[xp.logical_not(is_own)]]), len(hot) + int(is_own.sum())


def number_part(graph: Graph, side: str, order: Any, rows: int, own: int, places: Any) -> None:
    """Number the vertices of a GPU's part of a graph in the `order` from `order_of_part`, and cache the numbering.

    The mirrors after the first `rows` vertices are sorted again, so that they have the same order as on the GPUs that
    own them. `places` has a number for each mirror, which ascends in that order. The first `own` vertices are no
    mirrors.
    """
    xp: Any = module_of(graph.device)
    mirrors = xp.sort(order[rows:])
    order[rows:] = mirrors[xp.argsort(places[mirrors - own])]
    with _lock:
        graph.kept(("numbering", side), lambda graph: Numbering(NeighborLists(graph, side, ordered=False), order, rows))


def inverse_of(order: Any, dtype: np.dtype[Any]) -> Any:
    """Return the inverse of a permutation of 0 to n - 1: for each of these numbers, its position in `order`."""
    xp: Any = array_module(order)
    positions = xp.empty(len(order), dtype)
    positions[order] = xp.arange(len(order), dtype=dtype)
    return positions


def is_worthwhile(graph: Graph, side: str, properties: rows.RowProperties) -> bool:
    """Return whether a program should run on vertices renumbered by descending degree.

    It should if this makes reductions over all rows faster, and enough memory is free for the renumbered adjacency
    lists.
    """
    if graph.known(("numbering", side)):
        return True
    mean_degree = properties.entries / max(1, properties.rows)
    if graph.is_streamed or properties.entries < LEAST_EDGES or properties.longest < SKEW * mean_degree:
        return False
    return free_bytes() >= FREE_PER_EDGE * properties.entries


def lists_bytes(plan: GpuPlan, graph: Graph) -> int:
    """Return the bytes that a numbering takes, together with the renumbered adjacency lists that a kernel reads.

    The result is 0 for a kernel that works on the user's numbering.
    """
    if not plan.relabelled:
        return 0
    entries = graph.m * (2 if plan.traced.program.direction == "all" else 1)
    id_bytes, offset_bytes = graph.id_dtype.itemsize, plan.offset_type.itemsize
    value_bytes: int = sum(plan.traced.edge_types[name].itemsize for name in plan.edge_values)
    index_bytes = offset_bytes * (plan.needs_gather_ids + plan.needs_gather_partners) + plan.needs_leaving
    position_bytes = graph.offset_dtype.itemsize * bool(value_bytes or index_bytes)
    return (
        (graph.n + 1) * offset_bytes
        + 2 * graph.n * id_bytes
        + entries * (id_bytes + value_bytes + index_bytes + position_bytes)
    )


def partition_renumbered(indptr: Any, indices: Any) -> rows.RowPartition:
    """Divide the rows of renumbered adjacency lists among threads.

    As vertices are numbered by descending degree, rows of similar length are next to each other.
    """
    return rows.make_partition(indptr, rows.find_properties(indptr, indices), rows.PACKED, WHOLE)


def hub_memory(plan: GpuPlan) -> int:
    """Return how many bytes of shared memory a kernel's block uses for values of hubs (vertices of highest degree)."""
    import cupy

    if not plan.hub_fields:
        return 0
    return max(0, min(HUBS, int(cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]) - OTHER_SHARED))


def count_hubs(plan: GpuPlan, n: int) -> int:
    """Return the number of hubs (vertices of highest degree) whose values a block keeps in shared memory.

    They are the first vertices of the numbering.
    """
    return min(n, hub_memory(plan) // plan.hub_bytes) // 32 * 32 if plan.hub_fields else 0
