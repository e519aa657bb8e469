"""Properties of expressions that let values be reduced in any order, or more than once.

A monoid may combine the parts of a value independently (`independent`), a function may do nothing but reduce by the
monoid (`are_combined`), and an expression may be monotone in some of its symbols (`grows_with`). All are derived from
the structure of expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal

import numpy as np

from semirings.expr import Expr, Symbol, free_symbols, in_order, rebuilt
from semirings.functions import maximum, minimum, where
from semirings.operators import Monoid, scalars
from semirings.types import as_type

# How an expression depends on some symbols: not at all, never decreasing, never increasing, or in an unknown way.
FREE, UP, DOWN, UNKNOWN = "free", "up", "down", "unknown"
_REVERSED = {UP: DOWN, DOWN: UP}
_INCREASING_OPS = {
    "positive", "cast", "floor", "ceil", "trunc", "rint", "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2",
    "log10", "log1p", "arctan", "arcsin", "tanh", "sinh",
}  # fmt: skip
_INCREASING_IN_BOTH = {"add", "minimum", "maximum", "fmin", "fmax", "logaddexp", "logaddexp2"}
_SCALING_OPS = {"multiply", "divide", "floor_divide"}
_BIT_OPS = {"bitwise_and", "bitwise_or", "logical_and", "logical_or"}


Order = Literal["numbers", "bits", "any"]


def independent(monoid: Monoid, type: Any) -> tuple[Expr, ...] | None:
    """Return how a monoid combines each part of a value, if it combines the parts independently of each other.

    If it does not, return None.

    Parameters
    ----------
    monoid : Monoid
    type : dtype-like, (dtype, (k,)) or tuple of types
        Its parts are the items of a tuple and of a vector; a scalar is a single part.

    Returns
    -------
    tuple of Expr, or None
        For each part an expression in the symbols x and y of the part's type.

    Examples
    --------
    >>> import semirings
    >>> independent(semirings.product(semirings.plus, semirings.max), ("i4", "f4"))
    (<x + y: int32>, <maximum(x, y): float32>)
    >>> independent(semirings.min, ("f4", (2,)))
    (<minimum(x, y): float32>, <minimum(x, y): float32>)
    >>> independent(semirings.argmin, ("f4", "i4")) is None
    True
    """
    x, y = (Symbol(name, as_type(type)) for name in "xy")
    parts = []
    for part, *places in zip(*map(scalars, (monoid.combination(type), x, y)), strict=True):
        part_symbols = {place: Symbol(name, place.type) for place, name in zip(places, "xy", strict=True)}
        part = rebuilt(part, lambda e, _, known=part_symbols: known.get(e))  # type: ignore[misc]
        if any(all(symbol is not known for known in part_symbols.values()) for symbol in free_symbols(part)):
            return None
        parts.append(part)
    return tuple(parts)


def are_combined(parts: Sequence[Expr], result: Expr, old: Expr, gathered: Expr) -> bool:
    """Return whether `result` is nothing but a combination of each part of `old` and `gathered` by a monoid.

    The expressions `parts`, the result of `independent`, combine the single parts. The operands may be in either order,
    and min and max may be written with `where`.
    """
    values = [scalars(value) for value in (result, old, gathered)]
    return {len(value) for value in values} == {len(parts)} and all(map(_is_combined, parts, *values))


def _is_combined(combined: Expr, result: Expr, old: Expr, gathered: Expr) -> bool:
    """Return whether the scalar `result` combines `old` and `gathered` as the expression `combined` does x and y.

    The operands may be exchanged, and a minimum or maximum may be written with `where`.
    """
    if result.op == "cast":
        result = result.args[0]
    x, y = (Symbol(name, combined.type) for name in "xy")
    spellings = []
    for a, b in ((old, gathered), (gathered, old)):
        spellings.append(rebuilt(combined, lambda e, _, own={x: a, y: b}: own.get(e)))  # type: ignore[misc]
        if combined is minimum(x, y) or combined is maximum(x, y):
            spellings += _spell_with_where(a, b, combined is minimum(x, y))
    return any(result is spelling for spelling in spellings)


def _spell_with_where(a: Expr, b: Expr, smaller: bool) -> list[Expr]:
    """Return all ways to write the minimum of a and b (or if not `smaller`, the maximum) with `where`."""
    tests = (a < b, a <= b, b > a, b >= a) if smaller else (a > b, a >= b, b < a, b <= a)
    return [where(test, a, b) for test in tests]


def order_in(combined: Expr) -> Order:
    """Return the order of values in which `combined`, an expression in x and y, is always the smallest or the largest.

    It is "numbers" for minimum and maximum, "bits" (inclusion of set bits) for bitwise and logical operations, else
    "any".
    """
    op = combined.op
    return "numbers" if op in ("minimum", "maximum", "fmin", "fmax") else "bits" if op in _BIT_OPS else "any"


def grows_with(expr: Expr, symbols: Collection[Expr], order: Order = "numbers") -> bool:
    """
    Return whether `expr` is monotone: it never decreases if the symbols increase.

    Overflow is ignored, and a factor that is not constant is taken to be positive.

    Parameters
    ----------
    expr : Expr
    symbols : collection of Symbol
    order : "numbers", "bits" or "any"
        The order of values: by number; by inclusion of set bits; or an unknown order, in which only a symbol itself, or
        a choice between symbols, is certainly monotone.

    Examples
    --------
    >>> import semirings
    >>> x, w = semirings.Symbol("x", "f4"), semirings.Symbol("w", "f4")
    >>> grows_with(semirings.minimum(x + w, 5), [x]), grows_with(x % 5, [x])
    (True, False)
    >>> n = semirings.Symbol("n", "i4")
    >>> grows_with(n | 3, [n], "bits"), grows_with(n + 1, [n], "bits")
    (True, False)
    """
    by_node: dict[Expr, str] = {}
    for e in in_order(expr):
        directions = [by_node[arg] for arg in e.args]
        if any(e is symbol for symbol in symbols):
            by_node[e] = UP
        elif set(directions) <= {FREE}:
            by_node[e] = FREE
        elif e.op == "where" and directions[0] == FREE:
            by_node[e] = _common_direction(directions)
        else:
            by_node[e] = _RULES[order](e, directions)
    return by_node[expr] in (FREE, UP)


def _common_direction(directions: list[str]) -> str:
    """Return the direction, UP or DOWN, in which all arguments of a node change if some symbols increase.

    `directions` has the direction of each argument. The result is UNKNOWN if they differ, or if no argument depends on
    the symbols.
    """
    dependent = set(directions) - {FREE}
    return dependent.pop() if len(dependent) == 1 else UNKNOWN


def _direction_by_number(e: Expr, ways: list[str]) -> str:
    if e.op in _INCREASING_OPS or e.op in _INCREASING_IN_BOTH or (e.op in _BIT_OPS and e.type == np.dtype(bool)):
        return _common_direction(ways) if e.op != "cast" or e.type != np.dtype(bool) else UNKNOWN
    if e.op in ("left_shift", "right_shift") and ways[1] == FREE:
        return ways[0]
    if e.op in ("negative", "invert"):
        return _REVERSED.get(ways[0], UNKNOWN)
    if e.op == "subtract":
        return _common_direction([ways[0], _REVERSED.get(ways[1], ways[1])])
    if e.op in _SCALING_OPS and FREE in ways and not (e.op != "multiply" and ways[0] == FREE):
        way, by = (ways[1], e.args[0]) if ways[0] == FREE else (ways[0], e.args[1])
        return _REVERSED.get(way, UNKNOWN) if by.op == "constant" and by.payload < 0 else way
    return UNKNOWN


def _direction_by_bits(e: Expr, ways: list[str]) -> str:
    if e.op in _BIT_OPS or (e.op in ("left_shift", "right_shift") and ways[1] == FREE):
        return _common_direction(ways)
    if e.op == "invert":
        return _REVERSED.get(ways[0], UNKNOWN)
    return ways[0] if e.op in ("cast", "positive") else UNKNOWN


def _unknown_direction(e: Expr, ways: list[str]) -> str:
    return UNKNOWN


_RULES: dict[Order, Callable[[Expr, list[str]], str]] = {
    "numbers": _direction_by_number,
    "bits": _direction_by_bits,
    "any": _unknown_direction,
}
