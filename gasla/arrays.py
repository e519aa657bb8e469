"""Functions for arrays of NumPy (on the CPU) or CuPy (on the GPU): conversion, copies, and some operations.

CuPy is imported only if one of its arrays is passed, or a GPU is requested.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from threading import Lock
from types import ModuleType
from typing import Any, Literal

import numpy as np

from semirings import VectorType, as_type, cast
from semirings.ufuncs import Computed

Device = Literal["cpu", "gpu"]
_HALF = np.dtype(np.float16)
CPU_OF_DLPACK = 1  # the number that DLPack's enumeration of device types gives the CPU (kDLCPU)


def array_module(x: Any) -> ModuleType:
    """Return the array module of an array: CuPy for CuPy's arrays and sparse matrices, NumPy for anything else.

    Examples
    --------
    >>> array_module([1, 2]).__name__
    'numpy'
    """
    if isinstance(x, np.ndarray) or type(x).__module__.partition(".")[0] not in ("cupy", "cupyx"):
        return np
    import cupy

    return cupy


def device_of(x: Any) -> Device:
    """Return the device of an array: "gpu" for CuPy's arrays, "cpu" for anything else.

    Examples
    --------
    >>> device_of([1, 2])
    'cpu'
    """
    return "cpu" if isinstance(x, np.ndarray) or array_module(x) is np else "gpu"


def module_of(device: Device) -> ModuleType:
    """Return the array module of a device: NumPy or CuPy."""
    return np if device == "cpu" else require_gpu()


def imported(x: Any) -> Any:
    """View an array of another library, such as a tensor of PyTorch or JAX, as an array of NumPy or CuPy.

    Arrays of other libraries are read by DLPack. Anything else comes back as it is. Raises ValueError for masked
    entries, which NumPy would take for valid ones.

    Examples
    --------
    >>> imported([1, 2])
    [1, 2]
    """
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        count = int(np.ma.count_masked(x))
        raise ValueError(
            f"got an array with {count} masked entries; expected none: x.filled(value) replaces them, "
            "x.compressed() drops them"
        )
    if isinstance(x, np.ndarray) or not hasattr(x, "__dlpack__") or array_module(x) is not np:
        return x
    x = x.detach() if hasattr(x, "detach") else x  # DLPack does not accept tensors that require gradients
    try:
        if x.__dlpack_device__()[0] == CPU_OF_DLPACK:
            return np.from_dlpack(x)
        return require_gpu().from_dlpack(x)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise TypeError(
            f"got a {type(x).__module__}.{type(x).__name__} of {getattr(x, 'dtype', 'no type')}, which can't be read "
            f"by DLPack: {error}; expected a dense array of a type that NumPy has"
        ) from None


def moved(x: Any, device: Device) -> Any:
    """Return the array `x` on a device, "cpu" or "gpu". It is copied if it is on the other device."""
    if device_of(x) == device:
        return x
    return x.get() if device == "cpu" else require_gpu().asarray(x, blocking=True)


def here(x: Any, device: Device) -> Any:
    """Return the array `x` on a device. If the device is "gpu" and there are several GPUs, the result is on the current
    GPU.

    An array that is somewhere else is copied.
    """
    if device == "cpu" or device_of(x) == "cpu":
        return moved(x, device)
    # `copy` makes the copy on the current GPU
    return x if x.device.id == array_module(x).cuda.Device().id else x.copy()


def index_dtype(largest: int) -> np.dtype[Any]:
    """Return the integer type for indices up to `largest`: int32 if that is enough, otherwise int64.

    Examples
    --------
    >>> index_dtype(100)
    dtype('int32')
    """
    return np.dtype(np.int32 if largest < 2**31 else np.int64)


def converted(array: Any, dtype: np.dtype[Any]) -> Any:
    """Return an array converted to another type. An array that has this type already is not copied.

    CuPy's conversions of float16 need headers of the CUDA toolkit, which may be missing. Kernels with PTX instructions
    are used in their place.
    """
    if array.dtype == dtype or _HALF not in (array.dtype, dtype) or array_module(array) is np:
        return array.astype(dtype, copy=False)
    to_half, widened_half = _half_kernels()
    return (
        to_half(array).view(_HALF) if dtype == _HALF else widened_half(array.view(np.uint16)).astype(dtype, copy=False)
    )


def as_bits(array: Any) -> Any:
    """Return an array in a form that CuPy can copy without headers of the CUDA toolkit: float16 is viewed as uint16."""
    return array.view(np.uint16) if array.dtype == _HALF else array


@cache
def _half_kernels() -> tuple[Any, Any]:
    """Return two CuPy kernels: one converts numbers of any type to the 16 bits of a float16, the other converts these
    bits to float32.
    """
    cupy: Any = require_gpu()
    to_half = 'asm("cvt.rn.f16.f64 %0, %1;" : "=h"(y) : "d"((double)x))'
    widened_half = 'asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x))'
    return (
        cupy.ElementwiseKernel("T x", "uint16 y", to_half, "gasla_to_half"),
        cupy.ElementwiseKernel("uint16 x", "float32 y", widened_half, "gasla_from_half"),
    )


def address(array: Any) -> int:
    """Return the memory address of an array's first entry."""
    return int(array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr)


