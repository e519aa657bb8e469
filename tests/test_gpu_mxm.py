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
from emulated_kernel import EmulatedKernel, library
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

import gasla
import semirings
from gasla.cpu.product import products as cpu
from gasla.gpu.product import entries, pairs, wide
from gasla.gpu.product import products as gpu
from gasla.gpu.program import rows
from gasla.gpu.runtime.compile import compile_source
from gasla.operations import matrices, multiply, operands
from gasla.program.terms import Terms, parts, trace
from semirings import Monoid, Semiring, where

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


def label(p: Any) -> str:
    return getattr(p, "name", None) or np.dtype(p).name


def terms_of(semiring: Semiring, dtype: Any, accum: bool = False) -> Terms:
    kind = np.dtype(dtype)
    plain = trace(semiring, False, kind, kind, None, wide=True)
    return trace(semiring, True, kind, kind, (semiring.monoid, parts(plain.out_type)), wide=True) if accum else plain


@pytest.mark.parametrize(("semiring", "dtype"), CASES, ids=label)
def test_kernels_compile(semiring: Semiring, dtype: Any) -> None:
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    i4, i8 = np.dtype(np.int32), np.dtype(np.int64)
    assert compile_source(entries.source(terms_of(semiring, dtype), pairs.WAYS), "sm_90")
    packed = wide.Shape(False, i4, i4, "unsigned int", 16, 4)
    masked = wide.Shape(True, i8, i8, "unsigned long long", 32, 1)
    assert compile_source(wide.source(terms_of(semiring, dtype), packed), "sm_90")
    assert compile_source(wide.source(terms_of(semiring, dtype, accum=True), masked), "sm_80")


def test_what_finds_entries_compiles() -> None:
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    for architecture in ("sm_80", "sm_90"):
        assert compile_source(pairs.source(), architecture)


# --- by a plain loop -------------------------------------------------------------------------------------------------


def random_matrix(seed: int, m: int, n: int, dtype: Any, index: Any = np.int32) -> csr_array:
    """Empty, short and long rows, unsorted, with parallel entries; small whole numbers, exact in any order."""
    rng = np.random.default_rng(seed)
    lengths = rng.choice([0, 1, 2, 3, 5, 9, 33, 70], m, p=[0.1, 0.2, 0.2, 0.2, 0.1, 0.1, 0.06, 0.04])
    indptr = np.append(0, lengths.cumsum()).astype(index)
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


class Emulated:
    """The GPU's way with NumPy's arrays, its kernels on emulated warps; small matrices have rows of all ways."""

    def __init__(self, folder: Any, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.numbers, self.libraries, self.kernels = folder, count(), {}, {}
        for name, value in (("SHARED", 2048), ("SMALL_BITS", 5), ("STRUCTURE", pairs.Room(7, 128)), ("BATCH", 1 << 12)):
            patch.setattr(pairs, name, value)
        patch.setattr(pairs, "kernel", lambda way, device: self.kernel(pairs.source(), pairs.WAYS, way))
        patch.setattr(
            entries,
            "compiled",
            lambda terms, way, device: self.kernel(entries.source(terms, pairs.WAYS), pairs.WAYS, way),
        )
        patch.setattr(wide, "compiled", self.wide_kernels)
        patch.setattr(wide, "struct", lambda value: value)
        patch.setattr(wide, "_address", lambda array: array.ctypes.data)
        patch.setattr(rows, "plan", plan)
        for module in (pairs, entries, wide):
            patch.setattr(module, "device", lambda: 0)
        names = "at_entries", "of_matrices", "ready_wide"
        products = SimpleNamespace(
            **{name: getattr(cpu, name) for name in cpu.__all__} | {n: getattr(gpu, n) for n in names}
        )
        for module in (matrices, multiply, operands):
            patch.setattr(module, "engine", lambda device: SimpleNamespace(products=lambda: products))

    def kernel(self, source: str, functions: tuple[str, ...], function: str) -> EmulatedKernel:
        if source not in self.libraries:
            self.libraries[source] = library(source, functions, self.folder / str(next(self.numbers)))
        return self.kernels.setdefault((source, function), EmulatedKernel(self.libraries[source], function))

    def wide_kernels(self, terms: Terms, shape: wide.Shape, device: int) -> wide.Kernels:
        functions = "product_of_columns", "product_of_cut_columns"
        whole, cut = (self.kernel(wide.source(terms, shape), functions, function) for function in functions)
        return wide.Kernels(whole, cut, list(wide._inputs(terms, shape)))

    def launches(self) -> dict[str, int]:
        """How often each way was taken, in all."""
        found = dict.fromkeys(pairs.WAYS, 0)
        for (_, function), kernel in self.kernels.items():
            if function in found:
                found[function] += kernel.launches
        return found


def plan(indptr: Array, indices: Array, whole: int | None = None) -> rows.Plan:
    """What `rows.plan` makes, by NumPy."""
    facts = rows.facts_of(indptr, indices)
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
    return NumPyPlan(facts, 1, limit, *pieces, arrays, shared)


class NumPyPlan(rows.Plan):
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


EMULATED = [
    pytest.param(
        *case,
        id=case[0].name,
        marks=[]
        if case[0] in (semirings.plus_times, farthest_stop, last_product) and case[1] != np.int8
        else pytest.mark.slow,
    )
    for case in CASES
]


@needs_compiler
@pytest.mark.parametrize(("semiring", "dtype"), EMULATED)
def test_emulated_sparse(emulated: Emulated, semiring: Semiring, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for visit in (1, 1000):
        monkeypatch.setattr(pairs, "VISIT", visit)
        before = emulated.launches()
        A, B = random_matrix(1, 40, 50, dtype), random_matrix(2, 50, 600, dtype)
        found = expected(A, B, semiring)
        shape = 40, 600
        check(gasla.mxm(A, B, semiring), shape, found, semiring)
        mask = random_matrix(3, 40, 600, dtype)
        left_out = set(zip(*(a.tolist() for a in by_rows(mask)[:2])))
        check(
            gasla.mxm(A, B, semiring, mask=mask, complement=True),
            shape,
            {p: v for p, v in found.items() if p not in left_out},
            semiring,
        )
        C = gasla.mxm(A, B, semiring, mask=mask)
        assert_array_equal(C.indices, mask.indices)
        check_values(C, list(zip(*(a.tolist() for a in by_rows(mask)[:2]))), found, semiring)
        print({way: n - before[way] for way, n in emulated.launches().items()})


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


@needs_compiler
@pytest.mark.parametrize(("semiring", "dtype"), EMULATED)
@pytest.mark.parametrize("columns", [1, 7, 12, pytest.param(64, marks=pytest.mark.slow), 150])
def test_emulated_dense(emulated: Emulated, semiring: Semiring, dtype: Any, columns: int) -> None:
    """Rows of over 8 entries are cut."""
    A, X = wide_problem(columns, columns, dtype)
    wanted = dense_expected(A, X, semiring)
    same(gasla.mxm(A, X, semiring), wanted, semiring)
    mask = np.random.default_rng(1).random(wanted[0].shape) < 0.5
    outs = tuple(np.ones_like(w) for w in wanted)
    gasla.mxv(A, X, semiring, mask=mask, complement=True, out=outs if len(outs) > 1 else outs[0])
    same(outs, [np.where(mask, w.dtype.type(1), w) for w in wanted], semiring)
