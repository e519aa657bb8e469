"""The words of a loop's control array, and the number of threads that a run begins with."""

import numpy as np

from gasla.cpu.runtime.intrinsics import now, words_at
from gasla.cpu.runtime.threads import (
    CONTROL_SIZE,
    NEXT_THREADS,
    POOL,
    are_awake,
    is_dear,
    is_measured,
    measure,
    run,
    time_apart,
)
from gasla.cpu.runtime.workers import POOL_SIZE, helper

# Indices into a run's control array, after those of threads.py: the state in which a loop stopped, to resume it.
ITERATION, LAST, ACTIVE, EDGE_SUM, REMAINING, FORM, WAY, DONE, TOTAL, PUT_OFF, WORK, ENOUGH, FILLED = range(40, 53)
SORTED, BACKWARD = 53, 54  # whether the schedule is sorted; whether it runs from its last level to the first
SOURCE = 55  # the only vertex that is active first; -1 if the queues list the active vertices
ENTRIES = 56  # edges of the graph
WAITS = 57  # whether a run begins on one thread: only if others are likely to get no core, or also if they sleep
FOR_CORES, IF_OTHERS_SLEEP = 1, 2
UNTIL = 58  # work (vertices and edges) that one thread does alone before it wakes the other threads
MISSED = 59  # the work done alone so far
THIN, LASTING = 60, 61  # an iteration is small below THIN work; after LASTING small ones one thread runs alone
BEGAN = 62  # the first iteration of the log
PACES = 63  # the address of the program's paces on this graph
STAYS_ALONE = 64  # whether the run stays on one thread
LARGE = 65  # edges of graphs that all threads always share
assert LARGE < CONTROL_SIZE

# Paces where sharing is dear: picoseconds of a run for each vertex and edge, on one thread and on all; choices so far.
ON_ONE, ON_ALL, CHOICES, PACES_SIZE = range(4)
BOTH, AGAIN = 6, 64  # the first choices alternate; later every 64th choice tries the slower way, as its pace may change


@helper
def is_one_faster(pool: np.ndarray, paces: np.ndarray, threads: int) -> bool:  # pragma: no cover - compiled
    """Return whether a run stays on one thread, where sharing may be dear. Earlier runs on this graph tell.

    What sharing costs depends on the measured costs, and on how often this program's threads write near each other.
    """
    if not is_measured(pool):
        return False  # all threads run, and measure the costs at their start
    paces[CHOICES] += 1
    if paces[CHOICES] <= BOTH:
        return paces[CHOICES] % 2 == 1
    return (paces[ON_ONE] < paces[ON_ALL]) != (paces[CHOICES] % AGAIN == 0)


@helper
def note_pace(paces: np.ndarray, way: int, time: int, work: int) -> None:  # pragma: no cover - compiled
    """Note the time of a run: one that is faster than usual at once, a slower one, which others delayed, in part."""
    pace, usual = max(1000 * time // work, 1), paces[way]
    slower = min(pace, 2 * usual) - usual
    paces[way] = pace if usual == 0 or slower < 0 else usual + slower // 8


@helper
def run_loop(
    part: int, arguments: int, way: int, threads: int, control: np.ndarray
) -> None:  # pragma: no cover - compiled
    """Run a loop. It begins on one thread if the others sleep and the run allows that."""
    pool, paces = words_at(control[POOL], POOL_SIZE), words_at(control[PACES], PACES_SIZE)
    begins = threads > 1 and control[NEXT_THREADS] == 0 and control[WAITS] != 0
    asleep = begins and control[WAITS] == IF_OTHERS_SLEEP and not are_awake(pool, threads)
    if begins and not asleep:
        measure(pool)
    may_lose = threads > 1 and control[ENTRIES] < control[LARGE] and is_dear(pool, threads, control[ENTRIES])
    if begins:
        control[STAYS_ALONE] = may_lose and is_one_faster(pool, paces, threads)
        alone = asleep or control[STAYS_ALONE] != 0 or time_apart(control) > control[ENTRIES]
        control[NEXT_THREADS] = 1 if alone else threads
    began, before = now() if may_lose else 0, control[WORK] + control[TOTAL]
    run(part, arguments, way, threads, control)
    work = control[WORK] + control[TOTAL] - before
    if may_lose and work > 0:
        note_pace(paces, ON_ONE if control[STAYS_ALONE] != 0 else ON_ALL, now() - began, work)
