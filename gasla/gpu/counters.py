"""What kernels count in, and the number that they leave for the host.

Every kernel leaves the counters at zero. They are kept for each thread and stream, so that launches that may run at the
same time never share them.
"""

from __future__ import annotations

import threading

import numpy as np

from gasla.gpu.compile import device


class Counters:
    """So many words on the device, and a number in the host's memory."""

    def __init__(self, words: int) -> None:
        import cupy

        self.words = cupy.zeros(words, np.uint64)
        self._memory = cupy.cuda.alloc_pinned_memory(8)
        self._number = np.frombuffer(self._memory, np.int64, 1)
        self.result_address = self._memory.ptr

    def result(self) -> int:
        """The number, once the stream is done."""
        import cupy

        cupy.cuda.get_current_stream().synchronize()
        return int(self._number[0])


class _Kept(threading.local):
    def __init__(self) -> None:
        self.counters: dict[tuple[int, int, int], Counters] = {}


_kept = _Kept()


def counters(words: int) -> Counters:
    """Those of this thread and the current stream."""
    import cupy

    key = device(), cupy.cuda.get_current_stream().ptr, words
    found = _kept.counters.get(key)
    if found is None:
        found = _kept.counters[key] = Counters(words)
    return found
