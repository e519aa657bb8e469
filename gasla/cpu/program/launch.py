"""The layout of a loop's control array, and the decision whether a run begins on one thread or on all threads."""

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

# Indices into a run's control array, after those of threads.py. These words hold the state in which a loop stopped, so
# that the next launch can resume it.
ITERATION, LAST, ACTIVE, EDGE_SUM, REMAINING, FORM, WAY, DONE, TOTAL, PUT_OFF, WORK, ENOUGH, FILLED = range(40, 53)
# index of the word that says whether the schedule's vertices are sorted, and of the word that says whether its levels
# run from last to first
SORTED, BACKWARD = 53, 54
# index of the word with the only vertex that is active at the start, or with -1 if the queues hold the active vertices
SOURCE = 55
ENTRIES = 56  # index of the word with the graph's number of edges
# index of the word that says when a run begins on one thread: only if the other threads are likely to get no core
# (FOR_CORES), or also if they sleep (IF_OTHERS_SLEEP)
WAITS = 57
FOR_CORES, IF_OTHERS_SLEEP = 1, 2
# index of the word with the number of vertices and edges that one thread processes alone before it wakes the others
UNTIL = 58
MISSED = 59  # index of the word with the number of vertices and edges that one thread has processed alone so far
# indices of two limits: an iteration with fewer vertices and edges than the word THIN says is small, and after as many
# small iterations in a row as the word LASTING says, one thread goes on alone
THIN, LASTING = 60, 61
BEGAN = 62  # index of the word with the number of the first iteration that the log records
# index of the word with the address of the paces (times per vertex and edge) that were measured for this program and
# graph
PACES = 63
STAYS_ALONE = 64  # index of the word that says whether the run uses only one thread until its end
LARGE = 65  # index of the word with the number of edges from which on a graph is always worked on by all threads
assert LARGE < CONTROL_SIZE

# Indices into the array of paces, by which one thread or all threads are chosen where threads hinder each other:
# picoseconds per vertex and edge on one thread, the same on all threads, and the number of choices so far.
ON_ONE, ON_ALL, CHOICES, PACES_SIZE = range(4)
# The first BOTH runs are on one thread and on all threads by turns, to measure both paces. Later, one of AGAIN runs
# tries the slower way, because its pace may have changed.
BOTH, AGAIN = 6, 64


@helper
def is_one_faster(pool: np.ndarray, paces: np.ndarray, threads: int) -> bool:  # pragma: no cover - compiled
    """Return whether a run should use one thread, because earlier runs on this graph were faster that way than on all.

    `paces` has the measured paces of both ways, and `pool` what sharing work costs. Threads that share work lose time
    wherever they write near each other. How much depends on the machine and on the program, so it is measured in both
    ways.
    """
    if not is_measured(pool):
        return False  # all threads run now, and first measure what sharing costs
    paces[CHOICES] += 1
    if paces[CHOICES] <= BOTH:
        return paces[CHOICES] % 2 == 1
    return (paces[ON_ONE] < paces[ON_ALL]) != (paces[CHOICES] % AGAIN == 0)


@helper
def note_pace(paces: np.ndarray, way: int, time: int, work: int) -> None:  # pragma: no cover - compiled
    """Record how fast a run was, in picoseconds per vertex and edge, for its `way`: on one thread, or on all.

    A faster run than usual replaces the pace recorded in `paces`. A slower run, which other processes may have delayed,
    raises the recorded pace by an eighth of the difference.
    """
    pace, usual = max(1000 * time // work, 1), paces[way]
    slower = min(pace, 2 * usual) - usual
    paces[way] = pace if usual == 0 or slower < 0 else usual + slower // 8


@helper
def run_loop(
    part: int, arguments: int, way: int, threads: int, control: np.ndarray
) -> None:  # pragma: no cover - compiled
    """Run a loop on all threads, or begin on one thread if the other threads sleep, have no core, or would slow it
    down.
    """
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
