"""A product of a matrix and a vector that calls functions such as exp, which are computed for many entries at once.

A thread looks up a batch of some thousand entries, and lays them out in slots: up to `height` entries of one row below
each other, slots side by side. A sweep goes down all slots at once, in loops that LLVM vectorises. Where a row has
several slots, their totals are laid out in slots again, and swept again. A row longer than a batch begins a batch, and
goes on in the next. So the result of a row depends neither on the rows around it nor on the thread.

All that a thread holds is in one array for each type, so that LLVM sees that no two parts of it overlap.
"""
# mypy: ignore-errors

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.program.specialize import leave, local, plan
from gasla.cpu.runtime.intrinsics import fetch_add, prefetch, select
from gasla.cpu.runtime.threads import STOP, TICKET

FOUR = 4  # number of entries that are loaded together
AHEAD = 64  # entries between the one that is loaded and the one whose element of x is prefetched, in long rows


@compiled
def multiply(thread, threads, control, width, chunk, complement, indptr, indices, *arrays):
    """Reduce `chunk` rows at a time until none is left. Sets the stop flag where the matrix points outside itself."""
    for name in plan.scratch:
        local[name] = local["all", name][thread]
    one, four, bound, rows = np.uint64(1), np.uint64(FOUR), np.uint64(width), np.uint64(len(indptr) - 1)
    entries, most = min(np.uint64(len(indices)), np.uint64(indptr[rows])), np.uint64(plan.most)
    edge, fewest = entries - min(entries, one), np.uint64(1 if plan.is_low else 0)
    while True:
        start = np.uint64(fetch_add(control, TICKET, chunk))
        if start >= rows or control[STOP] != 0:
            return
        end = min(start + np.uint64(chunk), rows)
        i, first, limit = start, np.uint64(indptr[start]), np.uint64(indptr[end])
        if limit > entries:
            fail()
        goes_on, so_far = False, plan.identity
        while i < end:
            begin, slots, is_whole = i, np.uint64(0), True
            lay_out_rows()
            taken = i - begin + np.uint64(not is_whole)
            plan.begin[taken] = slots
            reduce(taken, slots, *local[plan.scratch])
            if goes_on:
                plan.result[np.uint64(0)] = combine(so_far, plan.result[np.uint64(0)])
            goes_on = not is_whole
            if goes_on:
                so_far = plan.result[np.uint64(0)]
                continue
            store()


def fail():
    """The matrix points outside itself."""
    control[STOP] = 1
    leave()


# --- looking entries up -----------------------------------------------------------------------------------------------


