"""Waiting for what another thread does, but not for ever."""

import time
from collections.abc import Callable


def wait_until(holds: Callable[[], bool], seconds: float = 60) -> None:
    """Look every millisecond, for so long at most."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"nothing happened for {seconds} seconds"
        time.sleep(0.001)
