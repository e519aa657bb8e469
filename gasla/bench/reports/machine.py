"""Detects whether other processes or virtual machines disturbed a measurement, by a spin before and after it.

In a spin, each core does a fixed amount of arithmetic. If wall time exceeds CPU time, other processes took the
difference. If CPU time exceeds that of the fastest spin, the clock was lower, or another thread ran on the same
physical core. Linux also reports the time that a hypervisor takes. A disturbed measurement is repeated once, and the
output says so.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from threading import Barrier, Thread
from typing import Any, NamedTuple, TypeVar

from gasla.cpu.runtime import cores

STOLEN = 0.05  # largest acceptable fraction of time that other processes or virtual machines took from a measurement
# Largest acceptable relative increase of a spin's CPU time. Clocks and hyperthreads vary by a fifth even on an idle
# machine, so it is larger.
SLOWED = 0.25
ATTEMPTS = 2  # how often something is measured at most, because the first measurement may be disturbed
PAUSE = 1.0  # seconds to wait after a spin that was disturbed, before the next spin
# iterations of a hash per thread in a spin, which take 0.2 to 0.6 s; a hash needs neither memory nor Python's lock
WORK = 1_000_000
STAT = Path("/proc/stat")

_T = TypeVar("_T")


class Spin(NamedTuple):
    """The result of a spin (a fixed amount of arithmetic on each core): two values, each the largest of all threads.

    `stolen` is the fraction of wall time in which a thread had no core, and `seconds` is CPU time.
    """

    stolen: float
    seconds: float


class Disturbance(NamedTuple):
    """How much time was lost between two spins: the fraction taken by other processes, and the relative slowdown."""

    stolen: float
    slowed: float

    @property
    def is_much(self) -> bool:
        """Whether so much time was lost that the measured times are unreliable."""
        return self.stolen > STOLEN or self.slowed > SLOWED

    def __str__(self) -> str:
        return f"{self.stolen:.0%} of the time stolen, {self.slowed:.0%} slower"


def spin() -> Spin:
    """Do a fixed amount of arithmetic on one thread per usable core, and return how long it took.

    On Linux, each thread is pinned to a core.
    """
    count = cores.usable()
    core_ids = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    barrier, times = Barrier(count), list[tuple[float, float]]()

    def work(number: int) -> None:
        if len(core_ids) == count:
            # The process id 0 stands for the calling thread, so only this thread is pinned to a core.
            os.sched_setaffinity(0, core_ids[number : number + 1])
        barrier.wait()
        wall_start, cpu_start = time.perf_counter(), time.thread_time()
        hashlib.pbkdf2_hmac("sha256", b"", b"", WORK)
        times.append((time.perf_counter() - wall_start, time.thread_time() - cpu_start))

    threads = [Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Spin(
        max(max(1 - cpu_time / wall_time, 0.0) for wall_time, cpu_time in times),
        max(cpu_time for _, cpu_time in times),
    )


def watch(what: str, measure: Callable[[], Iterable[_T]], notes: list[dict[str, Any]]) -> Iterator[_T]:
    """Yield the results of a measurement. If the machine was disturbed, measure again and yield those results, too.

    For each measurement, a note on the disturbance is appended to `notes`.

    Examples
    --------
    >>> notes = []
    >>> {*watch("a sum", lambda: [sum(range(100))], notes)}
    {4950}
    >>> [note["measured"] for note in notes][0]
    'a sum'
    """
    for attempt in range(ATTEMPTS):
        first_spin, jiffies = _spin_when_quiet(), _jiffies()
        yield from measure()
        lost = disturbance(first_spin, spin(), _stolen_fraction(jiffies, _jiffies()))
        notes.append({"measured": what, "stolen": round(lost.stolen, 4), "slowed": round(lost.slowed, 4)})
        if not lost.is_much:
            return
        then = "measuring again" if attempt + 1 < ATTEMPTS else "times may be too high"
        print(f"{what}: the machine was busy with other work ({lost}); {then}", file=sys.stderr, flush=True)


def disturbance(before: Spin, after: Spin, stolen: float = 0.0) -> Disturbance:
    """Return how much time was lost between two spins.

    `stolen` is the fraction of time that the system reports as taken by a hypervisor.

    Examples
    --------
    >>> disturbance(Spin(0.0, 0.25), Spin(0.02, 0.5), 0.01)
    Disturbance(stolen=0.02, slowed=1.0)
    """
    global _fastest
    _fastest = min(_fastest, before.seconds, after.seconds)
    return Disturbance(max(before.stolen, after.stolen, stolen), max(before.seconds, after.seconds) / _fastest - 1)


# CPU time in seconds of the fastest spin that this process has done, with which later spins are compared
_fastest = float("inf")


def _spin_when_quiet() -> Spin:
    """Do a spin and return its result. If other processes were active meanwhile, pause, and return the result of a
    second spin.
    """
    state = spin()
    for _ in range(ATTEMPTS - 1):
        if state.stolen > STOLEN:
            time.sleep(PAUSE)
            state = spin()
    return state


def _jiffies() -> list[int]:
    """Return the times that the machine's cores have spent so far on each kind of work, in clock ticks, as Linux counts
    them.

    On other systems, return an empty list.
    """
    try:
        return [int(word) for word in STAT.read_text().partition("\n")[0].split()[1:9]]
    except (OSError, ValueError):
        return []


def _stolen_fraction(before: list[int], after: list[int]) -> float:
    """Return the fraction of CPU time that the hypervisor gave to other machines between two calls of `_jiffies`.

    `before` and `after` are the results of these calls.
    """
    spent = [b - a for a, b in zip(before, after)]
    return spent[7] / max(sum(spent), 1) if len(spent) > 7 else 0.0
