"""A product of a sparse matrix and a vector `x`. Each thread takes some rows, and reduces one row after another.

A row is reduced four entries at a time, in SIMD vectors. Its last one to four entries are reduced together with the
entries that follow in memory, which are masked out. A branch on the number of remaining entries would often be
mispredicted, and that costs more.

Parameters of the kernels
-------------------------
run :
    the record that declares the variables shared by all functions (`Rows`)
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
from gasla.cpu.runtime import simd4
from gasla.cpu.runtime.blocks import stage
from gasla.cpu.runtime.intrinsics import ONE, fetch_add_relaxed, leave, prefetch
from gasla.cpu.runtime.threads import TICKET, is_stopped, stop_run

if TYPE_CHECKING:
    from gasla.cpu.product.plans import VectorPlan

AHEAD = 32  # elements of x are prefetched this many entries ahead
LOOK_AFTER = 64  # number of entries after which it is tested again whether the rest of a row can change the result
LAST = 3  # a load of four entries reads this many after the first, so it must not begin at the last entries
FOUR = 4

plan: VectorPlan = known()


class Rows(Record):
    """The variables that the functions of the kernel for products of a sparse matrix and a vector share.

    They are the arguments of the kernel, the current row and its entries, and the semiring's functions.
    """

    around: Any
    ask_until: Any
    bound: Any
    complement: Any
    control: Any
    e: Any
    end: Any
    first: Any
    found: Any
    i: Any
    indices: Any
    indptr: Any
    last: Any
    load_until: Any
    mask: Any
    stored: Any
    total: Any
    totals: Any
    u: Any
    values: Any
    x: Any
    x_u: Any
    combine: Any
    combine_all: Any
    product: Any
    products: Any
    is_final: Any
    merge: Any


@compiled
def multiply(run: Rows, thread, threads, control, width, chunk, complement, indptr, indices, *arrays):
    """Multiply a sparse matrix by a vector, `chunk` rows of the matrix at a time, until no rows are left.

    If an offset or column of the matrix is out of range, set the stop flag, which the caller reports as an error.
    """
    run.bound, rows = np.uint64(width), np.uint64(len(indptr) - 1)
    run.stored = min(np.uint64(len(indices)), np.uint64(indptr[rows]))
    run.load_until = run.stored - min(np.uint64(LAST), run.stored)
    run.ask_until = run.stored - min(np.uint64(AHEAD + LAST), run.stored)
    while True:
        start = np.uint64(fetch_add_relaxed(control, TICKET, chunk))
        if start >= rows or is_stopped(control):
            return
        reduce_rows(run, start, min(start + np.uint64(chunk), rows), *run.local[plan.shared])


@stage
def reduce_rows(run: Rows, start, end, *shared):
    """Reduce the products of each matrix row from `start` to `end` to a total, and store these totals."""
    run.i, run.first = start, np.uint64(run.indptr[start])
    if not plan.by_four:
        for run.i in each_row(run):
            reduce_row(run)
    else:
        while run.i < end:
            # short rows have a loop of their own, because one loop for all rows would need too many registers
            for run.i in each_row(run):
                if run.last - run.e - ONE >= np.uint64(FOUR):
                    break
                if run.e >= run.load_until:
                    break
                reduce_short_row(run)
            for run.i in each_row(run):
                if run.last - run.e - ONE < np.uint64(FOUR) and run.e < run.load_until:
                    break
                reduce_row(run)


def each_row(run: Rows):
    """Yield the rows of the matrix from row `i` on, and set `e` and `last` to the range of each row's entries.

    This is a while loop because LLVM would need more registers for a loop over a range.
    """
    while run.i < run.end:
        run.e, run.last = run.first, np.uint64(run.indptr[run.i + ONE])
        yield run.i
        run.i, run.first = run.i + ONE, run.last


def is_wanted(run: Rows):
    """Return whether row `i` of the product is computed, that is, whether the mask does not leave it out."""
    return not plan.masked or run.mask[run.i] != run.complement


def store_total(run: Rows):
    """Write the total of matrix row `i` to the result, merged with the old value if there is an accumulator."""
    if plan.terms.merged is None:
        plan.out[run.i] = run.total
    else:
        plan.out[run.i] = run.merge(plan.out[run.i], run.total)


def fail(run: Rows):
    """Set the stop flag and leave the kernel, because an offset or column of the matrix is out of range."""
    stop_run(run.control)
    leave()


# --- functions that reduce four entries of a row at a time ------------------------------------------------------------


def reduce_short_row(run: Rows):
    """Reduce a matrix row that has one to four entries to the total of its products, and store the total."""
    if is_wanted(run):
        multiply_last(run)
        run.totals = run.found
        fold(run)
        store_total(run)


def reduce_row(run: Rows):
    """Reduce a matrix row with any number of entries to the total of its products, and store the total."""
    if is_wanted(run):
        if run.first > run.last or run.last > run.stored:
            fail(run)
        if plan.by_four and plan.terms.monoid.commutative:
            reduce_by_four(run)
        else:
            run.total = plan.identity
        while run.e < run.last:
            look_up(run)
            run.total = run.combine(run.total, run.product(*tuple(argument(run, name) for name in plan.parameters)))
            if plan.terms.any_will_do:
                if run.is_final(run.total):
                    break
            run.e += ONE
        store_total(run)


def reduce_by_four(run: Rows):
    """Reduce the products of a matrix row's entries to `total`, four at a time.

    Usually all entries of the row are reduced. Near the end of the matrix, loads of four entries and prefetches would
    read past the end of its arrays. There `e` is set to the first entry that was not reduced, and the caller reduces
    the row's last entries one by one.
    """
    if plan.is_tuple:
        run.totals = tuple(simd4.spread(identity) for p, identity in plan.identities)
    else:
        run.totals = simd4.spread(plan.identity)
    if run.last - run.e > np.uint64(FOUR):
        stop = min(run.last - np.uint64(FOUR), run.ask_until) if plan.asks_ahead else run.last - np.uint64(FOUR)
        while run.e < stop:
            if plan.terminal is None:
                add_four(run)
            elif plan.looks_often:
                add_four(run)
                if simd4.any_of(run.totals == plan.terminal):
                    break
            else:
                look = min(run.e + np.uint64(LOOK_AFTER), stop)
                while run.e < look:
                    add_four(run)
                if simd4.any_of(run.totals == plan.terminal):
                    break
        if run.last - run.e - ONE < np.uint64(FOUR) and run.e < run.load_until:
            multiply_last(run)
            run.totals = run.combine_all(run.totals, run.found)
        if plan.terminal is not None:
            if simd4.any_of(run.totals == plan.terminal):
                run.e = run.last
    fold(run)


def add_four(run: Rows):
    """Add the products of the next four entries of a row to the row's four totals: the first to the first total, and so
    on.
    """
    if plan.asks_ahead:
        for k in plan.places:
            prefetch(run.x, run.indices[run.e + np.uint64(AHEAD + k)])
    multiply_four(run)
    run.totals = run.combine_all(run.totals, run.found)
    run.e += np.uint64(FOUR)


def multiply_last(run: Rows):
    """Compute the products of the last one to four entries of a row in a SIMD vector. Its other lanes hold the
    identity.
    """
    multiply_four(run)
    is_there, run.e = simd4.within(run.last - run.e), run.last
    if plan.is_tuple:
        run.found = tuple(
            simd4.where(is_there, run.found[p], simd4.spread(identity)) for p, identity in plan.identities
        )
    else:
        run.found = simd4.where(is_there, run.found, simd4.spread(plan.identity))


def multiply_four(run: Rows):
    """Compute the semiring's products of four matrix entries, from entry `e` on, with elements of the vector x."""
    if plan.reads("x"):
        run.around, are_inside = simd4.gather(run.x, run.indices, run.e, run.bound)
        if not are_inside:
            fail(run)
    elif plan.reads("other"):
        if simd4.any_of(np.uint64(simd4.load(run.indices, run.e)) >= run.bound):
            fail(run)
    run.found = run.products(*tuple(argument_of_four(run, name) for name in plan.parameters))


