"""What goes by lot on the GPU without a program: samples, a row a thread; and sums of weights for walkers."""

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


def list_sums(lists: Adjacency, weights: Array) -> Array:
    """The sums of each list's weights up to each position, added in order."""
    import cupy

    sums, n = cupy.empty(len(lists.indices), np.float64), len(lists.indptr) - 1
    weights = cupy.ascontiguousarray(weights, np.float64)
    _launch("sum_lists", lists, n, np.uint64(n), lists.indptr, weights, sums)
    return sums


def list_guides(lists: Adjacency, sums: Array) -> Array:
    """For each list of d entries, at j of d: the first place in it whose sum exceeds j / d of the total."""
    import cupy

    guides, n = cupy.empty(len(sums), np.uint32), len(lists.indptr) - 1
    _launch("guide_lists", lists, n, np.uint64(n), lists.indptr, sums, guides)
    return guides


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


def _launch(function: str, lists: Adjacency, count: int, *arguments: Any) -> None:
    """A thread for each of so many, as far as they are on the device at once."""
    if count:
        kernel = _kernel(function, lists.indices.dtype.itemsize, lists.indptr.dtype.itemsize, gpu.device())
        kernel.plain(min(-(-count // THREADS), kernel.blocks), *arguments)


def source(vertex_size: int, offset_size: int) -> str:
    """The kernels for ids and offsets of so many bytes."""
    return (
        f'typedef {C_TYPES[vertex_size]} vertex_t;\ntypedef {C_TYPES[offset_size]} offset_t;\n#include "drawing.cuh"\n'
    )


@functools.cache
def _kernel(function: str, vertex_size: int, offset_size: int, device: int) -> gpu.Kernel:
    return gpu.Kernel(source(vertex_size, offset_size), function, THREADS, blocks_per_multiprocessor=32)
