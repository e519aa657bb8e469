"""Run one kernel on several operating-system threads at once, with a barrier between them.

A program's whole loop is one kernel that every thread runs from start to finish: a barrier costs well under a
microsecond, where starting a parallel region for each of thousands of thin levels would cost far more. That needs
threads that run at the same time.

Python calls `run` once, with a kernel and the words of its arguments: it shows the other threads where these are, takes
part as the first, and waits for all. The others wait for jobs in compiled code: they never come back to Python, nor
need its lock.
"""

import _thread
import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from gasla.compiler.emit import Extern
from gasla.compiler.function import Call, Compiled, apart
from gasla.compiler.kernel_types import I32
from gasla.cpu.runtime import cores, workers
from gasla.cpu.runtime.intrinsics import (
    call,
    compare_and_swap,
    fetch_add,
    load,
    pause,
    store,
    this_thread,
    words_at,
)
from gasla.cpu.runtime.workers import (
    APART,
    ARGUMENTS,
    ASLEEP,
    BALANCE,
    BEGUN,
    CORE,
    GIVEN,
    JOB,
    MAILBOX_SIZE,
    MOST,
    NONE,
    PART,
    POOL_SIZE,
    SINCE,
    SLEEPING,
    STARTED,
    THREAD,
    THREADS,
    USABLE,
    helper,
    mailboxes,
    now,
    pool,
    start_workers,
    time_without_core,
    wake,
)

# A control array is int64; these slots are a cache line (8 words) apart so that threads do not disturb each other.
ARRIVED, GENERATION, STOP, TICKET, PROGRESS = 0, 8, 16, 24, 32
MAILBOXES = STOP + 1  # where the addresses of the workers' mailboxes lie
TIMER = STOP + 2  # where the timer is
POOL = STOP + 3  # the address of the pool's words: how many workers there are, how many sleep, how many cores
TEAM = STOP + 4  # how many threads a kernel is launched with
NEXT_THREADS = STOP + 5  # how many of the team call it (again); negative where the run has ended for now
FIRST = STOP + 6  # by what number the system knows the first of them
CONTROL_SIZE = 72

IS_ON, SPENT = 0, 1  # of the timer: whether to measure launches, and their nanoseconds so far

TOGETHER, LOOSELY = -1, -2  # ways of a launch: whether it waits for workers that have not begun

PASSED = 0  # where the number of threads is, among the words that a kernel was passed

SHORT = 1 << 26  # vertices and edges up to which the caller takes part in a run: above it Ctrl-C may be tried
ALONE = 1 << 17  # edges that a run may look at before others are woken to help: that takes 0.1 to 0.3 ms
THIN = 1 << 9  # vertices and edges of an iteration that one thread does sooner than two would meet at barriers
LASTING = 8  # of those in a row, after which it is worth going on alone

# In nanoseconds: time saved is a fraction of that together, and counts up to so much; then one works alone for so many
# times as long as was lost, at most. To try again costs about what was lost: 40 times as long keeps that to a fortieth.
SAVED, MOST_SAVED, AS_LONG, LONGEST = 4, 4_000_000, 40, 1_000_000_000
SPINS = 4000  # of a wait, before the thread sleeps
NAP = 0 if os.name == "nt" else 50  # it sleeps for so many microseconds; on Windows it could only for milliseconds

_nap = Extern("Sleep" if os.name == "nt" else "usleep", I32, (I32,))
_timer = np.zeros(2, np.int64)
# The lock of the run that took the threads last: it has them as long as that is locked. `with turn:` locks and unlocks
# in C. Ctrl-C, which comes where a function of Python begins or a call ends, can't leave the threads taken.
_holder = [threading.Lock()]
_changing = threading.Lock()


def set_num_threads(count: int) -> None:
    """
    Have the CPU's kernels use at most so many threads, from the next run on.

    Parameters
    ----------
    count : int
        From 1 to 1024. No more are used than there are cores for this process.

    Raises
    ------
    ValueError
        If `count` is out of range.

    Examples
    --------
    >>> import gasla
    >>> gasla.set_num_threads(1)
    >>> gasla.get_num_threads()
    1
    >>> gasla.set_num_threads(1024)
    """
    if not 1 <= count <= MOST:
        raise ValueError(f"{count} threads are asked for; expected 1 to {MOST}")
    _limit[0] = count


def get_num_threads() -> int:
    """
    How many threads the CPU's kernels use: what was set, else `GASLA_NUM_THREADS`, else one for each core.

    Returns
    -------
    int
        At least 1, and at most the number of cores that this process may use.

    Examples
    --------
    >>> import gasla
    >>> gasla.get_num_threads() >= 1
    True
    """
    return min(_limit[0], cores.usable())


def _limit_at_start() -> int:
    text = os.environ.get("GASLA_NUM_THREADS", "")
    if not text:
        return MOST
    if not text.isdigit() or not 1 <= int(text) <= MOST:
        raise ValueError(f"GASLA_NUM_THREADS is {text!r}; expected a number from 1 to {MOST}")
    return int(text)


_limit = [_limit_at_start()]