def argument_of_four(run: Rows, name):
    """Return the argument `name` of the semiring's product, as a vector for the four matrix entries from entry `e` on.

    The argument is the entries' values, the elements of x in their columns, or the numbers of their row or columns.
    """
    if name == "value":
        return simd4.load(run.values, run.e)
    if name == "x":
        return run.around
    return simd4.spread(np.int64(run.i)) if name == "row" else np.int64(simd4.load(run.indices, run.e))


def fold(run: Rows):
    """Reduce the current row's four totals, one for every fourth entry of the row, to a single `total`.

    For four bools, the result is looked up in a table of 16 bits.
    """
    if plan.table is not None:
        run.total = (np.uint64(plan.table) >> simd4.bits(run.totals)) & ONE != 0
    elif plan.is_tuple:
        run.totals = run.combine_all(run.totals, tuple(simd4.by_one(run.totals[p]) for p in plan.parts))
        run.totals = run.combine_all(run.totals, tuple(simd4.by_two(run.totals[p]) for p in plan.parts))
        run.total = tuple(simd4.first(run.totals[p]) for p in plan.parts)
    else:
        run.totals = run.combine_all(run.totals, simd4.by_one(run.totals))
        run.totals = run.combine_all(run.totals, simd4.by_two(run.totals))
        run.total = simd4.first(run.totals)


# --- functions that reduce one entry of a row at a time ---------------------------------------------------------------


def look_up(run: Rows):
    """Load the column of the matrix entry `e`, and the element of the vector x in that column."""
    if plan.reads_columns:
        run.u = np.uint64(run.indices[run.e])
        if run.u >= run.bound:
            fail(run)
        if plan.reads("x"):
            run.x_u = run.x[run.u]


def argument(run: Rows, name):
    """Return the argument `name` of the semiring's product for entry `e`, whose column and element of x have been
    loaded.

    The argument is the entry's value, the element of x, or the number of the entry's row or column.
    """
    if name == "value":
        return run.values[run.e]
    if name == "x":
        return run.x_u
    return np.int64(run.i) if name == "row" else np.int64(run.u)
