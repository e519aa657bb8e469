"""The loop that every thread runs from a program's first iteration to its last.

All threads make the same decisions, as they read only counters that no thread is still writing.
"""
# mypy: ignore-errors

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.kernels.aggregates import begin_aggregates, sum_up_in_order, take_sums
from gasla.cpu.kernels.apply import apply_list, catch_up, post_apply, release
from gasla.cpu.kernels.hooks import call
from gasla.cpu.kernels.priorities import split
from gasla.cpu.kernels.pull import gather_all, gather_list
from gasla.cpu.kernels.push import expand, push
from gasla.cpu.kernels.queues import *
from gasla.cpu.kernels.resume import resume, resume_at_start
from gasla.cpu.kernels.scatter import catch_up_edges, scatter
from gasla.cpu.kernels.start import fill_first
from gasla.cpu.program.launch import *
from gasla.cpu.program.specialize import plan
from gasla.cpu.runtime.threads import TEAM, barrier


@compiled
def run_loop():
    """Run iterations until nothing is active, the program says stop, or a limit is reached."""
    if not plan.measures_first:
        fill_first()
    team, thin, entries, limit = control[TEAM], 2 * control[THIN], control[ENTRIES], control[LAST]
    size, edges = control[ACTIVE], control[EDGE_SUM]
    remaining, form, done, stopped, traversed = control[REMAINING], control[FORM], False, False, np.int64(0)
    mean_degree = control[REMAINING] // max(self_n, 1)
    began, self_iteration = control[BEGAN], control[ITERATION]
    take_over()
    work, enough = control[WORK], control[ENOUGH]
    take_sums(1 - (self_iteration & 1))
    if plan.prioritised:
        left, threshold, last_threshold, width, spare = control[PUT_OFF], bounds[0], bounds[1], bounds[2], bounds[3]
    for name in plan.carried:
        self_[name] = set_[name][0]
    resume_at_start()
    look_ahead()
    next_threads, in_row = threads, 0
    while goes_on and next_threads == threads:
        iterate()
        look_ahead()
        choose_team()
    if thread == 0:
        on = next_threads if goes_on else -next_threads
        leave_off(control, self_iteration, size, edges, remaining, form, done, work, traversed, on)
        if plan.prioritised:
            control[PUT_OFF], bounds[0], bounds[1], bounds[2], bounds[3] = left, threshold, last_threshold, width, spare
        for name in plan.carried:
            set_[name][0] = self_[name]


def take_over():
    """Move all threads' lists to the one thread that continues alone, and clear the other threads' counters."""
    if threads < team:
        if "queues" in plan.arrays:
            collect(counts, self_iteration, form, queues[self_iteration & 1])
        if plan.prioritised:
            collect_far(counts, self_iteration, lows, far, far_bits)
        counts[:, own_at(1) :] = 0


def look_ahead():
    """Decide whether there is another iteration, and estimate its work in vertices and edges."""
    goes_on = has_more() and self_iteration < limit and work + edges <= enough and not (done or stopped)
    if plan.sends and not plan.everyone:
        amount = reach() if control[WAY] != DENSE else self_n + entries
    else:
        amount = self_n + entries


def has_more():
    """Whether there are vertices for another iteration."""
    if plan.prioritised:
        return size > 0 or left > 0
    return size > 0 if plan.ends_when_still else self_n > 0


def reach():
    """The number of vertices that are active or deferred, and of their out-edges."""
    return size + edges + left if plan.prioritised else size + edges


def choose_team():
    """Choose the number of threads of the next iteration; a thread alone stays alone while iterations are small."""
    if threads > 1 or (team > 1 and amount >= thin):
        in_row = in_row + 1 if amount < control[THIN] else 0
        next_threads = choose_threads(amount, in_row, counters, control, threads)


