"""Four entries of a row side by side: each operation against NumPy, NaN that is noticed late, the end of the arrays."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

import gasla
import semirings
from gasla.cpu.product import plans, simd4_printer
from gasla.cpu.runtime import modules
from semirings import Monoid, Semiring, Symbol, cast, maximum, minimum, where
from semirings.printers import python as printer
from semirings.types import SCALAR_NAMES

pytestmark = pytest.mark.thorough

Array = np.ndarray[Any, Any]

SOON = ("bool", "int8", "uint32", "int64", "float32")
SOME_AND_ALL = [n if n in SOON else pytest.param(n, marks=pytest.mark.slow) for n in SCALAR_NAMES]
NUMBERS = [name for name in SCALAR_NAMES if name != "bool"]
AWKWARD = [0, 1, 2, 3, 7, 100, 127, 128, 255, -1, -2, -128, 32767, 65535, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)]
FRACTIONS = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3e38, 1e-40, np.inf, -np.inf, np.nan, 16777217.0, -7.25, 0.1, 1e19]


def of_all(a: Any, b: Any) -> list[Any]:
    return [a < b, a <= b, a > b, a >= b, a == b, a != b, where(a < b, b, a)]


def of_numbers(a: Any, b: Any) -> list[Any]:
    return [a + b, a - b, a * b, abs(a)]


def extrema(a: Any, b: Any) -> list[Any]:
    return [minimum(a, b), maximum(a, b), minimum(a, 1), maximum(1, b)]


def of_floats(a: Any, b: Any) -> list[Any]:
    functions = [np.isnan, np.floor, np.ceil, np.trunc, np.rint]
    found = [*of_all(a, b), *of_numbers(a, b), *(f(a) for f in functions), np.sqrt(abs(a)), -a, a / b, cast(a, bool)]
    return [*found, cast(a, np.float32), cast(a, np.float64), *extrema(a, b)]


def of_integers(a: Any, b: Any) -> list[Any]:
    found = [*of_all(a, b), *of_numbers(a, b), a & b, a | b, a ^ b, ~a, a << 3, a >> 2, cast(a, bool)]
    return [*found, *(cast(a, t) for t in NUMBERS), *extrema(a, b)]


def of_truths(a: Any, b: Any) -> list[Any]:
    return [*of_all(a, b), a & b, a | b, a ^ b, ~a, *(cast(a, t) for t in NUMBERS)]


DRIVER = """
from gasla.cpu.runtime import simd4
from gasla.compiler.function import compiled
from gasla.compiler.function import compiled

{prelude}

@compiled
{operations}

