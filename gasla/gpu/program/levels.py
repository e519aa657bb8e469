"""Sorts the vertices of a schedule by level, the iteration in which each vertex receives.

Two kernels count and place the vertices if there are few levels. Otherwise CuPy sorts them.
"""

from typing import Any, NamedTuple

import numpy as np

from gasla.gpu.runtime.compile import C_TYPES, compile_ahead, kernel
from gasla.program.schedule import Schedule, in_32_bits

Array = Any  # an array of CuPy

# largest number of levels for which two kernels sort the vertices instead of CuPy, as in kernels/schedule/levels.cuh
MOST = 64
_THREADS = 1024
_WARPS = _THREADS // 32


class SortedSchedule(NamedTuple):
    """The vertices of a schedule on the device, sorted by level (the iteration in which a vertex receives).

    `levels` has the int32 level of each vertex, and `first` is the first level that is run. `order` has the vertices by
    level, and `starts` the position in `order` at which each level begins.
    """

    levels: Array
    first: int
    order: Array
    starts: Array


def source(vertex_size: int) -> str:
    """Return the CUDA source of the kernels that sort vertices by level, for vertex ids of `vertex_size` bytes."""
    return f'typedef {C_TYPES[vertex_size]} vertex_t;\n#include "levels.cuh"\n'


def begin(ids: np.dtype) -> None:
    """Start compiling, in the background, the kernels that sort a schedule's vertices by the iteration of each vertex.

    `ids` is the dtype of vertex ids.
    """
    compile_ahead(source(ids.itemsize))


def by_level(schedule: Schedule, ids: np.dtype) -> SortedSchedule:
    """Sort the vertices of a schedule on the GPU by level (the iteration in which a vertex receives), then by id.

    `ids` is the dtype of vertex ids.
    """
    import cupy

    levels, first_level = in_32_bits(schedule)
    levels = cupy.asarray(levels)
    is_few = schedule.depth <= MOST
    return SortedSchedule(
        levels, first_level, *(_sort_by_counting if is_few else _sort_by_keys)(levels, first_level, schedule.depth, ids)
    )


def _sort_by_counting(levels: Array, first_level: int, depth: int, ids: np.dtype) -> tuple[Array, Array]:
    import cupy

    n = len(levels)
    if depth == 0:
        return cupy.empty(0, ids), cupy.zeros(1, np.int64)
    cuda_source = source(ids.itemsize)
    count, place_kernel = (kernel(cuda_source, name, _THREADS) for name in ("count_levels", "place_by_level"))
    blocks = min(count.blocks, -(-n // _THREADS))
    counts, totals = cupy.empty(blocks * depth * _WARPS, np.uint32), cupy.empty(depth * blocks, np.uint32)
    order, starts = cupy.empty(n, ids), cupy.empty(depth + 1, np.int64)
    count.plain(blocks, levels, n, first_level, depth, counts, totals)
    place_kernel.plain(blocks, levels, n, first_level, depth, counts, totals, order, starts)
    return order, starts


def _sort_by_keys(levels: Array, first_level: int, depth: int, ids: np.dtype) -> tuple[Array, Array]:
    import cupy

    keys = cupy.subtract(cupy.maximum(levels, first_level - 1), first_level - 1).astype(np.min_scalar_type(depth + 1))
    # The radix sort is stable, so vertices stay in the order of their ids. It is faster the fewer bits keys have.
    order = cupy.argsort(keys)
    starts = cupy.searchsorted(keys[order], cupy.arange(1, depth + 2, dtype=keys.dtype))
    return order.astype(ids), starts
