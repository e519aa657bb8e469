"""Kernels for products of sparse matrices that are the same for all semirings: checks, sizes of rows, sorting of
columns.

A stamp records, for each column, the last row that has an entry there. While row i is computed, ``stamps[j]`` is i + 1
if the row already has column j, and -(i + 1) if the mask leaves out column j. So no stamps need to be cleared between
rows.

Parameters of the kernels
-------------------------
thread, threads :
    number of this thread, from 0, and number of all threads
control :
    words by which threads take rows, and see that the run was interrupted
bounds :
    (parts + 1,) the first row of each part of the rows, where a thread takes one part at a time
indptr, indices :
    (rows + 1,) offsets and (entries,) columns of the matrix A in CSR form
width, grain :
    number of columns of the matrix, and number of rows that a thread takes at a time
other :
    offsets of the matrix B in CSR form
other_indptr, other_indices :
    offsets and columns of the matrix B in CSR form
mask :
    offsets of the mask in CSR form, or None
mask_indptr, mask_indices :
    offsets and columns of the mask whose entries are left out, in CSR form, or None
steps :
    (rows,) int64, the number of products of each row, which is written
counts :
    (rows,) int64, the number of entries of each row of the result, which is written
all_stamps :
    (threads, columns of B) integers, the stamps of each thread
most :
    largest number of entries of the result, above which the kernel stops
"""

# mypy: disable-error-code="no-untyped-def"
import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.kernels.searches import first_not_less
from gasla.cpu.runtime import simd4
from gasla.cpu.runtime.intrinsics import count_trailing_zeros, fetch_add_relaxed, take_marks
from gasla.cpu.runtime.threads import PROGRESS, TICKET, is_stopped, stop_run

FEW = 32  # if there are at most this many columns, they are sorted by comparing each column with all others
_ONE, _SIX = np.uint64(1), np.uint64(6)
_FOUR, _BITS = np.uint64(4), np.uint64(63)
# marked columns are collected by reading all spans (of 64 columns each), if there are fewer than this many spans for
# each marked column
_PACKED = np.uint64(8)


@compiled
def check(thread, threads, control, indptr, indices, width, grain):
    """Check the offsets and columns of a matrix in CSR form, and set the stop flag if one of them is out of range."""
    rows, bound, stored = np.uint64(len(indptr) - 1), np.uint64(width), np.uint64(len(indices))
    while True:
        start = np.uint64(fetch_add_relaxed(control, TICKET, 1)) * grain
        if start >= rows or is_stopped(control):
            return
        end = min(start + grain, rows)
        first, last, wrong = np.uint64(indptr[start]), np.uint64(indptr[end]), False
        for i in range(start, end):
            wrong |= indptr[i] > indptr[i + _ONE]
        if wrong or first > last or last > stored:
            stop_run(control)
            return
        for e in range(first, last):
            wrong |= np.uint64(indices[e]) >= bound
        if wrong:
            stop_run(control)
            return


@compiled
def ascend(thread, threads, control, indptr, indices, grain):
    """Check whether the columns of each row of a matrix strictly ascend, and set the stop flag if they do not in some
    row.
    """
    rows = np.uint64(len(indptr) - 1)
    while True:
        start = np.uint64(fetch_add_relaxed(control, TICKET, 1)) * grain
        if start >= rows or is_stopped(control):
            return
        wrong = False
        for i in range(start, min(start + grain, rows)):
            for e in range(np.uint64(indptr[i]) + _ONE, np.uint64(indptr[i + _ONE])):
                wrong |= indices[e - _ONE] >= indices[e]
        if wrong:
            stop_run(control)


@compiled
def place_of(indices, low, high, column):
    """Return the position of a column among the ascending columns at positions `low` to `high` of `indices`, by
    bisection.

    Return `high` if the column is not among them.
    """
    place = first_not_less(indices, low, high, column)
    return place if place < high and indices[place] == column else high


@compiled
def measure(thread, threads, control, indptr, indices, other, mask, steps, grain):
    """Count the products of two entries that each row of the result needs, as an estimate of the work for the row.

    A row without entries in the mask needs no product. `other` has the offsets of the matrix B.
    """
    rows = np.uint64(len(indptr) - 1)
    while True:
        start = np.uint64(fetch_add_relaxed(control, TICKET, 1)) * grain
        if start >= rows or is_stopped(control):
            return
        for i in range(start, min(start + grain, rows)):
            count = np.int64(0)
            if mask is None or mask[i] < mask[i + _ONE]:
                for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + _ONE])):
                    k = np.uint64(indices[e])
                    count += np.int64(other[k + _ONE]) - np.int64(other[k])
            steps[i] = count


