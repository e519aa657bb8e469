"""Loops over vertices, which threads divide among themselves, and over the edges of a vertex.

A stage of an iteration counts edges and vertices in local variables. At its end, `counted` adds these to the counters
of the thread.
"""

import numpy as np

from gasla.compiler.template import where_used
from gasla.cpu.kernels.hooks import copy_of
from gasla.cpu.kernels.queues import (
    CHUNK,
    DENSE_CHUNK,
    DENSE_TICKET,
    EDGES,
    FAR,
    LEFT,
    NEAR,
    NEAREST,
    NEXT,
    RECEIVED,
    TOUCHED,
    own_at,
    take,
)
from gasla.cpu.kernels.record import Pass, plan
from gasla.cpu.runtime.intrinsics import ONE, ZERO, count_trailing_zeros, fetch_add_relaxed, is_used, prefetch
from gasla.cpu.runtime.threads import is_stopped

FEW = 4  # number of neighbors whose fields are prefetched for a vertex that will soon push


@where_used
def variables(run: Pass):
    """Set the local variables that a stage of an iteration uses, such as this thread's rows of scratch arrays."""
    run.my_table_keys, run.my_table_totals, run.my_table_places = (
        run.table_keys[run.thread],
        run.table_totals[run.thread],
        run.table_places[run.thread],
    )
    run.parity = run.self_iteration & 1
    run.counters = run.counts[run.self_iteration % 3]
    run.last_counters = run.counts[(run.self_iteration + 2) % 3]
    run.next_queue = run.queues[1 - run.parity, run.thread]
    run.my_receivers = run.receivers[run.thread]
    run.my_far_bits, run.my_far, run.deferred = (
        run.far_bits[run.thread],
        run.far[run.thread],
        np.uint64(run.last_counters[own_at(run.thread) + LEFT]),
    )
    run.low = run.lows[(run.self_iteration + 2) % 3, run.thread * 8]
    run.high = run.lows[(run.self_iteration + 2) % 3, run.thread * 8 + 1]
    run.active, run.next_active = run.bits[run.parity], run.bits[1 - run.parity]
    run.claims, run.last_claims = run.claimed[run.parity], run.claimed[1 - run.parity]
    for name in sorted(plan.doubled):
        run.old[name], run.new[name] = run.v[name][run.parity], run.v[name][1 - run.parity]
    for name in plan.seen_elsewhere:
        run.other[name] = copy_of(run, "gather", name)
    for name in plan.traced.aggregates:
        run.sum_[name] = run.part[name][run.parity, run.thread * 8]
    run.listed = ZERO
    run.received = ZERO
    run.edges = np.int64(0)
    run.touched = np.int64(0)


def counted(run: Pass):
    """At the end of a stage, add the edges and vertices that this thread has counted to its counters.

    The thread's partial results of the program's aggregates are stored as well.
    """
    if is_used("listed"):
        run.counters[own_at(run.thread) + NEXT] += np.int64(run.listed)
    if is_used("received"):
        run.counters[own_at(run.thread) + RECEIVED] += np.int64(run.received)
    if is_used("edges"):
        run.counters[own_at(run.thread) + EDGES] += np.int64(run.edges)
    if is_used("touched"):
        run.counters[own_at(run.thread) + TOUCHED] += np.int64(run.touched)
    if is_used("deferred"):
        run.counters[own_at(run.thread) + LEFT] = np.int64(run.deferred)
        run.lows[run.self_iteration % 3, run.thread * 8] = run.low
        if not plan.adds_up:
            run.lows[run.self_iteration % 3, run.thread * 8 + 1] = run.high
    for name in plan.traced.aggregates:
        if is_used("sum_" + name):
            run.part[name][run.parity, run.thread * 8] = run.sum_[name]


def list_receiver(run: Pass, v):
    """Append a vertex to this thread's array of receivers, the vertices that gather or apply in this iteration."""
    run.my_receivers[run.received] = v
    run.received += ONE


def list_active(run: Pass, v):
    """Append a vertex to this thread's queue of vertices that are active in the next iteration, and count its
    out-edges.

    If all degrees are similar, out-edges are not counted, as they can be estimated from the mean degree.
    """
    run.next_queue[run.listed] = v
    run.listed += ONE
    if run.skewed:
        run.edges += np.int64(run.sp[v + ONE] - run.sp[v])


# --- loops over the vertices in queues, in bitmaps, or in the whole graph ---------------------------------------------


