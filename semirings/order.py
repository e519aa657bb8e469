"""What lets values travel in any order, as far as the structure of expressions shows.

A monoid may combine the parts of a value each on its own (`independent`), a function may do just what the monoid does
(`is_absorbing`), and an expression may grow with some of its symbols (`grows_with`): where what is reduced grows with
what it is computed from, a value that comes late or twice changes nothing about the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal

import numpy as np

from semirings.expr import Expr, Symbol, as_expr, cast_expr, free_symbols, in_order, rebuilt
from semirings.functions import maximum, minimum, where
from semirings.operators import Monoid, same_layout, scalars
from semirings.types import Type, as_type

# How an expression goes with the symbols: not at all, the same way, the other way, or nobody knows.
FREE, UP, DOWN, UNKNOWN = "free", "up", "down", "unknown"
_FLIPPED = {UP: DOWN, DOWN: UP}
_GROWING = {
    "positive", "cast", "floor", "ceil", "trunc", "rint", "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2",
    "log10", "log1p", "arctan", "arcsin", "tanh", "sinh",
}  # fmt: skip
_TOGETHER = {"add", "minimum", "maximum", "fmin", "fmax", "logaddexp", "logaddexp2"}
_SCALES = {"multiply", "divide", "floor_divide"}
_BITS = {"bitwise_and", "bitwise_or", "logical_and", "logical_or"}


Order = Literal["numbers", "bits", "any"]


def independent(monoid: Monoid, type: Any) -> tuple[Expr, ...] | None:
    """
    What two values of each part come to, where a monoid combines parts on their own; None where it doesn't.

    Parameters
    ----------
    monoid : Monoid
    type : dtype-like, (dtype, (k,)) or tuple of types
        Its parts are the items of a tuple and those of a vector; a scalar is one.

    Returns
    -------
    tuple of Expr, or None
        For each part an expression of the symbols x and y, of the part's type.

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
    found = []
    for part, *places in zip(*(scalars(as_expr(e)) for e in (monoid.combine(x, y), x, y)), strict=True):
        own = {place: Symbol(name, place.type) for place, name in zip(places, "xy", strict=True)}
        part = rebuilt(part, lambda e, _, own=own: own.get(e))  # type: ignore[misc]
        if any(all(symbol is not known for known in own.values()) for symbol in free_symbols(part)):
            return None
        found.append(part)
    return tuple(found)


def is_absorbing(result: Expr, old: Expr, gathered: Expr, monoid: Monoid) -> bool:
    """
    Whether `result` is the combination of `old` and `gathered` by `monoid`, read off its structure.

    Either order of the operands counts, and for min and max the spelling with `where`.

    Examples
    --------
    >>> import semirings
    >>> old, new = Symbol("old", "f4"), Symbol("new", "f4")
    >>> is_absorbing(semirings.where(new < old, new, old), old, new, semirings.min)
    True
    >>> is_absorbing(old + new, old, new, semirings.min)
    False
    """
    parts = independent(monoid, old.type) if old.type == gathered.type else None
    if parts is not None:
        return are_combined(parts, result, old, gathered)
    if result.op == "cast":
        result = result.args[0]
    spellings = (as_expr(monoid.combine(old, gathered)), as_expr(monoid.combine(gathered, old)))
    return any(result is _renamed(spelling, result.type) for spelling in spellings)


def are_combined(parts: Sequence[Expr], result: Expr, old: Expr, gathered: Expr) -> bool:
    """Whether each part of `result` is what `parts` say of those of `old` and `gathered`; see `independent`."""
    values = [scalars(value) for value in (result, old, gathered)]
    return {len(value) for value in values} == {len(parts)} and all(map(_is_combined, parts, *values))


def _is_combined(combined: Expr, result: Expr, old: Expr, gathered: Expr) -> bool:
    """The same of scalars."""
    if result.op == "cast":
        result = result.args[0]
    x, y = (Symbol(name, combined.type) for name in "xy")
    spellings = []
    for a, b in ((old, gathered), (gathered, old)):
        spellings.append(rebuilt(combined, lambda e, _, own={x: a, y: b}: own.get(e)))  # type: ignore[misc]
        if combined is minimum(x, y) or combined is maximum(x, y):
            spellings += _chosen(a, b, combined is minimum(x, y))
    return any(result is spelling for spelling in spellings)


