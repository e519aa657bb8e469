"""Random functions over random types, evaluated three ways: by NumPy, as printed Python and as printed CUDA.

Only operations that IEEE arithmetic defines to the last bit take part, so the answers must be equal. NumPy leaves open
which of two zeros minimum and maximum return; adding 0 afterwards makes them one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import semirings
from semirings import Symbol, TupleType, VectorType, as_type, trace
from semirings.types import SCALAR_NAMES
from tests.helpers.semirings_engines import (
    Program,
    assert_same,
    awkward,
    compile_cuda,
    cuda_source,
    leaves,
    run_cpu,
    run_cuda,
)

pytestmark = pytest.mark.thorough

ELEMENTS = 300  # values each function is tried on
PROGRAMS = 12  # functions in a batch, compiled together

UNARY: list[Callable[[Any], Any]] = [
    lambda a: -a,
    abs,
    lambda a: ~a,
    np.floor,
    np.ceil,
    np.trunc,
    np.rint,
    np.sqrt,
    np.isnan,
    np.isfinite,
    np.sign,
    lambda a: a**2,  # of bool: refused
    lambda a: a**5 if a.dtype.kind in "iu" else a,
    semirings.popcount,
    semirings.ctz,
    lambda a: semirings.where(a > 1, 1, 2),
    *(partial(semirings.cast, type=name) for name in SCALAR_NAMES),
]
BINARY: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / b,
    lambda a, b: a // b,
    lambda a, b: a % b,
    np.fmod,
    lambda a, b: semirings.minimum(a, b) + 0,
    lambda a, b: semirings.maximum(a, b) + 0,
    lambda a, b: a & b,
    lambda a, b: a | b,
    lambda a, b: a ^ b,
    lambda a, b: a << b,
    lambda a, b: a >> b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
    lambda a, b: a == b,
    lambda a, b: a != b,
    np.logical_and,
    np.logical_or,
    np.logical_xor,
    lambda a, b: semirings.where(a, b, 0),
    lambda a, b: semirings.where(a > b, a, b),
    lambda a, b: semirings.where(a > b, 1, 0.5),
    semirings.hash,
    semirings.random,
]
NUMBERS = [0, 1, 2, 3, -1, 7, 100, 0.5, -2.0, 1e10, True]
SCALARS = st.sampled_from([as_type(name) for name in SCALAR_NAMES])


@st.composite
def types(draw: st.DrawFn) -> Any:
    """A scalar type mostly, else a vector or a tuple."""
    kind = draw(st.sampled_from(["scalar"] * 4 + ["vector", "tuple"]))
    if kind == "vector":
        return VectorType(draw(SCALARS), draw(st.integers(1, 3)))
    if kind == "tuple":
        return TupleType(tuple(draw(st.lists(SCALARS, min_size=1, max_size=3))))
    return draw(SCALARS)


def parts(value: Any) -> list[Any]:
    """A tuple's items can be computed with, the tuple itself cannot."""
    is_tuple = isinstance(value, tuple) or isinstance(getattr(value, "type", None), TupleType)
    return list(value) if is_tuple else [value]


@st.composite
def functions(draw: st.DrawFn) -> tuple[list[Any], Callable[..., tuple[Any, ...]]]:
    """Parameter types, and a function of that many values that returns its last few intermediate values."""
    kinds = draw(st.lists(types(), min_size=2, max_size=3))
    symbols = [Symbol(f"p{i}", kind) for i, kind in enumerate(kinds)]
    start = [part for symbol in symbols for part in parts(symbol)]
    steps: list[Callable[[list[Any]], Any]] = []
    values: list[Any] = list(start)
    for _ in range(draw(st.integers(1, 12))):
        step = draw_step(draw, len(values))
        try:
            values.append(step(values))
        except (TypeError, OverflowError):  # NumPy has no such operation, or not for this constant
            continue
        steps.append(step)

    def function(*arguments: Any) -> tuple[Any, ...]:
        known = [part for argument in arguments for part in parts(argument)]
        for step in steps:
            known.append(step(known))
        return tuple(known[len(start) :][-4:]) or (known[0],)

    return kinds, function


