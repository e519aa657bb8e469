"""A product of two sparse matrices, row by row, with Gustavson's algorithm: a row of the result is a sum of rows of B.

A thread has one total for each column of B. `fill` computes all entries. It records which columns a row has and sorts
them, or marks them if they are many, and then reads their totals. `at_entries` computes only the entries of a mask.
Each column of the mask's row has a slot for its total. All other columns share some slots that are never read, so that
there is no branch that the processor could mispredict. If the mask has few columns in a row, these columns are searched
for in the rows of B.

One thread reduces each entry, in the order in which A and B are stored. So the bits of the result do not depend on the
number of threads.

Parameters of the kernels
-------------------------
run :
    the record that declares the variables shared by all functions (`Rows`)
thread, threads :
    number of this thread, from 0, and number of all threads
control :
    words by which threads take rows, and see that the run was interrupted
bounds :
    (parts + 1,) the first row of each part of the rows, where a thread takes one part at a time
a_indptr, a_indices, b_indptr, b_indices :
    offsets and columns of the matrices A and B in CSR form
mask_indptr, mask_indices :
    offsets and columns of the mask in CSR form, or None: `fill` leaves out its entries, and `at_entries` computes them
ends :
    (rows + 1,) int64, for each row the number of products in all rows before it
width :
    number of columns of B
indptr, indices :
    (rows + 1,) offsets of the result, which are known, and (entries,) its columns, which are written
all_stamps, all_columns :
    (threads, width) stamps, which `counting` explains, and (threads, longest row) ids, the columns that a row has
all_marks, all_spans :
    (threads, width + 64) uint8, a byte for each column, and (threads, width / 64 + 64) uint8, one for each 64 columns
ascends :
    whether the columns of each row of B strictly ascend, so that they can be searched
all_slots :
    (threads, width) integers, for each column the slot of its total
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.compiler.template import Each, Record, known
from gasla.cpu.kernels.products.counting import gather_marks, in_order, leave_out, place_of
from gasla.cpu.runtime.intrinsics import ONE, fetch_add_relaxed, leave, select_bits
from gasla.cpu.runtime.threads import TICKET, is_stopped, stop_run

if TYPE_CHECKING:
    from gasla.cpu.product.plans import SparsePlan

DENSE = 8  # if a row of the result has more than 1 / DENSE of all columns, its columns are marked, not sorted
LONG = 32  # if a row of B is over this many times as long as the mask's row, the mask's columns are searched in it
# Number of slots (places of totals) for columns that the mask lacks. If these columns had a single slot, each product
# would wait for the product before it.
SPARE = 128

plan: SparsePlan = known()


class Rows(Record):
    """The variables that the functions of the kernels for products of two sparse matrices share.

    They are the arguments of the kernel, the current row and entries, and the semiring's functions.
    """

    a_indices: Any
    a_indptr: Any
    a_values: Any
    b_indices: Any
    b_indptr: Any
    b_values: Any
    bounds: Any
    control: Any
    e: Any
    i: Any
    j: Any
    k: Any
    parts: Any
    t: Any
    total: Each
    all_total: Each
    combine: Any
    product: Any
    merge: Any


@compiled
def fill(run: Rows,
    thread, threads, control, bounds, a_indptr, a_indices, b_indptr, b_indices, mask_indptr, mask_indices, ends, width,
    indptr, indices, all_stamps, all_columns, all_marks, all_spans, *arrays
):  # fmt: skip
    """Compute all entries of the product of two sparse matrices.

    The number of entries of each row is known before, so that `indptr` has the offsets of the rows.
    """
    run.parts = np.uint64(len(bounds) - 1)
    stamps, columns, marks, spans = all_stamps[thread], all_columns[thread], all_marks[thread], all_spans[thread]
    for p in plan.parts:
        run.total[p] = run.all_total[p][thread]
    for run.i in rows(run):
        first, last = np.uint64(indptr[run.i]), np.uint64(indptr[run.i + ONE])
        if mask_indptr is None and ends[run.i + ONE] - ends[run.i] > width // DENSE:
            for run.j in columns_met(run):
                is_new = marks[run.j] == 0
                marks[run.j] = 1
                add(run, is_new)
            gather_marks(marks, width, indices, first)
        else:
            stamp, entries = stamps.dtype.type(run.i + ONE), np.uint64(0)
            if mask_indptr is not None:
                leave_out(stamps, stamp, mask_indptr, mask_indices, run.i)
            for run.j in columns_met(run):
                old = stamps[run.j]
                if mask_indptr is None:
                    is_new = old != stamp
                    stamps[run.j] = stamp
                else:
                    is_new = abs(old) != stamp
                    stamps[run.j] = old if old == -stamp else stamp
                columns[entries] = b_indices[run.t]
                entries += np.uint64(is_new)
                add(run, is_new)
            if entries != last - first:
                stop_run(control)
                return
            in_order(columns, entries, indices, first, marks, spans)
        for run.t in range(first, last):
            run.j = np.uint64(indices[run.t])
            store(run, run.j)


@compiled
def at_entries(run: Rows,
    thread, threads, control, bounds, a_indptr, a_indices, b_indptr, b_indices, mask_indptr, mask_indices, ascends,
    all_slots, *arrays
):  # fmt: skip
    """Compute the product of two sparse matrices only at those positions where the mask has an entry."""
    run.parts = np.uint64(len(bounds) - 1)
    slots = all_slots[thread]
    for p in plan.parts:
        run.total[p] = run.all_total[p][thread]
    for spare in range(np.uint64(SPARE)):
        plan.total[spare] = plan.identity
    for run.i in rows(run):
        first, last = np.uint64(mask_indptr[run.i]), np.uint64(mask_indptr[run.i + ONE])
        if first == last:
            continue
        for run.t in range(first, last):
            slot = run.t - first + np.uint64(SPARE)
            plan.total[slot] = plan.identity
            slots[np.uint64(mask_indices[run.t])] = slot
        wanted = last - first if ascends else np.uint64(2**63)
        for run.e in range(np.uint64(a_indptr[run.i]), np.uint64(a_indptr[run.i + ONE])):
            run.k = np.uint64(a_indices[run.e])
            start, end = np.uint64(b_indptr[run.k]), np.uint64(b_indptr[run.k + ONE])
            if wanted < (end - start) // np.uint64(LONG):
                for m in range(first, last):
                    run.j, slot = np.uint64(mask_indices[m]), m - first + np.uint64(SPARE)
                    run.t = place_of(b_indices, start, end, mask_indices[m])
                    if run.t < end and slot == np.uint64(slots[run.j]):
                        plan.total[slot] = run.combine(plan.total[slot], multiply(run))
                continue
            for run.t in range(start, end):
                run.j = np.uint64(b_indices[run.t])
                slot = np.uint64(slots[run.j])
                plan.total[slot] = run.combine(plan.total[slot], multiply(run))
        for run.t in range(first, last):
            slot = np.uint64(slots[np.uint64(mask_indices[run.t])])
            store(run, slot)
        for run.t in range(first, last):
            run.j = np.uint64(mask_indices[run.t])
            slots[run.j] = run.j & np.uint64(SPARE - 1)


def rows(run: Rows):
    """Yield the rows of the result that this thread computes, one part of the rows after another.

    When no part is left, leave the kernel.
    """
    while True:
        part = np.uint64(fetch_add_relaxed(run.control, TICKET, 1))
        if part >= run.parts or is_stopped(run.control):
            leave()
        yield from range(np.uint64(run.bounds[part]), np.uint64(run.bounds[part + ONE]))


def columns_met(run: Rows):
    """Yield, for row `i` of the result, the column of each product of an entry of A and an entry of B.

    Meanwhile `e` is the position of the entry of A, and `t` that of the entry of B.
    """
    for run.e in range(np.uint64(run.a_indptr[run.i]), np.uint64(run.a_indptr[run.i + ONE])):
        run.k = np.uint64(run.a_indices[run.e])
        for run.t in range(np.uint64(run.b_indptr[run.k]), np.uint64(run.b_indptr[run.k + ONE])):
            yield np.uint64(run.b_indices[run.t])


def add(run: Rows, is_new):
    """Add the product of the current entries of A and B to the total of column `j` of the result's row.

    If `is_new`, the row has no product in this column yet, so the total starts from the identity.
    """
    plan.total[run.j] = run.combine(choose(is_new, plan.identity, plan.total[run.j]), multiply(run))


def multiply(run: Rows):
    """Return the semiring's product of entry `e` of A and entry `t` of B."""
    return run.product(*tuple(argument(run, name) for name in plan.parameters))


def argument(run: Rows, name):
    """Return the argument `name` of the semiring's product: a value of A or B, or the number of a row or column.

    The values are those of entry `e` of A and entry `t` of B.
    """
    if name == "value":
        return run.a_values[run.e]
    if name == "x":
        return run.b_values[run.t]
    return np.int64(run.i) if name == "row" else np.int64(run.k) if name == "other" else np.int64(run.j)


@compiled
def choose(condition, a, b):
    """Return `a` if a condition is true, else `b`, without a branch. For tuples, choose each item."""
    if plan.is_tuple:
        return tuple(select_bits(condition, a[p], b[p]) for p in plan.parts)
    else:
        return select_bits(condition, a, b)


def store(run: Rows, at):
    """Write the total at index `at` of the thread's totals as entry `t` of the result.

    With an accumulator, merge it with the old value.
    """
    if plan.terms.merged is None:
        plan.out[run.t] = plan.total[at]
    else:
        plan.out[run.t] = run.merge(plan.total[at])
