"""What kernels count in.

Every kernel leaves its counters at zero. They are kept for each thread and stream, so that launches that may run at the
same time never share them.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from gasla.gpu.runtime.compile import device


class _Kept(threading.local):
    def __init__(self) -> None:
        self.counters: dict[tuple[int, int, int], Any] = {}


_kept = _Kept()


def counters(words: int) -> Any:
    """So many of this thread and the current stream: an array of uint64, all 0."""
    import cupy

    key = device(), cupy.cuda.get_current_stream().ptr, words
    found = _kept.counters.get(key)
    if found is None:
        found = _kept.counters[key] = cupy.zeros(words, np.uint64)
    return found
