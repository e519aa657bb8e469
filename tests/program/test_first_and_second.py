"""`first` and `second`, against Python's own first and last of a list: of every type, extreme values and NaN as well.

A monoid without an identity is reduced with a flag beside each value, in each engine.
"""

import functools
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import gasla
import semirings
from semirings import Monoid, Semiring, first, second

GPU = pytest.param("gpu", marks=pytest.mark.gpu)
KINDS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]
BOTH = pytest.mark.parametrize("monoid", [first, second], ids=["first", "second"])
# Without an identity, associative, and it minds the order: as `first` of all but the last bit, which is `second`'s.
ends = Monoid(lambda x, y: (x >> 1 << 1) | (y & 1), -1, name="ends", commutative=False, is_neutral=False)


def ends_of(values: list[Any], monoid: Monoid) -> Any:
    """The first or the last of a list."""
    return functools.reduce(lambda x, y: x if monoid is first else y, values)


def extremes(kind: np.dtype) -> list[Any]:
    """Values that might be taken for none."""
    if kind.kind == "b":
        return [False, True]
    if kind.kind == "f":
        return [np.nan, 0.0, -0.0, np.inf, -np.inf, 1.5]
    return [np.iinfo(kind).min, np.iinfo(kind).max, 0, 1, 5]


@st.composite
def rows(draw: Any) -> tuple[np.ndarray, np.ndarray]:
    """Keys below 4, and a value for each."""
    kind = np.dtype(draw(st.sampled_from(KINDS)))
    keys = draw(st.lists(st.integers(0, 3), max_size=20))
    values = draw(st.lists(st.sampled_from(extremes(kind)), min_size=len(keys), max_size=len(keys)))
    return np.array(keys, np.int64), np.array(values, kind)


def by_key(keys: np.ndarray, values: np.ndarray, monoid: Monoid, size: int) -> np.ndarray:
    """What the values of each key come to."""
    found = np.full(size, monoid.identity(values.dtype), values.dtype)
    lists = defaultdict(list)
    for key, value in zip(keys.tolist(), values, strict=True):
        lists[key].append(value)
    for key, some in lists.items():
        found[key] = ends_of(some, monoid)
    return found


def on(device: str, *arrays: np.ndarray) -> Any:
    if device == "gpu":
        import cupy

        arrays = tuple(map(cupy.asarray, arrays))
    return arrays if len(arrays) > 1 else arrays[0]


def host(x: Any) -> Any:
    return x.get() if hasattr(x, "get") else x


def same(found: Any, expected: Any) -> None:
    found = host(found)
    assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes(), (found, expected)


@BOTH
@pytest.mark.parametrize("device", ["cpu", GPU])
@settings(max_examples=40)
@given(data=rows())
def test_keys_are_reduced_in_the_order_of_the_input(device: str, monoid: Monoid, data: Any) -> None:
    keys, values = data
    expected = by_key(keys, values, monoid, 5)
    same(gasla.reduce_by_key(*on(device, keys, values), monoid, 5), expected)
    for part, whole in zip(gasla.reduce_by_key(on(device, keys), (on(device, values),) * 2, monoid, 5), [expected] * 2):
        same(part, whole)
    if len(values):
        same(monoid.reduce(values), np.asarray(ends_of(list(values), monoid)))


@BOTH
@pytest.mark.parametrize("device", ["cpu", GPU])
@settings(max_examples=40)
@given(data=rows(), seed=st.integers(0, 99))
def test_of_parallel_edges(device: str, monoid: Monoid, data: Any, seed: int) -> None:
    src, values = data
    dst = np.random.default_rng(seed).integers(0, 3, len(src))
    graph = gasla.Graph.from_edges(*on(device, src, dst, values), n=4)
    for made, pair, size in (
        (graph.simple(monoid, loops=True), src * 4 + dst, 16),
        (graph.symmetrized(monoid), np.minimum(src, dst) * 4 + np.maximum(src, dst), 16),
        (graph.contract(np.array([0, 1, 0, 1]) if device == "cpu" else on(device, np.array([0, 1, 0, 1])), monoid),
         src % 2 * 4 + dst % 2, 16),
    ):  # fmt: skip
        expected = by_key(pair, values, monoid, size)
        ends = [host(part).astype(np.int64) for part in made.edges()]
        at = ends[0] * 4 + ends[1]
        if made.m and len(set(pair.tolist())) < made.m:  # symmetrized: one value for both directions
            at = np.minimum(*ends) * 4 + np.maximum(*ends)
        same(made.values, expected[at])
    if monoid is first:
        same(graph.simple(loops=True).values, host(graph.simple(first, loops=True).values))


