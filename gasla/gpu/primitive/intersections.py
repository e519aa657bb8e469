"""Counts the common neighbors of given pairs of vertices on the GPU, or adds up the weights of these neighbors."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.gpu.runtime import compile as gpu
from gasla.graph.graph import Graph

Array = Any  # an array of CuPy

THREADS = 256  # threads per block, as in the kernel
NULL = np.uint64(0)


def intersect(graph: Graph, sources: Array, targets: Array, weights: Array | None) -> Array:
    """Return how many common out-neighbors the vertices sources[i] and targets[i] have, for each i.

    If `weights` is not None, return the sum of the common neighbors' weights instead.
    """
    import cupy

    lists, count = graph.sorted_out, len(sources)
    indptr, indices = lists.indptr, lists.indices
    sources, targets = (cupy.ascontiguousarray(ids, indices.dtype) for ids in (sources, targets))
    totals = cupy.empty(count, np.int64 if weights is None else np.float64)
    if count:
        cuda_source = source(indices.dtype.itemsize, indptr.dtype.itemsize, weights is not None)
        kernel = gpu.kernel(cuda_source, "intersect_pairs", THREADS, blocks_per_multiprocessor=32)
        blocks = min(kernel.blocks, -(-count // THREADS))
        pairs = np.uint64(count), indptr, indices, sources, targets
        kernel.plain(blocks, *pairs, NULL if weights is None else weights, cupy.zeros(1, np.uint64), totals)
    return totals


def source(vertex_size: int, offset_size: int, weighted: bool) -> str:
    """Return the CUDA source of the kernel that counts common neighbors, for ids and offsets of the given sizes in
    bytes.

    If `weighted`, the kernel adds up the weights of the common neighbors.
    """
    return gpu.source_of("intersections.cuh", vertex_size, offset_size, weighted=weighted)
