"""Receivers apply gathered values; those for which activate holds are active next."""
# mypy: ignore-errors

import numpy as np

from gasla.cpu.kernels.hooks import call, item, load, run, store
from gasla.cpu.kernels.passes import all_receivers, counted, list_active, variables
from gasla.cpu.kernels.queues import RECEIVED, claim, own_at, takes_turn
from gasla.cpu.program.specialize import local, plan
from gasla.cpu.runtime.blocks import stage
from gasla.cpu.runtime.intrinsics import store_unordered
from gasla.program.statements import applied, applied_once_more


def is_admitted(v):
    """Whether the program's mask admits a vertex."""
    if "mask" not in plan.functions:
        return True
    load("vertex", v, "mask")
    return call("mask")


def apply(v):
    """Call apply for a vertex, whose reduced value is in `gathered`, and reduce aggregates.

    Functions read wide vectors in place, so these are stored after all functions have read the old values.
    """
    if plan.sees_rows:
        run(plan.but_stores(applied(plan)), v)
        if "activate" in plan.functions:
            activates = call("activate")
        run(plan.stores(applied(plan)), v)
    else:
        run(applied(plan), v)
    if plan.sums_in_order:
        claim(summed, v, threads > 1)


def is_active():
    """Whether the vertex that was just applied is active next."""
    if "activate" not in plan.functions:
        return False
    return activates if plan.sees_rows else call("activate")


def has_turn(v):
    """Whether the bucket of an active vertex is open; otherwise the vertex waits."""
    if not plan.has_buckets:
        return True
    load("vertex", v, "bucket")
    return takes_turn(waiting, v, call("bucket"), self_bucket, threads > 1)


def apply_and_list(v):
    """Apply to a vertex, and list it if it is active next."""
    apply(v)
    if not plan.scheduled:
        if is_active():
            if has_turn(v):
                list_active(v)
    elif plan.staged:
        activated[v] = is_active()


# --- gathered values that are applied after all vertices have gathered ---------------------------------------------


def put_aside(v):
    """Store the gathered value of a vertex."""
    for name, kind, value in plan.parts_of("gathered"):
        store(local[name], kind, v, value)


def take_back(v):
    """Load the gathered value of a vertex, which a gather or pushes stored."""
    if plan.is_tuple:
        gathered = tuple(item(local[name], kind, v) for name, kind in plan.components)
    else:
        for name, kind in plan.components:
            gathered = item(local[name], kind, v)


def forget(v):
    """Reset the array that pushes reduce into to the identity."""
    for name, kind, value in plan.parts_of(plan.identity):
        store(local[name], kind, v, value)


# --- stages -----------------------------------------------------------------------------------------------------------


@stage
def apply_list():
    """Every receiver applies its gathered value; those that are active next are listed."""
    variables()
    for v in all_receivers(2):
        take_back(v)
        if plan.accumulates:
            forget(v)
        apply_and_list(v)
    counted()


@stage
def release():
    """Clear the claims of the receivers."""
    variables()
    for v in all_receivers(3):
        store_unordered(claims, v >> np.uint64(6), zero)
    counted()


@stage
def post_apply():
    """Run post_apply on the receivers, after all have applied."""
    variables()
    for v in all_receivers(4):
        run(applied_once_more(plan), v)
    counted()


@stage
def catch_up():
    """Update the copies that other vertices read; each thread updates the receivers that it listed."""
    variables()
    if plan.scheduled:
        size, part, parts = np.uint64(receiver_count), np.uint64(thread), np.uint64(threads)
        for position in range(size * part // parts, size * (part + one) // parts):
            v = np.uint64(receivers[position])
            bring_up(v)
    else:
        for position in range(zero, np.uint64(counters[own_at(thread) + RECEIVED])):
            v = np.uint64(my_receivers[position])
            bring_up(v)
    counted()


def bring_up(v):
    """Update the copies of a vertex's fields that other vertices read."""
    for name in sorted(plan.behind):
        store(was_[name], plan.vertex_type(name), v, item(v_[name], plan.vertex_type(name), v))
