"""Readable text of expressions, for error messages and the user."""

from __future__ import annotations

from semirings.expr import Expr, in_order, means, table_values
from semirings.types import TupleType

INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "remainder": "%",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "left_shift": "<<", "right_shift": ">>",
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=",
}  # fmt: skip
_PREFIX = {"negative": "-", "invert": "~"}


@means(str)
def describe(expr: Expr, limit: int = 200) -> str:
    """Return the expression in Python's notation, truncated to `limit` characters."""
    # keys are ids of nodes, because nodes are not hashable while a user's function is traced
    texts: dict[int, str] = {}
    for part in in_order(expr):
        texts[id(part)] = _describe(part, [texts[id(arg)] for arg in part.args], limit)
    return texts[id(expr)]


def _describe(expr: Expr, args: list[str], limit: int) -> str:
    """Return the text of one node of an expression in Python's notation, with at most `limit` characters.

    `args` has the texts of the node's arguments.
    """

    def operand(index: int) -> str:
        return f"({args[index]})" if expr.args[index].op in (*INFIX, *_PREFIX) else args[index]

    if expr.op in ("symbol", "constant"):
        text = str(expr.payload)
    elif expr.op in ("lane", "lane_number"):
        text = f"{args[0]}[lane]" if args else "lane"
    elif expr.op == "fold":
        text = f"fold({args[2]}, {args[1]})"
    elif expr.op in ("left", "right"):
        text = expr.op
    elif expr.op == "table":
        text = f"table({', '.join(map(str, table_values(expr)))})"
    elif expr.op == "item":
        kind = expr.args[0].type
        names = kind.names if isinstance(kind, TupleType) else None
        text = f"{args[0]}.{names[expr.payload]}" if names else f"{args[0]}[{expr.payload}]"
    elif expr.op == "tuple":
        text = f"({', '.join(args)})"
    elif expr.op == "cast":
        text = f"{expr.type}({args[0]})"
    elif expr.op in INFIX:
        text = f"{operand(0)} {INFIX[expr.op]} {operand(1)}"
    elif expr.op in _PREFIX:
        text = f"{_PREFIX[expr.op]}{operand(0)}"
    else:
        text = f"{expr.op}({', '.join(args)})"
    return text if len(text) <= limit else text[: limit - 1] + "…"
