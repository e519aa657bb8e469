"""Products of matrices on the GPU: every kernel compiles anywhere; on emulated warps and, where there is one, on a GPU,
results are those of a plain loop, of SciPy and of the CPU engine.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

import gasla
import semirings
from gasla import host_memory
from gasla.cpu.product import products as cpu
from gasla.gpu.product import dense, numeric, symbolic
from gasla.gpu.product import products as gpu
from gasla.gpu.product.semiring import inputs
from gasla.gpu.program import rows
from gasla.gpu.runtime.compile import compile_source
from gasla.operations import matrices, multiply, operands
from gasla.program.terms import Lists, Terms, parts, trace
from semirings import Monoid, Semiring, where
from tests.helpers.emulated_kernel import EmulatedKernel, library

pytestmark = pytest.mark.thorough

Array = np.ndarray[Any, Any]

farthest_stop = Semiring(semirings.argmax, lambda x, y, i, k, j: (semirings.minimum(x, y), k), name="farthest_stop")
last_product = Semiring(
    Monoid(lambda x, y: where(y == 0, x, y), 0, name="last", commutative=False),
    lambda x, y, i, k, j: x * y + i - 3 * j,
    name="last_product",
)
CASES = [
    (semirings.plus_times, np.float32),
    (semirings.plus_times, np.int8),
    (semirings.min_plus, np.float64),
    (semirings.or_and, np.bool_),
    (semirings.any_secondi, np.int32),
    (semirings.plus_pair, np.float32),
    (semirings.logaddexp_plus, np.float64),
    (last_product, np.int64),
    (farthest_stop, np.float32),
]
QUICK = [(semirings.plus_times, np.float32), (last_product, np.int64), (farthest_stop, np.float32)]


def label(p: Any) -> str:
    return getattr(p, "name", None) or np.dtype(p).name


SOME = [
    pytest.param(*case, id="-".join(map(label, case)), marks=[] if case in QUICK else pytest.mark.slow)
    for case in CASES
]


def terms_of(semiring: Semiring, dtype: Any, accum: bool = False) -> Terms:
    kind = np.dtype(dtype)
    plain = trace(semiring, False, kind, kind, None, wide=True)
    return trace(semiring, True, kind, kind, (semiring.monoid, parts(plain.out_type)), wide=True) if accum else plain


@pytest.mark.parametrize(("semiring", "dtype"), SOME)
def test_kernels_compile(semiring: Semiring, dtype: Any) -> None:
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    i4, i8 = np.dtype(np.int32), np.dtype(np.int64)
    assert compile_source(numeric.source(terms_of(semiring, dtype), symbolic.METHODS), "compute_90")
    packed = dense.Variant(False, i4, i4, "unsigned int", 16, 4)
    masked = dense.Variant(True, i8, i8, "unsigned long long", 32, 1)
    assert compile_source(dense.source(terms_of(semiring, dtype), packed), "compute_90")
    assert compile_source(dense.source(terms_of(semiring, dtype, accum=True), masked), "compute_80")


def test_what_finds_entries_compiles() -> None:
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    for architecture in ("compute_80", "compute_90"):
        assert compile_source(symbolic.source(), architecture)


# --- by a plain loop -------------------------------------------------------------------------------------------------


def random_matrix(seed: int, m: int, n: int, dtype: Any, index: Any = np.int32) -> csr_array:
    """Empty, short and long rows, unsorted, with parallel entries; small whole numbers, exact in any order."""
    rng = np.random.default_rng(seed)
    lengths = rng.choice([0, 1, 2, 3, 5, 9, 33, 70], m, p=[0.1, 0.2, 0.2, 0.2, 0.1, 0.1, 0.06, 0.04])
    indptr = np.append(0, (lengths * (n > 0)).cumsum()).astype(index)
    indices = (n * rng.random(indptr[-1]) ** 3).astype(index)
    values = rng.integers(-9, 10, len(indices)).astype(dtype)
    return csr_array((values, indices, indptr), shape=(m, n))


def by_rows(A: csr_array) -> tuple[Array, Array, Array]:
    """Row, column and value of each entry, as they are stored."""
    return np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)), A.indices.astype(np.int64), A.data


def expected(A: csr_array, B: csr_array, semiring: Semiring) -> dict[tuple[int, int], Any]:
    """The product's entries, from all pairs that meet, in their order."""
    terms: dict[tuple[int, int], list[Any]] = {}
    lines = np.split(np.arange(len(B.indices)), B.indptr[1:-1])
    for i, k, x in zip(*by_rows(A)):
        for e in lines[k]:
            j = int(B.indices[e])
            with np.errstate(all="ignore"):
                numbers = np.int64(i), np.int64(k), np.int64(j)
                term = semiring.multiply(x, B.data[e], *numbers)
            terms.setdefault((int(i), j), []).append(term)
    return {place: reduced(semiring.monoid, found) for place, found in terms.items()}


