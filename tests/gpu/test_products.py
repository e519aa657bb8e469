"""mxv and vxm on the GPU: every kernel compiles anywhere; with a GPU, results are NumPy's and the CPU engine's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array, csr_array

import gasla
import semirings
from gasla.gpu.product import products as engine
from gasla.gpu.program import rows
from gasla.gpu.runtime.compile import compile_source
from gasla.program.terms import parts, trace
from semirings import Monoid, Semiring, where

pytestmark = pytest.mark.thorough

cupy = pytest.importorskip("cupy")

Array = np.ndarray[Any, Any]

farthest_stop = Semiring(semirings.argmax, lambda x, y, i, k, j: (semirings.minimum(x, y), k), name="farthest_stop")
larger_product = Semiring(
    Monoid(lambda x, y: where(abs(x) >= abs(y), x, y), 0, name="larger", commutative=False),
    lambda x, y: x * y - 1,
    name="larger_product",
)
last_product = Semiring(
    Monoid(lambda x, y: where(y == 0, x, y), 0, name="last", commutative=False),
    lambda x, y, i, k, j: x * y + i - j,
    name="last_product",
)
weighted = Semiring(semirings.plus, lambda x, y: x * y + semirings.minimum(x, y), name="weighted")
CASES = [
    (semirings.plus_times, np.float32),
    (semirings.plus_times, np.float64),
    (semirings.plus_times, np.int8),
    (semirings.min_plus, np.float32),
    (semirings.max_min, np.int16),
    (semirings.or_and, np.bool_),
    (semirings.min_secondi, np.int32),
    (semirings.plus_pair, np.float64),
    (semirings.xor_and, np.bool_),
    (weighted, np.float32),
    (larger_product, np.int32),
    (last_product, np.int64),
    (farthest_stop, np.float32),
    (Semiring(semirings.first, np.multiply, name="first_times"), np.int8),
    (Semiring(semirings.second, np.multiply, name="second_times"), np.bool_),
]


any_pair_of = Semiring(semirings.any, lambda x, y, i, k, j: (x * y, k), name="any_pair_of")
OF_ANY = [(semirings.any_pair, np.int8), (semirings.any_first, np.float32), (semirings.any_secondi, np.float64)]
OF_ANY += [(any_pair_of, np.int32), (Semiring(semirings.any, np.logical_and, name="any_and"), np.bool_)]


def label(p: Any) -> str:
    return getattr(p, "name", None) or np.dtype(p).name


@pytest.mark.parametrize(("semiring", "dtype"), [*CASES, *OF_ANY, (semirings.logaddexp_plus, np.float64)], ids=label)
def test_kernels_compile(semiring: Semiring, dtype: Any) -> None:
    kind = np.dtype(dtype)
    plain = trace(semiring, False, kind, kind, None)
    merging = trace(semiring, True, kind, kind, (semiring.monoid, parts(plain.out_type)))
    i4, i8 = np.dtype(np.int32), np.dtype(np.int64)
    wide = engine.Variant(False, i4, i4, "unsigned int", 8)
    masked = engine.Variant(True, i8, i8, "unsigned long long", rows.PACKED)
    assert compile_source(engine.source(plain, wide), "compute_90")
    assert compile_source(engine.source(merging, masked), "compute_80")


def test_finding_facts_compiles() -> None:
    for offset in (np.dtype(np.int32), np.dtype(np.int64)):
        for vertex, packed in ((np.int32, False), (np.int64, False), (np.int32, True)):
            assert compile_source(rows.formatted(rows.SOURCE, offset, np.dtype(vertex), packed), "compute_90")


# --- with a GPU ------------------------------------------------------------------------------------------------------


@pytest.fixture(params=[0, 1, 8])
def small_pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A width of rows; and rows of over 40 entries are long, and cut into pieces of 64: small matrices have some."""
    force_plan(monkeypatch, request.param)


def force_plan(monkeypatch: pytest.MonkeyPatch, lanes: int) -> None:
    monkeypatch.setattr(rows, "PIECE", 64)
    monkeypatch.setattr(rows, "choose", lambda facts: (lanes, 40))


