"""Runs one kernel on several operating-system threads at once, which meet at barriers.

The whole loop of a program is one kernel, which every thread runs from start to finish. A barrier takes well under a
microsecond, whereas starting a parallel region for each of thousands of small iterations would take far longer. All
threads have to run at the same time, since they wait for each other.

Python calls `run` once, with a kernel and the words of its arguments. `run` gives their addresses to the other threads,
runs the kernel as the first thread, and waits for all threads. The other threads wait for jobs in compiled code: they
never return to Python, and never need its global lock.
"""

import _thread
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from gasla.compiler.emit import Extern
from gasla.compiler.function import Call, Compiled, apart
from gasla.compiler.kernel_types import I32
from gasla.compiler.system import has
from gasla.cpu.runtime import cores, workers
from gasla.cpu.runtime.intrinsics import (
    call,
    compare_and_swap_relaxed,
    fetch_add_acq_rel,
    load_acquire,
    load_relaxed,
    now,
    pause,
    store_relaxed,
    store_release,
    this_thread,
    words_at,
)
from gasla.cpu.runtime.workers import (
    APART,
    ARGUMENTS,
    ASLEEP,
    BALANCE,
    BARRIER,
    BEGUN,
    CORE,
    GIVEN,
    JOB,
    LINE,
    MAILBOX_SIZE,
    MEASURED,
    MOST,
    NONE,
    PART,
    POOL_SIZE,
    PROBE,
    PROBE_ARGUMENTS,
    PROBE_CONTROL,
    SINCE,
    SLEEPING,
    STARTED,
    THREAD,
    THREADS,
    USABLE,
    helper,
    mailboxes,
    pool,
    start_workers,
    time_without_core,
    wake,
)
from gasla.log import LOG

# Indices of int64 words in the control array of a run. Words that different threads write are 8 words apart, so that
# each word has a cache line of its own and threads do not slow each other down (false sharing).
ARRIVED, GENERATION, STOP, TICKET, PROGRESS = 0, 8, 16, 24, 32
MAILBOXES = STOP + 1  # index of the control word with the address of the array `mailboxes`
TIMER = STOP + 2  # index of the control word with the address of the array `_timer`
POOL = STOP + 3  # index of the control word with the address of the array `pool`
TEAM = STOP + 4  # index of the control word with the number of threads that the run may use
# index of the control word that says how many threads call the kernel next; 0 or a negative number ends the run, and a
# later run begins with its absolute value
NEXT_THREADS = STOP + 5
# index of the control word with the system's identifier of the thread that started the run, called its first thread
FIRST = STOP + 6
CONTROL_SIZE = 72

IS_ON, SPENT = 0, 1  # indices into the timer: whether runs are timed, and the sum of their times in nanoseconds

# modes of a launch: it waits for all workers, or only for the workers that have begun the job
TOGETHER, LOOSELY = -1, -2

PASSED = 0  # index of the argument `threads` (the number of threads) among a kernel's argument words

# if a run has at most this many vertices and edges, the calling thread takes part in it, so Ctrl-C only works
# afterwards
SHORT = 1 << 26
# number of vertices and edges that one thread processes before it wakes others, because waking takes 0.1 to 0.3 ms
ALONE = 1 << 17
LASTING = 8  # after this many iterations in a row with little work (less than `thin` says), one thread goes on alone

# What it costs threads to share cache lines is measured again after FRESH nanoseconds, as a hypervisor may move a core
# at any time: two cores may then share one cache, or be in two sockets. The fastest of ROUNDS measurements, each of
# TRIPS exchanges, counts, because other processes may take a core meanwhile.
FRESH, ROUNDS, TRIPS = 50_000_000, 8, 4
# Reading an edge takes about 8 ns on one thread. When two threads push, each waits for a cache line at every tenth
# edge, or more often if the graph has fewer than SPARSELY edges. So a second thread may not pay off if moving a cache
# line takes PER_LINE nanoseconds.
PER_LINE, SPARSELY = 80, 1 << 22

# The time that several threads save is estimated as 1 / SAVED of the time that they work together, and saved up to
# MOST_SAVED nanoseconds. If more time is lost waiting for a thread without a core, one thread works alone for AS_LONG
# times the loss, at most LONGEST nanoseconds. The next attempt loses about as much again, so the loss stays below
# 1 / AS_LONG of the time.
SAVED, MOST_SAVED, AS_LONG, LONGEST = 4, 4_000_000, 40, 1_000_000_000
# number of times that a waiting thread tests whether its wait is over before it begins to sleep between two tests
SPINS = 4000
# microseconds that a waiting thread sleeps between two tests; 0 on Windows, which can only sleep for milliseconds
NAP = 50 if has("usleep") else 0

