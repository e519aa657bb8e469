"""Waiting for what another thread does, but not for ever; and who seems to sleep."""

import time
from collections.abc import Callable

import numpy as np

from gasla.compiler.function import compiled
from gasla.cpu.runtime import workers
from gasla.cpu.runtime.intrinsics import fetch_add_relaxed


def wait_until(holds: Callable[[], bool], seconds: float = 60) -> None:
    """Look every millisecond, for so long at most."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"nothing happened for {seconds} seconds"
        time.sleep(0.001)


def count_sleepers(more: int) -> None:
    """Have so many more workers of the CPU engine seem to sleep, or fewer."""
    _count(workers.pool, more)


@compiled
def _count(pool: np.ndarray, more: int) -> None:
    fetch_add_relaxed(pool, workers.SLEEPING, more)
