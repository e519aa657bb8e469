"""Vertices that receive in an iteration apply the values that they have gathered to their fields.

A vertex for which the program's `activate` then holds is active in the next iteration.
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
    """Return whether the program's `mask` allows the vertex `v` to receive in this iteration."""
    if "mask" not in plan.functions:
        return True
    load(run, "vertex", v, "mask")
    return call(run, "mask")


def apply(run: Pass, v):
    """Call the program's `apply` for the vertex `v`, store the new fields of the vertex, and reduce its aggregates.

    The value that the vertex has gathered is in the variable `gathered`. Functions read wide vectors in memory, so new
    values are stored only after all functions have read the old values.
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
    """Return whether the vertex that has just applied a value is active in the next iteration, by the program's
    `activate`.
    """
    if "activate" not in plan.functions:
        return False
    return run.activates if plan.sees_rows else call(run, "activate")


def has_turn(run: Pass, v):
    """Return whether the bucket (the priority class) of an active vertex is processed now.

    Otherwise the vertex is marked as waiting, and becomes active later.
    """
    if not plan.has_buckets:
        return True
    load(run, "vertex", v, "bucket")
    return takes_turn(run.waiting, v, call(run, "bucket"), run.self_bucket, run.threads > 1)


def apply_and_list(run: Pass, v):
    """Apply the gathered value to the vertex `v`, and append `v` to a queue if it is active next."""
    apply(run, v)
    if not plan.scheduled:
        if is_active(run):
            if has_turn(run, v):
                list_active(run, v)
    elif plan.staged:
        run.activated[v] = is_active(run)


# --- storing gathered values, to apply them after all vertices have gathered ------------------------------------------


def put_aside(run: Pass, v):
    """Store the gathered value of the vertex `v` in scratch arrays, so that a later stage of the iteration can apply
    it.
    """
    for i, (name, kind) in enumerate(plan.components):
        store(run.local[name], kind, v, run.gathered[i] if plan.is_tuple else run.gathered)


def take_back(run: Pass, v):
    """Load the gathered value of the vertex `v` from scratch arrays, and set the variable `gathered` to it.

    An earlier stage of the iteration has stored the value there.
    """
    values = tuple(item(run.local[name], kind, v) for name, kind in plan.components)
    if plan.components:  # a program without `gather` has no such arrays
        run.gathered = values if plan.is_tuple else values[0]


def forget(run: Run, v):
    """Reset the stored gathered value of the vertex `v` to the identity of the reduction.

    After that, the pushes of the next iteration can reduce into it again.
    """
    for i, (name, kind) in enumerate(plan.components):
        store(run.local[name], kind, v, identity(run)[i] if plan.is_tuple else identity(run))


# --- stages of an iteration, which loop over the vertices that receive in it ------------------------------------------


@stage
def admit_list(run: Pass):
    """Store for each vertex in the list of receivers whether the program's `mask` allows the vertex to receive."""
    variables(run)
    for v in all_receivers(run, 2):
        run.activated[v] = is_admitted(run, v)
    counted(run)


@stage
def apply_list(run: Pass):
    """Let each receiver (a vertex that receives in this iteration) apply the value that was stored for it.

    Receivers that are active in the next iteration are appended to queues.
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
    """Call those functions of the program that change vertices again after all vertices of the iteration have applied.

    The vertices are the receivers, those that have applied a value in this iteration.
    """
    variables(run)
    for v in all_receivers(run, 4):
        for function in plan.revising:
            perform(run, revised(plan, function), v)
    counted(run)


@stage
def catch_up(run: Pass):
    """At the end of an iteration, copy new values of some fields to the arrays from which other vertices read them.

    Each thread does this for its own receivers, the vertices that it has processed in the iteration.
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
    """Copy the new values of some fields of vertex `v` to the arrays from which other vertices read these fields."""
    for name in sorted(plan.behind):
        store(run.was[name], plan.vertex_type(name), v, item(run.v[name], plan.vertex_type(name), v))
