"""Kernels for products of sparse matrices that no semiring changes: checks, sizes, and columns put in order.

Stamps tell which columns a row has met: ``stamps[j]`` is the row's number from 1 on, and less than 0 by as much where
column j is left out. So nothing is cleared between rows, and columns that nobody asks about are never touched.
"""

# mypy: disable-error-code="no-untyped-def"
import numpy as np

from gasla.cpu.runtime.blocks import block_size, entry_point, jit
from gasla.cpu.runtime.intrinsics import count_trailing_zeros, fetch_add
from gasla.cpu.runtime.threads import STOP, TICKET, launched

FEW = 32  # columns up to which each finds its place by comparison with all others
_ONE, _SIX = np.uint64(1), np.uint64(6)
_BITS = np.uint64(63)
_PACKED = np.uint64(8)  # a bitmap is read word by word where there is a column for so many words

__all__ = ["block_size", "check", "count", "in_order", "measure"]


@entry_point
def check(thread, threads, control, indptr, indices, width, block):
    """Set the stop flag where rows or columns of a matrix are outside it."""
    if launched(thread, threads, control):
        return
    rows, bound, stored = np.uint64(len(indptr) - 1), np.uint64(width), np.uint64(len(indices))
    while True:
        start = np.uint64(fetch_add(control, TICKET, 1)) * block
        if start >= rows or control[STOP] != 0:
            return
        for i in range(start, min(start + block, rows)):
            first, last = np.uint64(indptr[i]), np.uint64(indptr[i + _ONE])
            if first > last or last > stored:
                control[STOP] = 1
                return
            most = np.uint64(0)
            for e in range(first, last):
                most = max(most, np.uint64(indices[e]))
            if most >= bound and first < last:
                control[STOP] = 1
                return


@entry_point
def measure(thread, threads, control, indptr, indices, other, mask, steps, block):
    """How many products each row takes; none where a mask has no entry in it. `other` is indptr of B."""
    if launched(thread, threads, control):
        return
    rows = np.uint64(len(indptr) - 1)
    while True:
        start = np.uint64(fetch_add(control, TICKET, 1)) * block
        if start >= rows or control[STOP] != 0:
            return
        for i in range(start, min(start + block, rows)):
            found = np.int64(0)
            if mask is None or mask[i] < mask[i + _ONE]:
                for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + _ONE])):
                    k = np.uint64(indices[e])
                    found += np.int64(other[k + _ONE]) - np.int64(other[k])
            steps[i] = found


@entry_point
def count(
    thread, threads, control, bounds, indptr, indices, other_indptr, other_indices,
    mask_indptr, mask_indices, all_stamps, counts,
):  # fmt: skip
    """How many columns each row of a product has, without those of a mask, if there is one."""
    if launched(thread, threads, control):
        return
    parts, stamps = np.uint64(len(bounds) - 1), all_stamps[thread]
    while True:
        part = np.uint64(fetch_add(control, TICKET, 1))
        if part >= parts or control[STOP] != 0:
            return
        for i in range(np.uint64(bounds[part]), np.uint64(bounds[part + _ONE])):
            stamp, found = stamps.dtype.type(i + _ONE), np.int64(0)
            if mask_indptr is not None:
                leave_out(stamps, stamp, mask_indptr, mask_indices, i)
            for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + _ONE])):
                k = np.uint64(indices[e])
                for t in range(np.uint64(other_indptr[k]), np.uint64(other_indptr[k + _ONE])):
                    j = np.uint64(other_indices[t])
                    old = stamps[j]
                    if mask_indptr is None:
                        found += np.int64(old != stamp)
                        stamps[j] = stamp
                    else:
                        found += np.int64(abs(old) != stamp)
                        stamps[j] = old if old == -stamp else stamp
            counts[i] = found


@jit
def leave_out(stamps, stamp, indptr, indices, i):
    """Mark the columns of row i of a mask."""
    for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + _ONE])):
        stamps[np.uint64(indices[e])] = -stamp


@jit
def in_order(columns, found, indices, start, bits, tops):
    """Write so many different columns to `indices` from a place on, ascending. Both bitmaps are 0 before and after.

    A bit of `bits` stands for a column, one of `tops` for a word of `bits`.
    """
    if found <= np.uint64(FEW):
        for a in range(found):
            column, place = columns[a], start
            for b in range(found):
                place += np.uint64(columns[b] < column)
            indices[place] = column
        return
    low = high = np.uint64(columns[np.uint64(0)])
    for a in range(found):
        column = np.uint64(columns[a])
        bits[column >> _SIX] |= _ONE << (column & _BITS)
        low, high = min(low, column), max(high, column)
    low, high = low >> _SIX, high >> _SIX
    if found * _PACKED > high - low:
        for w in range(low, high + _ONE):
            start = _unpacked(bits, w, indices, start)
        return
    for a in range(found):
        word = np.uint64(columns[a]) >> _SIX
        tops[word >> _SIX] |= _ONE << (word & _BITS)
    for h in range(low >> _SIX, (high >> _SIX) + _ONE):
        top = tops[h]
        tops[h] = np.uint64(0)
        while top != np.uint64(0):
            start = _unpacked(bits, (h << _SIX) + count_trailing_zeros(top), indices, start)
            top &= top - _ONE


@jit
def _unpacked(bits, w, indices, start):
    """Write the columns of a word of bits, and clear it; where the next one goes."""
    word = bits[w]
    bits[w] = np.uint64(0)
    while word != np.uint64(0):
        indices[start] = (w << _SIX) + count_trailing_zeros(word)
        start += _ONE
        word &= word - _ONE
    return start
