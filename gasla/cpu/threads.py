"""Run one kernel on several operating-system threads at once, with a barrier between them.

A program's whole loop is one kernel that every thread runs from start to finish: a barrier costs well under a
microsecond, where starting a parallel region for each of thousands of thin levels would cost far more. That needs
threads that truly run together, which `numba.prange` does not promise.
"""

import ctypes
import os
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

import numpy as np
from numba import njit, types
from numba.np.ufunc import parallel

from gasla.cpu.atomics import fetch_add, load, pause, store

# A control array is int64; these slots are a cache line (8 words) apart so that threads do not disturb each other.
ARRIVED, GENERATION, STOP, TICKET, PROGRESS, ENDED = 0, 8, 16, 24, 32, 56
CONTROL_SIZE = 64
SHORT = 1 << 26  # vertices and edges up to which the caller takes part in a run: above it Ctrl-C may be tried

_give_way = types.ExternalFunction("SwitchToThread" if os.name == "nt" else "sched_yield", types.int32())
_workers: "list[_Worker]" = []
_busy: dict[str, object] = {}  # who has the threads, as "owner"


def num_threads() -> int:
    """The number of threads that kernels use: Numba's setting (`numba.set_num_threads`, `NUMBA_NUM_THREADS`)."""
    return int(_teller()())


@cache
def _teller() -> Callable[[], int]:
    """What tells that number.

    Numba's own function, once its threads have started, only takes two locks beside: that costs as much again after a
    kernel that has used all caches, and Ctrl-C may leave one taken for good, for which other threads would then wait.
    """
    parallel.get_num_threads()
    return getattr(parallel, "_get_num_threads", parallel.get_num_threads)


def new_control() -> np.ndarray:
    """The words that the threads of one run share: barrier, stop flag, work tickets, progress."""
    return np.zeros(CONTROL_SIZE, np.int64)


@njit(error_model="numpy", nogil=True, _nrt=False)
def barrier(control: np.ndarray, threads: int) -> None:  # pragma: no cover - compiled
    """Wait until every thread is here; what each wrote before, all see after."""
    if threads == 1:
        return
    generation = load(control, GENERATION)
    if fetch_add(control, ARRIVED, 1) == threads - 1:
        control[ARRIVED] = 0
        store(control, GENERATION, generation + 1)
        return
    spins = 0
    while load(control, GENERATION) == generation:
        spins += 1
        if spins < 4000:
            pause()
        else:  # somebody else needs this core: a spinning thread would only be in the way
            _give_way()


@njit(error_model="numpy", nogil=True, _nrt=False)
def see_off(control: np.ndarray, thread: int, threads: int) -> None:  # pragma: no cover - compiled
    """The last thing that the first thread does: wait a short while until all others have ended.

    Each takes Python's lock for a moment. To be woken when it is free takes several times as long as all of this.
    """
    if thread != 0 or threads == 1:
        return
    for _ in range(4000):
        if load(control, ENDED) >= threads - 1:
            break
        pause()
    for _ in range(50):  # the last one is about to give the lock free
        pause()


def _cores() -> set[int]:
    """The cores that this thread may run on."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def _stay_on(cores: set[int]) -> None:
    if cores:
        with suppress(OSError):  # the system may have taken cores away meanwhile
            os.sched_setaffinity(0, cores)


def _this_core() -> int:
    """The core that this thread runs on; -1 where nobody can say."""
    return int(_getcpu()) if _getcpu is not None else -1


_getcpu = getattr(ctypes.CDLL(None), "sched_getcpu", None) if os.name == "posix" else None


class _Job:
    """A kernel and its arguments, for one worker."""

    def __init__(self, kernel: Callable[..., Any], thread: int, threads: int, control: np.ndarray, args: Any) -> None:
        self._kernel, self._args, self._control = kernel, (thread, threads, control, *args), control
        self._done = threading.Lock()
        self._done.acquire()
        self.begun = self.taken_back = self.ended = False
        self.error: BaseException | None = None

    def run(self) -> None:
        self.begun = True
        try:
            self._kernel(*self._args)
        except BaseException as error:  # handed to the thread that waits
            self.error = error
        del self._kernel, self._args  # a parked thread keeps nobody's arrays alive

    def end(self) -> None:
        """Tell who waits; not before the worker has nothing left to do, which would be in the other's way."""
        self.ended = True
        self._done.release()
        self._control[ENDED] += 1  # by one worker at a time, as each holds Python's lock

    def wait(self, timeout: float = -1) -> bool:
        """Whether it has ended by then; may be asked again."""
        if not self.ended and self._done.acquire(timeout=timeout):
            self._done.release()
        return self.ended


