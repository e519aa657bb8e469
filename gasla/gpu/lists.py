"""Neighbour lists on the GPU: the functions of ``gasla.cpu.lists``, as whole-array operations of CuPy.

Lists come from sorting: an edge becomes one 64-bit key, the vertex to group by in its upper half and in its lower half
the position or the other end, and CuPy sorts such keys by radix. Only operations that NumPy has too are used, so the
same functions run on NumPy arrays, which is how they are tested where there is no GPU. Arrays meet numbers,
and are compared, in functions: for operators CuPy asks NumPy, and imports SciPy to answer it, half a second.

Memory: keys take 8 bytes an edge and their sort as much again. A build therefore needs at most 16 bytes an edge besides
its input and, with the 4 bytes an edge of owners, up to 20; ``is_symmetric`` of lists that do not ascend needs 24, and
``Graph.both``, whose lists have two entries an edge, 48. A build moves about 200 bytes an edge, most of them in the
sort, whose eight passes read and write the keys. With int64 ids (2**31 vertices and more) the owners take 8 bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.arrays import any_true, array_module

Array = np.ndarray[Any, Any]  # NumPy's or CuPy's


def group(keys: Array, others: Array, n: int) -> tuple[Array, Array, Array]:
    """Lists of `others` by key, each in the order of the input; ids are positions in the input."""
    m = len(keys)
    packed = _packed(keys, array_module(keys).arange(m, dtype=np.uint32), n)
    packed.sort()
    ids = _lower(packed, _offset_dtype(m))
    indptr = _offsets(packed, n)
    del packed
    return indptr, others[ids], ids


def transpose(indptr: Array, indices: Array, ids: Array | None = None) -> tuple[Array, Array, Array]:
    """The lists turned round, neighbours ascending in each (stable); edge numbers go along."""
    indptr, turned_indices, positions = group(indices, owners(indptr, indices), len(indptr) - 1)
    return indptr, turned_indices, positions if ids is None else ids[positions]


def turned(indptr: Array, indices: Array) -> tuple[Array, Array]:
    """The same without edge numbers."""
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


def ascends_within(indptr: Array, indices: Array, strictly: bool = False) -> bool:
    """Whether every list ascends: a fall is allowed only where a new list starts."""
    xp = array_module(indptr)
    falls = (xp.less_equal if strictly else xp.less)(indices[1:], indices[:-1])
    starts = indptr[xp.greater(indptr, 0) & xp.less(indptr, len(indices))]
    falls[xp.subtract(starts, 1)] = False
    return not any_true(falls)


def has_self_loops(indptr: Array, indices: Array) -> bool:
    """Whether any vertex is in its own list."""
    return any_true(array_module(indptr).equal(owners(indptr, indices), indices))


def is_symmetric(indptr: Array, indices: Array) -> bool:
    """Whether j is in i's list as often as i in j's, for all i and j."""
    ends, n = owners(indptr, indices), len(indptr) - 1
    backward = _packed(indices, ends, n)
    backward.sort()
    forward = _packed(ends, indices, n)
    del ends
    if not ascends_within(indptr, indices):
        forward.sort()
    return not any_true(array_module(forward).not_equal(forward, backward))


def has_symmetric_values(indptr: Array, indices: Array, values: Array) -> bool:
    """Whether both directions carry the same values, bit by bit, of symmetric lists that ascend."""
    m = len(indices)
    packed = _packed(indices, array_module(indptr).arange(m, dtype=np.uint32), len(indptr) - 1)
    packed.sort()
    opposite = _lower(packed, _offset_dtype(m))  # turned round, symmetric lists are what they were
    del packed
    bits = values.view(f"u{values.dtype.itemsize}")
    return not any_true(array_module(bits).not_equal(bits[opposite], bits))


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
    return xp.searchsorted(packed, starts).astype(_offset_dtype(len(packed)))


def _offset_dtype(m: int) -> Any:
    return np.int32 if m < 2**31 else np.int64
