"""The printed source: readable, free of needless casts, with names that cannot clash, and literals that are exact."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable
from functools import partial
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from semirings import Symbol, argmin, as_type, constant, minimum, vector, where
from semirings.expr import in_order
from semirings.printers import cuda, python, statement_order
from semirings.types import SCALAR_NAMES
from semirings.ufuncs import PRIMITIVES
from tests.helpers.semirings_engines import Program, assert_same, awkward, compile_cuda, cuda_source, run_cpu, run_cuda

pytestmark = pytest.mark.thorough

X, Y = Symbol("x", np.float32), Symbol("y", np.float32)
N = Symbol("n", np.int32)
LITERALS = [(np.dtype(name), value) for name in SCALAR_NAMES for value in awkward(np.dtype(name))]


def body(text: str) -> list[str]:
    """A printed function's statements."""
    return [line.strip() for line in text.splitlines()[2:]]


def test_python_source_is_what_a_person_would_write() -> None:
    source, target = Symbol("src.rank", np.float64), Symbol("degree", np.int64)
    assert python.function("gather", [source, target], source / where(target > 0, target, 1)) == dedent(
        """\
        def gather(src_rank, degree):
            # (float64, int64) -> float64
            t0 = degree > 0
            t1 = degree if t0 else 1
            t2 = np.float64(t1)
            return src_rank / t2
        """
    )


def test_cuda_source_is_what_a_person_would_write() -> None:
    assert cuda.function("relax", [X, Y], (minimum(X, Y + 1), X > Y)) == dedent(
        """\
        __device__ __forceinline__ semirings::tuple<float, bool> relax(float x, float y) {
            const float t0 = y + 1.0f;
            const float t1 = x < t0 || x != x ? x : t0;
            const bool t2 = x > y;
            return semirings::tuple<float, bool>{t1, t2};
        }
        """
    )


@pytest.mark.parametrize("name", ["float32", "float64", "int64", "uint64"])
def test_python_needs_no_casts(name: str) -> None:
    a, b = Symbol("a", name), Symbol("b", name)
    text = python.function("f", [a, b], where(a < b, a + b * a - a, minimum(a, b)))
    assert "np." not in text


def test_int64_wraps() -> None:
    n = Symbol("n", np.int64)
    assert body(python.function("f", [n], n + 100 > n)) == ["t0 = n + 100", "return n < t0"]
    largest = np.array([2**63 - 1, 0])
    ((answer,),) = run_cpu([Program([n], (n + 100 > n,))], [[largest]])
    np.testing.assert_array_equal(answer, [False, True])


def test_small_integers_stay_small() -> None:
    assert body(python.function("f", [N], N + N)) == ["return n + n"]


def test_common_subexpressions_are_computed_once() -> None:
    assert python.function("f", [X], (X * X) + 1 / (X * X)).count("x * x") == 1


def test_vectors_and_tuples_are_python_tuples() -> None:
    v, t = Symbol("v", ("f4", (2,))), Symbol("t", ("f4", "i4"))
    assert body(python.function("f", [v, t], vector(v[1], t[0]))) == ["return (v[1], t[0])"]
    assert body(python.function("f", [v, t], (v[0], t[1]))) == ["return (v[0], t[1])"]
    assert body(python.function("f", [t], (t[1],))) == ["return (t[1],)"]


@pytest.mark.parametrize(
    "names",
    [
        ["int", "new", "class", "lambda"],
        ["np", "math", "abs", "f"],
        ["t0", "t1", "t", "t_0"],
        ["a.b", "a_b", "é", "1"],
    ],
)
def test_any_name_will_do(names: list[str]) -> None:
    symbols = [Symbol(name, np.float32) for name in names]
    result = abs(symbols[0] * symbols[1]) + np.sqrt(symbols[2]) * symbols[3]
    columns = [np.array([number], np.float32) for number in (2, -3, 16, 5)]
    ((answer,),) = run_cpu([Program(symbols, (result,))], [columns])
    assert answer == [26]
    assert compile_cuda(cuda_source([Program(symbols, (result,))]), "compute_90")


