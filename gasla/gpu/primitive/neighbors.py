"""Triangles on the GPU: common neighbors of both ends of each edge, in a simple undirected graph.

Vertices are ordered. The *forward list* of a vertex has its neighbors that come later in the order. Each triangle is
found once, at the edge of its first two vertices, as a common entry of their forward lists. The largest degree decides
between two methods:

- Up to the degree `FLAT`, vertices are ordered by their ids. A forward list is then a part of an ascending adjacency
  list. Forward lists are merged in place, and nothing but the graph is read.
- Beyond this degree, vertices are ordered by degree, which leaves hubs few later neighbors. Forward lists are copied,
  which takes as much memory as the ids of the graph, and looked up in hash tables in shared memory.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import address, array_module, current_device, index_dtype
from gasla.gpu.runtime import compile as gpu
from gasla.gpu.runtime.counters import counters
from gasla.graph import lists_gpu as gpu_lists
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph

Array = Any  # an array of CuPy
Share = tuple[int, int]  # A pair (i, k) stands for part i of k equal parts of the work.

FLAT = 128  # largest degree of a graph whose forward lists are merged; beyond it, they are looked up in hash tables

# The kernels in triangles.cuh have the following numbers as well.
LONG = 96  # entries of the longest forward list that a warp processes; a block processes longer ones
BUSY = 512  # largest number of neighbors of a vertex that is not split into pieces
PIECE = 2048  # number of neighbors in a piece of a vertex that is split
BLOCK_THREADS = 512
# Largest grid of the merging kernel. It is limited because each block ends with an atomic addition to the same word.
MOST_BLOCKS = 1 << 14


class ByDegree(NamedTuple):
    """The adjacency lists of a simple graph, and each vertex's forward list: its neighbors that come later by degree.

    A neighbor of the same degree comes later if its id is larger. Vertex v's forward list is
    ``forward[indptr[v]:indptr[v] + lengths[v]]``.
    """

    indptr: Array
    indices: Array
    forward: Array
    lengths: Array


def count_at_edges(graph: Graph, lists: Adjacency | ByDegree) -> tuple[Array, Array]:
    """Count the triangles, and for each stored edge, in the order of the input, the triangles that contain the edge.

    Each triangle is found once and counted at its three edges. This takes up to 8 bytes per stored edge besides the
    result.
    """
    ascending = graph.sorted_out
    indptr, indices, m = ascending.indptr, ascending.indices, graph.m
    xp: Any = array_module(indices)
    counts, at_forward = xp.zeros(m, np.int64), xp.zeros(m, np.uint32)
    if m == 0:
        return xp.zeros((), np.int64), counts
    if isinstance(lists, ByDegree):
        # The kernel `spread_support` looks up each edge of a forward list in the adjacency lists by binary search. So
        # if `lists` was not made from the ascending adjacency lists, forward lists are made anew from those.
        if lists.indices is not indices:
            lists = by_degree(indptr, indices, graph.out_degrees)
        at_stored, lanes = xp.zeros(m, np.uint32), 32
        total, _ = by_tables(lists, False, at_forward, at_stored)
        oriented = _struct_of_addresses(np.uint64(graph.n), *lists, at_forward, at_stored)
    else:
        total, _ = by_merging(indptr, indices, False, at_forward)
        lanes = _lanes(m / graph.n)
        oriented = _struct_of_addresses(np.uint64(graph.n), indptr, indices, indices, None, at_forward, None)
    kernel = _kernel("spread_support", 256, indptr, indices, per_edge=True)
    kernel.plain(min(-(-graph.n * lanes // 256), 1 << 20), gpu.struct(oriented), np.uint32(lanes), counts)
    return total, ascending.by_edge(counts)


def simplify(graph: Graph) -> Graph:
    """Return the graph with every edge once in both directions, without self loops. A simple graph is returned itself.

    The kernels for simple graphs begin to be compiled while the adjacency lists are inspected.
    """
    if graph.is_streamed:
        return graph if graph.is_simple else graph.kept("simple", _simplify_on_host)
    _start_compiling(graph.id_dtype.itemsize, graph.out.indptr.dtype.itemsize, current_device())
    return graph if graph.is_simple else graph.kept("simple", _simplify_on_gpu)


@functools.cache
def _start_compiling(vertex_size: int, offset_size: int, device: int) -> None:
    gpu.compile_ahead(source(vertex_size, offset_size, False))


def _simplify_on_host(graph: Graph) -> Graph:
    return graph.with_values(None).simple().symmetrized()


def _simplify_on_gpu(graph: Graph) -> Graph:
    return Graph.from_csr(*simple_lists(graph.out.indptr, graph.out.indices))


def simple_lists(indptr: Array, indices: Array) -> tuple[Array, Array]:
    """Return the adjacency lists of a graph as those of a simple graph, given their offsets and neighbors.

    The result is ascending, with every edge once in both directions, and without self loops.
    """
    xp, n = array_module(indptr), len(indptr) - 1
    src, dst = gpu_lists.owners(indptr, indices).astype(np.uint64), indices.astype(np.uint64)
    differ, half = xp.not_equal(src, dst), np.uint64(32)
    src, dst = src[differ], dst[differ]
    keys = xp.unique(xp.concatenate([xp.left_shift(src, half) | dst, xp.left_shift(dst, half) | src]))
    starts = xp.left_shift(xp.arange(n + 1, dtype=np.uint64), half)
    offsets = xp.searchsorted(keys, starts).astype(index_dtype(len(keys)))
    return offsets, keys.view(np.uint32)[::2].astype(indices.dtype)


def orient(graph: Graph) -> Adjacency | ByDegree:
    """Return a simple graph's adjacency lists in the form in which `count_common_neighbors` takes them.

    They are the ascending adjacency lists if no degree is high. Otherwise they are a `ByDegree`, which also has each
    vertex's later neighbors in the order of degrees.
    """
    if graph.m == 0 or graph.max_out_degree <= FLAT:
        return graph.sorted_out
    return by_degree(graph.out.indptr, graph.out.indices, graph.out_degrees)


def count_common_neighbors(
    lists: Adjacency | ByDegree, per_vertex: bool, share: Share = (0, 1)
) -> tuple[Array, Array | None]:
    """Count the triangles of a graph. With `per_vertex`, also count the triangles at each vertex.

    `share` = (i, k) counts only part i of k parts of the work, as when several GPUs divide it. The total is a 0-d
    array, for whose value this does not wait.
    """
    if isinstance(lists, ByDegree):
        return by_tables(lists, per_vertex, share=share)
    if len(lists.indices) == 0:
        import cupy

        n = len(lists.indptr) - 1
        return cupy.zeros((), np.int64), cupy.zeros(n, np.int64) if per_vertex else None
    return by_merging(lists.indptr, lists.indices, per_vertex, share=share)


def by_merging(
    indptr: Array, indices: Array, per_vertex: bool, at_forward: Array | None = None, share: Share = (0, 1)
) -> tuple[Array, Array | None]:
    """Count triangles by merging ascending adjacency lists of a simple graph.

    Return the total, and with `per_vertex` the counts at vertices. If the array `at_forward` is given, each triangle is
    also counted in it, at the position of the triangle's edge between the first two vertices.
    """
    xp: Any = array_module(indices)
    n, total = len(indptr) - 1, xp.empty(1, np.int64)
    counts = xp.zeros(n, np.int64) if per_vertex else None
    lanes = _lanes(len(indices) / n)
    kernel = _kernel("count_merging", 256, indptr, indices, per_vertex, at_forward is not None)
    blocks = min(-(-n * lanes // 256), MOST_BLOCKS)
    lists = np.uint64(n), indptr, indices, np.uint32(lanes)
    kernel.plain(
        blocks, *lists, counters(1), total, _array_or_null(counts), _array_or_null(at_forward), _pack_share(share)
    )
    return total.reshape(()), counts


def _lanes(mean_degree: float) -> int:
    """Return how many threads merge a vertex's adjacency lists: one per four neighbors, a power of two up to 32."""
    return 1 << min(5, max(0, round(math.log2(max(mean_degree, 1) / 4))))