@compiled
def run(a, b, {outs}):
    for k in range(0, len(a), 4):
        e = np.uint64(k)
        found = operations(simd4.load(a, e), simd4.load(b, e))
{store}
"""


def in_simd4(operations: Callable[[Any, Any], list[Any]], a: Array, b: Array) -> list[Array]:
    """What operations come to, four values at a time."""
    symbols = [Symbol("a", a.dtype), Symbol("b", b.dtype)]
    traced = [semirings.as_expr(e) for e in operations(*symbols)]
    assert all(map(simd4_printer.are_for, traced))
    exprs = tuple(map(simd4_printer.as_choices, traced))
    store = ""
    for k in range(len(exprs)):
        for place, at in enumerate(("{}", "simd4.by_one({})", "simd4.by_two({})", "simd4.by_one(simd4.by_two({}))")):
            store += f"        out{k}[e + np.uint64({place})] = simd4.first({at.format(f'found[{k}]')})\n"
    names = [f"out{k}" for k in range(len(exprs))]
    text = printer.function("operations", symbols, exprs, simd4_printer.write)
    source = DRIVER.format(prelude=printer.PRELUDE, operations=text, outs=", ".join(names), store=store)
    found = [np.empty(len(a), e.dtype) for e in exprs]
    modules.load(source, f"simd4_of_{a.dtype}").run(a, b, *found)
    return found


def awkward(dtype: Any) -> tuple[Array, Array]:
    """Each awkward value beside each."""
    if dtype.kind in "iu":
        values = np.array([v % (1 << 8 * dtype.itemsize) for v in AWKWARD], f"u{dtype.itemsize}").view(dtype)
    else:
        values = np.array([True, False] if dtype.kind == "b" else FRACTIONS).astype(dtype)
    a, b = np.meshgrid(values, values)
    return np.ascontiguousarray(a.ravel()), np.ascontiguousarray(b.ravel())


@pytest.mark.parametrize("name", SOME_AND_ALL)
def test_each_operation_equals_numpy(name: str) -> None:
    dtype = np.dtype(name)
    operations = {"b": of_truths, "f": of_floats}.get(dtype.kind, of_integers)
    with np.errstate(all="ignore"):
        a, b = awkward(dtype)
        found, expected = in_simd4(operations, a, b), operations(a, b)
        signless = len(extrema(a, b)) if dtype.kind == "f" else 0  # minima of zeros of both signs
    for k, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert one.dtype == other.dtype, k
        assert_array_equal(one, other, err_msg=str(k))
        if one.dtype.kind == "f" and k < len(found) - signless:
            there = ~np.isnan(one)
            assert_array_equal(np.signbit(one[there]), np.signbit(other[there]), err_msg=str(k))


# --- NaN -------------------------------------------------------------------------------------------------------------

clipped = Semiring(semirings.min, lambda x, y: maximum(minimum(x, y), 0.25) + y, name="clipped")
widest = Semiring(semirings.max, minimum, name="widest")
MINDING = [semirings.min_plus, widest, semirings.max_times, semirings.min_max, semirings.plus_min, clipped]
SOME_MINDING = [*MINDING[:2], *(pytest.param(semiring, marks=pytest.mark.slow) for semiring in MINDING[2:])]


def some_rows(rng: np.random.Generator) -> csr_array:
    """Rows with no entry, few, and many, in any order, so that every way to reduce them follows every other."""
    lengths = rng.choice(
        [0, 1, 2, 3, 4, 5, 8, 9, 30, 150], 3000, p=[0.1, 0.15, 0.15, 0.1, 0.2, 0.1, 0.08, 0.05, 0.05, 0.02]
    )
    indptr = np.append(0, lengths.cumsum()).astype(np.int32)
    indices = rng.integers(0, 2000, indptr[-1], np.int32)
    return csr_array((rng.integers(-8, 9, len(indices)).astype(np.float32), indices, indptr), shape=(3000, 2000))


def expected(A: csr_array, x: Array, semiring: Semiring) -> Array:
    """By NumPy, row by row."""
    with np.errstate(all="ignore"):
        terms = semiring.multiply(A.data, x[A.indices])
    return np.array([semiring.monoid.reduce(terms[a:b]) for a, b in zip(A.indptr[:-1], A.indptr[1:])], terms.dtype)


@pytest.mark.parametrize("semiring", SOME_MINDING, ids=lambda s: s.name)
@pytest.mark.slow
def test_nan_passes_through_as_in_numpy(semiring: Semiring) -> None:
    """In the matrix, in the vector, and where infinities of both signs come to it: with a mask, and merged, too."""
    rng = np.random.default_rng(3)
    A, x = some_rows(rng), rng.integers(-8, 9, 2000).astype(np.float32)
    mask, old = rng.random(3000) < 0.5, rng.integers(-8, 9, 3000).astype(np.float32)
    for where_, value in (("x", np.nan), ("A", np.nan), ("x", np.inf), ("both", np.inf), ("none", 0)):
        B, z = A.copy(), x.copy()
        if where_ in ("A", "both"):
            B.data[rng.random(len(B.data)) < 0.002] = -value
        if where_ in ("x", "both"):
            z[rng.random(len(z)) < 0.002] = value
        y = expected(B, z, semiring)
        assert np.isnan(y).any() == (value != value) or where_ == "both"
        assert_array_equal(gasla.mxv(B, z, semiring), y)
        identity = semiring.monoid.identity(np.dtype(np.float32))
        assert_array_equal(gasla.mxv(B, z, semiring, mask=mask), np.where(mask, y, identity))
        with np.errstate(all="ignore"):
            merged = semiring.monoid(old, y)
        assert_array_equal(gasla.mxv(B, z, semiring, out=old.copy(), accum=semiring.monoid), merged)


@pytest.mark.parametrize("semiring", [semirings.argmin_plus, semirings.argmax_times], ids=lambda s: s.name)
@pytest.mark.slow
def test_nan_in_pairs(semiring: Semiring) -> None:
    """It comes first; among several NaN, and several of the best, the lowest index (for a maximum the highest)."""
    rng = np.random.default_rng(4)
    A, x = some_rows(rng), rng.integers(-3, 4, 2000).astype(np.float32)
    for share in (0.0, 0.002, 0.2):
        x[rng.random(2000) < share] = np.nan
        columns = A.indices.astype(np.int64)
        with np.errstate(all="ignore"):
            terms, _ = semiring.multiply(A.data, x[A.indices], 0, columns, 0)
        pairs = [
            semiring.monoid.reduce((terms[a:b], columns[a:b])) for a, b in zip(A.indptr[:-1], A.indptr[1:], strict=True)
        ]
        best, where_ = gasla.mxv(A, x, semiring)
        assert np.isnan(best).any() == (share > 0)
        assert_array_equal(best, np.array([p[0] for p in pairs], np.float32))
        assert_array_equal(where_, np.array([p[1] for p in pairs], np.int64))


def test_what_nan_does_not_reach_stays_the_same_bits() -> None:
    """Also the signs of zeros, whose minimum may be either."""
    rng = np.random.default_rng(5)
    A = some_rows(rng)
    A.data[:] = rng.choice(np.array([0.0, -0.0], np.float32), len(A.data))
    x = rng.choice(np.array([0.0, -0.0], np.float32), 2000)
    z = x.copy()
    z[77] = np.nan
    is_far = np.array([77 not in A.indices[a:b] for a, b in zip(A.indptr[:-1], A.indptr[1:])])
    assert 0 < is_far.sum() < len(is_far)
    for semiring in (semirings.min_max, semirings.max_min):
        y, with_nan = gasla.mxv(A, x, semiring), gasla.mxv(A, z, semiring)
        assert_array_equal(np.signbit(y)[is_far], np.signbit(with_nan)[is_far])
        assert np.isnan(with_nan[~is_far]).all() == np.isnan(expected(A, z, semiring)[~is_far]).all()


# --- the ways of a row -----------------------------------------------------------------------------------------------

FUNCTIONS = [
    Semiring(semirings.plus, lambda x, y: x // 3 + y, name="plus_thirds"),
    Semiring(semirings.max, lambda x, y: x // 3 + y, name="max_thirds"),
    Semiring(semirings.lor, lambda x, y: x // 3 == y // 3, name="alike"),
    Semiring(semirings.first, lambda x, y: x // 3 + y, name="first_third"),
]


@pytest.mark.parametrize("semiring", FUNCTIONS, ids=lambda s: s.name)
@pytest.mark.parametrize("dtype", [np.int8, np.int32])
def test_what_vectors_have_no_operation_for(semiring: Semiring, dtype: Any) -> None:
    rng = np.random.default_rng(7)
    A, x = some_rows(rng), rng.integers(-99, 99, 2000).astype(dtype)
    A = csr_array((A.data.astype(dtype), A.indices, A.indptr), shape=A.shape)
    traced = gasla.program.terms.trace(semiring, False, np.dtype(dtype), np.dtype(dtype), None)
    assert plans.four_of(traced) is None
    assert_array_equal(gasla.mxv(A, x, semiring), expected(A, x, semiring))


def test_order_is_kept() -> None:
    """One function after another, x -> a x + b, whose numbers wrap."""
    composed = Monoid(lambda f, g: (f[0] * g[0], f[0] * g[1] + f[1]), (1, 0), name="composed", commutative=False)
    semiring = Semiring(composed, lambda x, y: (x, y), name="composed_pair")
    rng = np.random.default_rng(11)
    A, x = some_rows(rng), rng.integers(-99, 99, 2000)
    A = csr_array((A.data.astype(np.int64), A.indices, A.indptr), shape=A.shape)
    found = gasla.mxv(A, x, semiring)
    pairs = (A.data, x[A.indices])
    for i, (a, b) in enumerate(zip(A.indptr[:-1], A.indptr[1:])):
        assert (found[0][i], found[1][i]) == composed.reduce(tuple(p[a:b] for p in pairs)), i


AT_THE_END = """
import ctypes, itertools, mmap
import numpy as np
from scipy.sparse import csr_array
import gasla, semirings

