"""The threads that wait for jobs: each has letters, in which it finds what to do, and a lock to sleep on."""

import ctypes
import os
import threading
import time

import numpy as np
from numba import types

from gasla.cpu.runtime import cores
from gasla.cpu.runtime.intrinsics import (
    acquire_lock,
    call,
    compare_and_swap,
    fetch_add,
    load,
    new_lock,
    pause,
    read_clock,
    release_lock,
    store,
    take_lock,
    words_at,
)
from gasla.cpu.runtime.modules import INNER, OPTIONS, compiled

# A worker's letters are int64; what others write is a cache line (8 words) apart from what it waits for. They are: a
# job; whether it sleeps; on which lock and core, and how many cores there are; whether a thread serves them, and the
# clock of its time on a core; which cores it may run on, and the one to sleep on, as sets of bits.
JOB, PART, ARGUMENTS, THREAD, THREADS = range(5)
ASLEEP, LOCK, PLACE, CORE, CORES, SELF, SLEEPERS, SERVED, CLOCK, ALL, OWN = 8, 16, 17, 18, 19, 20, 21, 22, 23, 32, 48
LETTERS, SET = 64, 16
NONE, GIVEN, BEGUN = 0, 1, 2  # of a job

# Of the crowd: how many workers sleep, and how many there are; how many cores; until when one thread had better work
# alone, in the clock's nanoseconds, or 0; how much time others have saved lately, and since when that is to be counted.
SLEEPING, HIRED, USABLE, APART, BALANCE, SINCE, CROWD_SIZE = range(7)

MOST = 64 * SET  # threads
AWAKE = 12_000  # pauses of some 25 ns for which a worker looks for its next job before it sleeps: to wake it takes long

crew = np.zeros(MOST, np.int64)  # addresses of all workers' letters
crowd = np.zeros(CROWD_SIZE, np.int64)
_workers: "list[Worker]" = []

helper = compiled(**INNER)


@helper
def wake(letters: np.ndarray) -> None:  # pragma: no cover - compiled
    """Have a worker look for a job, if it sleeps."""
    if compare_and_swap(letters, ASLEEP, 1, 0):
        release_lock(letters[LOCK])


_MONOTONIC = getattr(time, "CLOCK_MONOTONIC", 0)


@helper
def now() -> int:  # pragma: no cover - compiled
    """The time, in nanoseconds."""
    return read_clock(np.int32(_MONOTONIC))


if os.name == "posix" and hasattr(ctypes.CDLL(None), "pthread_getcpuclockid"):
    _this = types.ExternalFunction("pthread_self", types.uintp())
    _get_clock = types.ExternalFunction("pthread_getcpuclockid", types.int32(types.uintp, types.intp))

    @helper
    def _find_clock(letters: np.ndarray) -> None:  # pragma: no cover - compiled
        """Note the clock of this thread."""
        _get_clock(_this(), letters[SELF] + 8 * CLOCK)

    @helper
    def time_without_core(addresses: np.ndarray, since: int) -> int:  # pragma: no cover - compiled
        """How much more time has passed than workers had a core; less what this said at the time that counts begins."""
        result = now()
        for address in addresses:
            result -= read_clock(np.int32(words_at(address, LETTERS)[CLOCK]))
        return result - since

else:

    @helper
    def _find_clock(letters: np.ndarray) -> None:  # pragma: no cover - compiled
        pass

    @helper
    def time_without_core(addresses: np.ndarray, since: int) -> int:  # pragma: no cover - compiled
        """Nobody can say."""
        return 0


