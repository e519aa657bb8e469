"""Stages that intersect neighbour lists on the GPU: what `gasla.cpu.primitive.intersect` does on the CPU.

Triangles are found once each, at the edge of their first two corners in an order of the vertices, as a common entry of
both forward lists (the neighbours that come later). Two ways, chosen by the largest degree:

- up to `FLAT` the order is that of the ids, where forward lists are the starts of sorted lists: these are merged as
  they lie, and nothing but the graph is read;
- beyond, the order is that of degrees, which leaves hubs few later neighbours. Forward lists are copied out, which
  takes as much memory again as the ids of the graph, and looked up in hash tables in shared memory.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gasla.arrays import array_module
from gasla.gpu.runtime import compile as gpu
from gasla.gpu.runtime.counters import counters
from gasla.graph import lists_gpu as gpu_lists

if TYPE_CHECKING:
    from gasla.graph.graph import Graph
    from gasla.program.frontier import EdgeFrontier

Array = Any  # CuPy's

FLAT = 128  # neighbours; up to here lists are merged

# As in the kernels:
LONG = 96  # entries of a forward list; longer ones are a block's work,
BUSY = 512  # as are vertices with more neighbours than so many,
PIECE = 2048  # of which so many are one piece of work
BLOCK_THREADS = 512
MOST_BLOCKS = 1 << 14  # that merge: all add to one word at their end


class Oriented(NamedTuple):
    """Neighbour lists of a simple undirected graph, and of each the part that comes later in an order.

    Vertex v's forward list is ``forward[indptr[v]:indptr[v] + lengths[v]]``.
    """

    indptr: Array
    indices: Array
    forward: Array
    lengths: Array


def begin(graph: Graph, per_vertex: bool) -> None:
    """Begin to compile what counts the triangles of a graph, while its lists are looked at, and made simple."""
    sizes = graph.id_dtype.itemsize, graph.out.indptr.dtype.itemsize
    gpu.ahead(source(*sizes, per_vertex), "count_merging")


def intersect(graph: Graph, edges: EdgeFrontier) -> Array:
    """Count the out-neighbours that both ends of each edge have in common; as on the CPU."""
    import cupy

    lists = graph.sorted_out
    indptr, indices = lists.indptr, lists.indices
    sources, targets = (cupy.ascontiguousarray(cupy.asarray(ends), indices.dtype) for ends in (edges.src, edges.dst))
    for ends in (sources, targets):
        _check_ids(ends, graph.n)
    counts = cupy.empty(len(edges), np.int64)
    kernel = _kernel("intersect_pairs", 256, indptr, indices)
    tickets = cupy.zeros(1, np.uint64)
    blocks = min(kernel.blocks, -(-len(edges) // kernel.threads))
    if blocks:
        kernel.plain(blocks, np.uint64(len(edges)), indptr, indices, sources, targets, tickets, counts)
    return counts


def triangles(graph: Graph, per_vertex: bool = False) -> tuple[Array, Array | None]:
    """Count the triangles of a symmetric graph without parallel edges.

    Returns
    -------
    total : int64 array of no dimension, which nobody waits for
    counts : array of int64, or None
        With `per_vertex`, the triangles that each vertex is in.
    """
    import cupy

    if graph.m == 0:
        return cupy.zeros((), np.int64), cupy.zeros(graph.n, np.int64) if per_vertex else None
    if graph.max_out_degree <= FLAT:
        return intersect_sorted(graph.sorted_out.indptr, graph.sorted_out.indices, per_vertex)
    return intersect_oriented(orient(graph.out.indptr, graph.out.indices, graph.out_degrees), per_vertex)


def simple(indptr: Array, indices: Array) -> tuple[Array, Array]:
    """The lists with every edge in both directions, once, and without self loops; they ascend."""
    xp, n = array_module(indptr), len(indptr) - 1
    src, dst = gpu_lists.owners(indptr, indices).astype(np.uint64), indices.astype(np.uint64)
    differ, half = xp.not_equal(src, dst), np.uint64(32)
    src, dst = src[differ], dst[differ]
    keys = xp.unique(xp.concatenate([xp.left_shift(src, half) | dst, xp.left_shift(dst, half) | src]))
    starts = xp.left_shift(xp.arange(n + 1, dtype=np.uint64), half)
    offsets = xp.searchsorted(keys, starts).astype(np.int32 if len(keys) < 2**31 else np.int64)
    return offsets, keys.view(np.uint32)[::2].astype(indices.dtype)


def intersect_sorted(indptr: Array, indices: Array, per_vertex: bool = False) -> tuple[Array, Array | None]:
    """Count the triangles of a symmetric graph without parallel edges, by merging its sorted lists."""
    import cupy

    n, total = len(indptr) - 1, cupy.empty((), np.int64)
    counts = cupy.zeros(n, np.int64) if per_vertex else None
    lanes = _lanes(len(indices) / n)
    kernel = _kernel("count_merging", 256, indptr, indices, per_vertex)
    blocks = min(-(-n * lanes // 256), MOST_BLOCKS)
    kernel.plain(blocks, np.uint64(n), indptr, indices, np.uint32(lanes), counters(1), total, _address(counts))
    return total, counts


def _lanes(mean_degree: float) -> int:
    """How many threads merge the lists of a vertex: one for four neighbours, a power of two up to a warp."""
    return 1 << min(5, max(0, round(math.log2(max(mean_degree, 1) / 4))))


def orient(indptr: Array, indices: Array, degrees: Array) -> Oriented:
    """Forward lists are the neighbours of higher degree, or of the same degree and a higher id."""
    import cupy

    n, m = len(indptr) - 1, len(indices)
    degrees = degrees.view(np.uint32) if degrees.dtype.itemsize == 4 else degrees.astype(np.uint32)
    forward, lengths = cupy.empty(m, indices.dtype), cupy.empty(n, np.uint32)
    control = cupy.zeros(3, np.uint64)
    kernel = _kernel("keep_higher_of_short", 256, indptr, indices)
    kernel.plain(kernel.blocks, np.uint64(n), indptr, degrees, indices, forward, lengths, control[:1])
    pieces = _list_pieces(indptr, indices, None, _room(m, BUSY), control[1:2])
    kernel = _kernel("keep_higher_of_pieces", 256, indptr, indices)
    kernel.plain(kernel.blocks, indptr, degrees, indices, forward, lengths, *pieces, control[1:2], control[2:])
    return Oriented(indptr, indices, forward, lengths)


def intersect_oriented(oriented: Oriented, per_vertex: bool = False) -> tuple[Array, Array | None]:
    """Count triangles over forward lists."""
    import cupy

    indptr, indices, n = oriented.indptr, oriented.indices, len(oriented.lengths)
    counts, control = cupy.zeros(n, np.int64) if per_vertex else None, cupy.zeros(4, np.uint64)
    total, short_tickets, count, tickets = (control[i : i + 1] for i in range(4))
    graph = _struct(np.uint64(n), *oriented)
    room = _room(len(indices), BUSY) + len(indices) // (2 * LONG)
    pieces = _list_pieces(indptr, indices, oriented.lengths, room, count)
    kernel = _kernel("count_by_blocks", BLOCK_THREADS, indptr, indices, per_vertex)
    kernel.plain(kernel.blocks, gpu.struct(graph), *pieces, count, tickets, total, _address(counts))
    kernel = _kernel("count_by_warps", 256, indptr, indices, per_vertex)
    kernel.plain(kernel.blocks, gpu.struct(graph), short_tickets, total, _address(counts))
    return total.view(np.int64).reshape(()), counts


def _list_pieces(indptr: Array, indices: Array, lengths: Array | None, room: int, count: Array) -> tuple[Array, Array]:
    """Vertices and first positions of the pieces of long work, `count` of them."""
    import cupy

    n = len(indptr) - 1
    vertices, starts = cupy.empty(room, indices.dtype), cupy.empty(room, indptr.dtype)
    kernel = _kernel("list_pieces", 256, indptr, indices)
    blocks = min(-(-n // 256), 1 << 20)
    kernel.plain(blocks, np.uint64(n), indptr, _address(lengths), vertices, starts, count)
    return vertices, starts


def _room(m: int, busy: int) -> int:
    """The largest number of pieces that vertices with more neighbours than `busy` can come to."""
    return m // PIECE + m // busy + 1


def _check_ids(ids: Array, n: int) -> None:
    if len(ids) == 0:
        return
    for bad in (int(ids.min()), int(ids.max())):
        if not 0 <= bad < n:
            raise ValueError(f"vertex {bad} is outside a graph of {n} vertices; expected 0 to {n - 1}")


def _address(array: Array | None) -> Any:
    """An array as a kernel's argument, or a null pointer."""
    return np.uint64(0) if array is None else array