def num_threads() -> int:
    """The number of threads that kernels use: `get_num_threads`, but no more than there are cores for.

    Where more threads run than cores, they wait for each other for milliseconds at every barrier.
    """
    pool[USABLE] = cores.usable()
    return number_now()


@helper
def are_awake(pool: np.ndarray, wanted: int) -> bool:  # pragma: no cover - compiled
    """Whether so many threads, with this one, need not be woken."""
    return pool[STARTED] + 1 - load(pool, SLEEPING) >= wanted


def number_now() -> int:
    """`num_threads()`, if as many cores can be used as when they were last counted."""
    return min(_limit[0], pool.item(USABLE))


def new_control() -> np.ndarray:
    """The words that the threads of one run share: barrier, stop flag, work tickets, progress."""
    return _NEW_CONTROL.copy()


_NEW_CONTROL = np.zeros(CONTROL_SIZE, np.int64)
_NEW_CONTROL[MAILBOXES], _NEW_CONTROL[TIMER] = mailboxes.ctypes.data, _timer.ctypes.data
_NEW_CONTROL[POOL] = pool.ctypes.data


@helper
def stand_by(times: int) -> None:  # pragma: no cover - compiled
    """Wait a little, in a loop, for what another thread does; `times` counts the turns of the loop so far.

    A thread that has waited for long sleeps for a moment, which gives its core to another: likely the one that it waits
    for has none. It doesn't yield, as it would then wait for another process's whole slice, of milliseconds.
    """
    if times < SPINS:
        pause()
    else:
        _nap(NAP)


@helper
def _while_it_is(words: np.ndarray, slot: int, value: int, control: np.ndarray) -> None:  # pragma: no cover - compiled
    """Wait until a word changes.

    If the first thread waits for long for one that has no core, it had better work alone for a while. (Waiting for the
    first costs nothing against that.)
    """
    times = 0
    while load(words, slot) == value and times < SPINS:
        stand_by(times)
        times += 1
    if times < SPINS:
        return
    is_first, mailboxes = np.int64(this_thread()) == control[FIRST], words_at(control[MAILBOXES], control[TEAM])
    since = time_without_core(mailboxes, 0) if is_first else 0
    while load(words, slot) == value:
        stand_by(times)
        times += 1
    if is_first:
        _count(words_at(control[POOL], POOL_SIZE), time_without_core(mailboxes, since))


@helper
def _count(pool: np.ndarray, lost: int) -> None:  # pragma: no cover - compiled
    """Note that the first thread has worked with others, and lost so much time waiting for one without a core.

    Where more is lost than others have saved, it then works alone for many times as long.
    """
    time = now()
    balance = pool[BALANCE] + (time - pool[SINCE]) // SAVED - max(lost, 0)
    if balance < 0:
        pool[APART] = time + min(-AS_LONG * balance, LONGEST)
    pool[BALANCE], pool[SINCE] = min(max(balance, 0), MOST_SAVED), time


@helper
def time_apart(control: np.ndarray) -> int:  # pragma: no cover - compiled
    """For how many nanoseconds it is still better to work alone, because threads had to wait for one without a core."""
    pool = words_at(control[POOL], POOL_SIZE)
    until = load(pool, APART)
    if until == 0:
        return 0
    left = until - now()
    if left <= 0:
        pool[APART] = 0
    return max(left, 0)


@apart
def barrier(control: np.ndarray, threads: int) -> None:  # pragma: no cover - compiled
    """Wait until every thread is here; what each wrote before, all see after."""
    if threads == 1:
        return
    generation = load(control, GENERATION)
    if fetch_add(control, ARRIVED, 1) == threads - 1:
        control[ARRIVED] = 0
        store(control, GENERATION, generation + 1)
    else:
        _while_it_is(control, GENERATION, generation, control)


# --- a launch --------------------------------------------------------------------------------------------------------


if os.name == "posix" and hasattr(ctypes.CDLL(None), "sched_getcpu"):
    _this_core = Extern("sched_getcpu", I32)

else:

    @helper
    def _this_core() -> int:  # pragma: no cover - compiled
        """The system does not tell."""
        return -1


@helper
def run(part: int, arguments: int, way: int, threads: int, control: np.ndarray) -> None:  # pragma: no cover - compiled
    """Have all threads call `part`, this one as the first. Loosely, it waits for no worker that has not begun.

    By `control[NEXT_THREADS]` a kernel has fewer threads call it at first, or some or all of them call it again.
    """
    control[TEAM], control[FIRST] = threads, np.int64(this_thread())
    given, count = words_at(arguments, PASSED + 1), abs(control[NEXT_THREADS])
    count = min(count, threads) if count > 0 else threads
    while count > 0:
        given[PASSED], control[NEXT_THREADS] = count, 0
        _run_once(part, arguments, way, count, control)
        count = control[NEXT_THREADS]


