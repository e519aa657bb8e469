"""Every operation on every type: NumPy on the user's function, the printed Python and the printed CUDA agree."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import semirings
from semirings import Symbol, trace
from semirings.types import SCALAR_NAMES
from tests.helpers.semirings_engines import Program, assert_same, awkward, compile_cuda, cuda_source, run_cpu, run_cuda

pytestmark = pytest.mark.thorough

TYPES = [np.dtype(name) for name in SCALAR_NAMES]
# Computed by a library function of each engine, right to a few units in the last place.
APPROXIMATE = {
    "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
    "sinh", "cosh", "tanh", "arctan2", "hypot", "power", "logaddexp", "cube", "fourth", "reciprocal_power",
}  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {
    name: getattr(np, name)
    for name in (
        "negative", "absolute", "invert", "sign", "square", "floor", "ceil", "trunc", "rint", "sqrt", "isnan", "isinf",
        "isfinite", "logical_not", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan",
        "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "fabs",
    )
} | {
    "cube": lambda x: x**3 if x.dtype.kind != "b" else x,
    "fourth": lambda x: x**4 if x.dtype.kind != "b" else x,
    "seventh": lambda x: x**7 if x.dtype.kind in "iu" else x,
    "root": lambda x: x**0.5 if x.dtype.kind != "b" else x,
    "reciprocal_power": lambda x: 1.0 / x if x.dtype.kind in "biu" else x**-1,
    "thirds": lambda x: x // 3,
    "negative thirds": lambda x: x % -3 if x.dtype.kind in "if" else x,
    "shifted": lambda x: (x << 3) if x.dtype.kind in "iu" else x,
    "shifted away": lambda x: (x >> 70) if x.dtype.kind in "iu" else x,
    "divided by zero": lambda x: x // 0,
    "divided by minus one": lambda x: x // -1 if x.dtype.kind == "i" else x,
    "less than much": lambda x: x < 300,
    "clipped": lambda x: semirings.clip(x, 1, 3),
    "bitwise_count": np.bitwise_count,
    "popcount": semirings.popcount,
    "ctz": semirings.ctz,
    "hash": semirings.hash,
    "random": semirings.random,
    **{f"cast to {dtype}": partial(semirings.cast, type=dtype) for dtype in TYPES},
}  # fmt: skip
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(np, name)
    for name in (
        "add", "subtract", "multiply", "true_divide", "floor_divide", "remainder", "fmod", "minimum", "maximum",
        "fmin", "fmax", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "less", "less_equal",
        "greater", "greater_equal", "equal", "not_equal", "logical_and", "logical_or", "logical_xor", "arctan2",
        "hypot", "power", "logaddexp",
    )
} | {
    "copysign": lambda x, y: np.copysign(x, semirings.where(y == y, y, 1)),  # the sign of NaN is anyone's
    "where": lambda x, y: semirings.where(x > y, x, y),
    "where bool": lambda x, y: semirings.where(x, y, 1),
    "where of numbers": lambda x, y: semirings.where(x > y, 1, 3),
    "weak": lambda x, y: x + semirings.where(y, 1, semirings.where(x > y, 3, 4)),
    "weak float": lambda x, y: semirings.where(y > 1, 1, 0.5) * x,
    "weak, compared": lambda x, y: x < semirings.where(y > 1, 300, 2),
    "where of weak": lambda x, y: semirings.where(x > 1, semirings.where(y > 1, 2, 3), y),
    "hash of two": semirings.hash,
    "random of two": lambda x, y: semirings.random(7, x, y),
}  # fmt: skip


def cases(dtype: np.dtype) -> dict[str, Callable[..., Any]]:
    """The operations NumPy has for this type and semirings supports, as functions of two values."""
    operations: dict[str, Callable[..., Any]] = {
        name: (lambda f: lambda x, y: f(x))(function) for name, function in UNARY.items()
    }
    operations |= BINARY
    if dtype.kind in "iu":
        del operations["power"]  # of integers: only with a constant exponent
    x, y = Symbol("x", dtype), Symbol("y", dtype)
    supported = {}
    for name, function in operations.items():
        try:
            with np.errstate(all="ignore"):
                answer = function(np.ones(1, dtype), np.ones(1, dtype))
        except TypeError:
            answer = None
        if answer is None or answer.dtype == np.float16:
            with pytest.raises(TypeError):
                trace(function, x, y)
        elif not (name == "power" and dtype.kind == "b"):
            supported[name] = function
    return supported


def prepare(dtype: np.dtype) -> tuple[Program, list[np.ndarray], list[tuple[str, np.ndarray]]]:
    """A program of all operations, all pairs of awkward values, and what NumPy says."""
    functions = cases(dtype)
    x, y = Symbol("x", dtype), Symbol("y", dtype)
    program = Program([x, y], tuple(trace(function, x, y) for function in functions.values()))
    values = awkward(dtype)
    columns = [column.ravel() for column in np.meshgrid(values, values)]
    with np.errstate(all="ignore"):
        expected = [(name, np.broadcast_to(f(*columns), columns[0].shape)) for name, f in functions.items()]
    return program, columns, expected


def check(answers: list[np.ndarray], expected: list[tuple[str, np.ndarray]], dtype: np.dtype) -> None:
    for answer, (name, right) in zip(answers, expected, strict=True):
        assert_same(answer, right, f"{name} of {dtype}", rounding=8 if name in APPROXIMATE else 0)


# One of each kind, and both floating-point types: operations are printed by kind, and cast to the type's width.
SOON = [np.dtype(name) for name in ("bool", "int8", "float32")]


@pytest.mark.parametrize(
    "dtype", [pytest.param(t, id=str(t), marks=[] if t in SOON else pytest.mark.slow) for t in TYPES]
)
def test_printed_python_equals_numpy(dtype: np.dtype) -> None:
    program, columns, expected = prepare(dtype)
    (answers,) = run_cpu([program], [columns])
    check(answers, expected, dtype)


@pytest.mark.parametrize("architecture", [pytest.param("sm_80", marks=pytest.mark.slow), "sm_90"])
def test_printed_cuda_compiles(architecture: str) -> None:
    assert compile_cuda(cuda_source([prepare(dtype)[0] for dtype in TYPES]), architecture)


@pytest.mark.gpu
def test_printed_cuda_equals_numpy() -> None:
    prepared = [prepare(dtype) for dtype in TYPES]
    answers = run_cuda([program for program, _, _ in prepared], [columns for _, columns, _ in prepared])
    for answer, (_, _, expected), dtype in zip(answers, prepared, TYPES, strict=True):
        check(answer, expected, dtype)


@pytest.mark.parametrize("name", sorted(BINARY))
def test_promotion_is_numpys(name: str) -> None:
    function = BINARY[name]
    for left in TYPES:
        for right in TYPES:
            arrays = np.ones(1, left), np.ones(1, right)
            try:
                with np.errstate(all="ignore"):
                    expected = function(*arrays).dtype
            except TypeError:
                expected = None
            symbols = Symbol("x", left), Symbol("y", right)
            refused = expected is None or expected == np.float16
            refused |= name == "power" and (expected.kind in "iu" or np.dtype(bool) in (left, right))
            if refused:
                with pytest.raises(TypeError):
                    trace(function, *symbols)
            else:
                assert trace(function, *symbols).type == expected, (name, left, right)


@pytest.mark.parametrize("number", [1, 0, -1, 2.5, True], ids=repr)
def test_python_numbers_adapt_as_in_numpy(number: float) -> None:
    for dtype in TYPES:
        for function in (lambda x: x + number, lambda x: number * x, lambda x: semirings.where(x > 0, x, number)):
            array = np.ones(1, dtype)
            if isinstance(number, int) and number < 0 and dtype.kind == "u":
                with pytest.raises(OverflowError):
                    trace(function, Symbol("x", dtype))
            else:
                assert trace(function, Symbol("x", dtype)).type == function(array).dtype
