"""Functions of the kernel language that Python lacks: atomics, single instructions, and calls of the system."""

# mypy: disable-error-code="no-untyped-def"
import ctypes
import time

import numpy as np

from gasla.compiler.builtin import BUILTINS
from gasla.compiler.emit import Extern
from gasla.compiler.function import Compiled
from gasla.compiler.kernel_types import I32, I64, NONE, NUMBERS
from gasla.compiler.system import has

# Atomic operations, named by the memory order that they ensure. The page docs/cpu-engine.md says where each order is
# used.
load_unordered, load_relaxed, load_acquire = (
    BUILTINS[f"load_{order}"] for order in ("unordered", "relaxed", "acquire")
)
store_unordered, store_relaxed, store_release = (
    BUILTINS[f"store_{order}"] for order in ("unordered", "relaxed", "release")
)
fetch_add_relaxed, fetch_add_acq_rel = (BUILTINS[name] for name in ("fetch_add_relaxed", "fetch_add_acq_rel"))
fetch_or_relaxed, fetch_or_release = (BUILTINS[name] for name in ("fetch_or_relaxed", "fetch_or_release"))
fetch_and_relaxed, fetch_and_acquire = (BUILTINS[name] for name in ("fetch_and_relaxed", "fetch_and_acquire"))
compare_and_swap_relaxed, compare_and_swap_acquire, compare_and_swap_release, compare_and_swap_acq_rel = (
    BUILTINS[f"compare_and_swap_{order}"] for order in ("relaxed", "acquire", "release", "acq_rel")
)
words_at, call, prefetch, pause = (BUILTINS[name] for name in ("words_at", "call", "prefetch", "pause"))
count_trailing_zeros, count_bits, select, select_bits, float_of = (
    BUILTINS[name] for name in ("count_trailing_zeros", "count_bits", "select", "select_bits", "float_of")
)
leave, is_used = BUILTINS["leave"], BUILTINS["is_used"]
_load_vector, _store_vector, _mask_of, _splat, _bits, _local, _address, _f16 = (
    *(BUILTINS[name] for name in ("load_vector", "store_vector", "mask_of", "splat", "bits", "local", "address")),
    NUMBERS["f16"],
)

ZERO, ONE = np.uint64(0), np.uint64(1)  # vertices and positions are uint64 in kernels, so these constants are, too

# CPython exports these functions in its stable ABI, though its manual lacks them: locks that are taken without holding
# the global lock, and the identifier of a thread.
acquire_lock = Extern("PyThread_acquire_lock", I32, (I64, I32))
release_lock = Extern("PyThread_release_lock", NONE, (I64,))
# an `unsigned long` in C, which has 32 bits on Windows and 64 bits elsewhere
this_thread = Extern("PyThread_get_thread_ident", NUMBERS["u32"] if has("Sleep") else I64)


new_lock = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyThread_allocate_lock", ctypes.pythonapi))
take_lock = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)(("PyThread_acquire_lock", ctypes.pythonapi))

_clock_gettime = Extern("clock_gettime", I32, (I32, I64))
_count_ticks = Extern("QueryPerformanceCounter", I32, (I64,))
_has_clocks, _has_ticks = has("clock_gettime"), has("QueryPerformanceCounter")
# CLOCK_UPTIME_RAW exists only on macOS, where `time.perf_counter_ns` reads this clock
_CLOCK = getattr(time, "CLOCK_UPTIME_RAW", getattr(time, "CLOCK_MONOTONIC", 0))
# nanoseconds for each tick of the performance counter
_TICK = max(round(1e9 * time.get_clock_info("perf_counter").resolution), 1)


@Compiled
def read_clock(clock):
    """Return the time of a clock of the system, given by its number, in nanoseconds.

    Return 0 if the system has no function `clock_gettime`.
    """
    if not _has_clocks:
        return 0
    time = _local(np.int64, 2)
    _clock_gettime(clock, _address(time))
    return time[0] * 1_000_000_000 + time[1]


@Compiled
def now():
    """Return the time in nanoseconds, by the clock of `time.perf_counter_ns`."""
    if not _has_ticks:
        return read_clock(np.int32(_CLOCK))
    ticks = _local(np.int64, 1)
    _count_ticks(_address(ticks))
    return ticks[0] * _TICK


@Compiled
def take_marks(marks, index):
    """Return which of the 64 bytes of the array `marks` from `index` on are not 0, as the bits of a uint64.

    All these bytes are set to 0.
    """
    none = _splat(np.uint8(0), 64)
    mask = _mask_of(_load_vector(marks, index, 64) != none)
    _store_vector(marks, index, none)
    return mask


@Compiled
def widened_half(bits):
    """Convert a float16, whose bits are given as a uint16, to float32."""
    return np.float32(float_of(bits))


@Compiled
def to_half(number):
    """Round a float32 or float64 to the nearest float16, and return the bits of the result.

    A float64 is first rounded to a float32 by rounding to odd, so that rounding this once more gives the nearest
    float16. For a direct conversion, LLVM would call a library function, which may not exist.
    """
    single = np.float32(number)
    back, word = np.float64(single), _bits(single)
    is_above = _bits(back) > _bits(np.float64(number))
    other = select(is_above, word - np.uint32(1), word + np.uint32(1))
    moves = (back != np.float64(number)) & (back == back) & (word & np.uint32(1) == 0)
    return _bits(_f16(float_of(select(moves, other, word))))