@compiled
def count(
    thread, threads, control, bounds, indptr, indices, other_indptr, other_indices,
    mask_indptr, mask_indices, all_stamps, counts, most,
):  # fmt: skip
    """Count the entries of each row of a product of two sparse matrices, without computing their values.

    Columns that the mask has in a row, if there is a mask, are left out. The stop flag is set once there are more than
    `most` entries.
    """
    parts, stamps = np.uint64(len(bounds) - 1), all_stamps[thread]
    while True:
        part = np.uint64(fetch_add_relaxed(control, TICKET, 1))
        if part >= parts or is_stopped(control):
            return
        total = np.int64(0)
        for i in range(np.uint64(bounds[part]), np.uint64(bounds[part + _ONE])):
            stamp, entries = stamps.dtype.type(i + _ONE), np.int64(0)
            if mask_indptr is not None:
                leave_out(stamps, stamp, mask_indptr, mask_indices, i)
            for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + _ONE])):
                k = np.uint64(indices[e])
                for t in range(np.uint64(other_indptr[k]), np.uint64(other_indptr[k + _ONE])):
                    j = np.uint64(other_indices[t])
                    old = stamps[j]
                    if mask_indptr is None:
                        entries += np.int64(old != stamp)
                        stamps[j] = stamp
                    else:
                        entries += np.int64(abs(old) != stamp)
                        stamps[j] = old if old == -stamp else stamp
            counts[i] = entries
            total += entries
        if fetch_add_relaxed(control, PROGRESS, total) + total > most:
            stop_run(control)


@compiled
def leave_out(stamps, stamp, indptr, indices, i):
    """Stamp the columns that row i of a mask has, so that row i of the product leaves these columns out.

    ``stamps[j]`` is set to `stamp` for each such column j, where `stamp` is a number that stands for row i.
    """
    for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + _ONE])):
        stamps[np.uint64(indices[e])] = -stamp


@compiled
def in_order(columns, count, indices, start, marks, spans):
    """Sort the first `count` entries of `columns`, which are all different, and write them to `indices` from `start`
    on.

    `marks` has a byte for each column of the matrix, and `spans` a byte for each 64 columns. All of these bytes are 0
    before and after.
    """
    if count <= np.uint64(FEW):
        zero, one = simd4.spread(columns.dtype.type(0)), simd4.spread(columns.dtype.type(1))
        for a in range(np.uint64(0), count, _FOUR):
            mine = simd4.load(columns, a)
            places = simd4.spread(columns.dtype.type(0))
            for b in range(count):
                places += simd4.where(columns[b] < mine, one, zero)
            for _ in range(min(_FOUR, count - a)):
                indices[start + np.uint64(simd4.first(places))] = simd4.first(mine)
                places, mine = simd4.turned(places), simd4.turned(mine)
        return
    low = high = np.uint64(columns[np.uint64(0)])
    for a in range(count):
        column = np.uint64(columns[a])
        marks[column] = 1
        low, high = min(low, column), max(high, column)
    low, high = low >> _SIX, high >> _SIX
    if count * _PACKED > high - low:
        for span in range(low, high + _ONE):
            start = _unpack(marks, span, indices, start)
        return
    for a in range(count):
        spans[np.uint64(columns[a]) >> _SIX] = 1
    for group in range(low >> _SIX, (high >> _SIX) + _ONE):
        word = take_marks(spans, group << _SIX)
        while word != np.uint64(0):
            start = _unpack(marks, (group << _SIX) + count_trailing_zeros(word), indices, start)
            word &= word - _ONE


@compiled
def gather_marks(marks, width, indices, start):
    """Write all columns whose byte in `marks` is set to `indices`, in ascending order from `start` on, and clear the
    bytes.

    `width` is the number of columns of the matrix.
    """
    for span in range((np.uint64(width) + _BITS) >> _SIX):
        start = _unpack(marks, span, indices, start)


@compiled
def _unpack(marks, span, indices, start):
    """Write the marked columns of one span (64 columns) to `indices` from `start` on, in ascending order, and clear the
    marks.

    Return the next position.
    """
    word = take_marks(marks, span << _SIX)
    while word != np.uint64(0):
        indices[start] = (span << _SIX) + count_trailing_zeros(word)
        start += _ONE
        word &= word - _ONE
    return start
