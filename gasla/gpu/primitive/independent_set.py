"""Finds a maximal independent set in the order of ranks on the GPU, by one kernel.

In the kernel, each vertex waits until its neighbors that come before it are decided.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.gpu.runtime import compile
from gasla.graph.adjacency import Adjacency

Array = Any  # an array of CuPy

_THREADS = 256
_BLOCKS = 8


def source(vertex_size: int, offset_size: int) -> str:
    """Return the CUDA source of the independent set kernel, for ids and offsets of the given sizes in bytes."""
    return compile.source_of("independent_set.cuh", vertex_size, offset_size)


def decide_in_order(lists: Adjacency, ranks: Array) -> Array:
    """Return a boolean for each vertex: whether it is in the independent set that a loop by falling rank would find.

    The loop adds a vertex to the set unless a neighbor is in the set already, so the set is maximal. `ranks` has the
    rank of each vertex. It is overwritten with 2**32 - 1 for vertices in the set, and 0 for all others.
    """
    import cupy

    n = len(ranks)
    members = cupy.empty(n, bool)
    if n:
        sizes = lists.indices.dtype.itemsize, lists.indptr.dtype.itemsize
        kernel, count = compile.kernel(source(*sizes), "decide_vertices", _THREADS, _BLOCKS), np.uint64(n)
        blocks = compile.blocks_for(n, _THREADS)
        kernel.cooperative(lists.indptr, lists.indices, count, ranks, members, blocks=blocks)
    return members
