"""A product of a sparse matrix and a dense one, `x`: each row of the result is one vector of totals, a total a column.

Four entries of a row are added at once, so that each total is read and written once for four products; the loop over
columns is one that LLVM vectorises. Each total is reduced in the order of the row, by one thread.
"""
# mypy: ignore-errors

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.program.specialize import leave, local, plan
from gasla.cpu.runtime.intrinsics import fetch_add
from gasla.cpu.runtime.threads import STOP, TICKET


@compiled
def multiply(thread, threads, control, columns, width, chunk, complement, indptr, indices, *arrays):
    """Reduce `chunk` rows at a time until none is left. Sets the stop flag where the matrix points outside itself."""
    rows = np.uint64(len(indptr) - 1)
    for p in plan.parts:
        total_[p] = all_total_[p][thread]
    while True:
        start = np.uint64(fetch_add(control, TICKET, chunk))
        if start >= rows or control[STOP] != 0:
            return
        if not reduce_rows(start, min(start + np.uint64(chunk), rows), *local[plan.shared]):
            control[STOP] = 1
            return


@compiled
def reduce_rows(start, end, *shared):
    """Reduce and store the rows from `start` to `end`; False where the matrix points outside itself."""
    one, four, bound, stored = np.uint64(1), np.uint64(4), np.uint64(width), np.uint64(len(indices))
    for i in range(start, end):
        line = i * columns
        if plan.masked:
            wanted = False
            for j in range(columns):
                wanted |= mask[line + j] != complement
            if not wanted:
                continue
        e, last = np.uint64(indptr[i]), np.uint64(indptr[i + one])
        if e > last or last > stored:
            return False
        for j in range(columns):
            plan.total[j] = plan.identity
        while last - e >= four:
            add_entries(4)
        while e < last:
            add_entries(1)
        for j in range(columns):
            if not plan.masked or mask[line + j] != complement:
                store()
    return True


def add_entries(count):
    """Add the products of some entries from `e` on to the totals of all columns."""
    for p in range(count):
        if plan.reads_columns:
            u_[p] = np.uint64(indices[e + np.uint64(p)])
            if u_[p] >= bound:
                leave(False)
        if plan.reads("x"):
            from_[p] = u_[p] * columns
        if plan.reads("value"):
            v_[p] = values[e + np.uint64(p)]
    for j in range(columns):
        total = plan.total[j]
        for p in range(count):
            total = combine(total, product(*tuple(argument(name, p) for name in plan.parameters)))
        plan.total[j] = total
    e += np.uint64(count)


def argument(name, p):
    """The value of a parameter of the product of the entry number `p` and column `j`."""
    if name == "value":
        return v_[p]
    if name == "x":
        return x[from_[p] + j]
    return np.int64(i) if name == "row" else np.int64(u_[p]) if name == "other" else np.int64(j)


def store():
    """Write the total of column `j`, merged with the value there if there is an accumulator."""
    if plan.terms.merged is None:
        plan.out[line + j] = plan.total[j]
    elif plan.terms.reads_old:
        plan.out[line + j] = merge(plan.out[line + j], plan.total[j])
    else:
        plan.out[line + j] = merge(plan.total[j])
