"""The words of a loop's control array, and the number of threads that a run begins with."""

import numpy as np

from gasla.cpu.runtime.intrinsics import words_at
from gasla.cpu.runtime.threads import CONTROL_SIZE, NEXT_THREADS, POOL, are_awake, run, time_apart
from gasla.cpu.runtime.workers import POOL_SIZE, helper

# Indices into a run's control array, after those of threads.py: the state in which a loop stopped, to resume it.
ITERATION, LAST, ACTIVE, EDGE_SUM, REMAINING, FORM, WAY, DONE, TOTAL, PUT_OFF, WORK, ENOUGH, FILLED = range(40, 53)
SORTED, BACKWARD = 53, 54  # whether the schedule is sorted; whether it runs from its last level to the first
SOURCE = 55  # the only vertex that is active first; -1 if the queues list the active vertices
ENTRIES = 56  # edges of the graph
WAITS = 57  # whether a run begins on one thread: only if others are likely to get no core, or also if they sleep
FOR_CORES, IF_OTHERS_SLEEP = 1, 2
UNTIL = 58  # work (vertices and edges) that one thread does alone before it wakes the others
MISSED = 59  # the work done alone so far
THIN, LASTING = 60, 61  # an iteration is small below THIN work; after LASTING small ones one thread runs alone
BEGAN = 62  # the first iteration of the log
assert BEGAN < CONTROL_SIZE


@helper
def run_loop(
    part: int, arguments: int, way: int, threads: int, control: np.ndarray
) -> None:  # pragma: no cover - compiled
    """Run a loop; it begins on one thread if the others sleep and the run allows that."""
    pool = words_at(control[POOL], POOL_SIZE)
    if threads > 1 and control[NEXT_THREADS] == 0 and control[WAITS] != 0:
        asleep = control[WAITS] == IF_OTHERS_SLEEP and not are_awake(pool, threads)
        control[NEXT_THREADS] = 1 if asleep or time_apart(control) > control[ENTRIES] else threads
    run(part, arguments, way, threads, control)