@given(st.lists(st.text(max_size=5), unique=True, min_size=1, max_size=6))
def test_parameters_are_distinct_identifiers(names: list[str]) -> None:
    text = python.function("f", [Symbol(name, np.float32) for name in names], constant(1.0))
    parameters = text[text.index("(") + 1 : text.index(")")].split(", ")
    assert len(set(parameters)) == len(names)
    assert all(name.isidentifier() and not keyword.iskeyword(name) for name in parameters)


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match=r"f reads y, not among its parameters \['x'\]"):
        python.function("f", [X], X + Y)
    with pytest.raises(TypeError, match="is not a Symbol"):
        cuda.function("f", [X + 1], X)  # type: ignore[list-item]
    with pytest.raises(TypeError, match="a tuple of 31 items: CUDA structs hold at most 30"):
        cuda.function("f", [X], (X,) * 31)


def test_several_programs_live_side_by_side() -> None:
    pair = Symbol("pair", ("f4", "i4"))
    functions = [cuda.function(name, [pair], argmin.combine(pair, (pair[0], 3))) for name in ("a_gather", "b_gather")]
    assert compile_cuda("\n".join([cuda.PRELUDE, *functions]), "compute_80")


@pytest.mark.parametrize(("dtype", "value"), LITERALS, ids=str)
def test_python_literals_read_back(dtype: np.dtype, value: Any) -> None:
    back = eval(python.literal(value, dtype), {"np": np})
    assert_same(np.array([back]).astype(dtype), np.array([value]), "literal")


def check_literals(run: Callable[..., Any], literals: list[tuple[np.dtype, Any]]) -> None:
    program = Program([N], tuple(constant(value, dtype) for dtype, value in literals))
    (answers,) = run([program], [[np.zeros(1, np.int32)]])
    for answer, (dtype, value) in zip(answers, literals, strict=True):
        assert_same(answer, np.array([value], dtype), f"{dtype} {value}")


def test_python_reads_literals_as_their_type() -> None:
    check_literals(run_cpu, [(dtype, value) for dtype, value in LITERALS if not -1 <= value < 1e4])


def test_cuda_literals_compile() -> None:
    program = Program([N], tuple(constant(value, dtype) for dtype, value in LITERALS))
    assert compile_cuda(cuda_source([program]), "compute_90")


@pytest.mark.gpu
def test_cuda_literals() -> None:
    check_literals(run_cuda, LITERALS)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_cuda_widens_the_magnitude_of_the_lowest_value(dtype: str) -> None:
    """It stays negative, as in NumPy; a compiler that knows magnitudes to be positive may widen it as if it were."""
    a, b = Symbol("a", np.dtype(dtype)), Symbol("b", np.dtype(np.uint32))
    values = awkward(np.dtype(dtype))
    columns = [values, np.full(len(values), 7, np.uint32)]
    product = np.absolute(a).astype(np.int64) * b.astype(np.int64)
    ((answer,),) = run_cuda([Program([a, b], (product,))], [columns])
    with np.errstate(over="ignore"):
        right = np.absolute(values).astype(np.int64) * 7
    assert_same(answer, right, dtype)


NEGATIVES: list[Callable[[Any], Any]] = [
    lambda a: -a,
    lambda a: 0 - a,
    lambda a: a * -1,
    lambda a: ~a + 1,
    lambda a: where(a > 0, a, -a),
    lambda a: (-a.astype(np.int64)).astype(a.dtype),
]


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_cuda_compares_the_negative_of_the_lowest_value(dtype: str) -> None:
    """It is itself, and so less than 1; a compiler may compare what it is in more bits."""
    a = Symbol("a", np.dtype(dtype))
    values = awkward(np.dtype(dtype))
    program = Program([a], tuple(negative(a) < 1 for negative in NEGATIVES))
    (answers,) = run_cuda([program], [[values]])
    with np.errstate(over="ignore"):
        expected = [negative(values) < 1 for negative in NEGATIVES]
    for number, (answer, right) in enumerate(zip(answers, expected, strict=True)):
        assert_same(answer, right, f"{dtype}, way {number}")


