"""Segmented reduction: values with equal keys are reduced in their order, by any monoid.

There are three methods. On the CPU, if the monoid is a NumPy ufunc, ``ufunc.at`` combines values one by one. On a GPU,
numbers are reduced by a sparse matrix product. All other cases, such as tuples, use array operations that NumPy and
CuPy have in common, so nothing is compiled for the monoid. These operations work in rounds. Each round combines
adjacent pairs within every run of equal keys, which keeps the order and takes log2(length of the longest run) rounds.
Runs of one value are finished and removed, so each round leaves at most two thirds of the values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.arrays import array_module, index_dtype
from gasla.gpu.runtime import reductions
from gasla.graph.adjacency import Array, lists_on
from gasla.graph.transform.origin import run_numbers
from semirings import Monoid, TupleType
from semirings import any as any_of
from semirings.advice import monoid_for

# Values as arrays: one array for each item of a tuple type, or a single array in a tuple if values are numbers.
Parts = tuple[Array, ...]


@np.errstate(all="ignore")  # suppresses NumPy's warnings, because NaN and overflow are ordinary results of a reduction
def reduce_by(monoid: Monoid, keys: Array, parts: Parts, count: int) -> Parts:
    """Reduce the values with equal keys by a monoid, and return the reduced value of each key from 0 to `count` - 1.

    `parts` has an array for each item of the values. A key without values gets the monoid's identity.
    """
    totals = identities(monoid, parts, count)
    if has_ufunc_loop(monoid, parts):
        monoid.op.function.at(totals[0], keys, parts[0])  # type: ignore[attr-defined]
        return totals
    indptr, rows, order = lists_on(keys).group(keys, keys, count)
    if uses_product(monoid, parts):
        return (reductions.by_product(monoid, indptr, order, parts[0]),)
    reduce_runs(monoid, rows, tuple(values[order] for values in parts), totals)
    return totals


@np.errstate(all="ignore")
def reduce_runs(monoid: Monoid, rows: Array, parts: Parts, totals: Parts) -> None:
    """Reduce each run of values with equal keys, and write the result to the arrays `totals`, at the index of the key.

    `rows` has the key of each value, in ascending order. `parts` and `totals` have an array for each item of the
    values, with leading dimensions for the items of vectors.
    """
    if has_ufunc_loop(monoid, parts):
        monoid.op.function.at(totals[0], rows, parts[0])  # type: ignore[attr-defined]
        return
    xp, has_one_array = array_module(rows), len(parts) == 1
    position = _positions_in_runs(rows)
    while len(rows):
        is_single = xp.equal(position, 0)
        is_single[:-1] &= xp.equal(position[1:], 0)
        singles = xp.flatnonzero(is_single)
        for result, values in zip(totals, parts, strict=True):
            result[..., rows[singles]] = values[..., singles]
        if len(singles) == len(rows):
            return
        left_items = xp.flatnonzero(xp.greater(xp.equal(xp.bitwise_and(position, 1), 0), is_single))
        right_items = xp.minimum(xp.add(left_items, 1), len(rows) - 1)
        paired = xp.flatnonzero(xp.greater(position[right_items], position[left_items]))
        left_values, right_values = (
            tuple(values[..., positions] for values in parts) for positions in (left_items[paired], right_items[paired])
        )
        combined_pairs = (
            (monoid.combine(left_values[0], right_values[0]),)
            if has_one_array
            else monoid.combine(left_values, right_values)
        )
        rows, position, parts = (
            rows[left_items],
            xp.right_shift(position[left_items], 1),
            tuple(values[..., left_items] for values in parts),
        )
        for values, new_values in zip(parts, combined_pairs, strict=True):
            values[..., paired] = new_values


def uses_product(monoid: Monoid, parts: Parts) -> bool:
    """Return whether values are reduced by a sparse matrix product, which is possible for numbers on a GPU.

    The monoid `any` is excluded, because which value the product chooses would vary between calls.
    """
    return array_module(parts[0]) is not np and len(parts) == 1 and parts[0].ndim == 1 and monoid is not any_of


def _positions_in_runs(rows: Array) -> Array:
    """Return, for each entry of an ascending array, its position among the entries that are equal to it."""
    xp, count = array_module(rows), len(rows)
    index_type = index_dtype(count)
    is_start = xp.zeros(count, bool)
    is_start[:1] = True
    is_start[1:] = xp.not_equal(rows[1:], rows[:-1])
    starts = xp.flatnonzero(is_start).astype(index_type)
    return xp.subtract(xp.arange(count, dtype=index_type), starts[run_numbers(starts, count, index_type)])


def has_ufunc_loop(monoid: Monoid, parts: Parts) -> bool:
    """Return whether ``ufunc.at`` of NumPy can reduce the values in `parts` by a monoid.

    This needs NumPy arrays, and a monoid whose operation is a NumPy ufunc for their dtype.
    """
    op = monoid.op.function
    if len(parts) > 1 or parts[0].ndim > 1 or array_module(parts[0]) is not np or not isinstance(op, np.ufunc):
        return False
    dtype = parts[0].dtype
    return monoid.is_neutral and op.nin == 2 and op.resolve_dtypes((dtype, dtype, None)) == (dtype, dtype, dtype)


def identities(monoid: Monoid, parts: Parts, count: int) -> Parts:
    """Return arrays that are filled with `count` copies of a monoid's identity, before values are reduced into them.

    There is one array for each array in `parts`, which hold the values, and in its dtype.
    """
    xp, types = array_module(parts[0]), tuple(array.dtype for array in parts)
    identity = monoid.identity(types[0] if len(types) == 1 else TupleType(types))
    values = (identity,) if len(types) == 1 else identity
    return tuple(xp.full(count, start, value_type) for start, value_type in zip(values, types, strict=True))


def require_monoid(monoid: Any, name: str = "combine") -> None:
    """Raise TypeError if an argument is not a monoid. `name` is the argument's name in the error."""
    if not isinstance(monoid, Monoid):
        raise TypeError(f"{name} is {monoid!r}; expected {monoid_for(monoid)}")


def require_closed(monoid: Any, types: tuple[np.dtype[Any], ...], name: str = "combine") -> None:
    """Raise TypeError unless the monoid combines values of these types to values of the same types."""
    require_monoid(monoid, name)
    value_type = types[0] if len(types) == 1 else TupleType(types)
    monoid.combination(value_type)
