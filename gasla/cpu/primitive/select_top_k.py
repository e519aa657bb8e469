"""The k largest entries of each row, by a heap of the best entries so far, the worst of them at its root.

The heap lies in the row of the result. Of equal values, the one with the smaller column is better.

Parameters of the kernels
-------------------------
thread, threads :
    number of this thread, from 0, and of all threads
control :
    words by which threads take blocks and see that the run is stopped
indptr, indices, values :
    (rows + 1,), (entries,) and (entries,) the matrix in CSR form
columns, best :
    (rows, k) ids and values that are written: each row is a heap, and is sorted at last
"""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.runtime.blocks import blocks, run

Array = np.ndarray[Any, Any]

_ONE, _TWO = np.uint64(1), np.uint64(2)
_GRAIN = np.uint64(16)  # rows that a thread takes at once: one may be long


def top_k(indptr: Array, indices: Array, values: Array, k: int) -> tuple[Array, Array]:
    """Return columns and values of the k best entries of each row, the best first.

    Rows with fewer end with -1 and 0.
    """
    rows = len(indptr) - 1
    columns, best = np.full((rows, k), -1, indices.dtype), np.zeros((rows, k), values.dtype)
    if k:
        run(_select, len(indices) + rows * k, indptr, indices, values, columns, best, most=len(indices) * k, loose=True)
    return columns, best


@compiled
def _select(thread, threads, control, indptr, indices, values, columns, best):
    k = np.uint64(columns.shape[1])
    for start, end in blocks(control, np.uint64(len(indptr) - 1), _GRAIN):
        for row in range(start, end):
            count, ids, heap = np.uint64(0), columns[row], best[row]
            for e in range(np.uint64(indptr[row]), np.uint64(indptr[row + _ONE])):
                if count < k:
                    _rise(ids, heap, count, indices[e], values[e])
                    count += _ONE
                elif _is_worse(heap[0], ids[0], values[e], indices[e]):
                    _sink(ids, heap, k, indices[e], values[e])
            while count > _ONE:  # move the worst entry to the end, so that the best comes first
                count -= _ONE
                last, value = ids[count], heap[count]
                ids[count], heap[count] = ids[0], heap[0]
                _sink(ids, heap, count, last, value)


@compiled
def _is_worse(value, column, other, its_column):
    return value < other or (value == other and column > its_column)


@compiled
def _rise(ids, heap, at, column, value):
    """Add an entry at the end of a heap, at position `at`, and move it up to its place."""
    while at:
        parent = (at - _ONE) // _TWO
        if not _is_worse(value, column, heap[parent], ids[parent]):
            break
        ids[at], heap[at] = ids[parent], heap[parent]
        at = parent
    ids[at], heap[at] = column, value


@compiled
def _sink(ids, heap, count, column, value):
    """Replace the root of a heap of `count` entries, and move the new entry down to its place."""
    at, child = np.uint64(0), _ONE
    while child < count:
        if child + _ONE < count and _is_worse(heap[child + _ONE], ids[child + _ONE], heap[child], ids[child]):
            child += _ONE
        if not _is_worse(heap[child], ids[child], value, column):
            break
        ids[at], heap[at] = ids[child], heap[child]
        at, child = child, _TWO * child + _ONE
    ids[at], heap[at] = column, value
