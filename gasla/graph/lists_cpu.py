"""Neighbor lists on the CPU: group edges by vertex, transpose lists, test properties such as symmetry.

`lists_gpu` has the same functions for the GPU. Lists are ``indptr, indices`` and, if edge numbers differ from
positions, ``ids``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gasla.arrays import index_dtype
from gasla.once import once_property

Array = np.ndarray[Any, Any]

_CHUNK = 1 << 20
_FEW = 1 << 11  # vertices and edges below which NumPy is faster than SciPy, which also takes 0.1 s to import


def group(keys: Array, others: Array, n: int) -> tuple[Array, Array, Array]:
    """Return adjacency lists of `others` by key, each in the order of the input.

    Their ids are positions in the input.
    """
    from scipy.sparse import coo_array

    # `others` may be any ids: a number of columns takes no memory.
    coo = coo_array((_positions(len(keys)), (keys, others)), shape=(n, np.iinfo(others.dtype).max))
    coo.has_canonical_format = True  # keeps tocsr from summing parallel edges
    csr = coo.tocsr()
    return csr.indptr, csr.indices, csr.data


def transpose(indptr: Array, indices: Array, ids: Array | None = None) -> tuple[Array, Array, Array]:
    """Return the transposed lists, neighbors ascending in each (stable), with edge numbers."""
    n = len(indptr) - 1
    ids = _positions(len(indices)) if ids is None else ids
    if n + len(indices) < _FEW:
        order, ends = np.argsort(indices, kind="stable"), np.zeros(n + 1, np.promote_types(indptr.dtype, indices.dtype))
        np.cumsum(np.bincount(indices, minlength=n), out=ends[1:])
        return ends, owners(indptr, indices)[order], ids[order]

    from scipy.sparse import csr_array

    csc = csr_array((ids, indices, indptr), shape=(n, n)).tocsc()
    return csc.indptr, csc.indices.astype(indices.dtype, copy=False), csc.data


def transpose_pattern(indptr: Array, indices: Array) -> tuple[Array, Array]:
    """Return the transposed lists, without edge numbers."""
    return transpose(indptr, indices, np.zeros(len(indices), np.int8))[:2]


def owners(indptr: Array, indices: Array) -> Array:
    """Return for each entry the vertex in whose list it is."""
    return np.repeat(np.arange(len(indptr) - 1, dtype=indices.dtype), np.diff(indptr))


def count_ids(ids: Array, n: int) -> Array:
    """Count ids as np.bincount does, but by chunks, because it would convert all ids to int64 at once."""
    step = max(_CHUNK, n)
    counts = np.zeros(n, np.int64)
    for start in range(0, len(ids), step):
        counts += np.bincount(ids[start : start + step], minlength=n)
    return counts


def insertion_plan(places: Array, m: int) -> Array:
    """Return the argument `plan` of `insert_entries`: a mask of the old entries among m, given the new positions."""
    is_old = np.ones(m, bool)
    is_old[places] = False
    return is_old


def insert_entries(old: Array, plan: Array, places: Array, new: Array) -> Array:
    """Return an array with the new entries at `places`, and the old ones in their order at all other positions."""
    result = np.empty(len(plan), old.dtype)
    result[plan] = old
    result[places] = new
    return result


class Properties:
    """Properties of lists, each computed at first use."""

    def __init__(self, indptr: Array, indices: Array) -> None:
        self._lists = indptr, indices

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()  # other threads may add to it while it is pickled

    @once_property
    def ascend(self) -> bool:
        """Whether every list ascends."""
        return ascends_within(*self._lists)

    @once_property
    def repeat(self) -> bool:
        """Whether any list holds a neighbor twice, given that all lists ascend."""
        return not ascends_within(*self._lists, strictly=True)

    @once_property
    def have_loops(self) -> bool:
        """Whether any vertex is in its own list."""
        return has_self_loops(*self._lists)

    @once_property
    def are_symmetric(self) -> bool:
        """Whether j is in i's list as often as i in j's, for all i and j."""
        return is_symmetric(*self._lists)


def ascends_within(indptr: Array, indices: Array, strictly: bool = False) -> bool:
    """Return whether every list ascends: indices may decrease only where a new list starts."""
    last, fall = len(indices) - 1, np.less_equal if strictly else np.less
    for start in range(0, last, _CHUNK):  # by chunks: a mask of all edges would take more memory than a search
        stop = min(start + _CHUNK, last)
        falls = fall(indices[start + 1 : stop + 1], indices[start:stop])
        first, end = np.searchsorted(indptr, np.array((start + 1, stop + 1), indptr.dtype))  # else indptr is converted
        falls[indptr[first:end] - (start + 1)] = False
        if falls.any():
            return False
    return True


def has_self_loops(indptr: Array, indices: Array) -> bool:
    """Return whether any vertex is in its own list."""
    return any(
        bool(np.any(np.repeat(np.arange(a, b), np.diff(indptr[a : b + 1])) == indices[s:e]))
        for a, b, s, e in _row_blocks(indptr)
    )


def is_symmetric(indptr: Array, indices: Array, values: Array | None = None) -> bool:
    """Return whether j is in i's list as often as i in j's, for all i and j. With values, this holds for each value."""
    from gasla.graph import symmetry

    return symmetry.is_symmetric(indptr, indices, values)


def imbalance(indptr: Array, indices: Array, values: Array | None, first: int) -> int:
    """Return `gasla.graph.symmetry.imbalance` of the lists of the vertices from `first` on."""
    from gasla.graph import symmetry

    return symmetry.imbalance(indptr, indices, values, first)


def _positions(m: int) -> Array:
    return np.arange(m, dtype=index_dtype(m))


def _row_blocks(indptr: Array) -> Iterator[tuple[int, int, int, int]]:
    """Split the lists into blocks of about _CHUNK entries. Yield first and end vertex, first and end position."""
    cuts = np.searchsorted(indptr, np.arange(0, int(indptr[-1]), _CHUNK), side="right") - 1
    bounds = np.unique(np.append(cuts, len(indptr) - 1)) if len(cuts) else np.zeros(0, np.int64)
    for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist()):
        yield a, b, int(indptr[a]), int(indptr[b])
