"""Page-locked host memory, which GPU kernels read directly over the link to the host, and the free memory of the GPU.

An array in such memory exists as two objects of the same bytes: a NumPy array and a CuPy array.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

import numpy as np

from gasla.arrays import current_device, require_gpu

Array = np.ndarray[Any, Any]

# flags of CUDA's function cudaHostAlloc: memory that is locked for all GPUs, and that kernels can address
_PORTABLE, _MAPPED = 1, 2
# Sizes are rounded up to this number of bytes, because kernels load aligned groups of entries, and the last group may
# reach beyond the end of the array.
_UNIT = 512
_NO_MEMORY = 2  # the number of CUDA's error "out of memory", cudaErrorMemoryAllocation
# in a context with several GPUs, a function set by `counting` that returns the free bytes; otherwise None
_free_on_several_gpus: ContextVar[Callable[[], int] | None] = ContextVar("of_several", default=None)
_views: weakref.WeakValueDictionary[tuple[Any, ...], Any] = weakref.WeakValueDictionary()


class PinnedBytes:
    """A block of page-locked host memory, which is freed when no array uses it any more. NumPy can make an array of it.

    NumPy reads its `__array_interface__`.

    CuPy's pool of such memory is not used: it rounds sizes up to powers of two, and never returns memory.

    Raises
    ------
    MemoryError
        If the system has no more memory that it can lock.
    """

    def __init__(self, size: int) -> None:
        runtime: Any = require_gpu().cuda.runtime
        self.size = size
        try:
            self.address = int(runtime.hostAlloc(max(1, -(-size // _UNIT)) * _UNIT, _PORTABLE | _MAPPED))
        except runtime.CUDARuntimeError as error:
            if error.status != _NO_MEMORY:
                raise
            raise MemoryError(
                f"{size:,} bytes of page-locked host memory can't be allocated; a graph with stream=True keeps its "
                "neighbor lists there: free some memory, or raise the limit of the system (ulimit -l, a container's)"
            ) from None
        weakref.finalize(self, _free, self.address).atexit = False

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {"shape": (self.size,), "typestr": "|u1", "data": (self.address, False), "version": 3}


def _free(address: int) -> None:
    """Free a block of page-locked memory at an address, once all kernels that may read the block have ended.

    Errors are ignored: in a forked process, or at the end of a process, CUDA can't be called.
    """
    with suppress(Exception):
        runtime: Any = require_gpu().cuda.runtime
        runtime.deviceSynchronize()
        runtime.freeHost(address)


def pinned(array: Array, dtype: Any = None) -> Array:
    """Return an array in page-locked memory, converted to `dtype`. It is copied unless it is such an array already."""
    dtype_wanted = array.dtype if dtype is None else np.dtype(dtype)
    if _memory_of(array) is not None and array.dtype == dtype_wanted and array.flags.c_contiguous:
        return array
    copy = pinned_empty(array.size, dtype_wanted).reshape(array.shape)
    copy[...] = array
    return copy


def pinned_empty(count: int, dtype: Any) -> Array:
    """Return a new, uninitialized array of `count` entries in page-locked memory."""
    item_type = np.dtype(dtype)
    return np.asarray(PinnedBytes(count * item_type.itemsize)).view(item_type)


def mapped(array: Array) -> Any:
    """Return a CuPy array that shares the memory of a NumPy array made by `pinned`.

    While this CuPy array is in use, further calls return the same object, as callers compare arrays by `is`.
    """
    cupy: Any = require_gpu()
    memory = _memory_of(array)
    assert memory is not None
    if array.size == 0:
        return cupy.empty(array.shape, array.dtype)
    key = array.ctypes.data, array.shape, array.dtype, current_device()
    view = _views.get(key)
    if view is None:
        whole = cupy.cuda.UnownedMemory(memory.address, memory.size, memory, current_device())
        place = cupy.cuda.MemoryPointer(whole, array.ctypes.data - memory.address)
        view = _views.setdefault(key, cupy.ndarray(array.shape, array.dtype, place))
    return view


def on_host(array: Any) -> Array | None:
    """Return the NumPy array that shares the memory of a `mapped` CuPy array, or None for an array in GPU memory."""
    if isinstance(array, np.ndarray):
        return array
    if array.size == 0:
        return np.empty(array.shape, array.dtype)
    memory = getattr(array.data.mem, "_owner", None)
    if not isinstance(memory, PinnedBytes) or not array.flags.c_contiguous:
        return None
    first = array.data.ptr - memory.address
    view: Array = np.asarray(memory)[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    return view


def _memory_of(array: Any) -> PinnedBytes | None:
    """Return the page-locked memory that a NumPy array is in, or None if it is in ordinary memory."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array if isinstance(array, PinnedBytes) else None


def free_bytes() -> int:
    """Return the number of bytes of GPU memory that CuPy can still allocate.

    CuPy's memory pool may have a limit (`CUPY_GPU_MEMORY_LIMIT`), which counts.
    """
    cupy: Any = require_gpu()
    if (of_several := _free_on_several_gpus.get()) is not None:
        return of_several()
    pool = cupy.get_default_memory_pool()
    free = int(cupy.cuda.runtime.memGetInfo()[0] + pool.free_bytes())
    return min(free, pool.get_limit() - pool.used_bytes()) if pool.get_limit() else free


@contextmanager
def counting(free: Callable[[], int]) -> Iterator[None]:
    """Make `free_bytes` call the function `free` within the block, whose arrays are spread over several GPUs."""
    token = _free_on_several_gpus.set(free)
    try:
        yield
    finally:
        _free_on_several_gpus.reset(token)


def cards() -> int:
    """Return the number of GPUs."""
    return int(require_gpu().cuda.runtime.getDeviceCount())
