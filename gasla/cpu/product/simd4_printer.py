"""Prints expressions of semirings as code for vectors of four values, and replaces operations that take long on
vectors.

LLVM has no vector instruction for a minimum that propagates NaN, so a minimum is printed as a choice between two
values.
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
    """Return whether all operations of an expression exist for SIMD vectors of four values."""
    return all(_exists_for_vectors(e) for e in in_order(expr))


def _exists_for_vectors(expr: Expr) -> bool:
    if expr.op == "cast":
        return expr.args[0].dtype.kind != "f" or expr.dtype.kind in "fb"
    if expr.op in ("left_shift", "right_shift"):
        return expr.args[1].op == "constant"
    return expr.op in OPERATIONS or expr.op in STRUCTURE


def write(expr: Expr, args: list[str]) -> str:
    """Return the source code of one operation on vectors of four values, given the source code of its arguments."""
    if expr.op == "constant":
        return f"simd4.spread({printer.literal(expr.payload, expr.type)})"
    if expr.op == "where":
        return f"simd4.where({', '.join(args)})"
    return f"~{args[0]}" if expr.op == "invert" else printer.expression(expr, args)


def as_choices(expr: Expr) -> Expr:
    """Return an equal expression in which each minimum and maximum is a choice (`where`) between its two arguments."""

    def choose(e: Expr, args: list[Expr]) -> Expr | None:
        if e.op not in EXTREMA:
            return None
        a, b = args
        is_first = EXTREMA[e.op](a, b)
        return semirings.where(is_first | np.isnan(a) if e.dtype.kind == "f" else is_first, a, b)

    return rebuilt(expr, choose)
