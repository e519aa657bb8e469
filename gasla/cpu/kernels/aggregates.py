"""Aggregates: values of all vertices are reduced into one partial result per thread, or per chunk of vertices.

Per chunk, the order of a sum is the same for any number of threads, as deterministic programs need.
"""
# mypy: ignore-errors

import numpy as np

from gasla.cpu.kernels.atomics import combined_
from gasla.cpu.kernels.hooks import call, run
from gasla.cpu.kernels.passes import all_vertices, counted, variables
from gasla.cpu.kernels.queues import DENSE_CHUNK, chunks_of
from gasla.cpu.program.specialize import plan
from gasla.cpu.runtime.blocks import stage
from gasla.cpu.runtime.intrinsics import count_trailing_zeros
from gasla.cpu.runtime.threads import barrier
from gasla.program.statements import Deposit, Reduce, observed


@stage
def aggregate():
    """Reduce the aggregates over the initial state."""
    variables()
    self_iteration = max(self_iteration, 0)  # the program's functions never see -1
    if plan.sums_in_order:
        for chunk in range(thread, chunks_of(self_n), threads):
            begin_chunk()
            for v in range(start, stop):
                run(observed(plan), v)
                for name in plan.traced.aggregates:
                    ordered_[name] = combine_[name](ordered_[name], call(name))
                run([Deposit(name, True) for name in plan.traced.deposits], v)
            end_chunk()
    else:
        for v in all_vertices():
            run(observed(plan), v)
            run([*map(Reduce, plan.traced.aggregates)], v)
            run([Deposit(name, True) for name in plan.traced.deposits], v)
    counted()


@stage
def sum_up():
    """Reduce the aggregates of an iteration from the terms that vertices stored."""
    variables()
    for chunk in range(thread, chunks_of(self_n), threads):
        begin_chunk()
        for base in range(start, stop, np.uint64(64)):
            word = summed[base >> np.uint64(6)]
            summed[base >> np.uint64(6)] = zero
            while word != zero:
                v = base + count_trailing_zeros(word)
                for name in plan.traced.aggregates:
                    ordered_[name] = combine_[name](ordered_[name], term_[name][v])
                word &= word - one
        end_chunk()
    counted()


def begin_chunk():
    """Begin a chunk, of the vertices from `start` to `stop`."""
    for name in plan.traced.aggregates:
        ordered_[name] = plan.aggregate_identity(name)
    start, stop = np.uint64(DENSE_CHUNK * chunk), np.uint64(min(DENSE_CHUNK * (chunk + 1), self_n))


def end_chunk():
    """Store the sums of a chunk."""
    for name in plan.traced.aggregates:
        part_[name][parity, chunk * 8] = ordered_[name]


# --- in the loop ------------------------------------------------------------------------------------------------------


def begin_aggregates():
    """Reset aggregates, also those of threads that take no part. (Sums per chunk need no reset.)"""
    if plan.traced.aggregates and not plan.sums_in_order:
        for t in range(thread, team, threads):
            for name in plan.traced.aggregates:
                part_[name][parity, t * 8] = plan.aggregate_identity(name)
    for name in plan.traced.deposits:
        to_[name][(self_iteration + 1) % 3, self_n * thread // threads : self_n * (thread + 1) // threads] = (
            plan.aggregate_identity(name)
        )


def sum_up_in_order():
    """Sum the terms that vertices stored, if the order matters."""
    if plan.sums_in_order:
        sum_up()
        barrier(control, threads)


def take_sums(parity):
    """Combine the partial results in one of the two rows."""
    for name in plan.traced.aggregates:
        self_[name] = combined_[name](part_[name][parity], chunks_of(self_n) if plan.sums_in_order else team)
