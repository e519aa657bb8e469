"""Finds new active vertices when there are none: those of the next bucket, or those for which the program's `wake`
holds.

This happens after an iteration, when `self_iteration` is already the number of the next one.
"""

import numpy as np

from gasla.cpu.kernels.hooks import call, load
from gasla.cpu.kernels.queues import BITS, EDGES, LIST, NEXT, claim, least_of, own_at, results_of
from gasla.cpu.kernels.record import Loop, Pass, plan
from gasla.cpu.runtime.blocks import stage
from gasla.cpu.runtime.intrinsics import ONE, ZERO, count_trailing_zeros
from gasla.cpu.runtime.threads import barrier


def resume_at_start(run: Loop):
    """At the start of a run with buckets, let all active vertices wait for their buckets, and begin with the lowest
    bucket.
    """
    if plan.resumes and run.self_iteration == 0:
        if plan.has_buckets:
            wait_all(run)
            barrier(run.control, run.threads)
            run.size = np.int64(0)
        if run.size == 0 and (not plan.prioritised or run.left == 0):
            fill_active(run)


def resume(run: Loop):
    """If no vertex is active, find new active vertices, in the next bucket or by the program's `wake`."""
    if plan.resumes and run.size == 0 and (not plan.prioritised or run.left == 0) and not (run.done or run.stopped):
        fill_active(run)


def fill_active(run: Loop):
    """Make the vertices of the next bucket active.

    If all buckets are empty, call the program's `wake` for all vertices.

    Vertices that wake up may have buckets themselves, for which they wait again.
    """
    if plan.has_buckets:
        open_next(run)
    if "wake" in plan.functions and (not plan.has_buckets or run.size == 0):
        if plan.changes:
            run.local["self", plan.returned("idle")] = call(run, "idle")
        barrier(run.control, run.threads)  # `wake` below writes the counters, so wait until all threads have read them
        wake(run)
        barrier(run.control, run.threads)
        run.remaining = run.entries
        if plan.has_buckets:
            open_next(run)
        else:
            count_active(run)
    run.form, run.work = BITS if plan.everyone else LIST, run.work + run.self_n


def open_next(run: Loop):
    """Make the waiting vertices of the lowest bucket (priority class) active, and count these vertices and their
    out-edges.
    """
    run.self_bucket = open_bucket(run)
    count_active(run)


def count_active(run: Loop):
    """Set the number of vertices that are active next, and the number of their out-edges, by adding up all threads'
    counters.
    """
    _, run.size, reached, _ = results_of(run.counts[(run.self_iteration + 2) % 3], run.threads)
    run.edges = reached if run.skewed else run.size * run.mean_degree


def own_words(run: Pass):
    """Set the range of words, in a bitmap of all vertices, that this thread processes: from `first` to `last`.

    Also set `mine` to this thread's counters.
    """
    run.parity = run.self_iteration & 1
    run.mine = run.counts[(run.self_iteration + 2) % 3][own_at(run.thread) :]
    words = (run.self_n + 63) >> 6
    run.first, run.last = (
        np.uint64(words * run.thread // run.threads),
        np.uint64(words * (run.thread + 1) // run.threads),
    )


@stage
def wait_all(run: Pass):
    """Mark all active vertices as waiting for their buckets (priority classes), and empty the queues of active
    vertices.
    """
    own_words(run)
    for i in range(run.mine[NEXT]):
        claim(run.waiting, np.uint64(run.queues[run.parity, run.thread, i]), run.threads > 1)
    run.mine[NEXT] = 0


@stage
def open_bucket(run: Pass):
    """Move the waiting vertices of the lowest bucket to the queues of active vertices. Return the number of the bucket.

    If no vertex waits, return the number of the current bucket. A single pass over the waiting vertices suffices:
    whenever a lower bucket is seen, the queue starts anew.
    """
    own_words(run)
    queue, run.listed, run.low = run.queues[run.parity, run.thread], ZERO, np.int64(2**63 - 1)
    for w in range(run.first, run.last):
        run.word = run.waiting[w]
        while run.word != ZERO:
            v = (w << np.uint64(6)) + count_trailing_zeros(run.word)
            run.word &= run.word - ONE
            load(run, "vertex", v, "bucket")
            turn = np.int64(call(run, "bucket"))
            if turn < 0:
                run.waiting[w] &= ~(ONE << (v & np.uint64(63)))
            elif turn <= run.low:
                run.listed = run.listed if turn == run.low else ZERO
                run.low, queue[run.listed] = turn, v
                run.listed += ONE
    run.lowest[run.thread * 8] = run.low if run.listed > ZERO else np.int64(-1)
    barrier(run.control, run.threads)
    least = least_of(run.lowest, run.threads)
    run.listed = run.listed if run.low == least else ZERO
    run.mine[EDGES] = 0
    for i in range(run.listed):
        v = np.uint64(queue[i])
        run.waiting[v >> np.uint64(6)] &= ~(ONE << (v & np.uint64(63)))
        count_edges(run, v)
    run.mine[NEXT] = np.int64(run.listed)
    barrier(run.control, run.threads)
    return least if least >= 0 else run.self_bucket


def count_edges(run: Pass, v):
    """Add the number of out-edges of the vertex `v` to the thread's counter.

    If degrees are so even that the number can be estimated, do nothing.
    """
    if plan.sends and run.skewed:
        run.mine[EDGES] += np.int64(run.sp[v + ONE] - run.sp[v])


@stage
def wake(run: Pass):
    """Call the program's `wake` for every vertex, and make those vertices active for which it returns True.

    They are appended to a queue, or marked in a bitmap.
    """
    own_words(run)
    for name in sorted(plan.doubled):
        run.old[name] = run.v[name][run.parity]  # of the field's two copies, the one that the next iteration reads
    run.listed, run.mine[EDGES] = ZERO, 0
    for w in range(run.first, run.last):
        run.word = ZERO
        for v in range(w << np.uint64(6), min((w + ONE) << np.uint64(6), np.uint64(run.self_n))):
            load(run, "vertex", v, "wake")
            if call(run, "wake"):
                run.listed += ONE
                count_edges(run, v)
                if plan.sends_news:
                    run.news[v] = np.uint8(plan.all_news)
                if plan.has_buckets or plan.everyone:
                    run.word |= ONE << (v & np.uint64(63))
                else:
                    run.queues[run.parity, run.thread, run.listed - ONE] = v
        if plan.has_buckets:
            run.waiting[w] |= run.word
        elif plan.everyone:
            run.bits[run.parity][w] = run.word
    run.mine[NEXT] = np.int64(run.listed)