def fills(device: Device, vertices: float) -> bool:
    """Return whether an iteration over this many vertices has enough work for all threads of a device.

    With fewer vertices, threads would mostly wait for each other at barriers.
    """
    return vertices >= {"cpu": 1 << 4, "gpu": 1 << 14}[device]


def finish(device: Device) -> None:
    """Wait until the work on the GPU's current stream is done. On the CPU there is nothing to wait for."""
    if device == "gpu":
        require_gpu().cuda.get_current_stream().synchronize()


# CuPy tells a thread that there is no GPU while another thread asks CuPy for the first time. With this lock, one thread
# asks after the other.
_first_look = Lock()


@cache  # `cache` does not store the error that this raises, so CuPy may be installed later in the same process
def require_gpu() -> ModuleType:
    """Return CuPy. If CuPy or a GPU is missing, raise a RuntimeError that says what to install."""
    try:
        import cupy
    except ImportError:
        raise RuntimeError(
            "the GPU needs CuPy, which is not installed: pip install gasla[cuda12], or gasla[cuda13]"
        ) from None
    with _first_look:
        is_there = cupy.cuda.is_available()
    if not is_there:
        raise RuntimeError(
            "CuPy found no NVIDIA GPU; if there is one, its driver may be older than this CuPy needs: "
            "pip install gasla[cuda12], or gasla[cuda13]"
        )
    from gasla import cubins

    cubins.lend(cupy)
    return cupy


def current_device() -> int:
    """Return the index of the current GPU."""
    # with one GPU the answer is known, and asking CUDA would take as long as an allocation of memory
    if not _are_several():
        return 0
    import cupy

    return int(cupy.cuda.runtime.getDevice())


@cache
def _are_several() -> bool:
    import cupy

    return bool(cupy.cuda.runtime.getDeviceCount() > 1)


