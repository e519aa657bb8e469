"""Select the k largest entries of each row of a sparse matrix, with a heap of the best entries so far.

The heap of a row lies in that row of the result, with the worst of its entries at the root. Of equal values, the one in
the smaller column is better.

Parameters of the kernels
-------------------------
thread, threads :
    index of this thread, from 0, and the number of threads of the run
control :
    (72,) int64 array that all threads of the run share: counters by which they take blocks of work and wait for each
    other, and the flag that stops the run
indptr, indices, values :
    (rows + 1,) offsets, (entries,) columns and (entries,) values of the matrix in CSR format
columns, best :
    (rows, k) ids and (rows, k) values, which are written: each row is a heap, and is sorted in the end
"""

# mypy: disable-error-code="no-untyped-def"
from typing import Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.runtime.blocks import blocks, run

Array = np.ndarray[Any, Any]

_ONE, _TWO = np.uint64(1), np.uint64(2)
_GRAIN = np.uint64(16)  # number of rows that a thread takes at once; small, because a single row may be long


def top_k(indptr: Array, indices: Array, values: Array, k: int) -> tuple[Array, Array]:
    """Return the columns and the values of the k largest entries of each row of a sparse matrix, in descending order.

    Rows with fewer entries are filled with column -1 and value 0.
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
            # the root of the heap is the worst entry; moving it to the end, again and again, sorts the entries, the
            # best one first
            while count > _ONE:
                count -= _ONE
                last, value = ids[count], heap[count]
                ids[count], heap[count] = ids[0], heap[0]
                _sink(ids, heap, count, last, value)


@compiled
def _is_worse(value, column, other, its_column):
    return value < other or (value == other and column > its_column)


@compiled
def _rise(ids, heap, at, column, value):
    """Add an entry (a column and a value) at position `at`, the end of a heap, and move it up until the one above is
    worse.
    """
    while at:
        parent = (at - _ONE) // _TWO
        if not _is_worse(value, column, heap[parent], ids[parent]):
            break
        ids[at], heap[at] = ids[parent], heap[parent]
        at = parent
    ids[at], heap[at] = column, value


@compiled
def _sink(ids, heap, count, column, value):
    """Replace the root of a heap of `count` entries by a new entry (a column and a value), and move it down to its
    place.
    """
    at, child = np.uint64(0), _ONE
    while child < count:
        if child + _ONE < count and _is_worse(heap[child + _ONE], ids[child + _ONE], heap[child], ids[child]):
            child += _ONE
        if not _is_worse(heap[child], ids[child], value, column):
            break
        ids[at], heap[at] = ids[child], heap[child]
        at, child = child, _TWO * child + _ONE
    ids[at], heap[at] = column, value
