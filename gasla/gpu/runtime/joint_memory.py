"""Memory of several GPUs under consecutive addresses, so that a kernel on each GPU reads and writes all of it.

Kernels reach the part that another GPU holds over NVLink or PCIe, at that link's speed. The CUDA driver's `cuMemMap`
maps physical memory of each GPU into one range of addresses. Neither CuPy nor the CUDA runtime offers this.
"""

import ctypes
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from gasla.arrays import require_gpu
from gasla.host_memory import counting

UNIT = 2 << 20  # smallest size in bytes of memory that the driver maps; all sizes are multiples of it
# the driver's numbers of CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE and
# CU_MEM_ACCESS_FLAGS_PROT_READWRITE
PINNED, DEVICE, READ_WRITE = 1, 1, 3
OUT_OF_MEMORY = 2  # number of the driver's error CUDA_ERROR_OUT_OF_MEMORY
MAPS_MEMORY = 102  # number of the attribute CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
_held = Counter[int]()  # bytes of memory that this module has allocated, by the number of the GPU
_counting = threading.Lock()
# In a thread inside `freeing_later`, the attribute `later` has the ranges of addresses to free at the end of that
# block.
_thread_state = threading.local()


class _Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _Properties(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int),
        ("handles", ctypes.c_int),
        ("location", _Location),
        ("windows", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


class _Access(ctypes.Structure):
    _fields_ = (("location", _Location), ("flags", ctypes.c_int))


@cache
def _driver() -> Any:
    return ctypes.CDLL("libcuda.so.1")


def _call(name: str, *arguments: Any) -> None:
    """Call a function of the CUDA driver by its name. Raise MemoryError if memory is short, or RuntimeError for an
    error.
    """
    status = getattr(_driver(), name)(*arguments)
    if status == OUT_OF_MEMORY:
        raise MemoryError("the GPUs have no room left for an array that is spread over them")
    if status:
        raise RuntimeError(f"{name} failed with error {status} of the CUDA driver")


def can_map(cards: Sequence[int]) -> bool:
    """Return whether the CUDA driver can map memory of these GPUs, which `spread_array` needs."""
    try:
        for card in sorted(set(cards)):
            device, is_supported = ctypes.c_int(), ctypes.c_int()
            _call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(card))
            _call("cuDeviceGetAttribute", ctypes.byref(is_supported), ctypes.c_int(MAPS_MEMORY), device)
            if not is_supported.value:
                return False
        return hasattr(_driver(), "cuMemAddressReserve")
    except (OSError, RuntimeError):  # there is no CUDA driver, or it is too old to know the attribute
        return False


