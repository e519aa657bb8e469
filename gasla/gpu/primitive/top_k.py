"""The k largest entries of each row on the GPU: sorts entries by row, value and column; takes each row's last k."""

from __future__ import annotations

from typing import Any

from gasla.arrays import array_module
from gasla.graph.lists_gpu import owners

Array = Any  # a CuPy array; works on NumPy's, too


def top_k(indptr: Array, indices: Array, values: Array, k: int) -> tuple[Array, Array]:
    """Return columns and values of each row's k largest entries, in descending order. Short rows end with -1 and 0."""
    xp: Any = array_module(values)
    stored = int(indptr[-1])
    indices, values = indices[:stored], values[:stored]
    order = xp.argsort(-indices, kind="stable")  # the sorts are stable: of equal values the smallest column comes last
    order = order[xp.argsort(values[order], kind="stable")]
    order = order[xp.argsort(owners(indptr, indices)[order], kind="stable")]
    places = indptr[1:, None] - 1 - xp.arange(k, dtype=indptr.dtype)
    there = places >= indptr[:-1, None]
    if not stored:
        return xp.full(places.shape, -1, indices.dtype), xp.zeros(places.shape, values.dtype)
    chosen = order[xp.where(there, places, 0)]
    columns, best = xp.where(there, indices[chosen], -1), xp.where(there, values[chosen], 0)
    return columns.astype(indices.dtype, copy=False), best.astype(values.dtype, copy=False)
