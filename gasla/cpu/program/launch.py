"""A program's loop: the words of its control array, and how many threads it begins with."""

import numpy as np

from gasla.cpu.runtime.intrinsics import words_at
from gasla.cpu.runtime.threads import CONTROL_SIZE, NEXT_THREADS, POOL, are_awake, run, time_apart
from gasla.cpu.runtime.workers import POOL_SIZE, helper

# Slots of a run's control array, beside those of threads.py: where a loop stopped, to go on from there.
ITERATION, LAST, ACTIVE, EDGE_SUM, REMAINING, FORM, WAY, DONE, TOTAL, PUT_OFF, WORK, ENOUGH, FILLED = range(40, 53)
SORTED, BACKWARD = 53, 54  # of a schedule
SOURCE = 55  # the vertex that is active first, or -1: then others have been listed
ENTRIES = 56  # edges of the graph
WAITS = 57  # when one thread is to begin alone: where others are likely to get no core; and also where they sleep
FOR_CORES, IF_OTHERS_SLEEP = 1, 2
UNTIL = 58  # vertices and edges that one looks at alone, where there are many at once, before others are woken
MISSED = 59  # how many these are so far
THIN, LASTING = 60, 61  # vertices and edges of a thin iteration; so many in a row are one thread's
BEGAN = 62  # the iteration that the log begins with
assert BEGAN < CONTROL_SIZE


@helper
def run_loop(
    part: int, arguments: int, way: int, threads: int, control: np.ndarray
) -> None:  # pragma: no cover - compiled
    """Run a loop; where others sleep, one thread begins alone if it may."""
    pool = words_at(control[POOL], POOL_SIZE)
    if threads > 1 and control[NEXT_THREADS] == 0 and control[WAITS] != 0:
        asleep = control[WAITS] == IF_OTHERS_SLEEP and not are_awake(pool, threads)
        control[NEXT_THREADS] = 1 if asleep or time_apart(control) > control[ENTRIES] else threads
    run(part, arguments, way, threads, control)