def reduced(monoid: Monoid, terms: list[Any]) -> tuple[Any, ...]:
    if isinstance(terms[0], tuple):
        return tuple(monoid.reduce(tuple(map(np.array, zip(*terms)))))
    return (monoid.reduce(np.array(terms)),)


def arrays_of(data: Any) -> list[Array]:
    return [a if isinstance(a, np.ndarray) else a.get() for a in (data if isinstance(data, tuple) else (data,))]


def check(C: Any, shape: tuple[int, int], found: dict[tuple[int, int], Any], semiring: Semiring) -> None:
    """The entries of a product: which, in which order, and their values."""
    assert C.shape == shape
    (indptr,), (indices,) = arrays_of(C.indptr), arrays_of(C.indices)
    places = list(zip(np.repeat(np.arange(shape[0]), np.diff(indptr)).tolist(), indices.tolist()))
    assert places == sorted(found)
    check_values(C, places, found, semiring)


def check_values(C: Any, places: list[Any], found: dict[tuple[int, int], Any], semiring: Semiring) -> None:
    for p, values in enumerate(arrays_of(C.data)):
        nothing = semiring.monoid.identity(values.dtype)
        wanted = np.array([found[place][p] if place in found else nothing for place in places], values.dtype)
        if semiring.monoid.held:
            np.testing.assert_allclose(values, wanted, rtol=1e-9)
        else:
            assert_array_equal(values, wanted)


# --- without a GPU ---------------------------------------------------------------------------------------------------

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


# Between the time that a value is read and the time that it is written, others may come.
PAUSES = "const value_t found = combine_(a, b); warp::let_another(); return found;"