_nap = Extern("usleep" if has("usleep") else "Sleep", I32, (I32,))
_timer = np.zeros(2, np.int64)
# The lock of the run that last used the worker threads. The run keeps the workers for as long as its lock is locked.
# Runs lock with `with turn:`, which works in C, so that Ctrl-C, which interrupts only Python code, cannot leave the
# lock locked.
_holder = [threading.Lock()]
# objects that are kept alive here because the pool holds only their addresses, which the probe (`_probe`) uses
_probe_parts: list[Any] = []
# a reentrant lock, because a signal handler or a finalizer may interrupt its holder and need threads itself
_changing = threading.RLock()


def set_num_threads(count: int) -> None:
    """
    Set the largest number of threads that the CPU's kernels use, from the next run on.

    Parameters
    ----------
    count : int
        From 1 to 1024. Kernels never use more threads than this process has cores.

    Raises
    ------
    TypeError, ValueError
        If `count` is not a whole number, or out of range.

    Examples
    --------
    >>> import gasla
    >>> gasla.set_num_threads(1)
    >>> gasla.get_num_threads()
    1
    >>> gasla.set_num_threads(1024)
    """
    if not isinstance(count, int | np.integer) or isinstance(count, bool):
        raise TypeError(f"count is {count!r}; expected a whole number of threads, from 1 to {MOST}")
    count = int(count)
    if not 1 <= count <= MOST:
        raise ValueError(f"count is {count}; expected 1 to {MOST} threads")
    _limit[0], workers.most_started[0] = count, MOST
    _log_missing_cores(count)


def get_num_threads() -> int:
    """
    Return the number of threads that the CPU's kernels use.

    It is the number given to `set_num_threads`, else the environment variable ``GASLA_NUM_THREADS``, else one for each
    core.

    Returns
    -------
    int
        At least 1, and at most the number of cores that this process may use. If memory or a limit of the system did
        not allow as many threads, the number of those that could be started.

    Examples
    --------
    >>> import gasla
    >>> gasla.get_num_threads() >= 1
    True
    """
    return min(_limit[0], cores.usable(), workers.most_started[0])


def _limit_at_start() -> int:
    text = os.environ.get("GASLA_NUM_THREADS", "")
    if not text:
        return MOST
    if not text.isdigit() or not 1 <= int(text) <= MOST:
        raise ValueError(f"GASLA_NUM_THREADS is {text!r}; expected a number from 1 to {MOST}")
    _log_missing_cores(int(text))
    return int(text)


def _log_missing_cores(wanted: int) -> None:
    """Log that runs use fewer threads than the user asked for, because the process may use fewer cores.

    The number `MOST` stands for as many threads as there are cores, so nothing is logged for it.
    """
    if (core_count := cores.usable()) < wanted < MOST:
        LOG.info(
            "%d threads are asked for; runs use %d, one for each core that the process may use", wanted, core_count
        )


_limit = [_limit_at_start()]


def num_threads() -> int:
    """Return the same as `get_num_threads`, and store the present number of usable cores in the pool.

    If more threads run than there are cores, threads wait for each other for milliseconds at every barrier.
    """
    pool[USABLE] = min(cores.usable(), workers.most_started[0])
    return number_now()


@helper
def are_awake(pool: np.ndarray, wanted: int) -> bool:  # pragma: no cover - compiled
    """Return whether at least `wanted` threads of the pool are awake, counting the calling thread."""
    return pool[STARTED] + 1 - load_relaxed(pool, SLEEPING) >= wanted


def number_now() -> int:
    """Return the number of threads that runs use, by the count of cores that `num_threads` has stored last."""
    return min(_limit[0], pool.item(USABLE))


def new_control() -> np.ndarray:
    """Return a new control array, which the threads of a run share: barrier, stop flag, tickets of blocks, progress."""
    return _NEW_CONTROL.copy()


_NEW_CONTROL = np.zeros(CONTROL_SIZE, np.int64)
_NEW_CONTROL[MAILBOXES], _NEW_CONTROL[TIMER] = mailboxes.ctypes.data, _timer.ctypes.data
_NEW_CONTROL[POOL] = pool.ctypes.data


