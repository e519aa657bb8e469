"""mxm, and mxv and vxm of several columns, against NumPy product by product and against SciPy; what they refuse."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array, csc_array, csr_array, random_array

import gasla
import semirings
from gasla import Sparse
from gasla.cpu.kernels.products import counting
from gasla.cpu.runtime import memory
from semirings import Semiring
from tests.operations.test_products import entries, larger_product, random_values

Array = np.ndarray[Any, Any]

# Few, as every combination of semiring and types compiles a kernel.
nearest_stop = Semiring(semirings.argmin, lambda x, y, i, k, j: (x + y, 10000 * i + 100 * k + j), name="nearest_stop")
SEMIRINGS = [
    (semirings.plus_times, np.float64, np.int32),
    pytest.param(nearest_stop, np.float32, np.int32, marks=pytest.mark.thorough),
    pytest.param(semirings.plus_times, np.float64, np.int64, marks=pytest.mark.slow),  # all is compiled anew
    pytest.param(larger_product, np.int32, np.int32, marks=pytest.mark.slow),  # whose order matters
    pytest.param(semirings.or_and, np.bool_, np.int32, marks=pytest.mark.slow),
    pytest.param(semirings.min_plus, np.int8, np.int32, marks=pytest.mark.slow),
    pytest.param(semirings.max_secondi, np.float32, np.int64, marks=pytest.mark.slow),
]


def label(p: Any) -> str:
    return getattr(p, "name", None) or np.dtype(p).name


def products(A: Any, B: Any, semiring: Semiring) -> dict[tuple[int, int], Any]:
    """What each entry of A times B reduces, by NumPy: its products in order, as arrays."""
    i, k, x = entries(A)
    row, column, y = entries(B)
    pairs = [(e, f) for e in range(len(i)) for f in np.flatnonzero(row == k[e])]
    left, right = np.array(pairs, np.int64).reshape(-1, 2).T
    i, k, j = (ids.astype(np.int64) for ids in (i[left], k[left], column[right]))
    with np.errstate(all="ignore"):
        found = semiring.multiply(x[left], y[right], i, k, j)
    terms = tuple(np.broadcast_to(part, i.shape) for part in (found if isinstance(found, tuple) else (found,)))
    groups: dict[tuple[int, int], list[int]] = {}
    for place, key in enumerate(zip(i.tolist(), j.tolist())):
        groups.setdefault(key, []).append(place)
    return {key: tuple(t[places] for t in terms) for key, places in groups.items()}


def total(semiring: Semiring, terms: tuple[Array, ...] | None, kinds: list[Any]) -> list[Any]:
    """What they come to; the identity, if there are none."""
    monoid = semiring.monoid
    if terms is None:
        return [monoid.identity(kind) for kind in kinds]
    with np.errstate(all="ignore"):
        return [monoid.reduce(terms[0])] if len(terms) == 1 else list(monoid.reduce(terms))


def check(found: Sparse, expected: dict[tuple[int, int], Any], keys: list[tuple[int, int]], semiring: Semiring) -> None:
    """Entries are where they should be, in order, and hold what they should."""
    rows = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr)).tolist()
    assert list(zip(rows, found.indices.tolist())) == keys
    data = found.data if isinstance(found.data, tuple) else (found.data,)
    kinds = [part.dtype for part in data]
    for key in expected.values():
        assert [part.dtype for part in key] == kinds
    each = [total(semiring, expected.get(key), kinds) for key in keys]
    for p, part in enumerate(data):
        assert_array_equal(part, np.array([values[p] for values in each], part.dtype))


@st.composite
def matrix(draw: Callable[..., Any], m: int, n: int, dtype: Any, index: Any) -> Any:
    """A matrix in some format, with empty and long rows, unsorted and parallel entries."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths = np.array([draw(st.sampled_from([0, 0, 1, 2, 5, 40])) if n else 0 for _ in range(m)], np.int64)
    indptr = np.append(0, lengths.cumsum()).astype(index)
    indices = rng.integers(0, max(n, 1), lengths.sum()).astype(index)
    A = csr_array((random_values(rng, dtype, len(indices)), indices, indptr), shape=(m, n))
    return A if draw(st.booleans()) else coo_in_rows(A)


def coo_in_rows(A: Any) -> Any:
    """The same as COO, its parallel entries apart."""
    rows, columns, values = entries(A)
    return coo_array((values, (rows.astype(columns.dtype), columns)), shape=A.shape)


