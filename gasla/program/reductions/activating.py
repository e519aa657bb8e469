"""The default of `activate`, whether a field changed, and a check whether a program's `activate` means the same."""

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
    """Return the default of `activate` as a traced function: whether any field that apply returns has changed."""
    fields = sorted(traced.functions["apply"].result)
    sources = {f"{role}_{field}": (role, field) for field in fields for role in ("before", "after")}
    symbols = [Symbol(name, traced.vertex_types[field]) for name, (_, field) in sources.items()]
    changes = [change for pair in zip(symbols[::2], symbols[1::2]) for change in _changes(*pair)]
    result = semirings.as_expr(functools.reduce(operator.or_, changes) if changes else False)
    return Function("activate", result, tuple(symbols), sources)


def _changes(before: Expr, after: Expr) -> list[Any]:
    """Return expressions that say of each number of a field whether it has changed. NaN counts as equal to NaN.

    A wide vector has one expression for all its numbers.
    """
    before, after = (cast_expr(e, computed(e.type)) for e in (before, after))
    kind: Any = before.type
    parts: list[tuple[Any, Any]] = [(before, after)]
    if has_wide(kind):
        differ = before != after
        if kind.scalar.kind == "f":
            differ = differ & ((after == after) | (before == before))
        return [fold(operator.or_, differ)]
    if isinstance(kind, VectorType):
        kind, parts = kind.scalar, [(before[i], after[i]) for i in range(kind.length)]
    if kind.kind != "f":
        return [a != b for a, b in parts]
    return [(a != b) & ((a == a) | (b == b)) for a, b in parts]


def activates_on_change(traced: Traced, fields: tuple[str, ...]) -> bool:
    """Return whether a program activates exactly the vertices of which one of the fields has changed.

    It does so by default. A program's own `activate` does so if it compares each number of the fields before and after.
    """
    if "activate" not in traced.functions:
        return True
    asked = set(_either(traced.functions["activate"].result))
    ends = [leaves(traced, role, fields) for role in ("before", "after")]
    forms = [{a < b, b > a, a > b, b < a, a != b, b != a} for b, a in zip(*ends, strict=True)]
    return all(asked & form for form in forms) and asked <= set().union(*forms)


def _either(e: Expr) -> list[Expr]:
    """Return the operands of nested logical ors: a, b and c for `a | (b | c)`."""
    if e.op in ("bitwise_or", "logical_or") and e.type == np.dtype(bool):
        return [part for arg in e.args for part in _either(arg)]
    return [e]
