"""Neighbour lists on the GPU: the functions of `lists_cpu`, as whole-array operations of CuPy.

Lists come from sorting: an edge becomes one 64-bit key, the vertex to group by in its upper half and in its lower half
the position or the other end, and CuPy sorts such keys by radix. Only operations that NumPy has too are used, so the
same functions run on NumPy arrays, which is how they are tested where there is no GPU. Arrays meet numbers,
and are compared, in functions: for operators CuPy asks NumPy, and imports SciPy to answer it, half a second.

Memory: keys take 8 bytes an edge and their sort as much again. A build therefore needs at most 16 bytes an edge besides
its input and, with the 4 bytes an edge of owners, up to 20; ``Graph.both``, whose lists have two entries an edge, 48. A
build moves about 200 bytes an edge, most of them in the sort, whose eight passes read and write the keys. With int64
ids (2**31 vertices and more) the owners take 8 bytes.

What is only asked of lists, such as whether they ascend, one kernel finds, all of it in one pass: as operations of
whole arrays that would be a dozen kernels, each of which CuPy compiles, a tenth of a second the first time.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from gasla.arrays import array_module, index_dtype
from gasla.gpu.runtime.compile import Kernel, device, multiprocessors

Array = np.ndarray[Any, Any]  # NumPy's or CuPy's

_THREADS = 256
_SLICE = 1024  # edges for a warp, as in kernels/primitive/lists.cuh
_FACTS = "imbalance", "falls", "repeats", "loops"  # `ListFacts` there
C_TYPES = {1: "unsigned char", 2: "unsigned short", 4: "int", 8: "long long"}  # by their bytes
_SOURCE = """
#include "lists.cuh"
extern "C" __global__ void find_facts(const {offset}* offsets, const {vertex}* indices, const {bits}* bits,
                                      gasla::u64 n, gasla::u64 m, gasla::ListFacts* found) {{
    gasla::find_list_facts(offsets, indices, bits, n, m, found);
}}
"""


def group(keys: Array, others: Array, n: int) -> tuple[Array, Array, Array]:
    """Lists of `others` by key, each in the order of the input; ids are positions in the input."""
    m = len(keys)
    packed = _packed(keys, array_module(keys).arange(m, dtype=np.uint32), n)
    packed.sort()
    ids = _lower(packed, index_dtype(m))
    indptr = _offsets(packed, n)
    del packed
    return indptr, others[ids], ids


def transpose(indptr: Array, indices: Array, ids: Array | None = None) -> tuple[Array, Array, Array]:
    """The lists turned round, neighbours ascending in each (stable); edge numbers go along."""
    indptr, turned_indices, positions = group(indices, owners(indptr, indices), len(indptr) - 1)
    return indptr, turned_indices, positions if ids is None else ids[positions]


def turned(indptr: Array, indices: Array) -> tuple[Array, Array]:
    """Lists turned round, without edge numbers."""
    n = len(indptr) - 1
    packed = _packed(indices, owners(indptr, indices), n)
    packed.sort()
    return _offsets(packed, n), _lower(packed, indices.dtype)


def renumbered(indptr: Array, indices: Array, places: Array) -> tuple[Array, Array]:
    """The lists with vertex v called `places[v]`, neighbours ascending in each."""
    n = len(indptr) - 1
    packed = _packed(places[owners(indptr, indices)], places[indices], n)
    packed.sort()
    return _offsets(packed, n), _lower(packed, indices.dtype)


def renumbered_positions(indptr: Array, indices: Array, places: Array) -> Array:
    """Where each entry of the `renumbered` lists was."""
    n = len(indptr) - 1
    _, rows, positions = group(places[indices], places[owners(indptr, indices)], n)
    return group(rows, positions, n)[1]


def owners(indptr: Array, indices: Array) -> Array:
    """The vertex whose list each position is in."""
    xp = array_module(indptr)
    steps = xp.zeros(len(indices), indices.dtype)
    if not len(indices):  # CuPy sums up no empty arrays
        return steps
    vertices = xp.flatnonzero(xp.greater(indptr[1:], indptr[:-1])).astype(indices.dtype)  # those with any
    starts = indptr[vertices]
    vertices[1:] -= vertices[:-1].copy()
    steps[starts] = vertices
    return xp.cumsum(steps, dtype=indices.dtype)


def count_ids(ids: Array, n: int) -> Array:
    """How often each id occurs."""
    xp = array_module(ids)
    counts = xp.zeros(n, np.int32 if len(ids) < 2**31 else np.uint64)  # types with atomics
    xp.add.at(counts, ids, 1)  # CuPy's bincount may take many bytes a vertex and block
    return counts


def moves(places: Array, m: int) -> Array:
    """What `moved_up` goes by where entries at these of m places are new: which old entry comes before or at each."""
    xp = array_module(places)
    steps = xp.ones(m, np.int64)
    steps[places] = 0
    return xp.maximum(xp.cumsum(steps) - 1, 0)


def moved_up(old: Array, moves: Array, places: Array, new: Array) -> Array:
    """Old entries in their order around new ones at some places."""
    result = old[moves] if len(old) else array_module(old).empty(len(moves), old.dtype)
    result[places] = new
    return result


class Facts:
    """What is asked of lists, by one pass over them."""

    def __init__(self, indptr: Array, indices: Array) -> None:
        imbalance, falls, repeats, loops = _find_facts(indptr, indices)
        self.ascend, self.repeat, self.have_loops, self.are_symmetric = not falls, repeats, loops, not imbalance


def is_symmetric(indptr: Array, indices: Array, values: Array) -> bool:
    """Whether all edges i -> j and all j -> i carry values of the same bits, in any order, for all i and j."""
    return not _find_facts(indptr, indices, values)[0]


def source(offset_size: int, vertex_size: int, value_size: int) -> str:
    """CUDA source of what finds facts of lists, for offsets, ids and values of so many bytes."""
    return _SOURCE.format(offset=C_TYPES[offset_size], vertex=C_TYPES[vertex_size], bits=C_TYPES[value_size])


def _find_facts(indptr: Array, indices: Array, values: Array | None = None) -> list[bool]:
    """The `_FACTS`, from one pass over the lists: see kernels/primitive/lists.cuh."""
    import cupy

    n, m, found = len(indptr) - 1, len(indices), cupy.zeros(len(_FACTS), np.uint64)
    sizes = indptr.dtype.itemsize, indices.dtype.itemsize, 4 if values is None else values.dtype.itemsize
    blocks = max(1, min(-(-m // (_SLICE * _THREADS // 32)), 8 * multiprocessors()))
    bits = np.uint64(0) if values is None else values
    _kernel(*sizes, device()).plain(blocks, indptr, indices, bits, np.uint64(n), np.uint64(m), found)
    return [bool(fact) for fact in found.tolist()]


@cache
def _kernel(offset_size: int, vertex_size: int, value_size: int, device: int) -> Kernel:
    return Kernel(source(offset_size, vertex_size, value_size), "find_facts", _THREADS)


def _packed(upper: Array, lower: Array, n: int) -> Array:
    """An unsigned 64-bit key of a vertex and another number."""
    if max(n, len(upper)) >= 2**32:
        raise ValueError(f"{n} vertices and lists of {len(upper)} entries; on the GPU both must be below 2**32")
    packed = upper.astype(np.uint64)
    packed <<= 32
    packed |= lower.astype(np.uint32, copy=False)
    return packed


def _lower(packed: Array, dtype: Any) -> Array:
    """The lower halves of keys."""
    return packed.view(np.uint32)[::2].astype(dtype)


def _offsets(packed: Array, n: int) -> Array:
    """Where each vertex's keys start among sorted ones."""
    xp = array_module(packed)
    starts = xp.arange(n + 1, dtype=np.uint64)
    starts <<= 32
    return xp.searchsorted(packed, starts).astype(index_dtype(len(packed)))
