"""Prints expressions of semirings as code for loops that LLVM vectorizes, which call functions for vectors.

Choices are printed without branches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import semirings
from gasla.cpu.runtime import vector_math
from semirings import Expr
from semirings.expr import constant, in_order, node, rebuilt
from semirings.printers import python as printer


def write(expr: Expr, args: list[str]) -> str:
    """Return the source code of one operation of an expression, given the source code of its arguments."""
    if expr.op == "where":
        return f"select({', '.join(args)})"
    if vector_math.is_vectorised(expr.op, expr.type):
        return f"{_function_name(expr)}({', '.join(args)})"
    return printer.expression(expr, args)


def _function_name(expr: Expr) -> str:
    """Return the name of the function for vectors that computes a call such as exp in an expression.

    For exp, it is a function that takes equal time for all values, unless `sheltered` has already replaced the values
    that take long.
    """
    even = "even_" if expr.op == "exp" and expr.args[0].op != "where" else ""
    return f"{even}{expr.op}_{expr.type}"


def imports(exprs: Iterable[Expr]) -> dict[str, str]:
    """Return the names of the functions for vectors that some expressions call, with the module that defines them."""
    function_names = [_function_name(e) for e in in_order([*exprs]) if vector_math.is_vectorised(e.op, e.type)]
    return dict.fromkeys(["NATIVE", *function_names] if function_names else [], "gasla.cpu.runtime.vector_math")


def calls(exprs: list[Expr]) -> list[Expr]:
    """Return those subexpressions of some expressions that call a function of many instructions, such as exp."""
    return [e for e in in_order(exprs) if e.op in printer.CALLS and e.op not in vector_math.INSTRUCTIONS]


def sheltered(expr: Expr) -> Expr:
    """Return an equal expression in which no function is called on values whose result a `where` discards.

    Such a function is called on 1 instead.

    Libraries compute unusual values one by one, which takes long, and the `where` may be there to exclude such values.
    """
    uses = Counter(arg for e in in_order([expr]) for arg in e.args)

    def shelter(e: Expr, args: list[Expr]) -> Expr | None:
        if e.op != "where":
            return None
        for k, wanted in ((1, args[0]), (2, ~args[0])):
            value = args[k]
            if uses[e.args[k]] == 1 and vector_math.is_vectorised(value.op, value.type):
                replaced_arguments = (semirings.where(wanted, arg, constant(1, arg.type)) for arg in value.args)
                args[k] = node(value.op, value.type, *replaced_arguments)
        return node(e.op, e.type, *args)

    return rebuilt(expr, shelter)
