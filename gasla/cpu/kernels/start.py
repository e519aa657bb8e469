"""Sets the initial state of a run: fields, bitmaps, gathered values."""
# mypy: ignore-errors

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.kernels.aggregates import aggregate
from gasla.cpu.kernels.apply import bring_up, forget
from gasla.cpu.kernels.keyed import clear_tables
from gasla.cpu.kernels.queues import *
from gasla.cpu.program.launch import ACTIVE, EDGE_SUM, FILLED, SOURCE
from gasla.cpu.program.specialize import local, plan
from gasla.cpu.runtime.blocks import stage
from gasla.cpu.runtime.threads import TEAM, barrier
from semirings import VectorType


@compiled
def start():
    """Set the initial state, and reduce aggregates over it."""
    fill_first()
    if thread == 0:
        control[FILLED] = 1
    aggregate()


def fill_first():
    """Set the initial state, unless this resumes a run."""
    if control[FILLED] == 0:
        fill()
        barrier(control, threads)


@stage
def fill():
    """Fill fields and clear scratch arrays, on all threads: page faults take most of the time before a run."""
    clear_bitmaps()
    if thread == 0:
        begin_active()
    low, high = self_n * thread // threads, self_n * (thread + 1) // threads
    for field in plan.filled:
        fill_one(field)
    if plan.keyed is not None:
        clear_tables()
    for name in plan.traced.deposits:
        to_[name][:, low:high] = plan.aggregate_identity(name)
    if plan.behind:
        for v in range(low, high):
            bring_up(v)
    if plan.accumulates:
        for v in range(low, high):
            forget(v)
    if plan.sends_news:  # initially all items count as changed
        for v in range(low, high):
            news[v] = plan.all_news


def begin_active():
    """Set the initially active vertices, and count their out-edges."""
    begin(control, counts)
    if "queues" in plan.arrays and control[SOURCE] >= 0:
        queues[0, 0, 0] = control[SOURCE]
    if plan.sends and control[ACTIVE] < self_n:
        control[EDGE_SUM] = edges_from(queues[0], counts[2], control[TEAM], sp)
    if plan.prioritised:  # all initially active vertices are in the first bucket
        lows[:] = np.inf
        lows[:, 1::8] = bounds[:] = -np.inf


def clear_bitmaps():
    """Clear bitmaps, except the active set if the first iteration reads it."""
    if "bits" in plan.arrays and not plan.starts_active:
        clear_both(thread, threads, bits)
    if "claimed" in plan.arrays:
        clear_both(thread, threads, claimed)
    for name in ("summed", "waiting"):
        if name in plan.arrays:
            clear(thread, threads, local[name])
    if plan.prioritised:
        for t in range(control[TEAM]):
            clear(thread, threads, far_bits[t])


def fill_one(field):
    """Fill the thread's part of a field, or of both its copies."""
    if field not in plan.doubled:
        fill_copy(field, v_[field])
    else:
        fill_copy(field, v_[field][0])
        fill_copy(field, v_[field][1])


def fill_copy(field, array):
    """Fill the thread's part of an array; see `fill_field`."""
    if isinstance(plan.vertex_type(field), VectorType):
        fill_vectors(low, high, array, from_[field], at_[field])
    else:
        fill_field(low, high, array, from_[field], at_[field])
