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

    The function says whether any field that `apply` returns has changed.
    """
    fields = sorted(traced.functions["apply"].result)
    sources = {f"{state_role}_{field}": (state_role, field) for field in fields for state_role in ("before", "after")}
    symbols = [Symbol(name, traced.vertex_types[field]) for name, (_, field) in sources.items()]
    changes = [change for pair in zip(symbols[::2], symbols[1::2]) for change in _change_expressions(*pair)]
    result = semirings.as_expr(functools.reduce(operator.or_, changes) if changes else False)
    return Function("activate", result, tuple(symbols), sources)


def _change_expressions(old_value: Expr, new_value: Expr) -> list[Any]:
    """Return boolean expressions that say whether the numbers of a field have changed, one for each number.

    `old_value` and `new_value` are the field's values. NaN counts as equal to NaN. A vector of more than 8 numbers has
    one expression for all of them.
    """
    old_value, new_value = (cast_expr(e, computed(e.type)) for e in (old_value, new_value))
    field_type: Any = old_value.type
    scalar_pairs: list[tuple[Any, Any]] = [(old_value, new_value)]
    if has_wide(field_type):
        differ = old_value != new_value
        if field_type.scalar.kind == "f":
            differ = differ & ((new_value == new_value) | (old_value == old_value))
        return [fold(operator.or_, differ)]
    if isinstance(field_type, VectorType):
        field_type, scalar_pairs = field_type.scalar, [(old_value[i], new_value[i]) for i in range(field_type.length)]
    if field_type.kind != "f":
        return [new_scalar != old_scalar for new_scalar, old_scalar in scalar_pairs]
    return [
        (new_scalar != old_scalar) & ((new_scalar == new_scalar) | (old_scalar == old_scalar))
        for new_scalar, old_scalar in scalar_pairs
    ]


def activates_on_change(traced: Traced, fields: tuple[str, ...]) -> bool:
    """Return whether a program activates exactly the vertices of which any of the given fields has changed.

    It does so without `activate`. A program's own `activate` does so if it compares each number of the fields before
    and after `apply`.
    """
    if "activate" not in traced.functions:
        return True
    activating = set(_operands_of_or(traced.functions["activate"].result))
    numbers = [leaves(traced, state_role, fields) for state_role in ("before", "after")]
    forms = [
        {
            new_leaf < old_leaf,
            old_leaf > new_leaf,
            new_leaf > old_leaf,
            old_leaf < new_leaf,
            new_leaf != old_leaf,
            old_leaf != new_leaf,
        }
        for old_leaf, new_leaf in zip(*numbers, strict=True)
    ]
    return all(activating & disjunct for disjunct in forms) and activating <= set().union(*forms)


def _operands_of_or(e: Expr) -> list[Expr]:
    """Return the operands of nested logical ors in an expression: a, b and c for `a | (b | c)`."""
    if e.op in ("bitwise_or", "logical_or") and e.type == np.dtype(bool):
        return [operand for arg in e.args for operand in _operands_of_or(arg)]
    return [e]
