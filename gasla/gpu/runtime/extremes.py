"""The least and the largest of an array on the GPU: one kernel and one wait, where two reductions of CuPy take two."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from gasla.gpu.runtime.compile import Kernel, device, multiprocessors
from semirings.printers.cuda import ctype

_THREADS, _EACH = 256, 16  # values for a thread, at least
_SIGN = np.uint64(1 << 63)
_SOURCE = """
#include "extremes.cuh"
extern "C" __global__ void find_extremes(const {type}* values, gasla::u64 count, gasla::Extremes* found) {{
    gasla::find_extremes(values, count, found);
}}
"""


def find_extremes(values: Any) -> tuple[Any, Any]:
    """The least and the largest of some values, as NumPy scalars; both NaN if any is."""
    import cupy

    kind, held = values.dtype, values.astype(np.float32) if values.dtype == np.float16 else values
    found, count = cupy.zeros(3, np.uint64), len(values)
    blocks = max(1, min(-(-count // (_THREADS * _EACH)), 8 * multiprocessors()))
    _kernel(held.dtype, device()).plain(blocks, cupy.ascontiguousarray(held), np.uint64(count), found)
    return values_of(found.get(), kind)


def values_of(found: np.ndarray[Any, Any], kind: np.dtype[Any]) -> tuple[Any, Any]:
    """The least and the largest value, as the kernel leaves them."""
    below, above, is_unordered = found
    if is_unordered:
        return kind.type(np.nan), kind.type(np.nan)
    return kind.type(_value(~below, kind)), kind.type(_value(above, kind))


def source(kind: np.dtype[Any]) -> str:
    """CUDA source of the kernel for values of a type."""
    return _SOURCE.format(type=ctype(kind))


def _value(word: np.uint64, kind: np.dtype[Any]) -> Any:
    """Of which value a word is, as extremes.cuh has them in order."""
    if kind.kind == "u":
        return word
    if kind.kind == "i":
        return (word ^ _SIGN).view(np.int64)
    return (word ^ _SIGN if word & _SIGN else ~word).view(np.float64)  # of a bool, too


@cache
def _kernel(kind: np.dtype[Any], device: int) -> Kernel:
    return Kernel(source(kind), "find_extremes", _THREADS)
