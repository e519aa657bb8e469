"""The meaning of NumPy's ufuncs for symbolic values.

NumPy itself determines types (`numpy.ufunc.resolve_dtypes`), so promotion is the same as NumPy's. Python
numbers are *weak*: they take the type of the other operand, and so does a `semirings.where` of two of them. The rules
here rewrite operations by simpler ones, so that printers need to know only a few operations.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from semirings import advice
from semirings.expr import Expr, as_expr, cast_expr, constant, each, lanewise, means, node
from semirings.types import SCALAR_NAMES, TupleType, VectorType, cast_array, scalar_type

BOOL: np.dtype[Any] = np.dtype(np.bool_)
FLOAT_FUNCTIONS = (
    "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos",
    "arctan", "sinh", "cosh", "tanh", "arctan2", "hypot", "copysign", "fmod", "rint", "floor", "ceil", "trunc",
    "isnan", "isinf", "isfinite",
)  # fmt: skip
ARITHMETIC = ("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "negative", "absolute")
COMPARISONS = {
    "less": operator.lt, "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge,
    "equal": operator.eq, "not_equal": operator.ne,
}  # fmt: skip
BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift", "bitwise_count")
# The operations that every printer can print, besides symbol, constant, item, vector, tuple, where and cast. All other
# ufuncs are rewritten by these.
PRIMITIVES = frozenset((*FLOAT_FUNCTIONS, *ARITHMETIC, *COMPARISONS, *BITWISE, "power", "minimum", "maximum"))


@means(np.ufunc)
def apply(ufunc: np.ufunc, *operands: Any) -> Expr:
    """Return the expression for a ufunc on symbolic values, numbers and one-dimensional arrays, which are vectors."""
    name = ufunc.__name__
    if name not in PRIMITIVES and name not in RULES:
        there_are = advice.instead(name) or f"there are {', '.join(sorted(PRIMITIVES))}"
        raise TypeError(f"np.{name} is not available on symbolic values; {there_are}")
    values = [operand(value) for value in operands]
    lengths = {value.type.length for value in values if isinstance(value, Expr) and isinstance(value.type, VectorType)}
    if not lengths:
        return _scalar(ufunc, values)
    if len(lengths) > 1:
        raise TypeError(f"np.{name} of vectors of {' and '.join(map(str, sorted(lengths)))} items: lengths must match")
    (length,) = lengths
    return lanewise(lambda *items: _scalar(ufunc, list(items)), length, *values)


class Weak(NamedTuple):
    """The payload of a node `where` between two Python numbers, which marks the node as weak.

    A weak value takes the type of the other operand, as Python numbers do. The payload has the type of the two numbers,
    int or float, and for ints the smallest and the largest of them.
    """

    kind: type[int] | type[float]
    lowest: int = 0
    highest: int = 0


class Computed(np.ndarray[Any, Any]):
    """An array for which ``x += y`` makes a new array, as for a symbol: other references to `x` don't change."""

    def _not_in_place(self, _: Any) -> Any:
        return NotImplemented  # Python then computes x + y instead, and assigns that to x

    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ifloordiv__ = __imod__ = __ipow__ = _not_in_place
    __iand__ = __ior__ = __ixor__ = __ilshift__ = __irshift__ = _not_in_place