def _chosen(a: Expr, b: Expr, smaller: bool) -> list[Expr]:
    """The ways of writing "a if it is smaller (larger), else b"."""
    tests = (a < b, a <= b, b > a, b >= a) if smaller else (a > b, a >= b, b < a, b <= a)
    return [where(test, a, b) for test in tests]


def _renamed(value: Expr, type: Type) -> Expr:
    """A tuple with the names of another tuple type, if the types agree otherwise."""
    return cast_expr(value, type) if same_layout(value.type, type) else value


def order_of(monoid: Monoid, type: np.dtype) -> Order:
    """
    In which order a monoid's operator gives the least or the greatest of two values, if it does: see `grows_with`.

    Parameters
    ----------
    monoid : Monoid
    type : numpy.dtype
        Of the values.

    Examples
    --------
    >>> import semirings
    >>> order_of(semirings.min, np.dtype("f4")), order_of(semirings.bor, np.dtype("i4"))
    ('numbers', 'bits')
    """
    return order_in(monoid.combine(Symbol("x", type), Symbol("y", type)))


def order_in(combined: Expr) -> Order:
    """The same, of what two values come to."""
    op = combined.op
    return "numbers" if op in ("minimum", "maximum", "fmin", "fmax") else "bits" if op in _BITS else "any"


def grows_with(expr: Expr, symbols: Collection[Expr], order: Order = "numbers") -> bool:
    """
    Whether `expr` never becomes less where the symbols become greater, or doesn't depend on them.

    Overflow is not looked at, and a factor that is no constant is taken to be positive.

    Parameters
    ----------
    expr : Expr
    symbols : collection of Symbol
    order : "numbers", "bits" or "any"
        What is greater: the larger number; what has the same bits set and others; or in whatever order there may be,
        which only a symbol itself, or a choice between several, grows with for sure.

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
    found: dict[Expr, str] = {}
    for e in in_order(expr):
        ways = [found[arg] for arg in e.args]
        if any(e is symbol for symbol in symbols):
            found[e] = UP
        elif set(ways) <= {FREE}:
            found[e] = FREE
        elif e.op == "where" and ways[0] == FREE:
            found[e] = _one_way(ways)
        else:
            found[e] = _RULES[order](e, ways)
    return found[expr] in (FREE, UP)


def _one_way(ways: list[str]) -> str:
    """What goes with each of several, where those that aren't free agree."""
    known = set(ways) - {FREE}
    return known.pop() if len(known) == 1 else UNKNOWN


def _number(e: Expr, ways: list[str]) -> str:
    if e.op in _GROWING or e.op in _TOGETHER or (e.op in _BITS and e.type == np.dtype(bool)):
        return _one_way(ways) if e.op != "cast" or e.type != np.dtype(bool) else UNKNOWN
    if e.op in ("left_shift", "right_shift") and ways[1] == FREE:
        return ways[0]
    if e.op in ("negative", "invert"):
        return _FLIPPED.get(ways[0], UNKNOWN)
    if e.op == "subtract":
        return _one_way([ways[0], _FLIPPED.get(ways[1], ways[1])])
    if e.op in _SCALES and FREE in ways and not (e.op != "multiply" and ways[0] == FREE):
        way, by = (ways[1], e.args[0]) if ways[0] == FREE else (ways[0], e.args[1])
        return _FLIPPED.get(way, UNKNOWN) if by.op == "constant" and by.payload < 0 else way
    return UNKNOWN


def _bits(e: Expr, ways: list[str]) -> str:
    if e.op in _BITS or (e.op in ("left_shift", "right_shift") and ways[1] == FREE):
        return _one_way(ways)
    if e.op == "invert":
        return _FLIPPED.get(ways[0], UNKNOWN)
    return ways[0] if e.op in ("cast", "positive") else UNKNOWN


def _anything(e: Expr, ways: list[str]) -> str:
    return UNKNOWN


_RULES: dict[Order, Callable[[Expr, list[str]], str]] = {"numbers": _number, "bits": _bits, "any": _anything}
