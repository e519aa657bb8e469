"""`reduce_by_key`: reduce values with equal keys by a monoid, on NumPy or CuPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.arrays import array_module, device_of, imported
from gasla.graph.memory_limit import require_room
from gasla.graph.transform.segmented_reduce import reduce_by, require_closed
from gasla.graph.validate import as_ids, as_values, check_range, vertex_count
from gasla.rows import Row
from semirings import Monoid


def reduce_by_key(keys: Any, values: Any, monoid: Monoid, size: int | None = None) -> Any:
    """Reduce values by key: ``result[k]`` is the reduction of all ``values[i]`` with ``keys[i] == k``.

    Values are combined in their order, so monoids need not commute, and the result is deterministic. Float sums may
    differ in their last bits between CPU and GPU.

    Parameters
    ----------
    keys : (m,) array of integers
        0 or more; on the device of the values.
    values : (m,) array, or tuple of (m,) arrays
        Of bool, an integer type, float32 or float64. Tuples are for monoids on tuples, such as `semirings.argmin`.
    monoid : semirings.Monoid
    size : int, optional
        Number of keys; by default one more than the largest.

    Returns
    -------
    (size,) array, or tuple of (size,) arrays
        Of the types of the values; integers wrap. Keys without values get the monoid's identity.

    Raises
    ------
    TypeError
        If keys are not integers, values have another type or device, or the monoid does not accept their type.
    ValueError
        If the number of keys and of values differ, or a key is out of range.
    MemoryError
        If the result needs more memory than is available.

    Notes
    -----
    On the CPU, monoids that are NumPy ufuncs combine values one by one, without memory besides the result. All other
    cases sort by key, with a peak of 40 bytes per value and twice the values: numbers on a GPU are then reduced by a
    matrix product, compiled for the monoid, and tuples by combining adjacent pairs in log2 rounds.

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
    has_one_array = not isinstance(values, tuple)
    if not has_one_array and not values:
        raise TypeError("values is an empty tuple; expected an array, or a tuple of arrays")
    value_arrays = tuple(map(imported, (values,) if has_one_array else values))
    for values_part in value_arrays:
        array = array_module(values_part).asarray(values_part)
        if array.shape != ids.shape:
            raise ValueError(f"there are {len(ids)} keys and values of shape {array.shape}; expected a value for each")
        if device_of(array) != device_of(ids):
            raise TypeError(
                f"keys are on the {device_of(ids)} and values on the {device_of(array)}; expected one device"
            )
    parts = tuple(
        values_part
        for values_part in (as_values(values_part, len(ids)) for values_part in value_arrays)
        if values_part is not None
    )
    require_closed(monoid, tuple(values_part.dtype for values_part in parts), "monoid")
    if size is None:
        size = 1 + int(ids.max()) if len(ids) else 0
    count = vertex_count(size)
    _check_keys(ids, count)
    require_room(
        "the result has", count, sum(values_part.itemsize for values_part in parts), device_of(ids), "a smaller size"
    )
    with np.errstate(all="ignore"):
        result = reduce_by(monoid, ids, parts, count)
    return result[0] if has_one_array else result


def _check_keys(ids: Any, count: int) -> None:
    try:
        check_range("keys", ids, count)
    except ValueError as error:
        message = str(error).replace(f"a graph of {count} vertices", f"{count} keys")
        raise ValueError(message) from None


ROW = Row(reduce_by_key, method="a radix sort and a segmented sum, as in CUB (Merrill, Grimshaw, 2011)")