def draw_step(draw: st.DrawFn, count: int) -> Callable[[list[Any]], Any]:
    """One operation on some of the `count` values known so far."""
    pick = st.integers(0, count - 1)
    first = draw(pick)
    which = draw(st.sampled_from(["unary", "binary", "binary", "number", "number first"]))
    if which == "unary":
        unary = draw(st.sampled_from(UNARY))
        return lambda known: unary(known[first])
    binary = draw(st.sampled_from(BINARY))
    if which == "binary":
        second = draw(pick)
        return lambda known: binary(known[first], known[second])
    number = draw(st.sampled_from(NUMBERS))
    if which == "number":
        return lambda known: binary(known[first], number)
    return lambda known: binary(number, known[first])


def program(kinds: list[Any], function: Callable[..., Any]) -> Program:
    symbols = [Symbol(f"p{i}", kind) for i, kind in enumerate(kinds)]
    results = trace(function, *symbols)
    assert isinstance(results, tuple)
    return Program(symbols, results)


def inputs(kinds: list[Any], seed: int) -> list[np.ndarray]:
    """Awkward and random values for each leaf of the parameters."""
    random = np.random.default_rng(seed)
    columns = []
    for leaf in (leaf for kind in kinds for leaf in leaves(kind)):
        bits = random.integers(0, 256, (ELEMENTS, leaf.itemsize), dtype=np.uint8).view(leaf).ravel()
        anything = bits if leaf.kind != "b" else random.random(ELEMENTS) < 0.5
        columns.append(np.where(random.random(ELEMENTS) < 0.6, random.choice(awkward(leaf), ELEMENTS), anything))
    return columns


def by_numpy(kinds: list[Any], function: Callable[..., Any], columns: list[np.ndarray]) -> list[np.ndarray]:
    """The user's function on arrays: vectors have their items first, tuples are tuples."""
    remaining = list(columns)
    arguments: list[Any] = []
    for kind in kinds:
        taken = [remaining.pop(0) for _ in leaves(kind)]
        is_vector = isinstance(kind, VectorType)
        arguments.append(np.array(taken) if is_vector else tuple(taken) if isinstance(kind, TupleType) else taken[0])
    with np.errstate(all="ignore"):
        results = function(*arguments)
    leaf_arrays = []
    for result in results:
        rows = result if np.ndim(result) == 2 else [result]
        leaf_arrays += [np.broadcast_to(row, (ELEMENTS,)) for row in rows]
    return leaf_arrays


NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)  # the message shows the expression at fault
BATCHES = st.lists(functions(), min_size=PROGRAMS, max_size=PROGRAMS)
SEEDS = st.integers(0, 2**32)


def check(batch: list[Any], seed: int, run: Callable[..., Any]) -> None:
    programs = [program(kinds, function) for kinds, function in batch]
    columns = [inputs(kinds, seed + number) for number, (kinds, _) in enumerate(batch)]
    answers = run(programs, columns)
    for (kinds, function), printed, given_columns, answer in zip(batch, programs, columns, answers, strict=True):
        expected = by_numpy(kinds, function, given_columns)
        assert len(answer) == len(expected), printed.results
        for position, (actual, right) in enumerate(zip(answer, expected, strict=True)):
            assert_same(actual, right, f"column {position} of {printed.results}")


@settings(max_examples=2, phases=NO_SHRINKING)
@given(BATCHES, SEEDS)
def test_compiled_python_equals_numpy(batch: list[Any], seed: int) -> None:
    check(batch, seed, run_cpu)


@pytest.mark.slow
@settings(max_examples=100, phases=NO_SHRINKING)
@given(BATCHES, SEEDS)
def test_compiled_python_equals_numpy_at_length(batch: list[Any], seed: int) -> None:
    check(batch, seed, run_cpu)


@settings(max_examples=2, phases=NO_SHRINKING)
@given(BATCHES)
def test_cuda_compiles(batch: list[Any]) -> None:
    source = cuda_source([program(kinds, function) for kinds, function in batch])
    for architecture in ("compute_80", "compute_90"):
        assert compile_cuda(source, architecture)


@pytest.mark.gpu
@settings(max_examples=30, phases=NO_SHRINKING)
@given(BATCHES, SEEDS)
def test_cuda_equals_numpy(batch: list[Any], seed: int) -> None:
    check(batch, seed, run_cuda)