def by_degree(indptr: Array, indices: Array, degrees: Array) -> ByDegree:
    """Copy each vertex's forward list, which has its neighbors of higher degree, or of equal degree and higher id."""
    xp: Any = array_module(indices)
    n, m = len(indptr) - 1, len(indices)
    degrees = degrees.view(np.uint32) if degrees.dtype.itemsize == 4 else degrees.astype(np.uint32)
    forward, lengths = xp.empty(m, indices.dtype), xp.empty(n, np.uint32)
    control = xp.zeros(3, np.uint64)
    kernel = _kernel("copy_forward_of_short", 256, indptr, indices)
    kernel.plain(kernel.blocks, np.uint64(n), indptr, degrees, indices, forward, lengths, control[:1])
    pieces = _list_pieces(indptr, indices, None, _capacity(m, BUSY), control[1:2])
    kernel = _kernel("copy_forward_of_pieces", 256, indptr, indices)
    kernel.plain(kernel.blocks, indptr, degrees, indices, forward, lengths, *pieces, control[1:2], control[2:])
    return ByDegree(indptr, indices, forward, lengths)


def by_tables(
    lists: ByDegree,
    per_vertex: bool,
    at_forward: Array | None = None,
    at_stored: Array | None = None,
    share: Share = (0, 1),
) -> tuple[Array, Array | None]:
    """Count triangles by looking up the entries of forward lists in hash tables of other forward lists.

    Return the total, and with `per_vertex` the counts at vertices. If the arrays `at_forward` and `at_stored` are
    given, triangles are also counted at their edges: by the edge's position in the forward lists, and in the adjacency
    lists.
    """
    xp: Any = array_module(lists.indices)
    indptr, indices, n = lists.indptr, lists.indices, len(lists.lengths)
    counts, control = xp.zeros(n, np.int64) if per_vertex else None, xp.zeros(4, np.uint64)
    array_types = indptr, indices, per_vertex, at_forward is not None
    total, short_tickets, count, tickets = (control[i : i + 1] for i in range(4))
    graph = _struct_of_addresses(np.uint64(n), *lists, at_forward, at_stored)
    capacity = _capacity(len(indices), BUSY) + len(indices) // (2 * LONG)
    pieces = _list_pieces(indptr, indices, lists.lengths, capacity, count, share)
    kernel = _kernel("count_by_blocks", BLOCK_THREADS, *array_types)
    kernel.plain(kernel.blocks, gpu.struct(graph), *pieces, count, tickets, total, _array_or_null(counts))
    kernel = _kernel("count_by_warps", 256, *array_types)
    kernel.plain(kernel.blocks, gpu.struct(graph), short_tickets, total, _array_or_null(counts), _pack_share(share))
    return total.view(np.int64).reshape(()), counts


