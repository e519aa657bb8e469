"""Prints expressions for vectors of four values, and replaces operations that take long on vectors.

LLVM has no instruction for a minimum that passes NaN on, so it is a choice between two values; where there is no NaN,
the processor's own instruction will do.
"""

from __future__ import annotations

import numpy as np

import semirings
from semirings import Expr
from semirings.expr import in_order, rebuilt
from semirings.printers import python as printer

COMPARISONS = frozenset(("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"))
OPERATIONS = COMPARISONS | {
    "add", "subtract", "multiply", "divide", "bitwise_and", "bitwise_or", "bitwise_xor", "negative", "absolute",
    "invert", "isnan", "sqrt", "floor", "ceil", "trunc", "rint",
}  # fmt: skip
EXTREMA = {"minimum": np.less, "maximum": np.greater}
STRUCTURE = ("symbol", "constant", "item", "tuple", "where", *EXTREMA)


def are_for(expr: Expr) -> bool:
    """Whether vectors have all operations of an expression."""
    return all(_is_there(e) for e in in_order(expr))


def _is_there(expr: Expr) -> bool:
    if expr.op == "cast":
        return expr.args[0].dtype.kind != "f" or expr.dtype.kind in "fb"
    if expr.op in ("left_shift", "right_shift"):
        return expr.args[1].op == "constant"
    return expr.op in OPERATIONS or expr.op in STRUCTURE


def write(expr: Expr, args: list[str]) -> str:
    """One node as text."""
    if expr.op == "constant":
        return f"simd4.spread({printer.literal(expr.payload, expr.type)})"
    if expr.op == "where":
        return f"simd4.where({', '.join(args)})"
    return f"~{args[0]}" if expr.op == "invert" else printer.expression(expr, args)


def unless_nan(expr: Expr) -> tuple[Expr, list[Expr]]:
    """The expression with extremes of one instruction, right where no value of the second result is NaN."""
    tested: dict[Expr, None] = {}
    for e in in_order(expr):
        if (e.op in EXTREMA and e.dtype.kind == "f") or e.op == "isnan":
            tested.update((arg, None) for arg in e.args if may_be_nan(arg))
    return as_choices(expr, minds_nan=False), [as_choices(e, minds_nan=False) for e in tested]


def as_choices(expr: Expr, minds_nan: bool = True) -> Expr:
    """The expression with minima and maxima as choices between two values; or as if there were no NaN."""

    def choose(e: Expr, args: list[Expr]) -> Expr | None:
        if e.op == "isnan" and not minds_nan:
            return semirings.constant(False)
        if e.op not in EXTREMA:
            return None
        a, b = args
        is_first = EXTREMA[e.op](a, b)
        return semirings.where(is_first | np.isnan(a) if minds_nan and e.dtype.kind == "f" else is_first, a, b)

    return rebuilt(expr, choose)


def may_be_nan(expr: Expr) -> bool:
    """Whether a value may be NaN where what minima and maxima are taken of is not."""
    if expr.op == "constant":
        return bool(np.isnan(expr.payload))
    return expr.op not in EXTREMA and not (expr.op == "cast" and expr.args[0].dtype.kind != "f")


def is_chosen(expr: Expr) -> bool:
    """Whether a value is one of those given, or a constant, and so no NaN if none of them is."""
    if expr.op == "constant":
        return not may_be_nan(expr)
    choices = {"where": expr.args[1:], "tuple": expr.args, **dict.fromkeys(EXTREMA, expr.args)}.get(expr.op)
    return expr.op in ("symbol", "item") if choices is None else all(map(is_chosen, choices))
