"""The loop over the iterations of a program. All threads run the loop, from the first iteration to the last.

All threads make the same decisions, as they read only counters that no thread is still writing.
"""

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.kernels.aggregates import begin_aggregates, sum_up_in_order, take_sums
from gasla.cpu.kernels.apply import apply_list, catch_up, release, revise
from gasla.cpu.kernels.hooks import call
from gasla.cpu.kernels.priorities import split
from gasla.cpu.kernels.pull import gather_all, gather_list
from gasla.cpu.kernels.push import expand, push
from gasla.cpu.kernels.queues import (
    BITS,
    DENSE,
    LIST,
    NEXT,
    RECEIVED,
    SPARSE,
    STOPPED,
    beyond,
    choose_threads,
    clear_both,
    collect,
    collect_far,
    dense_is_cheaper,
    leave_off,
    note,
    open_iteration,
    own_at,
    results_of,
    share_of_range,
    smallest,
    thin_work,
    to_bits,
    to_list,
    total,
)
from gasla.cpu.kernels.record import Loop, plan
from gasla.cpu.kernels.resume import resume, resume_at_start
from gasla.cpu.kernels.scatter import catch_up_edges, scatter
from gasla.cpu.kernels.start import fill_first
from gasla.cpu.program.launch import (
    ACTIVE,
    BEGAN,
    EDGE_SUM,
    ENOUGH,
    ENTRIES,
    FORM,
    ITERATION,
    LAST,
    PUT_OFF,
    REMAINING,
    WAY,
    WORK,
)
from gasla.cpu.runtime.threads import TEAM, barrier


@compiled
def run_loop(run: Loop):
    """Run iterations of a vertex program until no vertex is active, its `stop` is true, or a limit is reached."""
    if not plan.measures_first:
        fill_first(run)
    run.team, run.few = run.control[TEAM], thin_work(run.control)
    run.entries, run.limit = run.control[ENTRIES], run.control[LAST]
    run.size, run.edges = run.control[ACTIVE], run.control[EDGE_SUM]
    run.remaining, run.form = run.control[REMAINING], run.control[FORM]
    run.done, run.stopped, run.traversed = False, False, np.int64(0)
    run.mean_degree = run.control[REMAINING] // max(run.self_n, 1)
    run.began, run.self_iteration = run.control[BEGAN], run.control[ITERATION]
    take_over(run)
    run.work, run.enough = run.control[WORK], run.control[ENOUGH]
    take_sums(run, 1 - (run.self_iteration & 1))
    if plan.prioritised:
        run.left, run.threshold, run.last_threshold, run.width, run.spare = (
            run.control[PUT_OFF],
            run.bounds[0],
            run.bounds[1],
            run.bounds[2],
            run.bounds[3],
        )
    for name in plan.carried:
        run.self_[name] = run.set[name][0]
    resume_at_start(run)
    look_ahead(run)
    run.next_threads, run.in_row = run.threads, 0
    while run.goes_on and run.next_threads == run.threads:
        iterate(run)
        look_ahead(run)
        choose_team(run)
    if run.thread == 0:
        on = run.next_threads if run.goes_on else -run.next_threads
        leave_off(
            run.control,
            run.self_iteration,
            run.size,
            run.edges,
            run.remaining,
            run.form,
            run.done,
            run.work,
            run.traversed,
            on,
        )
        if plan.prioritised:
            run.control[PUT_OFF], run.bounds[0], run.bounds[1], run.bounds[2], run.bounds[3] = (
                run.left,
                run.threshold,
                run.last_threshold,
                run.width,
                run.spare,
            )
        for name in plan.carried:
            run.set[name][0] = run.self_[name]


def take_over(run: Loop):
    """When one thread goes on alone, move the active vertices in all threads' queues to its queue.

    The counters of the other threads are cleared.
    """
    if run.threads < run.team:
        if "queues" in plan.arrays:
            collect(run.counts, run.self_iteration, run.form, run.queues[run.self_iteration & 1])
        if plan.prioritised:
            collect_far(run.counts, run.self_iteration, run.lows, run.far, run.far_bits)
        run.counts[:, own_at(1) :] = 0


