"""Colors vertices greedily in a given order on the GPU, by a kernel in which each vertex waits for its earlier
neighbors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.gpu.runtime import compile
from gasla.gpu.runtime.counters import counters
from gasla.graph.adjacency import Adjacency

Array = Any  # an array of CuPy

_THREADS = 512
_BLOCKS = 3
_COUNTERS = 3  # number of 64-bit words in the struct `Fitting` in coloring.cuh


def source(vertex_size: int, offset_size: int) -> str:
    """Return the CUDA source of the coloring kernels, for ids and offsets of the given sizes in bytes."""
    return compile.source_of("coloring.cuh", vertex_size, offset_size)


def color_in_order(lists: Adjacency, order: Array, colors: Array) -> None:
    """Give each vertex without a color (-1) the smallest color that no neighbor earlier in `order` has, in place."""
    import cupy

    n = len(order)
    if not n:
        return
    sizes = order.dtype.itemsize, lists.indptr.dtype.itemsize
    place, color = (
        compile.kernel(source(*sizes), name, _THREADS, _BLOCKS) for name in ("place_vertices", "color_vertices")
    )
    states, shared = cupy.empty(n, f"u{order.dtype.itemsize}"), counters(_COUNTERS)
    count = np.uint64(n)
    place.plain(min(place.blocks, compile.blocks_for(n, _THREADS)), lists.indptr, count, order, colors, states, shared)
    color.plain(color.blocks, lists.indptr, lists.indices, count, order, states, colors, shared)
