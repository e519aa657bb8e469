"""The loop of a run with a schedule: the receivers of iteration i are those from `starts[i]` to `starts[i + 1]`."""
# mypy: ignore-errors

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.kernels.aggregates import begin_aggregates, sum_up_in_order, take_sums
from gasla.cpu.kernels.apply import apply_list
from gasla.cpu.kernels.loop import afterwards, ask_to_stop, choose_team, take_over
from gasla.cpu.kernels.pull import gather_list
from gasla.cpu.kernels.queues import *
from gasla.cpu.kernels.start import fill_first
from gasla.cpu.program.launch import *
from gasla.cpu.program.specialize import plan
from gasla.cpu.runtime.threads import NEXT_THREADS, TEAM, barrier


@compiled
def run_loop():
    """Run the schedule."""
    if not plan.traced.measures:
        fill_first()
    if control[SORTED] == 0:
        sort_by_level(thread, threads, control, levels, starts, receivers)
        barrier(control, threads)
    depth, backward = starts.shape[1] - 1, control[BACKWARD] != 0
    team, thin = control[TEAM], 2 * control[THIN]
    limit, done, stopped, traversed = min(control[LAST], depth), False, False, np.int64(0)
    began, self_iteration = control[BEGAN], control[ITERATION]
    take_over()
    order = receivers
    take_sums(1 - (self_iteration & 1))
    mean_degree = control[ENTRIES] // max(self_n, 1)
    level, amount, next_threads, in_row = np.int64(0), np.int64(0), threads, 0
    look_ahead()
    while goes_on and next_threads == threads:
        iterate()
        look_ahead()
        choose_team()
    if thread == 0:
        control[ITERATION], control[DONE], control[FILLED] = self_iteration, done, 1
        control[ACTIVE], control[SORTED] = depth - self_iteration, 1
        control[TOTAL] += traversed
        control[NEXT_THREADS] = next_threads if goes_on else -next_threads


def look_ahead():
    """Decide whether there is another iteration, and of which level; estimate its work in vertices and edges."""
    goes_on = self_iteration < limit and not (done or stopped)
    if goes_on:
        level = depth - 1 - self_iteration if backward else self_iteration
        amount = (starts[0, level + 1] - starts[0, level]) * (1 + mean_degree)


def iterate():
    """The receivers of a level gather and apply."""
    counters, parity = counts[self_iteration % 3], self_iteration & 1
    open_iteration(thread, threads, control, counts, self_iteration)
    begin_aggregates()
    receivers = order[starts[0, level] : starts[0, level + 1]]
    receiver_count = len(receivers)
    gather_list()
    barrier(control, threads)
    if plan.two_phases:
        apply_list()
        barrier(control, threads)
    afterwards()
    sum_up_in_order()
    touched = total(counters, threads, TOUCHED)
    if thread == 0:
        note(log, self_iteration - began, receiver_count, touched, DENSE)
    traversed += touched
    take_sums(parity)
    ask_to_stop()
    stopped = counters[STOPPED] != 0
    self_iteration += 1