def look_ahead(run: Loop):
    """Decide whether another iteration of the loop follows, and estimate its work as a number of vertices and edges."""
    run.goes_on = (
        has_more(run)
        and run.self_iteration < run.limit
        and run.work + run.edges <= run.enough
        and not (run.done or run.stopped)
    )
    if plan.sends and not plan.everyone:
        run.amount = reach(run) if run.control[WAY] != DENSE else run.self_n + run.entries
    else:
        run.amount = run.self_n + run.entries


def has_more(run: Loop):
    """Return whether another iteration would have vertices to process."""
    if plan.prioritised:
        return run.size > 0 or run.left > 0
    return run.size > 0 if plan.ends_when_still else run.self_n > 0


def reach(run: Loop):
    """Return the estimated work of an iteration in which active vertices push, as a number of vertices and edges.

    The vertices are those that are active, or deferred to a later bucket of priorities. The edges are the out-edges of
    the active vertices.
    """
    return run.size + run.edges + run.left if plan.prioritised else run.size + run.edges


def choose_team(run: Loop):
    """Choose how many threads run the next iteration, by its estimated work.

    A thread that works alone goes on alone while iterations are small.
    """
    if run.threads > 1 or (run.team > 1 and run.amount >= 2 * run.few):
        run.in_row = run.in_row + 1 if run.amount < run.few else 0
        run.next_threads = choose_threads(run.amount, run.in_row, run.counters, run.control, run.threads)


def iterate(run: Loop):
    """Run one iteration of a vertex program on all threads, and add up what the threads have counted."""
    run.counters, run.parity = run.counts[run.self_iteration % 3], run.self_iteration & 1
    open_iteration(run.thread, run.threads, run.control, run.counts, run.self_iteration)
    begin_aggregates(run)
    if plan.everyone:
        run.way, run.form = DENSE, BITS
        gather_all(run)
        barrier(run.control, run.threads)
    elif plan.prioritised:
        in_order(run)
    else:
        sparse_or_dense(run)
    afterwards(run)
    sum_up_in_order(run)
    if plan.prioritised:
        touched, listed, reached, run.left = results_of(run.counters, run.threads)
        run.spare = run.spare - 4.0 * np.float64(listed) if run.size > 0 else np.float64(listed)
    else:
        touched, listed, reached, _ = results_of(run.counters, run.threads)
    if run.thread == 0:
        note(run.log, run.self_iteration - run.began, run.size, touched, run.way)
    run.traversed += touched
    run.work += touched + run.size + (run.self_n >> 3 if run.way == DENSE else 0) + 1
    run.size = listed
    run.edges = reached if run.skewed else run.size * run.mean_degree
    take_sums(run, run.parity)
    if "mask" in plan.functions and not plan.everyone:
        run.remaining = max(run.remaining - run.edges, 0)
    ask_to_stop(run)
    run.stopped = run.counters[STOPPED] != 0
    run.self_iteration += 1
    resume(run)


def afterwards(run: Loop):
    """Run the stages of an iteration that follow `apply`: scatter, revise, and updates of the fields that have two
    copies.

    At the end of each stage, all threads wait for each other.
    """
    if "scatter" in plan.functions and not plan.scheduled:
        list_next(run)
        scatter(run)
        barrier(run.control, run.threads)
    if plan.edges_behind:
        catch_up_edges(run)
        barrier(run.control, run.threads)
    if plan.revising:
        revise(run)
        barrier(run.control, run.threads)
    if plan.behind:
        catch_up(run)
        barrier(run.control, run.threads)


def list_next(run: Loop):
    """Convert the bitmap of vertices that are active in the next iteration into queues, from which `scatter` reads
    them.
    """
    if plan.everyone or run.form == BITS:
        run.counters[own_at(run.thread) + NEXT] = to_list(
            run.thread, run.threads, run.control, run.bits[1 - run.parity], run.queues[1 - run.parity]
        )
        barrier(run.control, run.threads)
        if not plan.everyone:
            run.form = LIST


