"""Between which numbers a value lies, as far as the structure of its expression tells."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from semirings.expr import Expr, in_order
from semirings.types import Type

Bounds = tuple[float, float]  # inclusive; whole numbers where they are of integers


def bounds(expr: Expr, known: Mapping[str, Bounds]) -> Bounds:
    """
    The least and the largest that a value may be; infinities where nothing is known, or where it may be NaN.

    Known of symbols, by their names, are those given. Constants, sums of integers, choices, and casts between integers
    are seen through; of all else it is the type that counts.

    Examples
    --------
    >>> from semirings import Symbol, where
    >>> i = Symbol("i", np.int64)
    >>> bounds(i + 1, {"i": (0, 99)})
    (1, 100)
    >>> bounds(where(i > 5, i.astype(np.int8), 7), {"i": (1, 1000)})
    (-128, 127)
    """
    found: dict[Expr, Bounds] = {}
    for e in in_order(expr):
        found[e] = _bounds(e, [found[arg] for arg in e.args], known)
    return found[expr]


def _bounds(e: Expr, given: list[Bounds], known: Mapping[str, Bounds]) -> Bounds:
    """The bounds of one node, from those of its arguments."""
    whole, is_whole_number = _of_type(e.type), isinstance(e.type, np.dtype) and e.type.kind in "biu"
    found = whole
    if e.op == "constant" and e.payload == e.payload:
        found = e.payload.item(), e.payload.item()
    elif e.op == "symbol":
        found = known.get(e.payload, whole)
    elif e.op == "add" and is_whole_number:
        found = sum(low for low, _ in given), sum(high for _, high in given)
    elif e.op == "where":
        found = min(low for low, _ in given[1:]), max(high for _, high in given[1:])
    elif e.op == "cast" and is_whole_number and e.args[0].dtype.kind in "biu":
        found = given[0]
    return found if whole[0] <= found[0] and found[1] <= whole[1] else whole  # integers wrap


def _of_type(kind: Type) -> Bounds:
    if not isinstance(kind, np.dtype) or kind.kind == "f":
        return -np.inf, np.inf
    if kind.kind == "b":
        return 0, 1
    return int(np.iinfo(kind).min), int(np.iinfo(kind).max)
