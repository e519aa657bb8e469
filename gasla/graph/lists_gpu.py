"""Neighbor lists on the GPU: the functions of `lists_cpu`, as array operations of CuPy.

Lists are built by a radix sort of one 64-bit key per edge: the vertex to group by in the upper half, the position or
the other end in the lower half. All operations exist in NumPy as well, so tests run the same functions on NumPy arrays
without a GPU. Arithmetic and comparisons of arrays with scalars are written as functions (``xp.less``), because the
operators make CuPy call NumPy, which then imports SciPy (half a second).

Memory: keys take 8 bytes per edge, and the sort another 8. A build needs at most 16 bytes per edge besides its input,
or 20 with the owners (4 bytes per edge; 8 from 2**31 vertices on). More than `CHUNK` edges are sorted in chunks, whose
entries are then put at their places in the lists: that takes 50 bytes per edge of a chunk, whatever the number of
edges, of which there may be more than 2**32. Up to `MOST_AT_ONCE` edges are sorted by both ends at once: that takes 40
bytes per edge, and a quarter of the time of two sorts. A build moves about 200 bytes per edge, mostly in the eight
passes of the sort.

Properties, such as whether lists ascend, are computed by one kernel in one pass over the lists. As array operations
they would be a dozen kernels, each of which CuPy takes a tenth of a second to compile.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from gasla.arrays import array_module, current_device, index_dtype
from gasla.gpu.runtime.compile import Kernel, multiprocessors

Array = np.ndarray[Any, Any]  # NumPy's or CuPy's

CHUNK = 1 << 26  # edges that are sorted at once: a gigabyte of keys, and the sort's second copy
MOST_AT_ONCE = 1 << 28  # edges that are sorted by both ends at once: 11 gigabytes
_THREADS = 256
_SLICE = 1024  # edges per warp, as in kernels/primitive/lists.cuh
_PROPERTIES = "imbalance", "falls", "repeats", "loops"  # the fields of `ListProperties` there
C_TYPES = {1: "unsigned char", 2: "unsigned short", 4: "int", 8: "long long"}  # by size in bytes
_SOURCE = """
#include "lists.cuh"
extern "C" __global__ void find_properties(const {offset}* offsets, const {vertex}* indices, const {bits}* bits,
                                      gasla::u64 n, gasla::u64 m, gasla::ListProperties* found) {{
    gasla::find_list_properties(offsets, indices, bits, n, m, found);
}}
"""


def group(keys: Array, others: Array, n: int) -> tuple[Array, Array, Array]:
    """Return adjacency lists of `others` by key, each in the order of the input.

    Their ids are positions in the input.
    """
    m, xp = len(keys), array_module(keys)
    if m > CHUNK:
        grouped, ids = xp.empty(m, others.dtype), xp.empty(m, index_dtype(m))
        indptr = _count(keys, n)
        for places, numbers in _in_chunks(keys, indptr):
            grouped[places], ids[places] = others[numbers], numbers
        return indptr, grouped, ids
    packed = _packed(keys, xp.arange(m, dtype=np.uint32), n)
    packed.sort()
    ids = _lower(packed, index_dtype(m))
    indptr = _offsets(packed, n)
    del packed
    return indptr, others[ids], ids


def group_ascending(keys: Array, others: Array, n: int) -> tuple[Array, Array, Array]:
    """Return lists of `others` by key, each ascending, then in the order of the input."""
    if len(keys) > MOST_AT_ONCE:
        return transpose(*group(others, keys, n))
    packed = _packed(keys, others.astype(np.uint32), n)
    ids = array_module(packed).argsort(packed, kind="stable")
    packed = packed[ids]
    return _offsets(packed, n), _lower(packed, others.dtype), ids.astype(index_dtype(len(ids)))


def transpose(indptr: Array, indices: Array, ids: Array | None = None) -> tuple[Array, Array, Array]:
    """Return the transposed lists, neighbors ascending in each (stable), with edge numbers."""
    indptr, turned_indices, positions = group(indices, owners(indptr, indices), len(indptr) - 1)
    return indptr, turned_indices, positions if ids is None else ids[positions]


def transpose_pattern(indptr: Array, indices: Array) -> tuple[Array, Array]:
    """Return the transposed lists, without edge numbers."""
    n = len(indptr) - 1
    if len(indices) > CHUNK:
        xp = array_module(indices)
        turned, turned_indices = _count(indices, n), xp.empty_like(indices)
        for places, numbers in _in_chunks(indices, turned):
            turned_indices[places] = xp.searchsorted(indptr, numbers, side="right") - 1
        return turned, turned_indices
    packed = _packed(indices, owners(indptr, indices), n)
    packed.sort()
    return _offsets(packed, n), _lower(packed, indices.dtype)


def _count(keys: Array, n: int) -> Array:
    """Return offsets of the lists that `keys` make."""
    xp = array_module(keys)
    indptr = xp.zeros(n + 1, index_dtype(len(keys)))
    xp.cumsum(count_ids(keys, n), dtype=indptr.dtype, out=indptr[1:])
    return indptr


def _in_chunks(keys: Array, indptr: Array) -> Iterator[tuple[Array, Array]]:
    """Return for each chunk of the input its entries' places in lists by key, and their positions in the input."""
    xp, n = array_module(keys), len(indptr) - 1
    ends = indptr[:-1].astype(np.int64)  # for each list, the end of the entries of earlier chunks
    for first in range(0, len(keys), CHUNK):
        part = keys[first : first + CHUNK]
        packed = _packed(part, xp.arange(len(part), dtype=np.uint32), n)
        packed.sort()
        starts, numbers = _offsets(packed, n), _lower(packed, np.int64)
        del packed
        places = (ends - starts[:-1])[part[numbers]]
        places += xp.arange(len(part))
        numbers += first
        ends += starts[1:] - starts[:-1]
        yield places, numbers


