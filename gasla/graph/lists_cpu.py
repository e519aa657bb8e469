"""Neighbour lists on the CPU: grouping edges by vertex, turning lists round, and what can be told from lists.

`lists_gpu` has the same functions for the GPU. Lists are ``indptr, indices`` and, where edges are numbered
otherwise than by position, ``ids``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from gasla.arrays import index_dtype

Array = np.ndarray[Any, Any]

_CHUNK = 1 << 20


def group(keys: Array, others: Array, n: int) -> tuple[Array, Array, Array]:
    """Lists of `others` by key, each in the order of the input; ids are positions in the input."""
    from scipy.sparse import coo_array

    coo = coo_array((_positions(len(keys)), (keys, others)), shape=(n, n))
    coo.has_canonical_format = True  # keeps tocsr from summing parallel edges
    csr = coo.tocsr()
    return csr.indptr, csr.indices, csr.data


def transpose(indptr: Array, indices: Array, ids: Array | None = None) -> tuple[Array, Array, Array]:
    """The lists turned round, neighbours ascending in each (stable); edge numbers go along."""
    from scipy.sparse import csr_array

    n = len(indptr) - 1
    ids = _positions(len(indices)) if ids is None else ids
    csc = csr_array((ids, indices, indptr), shape=(n, n)).tocsc()
    return csc.indptr, csc.indices.astype(indices.dtype, copy=False), csc.data


def turned(indptr: Array, indices: Array) -> tuple[Array, Array]:
    """Lists turned round, without edge numbers."""
    return transpose(indptr, indices, np.zeros(len(indices), np.int8))[:2]


def owners(indptr: Array, indices: Array) -> Array:
    """The vertex whose list each position is in."""
    return np.repeat(np.arange(len(indptr) - 1, dtype=indices.dtype), np.diff(indptr))


def count_ids(ids: Array, n: int) -> Array:
    """np.bincount in pieces: it would otherwise convert all ids to int64 at once."""
    step = max(_CHUNK, n)
    counts = np.zeros(n, np.int64)
    for start in range(0, len(ids), step):
        counts += np.bincount(ids[start : start + step], minlength=n)
    return counts


def moves(places: Array, m: int) -> Array:
    """What `moved_up` goes by where entries at these of m places are new."""
    is_old = np.ones(m, bool)
    is_old[places] = False
    return is_old


def moved_up(old: Array, moves: Array, places: Array, new: Array) -> Array:
    """Old entries in their order around new ones at some places."""
    result = np.empty(len(moves), old.dtype)
    result[moves] = old
    result[places] = new
    return result


class Facts:
    """What is asked of lists; each is looked for when it is first asked."""

    def __init__(self, indptr: Array, indices: Array) -> None:
        self._lists = indptr, indices

    @cached_property
    def ascend(self) -> bool:
        """Whether every list ascends."""
        return ascends_within(*self._lists)

    @cached_property
    def repeat(self) -> bool:
        """Whether any list that ascends holds a neighbour twice."""
        return not ascends_within(*self._lists, strictly=True)

    @cached_property
    def have_loops(self) -> bool:
        """Whether any vertex is in its own list."""
        return has_self_loops(*self._lists)

    @cached_property
    def are_symmetric(self) -> bool:
        """Whether j is in i's list as often as i in j's, for all i and j."""
        return is_symmetric(*self._lists)


def ascends_within(indptr: Array, indices: Array, strictly: bool = False) -> bool:
    """Whether every list ascends: a fall is allowed only where a new list starts."""
    last = len(indices) - 1
    for start in range(0, last, _CHUNK):  # in pieces: a flag for every edge at once would outweigh a search's arrays
        stop = min(start + _CHUNK, last)
        fall = np.less_equal if strictly else np.less
        falls = np.flatnonzero(fall(indices[start + 1 : stop + 1], indices[start:stop])) + start + 1
        if not np.array_equal(indptr[np.searchsorted(indptr, falls)], falls):
            return False
    return True


def has_self_loops(indptr: Array, indices: Array) -> bool:
    """Whether any vertex is in its own list."""
    return any(
        bool(np.any(np.repeat(np.arange(a, b), np.diff(indptr[a : b + 1])) == indices[s:e]))
        for a, b, s, e in _row_blocks(indptr)
    )


def is_symmetric(indptr: Array, indices: Array, values: Array | None = None) -> bool:
    """Whether j is in i's list as often as i in j's, for all i and j; with values, as often with each."""
    from gasla.graph import symmetry

    return symmetry.is_symmetric(indptr, indices, values)


def _positions(m: int) -> Array:
    return np.arange(m, dtype=index_dtype(m))


def _row_blocks(indptr: Array) -> Iterator[tuple[int, int, int, int]]:
    """Cuts the lists into blocks of about _CHUNK entries: first and last vertex, first and last position."""
    cuts = np.searchsorted(indptr, np.arange(0, int(indptr[-1]), _CHUNK), side="right") - 1
    bounds = np.unique(np.append(cuts, len(indptr) - 1)) if len(cuts) else np.zeros(0, np.int64)
    for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist()):
        yield a, b, int(indptr[a]), int(indptr[b])
