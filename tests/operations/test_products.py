"""mxv and vxm against an evaluation in plain NumPy, entry by entry, and against GraphBLAS; and what they refuse."""

import runpy
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix, dok_array, issparse

import gasla
import semirings
from gasla.cpu.runtime.workers import MOST
from semirings import BinaryOp, Held, Monoid, Semiring, where
from tests.helpers import ROOT
from tests.helpers.in_turns import in_turns

Array = np.ndarray[Any, Any]

# The types are few because every combination of semiring and types compiles a kernel; so does either type of indices.
farthest_stop = Semiring(semirings.argmax, lambda x, y, i, k, j: (semirings.minimum(x, y), k), name="farthest_stop")
larger_product = Semiring(
    Monoid(lambda x, y: where(abs(x) >= abs(y), x, y), 0, name="larger", commutative=False),
    lambda x, y: x * y - 1,
    name="larger_product",
)
CASES = [
    (semirings.plus_times, np.float64),
    (semirings.plus_times, np.int8),
    (semirings.min_plus, np.float32),
    (semirings.max_min, np.int8),
    (semirings.or_and, np.bool_),
    (semirings.min_secondi, np.int32),
    (semirings.plus_pair, np.float64),
    (larger_product, np.int32),
    (semirings.argmax_plus, np.float32),
    (semirings.xor_and, np.float32),
    (semirings.and_or, np.float64),
]


def entries(A: Any) -> tuple[Array, Array, Array]:
    """Rows, columns and values in stored order: parallel entries stay apart."""
    if isinstance(A, gasla.Graph):
        src = np.repeat(np.arange(A.n), np.diff(A.out.indptr))
        order = np.argsort(A.out_edge_ids)
        values = np.ones(A.m, bool) if A.values is None else A.values
        return src[order], A.out.indices[order], values
    if A.format == "coo":
        return A.coords[0], A.coords[1], A.data
    major = np.repeat(np.arange(len(A.indptr) - 1), np.diff(A.indptr))
    return (major, A.indices, A.data) if A.format == "csr" else (A.indices, major, A.data)


def product(A: Any, x: Array, semiring: Semiring, by_column: bool = False) -> Any:
    """What mxv (vxm) returns, by NumPy; arrays of any type, a tuple of them where the products are tuples."""
    rows, columns, values = entries(A)
    here, other = (columns, rows) if by_column else (rows, columns)
    k, zero = other.astype(np.int64), np.int64(0)
    with np.errstate(all="ignore"):
        if by_column:
            terms = semiring.multiply(x[other], values, zero, k, here.astype(np.int64))
        else:
            terms = semiring.multiply(values, x[other], here.astype(np.int64), k, zero)
        terms = terms if isinstance(terms, tuple) else (np.broadcast_to(terms, here.shape),)
        count = A.n if isinstance(A, gasla.Graph) else A.shape[1 if by_column else 0]
        results = [reduce(semiring.monoid, tuple(t[here == i] for t in terms)) for i in range(count)]
    columns = [np.array([r[p] for r in results], terms[p].dtype) for p in range(len(terms))]
    return columns[0] if len(terms) == 1 else tuple(columns)


def reduce(monoid: Monoid, terms: tuple[Array, ...]) -> tuple[Any, ...]:
    return (monoid.reduce(terms[0]),) if len(terms) == 1 else monoid.reduce(terms)


def random_values(rng: np.random.Generator, dtype: Any, count: int) -> Array:
    """Small whole numbers, so that sums are exact in any order; now and then an extreme one."""
    values = rng.integers(-9, 10, count).astype(dtype)
    kind = np.dtype(dtype).kind
    special = [np.nan, np.inf, -np.inf, -0.0] if kind == "f" else [True] if kind == "b" else [127, -128]
    if rng.random() < 0.5:
        values[rng.random(count) < 0.1] = rng.choice(special)
    return values


