"""The k largest entries of each row, on the GPU: entries are sorted by row, value and column, and rows' ends taken."""

from __future__ import annotations

from typing import Any

from gasla.arrays import array_module
from gasla.graph.lists_gpu import owners

Array = Any  # CuPy's; on NumPy's it does the same


def top_k(indptr: Array, indices: Array, values: Array, k: int) -> tuple[Array, Array]:
    """Columns and values of the k best of each row, the best first; -1 and 0 where there are no more."""
    xp: Any = array_module(values)
    stored = int(indptr[-1])
    indices, values = indices[:stored], values[:stored]
    order = xp.argsort(-indices, kind="stable")  # sorts keep the order of equals: the last of them is the smallest
    order = order[xp.argsort(values[order], kind="stable")]
    order = order[xp.argsort(owners(indptr, indices)[order], kind="stable")]
    places = indptr[1:, None] - 1 - xp.arange(k, dtype=indptr.dtype)
    there = places >= indptr[:-1, None]
    if not stored:
        return xp.full(places.shape, -1, indices.dtype), xp.zeros(places.shape, values.dtype)
    chosen = order[xp.where(there, places, 0)]
    columns, best = xp.where(there, indices[chosen], -1), xp.where(there, values[chosen], 0)
    return columns.astype(indices.dtype, copy=False), best.astype(values.dtype, copy=False)
