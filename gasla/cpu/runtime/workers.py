"""Worker threads. Each has a mailbox, an array in which it finds its job, and a lock on which it sleeps."""

import threading
import time
import warnings

import numpy as np

from gasla.compiler.emit import Extern
from gasla.compiler.function import compiled
from gasla.compiler.kernel_types import I32, I64
from gasla.compiler.system import has
from gasla.cpu.runtime import cores
from gasla.cpu.runtime.intrinsics import (
    acquire_lock,
    call,
    compare_and_swap_acquire,
    compare_and_swap_relaxed,
    fetch_add_acq_rel,
    fetch_add_relaxed,
    load_relaxed,
    new_lock,
    now,
    pause,
    read_clock,
    release_lock,
    store_relaxed,
    store_release,
    take_lock,
    words_at,
)
from gasla.log import LOG

# Indices of the int64 words in a worker's mailbox. Words that other threads write are a cache line (8 words) apart from
# the word that the worker waits for. The words hold: the job, with the compiled function, its arguments, and the number
# of this thread and of all threads; whether the worker sleeps; its lock, its place among the workers, the core that it
# is bound to, and the number of cores; the address of the mailbox, and of the pool; whether a thread serves the
# mailbox, and that thread's CPU-time clock; the set of cores that it may run on, and the set with the core that it
# sleeps on.
JOB, PART, ARGUMENTS, THREAD, THREADS = range(5)
ASLEEP, LOCK, PLACE, CORE, CORES, SELF, SLEEPERS, SERVED, CLOCK, ALL, OWN = 8, 16, 17, 18, 19, 20, 21, 22, 23, 32, 48
MAILBOX_SIZE, SET = 64, 16
# states of a job in a mailbox: there is no job, a job waits for the worker, or the worker has begun the job
NONE, GIVEN, BEGUN = 0, 1, 2

# Indices of the words of the pool, which all runs share: how many workers sleep; how many have started; the number of
# cores; until when one thread works alone (the clock's nanoseconds, or 0); how much time several threads have saved
# lately, and since when this is to be counted; the costs of sharing that were measured last, in nanoseconds (moving a
# cache line from core to core, and a barrier), and when; the code, the arguments and the control array of the probe
# that measures them.
SLEEPING, STARTED, USABLE, APART, BALANCE, SINCE, LINE, BARRIER, MEASURED = range(9)
PROBE, PROBE_ARGUMENTS, PROBE_CONTROL, POOL_SIZE = range(9, 13)

MOST = 64 * SET  # largest number of threads, because the set of cores in a mailbox has SET words of 64 bits
# number of pauses (25 ns each) in which a worker looks for its next job before it sleeps; large, as waking takes long
AWAKE = 12_000

mailboxes = np.zeros(MOST, np.int64)  # the addresses of the mailboxes of all workers
pool = np.zeros(POOL_SIZE, np.int64)
_workers: "list[Worker]" = []
# largest number of threads that a run may have; lowered when the system refuses to start another worker
most_started = [MOST]

helper = compiled


@helper
def wake(mailbox: np.ndarray) -> None:  # pragma: no cover - compiled
    """Wake the worker thread that waits at a mailbox, if it sleeps, by releasing the lock on which it sleeps."""
    if compare_and_swap_relaxed(mailbox, ASLEEP, 1, 0):
        release_lock(mailbox[LOCK])


if has("pthread_getcpuclockid"):
    _this_pthread = Extern("pthread_self", I64)
    _get_clock = Extern("pthread_getcpuclockid", I32, (I64, I64))

    @helper
    def _store_clock(mailbox: np.ndarray) -> None:  # pragma: no cover - compiled
        """Store the identifier of this thread's CPU-time clock in its mailbox, where other threads find it."""
        _get_clock(_this_pthread(), mailbox[SELF] + 8 * CLOCK)

    @helper
    def time_without_core(addresses: np.ndarray, since: int) -> int:  # pragma: no cover - compiled
        """Return the time minus the CPU times of all worker threads, minus `since`, an earlier result, in nanoseconds.

        `addresses` has the addresses of the workers' mailboxes. While one worker is busy and all others sleep, this
        grows only while the busy worker has no core.
        """
        result = now()
        for address in addresses:
            result -= read_clock(np.int32(words_at(address, MAILBOX_SIZE)[CLOCK]))
        return result - since

else:

    @helper
    def _store_clock(mailbox: np.ndarray) -> None:  # pragma: no cover - compiled
        pass

    @helper
    def time_without_core(addresses: np.ndarray, since: int) -> int:  # pragma: no cover - compiled
        """Return 0, because the system has no such clock."""
        return 0


if has("sched_setaffinity"):
    _get_cores = Extern("sched_getaffinity", I32, (I32, I64, I64))
    _set_cores = Extern("sched_setaffinity", I32, (I32, I64, I64))

    @helper
    def _bind_to_core(mailbox: np.ndarray) -> bool:  # pragma: no cover - compiled
        """Bind this worker thread to one core, chosen by the worker's number, for the time while it sleeps.

        Return whether that was possible.
        """
        every, one = mailbox[ALL : ALL + SET], mailbox[OWN : OWN + SET]
        if _get_cores(0, 8 * SET, mailbox[SELF] + 8 * ALL) < 0:
            return False
        count = 0
        for core in range(64 * SET):
            count += (every[core >> 6] >> (core & 63)) & 1
        place, wanted = 0, mailbox[PLACE] % max(count, 1)
        one[:] = 0
        for core in range(64 * SET):
            if (every[core >> 6] >> (core & 63)) & 1:
                if place == wanted:
                    store_relaxed(mailbox, CORE, core)
                    one[core >> 6] = np.int64(1) << (core & 63)
                place += 1
        return _set_cores(0, 8 * SET, mailbox[SELF] + 8 * OWN) == 0

    @helper
    def _unbind_from_core(mailbox: np.ndarray) -> None:  # pragma: no cover - compiled
        """Let this worker thread run on any core that the process may use, after it was bound to one core."""
        _set_cores(0, 8 * SET, mailbox[SELF] + 8 * ALL)