class Problem:
    """A square matrix with empty, short and long rows, unsorted and parallel entries, on both devices."""

    def __init__(self, seed: int, dtype: Any, n: int = 700, index: Any = np.int32) -> None:
        rng = np.random.default_rng(seed)
        self.lengths = rng.choice([0, 1, 2, 3, 4, 5, 9, 31, 40, 41, 64, 65, 300], n)
        self.lengths[: n // 2] //= 8
        self.indptr = np.append(0, self.lengths.cumsum()).astype(index)
        self.indices = rng.integers(0, n, self.indptr[-1]).astype(index)
        self.values, self.x = (self.numbers(rng, dtype, size) for size in (len(self.indices), n))
        self.mask = rng.random(n) < 0.5
        self.owners = np.repeat(np.arange(n), self.lengths)
        self.n = n
        self.graph = gasla.Graph.from_csr(*map(cupy.asarray, (self.indptr, self.indices, self.values)))

    @staticmethod
    def numbers(rng: np.random.Generator, dtype: Any, count: int) -> Array:
        """Small whole numbers, so that sums are exact in any order; a few extreme ones."""
        values = rng.integers(-9, 10, count).astype(dtype)
        if values.dtype.kind == "f":
            values[rng.random(count) < 0.001] = rng.choice([np.nan, np.inf, -np.inf, -0.0])
        return values

    def product(self, semiring: Semiring, by_column: bool = False) -> Any:
        """What mxv (vxm) gives, by NumPy, row by row."""
        here, other = (self.indices, self.owners) if by_column else (self.owners, self.indices)
        order = np.argsort(here, kind="stable")
        here, other = here[order].astype(np.int64), other[order].astype(np.int64)
        values, x, zero = self.values[order], self.x[other], np.int64(0)
        with np.errstate(all="ignore"):
            if by_column:
                terms = semiring.multiply(x, values, zero, other, here)
            else:
                terms = semiring.multiply(values, x, here, other, zero)
            terms = terms if isinstance(terms, tuple) else (terms,)
            terms = tuple(np.broadcast_to(t, here.shape) for t in terms)
            ends = np.searchsorted(here, np.arange(self.n + 1))
            found = []
            for a, b in pairwise(ends):
                row = tuple(t[a:b] for t in terms)
                found.append(semiring.monoid.reduce(row) if len(row) > 1 else (semiring.monoid.reduce(row[0]),))
        return [np.array([f[p] for f in found], terms[p].dtype) for p in range(len(terms))]


def as_list(found: Any) -> list[Any]:
    return list(found) if isinstance(found, tuple) else [found]


def check(found: Any, expected: list[Array]) -> None:
    for a, b in zip(as_list(found), expected, strict=True):
        assert isinstance(a, cupy.ndarray)
        assert a.dtype == b.dtype
        assert_array_equal(a.get(), b)


@pytest.mark.gpu
@pytest.mark.parametrize(("semiring", "dtype"), CASES, ids=label)
@pytest.mark.usefixtures("small_pieces")
def test_equals_numpy(semiring: Semiring, dtype: Any) -> None:
    for seed in range(4):
        problem = Problem(seed, dtype)
        expected = problem.product(semiring)
        x, mask = cupy.asarray(problem.x), cupy.asarray(problem.mask)
        check(gasla.mxv(problem.graph, x, semiring), expected)
        check(gasla.vxm(x, problem.graph, semiring), problem.product(semiring, by_column=True))
        out = tuple(cupy.ones(problem.n, e.dtype) for e in expected)
        gasla.mxv(problem.graph, x, semiring, mask=mask, complement=True, out=out if len(out) > 1 else out[0])
        check(out, [np.where(problem.mask, e.dtype.type(1), e) for e in expected])


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_held_in_another_form(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    force_plan(monkeypatch, 8)
    for seed in range(4):
        problem, semiring = Problem(seed, dtype), semirings.logaddexp_plus
        (expected,) = problem.product(semiring)
        close = partial(assert_allclose, rtol=64 * np.finfo(dtype).eps)
        x, mask, out = cupy.asarray(problem.x), cupy.asarray(problem.mask), cupy.ones(problem.n, dtype)
        close(gasla.mxv(problem.graph, x, semiring).get(), expected, strict=True)
        gasla.mxv(problem.graph, x, semiring, mask=mask, accum=np.maximum, out=out)
        close(out.get(), np.where(problem.mask, np.maximum(expected, 1), 1))


@pytest.mark.gpu
@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize(("semiring", "dtype"), OF_ANY, ids=label)
def test_any_takes_a_product_that_is_not_zero(semiring: Semiring, dtype: Any) -> None:
    """If there is one; in most rows there are several."""
    problem = Problem(8, dtype)
    problem.x[::2] = 0
    found = [f.get() for f in as_list(gasla.mxv(problem.graph, cupy.asarray(problem.x), semiring))]
    k, i = problem.indices.astype(np.int64), problem.owners
    with np.errstate(all="ignore"):
        terms = as_list(semiring.multiply(problem.values, problem.x[k], i, k, 0))
    wanted = np.any([t != 0 for t in terms], axis=0)
    equal = [(t == f[i]) | ((t != t) & (f[i] != f[i])) for t, f in zip(terms, found, strict=True)]
    has_some, is_one = np.zeros((2, problem.n), bool)
    has_some[i[wanted]] = is_one[i[wanted & np.all(equal, axis=0)]] = True
    assert_array_equal(is_one, has_some)
    expected = problem.product(semiring)
    for f, e in zip(found, expected, strict=True):
        assert f.dtype == e.dtype
        assert not f[~has_some & (problem.lengths == 0)].any()


@pytest.mark.gpu
@pytest.mark.parametrize("lanes", [2, 4, 32])
@pytest.mark.parametrize(("semiring", "dtype"), [CASES[0], CASES[5], (last_product, np.int32)], ids=label)
def test_every_width(semiring: Semiring, dtype: Any, lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    force_plan(monkeypatch, lanes)
    problem = Problem(9, dtype)
    check(gasla.mxv(problem.graph, cupy.asarray(problem.x), semiring), problem.product(semiring))


@pytest.mark.gpu
@pytest.mark.sanitize
@pytest.mark.parametrize("index", [np.int32, np.int64], ids=label)
def test_small_products(index: Any) -> None:
    problem = Problem(5, np.float32, 300, index)
    graph, x = problem.graph, cupy.asarray(problem.x)
    for semiring in (semirings.plus_times, semirings.min_secondi, semirings.or_and):
        check(gasla.mxv(graph, x, semiring, mask=cupy.ones(300, bool)), problem.product(semiring))


@pytest.mark.gpu
@pytest.mark.usefixtures("small_pieces")
def test_an_accumulator_combines_old_and_new_values() -> None:
    problem = Problem(6, np.float64)
    x, start = cupy.asarray(problem.x), np.arange(problem.n) * 3.0
    for accum in (semirings.max, np.subtract):
        out = cupy.asarray(start)
        found = gasla.mxv(problem.graph, x, accum=accum, mask=cupy.asarray(problem.mask), out=out)
        assert found is out
        with np.errstate(invalid="ignore"):
            merged = accum(start, problem.product(semirings.plus_times)[0])
        check(out, [np.where(problem.mask, merged, start)])
    width, via = gasla.mxv(problem.graph, x, farthest_stop)
    gasla.mxv(problem.graph, x, farthest_stop, accum=semirings.argmax, out=(width, via))
    check((width, via), problem.product(farthest_stop))


def matrix(A: Any) -> Any:
    """The same matrix on the GPU."""
    from cupyx.scipy import sparse

    parts = tuple(cupy.asarray(part) for part in (A.data, A.indices, A.indptr))
    return sparse.csr_matrix(parts, shape=A.shape)


def skewed(count: int, columns: int) -> csr_array:
    """A few rows hold most entries."""
    rng = np.random.default_rng(5)
    lengths = (count / (1 + np.arange(count))).astype(int) * 4
    indptr = np.append(0, lengths.cumsum())
    return csr_array((rng.random(indptr[-1]), rng.integers(0, columns, indptr[-1]), indptr), shape=(count, columns))


@pytest.mark.gpu
def test_sums_are_near_scipys_and_the_same_every_time() -> None:
    A = skewed(20_000, 5_000)
    x, y = (np.random.default_rng(6).random(size) for size in (5_000, 20_000))
    on_gpu = matrix(A)
    first = gasla.mxv(on_gpu, cupy.asarray(x))
    assert_allclose(first.get(), A @ x)
    assert_allclose(gasla.vxm(cupy.asarray(y), on_gpu).get(), y @ A)
    for _ in range(5):
        assert_array_equal(gasla.mxv(on_gpu, cupy.asarray(x)).get(), first.get())


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["plus_times", "min_plus", "max_second", "plus_pair"])
def test_equals_the_cpu(name: str) -> None:
    A, semiring = skewed(3_000, 500), getattr(semirings, name)
    x, y = (np.random.default_rng(7).random(size) for size in (500, 3_000))
    assert_allclose(gasla.mxv(matrix(A), cupy.asarray(x), semiring).get(), gasla.mxv(A, x, semiring))
    assert_allclose(gasla.vxm(cupy.asarray(y), matrix(A), semiring).get(), gasla.vxm(y, A, semiring))


@pytest.mark.gpu
def test_a_star_a_path_and_nothing() -> None:
    leaves = 1_000_000
    star = gasla.Graph.from_edges(cupy.zeros(leaves, np.int32), cupy.arange(1, leaves + 1, dtype=np.int32))
    ones = cupy.ones(leaves + 1, np.int64)
    assert gasla.mxv(star, ones)[:2].tolist() == [leaves, 0]
    assert gasla.vxm(ones, star)[:2].tolist() == [0, 1]
    path = gasla.Graph.from_edges(cupy.arange(99_999), cupy.arange(1, 100_000))
    assert_array_equal(gasla.mxv(path, cupy.arange(100_000)).get(), np.append(np.arange(1, 100_000), 0))
    for shape in ((0, 0), (0, 3), (3, 0)):
        A = matrix(csr_array(shape))
        assert_array_equal(gasla.mxv(A, cupy.ones(shape[1]), semirings.min_plus).get(), np.full(shape[0], np.inf))
        assert_array_equal(gasla.vxm(cupy.ones(shape[0]), A, semirings.min_plus).get(), np.full(shape[1], np.inf))


@pytest.mark.gpu
def test_out_may_be_the_input_or_have_gaps() -> None:
    A = matrix(csr_array([[0, 1.0, 5], [0, 0, 1], [0, 0, 0]]))
    distance = cupy.array([np.inf, np.inf, 0])
    for expected in [[5, 1, 0], [2, 1, 0], [2, 1, 0]]:
        assert gasla.mxv(A, distance, semirings.min_plus, accum=np.minimum, out=distance) is distance
        assert_array_equal(distance.get(), expected)
    table = cupy.full((3, 3), -1.0)
    gasla.mxv(A, cupy.array([0.0, 1, 10]), mask=[True, False, True], out=table[:, 1])
    assert_array_equal(table.get(), [[-1, 51, -1], [-1, -1, -1], [-1, 0, -1]])


@pytest.mark.gpu
def test_other_formats_keep_parallel_entries_in_order() -> None:
    from cupyx.scipy import sparse

    A = coo_array(([1.0, 2, 3, 4], ([1, 0, 1, 0], [2, 1, 2, 0])), shape=(2, 3))
    on_gpu = sparse.coo_matrix((cupy.asarray(A.data), tuple(map(cupy.asarray, A.coords))), shape=A.shape)
    x, y = np.array([1.0, 10, 100]), np.array([1.0, 10])
    last = Semiring(last_product.monoid, lambda x, y: x, name="last_first")
    for found in (on_gpu, matrix(csr_array(([2.0, 4, 1, 3], [1, 0, 2, 2], [0, 2, 4]), shape=(2, 3)))):
        for kind in (found, found.tocsc() if found.format == "csr" else found):
            assert_array_equal(gasla.mxv(kind, cupy.asarray(x)).get(), [24, 400])
            assert_array_equal(gasla.vxm(cupy.asarray(y), kind).get(), [4, 2, 40])
    assert_array_equal(gasla.mxv(on_gpu, cupy.asarray(x), last).get(), [4, 3])
    assert_array_equal(gasla.vxm(cupy.asarray(y), on_gpu, Semiring(last.monoid, lambda x, y: y)).get(), [4, 2, 3])


def spoilt(name: str, place: int, value: int, fmt: str = "csr") -> Any:
    A = matrix(csr_array([[0, 1.0, 2], [3, 0, 0]])).asformat(fmt).copy()
    getattr(A, name)[place] = value
    return A


def cut(name: str, fmt: str) -> Any:
    """A matrix that lacks the last of an array's entries."""
    from cupyx.scipy import sparse

    A: Any = csr_array([[0, 1.0, 2], [3, 0, 0]])
    A = sparse.dia_matrix(A.todia()) if fmt == "dia" else matrix(A).asformat(fmt).copy()
    setattr(A, name, getattr(A, name)[:-1])
    return A


def ones(count: int) -> Any:
    return cupy.ones(count)


REFUSED: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda A: gasla.mxv(A, ones(2)), ValueError, r"x has shape \(2,\); expected \(3,\), one value for each column"),
    (lambda A: gasla.mxv(A, 1j * ones(3)), TypeError, "x has type complex128; expected one of bool"),
    (
        lambda A: gasla.mxv(A, np.ones(3)),
        TypeError,
        "x is a NumPy array and the matrix is CuPy's; expected both",
    ),
    (lambda A: gasla.mxv(A.get(), ones(3)), TypeError, "x is a CuPy array and the matrix is NumPy's"),
    (lambda A: gasla.mxv(A.toarray(), ones(3)), TypeError, "got ndarray; expected a SciPy sparse array"),
    (lambda A: gasla.mxv(A, ones(3), mask=ones(3)), ValueError, r"mask has shape \(3,\); expected \(2,\)"),
    (lambda A: gasla.mxv(A, ones(3), mask=np.ones(2)), TypeError, "mask is a NumPy array"),
    (lambda A: gasla.mxv(A, ones(3), complement=True), ValueError, "complement is set and there is no mask"),
    (
        lambda A: gasla.mxv(A, ones(3), out=np.zeros(2)),
        TypeError,
        "out is of type numpy.ndarray; expected a CuPy",
    ),
    (lambda A: gasla.mxv(A, ones(3), out=ones(3)), ValueError, r"out has shape \(3,\); expected \(2,\)"),
    (lambda A: gasla.mxv(A, ones(3), out=ones(2).astype(int)), TypeError, "out has type int64 and the product float64"),
    (
        lambda A: gasla.mxv(spoilt("indices", 2, 3), ones(3)),
        ValueError,
        "entry 2 of the matrix is in column 3",
    ),
    (lambda A: gasla.mxv(spoilt("indices", 0, -1), ones(3)), ValueError, "entry 0 of the matrix is in column -1"),
    (lambda A: gasla.mxv(spoilt("indptr", 1, 4), ones(3)), ValueError, "row 0 of the matrix has entries 0 to 4 of 3"),
    (lambda A: gasla.mxv(spoilt("indptr", 1, -4), ones(3)), ValueError, "row 0 of the matrix has entries 0 to -4 of 3"),
    (lambda A: gasla.mxv(spoilt("indices", 1, 2, "csc"), ones(3)), ValueError, "entry 1 of the matrix is in row 2"),
    (lambda A: gasla.vxm(ones(2), spoilt("indptr", 3, 9, "csc")), ValueError, "column 2 of the matrix has entries 2"),
    (lambda A: gasla.vxm(ones(2), cut("data", "csr")), ValueError, "there are 3 entries and data of shape"),
    (lambda A: gasla.vxm(ones(2), cut("indptr", "csr")), ValueError, "indptr has 2 entries in a matrix of shape"),
    (lambda A: gasla.vxm(ones(2), cut("data", "coo")), ValueError, "row has 3 entries, col has 3 and data has 2"),
    (lambda A: gasla.mxv(cut("row", "coo"), ones(3)), ValueError, "row has 2 entries, col has 3 and data has 3"),
    (lambda A: gasla.mxv(cut("offsets", "dia"), ones(3)), ValueError, "expected a row of data for each"),
]


@pytest.mark.gpu
@pytest.mark.parametrize(("call", "error", "message"), REFUSED, ids=lambda p: p if isinstance(p, str) else "")
def test_refused_rows_raise(call: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(matrix(csr_array([[0, 1.0, 2], [3, 0, 0]])))


@pytest.mark.gpu
def test_shares_live_as_long_as_their_arrays() -> None:
    before = len(rows._partitions)
    A = matrix(skewed(1_000, 500))
    for _ in range(3):
        gasla.mxv(A, cupy.ones(500))
    assert len(rows._partitions) == before + 1
    del A
    assert len(rows._partitions) == before
