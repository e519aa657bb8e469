"""Products that call functions such as exp, which the CPU computes for many entries at once, against NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array, csr_array

import gasla
import semirings
from gasla.compiler.function import compiled
from gasla.cpu.product import plans
from gasla.cpu.runtime import vector_math
from gasla.cpu.runtime.workers import MOST
from semirings import Held, Monoid, Semiring, where

pytestmark = pytest.mark.thorough

Array = np.ndarray[Any, Any]

needs_vectors = pytest.mark.skipif(
    not vector_math.is_vectorised("exp", np.dtype(np.float32)), reason="no functions for vectors on this machine"
)
TYPES = [np.float32, pytest.param(np.float64, marks=pytest.mark.slow)]
LENGTHS = [0, 1, 2, 3, 4, 5, 15, 16, 17, 70, 300, 2047, 2048, 2049, 9000]


def matrix(rng: np.random.Generator, lengths: Array, width: int, values: Callable[[int], Array]) -> csr_array:
    """Rows of these lengths, with entries anywhere."""
    indptr = np.append(0, lengths.cumsum()).astype(np.int32)
    indices = rng.integers(0, width, indptr[-1], np.int32)
    return csr_array((values(len(indices)), indices, indptr), shape=(len(lengths), width))


def rows_of(A: csr_array, terms: Array) -> list[Array]:
    return [terms[a:b] for a, b in zip(A.indptr[:-1], A.indptr[1:])]


def log_sum(terms: Array) -> float:
    """The logarithm of a sum of exponentials, in doubles; infinities and NaN as logaddexp has them."""
    largest = terms.astype(np.float64).max(initial=-np.inf)
    if not np.isfinite(largest):
        return float(largest)
    return float(largest + np.log(np.exp(terms - largest).sum()))


def log_sums(A: csr_array, x: Array) -> Array:
    """That of each row."""
    return np.array([log_sum(row) for row in rows_of(A, A.data + x[A.indices])])


def vector_of(rng: np.random.Generator, dtype: Any, scale: float, awkward: bool) -> Callable[[int], Array]:
    """Values about zero, of which some are awkward."""

    def make(count: int) -> Array:
        values = rng.normal(0, scale, count).astype(dtype)
        if awkward:
            info = np.finfo(dtype)
            odd = np.array([np.inf, -np.inf, np.nan, 0, info.max, info.min, info.tiny, info.smallest_subnormal], dtype)
            values = np.where(rng.random(count) < 0.02, rng.choice(odd, count), values)
        return values

    return make


def units(found: Array, expected: Array) -> Array:
    """How many units of rounding two arrays are apart, beside the larger of the value and 1."""
    with np.errstate(all="ignore"):
        apart = np.abs(found - expected) / np.maximum(np.abs(expected), 1) / np.finfo(found.dtype).eps
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    return np.where(same | (np.isinf(found) & (np.abs(expected) >= np.finfo(found.dtype).max)), 0, apart)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.slow
def test_log_sum_exp(dtype: Any) -> None:
    """Rows long and short, scales large and small, x about any level; infinite, not a number, subnormal."""

    @settings(max_examples=50)
    @given(
        st.integers(0, 2**32 - 1),
        st.lists(st.sampled_from(LENGTHS), max_size=9),
        st.sampled_from([1e-3, 1.0, 50.0, 1e4, 1e30]),
        st.sampled_from([0.0, -3000.0, 80.0]),
        st.booleans(),
    )
    def run(seed: int, some: list[int], scale: float, level: float, awkward: bool) -> None:
        rng = np.random.default_rng(seed)
        lengths = rng.permutation(np.array(some + [3] * int(rng.integers(0, 200)), np.int64))
        values = vector_of(rng, dtype, scale, awkward)
        A, x = matrix(rng, lengths, 50, values), values(50)
        with np.errstate(all="ignore"):
            x += dtype(level)
            expected = log_sums(A, x)
        found = gasla.mxv(A, x, semirings.logaddexp_plus)
        assert found.dtype == dtype
        assert (units(found, expected) <= 4 + np.sqrt(lengths)).all()

    run()


def test_rows_without_entries_among_long_ones() -> None:
    """More in a row than a block has slots, and one that fills several blocks right behind them."""
    rng = np.random.default_rng(10)
    lengths = np.array([0] * 1200 + [5000, 0, 2049, 17] + [0] * 200 + [9000])
    values = vector_of(rng, np.float32, 5, awkward=False)
    A, x = matrix(rng, lengths, 50, values), values(50)
    assert (units(gasla.mxv(A, x, semirings.logaddexp_plus), log_sums(A, x)) <= 4 + np.sqrt(lengths)).all()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("level", [0, 40, -5000])
def test_rows_that_cancel(dtype: Any, level: float) -> None:
    """What an entry adds, x takes away, so that the sum is about zero."""
    rng = np.random.default_rng(3)
    x = (level + rng.uniform(-8, 8, 2000)).astype(dtype)
    lengths = rng.integers(0, 9, 2000)
    A = matrix(rng, lengths, 2000, lambda count: np.zeros(count, dtype))
    A.data[:] = rng.normal(0, 0.5, len(A.data)) - x[A.indices]
    found = gasla.mxv(gasla.Graph(A), x, semirings.logaddexp_plus)
    assert (units(found, log_sums(A, x)) <= 4 + np.sqrt(lengths)).all()


@pytest.mark.parametrize("dtype", TYPES)
def test_a_row_as_long_as_all(dtype: Any) -> None:
    """A star: a million entries of one row, one of each other."""
    n = 1 << 20
    rng = np.random.default_rng(5)
    leaves = np.arange(1, n, dtype=np.int32)
    hub = np.zeros_like(leaves)
    weights = rng.normal(0, 3, n - 1).astype(dtype)
    A = csr_array(coo_array((np.tile(weights, 2), (np.append(hub, leaves), np.append(leaves, hub))), shape=(n, n)))
    x = rng.normal(0, 2, n).astype(dtype)
    found = gasla.mxv(gasla.Graph(A), x, semirings.logaddexp_plus)
    assert (units(found[1:], x[0] + weights.astype(np.float64)) <= 5).all()
    assert units(found[:1], log_sums(A[[0]], x)).item() <= 4 + np.sqrt(n)


softplus = Semiring(
    semirings.plus, lambda a, x: np.log1p(np.exp(-abs(a * x))) + semirings.maximum(a * x, 0), name="softplus"
)
noisy_or = Semiring(
    Monoid(
        lambda p, q: 1 - (1 - p) * (1 - q), 0, held=Held(lambda p: np.log1p(-p), semirings.plus, lambda t: -np.expm1(t))
    ),
    lambda a, x: 1 / (1 + np.exp(-a)) * np.tanh(abs(x)),
    name="noisy_or",
)
angles = Semiring(semirings.plus, lambda a, x, i, k, j: np.sin(a * i) * np.cos(x * k), name="angles")
lengths_of = Semiring(Monoid(np.hypot, 0, name="hypot"), lambda a, x: abs(a * x), name="lengths_of")
decayed = Semiring(semirings.plus, lambda a, x: np.exp(-abs(semirings.cast(a, np.float64)) / 50) + x, name="decayed")
later = Semiring(  # not commutative: the factor and shift of two affine maps, one after the other
    Monoid(lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]), (1, 0), commutative=False, name="then"),
    lambda a, x: (np.exp(-abs(a) / 9), x),
    name="later",
)
guarded = Semiring(
    semirings.plus, lambda a, x: where(a * x > 0, np.log(a * x), where(a * x < 0, x, np.exp2(x))), name="guarded"
)
highest = Semiring(semirings.argmax, lambda a, x, i, k, j: (np.arctan2(a, x) ** 2, k), name="highest")
one_each = Semiring(semirings.logaddexp, lambda a, x: np.float64(0.5), name="one_each")
lowest = Semiring(semirings.min, lambda a, x: np.power(abs(a) + 1, x / 3), name="lowest")

SHORT, LONG, MIXED = [0, 1, 4, 3, 0] * 300, LENGTHS, [30, 0, 20] * 60
MINE = [
    (noisy_or, np.float32, LONG), (highest, np.float64, MIXED),
    *(pytest.param(*case, marks=pytest.mark.slow) for case in [
        (softplus, np.float32, SHORT), (later, np.float64, LONG), (one_each, np.float32, SHORT),
        (softplus, np.float64, LONG), (noisy_or, np.float32, SHORT), (later, np.float64, SHORT),
        (highest, np.float64, SHORT), (angles, np.float64, MIXED), (lengths_of, np.float32, LONG),
        (decayed, np.int16, LONG), (guarded, np.float32, MIXED), (lowest, np.float32, LONG),
    ]),
]  # fmt: skip


def by_numpy(A: csr_array, x: Array, semiring: Semiring) -> Any:
    """The product, row by row."""
    k, i = A.indices.astype(np.int64), np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    with np.errstate(all="ignore"):
        terms = semiring.multiply(A.data, x[k], i, k, np.int64(0))
        terms = terms if isinstance(terms, tuple) else (np.broadcast_to(terms, k.shape),)
        rows = zip(*(rows_of(A, t) for t in terms))
        found = [semiring.monoid.reduce(row if len(row) > 1 else row[0]) for row in rows]
    return tuple(map(np.array, zip(*found))) if len(terms) > 1 else np.array(found, terms[0].dtype)


@needs_vectors
@pytest.mark.parametrize(("semiring", "dtype", "lengths"), MINE, ids=lambda p: getattr(p, "name", ""))
@pytest.mark.slow
def test_of_ones_own(semiring: Semiring, dtype: Any, lengths: list[int]) -> None:
    rng = np.random.default_rng(5)
    A = matrix(rng, np.array(lengths), 40, lambda count: rng.normal(0, 9, count).astype(dtype))
    x = rng.normal(0, 3, 40).astype(dtype)
    expected, found = by_numpy(A, x, semiring), gasla.mxv(A, x, semiring)
    single = isinstance(expected, np.ndarray) and expected.dtype == np.float32
    tolerance = 3e-4 if single else 1e-10
    for a, b in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, expected)), strict=True):
        assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@needs_vectors
@pytest.mark.parametrize(
    "semiring", [pytest.param(semirings.logaddexp_plus, marks=pytest.mark.slow), later], ids=lambda s: s.name
)
@pytest.mark.slow
def test_masks_and_accumulators(semiring: Semiring) -> None:
    rng = np.random.default_rng(6)
    A = matrix(rng, np.array([0, 1, 4, 3, 2500, 7, 0] * 40), 40, lambda count: rng.normal(0, 9, count))
    x, mask = rng.normal(0, 3, 40), rng.random(A.shape[0]) < 0.5
    plain = gasla.mxv(A, x, semiring)
    plain = plain if isinstance(plain, tuple) else (plain,)
    for complement in (False, True):
        found = gasla.mxv(A, x, semiring, mask=mask, complement=complement)
        for part, whole in zip(found if isinstance(found, tuple) else (found,), plain, strict=True):
            assert_array_equal(part[mask != complement], whole[mask != complement])
        out = tuple(np.ones_like(part) for part in plain)
        one = out if len(out) > 1 else out[0]
        accum = (lambda a, b: (a[0] - b[0], b[1])) if len(out) > 1 else np.logaddexp
        gasla.mxv(A, x, semiring, mask=mask, complement=complement, accum=accum, out=one)
        expected = accum(tuple(np.ones_like(p) for p in plain), plain) if len(out) > 1 else (np.logaddexp(1, plain[0]),)
        for part, whole in zip(out, expected, strict=True):
            assert_allclose(part, np.where(mask != complement, whole, 1), rtol=1e-13)


@needs_vectors
@pytest.mark.parametrize("typical", [3, 40])
@pytest.mark.parametrize(
    ("semiring", "dtype"),
    [
        (semirings.logaddexp_plus, np.float32),
        *(pytest.param(s, np.float64, marks=pytest.mark.slow) for s in (semirings.logaddexp_plus, softplus)),
        pytest.param(noisy_or, np.float32, marks=pytest.mark.slow),
    ],
    ids=lambda p: getattr(p, "name", ""),
)
def test_a_row_comes_to_the_same_bits_wherever_it_is(
    semiring: Semiring, dtype: Any, typical: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alone or among others, by one thread or two; but for the height of slots, which the mean length decides."""
    monkeypatch.setattr("gasla.cpu.runtime.blocks.SMALL", 0)
    rng = np.random.default_rng(7)
    lengths = np.append(rng.integers(0, 2 * typical, 3000), [2048, 0, 5000, 1, 2049, 100])
    A = matrix(rng, lengths, 500, lambda count: rng.normal(0, 20, count).astype(dtype))
    x = rng.normal(0, 3, 500).astype(dtype)
    before = gasla.get_num_threads()
    try:
        gasla.set_num_threads(1)
        alone = gasla.mxv(A, x, semiring)
        gasla.set_num_threads(min(2, MOST))
        assert_array_equal(gasla.mxv(A, x, semiring), alone)
    finally:
        gasla.set_num_threads(before)
    order = rng.permutation(len(lengths))
    assert_array_equal(gasla.mxv(A[order], x, semiring), alone[order])
    for i in (*rng.integers(0, 3000, 50), 3000, 3002, 3004):
        if (lengths[i] > plans.BatchedPlan.LONG) == (typical > plans.BatchedPlan.LONG):
            assert_array_equal(gasla.mxv(A[[i]], x, semiring), alone[[i]])


