"""Kernels in which active vertices push: they send values along their out-edges, and targets reduce the values.

There are four ways of reducing the values at a target:

- If a field can take in values directly ("absorb" them), each value is reduced into the field itself.
- If any value will do, the first thread to reach a vertex applies its value at once, where the program allows that.
- If any value will do, but not at once, an array keeps the first value for each target until all values have been sent.
- All other values are reduced into an array, and applied to the fields after all values have been sent.
"""

import numpy as np

from gasla.cpu.kernels.apply import apply, is_active, is_admitted, put_aside
from gasla.cpu.kernels.atomics import accumulate, improve
from gasla.cpu.kernels.hooks import call, identity, load, load_edge, part_of, perform, place_of, row
from gasla.cpu.kernels.passes import (
    active_vertices,
    all_receivers,
    bits_of,
    counted,
    edges_of,
    fetch_target,
    list_active,
    list_receiver,
    variables,
)
from gasla.cpu.kernels.priorities import is_near, priority_of, put_off
from gasla.cpu.kernels.queues import NEAR, add_news, claim, nearer, take_news
from gasla.cpu.kernels.record import Pass, plan
from gasla.cpu.runtime.blocks import stage
from gasla.cpu.runtime.intrinsics import ONE, ZERO, load_unordered, store_unordered
from gasla.program.statements import Call, Store, written_by


@stage
def expand(run: Pass):
    """Append the vertices to which active vertices have edges (the receivers) to an array, each vertex once."""
    variables(run)
    for u in active_vertices(run):
        clear_claim(run, u)
        load(run, "src", u, "edge_mask")
        for e in edges_of(run, "s", u):
            v = np.uint64(run.si[e])
            if is_admitted(run, v):
                load(run, "dst", v, "edge_mask")
                load_edge(run, "s", e, "edge_mask")
                if "edge_mask" not in plan.functions or call(run, "edge_mask"):
                    if claim(run.claims, v, run.threads > 1):
                        list_receiver(run, v)
        run.touched += np.int64(run.last - run.first)
    counted(run)


@stage
def admit_edges(run: Pass):
    """Store for each out-edge of the given vertices whether the program's `edge_mask` admits the edge.

    The results are stored by position in the adjacency lists.
    """
    variables(run)
    for u in all_receivers(run, 2):
        load(run, "src", u, "edge_mask")
        for e in edges_of(run, "s", u):
            v = np.uint64(run.si[e])
            load(run, "dst", v, "edge_mask")
            load_edge(run, "s", e, "edge_mask")
            run.admitted[e] = call(run, "edge_mask")
    counted(run)


@stage
def push(run: Pass):
    """Let the active vertices send values along their out-edges, and let the vertices there reduce the values."""
    variables(run)
    for u in active_vertices(run, fetches_targets=bool(plan.fetched)):
        clear_claim(run, u)
        # clear the bits that say what changed before the fields are read: if a field changes after that, its bit is set
        # again
        if plan.sends_news:
            run.fresh = take_news(run.news, u, run.threads > 1)
            if run.fresh != ZERO:
                send(run, u)
        else:
            send(run, u)
    counted(run)


def clear_claim(run: Pass, u):
    """Clear the word with the bit of the active vertex `u` in the last iteration's bitmap of claimed vertices.

    A claimed vertex is one that a thread has appended to its queue. If only active vertices were claimed, this clears
    all bits, so that the bitmap can be used again.
    """
    if plan.absorbs or plan.push_at_once:
        store_unordered(run.last_claims, u >> np.uint64(6), ZERO)


def send(run: Pass, u):
    """Send a value along each out-edge of the vertex `u`."""
    perform(run, plan.loads_of_end("src"), u)
    for e in edges_of(run, "s", u):
        v = np.uint64(run.si[e])
        if plan.fetched:  # if the list is long, prefetch the fields at the ends of later edges as well
            if e + NEAR < run.last:
                fetch_target(run, np.uint64(run.si[e + NEAR]))
        if is_admitted(run, v):
            perform(run, plan.loads_of_end("dst"), v)
            load_edge(run, "s", e, "gather", "edge_mask")
            if "edge_mask" not in plan.functions or call(run, "edge_mask"):
                arrive(run, u, v)
    run.touched += np.int64(run.last - run.first)


def arrive(run: Pass, u, v):
    """Compute the value that an edge from the vertex `u` sends to the vertex `v`, and reduce the value at `v`.

    The program's plan decides how: into a field of `v`, into an array, or by applying it at once.
    """
    if plan.sends_news:
        improve_parts(run, u, v)
        if run.improved != ZERO:
            add_news(run.news, v, run.improved, run.threads > 1)
            list_improved(run, v)
    elif plan.absorbs:
        run.gathered = call(run, "gather")
        if improve(run, None, run.v[plan.absorbs[0]], v, run.gathered, run.threads > 1):
            list_improved(run, v)
    elif plan.push_at_once:
        apply_at_once(run, v)
    elif plan.takes_first:
        keep_first(run, v)
    elif plan.is_single:
        # only the first thread to reach v finds the identity as the old value, so later threads need not read the
        # bitmap of claimed vertices, which many threads write
        old = accumulate(run, None, run.acc, v, call(run, "gather"), run.threads > 1)
        if (old == identity(run) or old != old) and claim(run.claims, v, run.threads > 1):
            list_receiver(run, v)
    else:
        run.gathered = call(run, "gather")
        for part in plan.parts:
            accumulate(
                run,
                plan.number(part),
                *place_of(run.local[plan.accumulating(part)], v, part),
                part_of(run.gathered, part),
                run.threads > 1,
            )
        if claim(run.claims, v, run.threads > 1):
            list_receiver(run, v)


