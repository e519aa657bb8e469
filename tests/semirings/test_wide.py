"""Vectors of more than eight items are loops over lanes: what is computed of them, by NumPy and by both printers."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import semirings
from semirings import Expr, Symbol, free_symbols, trace
from semirings.expr import in_order
from semirings.printers import cuda, python
from semirings.types import SHORT
from tests.helpers.semirings_engines import Program, assert_same, compile_cuda, cuda_source, run_cpu, run_cuda

pytestmark = pytest.mark.thorough

LENGTH = 13
X, Y = Symbol("x", (np.float32, (LENGTH,))), Symbol("y", (np.float32, (LENGTH,)))
N, S = Symbol("n", (np.int16, (LENGTH,))), Symbol("s", np.float32)
T = Symbol("t", ((np.float32, (LENGTH,)), np.int32))
STEPS = np.linspace(0, 3, LENGTH).astype(np.float32)


def column(values: Any) -> Any:
    """A constant vector, as it may stand beside arrays and symbols alike: as a column."""
    return values[:, None]


def everything(x: Any, y: Any, n: Any, s: Any, t: Any) -> tuple[Any, ...]:
    """What can be said of wide vectors, with wide and with plain results."""
    total = semirings.plus(x * y)
    return (
        x * s + 1,
        semirings.where(x > y, x, 0) - y[3],
        semirings.where(s > 0, x, y),
        x / (abs(total) + 1),
        semirings.sqrt(abs(x)) + column(STEPS),
        semirings.cast(n, (np.float32, (LENGTH,))) * column(np.arange(LENGTH, dtype=np.float32)),
        semirings.minimum(n, 7) * n,
        x * semirings.where(y < x, 1, 2),
        (x > y) | (n == 2),
        t[0] * t[1] + x,
        x,
        total,
        semirings.max(x) - semirings.min(x - y),
        semirings.any(x > y),
        semirings.plus(n),
        (x * 2 + y)[5] + s,
        semirings.plus(column(np.arange(LENGTH)) * n),
    )


def columns(seed: int, rows: int = 40) -> list[np.ndarray]:
    """An array for each number of each parameter."""
    random = np.random.default_rng(seed)
    floats = [random.integers(-20, 20, rows).astype(np.float32) / 4 for _ in range(2 * LENGTH)]
    ints = [random.integers(-300, 300, rows).astype(np.int16) for _ in range(LENGTH)]
    more = [random.integers(-20, 20, rows).astype(np.float32) for _ in range(1 + LENGTH)]
    return [*floats, *ints, *more, random.integers(-9, 9, rows).astype(np.int32)]


def arrays(given: list[np.ndarray]) -> tuple[Any, ...]:
    """The same as a function of arrays takes them."""
    x, y, n = (np.array(given[i * LENGTH : (i + 1) * LENGTH]) for i in range(3))
    return x, y, n, given[3 * LENGTH], (np.array(given[3 * LENGTH + 1 : -1]), given[-1])


def program() -> Program:
    results = trace(everything, X, Y, N, S, T)
    assert isinstance(results, tuple)
    return Program([X, Y, N, S, T], results)


def check(answers: list[np.ndarray], given: list[np.ndarray]) -> None:
    right = []
    for value in everything(*arrays(given)):
        right += list(value) if value.ndim == 2 else [value]
    for place, (answer, expected) in enumerate(zip(answers, right, strict=True)):
        assert_same(answer, expected, f"number {place}", rounding=2)


def test_printed_python_equals_numpy() -> None:
    given = columns(1)
    (answers,) = run_cpu([program()], [given])
    check(answers, given)


@pytest.mark.parametrize("architecture", [pytest.param("compute_80", marks=pytest.mark.slow), "compute_90"])
def test_printed_cuda_compiles(architecture: str) -> None:
    assert compile_cuda(cuda_source([program()]), architecture)


@pytest.mark.gpu
def test_printed_cuda_equals_numpy() -> None:
    given = columns(2)
    (answers,) = run_cuda([program()], [given])
    check(answers, given)


@given(data=st.data())
def test_any_expression_at_a_lane_is_that_of_the_items(data: Any) -> None:
    """What is wide at one lane is what the same function gives for the items at that lane."""
    operations = [np.add, np.subtract, np.multiply, np.minimum, np.less, np.hypot, np.true_divide]
    lane = data.draw(st.integers(0, LENGTH - 1))
    wide: list[Any] = [X, Y, semirings.as_expr(STEPS), S]
    single: list[Any] = [X[lane], Y[lane], semirings.constant(STEPS[lane]), S]
    for _ in range(data.draw(st.integers(1, 6))):
        operation = data.draw(st.sampled_from(operations))
        left, right = (data.draw(st.integers(0, len(wide) - 1)) for _ in range(2))
        if single[left].type == single[right].type == np.dtype(bool):
            operation = np.logical_xor  # NumPy subtracts no booleans
        wide.append(operation(wide[left], wide[right]))
        single.append(operation(single[left], single[right]))
    for whole, item in zip(wide, single, strict=True):
        if isinstance(whole.type, np.dtype):
            assert whole is item
        else:
            assert whole[lane].type == item.type and whole.op in ("symbol", "each", "table")
            assert len(in_order(whole[lane])) == len(in_order(item)) or "constant" in {e.op for e in in_order(item)}


def test_a_long_expression_is_one_loop_however_many_lanes() -> None:
    for length in (SHORT + 1, 1000):
        x, y = Symbol("x", (np.float32, (length,))), Symbol("y", (np.float32, (length,)))
        result = semirings.where(x > 0, x * 2 + y, 0) / (1 + semirings.sqrt(y))
        assert result.op == "each" and len(in_order(result)) < 20
        for printer in (python, cuda):
            assert printer.function("f", [x, y], result).count("for ") == 1


def test_what_is_alike_for_all_lanes_is_computed_once_before() -> None:
    text = python.function("f", [X, S], X * (S + 1) / semirings.plus(X))
    before, loop = text[: text.rindex("for lane")], text[text.rindex("for lane") :]
    assert "s + " in before and "s + " not in loop


def test_wide_values_copy_and_describe() -> None:
    result = (X * STEPS + S) / semirings.plus(X)
    assert pickle.loads(pickle.dumps(result)) is result is copy.deepcopy(result)
    assert str(X * 2 + S) == "each((x[lane] * 2.0) + s)"
    assert str(semirings.plus(X * Y)) == "fold(left + right, x[lane] * y[lane])"
    assert str(Y + np.arange(LENGTH)) == "each(float64(y[lane]) + float64(lane))"
    assert free_symbols(result) == [X, S]


def test_constants_are_a_number_for_all_the_lanes_own_number_or_a_table() -> None:
    for values, op in ((np.full(12, 2.5), "each"), (np.arange(12), "each"), (STEPS, "table")):
        vector = semirings.as_expr(values)
        assert vector.op == op
        assert [item.payload for item in vector if item.op == "constant"] == [
            v for v in values if item_is_plain(vector)
        ]
    assert python.function("f", [X], X + STEPS).count("table_") == 2


def item_is_plain(vector: Expr) -> bool:
    return vector[0].op == "constant"


def test_a_result_may_go_where_an_argument_is() -> None:
    text = python.function("f", [X, S], X + S, into=["x"])
    assert "def f(x, s):" in text and "x[lane] = " in text


def test_the_same_loop_twice_is_one() -> None:
    text = python.function("f", [X], (X * 2, X * 2))
    assert text.count("for lane") == 1 and "return (into0, into0)" in text


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: X + Symbol("z", (np.float32, (LENGTH + 1,))), "vectors of 13 and 14 items"),
        (lambda: semirings.vector(*[S * i for i in range(9)]), "a vector of 9 values, each computed by itself"),
        (lambda: semirings.where(X > 0, X, Symbol("z", (np.float32, (9,)))), "does not match a vector of 13 items"),
        (lambda: semirings.cast(X, (np.float32, (9,))), "does not match a vector of 9 items"),
        (lambda: X[LENGTH], "is outside"),
        (lambda: bool(X > 0), "no truth value"),
    ],
)
def test_what_wide_vectors_refuse(wrong: Any, message: str) -> None:
    with pytest.raises((TypeError, IndexError), match=message):
        wrong()


def test_a_monoid_of_wide_vectors_has_its_laws() -> None:
    wide = Symbol("a", (np.int8, (LENGTH,)))
    assert semirings.plus.combine(wide, wide).type == wide.type
    assert semirings.max.is_final(wide) is None
    assert semirings.any.takes_first(semirings.cast(wide > 0, wide.type) + 1, {})
    counts = Symbol("i", np.int64)
    ones = counts * np.arange(LENGTH) + 1
    assert semirings.any.takes_first(ones, {"i": (0, 9)}) is False  # products are not looked into
    assert semirings.any.takes_first(semirings.cast(counts + 1, (np.int64, (LENGTH,))), {"i": (0, 9)})
    assert semirings.check_laws(semirings.plus, wide.type)
