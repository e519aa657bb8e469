"""Timing of calls for all benchmarks. A time ends when the device has finished; callers warm up before.

Contestants are called by turns, once per round, so that a change of the machine's speed affects all of them. Each round
has its own random order, because the time of a call depends on the call before it: memory that was just freed is
reused, and other memory has to be requested from the system.
"""

from __future__ import annotations

import gc
import math
import random
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TypeVar

from gasla.arrays import Device, finish

SEED = 1  # random seed for the order of calls in each round
PAUSE = 0.02  # seconds between two calls on the CPU, so that the busy-waiting threads of the first call go to sleep
HOPELESS = 3.0  # a contestant whose time is more than this multiple of the fastest one's is not called again

_T = TypeVar("_T")


def timed(call: Callable[[], _T], device: Device = "cpu") -> tuple[float, _T]:
    """Return the seconds that a call takes, and its result. On a GPU, the time includes stream synchronization."""
    finish(device)
    start = time.perf_counter()
    answer = call()
    finish(device)
    return time.perf_counter() - start, answer


def by_turns(
    contestants: Mapping[str, Callable[[int], object]],
    rounds: int,
    budget: float = math.inf,
    keep: Collection[str] | None = None,
    device: Device = "cpu",
    least: int = 1,
    before: Callable[[str], object] = lambda name: None,
) -> dict[str, list[float]]:
    """Return the times of all calls in seconds, by contestant.

    On the CPU a pause between calls lets the threads of the previous contestant go to sleep. There is no pause for a
    single contestant, or on the GPU, whose clock goes down while idle.

    Parameters
    ----------
    contestants
        Functions by name. Each is called with the number of the round.
    rounds
        Maximum number of rounds.
    budget
        Seconds after which no new round begins.
    keep
        Contestants that are called in every round, even if slow; by default all.
    device
        The device that has to be done when a call ends.
    least
        Number of rounds that begin even if the budget is spent.
    before
        Called with the contestant's name before each of its calls. It is not timed.
    """
    names = list(contestants)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    always_called, pause = set(names if keep is None else keep), PAUSE if device == "cpu" and len(names) > 1 else 0
    shuffle, deadline = random.Random(SEED).shuffle, time.perf_counter() + budget
    gc.collect()
    gc.disable()
    try:
        for number in range(rounds):
            for name in names:
                before(name)
                time.sleep(pause)
                seconds[name].append(timed(partial(contestants[name], number), device)[0])
            last = {name: seconds[name][-1] for name in names if name not in always_called}
            limit = HOPELESS * min(last.values(), default=0)
            names = [name for name in names if name in always_called or last[name] <= limit]
            shuffle(names)
            if number + 1 >= least and time.perf_counter() > deadline:
                break
    finally:
        gc.enable()
    return seconds


def repeated(
    call: Callable[[], object], rounds: int, budget: float = math.inf, least: int = 1, device: Device = "cpu"
) -> list[float]:
    """Return the seconds that each of up to `rounds` calls takes. The other arguments are those of `by_turns`."""
    return by_turns({"": lambda number: call()}, rounds, budget, device=device, least=least)[""]
