"""Run one kernel on several operating-system threads at once, with a barrier between them.

A program's whole loop is one kernel that every thread runs from start to finish: a barrier costs well under a
microsecond, where starting a parallel region for each of thousands of thin levels would cost far more. That needs
threads that truly run together, which `numba.prange` does not promise.

Python calls a kernel once. Its head, `launched`, shows the other threads where its arguments are, takes part as the
first, and waits for all. The others wait for jobs in compiled code: they never come back to Python, nor need its lock.
"""

import _thread
import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.ufunc import parallel

from gasla.cpu.atomics import call, compare_and_swap, fetch_add, load, pause, store, words_at
from gasla.cpu.modules import compiled

# A control array is int64; these slots are a cache line (8 words) apart so that threads do not disturb each other.
ARRIVED, GENERATION, STOP, TICKET, PROGRESS = 0, 8, 16, 24, 32
CREW = STOP + 1  # where the addresses of the workers' letters are
TIMER = STOP + 2  # where the timer is
CROWD = STOP + 3  # where it says how many workers there are, and how many of them sleep
CONTROL_SIZE = 64

# So are a worker's letters: a job; whether it sleeps; on which lock and core, and how many cores there are; which cores
# it may run on, and the one to sleep on, as sets of bits.
JOB, PART, ARGUMENTS, THREAD, THREADS = range(5)
ASLEEP, LOCK, PLACE, CORE, CORES, SELF, SLEEPERS, ALL, OWN = 8, 16, 17, 18, 19, 20, 21, 32, 48
LETTERS, SET = 64, 16
NONE, GIVEN, BEGUN = 0, 1, 2  # of a job

IS_ON, SPENT, CLOCK = 0, 1, 2  # of the timer: whether to measure launches, their nanoseconds so far; room for a time

TOGETHER, LOOSELY = -1, -2  # called so, in place of a thread's number, a kernel is launched

SLEEPING, HIRED = 0, 1  # of the crowd: how many workers sleep, and how many there are

MOST = 64 * SET  # threads
AWAKE = 12_000  # pauses of some 25 ns for which a worker looks for its next job before it sleeps: to wake it takes long
SHORT = 1 << 26  # vertices and edges up to which the caller takes part in a run: above it Ctrl-C may be tried
ALONE = 1 << 17  # edges that a run may look at before others are woken to help: that takes 0.1 to 0.3 ms

_give_way = types.ExternalFunction("SwitchToThread" if os.name == "nt" else "sched_yield", types.int32())
_get_num_threads = types.ExternalFunction("get_num_threads", types.int32())
# Python's own locks, which need not hold its global one.
_acquire = types.ExternalFunction("PyThread_acquire_lock", types.int32(types.intp, types.int32))
_release = types.ExternalFunction("PyThread_release_lock", types.void(types.intp))
_new_lock = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyThread_allocate_lock", ctypes.pythonapi))
_take = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)(("PyThread_acquire_lock", ctypes.pythonapi))
_crew = np.zeros(MOST, np.int64)  # addresses of all workers' letters
_timer = np.zeros(4, np.int64)
_crowd = np.zeros(2, np.int64)
_workers: "list[_Worker]" = []
# Who has the threads, as "owner". Who has them gives them back in two lines that call nothing: Python looks for Ctrl-C
# as a function begins and after calls, and it may come at any time.
busy: dict[str, object] = {}


def num_threads() -> int:
    """The number of threads that kernels use: Numba's setting (`numba.set_num_threads`, `NUMBA_NUM_THREADS`)."""
    global _is_numba_ready
    if not _is_numba_ready:
        parallel.get_num_threads()  # has Numba start its threads, who know that number
        _is_numba_ready = True
    return _set_number()


_is_numba_ready = False


helper = compiled(error_model="numpy", nogil=True, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)


@helper
def wanted_threads() -> int:  # pragma: no cover - compiled
    """That number, once Numba has started its threads."""
    return min(_get_num_threads(), MOST)


@helper
def are_awake(crowd: np.ndarray, wanted: int) -> bool:  # pragma: no cover - compiled
    """Whether so many threads, with this one, need not be woken."""
    return crowd[HIRED] + 1 - load(crowd, SLEEPING) >= wanted


