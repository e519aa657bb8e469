"""Casts of NumPy values with one meaning everywhere: as ``astype``, except that float to integer saturates."""

from __future__ import annotations

from typing import Any

import numpy as np


def cast_array(value: Any, dtype: np.dtype[Any]) -> Any:
    """
    Cast a NumPy array or scalar to `dtype`.

    Integers wrap; a float that does not fit an integer becomes the nearest integer that does, NaN becomes 0.

    Examples
    --------
    >>> cast_array(np.array([1.9, -1e9, np.inf, np.nan]), np.dtype(np.int8))
    array([   1, -128,  127,    0], dtype=int8)
    """
    array = np.asarray(value)
    if array.dtype.kind == "f" and dtype.kind in "iu":
        array = _saturate(array, dtype)
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            array = array.astype(dtype, copy=False)
    return array if isinstance(value, np.ndarray) else array[()]


def _saturate(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Round towards zero, then clamp: 2**bits and -2**bits are exact floats, the largest integer may not be."""
    limits = np.iinfo(dtype)
    below = array < float(limits.min)
    above = array >= float(limits.max + 1)
    inside = ~(below | above | np.isnan(array))
    result = np.where(inside, array, 0).astype(dtype)
    return np.where(above, dtype.type(limits.max), np.where(below, dtype.type(limits.min), result))
