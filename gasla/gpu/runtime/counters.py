"""Counters in device memory that kernels find zeroed, so that no launch has to zero them.

Every kernel leaves its counters at zero. Each thread has counters of its own on each stream, so two launches that may
run at the same time never share them.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from gasla.arrays import current_device


class _Counters(threading.local):
    def __init__(self) -> None:
        self.counters: dict[tuple[int, int, int], Any] = {}


_thread = _Counters()


def counters(words: int) -> Any:
    """Return an array of `words` uint64 counters, all zero, for kernels of this thread on the current stream."""
    import cupy

    key = current_device(), cupy.cuda.get_current_stream().ptr, words
    array = _thread.counters.get(key)
    if array is None:
        array = _thread.counters[key] = cupy.zeros(words, np.uint64)
    return array