class Emulated:
    """The GPU's way with NumPy's arrays, its kernels on emulated warps; small matrices have rows of all ways."""

    def __init__(self, folder: Any, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.numbers, self.libraries, self.kernels = folder, count(), {}, {}
        for name, value in (
            ("SHARED", 2048),
            ("LARGE_WARPS", 2),
            ("SMALL_BITS", 4),
            ("STRUCTURE_LIMITS", symbolic.SharedLimits(7, 8, 128)),
            ("BATCH", 1 << 12),
        ):
            patch.setattr(symbolic, name, value)
        patch.setattr(
            symbolic, "kernel", lambda function, device: self.kernel(symbolic.source(), symbolic.FUNCTIONS, function)
        )
        patch.setattr(
            numeric,
            "compiled",
            lambda terms, way, device: self.kernel(numeric.source(terms, symbolic.METHODS), symbolic.METHODS, way),
        )
        patch.setattr(dense, "compiled", self.wide_kernels)
        patch.setattr(dense, "struct", lambda value: value)
        patch.setattr(dense, "multiprocessors", lambda: 1)
        patch.setattr(rows, "partition_rows", partition_rows)
        for module in (symbolic, numeric, dense):
            patch.setattr(module, "current_device", lambda: 0)
        names = "at_entries", "of_matrices", "ready_wide"
        products = SimpleNamespace(
            **{name: getattr(cpu, name) for name in cpu.__all__} | {n: getattr(gpu, n) for n in names}
        )
        for module in (matrices, multiply, operands):
            patch.setattr(module, "engine", lambda device: SimpleNamespace(products=lambda: products))

    def kernel(self, source: str, functions: tuple[str, ...], function: str) -> EmulatedKernel:
        if source not in self.libraries:
            text = source.replace("return combine_(a, b);", PAUSES)
            self.libraries[source] = library(text, functions, self.folder / str(next(self.numbers)))
        return self.kernels.setdefault((source, function), EmulatedKernel(self.libraries[source], function))

    def wide_kernels(self, terms: Terms, variant: dense.Variant, device: int) -> dense.Kernels:
        functions = "product_of_columns", "product_of_cut_columns"
        whole, cut = (self.kernel(dense.source(terms, variant), functions, function) for function in functions)
        return dense.Kernels(whole, cut, list(inputs(terms, variant.masked)))

    def launches(self) -> dict[str, int]:
        """How often each way was taken, in all."""
        found = dict.fromkeys(symbolic.METHODS, 0)
        for (_, function), kernel in self.kernels.items():
            if function in found:
                found[function] += kernel.launches
        return found


def partition_rows(indptr: Array, indices: Array, whole: int | None = None) -> rows.RowPartition:
    """What `rows.partition_rows` makes, by NumPy."""
    facts = rows.properties_of(indptr, indices)
    limit = 8 if whole else 10**6
    lengths = np.diff(indptr).astype(np.int64) if facts.offsets_fit else np.zeros(0, np.int64)
    long = np.flatnonzero(lengths > limit)
    counts = -(-lengths[long] // limit)
    starts = counts.cumsum() - counts
    numbers = (np.arange(counts.sum()) - np.repeat(starts, counts)).astype(np.uint32)
    arrays = long, starts.astype(np.uint32), np.repeat(long, counts), numbers
    shared = np.zeros((), rows.ROWS)
    for name, array in zip(("offsets", "cut_rows", "cut_pieces", "long_rows", "numbers"), (indptr, *arrays)):
        shared[name] = array.ctypes.data
    pieces = shared["pieces"], shared["cut"] = len(numbers), len(long)
    shared["count"], shared["limit"], shared["piece"] = facts.rows, limit, limit
    return NumPyShares(facts, 1, limit, *pieces, arrays, shared)


class NumPyShares(rows.RowPartition):
    def partials(self, value_size: int) -> Any:
        return np.empty(self.pieces * value_size, np.uint8)

    def argument(self, partials: Any = None) -> Any:
        filled = self.rows.copy()
        filled["partials"] = partials.ctypes.data
        return filled


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulated]:
    with pytest.MonkeyPatch.context() as patch:
        yield Emulated(tmp_path_factory.mktemp("mxm"), patch)


def places_of(A: csr_array) -> list[tuple[int, int]]:
    """Row and column of each entry, as they are stored."""
    return list(zip(*(array.tolist() for array in by_rows(A)[:2])))


@needs_compiler
@pytest.mark.parametrize("visit", [1, 1000], ids=["windows", "memory"])
@pytest.mark.parametrize(("semiring", "dtype"), SOME)
def test_emulated_sparse(
    emulated: Emulated, semiring: Semiring, dtype: Any, visit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole, at the entries of a mask, and without those; long rows by windows, or by tables in global memory."""
    monkeypatch.setattr(symbolic, "VISIT", visit)
    before = emulated.launches()
    A, B, mask = (random_matrix(seed, *shape, dtype) for seed, shape in enumerate([(40, 50), (50, 600), (40, 600)]))
    if semiring is semirings.plus_times:
        B = csr_array(B)
        B.sum_duplicates()  # so that pairs of one row of B are known to be in different columns
    found, admitted = expected(A, B, semiring), places_of(mask)
    check(gasla.mxm(A, B, semiring), mask.shape, found, semiring)
    others = {place: value for place, value in found.items() if place not in admitted}
    check(gasla.mxm(A, B, semiring, mask=mask, complement=True), mask.shape, others, semiring)
    C = gasla.mxm(A, B, semiring, mask=mask)
    assert_array_equal(C.indices, mask.indices)
    check_values(C, admitted, found, semiring)
    launches = {way: count - before[way] for way, count in emulated.launches().items()}
    assert launches["tables"] == 7 and launches["windows" if visit == 1 else "memory"] >= 4


def lists_of(A: csr_array) -> Lists:
    return Lists(A.indptr, A.indices, A.data, A.shape[1])


def amid_others(A: csr_array) -> gasla.Sparse:
    """The same matrix, whose rows lie between entries that are nobody's, and point nowhere."""
    indices = np.concatenate([[-7, 10**6], A.indices, [10**6]]).astype(A.indices.dtype)
    data = np.concatenate([[1, 1], A.data, [1]]).astype(A.dtype)
    return gasla.Sparse(A.shape, A.indptr + A.indptr.dtype.type(2), indices, data)


@needs_compiler
@pytest.mark.parametrize("visit", [1, 1000], ids=["windows", "memory"])
@pytest.mark.parametrize("index", [np.int32, np.int64], ids=label)
def test_emulated_rows_amid_others(emulated: Emulated, index: Any, visit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbolic, "VISIT", visit)
    shapes = (40, 50), (50, 600), (40, 600)
    matrices = [random_matrix(seed, *shape, np.float32, index) for seed, shape in enumerate(shapes)]
    moved = [amid_others(M) for M in matrices]
    found, admitted = expected(*matrices[:2], semirings.plus_times), places_of(matrices[2])
    check(gasla.mxm(*moved[:2]), shapes[2], found, semirings.plus_times)
    others = {place: value for place, value in found.items() if place not in admitted}
    check(gasla.mxm(*moved[:2], mask=moved[2], complement=True), shapes[2], others, semirings.plus_times)
    data = gasla.mxm(*moved[:2], mask=moved[2]).data[2:]
    assert_array_equal(data, [found[place][0] if place in found else 0 for place in admitted])


@needs_compiler
@pytest.mark.parametrize("seed", range(4))
def test_emulated_facts_of_rows(emulated: Emulated, seed: int) -> None:
    """How many pairs meet, and whether columns ascend and are apart: as NumPy has it, of rows amid others too."""
    stored = random_matrix(seed, 60, 80, np.float32)
    ascending, apart = stored.copy(), stored.copy()
    ascending.sort_indices()
    apart.sum_duplicates()
    b = random_matrix(seed, 80, 90, np.float32)
    for A in (stored, ascending, apart, csr_array((0, 80)), csr_array((3, 80)), apart[:1], stored[-7:]):
        rows_of, columns, _ = by_rows(A)
        steps = [np.diff(columns[rows_of == row]) for row in range(A.shape[0])]
        wanted = symbolic.RowOrder(all((s >= 0).all() for s in steps), all((s > 0).all() for s in steps))
        pairs_of = np.bincount(rows_of, np.diff(b.indptr)[columns], minlength=A.shape[0])
        for matrix in (A, amid_others(A)):
            a = symbolic.as_csr(lists_of(matrix), "A")
            assert a is not None and a.order == wanted and a.order is a.order
            assert_array_equal(symbolic.count_pairs(a, symbolic.as_csr(lists_of(b), "B")), pairs_of)


@needs_compiler
@pytest.mark.parametrize("small", [True, False], ids=["small", "none-small"])
@pytest.mark.parametrize("left_out", [True, False], ids=["left-out", "whole"])
def test_emulated_rows_are_sorted_by_way(emulated: Emulated, left_out: bool, small: bool) -> None:
    """Each row that may have columns is listed once; of windows, those in which more pairs meet first."""
    rng = np.random.default_rng(3)
    for most_pairs in (0, 8, 40, 3000, 10**6):
        n = 300
        met = rng.integers(0, most_pairs + 1, n) if most_pairs != 8 else np.full(n, 8)
        a = symbolic.as_csr(lists_of(random_matrix(1, n, 50, np.float32)), "A")
        offsets = np.append(0, rng.integers(0, 9, n).cumsum())
        assert a is not None
        most = symbolic.MaxColumns(met, None, offsets if left_out else None, 900)
        ways = symbolic.group_rows(most, a, symbolic.STRUCTURE_LIMITS, small)
        columns = np.minimum(met, 900)
        bounds = np.where(met > 0, columns + np.diff(offsets), 0) if left_out else columns
        assert_array_equal(most.of(np.arange(n)), bounds)
        few = (bounds <= 8) & (met <= symbolic.SMALL_PAIRS) & small
        searched = (np.diff(a.offsets) + symbolic.VISIT) * 8 <= met
        chosen = np.select([bounds == 0, few, bounds <= 64, searched, bounds <= 128], [5, 0, 1, 4, 2], 3)
        for k, way in enumerate(symbolic.METHODS):
            listed = np.arange(n) if ways[way].listed is None else ways[way].listed
            if ways[way].listed is None and ways[way].number == 0:
                listed = listed[:0]
            assert ways[way].number == len(listed)
            assert_array_equal(np.sort(listed), np.flatnonzero(chosen == k))
        if (longest := ways["windows"].listed) is not None:
            assert (np.diff(np.frexp(met[longest].astype(float))[1]) <= 0).all()


@needs_compiler
@settings(max_examples=8)
@given(data=st.data())
def test_emulated_shapes(emulated: Emulated, data: Any) -> None:
    """Empty, one row, parallel entries, int64: against SciPy."""
    m, n, p = (data.draw(st.sampled_from([0, 1, 4]), label=name) for name in "mnp")
    seed, index = data.draw(st.integers(0, 99)), data.draw(st.sampled_from([np.int32, np.int64]))
    A, B, mask = (random_matrix(seed, *shape, np.float32, index) for shape in ((m, n), (n, p), (m, p)))
    C = gasla.mxm(A, B)
    assert C.indptr.dtype == C.indices.dtype == np.int32
    wanted, ones = (A @ B).toarray(), (csr_array((np.ones(X.nnz), X.indices, X.indptr), X.shape) for X in (A, B))
    assert C.nnz == np.count_nonzero((next(ones) @ next(ones)).toarray())
    assert_array_equal(C.to_scipy().toarray(), wanted)
    admitted = np.zeros((m, p), bool)
    rows, columns, _ = by_rows(mask)
    admitted[rows, columns] = True
    assert_array_equal(gasla.mxm(A, B, mask=mask).data, wanted[rows, columns])
    assert_array_equal(gasla.mxm(A, B, mask=mask, complement=True).to_scipy().toarray(), np.where(admitted, 0, wanted))
    assert_array_equal(gasla.mxm(A, B.toarray()), wanted)


@needs_compiler
def test_emulated_graphs(emulated: Emulated) -> None:
    star, path = ([0] * 40, range(1, 41)), (range(40), range(1, 41))
    for src, dst in (star, path):
        graph = gasla.Graph.from_edges(src, dst, n=41)
        both = csr_array((np.ones(40), (src, dst)), shape=(41, 41))
        assert_array_equal(gasla.mxm(graph, graph, semirings.plus_pair).to_scipy().toarray(), (both @ both).toarray())
        assert_array_equal(gasla.mxm(graph, graph.to("cpu"), semirings.plus_pair, mask=graph).data, 0)
    graph = gasla.Graph(gasla.datasets.rmat(5))
    assert gasla.mxm(graph, graph, semirings.plus_pair, mask=graph).data.sum() == 6 * gasla.triangle_count(graph)


@needs_compiler
def test_emulated_hub_is_not_counted(emulated: Emulated, monkeypatch: pytest.MonkeyPatch) -> None:
    """A product that does not fit, as the rows' lengths prove, is refused before any row is counted."""
    monkeypatch.setattr(matrices, "available", lambda device: 10**6)
    leaves, hub = np.arange(1, 400), np.zeros(399, int)
    star = gasla.Graph.from_edges(np.append(hub, leaves), np.append(leaves, hub))
    mask, before = gasla.Graph.from_edges([0], [0], n=400), emulated.launches()
    for without in ({}, {"mask": mask, "complement": True}):
        with pytest.raises(MemoryError, match=r"at least 159,20[12] entries"):
            gasla.mxm(star, star, semirings.plus_pair, **without)
    assert emulated.launches() == before


@needs_compiler
@pytest.mark.parametrize("name", ["A", "B", "mask"])
@pytest.mark.parametrize(("array", "value"), [("indices", 9), ("indices", -1), ("indptr", 99), ("indptr", -1)])
def test_emulated_damage_is_found(emulated: Emulated, name: str, array: str, value: int) -> None:
    given = {n: csr_array(([1.0, 2, 3], [0, 2, 1], [0, 2, 2, 3]), shape=(3, 3)) for n in ("A", "B", "mask")}
    getattr(given[name], array)[1] = value
    before = emulated.launches()
    with pytest.raises(ValueError, match=f"in {name}, "):
        gasla.mxm(given["A"], given["B"], mask=given["mask"])
    if name == "A":
        with pytest.raises(ValueError, match="of the matrix"):
            gasla.mxm(given["A"], np.ones((3, 2)))
    assert emulated.launches() == before


@needs_compiler
def test_emulated_limits(emulated: Emulated, monkeypatch: pytest.MonkeyPatch) -> None:
    A = random_matrix(1, 9, 9, np.float32)
    monkeypatch.setattr(symbolic, "WIDEST", 8)
    with pytest.raises(ValueError, match="A has 9 columns; expected at most 8 on a GPU"):
        gasla.mxm(A, A)
    monkeypatch.setattr(symbolic, "WIDEST", 1 << 30)
    monkeypatch.setattr(symbolic, "LONGEST", 1)
    with pytest.raises(ValueError, match=r"A has a row of \d+ entries; expected at most 1 on a GPU"):
        gasla.mxm(A, A, mask=A)
    monkeypatch.setattr(dense, "MOST", 2)
    with pytest.raises(ValueError, match="x has 3 columns; expected at most 2 on a GPU"):
        gasla.mxm(A, np.ones((9, 3)))


def wide_problem(seed: int, columns: int, dtype: Any) -> tuple[csr_array, Array]:
    A = random_matrix(seed, 30, 25, dtype)
    return A, np.random.default_rng(seed).integers(-9, 10, (25, columns)).astype(dtype)


def dense_expected(A: csr_array, X: Array, semiring: Semiring) -> list[Array]:
    """A loop over rows and columns."""
    X_sparse = csr_array(
        (X.ravel(), np.tile(np.arange(X.shape[1]), len(X)), np.arange(0, X.size + 1, X.shape[1])), X.shape
    )
    found = expected(A, X_sparse, semiring)
    shape = A.shape[0], X.shape[1]
    term = semiring.multiply(A.data[:1], X[0, :1], *np.zeros((3, 1), np.int64))
    types = [np.asarray(t).dtype for t in (term if isinstance(term, tuple) else (term,))]
    identities = [semiring.monoid.identity(t) for t in types]
    results = [np.full(shape, e, t) for e, t in zip(identities, types)]
    for place, values in found.items():
        for result, value in zip(results, values):
            result[place] = value
    return results


def same(found: Any, wanted: list[Array], semiring: Semiring) -> None:
    for a, b in zip(arrays_of(found), wanted, strict=True):
        assert a.dtype == b.dtype
        if semiring.monoid.held:
            np.testing.assert_allclose(a, b, rtol=1e-9)
        else:
            assert_array_equal(a, b)


DENSE = [
    pytest.param(semirings.plus_times, np.float32, 12, id="plus_times-12"),
    pytest.param(last_product, np.int64, 7, id="last_product-7"),
    pytest.param(farthest_stop, np.float32, 150, id="farthest_stop-150"),
    *(
        pytest.param(*case, columns, id=f"{label(case[0])}-{label(case[1])}-{columns}", marks=pytest.mark.slow)
        for case in CASES
        for columns in (1, 6, 64)
    ),
]


@needs_compiler
@pytest.mark.parametrize(("semiring", "dtype", "columns"), DENSE)
def test_emulated_dense(emulated: Emulated, semiring: Semiring, dtype: Any, columns: int) -> None:
    """Rows of over 8 entries are cut."""
    A, X = wide_problem(columns, columns, dtype)
    wanted = dense_expected(A, X, semiring)
    same(gasla.mxm(A, X, semiring), wanted, semiring)
    mask = np.random.default_rng(1).random(wanted[0].shape) < 0.5
    outs = tuple(np.ones_like(w) for w in wanted)
    gasla.mxv(A, X, semiring, mask=mask, complement=True, out=outs if len(outs) > 1 else outs[0])
    same(outs, [np.where(mask, w.dtype.type(1), w) for w in wanted], semiring)


@needs_compiler
def test_emulated_dense_by_columns_and_merged(emulated: Emulated) -> None:
    A, X = wide_problem(5, 8, np.float64)
    out = np.full((30, 8), 2.0)
    assert gasla.mxv(A, X, accum=semirings.plus, out=out) is out
    assert_array_equal(out, A @ X + 2)
    Z = np.random.default_rng(3).integers(-9, 10, (30, 8)).astype(float)
    assert_array_equal(gasla.vxm(Z, A), A.T @ Z)
    unaligned = np.empty((25, 9))[:, 1:]
    unaligned[...] = X
    assert_array_equal(gasla.mxm(A, unaligned), A @ X)


# --- with a GPU ------------------------------------------------------------------------------------------------------


def on_gpu(A: csr_array) -> gasla.Sparse:
    """The same matrix there; CuPy's own hold no integers."""
    import cupy

    return gasla.Sparse(A.shape, *map(cupy.asarray, (A.indptr, A.indices, A.data)))


def equal(found: Any, wanted: Any, semiring: Semiring) -> None:
    """A product on the GPU, and the CPU's."""
    if isinstance(wanted, gasla.Sparse):
        assert found.shape == wanted.shape and found.indices.dtype == wanted.indices.dtype
        assert_array_equal(found.indptr.get(), wanted.indptr)
        assert_array_equal(found.indices.get(), wanted.indices)
        found, wanted = found.data, wanted.data
    same(found, arrays_of(wanted), semiring)


OF_WIDTHS = [  # of B: rows of the product in small tables, tables, windows, and in global memory
    pytest.param(300, id="narrow"),
    pytest.param(9_000, id="windows"),
    pytest.param(3_000_000, id="memory"),
]


@pytest.mark.gpu
@pytest.mark.parametrize("columns", OF_WIDTHS)
@pytest.mark.parametrize(("semiring", "dtype"), CASES, ids=label)
def test_sparse_equals_the_cpu(semiring: Semiring, dtype: Any, columns: int) -> None:
    if semiring.monoid.terminal(np.dtype(np.int64)) is semirings.ANY:
        pytest.skip("any of several products is right")
    A, B = random_matrix(4, 700, 400, dtype), random_matrix(5, 400, columns, dtype)
    mask = random_matrix(6, 700, columns, dtype)
    there = tuple(map(on_gpu, (A, B, mask)))
    equal(gasla.mxm(*there[:2], semiring), gasla.mxm(A, B, semiring), semiring)
    for complement in (False, True):
        found = gasla.mxm(*there[:2], semiring, mask=there[2], complement=complement)
        equal(found, gasla.mxm(A, B, semiring, mask=mask, complement=complement), semiring)


@pytest.mark.gpu
@pytest.mark.parametrize("columns", [1, 2, 7, 16, 64, 300])
@pytest.mark.parametrize(("semiring", "dtype"), CASES, ids=label)
def test_dense_equals_the_cpu(semiring: Semiring, dtype: Any, columns: int) -> None:
    """Some rows are cut."""
    import cupy

    rng = np.random.default_rng(8)
    lengths = rng.choice([0, 1, 3, 4, 5, 17, 256, 257, 1500], 500)
    indptr = np.append(0, lengths.cumsum())
    indices = rng.integers(0, 400, indptr[-1])
    A = csr_array((rng.integers(-9, 10, len(indices)).astype(dtype), indices, indptr), shape=(500, 400))
    X = rng.integers(-9, 10, (400, columns)).astype(dtype)
    if semiring.monoid.terminal(np.dtype(np.int64)) is semirings.ANY:
        pytest.skip("any of several products is right")
    wanted = gasla.mxm(A, X, semiring)
    equal(gasla.mxm(on_gpu(A), cupy.asarray(X), semiring), wanted, semiring)
    mask = rng.random((500, columns)) < 0.5
    outs = [tuple(np.ones_like(w) for w in arrays_of(wanted)) for _ in range(2)]
    outs[1] = tuple(map(cupy.asarray, outs[1]))
    for matrix, x, m, out in ((A, X, mask, outs[0]), (on_gpu(A), cupy.asarray(X), cupy.asarray(mask), outs[1])):
        gasla.mxv(matrix, x, semiring, mask=m, accum=semiring.monoid, out=out if len(out) > 1 else out[0])
    same(outs[1], list(outs[0]), semiring)


@pytest.mark.gpu
@pytest.mark.parametrize(("m", "n", "p"), [(0, 0, 0), (0, 3, 2), (3, 0, 2), (3, 2, 0), (1, 1, 1), (4, 3, 5)])
def test_empty_and_tiny(m: int, n: int, p: int) -> None:
    import cupy

    shapes = (m, n), (n, p), (m, p)
    tiny = [random_matrix(seed, *shape, np.float32) for seed, shape in enumerate(shapes)]
    for A, B, mask in (tiny, [csr_array(shape, dtype=np.float32) for shape in shapes]):
        there = tuple(map(on_gpu, (A, B, mask)))
        equal(gasla.mxm(*there[:2]), gasla.mxm(A, B), semirings.plus_times)
        for complement in (False, True):
            found = gasla.mxm(*there[:2], mask=there[2], complement=complement)
            equal(found, gasla.mxm(A, B, mask=mask, complement=complement), semirings.plus_times)
        X = B.toarray()
        assert_array_equal(gasla.mxm(there[0], cupy.asarray(X)).get(), A @ X)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["rmat", "grid"])
def test_as_cupys_and_the_same_every_time(name: str) -> None:
    from cupyx.scipy import sparse

    A = getattr(gasla.datasets, name)(10)
    A.data = np.random.default_rng(1).random(A.nnz, np.float32)
    there = sparse.csr_matrix(A)
    C, theirs = gasla.mxm(there, there), there @ there
    theirs.sort_indices()
    assert_array_equal(C.indptr.get(), theirs.indptr.get())
    assert_array_equal(C.indices.get(), theirs.indices.get())
    np.testing.assert_allclose(C.data.get(), theirs.data.get(), rtol=1e-4)
    np.testing.assert_allclose(C.to_cupy().toarray().get(), (A @ A).toarray(), rtol=1e-4)
    for _ in range(3):
        assert_array_equal(gasla.mxm(there, there).data.get(), C.data.get())
    graph = gasla.Graph(there)
    pairs_of_edges = gasla.mxm(graph, graph, semirings.plus_pair, mask=graph)
    assert int(pairs_of_edges.data.sum()) == 6 * gasla.triangle_count(graph)


@pytest.mark.gpu
@pytest.mark.sanitize
@pytest.mark.parametrize("columns", OF_WIDTHS)
@pytest.mark.parametrize("index", [np.int32, np.int64], ids=label)
def test_small_sparse_products(index: Any, columns: int) -> None:
    A, B = random_matrix(4, 60, 80, np.float32, index), random_matrix(5, 80, columns, np.float32, index)
    B.data[::3] = 0
    mask = random_matrix(6, 60, columns, np.float32, index)
    there = tuple(map(on_gpu, (A, B, mask)))
    for semiring in (semirings.plus_times, farthest_stop):
        check(gasla.mxm(*there[:2], semiring), mask.shape, found := expected(A, B, semiring), semiring)
        check_values(gasla.mxm(*there[:2], semiring, mask=there[2]), places_of(mask), found, semiring)


@pytest.mark.gpu
@pytest.mark.parametrize("columns", OF_WIDTHS)
def test_rows_amid_others(columns: int) -> None:
    A, B = random_matrix(4, 700, 400, np.float32), random_matrix(5, 400, columns, np.float32)
    mask = random_matrix(6, 700, columns, np.float32)
    there = [on_gpu(amid_others(M)) for M in (A, B, mask)]
    for left_out, wanted in ((None, None), (there[2], mask)):
        equal(
            gasla.mxm(*there[:2], mask=left_out, complement=left_out is not None),
            gasla.mxm(A, B, mask=wanted, complement=wanted is not None),
            semirings.plus_times,
        )
    found = gasla.mxm(*there[:2], mask=there[2])
    assert_array_equal(found.data.get()[2:], gasla.mxm(A, B, mask=mask).data)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["grid", "star", "empty"])
