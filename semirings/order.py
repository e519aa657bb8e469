"""Whether an expression grows with some of its symbols, as far as its structure shows.

That is what lets values travel in any order: where what is reduced grows with what it is computed from, a value that
comes late or twice changes nothing about the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Literal

import numpy as np

from semirings.expr import Expr, Symbol, in_order
from semirings.operators import Monoid

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
    op = monoid.combine(Symbol("x", type), Symbol("y", type)).op
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