def ask_to_stop(run: Loop):
    """Call the program's `stop`, which says whether the run ends. All threads call it, and get the same result.

    If `stop` reads fields, a barrier keeps threads from writing these fields before all threads have evaluated it.
    """
    if "stop" in plan.functions:
        run.done = call(run, "stop")
    if plan.stop_sees_fields:
        barrier(run.control, run.threads)


def in_order(run: Loop):
    """Let the active vertices of the current bucket (a range of priorities) push, or go on to the next bucket.

    If priorities are sums of edge values, the width of the next bucket adapts. It doubles if pushes made few vertices
    of the last bucket active again. Otherwise it halves, down to `delta`.
    """
    run.way = SPARSE
    if run.size > 0:
        push(run)
    else:
        run.last_threshold = run.threshold
        last_lows = run.lows[(run.self_iteration + 2) % 3]
        low = smallest(last_lows, run.threads)
        if plan.adds_up:
            run.width = max(run.width * 2.0 if run.spare > 0.0 else run.width / 2.0, run.delta)
            run.threshold = beyond(low, run.width)
        else:
            run.threshold = beyond(low, run.delta if run.delta > 0 else share_of_range(low, last_lows, run.threads))
        split(run)
    barrier(run.control, run.threads)


def sparse_or_dense(run: Loop):
    """Let active vertices push, or let all vertices pull, whichever is cheaper.

    Before that, convert the active vertices to the form that this needs: queues to push, and a bitmap to pull.
    """
    run.way = run.control[WAY]
    if run.way == 0:
        run.way = DENSE if dense_is_cheaper(run.size, run.edges, run.remaining, run.self_n, plan.ratio) else SPARSE
    run.mine = run.counts[(run.self_iteration + 2) % 3][own_at(run.thread) :]
    if run.way == DENSE:
        if run.form == LIST:
            clear_both(run.thread, run.threads, run.claimed)
            to_bits(run.thread, run.threads, run.control, run.queues[run.parity], run.mine[NEXT], run.bits[run.parity])
        dense(run)
    else:
        if run.form == BITS:
            # the next line overwrites this thread's counter, so wait until all threads have read it
            barrier(run.control, run.threads)
            run.mine[NEXT] = to_list(run.thread, run.threads, run.control, run.bits[run.parity], run.queues[run.parity])
            barrier(run.control, run.threads)
        run.form = LIST
        sparse(run)


def dense(run: Loop):
    """Run an iteration as a pull: every vertex that the program's `mask` allows gathers over its in-edges."""
    gather_all(run)
    barrier(run.control, run.threads)
    if plan.two_phases:
        apply_list(run)
        barrier(run.control, run.threads)
        run.form = LIST
    else:
        run.form = BITS


def sparse(run: Loop):
    """Run an iteration over the active vertices only.

    They push values into fields or arrays. If the program can't push, they list their targets, and the targets gather.
    """
    if plan.pushes:
        push(run)
        barrier(run.control, run.threads)
        if plan.push_at_once:
            if total(run.counters, run.threads, RECEIVED) > 0:
                release(run)
                barrier(run.control, run.threads)
        elif not plan.absorbs:
            release(run)
            barrier(run.control, run.threads)
            apply_list(run)
            barrier(run.control, run.threads)
    else:
        if plan.active_only:  # gathers look neighbors up in the bitmap of active vertices, so fill it from the queues
            to_bits(run.thread, run.threads, run.control, run.queues[run.parity], run.mine[NEXT], run.bits[run.parity])
        expand(run)
        barrier(run.control, run.threads)
        release(run)
        barrier(run.control, run.threads)
        gather_list(run)
        barrier(run.control, run.threads)
        if plan.two_phases:
            apply_list(run)
            barrier(run.control, run.threads)
