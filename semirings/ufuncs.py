"""What each NumPy ufunc means on symbolic values.

NumPy itself decides the types (`numpy.ufunc.resolve_dtypes`, so promotion is NumPy's by construction). Python numbers
are weak: they take the type of what they meet, and so does what `semirings.where` makes of two of them. The rules here
rewrite whatever can be said with simpler operations, so that the printers know few of them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from semirings import advice
from semirings.expr import Expr, as_expr, cast_expr, constant, each, lanewise, means, node
from semirings.types import SCALAR_NAMES, TupleType, VectorType, scalar_type

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
# The operations a printer must know, beside symbol, constant, item, vector, tuple, where and cast.
PRIMITIVES = frozenset((*FLOAT_FUNCTIONS, *ARITHMETIC, *COMPARISONS, *BITWISE, "power", "minimum", "maximum"))


@means(np.ufunc)
def apply(ufunc: np.ufunc, *operands: Any) -> Expr:
    """`ufunc` of symbolic values, numbers and arrays of one dimension (vectors)."""
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
    """What marks a `where` of Python numbers, as its payload: their kind, and between which ints they are."""

    kind: type[int] | type[float]
    lowest: int = 0
    highest: int = 0


class WeakArray(np.ndarray[Any, Any]):
    """What `where` of Python numbers gives on arrays. What is computed of it is an array as its condition was."""

    of: type[np.ndarray[Any, Any]] = np.ndarray

    def __array_finalize__(self, parent: Any) -> None:
        if parent is not None:
            self.of = getattr(parent, "of", type(parent))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
        if any(isinstance(value, Expr) for value in operands):
            return NotImplemented  # Expr's own method knows
        types = resolve(ufunc, list(operands)) if method == "__call__" else [value.dtype for value in operands]
        values = [strong(value, dtype, ufunc.__name__) for value, dtype in zip(operands, types, strict=False)]
        return getattr(ufunc, method)(*values, **options)

    def astype(self, dtype: Any, *arguments: Any, **options: Any) -> Any:
        """An ordinary array of the type."""
        return self.view(self.of).astype(dtype, *arguments, **options)


def strong(value: Any, dtype: np.dtype[Any], name: str) -> Any:
    """An array as it is, but a WeakArray as an ordinary one of the type that operation `name` works in."""
    if not isinstance(value, WeakArray):
        return value
    plain: np.ndarray[Any, Any] = value.view(value.of)
    for end in (plain.min(), plain.max()) if plain.size else ():
        _check_fits(end, dtype, name)
    return plain.astype(dtype)


def kind_of(value: Any) -> Any:
    """What promotion is told of a value: its dtype; int or float, if it takes the type of what it meets."""
    if type(value) in (int, float):
        return type(value)
    if isinstance(value, Expr):
        return value.payload.kind if isinstance(value.payload, Weak) else value.dtype
    dtype = np.asarray(value).dtype
    return {"i": int, "f": float}[dtype.kind] if isinstance(value, WeakArray) else dtype


def joined_kind(a: Any, b: Any, dtype: np.dtype[Any]) -> type[int] | type[float] | None:
    """Which kind of number a choice between two is; None if one isn't weak, or ints are too large for int64."""
    kinds = [kind_of(value) for value in (a, b)]
    kind = float if float in kinds else int
    return kind if all(isinstance(each, type) for each in kinds) and dtype == np.dtype(kind) else None


def settled(value: Any) -> Any:
    """The same, but not weak."""
    if not isinstance(value, Expr):
        return value
    if value.op in ("vector", "tuple"):
        return node(value.op, value.type, *map(settled, value.args))
    if value.op == "each":
        return each(settled(value.args[0]), len(value))
    return node(value.op, value.type, *value.args) if isinstance(value.payload, Weak) else value


