"""Sets the initial state of a run: fields, bitmaps, and arrays of gathered values."""

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.kernels.aggregates import aggregate
from gasla.cpu.kernels.apply import bring_up, forget
from gasla.cpu.kernels.keyed import clear_tables
from gasla.cpu.kernels.queues import begin, clear, clear_both, edges_from, fill_field, fill_vectors
from gasla.cpu.kernels.record import Pass, Run, plan
from gasla.cpu.program.launch import ACTIVE, EDGE_SUM, FILLED, SOURCE
from gasla.cpu.runtime.blocks import stage
from gasla.cpu.runtime.threads import TEAM, barrier
from semirings import VectorType


@compiled
def start(run: Run):
    """Set the initial state of a run (vertex fields and scratch arrays), and compute the aggregates of this state."""
    fill_first(run)
    if run.thread == 0:
        run.control[FILLED] = 1
    aggregate(run)


def fill_first(run: Run):
    """Set the initial state of a run, unless this launch of the kernel goes on with a run that has begun earlier."""
    if run.control[FILLED] == 0:
        fill(run)
        barrier(run.control, run.threads)


@stage
def fill(run: Pass):
    """Fill vertex fields with initial values and clear scratch arrays.

    All threads do this, because page faults take most of the time before a run.
    """
    clear_bitmaps(run)
    if run.thread == 0:
        begin_active(run)
    run.low, run.high = run.self_n * run.thread // run.threads, run.self_n * (run.thread + 1) // run.threads
    for field in plan.filled:
        fill_one(run, field)
    if plan.keyed is not None:
        clear_tables(run)
    for name in plan.traced.deposits:
        run.to[name][:, run.low : run.high] = plan.aggregate_identity(name)
    if plan.behind:
        for v in range(run.low, run.high):
            bring_up(run, v)
    if plan.accumulates:
        for v in range(run.low, run.high):
            forget(run, v)
    # all parts (numbers) of a vertex's value count as changed at first, so that a vertex sends all of them
    if plan.sends_news:
        for v in range(run.low, run.high):
            run.news[v] = np.uint8(plan.all_news)


def begin_active(run: Pass):
    """Set the vertices that are active in the first iteration of a run, and count their out-edges."""
    begin(run.control, run.counts)
    if "queues" in plan.arrays and run.control[SOURCE] >= 0:
        run.queues[0, 0, 0] = run.control[SOURCE]
    if plan.sends and run.control[ACTIVE] < run.self_n:
        run.control[EDGE_SUM] = edges_from(run.queues[0], run.counts[2], run.control[TEAM], run.sp)
    # all vertices that are active at the start belong to the first bucket, so no priority limits it
    if plan.prioritised:
        run.lows[:] = np.inf
        run.lows[:, 1::8] = run.bounds[:] = -np.inf


def clear_bitmaps(run: Pass):
    """Clear the bitmaps of vertices that a run uses, such as those of active and of claimed vertices.

    The bitmap of active vertices is kept if the caller has set it for the first iteration.
    """
    if "bits" in plan.arrays and not plan.starts_active:
        clear_both(run.thread, run.threads, run.bits)
    if "claimed" in plan.arrays:
        clear_both(run.thread, run.threads, run.claimed)
    for name in ("summed", "waiting"):
        if name in plan.arrays:
            clear(run.thread, run.threads, run.local[name])
    if plan.prioritised:
        for t in range(run.control[TEAM]):
            clear(run.thread, run.threads, run.far_bits[t])


def fill_one(run: Pass, field):
    """Set the initial values of a vertex field, in both copies if it has two, for this thread's vertices."""
    if field not in plan.doubled:
        fill_copy(run, field, run.v[field])
    else:
        fill_copy(run, field, run.v[field][0])
        fill_copy(run, field, run.v[field][1])


def fill_copy(run: Pass, field, array):
    """Set the initial values in `array`, a copy of a vertex field, for this thread's vertices."""
    if isinstance(plan.vertex_type(field), VectorType):
        fill_vectors(run.low, run.high, array, run.from_[field], run.at[field])
    else:
        fill_field(run.low, run.high, array, run.from_[field], run.at[field])
