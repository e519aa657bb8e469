"""The predefined operators, monoids and semirings. Semirings are named ``{monoid}_{multiply}``."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from semirings.expr import as_expr, constant
from semirings.functions import is_symbolic, is_tuple, where
from semirings.operators import ANY, BinaryOp, Held, Monoid, Semiring, differs
from semirings.types import TupleType, VectorType

__all__ = [
    "and_or", "any", "any_first", "any_pair", "any_second", "any_secondi", "argmax", "argmax_plus", "argmax_times",
    "argmin", "argmin_plus", "band", "binary", "bor", "bor_band", "bxor", "first", "land", "logaddexp",
    "logaddexp_plus", "lor", "lxor", "max", "max_first", "max_min", "max_plus", "max_second", "max_secondi",
    "max_times", "min", "min_first", "min_firsti", "min_max", "min_plus", "min_second", "min_secondi", "min_times",
    "or_and", "plus", "plus_first", "plus_min", "plus_pair", "plus_plus", "plus_second", "plus_times", "second",
    "times", "xor_and",
]  # fmt: skip

# --- identities and terminal values by type ---------------------------------------------------------------------------


def lowest(dtype: np.dtype[Any]) -> Any:
    """Return the smallest value of a type, which is minus infinity for floats."""
    return {"b": False, "f": -np.inf}[dtype.kind] if dtype.kind in "bf" else np.iinfo(dtype).min


def highest(dtype: np.dtype[Any]) -> Any:
    """Return the largest value of a type, which is infinity for floats."""
    return {"b": True, "f": np.inf}[dtype.kind] if dtype.kind in "bf" else np.iinfo(dtype).max


def exact_lowest(dtype: np.dtype[Any]) -> Any:
    """Return the terminal value of the minimum, at which a reduction can stop: the smallest value of an integer type.

    For floats it is None, because the minimum with NaN is NaN, even for minus infinity.
    """
    return None if dtype.kind == "f" else lowest(dtype)


def exact_highest(dtype: np.dtype[Any]) -> Any:
    """Return the terminal value of the maximum, at which a reduction can stop: the largest value of an integer type.

    For floats it is None, because the maximum with NaN is NaN, even for infinity.
    """
    return None if dtype.kind == "f" else highest(dtype)


def exact_zero(dtype: np.dtype[Any]) -> Any:
    """Return the terminal value of the product, which is 0. For floats it is None, because 0 times infinity is NaN."""
    return None if dtype.kind == "f" else 0


def _all_ones(dtype: np.dtype[Any]) -> Any:
    """Return the number of an integer type whose bits are all set, which is the identity of the bitwise and.

    For bool it is True. For float types, return None.
    """
    return {"b": True, "f": None}[dtype.kind] if dtype.kind in "bf" else ~dtype.type(0)


def nothing(dtype: np.dtype[Any]) -> Any:
    """Return the result of reducing no values of a type by the monoid `first` or `second`.

    For floats it is NaN, for signed integers the smallest and for unsigned ones the largest number, for bool False.
    """
    return {"b": False, "f": np.nan, "u": highest(dtype), "i": lowest(dtype)}[dtype.kind]


# --- the functions of the operators -----------------------------------------------------------------------------------


def _first(x: Any, y: Any) -> Any:
    """Return the left one of two operands, x. This is the operator `first`."""
    return x


def _second(x: Any, y: Any) -> Any:
    """Return the right one of two operands, y. This is the operator `second`."""
    return y


def _pair(x: Any, y: Any) -> Any:
    """Return 1 as int64 for any operands, which is the operator `pair`.

    A sum of such ones counts matches without overflow.
    """
    if is_symbolic((x, y)):
        return as_expr(1)
    parts = [part[0] if isinstance(part, tuple) else part for part in (x, y)]
    return np.ones(np.broadcast(*parts).shape, np.int64)[()]


def _and_secondi(operator: Callable[[Any, Any], Any], x: Any, y: Any, i: Any, k: Any, j: Any) -> Any:
    """Return the operator's value for matrix entries x at [i, k] and y at [k, j], and the index k, as a pair.

    The index k is the row of y. In a product of a vector and a matrix it is the vertex that sends the value.
    """
    return operator(x, y), k


def _secondi(x: Any, y: Any, i: Any, k: Any, j: Any) -> Any:
    """Return the index k for the product of matrix entries x at [i, k] and y at [k, j], whatever their values.

    The index k is the row of y. In a product of a vector and a matrix it is the vertex that sends the value.
    """
    return k


def _firsti(x: Any, y: Any, i: Any, k: Any, j: Any) -> Any:
    """Return the index i for the product of matrix entries x at [i, k] and y at [k, j], whatever their values."""
    return i


def _secondj(x: Any, y: Any, i: Any, k: Any, j: Any) -> Any:
    """Return the index j for the product of matrix entries x at [i, k] and y at [k, j], whatever their values."""
    return j


def _scalar_type(x: Any) -> np.dtype[Any]:
    """Return the dtype of a number, or of the items of a vector."""
    kind = as_expr(x).type if is_symbolic(x) else x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
    assert not isinstance(kind, TupleType)
    return kind.scalar if isinstance(kind, VectorType) else kind


def either(x: Any, y: Any) -> Any:
    """Return x, or y if x is zero, which is the identity of the monoid `any`. Tuples are chosen as a whole."""
    parts = tuple(x) if is_tuple(x) else (x,)
    return where(reduce(operator.or_, (differs(part, 0) for part in parts)), x, y)


def lexicographic_min(x: Any, y: Any) -> Any:
    """Return the lexicographically smaller of two tuples. NaN counts as smaller than any number."""
    return _lexicographic("argmin", x, y, np.less)


def lexicographic_max(x: Any, y: Any) -> Any:
    """Return the lexicographically larger of two tuples. NaN counts as larger than any number."""
    return _lexicographic("argmax", x, y, np.greater)


def _lexicographic(name: str, x: Any, y: Any, less: np.ufunc) -> Any:
    """Return that one of the tuples x and y which comes first in lexicographic order.

    The ufunc `less` compares two items: `np.less` gives the smaller tuple, and `np.greater` the larger one. `name` is
    the name of the operation, for errors.
    """
    if not (is_tuple(x) and is_tuple(y)):
        raise TypeError(f"{name} of {x!r} and {y!r}: it compares tuples, such as (distance, parent)")
    return where(_comes_first(tuple(x), tuple(y), less), x, y)


def _comes_first(x: tuple[Any, ...], y: tuple[Any, ...], less: np.ufunc) -> Any:
    """Return whether tuple x comes before tuple y in lexicographic order, where the ufunc `less` compares two items.

    The first items decide, and if they are equal, the following items.
    """
    before, not_after = _preferred(x[0], y[0], less)
    if len(x) == 1:
        return before
    return before | (not_after & _comes_first(x[1:], y[1:], less))


def _preferred(x: Any, y: Any, less: np.ufunc) -> tuple[Any, Any]:
    """Return a pair of conditions on two items x and y of tuples: x comes before y, and y does not come before x.

    The ufunc `less` says which item comes before the other. NaN comes before any number.
    """
    if _scalar_type(x).kind != "f":
        return less(x, y), ~less(y, x)
    # False for NaN, so that no further test for NaN is needed
    at_most = np.less_equal if less is np.less else np.greater_equal
    return ~at_most(y, x) & ~np.isnan(y), at_most(x, y) | np.isnan(x)


def _as_exponent(x: Any) -> Any:
    """Return a number x as the pair (x, 0), the form in which the monoid `logaddexp` reduces.

    A pair (m, t) stands for m + log(1 + t).
    """
    return x, constant(0, _scalar_type(x)) if is_symbolic(x) else np.zeros_like(x)


def _add_exponents(x: Any, y: Any) -> Any:
    """Return the pair for log(exp(x) + exp(y)), where x and y are given as pairs, too.

    A pair (m, t) stands for m + log(1 + t). The new m is the larger one, and the new t the sum of the other
    exponentials relative to exp(m). This takes one exponential, and no logarithm.
    """
    (m, t), (n, u) = x, y
    difference = abs(m - n)  # if this is NaN, as for equal infinities or NaN operands, the result is the maximum alone
    # An exponential that would underflow is replaced by 0, because math libraries take ten times as long for it.
    scale = where(difference < -np.log(np.finfo(_scalar_type(m)).tiny), np.exp(-difference), 0)
    return np.maximum(m, n), where(m >= n, t + (1 + u) * scale, u + (1 + t) * scale)


def _from_exponent(x: Any) -> Any:
    """Return the number m + log(1 + t) for a pair (m, t), the form in which the monoid `logaddexp` reduces.

    A logarithm, with a correction for the rounding of 1 + t, is faster than log1p.
    """
    m, t = x
    total = 1 + t
    # t - (total - 1) is the rounding error of 1 + t, which matters only if the logarithm is small
    return m + (np.log(total) + where(t < 1, t - (total - 1), 0))


# --- the predefined operators -----------------------------------------------------------------------------------------


class binary:
    """The predefined operators, to build semirings with: ``Semiring(semirings.min, semirings.binary.plus)``."""

    plus = BinaryOp("plus", np.add)
    minus = BinaryOp("minus", np.subtract)
    times = BinaryOp("times", np.multiply)
    div = BinaryOp("div", np.true_divide)
    min = BinaryOp("min", np.minimum)
    max = BinaryOp("max", np.maximum)
    land = BinaryOp("land", np.logical_and)
    lor = BinaryOp("lor", np.logical_or)
    lxor = BinaryOp("lxor", np.logical_xor)
    band = BinaryOp("band", np.bitwise_and)
    bor = BinaryOp("bor", np.bitwise_or)
    bxor = BinaryOp("bxor", np.bitwise_xor)
    first = BinaryOp("first", _first)
    second = BinaryOp("second", _second)
    pair = BinaryOp("pair", _pair)
    firsti = BinaryOp("firsti", _firsti)
    secondi = BinaryOp("secondi", _secondi)
    secondj = BinaryOp("secondj", _secondj)


# --- the predefined monoids -------------------------------------------------------------------------------------------

plus = Monoid(binary.plus, 0)
times = Monoid(binary.times, 1, terminal=exact_zero)
min = Monoid(binary.min, highest, idempotent=True, terminal=exact_lowest)
max = Monoid(binary.max, lowest, idempotent=True, terminal=exact_highest)
lor = Monoid(binary.lor, False, idempotent=True, terminal=True)
land = Monoid(binary.land, True, idempotent=True, terminal=False)
lxor = Monoid(binary.lxor, False)
bor = Monoid(binary.bor, 0, idempotent=True, terminal=_all_ones)
band = Monoid(binary.band, _all_ones, idempotent=True, terminal=0)
bxor = Monoid(binary.bxor, 0)
any = Monoid(either, 0, name="any", idempotent=True, terminal=ANY)
_exponents = Monoid(_add_exponents, (-np.inf, 0), name="logaddexp")
logaddexp = Monoid(np.logaddexp, lowest, name="logaddexp", held=Held(_as_exponent, _exponents, _from_exponent))
argmin = Monoid(lexicographic_min, highest, name="argmin", idempotent=True, terminal=exact_lowest)
argmax = Monoid(lexicographic_max, lowest, name="argmax", idempotent=True, terminal=exact_highest)
first = Monoid(binary.first, nothing, commutative=False, idempotent=True, is_neutral=False)
second = Monoid(binary.second, nothing, commutative=False, idempotent=True, is_neutral=False)

# --- the predefined semirings -----------------------------------------------------------------------------------------

plus_times = Semiring(plus, binary.times)
plus_first = Semiring(plus, binary.first)
plus_second = Semiring(plus, binary.second)
plus_pair = Semiring(plus, binary.pair)
plus_plus = Semiring(plus, binary.plus)
plus_min = Semiring(plus, binary.min)
min_plus = Semiring(min, binary.plus)
min_times = Semiring(min, binary.times)
min_max = Semiring(min, binary.max)
min_first = Semiring(min, binary.first)
min_second = Semiring(min, binary.second)
min_firsti = Semiring(min, binary.firsti)
min_secondi = Semiring(min, binary.secondi)
max_plus = Semiring(max, binary.plus)
max_times = Semiring(max, binary.times)
max_min = Semiring(max, binary.min)
max_first = Semiring(max, binary.first)
max_second = Semiring(max, binary.second)
max_secondi = Semiring(max, binary.secondi)
argmin_plus = Semiring(argmin, partial(_and_secondi, np.add), "argmin_plus")
argmax_plus = Semiring(argmax, partial(_and_secondi, np.add), "argmax_plus")
argmax_times = Semiring(argmax, partial(_and_secondi, np.multiply), "argmax_times")
any_pair = Semiring(any, binary.pair)
any_first = Semiring(any, binary.first)
any_second = Semiring(any, binary.second)
any_secondi = Semiring(any, binary.secondi)
or_and = Semiring(lor, binary.land, "or_and")
and_or = Semiring(land, binary.lor, "and_or")
xor_and = Semiring(lxor, binary.land, "xor_and")
bor_band = Semiring(bor, binary.band)
logaddexp_plus = Semiring(logaddexp, binary.plus)
