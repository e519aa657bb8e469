"""A product of a matrix and a vector for semirings with functions such as exp, computed for many entries at once.

A thread looks up a batch of some thousand entries of the matrix, and lays them out in slots. A slot is a column of up
to `height` entries of one row, and slots lie side by side. A sweep goes down all slots at once, in loops that LLVM
vectorizes, and reduces each slot to a total. If a row has several slots, their totals are laid out in slots again and
swept again. A row that is longer than a batch begins a batch and goes on in the next one. So the result of a row
depends neither on the rows around it nor on the thread.

All arrays of a thread are parts of one array for each type, so that LLVM sees that no two of them overlap.

Parameters of the kernels
-------------------------
run :
    the record that declares the variables shared by all functions (`Batch`)
thread, threads :
    number of this thread, from 0, and number of all threads
control :
    words by which threads take rows, and see that the run was interrupted
width, chunk :
    number of columns of the matrix, and number of rows that a thread takes at a time
complement :
    value of the mask at rows that are left out
indptr, indices :
    (rows + 1,) offsets and (entries,) columns of the matrix in CSR form
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gasla.compiler.function import compiled
from gasla.compiler.template import Record, known
from gasla.cpu.runtime.intrinsics import ONE, fetch_add_relaxed, leave, prefetch, select
from gasla.cpu.runtime.threads import TICKET, is_stopped, stop_run

if TYPE_CHECKING:
    from gasla.cpu.product.plans import BatchedPlan

FOUR = 4  # number of matrix entries that are loaded together
AHEAD = 64  # in long rows, elements of x are prefetched this many entries ahead

plan: BatchedPlan = known()


class Batch(Record):
    """The variables that the functions of the kernel for products in batches share.

    They are the arguments of the kernel, the batch of matrix entries that is laid out, and the semiring's functions.
    """

    at: Any
    begin: Any
    bound: Any
    complement: Any
    control: Any
    edge: Any
    end: Any
    entries: Any
    fewest: Any
    first: Any
    i: Any
    indices: Any
    indptr: Any
    is_whole: Any
    limit: Any
    mask: Any
    most: Any
    slots: Any
    taken: Any
    values: Any
    x: Any
    combine: Any
    product: Any
    merge: Any
    entry: Any


@compiled
def multiply(run: Batch, thread, threads, control, width, chunk, complement, indptr, indices, *arrays):
    """Multiply a sparse matrix by a vector, `chunk` rows of the matrix at a time, until no rows are left.

    If an offset or column of the matrix is out of range, set the stop flag, which the caller reports as an error.
    """
    for name in plan.scratch:
        run.local[name] = run.local["all", name][thread]
    run.bound, rows = np.uint64(width), np.uint64(len(indptr) - 1)
    run.entries, run.most = min(np.uint64(len(indices)), np.uint64(indptr[rows])), np.uint64(plan.most)
    run.edge, run.fewest = run.entries - min(run.entries, ONE), np.uint64(1 if plan.is_low else 0)
    while True:
        start = np.uint64(fetch_add_relaxed(control, TICKET, chunk))
        if start >= rows or is_stopped(control):
            return
        run.end = min(start + np.uint64(chunk), rows)
        run.i, run.first, run.limit = start, np.uint64(indptr[start]), np.uint64(indptr[run.end])
        if run.limit > run.entries:
            fail(run)
        goes_on, so_far = False, plan.identity
        while run.i < run.end:
            run.begin, run.slots, run.is_whole = run.i, np.uint64(0), True
            lay_out_rows(run)
            run.taken = run.i - run.begin + np.uint64(not run.is_whole)
            plan.begin[run.taken] = run.slots
            reduce(run, run.taken, run.slots, *run.local[plan.scratch])
            if goes_on:
                plan.result[np.uint64(0)] = run.combine(so_far, plan.result[np.uint64(0)])
            goes_on = not run.is_whole
            if goes_on:
                so_far = plan.result[np.uint64(0)]
                continue
            store(run)


def fail(run: Batch):
    """Set the stop flag and leave the kernel, because an offset or column of the matrix is out of range."""
    stop_run(run.control)
    leave()


# --- looking up entries of the matrix, and laying them out in slots ---------------------------------------------------


def lay_out_rows(run: Batch):
    """Fill the batch (a table of matrix entries) with the entries of rows, from row `i` on, until the next row does not
    fit.

    If row `i` is longer than a whole batch, fill the batch with the first part of the row.
    """
    while run.i < run.end and run.is_whole:
        last = np.uint64(run.indptr[run.i + ONE])
        if run.first > last or last > run.limit:
            fail(run)
        if plan.masked:
            if run.mask[run.i] == run.complement:
                run.first = last
        if plan.is_low:
            # If slots have few lines, most rows fit into one slot. A branch for these rows alone is predicted well by
            # the processor.
            if (
                (last - run.first - ONE < np.uint64(FOUR))
                & (run.slots < run.most)
                & (run.first + np.uint64(FOUR) <= run.entries)
            ):
                run.at, plan.begin[run.i - run.begin], plan.count[run.slots] = run.slots, run.slots, last - run.first
                look_up_four(run, are_inside=True)
                run.slots, run.i, run.first = run.slots + ONE, run.i + ONE, last
                continue
        needed, stop = max(run.fewest, (last - run.first + np.uint64(plan.height - 1)) // np.uint64(plan.height)), last
        if run.slots + needed > run.most or run.i - run.begin == run.most:
            if run.i > run.begin:
                break
            needed, stop, run.is_whole = run.most, run.first + np.uint64(plan.block), False
        plan.begin[run.i - run.begin] = run.slots
        s, run.slots = run.slots, run.slots + needed
        while s < run.slots:
            run.at, below = s, min(run.first + np.uint64(plan.height), stop)
            plan.count[s] = below - run.first
            while run.first < below:
                look_up_four(run, are_inside=False)
                run.at += np.uint64(FOUR * plan.stride)
                run.first += np.uint64(FOUR)
            s, run.first = s + ONE, below
        run.i += np.uint64(run.is_whole)


def look_up_four(run: Batch, are_inside):
    """Load four consecutive entries of the matrix, and store what the semiring needs of them in the batch.

    The batch is a table of entries that are reduced together. Each of its columns, called slots, has entries of one row
    of the matrix. The four entries are stored below each other in one slot.

    `run.first` is the position of the first of the four in the matrix, and `run.at` its position in the batch. Entries
    past the end of the row are stored as well, and ignored later. `are_inside` says that the matrix has four entries
    from `run.first` on. Otherwise the last entry of the matrix is repeated.
    """
    if plan.looked_up:
        for k in range(FOUR):
            run.local["e", k] = run.first + np.uint64(k) if are_inside else min(run.first + np.uint64(k), run.edge)
        if plan.reads_columns:
            for k in range(FOUR):
                run.local["u", k] = np.uint64(run.indices[run.local["e", k]])
            if (
                (run.local["u", 0] >= run.bound)
                | (run.local["u", 1] >= run.bound)
                | (run.local["u", 2] >= run.bound)
                | (run.local["u", 3] >= run.bound)
            ):
                fail(run)
        if plan.reads("x") and not plan.is_low:
            for k in range(FOUR):
                prefetch(run.x, run.indices[min(run.first + np.uint64(AHEAD + k), run.edge)])
        for k in range(FOUR):
            plan.entry[run.at + np.uint64(k * plan.stride)] = run.entry(
                *tuple(argument(run, name, k) for name in plan.parameters)
            )


def argument(run: Batch, name, k):
    """Return the argument `name` of the semiring's product for the k-th of the four matrix entries that are looked up.

    The argument is the entry's value, the element of the vector in its column, or the number of its row or column.
    """
    if name == "value":
        return run.values[run.local["e", k]]
    if name == "x":
        return run.x[run.local["u", k]]
    return np.int64(run.i) if name == "row" else np.int64(run.local["u", k])


# --- reducing the entries of a batch ----------------------------------------------------------------------------------


@compiled
def reduce(run: Batch, rows, slots, *scratch):
    """Reduce the products of a batch to a total for each matrix row.

    First each slot (a column of the batch, with entries of one row) is reduced to a total, and then the totals of each
    row, until one is left.
    """
    sweep(run, whole(slots), *run.local[plan.scratch])
    if plan.is_low:
        if slots == rows:
            for i in range(whole(rows)):
                plan.result[i] = plan.total[i]
            return
    pending = np.uint64(0)
    for i in range(rows):
        first, last = np.uint64(plan.begin[i]), np.uint64(plan.begin[i + np.uint64(1)])
        plan.result[i] = choose(first < last, plan.total[first], plan.identity)
        plan.row[pending], plan.first[pending], plan.last[pending] = i, first, last
        pending += np.uint64(last - first > 1)
    while pending > 0:
        slots, height = np.uint64(0), np.uint64(0)
        for j in range(pending):
            s, last = np.uint64(plan.first[j]), np.uint64(plan.last[j])
            plan.first[j] = slots
            while s < last:
                count_in_slot, at = min(last - s, np.uint64(plan.low)), slots
                plan.count[slots] = count_in_slot
                height = max(height, count_in_slot)
                for _ in range(count_in_slot):
                    plan.laid[at] = plan.total[s]
                    at += np.uint64(plan.stride)
                    s += np.uint64(1)
                slots += np.uint64(1)
            plan.last[j] = slots
        sweep_again(run, whole(slots), height, *run.local[plan.scratch])
        still_pending = np.uint64(0)
        for j in range(pending):
            i, first, last = np.uint64(plan.row[j]), np.uint64(plan.first[j]), np.uint64(plan.last[j])
            plan.result[i] = plan.total[first]
            plan.row[still_pending], plan.first[still_pending], plan.last[still_pending] = i, first, last
            still_pending += np.uint64(last - first > 1)
        pending = still_pending


@compiled
def sweep(run: Batch, slots, *scratch):
    """Compute the semiring's product of each matrix entry of a batch and a vector item, and reduce them in each slot.

    A batch is a table of matrix entries. Each of its columns is a slot, which has entries of one row of the matrix.
    The products of a slot are reduced to one total. `slots` is the number of slots.
    """
    for s in range(slots):
        plan.total[s] = choose(plan.count[s] > 0, run.product(*plan.entry[s]), plan.identity)
    for k in range(np.uint64(1), np.uint64(plan.height)):
        line = k * np.uint64(plan.stride)
        for s in range(slots):
            new = run.combine(plan.total[s], run.product(*plan.entry[line + s]))
            plan.total[s] = choose(plan.count[s] > np.int32(k), new, plan.total[s])


@compiled
def sweep_again(run: Batch, slots, height, *scratch):
    """Reduce the totals of slots (columns of the batch) once more, for matrix rows that have several slots.

    The totals of each row have been laid out in `slots` new slots, of up to `height` totals.
    """
    for s in range(slots):
        plan.total[s] = plan.laid[s]
    for k in range(np.uint64(1), height):
        line = k * np.uint64(plan.stride)
        for s in range(slots):
            new = run.combine(plan.total[s], plan.laid[line + s])
            plan.total[s] = choose(plan.count[s] > np.int32(k), new, plan.total[s])


@compiled
def whole(count):
    """Return `count` rounded up to a multiple of `lanes`, because a loop computes that many values side by side."""
    return (count + np.uint64(plan.lanes - 1)) & ~np.uint64(plan.lanes - 1)


@compiled
def choose(condition, a, b):
    """Return `a` if a condition is true, else `b`, without a branch. For tuples, choose each item."""
    if plan.is_tuple:
        return tuple(select(condition, a[p], b[p]) for p in plan.parts)
    else:
        return select(condition, a, b)


# --- writing the results of a batch -----------------------------------------------------------------------------------


def store(run: Batch):
    """Write the results of a batch's matrix rows to the output, except where the mask leaves a row out.

    If the product has an accumulator, it merges each result with the old value in the output.
    """
    if plan.terms.reads_old:
        for k in range(run.taken):
            plan.stored[k] = plan.out[run.begin + k]
    finish(run, whole(run.taken), *run.local[plan.scratch])
    for k in range(run.taken):
        if not plan.masked or run.mask[run.begin + k] != run.complement:
            plan.out[run.begin + k] = plan.stored[k]


@compiled
def finish(run: Batch, rows, *scratch):
    """Compute what is written for each matrix row of a batch: the row's total, or its merger with the old value of the
    output.
    """
    for i in range(rows):
        if plan.terms.merged is None:
            plan.stored[i] = plan.result[i]
        else:
            plan.stored[i] = run.merge(plan.stored[i], plan.result[i])