def iterate():
    """Run one iteration, and sum up its counters."""
    counters, parity = counts[self_iteration % 3], self_iteration & 1
    open_iteration(thread, threads, control, counts, self_iteration)
    begin_aggregates()
    if plan.everyone:
        way, form = DENSE, BITS
        gather_all()
        barrier(control, threads)
    elif plan.prioritised:
        in_order()
    else:
        sparse_or_dense()
    afterwards()
    sum_up_in_order()
    if plan.prioritised:
        touched, listed, reached, left = results_of(counters, threads)
        spare = spare - 4.0 * np.float64(listed) if size > 0 else np.float64(listed)
    else:
        touched, listed, reached, _ = results_of(counters, threads)
    if thread == 0:
        note(log, self_iteration - began, size, touched, way)
    traversed += touched
    work += touched + size + (self_n >> 3 if way == DENSE else 0) + 1
    size = listed
    edges = reached if skewed else size * mean_degree
    take_sums(parity)
    if "mask" in plan.functions and not plan.everyone:
        remaining = max(remaining - edges, 0)
    ask_to_stop()
    stopped = counters[STOPPED] != 0
    self_iteration += 1
    resume()


def afterwards():
    """Run the stages after apply; each begins when the one before has ended."""
    if "scatter" in plan.functions and not plan.scheduled:
        list_next()
        scatter()
        barrier(control, threads)
    if plan.edges_behind:
        catch_up_edges()
        barrier(control, threads)
    if "post_apply" in plan.functions:
        post_apply()
        barrier(control, threads)
    if plan.behind:
        catch_up()
        barrier(control, threads)


def list_next():
    """List the vertices that are active next, as scatter needs them."""
    if plan.everyone or form == BITS:
        counters[own_at(thread) + NEXT] = to_list(thread, threads, control, bits[1 - parity], queues[1 - parity])
        barrier(control, threads)
        if not plan.everyone:
            form = LIST


def ask_to_stop():
    """Evaluate stop; a barrier keeps threads from writing the fields that it reads before all have evaluated it."""
    if "stop" in plan.functions:
        done = call("stop")
    if plan.stop_sees_fields:
        barrier(control, threads)


def in_order():
    """Push from the vertices of the current bucket; if there are none, open the next bucket.

    If priorities are sums, the width of the next bucket adapts: it doubles if pushes listed few vertices of the last
    bucket, as then hardly any were active twice; else it halves. It is never less than `delta`.
    """
    way = SPARSE
    if size > 0:
        push()
    else:
        last_threshold = threshold
        waiting = lows[(self_iteration + 2) % 3]
        low = smallest(waiting, threads)
        if plan.adds_up:
            width = max(width * 2.0 if spare > 0.0 else width / 2.0, delta)
            threshold = beyond(low, width)
        else:
            threshold = beyond(low, delta if delta > 0 else share_of_range(low, waiting, threads))
        split()
    barrier(control, threads)


def sparse_or_dense():
    """Push from active vertices, or pull over all; convert the active set to a list or a bitmap for that."""
    way = control[WAY]
    if way == 0:
        way = DENSE if dense_is_cheaper(size, edges, remaining, self_n, plan.ratio) else SPARSE
    mine = counts[(self_iteration + 2) % 3][own_at(thread) :]
    if way == DENSE:
        if form == LIST:
            clear_both(thread, threads, claimed)
            to_bits(thread, threads, control, queues[parity], mine[NEXT], bits[parity])
        dense()
    else:
        if form == BITS:
            barrier(control, threads)  # all threads have read the counter that is set next
            mine[NEXT] = to_list(thread, threads, control, bits[parity], queues[parity])
            barrier(control, threads)
        form = LIST
        sparse()


def dense():
    """Every vertex that the mask admits gathers."""
    gather_all()
    barrier(control, threads)
    if plan.two_phases:
        apply_list()
        barrier(control, threads)
        form = LIST
    else:
        form = BITS


def sparse():
    """An iteration over active vertices: they push into fields or arrays, or list the receivers, which then gather."""
    if plan.pushes:
        push()
        barrier(control, threads)
        if plan.push_at_once:
            if total(counters, threads, RECEIVED) > 0:
                release()
                barrier(control, threads)
        elif not plan.absorbs:
            release()
            barrier(control, threads)
            apply_list()
            barrier(control, threads)
    else:
        if plan.active_only:  # gathers read the bitmap
            to_bits(thread, threads, control, queues[parity], mine[NEXT], bits[parity])
        expand()
        barrier(control, threads)
        release()
        barrier(control, threads)
        gather_list()
        barrier(control, threads)
        if plan.two_phases:
            apply_list()
            barrier(control, threads)
