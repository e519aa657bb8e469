"""Sampling on the GPU: random neighbors, one thread per row, and prefix sums of weights for walkers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.gpu.runtime import compile as gpu
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph

Array = Any  # CuPy's

THREADS = 256  # per block


def list_sums(lists: Adjacency, weights: Array) -> Array:
    """Prefix sums of each list's weights, added in order."""
    import cupy

    sums, n = cupy.empty(len(lists.indices), np.float64), len(lists.indptr) - 1
    weights = cupy.ascontiguousarray(weights, np.float64)
    _launch("sum_lists", lists, n, np.uint64(n), lists.indptr, weights, sums)
    return sums


def list_guides(lists: Adjacency, sums: Array) -> Array:
    """For each list of d entries and each j < d: the first position whose sum exceeds j / d of the list's total."""
    import cupy

    guides, n = cupy.empty(len(sums), np.uint32), len(lists.indptr) - 1
    _launch("guide_lists", lists, n, np.uint64(n), lists.indptr, sums, guides)
    return guides


def sample(graph: Graph, ids: Array, k: int, key: int, replace: bool) -> Array:
    """Sample `k` out-neighbors of each vertex; -1 pads rows with fewer."""
    import cupy

    lists, count = graph.out, len(ids)
    found = cupy.empty((count, k), lists.indices.dtype)
    numbers = np.uint64(count), np.uint64(k)
    _launch(
        "sample", lists, count, *numbers, lists.indptr, lists.indices, ids, np.uint64(key), np.bool_(replace), found
    )
    return found


def _launch(function: str, lists: Adjacency, count: int, *arguments: Any) -> None:
    """Launch one thread per item, at most as many as the device can hold; each then loops."""
    if count:
        text = source(lists.indices.dtype.itemsize, lists.indptr.dtype.itemsize)
        kernel = gpu.kernel(text, function, THREADS, blocks_per_multiprocessor=32)
        kernel.plain(min(-(-count // THREADS), kernel.blocks), *arguments)


def source(vertex_size: int, offset_size: int) -> str:
    """CUDA source of the kernels, for ids and offsets of so many bytes."""
    return gpu.source_of("sampling.cuh", vertex_size, offset_size)
