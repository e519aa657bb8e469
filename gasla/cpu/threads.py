"""Run one kernel on several operating-system threads at once, with a barrier between them.

A program's whole loop is one kernel that every thread runs from start to finish: a barrier costs well under a
microsecond, where starting a parallel region for each of thousands of thin levels would cost far more. That needs
threads that truly run together, which `numba.prange` does not promise.
"""

import ctypes
import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
from numba import njit, types
from numba.np.ufunc import parallel

from gasla.cpu.atomics import compare_and_swap, fetch_add, load, pause, store, store_at

# A control array is int64; these slots are a cache line (8 words) apart so that threads do not disturb each other.
ARRIVED, GENERATION, STOP, TICKET, PROGRESS, ENDED = 0, 8, 16, 24, 32, 56
GATE = STOP + 1  # where to say that the caller is in its kernel: an address
CONTROL_SIZE = 64

# So are a worker's letters: how many jobs it was given, how many of those it knows of; whether it sleeps, and on which
# lock and core; which cores it may run on, and the one to sleep on, as sets of bits.
GIVEN, KNOWN, ASLEEP, LOCK, PLACE, CORE, SELF, ALL, OWN = 0, 8, 16, 24, 25, 26, 27, 32, 48
LETTERS, SET = 64, 16

AWAKE = 12_000  # pauses of some 25 ns for which a worker looks for its next job before it sleeps: to wake it takes long
COMING = 1000  # and for which it waits until the caller has left Python, whose lock it would else have to sleep for
SHORT = 1 << 26  # vertices and edges up to which the caller takes part in a run: above it Ctrl-C may be tried

_give_way = types.ExternalFunction("SwitchToThread" if os.name == "nt" else "sched_yield", types.int32())
_get_num_threads = types.ExternalFunction("get_num_threads", types.int32())
# Python's own locks, which need not hold its global one.
_acquire = types.ExternalFunction("PyThread_acquire_lock", types.int32(types.intp, types.int32))
_release = types.ExternalFunction("PyThread_release_lock", types.void(types.intp))
_new_lock = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyThread_allocate_lock", ctypes.pythonapi))
_take = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)(("PyThread_acquire_lock", ctypes.pythonapi))
_gate = np.zeros(8, np.int64)  # 1 in its first word once the caller is in its kernel, or waits
_workers: "list[_Worker]" = []
_busy: dict[str, object] = {}  # who has the threads, as "owner"


def num_threads() -> int:
    """The number of threads that kernels use: Numba's setting (`numba.set_num_threads`, `NUMBA_NUM_THREADS`)."""
    _launch()
    return int(_set_number())


@cache
def _launch() -> None:
    """Have Numba start its threads, who know that number."""
    parallel.get_num_threads()


@njit(error_model="numpy", _nrt=False, cache=True, no_cfunc_wrapper=True)
def _set_number() -> int:  # pragma: no cover - compiled
    """That number, without the locks that Numba's own function takes: Ctrl-C may leave one taken for good."""
    return _get_num_threads()


def new_control() -> np.ndarray:
    """The words that the threads of one run share: barrier, stop flag, work tickets, progress."""
    return _NEW_CONTROL.copy()


_NEW_CONTROL = np.zeros(CONTROL_SIZE, np.int64)
_NEW_CONTROL[GATE] = _gate.ctypes.data


@njit(error_model="numpy", nogil=True, _nrt=False)
def enter(control: np.ndarray) -> None:  # pragma: no cover - compiled
    """The first thing that a kernel does: the caller tells the others that Python's lock is free."""
    if control[GATE] != 0:
        store_at(control[GATE], 1)


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


@njit(error_model="numpy", nogil=True, _nrt=False, cache=True, no_cfunc_wrapper=True)
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