def test_cuda_negates_no_short_in_16_bits() -> None:
    """What the test above finds on a GPU: ptxas takes the answers of these two instructions for exact."""
    a = Symbol("a", np.dtype(np.int16))
    nvrtc = pytest.importorskip("cupy", reason="NVRTC comes with CuPy").cuda.nvrtc
    source = cuda_source([Program([a], tuple(f(a) < 1 for f in [*NEGATIVES, np.absolute]))])
    program = nvrtc.createProgram(source, "printed.cu", [], [])
    nvrtc.compileProgram(program, ["-arch=compute_90", "-std=c++17"])
    assert not set(re.findall(r"(?:neg|abs)\.s16", str(nvrtc.getPTX(program))))


def test_literals_of_vectors_and_tuples() -> None:
    kind = as_type(("f4", "i8"))
    assert python.literal((np.inf, 3), kind) == "(np.float32(np.inf), 3)"
    assert cuda.literal((1.5, 3), kind) == "semirings::tuple<float, long long>{1.5f, 3LL}"
    assert python.literal(np.array([1, 2]), as_type(("u8", (2,)))) == "(np.uint64(1), np.uint64(2))"
    assert cuda.literal([1, 2], as_type(("u8", (2,)))) == "semirings::vector<unsigned long long, 2>{{1ULL, 2ULL}}"


def test_every_primitive_has_a_printer() -> None:
    """A new operation must be added to both; on float32 and int32 each prints or is not defined there."""
    for name in PRIMITIVES:
        ufunc = getattr(np, name)
        printed = 0
        for symbol in (X, N):
            try:
                result = ufunc(*[symbol] * ufunc.nin)
            except TypeError:
                continue
            printed += bool(python.function("f", [symbol], result)) and bool(cuda.function("f", [symbol], result))
        assert printed, name


@pytest.fixture
def branching(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions are printed with branches wherever these are possible."""
    monkeypatch.setattr(python, "function", partial(python.function, branches=True))
    monkeypatch.setattr(statement_order, "EXPENSIVE", 1)


def test_what_costs_much_is_computed_only_where_it_counts() -> None:
    cost = (X * 3 + 1) * (X - 2) / (X * X + 5) - X
    lines = body(python.function("f", [X, Y], (Y > 0) & (cost < 2), branches=True))
    assert lines[:3] == ["t0 = y > np.float32(0.0)", "t10 = t0", "if t0:"] and lines[-1] == "return t10"
    assert [
        line for line in body(python.function("f", [X, Y], (cost < 2) | (Y > 0), branches=True)) if "if" in line
    ] == ["if not t0:"]
    assert "if" not in python.function("f", [X, Y], where(Y > 0, X + 1, Y), branches=True).replace(" if t", "")
    shared = where(Y > 0, cost, Y) + cost
    assert "    t" not in "\n".join(body(python.function("f", [X, Y], shared, branches=True)))  # needed anyway


@pytest.mark.usefixtures("branching")
@given(st.integers(0, 10**6))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_branches_compute_what_numpy_does(seed: int) -> None:
    """Nested conditions, with parts in common, in random expressions."""
    random = np.random.default_rng(seed)
    numbers: list[Any] = [X, Y, X + Y]
    tests: list[Any] = [X < Y, X > 0]
    for _ in range(25):
        a, b = (numbers[i] for i in random.integers(0, len(numbers), 2))
        c, d = (tests[i] for i in random.integers(0, len(tests), 2))
        numbers.append([a + b, a * b, where(c, a, b), minimum(a, b), where(c & d, a - b, a)][random.integers(5)])
        tests.append([a < b, c & d, c | d, c & (a > b), ~c][random.integers(5)])
    results = (numbers[-1], tests[-1], numbers[-2])
    columns = [random.normal(size=64).astype(np.float32) for _ in range(2)]
    (found,) = run_cpu([Program([X, Y], results)], [columns])
    with np.errstate(all="ignore"):
        right = [evaluated(result, dict(zip((X, Y), columns, strict=True))) for result in results]
    for one, other in zip(found, right, strict=True):
        np.testing.assert_array_equal(one, other)


def evaluated(e: Any, given: dict[Any, Any]) -> Any:
    """The value of an expression, by NumPy, every part of it."""
    values = dict(given)
    functions = {"where": np.where, "invert": np.logical_not}
    for one in in_order(e):
        if one not in values:
            args = [values[arg] for arg in one.args]
            values[one] = (
                one.payload if one.op == "constant" else functions.get(one.op, getattr(np, one.op, None))(*args)
            )
    return values[e]
