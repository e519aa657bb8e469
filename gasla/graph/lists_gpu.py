"""Adjacency lists on the GPU: build, transpose and test them with array operations of CuPy.

The module has the same functions as `lists_cpu`. Lists are built by a radix sort of one 64-bit key per edge: the vertex
to group by in the upper half, the edge's position or its other end in the lower half. All operations exist in NumPy as
well, so tests run the same functions on NumPy arrays without a GPU. Arithmetic and comparisons of arrays with scalars
are written as functions (``xp.less``), because the operators make CuPy call NumPy, which then imports SciPy (half a
second).

Memory: keys take 8 bytes per edge, and the sort needs a second copy of them. So a build needs at most 16 bytes per edge
besides its input. Where it also computes in whose list each edge is, it needs 20 bytes per edge (24 from 2**31 vertices
on). More than `CHUNK` edges are sorted in chunks, whose entries are then written to their places in the lists. That
takes 50 bytes per edge of a chunk, however many edges there are, and allows more than 2**32 edges. Up to `MOST_AT_ONCE`
edges are sorted by source and target in one sort, which takes 40 bytes per edge and a quarter of the time of two sorts.
A build moves about 200 bytes per edge, mostly in the eight passes of the radix sort.

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

Array = np.ndarray[Any, Any]  # a CuPy array, or a NumPy array in tests

CHUNK = 1 << 26  # number of edges that are sorted at a time: their keys, and a copy of them, take one gigabyte
# largest number of edges that are sorted by source and target in one sort, which then takes 11 gigabytes
MOST_AT_ONCE = 1 << 28
_THREADS = 256
# number of edges that a warp processes at a time; kernels/primitive/lists.cuh has the same number as `SLICE`
_SLICE = 1024
_PROPERTIES = "imbalance", "falls", "repeats", "loops"  # the fields of the CUDA struct `ListProperties`
C_TYPES = {1: "unsigned char", 2: "unsigned short", 4: "int", 8: "long long"}  # C types by their size in bytes
_SOURCE = """
#include "lists.cuh"
extern "C" __global__ void find_properties(const {offset}* offsets, const {vertex}* indices, const {bits}* bits,
                                      gasla::u64 n, gasla::u64 m, gasla::ListProperties* found) {{
    gasla::find_list_properties(offsets, indices, bits, n, m, found);
}}
"""


def group(keys: Array, others: Array, n: int) -> tuple[Array, Array, Array]:
    """Return adjacency lists of n vertices, built from edges in any order: their offsets, entries and edge numbers.

    Edge k puts ``others[k]`` into the list of the vertex ``keys[k]``. Within each list, edges keep the order of the
    input. The number of an edge is its position in the input.
    """
    m, xp = len(keys), array_module(keys)
    if m > CHUNK:
        grouped, ids = xp.empty(m, others.dtype), xp.empty(m, index_dtype(m))
        indptr = _count(keys, n)
        for positions, numbers in _group_in_chunks(keys, indptr):
            grouped[positions], ids[positions] = others[numbers], numbers
        return indptr, grouped, ids
    packed_keys = _pack_keys(keys, xp.arange(m, dtype=np.uint32), n)
    packed_keys.sort()
    ids = _lower_halves(packed_keys, index_dtype(m))
    indptr = _offsets(packed_keys, n)
    del packed_keys
    return indptr, others[ids], ids


def group_ascending(keys: Array, others: Array, n: int) -> tuple[Array, Array, Array]:
    """Return adjacency lists of n vertices with ascending entries: their offsets, entries and edge numbers.

    Edge k puts ``others[k]`` into the list of the vertex ``keys[k]``. Parallel edges keep the order of the input.
    """
    if len(keys) > MOST_AT_ONCE:
        return transpose(*group(others, keys, n))
    packed_keys = _pack_keys(keys, others.astype(np.uint32), n)
    ids = array_module(packed_keys).argsort(packed_keys, kind="stable")
    packed_keys = packed_keys[ids]
    return _offsets(packed_keys, n), _lower_halves(packed_keys, others.dtype), ids.astype(index_dtype(len(ids)))


def transpose(indptr: Array, indices: Array, ids: Array | None = None) -> tuple[Array, Array, Array]:
    """Return the adjacency lists of the opposite direction as offsets, neighbors and edge numbers.

    If the given lists are of out-neighbors, the result is of in-neighbors. The neighbors in each list ascend, and
    parallel edges keep their order.
    """
    indptr, transposed_indices, positions = group(indices, owners(indptr, indices), len(indptr) - 1)
    return indptr, transposed_indices, positions if ids is None else ids[positions]


def transpose_pattern(indptr: Array, indices: Array) -> tuple[Array, Array]:
    """Return the adjacency lists of the opposite direction as offsets and neighbors, without edge numbers."""
    n = len(indptr) - 1
    if len(indices) > CHUNK:
        xp = array_module(indices)
        transposed_indptr, transposed_indices = _count(indices, n), xp.empty_like(indices)
        for positions, numbers in _group_in_chunks(indices, transposed_indptr):
            transposed_indices[positions] = xp.searchsorted(indptr, numbers, side="right") - 1
        return transposed_indptr, transposed_indices
    packed_keys = _pack_keys(indices, owners(indptr, indices), n)
    packed_keys.sort()
    return _offsets(packed_keys, n), _lower_halves(packed_keys, indices.dtype)


def _count(keys: Array, n: int) -> Array:
    """Return the offsets (`indptr`) of adjacency lists in which a vertex has as many entries as it occurs in `keys`."""
    xp = array_module(keys)
    indptr = xp.zeros(n + 1, index_dtype(len(keys)))
    xp.cumsum(count_ids(keys, n), dtype=indptr.dtype, out=indptr[1:])
    return indptr


def _group_in_chunks(keys: Array, indptr: Array) -> Iterator[tuple[Array, Array]]:
    """Group the entries of `keys` by vertex, one chunk of `CHUNK` entries at a time.

    Yield two arrays for each chunk: the positions of its entries in the adjacency lists with offsets `indptr`, and the
    positions of the same entries in `keys`.
    """
    xp, n = array_module(keys), len(indptr) - 1
    # For each adjacency list, the position at which the next chunk appends its entries.
    list_ends = indptr[:-1].astype(np.int64)
    for chunk_start in range(0, len(keys), CHUNK):
        key_chunk = keys[chunk_start : chunk_start + CHUNK]
        packed_keys = _pack_keys(key_chunk, xp.arange(len(key_chunk), dtype=np.uint32), n)
        packed_keys.sort()
        starts, numbers = _offsets(packed_keys, n), _lower_halves(packed_keys, np.int64)
        del packed_keys
        positions = (list_ends - starts[:-1])[key_chunk[numbers]]
        positions += xp.arange(len(key_chunk))
        numbers += chunk_start
        list_ends += starts[1:] - starts[:-1]
        yield positions, numbers


def renumbered(indptr: Array, indices: Array, places: Array) -> tuple[Array, Array]:
    """Return the adjacency lists, as offsets and neighbors, of a graph in which vertex v gets the new id ``places[v]``.

    The neighbors in each list ascend.
    """
    n = len(indptr) - 1
    packed_keys = _pack_keys(places[owners(indptr, indices)], places[indices], n)
    packed_keys.sort()
    return _offsets(packed_keys, n), _lower_halves(packed_keys, indices.dtype)


def renumbered_positions(indptr: Array, indices: Array, places: Array) -> Array:
    """Return where each entry of adjacency lists comes from after `renumbered` has given vertices new ids.

    For each entry of the new adjacency lists, it is the entry's position in `indices`. So edge values can be permuted
    in the same way.
    """
    n = len(indptr) - 1
    _, rows, positions = group(places[indices], places[owners(indptr, indices)], n)
    return group(rows, positions, n)[1]


def owners(indptr: Array, indices: Array) -> Array:
    """Return, for each entry of `indices`, the vertex whose adjacency list has the entry."""
    xp = array_module(indptr)
    steps = xp.zeros(len(indices), indices.dtype)
    if not len(indices):  # handled apart, because CuPy's cumsum fails on empty arrays
        return steps
    # the vertices that have neighbors
    vertices = xp.flatnonzero(xp.greater(indptr[1:], indptr[:-1])).astype(indices.dtype)
    starts = indptr[vertices]
    vertices[1:] -= vertices[:-1].copy()
    steps[starts] = vertices
    return xp.cumsum(steps, dtype=indices.dtype)


def count_ids(ids: Array, n: int) -> Array:
    """Return for each id from 0 to n - 1 how often it occurs in `ids`."""
    xp = array_module(ids)
    # These two dtypes are among those for which CUDA has atomic additions, which `add.at` uses.
    counts = xp.zeros(n, np.int32 if len(ids) < 2**31 else np.uint64)
    # CuPy's bincount is not used, because it may take many bytes of memory per vertex and thread block
    xp.add.at(counts, ids, 1)
    return counts


def insertion_plan(places: Array, m: int) -> Array:
    """Return the argument `plan` of `insert_entries`, by which new entries are inserted into an array.

    For each of the m positions of the result it is the index of the last old entry at or before the position. `places`
    are the positions of the new entries.
    """
    xp = array_module(places)
    steps = xp.ones(m, np.int64)
    steps[places] = 0
    return xp.maximum(xp.cumsum(steps) - 1, 0)


def insert_entries(old: Array, plan: Array, places: Array, new: Array) -> Array:
    """Return an array with the entries `new` at the positions `places`, and the entries `old` in order everywhere else.

    `plan` is what `insertion_plan` returns for these positions.
    """
    result = old[plan] if len(old) else array_module(old).empty(len(plan), old.dtype)
    result[places] = new
    return result


class Properties:
    """Properties of adjacency lists, such as whether they are sorted. All are computed in one pass over the lists."""

    def __init__(self, indptr: Array, indices: Array) -> None:
        imbalance, falls, repeats, loops = _find_properties(indptr, indices)
        self.ascend, self.are_symmetric = not falls, not imbalance
        self.repeat, self.have_loops = bool(repeats), bool(loops)


def is_symmetric(indptr: Array, indices: Array, values: Array) -> bool:
    """Return whether each pair of vertices i, j has edges i -> j with the same values as its edges j -> i.

    Values are compared by their bits. The order of parallel edges makes no difference.
    """
    return not _find_properties(indptr, indices, values)[0]


def imbalance(indptr: Array, indices: Array, values: Array | None, first: int) -> int:
    """Return a sum of hashes of edges, by which symmetry is tested, for the adjacency lists from vertex `first` on.

    `gasla.graph.symmetry` describes the hashes. The sum over all adjacency lists is 0 if the graph is symmetric.
    """
    xp: Any = array_module(indptr)
    return _find_properties(xp.concatenate([xp.zeros(first, indptr.dtype), indptr]), indices, values)[0]


def source(offset_size: int, vertex_size: int, value_size: int) -> str:
    """Return the CUDA source of the kernel `find_properties`, which tests properties of adjacency lists.

    It is for offsets, vertex ids and values of the given sizes in bytes.
    """
    return _SOURCE.format(offset=C_TYPES[offset_size], vertex=C_TYPES[vertex_size], bits=C_TYPES[value_size])


def _find_properties(indptr: Array, indices: Array, values: Array | None = None) -> list[int]:
    """Test adjacency lists by one kernel, and return the four numbers of the CUDA struct `ListProperties`.

    They say how far the lists are from symmetric (0 if they are), and whether any list falls, repeats a neighbor or has
    a self loop.
    """
    import cupy

    n, m, facts = len(indptr) - 1, len(indices), cupy.zeros(len(_PROPERTIES), np.uint64)
    item_bytes = indptr.dtype.itemsize, indices.dtype.itemsize, 4 if values is None else values.dtype.itemsize
    blocks = max(1, min(-(-m // (_SLICE * _THREADS // 32)), 8 * multiprocessors()))
    bits = np.uint64(0) if values is None else values
    _kernel(*item_bytes, current_device()).plain(blocks, indptr, indices, bits, np.uint64(n), np.uint64(m), facts)
    return [int(fact) for fact in facts.tolist()]


@cache
def _kernel(offset_size: int, vertex_size: int, value_size: int, device: int) -> Kernel:
    return Kernel(source(offset_size, vertex_size, value_size), "find_properties", _THREADS)


def _pack_keys(upper: Array, lower: Array, n: int) -> Array:
    """Return unsigned 64-bit keys with a vertex in the upper 32 bits and another number in the lower 32 bits."""
    if max(n, len(upper)) >= 2**32:
        raise ValueError(f"{n} vertices and lists of {len(upper)} entries; on the GPU both must be below 2**32")
    packed_keys = upper.astype(np.uint64)
    packed_keys <<= 32
    packed_keys |= lower.astype(np.uint32, copy=False)
    return packed_keys


def _lower_halves(packed_keys: Array, dtype: Any) -> Array:
    """Return the lower 32 bits of each 64-bit key, such as the neighbor of an edge, converted to a dtype."""
    return packed_keys.view(np.uint32)[::2].astype(dtype)


def _offsets(packed_keys: Array, n: int) -> Array:
    """Return the offsets of adjacency lists, from sorted 64-bit keys with an entry's vertex in the upper 32 bits.

    For each of n vertices it is the position of the vertex's first key. The number of keys is at the end.
    """
    xp = array_module(packed_keys)
    starts = xp.arange(n + 1, dtype=np.uint64)
    starts <<= 32
    return xp.searchsorted(packed_keys, starts).astype(index_dtype(len(packed_keys)))
