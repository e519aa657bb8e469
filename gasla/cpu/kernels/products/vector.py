"""A product of a matrix and a vector: each thread takes some rows, and reduces one after the other.

A row is reduced four entries at a time, in vectors of the processor. Its last one to four entries are reduced together
with those that follow in memory, which are masked out: a branch on their number would often be predicted wrongly, and
that costs more.
"""
# mypy: ignore-errors

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.program.specialize import leave, local, plan
from gasla.cpu.runtime import simd4
from gasla.cpu.runtime.blocks import stage
from gasla.cpu.runtime.intrinsics import fetch_add, prefetch
from gasla.cpu.runtime.threads import STOP, TICKET

AHEAD = 32  # entries between one that is computed and the one whose element of x is prefetched
LOOK_AFTER = 64  # number of entries between two tests whether the rest of a row can change the result
LAST = 3  # number of further entries that a load of four reads


@compiled
def multiply(thread, threads, control, width, chunk, complement, indptr, indices, *arrays):
    """Reduce `chunk` rows at a time until none is left. Sets the stop flag where the matrix points outside itself."""
    bound, rows = np.uint64(width), np.uint64(len(indptr) - 1)
    stored = min(np.uint64(len(indices)), np.uint64(indptr[rows]))
    load_until = stored - min(np.uint64(LAST), stored)
    ask_until = stored - min(np.uint64(AHEAD + LAST), stored)
    while True:
        start = np.uint64(fetch_add(control, TICKET, chunk))
        if start >= rows or control[STOP] != 0:
            return
        reduce_rows(start, min(start + np.uint64(chunk), rows), *local[plan.shared])


@stage
def reduce_rows(start, end, *shared):
    """Reduce the rows from `start` to `end`, and store the totals."""
    one, two, four = np.uint64(1), np.uint64(2), np.uint64(4)
    i, first = start, np.uint64(indptr[start])
    if not plan.by_four:
        for i in each_row():
            reduce_row()
    else:
        while i < end:
            # Short rows have a loop of their own: one loop for all rows would need too many registers.
            for i in each_row():
                if last - e - one >= four:
                    break
                if e >= load_until:
                    break
                reduce_short_row()
            for i in each_row():
                if last - e - one < four and e < load_until:
                    break
                reduce_row()


def each_row():
    """Rows from `i` on, each with its entries from `e` to `last`. Over a range LLVM would need more registers."""
    while i < end:
        e, last = first, np.uint64(indptr[i + one])
        yield i
        i, first = i + one, last


def is_wanted():
    """Whether the mask admits row `i`."""
    return not plan.masked or mask[i] != complement


def store_total():
    """Write the row's total, merged with the value there if there is an accumulator."""
    if plan.terms.merged is None:
        plan.out[i] = total
    else:
        plan.out[i] = merge(plan.out[i], total)


def fail():
    """The matrix points outside itself."""
    control[STOP] = 1
    leave()


# --- four entries at a time -------------------------------------------------------------------------------------------


def reduce_short_row():
    """Reduce a row of one to four entries."""
    if is_wanted():
        multiply_last()
        totals = found
        fold()
        store_total()


def reduce_row():
    """Reduce any row."""
    if is_wanted():
        if first > last or last > stored:
            fail()
        if plan.by_four and plan.terms.monoid.commutative:
            reduce_by_four()
        else:
            total = plan.identity
        while e < last:
            look_up()
            total = combine(total, product(*tuple(argument(name) for name in plan.parameters)))
            if plan.terms.any_will_do:
                if is_final(total):
                    break
            e += one
        store_total()


def reduce_by_four():
    """Reduce a row to `total`, up to `e`: all of it, unless it is among the last of the matrix."""
    if plan.is_tuple:
        totals = tuple(simd4.spread(identity) for p, identity in plan.identities)
    else:
        totals = simd4.spread(plan.identity)
    if last - e > four:
        stop = min(last - four, ask_until) if plan.asks_ahead else last - four
        while e < stop:
            if plan.terminal is None:
                add_four()
            elif plan.looks_often:
                add_four()
                if simd4.any_of(totals == plan.terminal):
                    break
            else:
                look = min(e + np.uint64(LOOK_AFTER), stop)
                while e < look:
                    add_four()
                if simd4.any_of(totals == plan.terminal):
                    break
        if last - e - one < four and e < load_until:
            multiply_last()
            totals = combine_all(totals, found)
        if plan.terminal is not None:
            if simd4.any_of(totals == plan.terminal):
                e = last
    fold()


def add_four():
    """Add the products of four entries to the totals."""
    if plan.asks_ahead:
        for k in plan.places:
            prefetch(x, indices[e + np.uint64(AHEAD + k)])
    multiply_four()
    totals = combine_all(totals, found)
    e += four


def multiply_last():
    """The products of the last one to four entries, with the identity in the remaining lanes."""
    multiply_four()
    is_there, e = simd4.within(last - e), last
    if plan.is_tuple:
        found = tuple(simd4.where(is_there, found[p], simd4.spread(identity)) for p, identity in plan.identities)
    else:
        found = simd4.where(is_there, found, simd4.spread(plan.identity))


def multiply_four():
    """The products of four entries from `e` on."""
    if plan.reads("x"):
        around, are_inside = simd4.gather(x, indices, e, bound)
        if not are_inside:
            fail()
    elif plan.reads("other"):
        if simd4.any_of(np.uint64(simd4.load(indices, e)) >= bound):
            fail()
    found = products(*tuple(argument_of_four(name) for name in plan.parameters))


def argument_of_four(name):
    """The value of a parameter of the product at four entries from `e` on."""
    if name == "value":
        return simd4.load(values, e)
    if name == "x":
        return around
    return simd4.spread(np.int64(i)) if name == "row" else np.int64(simd4.load(indices, e))


def fold():
    """Reduce the four totals to `total`, in order; four truth values are looked up in a table of 16 bits."""
    if plan.table is not None:
        total = (np.uint64(plan.table) >> simd4.bits(totals)) & one != 0
    elif plan.is_tuple:
        totals = combine_all(totals, tuple(simd4.by_one(totals[p]) for p in plan.parts))
        totals = combine_all(totals, tuple(simd4.by_two(totals[p]) for p in plan.parts))
        total = tuple(simd4.first(totals[p]) for p in plan.parts)
    else:
        totals = combine_all(totals, simd4.by_one(totals))
        totals = combine_all(totals, simd4.by_two(totals))
        total = simd4.first(totals)


# --- one entry at a time ----------------------------------------------------------------------------------------------


def look_up():
    """Load the column of the entry at `e`, and the element of x in that column."""
    if plan.reads_columns:
        u = np.uint64(indices[e])
        if u >= bound:
            fail()
        if plan.reads("x"):
            x_u = x[u]


def argument(name):
    """The value of a parameter of the product at `e`, whose column and element of x have been read."""
    if name == "value":
        return values[e]
    if name == "x":
        return x_u
    return np.int64(i) if name == "row" else np.int64(u)
