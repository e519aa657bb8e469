"""Whether the machine was this process's own while it measured: a spin test, before and after.

Each core does a fixed amount of arithmetic. Wall time beyond the time on a processor went to somebody else. More time
on it than the fastest spin took is a slower clock, or a neighbour on the same core. Linux also tells what a
hypervisor took. What was disturbed is measured again, once; the file says so, and so does the screen.
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

STOLEN = 0.05  # the share of time that may go to others
SLOWED = 0.25  # how much longer a spin may take: clocks, and cores that share their parts, vary by a fifth when idle
ATTEMPTS = 2  # to measure, and to find the machine quiet before
PAUSE = 1.0  # seconds before the machine is looked at again
WORK = 1_000_000  # rounds of a hash, which need neither memory nor Python's lock: 0.2 to 0.6 s
STAT = Path("/proc/stat")

_T = TypeVar("_T")


class Spin(NamedTuple):
    """The arithmetic on all cores at once: the largest share of time without a core, and the longest time on one."""

    stolen: float
    seconds: float


class Disturbance(NamedTuple):
    """What was lost between two looks at the machine, as shares of the time."""

    stolen: float
    slowed: float

    @property
    def is_much(self) -> bool:
        """Whether it is too much for figures."""
        return self.stolen > STOLEN or self.slowed > SLOWED

    def __str__(self) -> str:
        return f"{self.stolen:.0%} of the time stolen, {self.slowed:.0%} slower"


def spin() -> Spin:
    """Do the arithmetic, on as many threads as there are cores for; on Linux each on a core of its own."""
    count = cores.usable()
    places = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    together, found = Barrier(count), list[tuple[float, float]]()

    def work(number: int) -> None:
        if len(places) == count:
            os.sched_setaffinity(0, places[number : number + 1])  # of this thread alone
        together.wait()
        wall, own = time.perf_counter(), time.thread_time()
        hashlib.pbkdf2_hmac("sha256", b"", b"", WORK)
        found.append((time.perf_counter() - wall, time.thread_time() - own))

    threads = [Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Spin(max(max(1 - own / wall, 0.0) for wall, own in found), max(own for _, own in found))


def watch(what: str, measure: Callable[[], Iterable[_T]], notes: list[dict[str, Any]]) -> Iterator[_T]:
    """Yield what is measured, and once more if the machine was disturbed; each time is noted.

    Examples
    --------
    >>> notes = []
    >>> {*watch("a sum", lambda: [sum(range(100))], notes)}
    {4950}
    >>> [note["measured"] for note in notes][0]
    'a sum'
    """
    for attempt in range(ATTEMPTS):
        before, jiffies = _quiet(), _jiffies()
        yield from measure()
        found = disturbance(before, spin(), _stolen(jiffies, _jiffies()))
        notes.append({"measured": what, "stolen": round(found.stolen, 4), "slowed": round(found.slowed, 4)})
        if not found.is_much:
            return
        then = "measured again" if attempt + 1 < ATTEMPTS else "its figures may be too high"
        print(f"{what}: the machine was not its own ({found}); {then}", file=sys.stderr, flush=True)


def disturbance(before: Spin, after: Spin, stolen: float = 0.0) -> Disturbance:
    """What two spins tell, and what the system says was stolen between them.

    Examples
    --------
    >>> disturbance(Spin(0.0, 0.25), Spin(0.02, 0.5), 0.01)
    Disturbance(stolen=0.02, slowed=1.0)
    """
    global _fastest
    _fastest = min(_fastest, before.seconds, after.seconds)
    return Disturbance(max(before.stolen, after.stolen, stolen), max(before.seconds, after.seconds) / _fastest - 1)


_fastest = float("inf")  # of this process's spins


def _quiet() -> Spin:
    """A look at the machine; another one if somebody else is at work."""
    found = spin()
    for _ in range(ATTEMPTS - 1):
        if found.stolen > STOLEN:
            time.sleep(PAUSE)
            found = spin()
    return found


def _jiffies() -> list[int]:
    """What the machine's time went to so far, as Linux counts it; empty elsewhere."""
    try:
        return [int(word) for word in STAT.read_text().partition("\n")[0].split()[1:9]]
    except (OSError, ValueError):
        return []


def _stolen(before: list[int], after: list[int]) -> float:
    """The share of all cores' time that went to other machines on the same hardware: the eighth number."""
    spent = [b - a for a, b in zip(before, after)]
    return spent[7] / max(sum(spent), 1) if len(spent) > 7 else 0.0
