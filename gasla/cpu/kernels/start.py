"""What a run starts with: fields, empty bitmaps, nothing gathered."""
# mypy: ignore-errors

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.kernels.aggregates import aggregate
from gasla.cpu.kernels.apply import bring_up, forget
from gasla.cpu.kernels.keyed import clear_tables
from gasla.cpu.kernels.queues import *
from gasla.cpu.program.launch import ACTIVE, EDGE_SUM, FILLED, SOURCE
from gasla.cpu.program.specialise import local, plan
from gasla.cpu.runtime.blocks import stage
from gasla.cpu.runtime.threads import TEAM, barrier
from semirings import VectorType


@compiled
def start():
    """Fill the fields, and reduce over them."""
    fill_first()
    if thread == 0:
        control[FILLED] = 1
    aggregate()


def fill_first():
    """Fill all, unless this goes on with a run."""
    if control[FILLED] == 0:
        fill()
        barrier(control, threads)


@stage
def fill():
    """Fill fields, from one value and the values of some vertices, or from those of all; and clear what must be clear.

    By all threads: to get fresh pages from the system takes longer than anything else before a run.
    """
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
    if plan.sends_news:  # at first all that a vertex holds is new
        for v in range(low, high):
            news[v] = plan.all_news


def begin_active():
    """Note which vertices are active at first, and how many edges lead on from them."""
    begin(control, counts)
    if "queues" in plan.arrays and control[SOURCE] >= 0:
        queues[0, 0, 0] = control[SOURCE]
    if plan.sends and control[ACTIVE] < self_n:
        control[EDGE_SUM] = edges_from(queues[0], counts[2], control[TEAM], sp)
    if plan.prioritised:  # all that are active at first are near
        lows[:] = np.inf
        lows[:, 1::8] = bounds[:] = -np.inf


def clear_bitmaps():
    """Clear the bitmaps that there are, but for what the first iteration already looks at."""
    if "bits" in plan.arrays and not plan.starts_active:
        clear_both(thread, threads, bits)
    if "claimed" in plan.arrays:
        clear_both(thread, threads, claimed)
    for name in ("far_bits", "summed", "waiting"):
        if name in plan.arrays:
            clear(thread, threads, local[name])


def fill_one(field):
    """The thread's part of a field, or of both its copies."""
    if field not in plan.doubled:
        fill_copy(field, v_[field])
    else:
        fill_copy(field, v_[field][0])
        fill_copy(field, v_[field][1])


def fill_copy(field, array):
    """Values are none, if it is full already; all; or one, and those of places."""
    if isinstance(plan.vertex_type(field), VectorType):
        fill_vectors(low, high, array, from_[field], at_[field])
    else:
        fill_field(low, high, array, from_[field], at_[field])
