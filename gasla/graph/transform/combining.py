"""Many values to few: those that belong together, in their order, by any monoid.

On the CPU, where NumPy has a loop for it, values are taken one by one, in the order of the input. On a GPU numbers are
reduced by a product.

All else by operations on whole arrays that NumPy and CuPy both have, so that nothing is compiled for a monoid.
Neighbours that belong together are combined, and what they come to again, so that each keeps its order and a long run
takes no more rounds than its length has bits; who is alone is done and goes. Every round leaves two thirds at most.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.arrays import array_module, index_dtype
from gasla.graph.adjacency import Array, lists_on
from gasla.graph.transform.origin import numbered
from semirings import Monoid, Semiring, Symbol, TupleType, plus_second
from semirings import any as any_of
from semirings.advice import monoid_for

Parts = tuple[Array, ...]  # the items of a tuple, or one array alone


@np.errstate(all="ignore")  # of NaN and overflow, which are values like others
def reduce_by(monoid: Monoid, keys: Array, parts: Parts, count: int) -> Parts:
    """For each key from 0 to `count` what its values come to; the identity where it has none."""
    found = nothing(monoid, parts, count)
    if takes_one_by_one(monoid, parts):
        monoid.op.function.at(found[0], keys, parts[0])  # type: ignore[attr-defined]
        return found
    indptr, rows, order = lists_on(keys).group(keys, keys, count)
    if is_for_product(monoid, parts):
        return (reduce_picked(monoid, indptr, order, parts[0]),)
    reduce_runs(monoid, rows, tuple(part[order] for part in parts), found)
    return found


@np.errstate(all="ignore")
def reduce_runs(monoid: Monoid, rows: Array, parts: Parts, found: Parts) -> None:
    """Write into `found`, at each number that there is among `rows`, what the values there come to.

    `rows` ascends. Vectors have their items first.
    """
    if takes_one_by_one(monoid, parts):
        monoid.op.function.at(found[0], rows, parts[0])  # type: ignore[attr-defined]
        return
    xp, single = array_module(rows), len(parts) == 1
    place = _places(rows)
    while len(rows):
        alone = xp.equal(place, 0)
        alone[:-1] &= xp.equal(place[1:], 0)
        done = xp.flatnonzero(alone)
        for result, part in zip(found, parts, strict=True):
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


def is_for_product(monoid: Monoid, parts: Parts) -> bool:
    """Whether `reduce_picked` is for them: numbers on a GPU; of several right ones `any` takes another each time."""
    return array_module(parts[0]) is not np and len(parts) == 1 and parts[0].ndim == 1 and monoid is not any_of


def reduce_picked(monoid: Monoid, indptr: Array, ids: Array, values: Array) -> Array:
    """What values come to that are picked by their numbers, a list of these for each result.

    It is a product, of a matrix whose rows are these lists: on a GPU one pass over them, in which long ones are cut.
    """
    import gasla  # products stand on graphs, so they come by gasla's public names

    lists = gasla.Sparse((len(indptr) - 1, len(values)), indptr, ids, ids)
    found: Array = gasla.mxv(lists, values, Semiring(monoid, plus_second.multiply))
    return found.astype(values.dtype, copy=False)


def _places(rows: Array) -> Array:
    """Of ascending numbers, the place of each among its like."""
    xp, count = array_module(rows), len(rows)
    kind = index_dtype(count)
    begins = xp.zeros(count, bool)
    begins[:1] = True
    begins[1:] = xp.not_equal(rows[1:], rows[:-1])
    starts = xp.flatnonzero(begins).astype(kind)
    return xp.subtract(xp.arange(count, dtype=kind), starts[numbered(starts, count, kind)])


def takes_one_by_one(monoid: Monoid, parts: Parts) -> bool:
    """Whether NumPy has a loop that combines values in place, one after the other, from the identity on."""
    op = monoid.op.function
    if len(parts) > 1 or parts[0].ndim > 1 or array_module(parts[0]) is not np or not isinstance(op, np.ufunc):
        return False
    kind = parts[0].dtype
    return monoid.is_neutral and op.nin == 2 and op.resolve_dtypes((kind, kind, None)) == (kind, kind, kind)


def nothing(monoid: Monoid, parts: Parts, count: int) -> Parts:
    """As many times what no values come to, of the types of some: the identity, where the monoid has one."""
    xp, types = array_module(parts[0]), tuple(part.dtype for part in parts)
    identity = monoid.identity(types[0] if len(types) == 1 else TupleType(types))
    each = (identity,) if len(types) == 1 else identity
    return tuple(xp.full(count, start, kind) for start, kind in zip(each, types, strict=True))


def require_monoid(monoid: Any, name: str = "combine") -> None:
    """Refuse what is no monoid."""
    if not isinstance(monoid, Monoid):
        raise TypeError(f"{name} is {monoid!r}; expected {monoid_for(monoid)}")


def require_closed(monoid: Any, types: tuple[np.dtype[Any], ...], name: str = "combine") -> None:
    """Refuse what is no monoid, and one that can't combine values of such a type, or makes another type of them."""
    require_monoid(monoid, name)
    kind = types[0] if len(types) == 1 else TupleType(types)
    monoid.identity(kind)
    monoid.combine(Symbol("x", kind), Symbol("y", kind))
