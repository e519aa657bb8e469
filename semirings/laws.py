"""Check the laws of a monoid or semiring on test values of a type, and report counterexamples.

A law must hold on ordinary values (small numbers that floats represent exactly). On extreme values (infinities, NaN,
the ends of the integer range) rounding and overflow break even ordinary addition, so a law that fails only on these is
reported as a caveat, not as a failure.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product as combinations
from typing import Any, NamedTuple

import numpy as np

from semirings.expr import Symbol
from semirings.operators import ANY, Monoid, Product, Semiring
from semirings.trace import trace
from semirings.types import TupleType, Type, VectorType, as_type, scalar_type

# values of a type: one array for each item of a tuple type, or a single array for a scalar type
Values = tuple[np.ndarray[Any, Any], ...]
Function = Callable[..., Values]
MOST = 100  # largest number of values that a caller may give to check laws on


@dataclass(frozen=True)
class Violation:
    """A law that does not hold, with a counterexample: values for which the two sides of the law differ."""

    law: str
    values: dict[str, Any]
    left: Any
    right: Any

    def __str__(self) -> str:
        given = ", ".join(f"{name} = {value}" for name, value in self.values.items())
        return f"{self.law}: for {given} the left side is {self.left}, the right side {self.right}"


@dataclass(frozen=True)
class LawReport:
    """
    The report of `check_laws` on a monoid or semiring: the laws that hold, and a counterexample of each that fails.

    Attributes
    ----------
    name : str
    type : numpy.dtype, VectorType or TupleType
    holds : list of str
        The laws that hold on all values tried.
    failures : list of Violation
        Laws that fail on ordinary values.
    caveats : list of Violation
        Laws that fail only on extreme values, and the annihilator laws, which sparse products don't need.
    """

    name: str
    type: Type
    holds: list[str]
    failures: list[Violation]
    caveats: list[Violation]

    @property
    def ok(self) -> bool:
        """Whether every law holds on ordinary values."""
        return not self.failures

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        lines = [f"{self.name} on {self.type}: {'the laws hold' if self.ok else 'not lawful'}"]
        lines += [f"  holds   {law}" for law in self.holds]
        lines += [f"  FAILS   {violation}" for violation in self.failures]
        lines += [f"  caveat  {violation}" for violation in self.caveats]
        return "\n".join(lines)


class _Law(NamedTuple):
    """A law ``left(*values) == right(*values)``, which should hold for all values of its variables.

    `variables` has a letter for each variable. A failure is only a caveat if `is_needed` is False, or if
    the law fails only on extreme values and `must_hold_on_extremes` is False.
    """

    text: str
    variables: str
    left: Function
    right: Function
    must_hold_on_extremes: bool = False
    is_needed: bool = True


def check_laws(algebra: Monoid | Semiring, type: Any, values: Any = None) -> LawReport:
    """
    Check the laws of a monoid or semiring on test values of a type.

    The laws are identity, associativity, commutativity, idempotence, the terminal value and the held form of a monoid,
    as far as it claims them; for a semiring also that multiplication distributes over addition. If any value is
    terminal, the operator must return one of its arguments, and the identity only if both are.

    Parameters
    ----------
    algebra : Monoid or Semiring
    type : dtype-like or tuple of types
        The type of the values. For a vector its items are checked.
    values : array-like, optional
        At most 100 values to try, for an algebra whose laws hold for some values only, such as probabilities; of a
        tuple type, tuples. The addition of a semiring is tried on their products. By default small numbers of both
        signs, and the extreme values of the type.

    Returns
    -------
    LawReport
        True if the laws hold; printed, it shows a counterexample for each law that fails.

    Examples
    --------
    >>> import semirings
    >>> bool(check_laws(semirings.min_plus, np.int32))
    True
    >>> print(check_laws(Monoid(lambda x, y: (x + y) // 2, 0, name="mean"), np.uint8))
    mean on uint8: not lawful
      holds   commutative: op(x, y) = op(y, x)
      FAILS   identity: op(e, x) = x: for x = 1 the left side is 0, the right side 1
      ...
    >>> either = Monoid(lambda x, y: x + y - x * y, 0, name="either", terminal=1, commutative=True)
    >>> bool(check_laws(either, np.float64)), bool(check_laws(either, np.float64, values=[0, 0.25, 0.5, 1]))
    (False, True)
    """
    if not isinstance(algebra, Monoid | Semiring):
        raise TypeError(f"check_laws of {algebra!r}; expected a Monoid or a Semiring")
    kind = as_type(type)
    if isinstance(kind, VectorType):
        kind = kind.scalar
    # Tracing raises an error, with advice, if the operator can't be traced.
    x, y = Symbol("x", kind), Symbol("y", kind)
    if isinstance(algebra, Monoid):
        trace(algebra.op.function, x, y)
    else:
        places = [Symbol(name, np.int64) for name in ("i", "k", "j")] if algebra.positional else []
        trace(algebra.operator.function, x, y, *places)
    report, given = (
        LawReport(algebra.name, kind, [], [], []),
        None if values is None else _check_given_values(values, kind),
    )
    with np.errstate(all="ignore"):
        if isinstance(algebra, Monoid):
            _check_monoid(algebra, kind, given, report)
        else:
            product_type = _product_type(algebra, kind)
            products = None if given is None or algebra.positional else _distinct_products(algebra, given)
            _check_monoid(algebra.monoid, product_type, products, report)
            if not algebra.positional:
                _check_each_law(_semiring_laws(algebra, kind, product_type), kind, given, report)
    return report


def _check_monoid(monoid: Monoid, kind: Type, given: Values | None, report: LawReport) -> None:
    """Check the laws of a monoid for values of type `kind`, and add the results to the report.

    The values are those that the caller has `given`, or else test values. For a product of monoids, the laws of each
    item's monoid are checked. If the operator returns another type than that of its arguments, only this failure is
    reported.
    """
    if isinstance(monoid, Product):
        return _check_items(monoid, kind, given, report)
    sample = _unpack(_test_values(kind, False))
    result = _type_of(monoid.combine(sample, sample))
    if result != kind and not (isinstance(kind, TupleType) and result == TupleType(kind.items)):
        closed = "closed: op(x, y) has the type of x and y"
        report.failures.append(Violation(closed, {"x": kind, "y": kind}, result, kind))
    else:
        _check_each_law(_monoid_laws(monoid, kind), kind, given, report)
    return None


def _check_items(monoid: Product, kind: Type, given: Values | None, report: LawReport) -> None:
    """Check the laws of the monoid of each item in a product of monoids, and add the results to the report.

    `kind` is the type of the tuples, and `given` has the caller's values, or is None for test values.
    """
    for i, (part, item) in enumerate(monoid.each(kind)):
        part_report, prefix = check_laws(part, item, None if given is None else given[i]), f"item {i}, "
        report.holds.extend(prefix + law for law in part_report.holds)
        for to, violations in ((report.failures, part_report.failures), (report.caveats, part_report.caveats)):
            to.extend(replace(violation, law=prefix + violation.law) for violation in violations)


def _check_each_law(laws: Iterable[_Law], kind: Type, given: Values | None, report: LawReport) -> None:
    """Check each law on ordinary values, then on extreme ones, and add the result to the report.

    If the caller has `given` values, laws are checked on these values alone.
    """
    ordinary = _test_values(kind, False) if given is None else given
    every = _join(ordinary, _test_values(kind, True)) if given is None else given
    for law in laws:
        on_ordinary = _counterexample(law, ordinary)
        counterexample = on_ordinary or _counterexample(law, every)
        if counterexample is None:
            report.holds.append(law.text)
        elif law.is_needed and (on_ordinary or law.must_hold_on_extremes):
            report.failures.append(counterexample)
        else:
            report.caveats.append(counterexample)


def _product_type(semiring: Semiring, kind: Type) -> Type:
    """Return the type of the semiring's product of two values of type `kind`."""
    values = _test_values(kind, False)
    sample, place = _unpack(values), np.zeros(len(values[0]), np.int64)
    places = [place] * 3 if semiring.positional else []
    return _type_of(semiring.operator.function(sample, sample, *places))


def _type_of(value: Any) -> Type:
    """Return the semirings type of an array, or of a tuple of arrays."""
    if isinstance(value, tuple):
        return TupleType(tuple(np.asarray(part).dtype for part in value))
    return scalar_type(np.asarray(value).dtype)


# --- the laws of monoids and semirings --------------------------------------------------------------------------------


def _monoid_laws(monoid: Monoid, kind: Type) -> Iterator[_Law]:
    """Yield the laws that a monoid claims to obey, for values of a type."""

    def op(x: Values, y: Values) -> Values:
        return _pack(monoid.combine(_unpack(x), _unpack(y)))

    identity = _pack(monoid.identity(kind))
    if monoid.is_neutral:
        yield _Law("identity: op(e, x) = x", "x", lambda x: op(identity, x), lambda x: x, True)
        yield _Law("identity: op(x, e) = x", "x", lambda x: op(x, identity), lambda x: x, True)
    yield _Law(
        "associative: op(op(x, y), z) = op(x, op(y, z))",
        "xyz",
        lambda x, y, z: op(op(x, y), z),
        lambda x, y, z: op(x, op(y, z)),
    )
    if held := monoid.held:
        lifted = _type_of(held.lift(_unpack(_test_values(kind, False))))
        empty = _pack(held.lower(held.monoid.identity(lifted)))
        yield _Law("held: lower of the identity = e", "x", lambda x: empty, lambda x: identity, True)
        yield _Law(
            "held: lower(op(lift(x), lift(y))) = op(x, y)",
            "xy",
            lambda x, y: _pack(held.lower(held.monoid.combine(held.lift(_unpack(x)), held.lift(_unpack(y))))),
            op,
        )
    terminal = monoid.terminal(kind)
    if terminal is ANY:
        yield _Law("any: op(x, y) is x or y", "xy", op, lambda x, y: _matching_operand(op(x, y), x, y), True)
    elif monoid.commutative:
        yield _Law("commutative: op(x, y) = op(y, x)", "xy", op, lambda x, y: op(y, x))
    if monoid.idempotent:
        yield _Law("idempotent: op(x, x) = x", "x", lambda x: op(x, x), lambda x: x, True)
    if terminal is not None and terminal is not ANY:
        end = _pack(terminal)
        yield _Law("terminal: op(z, x) = z", "x", lambda x: op(end, x), lambda x: end, True)


def _semiring_laws(semiring: Semiring, kind: Type, product_type: Type) -> Iterator[_Law]:
    """Yield the laws that relate a semiring's addition and multiplication, such as the distributive laws.

    `kind` is the type of the values, and `product_type` that of a product of two values.
    """
    add = semiring.monoid

    def plus(x: Values, y: Values) -> Values:
        return _pack(add.combine(_unpack(x), _unpack(y)))

    def times(x: Values, y: Values) -> Values:
        return _pack(semiring.multiply(_unpack(x), _unpack(y)))

    yield _Law(
        "distributive: x * (y + z) = x * y + x * z",
        "xyz",
        lambda x, y, z: times(x, plus(y, z)),
        lambda x, y, z: plus(times(x, y), times(x, z)),
    )
    yield _Law(
        "distributive: (x + y) * z = x * z + y * z",
        "xyz",
        lambda x, y, z: times(plus(x, y), z),
        lambda x, y, z: plus(times(x, z), times(y, z)),
    )
    zero, wanted = _pack(add.identity(kind)), _pack(add.identity(product_type))
    yield _Law("annihilator: 0 * x = 0", "x", lambda x: times(zero, x), lambda x: wanted, is_needed=False)
    yield _Law("annihilator: x * 0 = 0", "x", lambda x: times(x, zero), lambda x: wanted, is_needed=False)


def _matching_operand(result: Values, x: Values, y: Values) -> Values:
    """Return, for each result of an operator on x and y, the operand that it equals: y if it equals y, and otherwise x.

    So if the operator has returned neither of its operands, its result differs from the value returned here.
    """
    is_y = _equal(result, y)
    return tuple(np.where(is_y, b, a) for a, b in zip(x, y, strict=True))


# --- test values and counterexamples ----------------------------------------------------------------------------------


def _check_given_values(values: Any, kind: Type) -> Values:
    """Return the values on which the caller wants laws to be checked, as one array for each item of the type.

    Raise ValueError if there are too many values, or if the type can't hold them.
    """
    kinds: tuple[Any, ...] = kind.items if isinstance(kind, TupleType) else (kind,)
    entries = [*values] if np.ndim(values) or isinstance(kind, TupleType) else []
    columns = [*zip(*entries, strict=True)] if isinstance(kind, TupleType) else [entries]
    if not 0 < len(entries) <= MOST or len(columns) != len(kinds):
        raise ValueError(f"values is {reprlib.repr(values)}; expected 1 to {MOST} values of type {kind}")
    try:
        columns_of_items = tuple(np.array(column, item) for column, item in zip(columns, kinds, strict=True))
        are_same = all(item.tolist() == [*column] for column, item in zip(columns, columns_of_items, strict=True))
    except (TypeError, ValueError, OverflowError):
        are_same = False
    if not are_same:
        raise ValueError(f"values is {reprlib.repr(values)}; expected numbers that {kind} can hold")
    return columns_of_items


def _distinct_products(semiring: Semiring, given: Values) -> Values:
    """Return the distinct products of all pairs of the given values by a semiring, but at most `MOST` of them."""
    left_index, right_index = np.indices((len(given[0]),) * 2).reshape(2, -1)
    pairs = (_unpack(tuple(part[index] for part in given)) for index in (left_index, right_index))
    products = tuple(np.broadcast_to(part, left_index.shape) for part in _pack(semiring.multiply(*pairs)))
    distinct: dict[tuple[Any, ...], None] = dict.fromkeys(zip(*(part.tolist() for part in products), strict=True))
    return tuple(np.array(column, part.dtype) for column, part in zip(zip(*[*distinct][:MOST]), products))


def _test_values(kind: Type, extreme: bool) -> Values:
    """Return test values of a type: small numbers that floats represent exactly, or extreme ones such as infinities."""
    if isinstance(kind, TupleType):
        count = 3 if len(kind.items) > 2 else 4
        columns = [_test_values(item, extreme)[0][:count] for item in kind.items]
        return tuple(np.array(column) for column in zip(*combinations(*columns), strict=True))
    assert isinstance(kind, np.dtype)
    return (np.array(_scalars(kind, extreme), dtype=kind),)


def _scalars(dtype: np.dtype[Any], extreme: bool) -> list[Any]:
    """Return test values of a scalar type, ordinary ones or extreme ones.

    The first ordinary values are 0, 1 and -1. The first extreme values are those that break laws most often.
    """
    if dtype.kind == "b":
        return [False, True]
    if dtype.kind == "f":
        limits = np.finfo(dtype)
        worst = [np.nan, np.inf, -np.inf, -0.0, limits.max, -limits.max, limits.tiny, limits.smallest_subnormal]
        return worst if extreme else [0, 1, -1, 0.5, 2, -2, 3, -0.5, -3]
    int_limits = np.iinfo(dtype)
    if extreme:
        return [int_limits.max, int_limits.min, int_limits.max - 1, int_limits.min + 1, int_limits.max // 2]
    return [0, 1, 2, 3, 4, 5] if dtype.kind == "u" else [0, 1, -1, 2, -2, 3, -3, 5]


def _join(a: Values, b: Values) -> Values:
    return tuple(np.concatenate(parts) for parts in zip(a, b, strict=True))


def _pack(value: Any) -> Values:
    return tuple(map(np.asarray, value)) if isinstance(value, tuple) else (np.asarray(value),)


def _unpack(values: Values) -> Any:
    return values if len(values) > 1 else values[0]


def _counterexample(law: _Law, values: Values) -> Violation | None:
    """Return a violation with the first values for which the two sides of a law differ, or None if there are none."""
    count = len(values[0])
    grid = np.indices((count,) * len(law.variables)).reshape(len(law.variables), -1)
    arguments = [tuple(part[index] for part in values) for index in grid]
    left, right = law.left(*arguments), law.right(*arguments)
    differs = np.broadcast_to(~_equal(left, right), grid.shape[1:])
    if not differs.any():
        return None
    position = int(np.argmax(differs))
    shown = {name: _shown_value(argument, position) for name, argument in zip(law.variables, arguments, strict=True)}
    return Violation(law.text, shown, _shown_value(left, position), _shown_value(right, position))


def _equal(left: Values, right: Values) -> Any:
    """Return a boolean array that is True where the two sides of a law agree.

    They agree if they are equal, both NaN, or floats that differ only by rounding.
    """
    result: Any = True
    for a, b in zip(left, right, strict=True):
        same = a == b
        if a.dtype.kind == "f" or b.dtype.kind == "f":
            tolerance = 64 * float(np.finfo(np.result_type(a, b)).eps)
            same = same | (np.isnan(a) & np.isnan(b)) | np.isclose(a, b, rtol=tolerance, atol=tolerance)
        result = result & same
    return result


def _shown_value(values: Values, position: int) -> Any:
    """Return the test value at a position of arrays, as the report of laws shows it: a number, or a tuple's text."""
    parts = [part if part.ndim == 0 else part[position] for part in values]
    return parts[0] if len(parts) == 1 else f"({', '.join(map(str, parts))})"
