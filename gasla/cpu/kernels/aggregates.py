"""Aggregates reduce values of all vertices to one value, through partial results for each thread or chunk of vertices.

With a partial result for each chunk, values are added in the same order for any number of threads. Deterministic
programs need that.
"""

import numpy as np

from gasla.cpu.kernels.atomics import combined
from gasla.cpu.kernels.hooks import call, perform
from gasla.cpu.kernels.passes import all_vertices, counted, variables
from gasla.cpu.kernels.queues import DENSE_CHUNK, chunks_of
from gasla.cpu.kernels.record import Loop, Pass, plan
from gasla.cpu.runtime.blocks import stage
from gasla.cpu.runtime.intrinsics import ONE, ZERO, count_trailing_zeros
from gasla.cpu.runtime.threads import barrier
from gasla.program.statements import Deposit, Reduce, observed


@stage
def aggregate(run: Pass):
    """Compute the program's aggregates of the initial state of a run, so that the first iteration can read them."""
    variables(run)
    # `self_iteration` is -1 for the initial state, but the program's functions must see 0 instead
    run.self_iteration = max(run.self_iteration, 0)
    if plan.sums_in_order:
        for chunk in range(run.thread, chunks_of(run.self_n), run.threads):
            start, stop = begin_chunk(run, chunk)
            for v in range(start, stop):
                perform(run, observed(plan), v)
                for name in plan.traced.aggregates:
                    run.ordered[name] = run.combine[name](run.ordered[name], call(run, name))
                perform(run, [Deposit(name, True) for name in plan.traced.deposits], v)
            end_chunk(run, chunk)
    else:
        for v in all_vertices(run):
            perform(run, observed(plan), v)
            perform(run, [*map(Reduce, plan.traced.aggregates)], v)
            perform(run, [Deposit(name, True) for name in plan.traced.deposits], v)
    counted(run)


@stage
def sum_up(run: Pass):
    """Compute the aggregates of an iteration from the terms (one value for each vertex) that its vertices have stored.

    Terms are added in a fixed order, so that results do not depend on the number of threads.
    """
    variables(run)
    for chunk in range(run.thread, chunks_of(run.self_n), run.threads):
        start, stop = begin_chunk(run, chunk)
        for base in range(start, stop, np.uint64(64)):
            run.word = run.summed[base >> np.uint64(6)]
            run.summed[base >> np.uint64(6)] = ZERO
            while run.word != ZERO:
                v = base + count_trailing_zeros(run.word)
                for name in plan.traced.aggregates:
                    run.ordered[name] = run.combine[name](run.ordered[name], run.term[name][v])
                run.word &= run.word - ONE
        end_chunk(run, chunk)
    counted(run)


def begin_chunk(run: Pass, chunk):
    """Begin the partial aggregates of one chunk of vertices: set each to the identity of its reduction.

    A chunk is `DENSE_CHUNK` consecutive vertices, and `chunk` is its number. Return its first vertex, and its end.
    """
    for name in plan.traced.aggregates:
        run.ordered[name] = plan.aggregate_identity(name)
    return np.uint64(DENSE_CHUNK * chunk), np.uint64(min(DENSE_CHUNK * (chunk + 1), run.self_n))


def end_chunk(run: Pass, chunk):
    """Store the partial aggregates of one chunk of vertices, to be combined later with those of all other chunks.

    `chunk` is the number of the chunk, a range of consecutive vertices.
    """
    for name in plan.traced.aggregates:
        run.part[name][run.parity, chunk * 8] = run.ordered[name]


# --- functions on aggregates that the loop of a program calls in each iteration ---------------------------------------


def begin_aggregates(run: Loop):
    """Reset the partial results of aggregates for an iteration, also those of threads that do not run in this
    iteration.

    Partial results of chunks of vertices need no reset, as all of them are written in each iteration.
    """
    if plan.traced.aggregates and not plan.sums_in_order:
        for t in range(run.thread, run.team, run.threads):
            for name in plan.traced.aggregates:
                run.part[name][run.parity, t * 8] = plan.aggregate_identity(name)
    for name in plan.traced.deposits:
        run.to[name][
            (run.self_iteration + 1) % 3,
            run.self_n * run.thread // run.threads : run.self_n * (run.thread + 1) // run.threads,
        ] = plan.aggregate_identity(name)


def sum_up_in_order(run: Loop):
    """Add up the terms of aggregates that vertices have stored, if the program needs a fixed order of additions.

    If it does not, do nothing, as threads have reduced the aggregates already.
    """
    if plan.sums_in_order:
        sum_up(run)
        barrier(run.control, run.threads)


def take_sums(run: Loop, parity):
    """Combine the partial results of all threads or chunks of vertices to the values of the program's aggregates.

    Arrays of partial results have a row each for even and odd iterations, and `parity` (0 or 1) is the row to read.
    """
    for name in plan.traced.aggregates:
        run.self_[name] = combined(
            run, name, run.part[name][parity], chunks_of(run.self_n) if plan.sums_in_order else run.team
        )
