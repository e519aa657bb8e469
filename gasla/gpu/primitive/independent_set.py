"""Independent sets in the order of ranks on the GPU: one kernel, in which vertices wait for their neighbors."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.gpu.runtime import compile
from gasla.graph.adjacency import Adjacency

Array = Any  # CuPy's

_THREADS = 256
_BLOCKS = 8


def source(vertex_size: int, offset_size: int) -> str:
    """Return the CUDA source of the kernel. The sizes are bytes of ids and of offsets."""
    return compile.source_of("independent_set.cuh", vertex_size, offset_size)


def decide_in_order(lists: Adjacency, ranks: Array) -> Array:
    """Return whether each vertex is in the set. The ranks are overwritten: by 2**32 - 1 for those that are, else 0."""
    import cupy

    n = len(ranks)
    members = cupy.empty(n, bool)
    if n:
        sizes = lists.indices.dtype.itemsize, lists.indptr.dtype.itemsize
        kernel, count = compile.kernel(source(*sizes), "decide_vertices", _THREADS, _BLOCKS), np.uint64(n)
        blocks = compile.blocks_for(n, _THREADS)
        kernel.cooperative(lists.indptr, lists.indices, count, ranks, members, blocks=blocks)
    return members
