"""Receivers apply gathered values to their fields.

A receiver for which `activate` holds is active in the next iteration.
"""

import numpy as np

from gasla.cpu.kernels.hooks import call, identity, item, load, perform, store
from gasla.cpu.kernels.passes import all_receivers, counted, list_active, variables
from gasla.cpu.kernels.queues import RECEIVED, claim, own_at, takes_turn
from gasla.cpu.kernels.record import Pass, Run, plan
from gasla.cpu.runtime.blocks import stage
from gasla.cpu.runtime.intrinsics import ONE, ZERO, store_unordered
from gasla.program.statements import applied, revised


def is_admitted(run: Pass, v):
    """Return whether the program's mask lets a vertex receive."""
    if "mask" not in plan.functions:
        return True
    load(run, "vertex", v, "mask")
    return call(run, "mask")


def apply(run: Pass, v):
    """Call the program's `apply` for a vertex, store its new fields, and reduce the aggregates.

    The value that the vertex has gathered is in `gathered`. Functions read wide vectors in memory, so their new values
    are stored only after all functions have read the old values.
    """
    if plan.sees_rows:
        perform(run, plan.but_stores(applied(plan)), v)
        if "activate" in plan.functions:
            run.activates = call(run, "activate")
        perform(run, plan.stores(applied(plan)), v)
    else:
        perform(run, applied(plan), v)
    if plan.sums_in_order:
        claim(run.summed, v, run.threads > 1)


def is_active(run: Pass):
    """Return whether the vertex to which a value was just applied is active in the next iteration."""
    if "activate" not in plan.functions:
        return False
    return run.activates if plan.sees_rows else call(run, "activate")


def has_turn(run: Pass, v):
    """Return whether the bucket of an active vertex is processed now. Otherwise the vertex is marked as waiting."""
    if not plan.has_buckets:
        return True
    load(run, "vertex", v, "bucket")
    return takes_turn(run.waiting, v, call(run, "bucket"), run.self_bucket, run.threads > 1)


def apply_and_list(run: Pass, v):
    """Apply the gathered value to a vertex, and append the vertex to a queue if it is active in the next iteration."""
    apply(run, v)
    if not plan.scheduled:
        if is_active(run):
            if has_turn(run, v):
                list_active(run, v)
    elif plan.staged:
        run.activated[v] = is_active(run)


# --- gathered values that are stored, and applied after all vertices have gathered ------------------------------------


def put_aside(run: Pass, v):
    """Store the gathered value of a vertex in arrays, from which a later stage applies it."""
    for i, (name, kind) in enumerate(plan.components):
        store(run.local[name], kind, v, run.gathered[i] if plan.is_tuple else run.gathered)


def take_back(run: Pass, v):
    """Load the value of a vertex that an earlier stage has stored in arrays, into `gathered`."""
    values = tuple(item(run.local[name], kind, v) for name, kind in plan.components)
    if plan.components:  # a program without `gather` has no such arrays
        run.gathered = values if plan.is_tuple else values[0]


def forget(run: Run, v):
    """Set the stored value of a vertex to the identity, so that pushes can reduce into it again."""
    for i, (name, kind) in enumerate(plan.components):
        store(run.local[name], kind, v, identity(run)[i] if plan.is_tuple else identity(run))


# --- stages of an iteration, each over all receivers ------------------------------------------------------------------


@stage
def admit_list(run: Pass):
    """Mark each of the given vertices by whether the program's mask admits it."""
    variables(run)
    for v in all_receivers(run, 2):
        run.activated[v] = is_admitted(run, v)
    counted(run)


@stage
def apply_list(run: Pass):
    """Let every receiver apply the value that was stored for it.

    Receivers that are active next are appended to queues.
    """
    variables(run)
    for v in all_receivers(run, 2):
        take_back(run, v)
        if plan.accumulates:
            forget(run, v)
        apply_and_list(run, v)
    counted(run)


@stage
def release(run: Pass):
    """Clear the bits of all receivers in the bitmap of claimed vertices, so that it can be used again.

    A claimed vertex is one that a thread has appended to a queue or to the receivers.
    """
    variables(run)
    for v in all_receivers(run, 3):
        store_unordered(run.claims, v >> np.uint64(6), ZERO)
    counted(run)


@stage
def revise(run: Pass):
    """Call the program's functions that change receivers once more, after `apply` was called for all of them."""
    variables(run)
    for v in all_receivers(run, 4):
        for function in plan.revising:
            perform(run, revised(plan, function), v)
    counted(run)


@stage
def catch_up(run: Pass):
    """Copy the new values of some fields to the arrays from which other vertices read them.

    This happens at the end of the iteration. Each thread does it for its own receivers.
    """
    variables(run)
    if plan.scheduled:
        size, part, parts = np.uint64(run.receiver_count), np.uint64(run.thread), np.uint64(run.threads)
        for position in range(size * part // parts, size * (part + ONE) // parts):
            v = np.uint64(run.receivers[position])
            bring_up(run, v)
    else:
        for position in range(ZERO, np.uint64(run.counters[own_at(run.thread) + RECEIVED])):
            v = np.uint64(run.my_receivers[position])
            bring_up(run, v)
    counted(run)


def bring_up(run: Run, v):
    """Copy a vertex's new values of some fields to the arrays from which other vertices read them."""
    for name in sorted(plan.behind):
        store(run.was[name], plan.vertex_type(name), v, item(run.v[name], plan.vertex_type(name), v))
