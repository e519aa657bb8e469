"""Every row of docs/semantics.md, evaluated by NumPy, as printed Python and as printed CUDA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import semirings
from semirings import Expr, Symbol
from semirings.types import SCALAR_NAMES
from tests.helpers import ROOT
from tests.helpers.semirings_engines import Program, assert_same, compile_cuda, cuda_source, run_cpu, run_cuda

PAGE = ROOT / "docs" / "semantics.md"


class Row(NamedTuple):
    """A line of one of the page's tables."""

    rule: str
    example: str
    outcome: str


def rows() -> list[Row]:
    """All rows of all tables, less their headings."""
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and cells[1].startswith("`"):
            found.append(Row(cells[0], cells[1].strip("`"), cells[2].strip("`")))
    return found


VALUES = [row for row in rows() if row.outcome.endswith(")")]
REFUSED = [row for row in rows() if not row.outcome.endswith(")")]


class TypeName:
    """Stands for a type in an example: a type where one is wanted, and a call makes a value of it."""

    def __init__(self, dtype: np.dtype, make: Callable[[np.dtype, Any], Any]) -> None:
        self.dtype = dtype
        self.make = make

    def __call__(self, value: Any) -> Any:
        return self.make(self.dtype, value)


def evaluate(text: str, make: Callable[[np.dtype, Any], Any]) -> Any:
    """An example's value, where `make` decides what ``int8(100)`` is."""
    names: dict[str, Any] = {name: getattr(semirings, name) for name in semirings.__all__}
    names |= {name: TypeName(np.dtype(name), make) for name in SCALAR_NAMES}
    with np.errstate(all="ignore"):
        return eval(text, names | {"inf": np.inf, "nan": np.nan, "cast": lambda x, t: semirings.cast(x, t.dtype)})


def array(dtype: np.dtype, value: Any) -> np.ndarray:
    return np.array([value]).astype(dtype)


def expected(row: Row) -> np.ndarray:
    return evaluate(row.outcome, array)


def program() -> tuple[Program, list[np.ndarray]]:
    """All examples as one program, with a symbol for each typed value, and the values."""
    symbols: list[Symbol] = []
    values: list[np.ndarray] = []

    def make(dtype: np.dtype, value: Any) -> Expr:
        symbols.append(Symbol(f"x{len(symbols)}", dtype))
        values.append(array(dtype, value))
        return symbols[-1]

    results = tuple(evaluate(row.example, make) for row in VALUES)
    return Program(symbols, results), values


def check(run: Callable[..., Any]) -> None:
    printed, values = program()
    (answers,) = run([printed], [values])
    for row, answer in zip(VALUES, answers, strict=True):
        assert_same(answer, expected(row), row.example)


@pytest.mark.thorough
def test_the_page_has_rows() -> None:
    assert len(VALUES) > 50
    assert len(REFUSED) > 5


@pytest.mark.thorough
@pytest.mark.parametrize("row", VALUES, ids=lambda row: row.example)
def test_numpy_keeps_the_table_of_semantics(row: Row) -> None:
    actual = evaluate(row.example, array)
    assert_same(np.broadcast_to(actual, (1,)), expected(row), row.example)


def test_compiled_code_keeps_the_table_of_semantics() -> None:
    check(run_cpu)


@pytest.mark.thorough
@pytest.mark.parametrize("architecture", [pytest.param("compute_80", marks=pytest.mark.slow), "compute_90"])
def test_cuda_compiles(architecture: str) -> None:
    assert compile_cuda(cuda_source([program()[0]]), architecture)


@pytest.mark.thorough
@pytest.mark.gpu
@pytest.mark.sanitize
def test_cuda_keeps_the_table_of_semantics() -> None:
    check(run_cuda)


def zero_over_zero() -> tuple[Program, list[np.ndarray]]:
    """Not a number, and so is its maximum with another: both zeros are known to a compiler, the second time at once."""
    x = Symbol("x", np.uint32)
    zero = semirings.cast(x < 0, np.dtype(np.float64))
    quotients = zero / 0.0, zero / zero, semirings.cast(zero, np.dtype(np.float32)) / 0.0
    return Program([x], tuple(np.maximum(q, 0) for q in quotients)), [np.arange(3, dtype=np.uint32)]


@pytest.mark.thorough
@pytest.mark.parametrize("run", [run_cpu, pytest.param(run_cuda, marks=[pytest.mark.gpu, pytest.mark.sanitize])])
def test_zero_over_zero(run: Callable[..., Any]) -> None:
    printed, values = zero_over_zero()
    (answers,) = run([printed], [values])
    assert all(np.isnan(answer).all() for answer in answers)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("run", "kind"),
    [
        (run_cpu, "float32"),
        pytest.param(run_cpu, "float64", marks=pytest.mark.slow),
        *(pytest.param(run_cuda, k, marks=[pytest.mark.gpu, pytest.mark.sanitize]) for k in ("float32", "float64")),
    ],
)
def test_casts_of_what_was_compared_with_zero(run: Callable[..., Any], kind: str) -> None:
    """A compiler that knows a number's sign may forget that it is none."""
    x = Symbol("x", np.dtype(kind))
    whole = [np.dtype(name) for name in ("uint8", "uint16", "uint32", "uint64", "int32")]
    forms = np.maximum(x, 0), semirings.where(x < 0, 0, x), semirings.where((x >= 0) | (x != x), x, 0)
    printed = [Program([x], tuple(semirings.cast(form, dtype) for form in forms)) for dtype in whole]
    values = np.array([np.nan, -np.nan, np.inf, -np.inf, 0, -0.0, 0.5, -0.5, 3, -3], kind)
    for dtype, answers in zip(whole, run(printed, [[values]] * len(printed)), strict=True):
        for answer, form in zip(answers, forms, strict=True):
            assert not answer[:2].any(), (form, dtype)
            assert (answer[8], answer[9]) == (3, 0), (form, dtype)


@pytest.mark.thorough
@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row.example)
def test_refused_rows_raise(row: Row) -> None:
    kind = {"TypeError": TypeError, "OverflowError": OverflowError}[row.outcome]
    with pytest.raises(kind):
        evaluate(row.example, lambda dtype, value: Symbol("x", dtype))
