"""Finds the smallest value, the largest value and a checksum of an array on the GPU, or the sum of integers.

A result takes one launch and one wait. With CuPy, the smallest and the largest value alone would take two launches and
two waits. For a sum, CuPy would compile CUB, which takes seconds.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import current_device
from gasla.gpu.runtime.compile import kernel, multiprocessors
from gasla.gpu.runtime.waiting import wait
from semirings.printers.cuda import ctype

_THREADS, _VALUES_PER_THREAD = 256, 4  # threads per block, and the smallest number of values per thread
_WORDS = 5  # number of 64-bit words in the struct `MinMax`
_SOURCE = """
#include "min_max.cuh"
extern "C" __global__ void min_max(
    const {type}* values, gasla::u64 count, gasla::MinMax* found, gasla::MinMaxPage* page, gasla::u32 launch
) {{
    gasla::min_max(values, count, found, page, launch);
}}
"""
_SOURCE_OF_TOTALS = """
#include "min_max.cuh"
extern "C" __global__ void total(
    const {type}* values, gasla::u64 count, gasla::MinMax* found, gasla::MinMaxPage* page, gasla::u32 launch,
    int magnitudes
) {{
    gasla::total(values, count, found, page, launch, magnitudes);
}}
"""


class Page(ctypes.Structure):
    """Pinned host memory to which a kernel writes the sum, or the smallest and largest value, of an array.

    The struct is `MinMaxPage` in min_max.cuh.
    """

    _fields_ = [
        ("below", ctypes.c_uint64),
        ("above", ctypes.c_uint64),
        ("checksum", ctypes.c_uint64),
        ("unordered", ctypes.c_uint32),
        ("ended", ctypes.c_uint32),
    ]


class Summary(NamedTuple):
    """The smallest and the largest value of an array, as NumPy scalars, and a checksum of all values.

    The smallest and the largest value are NaN if any value is NaN.
    """

    least: Any
    largest: Any
    checksum: int


class _Place:
    """The memory by which kernels that reduce an array return their result, for the launches of one thread on one
    stream.

    It has a page of host memory, words in device memory, and the number of the last launch. Launches on a stream run
    one after the other. So they can all use the same memory, even if the wait for one of them was interrupted.
    """

    def __init__(self) -> None:
        import cupy

        self.words = cupy.zeros(_WORDS, np.uint64)
        self.pinned = cupy.cuda.alloc_pinned_memory(ctypes.sizeof(Page))
        self.address = np.uint64(self.pinned.ptr)
        self.page = Page.from_address(self.pinned.ptr)
        self.page.ended = self.launch = 0


class _ThreadPlaces(threading.local):
    def __init__(self) -> None:
        self.places: dict[tuple[int, int], _Place] = {}


_thread = _ThreadPlaces()


def summary(values: Any) -> Summary:
    """Return the smallest value, the largest value and a checksum of a GPU array that is not empty."""
    converted = values.astype(np.float32) if values.dtype == np.float16 else values
    return summary_of(_reduce(converted, "min_max", source(converted.dtype)), values.dtype)


def total(values: Any, magnitudes: bool = False) -> int:
    """Return the exact sum of a GPU array of integers or bool. With `magnitudes`, return the sum of their absolute
    values.
    """
    page = _reduce(values, "total", source_of_totals(values.dtype), np.int32(magnitudes))
    return total_of(page, is_signed=values.dtype.kind == "i" and not magnitudes)


def total_of(page: Page, is_signed: bool) -> int:
    """Return the sum that a kernel has written to host memory, a `Page`, as a Python int."""
    above = page.above - 2**64 if is_signed and page.above >= 2**63 else page.above
    return int((above << 32) + page.below)


def _reduce(values: Any, function: str, source: str, *more: Any) -> Page:
    """Launch a kernel that reduces an array, such as to its sum, and wait for the kernel.

    `function` is the name of the kernel in the CUDA source, and `more` are further arguments. Return the host memory to
    which the kernel has written the result.
    """
    import cupy

    key = current_device(), cupy.cuda.get_current_stream().ptr
    resources = _thread.places.get(key)
    if resources is None:
        resources = _thread.places[key] = _Place()
    resources.launch = (resources.launch + 1) % 2**32
    count = len(values)
    blocks = max(1, min(-(-count // (_THREADS * _VALUES_PER_THREAD)), 8 * multiprocessors()))
    kernel(source, function, _THREADS).plain(
        blocks,
        cupy.ascontiguousarray(values),
        np.uint64(count),
        resources.words,
        resources.address,
        np.uint32(resources.launch),
        *more,
    )
    wait(resources.page, resources.launch)
    return resources.page


def summary_of(page: Page, dtype: np.dtype[Any]) -> Summary:
    """Return the smallest value, the largest value and the checksum that a kernel has written to host memory, a `Page`.

    The two values are converted to NumPy scalars of a dtype.
    """
    if page.unordered:
        return Summary(dtype.type(np.nan), dtype.type(np.nan), page.checksum)
    bits = 64 if dtype.itemsize == 8 else 32
    least, largest = (dtype.type(_value(word, bits, dtype)) for word in (~page.below % 2**bits, page.above))
    return Summary(least, largest, page.checksum)


@functools.cache
def source(dtype: np.dtype[Any]) -> str:
    """Return the CUDA source of the kernel that finds the smallest and the largest value of an array of a dtype."""
    return _SOURCE.format(type=ctype(dtype))


@functools.cache
def source_of_totals(dtype: np.dtype[Any]) -> str:
    """Return the CUDA source of the kernel that adds up an array of integers of a dtype."""
    return _SOURCE_OF_TOTALS.format(type=ctype(dtype))


def _value(word: int, bits: int, dtype: np.dtype[Any]) -> Any:
    """Return the number that a kernel has encoded as an unsigned integer, as the inverse of `word_of` in min_max.cuh.

    The encoding keeps the order of numbers, so that kernels can compare the unsigned integers instead.
    """
    sign = 1 << bits - 1
    if dtype.kind in "bu":
        return word
    if dtype.kind == "i":
        return word - sign
    bits_of_value = word ^ sign if word & sign else ~word % 2**bits
    return np.uint64(bits_of_value).view(np.float64) if bits == 64 else np.uint32(bits_of_value).view(np.float32)
