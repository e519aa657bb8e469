"""Samples random neighbors on the GPU, by one thread per vertex, and prepares weights for random walks."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.arrays import array_module
from gasla.engines import Draws
from gasla.gpu.runtime import compile as gpu
from gasla.gpu.runtime.counters import counters
from gasla.graph.adjacency import Adjacency

Array = Any  # an array of CuPy

THREADS = 256  # threads per block
BLOCKS = 8  # largest number of blocks per multiprocessor; more would not fit at the same time


def list_sums(lists: Adjacency, weights: Array) -> Array:
    """Return the prefix sums of the edges' weights within each adjacency list, as float64, for drawing edges by weight.

    Weights are added one after the other, in the same order as on the CPU, so that results are equal.
    """
    import cupy

    sums, n = cupy.empty(len(lists.indices), np.float64), len(lists.indptr) - 1
    single = weights.dtype == np.float32
    weights = cupy.ascontiguousarray(weights, np.float32 if single else np.float64)
    _launch("sum_lists", lists, n, np.uint64(n), lists.indptr, weights, np.bool_(single), sums)
    return sums


def list_guides(lists: Adjacency, sums: Array) -> Array:
    """Return the guide table of each adjacency list, by which a walker finds a random edge in few steps.

    For a list of d entries, entry j of the table is the first position whose prefix sum exceeds j / d of the total.
    """
    import cupy

    guides, n = cupy.empty(len(sums), np.uint32), len(lists.indptr) - 1
    _launch("guide_lists", lists, n, np.uint64(n), lists.indptr, sums, guides)
    return guides


def sample(lists: Adjacency, ids: Array, k: int, draws: Draws) -> Array:
    """Sample `k` neighbors of each vertex in `ids`, by random numbers that `draws` describes.

    Return an array with a row for each of these vertices. Rows with fewer than `k` neighbors are padded with -1.
    """
    import cupy

    neighbors = cupy.empty((len(ids), k), lists.indices.dtype)
    _launch("sample", lists, len(ids), *arguments(lists, ids, None, k, 0, draws, (neighbors, None, None)))
    return neighbors


def sample_lists(lists: Adjacency, ids: Array, k: int, row: int, draws: Draws) -> tuple[Array, Array, Array]:
    """Sample up to `k` neighbors of each vertex in `ids`, without padding.

    Return three arrays with an item per sampled neighbor: the neighbor, the id of the edge to it, and a number that
    tells for which vertex it was sampled. For the vertex ``ids[i]`` this number is ``row + i``.
    """
    import cupy

    firsts = cupy.zeros(len(ids) + 1, np.int64)
    if len(ids):
        kernel = _kernel("begin_samples", lists)
        numbers = np.uint64(len(ids)), np.uint64(k)
        blocks, sums = _scratch(kernel, len(ids))
        kernel.cooperative(*numbers, lists.indptr, ids, np.bool_(draws.replace), *sums, firsts, blocks=blocks)
    count = int(firsts[-1])
    drawn = cupy.empty(count, lists.indices.dtype), cupy.empty(count, np.int64), cupy.empty(count, np.int64)
    _launch("sample", lists, len(ids), *arguments(lists, ids, firsts, k, row, draws, drawn))
    return drawn


def search_lists(lists: Adjacency, values: Array, ids: Array, marks: Array, after: bool) -> Array:
    """Return, for each vertex in `ids`, the position in its adjacency list at which its mark (a number) would be
    inserted.

    The `values` in a list ascend, and `marks` has a number for each vertex. All values before the position are below
    the mark or, with `after`, at most equal to the mark. All adjacency lists are bisected at once, in as many rounds as
    the longest one takes.
    """
    xp: Any = array_module(values)
    low, high = (ends[ids].astype(np.int64) for ends in (lists.indptr[:-1], lists.indptr[1:]))
    for _ in range(int((high - low).max()).bit_length() if len(ids) else 0):
        middle = low + (high - low) // 2
        # If a list is empty, this is the value of another list, which has no effect.
        value = values[xp.minimum(middle, len(values) - 1)]
        goes_right = (low < high) & ((value <= marks) if after else (value < marks))
        low, high = xp.where(goes_right, middle + 1, low), xp.where(goes_right, high, xp.maximum(middle, low))
    return low


def arguments(
    lists: Adjacency,
    ids: Array,
    firsts: Array | None,
    k: int,
    row: int,
    draws: Draws,
    drawn: tuple[Array, Array | None, Array | None],
) -> tuple[Any, ...]:
    """Return the arguments of the kernel that samples neighbors, in the kernel's order.

    `drawn` has the arrays to which the kernel writes the sampled neighbors, edges and rows.
    """
    null, edge_ids = np.uint64(0), lists.edge_ids
    numbers = np.uint64(len(ids)), np.uint64(k), np.uint64(row)
    by_weight = draws.weights or (null, null)
    rows = ids, null if firsts is None else firsts
    draw_options = np.uint64(draws.key), np.bool_(draws.replace)
    edge_arguments = (null, np.bool_(False)) if edge_ids is None else (edge_ids, np.bool_(edge_ids.dtype.itemsize == 8))
    arrays = (null if array is None else array for array in drawn)
    return *numbers, lists.indptr, lists.indices, *by_weight, *rows, *draw_options, *edge_arguments, *arrays


def append_distinct(vertices: Array, ids: Array) -> tuple[Array, Array]:
    """Append to `vertices` each vertex of `ids` that is not in `vertices`, once, in the order of first appearance.

    Return the longer array, and the position of each of `ids` in it. `vertices` must be distinct.
    """
    import cupy

    capacity = len(vertices) + len(ids)
    distinct_ids, positions, total = (
        cupy.empty(capacity, vertices.dtype),
        cupy.empty(len(ids), np.int64),
        cupy.empty((), np.int64),
    )
    if not capacity:
        return distinct_ids, positions
    table = cupy.empty(1 << (2 * capacity).bit_length(), np.uint64)
    table.data.memset_async(0xFF, table.nbytes)
    kernel = gpu.kernel(source(vertices.dtype.itemsize, vertices.dtype.itemsize), "append_distinct", THREADS, BLOCKS)
    blocks, sums = _scratch(kernel, capacity)
    kernel.cooperative(
        *(vertices, np.uint64(len(vertices)), ids, np.uint64(len(ids)), table, np.uint64(len(table))),
        *(*sums, distinct_ids, positions, total),
        blocks=blocks,
    )
    return distinct_ids[: int(total)], positions


def _scratch(kernel: gpu.Kernel, count: int) -> tuple[int, tuple[Array, Array]]:
    """Return the number of blocks to launch for `count` items, and memory for a prefix sum across these blocks.

    The memory is that of `sum_over_grid` in CUDA: an array of sums, and the counter of a barrier between blocks.
    """
    import cupy

    blocks = min(-(-count // THREADS), kernel.blocks)
    return blocks, (cupy.empty(blocks, np.uint64), counters(1))


def _launch(function: str, lists: Adjacency, count: int, *arguments: Any) -> None:
    """Launch a sampling kernel with one thread for each of `count` vertices.

    If the device can't hold so many threads, there are fewer, and each thread processes several vertices.
    """
    if count:
        kernel = _kernel(function, lists)
        kernel.plain(min(-(-count // THREADS), kernel.blocks), *arguments)


def _kernel(function: str, lists: Adjacency) -> gpu.Kernel:
    cuda_source = source(lists.indices.dtype.itemsize, lists.indptr.dtype.itemsize)
    return gpu.kernel(cuda_source, function, THREADS, BLOCKS)


def source(vertex_size: int, offset_size: int) -> str:
    """Return the CUDA source of the sampling kernels, for ids and offsets of the given sizes in bytes."""
    return gpu.source_of("sampling.cuh", vertex_size, offset_size)
