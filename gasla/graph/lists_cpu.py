"""Adjacency lists on the CPU: group edges by vertex, transpose lists, test properties such as symmetry.

`lists_gpu` has the same functions for the GPU. Adjacency lists are the arrays ``indptr, indices`` of CSR. Where the
number of an edge is not its position in `indices`, an array ``ids`` has the edge numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gasla.arrays import index_dtype
from gasla.once import once_property

Array = np.ndarray[Any, Any]

_CHUNK = 1 << 20
# With fewer vertices and edges than this, NumPy is used: it is faster than SciPy, whose import also takes 0.1 s.
_FEW = 1 << 11


def group(keys: Array, others: Array, n: int) -> tuple[Array, Array, Array]:
    """Return adjacency lists of n vertices, built from edges in any order: their offsets, entries and edge numbers.

    Edge k puts ``others[k]`` into the list of the vertex ``keys[k]``. Within each list, edges keep the order of the
    input. The number of an edge is its position in the input.
    """
    from scipy.sparse import coo_array

    # The matrix gets as many columns as the dtype of `others` can number, so any id is valid. Columns take no memory.
    coo = coo_array((_positions(len(keys)), (keys, others)), shape=(n, np.iinfo(others.dtype).max))
    # tells SciPy that there are no duplicate entries, which prevents tocsr from summing parallel edges
    coo.has_canonical_format = True
    csr = coo.tocsr()
    return csr.indptr, csr.indices, csr.data


def transpose(indptr: Array, indices: Array, ids: Array | None = None) -> tuple[Array, Array, Array]:
    """Return the adjacency lists of the opposite direction as offsets, neighbors and edge numbers.

    If the given lists are of out-neighbors, the result is of in-neighbors. The neighbors in each list ascend, and
    parallel edges keep their order.
    """
    n = len(indptr) - 1
    ids = _positions(len(indices)) if ids is None else ids
    if n + len(indices) < _FEW:
        order, list_offsets = (
            np.argsort(indices, kind="stable"),
            np.zeros(n + 1, np.promote_types(indptr.dtype, indices.dtype)),
        )
        np.cumsum(np.bincount(indices, minlength=n), out=list_offsets[1:])
        return list_offsets, owners(indptr, indices)[order], ids[order]

    from scipy.sparse import csr_array

    csc = csr_array((ids, indices, indptr), shape=(n, n)).tocsc()
    return csc.indptr, csc.indices.astype(indices.dtype, copy=False), csc.data


def transpose_pattern(indptr: Array, indices: Array) -> tuple[Array, Array]:
    """Return the adjacency lists of the opposite direction as offsets and neighbors, without edge numbers."""
    return transpose(indptr, indices, np.zeros(len(indices), np.int8))[:2]


def owners(indptr: Array, indices: Array) -> Array:
    """Return, for each entry of `indices`, the vertex whose adjacency list has the entry."""
    return np.repeat(np.arange(len(indptr) - 1, dtype=indices.dtype), np.diff(indptr))


def count_ids(ids: Array, n: int) -> Array:
    """Return for each id from 0 to n - 1 how often it occurs in `ids`.

    The ids are counted in chunks, because `np.bincount` would convert all of them to int64 at once.
    """
    step = max(_CHUNK, n)
    counts = np.zeros(n, np.int64)
    for start in range(0, len(ids), step):
        counts += np.bincount(ids[start : start + step], minlength=n)
    return counts


def insertion_plan(places: Array, m: int) -> Array:
    """Return the argument `plan` of `insert_entries`, by which new entries are inserted into an array.

    It is a mask of the m positions of the result: False for the positions `places` of the new entries, and True for
    those of the old entries.
    """
    is_old = np.ones(m, bool)
    is_old[places] = False
    return is_old


def insert_entries(old: Array, plan: Array, places: Array, new: Array) -> Array:
    """Return an array with the entries `new` at the positions `places`, and the entries `old` in order everywhere else.

    `plan` is what `insertion_plan` returns for these positions.
    """
    result = np.empty(len(plan), old.dtype)
    result[plan] = old
    result[places] = new
    return result


class Properties:
    """Properties of adjacency lists, such as whether they are sorted. Each is computed at first use."""

    def __init__(self, indptr: Array, indices: Array) -> None:
        self._lists = indptr, indices

    def __getstate__(self) -> dict[str, Any]:
        # a copy, because other threads may add cached properties while the object is pickled
        return self.__dict__.copy()

    @once_property
    def ascend(self) -> bool:
        """Whether every adjacency list is sorted in ascending order."""
        return ascends_within(*self._lists)

    @once_property
    def repeat(self) -> bool:
        """Whether any adjacency list has a neighbor twice. This is correct only if all lists ascend."""
        return not ascends_within(*self._lists, strictly=True)

    @once_property
    def have_loops(self) -> bool:
        """Whether any vertex is its own neighbor, that is, has a self loop."""
        return has_self_loops(*self._lists)

    @once_property
    def are_symmetric(self) -> bool:
        """Whether vertex j is in the adjacency list of i as often as i is in the list of j, for all i and j."""
        return is_symmetric(*self._lists)


def ascends_within(indptr: Array, indices: Array, strictly: bool = False) -> bool:
    """Return whether the entries of every adjacency list ascend (or `strictly`, without equal entries).

    So entries may decrease only where the list of another vertex starts.
    """
    pair_count, fall = len(indices) - 1, np.less_equal if strictly else np.less
    # The entries are compared in chunks, because a mask for all of them would take more memory than a search on the
    # graph.
    for start in range(0, pair_count, _CHUNK):
        chunk_end = min(start + _CHUNK, pair_count)
        falls = fall(indices[start + 1 : chunk_end + 1], indices[start:chunk_end])
        # The numbers searched for have the dtype of indptr. Otherwise NumPy would convert the whole array indptr.
        first_row, end = np.searchsorted(indptr, np.array((start + 1, chunk_end + 1), indptr.dtype))
        falls[indptr[first_row:end] - (start + 1)] = False
        if falls.any():
            return False
    return True


def has_self_loops(indptr: Array, indices: Array) -> bool:
    """Return whether any vertex is its own neighbor, that is, has a self loop."""
    return any(
        bool(
            np.any(
                np.repeat(np.arange(first_vertex, end_vertex), np.diff(indptr[first_vertex : end_vertex + 1]))
                == indices[entry_start:end]
            )
        )
        for first_vertex, end_vertex, entry_start, end in _row_blocks(indptr)
    )


def is_symmetric(indptr: Array, indices: Array, values: Array | None = None) -> bool:
    """Return whether vertex j is in the adjacency list of i as often as i is in the list of j, for all i and j.

    With edge `values`, the same must hold for the edges of each single value.
    """
    from gasla.graph import symmetry

    return symmetry.is_symmetric(indptr, indices, values)


def imbalance(indptr: Array, indices: Array, values: Array | None, first: int) -> int:
    """Return a sum of hashes of edges, by which symmetry is tested, for the adjacency lists from vertex `first` on.

    `gasla.graph.symmetry` describes the hashes. The sum over all adjacency lists is 0 if the graph is symmetric.
    """
    from gasla.graph import symmetry

    return symmetry.imbalance(indptr, indices, values, first)


def _positions(m: int) -> Array:
    return np.arange(m, dtype=index_dtype(m))


def _row_blocks(indptr: Array) -> Iterator[tuple[int, int, int, int]]:
    """Split the adjacency lists of a graph into blocks of consecutive vertices with about _CHUNK edges each.

    Yield for each block the first vertex, the vertex after the last, the first position in the array of neighbors, and
    the position after the last.
    """
    cuts = np.searchsorted(indptr, np.arange(0, int(indptr[-1]), _CHUNK), side="right") - 1
    bounds = np.unique(np.append(cuts, len(indptr) - 1)) if len(cuts) else np.zeros(0, np.int64)
    for first_vertex, end_vertex in zip(bounds[:-1].tolist(), bounds[1:].tolist()):
        yield first_vertex, end_vertex, int(indptr[first_vertex]), int(indptr[end_vertex])