class WeakArray(Computed):
    """The result of `semirings.where` of two Python numbers on arrays, which is weak.

    A weak array takes the type of the other operand.

    Operations on it return ordinary arrays.
    """

    of: type[np.ndarray[Any, Any]] = np.ndarray

    def __array_finalize__(self, parent: Any) -> None:
        if parent is not None:
            self.of = getattr(parent, "of", type(parent))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
        if any(isinstance(value, Expr) for value in operands):
            return NotImplemented  # NumPy then asks the symbolic operand (an Expr), which implements the operation.
        types = resolve(ufunc, list(operands)) if method == "__call__" else [value.dtype for value in operands]
        given = zip(operands, types, strict=False)
        values = [strong(x, dtype, ufunc.__name__) if isinstance(x, WeakArray) else x for x, dtype in given]
        return getattr(ufunc, method)(*values, **options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        # NumPy's functions get ordinary arrays in place of weak ones
        plain = tuple(x.view(x.of) if isinstance(x, WeakArray) else x for x in args)
        if all(x is y for x, y in zip(plain, args, strict=True)):
            return super().__array_function__(function, types, args, kwargs)
        return function(*plain, **kwargs)

    def astype(self, dtype: Any, *_: Any, **__: Any) -> Any:
        """Convert the weak array to an ordinary array of a type."""
        return cast_array(self.view(self.of), np.dtype(dtype))


def strong(value: Any, dtype: np.dtype[Any], name: str) -> Any:
    """Return an array or a number as an ordinary array of type `dtype`, in which the operation `name` computes.

    Raise OverflowError if an int without a fixed type does not fit this type.
    """
    plain = value.view(value.of) if isinstance(value, WeakArray) else np.asanyarray(value)
    if kind_of(value) is int:
        for end in (plain.min(), plain.max()) if plain.size else ():
            _check_fits(end, dtype, name)
    return plain.astype(dtype, copy=False)


def kind_of(value: Any) -> Any:
    """Return what NumPy's type promotion needs to know of a value: its dtype.

    For a weak value, which takes the type of the other operand as Python numbers do, it is int or float.
    """
    if type(value) in (int, float):
        return type(value)
    if isinstance(value, Expr):
        return value.payload.kind if isinstance(value.payload, Weak) else value.dtype
    dtype = np.asarray(value).dtype
    return {"i": int, "f": float}[dtype.kind] if isinstance(value, WeakArray) else dtype


def joined_kind(a: Any, b: Any, dtype: np.dtype[Any]) -> type[int] | type[float] | None:
    """Return int or float if a choice between `a` and `b` is weak, that is, has no fixed type. Otherwise return None.

    It is weak if both are Python numbers (or weak themselves), and ints fit int64. `dtype` is their common type.
    """
    kinds = [kind_of(value) for value in (a, b)]
    kind = float if float in kinds else int
    return kind if all(isinstance(each, type) for each in kinds) and dtype == np.dtype(kind) else None


def settled(value: Any) -> Any:
    """Return a value with a fixed type: a symbolic choice between Python numbers, which has none, gets one.

    It gets int64 or float64.
    """
    if not isinstance(value, Expr):
        return value
    if value.op in ("vector", "tuple"):
        return node(value.op, value.type, *map(settled, value.args))
    if value.op == "each":
        return each(settled(value.args[0]), len(value))
    return node(value.op, value.type, *value.args) if isinstance(value.payload, Weak) else value


def operand(value: Any) -> Any:
    """Return an operand of a ufunc as an Expr.

    A Python int or float is returned as it is, because the other operand decides its type.
    """
    if isinstance(value, WeakArray):
        return _weak_constant(value)
    if type(value) in (int, float):
        return value
    expr = as_expr(value)
    if isinstance(expr.type, TupleType):
        raise TypeError(f"arithmetic on the tuple {expr}: work on its items, {expr}[0] …, or use where()")
    return expr


def _weak_constant(value: WeakArray) -> Any:
    """Return a weak array as a Python number, or as a constant vector whose items are weak.

    A weak number has no fixed type: as with Python's numbers, the other operand decides it.
    """
    if value.ndim == 0:
        return value.item()
    ends = (int(value.min()), int(value.max())) if value.dtype.kind == "i" else (0, 0)
    weak, always = Weak({"i": int, "f": float}[value.dtype.kind], *ends), constant(True)
    return lanewise(lambda item: node("where", item.type, always, item, item, payload=weak), len(value), as_expr(value))


def _scalar(ufunc: np.ufunc, values: list[Any]) -> Expr:
    """Return the expression for a ufunc on scalar operands.

    Types are determined as NumPy does, and operands are converted to them. If there is a rule for the ufunc, it
    rewrites the operation by simpler ones.
    """
    name = ufunc.__name__
    if name == "power":
        values = _power_operands(values)
        if len(values) == 1:
            product: Expr = values[0]
            return product
    types = resolve(ufunc, values)
    _check_long_ints(ufunc, values)
    if name in COMPARISONS and (answer := _compare_out_of_range(name, values, types)) is not None:
        return answer
    args = [operand_as(value, dtype, name) for value, dtype in zip(values, types, strict=False)]
    rule = RULES.get(name)
    result = rule(*args) if rule else None
    return operation(name, types[-1], *args) if result is None else result


def resolve(ufunc: np.ufunc, values: list[Any]) -> tuple[np.dtype[Any], ...]:
    """Return the types in which NumPy would compute a ufunc: that of each operand in `values`, then the result's."""
    operand_types = [kind_of(value) for value in values]
    name = ufunc.__name__
    if all(isinstance(kind, type) for kind in operand_types):
        operand_types = [np.dtype(kind) for kind in operand_types]
    # A comparison with a Python int is exact, even if the other operand's type can't represent the int. So Python ints
    # are left as they are.
    elif name in COMPARISONS and all(np.dtype(kind).kind in "biu" for kind in operand_types):
        operand_types = [k if type(v) is int else np.dtype(k) for k, v in zip(operand_types, values, strict=True)]
    try:
        types = ufunc.resolve_dtypes((*operand_types, None))
    except TypeError as error:
        names = ", ".join(kind.__name__ if isinstance(kind, type) else str(kind) for kind in operand_types)
        remedy = "; semirings.cast(x, np.int64) makes whole numbers" if name in BITWISE else ""
        raise TypeError(f"np.{name} is not defined for {names}: {error}{remedy}") from None
    if any(dtype.name not in SCALAR_NAMES for dtype in types):
        wrong = next(dtype for dtype in types if dtype.name not in SCALAR_NAMES)
        raise TypeError(
            f"np.{name} of {operand_types[0]} would be computed in {wrong}, which is not supported: "
            "convert first, with semirings.cast(x, np.float32) for example"
        )
    return tuple(np.dtype(dtype.name) for dtype in types)


def _check_long_ints(ufunc: np.ufunc, values: list[Any]) -> None:
    """Raise OverflowError if an operand is a Python int of more than 64 bits, as NumPy does in the same operation."""
    if any(type(value) is int and not fits(value, np.dtype(np.int64)) for value in values):
        try:
            with np.errstate(all="ignore"):
                ufunc(*(np.ones(1, value.dtype) if isinstance(value, Expr) else value for value in values))
        except OverflowError as error:
            raise OverflowError(
                f"np.{ufunc.__name__} of a constant beyond int64: {error}; write it as a float, or as np.uint64(…)"
            ) from None


def operand_as(value: Any, dtype: np.dtype[Any], name: str) -> Expr:
    """Return an operand converted to `dtype`, the type in which the operation `name` computes.

    Raise OverflowError if a Python int does not fit this type.
    """
    if isinstance(value, Expr):
        for end in value.payload[1:] if isinstance(value.payload, Weak) else ():
            _check_fits(end, dtype, name)
        return cast_expr(settled(value), dtype)
    _check_fits(value, dtype, name)
    with np.errstate(over="ignore"):
        return constant(dtype.type(value))


def _check_fits(value: Any, dtype: np.dtype[Any], name: str) -> None:
    if isinstance(value, int | np.integer) and dtype.kind in "iu" and not fits(int(value), dtype):
        raise OverflowError(f"the constant {value} does not fit {dtype}: cast the other side of {name} to a wider type")


def fits(value: int, dtype: np.dtype[Any]) -> bool:
    """Return whether the integer type `dtype` can represent `value`."""
    return bool(np.iinfo(dtype).min <= value <= np.iinfo(dtype).max)


def operation(name: str, dtype: np.dtype[Any], *args: Expr) -> Expr:
    """Return the node for an operation on arguments. If all of them are constants, return the result as a constant."""
    if all(arg.op == "constant" for arg in args):
        with np.errstate(all="ignore"):
            return constant(dtype.type(getattr(np, name)(*(arg.payload for arg in args))))
    return node(name, dtype, *args)


def select(condition: Expr, a: Expr, b: Expr) -> Expr:
    """Return the expression for `a` if the condition is true and else `b`, which are scalars of one type."""
    condition = cast_expr(condition, BOOL)
    if condition.op == "constant":
        return a if condition.payload else b
    return a if a is b else node("where", a.type, condition, a, b)


def choose(condition: Expr, a: Any, b: Any) -> Expr:
    """Return `semirings.where` of scalars as an expression: `a` if the condition is true, else `b`.

    If `a` and `b` are both weak (Python numbers, whose type the next operand decides), so is the result.
    """
    dtype = common_type([a, b])
    sides = [operand_as(value, dtype, "where") for value in (a, b)]
    kind = joined_kind(a, b, dtype)
    if kind is None:
        return select(condition, *sides)
    ends = [end for value in (a, b) for end in (value.payload[1:] if isinstance(value, Expr) else (value,))]
    weak = Weak(int, min(ends), max(ends)) if kind is int else Weak(float)
    return node("where", dtype, cast_expr(condition, BOOL), *sides, payload=weak)


def common_type(values: Sequence[Any]) -> np.dtype[Any]:
    """Return the common dtype of values, by NumPy's promotion. Python numbers adapt to the other values."""
    kinds = [kind_of(value) for value in values]
    # If all values are Python numbers, the type is int64 or float64. A number that is too large for int64 has another
    # one.
    if all(isinstance(kind, type) for kind in kinds):
        kinds = [value.dtype if isinstance(value, Expr) else np.asarray(value).dtype for value in values]
    return scalar_type(np.result_type(*(kind() if isinstance(kind, type) else kind for kind in kinds)))


def _compare_out_of_range(name: str, values: list[Any], types: tuple[np.dtype[Any], ...]) -> Expr | None:
    """Return the constant result of a comparison with a Python int that the type of the other operand can't represent.

    `name` is the comparison. If the type can represent the int, or if there is no Python int, return None.
    """
    for position, (value, dtype) in enumerate(zip(values, types, strict=False)):
        if isinstance(value, int) and dtype.kind in "iu" and not fits(value, dtype):
            sides = (value, 0) if position == 0 else (0, value)
            return constant(bool(COMPARISONS[name](*sides)))
    return None


def _power_operands(values: list[Any]) -> list[Any]:
    """Return the operands of a power. For a small constant exponent they are replaced by a product.

    The result is a list of the base and the exponent, or of the product alone.
    """
    base, exponent = values
    if any(isinstance(value, Expr) and value.type == BOOL for value in values):
        raise TypeError("a power of bool: cast it to a number first, with semirings.cast(x, np.int64) for example")
    dtype = resolve(np.power, values)[-1]
    number = exponent.payload if isinstance(exponent, Expr) and exponent.op == "constant" else exponent
    if dtype.kind in "iu":
        if isinstance(number, Expr) or number < 0:
            raise TypeError(
                f"an integer power needs a constant exponent of at least 0, not {number}: "
                "semirings.cast(x, np.float64) ** y computes it in floating point"
            )
        operand_as(exponent, dtype, "power")
        return [_product(operand_as(base, dtype, "power"), int(number))]
    if isinstance(number, Expr) or not isinstance(base, Expr):
        return values
    base = cast_expr(base, dtype)
    # NumPy computes x ** 0.5 as a square root, which gives NaN for minus infinity, so this does, too.
    if isinstance(number, float | np.floating) and number == 0.5:
        return [operation("sqrt", dtype, base)]
    if number == -1:
        return [operation("divide", dtype, constant(1, dtype), base)]
    return [_product(base, int(number))] if number in (0, 1, 2, 3, 4) else values


def _product(base: Expr, count: int) -> Expr:
    """Return `base` multiplied by itself, `count` factors in all, by repeated squaring."""
    if count == 0:
        return constant(1, base.dtype)
    if count == 1:
        return base
    half = _product(base, count // 2)
    even = operation("multiply", base.dtype, half, half)
    return operation("multiply", base.dtype, even, base) if count % 2 else even


def _dtype_kind(*args: Expr) -> str:
    """Return NumPy's letter for the kind of the first operand's dtype, such as "f" for floats."""
    return args[0].dtype.kind


def _if_bool(name: str) -> Callable[..., Expr | None]:
    """Return a rule that rewrites an operation on bools by the bit operation `name`.

    For numbers the rule returns None, so that the operation stays as it is.
    """

    def rule(*args: Expr) -> Expr | None:
        return operation(name, BOOL, *args) if _dtype_kind(*args) == "b" else None

    return rule


def _logical(name: str) -> Callable[..., Expr]:
    """Return a rule that rewrites a logical operation on values of any type by the bit operation `name` on bools."""

    def rule(*args: Expr) -> Expr:
        return operation(name, BOOL, *(cast_expr(arg, BOOL) for arg in args))

    return rule


def _identity_on(kinds: str) -> Callable[[Expr], Expr | None]:
    """Return a rule that rewrites an operation by its operand, if the kind of the operand's dtype is in `kinds`.

    An example is rounding, which does not change integers.
    """
    return lambda x: x if _dtype_kind(x) in kinds else None


def _constant_on_integers(answer: bool) -> Callable[[Expr], Expr | None]:
    """Return a rule that rewrites a test, such as whether x is NaN, by the constant `answer` for integers.

    Integers are always finite and never NaN.
    """
    return lambda x: constant(answer) if _dtype_kind(x) in "biu" else None


def _sign(x: Expr) -> Expr:
    """Return the expression for the sign of x: 1, -1 or 0. NaN and zeros with a sign stay unchanged."""
    rest = select(x == 0, constant(0, x.type), x) if _dtype_kind(x) == "f" else constant(0, x.type)
    negative = select(x < 0, constant(-1, x.type), rest) if _dtype_kind(x) != "u" else rest
    return select(x > 0, constant(1, x.type), negative)


def _reciprocal(x: Expr) -> Expr:
    if _dtype_kind(x) != "f":
        raise TypeError(f"np.reciprocal of {x.type}: write 1 / x, which is a float")
    return operation("divide", x.dtype, constant(1, x.type), x)


def _bitwise_count(x: Expr) -> Expr | None:
    """Return an expression for the number of set bits in the absolute value of x, or None for unsigned x.

    Printers only know how to count the bits of unsigned numbers, so signed ones are converted.
    """
    if _dtype_kind(x) == "u":
        return None
    size = abs(x)
    return operation("bitwise_count", np.dtype(np.uint8), cast_expr(size, np.dtype(f"u{x.dtype.itemsize}")))


def _logaddexp(x: Expr, y: Expr) -> Expr:
    """Return an expression for log(exp(x) + exp(y)) that does not overflow.

    Equal values are treated first: the difference of infinities is NaN.
    """
    larger: Any = np.maximum(x, y)
    unequal = larger + np.log1p(np.exp(-abs(x - y)))
    return select(x == y, x + float(np.log(2)), unequal)


def _fmin(x: Expr, y: Expr) -> Expr:
    return select((x < y) | np.isnan(y), x, y)


def _fmax(x: Expr, y: Expr) -> Expr:
    return select((x > y) | np.isnan(y), x, y)


def _division_rule(on_zero: Callable[[Expr], Expr], on_minus_one: Callable[[Expr], Expr]) -> Callable[..., Expr | None]:
    """Return a rule that rewrites integer division by the constants 0 and -1, whose results are special cases.

    The functions `on_zero` and `on_minus_one` return the result for a dividend. For other divisors the rule returns
    None, so that the division stays as it is.
    """

    def rule(x: Expr, y: Expr) -> Expr | None:
        if y.op != "constant" or _dtype_kind(y) not in "iu" or y.payload not in (0, -1):
            return None
        return on_zero(x) if y.payload == 0 else on_minus_one(x)

    return rule


def _fmod(x: Expr, y: Expr) -> Expr | None:
    """Return an expression for the remainder of x / y that has the sign of x, or None for floats.

    It is computed from the remainder that has the sign of y.
    """
    if _dtype_kind(x) == "f":
        return None
    rest = x % y
    return rest if _dtype_kind(x) == "u" else select((rest != 0) & ((x < 0) != (y < 0)), rest - y, rest)


def _zero(x: Expr) -> Expr:
    return constant(0, x.type)


def _left_shift(x: Expr, y: Expr) -> Expr | None:
    return _zero(x) if _shifts_all(y) else None


def _right_shift(x: Expr, y: Expr) -> Expr | None:
    if not _shifts_all(y):
        return None
    return (
        _zero(x) if _dtype_kind(x) == "u" else operation("right_shift", x.dtype, x, constant(_bit_count(x) - 1, x.type))
    )


def _bit_count(x: Expr) -> int:
    return x.dtype.itemsize * 8


def _shifts_all(y: Expr) -> bool:
    """Return whether `y`, the count of a shift, is a constant that shifts out every bit.

    As in NumPy, a negative count shifts out every bit, too.
    """
    return y.op == "constant" and not 0 <= int(y.payload) < _bit_count(y)


def _mixed_sign(name: str) -> Callable[[Expr, Expr], Expr | None]:
    """Return a rule that compares int64 and uint64 exactly, as NumPy does: first by sign, then as unsigned numbers.

    `name` is the comparison.
    """
    swapped = {"less": "greater", "greater": "less", "less_equal": "greater_equal", "greater_equal": "less_equal"}

    def rule(x: Expr, y: Expr) -> Expr | None:
        if x.type == y.type:
            return None
        if _dtype_kind(x) == "u":
            return _mixed_sign(swapped.get(name, name))(y, x)
        compared = operation(name, BOOL, cast_expr(x, y.type), y)
        return (x < 0) | compared if name in ("less", "less_equal", "not_equal") else (x >= 0) & compared

    return rule


RULES: dict[str, Callable[..., Expr | None]] = {
    "add": _if_bool("bitwise_or"),
    "multiply": _if_bool("bitwise_and"),
    "minimum": _if_bool("bitwise_and"),
    "maximum": _if_bool("bitwise_or"),
    "logical_and": _logical("bitwise_and"),
    "logical_or": _logical("bitwise_or"),
    "logical_xor": _logical("bitwise_xor"),
    "logical_not": _logical("invert"),
    "positive": lambda x: x,
    "absolute": _identity_on("bu"),
    "fabs": lambda x: operation("absolute", x.dtype, x),
    "floor": _identity_on("biu"),
    "ceil": _identity_on("biu"),
    "trunc": _identity_on("biu"),
    "isnan": _constant_on_integers(False),
    "isinf": _constant_on_integers(False),
    "isfinite": _constant_on_integers(True),
    "sign": _sign,
    "square": lambda x: x * x,
    "reciprocal": _reciprocal,
    "bitwise_count": _bitwise_count,
    "logaddexp": _logaddexp,
    "fmod": _fmod,
    "fmin": _fmin,
    "fmax": _fmax,
    "floor_divide": _division_rule(_zero, lambda x: -x),
    "remainder": _division_rule(_zero, _zero),
    "left_shift": _left_shift,
    "right_shift": _right_shift,
    **{name: _mixed_sign(name) for name in COMPARISONS},
}
