"""Iteration over vertices, which threads share, and over the edges of a vertex.

Stages count in local variables, which `counted` adds to the thread's counters at the end of a stage.
"""
# mypy: ignore-errors

import numpy as np

from gasla.cpu.kernels.queues import *
from gasla.cpu.program.specialize import is_used, local, plan, where_used
from gasla.cpu.runtime.intrinsics import count_trailing_zeros, fetch_add, load_unordered, prefetch
from gasla.cpu.runtime.threads import STOP

FEW = 4  # number of targets of a vertex that are prefetched


@where_used
def variables():
    """The variables of stages."""
    my_table_keys, my_table_totals, my_table_places = table_keys[thread], table_totals[thread], table_places[thread]
    one, zero = np.uint64(1), np.uint64(0)
    parity = self_iteration & 1
    counters = counts[self_iteration % 3]
    last_counters = counts[(self_iteration + 2) % 3]
    next_queue = queues[1 - parity, thread]
    my_receivers = receivers[thread]
    my_far_bits, my_far, deferred = far_bits[thread], far[thread], np.uint64(last_counters[own_at(thread) + LEFT])
    low = lows[(self_iteration + 2) % 3, thread * 8]
    high = lows[(self_iteration + 2) % 3, thread * 8 + 1]
    active, next_active = bits[parity], bits[1 - parity]
    claims, last_claims = claimed[parity], claimed[1 - parity]
    for name in sorted(plan.doubled):
        old_[name], new_[name] = v_[name][parity], v_[name][1 - parity]
    for name in plan.seen_elsewhere:
        other_[name] = plan.copy_of("gather", name)
    for name in plan.traced.aggregates:
        sum_[name] = part_[name][parity, thread * 8]
    listed = zero
    received = zero
    edges = np.int64(0)
    touched = np.int64(0)


def counted():
    """Add the counts of a stage to the thread's counters, and store its partial aggregates."""
    if is_used("listed"):
        counters[own_at(thread) + NEXT] += np.int64(listed)
    if is_used("received"):
        counters[own_at(thread) + RECEIVED] += np.int64(received)
    if is_used("edges"):
        counters[own_at(thread) + EDGES] += np.int64(edges)
    if is_used("touched"):
        counters[own_at(thread) + TOUCHED] += np.int64(touched)
    if is_used("deferred"):
        counters[own_at(thread) + LEFT] = np.int64(deferred)
        lows[self_iteration % 3, thread * 8] = low
        if not plan.adds_up:
            lows[self_iteration % 3, thread * 8 + 1] = high
    for name in plan.traced.aggregates:
        if is_used("sum_" + name):
            part_[name][parity, thread * 8] = sum_[name]


def list_receiver(v):
    """List a vertex as a receiver."""
    my_receivers[received] = v
    received += one


def list_active(v):
    """List a vertex as active next; count its out-edges, unless degrees are so similar that their mean serves."""
    next_queue[listed] = v
    listed += one
    if skewed:
        edges += np.int64(sp[v + one] - sp[v])


# --- vertices ---------------------------------------------------------------------------------------------------------


def queued(lists, count, ticket, side="", fetches_targets=False):
    """The vertices in all threads' lists of `count` entries, in chunks: first the thread's own, then others'.

    The neighbor lists of a `side` are prefetched: offsets, then first entries, then the fields that a push reads of
    these.
    """
    for shift in range(threads):
        other = (thread + shift) % threads
        size = np.uint64(count)
        while True:
            start = take(counters, other, ticket, np.int64(size))
            if start >= size or load_unordered(control, STOP) != 0:
                break
            for position in range(start, min(start + np.uint64(CHUNK), size)):
                if side:
                    fetch_list(
                        side,
                        lists[other, min(position + FAR, size - one)],
                        lists[other, min(position + NEAR, size - one)],
                    )
                if fetches_targets:
                    fetch_targets(side, lists[other, min(position + NEAREST, size - one)])
                yield np.uint64(lists[other, position])


def fetch_list(side, far, near):
    """Prefetch the offset of a vertex's list, and the first entries of the list of a vertex nearer ahead."""
    prefetch(local[side + "p"], np.uint64(far))
    place = np.uint64(local[side + "p"][np.uint64(near)])
    prefetch(local[side + "i"], place)
    for name in plan.edge_values:
        prefetch(local[side + "v", name], place)


def fetch_targets(side, nearest):
    """Prefetch the fields of a vertex's first neighbors that a push reads: hardware cannot predict the addresses."""
    ahead = np.uint64(local[side + "p"][np.uint64(nearest)])
    if ahead + np.uint64(FEW) <= np.uint64(len(local[side + "i"])):
        for k in range(FEW):
            fetch_target(np.uint64(local[side + "i"][ahead + np.uint64(k)]))


def fetch_target(v):
    """Prefetch the fields of a target that a push reads."""
    if plan.fetches_vector:
        prefetch(v_[plan.fetched][v], 0)
    else:
        prefetch(v_[plan.fetched], v)


def active_vertices(fetches_targets=False):
    """The active vertices, as the last iteration listed them."""
    queue = queues[parity]
    yield from queued(queue, last_counters[own_at(other) + NEXT], 0, "s", fetches_targets)


def newly_active(ticket):
    """The vertices that are active next."""
    next_queues = queues[1 - parity]
    yield from queued(next_queues, counters[own_at(other) + NEXT], ticket)


def all_receivers(ticket, side=""):
    """The receivers of this iteration.

    With a schedule they are one array. If lists are short, each thread takes a fixed part of it, which is similar from
    level to level, and so stays in its cache.
    """
    if not plan.scheduled:
        yield from queued(receivers, counters[own_at(other) + RECEIVED], ticket, side)
        return
    size, part, parts = np.uint64(receiver_count), np.uint64(thread), np.uint64(threads)
    start, stop = size * part // parts, size * (part + one) // parts
    while load_unordered(control, STOP) == 0:
        if not narrow:
            start = take(counters, 0, ticket, receiver_count)
            stop = min(start + np.uint64(CHUNK), size)
        if start >= stop:
            break
        for position in range(start, stop):
            if side:
                fetch_list(
                    side, receivers[min(position + FAR, size - one)], receivers[min(position + NEAR, size - one)]
                )
            yield np.uint64(receivers[position])
        if narrow:
            break


def words():
    """The words of a bitmap of all vertices, in chunks; each as its first vertex."""
    size = np.uint64(self_n)
    while True:
        start = np.uint64(fetch_add(counters, DENSE_TICKET, DENSE_CHUNK))
        if start >= size or load_unordered(control, STOP) != 0:
            break
        yield from range(start, min(start + np.uint64(DENSE_CHUNK), size), np.uint64(64))


def all_vertices():
    """All vertices, in chunks."""
    for base in words():
        yield from range(base, min(base + np.uint64(64), size))


def bits_of(word):
    """The positions of the set bits."""
    rest = word
    while rest != zero:
        lane = count_trailing_zeros(rest)
        rest &= rest - one
        yield lane


# --- edges ------------------------------------------------------------------------------------------------------------


def edges_of(side, center):
    """The positions of a vertex's edges in the lists of a side."""
    first, last = np.uint64(local[side + "p"][center]), np.uint64(local[side + "p"][center + one])
    yield from range(first, last)