@st.composite
def problems(draw: Callable[..., Any], dtype: Any, index: Any) -> tuple[Any, Any, Any]:
    """Two matrices that can be multiplied, and one of the product's shape."""
    m, n, p = (draw(st.integers(0, 5)) for _ in range(3))
    p = draw(st.sampled_from([p, 90]))
    return tuple(draw(matrix(*shape, dtype, index)) for shape in ((m, n), (n, p), (m, p)))  # type: ignore[return-value]


@pytest.mark.parametrize(("semiring", "dtype", "index"), SEMIRINGS, ids=label)
def test_mxm_equals_numpy(semiring: Semiring, dtype: Any, index: Any) -> None:
    @settings(max_examples=40)
    @given(problems(dtype, index))
    def run(problem: Any) -> None:
        A, B, M = problem
        expected = products(A, B, semiring)
        check(gasla.mxm(A, B, semiring), expected, sorted(expected), semiring)
        rows, columns, _ = entries(M)
        inside = list(zip(rows.tolist(), columns.tolist()))
        check(gasla.mxm(A, B, semiring, mask=M), expected, inside, semiring)
        rest = gasla.mxm(A, B, semiring, mask=M, complement=True)
        check(rest, expected, sorted(set(expected) - set(inside)), semiring)

    run()


def full(X: Array) -> Any:
    """A dense matrix as a sparse one that holds all of it."""
    m, n = X.shape
    return csr_array((X.ravel(), np.tile(np.arange(n), m), np.arange(m + 1) * n), shape=X.shape)


def dense(expected: dict[tuple[int, int], Any], shape: tuple[int, int], like: Any, semiring: Semiring) -> list[Array]:
    """Those results as dense arrays of the types of others, identities where there are none."""
    kinds = [part.dtype for part in like]
    each = [[total(semiring, expected.get((i, j)), kinds) for j in range(shape[1])] for i in range(shape[0])]
    return [
        np.array([[values[p] for values in row] for row in each], kind).reshape(shape) for p, kind in enumerate(kinds)
    ]


@pytest.mark.parametrize(("semiring", "dtype", "index"), SEMIRINGS, ids=label)
@pytest.mark.slow
def test_dense_columns_equal_numpy(semiring: Semiring, dtype: Any, index: Any) -> None:
    @settings(max_examples=25)
    @given(problems(dtype, index), st.sampled_from([0, 1, 2, 7, 20]), st.integers(0, 2**32 - 1))
    def run(problem: Any, lanes: int, seed: int) -> None:
        A, rng = problem[0], np.random.default_rng(seed)
        X, Y = (random_values(rng, dtype, size * lanes).reshape(size, lanes) for size in A.shape[::-1])
        mask = rng.integers(0, 2, (A.shape[0], lanes)) > 0
        found = [gasla.mxm(A, X, semiring), gasla.mxv(A, X, semiring, mask=mask), gasla.vxm(Y, A, semiring)]
        plain, masked, by_column = (result if isinstance(result, tuple) else (result,) for result in found)
        expected = dense(products(A, full(X), semiring), (A.shape[0], lanes), plain, semiring)
        transposed = products(full(np.ascontiguousarray(Y.T)), A, semiring)
        sideways = dense({key[::-1]: terms for key, terms in transposed.items()}, by_column[0].shape, plain, semiring)
        assert by_column[0].shape == (A.shape[1], lanes)
        for part, right in zip((*plain, *by_column), (*expected, *sideways), strict=True):
            assert_array_equal(part, right, strict=True)
        identities = total(semiring, None, [part.dtype for part in plain])
        for part, right, identity in zip(masked, expected, identities, strict=True):
            assert_array_equal(part, np.where(mask, right, right.dtype.type(identity)), strict=True)

    run()


def test_dense_output_and_accumulator() -> None:
    rng = np.random.default_rng(0)
    A, X = random_array((6, 5), density=0.5, rng=rng, format="csr"), rng.random((5, 3))
    out, mask = rng.random((6, 3)), rng.random((6, 3)) < 0.5
    expected = np.where(~mask, out + A @ X, out)
    assert gasla.mxm(A, X, mask=mask, complement=True, accum=semirings.plus, out=out) is out
    assert_allclose(out, expected)
    wide = np.zeros((5, 6))
    wide[:, ::2] = X  # neither x nor out need be contiguous, and they may share memory
    square = A[:5]
    expected = square @ X
    assert_allclose(gasla.mxm(square, wide[:, ::2], out=wide[:, ::2]), expected)
    assert_allclose(wide[:, ::2], expected)
    assert not wide[:, 1::2].any()


