"""Prints expressions for loops that LLVM vectorises: choices without a branch, and calls of vector functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import semirings
from gasla.cpu.runtime import vector_math
from semirings import Expr
from semirings.expr import constant, in_order, node, rebuilt
from semirings.printers import python as printer


def write(expr: Expr, args: list[str]) -> str:
    """Return one node as text."""
    if expr.op == "where":
        return f"select({', '.join(args)})"
    if vector_math.is_vectorised(expr.op, expr.type):
        return f"{_name(expr)}({', '.join(args)})"
    return printer.expression(expr, args)


def _name(expr: Expr) -> str:
    """Return the vector function for a call.

    For exp it takes equal time for all values, unless `sheltered` ensures that.
    """
    even = "even_" if expr.op == "exp" and expr.args[0].op != "where" else ""
    return f"{even}{expr.op}_{expr.type}"


def imports(exprs: Iterable[Expr]) -> dict[str, str]:
    """Return the names that a module needs for the vector functions in some expressions, and their modules."""
    called = [_name(e) for e in in_order([*exprs]) if vector_math.is_vectorised(e.op, e.type)]
    return dict.fromkeys(["NATIVE", *called] if called else [], "gasla.cpu.runtime.vector_math")


def calls(exprs: list[Expr]) -> list[Expr]:
    """Return the calls of functions that take many instructions, such as exp."""
    return [e for e in in_order(exprs) if e.op in printer.CALLS and e.op not in vector_math.INSTRUCTIONS]


def sheltered(expr: Expr) -> Expr:
    """Return the expression with functions called on 1 where a `where` takes the other value.

    Libraries compute unusual values one by one, which takes long, and the `where` may be there to exclude them.
    """
    uses = Counter(arg for e in in_order([expr]) for arg in e.args)

    def shelter(e: Expr, args: list[Expr]) -> Expr | None:
        if e.op != "where":
            return None
        for k, wanted in ((1, args[0]), (2, ~args[0])):
            value = args[k]
            if uses[e.args[k]] == 1 and vector_math.is_vectorised(value.op, value.type):
                given = (semirings.where(wanted, arg, constant(1, arg.type)) for arg in value.args)
                args[k] = node(value.op, value.type, *given)
        return node(e.op, e.type, *args)

    return rebuilt(expr, shelter)
