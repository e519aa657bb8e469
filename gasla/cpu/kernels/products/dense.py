"""A product of a sparse matrix and a dense matrix `x`. Each row of the result has a total for each column of x.

Four entries of a row are added at a time, so that each total is read and written once for four products. LLVM
vectorizes the loop over columns. One thread reduces each total, in the order of the row's entries.

Parameters of the kernels
-------------------------
run :
    the record that declares the variables shared by all functions (`Rows`)
thread, threads :
    number of this thread, from 0, and number of all threads
control :
    words by which threads take rows, and see that the run was interrupted
columns :
    number of columns of `x` and of the result
width, chunk :
    number of columns of the sparse matrix, and number of rows that a thread takes at a time
complement :
    value of the mask at entries that are left out
indptr, indices :
    (rows + 1,) offsets and (entries,) columns of the sparse matrix in CSR form
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.compiler.template import Each, Record, known
from gasla.cpu.runtime.intrinsics import ONE, fetch_add_relaxed, leave, prefetch
from gasla.cpu.runtime.threads import TICKET, is_stopped, stop_run

if TYPE_CHECKING:
    from gasla.cpu.product.plans import DensePlan

FOUR = 4
AHEAD = 8  # rows of x are prefetched for the entry that is this many entries further on
SAMPLES = 8  # number of entries of a block of rows that decide whether rows of x are prefetched
# two rows of x that are at most this many items apart are likely to be in a cache together, so nothing is prefetched
NEAR = 1 << 15

plan: DensePlan = known()


class Rows(Record):
    """The variables that the functions of the kernel for products with dense matrices share.

    They are the arguments of the kernel, the current row, entry and column, and the semiring's functions.
    """

    bound: Any
    columns: Any
    complement: Any
    e: Any
    i: Any
    indices: Any
    indptr: Any
    is_far: Any
    j: Any
    line: Any
    mask: Any
    values: Any
    width: Any
    x: Any
    all_total: Each
    total: Each
    combine: Any
    product: Any
    merge: Any


@compiled
def multiply(run: Rows, thread, threads, control, columns, width, chunk, complement, indptr, indices, *arrays):
    """Multiply a sparse matrix by a dense matrix, `chunk` rows of the sparse matrix at a time, until no rows are left.

    If an offset or column of the matrix is out of range, set the stop flag, which the caller reports as an error.
    """
    rows = np.uint64(len(indptr) - 1)
    for p in plan.parts:
        run.total[p] = run.all_total[p][thread]
    while True:
        start = np.uint64(fetch_add_relaxed(control, TICKET, chunk))
        if start >= rows or is_stopped(control):
            return
        if not reduce_rows(run, start, min(start + np.uint64(chunk), rows), *run.local[plan.shared]):
            stop_run(control)
            return


@compiled
def reduce_rows(run: Rows, start, end, *shared):
    """Compute and store the rows of the result from `start` to `end`: the products of rows of the sparse matrix and x.

    Return False if an offset or column of the sparse matrix is out of range.
    """
    run.bound, stored = np.uint64(run.width), np.uint64(len(run.indices))
    if plan.reads("x"):
        run.is_far = reads_far(run, start, end, stored)
    for run.i in range(start, end):
        run.line = run.i * run.columns
        if plan.masked:
            wanted = False
            for run.j in range(run.columns):
                wanted |= run.mask[run.line + run.j] != run.complement
            if not wanted:
                continue
        run.e, last = np.uint64(run.indptr[run.i]), np.uint64(run.indptr[run.i + ONE])
        if run.e > last or last > stored:
            return False
        for run.j in range(run.columns):
            plan.total[run.j] = plan.identity
        while last - run.e >= np.uint64(FOUR):
            if plan.reads("x") and run.is_far and run.e + np.uint64(AHEAD + FOUR) <= stored:
                prefetch_rows(run)
            add_entries(run, 4)
        while run.e < last:
            add_entries(run, 1)
        for run.j in range(run.columns):
            if not plan.masked or run.mask[run.line + run.j] != run.complement:
                store(run)
    return True


def add_entries(run: Rows, count):
    """Add the products of `count` entries of a row, from entry `e` on, to the totals of all columns of the result."""
    for p in range(count):
        if plan.reads_columns:
            run.local["u", p] = np.uint64(run.indices[run.e + np.uint64(p)])
            if run.local["u", p] >= run.bound:
                leave(False)
        if plan.reads("x"):
            run.local["from", p] = run.local["u", p] * run.columns
        if plan.reads("value"):
            run.local["v", p] = run.values[run.e + np.uint64(p)]
    for run.j in range(run.columns):
        total = plan.total[run.j]
        for p in range(count):
            total = run.combine(total, run.product(*tuple(argument(run, name, p) for name in plan.parameters)))
        plan.total[run.j] = total
    run.e += np.uint64(count)


def reads_far(run: Rows, start, end, stored):
    """Return whether most entries in some rows of the sparse matrix refer to rows of x that are far from one another.

    Such rows of x are not in a cache, so that prefetching them pays. Only `SAMPLES` of the entries are looked at.
    """
    low, high = np.uint64(run.indptr[start]), min(np.uint64(run.indptr[end]), stored)
    count = np.uint64(0)
    for k in range(np.uint64(SAMPLES)):
        at = low + (high - low) * k // np.uint64(SAMPLES)
        if at < high:
            u = np.uint64(run.indices[at])
            count += (max(u, start) - min(u, start)) * run.columns > np.uint64(NEAR)
    return count * np.uint64(2) > np.uint64(SAMPLES)


def prefetch_rows(run: Rows):
    """Prefetch the rows of the dense matrix x for four later entries, as the processor only looks ahead to the current
    ones.
    """
    for p in range(4):
        run.local["ahead", p] = np.uint64(run.indices[run.e + np.uint64(AHEAD + p)]) * run.columns
    for run.j in range(np.uint64(0), run.columns, np.uint64(plan.line)):
        for p in range(4):
            prefetch(run.x, run.local["ahead", p] + run.j)


def argument(run: Rows, name, p):
    """Return the argument `name` of the semiring's product, for the p-th of the entries that are added and for column
    `j`.

    The argument is the entry's value, the element of x, or the number of the entry's row or column.
    """
    if name == "value":
        return run.local["v", p]
    if name == "x":
        return run.x[run.local["from", p] + run.j]
    return np.int64(run.i) if name == "row" else np.int64(run.local["u", p]) if name == "other" else np.int64(run.j)


def store(run: Rows):
    """Write the total of column `j` in the current row to the result, merged with the old value if there is an
    accumulator.
    """
    if plan.terms.merged is None:
        plan.out[run.line + run.j] = plan.total[run.j]
    elif plan.terms.reads_old:
        plan.out[run.line + run.j] = run.merge(plan.out[run.line + run.j], plan.total[run.j])
    else:
        plan.out[run.line + run.j] = run.merge(plan.total[run.j])