def test_half_precision_is_read_as_single() -> None:
    A, X = csr_array(np.full((1, 4096), 1, np.float32)), np.full((4096, 2), 1, np.float16)
    found = gasla.mxm(A, X)
    assert found.dtype == np.float32 and found.tolist() == [[4096, 4096]]  # float16 would stop at 2048
    assert gasla.mxv(A, X[:, 0]).tolist() == [4096]


@pytest.mark.slow
def test_monoids_that_are_held_in_another_form() -> None:
    rng = np.random.default_rng(1)
    A, B = (random_array((9, 9), density=0.3, rng=rng, format="csr") for _ in range(2))
    x, y = A.toarray()[:, :, None], B.toarray()[None]
    expected = np.logaddexp.reduce(np.where((x != 0) & (y != 0), x + y, -np.inf), axis=1)
    found = gasla.mxm(A, B, semirings.logaddexp_plus)
    assert_array_equal(found.to_scipy().toarray() != 0, expected > -np.inf)
    assert_allclose(found.data, expected[expected > -np.inf])
    assert_allclose(gasla.mxm(A, B, semirings.logaddexp_plus, mask=found).data, found.data)
    X = rng.random((9, 70))
    sums = np.where(x != 0, x + X[None], -np.inf)
    assert_allclose(gasla.mxm(A, X, semirings.logaddexp_plus), np.logaddexp.reduce(sums, axis=1))


# --- larger ones, against SciPy --------------------------------------------------------------------------------------