class _Joint:
    """A range of addresses over the memory of several GPUs, of which each GPU holds a part.

    The memory is freed when the last array in the range is gone and all kernels that may use it have ended.
    """

    def __init__(self, sizes: Sequence[int], cards: Sequence[int]) -> None:
        ends = [0, *(-(-int(end) // UNIT) * UNIT for end in np.cumsum(sizes))]
        self.size, address = max(ends[-1], UNIT), ctypes.c_uint64()
        ends[-1] = self.size
        _call(
            "cuMemAddressReserve", ctypes.byref(address), ctypes.c_size_t(self.size), ctypes.c_size_t(0), *[_ZERO] * 2
        )
        self.address, mapped = int(address.value), list[tuple[int, int, int]]()
        try:
            for (first, last), card in zip(pairwise(ends), cards, strict=True):
                if last > first:
                    self._map(self.address + first, last - first, card)
                    mapped.append((self.address + first, last - first, card))
            access = (_Access * len(set(cards)))()
            for entry, card in zip(access, sorted(set(cards)), strict=True):
                entry.location, entry.flags = _Location(DEVICE, card), READ_WRITE
            _call("cuMemSetAccess", address, ctypes.c_size_t(self.size), access, ctypes.c_size_t(len(access)))
        except BaseException:
            _free(self.address, self.size, mapped, cards)
            raise
        weakref.finalize(self, _free, self.address, self.size, mapped, cards).atexit = False

    def _map(self, address: int, size: int, card: int) -> None:
        handle = ctypes.c_uint64()
        properties = _Properties(PINNED, 0, _Location(DEVICE, card))
        arguments = ctypes.byref(handle), ctypes.c_size_t(size), ctypes.byref(properties), _ZERO
        try:
            _call("cuMemCreate", *arguments)
        except MemoryError:
            free_blocks([card])
            _call("cuMemCreate", *arguments)
        try:
            _call("cuMemMap", ctypes.c_uint64(address), ctypes.c_size_t(size), ctypes.c_size_t(0), handle, _ZERO)
        finally:
            _call("cuMemRelease", handle)  # the driver frees the memory only once it is no longer mapped
        with _counting:
            _held[card] += size

    def on(self, card: int) -> Any:
        """Return CuPy's pointer to the memory that is spread over several GPUs, for arrays of the GPU `card`."""
        cuda = require_gpu().cuda
        return cuda.MemoryPointer(cuda.UnownedMemory(self.address, self.size, self, card), 0)


_ZERO = ctypes.c_uint64(0)


@contextmanager
def freeing_later() -> Iterator[None]:
    """Postpone the freeing of memory in this thread to the end of the `with` block.

    Freeing memory waits for the kernels that may use it. Inside the block, such a kernel may itself wait for another
    kernel, which this thread has not launched yet. Without the delay, neither would ever end.
    """
    outer = getattr(_thread_state, "later", None)
    later: list[tuple[int, int, Sequence[tuple[int, int, int]], Sequence[int]]] = []
    _thread_state.later = later
    try:
        yield
    finally:
        _thread_state.later = outer
        for freed in later:
            _free(*freed)


def _free(address: int, size: int, mapped: Sequence[tuple[int, int, int]], cards: Sequence[int]) -> None:
    """Free memory that is spread over several GPUs, after the kernels that may use it have ended.

    This waits for all GPUs in `cards`, also those that hold no part of the memory. In a `freeing_later` block, the
    range of addresses is only recorded, and freed at the end of the block.
    """
    if (later := getattr(_thread_state, "later", None)) is not None:
        later.append((address, size, mapped, cards))
        return
    with suppress(Exception):
        cuda = require_gpu().cuda
        for card in sorted(set(cards)):
            with cuda.Device(card):
                cuda.runtime.deviceSynchronize()
        for start, length, card in mapped:
            _call("cuMemUnmap", ctypes.c_uint64(start), ctypes.c_size_t(length))
            with _counting:
                _held[card] -= length
        _call("cuMemAddressFree", ctypes.c_uint64(address), ctypes.c_size_t(size))


def spread_array(counts: Sequence[int], cards: Sequence[int], kind: Any) -> list[Any]:
    """Allocate one array over several GPUs, in which each GPU holds a part, with as many entries as `counts` says.

    Return a CuPy array for each GPU, by which the GPU's kernels access the whole array. All of them are the same
    memory.
    """
    cupy: Any = require_gpu()
    kind = np.dtype(kind)
    sizes = [int(count) * kind.itemsize for count in counts]
    require_room(sizes, cards)
    joint = _Joint(sizes, cards)
    return [cupy.ndarray(int(sum(counts)), kind, joint.on(card)) for card in cards]


@contextmanager
def spreading(cards: Sequence[int], least: int, free: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Spread the arrays that CuPy allocates in this thread evenly over several GPUs, in a `with` block.

    Arrays of less than `least` bytes stay on the current GPU. If memory is too short for an array, `free` is called,
    which frees memory that is cached for later calls, and the allocation is tried again.
    """
    cupy: Any = require_gpu()
    device, pool = cupy.cuda.Device().id, cupy.get_default_memory_pool()
    pool_malloc = pool.malloc

    def allocate(size: int) -> Any:
        try:
            return allocate_at_once(size)
        except MemoryError:
            # The second attempt is made outside this block, where the error no longer refers to arrays that could be
            # freed.
            pass
        free()
        return allocate_at_once(size)

    def allocate_at_once(size: int) -> Any:
        if size < max(least, UNIT * len(cards)):
            # The pool checks its limit against its own memory only, so memory that this module has allocated is counted
            # here.
            if pool.get_limit():
                require_room([size], [device])
            try:
                return pool_malloc(size)
            # The pool's limit also counts blocks that no array uses, so these blocks are freed before a second attempt.
            except MemoryError:
                free_blocks([device])
                return pool_malloc(size)
        sizes = [size * (i + 1) // len(cards) - size * i // len(cards) for i in range(len(cards))]
        require_room(sizes, cards)
        return _Joint(sizes, cards).on(device)

    with cupy.cuda.using_allocator(allocate), counting(lambda: min(map(room, cards)) * len(cards)):
        yield


def free_blocks(cards: Sequence[int]) -> None:
    """Free the memory that CuPy keeps for later arrays on the GPUs `cards`, so that other allocations can have it."""
    cupy: Any = require_gpu()
    for card in sorted(set(cards)):
        with cupy.cuda.Device(card):
            cupy.get_default_memory_pool().free_all_blocks()


def require_room(sizes: Sequence[int], cards: Sequence[int]) -> None:
    """Raise MemoryError if any of the GPUs `cards` has less free memory than the number of bytes for it in `sizes`."""
    for card, size in zip(cards, sizes, strict=True):
        if size > (free := room(card)):
            raise MemoryError(f"card {card} has {free:,} bytes left for an array over several; expected {size:,}")


def room(card: int) -> int:
    """Return how many bytes can still be allocated on a GPU, within the limit of CuPy's memory pool if one is set."""
    cupy: Any = require_gpu()
    with cupy.cuda.Device(card):
        pool = cupy.get_default_memory_pool()
        free = int(cupy.cuda.runtime.memGetInfo()[0] + pool.free_bytes())
        return min(free, pool.get_limit() - pool.used_bytes() - _held[card]) if pool.get_limit() else free