def _list_pieces(
    indptr: Array, indices: Array, lengths: Array | None, capacity: int, count: Array, share: Share = (0, 1)
) -> tuple[Array, Array]:
    """Split the adjacency lists of the vertices with most neighbors into pieces, which blocks process independently.

    Return two arrays, with the vertex of each piece and the position at which the piece begins. The number of pieces is
    written to `count`, and `capacity` is an upper bound of it.
    """
    xp: Any = array_module(indices)
    n = len(indptr) - 1
    vertices, starts = xp.empty(capacity, indices.dtype), xp.empty(capacity, indptr.dtype)
    kernel = _kernel("list_pieces", 256, indptr, indices)
    blocks = min(-(-n // 256), 1 << 20)
    kernel.plain(blocks, np.uint64(n), indptr, _array_or_null(lengths), vertices, starts, count, _pack_share(share))
    return vertices, starts


def _capacity(m: int, busy: int) -> int:
    """Return an upper bound of the number of pieces into which long adjacency lists of a graph with m entries are
    split.

    Lists of more than `busy` entries are split.
    """
    return m // PIECE + m // busy + 1


def _array_or_null(array: Array | None) -> Any:
    """Return what a kernel takes for an array that may be missing: the array, or a null pointer for None."""
    return np.uint64(0) if array is None else array


def _pack_share(share: Share) -> np.uint64:
    """Pack part i of k of the work into one number for a kernel: i in the lower 32 bits, k in the upper 32 bits."""
    mine, count = share
    return np.uint64(mine | count << 32)


def _struct_of_addresses(n: np.uint64, *arrays: Array | None) -> np.ndarray:
    """Return a C struct, as a kernel's argument, of a number of vertices `n` and the addresses of arrays, with 0 for
    None.
    """
    fields = (n, *(0 if a is None else address(a) for a in arrays))
    return np.array(fields, np.dtype([(f"f{i}", np.uint64) for i in range(len(fields))]))


def source(vertex_size: int, offset_size: int, per_vertex: bool, per_edge: bool = False) -> str:
    """Return the CUDA source of the triangle kernels, for ids and offsets of the given sizes in bytes.

    `per_vertex` and `per_edge` tell whether triangles are also counted at vertices and at edges.
    """
    return gpu.source_of("triangles.cuh", vertex_size, offset_size, per_vertex=per_vertex, per_edge=per_edge)


def _kernel(
    function: str, threads: int, indptr: Array, indices: Array, per_vertex: bool = False, per_edge: bool = False
) -> gpu.Kernel:
    """Return a kernel that counts triangles, compiled for the types of a graph's `indptr` and `indices`.

    `function` is the kernel's name, and `threads` the number of threads per block. `per_vertex` and `per_edge` tell
    whether triangles are also counted at vertices and at edges.
    """
    cuda_source = source(indices.dtype.itemsize, indptr.dtype.itemsize, per_vertex, per_edge)
    return gpu.kernel(cuda_source, function, threads, blocks_per_multiprocessor=32)
