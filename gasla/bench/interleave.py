"""Timing in turns: every contestant once a round, so that a machine whose speed wanders is equally unfair to all.

Each round has an order of its own: who comes after whom matters, since memory that one call gives back is there for
the next, or has to be asked of the system anew.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Mapping

SEED = 1  # of the orders of the rounds
PAUSE = 0.02  # seconds between two calls: threads of the last one that still wait in a loop go to sleep
HOPELESS = 3.0  # a contestant this many times slower than the fastest is timed once, and no more


def interleave(
    contestants: Mapping[str, Callable[[int], object]],
    rounds: int,
    budget: float,
    keep: frozenset[str] = frozenset(),
    pause: float = PAUSE,
) -> dict[str, list[float]]:
    """Return the seconds of every contestant's calls.

    Parameters
    ----------
    contestants
        Functions of the round's number, by name.
    rounds
        How many rounds there are at most.
    budget
        Seconds after which no new round begins.
    keep
        Who is timed in every round, however slow.
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
