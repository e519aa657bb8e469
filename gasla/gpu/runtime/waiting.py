"""Waits for the end of a kernel. The kernel marks its end in host memory, which is visible sooner than CUDA's own
report.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gasla.progress import follow

# Seconds of waiting. Up to PATIENCE, a wait polls the page without a pause. Up to WAKEFUL, it yields to other threads
# between polls. After that it also sleeps between polls, from which the system may wake it late.
PATIENCE, WAKEFUL = 2e-3, 2e-2
NOT_READY = 600  # number of CUDA's error cudaErrorNotReady
# The numbers of errors after which CUDA lets the process do nothing more on the GPU, such as an uncorrectable error of
# its memory, an illegal address or instruction, and a failed assertion in a kernel.
LOST = {214, 700, 702, 710, *range(714, 720)}
# In each thread, the attribute `yields` tells whether other Python threads must run while this thread waits, because
# they drive other GPUs.
_thread_state = threading.local()


@contextmanager
def yielding() -> Iterator[None]:
    """Let other Python threads run whenever this thread waits for a kernel in the `with` block.

    The other threads drive other GPUs. This thread's kernel may wait for the kernels that they launch.
    """
    _thread_state.yields = True
    try:
        yield
    finally:
        _thread_state.yields = False


def wait(page: Any, launch: int, show: Callable[[], Any] | None = None, asks: bool = False) -> None:
    """Wait until a kernel has written the number of its launch to `page.ended`, in host memory, as kernels do at their
    end.

    `show` is called ten times a second.

    For up to `PATIENCE` seconds, this polls without a pause, because the system may take long for even the shortest
    pause. No other Python thread runs in this time, except in a `yielding` block. With `asks`, this also asks the CUDA
    driver between polls, from the first poll on. It returns as well when the current stream is idle. If a kernel
    failed, CuPy's error is raised.
    """
    patience = 0.0 if getattr(_thread_state, "yields", False) else PATIENCE
    start_time = last_shown = time.perf_counter()
    while page.ended != launch:
        now = time.perf_counter()
        is_patient = now - start_time < patience
        if is_patient and not asks:
            continue
        if show is not None and now - last_shown > 0.1:
            last_shown = now
            show()
        if is_idle():
            return
        if not is_patient:
            time.sleep(0 if now - start_time < WAKEFUL else 5e-5)


def wait_for_stream(show: Callable[[], Any]) -> None:
    """Wait until the current stream is idle, and call `show` ten times a second.

    If a kernel failed, CuPy's error is raised.
    """
    start_time = last_shown = time.perf_counter()
    while not is_idle():
        now = time.perf_counter()
        if now - last_shown > 0.1:
            last_shown = now
            show()
        time.sleep(0 if now - start_time < WAKEFUL else 5e-5)


def is_idle() -> bool:
    """Return whether the current CUDA stream has nothing left to do. If a kernel failed, CuPy's error is raised.

    CuPy's `Stream.done` is not used, because it reports a kernel that crashed as still running.
    """
    from cupy.cuda import get_current_stream, runtime

    status = runtime.streamQuery(get_current_stream().ptr)
    if status == NOT_READY:
        return False
    runtime.check_status(status)
    return True


def is_lost(error: BaseException) -> bool:
    """Return whether CUDA lets this process use the GPU no more after an error of CuPy, such as a kernel's crash."""
    return getattr(error, "status", None) in LOST


def work_page() -> Any:
    """Return two words of host memory by which a kernel with many pieces of work reports its progress (`page.cuh`).

    The host sets the first word to stop the kernel. In the second word, the kernel counts the pieces of work that it
    has begun.
    """
    import cupy

    page = np.frombuffer(cupy.cuda.alloc_pinned_memory(16), np.uint64, 2)
    page[:] = 0
    return page


def wait_for_work(page: Any, count: int, unit: str) -> None:
    """Wait for a kernel that does `count` pieces of work, and show its progress in a `unit` such as "vertices".

    An exception while waiting, such as Ctrl-C, stops the kernel before it is passed on.
    """
    import cupy

    follow(lambda: (min(int(page[1]), count), count), unit)
    try:
        wait_for_stream(lambda: None)
    except BaseException:
        page[0] = 1
        cupy.cuda.get_current_stream().synchronize()
        raise