if hasattr(os, "sched_setaffinity"):
    _get_cores = types.ExternalFunction("sched_getaffinity", types.int32(types.int32, types.intp, types.intp))
    _set_cores = types.ExternalFunction("sched_setaffinity", types.int32(types.int32, types.intp, types.intp))

    @njit(error_model="numpy", nogil=True, _nrt=False)
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

    @njit(error_model="numpy", nogil=True, _nrt=False)
    def _leave(letters: np.ndarray) -> None:  # pragma: no cover - compiled
        """Go wherever there is room."""
        _set_cores(0, 8 * SET, letters[SELF] + 8 * ALL)

else:

    @njit(error_model="numpy", nogil=True, _nrt=False)
    def _settle(letters: np.ndarray) -> bool:  # pragma: no cover - compiled
        """The system has no such thing."""
        return False

    @njit(error_model="numpy", nogil=True, _nrt=False)
    def _leave(letters: np.ndarray) -> None:  # pragma: no cover - compiled
        pass


@njit(error_model="numpy", nogil=True, _nrt=False, cache=True, no_cfunc_wrapper=True)
def _await(letters: np.ndarray, control: np.ndarray, gate: np.ndarray, awake: int) -> None:  # pragma: no cover
    """Say that a job has ended, and wait for the next: awake for a while, as one call often follows another."""
    fetch_add(control, ENDED, 1)
    for _ in range(awake):
        if load(letters, GIVEN) != letters[KNOWN]:
            break
        pause()
    if load(letters, GIVEN) == letters[KNOWN]:
        settled = _settle(letters)
        fetch_add(letters, ASLEEP, 1)
        if fetch_add(letters, GIVEN, 0) == letters[KNOWN] or not compare_and_swap(letters, ASLEEP, 1, 0):
            _acquire(letters[LOCK], 1)
        if settled:
            _leave(letters)
    letters[KNOWN] = load(letters, GIVEN)
    for _ in range(COMING):
        if load(gate, 0) != 0:
            break
        pause()


@njit(error_model="numpy", _nrt=False, cache=True, no_cfunc_wrapper=True)
def _give(letters: np.ndarray) -> None:  # pragma: no cover - compiled
    """Let a worker know of a job."""
    fetch_add(letters, GIVEN, 1)
    if compare_and_swap(letters, ASLEEP, 1, 0):
        _release(letters[LOCK])


