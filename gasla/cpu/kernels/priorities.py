"""Vertices in the order of priorities: those below a threshold are active, the others wait in lists, one per thread."""
# mypy: ignore-errors

import numpy as np

from gasla.cpu.kernels.hooks import load
from gasla.cpu.kernels.passes import bits_of, counted, fetch_target, variables
from gasla.cpu.kernels.queues import FAR, claim, higher, nearer
from gasla.cpu.program.specialize import plan
from gasla.cpu.runtime.blocks import stage
from gasla.cpu.runtime.intrinsics import load_unordered


def is_near(priority):
    """Whether a vertex belongs to the current bucket."""
    return priority < threshold


def put_off(v):
    """Defer a vertex, unless this thread has deferred it already."""
    note_range()
    if claim(my_far_bits, v, False):
        pile(v)


def note_range():
    """Update the range of deferred priorities."""
    low = min(low, priority)
    if not plan.adds_up:
        high = higher(high, priority)


def pile(v):
    """Add a vertex to the thread's pile of deferred vertices."""
    my_far[deferred] = v
    deferred += one


@stage
def split():
    """List the deferred vertices below the new threshold. Those below the last one have been active already.

    Several threads may have deferred a vertex: shared marks would move from cache to cache with every improvement.
    """
    variables()
    count, deferred, low = deferred, zero, np.inf
    if not plan.adds_up:
        high = -np.inf
    for position in range(count):
        fetch_target(np.uint64(my_far[min(position + FAR, count - one)]))
        v = np.uint64(my_far[position])
        if plan.sends_news:
            fresh = np.uint64(news[v])
        rank(v)
        priority = plan.priority
        if (not plan.sends_news or fresh != zero) and priority >= threshold:
            note_range()
            pile(v)
        else:
            my_far_bits[v >> np.uint64(6)] &= ~(one << (v & np.uint64(63)))
            if (plan.sends_news and fresh != zero) or (not plan.sends_news and priority >= last_threshold):
                if claim(claims, v, threads > 1):
                    next_queue[listed] = v
                    listed += one
    counted()


def rank(v):
    """Load the values that a vertex's priority depends on; if it is the least part, only parts that changed."""
    if not plan.ranks_new:
        load("vertex", v, "priority")
    else:
        nearest = np.inf
        if plan.lane_gather is not None:
            for lane in bits_of(fresh):
                nearest = nearer(nearest, np.float64(load_unordered(v_[plan.absorbs[0]][v], lane)))
        else:
            for bit, part in enumerate(plan.parts):
                if fresh & np.uint64(1 << bit) != zero:
                    nearest = nearer(nearest, np.float64(load_unordered(*plan.place_in_field(part))))