def program(kind: Any, monoid: Monoid, tuples: bool = False, vectors: int = 0) -> Any:
    """Each vertex takes the first, or last, of its in-neighbors' values."""
    of = (kind, (vectors,)) if vectors else kind

    class Takes(gasla.VertexProgram):
        everyone = True
        given = gasla.vertex(of)
        found = gasla.vertex(of)
        other = gasla.vertex(np.int64, init=-7)
        reduce = monoid

        def gather(self, src: Any, dst: Any, edge: Any) -> Any:
            return (src.given, src.id + 0) if tuples else src.given

        def apply(self, vertex: Any, gathered: Any) -> Any:
            return {"found": gathered[0], "other": gathered[1]} if tuples else {"found": gathered}

    return Takes()


def check_program(kind: Any, monoid: Monoid, device: str, compiled: bool, **options: Any) -> None:
    """Over lists of all lengths up to 70, with hubs, in the order of the input."""
    rng = np.random.default_rng(3)
    lengths = [*rng.permutation(20), 70, 700, 0]
    n = len(lengths)
    dst = rng.permutation(np.repeat(np.arange(n), lengths))
    src = rng.integers(0, n, len(dst))
    shape = (n, options["vectors"]) if options.get("vectors") else n
    given = rng.choice(np.array(extremes(np.dtype(kind)), kind), shape)
    graph = gasla.Graph.from_edges(src, dst, n=n).to(device)
    start = {"given": given, "found": np.zeros(shape, kind)}
    run = gasla.run(
        program(kind, monoid, **options), graph, max_iterations=1, compile=compiled,
        **{name: on(device, array) for name, array in start.items()},
    )  # fmt: skip
    nothing = np.full(given.shape[1:], monoid.identity(np.dtype(kind)), kind)
    chosen = [ends_of(list(src[dst == v]), monoid) if v in dst else None for v in range(n)]
    same(run.found, np.array([nothing if u is None else given[u] for u in chosen], kind))
    if options.get("tuples"):
        empty = monoid.identity(np.dtype(np.int32))  # the ids' type
        same(run.other, np.array([empty if u is None else u for u in chosen], np.int64))


@BOTH
@pytest.mark.parametrize("options", [{}, {"tuples": True}, {"vectors": 3}, {"vectors": 12}], ids=str)
def test_programs_by_numpy(monoid: Monoid, options: Any) -> None:
    for kind in KINDS:
        check_program(kind, monoid, "cpu", False, **options)


@pytest.mark.thorough
@BOTH
@pytest.mark.parametrize("device", ["cpu", GPU])
@pytest.mark.parametrize(
    ("kind", "options"),
    [("?", {}), ("i1", {}), ("f8", {"tuples": True}), ("f4", {"vectors": 3}), ("i4", {"vectors": 12})],
    ids=str,
)
def test_programs_compiled(device: str, monoid: Monoid, kind: str, options: Any) -> None:
    check_program(kind, monoid, device, True, **options)


