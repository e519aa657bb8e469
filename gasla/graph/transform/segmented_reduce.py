"""Segmented reduction: reduce values with equal keys, in their order, by any monoid.

There are three methods. On the CPU, if the monoid is a NumPy ufunc, ``ufunc.at`` combines values one by one. On a GPU,
numbers are reduced by a sparse matrix product. All other cases, such as tuples, use array operations that NumPy and
CuPy have in common, so that nothing is compiled for the monoid: each round combines adjacent pairs within every run of
equal keys, which keeps the order and takes log2(length of the longest run) rounds; runs of one value are finished and
removed, so each round leaves at most two thirds of the values.
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

Parts = tuple[Array, ...]  # one array per item of a tuple type, or a single array


@np.errstate(all="ignore")  # NaN and overflow are ordinary values here
def reduce_by(monoid: Monoid, keys: Array, parts: Parts, count: int) -> Parts:
    """Reduce the values of each key from 0 to `count` - 1. A key without values gets the identity."""
    totals = identities(monoid, parts, count)
    if has_ufunc_loop(monoid, parts):
        monoid.op.function.at(totals[0], keys, parts[0])  # type: ignore[attr-defined]
        return totals
    indptr, rows, order = lists_on(keys).group(keys, keys, count)
    if uses_product(monoid, parts):
        return (reductions.by_product(monoid, indptr, order, parts[0]),)
    reduce_runs(monoid, rows, tuple(part[order] for part in parts), totals)
    return totals


@np.errstate(all="ignore")
def reduce_runs(monoid: Monoid, rows: Array, parts: Parts, totals: Parts) -> None:
    """Write the reduced values of each run of equal `rows`, which ascend, to ``found[row]``.

    Parts may have leading dimensions, for the items of vectors.
    """
    if has_ufunc_loop(monoid, parts):
        monoid.op.function.at(totals[0], rows, parts[0])  # type: ignore[attr-defined]
        return
    xp, single = array_module(rows), len(parts) == 1
    place = _places(rows)
    while len(rows):
        alone = xp.equal(place, 0)
        alone[:-1] &= xp.equal(place[1:], 0)
        done = xp.flatnonzero(alone)
        for result, part in zip(totals, parts, strict=True):
            result[..., rows[done]] = part[..., done]
        if len(done) == len(rows):
            return
        left = xp.flatnonzero(xp.greater(xp.equal(xp.bitwise_and(place, 1), 0), alone))
        nexts = xp.minimum(xp.add(left, 1), len(rows) - 1)
        paired = xp.flatnonzero(xp.greater(place[nexts], place[left]))
        a, b = (tuple(part[..., at] for part in parts) for at in (left[paired], nexts[paired]))
        combined = (monoid.combine(a[0], b[0]),) if single else monoid.combine(a, b)
        rows, place, parts = rows[left], xp.right_shift(place[left], 1), tuple(part[..., left] for part in parts)
        for part, new in zip(parts, combined, strict=True):
            part[..., paired] = new


def uses_product(monoid: Monoid, parts: Parts) -> bool:
    """Return whether a GPU's product applies: to numbers there.

    Not for `any`, whose choice would vary between calls.
    """
    return array_module(parts[0]) is not np and len(parts) == 1 and parts[0].ndim == 1 and monoid is not any_of


def _places(rows: Array) -> Array:
    """Return for ascending numbers the position of each within its run of equal numbers."""
    xp, count = array_module(rows), len(rows)
    kind = index_dtype(count)
    begins = xp.zeros(count, bool)
    begins[:1] = True
    begins[1:] = xp.not_equal(rows[1:], rows[:-1])
    starts = xp.flatnonzero(begins).astype(kind)
    return xp.subtract(xp.arange(count, dtype=kind), starts[run_numbers(starts, count, kind)])


def has_ufunc_loop(monoid: Monoid, parts: Parts) -> bool:
    """Return whether ``ufunc.at`` can reduce the values: the monoid is a NumPy ufunc for their type, on the CPU."""
    op = monoid.op.function
    if len(parts) > 1 or parts[0].ndim > 1 or array_module(parts[0]) is not np or not isinstance(op, np.ufunc):
        return False
    kind = parts[0].dtype
    return monoid.is_neutral and op.nin == 2 and op.resolve_dtypes((kind, kind, None)) == (kind, kind, kind)


def identities(monoid: Monoid, parts: Parts, count: int) -> Parts:
    """Return arrays of `count` identities of the monoid, in the types of `parts`."""
    xp, types = array_module(parts[0]), tuple(part.dtype for part in parts)
    identity = monoid.identity(types[0] if len(types) == 1 else TupleType(types))
    each = (identity,) if len(types) == 1 else identity
    return tuple(xp.full(count, start, kind) for start, kind in zip(each, types, strict=True))


def require_monoid(monoid: Any, name: str = "combine") -> None:
    """Raise TypeError for an argument that is not a monoid."""
    if not isinstance(monoid, Monoid):
        raise TypeError(f"{name} is {monoid!r}; expected {monoid_for(monoid)}")


def require_closed(monoid: Any, types: tuple[np.dtype[Any], ...], name: str = "combine") -> None:
    """Raise TypeError unless `monoid` maps values of these types to the same types."""
    require_monoid(monoid, name)
    kind = types[0] if len(types) == 1 else TupleType(types)
    monoid.combination(kind)
