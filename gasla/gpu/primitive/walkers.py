"""Walkers and samples, on the GPU: a thread a walker, and the same bits as on the CPU."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from gasla.gpu.runtime import compile as gpu
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph
from gasla.graph.lists_gpu import C_TYPES

Array = Any  # CuPy's

THREADS = 256  # of a block
NULL = np.uint64(0)


def list_sums(lists: Adjacency, weights: Array) -> Array:
    """The sums of each list's weights up to each position, added in order."""
    import cupy

    sums, n = cupy.empty(len(lists.indices), np.float64), len(lists.indptr) - 1
    weights = cupy.ascontiguousarray(weights, np.float64)
    _launch("sum_lists", lists, n, np.uint64(n), lists.indptr, weights, sums)
    return sums


def walk(graph: Graph, starts: Array, length: int, key: int, sums: Array | None, bias: tuple[float, float]) -> Array:
    """Walks of so many steps, a row a walker. Biased by what a way back, and one farther off, weigh: 1 is unbiased."""
    import cupy

    lists, count, biased = graph.out, len(starts), bias != (1, 1)
    near = graph.sorted_out if biased else lists
    walks = cupy.empty((count, length + 1), lists.indices.dtype)
    _launch(
        *("walk", lists, count, np.uint64(count), np.uint64(length), lists.indptr, lists.indices),
        *(NULL if sums is None else sums, near.indptr, near.indices, starts, np.uint64(key), *map(np.float64, bias)),
        walks,
        weighted=sums is not None,
        biased=biased,
    )
    return walks


def sample(graph: Graph, ids: Array, k: int, key: int, replace: bool) -> Array:
    """`k` out-neighbours of each, -1 where there are no more."""
    import cupy

    lists, count = graph.out, len(ids)
    found = cupy.empty((count, k), lists.indices.dtype)
    numbers = np.uint64(count), np.uint64(k)
    _launch(
        "sample", lists, count, *numbers, lists.indptr, lists.indices, ids, np.uint64(key), np.bool_(replace), found
    )
    return found


def _launch(
    function: str, lists: Adjacency, count: int, *arguments: Any, weighted: bool = False, biased: bool = False
) -> None:
    """Blocks for a launch of a thread an item, as far as they fit on the device at once."""
    if count:
        sizes = lists.indices.dtype.itemsize, lists.indptr.dtype.itemsize
        kernel = _kernel(function, *sizes, weighted, biased, gpu.device())
        kernel.plain(min(-(-count // THREADS), kernel.blocks), *arguments)


def source(vertex_size: int, offset_size: int, weighted: bool, biased: bool) -> str:
    """The kernels for ids and offsets of so many bytes."""
    return (
        f"typedef {C_TYPES[vertex_size]} vertex_t;\ntypedef {C_TYPES[offset_size]} offset_t;\n"
        f"constexpr bool weighted = {str(weighted).lower()}, biased = {str(biased).lower()};\n"
        '#include "walkers.cuh"\n'
    )


@functools.cache
def _kernel(function: str, vertex_size: int, offset_size: int, weighted: bool, biased: bool, device: int) -> gpu.Kernel:
    text = source(vertex_size, offset_size, weighted, biased)
    return gpu.Kernel(text, function, THREADS, blocks_per_multiprocessor=32)
