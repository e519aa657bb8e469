"""A product of sparse matrices, row by row after Gustavson: each row of A adds up the rows of B that it names.

A thread has one total for each column of B. `fill` notes the columns that a row meets and sorts them, or marks them if
they are many, before it reads their totals. `at_entries` computes a masked product: each column that the mask has in
the row has a slot for its total, and all other columns share some slots that are never read, so that there is no branch
to predict. Where the mask has few columns, they are searched for in B's row.

An entry reduces in the order in which A and B are stored, by one thread: its bits do not depend on how many there are.

Parameters of the kernels
-------------------------
run :
    the record that the functions share (`Rows`)
thread, threads :
    number of this thread, from 0, and of all threads
control :
    words by which threads take blocks and see that the run is stopped
bounds :
    (parts + 1,) the first row of each part, which a thread takes at once
a_indptr, a_indices, b_indptr, b_indices :
    the matrices A and B in CSR form
mask_indptr, mask_indices :
    the mask in CSR form: in `fill` its entries are left out, in `at_entries` they are computed; None without a mask
ends, width :
    (rows + 1,) int64, number of products in the rows before each row; number of columns of B
indptr, indices :
    (rows + 1,) offsets of the result, which are known; (entries,) columns of the result, which are written
all_stamps, all_columns :
    (threads, width) stamps (`counting`); (threads, longest row) ids, the columns that a row meets
all_marks, all_spans :
    (threads, width + 64) uint8, a byte for each column; (threads, width / 64 + 64) uint8, one for 64 columns
ascends :
    whether the columns of each row of B strictly ascend, so that they can be searched
all_slots :
    (threads, width) the slot of each column's total
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

DENSE = 8  # a row that has over 1 / DENSE of all columns marks them
LONG = 32  # a row of B over this many times as long as the mask's row is searched, not scanned
SPARE = 128  # slots for columns that the mask lacks; with a single slot each product would wait for the last one

plan: SparsePlan = known()


class Rows(Record):
    """Variables that functions share: arguments, the current row and entries, and the semiring's functions."""

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
    """Compute all entries of the rows, which have been counted."""
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
    """Compute the entries that the mask has."""
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
    """Yield the rows for this thread, part by part. After the last, leave the kernel."""
    while True:
        part = np.uint64(fetch_add_relaxed(run.control, TICKET, 1))
        if part >= run.parts or is_stopped(run.control):
            leave()
        yield from range(np.uint64(run.bounds[part]), np.uint64(run.bounds[part + ONE]))


def columns_met(run: Rows):
    """Yield the columns of the products of row `i`: entry `e` of A is multiplied with entry `t` of B."""
    for run.e in range(np.uint64(run.a_indptr[run.i]), np.uint64(run.a_indptr[run.i + ONE])):
        run.k = np.uint64(run.a_indices[run.e])
        for run.t in range(np.uint64(run.b_indptr[run.k]), np.uint64(run.b_indptr[run.k + ONE])):
            yield np.uint64(run.b_indices[run.t])


def add(run: Rows, is_new):
    """Add a product to the total of column `j`, which is the identity before the first of a row."""
    plan.total[run.j] = run.combine(choose(is_new, plan.identity, plan.total[run.j]), multiply(run))


def multiply(run: Rows):
    """Return the product of entry `e` of A and entry `t` of B."""
    return run.product(*tuple(argument(run, name) for name in plan.parameters))


def argument(run: Rows, name):
    """Return the value of a parameter of the product."""
    if name == "value":
        return run.a_values[run.e]
    if name == "x":
        return run.b_values[run.t]
    return np.int64(run.i) if name == "row" else np.int64(run.k) if name == "other" else np.int64(run.j)


@compiled
def choose(condition, a, b):
    """Return one of two values, without a branch."""
    if plan.is_tuple:
        return tuple(select_bits(condition, a[p], b[p]) for p in plan.parts)
    else:
        return select_bits(condition, a, b)


def store(run: Rows, at):
    """Write a total as the entry number `t` of the result."""
    if plan.terms.merged is None:
        plan.out[run.t] = plan.total[at]
    else:
        plan.out[run.t] = run.merge(plan.total[at])