def lay_out_rows():
    """Fill a batch with rows from `i` on, and with part of the next one if that is longer than a batch."""
    while i < end and is_whole:
        last = np.uint64(indptr[i + one])
        if first > last or last > limit:
            fail()
        if plan.masked:
            if mask[i] == complement:
                first = last
        if plan.is_low:
            # If slots have few lines, most rows fit in one slot: this branch handles them alone.
            if (last - first - one < four) & (slots < most) & (first + four <= entries):
                at, plan.begin[i - begin], plan.count[slots] = slots, slots, last - first
                look_up_four(are_inside=True)
                slots, i, first = slots + one, i + one, last
                continue
        needed, stop = max(fewest, (last - first + np.uint64(plan.height - 1)) // np.uint64(plan.height)), last
        if slots + needed > most or i - begin == most:
            if i > begin:
                break
            needed, stop, is_whole = most, first + np.uint64(plan.block), False
        plan.begin[i - begin] = slots
        s, slots = slots, slots + needed
        while s < slots:
            at, below = s, min(first + np.uint64(plan.height), stop)
            plan.count[s] = below - first
            while first < below:
                look_up_four(are_inside=False)
                at += np.uint64(FOUR * plan.stride)
                first += four
            s, first = s + one, below
        i += np.uint64(is_whole)


def look_up_four(are_inside):
    """Lay out four entries from `first` on, below each other from `at` on; entries past the end of the row are ignored.

    `are_inside`: the matrix has four entries there; otherwise its last entry is repeated.
    """
    if plan.looked_up:
        for k in range(FOUR):
            e_[k] = first + np.uint64(k) if are_inside else min(first + np.uint64(k), edge)
        if plan.reads_columns:
            for k in range(FOUR):
                u_[k] = np.uint64(indices[e_[k]])
            if (u_0 >= bound) | (u_1 >= bound) | (u_2 >= bound) | (u_3 >= bound):
                fail()
        if plan.reads("x") and not plan.is_low:
            for k in range(FOUR):
                prefetch(x, indices[min(first + np.uint64(AHEAD + k), edge)])
        for k in range(FOUR):
            plan.entry[at + np.uint64(k * plan.stride)] = entry(*tuple(argument(name, k) for name in plan.parameters))


def argument(name, k):
    """The value of a parameter of the product at one of four entries."""
    if name == "value":
        return values[e_[k]]
    if name == "x":
        return x[u_[k]]
    return np.int64(i) if name == "row" else np.int64(u_[k])


# --- reducing a batch -------------------------------------------------------------------------------------------------


@compiled
def reduce(rows, slots, *scratch):
    """Reduce each slot, then the slots of each row until one is left."""
    sweep(whole(slots), *local[plan.scratch])
    if plan.is_low:
        if slots == rows:
            for i in range(whole(rows)):
                plan.result[i] = plan.total[i]
            return
    left = np.uint64(0)
    for i in range(rows):
        first, last = np.uint64(plan.begin[i]), np.uint64(plan.begin[i + np.uint64(1)])
        plan.result[i] = choose(first < last, plan.total[first], plan.identity)
        plan.row[left], plan.first[left], plan.last[left] = i, first, last
        left += np.uint64(last - first > 1)
    while left > 0:
        slots, height = np.uint64(0), np.uint64(0)
        for j in range(left):
            s, last = np.uint64(plan.first[j]), np.uint64(plan.last[j])
            plan.first[j] = slots
            while s < last:
                here, at = min(last - s, np.uint64(plan.low)), slots
                plan.count[slots] = here
                height = max(height, here)
                for _ in range(here):
                    plan.laid[at] = plan.total[s]
                    at += np.uint64(plan.stride)
                    s += np.uint64(1)
                slots += np.uint64(1)
            plan.last[j] = slots
        sweep_again(whole(slots), height, *local[plan.scratch])
        several = np.uint64(0)
        for j in range(left):
            i, first, last = np.uint64(plan.row[j]), np.uint64(plan.first[j]), np.uint64(plan.last[j])
            plan.result[i] = plan.total[first]
            plan.row[several], plan.first[several], plan.last[several] = i, first, last
            several += np.uint64(last - first > 1)
        left = several


@compiled
def sweep(slots, *scratch):
    """Reduce the entries of each slot."""
    for s in range(slots):
        plan.total[s] = choose(plan.count[s] > 0, product(*plan.entry[s]), plan.identity)
    for k in range(np.uint64(1), np.uint64(plan.height)):
        line = k * np.uint64(plan.stride)
        for s in range(slots):
            new = combine(plan.total[s], product(*plan.entry[line + s]))
            plan.total[s] = choose(plan.count[s] > np.int32(k), new, plan.total[s])


@compiled
def sweep_again(slots, height, *scratch):
    """Reduce the totals that are laid out in each slot."""
    for s in range(slots):
        plan.total[s] = plan.laid[s]
    for k in range(np.uint64(1), height):
        line = k * np.uint64(plan.stride)
        for s in range(slots):
            new = combine(plan.total[s], plan.laid[line + s])
            plan.total[s] = choose(plan.count[s] > np.int32(k), new, plan.total[s])


@compiled
def whole(count):
    """The next multiple of the values that are computed side by side."""
    return (count + np.uint64(plan.lanes - 1)) & ~np.uint64(plan.lanes - 1)


@compiled
def choose(condition, a, b):
    """One of two values."""
    if plan.is_tuple:
        return tuple(select(condition, a[p], b[p]) for p in plan.parts)
    else:
        return select(condition, a, b)


# --- what is stored ---------------------------------------------------------------------------------------------------


def store():
    """Write the results of the batch, merged with the values there if there is an accumulator."""
    if plan.terms.reads_old:
        for k in range(taken):
            plan.stored[k] = plan.out[begin + k]
    finish(whole(taken), *local[plan.scratch])
    for k in range(taken):
        if not plan.masked or mask[begin + k] != complement:
            plan.out[begin + k] = plan.stored[k]


@compiled
def finish(rows, *scratch):
    """Compute what is stored for each row."""
    for i in range(rows):
        if plan.terms.merged is None:
            plan.stored[i] = plan.result[i]
        else:
            plan.stored[i] = merge(plan.stored[i], plan.result[i])
