"""A product of sparse matrices, row by row after Gustavson: each row of A adds up the rows of B that it names.

A thread has one total for each column of B. `fill` notes the columns that a row meets and sorts them, or marks them if
they are many, before it reads their totals. `at_entries` computes a masked product: each column that the mask has in
the row has a slot for its total, and all other columns share some slots that are never read, so that there is no branch
to predict. Where the mask has few columns, they are searched for in B's row.

An entry reduces in the order in which A and B are stored, by one thread: its bits do not depend on how many there are.
"""
# mypy: ignore-errors

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.kernels.products.counting import gather_marks, in_order, leave_out, place_of
from gasla.cpu.program.specialize import leave, plan
from gasla.cpu.runtime.intrinsics import fetch_add, select_bits
from gasla.cpu.runtime.threads import STOP, TICKET

DENSE = 8  # a row that has over 1 / DENSE of all columns marks them
LONG = 32  # a row of B over this many times as long as the mask's row is searched, not scanned
SPARE = 128  # slots for columns that the mask lacks; with a single slot each product would wait for the last one


@compiled
def fill(
    thread, threads, control, bounds, a_indptr, a_indices, b_indptr, b_indices, mask_indptr, mask_indices, ends, width,
    indptr, indices, all_stamps, all_columns, all_marks, all_spans, *arrays
):  # fmt: skip
    """Compute all entries of the rows, which have been counted."""
    one, parts = np.uint64(1), np.uint64(len(bounds) - 1)
    stamps, columns, marks, spans = all_stamps[thread], all_columns[thread], all_marks[thread], all_spans[thread]
    for p in plan.parts:
        total_[p] = all_total_[p][thread]
    for i in rows():
        first, last = np.uint64(indptr[i]), np.uint64(indptr[i + one])
        if mask_indptr is None and ends[i + one] - ends[i] > width // DENSE:
            for j in columns_met():
                is_new = marks[j] == 0
                marks[j] = 1
                add(is_new)
            gather_marks(marks, width, indices, first)
        else:
            stamp, found = stamps.dtype.type(i + one), np.uint64(0)
            if mask_indptr is not None:
                leave_out(stamps, stamp, mask_indptr, mask_indices, i)
            for j in columns_met():
                old = stamps[j]
                if mask_indptr is None:
                    is_new = old != stamp
                    stamps[j] = stamp
                else:
                    is_new = abs(old) != stamp
                    stamps[j] = old if old == -stamp else stamp
                columns[found] = b_indices[t]
                found += np.uint64(is_new)
                add(is_new)
            if found != last - first:
                control[STOP] = 1
                return
            in_order(columns, found, indices, first, marks, spans)
        for t in range(first, last):
            j = np.uint64(indices[t])
            store(j)


@compiled
def at_entries(
    thread, threads, control, bounds, a_indptr, a_indices, b_indptr, b_indices, mask_indptr, mask_indices, ascends,
    all_slots, *arrays
):  # fmt: skip
    """Compute the entries that the mask has."""
    one, parts = np.uint64(1), np.uint64(len(bounds) - 1)
    slots = all_slots[thread]
    for p in plan.parts:
        total_[p] = all_total_[p][thread]
    for spare in range(np.uint64(SPARE)):
        plan.total[spare] = plan.identity
    for i in rows():
        first, last = np.uint64(mask_indptr[i]), np.uint64(mask_indptr[i + one])
        if first == last:
            continue
        for t in range(first, last):
            slot = t - first + np.uint64(SPARE)
            plan.total[slot] = plan.identity
            slots[np.uint64(mask_indices[t])] = slot
        wanted = last - first if ascends else np.uint64(2**63)
        for e in range(np.uint64(a_indptr[i]), np.uint64(a_indptr[i + one])):
            k = np.uint64(a_indices[e])
            start, end = np.uint64(b_indptr[k]), np.uint64(b_indptr[k + one])
            if wanted < (end - start) // np.uint64(LONG):
                for m in range(first, last):
                    j, slot = np.uint64(mask_indices[m]), m - first + np.uint64(SPARE)
                    t = place_of(b_indices, start, end, mask_indices[m])
                    if t < end and slot == np.uint64(slots[j]):
                        plan.total[slot] = combine(plan.total[slot], multiply())
                continue
            for t in range(start, end):
                j = np.uint64(b_indices[t])
                slot = np.uint64(slots[j])
                plan.total[slot] = combine(plan.total[slot], multiply())
        for t in range(first, last):
            slot = np.uint64(slots[np.uint64(mask_indices[t])])
            store(slot)
        for t in range(first, last):
            j = np.uint64(mask_indices[t])
            slots[j] = j & np.uint64(SPARE - 1)


def rows():
    """The rows for this thread, part by part; leaves the kernel after the last."""
    while True:
        part = np.uint64(fetch_add(control, TICKET, 1))
        if part >= parts or control[STOP] != 0:
            leave()
        yield from range(np.uint64(bounds[part]), np.uint64(bounds[part + one]))


def columns_met():
    """The columns of the products of row `i`: entry `e` of A is multiplied with entry `t` of B."""
    for e in range(np.uint64(a_indptr[i]), np.uint64(a_indptr[i + one])):
        k = np.uint64(a_indices[e])
        for t in range(np.uint64(b_indptr[k]), np.uint64(b_indptr[k + one])):
            yield np.uint64(b_indices[t])


def add(is_new):
    """Add a product to the total of column `j`, which is the identity before the first of a row."""
    plan.total[j] = combine(choose(is_new, plan.identity, plan.total[j]), multiply())


def multiply():
    """The product of entry `e` of A and entry `t` of B."""
    return product(*tuple(argument(name) for name in plan.parameters))


def argument(name):
    """The value of a parameter of the product."""
    if name == "value":
        return a_values[e]
    if name == "x":
        return b_values[t]
    return np.int64(i) if name == "row" else np.int64(k) if name == "other" else np.int64(j)


@compiled
def choose(condition, a, b):
    """One of two values, without a branch."""
    if plan.is_tuple:
        return tuple(select_bits(condition, a[p], b[p]) for p in plan.parts)
    else:
        return select_bits(condition, a, b)


def store(at):
    """Write a total as the entry number `t` of the result."""
    if plan.terms.merged is None:
        plan.out[t] = plan.total[at]
    else:
        plan.out[t] = merge(plan.total[at])