class _Worker:
    """One parked thread, woken by a job.

    It parks on a core of its own, and may wander once it is awake: the system would wake two threads on one core now
    and then, and take milliseconds to notice, while one waits for the other.
    """

    def __init__(self, place: int) -> None:
        self._place, self.core = place, -1
        self.jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        threading.Thread(target=self._loop, name="gasla", daemon=True).start()

    def _loop(self) -> None:
        job: _Job | None = None
        while True:
            cores = _cores()
            if cores:
                self.core = sorted(cores)[self._place % len(cores)]
                _stay_on({self.core})
            if job is not None:
                job.end()
            job = self.jobs.get()
            _stay_on(cores)
            if job.begun or job.taken_back:
                job = None
            else:
                job.run()


@contextmanager
def team(wanted: int) -> Iterator[int]:
    """Hold the threads, so that several kernels run on the same number of them: as many as wanted, or 1 if not free."""
    owner = object()
    try:
        yield wanted if wanted > 1 and hold(owner) else 1
    finally:
        release(owner)


def hold(owner: object) -> bool:
    """Take the threads, if nobody has them.

    In one step that also says for whom: Ctrl-C may come before the caller has noted that it has them.
    """
    return _busy.setdefault("owner", owner) is owner


def are_held(owner: object) -> bool:
    """Whether this one has them."""
    return _busy.get("owner") is owner


def release(owner: object) -> None:
    """Give them back, if this one has them."""
    if "owner" in _busy and _busy["owner"] is owner:  # without a call, in which Ctrl-C would be heard
        del _busy["owner"]


def run_parallel(
    kernel: Callable[..., Any],
    control: np.ndarray,
    args: tuple[Any, ...],
    threads: int,
    watch: Callable[[], None] | None = None,
    held: bool = False,
    short: bool = False,
    loose: bool = False,
) -> None:
    """Call `kernel(thread, threads, control, *args)` on `threads` threads that run at the same time.

    `kernel` is a Numba function compiled with `nogil=True`. With one thread and nobody watching, or while another
    run holds the threads, it is called here with `threads=1`; `held` says that the caller does (`team`).
    `watch()` is called ten times a second meanwhile. Ctrl-C sets the stop flag, waits for the kernel to leave, and is
    then raised.

    In a `short` run this thread is one of them: it begins at once, and hears Ctrl-C afterwards. With `loose` the kernel
    has neither barriers nor shares fixed ahead, so that whoever is not awake by the end need not come.
    """
    owner = object()
    try:
        if (threads <= 1 and (watch is None or short)) or not (held or hold(owner)):
            kernel(0, 1, control, *args)
            return
        control[ENDED] = 0 if short else threads  # then there is nobody to see off
        jobs = [_Job(kernel, i, threads, control, args) for i in range(1 if short else 0, threads)]
        generation, crew = control[GENERATION], _crew(threads)
        try:
            _start(jobs, crew)
            if short:
                kernel(0, threads, control, *args)
            else:
                _watch(jobs, watch)
        except BaseException:  # Ctrl-C, likely
            control[STOP] = 1
            if not loose:  # who has begun may wait at a barrier for who has not: all begin, to find that they may leave
                _start(jobs, crew)
                if short and control[GENERATION] == generation:
                    with suppress(Exception):
                        kernel(0, threads, control, *args)
            raise
        finally:
            try:
                _wait(jobs, control, loose)
            except BaseException:
                control[STOP] = 1
                _wait(jobs, control, loose)
                raise
        for job in jobs:
            if job.error is not None:
                raise job.error
    finally:
        release(owner)


def _crew(threads: int) -> list[_Worker]:
    """The workers, those on other cores than this thread first."""
    while len(_workers) < threads:
        _workers.append(_Worker(len(_workers)))
    core = _this_core()
    return sorted(_workers[:threads], key=lambda worker: worker.core == core)


def _start(jobs: list[_Job], crew: list[_Worker]) -> None:
    for job, worker in zip(jobs, crew):
        worker.jobs.put(job)


def _watch(jobs: list[_Job], watch: Callable[[], None] | None) -> None:
    """Wait for jobs, and look ten times a second."""
    for job in jobs:
        while not job.wait(-1 if watch is None else 0.1):
            assert watch is not None
            watch()


def _wait(jobs: list[_Job], control: np.ndarray, loose: bool) -> None:
    """Wait until all jobs are done, and for no loose one that has not begun."""
    for job in jobs:
        job.taken_back = loose and not job.begun
    coming = [job for job in jobs if not job.taken_back]
    if coming:
        see_off(control, 0, 1 + len(coming))
    for job in coming:
        job.wait()


def _forget() -> None:
    """After a fork the child has none of its parent's threads."""
    global _workers, _busy
    _workers, _busy = [], {}


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