@cache
def _cores() -> int:
    """How many cores there are to run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _this_core() -> int:
    """The core that this thread runs on; -1 where nobody can say."""
    return int(_getcpu()) if _getcpu is not None else -1


_getcpu = getattr(ctypes.CDLL(None), "sched_getcpu", None) if os.name == "posix" else None


class _Job:
    """A kernel and its arguments, for one worker, who stays `awake` for a while afterwards."""

    __slots__ = ("_args", "_bell", "_kernel", "awake", "begun", "control", "ended", "error", "taken_back")

    def __init__(
        self, kernel: Callable[..., Any], thread: int, threads: int, control: np.ndarray, args: Any, awake: int
    ) -> None:
        self._kernel, self._args, self.control, self.awake = kernel, (thread, threads, control, *args), control, awake
        self.begun = self.taken_back = self.ended = False
        self.error: BaseException | None = None
        self._bell: Any = None  # a lock that is taken until the job has ended, if somebody waits for long

    def run(self) -> None:
        self.begun = True
        try:
            self._kernel(*self._args)
        except BaseException as error:  # handed to the thread that waits
            self.error = error
        self.ended = True
        if self._bell is not None:
            self._bell.release()

    def wait(self, timeout: float = -1) -> bool:
        """Whether it has ended by then; may be asked again."""
        if self._bell is None and not self.ended:
            bell = threading.Lock()
            bell.acquire()
            self._bell = bell
        if not self.ended and self._bell.acquire(timeout=timeout):
            self._bell.release()
        return self.ended


class _Worker:
    """One thread that waits for jobs.

    It sleeps on a core of its own, and may wander once it is awake: the system would wake two threads on one core now
    and then, and take milliseconds to notice, while one waits for the other.
    """

    def __init__(self, place: int) -> None:
        self._jobs: deque[_Job] = deque()
        self._letters = np.zeros(LETTERS, np.int64)
        self._letters[PLACE], self._letters[CORE], self._letters[SELF] = place, -1, self._letters.ctypes.data
        self._letters[LOCK] = lock = _new_lock()
        _take(lock, 1)
        threading.Thread(target=self._loop, name="gasla", daemon=True).start()

    def give(self, job: _Job) -> None:
        self._jobs.append(job)
        _give(self._letters)

    @property
    def is_awake(self) -> bool:
        """Whether it is at work, or looks for some."""
        return not self._letters.item(ASLEEP)

    def rank(self, core: int) -> int:
        """Who is awake comes first, then who sleeps on another core than this."""
        return 0 if self.is_awake else 1 + (self._letters.item(CORE) == core)

    def _loop(self) -> None:
        nobodys = control = new_control()
        awake = 0
        while True:
            _await(self._letters, control, _gate, awake)
            control, awake = nobodys, 0
            while self._jobs:
                job = self._jobs.popleft()
                if not (job.begun or job.taken_back):
                    job.run()
                    control, awake = job.control, job.awake
                del job  # a parked thread keeps nobody's arrays alive


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


def are_awake(wanted: int) -> bool:
    """Whether so many threads, with this one, need not be woken."""
    awake = 1
    for worker in _workers[: wanted - 1]:
        awake += worker.is_awake
    return awake == wanted


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
    run holds the threads, it is called here with `threads=1`; `held` says that the caller does (`hold`).
    `watch()` is called ten times a second meanwhile. Ctrl-C sets the stop flag, waits for the kernel to leave, and is
    then raised.

    In a `short` run this thread is one of them: it begins at once, and hears Ctrl-C afterwards. With `loose` the kernel
    has neither barriers nor shares fixed ahead, so that whoever is not awake by the end need not come.
    """
    if threads <= 1 and (watch is None or short):
        kernel(0, 1, control, *args)
        return
    owner = object()
    try:
        if not (held or hold(owner)):
            kernel(0, 1, control, *args)
            return
        control[ENDED] = 0 if short else threads  # then there is nobody to see off
        _gate[0] = 0 if short else 1
        awake, generation, jobs = AWAKE if short and threads <= _cores() else 0, control.item(GENERATION), []
        for i in range(1 if short else 0, threads):
            jobs.append(_Job(kernel, i, threads, control, args, awake))
        _gather(threads)
        try:
            _start(jobs)
            if short:
                kernel(0, threads, control, *args)
            else:
                _watch(jobs, watch)
        except BaseException:  # Ctrl-C, likely
            control[STOP] = 1
            if not loose:  # who has begun may wait at a barrier for who has not: all begin, to find that they may leave
                _start(jobs)
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
        if not held:
            release(owner)


def _gather(threads: int) -> None:
    """Have so many workers, those first that are the soonest there."""
    while len(_workers) < threads:
        _workers.append(_Worker(len(_workers)))
    if not are_awake(threads):
        core = _this_core()
        _workers[:threads] = sorted(_workers[:threads], key=lambda worker: worker.rank(core))


def _start(jobs: list[_Job]) -> None:
    for job, worker in zip(jobs, _workers):
        worker.give(job)


def _watch(jobs: list[_Job], watch: Callable[[], None] | None) -> None:
    """Wait for jobs, and look ten times a second."""
    for job in jobs:
        while not job.wait(-1 if watch is None else 0.1):
            assert watch is not None
            watch()


def _wait(jobs: list[_Job], control: np.ndarray, loose: bool) -> None:
    """Wait until all jobs are done, and for no loose one that has not begun."""
    coming = 0
    for job in jobs:
        job.taken_back = loose and not job.begun
        coming += not job.taken_back
    if control.item(ENDED) < coming:
        see_off(control, 0, 1 + coming)
    for job in jobs:
        if not (job.ended or job.taken_back):
            job.wait()


def _forget() -> None:
    """After a fork the child has none of its parent's threads."""
    global _workers, _busy
    _workers, _busy = [], {}


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