def _struct(n: np.uint64, *arrays: Array) -> np.ndarray:
    """A number and addresses as one C struct."""
    fields = (n, *(a.data.ptr for a in arrays))
    return np.array(fields, np.dtype([(f"f{i}", np.uint64) for i in range(len(fields))]))


def source(vertex_size: int, offset_size: int, per_vertex: bool) -> str:
    """The kernels for ids and offsets of so many bytes."""
    return (
        f"typedef {gpu_lists.C_TYPES[vertex_size]} vertex_t;\n"
        f"typedef {gpu_lists.C_TYPES[offset_size]} offset_t;\n"
        f'constexpr bool per_vertex = {str(per_vertex).lower()};\n#include "intersect.cuh"\n'
    )


def _kernel(function: str, threads: int, indptr: Array, indices: Array, per_vertex: bool = False) -> gpu.Kernel:
    """A kernel for the types of these lists."""
    sizes = indices.dtype.itemsize, indptr.dtype.itemsize
    return _cached_kernel(function, threads, *sizes, per_vertex, gpu.device())


@functools.cache
def _cached_kernel(
    function: str, threads: int, vertex_size: int, offset_size: int, per_vertex: bool, device: int
) -> gpu.Kernel:
    text = source(vertex_size, offset_size, per_vertex)
    return gpu.Kernel(text, function, threads, blocks_per_multiprocessor=32)