def skewed(n: int, m: int, width: int) -> Any:
    """Columns that are often the same few, and a row with an entry in nearly every column; small whole numbers."""
    rng = np.random.default_rng(2)
    rows, columns = rng.integers(0, n, m), (width * rng.random(m) ** 3).astype(np.int64)
    A = coo_array((rng.integers(1, 5, m).astype(np.float64), (rows, columns)), shape=(n, width)).tolil()
    A[n // 2] = 1
    return A.tocsr()


@pytest.mark.parametrize("width", [700, 9000])
def test_all_ways_of_putting_columns_in_order(width: int) -> None:
    """Few columns of a row, many, and some far apart; by any number of threads the same."""
    A, B = skewed(300, 3000, 300), skewed(300, 4000, width)
    expected = (A @ B).tocsr()
    expected.sort_indices()
    threads = gasla.get_num_threads()
    try:
        for count in {1, threads}:
            gasla.set_num_threads(count)
            found = gasla.mxm(A, B)
            assert_array_equal(found.indptr, expected.indptr)
            assert_array_equal(found.indices, expected.indices)
            assert_array_equal(found.data, expected.data)
            for part in (found.indices, found.indptr):
                assert part.dtype == np.int32
    finally:
        gasla.set_num_threads(threads)
    lengths = np.diff(expected.indptr)
    assert lengths.min() < counting.FEW < np.median(lengths[lengths > counting.FEW])


def test_triangles_by_a_masked_product() -> None:
    graph = gasla.Graph(gasla.datasets.rmat(9))
    counts = gasla.mxm(graph, graph, semirings.plus_pair, mask=graph)
    assert counts.data.dtype == np.int64
    A = csr_array((np.ones(graph.m), graph.out.indices, graph.out.indptr))
    assert_array_equal(counts.data, (A @ A).toarray()[A.nonzero()])


def test_paths_of_two_edges_and_of_four() -> None:
    """A product is a matrix again: Sparse, as every argument."""
    A = gasla.datasets.grid(4).astype(np.float64)  # whole numbers: exact in any order
    grid = gasla.Graph(A)
    two = gasla.mxm(grid, A)
    four = gasla.mxm(two, two, mask=two, complement=True)
    dense_two = (A @ A).toarray()
    assert_allclose(two.to_scipy().toarray(), dense_two)
    assert_allclose(four.to_scipy().toarray(), np.where(dense_two == 0, dense_two @ dense_two, 0))
    x = np.arange(grid.n, dtype=np.float64)
    assert_allclose(gasla.mxv(two, x), dense_two @ x)
    assert_allclose(gasla.vxm(x, two), x @ dense_two)


@pytest.mark.parametrize("ascending", [True, False])
def test_few_entries_of_a_mask_are_searched_in_long_rows(ascending: bool) -> None:
    rng = np.random.default_rng(4)
    A, B = random_array((40, 30), density=0.3, rng=rng, format="csr"), skewed(30, 9000, 2000)
    expected = (A @ B).toarray()
    if not ascending:
        B.indices[:2], B.data[:2] = B.indices[1::-1].copy(), B.data[1::-1].copy()
    rows, columns = np.repeat(np.arange(40), 3), rng.integers(0, 2000, 120)
    columns[::3] = columns[1::3]  # parallel entries
    mask = coo_array((np.ones(120), (rows, columns)), shape=(40, 2000))
    found = gasla.mxm(A, B, mask=mask)
    assert found.nnz == 120
    assert_allclose(found.data, expected[rows, found.indices])


# --- hard shapes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shapes", [(0, 0, 0), (0, 3, 2), (3, 0, 2), (3, 2, 0), (1, 1, 1), (4, 1, 4)], ids=str)
def test_shapes_without_entries(shapes: tuple[int, int, int]) -> None:
    m, n, p = shapes
    A, B, M = csr_array((m, n)), csc_array((n, p)), coo_array((m, p))
    for found in (gasla.mxm(A, B), gasla.mxm(A, B, mask=M), gasla.mxm(A, B, mask=M, complement=True)):
        assert found.shape == (m, p) and found.nnz == 0 and found.to_scipy().shape == (m, p)
    assert_array_equal(gasla.mxm(A, np.ones((n, p))), np.zeros((m, p)))


def test_loops_stars_paths_and_parallel_edges() -> None:
    loop = gasla.Graph.from_edges([0, 0], [0, 0])
    assert gasla.mxm(loop, loop, semirings.plus_pair).data.tolist() == [4]
    assert gasla.mxm(loop, loop, semirings.plus_pair, mask=loop).data.tolist() == [4, 4]
    star = gasla.Graph.from_edges([0] * 50 + list(range(1, 51)), [*range(1, 51)] + [0] * 50)
    ways = gasla.mxm(star, star, semirings.plus_pair).to_scipy().toarray()
    assert ways[0, 0] == 50 and (ways[1:, 1:] == 1).all() and not ways[0, 1:].any()
    path = gasla.Graph.from_edges(np.arange(2000), np.arange(1, 2001))
    hops = gasla.mxm(path, path, semirings.plus_pair)
    assert_array_equal(hops.indices, np.arange(2, 2001))
    assert_array_equal(gasla.mxm(path, path, semirings.plus_pair, mask=path).data, np.zeros(2000))


def test_stored_zeros_count_and_nothing_of_the_caller_changes() -> None:
    A = csr_array((np.array([0.0, 2, 3]), np.int32([2, 0, 0]), np.int32([0, 3, 3])), shape=(2, 3))
    B = csr_array((np.array([5.0, 0]), np.int32([1, 0]), np.int32([0, 1, 1, 2])), shape=(3, 2))
    before = [part.copy() for M in (A, B) for part in (M.data, M.indices, M.indptr)]
    found = gasla.mxm(A, B)
    assert found.indices.tolist() == [0, 1] and found.data.tolist() == [0, 25]
    for part, old in zip((part for M in (A, B) for part in (M.data, M.indices, M.indptr)), before):
        assert_array_equal(part, old)


# --- what is refused -------------------------------------------------------------------------------------------------

SQUARE = csr_array(np.float64([[0, 2, 1], [0, 0, 3], [4, 0, 0]]))
REFUSED: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    ((SQUARE, SQUARE[:2]), {}, ValueError, r"A has shape \(3, 3\) and B \(2, 3\); expected as many rows"),
    ((SQUARE, SQUARE), {"mask": SQUARE[:2]}, ValueError, r"mask has shape \(2, 3\); expected \(3, 3\)"),
    ((SQUARE, SQUARE), {"mask": np.ones((3, 3))}, TypeError, "mask is ndarray; expected a sparse matrix"),
    ((SQUARE, np.ones((3, 2))), {"mask": SQUARE}, TypeError, "mask is csr_array; expected a dense array"),
    ((SQUARE, np.ones((3, 2))), {"mask": np.ones(3)}, ValueError, r"mask has shape \(3,\); expected \(3, 2\)"),
    ((SQUARE, np.ones((2, 2))), {}, ValueError, r"x has shape \(2, 2\); expected \(3,\), .* or \(3, k\)"),
    ((SQUARE, np.ones(3)), {}, ValueError, r"B has shape \(3,\); expected two dimensions: for a vector use gasla.mxv"),
    ((SQUARE, np.ones((3, 2), complex)), {}, TypeError, "x has type complex128"),
    ((np.ones((3, 3)), SQUARE), {}, TypeError, "got ndarray; expected a SciPy sparse"),
    ((SQUARE, SQUARE), {"complement": True}, ValueError, "complement is set and there is no mask"),
    ((SQUARE, SQUARE), {"accum": semirings.plus}, TypeError, "accum is for dense products, and B is sparse"),
    ((SQUARE, SQUARE), {"out": np.ones((3, 3))}, TypeError, "out is for dense products, and B is sparse"),
    ((SQUARE, SQUARE, "plus_times"), {}, TypeError, "expected a semirings.Semiring"),
    ((SQUARE.astype(complex), SQUARE), {}, TypeError, "complex"),
]