page, libc = mmap.PAGESIZE, ctypes.CDLL(None, use_errno=True)
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

def before_a_wall(values):
    room = mmap.mmap(-1, 2 * page)
    held = np.frombuffer(room, np.uint8)
    assert libc.mprotect(held.ctypes.data + page, page, 0) == 0
    array = held[page - values.nbytes : page].view(values.dtype)
    array[:] = values
    return array

rng = np.random.default_rng(1)
for lengths in [*itertools.product(range(7), repeat=2), (40,), (40, 3), (3, 0, 70, 0)]:
    indptr = np.append(0, np.cumsum(lengths)).astype(np.int32)
    indices = before_a_wall(rng.integers(0, 9, indptr[-1], np.int32)) if indptr[-1] else np.empty(0, np.int32)
    data = before_a_wall(rng.random(len(indices), np.float32)) if indptr[-1] else np.empty(0, np.float32)
    A = csr_array((data, indices, indptr), shape=(len(lengths), 9))
    x = before_a_wall(rng.random(9, np.float32))
    A.data, A.indices = data, indices  # SciPy copies what is a small part of its memory
    for semiring in (semirings.plus_times, semirings.min_plus, semirings.min_secondi, semirings.argmin_plus):
        gasla.mxv(A, x, semiring)
    terms = [data[a:b] * x[indices[a:b]] for a, b in zip(indptr[:-1], indptr[1:])]
    assert np.allclose(gasla.mxv(A, x), [t.sum() for t in terms])
print("none beyond")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the wall is Linux's")
def test_no_array_is_read_beyond_its_end() -> None:
    """What follows the last entry can't be read: who tries is killed."""
    found = subprocess.run([sys.executable, "-c", AT_THE_END], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, "none beyond\n"), found.stderr
