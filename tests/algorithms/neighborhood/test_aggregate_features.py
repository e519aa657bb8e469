"""Aggregated features beside SciPy's product and NumPy's ufuncs, on hard shapes and types; and what is refused."""

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array

import gasla
from gasla import datasets, verify
from gasla.arrays import moved
from gasla.verify import VerificationError

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]
REDUCTIONS = ["sum", "mean", "max", "min"]
USUAL = [  # a kernel each
    pytest.param(reduce, weighted, marks=pytest.mark.slow if (reduce, weighted) == ("min", False) else [])
    for reduce in REDUCTIONS
    for weighted in (True, False)
]


def multigraph(n: int, m: int) -> coo_array:
    """Loops, parallel edges, vertices without edges, stored zeros."""
    rng = np.random.default_rng(n)
    return coo_array((rng.integers(0, 5, m).astype(np.float32), rng.integers(0, n - 3, (2, m))), shape=(n, n))


SHAPES: dict[str, Callable[[], Any]] = {
    "multigraph": lambda: multigraph(50, 200),
    "one vertex": lambda: csr_array((1, 1), dtype=np.float32),
    "loop": lambda: csr_array(np.array([[2.0]], np.float32)),
    "no vertices": lambda: csr_array((0, 0), dtype=np.float32),
    "no edges": lambda: csr_array((5, 5), dtype=np.float32),
    "star": lambda: coo_array((np.ones(99, np.float32), (np.arange(1, 100), np.zeros(99, int))), shape=(100, 100)),
    "star outwards": lambda: coo_array(
        (np.ones(99, np.float32), (np.zeros(99, int), np.arange(1, 100))), shape=(100, 100)
    ),
    "path": lambda: csr_array(np.eye(40, k=1, dtype=np.float32)),
    "rmat": lambda: datasets.with_weights(datasets.rmat(8), largest=9),
    "grid": lambda: datasets.with_weights(datasets.grid(8), largest=9),
}


def drawn(n: int, k: int, kind: Any = np.float32) -> np.ndarray:
    values = np.random.default_rng(k).integers(-8, 9, (n, k))
    return (abs(values) if np.dtype(kind).kind in "bu" else values).astype(kind)


def aggregated(matrix: Any, features: Any, *arguments: Any, device: Any = "cpu", **options: Any) -> Any:
    graph = gasla.Graph(matrix).to(device)
    return moved(gasla.aggregate_features(graph, moved(features, device), *arguments, **options), "cpu")


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("reduce", "weighted"), USUAL)
@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_gives_a_right_answer(shape: str, reduce: Any, weighted: bool, device: Any) -> None:
    matrix = SHAPES[shape]()
    features = drawn(matrix.shape[0], 5)
    before = features.copy()
    found = aggregated(matrix, features, reduce, weighted=weighted, device=device)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, edge_by_edge(matrix, features, reduce, weighted))
    verify.aggregate_features(matrix, features, found, reduce, weighted=weighted, samples=len(found))
    np.testing.assert_array_equal(features, before)


def edge_by_edge(matrix: Any, features: np.ndarray, reduce: str, weighted: bool) -> np.ndarray:
    """The same in float64, exact for small whole numbers but for a mean's division."""
    entries = coo_array(matrix)
    src, dst = entries.coords
    weight = entries.data.astype(np.float64) if weighted else np.ones(entries.nnz)
    come = features[src].astype(np.float64) * weight[:, np.newaxis]
    n = matrix.shape[0]
    if reduce in ("sum", "mean"):
        right, total = np.zeros(features.shape), np.bincount(dst, weight, n)[:, np.newaxis]
        np.add.at(right, dst, come)
        return (right if reduce == "sum" else right.astype(np.float32) / np.where(total == 0, 1, total)).astype("f4")
    right = np.full(features.shape, -np.inf if reduce == "max" else np.inf)
    (np.maximum if reduce == "max" else np.minimum).at(right, dst, come)
    return np.where(np.isinf(right), 0, right).astype(np.float32)