else:

    @helper
    def _bind_to_core(mailbox: np.ndarray) -> bool:  # pragma: no cover - compiled
        """Return False, because the system can't bind a thread to a core."""
        return False

    @helper
    def _unbind_from_core(mailbox: np.ndarray) -> None:  # pragma: no cover - compiled
        pass


@helper
def _serve(mailbox: np.ndarray) -> None:  # pragma: no cover - compiled
    """Wait for jobs (kernels to call) in a mailbox and run them, forever.

    After a job the thread stays awake for a while, as the next job often follows soon. Returns at once if another
    thread serves the mailbox, or if the mailbox has no lock.
    """
    awake, pool = 0, words_at(mailbox[SLEEPERS], POOL_SIZE)
    if mailbox[LOCK] == 0 or not compare_and_swap_relaxed(mailbox, SERVED, 0, 1):
        return
    _store_clock(mailbox)
    while mailbox[LOCK] != 0:
        for _ in range(awake):
            if load_relaxed(mailbox, JOB) == GIVEN:
                break
            pause()
        if load_relaxed(mailbox, JOB) != GIVEN:
            is_bound = _bind_to_core(mailbox)
            fetch_add_relaxed(pool, SLEEPING, 1)
            fetch_add_relaxed(mailbox, ASLEEP, 1)
            if fetch_add_acq_rel(mailbox, JOB, 0) != GIVEN or not compare_and_swap_relaxed(mailbox, ASLEEP, 1, 0):
                acquire_lock(mailbox[LOCK], 1)
            fetch_add_relaxed(pool, SLEEPING, -1)
            if is_bound:
                _unbind_from_core(mailbox)
            awake = AWAKE
        if compare_and_swap_acquire(mailbox, JOB, GIVEN, BEGUN):
            call(mailbox[PART], mailbox[THREAD], mailbox[ARGUMENTS])
            awake = AWAKE if mailbox[THREADS] <= mailbox[CORES] else 0
            # the job is done, and from here on another thread may put the next job into the mailbox
            store_release(mailbox, JOB, NONE)


def compile_ahead() -> None:
    """Compile the function `_serve`, the loop of a worker thread, before it is needed.

    This calls it on a mailbox without a lock, so that it returns at once.
    """
    _serve(np.zeros(MAILBOX_SIZE, np.int64))


class Worker:
    """A thread that waits for jobs in a mailbox.

    It is bound to a core of its own while it sleeps, and not bound while it is awake. Otherwise the system sometimes
    wakes two threads on one core, and takes milliseconds to move one of them, while they wait for each other.
    """

    def __init__(self, place: int) -> None:
        self.mailbox = mailbox = np.zeros(MAILBOX_SIZE, np.int64)
        compile_ahead()  # compile now, because later a caller would wait for the worker meanwhile
        mailbox[PLACE], mailbox[CORE], mailbox[CORES] = place, -1, cores.usable()
        mailbox[SELF] = self.address = mailbox.ctypes.data
        mailbox[SLEEPERS] = pool.ctypes.data
        mailbox[LOCK] = lock = new_lock()
        take_lock(lock, 1)

    def begin(self) -> None:
        """Start the worker's thread, and wait until it serves the mailbox.

        Ctrl-C may interrupt this, and it may then be called again: a second thread on the same mailbox ends at once.
        """
        thread = threading.Thread(target=_serve, args=(self.mailbox,), name="gasla", daemon=True)
        thread.start()
        # SERVED is set by the thread itself; if memory is short, the thread may end before that
        while not self.mailbox.item(SERVED):
            if not thread.is_alive() and not self.mailbox.item(SERVED):
                raise RuntimeError("a new thread ended at once")
            time.sleep(0)


def start_workers(threads: int) -> int:
    """Start worker threads until there are as many as `threads`. Return the number of threads that a run can have.

    This is one worker more than run at once, so that the worker on the caller's core can stay asleep. If a worker can't
    be started, for want of memory or because of a limit on threads, the result is the number of workers, and at least 1
    for the caller's own thread.

    Ctrl-C may come between any two lines, but `mailboxes` always has the addresses of all `_workers`.
    """
    threads = min(threads, most_started[0])
    while threads > 1 and pool.item(STARTED) < threads:
        try:
            if pool.item(STARTED) == len(_workers):
                worker = Worker(len(_workers))
                mailboxes[len(_workers)] = worker.address
                _workers.append(worker)
            _workers[pool.item(STARTED)].begin()
        except (RuntimeError, MemoryError) as error:
            most_started[0] = max(pool.item(STARTED), 1)
            _warn(threads, most_started[0], error)
            return most_started[0]
        pool[STARTED] += 1
    return threads


def _warn(wanted: int, count: int, error: Exception) -> None:
    """Log and warn that runs use only `count` threads instead of `wanted` ones, because of an error."""
    used = "1 thread" if count == 1 else f"{count} threads"
    message = (
        f"gasla uses {used} instead of {wanted}, because no more could be started ({error or type(error).__name__}); "
        "gasla.set_num_threads(count) tries again"
    )
    LOG.warning(message)
    warnings.warn(message, RuntimeWarning, stacklevel=1)


def forget() -> None:
    """Forget all worker threads in the child of a fork, because the child has none of its parent's threads."""
    _workers.clear()
    pool[:] = 0
    most_started[0] = MOST
