"""The functions for symbolic values and NumPy arrays alike: a user's function works on both unchanged.

Most are NumPy's own ufuncs under their own names: NumPy hands symbolic operands to `semirings.ufuncs`.
On arrays a vector field is held with its items first, shape ``(k, n)``, so that ``v[i]`` and ``v + scalar`` mean
the same for arrays and symbols; a tuple is a Python tuple of arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semirings.casting import cast_array
from semirings.expr import Expr, as_expr, cast_expr, make_tuple, make_vector, means, vector_items
from semirings.types import TupleType, Type, VectorType, as_type
from semirings.ufuncs import common_type, operand_as, select

__all__ = [
    "abs",
    "arccos",
    "arcsin",
    "arctan",
    "arctan2",
    "cast",
    "cbrt",
    "ceil",
    "clip",
    "copysign",
    "cos",
    "cosh",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "fmax",
    "fmin",
    "fmod",
    "hypot",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log1p",
    "log2",
    "log10",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "power",
    "reciprocal",
    "rint",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "vector",
    "where",
]  # fmt: skip

minimum, maximum, fmin, fmax = np.minimum, np.maximum, np.fmin, np.fmax
abs, sign, square, reciprocal = np.absolute, np.sign, np.square, np.reciprocal
floor, ceil, trunc, rint, fmod = np.floor, np.ceil, np.trunc, np.rint, np.fmod
sqrt, cbrt, hypot, power = np.sqrt, np.cbrt, np.hypot, np.power
exp, exp2, expm1, log, log2, log10, log1p = np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p
copysign = np.copysign
sin, cos, tan, arcsin, arccos, arctan, arctan2 = np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.arctan2
sinh, cosh, tanh = np.sinh, np.cosh, np.tanh
isnan, isinf, isfinite = np.isnan, np.isinf, np.isfinite
logical_and, logical_or, logical_xor, logical_not = np.logical_and, np.logical_or, np.logical_xor, np.logical_not


def is_symbolic(value: Any) -> bool:
    """Whether a value is an Expr, or a tuple that holds one."""
    return isinstance(value, Expr) or (isinstance(value, tuple) and any(map(is_symbolic, value)))


def is_tuple(value: Any) -> bool:
    """Whether a value is a tuple, symbolic or not."""
    return isinstance(value, tuple) or (isinstance(value, Expr) and isinstance(value.type, TupleType))


@means(np.where)
def where(condition: Any, a: Any, b: Any) -> Any:
    """
    `a` where `condition` holds, else `b`: what stands for a Python ``if``.

    Both `a` and `b` are computed. They may be tuples, chosen item by item.

    Examples
    --------
    >>> from semirings import Symbol
    >>> x = Symbol("x", np.float32)
    >>> where(x > 0, x, 0)
    <where(x > 0.0, x, 0.0): float32>
    >>> where(np.array([True, False]), np.array([1, 2]), 0)
    array([1, 0])
    """
    if is_symbolic((condition, a, b)):
        return _where(condition, a, b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return tuple(np.where(condition, x, y) for x, y in zip(a, b, strict=True))
    return np.where(condition, a, b)


def _where(condition: Any, a: Any, b: Any) -> Expr:
    """`where` on symbols: item by item for tuples and vectors."""
    if is_tuple(a) or is_tuple(b):
        return _where_tuples(condition, a, b)
    test = as_expr(condition)
    values = [value if _is_weak(value) else as_expr(value) for value in (a, b)]
    kinds = [test.type, *(value.type for value in values if isinstance(value, Expr))]
    lengths = {kind.length for kind in kinds if isinstance(kind, VectorType)}
    if not lengths:
        dtype = common_type(values)
        return select(test, *(operand_as(value, dtype, "where") for value in values))
    length = max(lengths)
    columns = [vector_items(v, length) if isinstance(v, Expr) else [v] * length for v in (test, *values)]
    return make_vector([_where(*row) for row in zip(*columns, strict=True)])


def _where_tuples(condition: Any, a: Any, b: Any) -> Expr:
    """`where` of two tuples of equal length; the names are those of the first that has some."""
    if not (is_tuple(a) and is_tuple(b) and len(a) == len(b)):
        given = " and ".join(str(value.type) if isinstance(value, Expr) else repr(value) for value in (a, b))
        raise TypeError(f"where(…, a, b) of {given}: both must be tuples of one length")
    names = [_names(value) for value in (a, b)]
    return make_tuple([_where(condition, x, y) for x, y in zip(a, b, strict=True)], names[0] or names[1])


def _names(value: Any) -> tuple[str, ...] | None:
    """The names of a tuple's items."""
    if isinstance(value, Expr) and isinstance(value.type, TupleType):
        return value.type.names
    return getattr(value, "_fields", None)


def _is_weak(value: Any) -> bool:
    """A Python int or float adapts to the type beside it."""
    return type(value) in (int, float)


def cast(value: Any, type: Any) -> Any:
    """
    `value` as another type.

    Integers wrap, floats become integers by dropping the fraction; a float outside the integer's range becomes the
    nearest integer inside, and NaN becomes 0.

    Parameters
    ----------
    value : symbolic value, array or scalar
    type : dtype-like, or any type for a symbolic value

    Examples
    --------
    >>> cast(np.array([1.5, 1e10, np.nan]), np.int32)
    array([         1, 2147483647,          0], dtype=int32)
    """
    target = as_type(type)
    if is_symbolic(value):
        return cast_expr(as_expr(value), target)
    return _cast_arrays(value, target)


def _cast_arrays(value: Any, target: Type) -> Any:
    if isinstance(target, TupleType):
        return tuple(_cast_arrays(part, kind) for part, kind in zip(value, target.items, strict=True))
    return cast_array(value, target.scalar if isinstance(target, VectorType) else target)


@means(np.clip)
def clip(x: Any, low: Any, high: Any) -> Any:
    """
    `x`, but at least `low` and at most `high`; NaN stays NaN.

    Examples
    --------
    >>> clip(np.array([-3, 5, 12]), 0, 10)
    array([ 0,  5, 10])
    """
    return np.minimum(np.maximum(x, low), high)


def vector(*items: Any) -> Any:
    """
    The vector with these scalars as items.

    Examples
    --------
    >>> from semirings import Symbol
    >>> x = Symbol("x", np.float64)
    >>> vector(x, 2 * x)
    <vector(x, 2.0 * x): float64[2]>
    """
    if not items:
        raise ValueError("vector() without items: give at least one")
    if not is_symbolic(items):
        return np.stack(np.broadcast_arrays(*items))
    values = [item if _is_weak(item) else as_expr(item) for item in items]
    dtype = common_type(values)
    return make_vector([operand_as(value, dtype, "vector") for value in values])