@needs_vectors
def test_which_products_it_is_for() -> None:
    def height(semiring: Semiring, is_long: bool = False) -> int:
        kind = np.dtype(np.float32)
        return plans.batch_height(gasla.program.terms.trace(semiring, False, kind, kind, None), is_long)

    assert height(semirings.logaddexp_plus) == height(softplus) == plans.BatchedPlan.low
    assert height(semirings.logaddexp_plus, True) == height(softplus, True) == plans.BatchedPlan.high
    decay, squash = (Semiring(semirings.plus, lambda a, x, f=f: f(a) * x) for f in (np.exp, np.tanh))
    for semiring in (decay, squash):
        assert height(semiring) == plans.BatchedPlan.low and height(semiring, is_long=True) == plans.BatchedPlan.high
    assert height(semirings.plus_times) == height(semirings.min_plus) == 0
    assert height(Semiring(semirings.plus, lambda a, x: np.sqrt(a * x))) == 0
    assert height(Semiring(semirings.lor, lambda a, x: np.exp(a) > x)) == 0  # may leave a row early
    assert height(Semiring(semirings.any, lambda a, x: np.exp(a))) == 0
    assert height(Semiring(semirings.plus, lambda a, x: np.exp(a) % x)) == 0


@pytest.mark.parametrize(("semiring", "dtype"), [(semirings.logaddexp_plus, np.float32), (softplus, np.float64)])
@pytest.mark.slow
def test_where_there_are_no_functions_for_vectors(
    semiring: Semiring, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(8)
    A = matrix(rng, np.array(LENGTHS), 40, lambda count: rng.normal(0, 9, count).astype(dtype))
    x = rng.normal(0, 3, 40).astype(dtype)
    with_them = gasla.mxv(A, x, semiring)
    monkeypatch.setattr("gasla.cpu.product.products.batch_height", lambda *_: 0)
    assert_allclose(gasla.mxv(A, x, semiring), with_them, rtol=16 * np.finfo(dtype).eps, atol=1e-6)


@needs_vectors
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_are_right_to_a_few_units(dtype: Any) -> None:
    """Beside the same in longer numbers, for ordinary values and for others."""
    rng = np.random.default_rng(9)
    kind = np.dtype(dtype)
    some = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e30, -1e30, np.finfo(dtype).tiny, 100, -100, 800, -800]
    odd = np.array(some, dtype)
    for name in vector_math.NAMES:
        if not vector_math.is_vectorised(name, kind):
            continue
        values = np.concatenate([rng.normal(0, 3, 2000), rng.random(2000), odd]).astype(dtype)
        seconds = np.concatenate([rng.normal(0, 3, 2000), rng.random(2000), odd[::-1]]).astype(dtype)
        if name in ("sin", "cos", "tan"):
            values = values[np.isnan(values) | (np.abs(values) < 1e4)]
        function = vector_math.FUNCTIONS[f"{name}_{kind}"]
        given = (values, seconds[: len(values)]) if name in vector_math.OF_TWO else (values,)
        with np.errstate(all="ignore"):
            exact = getattr(np, name)(*(v.astype(np.longdouble) for v in given)).astype(dtype)
        found = np.empty_like(values)
        many_of(function, len(given))(*given, found)
        same = (found == exact) | (np.isnan(found) & np.isnan(exact))
        with np.errstate(all="ignore"):
            off = np.abs(found - exact) / np.spacing(np.abs(exact))
        assert (same | (off <= 4)).all(), (name, values[~same & ~(off <= 4)], off[~same].max())


def many_of(function: Any, count: int) -> Any:
    """A loop over values, as LLVM vectorises it."""
    if count == 1:

        @compiled
        def loop(a, found):  # type: ignore[no-untyped-def]
            for i in range(len(a)):
                found[i] = function(a[i])
    else:

        @compiled
        def loop(a, b, found):  # type: ignore[no-untyped-def]
            for i in range(len(a)):
                found[i] = function(a[i], b[i])

    return loop
