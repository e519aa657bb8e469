"""Minimum spanning forests on the GPU, by one kernel that runs Boruvka's rounds.

The adjacency lists have every edge in both directions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.gpu.runtime import compile
from gasla.gpu.runtime.counters import counters
from gasla.graph.adjacency import Adjacency

Array = Any  # an array of CuPy

_THREADS = 512
_BLOCKS = 4
_COUNTERS = 7  # number of 64-bit words in the struct `Growing` in lightest_forest.cuh
_SLICE = 2048  # number of entries in a piece of a long adjacency list, as in union_find.cuh
_TYPES = {"f4": "float", "i1": "signed char", "i2": "short", "i4": "int", "u1": "unsigned char", "u2": "unsigned short"}
_TYPES |= {"u4": "unsigned int", "b1": "unsigned char"}
_MOST_LANES = 2  # largest number of threads per adjacency list; with more, Boruvka's rounds took up to 15% longer


def _dtype_name(dtype: np.dtype) -> str:
    return f"{dtype.kind}{dtype.itemsize}"


def source(vertex_size: int, offset_size: int, dtype: np.dtype | None) -> str:
    """Return the CUDA source of the spanning forest kernel, for ids and offsets of the given sizes in bytes.

    `dtype` is the type of the edges' weights, or None if all edges weigh the same.
    """
    weight = "float" if dtype is None else _TYPES[_dtype_name(dtype)]
    return f"typedef {weight} weight_t;\n{compile.source_of('lightest_forest.cuh', vertex_size, offset_size)}"


def lightest_forest(lists: Adjacency, weights: Array | None) -> Array:
    """Return the edges of a minimum spanning forest, as positions in adjacency lists.

    `lists` are ascending and have every edge in both directions. The position is that in the list of the end with the
    smaller id. If `weights` is None, all edges weigh the same.
    """
    import cupy

    n, m, kind = len(lists.indptr) - 1, len(lists.indices), None if weights is None else weights.dtype
    edge_positions = cupy.empty(n, np.int64)
    if not n:
        return edge_positions
    cuda_source = source(lists.indices.dtype.itemsize, lists.indptr.dtype.itemsize, kind)
    kernel = compile.kernel(cuda_source, "lightest_forest", _THREADS, _BLOCKS)
    lanes = min(1 << max(1, m // (4 * n)).bit_length() - 1, _MOST_LANES)
    scratch = [cupy.empty(n, t) for t in (np.int32, np.int32, np.uint64, lists.indptr.dtype, np.uint8)]
    kernel.cooperative(
        *(lists.indptr, lists.indices, np.uint64(n), np.uint64(m), np.uint64(0) if weights is None else weights),
        *(
            np.uint32(lanes),
            *scratch,
            edge_positions,
            cupy.empty(3 * (2 * m // _SLICE), np.uint64),
            counters(_COUNTERS),
        ),
        blocks=compile.blocks_for(n, _THREADS),
    )
    return edge_positions[edge_positions >= 0]