def words_of(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split a contiguous array into the two arguments of `checksum`: a matrix of 64-bit words, and the bytes after the
    last row.

    The matrix has an odd number of rows. With an even number, a top bit that all words have in common, such as the sign
    of negative numbers, would cancel in the column sums.
    """
    all_bytes = values.view(np.uint8)
    rows = len(all_bytes) // (8 * _SUMS)
    rows = 0 if rows < 5 else rows - 1 + rows % 2
    size = rows * 8 * _SUMS
    return all_bytes[:size].view(np.uint64).reshape(rows, _SUMS), all_bytes[size:]


def checksum(words: np.ndarray, rest: np.ndarray) -> tuple[bytes, bytes]:
    """Return a checksum that reveals whether an array was written to: the sum of each column of the matrix `words`, and
    the bytes `rest`.

    It takes one pass over the array, at the speed of memory. A swap of two words in the same column is not noticed.
    """
    return np.add.reduce(words, axis=0).tobytes() if len(words) else b"", rest.tobytes()


_SUMS = 509


def running_sums(counts: Any) -> Any:
    """Return the offset at which each of several lists begins if they are stored one after the other, given their
    lengths.

    The result is int64: 0, followed by the cumulative sums of the lengths.
    """
    xp: Any = array_module(counts)
    sums = xp.zeros(len(counts) + 1, np.int64)
    if len(counts):  # CuPy's cumsum fails for empty arrays, whose only offset is the 0 above
        xp.cumsum(counts, out=sums[1:])
    return sums


def shares(costs: Any, most: int) -> Iterator[slice]:
    """Split a sequence of items into slices of about equal cost, and yield the slices. No slice is empty.

    `costs` has the cost of each item. The costs of the items in a slice add up to about `most`.
    """
    xp, sums = array_module(costs), running_sums(costs)
    cut_positions = xp.searchsorted(sums, xp.arange(most, int(sums[-1]) + 1, most), side="right") - 1
    bounds = [0, *cut_positions.tolist(), len(costs)]
    yield from (slice(first, last) for first, last in pairwise(sorted(set(bounds))))


def distinct(x: Any) -> Any:
    """Return the distinct numbers of an array in ascending order, with NaN only once.

    Columns of distributed tables work, too.

    NumPy's `unique` hashes from version 2.3 on, which takes 30 times as long as a sort for many distinct numbers.

    Examples
    --------
    >>> distinct(np.array([3, 1, 3]))
    array([1, 3])
    """
    xp: Any = array_module(x)
    if not isinstance(x, xp.ndarray):
        return np.unique(x)
    x = xp.sort(x)
    differs = x[1:] != x[:-1]
    if x.dtype.kind == "f":
        differs &= x[:-1] == x[:-1]
    return x[xp.concatenate([xp.ones(min(len(x), 1), bool), differs])]


def any_true(flags: Any) -> bool:
    """Return whether any entry of a boolean array is True, computed as the array's maximum.

    Computed as a maximum: CuPy's `any` compiles CUB on first use, which takes seconds.
    """
    return bool(flags.size and flags.view(np.uint8).max())


class Values(Computed):
    """An array of values of vertices or edges, as it is passed to the functions of a vertex program.

    Vertices or edges are along the last axis. If each has a vector as value, the items of the vectors are along the
    first axis.

    Any other one-dimensional array in an expression is a constant vector: it is broadcast as a column, over the items
    and not over the vertices, as in compiled code.
    """

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if any(isinstance(x, np.ndarray) and type(x) not in (np.ndarray, Values) for x in inputs):
            # NotImplemented makes NumPy ask the other operand, a `semirings.where` of Python numbers, which adapts the
            # type of its numbers to these values
            return NotImplemented
        plain = [_as_plain_array(column(x) if method == "__call__" else x) for x in inputs]
        if "out" in options:
            options["out"] = tuple(None if x is None else np.asarray(x) for x in options["out"])
        return as_values(getattr(ufunc, method)(*plain, **options))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.where:
            args = tuple(map(column, args))
        return as_values(super().__array_function__(function, (), args, kwargs))

    def astype(self, dtype: Any, *_: Any, **__: Any) -> Any:
        """Return the values converted to another type. A float that is out of range becomes the nearest integer.

        The type may also be float16, in which initial values of fields may be given.
        """
        if not isinstance(dtype, VectorType) and np.dtype(dtype) == _HALF:
            return as_values(self.view(np.ndarray).astype(_HALF))
        kind = as_type(dtype)
        return as_values(cast(self if isinstance(kind, VectorType) else self.view(np.ndarray), kind))


def as_values(x: Any) -> Any:
    """Return an array as `Values`. A tuple is returned with its arrays as `Values`, and anything else unchanged."""
    if isinstance(x, tuple):
        return x._make(map(as_values, x)) if hasattr(x, "_make") else tuple(map(as_values, x))
    return x.view(Values) if type(x) is np.ndarray and x.ndim else x


def _as_plain_array(x: Any) -> Any:
    """Return `Values` as a plain NumPy array. Anything else, such as a Python number, is returned unchanged.

    NumPy adapts Python numbers to the type of the other operand.
    """
    return np.asarray(x) if isinstance(x, np.ndarray) else x


def column(x: Any) -> Any:
    """Return a constant vector as a column, to be broadcast over vertices. Any other value is returned unchanged."""
    return x[:, np.newaxis] if getattr(x, "of", type(x)) is np.ndarray and x.ndim == 1 else x


def with_bits_of_numbers(values: Any) -> Any:
    """Return an array in which equal numbers have equal bits: -0.0 becomes 0.0, and every NaN the same NaN.

    If nothing changes, the array itself is returned.

    Examples
    --------
    >>> with_bits_of_numbers(np.array([-0.0, 1.0])).tolist()
    [0.0, 1.0]
    """
    xp = array_module(values)
    if values.dtype.kind != "f":
        return values
    is_zero, is_nan = xp.equal(values, 0), xp.isnan(values)
    if not any_true(is_nan) and not any_true(xp.logical_and(is_zero, xp.signbit(values))):
        return values
    return xp.where(is_nan, xp.nan, xp.where(is_zero, 0.0, values)).astype(values.dtype, copy=False)