@st.composite
def problems(draw: Callable[..., Any], dtype: Any, index: Any, square: bool = False) -> tuple[Any, Array, Array]:
    """A matrix in some format, with empty and long rows, unsorted and parallel entries; and vectors for both sides."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m = draw(st.integers(0, 6))
    n = m if square else draw(st.integers(0, 40))
    lengths = np.array([draw(st.sampled_from([0, 1, 2, 3, 7, 8, 9, 30, 150])) if n else 0 for _ in range(m)], np.int64)
    count = int(lengths.sum())
    indptr = np.append(0, lengths.cumsum()).astype(index)
    indices = rng.integers(0, max(n, 1), count).astype(indptr.dtype)
    data, (x, y) = random_values(rng, dtype, count), (random_values(rng, dtype, size) for size in (n, m))
    how = draw(st.sampled_from(["csr", "csc", "coo"]))
    if how == "csr":
        return csr_array((data, indices, indptr), shape=(m, n)), x, y
    if how == "csc":
        return csc_array((data, indices, indptr), shape=(n, m)), y, x
    order = rng.permutation(count)
    rows = np.repeat(np.arange(m, dtype=index), lengths)
    return coo_array((data[order], (rows[order], indices[order])), shape=(m, n)), x, y


def check(found: Any, expected: Any) -> None:
    found, expected = (a if isinstance(a, tuple) else (a,) for a in (found, expected))
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        assert_array_equal(a, b)


def label(p: Any) -> str:
    return getattr(p, "name", None) or np.dtype(p).name


WIDE = [
    pytest.param(*case, np.int64, marks=[] if case[0] in (larger_product, farthest_stop) else pytest.mark.slow)
    for case in CASES
]


@pytest.mark.thorough
@pytest.mark.parametrize(("semiring", "dtype", "index"), [*((*case, np.int32) for case in CASES), *WIDE], ids=label)
def test_mxv_equals_numpy(semiring: Semiring, dtype: Any, index: Any) -> None:
    @settings(max_examples=60)
    @given(problems(dtype, index))
    def run(problem: Any) -> None:
        A, x, _ = problem
        check(gasla.mxv(A, x, semiring), product(A, x, semiring))

    run()


@pytest.mark.parametrize(("semiring", "dtype"), [CASES[0], CASES[7], CASES[8]], ids=label)
def test_long_rows_equal_numpy(semiring: Semiring, dtype: Any) -> None:
    """Of hundreds of entries, an even number of them and an odd one, at places that are not multiples of four."""
    rng = np.random.default_rng(1)
    indptr = np.cumsum([0, 401, 0, 400, 3, 402, 35, 34])
    indices, columns = rng.integers(0, 50, indptr[-1]), 50
    A = csr_array((random_values(rng, dtype, indptr[-1]), indices, indptr), shape=(len(indptr) - 1, columns))
    x = random_values(rng, dtype, columns)
    check(gasla.mxv(A, x, semiring), product(A, x, semiring))


@pytest.mark.parametrize("monoid", [semirings.plus, semirings.min])
def test_long_rows_of_what_vectors_do_not_have(monoid: Monoid) -> None:
    """Integers are divided one by one."""
    quotient = Semiring(monoid, BinaryOp("quotient", lambda a, x: a // x), "quotient")
    rng = np.random.default_rng(2)
    indptr = np.cumsum([0, 401, 7, 400, 8, 9, 300])
    values, indices = rng.integers(-1000, 1000, indptr[-1]), rng.integers(0, 50, indptr[-1])
    A = csr_array((values, indices, indptr), shape=(len(indptr) - 1, 50))
    x = rng.integers(1, 9, 50)
    reduce = np.add.reduceat if monoid is semirings.plus else np.minimum.reduceat
    assert_array_equal(gasla.mxv(A, x, quotient), reduce(values // x[indices], indptr[:-1]))


@pytest.mark.parametrize(
    ("semiring", "dtype", "index"), [(*CASES[0], np.int32), (*CASES[5], np.int64), (*CASES[7], np.int32)], ids=label
)
def test_vxm_equals_numpy(semiring: Semiring, dtype: Any, index: Any) -> None:
    @settings(max_examples=60)
    @given(problems(dtype, index))
    def run(problem: Any) -> None:
        A, _, y = problem
        check(gasla.vxm(y, A, semiring), product(A, y, semiring, by_column=True))

    run()


@pytest.mark.parametrize(("semiring", "dtype", "index"), [(*CASES[0], np.int64), (*CASES[7], np.int32)], ids=label)
def test_graphs_equal_numpy(semiring: Semiring, dtype: Any, index: Any) -> None:
    @settings(max_examples=40)
    @given(problems(dtype, index, square=True))
    def run(problem: Any) -> None:
        A, x, _ = problem
        graph = gasla.Graph(A)
        check(gasla.mxv(graph, x, semiring), product(A, x, semiring))
        check(gasla.vxm(x, graph, semiring), product(A, x, semiring, by_column=True))

    run()


def test_graph_without_values_holds_true() -> None:
    graph = gasla.Graph.from_edges([0, 0, 2], [1, 2, 1])
    assert_array_equal(gasla.mxv(graph, np.array([10, 20, 30])), [50, 0, 20])
    assert_array_equal(gasla.vxm(np.array([10, 20, 30]), graph), [0, 40, 10])


@settings(max_examples=60)
@given(problems(np.int32, np.int64))
def test_any_takes_a_stored_entry(problem: Any) -> None:
    A, x, _ = problem
    rows, columns, _ = entries(A)
    for i, k in enumerate(gasla.mxv(A, x, semirings.any_secondi)):
        assert k in columns[rows == i] if i in rows else k == 0


# --- mask, accum, out ------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(problems(np.float32, np.int32), st.booleans(), st.booleans(), st.integers(0, 2**32 - 1))
def test_mask_and_out(problem: Any, complement: bool, has_out: bool, seed: int) -> None:
    A, x, _ = problem
    rng = np.random.default_rng(seed)
    mask = rng.integers(0, 2, A.shape[0]).astype(rng.choice([np.bool_, np.int8, np.float64]))
    out = rng.integers(0, 9, A.shape[0]).astype(np.float32) if has_out else None
    before = np.full(A.shape[0], np.float32(np.inf)) if out is None else out.copy()
    expected = np.where((mask != 0) != complement, product(A, x, semirings.min_plus), before)
    found = gasla.mxv(A, x, semirings.min_plus, mask=mask, complement=complement, out=out)
    assert out is None or found is out
    check(found, expected)


@pytest.mark.parametrize(
    ("accum", "index"), [(semirings.max, np.int32), (BinaryOp("minus", np.subtract), np.int64)], ids=label
)
def test_an_accumulator_combines_old_and_new_values(accum: Any, index: Any) -> None:
    @settings(max_examples=30)
    @given(problems(np.float64, index), st.booleans())
    def run(problem: Any, masked: bool) -> None:
        A, x, _ = problem
        out = np.arange(A.shape[0]) * 3.0
        mask = np.arange(A.shape[0]) % 2 == 0 if masked else None
        with np.errstate(invalid="ignore"):
            merged = accum(out, product(A, x, semirings.plus_times))
        expected = merged if mask is None else np.where(mask, merged, out)
        check(gasla.mxv(A, x, mask=mask, accum=accum, out=out), expected)

    run()


def test_out_may_be_the_input() -> None:
    A = csr_array([[0, 1.0, 5], [0, 0, 1], [0, 0, 0]])
    distance = np.array([np.inf, np.inf, 0])
    for expected in [[5, 1, 0], [2, 1, 0], [2, 1, 0]]:
        assert gasla.mxv(A, distance, semirings.min_plus, accum=np.minimum, out=distance) is distance
        assert_array_equal(distance, expected)
    visited = np.array([False, False, True])
    gasla.mxv(A.astype(bool), visited, semirings.or_and, mask=visited, complement=True, out=visited)
    assert_array_equal(visited, [True, True, True])


def test_out_may_have_gaps() -> None:
    A = csr_array([[0, 1.0], [2, 0]])
    table = np.full((2, 3), -1.0)
    gasla.mxv(A, np.array([1.0, 10]), mask=[True, False], out=table[:, 1])
    assert_array_equal(table, [[-1, 10, -1], [-1, -1, -1]])


@pytest.mark.slow
def test_tuples_take_and_give_tuples_of_arrays() -> None:
    A = csr_array(np.array([[3, 8, 5], [0, 0, 0]], np.float32))
    x = np.array([9, 4, 9], np.float32)
    out = np.full(2, 4, np.float32), np.full(2, 7, np.int64)
    width, via = gasla.mxv(A, x, farthest_stop, accum=semirings.argmax, out=out)
    assert width is out[0] and via is out[1]
    assert_array_equal(width, [5, 4])
    assert_array_equal(via, [2, 7])
    width, via = gasla.mxv(A, x, farthest_stop, mask=[False, True])
    assert_array_equal(width, [-np.inf, -np.inf])
    assert_array_equal(via, [np.iinfo(np.int64).min] * 2)


@pytest.mark.usefixtures("no_collector")
def test_a_graph_keeps_what_is_settled_of_a_product(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until that is too much; it goes with the graph, and inputs are looked at each time."""
    monkeypatch.setattr("gasla.operations.multiply.MOST", 2)
    A = csr_array(np.float32([[0, 2, 1], [0, 0, 3], [4, 0, 0]]))
    graph, x = gasla.Graph(A), np.arange(3, dtype=np.float32)
    for semiring in (semirings.plus_times, semirings.min_plus, semirings.plus_times, semirings.max_times) * 2:
        expected = product(A, x, semiring)
        assert gasla.mxv(graph, x, semiring).tolist() == expected.tolist()
        assert 1 <= len(graph._known["rows"].products) <= 2
    (first, *_) = graph._known["rows"].products.values()
    gasla.mxv(graph, x + 1, semirings.max_times)
    assert first in graph._known["rows"].products.values()
    with pytest.raises(ValueError, match=r"x has shape \(2,\)"):
        gasla.mxv(graph, x[:2], semirings.max_times)
    gone = weakref.ref(graph)
    del graph
    assert gone() is None