@compiled(error_model="numpy", _nrt=False, no_cfunc_wrapper=True)
def _set_number() -> int:  # pragma: no cover - compiled
    """That number, without the locks that Numba's own function takes: Ctrl-C may leave one taken for good."""
    return wanted_threads()


def new_control() -> np.ndarray:
    """The words that the threads of one run share: barrier, stop flag, work tickets, progress."""
    return _NEW_CONTROL.copy()


_NEW_CONTROL = np.zeros(CONTROL_SIZE, np.int64)
_NEW_CONTROL[CREW], _NEW_CONTROL[TIMER] = _crew.ctypes.data, _timer.ctypes.data
_NEW_CONTROL[CROWD] = _crowd.ctypes.data


@helper
def _while_it_is(words: np.ndarray, slot: int, value: int) -> None:  # pragma: no cover - compiled
    """Wait until a word changes."""
    spins = 0
    while load(words, slot) == value:
        spins += 1
        if spins < 4000:
            pause()
        else:  # somebody else needs this core: a spinning thread would only be in the way
            _give_way()


@helper
def barrier(control: np.ndarray, threads: int) -> None:  # pragma: no cover - compiled
    """Wait until every thread is here; what each wrote before, all see after."""
    if threads == 1:
        return
    generation = load(control, GENERATION)
    if fetch_add(control, ARRIVED, 1) == threads - 1:
        control[ARRIVED] = 0
        store(control, GENERATION, generation + 1)
    else:
        _while_it_is(control, GENERATION, generation)


# --- a launch --------------------------------------------------------------------------------------------------------


def launching(run: Any) -> Any:
    """The head of kernels of which `run`, compiled, has all threads do their parts; see `launched`."""

    @intrinsic
    def launched(typing_context: Any, thread: Any, threads: Any, control: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            thread, threads, control = arguments
            is_launch = builder.icmp_signed("<", thread, thread.type(0))
            with builder.if_then(is_launch, likely=False):
                given = context.call_conv.get_arguments(builder.function)
                word = context.get_value_type(types.intp)
                size = sum(context.get_abi_sizeof(value.type) for value in given) // 8 + 1
                pack = cgutils.alloca_once_value(builder, cgutils.pack_struct(builder, [word(size), *given]))
                addresses = [builder.ptrtoint(p, word) for p in (_part(context, builder, pack.type), pack)]
                kind = typing_context.resolve_value_type(run)
                called = kind.get_call_type(typing_context, (types.intp,) * 2 + signature.args, {})
                context.get_function(kind, called)(builder, [*addresses, thread, threads, control])
            return is_launch

        return types.boolean(types.intp, types.intp, control), generate

    return launched


def _part(context: Any, builder: Any, pack: Any) -> Any:
    """A function of a thread's number and an address: it calls the kernel at hand with what lies there.

    That is the number of words there, and as many but one: what the kernel was passed, a thread's number first.
    """
    import llvmlite.ir as ir

    kernel = builder.function
    word = context.get_value_type(types.intp)
    kind = ir.FunctionType(ir.VoidType(), [word, word])
    part = ir.Function(builder.module, kind, kernel.name + ".part")
    part.linkage = "internal"
    part.attributes.add("noinline")
    inner = ir.IRBuilder(part.append_basic_block())
    thread, place = part.args
    given = cgutils.unpack_tuple(inner, inner.load(inner.inttoptr(place, pack)))
    results = [inner.alloca(a.type.pointee) for a in kernel.args[:2]]
    inner.call(kernel, [*results, thread, *given[2:]])
    inner.ret_void()
    return part


if os.name == "posix":
    _clock_gettime = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.intp))
    _CLOCK = time.CLOCK_MONOTONIC

    @helper
    def _read(address: int) -> int:  # pragma: no cover - compiled
        """What the clock says, in nanoseconds; there is room for it in the timer at an address."""
        _clock_gettime(_CLOCK, address + 8 * CLOCK)
        timer = words_at(address, 4)
        return load(timer, CLOCK) * 1_000_000_000 + load(timer, CLOCK + 1)

