"""Finds the k largest entries of each row on the GPU: sorts by row, value and column, and takes each row's last k."""

from __future__ import annotations

from typing import Any

from gasla.arrays import array_module
from gasla.graph.lists_gpu import owners

Array = Any  # an array of CuPy or NumPy


def top_k(indptr: Array, indices: Array, values: Array, k: int) -> tuple[Array, Array]:
    """Return the columns and values of the k largest entries of each row of a sparse matrix, in descending order.

    A row of fewer entries is padded with column -1 and value 0. Of equal values, the smallest columns come first.
    """
    xp: Any = array_module(values)
    stored = int(indptr[-1])
    indices, values = indices[:stored], values[:stored]
    # All sorts are stable. So of equal values in a row, the smallest column comes last, where the k entries are taken
    # from.
    order = xp.argsort(-indices, kind="stable")
    order = order[xp.argsort(values[order], kind="stable")]
    order = order[xp.argsort(owners(indptr, indices)[order], kind="stable")]
    positions = indptr[1:, None] - 1 - xp.arange(k, dtype=indptr.dtype)
    has_entry = positions >= indptr[:-1, None]
    if not stored:
        return xp.full(positions.shape, -1, indices.dtype), xp.zeros(positions.shape, values.dtype)
    chosen = order[xp.where(has_entry, positions, 0)]
    columns, largest_values = xp.where(has_entry, indices[chosen], -1), xp.where(has_entry, values[chosen], 0)
    return columns.astype(indices.dtype, copy=False), largest_values.astype(values.dtype, copy=False)
