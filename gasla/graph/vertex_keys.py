"""Keys by which vertices are ordered: one number, date or text for each vertex.

Python compares numbers of different types exactly. An array would convert all of them to floating-point numbers, so
such keys are not put into an array.
"""

from collections.abc import Iterable, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real
from reprlib import repr as short
from typing import Any

import numpy as np

from gasla.arrays import moved

ORDERED = (Real, Decimal, str, bytes, date, time, timedelta, np.datetime64, np.timedelta64)


def ranks_of_keys(name: str, given: Any, n: int) -> np.ndarray:
    """Return the position of each of n vertices in the order of their keys. Vertices with equal keys are ordered by id.

    Raises
    ------
    ValueError
        If there is not one key per vertex, or one is NaN or NaT.
    TypeError
        If keys have no order.
    """
    order, ranks = _sort_by_key(name, given, n), np.empty(n, np.int64)
    ranks[order] = np.arange(n)
    return ranks


def _sort_by_key(name: str, argument: Any, n: int) -> Any:
    """Return the ids of n vertices sorted by their keys: an array or sequence of numbers, dates or texts.

    `name` is the argument's name in errors.
    """
    if isinstance(argument, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array; expected a key for each vertex, such as those of {name}.filled(…)")
    if isinstance(argument, Sequence) and not isinstance(argument, str | bytes):
        _check_shape(name, (len(argument),), n)
        return _sort_objects(name, argument)
    keys = np.asarray(moved(argument, "cpu"))
    _check_shape(name, keys.shape, n)
    if keys.dtype.kind in "OT":
        return _sort_objects(name, keys.tolist())
    if keys.dtype.kind not in "biufUSmM":
        raise TypeError(f"{name} has entries that can't be compared: they are {keys.dtype}; expected numbers, or texts")
    if (wrong := keys != keys).any():
        _refuse(name, int(wrong.argmax()), keys[wrong][0])
    return np.argsort(keys, kind="stable")


def _check_shape(name: str, shape: tuple[int, ...], n: int) -> None:
    if shape != (n,):
        raise ValueError(f"{name} has shape {shape}; expected {(n,)}, a number or text per vertex")


def _sort_objects(name: str, objects: Iterable[Any]) -> list[int]:
    """Return the ids of vertices sorted by their keys, which are Python objects of any type that can be compared."""
    keys = [_as_python(key) for key in objects]
    for v, key in enumerate(keys):
        _check_key(name, v, key)
    try:
        return sorted(range(len(keys)), key=keys.__getitem__)
    except TypeError as error:
        raise TypeError(f"{name} has entries that can't be compared: {error}; expected numbers, or texts") from None


def _as_python(key: Any) -> Any:
    """Return a key by which a vertex is sorted as an object of Python if it is a scalar of an array library.

    Dates and durations of NumPy stay as they are, because they may have more digits than Python's.
    """
    is_scalar = hasattr(key, "dtype") and getattr(key, "ndim", None) == 0
    return key.item() if is_scalar and not isinstance(key, np.datetime64 | np.timedelta64) else key


def _check_key(name: str, v: int, key: Any) -> None:
    """Raise an error if the key of vertex `v` can't be ordered. A key that is a tuple is checked item by item."""
    if isinstance(key, tuple):
        for item in key:
            _check_key(name, v, _as_python(item))
    elif isinstance(key, list | np.ndarray):
        raise ValueError(f"the {name} of vertex {v} is {short(key)}; expected one number or text")
    elif not isinstance(key, ORDERED):
        raise TypeError(
            f"{name} has entries that can't be compared, such as {short(key)} of vertex {v}; expected numbers, or texts"
        )
    # Other keys are NaN if they differ from themselves. For Decimal this comparison may raise an error (for a signaling
    # NaN), so `is_nan` tests it.
    elif key.is_nan() if isinstance(key, Decimal) else key != key:
        _refuse(name, v, key)


def _refuse(name: str, v: int, key: Any) -> None:
    """Raise ValueError for a key of vertex `v` that is NaN (not a number) or NaT (no date)."""
    word = "NaT" if isinstance(key, date | np.datetime64 | np.timedelta64) else "NaN"
    raise ValueError(f"the {name} of vertex {v} is {word}; expected numbers in an order")
