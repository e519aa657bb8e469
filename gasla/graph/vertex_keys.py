"""Keys of vertices, numbers or texts, and the order that they give.

Numbers of different types are compared by Python, which is exact: in an array they would all become floating-point.
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
    """Return the place of each of n vertices in the order of their keys, of equal ones by id.

    Raises
    ------
    ValueError
        If there is not one key per vertex, or one is NaN or NaT.
    TypeError
        If keys have no order.
    """
    order, ranks = _order(name, given, n), np.empty(n, np.int64)
    ranks[order] = np.arange(n)
    return ranks


def _order(name: str, given: Any, n: int) -> Any:
    """Return the vertices, sorted by key."""
    if isinstance(given, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array; expected a key for each vertex, such as those of {name}.filled(…)")
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        _check_shape(name, (len(given),), n)
        return _sorted(name, given)
    keys = np.asarray(moved(given, "cpu"))
    _check_shape(name, keys.shape, n)
    if keys.dtype.kind in "OT":
        return _sorted(name, keys.tolist())
    if keys.dtype.kind not in "biufUSmM":
        raise TypeError(f"{name} has entries that can't be compared: they are {keys.dtype}; expected numbers, or texts")
    if (wrong := keys != keys).any():
        _refuse(name, int(wrong.argmax()), keys[wrong][0])
    return np.argsort(keys, kind="stable")


def _check_shape(name: str, shape: tuple[int, ...], n: int) -> None:
    if shape != (n,):
        raise ValueError(f"{name} has shape {shape}; expected {(n,)}, a number or text per vertex")


def _sorted(name: str, given: Iterable[Any]) -> list[int]:
    """Return the vertices, sorted by keys that are any objects."""
    keys = [_plain(key) for key in given]
    for v, key in enumerate(keys):
        _check(name, v, key)
    try:
        return sorted(range(len(keys)), key=keys.__getitem__)
    except TypeError as error:
        raise TypeError(f"{name} has entries that can't be compared: {error}; expected numbers, or texts") from None


def _plain(key: Any) -> Any:
    """Return a scalar of an array library as Python's, except for a time, which may have more digits."""
    is_scalar = hasattr(key, "dtype") and getattr(key, "ndim", None) == 0
    return key.item() if is_scalar and not isinstance(key, np.datetime64 | np.timedelta64) else key


def _check(name: str, v: int, key: Any) -> None:
    """Raise an error for the key of a vertex that has no place in an order. A tuple, as names may be, has several."""
    if isinstance(key, tuple):
        for part in key:
            _check(name, v, _plain(part))
    elif isinstance(key, list | np.ndarray):
        raise ValueError(f"the {name} of vertex {v} is {short(key)}; expected one number or text")
    elif not isinstance(key, ORDERED):
        raise TypeError(
            f"{name} has entries that can't be compared, such as {short(key)} of vertex {v}; expected numbers, or texts"
        )
    elif key.is_nan() if isinstance(key, Decimal) else key != key:  # a signaling NaN can't be compared
        _refuse(name, v, key)


def _refuse(name: str, v: int, key: Any) -> None:
    """Raise ValueError for NaN, or NaT."""
    kind = "NaT" if isinstance(key, date | np.datetime64 | np.timedelta64) else "NaN"
    raise ValueError(f"the {name} of vertex {v} is {kind}; expected numbers in an order")