@pytest.mark.thorough
@BOTH
@pytest.mark.parametrize("device", ["cpu", GPU])
@pytest.mark.parametrize("kind", ["i1", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("?", "f4"))])
def test_products_reduce_in_the_order_of_the_input(device: str, monoid: Monoid, kind: str) -> None:
    """Rows of all lengths, with a mask and an accumulator, of vectors and matrices."""
    rng = np.random.default_rng(5)
    lengths = [*rng.permutation(40), 900, 0]
    n = len(lengths)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = rng.integers(0, n, indptr[-1])
    values = rng.choice(np.array(extremes(np.dtype(kind)), kind), len(indices))
    matrix = gasla.Sparse((n, n), *on(device, indptr, indices, values))
    x = rng.choice(np.array(extremes(np.dtype(kind)), kind), (n, 3))
    of_x, of_entry = Semiring(monoid, semirings.binary.second), Semiring(monoid, semirings.binary.first)
    row = np.repeat(np.arange(n), lengths)
    expected = np.stack([by_key(row, x[indices, k], monoid, n) for k in range(3)], axis=1)
    same(gasla.mxv(matrix, on(device, x[:, 0].copy()), of_x), expected[:, 0])
    same(gasla.mxv(matrix, on(device, x), of_x), expected)
    same(gasla.mxv(matrix, on(device, x[:, 0].copy()), of_entry), by_key(row, values, monoid, n))
    ones = on(device, np.ones(n, bool))
    turned = gasla.vxm(ones, matrix, Semiring(monoid, semirings.binary.second))
    same(turned, by_key(indices, values, monoid, n))
    mask = rng.random(n) < 0.5
    out = np.full(n, extremes(np.dtype(kind))[-1], kind)
    merged = gasla.mxv(
        matrix, on(device, x[:, 0].copy()), of_x, mask=on(device, mask), accum=second, out=on(device, out.copy())
    )
    same(merged, np.where(mask & (np.array(lengths) > 0), expected[:, 0], out))
    if device == "cpu":
        host_matrix = csr_array((values, indices, indptr), shape=(n, n))
        product = gasla.mxm(matrix, matrix, of_x)
        i, j = np.repeat(np.arange(n), np.diff(product.indptr)), product.indices
        lists = defaultdict(list)
        for r in range(n):
            for k in host_matrix.indices[indptr[r] : indptr[r + 1]]:
                for e in range(indptr[k], indptr[k + 1]):
                    lists[r, indices[e]].append(values[e])
        same(product.data, np.array([ends_of(lists[p], monoid) for p in zip(i.tolist(), j.tolist())], kind))


@settings(max_examples=40)
@given(lists=st.lists(st.lists(st.integers(-9, 9), max_size=9), min_size=1, max_size=5))
def test_monoids_of_ones_own_need_no_identity(lists: list[list[int]]) -> None:
    keys = np.repeat(np.arange(len(lists)), list(map(len, lists)))
    values = np.array([value for each in lists for value in each], np.int64)
    expected = [functools.reduce(lambda x, y: (x >> 1 << 1) | (y & 1), each) if each else -1 for each in lists]
    assert gasla.reduce_by_key(keys, values, ends, len(lists)).tolist() == expected


@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(kind=st.sampled_from(KINDS))
def test_the_held_form_is_lawful(kind: str) -> None:
    for monoid in (first, second, semirings.product(second, semirings.plus)):
        of: Any = kind if monoid in (first, second) else (kind, "i4")
        assert semirings.check_laws(monoid, of)
        held = monoid.held_of(semirings.as_type(of))
        assert held is not None
        dtype = np.dtype(kind)
        nothing = held.monoid.identity(None)
        for value in extremes(dtype):
            x: Any = (dtype.type(value), np.int32(7)) if isinstance(of, tuple) else dtype.type(value)
            for found in (held.monoid(nothing, held.lift(x)), held.monoid(held.lift(x), nothing)):
                items = [v if isinstance(v, tuple) else (v,) for v in (held.lower(found), x)]
                assert str([np.asarray(part) for part in items[0]]) == str([np.asarray(part) for part in items[1]])
            assert not held.monoid(nothing, nothing)[-1]


def test_what_needs_an_identity_is_refused() -> None:
    some = Monoid(semirings.minimum, np.inf, name="some", is_neutral=False)

    class Counts(gasla.VertexProgram):
        x = gasla.vertex(np.float64, init=0)
        least = gasla.aggregate(some, np.float64)(lambda self, before, after: after.x)

        def apply(self, vertex: Any, gathered: Any) -> Any:
            return {"x": vertex.x + 1}

    graph = gasla.Graph.from_edges([0], [1])
    with pytest.raises(TypeError, match=r"Counts\.least reduces with .*, which has no identity"):
        gasla.run(Counts(), graph, active=[0], compile=False)

    class Keyed(gasla.VertexProgram):
        everyone = True
        x = gasla.vertex(np.int64, init=0)
        reduce = some

        def gather(self, src: Any, dst: Any, edge: Any) -> Any:
            return edge.id * 1.0

        def key(self, src: Any, dst: Any, edge: Any) -> Any:
            return src.id

        def choose(self, vertex: Any, key: Any, total: Any) -> Any:
            return total

        def apply(self, vertex: Any, gathered: Any) -> Any:
            return {"x": gathered.key}

    with pytest.raises(ValueError, match="reduces by key with some, which has no identity"):
        gasla.run(Keyed(), graph, max_iterations=1, compile=False)