@helper
def stand_by(times: int) -> None:  # pragma: no cover - compiled
    """Do one step of waiting for another thread of a run: pause or sleep.

    `times` is the number of steps that were done before. The first SPINS steps pause for some nanoseconds. Later ones
    sleep for NAP microseconds, as the other thread probably has no core. The thread does not yield its core instead: it
    would then wait for the whole time slice of another process, which takes milliseconds.
    """
    if times < SPINS:
        pause()
    else:
        _nap(NAP)


@helper
def _while_it_is(words: np.ndarray, slot: int, value: int, control: np.ndarray) -> None:  # pragma: no cover - compiled
    """Wait for as long as the word at index `slot` of the array `words` is equal to `value`, until another thread
    changes it.

    If the first thread of a run waits long, for a thread without a core, the lost time is recorded, and the first
    thread may work alone for a while. Other threads record nothing: waiting for the first thread is never slower than
    running on it alone.
    """
    times = 0
    while load_acquire(words, slot) == value and times < SPINS:
        stand_by(times)
        times += 1
    if times < SPINS:
        return
    is_first, mailboxes = np.int64(this_thread()) == control[FIRST], words_at(control[MAILBOXES], control[TEAM])
    since = time_without_core(mailboxes, 0) if is_first else 0
    while load_acquire(words, slot) == value:
        stand_by(times)
        times += 1
    if is_first:
        _update_balance(words_at(control[POOL], POOL_SIZE), time_without_core(mailboxes, since))


@helper
def _update_balance(pool: np.ndarray, lost: int) -> None:  # pragma: no cover - compiled
    """Update the first thread's balance of time: what it saved by working with other threads, less what it lost.

    `lost` is the time in nanoseconds that it has just lost by waiting for a thread without a core. If more time was
    lost than saved, the first thread works alone for many times as long.
    """
    time = now()
    balance = pool[BALANCE] + (time - pool[SINCE]) // SAVED - max(lost, 0)
    if balance < 0:
        pool[APART] = time + min(-AS_LONG * balance, LONGEST)
    pool[BALANCE], pool[SINCE] = min(max(balance, 0), MOST_SAVED), time


@helper
def time_apart(control: np.ndarray) -> int:  # pragma: no cover - compiled
    """Return for how many more nanoseconds the first thread of runs should work alone.

    The number is 0 unless another thread had no core lately, so that waiting for it took long.
    """
    pool = words_at(control[POOL], POOL_SIZE)
    until = load_relaxed(pool, APART)
    if until == 0:
        return 0
    remaining = until - now()
    if remaining <= 0:
        pool[APART] = 0
    return max(remaining, 0)


@helper
def is_stopped(control: np.ndarray) -> bool:  # pragma: no cover - compiled
    """Return whether the stop flag of the run with the control array `control` is set, by Ctrl-C or by a thread."""
    return load_relaxed(control, STOP) != 0


@helper
def stop_run(control: np.ndarray) -> None:  # pragma: no cover - compiled
    """Set the stop flag of the run with the control array `control`, so that its threads leave the kernel."""
    store_relaxed(control, STOP, 1)


@apart
def barrier(control: np.ndarray, threads: int) -> None:  # pragma: no cover - compiled
    """Wait until every thread of the run has called this function as well.

    Afterwards all threads see all writes from before the barrier.
    """
    if threads == 1:
        return
    generation = load_relaxed(control, GENERATION)
    if fetch_add_acq_rel(control, ARRIVED, 1) == threads - 1:
        store_relaxed(control, ARRIVED, 0)
        store_release(control, GENERATION, generation + 1)
    else:
        _while_it_is(control, GENERATION, generation, control)


# --- measuring what it costs threads to share cache lines and barriers ------------------------------------------------


