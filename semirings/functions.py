"""Functions that work on symbolic values and on NumPy arrays alike.

Most are NumPy's own ufuncs under their own names, because NumPy passes symbolic operands to `semirings.ufuncs`.
On arrays a vector field has its items along the first axis, shape ``(k, n)``, so that ``v[i]`` and ``v + scalar`` mean
the same for arrays and symbols. A tuple is a Python tuple of arrays.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from semirings.expr import Expr, as_expr, cast_expr, lanewise, make_tuple, make_vector, means
from semirings.types import TupleType, Type, VectorType, as_type, cast_array
from semirings.ufuncs import WeakArray, choose, common_type, joined_kind, operand, operand_as, settled, strong

__all__ = [
    "abs", "arccos", "arcsin", "arctan", "arctan2", "cast", "cbrt", "ceil", "clip", "copysign", "cos", "cosh", "ctz",
    "exp", "exp2", "expm1", "floor", "fmax", "fmin", "fmod", "hash", "hypot", "isfinite", "isinf", "isnan", "log",
    "log1p", "log2", "log10", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum",
    "popcount", "power", "random", "reciprocal", "rint", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh",
    "trunc", "vector", "where",
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
    """Return whether a value is an Expr, or a tuple with an Expr in it."""
    return isinstance(value, Expr) or (isinstance(value, tuple) and any(map(is_symbolic, value)))


def is_tuple(value: Any) -> bool:
    """Return whether a value is a tuple: a Python tuple, or a symbolic value of a tuple type."""
    return isinstance(value, tuple) or (isinstance(value, Expr) and isinstance(value.type, TupleType))


def where(condition: Any, a: Any, b: Any) -> Any:
    """
    Return `a` where `condition` is true, else `b`. It replaces a Python ``if``.

    Both `a` and `b` are computed. They may be tuples, chosen item by item. A choice between two Python numbers is weak,
    like these: it takes the type of the next operand, while `numpy.where` makes it int64 or float64.

    Parameters
    ----------
    condition : symbolic value, array or scalar
        Any number; nonzero is true.
    a, b : symbolic values, arrays, scalars or tuples of those

    Examples
    --------
    >>> from semirings import Symbol
    >>> x = Symbol("x", np.float32)
    >>> where(x > 0, x, 0)
    <where(x > 0.0, x, 0.0): float32>
    >>> x * where(x > 0, 1, 0.5)
    <x * float32(where(x > 0.0, 1.0, 0.5)): float32>
    >>> where(np.array([True, False]), np.array([1, 2]), 0)
    array([1, 0])
    """
    if is_symbolic((condition, a, b)):
        return _where(condition, a, b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return tuple(where(condition, x, y) for x, y in zip(a, b, strict=True))
    return _where_arrays(condition, a, b)


def _where_arrays(condition: Any, a: Any, b: Any) -> Any:
    """Return `semirings.where` of arrays and numbers: `a` where the condition is true, else `b`.

    A choice between two Python numbers is weak: it takes the type of the next operand.
    """
    if isinstance(a, WeakArray) or isinstance(b, WeakArray):
        dtype = common_type([a, b])
        chosen = np.where(condition, strong(a, dtype, "where"), strong(b, dtype, "where"))
    else:
        chosen = np.where(condition, a, b)
    # Arrays of CuPy can't be viewed as a subclass of NumPy's arrays, so they are never weak.
    is_numpys = isinstance(chosen, np.ndarray)
    return chosen.view(WeakArray) if is_numpys and joined_kind(a, b, chosen.dtype) else chosen


@means(np.where)
def _numpy_where(condition: Any, a: Any, b: Any) -> Any:
    """Return what a call of `numpy.where` with a symbolic value returns: `a` where the condition is true, else `b`.

    Unlike with `semirings.where`, a choice between two Python numbers has a fixed type, int64 or float64.
    """
    return settled(_where(condition, settled(a), settled(b)))


def _where(condition: Any, a: Any, b: Any) -> Expr:
    """Return `semirings.where` of symbolic values, as an expression: `a` where the condition is true, else `b`.

    Tuples and vectors are chosen item by item.
    """
    if is_tuple(a) or is_tuple(b):
        return _where_tuples(condition, a, b)
    test = as_expr(condition)
    values = [operand(value) for value in (a, b)]
    kinds = [test.type, *(value.type for value in values if isinstance(value, Expr))]
    lengths = {kind.length for kind in kinds if isinstance(kind, VectorType)}
    if not lengths:
        return choose(test, *values)
    return lanewise(_where, max(lengths), test, *values)


def _where_tuples(condition: Any, a: Any, b: Any) -> Expr:
    """Return `semirings.where` of two tuples of equal length, as an expression: they are chosen item by item.

    The result has the names of the items of `a`, or of `b` if those of `a` have no names.
    """
    if not (is_tuple(a) and is_tuple(b) and len(a) == len(b)):
        given = " and ".join(str(value.type) if isinstance(value, Expr) else repr(value) for value in (a, b))
        raise TypeError(f"where(…, a, b) of {given}: both must be tuples of one length")
    names = [_names(value) for value in (a, b)]
    return make_tuple([_where(condition, x, y) for x, y in zip(a, b, strict=True)], names[0] or names[1])


def _names(value: Any) -> tuple[str, ...] | None:
    """Return the names of a tuple's items, or None if they have no names."""
    if isinstance(value, Expr) and isinstance(value.type, TupleType):
        return value.type.names
    return getattr(value, "_fields", None)


