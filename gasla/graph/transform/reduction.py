"""Reduction by key: of values with the same key, what they come to by a monoid. On NumPy's arrays or CuPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.arrays import array_module, device_of
from gasla.graph.transform.combining import reduce_by, require_closed
from gasla.graph.validate import as_ids, as_values, check_range, vertex_count
from semirings import Monoid


def reduce_by_key(keys: Any, values: Any, monoid: Monoid, size: int | None = None) -> Any:
    """Reduce values by key: ``result[k]`` is what those ``values[i]`` come to for which ``keys[i]`` is k.

    Values are combined in their order, and the result is the same every time: on the CPU one after the other where the
    monoid is a NumPy ufunc, on a GPU by a product, and else, as tuples everywhere, neighbours of one key and then what
    they come to. So integers are exact, float sums may differ in their last bits between the devices, and monoids need
    not commute. On a GPU a kernel is compiled for the monoid.

    Parameters
    ----------
    keys : (m,) array of integers
        From 0 on. On the device of the values.
    values : (m,) array, or tuple of such
        Of bool, an integer type, float32 or float64. A tuple is combined as such, by `semirings.argmin` and its like.
    monoid : semirings.Monoid
    size : int, optional
        How many keys there are; by default one more than the largest.

    Returns
    -------
    (size,) array, or tuple of such
        Of the types of the values; integers wrap. The monoid's identity at keys that are not there.

    Raises
    ------
    TypeError
        If keys are no integers, values are of another type or elsewhere, or the monoid can't combine them.
    ValueError
        If there are more or fewer keys than values, or a key is out of range.

    Notes
    -----
    Peak memory on the CPU, for a ufunc: the result. Else, and on a GPU: 32 bytes a value and twice the values, in one
    sort by key and passes over less and less.

    Examples
    --------
    >>> import gasla, numpy as np, semirings
    >>> shop, price = np.array([2, 0, 2, 2]), np.array([5, 3, 4, 4])
    >>> gasla.reduce_by_key(shop, price, semirings.plus)
    array([ 3,  0, 13])
    >>> cheapest, which = gasla.reduce_by_key(shop, (price, np.arange(4)), semirings.argmin, size=3)
    >>> which[[0, 2]]
    array([1, 2])
    """
    ids = as_ids("keys", keys)
    single = not isinstance(values, tuple)
    if not single and not values:
        raise TypeError("values is an empty tuple; expected an array, or a tuple of arrays")
    given = (values,) if single else values
    for part in given:
        found = array_module(part).asarray(part)
        if found.shape != ids.shape:
            raise ValueError(f"there are {len(ids)} keys and values of shape {found.shape}; expected a value for each")
        if device_of(found) != device_of(ids):
            raise TypeError(
                f"keys are on the {device_of(ids)} and values on the {device_of(found)}; expected one device"
            )
    parts = tuple(part for part in (as_values(part, len(ids)) for part in given) if part is not None)
    require_closed(monoid, tuple(part.dtype for part in parts), "monoid")
    if size is None:
        size = 1 + int(ids.max()) if len(ids) else 0
    count = vertex_count(size)
    _check_keys(ids, count)
    with np.errstate(all="ignore"):
        result = reduce_by(monoid, ids, parts, count)
    return result[0] if single else result


def _check_keys(ids: Any, count: int) -> None:
    try:
        check_range("keys", ids, count)
    except ValueError as error:
        message = str(error).replace(f"a graph of {count} vertices", f"{count} keys")
        raise ValueError(message) from None