def operand(value: Any) -> Any:
    """An Expr, or a Python int or float, which adapts to the type of what it meets (NumPy's "weak" scalars)."""
    if isinstance(value, WeakArray) and value.ndim == 0:
        value = value.item()
    if type(value) in (int, float):
        return value
    expr = as_expr(value)
    if isinstance(expr.type, TupleType):
        raise TypeError(f"arithmetic on the tuple {expr}: work on its items, {expr}[0] …, or use where()")
    return expr


def _scalar(ufunc: np.ufunc, values: list[Any]) -> Expr:
    """`ufunc` of scalars: find NumPy's types, convert the operands, rewrite."""
    name = ufunc.__name__
    if name == "power":
        values = _power_operands(values)
        if len(values) == 1:
            product: Expr = values[0]
            return product
    types = resolve(ufunc, values)
    if name in COMPARISONS and (answer := _compare_out_of_range(name, values, types)) is not None:
        return answer
    args = [operand_as(value, dtype, name) for value, dtype in zip(values, types, strict=False)]
    rule = RULES.get(name)
    result = rule(*args) if rule else None
    return operation(name, types[-1], *args) if result is None else result


def resolve(ufunc: np.ufunc, values: list[Any]) -> tuple[np.dtype[Any], ...]:
    """The types NumPy computes in: one for each operand, then the result's."""
    given = [kind_of(value) for value in values]
    name = ufunc.__name__
    if all(isinstance(kind, type) for kind in given):
        given = [np.dtype(kind) for kind in given]
    elif name in COMPARISONS and all(np.dtype(kind).kind in "biu" for kind in given):  # exact, and any int is allowed
        given = [k if type(v) is int else np.dtype(k) for k, v in zip(given, values, strict=True)]
    try:
        types = ufunc.resolve_dtypes((*given, None))
    except TypeError as error:
        names = ", ".join(kind.__name__ if isinstance(kind, type) else str(kind) for kind in given)
        remedy = "; semirings.cast(x, np.int64) makes whole numbers" if name in BITWISE else ""
        raise TypeError(f"np.{name} is not defined for {names}: {error}{remedy}") from None
    if any(dtype.name not in SCALAR_NAMES for dtype in types):
        wrong = next(dtype for dtype in types if dtype.name not in SCALAR_NAMES)
        raise TypeError(
            f"np.{name} of {given[0]} would be computed in {wrong}, which is not supported: "
            "convert first, with semirings.cast(x, np.float32) for example"
        )
    return tuple(np.dtype(dtype.name) for dtype in types)


def operand_as(value: Any, dtype: np.dtype[Any], name: str) -> Expr:
    """An operand converted to the type an operation works in; a Python int must fit."""
    if isinstance(value, Expr):
        for end in value.payload[1:] if isinstance(value.payload, Weak) else ():
            _check_fits(end, dtype, name)
        return cast_expr(value, dtype)
    _check_fits(value, dtype, name)
    with np.errstate(over="ignore"):
        return constant(dtype.type(value))


def _check_fits(value: Any, dtype: np.dtype[Any], name: str) -> None:
    if isinstance(value, int | np.integer) and dtype.kind in "iu" and not fits(int(value), dtype):
        raise OverflowError(f"the constant {value} does not fit {dtype}: cast the other side of {name} to a wider type")


def fits(value: int, dtype: np.dtype[Any]) -> bool:
    """Whether integer type `dtype` holds `value`."""
    return bool(np.iinfo(dtype).min <= value <= np.iinfo(dtype).max)


def operation(name: str, dtype: np.dtype[Any], *args: Expr) -> Expr:
    """The node for an operation; computed by NumPy at once where every argument is a constant."""
    if all(arg.op == "constant" for arg in args):
        with np.errstate(all="ignore"):
            return constant(dtype.type(getattr(np, name)(*(arg.payload for arg in args))))
    return node(name, dtype, *args)


def select(condition: Expr, a: Expr, b: Expr) -> Expr:
    """`a` where the condition holds, else `b`; all three scalars, `a` and `b` of one type."""
    condition = cast_expr(condition, BOOL)
    if condition.op == "constant":
        return a if condition.payload else b
    return a if a is b else node("where", a.type, condition, a, b)


