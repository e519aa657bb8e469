"""Refills the active set when it is empty: a bucket opens, or the program's wake is evaluated for every vertex.

This happens after an iteration, when `self_iteration` is already the number of the next one.
"""
# mypy: ignore-errors

import numpy as np

from gasla.cpu.kernels.hooks import call, load
from gasla.cpu.kernels.queues import *
from gasla.cpu.program.specialize import local, plan
from gasla.cpu.runtime.blocks import stage
from gasla.cpu.runtime.intrinsics import count_trailing_zeros
from gasla.cpu.runtime.threads import barrier


def resume_at_start():
    """At the start of a run all vertices wait until the lowest bucket opens."""
    if plan.resumes and self_iteration == 0:
        if plan.has_buckets:
            wait_all()
            barrier(control, threads)
            size = np.int64(0)
        if size == 0 and (not plan.prioritised or left == 0):
            fill_active()


def resume():
    """Fill the active set if it is empty, and the run has not been stopped."""
    if plan.resumes and size == 0 and (not plan.prioritised or left == 0) and not (done or stopped):
        fill_active()


def fill_active():
    """Open the next bucket; if all are empty, wake vertices, which may again wait for buckets."""
    if plan.has_buckets:
        open_next()
    if "wake" in plan.functions and (not plan.has_buckets or size == 0):
        if plan.changes:
            local["self", plan.returned("idle")] = call("idle")
        barrier(control, threads)  # all threads have read the counters that wake writes
        wake()
        barrier(control, threads)
        remaining = entries
        if plan.has_buckets:
            open_next()
        else:
            count_active()
    form, work = BITS if plan.everyone else LIST, work + self_n


def open_next():
    """Open the lowest bucket."""
    self_bucket = open_bucket()
    count_active()


def count_active():
    """Count the active vertices and their out-edges."""
    _, size, reached, _ = results_of(counts[(self_iteration + 2) % 3], threads)
    edges = reached if skewed else size * mean_degree


def own_words():
    """The thread's part of a bitmap of all vertices, and its counters."""
    one, zero, parity = np.uint64(1), np.uint64(0), self_iteration & 1
    mine = counts[(self_iteration + 2) % 3][own_at(thread) :]
    words = (self_n + 63) >> 6
    first, last = np.uint64(words * thread // threads), np.uint64(words * (thread + 1) // threads)


@stage
def wait_all():
    """Move the initially active vertices to the waiting ones."""
    own_words()
    for i in range(mine[NEXT]):
        claim(waiting, np.uint64(queues[parity, thread, i]), threads > 1)
    mine[NEXT] = 0


@stage
def open_bucket():
    """Open the lowest bucket that is not empty, and return it; the open one if all are empty.

    One pass lists its vertices: the list is restarted whenever a lower bucket is found.
    """
    own_words()
    queue, listed, low = queues[parity, thread], zero, np.int64(2**63 - 1)
    for w in range(first, last):
        word = waiting[w]
        while word != zero:
            v = (w << np.uint64(6)) + count_trailing_zeros(word)
            word &= word - one
            load("vertex", v, "bucket")
            turn = np.int64(call("bucket"))
            if turn < 0:
                waiting[w] &= ~(one << (v & np.uint64(63)))
            elif turn <= low:
                listed = listed if turn == low else zero
                low, queue[listed] = turn, v
                listed += one
    lowest[thread * 8] = low if listed > zero else np.int64(-1)
    barrier(control, threads)
    least = least_of(lowest, threads)
    listed = listed if low == least else zero
    mine[EDGES] = 0
    for i in range(listed):
        v = np.uint64(queue[i])
        waiting[v >> np.uint64(6)] &= ~(one << (v & np.uint64(63)))
        count_edges(v)
    mine[NEXT] = np.int64(listed)
    barrier(control, threads)
    return least if least >= 0 else self_bucket


def count_edges(v):
    """Count the out-edges of a vertex."""
    if plan.sends and skewed:
        mine[EDGES] += np.int64(sp[v + one] - sp[v])


@stage
def wake():
    """Evaluate wake for every vertex; those that wake are listed, or marked in a bitmap."""
    own_words()
    for name in sorted(plan.doubled):
        old_[name] = v_[name][parity]  # the copy that the next iteration reads
    listed, mine[EDGES] = zero, 0
    for w in range(first, last):
        word = zero
        for v in range(w << np.uint64(6), min((w + one) << np.uint64(6), np.uint64(self_n))):
            load("vertex", v, "wake")
            if call("wake"):
                listed += one
                count_edges(v)
                if plan.sends_news:
                    news[v] = plan.all_news
                if plan.has_buckets or plan.everyone:
                    word |= one << (v & np.uint64(63))
                else:
                    queues[parity, thread, listed - one] = v
        if plan.has_buckets:
            waiting[w] |= word
        elif plan.everyone:
            bits[parity][w] = word
    mine[NEXT] = np.int64(listed)
