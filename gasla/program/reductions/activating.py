"""Compute the default of the function `activate`, and whether a program's own `activate` is equivalent to it.

By default, a vertex is active in the next iteration if any of its fields has changed.
"""

import functools
import operator
from typing import Any

import numpy as np

import semirings
from gasla.program.reductions.absorbing import leaves
from gasla.program.tracing import Function, Traced
from semirings import Expr, Symbol, VectorType
from semirings.expr import cast_expr, fold
from semirings.types import computed, has_wide


def change(traced: Traced) -> Function:
    """Return the function that replaces `activate` in programs without it, as an expression.

    It says whether any field that apply returns has changed.
    """
    fields = sorted(traced.functions["apply"].result)
    sources = {f"{role}_{field}": (role, field) for field in fields for role in ("before", "after")}
    symbols = [Symbol(name, traced.vertex_types[field]) for name, (_, field) in sources.items()]
    changes = [change for pair in zip(symbols[::2], symbols[1::2]) for change in _change_expressions(*pair)]
    result = semirings.as_expr(functools.reduce(operator.or_, changes) if changes else False)
    return Function("activate", result, tuple(symbols), sources)


def _change_expressions(before: Expr, after: Expr) -> list[Any]:
    """Return one expression for each number of a field, which says whether the number has changed.

    NaN counts as equal to NaN. A vector of more than 8 numbers has one expression for all of them.
    """
    before, after = (cast_expr(e, computed(e.type)) for e in (before, after))
    field_type: Any = before.type
    parts: list[tuple[Any, Any]] = [(before, after)]
    if has_wide(field_type):
        differ = before != after
        if field_type.scalar.kind == "f":
            differ = differ & ((after == after) | (before == before))
        return [fold(operator.or_, differ)]
    if isinstance(field_type, VectorType):
        field_type, parts = field_type.scalar, [(before[i], after[i]) for i in range(field_type.length)]
    if field_type.kind != "f":
        return [a != b for a, b in parts]
    return [(a != b) & ((a == a) | (b == b)) for a, b in parts]


def activates_on_change(traced: Traced, fields: tuple[str, ...]) -> bool:
    """Return whether a program activates exactly the vertices of which any of the given fields has changed.

    It does so without `activate`. A program's own `activate` does so if it compares each number of the fields before
    and after `apply`.
    """
    if "activate" not in traced.functions:
        return True
    activating = set(_operands_of_or(traced.functions["activate"].result))
    numbers = [leaves(traced, role, fields) for role in ("before", "after")]
    forms = [
        {after < before, before > after, after > before, before < after, after != before, before != after}
        for before, after in zip(*numbers, strict=True)
    ]
    return all(activating & form for form in forms) and activating <= set().union(*forms)


def _operands_of_or(e: Expr) -> list[Expr]:
    """Return the operands of nested logical ors: a, b and c for `a | (b | c)`."""
    if e.op in ("bitwise_or", "logical_or") and e.type == np.dtype(bool):
        return [part for arg in e.args for part in _operands_of_or(arg)]
    return [e]
