"""Sends arrays between the GPUs of several processes by NCCL, over NVLink, PCIe or a network, whichever joins them."""

import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from gasla.arrays import require_gpu
from gasla.gpu.runtime.waiting import wait_for_stream

PATIENCE = 2.0  # seconds to wait for a connection to end; it may never end, as NCCL waits for work on a stream


def obstacle() -> str:
    """Return the reason why NCCL can't be used here, or an empty string if it can."""
    require_gpu()
    # If CuPy finds no library of NCCL, it warns, which is superfluous because the result says so too.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from cupy.cuda import nccl
    return "" if nccl.available else "CuPy finds no NCCL: pip install gasla[nccl12], or gasla[nccl13]"


def new_key() -> np.ndarray:
    """Return a new key, by which the processes of several ranks join the same NCCL connection.

    One process makes the key, and sends it to all others.
    """
    from cupy.cuda import nccl

    return np.frombuffer(nccl.get_unique_id(), np.uint8)


class Connection:
    """A connection by NCCL that joins the current GPU with those of all other ranks, which must make it at the same
    time.

    Parameters
    ----------
    rank, size : int
        The number of this rank, and the number of ranks.
    key : ndarray
        The key of the connection from `new_key`, the same on all ranks.
    """

    def __init__(self, rank: int, size: int, key: np.ndarray) -> None:
        from cupy.cuda import nccl

        self._nccl, self._of_rank = nccl, nccl.NcclCommunicator(size, key.tobytes(), rank)
        # NCCL joins two GPUs when they first exchange bytes, and waits for the other GPU without a timeout. So a first
        # exchange is made here, where it is certain that all ranks take part.
        one_byte_per_rank = [require_gpu().zeros(1, np.uint8) for _ in range(size)]
        self.exchange(one_byte_per_rank, [1] * size, lambda: None)

    def exchange(self, sent: Sequence[Any], sizes: Sequence[int], show: Callable[[], None]) -> list[Any]:
        """Send the array of bytes `sent[r]` to each rank r, and return the arrays that all ranks have sent to this
        rank.

        `sizes` are the bytes of the arrays to receive. `show` is called ten times a second while this waits.
        """
        cupy: Any = require_gpu()
        received, stream = [cupy.empty(size, np.uint8) for size in sizes], cupy.cuda.get_current_stream().ptr
        self._nccl.groupStart()
        try:
            for rank, (sent_array, received_array) in enumerate(zip(sent, received, strict=True)):
                if sent_array.size:
                    self._of_rank.send(sent_array.data.ptr, sent_array.size, self._nccl.NCCL_UINT8, rank, stream)
                if received_array.size:
                    self._of_rank.recv(
                        received_array.data.ptr, received_array.size, self._nccl.NCCL_UINT8, rank, stream
                    )
        finally:
            self._nccl.groupEnd()

        def look() -> None:
            show()
            self._of_rank.check_async_error()

        wait_for_stream(look)
        return received

    def abort(self) -> None:
        """End the connection without waiting for other ranks, for example after an error."""

        def end() -> None:
            with suppress(Exception):
                self._of_rank.abort()

        thread = threading.Thread(target=end, daemon=True)
        thread.start()
        thread.join(PATIENCE)