def renumbered(indptr: Array, indices: Array, places: Array) -> tuple[Array, Array]:
    """Return the lists after renumbering vertex v as `places[v]`, neighbors ascending in each."""
    n = len(indptr) - 1
    packed = _packed(places[owners(indptr, indices)], places[indices], n)
    packed.sort()
    return _offsets(packed, n), _lower(packed, indices.dtype)


def renumbered_positions(indptr: Array, indices: Array, places: Array) -> Array:
    """Return for each entry of the `renumbered` lists its position in the original lists."""
    n = len(indptr) - 1
    _, rows, positions = group(places[indices], places[owners(indptr, indices)], n)
    return group(rows, positions, n)[1]


def owners(indptr: Array, indices: Array) -> Array:
    """Return for each entry the vertex in whose list it is."""
    xp = array_module(indptr)
    steps = xp.zeros(len(indices), indices.dtype)
    if not len(indices):  # CuPy's cumsum fails on empty arrays
        return steps
    vertices = xp.flatnonzero(xp.greater(indptr[1:], indptr[:-1])).astype(indices.dtype)  # vertices with neighbors
    starts = indptr[vertices]
    vertices[1:] -= vertices[:-1].copy()
    steps[starts] = vertices
    return xp.cumsum(steps, dtype=indices.dtype)


def count_ids(ids: Array, n: int) -> Array:
    """Return how often each id occurs."""
    xp = array_module(ids)
    counts = xp.zeros(n, np.int32 if len(ids) < 2**31 else np.uint64)  # types that have atomic additions
    xp.add.at(counts, ids, 1)  # CuPy's bincount may take many bytes per vertex and block
    return counts


def insertion_plan(places: Array, m: int) -> Array:
    """Return the argument `plan` of `insert_entries`: for each of m positions, the last old entry at or before it."""
    xp = array_module(places)
    steps = xp.ones(m, np.int64)
    steps[places] = 0
    return xp.maximum(xp.cumsum(steps) - 1, 0)


def insert_entries(old: Array, plan: Array, places: Array, new: Array) -> Array:
    """Return an array with the new entries at `places`, and the old ones in their order at all other positions."""
    result = old[plan] if len(old) else array_module(old).empty(len(plan), old.dtype)
    result[places] = new
    return result


class Properties:
    """Properties of lists, all computed in one pass over them."""

    def __init__(self, indptr: Array, indices: Array) -> None:
        imbalance, falls, repeats, loops = _find_properties(indptr, indices)
        self.ascend, self.are_symmetric = not falls, not imbalance
        self.repeat, self.have_loops = bool(repeats), bool(loops)


def is_symmetric(indptr: Array, indices: Array, values: Array) -> bool:
    """Return whether the edges i -> j and j -> i have bit-identical values, in any order, for all i and j."""
    return not _find_properties(indptr, indices, values)[0]


def imbalance(indptr: Array, indices: Array, values: Array | None, first: int) -> int:
    """Return `gasla.graph.symmetry.imbalance` of the vertices from `first` on. Vertices before have empty lists."""
    xp: Any = array_module(indptr)
    return _find_properties(xp.concatenate([xp.zeros(first, indptr.dtype), indptr]), indices, values)[0]


def source(offset_size: int, vertex_size: int, value_size: int) -> str:
    """Return the CUDA source of `find_properties`, for offsets, vertex ids and values of the given sizes in bytes."""
    return _SOURCE.format(offset=C_TYPES[offset_size], vertex=C_TYPES[vertex_size], bits=C_TYPES[value_size])


def _find_properties(indptr: Array, indices: Array, values: Array | None = None) -> list[int]:
    """Return the `_PROPERTIES`, computed by the kernel: see kernels/primitive/lists.cuh."""
    import cupy

    n, m, facts = len(indptr) - 1, len(indices), cupy.zeros(len(_PROPERTIES), np.uint64)
    sizes = indptr.dtype.itemsize, indices.dtype.itemsize, 4 if values is None else values.dtype.itemsize
    blocks = max(1, min(-(-m // (_SLICE * _THREADS // 32)), 8 * multiprocessors()))
    bits = np.uint64(0) if values is None else values
    _kernel(*sizes, current_device()).plain(blocks, indptr, indices, bits, np.uint64(n), np.uint64(m), facts)
    return [int(fact) for fact in facts.tolist()]


@cache
def _kernel(offset_size: int, vertex_size: int, value_size: int, device: int) -> Kernel:
    return Kernel(source(offset_size, vertex_size, value_size), "find_properties", _THREADS)


def _packed(upper: Array, lower: Array, n: int) -> Array:
    """Return unsigned 64-bit keys of a vertex and another number."""
    if max(n, len(upper)) >= 2**32:
        raise ValueError(f"{n} vertices and lists of {len(upper)} entries; on the GPU both must be below 2**32")
    packed = upper.astype(np.uint64)
    packed <<= 32
    packed |= lower.astype(np.uint32, copy=False)
    return packed


def _lower(packed: Array, dtype: Any) -> Array:
    """Return the lower halves of the keys."""
    return packed.view(np.uint32)[::2].astype(dtype)


def _offsets(packed: Array, n: int) -> Array:
    """Return where the keys of each vertex start, in sorted keys."""
    xp = array_module(packed)
    starts = xp.arange(n + 1, dtype=np.uint64)
    starts <<= 32
    return xp.searchsorted(packed, starts).astype(index_dtype(len(packed)))