def choose(condition: Expr, a: Any, b: Any) -> Expr:
    """`semirings.where` of scalars; of two Python numbers it is weak as they are, and so of what this gave."""
    dtype = common_type([a, b])
    sides = [operand_as(value, dtype, "where") for value in (a, b)]
    kind = joined_kind(a, b, dtype)
    if kind is None:
        return select(condition, *sides)
    ends = [end for value in (a, b) for end in (value.payload[1:] if isinstance(value, Expr) else (value,))]
    weak = Weak(int, min(ends), max(ends)) if kind is int else Weak(float)
    return node("where", dtype, cast_expr(condition, BOOL), *sides, payload=weak)


def common_type(values: Sequence[Any]) -> np.dtype[Any]:
    """The type that values and numbers are promoted to side by side."""
    kinds = [kind_of(value) for value in values]
    if all(isinstance(kind, type) for kind in kinds):  # int64, unless a number is too large for that
        kinds = [value.dtype if isinstance(value, Expr) else np.asarray(value).dtype for value in values]
    return scalar_type(np.result_type(*(kind() if isinstance(kind, type) else kind for kind in kinds)))


def _compare_out_of_range(name: str, values: list[Any], types: tuple[np.dtype[Any], ...]) -> Expr | None:
    """NumPy compares with the exact value of a Python int, even where the other side's type cannot hold it."""
    for position, (value, dtype) in enumerate(zip(values, types, strict=False)):
        if isinstance(value, int) and dtype.kind in "iu" and not fits(value, dtype):
            sides = (value, 0) if position == 0 else (0, value)
            return constant(bool(COMPARISONS[name](*sides)))
    return None


def _power_operands(values: list[Any]) -> list[Any]:
    """``[base ** exponent]`` where products say it (a small constant exponent), else the two operands."""
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
    if type(exponent) is float and number == 0.5:
        return [operation("sqrt", dtype, base)]
    if number == -1:
        return [operation("divide", dtype, constant(1, dtype), base)]
    return [_product(base, int(number))] if number in (0, 1, 2, 3, 4) else values