@helper
def _run_once(
    part: int, arguments: int, way: int, threads: int, control: np.ndarray
) -> None:  # pragma: no cover - compiled
    """Have so many threads call `part`."""
    mailboxes, timer = words_at(control[MAILBOXES], threads), words_at(control[TIMER], 2)
    left_out, thread = _slowest(mailboxes, threads) if threads > 1 else 0, 0
    for i in range(threads):
        if i != left_out:
            thread += 1
            mailbox = words_at(mailboxes[i], MAILBOX_SIZE)
            mailbox[PART], mailbox[ARGUMENTS], mailbox[THREAD], mailbox[THREADS] = part, arguments, thread, threads
            fetch_add(mailbox, JOB, GIVEN)
            wake(mailbox)
    is_timed, pool = timer[IS_ON] != 0, words_at(control[POOL], POOL_SIZE)
    began = now() if is_timed or threads > 1 else 0
    if threads > 1:
        pool[SINCE] = began
    call(part, 0, arguments)
    for i in range(threads):
        if i != left_out:
            mailbox = words_at(mailboxes[i], MAILBOX_SIZE)
            if way != LOOSELY or not compare_and_swap(mailbox, JOB, GIVEN, NONE):
                _while_it_is(mailbox, JOB, GIVEN, control)
                _while_it_is(mailbox, JOB, BEGUN, control)
    ended = now() if is_timed or threads > 1 else 0
    timer[SPENT] += ended - began if is_timed else 0
    if threads > 1:
        _count(pool, 0)


@helper
def _slowest(mailboxes: np.ndarray, count: int) -> int:  # pragma: no cover - compiled
    """The worker that would be the last to begin: one that sleeps, preferably on this core."""
    core, slowest, most = np.int64(_this_core()), count - 1, 0
    for i in range(count):
        mailbox = words_at(mailboxes[i], MAILBOX_SIZE)
        rank = load(mailbox, ASLEEP) * (1 + (mailbox[CORE] == core))
        if rank >= most:
            slowest, most = i, rank
    return slowest


@apart
def wake_all(control: np.ndarray, threads: int) -> None:  # pragma: no cover - compiled
    """Have so many workers look for jobs for a while; the caller goes on meanwhile, and will have some for them."""
    mailboxes = words_at(control[MAILBOXES], threads)
    left_out = _slowest(mailboxes, threads)
    for i in range(threads):
        if i != left_out:
            wake(words_at(mailboxes[i], MAILBOX_SIZE))


@contextmanager
def time_kernels() -> Iterator[Callable[[], int]]:
    """Have launches add up the nanoseconds that their kernels take; gives the function that tells these."""
    _timer[IS_ON] = 1
    try:
        yield lambda: int(_timer[SPENT])
    finally:
        _timer[IS_ON] = 0


def hold(turn: threading.Lock) -> bool:
    """Take the threads until this lock is released, which the caller has acquired; False if others have them."""
    with _changing:
        if _holder[0] is not turn:
            if are_taken():
                return False
            _holder[0] = turn
        return True


def are_taken() -> bool:
    """Whether anybody has them."""
    return _holder[0].locked()


def are_ready(wanted: int) -> bool:
    """`are_awake`, called by Python."""
    return pool.item(STARTED) + 1 - pool.item(SLEEPING) >= wanted


def run_parallel(
    kernel: Compiled,
    control: np.ndarray,
    args: Sequence[Any],
    threads: int,
    watch: Callable[[], None] | None = None,
    short: bool = False,
    loose: bool = False,
) -> None:
    """`launch` a kernel, once, with one thread while others have the threads."""
    turn = threading.Lock()
    with turn:
        launch(kernel, control, args, threads if threads == 1 or hold(turn) else 1, watch, short, loose)


def launch(
    kernel: Compiled | Call,
    control: np.ndarray,
    args: Sequence[Any],
    threads: int,
    watch: Callable[[], None] | None = None,
    short: bool = False,
    loose: bool = False,
    by: Any = run,
) -> None:
    """Call `kernel(thread, threads, control, *args)` on `threads` threads that run at the same time.

    `kernel` is a compiled function, or its `Call`; `by` is what runs it. If it is for several threads, the caller has
    them (`hold`). `watch()` is called ten times a second meanwhile. Ctrl-C sets the stop flag, waits for
    the kernel to leave, and is then raised.

    A `short` run has a bound of some tenths of a second: this thread is one of those, begins at once, and hears Ctrl-C
    afterwards. With `loose` the kernel has neither barriers nor shares fixed ahead, so that a thread not awake by the
    end need not come.
    """
    if threads > 1 and pool.item(STARTED) < threads:
        start_workers(threads)
    call = kernel if isinstance(kernel, Call) else kernel.lend()
    call.set([0, threads, control, *args])
    whole = call.launcher(by).set([call.kernel.address, call.address, LOOSELY if loose else TOGETHER, threads, control])
    if short:
        whole()
    else:
        _elsewhere(whole, control, watch)
    if not isinstance(kernel, Call):
        kernel.take_back(call)


def _elsewhere(run: Callable[[], None], control: np.ndarray, watch: Callable[[], None] | None) -> None:
    """Have a thread of its own launch a kernel, while this one watches, and hears Ctrl-C."""
    waiting, results, bell = [run], list[BaseException | None](), threading.Lock()

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
    global _changing
    _holder[0], _changing = threading.Lock(), threading.Lock()
    workers.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