class Marked(np.ndarray):
    """A kind of array of somebody's own."""


@pytest.mark.parametrize("by_column", [False, True])
@pytest.mark.slow
def test_another_product_of_a_graph_is_like_the_first(by_column: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever x may be; the long way, with all its checks, is taken where x needs them."""
    A = csr_array(np.float32([[0, 2, 1], [0, 0, 3], [4, 0, 0]]))
    graph, x = gasla.Graph(A), np.arange(3, dtype=np.float32)
    multiply = (lambda x: gasla.vxm(x, graph)) if by_column else (lambda x: gasla.mxv(graph, x))
    expected = multiply(x)
    lengthened, misplaced = np.zeros((3, 2), np.float32), np.zeros(13, np.uint8)[1:].view(np.float32)
    lengthened[:, 0] = misplaced[:] = x
    fixed = x.copy()
    fixed.flags.writeable = False
    long_ways: list[Any] = []
    checked = gasla.operations.multiply.vector
    watched = "gasla.operations.multiply.vector"
    monkeypatch.setattr(watched, lambda x, *rest: [long_ways.append(x), checked(x, *rest)][1])
    for plain in (x, fixed):
        assert_array_equal(multiply(plain), expected, strict=True)
    assert multiply(x) is not multiply(x) and not long_ways
    others = lengthened[:, 0], misplaced, x.astype(">f4"), x.tolist(), x.view(Marked)
    for other in others:
        assert_array_equal(multiply(other), expected)
    assert len(long_ways) == len(others)
    graph.out.indices[0] = 7  # somebody else's hand
    if by_column:
        graph.in_.indices[0] = 7
    with pytest.raises(ValueError, match=f"is in {'row' if by_column else 'column'} 7; expected 0 to 2"):
        multiply(x)


# --- monoids held in another form ------------------------------------------------------------------------------------

hypot = Monoid(lambda x, y: semirings.sqrt(x * x + y * y), 0, held=Held(np.square, semirings.plus, np.sqrt))
norm = Semiring(hypot, lambda x, y: abs(x * y), name="norm")


@pytest.mark.parametrize(
    ("semiring", "dtype"),
    [
        # Six kernels of up to eight seconds each; tests of lanes look at the same sums.
        pytest.param(semirings.logaddexp_plus, np.float32, marks=pytest.mark.slow),
        pytest.param(semirings.logaddexp_plus, np.float64, marks=pytest.mark.slow),
        (norm, np.float32),
    ],
    ids=label,
)
@pytest.mark.slow
def test_held_in_another_form(semiring: Semiring, dtype: Any) -> None:
    @settings(max_examples=60)
    @given(problems(dtype, np.int32))
    def run(problem: Any) -> None:
        A, x, z = problem
        close = partial(assert_allclose, rtol=64 * np.finfo(dtype).eps)
        expected, mask = product(A, x, semiring), np.arange(A.shape[0]) % 2 == 0
        close(gasla.mxv(A, x, semiring), expected, strict=True)
        close(gasla.vxm(z, A, semiring), product(A, z, semiring, by_column=True), strict=True)
        empty = semiring.monoid.identity(dtype)
        close(gasla.mxv(A, x, semiring, mask=mask), np.where(mask, expected, empty), strict=True)
        out = np.ones(A.shape[0], dtype)
        gasla.mxv(A, x, semiring, mask=mask, accum=np.maximum, out=out)
        close(out, np.where(mask, np.maximum(expected, 1), 1), strict=True)

    run()


@pytest.mark.slow
def test_a_program_may_hold_it_too() -> None:
    lift, add, lower = semirings.logaddexp.held or pytest.fail("log-sum-exp has another form")

    class Evidence(gasla.VertexProgram):
        everyone = True
        score = gasla.vertex(np.float64)
        weight = gasla.edge(np.float64)
        reduce = add

        def gather(self, src, dst, edge):
            return lift(src.score + edge.weight)

        def apply(self, vertex, gathered):
            return {"score": lower(gathered)}

    A = csr_array(np.random.default_rng(3).random((30, 30)))
    start = np.random.default_rng(4).normal(0, 9, 30)
    found = gasla.run(Evidence, A, score=start, max_iterations=1)
    assert_allclose(found.score, gasla.vxm(start, A, semirings.logaddexp_plus), rtol=1e-14)


def test_what_a_held_monoid_does_not_work_on_is_refused() -> None:
    with pytest.raises(TypeError, match="monoid logaddexp combines two values of int64 into float64"):
        gasla.mxv(csr_array([[1, 2]]), [1, 2], semirings.logaddexp_plus)
    wider = Monoid(np.maximum, 0, name="wider", held=Held(abs, semirings.max, np.sqrt))
    with pytest.raises(TypeError, match="monoid wider lowers to float64; expected int64"):
        gasla.mxv(csr_array([[1, 2]]), [1, 2], Semiring(wider, np.multiply))


# --- types, sizes, threads -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("types", [("int8", "int8"), ("int8", "uint8"), ("bool", "float32"), ("int64", "float32")])
def test_result_types_are_numpys(types: tuple[str, str]) -> None:
    a, b = map(np.dtype, types)
    y = gasla.mxv(csr_array(np.ones((2, 2), a)), np.ones(2, b))
    assert y.dtype == (np.ones(1, a) * np.ones(1, b)).dtype
    assert_array_equal(y, [2, 2])


def test_inputs_of_any_layout() -> None:
    A = csr_matrix(np.array([[1.0, 2], [0, 3]]))
    expected = [12, 15]
    for matrix in (A, dok_array(A), A.tocsc(), A.tobsr(), A.tolil()):
        for x in ([2.0, 5], np.array([2, 0, 5, 0.0])[::2], np.array([2, 5], ">f8")):
            assert_array_equal(gasla.mxv(matrix, x), expected)
    fixed = csr_array(A)
    for array in (fixed.indptr, fixed.indices, fixed.data):
        array.flags.writeable = False
    assert_array_equal(gasla.mxv(fixed, [2.0, 5]), expected)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_matrices_without_rows_or_columns_have_products(shape: tuple[int, int]) -> None:
    A = csr_array(shape)
    assert_array_equal(gasla.mxv(A, np.ones(shape[1]), semirings.min_plus), np.full(shape[0], np.inf))
    assert_array_equal(gasla.vxm(np.ones(shape[0]), A, semirings.min_plus), np.full(shape[1], np.inf))


def skewed(rows: int, columns: int) -> csr_array:
    """A few rows hold most entries."""
    rng = np.random.default_rng(5)
    lengths = (rows / (1 + np.arange(rows))).astype(int) * 4
    indptr = np.append(0, lengths.cumsum()).astype(np.int32)
    return csr_array(
        (rng.random(indptr[-1]), rng.integers(0, columns, indptr[-1], np.int32), indptr), shape=(rows, columns)
    )


def test_any_number_of_threads_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gasla.cpu.runtime.blocks.SMALL", 0)
    A = skewed(20_000, 5_000)
    x = np.random.default_rng(6).random(5_000)
    before = gasla.get_num_threads()
    try:
        gasla.set_num_threads(1)
        alone = gasla.mxv(A, x)
        gasla.set_num_threads(min(2, MOST))
        together = gasla.mxv(A, x)
    finally:
        gasla.set_num_threads(before)
    assert_array_equal(alone, together)
    assert_allclose(alone, A @ x)


def test_calls_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gasla.cpu.runtime.blocks.SMALL", 0)
    A = skewed(20_000, 5_000)
    vectors = np.random.default_rng(7).random((8, 5_000))
    with ThreadPoolExecutor(4) as pool:
        for x, y in zip(vectors, pool.map(lambda x: gasla.mxv(A, x), vectors), strict=True):
            assert_allclose(y, A @ x)


def test_a_semiring_first_used_by_several_threads_at_once() -> None:
    A, x, ready = csr_array(np.eye(5)), np.arange(5.0), threading.Barrier(4)
    mine = Semiring(semirings.plus, lambda a, x: a * x + 3)

    def product(_: int) -> Any:
        ready.wait()
        return gasla.mxv(A, x, mine)

    with ThreadPoolExecutor(4) as pool:
        for y in pool.map(product, range(4)):
            assert_array_equal(y, x + 3)


@pytest.mark.parametrize("name", ["plus_times", "min_plus", "max_second", "plus_pair"])
def test_products_equal_those_of_graphblas(name: str) -> None:
    gb = pytest.importorskip("graphblas")
    A = skewed(300, 200)
    A.sum_duplicates()
    x = np.random.default_rng(8).random(200)
    matrix, vector = gb.io.from_scipy_sparse(A), gb.Vector.from_dense(x)
    there = np.diff(A.indptr) > 0
    semiring = getattr(semirings, name)
    expected = matrix.mxv(vector, getattr(gb.semiring, name)).new().to_dense(0)
    assert_allclose(gasla.mxv(A, x, semiring)[there], expected[there])
    mask = np.random.default_rng(9).random(300) < 0.5
    w = gb.Vector.from_dense(np.arange(300.0))
    w(~gb.Vector.from_dense(mask).V, accum=gb.binary.max) << matrix.mxv(vector, getattr(gb.semiring, name))
    out = np.arange(300.0)
    gasla.mxv(A, x, semiring, mask=mask, complement=True, accum=semirings.max, out=out)
    assert_allclose(out[there], w.to_dense(0)[there])


# --- what is refused -------------------------------------------------------------------------------------------------

A23 = csr_array([[0, 1.0, 2], [3, 0, 0]])
PATH = gasla.Graph.from_edges([0, 1], [1, 2])
X3, OUT2 = np.ones(3), np.zeros(2)


def spoilt(name: str, place: int, value: int, fmt: str = "csr") -> Any:
    A = A23.asformat(fmt).copy()
    getattr(A, name)[place] = value
    return A


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: gasla.mxv(A23, np.ones(2)), ValueError, r"x has shape \(2,\); expected \(3,\), one value for each column"),
    (lambda: gasla.vxm(np.ones(3), A23), ValueError, r"x has shape \(3,\); expected \(2,\), one value for each row"),
    (lambda: gasla.mxv(A23, 1j * X3), TypeError, "x has type complex128; expected one of bool"),
    (lambda: gasla.mxv(A23 * 1j, X3), TypeError, "complex"),
    (lambda: gasla.mxv(A23.toarray(), X3), TypeError, "got ndarray; expected a SciPy sparse array"),
    (lambda: gasla.mxv(coo_array(np.ones(3)), X3), ValueError, "expected two dimensions"),
    (lambda: gasla.mxv(A23, X3, "plus_times"), TypeError, "semiring is 'plus_times'; expected a semirings.Semiring"),
    (lambda: gasla.mxv(A23, X3, semirings.bor_band), TypeError, "bitwise_and is not defined for float64"),
    (lambda: gasla.mxv(A23, X3, mask=np.ones(3)), ValueError, r"mask has shape \(3,\); expected \(2,\)"),
    (lambda: gasla.mxv(A23, X3, mask=["a", "b"]), TypeError, "mask has type <U1; expected bool"),
    (lambda: gasla.mxv(A23, X3, complement=True), ValueError, "complement is set and there is no mask"),
    (lambda: gasla.mxv(A23, X3, mask=OUT2, complement="no"), TypeError, "complement is 'no'; expected True or False"),
    (lambda: gasla.mxm(PATH, PATH, mask=PATH, complement=1), TypeError, "complement is 1; expected True or False"),
    (lambda: gasla.mxv(A23, X3, accum=semirings.plus), ValueError, "there is no out"),
    (lambda: gasla.mxv(A23, X3, accum="plus", out=OUT2), TypeError, "accum is 'plus'; expected a BinaryOp"),
    (lambda: gasla.mxv(A23, X3, accum=np.less, out=OUT2), TypeError, "gives bool; expected float64"),
    (lambda: gasla.mxv(A23, X3, out=[0, 0]), TypeError, "out is of type list; expected a NumPy array"),
    (lambda: gasla.mxv(A23, X3, out=np.zeros(3)), ValueError, r"out has shape \(3,\); expected \(2,\)"),
    (lambda: gasla.mxv(A23, X3, out=np.zeros(2, int)), TypeError, "out has type int64 and the product float64"),
    (lambda: gasla.mxv(A23, X3, out=(OUT2,)), TypeError, "out has type float64 and the product float64; expected the"),
    (lambda: gasla.mxv(A23, X3, out=np.broadcast_to(0.0, 2)), ValueError, "out is read-only"),
    (lambda: gasla.mxv(spoilt("indices", 2, 3), X3), ValueError, "entry 2 of the matrix is in column 3; expected 0"),
    (lambda: gasla.mxv(spoilt("indices", 0, -1), X3), ValueError, "entry 0 of the matrix is in column -1"),
    (lambda: gasla.mxv(spoilt("indptr", 1, 4), X3), ValueError, "row 0 of the matrix has entries 0 to 4 of 3"),
    (lambda: gasla.mxv(spoilt("indptr", 1, -4), X3), ValueError, "row 0 of the matrix has entries 0 to -4 of 3"),
    (lambda: gasla.mxv(spoilt("indices", 1, 2, "csc"), X3), ValueError, "entry 1 of the matrix is in row 2"),
    (lambda: gasla.vxm(np.ones(2), spoilt("indices", 1, 2, "csc")), ValueError, "entry 1 of the matrix is in row 2"),
    (lambda: gasla.vxm(np.ones(2), spoilt("indptr", 3, 9, "csc")), ValueError, "column 2 of the matrix has entries 2"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED, ids=lambda p: p if isinstance(p, str) else "")
def test_refused_rows_raise(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("wrong", [-1, 100, 2**31 - 1, -(2**31)])
def test_an_index_outside_is_found_anywhere_in_a_long_row(wrong: int) -> None:
    for place in range(100):
        indices = np.arange(100, dtype=np.int32)
        indices[place] = wrong
        A = csr_array((np.ones(100), np.arange(100, dtype=np.int32), np.array([0, 100])), shape=(1, 100))
        A.indices = indices
        with pytest.raises(ValueError, match=f"entry {place} of the matrix is in column {wrong}; expected 0 to 99"):
            gasla.mxv(A, np.ones(100))


@pytest.mark.parametrize("semiring", [semirings.plus_times, semirings.min_plus], ids=label)
def test_what_lies_behind_the_last_row_is_not_looked_at(semiring: Semiring) -> None:
    A = csr_array(np.eye(20))
    expected = gasla.mxv(A, np.ones(20), semiring)
    A.indices, A.data = np.append(A.indices, [10**6] * 9).astype(np.int32), np.append(A.data, [9.0] * 9)
    assert_array_equal(gasla.mxv(A, np.ones(20), semiring), expected)


@pytest.mark.parametrize(
    ("semiring", "dtype"),
    in_turns(
        [(semirings.plus_times,), (semirings.min_plus,), (semirings.argmin_plus,)], [(np.float32,), (np.float64,)]
    ),
)
@pytest.mark.slow
def test_what_follows_in_the_next_row_does_not_count(semiring: Semiring, dtype: Any) -> None:
    """Short rows are computed with entries of the next, here NaN or infinite in every other row."""
    rows, columns, values = 200, [], []
    for i in range(rows):
        length = 1 + i // 2 % 4
        columns += [(7 * i + k) % rows for k in range(length)]
        values += [(np.nan, np.inf, -np.inf)[i % 3] if i % 2 else i + k for k in range(length)]
    indptr = np.cumsum([0, *(1 + i // 2 % 4 for i in range(rows))])
    A = csr_array((np.array(values, dtype), np.array(columns, np.int32), indptr), (rows, rows))
    x = np.arange(1, rows + 1, dtype=dtype)
    got, expected = gasla.mxv(A, x, semiring), product(A, x, semiring)
    for found, wanted in zip(got, expected) if isinstance(got, tuple) else [(got, expected)]:
        assert_array_equal(found, wanted)
        assert np.isfinite(found[::2]).all()


def test_a_multiply_must_give_numbers() -> None:
    pairs = Semiring(semirings.plus, lambda x, y: semirings.vector(x, y), name="pairs")
    with pytest.raises(TypeError, match=r"pairs multiplies to float64\[2\]; expected a number"):
        gasla.mxv(A23, X3, pairs)


def test_nothing_of_the_callers_changes() -> None:
    A = coo_array(A23)
    x, mask = X3.copy(), np.array([1, 0])
    before = [a.copy() for a in (*A.coords, A.data, x, mask)]
    gasla.mxv(A, x, mask=mask)
    gasla.vxm(np.ones(2), A)
    for a, b in zip((*A.coords, A.data, x, mask), before, strict=True):
        assert_array_equal(a, b)
    assert issparse(A) and not A.has_canonical_format


@pytest.mark.slow
def test_the_example_prints_the_route(capsys: pytest.CaptureFixture[str]) -> None:
    path = ROOT / "examples" / "custom_semiring.py"
    runpy.run_path(str(path))["main"]("JFK", "AKL")
    text = capsys.readouterr().out
    assert "2 flights: JFK -3974 km- LAX, LAX -10487 km- AKL" in text
    assert "Auckland: on day 7" in text