def _product(base: Expr, count: int) -> Expr:
    """`base` multiplied by itself `count` times, by repeated squaring."""
    if count == 0:
        return constant(1, base.dtype)
    if count == 1:
        return base
    half = _product(base, count // 2)
    even = operation("multiply", base.dtype, half, half)
    return operation("multiply", base.dtype, even, base) if count % 2 else even


def _kind(*args: Expr) -> str:
    """NumPy's kind letter of the first argument's type."""
    return args[0].dtype.kind


def _if_bool(name: str) -> Callable[..., Expr | None]:
    """On bool, the operation is bit operation `name`; on numbers, itself."""

    def rule(*args: Expr) -> Expr | None:
        return operation(name, BOOL, *args) if _kind(*args) == "b" else None

    return rule


def _logical(name: str) -> Callable[..., Expr]:
    """Logic is bit logic on the truth values."""

    def rule(*args: Expr) -> Expr:
        return operation(name, BOOL, *(cast_expr(arg, BOOL) for arg in args))

    return rule


def _identity_on(kinds: str) -> Callable[[Expr], Expr | None]:
    """The operation leaves values of these kinds as they are."""
    return lambda x: x if _kind(x) in kinds else None


def _never_on_integers(answer: bool) -> Callable[[Expr], Expr | None]:
    """Integers are always finite and never NaN."""
    return lambda x: constant(answer) if _kind(x) in "biu" else None


def _sign(x: Expr) -> Expr:
    """1, -1, 0, or NaN for itself."""
    rest = select(x == 0, constant(0, x.type), x) if _kind(x) == "f" else constant(0, x.type)
    negative = select(x < 0, constant(-1, x.type), rest) if _kind(x) != "u" else rest
    return select(x > 0, constant(1, x.type), negative)


def _reciprocal(x: Expr) -> Expr:
    if _kind(x) != "f":
        raise TypeError(f"np.reciprocal of {x.type}: write 1 / x, which is a float")
    return operation("divide", x.dtype, constant(1, x.type), x)


def _bitwise_count(x: Expr) -> Expr | None:
    """Of the absolute value, as NumPy has it: that of an unsigned number is left to the printers."""
    if _kind(x) == "u":
        return None
    size = abs(x)
    return operation("bitwise_count", np.dtype(np.uint8), cast_expr(size, np.dtype(f"u{x.dtype.itemsize}")))


def _logaddexp(x: Expr, y: Expr) -> Expr:
    """log(exp(x) + exp(y)) without overflow; equal infinities first, since their difference is NaN."""
    larger: Any = np.maximum(x, y)
    unequal = larger + np.log1p(np.exp(-abs(x - y)))
    return select(x == y, x + float(np.log(2)), unequal)


def _fmin(x: Expr, y: Expr) -> Expr:
    return select((x < y) | np.isnan(y), x, y)


def _fmax(x: Expr, y: Expr) -> Expr:
    return select((x > y) | np.isnan(y), x, y)


def _by_constant(on_zero: Callable[[Expr], Expr], on_minus_one: Callable[[Expr], Expr]) -> Callable[..., Expr | None]:
    """Integer division by a constant 0 or -1, the two divisors that need care, is decided here."""

    def rule(x: Expr, y: Expr) -> Expr | None:
        if y.op != "constant" or _kind(y) not in "iu" or y.payload not in (0, -1):
            return None
        return on_zero(x) if y.payload == 0 else on_minus_one(x)

    return rule


def _fmod(x: Expr, y: Expr) -> Expr | None:
    """The remainder with the sign of x, which for integers follows from the one with the sign of y."""
    if _kind(x) == "f":
        return None
    rest = x % y
    return rest if _kind(x) == "u" else select((rest != 0) & ((x < 0) != (y < 0)), rest - y, rest)


def _zero(x: Expr) -> Expr:
    return constant(0, x.type)


def _left_shift(x: Expr, y: Expr) -> Expr | None:
    return _zero(x) if _shifts_all(y) else None


def _right_shift(x: Expr, y: Expr) -> Expr | None:
    if not _shifts_all(y):
        return None
    return _zero(x) if _kind(x) == "u" else operation("right_shift", x.dtype, x, constant(_bits(x) - 1, x.type))


def _bits(x: Expr) -> int:
    return x.dtype.itemsize * 8


def _shifts_all(y: Expr) -> bool:
    """Whether `y` is a constant that shifts every bit out; a negative count does so too, as in NumPy."""
    return y.op == "constant" and not 0 <= int(y.payload) < _bits(y)


def _mixed_sign(name: str) -> Callable[[Expr, Expr], Expr | None]:
    """Compare int64 with uint64 exactly, as NumPy does: by sign first."""
    swapped = {"less": "greater", "greater": "less", "less_equal": "greater_equal", "greater_equal": "less_equal"}

    def rule(x: Expr, y: Expr) -> Expr | None:
        if x.type == y.type:
            return None
        if _kind(x) == "u":
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
    "isnan": _never_on_integers(False),
    "isinf": _never_on_integers(False),
    "isfinite": _never_on_integers(True),
    "sign": _sign,
    "square": lambda x: x * x,
    "reciprocal": _reciprocal,
    "bitwise_count": _bitwise_count,
    "logaddexp": _logaddexp,
    "fmod": _fmod,
    "fmin": _fmin,
    "fmax": _fmax,
    "floor_divide": _by_constant(_zero, lambda x: -x),
    "remainder": _by_constant(_zero, _zero),
    "left_shift": _left_shift,
    "right_shift": _right_shift,
    **{name: _mixed_sign(name) for name in COMPARISONS},
}
