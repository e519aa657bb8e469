"""Active vertices send along their out-edges, and targets reduce the values in one of four ways.

If fields absorb gathered values, they are reduced directly into the fields, part by part if there are several. If any
value will do, the first thread to reach a vertex applies to it at once. Otherwise values are reduced into an array and
applied after all have been sent; if any value will do, the array keeps the first.
"""
# mypy: ignore-errors

import numpy as np

from gasla.cpu.kernels.apply import apply, is_active, is_admitted, put_aside
from gasla.cpu.kernels.atomics import accumulate_, improve_
from gasla.cpu.kernels.hooks import call, load, load_edge, run
from gasla.cpu.kernels.passes import (
    active_vertices,
    bits_of,
    counted,
    edges_of,
    fetch_target,
    list_active,
    list_receiver,
    variables,
)
from gasla.cpu.kernels.priorities import is_near, put_off
from gasla.cpu.kernels.queues import NEAR, add_news, claim, nearer, take_news
from gasla.cpu.program.specialize import plan
from gasla.cpu.runtime.blocks import stage
from gasla.cpu.runtime.intrinsics import store_unordered
from gasla.program.statements import Call, Store, written_by


@stage
def expand():
    """List the targets of active vertices, each once."""
    variables()
    for u in active_vertices():
        clear_claim(u)
        load("src", u, "edge_mask")
        for e in edges_of("s", u):
            v = np.uint64(si[e])
            if is_admitted(v):
                load("dst", v, "edge_mask")
                load_edge("s", e, "edge_mask")
                if "edge_mask" not in plan.functions or call("edge_mask"):
                    if claim(claims, v, threads > 1):
                        list_receiver(v)
        touched += np.int64(last - first)
    counted()


@stage
def push():
    """Active vertices send along their out-edges, and targets reduce."""
    variables()
    for u in active_vertices(fetches_targets=bool(plan.fetched)):
        clear_claim(u)
        if plan.sends_news:  # clear the bits before the fields are read: a later change sets its bit again
            fresh = take_news(news, u, threads > 1)
            if fresh != zero:
                send(u)
        else:
            send(u)
    counted()


def clear_claim(u):
    """Clear the claims of the last iteration, if its active vertices are all that were claimed."""
    if plan.absorbs or plan.push_at_once:
        store_unordered(last_claims, u >> np.uint64(6), zero)


def send(u):
    """Send along the edges of `u`."""
    run(plan.loads_of_end("src"), u)
    for e in edges_of("s", u):
        v = np.uint64(si[e])
        if plan.fetched:  # in long lists, prefetch the targets of later edges as well
            if e + NEAR < last:
                fetch_target(np.uint64(si[e + NEAR]))
        if is_admitted(v):
            run(plan.loads_of_end("dst"), v)
            load_edge("s", e, "gather", "edge_mask")
            if "edge_mask" not in plan.functions or call("edge_mask"):
                arrive(v)
    touched += np.int64(last - first)


def arrive(v):
    """Reduce a value at its target."""
    if plan.sends_news:
        improve_parts(v)
        if better != zero:
            add_news(news, v, better, threads > 1)
            list_improved(v)
    elif plan.absorbs:
        gathered = call("gather")
        if improve_[None](v_[plan.absorbs[0]], v, gathered, threads > 1):
            list_improved(v)
    elif plan.push_at_once:
        apply_at_once(v)
    elif plan.takes_first:
        keep_first(v)
    elif plan.is_single:
        # A later thread finds another value than the identity, and need not read the contended claims.
        old = accumulate_[None](acc, v, call("gather"), threads > 1)
        if (old == plan.identity or old != old) and claim(claims, v, threads > 1):
            list_receiver(v)
    else:
        gathered = call("gather")
        for part in plan.parts:
            accumulate_[plan.number(part)](*plan.place_of(part), plan.part_of("gathered", part), threads > 1)
        if claim(claims, v, threads > 1):
            list_receiver(v)


# --- into the fields -----------------------------------------------------------------------------------------


def list_improved(v):
    """List a vertex that was improved; with priorities, in the current bucket or deferred."""
    if plan.prioritised:
        if not plan.ranks_new:
            load("vertex", v, "priority")
        priority = plan.priority
        if is_near(priority):
            list_once(v)
        else:
            put_off(v)
    else:
        list_once(v)


def list_once(v):
    """List a vertex as active next, if no other thread has."""
    if claim(claims, v, threads > 1):
        list_active(v)


def improve_parts(v):
    """Reduce the changed parts of u into v; `better` has the bits of the parts of v that improved."""
    if plan.lane_gather is None:
        gathered = call("gather")
    better = zero
    if plan.ranks_new:
        nearest = np.inf
    if plan.lane_gather is None:
        for bit, part in enumerate(plan.parts):
            if fresh & np.uint64(1 << bit) != zero and improve_[plan.number(part)](
                *plan.place_in_field(part), plan.part_of("gathered", part), threads > 1
            ):
                better |= one << np.uint64(bit)
                if plan.ranks_new:
                    nearest = nearer(nearest, np.float64(plan.part_of("gathered", part)))
    else:
        for lane in bits_of(fresh):
            value = plan.lane_call
            if improve_[0](v_[plan.absorbs[0]][v], lane, value, threads > 1):
                better |= one << lane
                if plan.ranks_new:
                    nearest = nearer(nearest, np.float64(value))


# --- at once, or into an array ----------------------------------------------------------------------------------------


def apply_at_once(v):
    """The first thread to reach a vertex applies to it. A vertex not active next is listed, to have its claim cleared.

    If the mask refuses the vertex once it has been applied, plain stores suffice: each thread lists it at most once.
    """
    if plan.traced.settles:
        gathered = call("gather")
        load("vertex", v, "apply")
        run([Call("apply", "after")])
        if not is_admitted_then():
            run([*map(Store, written_by(plan, "apply"))], v)
            list_active(v)
        elif claim(claims, v, threads > 1):
            apply_claimed(v)
    elif claim(claims, v, threads > 1):
        apply_claimed(v)


def is_admitted_then():
    """Whether the mask admits the vertex after apply."""
    return plan.mask_of_applied


def apply_claimed(v):
    """Apply to a vertex that this thread has claimed."""
    gathered = call("gather")
    apply(v)
    if is_active():
        list_active(v)
    else:
        list_receiver(v)


def keep_first(v):
    """The first thread to reach a vertex stores its value and lists the vertex."""
    if claim(claims, v, threads > 1):
        if plan.is_single:
            acc[v] = call("gather")
        else:
            gathered = call("gather")
            put_aside(v)
        list_receiver(v)