@apart
def _probe(thread: int, threads: int, control: np.ndarray, word: np.ndarray) -> None:  # pragma: no cover - compiled
    """Measure on two threads how long it takes to move a cache line between their cores, and to pass a barrier.

    The results, in nanoseconds, are stored in the pool, an array that all runs share.
    """
    line = together = np.int64(1) << 62
    barrier(control, threads)
    for turn in range(ROUNDS):
        began = now()
        for trip in range(turn * TRIPS, (turn + 1) * TRIPS):
            _hand_over(word, 2 * trip + thread, thread)
        ended = now()
        line = min(line, (ended - began) // (2 * TRIPS))
        barrier(control, threads)
        began = now()
        for _ in range(TRIPS):
            barrier(control, threads)
        together = min(together, (now() - began) // TRIPS)
    if thread == 0:
        pool = words_at(control[POOL], POOL_SIZE)
        pool[LINE], pool[BARRIER], pool[MEASURED], word[0] = max(line, 1), max(together, 1), now(), 0


@helper
def _hand_over(word: np.ndarray, at: int, thread: int) -> None:  # pragma: no cover - compiled
    """Wait until item 0 of `word`, which two threads share, equals `at`, and increment it.

    The first thread then waits until the other thread has incremented it, too. So the cache line moves to the other
    core and back.
    """
    times = 0
    while load_acquire(word, 0) != at:
        stand_by(times)
        times += 1
    store_release(word, 0, at + 1)
    while thread == 0 and load_acquire(word, 0) != at + 2:
        stand_by(times)
        times += 1


@helper
def measure(pool: np.ndarray) -> None:  # pragma: no cover - compiled
    """Measure what it costs threads to share cache lines and barriers, and store the results in `pool`.

    If this was measured lately, do nothing. The caller has reserved the workers, the threads that measure.
    """
    if pool[PROBE] != 0 and not is_measured(pool):
        control = words_at(pool[PROBE_CONTROL], CONTROL_SIZE)
        control[TEAM], control[FIRST] = 2, np.int64(this_thread())
        _run_once(pool[PROBE], pool[PROBE_ARGUMENTS], TOGETHER, 2, control)


@helper
def is_measured(pool: np.ndarray) -> bool:  # pragma: no cover - compiled
    """Return whether the costs of sharing cache lines and barriers were measured in the last `FRESH` nanoseconds."""
    return pool[MEASURED] != 0 and now() - pool[MEASURED] < FRESH


@helper
def thin(pool: np.ndarray) -> int:  # pragma: no cover - compiled
    """Return the number of vertices and edges below which an iteration is faster on one thread than on several.

    An iteration has some four barriers, and the cache lines of counters and tickets move between cores twice as often.
    An edge that is in a cache takes about a nanosecond.
    """
    return 4 * (pool[BARRIER] + 2 * pool[LINE])


@helper
def is_dear(pool: np.ndarray, threads: int, edges: int) -> bool:  # pragma: no cover - compiled
    """Return whether `threads` threads may lose more time by moving cache lines between cores than sharing work saves.

    This depends on the measured costs in `pool`, and on the number of edges of the graph.
    """
    return pool[LINE] * SPARSELY > PER_LINE * (threads - 1) * min(edges, SPARSELY)


def least_factor(threads: int) -> float:
    """Return a factor, at least 1, by which the smallest amount of work that `threads` threads share is raised.

    It follows from the measured costs of sharing cache lines. If these are high, small runs use one thread.
    """
    if time.perf_counter_ns() - pool.item(MEASURED) > FRESH:
        return 1  # the costs were not measured lately, and the next run measures them
    return max(1, 2 * pool.item(LINE) / (PER_LINE * (threads - 1)))


def _set_up_probe() -> None:
    """Store the address of the compiled function `_probe` in the pool, so that the next run can call it.

    `_probe` measures what it costs threads to share cache lines and barriers.
    """
    control, word = new_control(), np.zeros(48, np.int64)
    # the word gets 128 bytes of its own, two cache lines, because a core fetches two at a time
    word = word[-word.ctypes.data % 128 // 8 :][:32]
    call = Call(_probe).set([0, 2, control, word])
    _probe_parts[:] = [call, control]
    pool[PROBE_ARGUMENTS], pool[PROBE_CONTROL] = call.address, control.ctypes.data
    pool[PROBE] = call.kernel.address


def compile_ahead() -> None:
    """Compile the functions that only runs of several threads need, such as barriers, even on a machine with one core.

    The compiled code is stored, and may serve another machine.
    """
    if not pool.item(PROBE):
        _set_up_probe()
    workers.compile_ahead()


# --- running a kernel on all threads ----------------------------------------------------------------------------------


if has("sched_getcpu"):
    _this_core = Extern("sched_getcpu", I32)

else:

    @helper
    def _this_core() -> int:  # pragma: no cover - compiled
        """Return -1 in place of the number of the core that this thread runs on, because the system has no such
        function.
        """
        return -1


@helper
def run(part: int, arguments: int, way: int, threads: int, control: np.ndarray) -> None:  # pragma: no cover - compiled
    """Call the compiled function `part`, a kernel, on `threads` threads, with the calling thread as the first.

    `arguments` is the address of the kernel's arguments. If `way` is LOOSELY, this does not wait for workers that have
    not begun. By setting `control[NEXT_THREADS]`, a kernel can ask to be called by fewer threads at first, and to be
    called again.
    """
    control[TEAM], control[FIRST] = threads, np.int64(this_thread())
    argument_words, count = words_at(arguments, PASSED + 1), abs(control[NEXT_THREADS])
    count = min(count, threads) if count > 0 else threads
    while count > 0:
        if count > 1:
            measure(words_at(control[POOL], POOL_SIZE))
        argument_words[PASSED], control[NEXT_THREADS] = count, 0
        _run_once(part, arguments, way, count, control)
        count = control[NEXT_THREADS]


@helper
def _run_once(
    part: int, arguments: int, way: int, threads: int, control: np.ndarray
) -> None:  # pragma: no cover - compiled
    """Call the compiled function `part`, a kernel, once on each of `threads` threads, and wait for all.

    `arguments` is the address of the kernel's arguments. If `way` is LOOSELY, workers that have not begun the kernel
    when the calling thread has finished are not waited for, and no longer run it.
    """
    mailboxes, timer = words_at(control[MAILBOXES], threads), words_at(control[TIMER], 2)
    left_out, thread = _slowest_worker(mailboxes, threads) if threads > 1 else 0, 0
    for i in range(threads):
        if i != left_out:
            thread += 1
            mailbox = words_at(mailboxes[i], MAILBOX_SIZE)
            mailbox[PART], mailbox[ARGUMENTS], mailbox[THREAD], mailbox[THREADS] = part, arguments, thread, threads
            fetch_add_acq_rel(mailbox, JOB, GIVEN)
            wake(mailbox)
    is_timed, pool = timer[IS_ON] != 0, words_at(control[POOL], POOL_SIZE)
    began = now() if is_timed or threads > 1 else 0
    if threads > 1:
        pool[SINCE] = began
    call(part, 0, arguments)
    for i in range(threads):
        if i != left_out:
            mailbox = words_at(mailboxes[i], MAILBOX_SIZE)
            if way != LOOSELY or not compare_and_swap_relaxed(mailbox, JOB, GIVEN, NONE):
                _while_it_is(mailbox, JOB, GIVEN, control)
                _while_it_is(mailbox, JOB, BEGUN, control)
    ended = now() if is_timed or threads > 1 else 0
    timer[SPENT] += ended - began if is_timed else 0
    if threads > 1:
        _update_balance(pool, 0)


@helper
def _slowest_worker(mailboxes: np.ndarray, count: int) -> int:  # pragma: no cover - compiled
    """Return the index of the worker thread that would begin a job last, so that a run can leave it out.

    This is a sleeping worker, preferably one that is bound to the core of the calling thread.
    """
    core, slowest, most = np.int64(_this_core()), count - 1, 0
    for i in range(count):
        mailbox = words_at(mailboxes[i], MAILBOX_SIZE)
        rank = load_relaxed(mailbox, ASLEEP) * (1 + (load_relaxed(mailbox, CORE) == core))
        if rank >= most:
            slowest, most = i, rank
    return slowest


@apart
def wake_all(control: np.ndarray, threads: int) -> None:  # pragma: no cover - compiled
    """Wake the workers for a run of `threads` threads, which will soon need them, although it has no job for them yet.

    The caller goes on meanwhile.
    """
    mailboxes = words_at(control[MAILBOXES], threads)
    left_out = _slowest_worker(mailboxes, threads)
    for i in range(threads):
        if i != left_out:
            wake(words_at(mailboxes[i], MAILBOX_SIZE))


@contextmanager
def time_kernels() -> Iterator[Callable[[], int]]:
    """Add up the time of all runs of kernels on the CPU within a `with` block.

    Yield a function that returns the sum in nanoseconds.
    """
    _timer[IS_ON] = 1
    try:
        yield lambda: int(_timer[SPENT])
    finally:
        _timer[IS_ON] = 0


def hold(turn: threading.Lock) -> bool:
    """Reserve the worker threads for the caller until it releases the lock `turn`, which it has acquired before.

    Return False if another run has reserved the workers.
    """
    with _changing:
        if _holder[0] is not turn:
            if are_taken():
                return False
            _holder[0] = turn
        return True


def take(turn: threading.Lock, wanted: int) -> int:
    """Reserve the worker threads for a run of `wanted` threads, and start workers that are missing.

    The caller holds the lock `turn`, and ends the reservation by releasing it. Return the number of threads for the
    run, which is 1 if another run uses the workers.
    """
    if wanted == 1 or not hold(turn):
        return 1
    if not pool.item(PROBE):
        _set_up_probe()
    return wanted if pool.item(STARTED) >= wanted else start_workers(wanted)


def are_taken() -> bool:
    """Return whether a run has reserved the worker threads, so that no other run can use them."""
    return _holder[0].locked()


def run_parallel(
    kernel: Compiled | Call,
    control: np.ndarray,
    args: Sequence[Any],
    threads: int,
    watch: Callable[[], None] | None = None,
    short: bool = False,
    loose: bool = False,
) -> None:
    """Call a kernel on `threads` threads as `launch` does, or on one if another run uses the worker threads."""
    turn = threading.Lock()
    with turn:
        launch(kernel, control, args, take(turn, threads), watch, short, loose)


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

    `kernel` is a compiled function, or its `Call`. The compiled function `by` runs it on all threads. To use several
    threads, the caller has reserved them with `take`. `watch()` is called ten times a second meanwhile. Ctrl-C sets the
    stop flag, waits until the kernel returns, and is then raised.

    A `short` run ends within some tenths of a second: the calling thread is its first thread, and reacts to Ctrl-C
    afterwards. A `loose` kernel has neither barriers nor fixed shares of the work, so the launch need not wait for
    workers that have not begun.

    Parameters
    ----------
    kernel, control, args :
        the kernel, the control array by which its threads take blocks and stop, and its further arguments
    threads, watch :
        number of threads; a function that is called ten times a second, or None
    short, loose :
        whether the run ends within some tenths of a second; whether the kernel has neither barriers nor fixed shares
    by :
        compiled function that runs the kernel on all threads
    """
    call = kernel if isinstance(kernel, Call) else kernel.lend()
    call.set([0, threads, control, *args])
    launcher_call = call.launcher
    if launcher_call is None or launcher_call.function is not by:
        launcher_call = call.launcher = Call(by)
    launcher_call.set([call.kernel.address, call.address, LOOSELY if loose else TOGETHER, threads, control])
    if short:
        launcher_call()
    else:
        _launch_from_new_thread(launcher_call, control, watch)
    if not isinstance(kernel, Call):
        kernel.take_back(call)


def _launch_from_new_thread(run: Callable[[], None], control: np.ndarray, watch: Callable[[], None] | None) -> None:
    """Call `run`, which launches a kernel, in a new thread, while the calling thread waits and reacts to Ctrl-C.

    Meanwhile the calling thread calls `watch` ten times a second. If no thread can be started, the calling thread runs
    the kernel itself, and reacts to Ctrl-C afterwards.
    """
    pending, results, end_lock = [run], list[BaseException | None](), threading.Lock()

    def begin() -> None:
        try:
            pending.pop()()
            results.append(None)
        except BaseException as error:  # pass the error to the waiting thread, which raises it
            results.append(error)
        end_lock.release()

    def wait(seconds: float) -> None:
        if not results and end_lock.acquire(timeout=seconds):
            end_lock.release()

    end_lock.acquire()
    try:
        try:
            _thread.start_new_thread(begin, ())
        except (RuntimeError, MemoryError):  # "can't start new thread"
            LOG.debug("a run stays on the calling thread, because no other can be started")
            begin()
        while not results:
            wait(-1 if watch is None else 0.1)
            if watch is not None and not results:
                watch()
    except BaseException:  # most likely Ctrl-C: set the stop flag, so that the kernel ends
        control[STOP] = 1
        with suppress(IndexError):  # an empty list means that the kernel has begun
            pending.pop()
            raise
        while not results:
            with suppress(BaseException):  # ignore a second Ctrl-C, as the kernel still uses the arrays
                wait(-1)
        raise
    if results[0] is not None:
        raise results[0]


def _reset_after_fork() -> None:
    """Reset the state of threads in the child of a fork, which has none of its parent's threads."""
    global _changing
    _holder[0], _changing = threading.Lock(), threading.RLock()
    workers.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
