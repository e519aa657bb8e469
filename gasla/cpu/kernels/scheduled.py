"""The loop of a run with a schedule, which fixes the vertices that receive in each iteration.

The receivers of iteration i are the vertices from `starts[i]` to `starts[i + 1]` in the array of receivers.
"""

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.kernels.aggregates import begin_aggregates, sum_up_in_order, take_sums
from gasla.cpu.kernels.apply import apply_list
from gasla.cpu.kernels.loop import afterwards, ask_to_stop, choose_team, take_over
from gasla.cpu.kernels.pull import gather_list
from gasla.cpu.kernels.queues import DENSE, STOPPED, TOUCHED, note, open_iteration, sort_by_level, thin_work, total
from gasla.cpu.kernels.record import Loop, plan
from gasla.cpu.kernels.start import fill_first
from gasla.cpu.program.launch import ACTIVE, BACKWARD, BEGAN, DONE, ENTRIES, FILLED, ITERATION, LAST, SORTED, TOTAL
from gasla.cpu.runtime.threads import NEXT_THREADS, TEAM, barrier


@compiled
def run_loop(run: Loop):
    """Run iterations by a schedule, until its last level is done, the program's `stop` returns True, or a limit is
    reached.
    """
    if not plan.traced.measures:
        fill_first(run)
    if run.control[SORTED] == 0:
        sort_by_level(run.thread, run.threads, run.control, run.levels, run.starts, run.receivers)
        barrier(run.control, run.threads)
    run.depth, run.backward = run.starts.shape[1] - 1, run.control[BACKWARD] != 0
    run.team, run.few = run.control[TEAM], thin_work(run.control)
    run.limit, run.done, run.stopped, run.traversed = min(run.control[LAST], run.depth), False, False, np.int64(0)
    run.began, run.self_iteration = run.control[BEGAN], run.control[ITERATION]
    take_over(run)
    run.order = run.receivers
    take_sums(run, 1 - (run.self_iteration & 1))
    run.mean_degree = run.control[ENTRIES] // max(run.self_n, 1)
    run.level, run.amount, run.next_threads, run.in_row = np.int64(0), np.int64(0), run.threads, 0
    look_ahead(run)
    while run.goes_on and run.next_threads == run.threads:
        iterate(run)
        look_ahead(run)
        choose_team(run)
    if run.thread == 0:
        run.control[ITERATION], run.control[DONE], run.control[FILLED] = run.self_iteration, run.done, 1
        run.control[ACTIVE], run.control[SORTED] = run.depth - run.self_iteration, 1
        run.control[TOTAL] += run.traversed
        run.control[NEXT_THREADS] = run.next_threads if run.goes_on else -run.next_threads


def look_ahead(run: Loop):
    """Decide whether another iteration follows, and which level of the schedule it processes. Estimate its work.

    The work is a number of vertices and edges.
    """
    run.goes_on = run.self_iteration < run.limit and not (run.done or run.stopped)
    if run.goes_on:
        run.level = run.depth - 1 - run.self_iteration if run.backward else run.self_iteration
        run.amount = (run.starts[0, run.level + 1] - run.starts[0, run.level]) * (1 + run.mean_degree)


def iterate(run: Loop):
    """Run one iteration, in which the vertices of one level of the schedule gather and apply."""
    run.counters, run.parity = run.counts[run.self_iteration % 3], run.self_iteration & 1
    open_iteration(run.thread, run.threads, run.control, run.counts, run.self_iteration)
    begin_aggregates(run)
    run.receivers = run.order[run.starts[0, run.level] : run.starts[0, run.level + 1]]
    run.receiver_count = len(run.receivers)
    gather_list(run)
    barrier(run.control, run.threads)
    if plan.two_phases:
        apply_list(run)
        barrier(run.control, run.threads)
    afterwards(run)
    sum_up_in_order(run)
    touched = total(run.counters, run.threads, TOUCHED)
    if run.thread == 0:
        note(run.log, run.self_iteration - run.began, run.receiver_count, touched, DENSE)
    run.traversed += touched
    take_sums(run, run.parity)
    ask_to_stop(run)
    run.stopped = run.counters[STOPPED] != 0
    run.self_iteration += 1