@pytest.mark.thorough
@pytest.mark.parametrize("k", [1, 3, 8, 9, 64, 100])
def test_any_number_of_features_is_aggregated(k: int) -> None:
    matrix = SHAPES["rmat"]().astype(np.float32)
    features = np.random.default_rng(k).random((matrix.shape[0], k), np.float32)
    np.testing.assert_allclose(gasla.aggregate_features(matrix, features), matrix.T @ features, rtol=1e-5)
    alone = gasla.aggregate_features(matrix, features[:, 0], "mean")
    assert alone.shape == (matrix.shape[0],)
    verify.aggregate_features(matrix, features[:, 0], alone, "mean", samples=len(alone))


TYPES = {
    ("sum", False): {"f2": "f4", "f4": "f4", "f8": "f8", "i1": "i8", "i4": "i8", "u1": "u8", "?": "i8"},
    ("mean", False): {"f2": "f4", "f8": "f8", "i4": "f8", "?": "f8"},
    ("max", False): {"f2": "f4", "f8": "f8", "i1": "i1", "u1": "u1", "?": "?"},
    ("min", True): {"f2": "f4", "f8": "f8", "i4": "f8"},
}
CASES = [(*call, given, wanted) for call, types in TYPES.items() for given, wanted in types.items()]
SLOW, OTHER = ("u1", "i4", "?"), [("max", "f8"), ("min", "f8")]


@pytest.mark.parametrize(
    ("reduce", "weighted", "kind", "expected"),
    [pytest.param(*case, marks=pytest.mark.slow if case[2] in SLOW or case[::2] in OTHER else []) for case in CASES],
)
@pytest.mark.slow
def test_sums_have_the_documented_types(reduce: Any, weighted: bool, kind: str, expected: str) -> None:
    matrix = SHAPES["multigraph"]()
    features = drawn(50, 3, kind)
    found = gasla.aggregate_features(matrix, features, reduce, weighted=weighted)
    assert found.dtype == np.dtype(expected)
    verify.aggregate_features(matrix, features, found, reduce, weighted=weighted, samples=len(found))


def test_sums_of_small_types_do_not_overflow() -> None:
    star = SHAPES["star"]()
    features = np.full((100, 2), 100, np.int8)
    assert gasla.aggregate_features(star, features, weighted=False)[0].tolist() == [9900, 9900]
    halves = np.full((100, 2), 60000, np.float16)
    assert gasla.aggregate_features(star, halves)[0].tolist() == [99 * 60000, 99 * 60000]


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30), st.sampled_from(REDUCTIONS))
def test_any_small_graph_gives_a_right_answer(pairs: list[tuple[int, int]], reduce: Any) -> None:
    src, dst = np.array(pairs or np.empty((0, 2)), int).reshape(-1, 2).T
    weights = (np.arange(len(src)) % 4).astype(np.float32)
    matrix, features = coo_array((weights, (src, dst)), shape=(7, 7)), drawn(7, 2)
    found = gasla.aggregate_features(gasla.Graph.from_edges(src, dst, weights, n=7), features, reduce)
    np.testing.assert_array_equal(found, edge_by_edge(matrix, features, reduce, weighted=True))


def test_the_mean_is_networkxs() -> None:
    matrix = datasets.with_weights(datasets.rmat(6), largest=9)
    theirs = nx.from_scipy_sparse_array(csr_array(matrix))
    degrees = np.diff(matrix.indptr).astype(np.float64)[:, np.newaxis]
    for weighted in (True, False):
        expected = nx.average_neighbor_degree(theirs, weight="weight" if weighted else None)
        found = gasla.aggregate_features(matrix, degrees, "mean", weighted=weighted)
        np.testing.assert_allclose(found[:, 0], [expected[v] for v in range(len(degrees))], rtol=1e-12)


def test_rows_come_from_sources_to_targets() -> None:
    graph = gasla.Graph.from_edges([0], [1], n=2)
    assert gasla.aggregate_features(graph, [[3.0], [5.0]]).tolist() == [[0], [3]]


