"""Computes core numbers on the GPU, for graphs without hubs, by a kernel that removes vertices level after level."""

from __future__ import annotations

from typing import Any

from gasla.gpu.runtime import compile
from gasla.gpu.runtime.counters import counters
from gasla.graph.graph import Graph

Array = Any  # an array of CuPy

_THREADS = 512
_BLOCKS = 4
_COUNTERS = 6  # number of 64-bit words in the struct `Peeling` in drain_levels.cuh


def source(vertex_size: int, offset_size: int) -> str:
    """Return the CUDA source of the kernel for core numbers, for ids and offsets of the given sizes in bytes."""
    return compile.source_of("drain_levels.cuh", vertex_size, offset_size)


def peel(graph: Graph) -> Array:
    """Return the core number of every vertex of a simple graph: the largest k for which the vertex is in a k-core."""
    import cupy

    n, lists = graph.n, graph.out
    degrees, first_list, second_list = (cupy.empty(n, graph.id_dtype) for _ in range(3))
    if n:
        sizes = degrees.dtype.itemsize, lists.indptr.dtype.itemsize
        kernel = compile.kernel(source(*sizes), "peel_vertices", _THREADS, _BLOCKS)
        blocks = compile.blocks_for(n, _THREADS)
        kernel.cooperative(
            *(lists.indptr, lists.indices, n, degrees, first_list, second_list, counters(_COUNTERS)), blocks=blocks
        )
    return degrees