if hasattr(os, "sched_setaffinity"):
    _get_cores = types.ExternalFunction("sched_getaffinity", types.int32(types.int32, types.intp, types.intp))
    _set_cores = types.ExternalFunction("sched_setaffinity", types.int32(types.int32, types.intp, types.intp))

    @helper
    def _settle(letters: np.ndarray) -> bool:  # pragma: no cover - compiled
        """Stay on a core of its own; whether it does."""
        every, one = letters[ALL : ALL + SET], letters[OWN : OWN + SET]
        if _get_cores(0, 8 * SET, letters[SELF] + 8 * ALL) < 0:
            return False
        count = 0
        for core in range(64 * SET):
            count += (every[core >> 6] >> (core & 63)) & 1
        place, wanted = 0, letters[PLACE] % max(count, 1)
        one[:] = 0
        for core in range(64 * SET):
            if (every[core >> 6] >> (core & 63)) & 1:
                if place == wanted:
                    letters[CORE] = core
                    one[core >> 6] = np.int64(1) << (core & 63)
                place += 1
        return _set_cores(0, 8 * SET, letters[SELF] + 8 * OWN) == 0

    @helper
    def _leave(letters: np.ndarray) -> None:  # pragma: no cover - compiled
        """Go wherever there is room."""
        _set_cores(0, 8 * SET, letters[SELF] + 8 * ALL)

else:

    @helper
    def _settle(letters: np.ndarray) -> bool:  # pragma: no cover - compiled
        """The system has no such thing."""
        return False

    @helper
    def _leave(letters: np.ndarray) -> None:  # pragma: no cover - compiled
        pass


@compiled(**OPTIONS)
def _serve(letters: np.ndarray) -> None:  # pragma: no cover - compiled
    """Do jobs for ever: awake for a while after one, as one call often follows another, and when woken for none.

    It returns at once if another does, or for want of a lock.
    """
    awake, crowd = 0, words_at(letters[SLEEPERS], CROWD_SIZE)
    if letters[LOCK] == 0 or not compare_and_swap(letters, SERVED, 0, 1):
        return
    _find_clock(letters)
    while letters[LOCK] != 0:
        for _ in range(awake):
            if load(letters, JOB) == GIVEN:
                break
            pause()
        if load(letters, JOB) != GIVEN:
            settled = _settle(letters)
            fetch_add(crowd, SLEEPING, 1)
            fetch_add(letters, ASLEEP, 1)
            if fetch_add(letters, JOB, 0) != GIVEN or not compare_and_swap(letters, ASLEEP, 1, 0):
                acquire_lock(letters[LOCK], 1)
            fetch_add(crowd, SLEEPING, -1)
            if settled:
                _leave(letters)
            awake = AWAKE
        if compare_and_swap(letters, JOB, GIVEN, BEGUN):
            call(letters[PART], letters[THREAD], letters[ARGUMENTS])
            awake = AWAKE if letters[THREADS] <= letters[CORES] else 0
            store(letters, JOB, NONE)  # from here on the letters may hold the next job


class Worker:
    """One thread that waits for jobs.

    It sleeps on a core of its own, and may wander once it is awake: the system would wake two threads on one core now
    and then, and take milliseconds to notice, while one waits for the other.
    """

    def __init__(self, place: int) -> None:
        self.letters = letters = np.zeros(LETTERS, np.int64)
        _serve(letters)  # returns, for want of a lock: compiled before anybody waits for it
        letters[PLACE], letters[CORE], letters[CORES] = place, -1, cores.usable()
        letters[SELF] = self.address = letters.ctypes.data
        letters[SLEEPERS] = crowd.ctypes.data
        letters[LOCK] = lock = new_lock()
        take_lock(lock, 1)

    def begin(self) -> None:
        """Start its thread. If Ctrl-C comes before that is noted, this may be called again: the second one leaves."""
        threading.Thread(target=_serve, args=(self.letters,), name="gasla", daemon=True).start()


def hire(threads: int) -> None:
    """Have one worker more than work at once, so that nobody need be woken on the caller's core.

    Ctrl-C may come between any two lines: `crew` names all of `_workers` at any time.
    """
    while crowd.item(HIRED) < threads:
        if crowd.item(HIRED) == len(_workers):
            worker = Worker(len(_workers))
            crew[len(_workers)] = worker.address
            _workers.append(worker)
        _workers[crowd.item(HIRED)].begin()
        crowd[HIRED] += 1


def forget() -> None:
    """After a fork the child has none of its parent's threads."""
    _workers.clear()
    crowd[:] = 0
