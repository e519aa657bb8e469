"""A monoid of one vector reduces its items: by NumPy, as printed Python and as printed CUDA; and what `hash` is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import semirings
from semirings import Monoid, Symbol, trace
from semirings.types import SCALAR_NAMES
from tests.helpers.semirings_engines import Program, assert_same, awkward, compile_cuda, cuda_source, run_cpu, run_cuda

pytestmark = pytest.mark.thorough

TYPES = [np.dtype(name) for name in SCALAR_NAMES]
SOON = [np.dtype(name) for name in ("bool", "int8", "float32")]
LENGTH = 9  # from 8 on NumPy sums a row in another order than item by item
MONOIDS = ("plus", "times", "min", "max", "any", "first", "second")
OF_BITS = ("bor", "band", "bxor")


def reductions(x: Any) -> tuple[Any, ...]:
    """A vector's items, reduced by every monoid that there is for them."""
    names = MONOIDS + (OF_BITS if x.dtype.kind in "iu" else ())
    of_truths = [getattr(semirings, name)(x > 1) for name in ("lor", "land", "any", "plus")]
    # Which of two zeros is the least or the greatest is left open; 0 added to them makes them one.
    return *(getattr(semirings, name)(x) + semirings.cast(0, x.dtype) for name in names), *of_truths


def prepare(dtype: np.dtype) -> tuple[Program, list[np.ndarray], tuple[np.ndarray, ...]]:
    """All of them as a program, rows of awkward values, and what NumPy says."""
    x = Symbol("x", (dtype, (LENGTH,)))
    random = np.random.default_rng(1)
    values = random.choice(awkward(dtype), (LENGTH, 200))
    values[:, :100] = random.choice(awkward(dtype)[:8], (LENGTH, 100))  # without NaN, which is all that is seen
    results = trace(reductions, x)
    assert isinstance(results, tuple)
    with np.errstate(all="ignore"):
        return Program([x], results), list(values), reductions(values)


def check(answers: list[np.ndarray], expected: tuple[np.ndarray, ...], dtype: np.dtype) -> None:
    for place, (answer, right) in enumerate(zip(answers, expected, strict=True)):
        assert_same(answer, right, f"reduction {place} of {dtype}")


@pytest.mark.parametrize(
    "dtype", [pytest.param(t, id=str(t), marks=[] if t in SOON else pytest.mark.slow) for t in TYPES]
)
def test_printed_python_equals_numpy(dtype: np.dtype) -> None:
    program, columns, expected = prepare(dtype)
    (answers,) = run_cpu([program], [columns])
    check(answers, expected, dtype)


@pytest.mark.parametrize("architecture", [pytest.param("compute_80", marks=pytest.mark.slow), "compute_90"])
def test_printed_cuda_compiles(architecture: str) -> None:
    assert compile_cuda(cuda_source([prepare(dtype)[0] for dtype in TYPES]), architecture)


@pytest.mark.gpu
def test_printed_cuda_equals_numpy() -> None:
    prepared = [prepare(dtype) for dtype in TYPES]
    answers = run_cuda([program for program, _, _ in prepared], [columns for _, columns, _ in prepared])
    for answer, (_, _, expected), dtype in zip(answers, prepared, TYPES, strict=True):
        check(answer, expected, dtype)


@given(st.lists(st.integers(-(2**15), 2**15 - 1), min_size=1, max_size=20), st.sampled_from(["plus", "min", "max"]))
def test_a_monoid_of_a_vector_is_its_reduction(items: list[int], name: str) -> None:
    monoid: Monoid = getattr(semirings, name)
    values = np.array(items, np.int16)
    assert monoid(values) == monoid.reduce(values) and monoid(values).dtype == np.int16
    np.testing.assert_array_equal(monoid(np.array([values, values]).T), [monoid.reduce(values)] * 2)
    assert trace(monoid, Symbol("x", (np.int16, (len(items),)))).type == np.int16  # type: ignore[union-attr]


def test_items_are_combined_from_the_first_to_the_last() -> None:
    digits = Monoid(lambda x, y: x * 10 + y, 0, name="digits", commutative=False)
    assert digits(np.array([1, 2, 3, 4])) == 1234
    for empty in (np.zeros(0), np.zeros((0, 3)), np.float64(1), 3):
        with pytest.raises(TypeError, match="expected a vector"):
            digits(empty)


# --- hash and random -------------------------------------------------------------------------------------------------


def splitmix64(state: int, count: int) -> list[int]:
    """The first outputs of the generator, as its authors wrote it down."""
    outputs = []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
        outputs.append(z ^ (z >> 31))
    return outputs


@given(st.integers(0, 2**64 - 1), st.integers(-(2**63), 2**63 - 1))
def test_hash_is_splitmix64(x: int, y: int) -> None:
    assert semirings.hash(np.arange(5)).tolist() == splitmix64(1, 5)
    state = semirings.hash(x)
    assert semirings.hash(x, np.arange(5, dtype=np.int8)).tolist() == splitmix64(int(state), 5)
    assert semirings.hash(x) == splitmix64((1 + x * 0x9E3779B97F4A7C15) % 2**64, 1)[0]
    assert semirings.hash(y) == semirings.hash(np.int64(y)) == semirings.hash(np.int64(y).astype(np.uint64))
    assert semirings.hash(y, x) == semirings.hash(np.array([y]), np.uint64(x))[0]
    assert state.dtype == np.uint64
    assert 0 <= semirings.random(x, y) < 1


def test_hash_tells_arguments_apart() -> None:
    hashes = [
        semirings.hash(*given)
        for given in ((0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1), (0, 0, 0), (-1,), (-1, -1), (-1, 0))
    ]
    assert len(set(map(int, hashes))) == len(hashes)
    assert semirings.hash(True) == semirings.hash(1) == semirings.hash(np.uint8(1))


def test_random_looks_drawn() -> None:
    """The mean, what neighbors have to do with each other, and how many fall into each of 100 parts."""
    count = 100_000
    ids = np.arange(count)
    for drawn in (semirings.random(1, ids), semirings.random(ids, 1), semirings.random(1, 2, ids, 3)):
        assert abs(drawn.mean() - 0.5) < 4 / np.sqrt(12 * count)
        assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 4 / np.sqrt(count)
        parts = np.bincount((drawn * 100).astype(int), minlength=100)
        assert ((parts - count / 100) ** 2).sum() / (count / 100) < 99 + 4 * np.sqrt(2 * 99)
    assert semirings.random(1, ids).dtype == np.float64
