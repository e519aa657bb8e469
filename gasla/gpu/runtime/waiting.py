"""Wait for a kernel that marks its end in host memory, which the host sees sooner than CUDA reports the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gasla.progress import follow

# Seconds of waiting. Up to PATIENCE a wait polls the page without a pause; up to WAKEFUL it yields to other threads
# between polls; after that it also sleeps, and the system may wake it late.
PATIENCE, WAKEFUL = 2e-3, 2e-2
NOT_READY = 600  # cudaErrorNotReady
# Errors of a kernel after which CUDA refuses a process everything on that GPU: an uncorrectable error of its memory,
# illegal addresses and instructions, failed assertions, and others of a launch.
LOST = {214, 700, 702, 710, *range(714, 720)}
_here = threading.local()  # `yields`: whether other threads drive other GPUs


@contextmanager
def yielding() -> Iterator[None]:
    """Let other threads of Python run whenever this one waits for a kernel, because they drive other GPUs."""
    _here.yields = True
    try:
        yield
    finally:
        _here.yields = False


def wait(page: Any, launch: int, show: Callable[[], Any] | None = None, asks: bool = False) -> None:
    """Poll `page.ended` until it is the number of the launch. `show` is called ten times a second.

    Up to `PATIENCE` it does not pause, as the system may take long for the shortest pause, and no other thread of
    Python runs, unless this one is `yielding`. With `asks` it asks the driver between polls from the first on.
    Returns as well when the current stream is idle. Raises CuPy's error if a kernel failed.
    """
    patience = 0.0 if getattr(_here, "yields", False) else PATIENCE
    began = shown = time.perf_counter()
    while page.ended != launch:
        now = time.perf_counter()
        is_patient = now - began < patience
        if is_patient and not asks:
            continue
        if show is not None and now - shown > 0.1:
            shown = now
            show()
        if is_idle():
            return
        if not is_patient:
            time.sleep(0 if now - began < WAKEFUL else 5e-5)


def wait_for_stream(show: Callable[[], Any]) -> None:
    """Wait until the current stream is idle. `show` is called ten times a second. Raise CuPy's error as `wait` does."""
    began = shown = time.perf_counter()
    while not is_idle():
        now = time.perf_counter()
        if now - shown > 0.1:
            shown = now
            show()
        time.sleep(0 if now - began < WAKEFUL else 5e-5)


def is_idle() -> bool:
    """Return whether the current stream is idle. Raises CuPy's error if a kernel failed.

    `Stream.done` is not used, as it reports a kernel that crashed as still running.
    """
    from cupy.cuda import get_current_stream, runtime

    status = runtime.streamQuery(get_current_stream().ptr)
    if status == NOT_READY:
        return False
    runtime.check_status(status)
    return True


def is_lost(error: BaseException) -> bool:
    """Return whether CUDA lets this process use a GPU no more after an error, which is CuPy's."""
    return getattr(error, "status", None) in LOST


def work_page() -> Any:
    """Return host memory that a kernel reads and writes (`page.cuh`): whether it is to stop, and what it has taken."""
    import cupy

    page = np.frombuffer(cupy.cuda.alloc_pinned_memory(16), np.uint64, 2)
    page[:] = 0
    return page


def wait_for_work(page: Any, count: int, unit: str) -> None:
    """Wait for a kernel that takes `count` pieces of work. An exception, such as Ctrl-C, ends it first."""
    import cupy

    follow(lambda: (min(int(page[1]), count), count), unit)
    try:
        wait_for_stream(lambda: None)
    except BaseException:
        page[0] = 1
        cupy.cuda.get_current_stream().synchronize()
        raise
