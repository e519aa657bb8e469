"""Every monoid in products: rows of each length, of awkward values, come to what combining them one by one does."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

import gasla
import semirings
from semirings import ANY, Monoid, Semiring, as_type, binary, catalogue, isnan, where

pytestmark = pytest.mark.thorough

Array = np.ndarray[Any, Any]

MOST = 40  # entries of a row
TYPES = [bool, np.float32, np.int32, np.float64]  # the last two are slow tests
AWKWARD = {
    "b": [False, True],
    "u": [0, 1, 2, 3, "most", "least"],
    "i": [0, 1, -1, 2, -2, "most", "least"],
    "f": [0, 1, -1, 2, -2, 0.5, np.inf, -np.inf, np.nan],  # products of so many are exact
}
last_number = Monoid(lambda x, y: where(isnan(y), x, y), np.nan, name="last_number", commutative=False)
first_number = Monoid(lambda x, y: where(isnan(x), y, x), np.nan, name="first_number", commutative=False)
some_number = Monoid(lambda x, y: where(isnan(x), y, x), np.nan, name="some_number", terminal=ANY)
composed = Monoid(lambda f, g: (f[0] * g[0], f[0] * g[1] + f[1]), (1, 0), name="composed", commutative=False)
OWN = [*(Monoid(f, np.nan, name=f.__name__) for f in (np.fmin, np.fmax)), last_number, first_number, some_number]
CATALOGUE = [m for name in catalogue.__all__ if isinstance(m := getattr(semirings, name), Monoid)]
OF_BITS = ("lor", "land", "lxor", "bor", "band", "bxor")  # the first three of bools alone


def kinds(monoid: Monoid) -> list[Any]:
    """The types to try it on: each has a kernel of its own."""
    if monoid.name in OF_BITS:
        return [bool] if monoid.name.startswith("l") else [bool, np.uint8]
    if monoid.name.startswith("arg"):
        return []
    return [np.float32, np.float64] if monoid in OWN or monoid.name == "logaddexp" else TYPES


SOON = [(name, np.float32) for name in ("min", "plus", "logaddexp", "fmin", "last_number", "some_number")]
SOON += [("lor", bool), ("any", bool), ("bxor", bool)]
CASES = [
    pytest.param(monoid, np.dtype(kind), marks=[] if (monoid.name, kind) in SOON else pytest.mark.slow)
    for monoid in [*CATALOGUE, *OWN]
    for kind in kinds(monoid)
]
PAIRS = [semirings.argmin, composed]
PAIRS += [
    pytest.param(monoid, marks=pytest.mark.slow)  # type: ignore[list-item]
    for monoid in (semirings.argmax, semirings.any, semirings.first, semirings.second)
]


def some_values(rng: np.random.Generator, kind: Any, count: int) -> Array:
    """Of few kinds at a time, so that rows of just this and that come up."""
    found: list[Any] = AWKWARD[kind.kind]
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        found = [{"most": limits.max, "least": limits.min}.get(v, v) for v in found]
    chosen = rng.choice(len(found), rng.integers(1, 4))
    return np.array(found, kind)[rng.choice(chosen, count)]


def some_matrix(rng: np.random.Generator, kind: Any) -> csr_array:
    """Rows of all lengths, in any order."""
    lengths = rng.permutation(MOST + 1)
    indptr = np.append(0, lengths.cumsum()).astype(np.int32)
    values = np.concatenate([some_values(rng, kind, length) for length in lengths])
    indices = rng.integers(0, MOST, len(values)).astype(np.int32)
    return csr_array((values, indices, indptr), shape=(len(lengths), MOST))


def folded(monoid: Monoid, kind: Any, row: tuple[Array, ...]) -> tuple[Any, ...]:
    """One value after the other, from the identity on if there is one."""
    start = [monoid.identity(kind)] if monoid.is_neutral or not len(row[0]) else []
    if len(row) == 1:
        return (functools.reduce(monoid.combine, [*start, *row[0]]),)
    return functools.reduce(monoid.combine, [*start, *zip(*row, strict=True)])


def check(semiring: Semiring, kind: Any, found: Any, A: csr_array, parts: tuple[Array, ...]) -> None:
    """Compare with each row's fold; where any will do, with all that there are."""
    columns = found if isinstance(found, tuple) else (found,)
    assert all(c.dtype == p.dtype for c, p in zip(columns, parts, strict=True))
    monoid = semiring.monoid
    with np.errstate(all="ignore"):
        for i, (a, b) in enumerate(zip(A.indptr[:-1], A.indptr[1:], strict=True)):
            row, here = tuple(p[a:b] for p in parts), tuple(c[i] for c in columns)
            if monoid.terminal(kind) is ANY:
                values = {str(v) for v in zip(*row, strict=True)}
                identity = folded(monoid, kind, tuple(p[:0] for p in row))
                assert str(here) in (values - {str(identity)} or {str(identity)}), (row, here)
            elif monoid.held:
                # Of sums about 0 no more is promised than a few units of rounding of 1 (docs/semantics.md).
                least = 4 * np.finfo(kind).eps
                assert_allclose(here, folded(monoid, kind, row), rtol=1e-5, atol=least, err_msg=str(row))
            else:
                assert_array_equal(here, folded(monoid, kind, row), err_msg=str(row))


@pytest.mark.parametrize(("monoid", "kind"), CASES, ids=lambda p: getattr(p, "name", None))
def test_each_monoid_reduces_like_numpy(monoid: Monoid, kind: Any) -> None:
    semiring = Semiring(monoid, binary.times)

    @settings(max_examples=6)
    @given(st.integers(0, 2**32 - 1))
    def run(seed: int) -> None:
        A, ones = some_matrix(np.random.default_rng(seed), kind), np.ones(MOST, kind)
        check(semiring, kind, gasla.mxv(A, ones, semiring), A, (A.data,))

    run()


@pytest.mark.parametrize("monoid", PAIRS, ids=lambda m: m.name)
@pytest.mark.slow
def test_each_monoid_of_pairs(monoid: Monoid) -> None:
    semiring = Semiring(monoid, lambda x, y, i, k, j: (x, k), name=f"{monoid.name}_pair")
    kind = as_type((np.int64 if monoid is composed else np.float32, np.int64))

    @settings(max_examples=6)
    @given(st.integers(0, 2**32 - 1))
    def run(seed: int) -> None:
        A = some_matrix(np.random.default_rng(seed), kind.items[0])
        parts = A.data, A.indices.astype(np.int64)
        check(semiring, kind, gasla.mxv(A, np.ones(MOST), semiring), A, parts)

    run()