@pytest.mark.parametrize("reduce", ["sum", "max"])
def test_nan_goes_on(reduce: Any) -> None:
    graph = gasla.Graph.from_edges([0, 1, 2], [2, 2, 3], np.ones(3, np.float32))
    found = gasla.aggregate_features(graph, np.array([[np.nan], [1], [2], [3]], np.float32), reduce)
    np.testing.assert_array_equal(np.isnan(found), [[False], [False], [True], [False]])


@pytest.mark.thorough
def test_layouts_and_ids() -> None:
    matrix = SHAPES["multigraph"]().tocsr()
    features = drawn(50, 6)
    right = gasla.aggregate_features(matrix, features)
    for other in (np.asfortranarray(features), np.repeat(features, 2, axis=1)[:, ::2], features.astype(">f4")):
        np.testing.assert_array_equal(gasla.aggregate_features(matrix, other), right)
    wide = gasla.Graph.from_csr(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data)
    np.testing.assert_array_equal(gasla.aggregate_features(wide, features), right)
    assert gasla.aggregate_features(matrix, features[:, :0]).shape == (50, 0)


def test_values_that_change_are_noticed() -> None:
    matrix, features = csr_array(np.eye(3, k=1, dtype=np.float32)), np.ones((3, 1), np.float32)
    graph = gasla.Graph(matrix)
    assert gasla.aggregate_features(graph, features).tolist() == [[0], [1], [1]]
    matrix.data[:] = 5
    assert gasla.aggregate_features(graph, features).tolist() == [[0], [5], [5]]


BAD: dict[str, tuple[Any, Any, type[Exception], str]] = {
    "rows": (np.ones((4, 2)), "sum", ValueError, r"features have shape \(4, 2\); expected \(3, k\)"),
    "transposed": (np.ones((2, 3)), "sum", ValueError, r"features have shape \(2, 3\)"),
    "three dimensions": (np.ones((3, 2, 2)), "sum", ValueError, r"features have shape \(3, 2, 2\)"),
    "a number": (1.0, "sum", ValueError, r"features have shape \(\)"),
    "complex": (np.ones((3, 2), complex), "sum", TypeError, "features have type complex128; expected"),
    "long double": (np.ones(3, np.longdouble), "sum", TypeError, "features have type"),
    "words": (np.array(["a", "b", "c"]), "sum", TypeError, "features have type <U1"),
    "objects": (np.array([1, 2, None]), "sum", TypeError, "features have type object"),
    "reduction": (np.ones(3), "median", ValueError, "reduce is 'median'; expected one of 'sum', 'mean', 'max', 'min'"),
}


@pytest.mark.parametrize("case", BAD)
def test_unsupported_input_is_refused(case: str) -> None:
    features, reduce, error, words = BAD[case]
    with pytest.raises(error, match=words):
        gasla.aggregate_features(csr_array(np.eye(3)), features, reduce)


def test_a_mean_takes_no_negative_weights() -> None:
    graph, features = gasla.Graph.from_edges([0, 1], [1, 2], np.float32([1, -1])), np.ones((3, 1), np.float32)
    with pytest.raises(ValueError, match=r"weight of edge 1 is -1.0; expected a finite number, 0 or more"):
        gasla.aggregate_features(graph, features, "mean")
    assert gasla.aggregate_features(graph, features)[:, 0].tolist() == [0, 1, -1]
    assert gasla.aggregate_features(graph, features, "mean", weighted=False)[:, 0].tolist() == [0, 1, 1]


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_the_verifier_rejects_wrong_answers(reduce: Any) -> None:
    matrix, features = SHAPES["rmat"](), drawn(256, 4)
    right = gasla.aggregate_features(matrix, features, reduce)
    busy = int(np.bincount(coo_array(matrix).col).argmax())
    spoiled = right.copy()
    spoiled[busy, 2] += 1
    for wrong in (right[:-1], right.T, right[::-1], spoiled, np.zeros_like(right)):
        with pytest.raises(VerificationError):
            verify.aggregate_features(matrix, features, wrong, reduce)
