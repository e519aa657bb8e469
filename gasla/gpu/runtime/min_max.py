"""Smallest and largest value of an array on the GPU: one kernel and one wait, where CuPy's reductions need two."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.gpu.runtime.compile import kernel, multiprocessors
from semirings.printers.cuda import ctype

_THREADS, _EACH = 256, 16  # at least this many values per thread
_SIGN = np.uint64(1 << 63)
_SOURCE = """
#include "min_max.cuh"
extern "C" __global__ void min_max(const {type}* values, gasla::u64 count, gasla::MinMax* found) {{
    gasla::min_max(values, count, found);
}}
"""


def min_max(values: Any) -> tuple[Any, Any]:
    """Return the smallest and the largest value as NumPy scalars; both are NaN if any value is."""
    import cupy

    kind, held = values.dtype, values.astype(np.float32) if values.dtype == np.float16 else values
    found, count = cupy.zeros(3, np.uint64), len(values)
    blocks = max(1, min(-(-count // (_THREADS * _EACH)), 8 * multiprocessors()))
    kernel(source(held.dtype), "min_max", _THREADS).plain(blocks, cupy.ascontiguousarray(held), np.uint64(count), found)
    return values_of(found.get(), kind)


def values_of(found: np.ndarray[Any, Any], kind: np.dtype[Any]) -> tuple[Any, Any]:
    """Convert the three words that the kernel writes (`MinMax` in min_max.cuh) to NumPy scalars."""
    below, above, is_unordered = found
    if is_unordered:
        return kind.type(np.nan), kind.type(np.nan)
    return kind.type(_value(~below, kind)), kind.type(_value(above, kind))


def source(kind: np.dtype[Any]) -> str:
    """Return the CUDA source of the kernel for values of a dtype."""
    return _SOURCE.format(type=ctype(kind))


def _value(word: np.uint64, kind: np.dtype[Any]) -> Any:
    """Invert `word_of` of min_max.cuh: the value that a word stands for."""
    if kind.kind == "u":
        return word
    if kind.kind == "i":
        return (word ^ _SIGN).view(np.int64)
    return (word ^ _SIGN if word & _SIGN else ~word).view(np.float64)  # also for bool