else:

    @helper
    def _read(address: int) -> int:  # pragma: no cover - compiled
        """Nobody can say."""
        return 0


if os.name == "posix" and hasattr(ctypes.CDLL(None), "sched_getcpu"):
    _this_core = types.ExternalFunction("sched_getcpu", types.int32())

else:

    @helper
    def _this_core() -> int:  # pragma: no cover - compiled
        """Nobody can say."""
        return -1


@helper
def run(part: int, arguments: int, way: int, threads: int, control: np.ndarray) -> None:  # pragma: no cover - compiled
    """Have all threads call `part`, this one as the first. Loosely, nobody waits for who has not begun."""
    crew, timer = words_at(control[CREW], threads), words_at(control[TIMER], 4)
    left_out, thread = _slowest(crew, threads) if threads > 1 else 0, 0
    for i in range(threads):
        if i != left_out:
            thread += 1
            letters = words_at(crew[i], LETTERS)
            letters[PART], letters[ARGUMENTS], letters[THREAD], letters[THREADS] = part, arguments, thread, threads
            fetch_add(letters, JOB, GIVEN)
            if compare_and_swap(letters, ASLEEP, 1, 0):
                fetch_add(words_at(control[CROWD], 2), SLEEPING, -1)
                _release(letters[LOCK])
    is_timed = timer[IS_ON] != 0
    began = _read(control[TIMER]) if is_timed else 0
    call(part, 0, arguments)
    for i in range(threads):
        if i != left_out:
            letters = words_at(crew[i], LETTERS)
            if way != LOOSELY or not compare_and_swap(letters, JOB, GIVEN, NONE):
                _while_it_is(letters, JOB, GIVEN)
                _while_it_is(letters, JOB, BEGUN)
    if is_timed:
        timer[SPENT] += _read(control[TIMER]) - began


@helper
def _slowest(crew: np.ndarray, count: int) -> int:  # pragma: no cover - compiled
    """Who of the crew would be the last to begin: one that sleeps, and best on this core."""
    core, slowest, most = np.int64(_this_core()), count - 1, 0
    for i in range(count):
        letters = words_at(crew[i], LETTERS)
        rank = load(letters, ASLEEP) * (1 + (letters[CORE] == core))
        if rank >= most:
            slowest, most = i, rank
    return slowest


launched = launching(run)
"""The head of a kernel, which leaves if this is true: it was called to be launched, and all have done their parts.

What the kernel was passed is put aside as it is; a function beside it calls it again with that, but for the thread.
"""


@contextmanager
def timed() -> Iterator[Callable[[], int]]:
    """Have launches add up the nanoseconds that their kernels take, from where all are called; gives who tells."""
    _timer[IS_ON] = 1
    try:
        yield lambda: int(_timer[SPENT])
    finally:
        _timer[IS_ON] = 0


# --- who does it -----------------------------------------------------------------------------------------------------

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


@compiled(error_model="numpy", nogil=True, _nrt=False, no_cfunc_wrapper=True)
def _serve(letters: np.ndarray) -> None:  # pragma: no cover - compiled
    """Do jobs for ever: awake for a while after one, as one call often follows another."""
    awake, crowd = 0, words_at(letters[SLEEPERS], 2)
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
                _acquire(letters[LOCK], 1)
            else:
                fetch_add(crowd, SLEEPING, -1)
            if settled:
                _leave(letters)
        awake = 0
        if compare_and_swap(letters, JOB, GIVEN, BEGUN):
            call(letters[PART], letters[THREAD], letters[ARGUMENTS])
            awake = AWAKE if letters[THREADS] <= letters[CORES] else 0
            store(letters, JOB, NONE)  # from here on the letters may hold the next job


