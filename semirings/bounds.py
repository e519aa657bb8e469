"""Bounds of the values of an expression, derived from its structure."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from semirings.expr import Expr, in_order
from semirings.types import Type

# the smallest and the largest value that an expression can have; Python ints for expressions of integers
Bounds = tuple[float, float]


def bounds(expr: Expr, known: Mapping[str, Bounds]) -> Bounds:
    """
    Return the smallest and the largest possible value of an expression, as a pair.

    They are infinite if unknown, or if it may be NaN.

    `known` gives the bounds of symbols by name. Bounds propagate through constants, sums of integers, `where`, and
    casts between integers; the bounds of other expressions are those of their types.

    Examples
    --------
    >>> from semirings import Symbol, where
    >>> i = Symbol("i", np.int64)
    >>> bounds(i + 1, {"i": (0, 99)})
    (1, 100)
    >>> bounds(where(i > 5, i.astype(np.int8), 7), {"i": (1, 1000)})
    (-128, 127)
    """
    by_node: dict[Expr, Bounds] = {}
    for e in in_order(expr):
        by_node[e] = _bounds_of_node(e, [by_node[arg] for arg in e.args], known)
    return by_node[expr]


def _bounds_of_node(e: Expr, given: list[Bounds], known: Mapping[str, Bounds]) -> Bounds:
    """Return the smallest and the largest value that one node of an expression may have, as a pair.

    `given` has the bounds of the node's arguments, and `known` maps the names of symbols to their bounds.
    """
    type_limits, is_whole_number = _of_type(e.type), isinstance(e.type, np.dtype) and e.type.kind in "biu"
    limits = type_limits
    if e.op == "constant" and e.payload == e.payload:
        limits = e.payload.item(), e.payload.item()
    elif e.op == "symbol":
        limits = known.get(e.payload, type_limits)
    elif e.op == "add" and is_whole_number:
        limits = sum(low for low, _ in given), sum(high for _, high in given)
    elif e.op == "where":
        limits = min(low for low, _ in given[1:]), max(high for _, high in given[1:])
    elif e.op == "cast" and is_whole_number and e.args[0].dtype.kind in "biu":
        limits = given[0]
    # If the bounds exceed those of the type, the integers may wrap around. Then only the bounds of the type are
    # certain.
    return limits if type_limits[0] <= limits[0] and limits[1] <= type_limits[1] else type_limits


def _of_type(kind: Type) -> Bounds:
    if not isinstance(kind, np.dtype) or kind.kind == "f":
        return -np.inf, np.inf
    if kind.kind == "b":
        return 0, 1
    return int(np.iinfo(kind).min), int(np.iinfo(kind).max)
