"""Products of a semiring that is plus_times seen through a function, against doubles and the direct way."""

from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array, csr_array
from test_products_lanes import log_sum, rows_of, units

import gasla
import semirings
from gasla.cpu.product import images, products
from semirings import Image, Monoid, Semiring

Array = np.ndarray[Any, Any]
TYPES = [np.float32, pytest.param(np.float64, marks=pytest.mark.slow)]
LENGTHS = [0, 1, 2, 3, 4, 5, 8, 9, 70, 300]

squares = Image(lambda x: (x * x, 0), lambda f, k: semirings.sqrt(f) * semirings.exp2(k / 2), least=0)
norm = Semiring(Monoid(np.hypot, 0, name="hypot"), lambda x, y: x * y, name="norm", image=squares)


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Which products were taken by the image, in turn; however small."""
    monkeypatch.setattr(images, "FEW", 0)
    found: list[bool] = []
    by_image, directly = products.ByImage.multiply, products.Direct.multiply
    first_by_image: list[bool] = []

    def noted_by_image(*args: Any) -> bool:
        found.append(True)
        first_by_image.append(True)
        result = by_image(*args)
        first_by_image.pop()
        return result

    def noted(*args: Any) -> bool:
        found[len(found) - len(first_by_image) :] = [False]
        return directly(*args)

    monkeypatch.setattr(products.ByImage, "multiply", noted_by_image)
    monkeypatch.setattr(products.Direct, "multiply", noted)
    return found


def square(rng: np.random.Generator, lengths: Array, values: Array) -> csr_array:
    """A square matrix whose first rows are so long."""
    n = max(len(lengths), 1)
    indptr = np.append(0, lengths.cumsum()).astype(np.int32)
    indptr = np.append(indptr, np.full(n + 1 - len(indptr), indptr[-1], np.int32))
    return csr_array((values, rng.integers(0, n, indptr[-1], np.int32), indptr), shape=(n, n))


def log_sums(A: csr_array, x: Array) -> Array:
    """The logarithm of the sum of exponentials of each row, in doubles."""
    terms = A.data.astype(np.float64) + x.astype(np.float64)[A.indices]
    return np.array([log_sum(row) for row in rows_of(A, terms)])


@pytest.mark.parametrize("dtype", TYPES)
def test_log_sum_exp(dtype: Any, ways: list[bool]) -> None:
    """Values near and far, x near, far and about any level, some infinite or not a number, rows without any."""

    @settings(max_examples=150)
    @given(
        st.integers(0, 2**32 - 1),
        st.lists(st.sampled_from(LENGTHS), max_size=9),
        st.sampled_from([1e-30, 1e-3, 1.0, 30.0, 300.0, 1e4, 1e30]),
        st.sampled_from([1e-30, 1e-3, 1.0, 5.0, 15.0, 100.0]),
        st.sampled_from([0.0, -3000.0, 80.0]),
        st.sampled_from([[], [-np.inf], [np.inf], [np.nan], [-np.inf, np.finfo(dtype).tiny, np.finfo(dtype).max]]),
    )
    def run(seed: int, some: list[int], scale: float, spread: float, level: float, odd: list[float]) -> None:
        rng = np.random.default_rng(seed)
        lengths = rng.permutation(np.array(some + [3] * int(rng.integers(60, 300)), np.int64))
        values = rng.normal(0, scale, lengths.sum()).astype(dtype)
        x = (level + rng.normal(0, spread, len(lengths))).astype(dtype)
        if odd:
            values[rng.random(len(values)) < 0.05] = rng.choice(odd)
            x[rng.random(len(x)) < 0.1] = rng.choice(odd)
            if rng.random() < 0.2:
                x[:] = -np.inf
        A = square(rng, lengths, values)
        with np.errstate(all="ignore"):
            expected = log_sums(A, x)
        found = gasla.mxv(gasla.Graph(A), x, semirings.logaddexp_plus)
        assert found.dtype == dtype
        assert (units(found, expected) <= 4 + np.sqrt(lengths)).all()

    run()
    assert {True, False} <= set(ways)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("level", [0, 40, -5000])
def test_rows_that_cancel(dtype: Any, level: float, ways: list[bool]) -> None:
    """What an entry adds, x takes away, so that the sum is about zero: nothing is lost by way of the largest."""
    rng = np.random.default_rng(3)
    x = (level + rng.uniform(-8, 8, 2000)).astype(dtype)
    lengths = rng.integers(0, 9, 2000)
    A = square(rng, lengths, np.zeros(lengths.sum(), dtype))
    A.data[:] = rng.normal(0, 0.5, len(A.data)) - x[A.indices]
    found = gasla.mxv(gasla.Graph(A), x, semirings.logaddexp_plus)
    assert (units(found, log_sums(A, x)) <= 4 + np.sqrt(lengths)).all()
    assert ways == [True]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", TYPES)
def test_which_way(dtype: Any, ways: list[bool]) -> None:
    rng = np.random.default_rng(4)
    lengths = np.full(300, 4)
    A = square(rng, lengths, rng.normal(0, 100, 1200).astype(dtype))
    graph, x = gasla.Graph(A), rng.normal(0, 1, 300).astype(dtype)
    wide = {4: 20, 8: 150}[x.itemsize]

    def takes_image(x: Array, A: Any = graph, semiring: Semiring = semirings.logaddexp_plus) -> bool:
        expected = gasla.mxv(A if isinstance(A, csr_array) else csr_array(A_of[id(A)]), x, semiring)
        found = gasla.mxv(A, x, semiring)
        assert_allclose(found, expected, rtol=64 * np.finfo(dtype).eps, atol=64 * np.finfo(dtype).eps)
        return ways[-1]

    A_of = {id(graph): A}

    def other(values: Array) -> gasla.Graph:
        B = csr_array((values, A.indices, A.indptr), shape=A.shape)
        made = gasla.Graph(B)
        A_of[id(made)] = B
        return made

    def but(x: Array, *others: float) -> Array:
        x = x.copy()
        x[100 : 100 + len(others)] = others
        return x

    near = other(rng.normal(0, 5, 1200).astype(dtype))
    assert takes_image(x) and takes_image(x + dtype(1000)) and takes_image(np.linspace(0, wide, 300).astype(dtype))
    assert takes_image(but(x, -np.inf, -np.inf), near) and takes_image(np.full_like(x, -np.inf), near)
    assert not takes_image(but(x, -np.inf), other(but(A.data, 1e4, -1e4)))  # the first might be all that is seen
    assert not takes_image(but(x, np.nan)) and not takes_image(but(x, -np.nan)) and not takes_image(but(x, np.inf))
    assert not takes_image(but(x, 10 * wide)) and not takes_image(but(x, -10 * wide)) and not takes_image(but(x, 1e30))
    assert not takes_image(x, A) and not takes_image(x.astype(np.float16).astype(np.int8))
    assert not takes_image(x.astype({4: np.float64, 8: np.float32}[x.itemsize]))
    assert takes_image(x, other(but(A.data, -np.inf, 3000, -3000)))
    for odd in (np.nan, np.inf, 1e30, -1e30):
        graph_of_odd = other(but(A.data, odd))
        assert not takes_image(x, graph_of_odd) and not takes_image(x, graph_of_odd)
    assert not takes_image(x, other(A.data.astype(np.int16)))
    few = gasla.Graph(csr_array((A.data[:9], A.indices[:9], np.append(A.indptr[:3], [9] * 298)), shape=A.shape))
    gasla.mxv(few, x, semirings.logaddexp_plus)
    assert not ways[-1]  # x has more elements than the matrix has entries


def test_a_small_matrix_goes_the_direct_way() -> None:
    graph = gasla.Graph(csr_array(np.ones((9, 9))))
    gasla.mxv(graph, np.ones(9), semirings.logaddexp_plus)
    assert not any(isinstance(made, images.Taken) for made in graph._known.values())


@pytest.mark.parametrize("dtype", TYPES)
def test_a_row_as_long_as_all(dtype: Any, ways: list[bool]) -> None:
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
    assert ways == [True]


minus = semirings.BinaryOp("minus", lambda old, new: old - semirings.where(new > -1e30, new, 0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("semiring", "dtype", "accums"),
    [
        (semirings.logaddexp_plus, np.float32, [minus]),
        pytest.param(norm, np.float64, [None, np.logaddexp, np.maximum, minus], marks=pytest.mark.slow),
    ],
)
def test_masks_accumulators_and_sides(semiring: Semiring, dtype: Any, accums: list[Any], ways: list[bool]) -> None:
    rng = np.random.default_rng(6)
    lengths = rng.permutation(np.append(rng.integers(0, 7, 1500), [1100, 9, 0]))
    A = square(rng, lengths, rng.uniform(0.1, 9, lengths.sum()).astype(dtype))
    graph, x = gasla.Graph(A), rng.uniform(0.1, 5, A.shape[0]).astype(dtype)
    empty, mask = semiring.monoid.identity(dtype), rng.random(A.shape[0]) < 0.5
    x[7] = empty
    close = {"rtol": 1e-5 if dtype == np.float32 else 1e-13, "atol": 1e-5 if dtype == np.float32 else 1e-13}
    directly = gasla.mxv(A, x, semiring)
    assert_allclose(gasla.mxv(graph, x, semiring), directly, **close)
    assert_allclose(gasla.vxm(x, graph, semiring), gasla.vxm(x, A, semiring), **close)
    for complement in (False, True):
        for accum in accums:
            given = rng.normal(0, 1, len(x)).astype(dtype)
            out, merged = given.copy(), directly if accum is None else accum(given, directly)
            gasla.mxv(graph, x, semiring, mask=mask, complement=complement, accum=accum, out=out)
            assert_allclose(out, np.where(mask != complement, merged, given), **close)
            assert_array_equal(out[mask == complement], given[mask == complement])
        found = gasla.mxv(graph, x, semiring, mask=mask, complement=complement)
        assert_allclose(found, np.where(mask != complement, directly, empty), **close)
    table, wide = np.full((len(x), 3), 2.0, dtype), np.full(len(x), 2.0, np.float64)
    gasla.mxv(graph, x, semiring, accum=np.maximum, out=table[:, 1])
    assert_allclose(table[:, 1], np.maximum(2, directly), **close)
    assert (table[:, ::2] == 2).all()
    gasla.mxv(graph, x, semiring, accum=lambda old, new: semirings.cast(old + new, np.float64), out=wide)
    assert_allclose(wide, 2 + directly.astype(np.float64), **close)
    same = x.copy()
    assert gasla.mxv(graph, same, semiring, out=same) is same
    assert_allclose(same, directly, **close)
    assert sum(ways) == 1 + 1 + 2 * (len(accums) + 1) + 3


@pytest.mark.parametrize("dtype", TYPES)
def test_the_same_bits_for_any_number_of_threads_and_anywhere(
    dtype: Any, ways: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gasla.cpu.runtime.blocks.SMALL", 0)
    rng = np.random.default_rng(7)
    lengths = np.append(rng.integers(0, 9, 9001), [2048, 0, 5000])
    A = square(rng, lengths, rng.normal(0, 50, lengths.sum()).astype(dtype))
    x = rng.normal(0, 3, A.shape[0]).astype(dtype)
    before = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        alone = gasla.mxv(gasla.Graph(A), x, semirings.logaddexp_plus)
        numba.set_num_threads(min(2, numba.config.NUMBA_NUM_THREADS))
        graph = gasla.Graph(A)
        for _ in range(20):
            assert_array_equal(gasla.mxv(graph, x, semirings.logaddexp_plus), alone)
    finally:
        numba.set_num_threads(before)
    order = rng.permutation(len(lengths))
    B = A[order]
    assert_array_equal(gasla.mxv(gasla.Graph(B), x, semirings.logaddexp_plus), alone[order])
    B.indices = np.argsort(order).astype(np.int32)[B.indices]  # the elements of x, too, in another order
    assert_array_equal(gasla.mxv(gasla.Graph(B), x[order], semirings.logaddexp_plus), alone[order])
    assert all(ways)


@pytest.mark.slow
def test_what_a_graph_keeps(ways: list[bool]) -> None:
    rng = np.random.default_rng(8)
    upper = csr_array(np.triu(rng.random((50, 50)), 1).astype(np.float32))
    graph, x = gasla.Graph(upper + upper.T), rng.random(50, np.float32)
    gasla.mxv(graph, x)
    before = graph.nbytes
    gasla.mxv(graph, x, semirings.logaddexp_plus)
    grown = graph.nbytes
    assert before + 4 * graph.m < grown <= before + 4 * graph.m + 2 * graph.n + 200
    gasla.mxv(graph, x, semirings.logaddexp_plus, out=np.empty(50, np.float32))
    gasla.vxm(x, graph, semirings.logaddexp_plus)  # the same lists, and the same values
    gasla.vxm(x, graph, Semiring(semirings.logaddexp, np.add, image=semirings.logaddexp_plus.image))
    assert graph.nbytes - grown <= 2 * graph.n + 8  # an index array of the in-edges at most
    assert ways == [False, True, True, True, True]
    directed = gasla.Graph(upper)
    assert_allclose(
        gasla.vxm(x, directed, semirings.logaddexp_plus), gasla.vxm(x, upper, semirings.logaddexp_plus), rtol=1e-5
    )


@pytest.mark.slow
def test_a_norm_of_ones_own(ways: list[bool]) -> None:
    """Whose image is no number beside a power of two, and only for what is not negative."""
    rng = np.random.default_rng(9)
    A = square(rng, np.full(400, 4), rng.uniform(0, 1, 1600))
    A.data[::7] = 0
    for scale in (1e-60, 1e-5, 1, 1e60):
        B, C = (csr_array(((A.data * scale) ** p, A.indices, A.indptr), shape=A.shape) for p in (1, 2))
        x = rng.uniform(0.5, 2, 400)
        assert_allclose(gasla.mxv(gasla.Graph(B), x, norm), np.sqrt(C @ x**2), rtol=1e-14)
    assert ways == [True] * 4
    x[5] = -1e-9
    gasla.mxv(gasla.Graph(A), x, norm)
    assert not ways[-1]


def test_images_that_do_not_fit_are_refused() -> None:
    def of(into: Any, out_of: Any) -> Semiring:
        return Semiring(semirings.logaddexp, np.add, image=Image(into, out_of))

    graph, x = gasla.Graph(csr_array(np.ones((3, 3)))), np.ones(3)
    with pytest.raises(TypeError, match=r"image of logaddexp_add leads into .*; expected two values"):
        gasla.mxv(graph, x, of(np.exp, lambda f, k: np.log(f)))
    with pytest.raises(TypeError, match="leads from float64 into bool and out of it to float64; expected float64"):
        gasla.mxv(graph, x, of(lambda v: (v > 0, 0), lambda f, k: f + k))


@pytest.mark.slow
def test_where_there_are_no_functions_for_vectors(ways: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gasla.cpu.product.vector_math.is_vectorised", lambda *_: False)
    called = Image(lambda x: (np.exp(x), 0), lambda f, k: np.log(f) + k * np.log(2))
    semiring = Semiring(semirings.logaddexp, np.add, name="called", image=called)
    rng = np.random.default_rng(10)
    A = square(rng, np.full(400, 4), rng.normal(0, 9, 1600))
    x = rng.normal(0, 1, 400)
    assert_allclose(gasla.mxv(gasla.Graph(A), x, semiring), log_sums(A, x), rtol=1e-13, atol=1e-13)
    assert ways == [True]
