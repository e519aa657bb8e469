"""Run one kernel on several operating-system threads at once, with a barrier between them.

A program's whole loop is one kernel that every thread runs from start to finish: a barrier costs well under a
microsecond, where starting a parallel region for each of thousands of thin levels would cost far more. That needs
threads that truly run together, which `numba.prange` does not promise.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from numba import njit, types

from gasla.cpu.atomics import fetch_add, load, pause, store

# A control array is int64; these slots are a cache line (8 words) apart so that threads do not disturb each other.
ARRIVED, GENERATION, STOP, TICKET, PROGRESS = 0, 8, 16, 24, 32
CONTROL_SIZE = 64

_give_way = types.ExternalFunction("SwitchToThread" if os.name == "nt" else "sched_yield", types.int32())
_workers: "list[_Worker]" = []
_busy = threading.Lock()


def num_threads() -> int:
    """The number of threads that kernels use: Numba's setting (`numba.set_num_threads`, `NUMBA_NUM_THREADS`)."""
    from numba import get_num_threads

    return int(get_num_threads())


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


def _to_own_core(place: int) -> set[int]:
    """Move this thread to a core of its own; returns the cores that it had."""
    if not hasattr(os, "sched_setaffinity"):
        return set()
    cores = os.sched_getaffinity(0)
    _stay_on({sorted(cores)[place % len(cores)]})
    return cores


def _stay_on(cores: set[int]) -> None:
    if cores:
        with suppress(OSError):  # the system may have taken cores away meanwhile
            os.sched_setaffinity(0, cores)


class _Worker:
    """One parked thread. Two bare locks wake it in about 15 microseconds, a third of an executor's time.

    It parks on a core of its own, and may wander once it is awake: the system would wake two threads on one core now
    and then, and take milliseconds to notice, while one waits for the other.
    """

    def __init__(self, place: int) -> None:
        self._place = place
        self._start, self._done = threading.Lock(), threading.Lock()
        self._start.acquire()
        self._done.acquire()
        self._error: BaseException | None = None
        threading.Thread(target=self._loop, name="gasla", daemon=True).start()

    def _loop(self) -> None:
        while True:
            cores = _to_own_core(self._place)
            self._start.acquire()
            _stay_on(cores)
            try:
                self._kernel(*self._args)
            except BaseException as error:  # handed to the thread that waits
                self._error = error
            del self._kernel, self._args  # a parked thread keeps nobody's arrays alive
            self._done.release()

    def start(self, kernel: Callable[..., Any], *args: Any) -> None:
        self._kernel, self._args, self._error = kernel, args, None
        self._start.release()

    def wait(self, timeout: float = -1) -> bool:
        return self._done.acquire(timeout=timeout)

    def check(self) -> None:
        if self._error is not None:
            raise self._error


@contextmanager
def team(wanted: int) -> Iterator[int]:
    """Hold the threads, so that several kernels run on the same number of them: as many as wanted, or 1 if not free."""
    held = wanted > 1 and _busy.acquire(blocking=False)
    try:
        yield wanted if held else 1
    finally:
        if held:
            _busy.release()


def run_parallel(
    kernel: Callable[..., Any],
    control: np.ndarray,
    args: tuple[Any, ...],
    threads: int,
    watch: Callable[[], None] | None = None,
    held: bool = False,
) -> None:
    """Call `kernel(thread, threads, control, *args)` on `threads` threads that run at the same time.

    `kernel` is a Numba function compiled with `nogil=True`. With one thread and nobody watching, or while another
    run holds the threads, it is called here with `threads=1`; `held` says that the caller does (`team`).
    `watch()` is called ten times a second meanwhile. Ctrl-C sets the stop flag, waits for the kernel to leave, and is
    then raised.
    """
    if (threads <= 1 and watch is None) or not (held or _busy.acquire(blocking=False)):
        kernel(0, 1, control, *args)
        return
    try:
        _run(kernel, control, args, threads, watch)
    finally:
        if not held:
            _busy.release()


def _run(
    kernel: Callable[..., Any],
    control: np.ndarray,
    args: tuple[Any, ...],
    threads: int,
    watch: Callable[[], None] | None,
) -> None:
    while len(_workers) < threads:
        _workers.append(_Worker(len(_workers)))
    crew = _workers[:threads]
    for i, worker in enumerate(crew):
        worker.start(kernel, i, threads, control, *args)
    _wait(crew, control, watch)
    for worker in crew:
        worker.check()


def _wait(crew: list[_Worker], control: np.ndarray, watch: Callable[[], None] | None) -> None:
    """Return when the whole crew is done; an exception here (Ctrl-C) first makes the kernel leave."""
    waiting = list(crew)
    try:
        while waiting:
            if waiting[-1].wait(-1 if watch is None else 0.1):
                waiting.pop()
            elif watch is not None:
                watch()
    except BaseException:
        control[STOP] = 1
        for worker in waiting:
            worker.wait()
        raise


def _forget() -> None:
    """After a fork the child has none of its parent's threads."""
    global _workers, _busy
    _workers, _busy = [], threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