def test_rows_that_are_all_of_one_way(name: str) -> None:
    """Many short rows need no list; one row may meet all others."""
    A = gasla.datasets.grid(16) if name == "grid" else csr_array((70_000, 70_000), dtype=np.float32)
    if name == "star":
        ends = np.concatenate([np.zeros(69_999, int), np.arange(1, 70_000)])
        A = csr_array((np.ones(len(ends), np.float32), (ends, ends[::-1])), shape=A.shape)
        A = A[:, :200]  # or the product would have no room
    B = csr_array(A.T) if name == "star" else A
    equal(gasla.mxm(on_gpu(B), on_gpu(A)), gasla.mxm(B, A), semirings.plus_times)


@pytest.mark.gpu
def test_a_product_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    A = on_gpu(csr_array(gasla.datasets.rmat(8)))
    assert host_memory.free_bytes() > 0
    monkeypatch.setattr(host_memory, "free_bytes", lambda: 1000)
    with pytest.raises(MemoryError, match=r"entries, which take .* bytes, and 1,000 are available"):
        gasla.mxm(A, A)


@pytest.mark.gpu
@pytest.mark.parametrize(("array", "value"), [("indices", 9), ("indices", -1), ("indptr", 99), ("indptr", -1)])
def test_damage_is_found(array: str, value: int) -> None:
    A, good = (on_gpu(csr_array(([1.0, 2, 3], [0, 2, 1], [0, 2, 2, 3]), shape=(3, 3))) for _ in range(2))
    getattr(A, array)[1] = value
    for left, right, mask in ((A, good, None), (good, A, None), (good, good, A)):
        with pytest.raises(ValueError, match="of the matrix"):
            gasla.mxm(left, right, mask=mask)