@pytest.mark.parametrize(("given", "options", "error", "text"), REFUSED, ids=lambda p: p if isinstance(p, str) else "")
def test_refusals(given: Any, options: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        gasla.mxm(*given, **options)


@pytest.mark.parametrize("name", ["A", "B", "mask"])
@pytest.mark.parametrize(
    ("part", "value", "text"),
    [
        ("indices", 7, "entry 0 of the matrix is in column 7; expected 0 to 2"),
        ("indices", -1, "entry 0 of the matrix is in column -1; expected 0 to 2"),
        ("indptr", 9, "row 0 of the matrix has entries 9 to"),
    ],
)
@pytest.mark.parametrize("complement", [False, True])
def test_damaged_matrices(name: str, part: str, value: int, text: str, complement: bool) -> None:
    matrices = {key: SQUARE.copy() for key in ("A", "B", "mask")}
    getattr(matrices[name], part)[0] = value
    with pytest.raises(ValueError, match=f"in {name}, {text}"):
        gasla.mxm(matrices["A"], matrices["B"], mask=matrices["mask"], complement=complement)


def test_too_large_products_are_refused_with_both_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 1000)
    A = csr_array(np.ones((20, 1)))
    with pytest.raises(MemoryError, match=r"400 entries, which take 4,800 bytes, and 1,000 are available; .* mask="):
        gasla.mxm(A, A.T)
    monkeypatch.setattr(memory, "available", lambda: None)
    assert gasla.mxm(A, A.T).nnz == 400


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("form", ["ascending", "unsorted"])
def test_a_too_large_product_of_a_hub_is_not_counted(form: str, masked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A star times itself: its rows' lengths prove it; else a share of the rows does."""
    monkeypatch.setattr(memory, "available", lambda: 10**6)
    n = 2 * 10**5 if form == "ascending" else 4000
    leaves = np.arange(1, n)[:: 1 if form == "ascending" else -1]
    A = csr_array((np.ones(2 * n - 2), np.concatenate([leaves, 0 * leaves]), [0, *range(n - 1, 2 * n - 1)]))
    without = {"mask": csr_array(([1.0], ([0], [1])), shape=A.shape), "complement": True} if masked else {}
    with pytest.raises(MemoryError, match=r"at least .* and 1,000,000 are available") as caught:
        gasla.mxm(A, A, **without)
    entries = int(str(caught.value).split("least ")[1].split(" entries")[0].replace(",", ""))
    exact = (n - 1) ** 2 + 1 - masked
    assert 16 * entries > 10**6 and entries <= (exact if form == "ascending" else exact / 4)


# --- Sparse ----------------------------------------------------------------------------------------------------------


def test_sparse_says_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match=r"indptr has 2 entries in a matrix of shape \(3, 3\); expected 4"):
        Sparse((3, 3), np.array([0, 1]), np.array([0]), np.array([1.0]))
    with pytest.raises(ValueError, match=r"data has shape \(2,\); expected \(1,\)"):
        Sparse((1, 3), np.array([0, 1]), np.array([0]), np.array([1.0, 2]))
    square = SQUARE.astype(np.float32)
    pairs = gasla.mxm(square, square, nearest_stop)
    assert repr(pairs) == "Sparse(shape=(3, 3), nnz=5, values=(float32, int64))"
    with pytest.raises(TypeError, match="each value is a tuple of 2"):
        pairs.to_scipy()
    with pytest.raises(TypeError, match="each value of the matrix is a tuple of 2"):
        gasla.mxm(pairs, SQUARE)
    with pytest.raises(TypeError, match="the values are int64, and CuPy's matrices hold bool, float32, float64"):
        gasla.mxm(SQUARE, SQUARE, semirings.plus_pair).to_cupy()
    nearest = Sparse(pairs.shape, pairs.indptr, pairs.indices, pairs.data[0])
    A = np.where(SQUARE.toarray() == 0, np.inf, SQUARE.toarray())
    sums = (A[:, :, None] + A).min(axis=1)
    assert_array_equal(nearest.to_scipy().toarray(), np.where(np.isinf(sums), 0, sums))