@means(np.ndarray.astype)
def cast(value: Any, type: Any) -> Any:
    """
    Convert a value to another type. A vector is converted item by item, and a scalar is repeated for a vector.

    Integers wrap. Floats are truncated to integers; a float outside the integer's range becomes the
    nearest integer in it, and NaN becomes 0.

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
    if not is_symbolic(value):
        return _cast_arrays(value, target)
    expr = settled(as_expr(value))
    if isinstance(expr.type, VectorType) and isinstance(target, np.dtype):
        target = VectorType(target, len(expr))
    return cast_expr(expr, target)


def _cast_arrays(value: Any, target: Type) -> Any:
    if isinstance(target, TupleType):
        return tuple(_cast_arrays(part, kind) for part, kind in zip(value, target.items, strict=True))
    if not isinstance(target, VectorType):
        return cast_array(value, target)
    items = cast_array(value, target.scalar)
    if np.ndim(items) == 0:
        return np.full(target.length, items)
    # A plain NumPy array of one dimension is a vector of constants. Any other array of one dimension has one number per
    # value, which is repeated for each item of the vector.
    is_vector = np.ndim(items) == 2 or type(items) is np.ndarray
    return items if is_vector else np.broadcast_to(items, (target.length, *items.shape), subok=True)


@means(np.clip)
def clip(x: Any, low: Any, high: Any) -> Any:
    """
    Clip `x` to the range from `low` to `high`. NaN stays NaN.

    Examples
    --------
    >>> clip(np.array([-3, 5, 12]), 0, 10)
    array([ 0,  5, 10])
    """
    return np.minimum(np.maximum(x, low), high)


def popcount(x: Any) -> Any:
    """
    Count the set bits of an integer, as int64.

    For a negative number those of its two's complement, while `numpy.bitwise_count` takes the absolute value.

    Examples
    --------
    >>> popcount(np.array([0, 6, -1], np.int8))
    array([0, 2, 8])
    """
    return cast(np.bitwise_count(_unsigned(x, "popcount")), np.int64)


def ctz(x: Any) -> Any:
    """
    Count the trailing zero bits of an integer, as int64. For 0, this is the number of bits.

    Examples
    --------
    >>> ctz(np.array([1, 12, 0], np.uint16))
    array([ 0,  2, 16])
    """
    bits = _unsigned(x, "ctz")
    with np.errstate(over="ignore"):
        return popcount(~bits & (bits - bits.dtype.type(1)))


def hash(*values: Any) -> Any:
    """
    Return a 64-bit hash of integers, as uint64: the same on every machine and in every version.

    ``hash(x)`` is output x, from 0, of the generator SplitMix64 (Steele, Lea and Flood 2014) with seed 1;
    ``hash(x, y)`` is output y of the generator with seed ``hash(x)``, and so on. Integers of all types are converted to
    64 bits, so ``hash(int8(-1))`` is ``hash(int64(-1))``. It is not cryptographic: collisions are easy to construct.

    Parameters
    ----------
    *values : symbolic values, arrays or scalars
        One or more integers or bools. The order matters.

    Examples
    --------
    >>> hash(np.arange(2)), hash(0, 1)
    (array([10451216379200822465, 13757245211066428519], dtype=uint64), np.uint64(17405687883870564846))
    """
    if not values:
        raise TypeError("hash() has no arguments; give at least one integer")
    with np.errstate(over="ignore"):
        return functools.reduce(splitmix64, (_word(value) for value in values), np.uint64(1))


def random(seed: Any, *counters: Any) -> Any:
    """
    Return a pseudorandom float64, uniform in [0, 1): a function of its arguments only.

    It is the upper 53 bits of their `hash`, divided by 2**53. Counters distinguish draws of the same seed: a vertex, an
    iteration, a position in a walk.

    Parameters
    ----------
    seed : symbolic value, array or scalar
        An integer.
    *counters : symbolic values, arrays or scalars
        More integers.

    Examples
    --------
    >>> random(42, np.arange(3)).round(3)
    array([0.807, 0.092, 0.802])
    """
    return (hash(seed, *counters) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _unsigned(x: Any, name: str) -> Any:
    """Return the bits of an integer as an unsigned integer of the same size. Raise TypeError for any other value.

    `name` is the name of the operation, for the error.
    """
    x = x if isinstance(x, Expr) else np.asanyarray(x)
    if x.dtype.kind not in "iu":
        raise TypeError(f"{name} of {x.dtype}: it takes integers; semirings.cast(x, np.int64) makes one")
    return x.astype(np.dtype(f"u{x.dtype.itemsize}"))


def _word(x: Any) -> Any:
    """Return an integer as a 64-bit unsigned integer, from which a hash is computed.

    Raise TypeError for anything else.
    """
    # CuPy arrays are not converted, so that the hash is computed on the GPU
    x = x if hasattr(x, "astype") else np.asarray(x)
    if x.dtype.kind not in "biu":
        given = "an integer of more than 64 bits" if x.dtype == object else str(x.dtype)
        raise TypeError(f"hash of {given}: it takes integers; semirings.cast(x, np.int64) makes one")
    return x.astype(np.uint64)


def splitmix64(state: Any, number: Any) -> Any:
    """Return output `number` of the generator SplitMix64 with seed `state`."""
    z = (number + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def vector(*items: Any) -> Any:
    """
    Return the vector of the given scalars.

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
        dtype = common_type(items)
        return np.stack(np.broadcast_arrays(*(strong(item, dtype, "vector") for item in items)))
    values = [operand(item) for item in items]
    dtype = common_type(values)
    return make_vector([operand_as(value, dtype, "vector") for value in values])