# --- reducing pushed values directly into the fields of the vertices that they reach ----------------------------------


def list_improved(run: Pass, v):
    """Make the vertex `v` active in the next iteration, because a push has improved its value.

    If the program has priorities, a vertex that does not belong to the current bucket is deferred instead.
    """
    if plan.prioritised:
        if not plan.ranks_new:
            load(run, "vertex", v, "priority")
        run.priority = priority_of(run)
        if is_near(run, run.priority):
            list_once(run, v)
        else:
            put_off(run, v)
    else:
        list_once(run, v)


def list_once(run: Pass, v):
    """Append the vertex `v` to the queue of the next iteration, unless some thread has already appended it."""
    if claim(run.claims, v, run.threads > 1):
        list_active(run, v)


def improve_parts(run: Pass, u, v):
    """Send those parts (numbers) of the value of vertex `u` that have changed to `v`, and reduce them into the fields
    of `v`.

    Set `improved` to the bits of the parts of `v` that got better by this.
    """
    if plan.lane_gather is None:
        run.gathered = call(run, "gather")
    run.improved = ZERO
    if plan.ranks_new:
        run.nearest = np.inf
    if plan.lane_gather is None:
        for bit, part in enumerate(plan.parts):
            if run.fresh & np.uint64(1 << bit) != ZERO and improve(
                run,
                plan.number(part),
                *place_of(run.v[plan.absorbing(part)], v, part),
                part_of(run.gathered, part),
                run.threads > 1,
            ):
                run.improved |= ONE << np.uint64(bit)
                if plan.ranks_new:
                    run.nearest = nearer(run.nearest, np.float64(part_of(run.gathered, part)))
    else:
        for lane in bits_of(run.fresh):
            value = lane_of(run, u, v, lane)
            if improve(run, "0", run.v[plan.absorbs[0]][v], lane, value, run.threads > 1):
                run.improved |= ONE << lane
                if plan.ranks_new:
                    run.nearest = nearer(run.nearest, np.float64(value))


def lane_of(run: Pass, u, v, lane):
    """Return one lane (a single number) of the vector that an edge from vertex `u` to vertex `v` sends."""
    return run.local[plan.printed_lane](
        *tuple(lane_argument(run, name, field, u if is_src else v, lane) for name, field, is_src in plan.lane_reads)
    )


def lane_argument(run: Pass, name, field, at, lane):
    """Return one argument of the function that computes a lane (one number) of the vector that an edge sends.

    It is a local variable, or the same lane of a vertex's vector: of the field `field` at the vertex `at`.
    """
    return run.local[name] if field is None else load_unordered(row(run, field, "old")[at], lane)


# --- applying the first value that reaches a vertex at once, or storing it for later ----------------------------------


def apply_at_once(run: Pass, v):
    """Apply the pushed value to a vertex at once, if this thread is the first to reach the vertex in this iteration.

    If the vertex is not active in the next iteration, it is appended to the receivers, so that its claim (the bit by
    which other threads see that they are late) is cleared. If the mask refuses the vertex once it has been applied to,
    plain stores suffice, as each thread then appends it at most once.
    """
    if plan.traced.settles:
        run.gathered = call(run, "gather")
        load(run, "vertex", v, "apply")
        perform(run, [Call("apply", "after")])
        if not is_admitted_then(run):
            perform(run, [*map(Store, written_by(plan, "apply"))], v)
            list_active(run, v)
        elif claim(run.claims, v, run.threads > 1):
            apply_claimed(run, v)
    elif claim(run.claims, v, run.threads > 1):
        apply_claimed(run, v)


def is_admitted_then(run: Pass):
    """Return whether the program's `mask` would admit a vertex whose fields had the values that `apply` has just
    returned.
    """
    return run.local[plan.functions["mask"].printed](*run.local[plan.passed_after_apply])


def apply_claimed(run: Pass, v):
    """Apply the pushed value to a vertex that this thread has claimed, which means reached before all other threads."""
    run.gathered = call(run, "gather")
    apply(run, v)
    if is_active(run):
        list_active(run, v)
    else:
        list_receiver(run, v)


def keep_first(run: Pass, v):
    """Store the pushed value for a vertex, if this thread is the first to reach the vertex in this iteration.

    The vertex is then appended to the receivers, which apply their values later.
    """
    if claim(run.claims, v, run.threads > 1):
        if plan.is_single:
            run.acc[v] = call(run, "gather")
        else:
            run.gathered = call(run, "gather")
            put_aside(run, v)
        list_receiver(run, v)
