"""Processes vertices in the order of their priorities: vertices below a threshold are active, and all later ones
deferred.

Each thread has a list of the vertices that it has deferred.
"""

import numpy as np

from gasla.cpu.kernels.hooks import call, load, place_of
from gasla.cpu.kernels.passes import bits_of, counted, fetch_target, variables
from gasla.cpu.kernels.queues import FAR, claim, higher, nearer, ranked
from gasla.cpu.kernels.record import Pass, plan
from gasla.cpu.runtime.blocks import stage
from gasla.cpu.runtime.intrinsics import ONE, ZERO, load_unordered


def is_near(run: Pass, priority):
    """Return whether a vertex of this priority is in the current bucket, so that it becomes active and is not deferred.

    A bucket is a range of priorities whose vertices are processed together.
    """
    return priority < run.threshold


def put_off(run: Pass, v):
    """Defer the vertex `v`, because its priority belongs to a later bucket (range of priorities) than the current one.

    The vertex is appended to the thread's deferred vertices, unless it is among them already.
    """
    note_range(run)
    if claim(run.my_far_bits, v, False):
        pile(run, v)


def note_range(run: Pass):
    """Extend the range of priorities of the vertices that this thread has deferred, to include the current vertex."""
    run.low = min(run.low, run.priority)
    if not plan.adds_up:
        run.high = higher(run.high, run.priority)


def pile(run: Pass, v):
    """Append a vertex to this thread's list of deferred vertices, which wait for a later bucket of priorities."""
    run.my_far[run.deferred] = v
    run.deferred += ONE


@stage
def split(run: Pass):
    """When a new bucket begins, append the deferred vertices of this bucket to the queue of active vertices.

    These are the vertices with priorities below the new threshold. Deferred vertices below the last threshold are
    dropped, as they have been active already. Each thread has its own bitmap of deferred vertices. With a common
    bitmap, no vertex would be deferred twice, but the bitmap's cache lines would move between cores whenever a vertex
    improves.
    """
    variables(run)
    count, run.deferred, run.low = run.deferred, ZERO, np.inf
    if not plan.adds_up:
        run.high = -np.inf
    for position in range(count):
        fetch_target(run, np.uint64(run.my_far[min(position + FAR, count - ONE)]))
        v = np.uint64(run.my_far[position])
        if plan.sends_news:
            run.fresh = np.uint64(run.news[v])
        rank(run, v)
        run.priority = priority_of(run)
        if (not plan.sends_news or run.fresh != ZERO) and run.priority >= run.threshold:
            note_range(run)
            pile(run, v)
        else:
            run.my_far_bits[v >> np.uint64(6)] &= ~(ONE << (v & np.uint64(63)))
            if (plan.sends_news and run.fresh != ZERO) or (not plan.sends_news and run.priority >= run.last_threshold):
                if claim(run.claims, v, run.threads > 1):
                    run.next_queue[run.listed] = v
                    run.listed += ONE
    counted(run)


def rank(run: Pass, v):
    """Load the fields from which the priority of the vertex `v` is computed.

    If the priority is the smallest of the numbers of which the vertex's value consists, such as distances from several
    sources, only the numbers that changed are loaded.
    """
    if not plan.ranks_new:
        load(run, "vertex", v, "priority")
    else:
        run.nearest = np.inf
        if plan.lane_gather is not None:
            for lane in bits_of(run.fresh):
                run.nearest = nearer(run.nearest, np.float64(load_unordered(run.v[plan.absorbs[0]][v], lane)))
        else:
            for bit, part in enumerate(plan.parts):
                if run.fresh & np.uint64(1 << bit) != ZERO:
                    run.nearest = nearer(
                        run.nearest, np.float64(load_unordered(*place_of(run.v[plan.absorbing(part)], v, part)))
                    )


def priority_of(run: Pass):
    """Return the priority of the current vertex as a finite number, so that infinite and NaN priorities can be
    compared.
    """
    return ranked(measured(run)) if plan.has_float_priorities else measured(run)


def measured(run: Pass):
    """Return the priority of the current vertex as the program computes it, which may be infinite or NaN."""
    return run.nearest if plan.ranks_new else np.float64(call(run, "priority"))