@cache
def _cores() -> int:
    """How many cores there are to run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Worker:
    """One thread that waits for jobs.

    It sleeps on a core of its own, and may wander once it is awake: the system would wake two threads on one core now
    and then, and take milliseconds to notice, while one waits for the other.
    """

    def __init__(self, place: int) -> None:
        # Nobody else's: if Ctrl-C comes before this one is noted, there will be another in its place.
        self.letters = letters = np.zeros(LETTERS, np.int64)
        _serve(letters)  # returns, for want of a lock: compiled before anybody waits for it
        letters[PLACE], letters[CORE], letters[CORES] = place, -1, _cores()
        letters[SELF] = self.address = letters.ctypes.data
        letters[SLEEPERS] = _crowd.ctypes.data
        letters[LOCK] = lock = _new_lock()
        _take(lock, 1)
        threading.Thread(target=_serve, args=(letters,), name="gasla", daemon=True).start()


def hold(owner: object) -> bool:
    """Take the threads, if nobody has them.

    In one step that also says for whom: Ctrl-C may come before the caller has noted that it has them.
    """
    return busy.setdefault("owner", owner) is owner


def are_held(owner: object) -> bool:
    """Whether this one has them."""
    return busy.get("owner") is owner


def are_ready(wanted: int) -> bool:
    """`are_awake`, called by Python."""
    return _crowd.item(HIRED) + 1 - _crowd.item(SLEEPING) >= wanted


def run_parallel(
    kernel: Callable[..., Any],
    control: np.ndarray,
    args: Sequence[Any],
    threads: int,
    watch: Callable[[], None] | None = None,
    held: bool = False,
    short: bool = False,
    loose: bool = False,
) -> None:
    """Call `kernel(thread, threads, control, *args)` on `threads` threads that run at the same time.

    `kernel` is a Numba function compiled with `nogil=True` that begins with `launched`. While another run holds the
    threads, it is called with `threads=1`; `held` says that the caller does (`hold`). With one thread and nobody
    watching it is called here. `watch()` is called ten times a second meanwhile. Ctrl-C sets the stop flag, waits for
    the kernel to leave, and is then raised.

    In a `short` run this thread is one of them: it begins at once, and hears Ctrl-C afterwards. With `loose` the kernel
    has neither barriers nor shares fixed ahead, so that whoever is not awake by the end need not come.
    """
    owner = object()
    try:
        if threads > 1 and not (held or hold(owner)):
            threads = 1
        if threads > 1 and _crowd.item(HIRED) < threads:
            _hire(threads)
        if short or (threads == 1 and watch is None):
            kernel(LOOSELY if loose else TOGETHER, threads, control, *args)
        else:
            _elsewhere(lambda: kernel(TOGETHER, threads, control, *args), control, watch)
    finally:
        if "owner" in busy and busy["owner"] is owner:
            del busy["owner"]


def _hire(threads: int) -> None:
    """Have one worker more than work at once, so that nobody need be woken on the caller's core.

    Ctrl-C may come between any two lines: `_crew` names all of `_workers` at any time.
    """
    while len(_workers) < threads:
        worker = _Worker(len(_workers))
        _crew[len(_workers)] = worker.address
        _workers.append(worker)
    _crowd[HIRED] = len(_workers)


def _elsewhere(launch: Callable[[], None], control: np.ndarray, watch: Callable[[], None] | None) -> None:
    """Have a thread of its own launch a kernel, while this one watches, and hears Ctrl-C."""
    waiting, results, bell = [launch], list[BaseException | None](), threading.Lock()

    def begin() -> None:
        try:
            waiting.pop()()
            results.append(None)
        except BaseException as error:  # handed to the thread that waits
            results.append(error)
        bell.release()

    def wait(seconds: float) -> None:
        if not results and bell.acquire(timeout=seconds):
            bell.release()

    bell.acquire()
    try:
        _thread.start_new_thread(begin, ())
        while not results:
            wait(-1 if watch is None else 0.1)
            if watch is not None and not results:
                watch()
    except BaseException:  # Ctrl-C, likely
        control[STOP] = 1
        with suppress(IndexError):  # else it has begun
            waiting.pop()
            raise
        while not results:
            with suppress(BaseException):  # Ctrl-C again
                wait(-1)
        raise
    if results[0] is not None:
        raise results[0]


def _forget() -> None:
    """After a fork the child has none of its parent's threads."""
    global _workers
    _workers = []
    busy.clear()
    _crowd[:] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
