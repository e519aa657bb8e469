"""Every operation of the language, with every special constant in every position: a table that is generated.

A case is a function of fields. NumPy evaluates it on arrays, as `compile=False` does; it is also traced and printed for
the other engines. Constants stand in it as Python numbers, as numbers of a type, and hidden: chosen by a condition that
is false for every number of its type, so that tracing keeps it and a compiler finds out. An operation on two hidden
constants is evaluated by the compiler, and so is one on the result of another, as `x % sqrt(rint(-2.5))`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.arrays import as_values
from semirings import Expr, Symbol, trace
from semirings.types import SCALAR_NAMES
from semirings.ufuncs import PRIMITIVES, RULES
from tests.helpers.semirings_engines import Program, assert_same, awkward

TYPES = [np.dtype(name) for name in SCALAR_NAMES]
TOGETHER = 60  # results of a printed function
Columns = list[np.ndarray]


class Operation(NamedTuple):
    """A function of `count` values."""

    function: Callable[..., Any]
    count: int
    rounding: int = 0  # units in the last place by which engines may differ
    has_signs: bool = True  # whether the sign of a zero is defined


# Computed by a library of each engine, right to a few units in the last place.
APPROXIMATE = {
    "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
    "sinh", "cosh", "tanh", "arctan2", "hypot", "power", "logaddexp",
}  # fmt: skip
OPEN_ZEROS = {"minimum", "maximum", "fmin", "fmax", "logaddexp"}


def _ufunc(name: str) -> Operation:
    """An operation by its name in NumPy."""
    function = getattr(np, name)
    if name == "copysign":  # the sign of NaN is anyone's
        return Operation(lambda x, y: np.copysign(x, semirings.where(y == y, y, 1)), 2)
    return Operation(function, function.nin, 8 if name in APPROXIMATE else 0, name not in OPEN_ZEROS)


def _chosen(x: Any, y: Any) -> Any:
    """A choice that is of Python numbers if y is one."""
    return semirings.where(x, 2.5, y)


OPERATIONS: dict[str, Operation] = {name: _ufunc(name) for name in sorted(PRIMITIVES | set(RULES))} | {
    "where": Operation(semirings.where, 3),
    "numpy.where": Operation(np.where, 3),
    "clip": Operation(semirings.clip, 3, has_signs=False),
    "popcount": Operation(semirings.popcount, 1),
    "ctz": Operation(semirings.ctz, 1),
    "hash": Operation(semirings.hash, 2),
    "random": Operation(semirings.random, 2),
    **{f"cast to {dtype}": Operation(lambda x, t=dtype: semirings.cast(x, t), 1) for dtype in TYPES},
    **{f"astype {dtype}": Operation(lambda x, t=dtype: (x + semirings.where(x, 0, 0)).astype(t), 1) for dtype in TYPES},
    **{f"cast of a choice to {t}": Operation(lambda x, y, t=t: semirings.cast(_chosen(x, y), t), 2) for t in TYPES},
    "//": Operation(lambda x, y: x // y, 2),
    "%": Operation(lambda x, y: x % y, 2),
    "**": Operation(lambda x, y: x**y, 2, 8),
    "a choice, cast": Operation(lambda x, y: semirings.cast(semirings.where(x, 2, 3), np.int64) * y, 2),
    "weak": Operation(lambda x, y: semirings.where(x, 1, semirings.where(x == 1, 0.5, 3)) * y, 2),
}  # fmt: skip
SAME = {"abs": "absolute"}  # names of `semirings` for functions of NumPy with others
ELSEWHERE = {"vector"}  # of vectors alone: tests of `gasla.run`


def special(dtype: np.dtype) -> list[Any]:
    """The special numbers of a type: its ends, zeros and their neighbors, shift counts; NaN, infinities, subnormals."""
    if dtype.kind == "b":
        return [np.False_, np.True_]
    if dtype.kind == "f":
        ends = np.finfo(dtype)
        numbers = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 0.5, -2.5, 8.0, ends.max, ends.min]
        return [dtype.type(x) for x in (*numbers, ends.smallest_subnormal, -(2.0**63))]
    whole, bits = np.iinfo(dtype), dtype.itemsize * 8
    wanted = {0, 1, 2, 255, bits - 1, bits, whole.min, whole.max, whole.max - 1, -1, -2}
    return [dtype.type(x) for x in sorted(wanted) if whole.min <= x <= whole.max]


PLAIN: list[Any] = [
    *(math.nan, math.inf, -math.inf, 0.0, -0.0, 0.5, -2.5, 1.7976931348623157e308, 5e-324, 1e-310, 3.5e38, True),
    *(0, 1, -1, 2, 8, 31, 32, 64, 300, -(2**31), 2**31, -(2**63), 2**63 - 1, 2**63, 2**64 - 1, 2**64),
]
"""Python numbers."""


class Case(NamedTuple):
    """A function of fields x and y of one type, and of `never`, a uint32."""

    name: str
    operation: Operation
    function: Callable[[Any, Any, Any], Any]


Part = Callable[[Any, Any, Any], Any]


def _x(x: Any, y: Any, never: Any) -> Any:
    return x


def _y(x: Any, y: Any, never: Any) -> Any:
    return y


def _plain(number: Any) -> Part:
    return lambda x, y, never: number


def _hidden(number: Any) -> Part:
    return lambda x, y, never: semirings.where(never < 0, type(number)(1), number)


def _of(operation: Operation, *parts: Part) -> Part:
    return lambda x, y, never: operation.function(*(part(x, y, never) for part in parts))


def cases(dtype: np.dtype, names: Sequence[str] = (), hides: bool = True) -> Iterator[Case]:
    """All operations, or some, with every constant in every position, beside fields of a type.

    `hides` adds constants that only a compiler finds.
    """
    own, double = special(dtype), [] if dtype.kind == "f" else special(np.dtype(np.float64))
    plain = {repr(c): _plain(c) for c in (*PLAIN, *own, *double)}
    hidden = {f"hidden {c!r}": _hidden(c) for c in (*own, *double)} if hides else {}
    root, rounded = OPERATIONS["sqrt"], OPERATIONS["rint"]
    if hides:
        hidden["sqrt(rint(hidden -2.5))"] = _of(root, _of(rounded, _hidden(np.float64(-2.5))))
        hidden["hidden inf - hidden inf"] = _of(
            OPERATIONS["subtract"], _hidden(np.float64(math.inf)), _hidden(np.float64(math.inf))
        )
    for name in names or OPERATIONS:
        operation = OPERATIONS[name]
        beside = [("x", _x), ("y", _y), ("x", _x)][: operation.count]
        yield Case(
            f"{name}({', '.join(text for text, _ in beside)})", operation, _of(operation, *(p for _, p in beside))
        )
        for place, (text, part) in product(range(operation.count), (plain | hidden).items()):
            texts, parts = (
                [*before, mine, *after]
                for before, mine, after in (
                    ([t for t, _ in beside[:place]], text, [t for t, _ in beside[place + 1 :]]),
                    ([p for _, p in beside[:place]], part, [p for _, p in beside[place + 1 :]]),
                )
            )
            yield Case(f"{name}({', '.join(texts)})", operation, _of(operation, *parts))
        if operation.count == 2 and hides:
            few = [
                (f"hidden {c!r}", _hidden(c)) for c in own if not np.isfinite(c) or c in (0, own[-1], own[0], -2.5, -1)
            ]
            for (a, first), (b, second) in product(few, repeat=2):
                yield Case(f"{name}({a}, {b})", operation, _of(operation, first, second))


def columns(dtype: np.dtype) -> Columns:
    """Values of x, y and `never`: awkward ones of the type, each beside some others."""
    values = awkward(dtype)
    random = np.random.default_rng(1)
    x = np.concatenate([values, random.permutation(values), random.permutation(values)])
    y = np.concatenate([values, random.permutation(values), random.permutation(values)])
    return [x, y, np.arange(len(x), dtype=np.uint32)]


@dataclass
class Table:
    """The cases of a type that are accepted, each expression once, and NumPy's answers; and what is wrong already."""

    dtype: np.dtype
    given: Columns = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    expressions: list[Expr] = field(default_factory=list)
    answers: Columns = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def programs(self) -> list[Program]:
        """The expressions as functions, a few results each."""
        symbols = _symbols(self.dtype)
        parts = range(0, len(self.expressions), TOGETHER)
        return [Program(symbols, tuple(self.expressions[k : k + TOGETHER])) for k in parts]

    def check(self, run: Callable[..., Any]) -> int:
        """Compare an engine's answers with NumPy's; returns how many expressions were compared."""
        programs = self.programs
        found = [answer for each in run(programs, [self.given] * len(programs)) for answer in each]
        for case, answer, right in zip(self.cases, found, self.answers, strict=True):
            if error := _difference(answer, right, case.operation):
                self.wrong.append(f"{case.name}: {error}")
        return len(found)


