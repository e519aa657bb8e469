"""Interleaved timing: every contestant is called once per round, so that changes of the machine's speed affect all.

Each round has its own random order, because a call depends on the one before: it may reuse memory that was just freed,
or has to request it from the system.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Mapping

SEED = 1  # for the order of calls in each round
PAUSE = 0.02  # seconds between calls, in which busy-waiting threads of the previous call go to sleep
HOPELESS = 3.0  # a contestant that is this many times slower than the fastest is not called again


def interleave(
    contestants: Mapping[str, Callable[[int], object]],
    rounds: int,
    budget: float,
    keep: frozenset[str] = frozenset(),
    pause: float = PAUSE,
) -> dict[str, list[float]]:
    """Return the times of all calls in seconds, by contestant.

    Parameters
    ----------
    contestants
        Functions of the number of the round, by name.
    rounds
        Maximum number of rounds.
    budget
        Seconds after which no new round begins.
    keep
        Contestants that are called in every round, even if slow.
    pause
        Seconds between two calls.
    """
    names = list(contestants)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    shuffle = random.Random(SEED).shuffle
    end = time.perf_counter() + budget
    gc.collect()
    gc.disable()
    try:
        for number in range(rounds):
            for name in names:
                time.sleep(pause)
                seconds[name].append(_time(contestants[name], number))
            last = {name: seconds[name][-1] for name in names if name not in keep}
            limit = HOPELESS * min(last.values(), default=0)
            names = [name for name in names if name in keep or last[name] <= limit]
            shuffle(names)
            if time.perf_counter() > end:
                break
    finally:
        gc.enable()
    return seconds


def _time(call: Callable[[int], object], number: int) -> float:
    start = time.perf_counter()
    result = call(number)
    elapsed = time.perf_counter() - start
    del result
    return elapsed