def queued(run: Pass, lists, counts, what, ticket, side="", fetches_targets=False):
    """Yield the vertices in the queues `lists` of all threads, in chunks, beginning with this thread's own queue.

    The length of a thread's queue is its counter number `what` in `counts`, and `ticket` is the number of the counter
    by which threads take chunks. If a `side` ("g" for gathering or "s" for sending) is given, the adjacency lists of
    later vertices are prefetched: first their offsets, then their first entries, and then, with `fetches_targets`, the
    fields that a push reads at these entries.
    """
    for shift in range(run.threads):
        other = (run.thread + shift) % run.threads
        size = np.uint64(counts[own_at(other) + what])
        while True:
            start = take(run.counters, other, ticket, np.int64(size))
            if start >= size or is_stopped(run.control):
                break
            for position in range(start, min(start + np.uint64(CHUNK), size)):
                if side:
                    fetch_offset(run, side, lists[other, min(position + FAR, size - ONE)])
                    fetch_list(run, side, lists[other, min(position + NEAR, size - ONE)])
                if fetches_targets:
                    fetch_targets(run, side, lists[other, min(position + NEAREST, size - ONE)])
                yield np.uint64(lists[other, position])


def fetch_offset(run: Pass, side, v):
    """Prefetch the offset of the vertex `v` that says where its adjacency list (to gather or to send, by `side`)
    begins.
    """
    prefetch(run.local[side + "p"], np.uint64(v))


def fetch_list(run: Pass, side, v):
    """Prefetch the first entries of the adjacency list of the vertex `v`, with the values of these edges."""
    place = np.uint64(run.local[side + "p"][np.uint64(v)])
    prefetch(run.local[side + "i"], place)
    for name in plan.edge_values:
        prefetch(run.local[side + "v", name], place)


def fetch_targets(run: Pass, side, nearest):
    """Prefetch fields of the first neighbors of a vertex, because a push will read them.

    The hardware can't predict their addresses.
    """
    ahead = np.uint64(run.local[side + "p"][np.uint64(nearest)])
    if ahead + np.uint64(FEW) <= np.uint64(len(run.local[side + "i"])):
        for k in range(FEW):
            fetch_target(run, np.uint64(run.local[side + "i"][ahead + np.uint64(k)]))


def fetch_target(run: Pass, v):
    """Prefetch the field of the vertex `v` that a push will read there, before it reduces a value into it."""
    if plan.fetches_vector:
        prefetch(run.v[plan.fetched][v], 0)
    else:
        prefetch(run.v[plan.fetched], v)


def active_vertices(run: Pass, fetches_targets=False):
    """Yield the vertices that are active in this iteration, from the queues of all threads."""
    queue = run.queues[run.parity]
    yield from queued(run, queue, run.last_counters, NEXT, 0, "s", fetches_targets)


def newly_active(run: Pass, ticket):
    """Yield the vertices that are active in the next iteration, from the queues of all threads."""
    next_queues = run.queues[1 - run.parity]
    yield from queued(run, next_queues, run.counters, NEXT, ticket)


def all_receivers(run: Pass, ticket, side=""):
    """Yield the receivers of this iteration, that is, the vertices that gather or apply.

    `ticket` is the number of the counter by which threads take chunks of them. With a schedule, the receivers of all
    threads are in one array. If adjacency lists are short, each thread takes a fixed part of the array. These vertices
    are similar from level to level, and so stay in the thread's cache. `side` is as for `queued`.
    """
    if not plan.scheduled:
        yield from queued(run, run.receivers, run.counters, RECEIVED, ticket, side)
        return
    size, part, parts = np.uint64(run.receiver_count), np.uint64(run.thread), np.uint64(run.threads)
    start, stop = size * part // parts, size * (part + ONE) // parts
    while not is_stopped(run.control):
        if not run.narrow:
            start = take(run.counters, 0, ticket, run.receiver_count)
            stop = min(start + np.uint64(CHUNK), size)
        if start >= stop:
            break
        for position in range(start, stop):
            if side:
                fetch_offset(run, side, run.receivers[min(position + FAR, size - ONE)])
                fetch_list(run, side, run.receivers[min(position + NEAR, size - ONE)])
            yield np.uint64(run.receivers[position])
        if run.narrow:
            break


def words(run: Pass):
    """Yield the first vertex of each word of 64 vertices in a bitmap that has a bit for every vertex of the graph.

    Threads share the words in chunks.
    """
    size = np.uint64(run.self_n)
    while True:
        start = np.uint64(fetch_add_relaxed(run.counters, DENSE_TICKET, DENSE_CHUNK))
        if start >= size or is_stopped(run.control):
            break
        yield from range(start, min(start + np.uint64(DENSE_CHUNK), size), np.uint64(64))


def all_vertices(run: Pass):
    """Yield all vertices of the graph. Threads share the vertices in chunks."""
    for base in words(run):
        yield from range(base, min(base + np.uint64(64), np.uint64(run.self_n)))


def bits_of(word):
    """Yield the positions of the bits that are set in a word, in ascending order."""
    rest = word
    while rest != ZERO:
        lane = count_trailing_zeros(rest)
        rest &= rest - ONE
        yield lane


# --- the loop over the edges of a vertex ------------------------------------------------------------------------------


def edges_of(run: Pass, side, center):
    """Yield the positions of the edges of the vertex `center` in the adjacency lists of a side ("g" to gather, "s" to
    send).
    """
    run.first, run.last = np.uint64(run.local[side + "p"][center]), np.uint64(run.local[side + "p"][center + ONE])
    yield from range(run.first, run.last)