def _symbols(dtype: np.dtype) -> list[Symbol]:
    return [Symbol("x", dtype), Symbol("y", dtype), Symbol("never", np.uint32)]


def table(dtype: np.dtype, names: Sequence[str] = (), hides: bool = True) -> Table:
    """Trace the cases of a type, and evaluate them by NumPy as `compile=False` does."""
    made, symbols, given = Table(dtype), _symbols(dtype), columns(dtype)
    arrays, seen = [as_values(column) for column in given], set[Expr]()
    made.given = given
    for case in cases(dtype, names, hides):
        try:
            with np.errstate(all="ignore"):  # of constants, which NumPy evaluates
                expression = trace(case.function, *symbols)
        except (TypeError, OverflowError) as error:  # the same for all engines: each begins by tracing
            made.refused[type(error).__name__] += 1
            continue
        assert isinstance(expression, Expr)
        try:
            with np.errstate(all="ignore"):
                right = np.asarray(case.function(*arrays))
        except Exception as error:
            made.wrong.append(f"{case.name}: NumPy refuses what is traced, by {type(error).__name__}: {error}")
            continue
        if right.dtype != expression.type:
            made.wrong.append(f"{case.name}: {expression.type} is traced, and {right.dtype} by NumPy")
        elif expression not in seen:
            seen.add(expression)
            made.cases.append(case)
            made.expressions.append(expression)
            made.answers.append(np.broadcast_to(right, len(given[0])))
    return made


def _difference(answer: np.ndarray, right: np.ndarray, operation: Operation) -> str:
    """What differs; nothing if the answer is right."""
    try:
        assert_same(answer, right, "", operation.rounding)
    except AssertionError as error:
        return str(error)
    if operation.has_signs and right.dtype.kind == "f":
        other = (np.signbit(answer) != np.signbit(right)) & (right == 0) & (answer == 0)
        return f"zeros of the other sign at {np.flatnonzero(other)[:5]}" if other.any() else ""
    return ""
