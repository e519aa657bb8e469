"""Katz and eigenvector centrality: beside NetworkX and NumPy, on hard shapes, and where nothing settles."""

import warnings
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array

import gasla
from gasla import datasets, verify
from gasla.cli.compute import on_host
from gasla.verify import VerificationError

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]


def drawn(n: int, m: int, seed: int) -> coo_array:
    """Edges by lot, some of them parallel or loops, of whole-number weights."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, n, (2, m)).astype(np.int32)
    return coo_array((rng.integers(1, 6, m).astype(np.float32), tuple(ends)), shape=(n, n))


def star(leaves: int) -> csr_array:
    hub = np.zeros(leaves, np.int32)
    ids = np.arange(1, leaves + 1, dtype=np.int32)
    return csr_array((np.ones(2 * leaves, np.float32), (np.r_[hub, ids], np.r_[ids, hub])), shape=(leaves + 1,) * 2)


SHAPES: dict[str, Callable[[], Any]] = {
    "directed": lambda: drawn(40, 160, 1),
    "with parts": lambda: drawn(60, 90, 2),
    "star": lambda: star(20),
    "rmat": lambda: datasets.with_weights(datasets.rmat(7), largest=9),
    "grid": lambda: datasets.with_weights(datasets.grid(6), largest=9),
    "one vertex": lambda: csr_array((1, 1), dtype=np.float32),
    "no edges": lambda: csr_array((5, 5), dtype=np.float32),
    "a loop": lambda: csr_array(np.array([[3.0, 0], [1, 0]], np.float32)),
}


def summed(matrix: Any, weighted: bool) -> csr_array:
    """Parallel edges added up."""
    entries = coo_array(matrix, dtype=np.float64)
    data = entries.data if weighted else np.ones(entries.nnz)
    return csr_array(coo_array((data, entries.coords), shape=entries.shape))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_katz_converges_on_hard_shapes(shape: str, weighted: bool, device: Any) -> None:
    matrix = SHAPES[shape]()
    plain = summed(matrix, weighted)
    alpha = 0.8 / max(float(abs(np.linalg.eigvals(plain.toarray())).max()), 1)
    graph = gasla.Graph(matrix).to(device)
    found = on_host(gasla.katz_centrality(graph, alpha=alpha, weighted=weighted, dtype=np.float64))
    assert found.converged and found.residual < 1e-6
    verify.katz(matrix, found.scores, alpha=alpha, weighted=weighted)
    right = np.linalg.solve(np.eye(plain.shape[0]) - alpha * plain.T.toarray(), np.ones(plain.shape[0]))
    np.testing.assert_allclose(found.scores, right / np.linalg.norm(right), rtol=1e-4)
    theirs = nx.katz_centrality(nx.from_scipy_sparse_array(plain, create_using=nx.DiGraph), alpha, weight="weight")
    np.testing.assert_allclose(found.scores, list(theirs.values()), rtol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_eigenvectors_converge_on_hard_shapes(shape: str, weighted: bool, device: Any) -> None:
    matrix = SHAPES[shape]()
    plain = summed(matrix, weighted)
    graph = gasla.Graph(matrix).to(device)
    options: dict[str, Any] = {"weighted": weighted, "tol": 1e-9, "max_iter": 10_000}
    found = on_host(gasla.eigenvector_centrality(graph, dtype=np.float64, **options))
    assert found.converged
    verify.eigenvector(matrix, found.scores, tol=1e-9, weighted=weighted)
    theirs = nx.eigenvector_centrality(
        nx.from_scipy_sparse_array(plain, create_using=nx.DiGraph), 10_000, tol=1e-9, weight="weight"
    )
    np.testing.assert_allclose(found.scores, list(theirs.values()), atol=1e-5)


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
def test_what_vertices_are_worth_and_where_scores_start(device: Any) -> None:
    matrix = SHAPES["directed"]()
    graph, n = gasla.Graph(matrix).to(device), matrix.shape[0]
    worth = np.random.default_rng(1).random(n)
    dense = summed(matrix, False).T.toarray()
    right = np.linalg.solve(np.eye(n) - 0.05 * dense, worth)
    for nstart in (None, np.arange(n), {3: 1.0}):
        found = on_host(gasla.katz_centrality(graph, alpha=0.05, beta=worth, nstart=nstart, tol=1e-9, normalized=False))
        np.testing.assert_allclose(found.scores, right, rtol=1e-6)
    verify.katz(matrix, found.scores, alpha=0.05, beta=worth, normalized=False, tol=1e-9)
    some = on_host(gasla.katz_centrality(graph, alpha=0.05, beta={3: 2.0}, tol=1e-9, normalized=False)).scores
    np.testing.assert_allclose(some, np.linalg.solve(np.eye(n) - 0.05 * dense, 2.0 * (np.arange(n) == 3)), atol=1e-7)
    verify.katz(matrix, some, alpha=0.05, beta={3: 2.0}, normalized=False, tol=1e-9)
    even = on_host(gasla.eigenvector_centrality(graph, tol=1e-9, max_iter=10_000)).scores
    for start in (np.arange(1, n + 1), {v: 1.0 + v % 3 for v in range(n)}, np.full(n, 1e200)):
        again = on_host(gasla.eigenvector_centrality(graph, nstart=start, tol=1e-9, max_iter=10_000)).scores
        np.testing.assert_allclose(again, even, atol=1e-5)


@pytest.mark.thorough
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=20))
@settings(deadline=None)
def test_any_small_graph_gives_a_right_answer(edges: list[tuple[int, int]]) -> None:
    src, dst = np.array(edges or np.empty((0, 2)), int).T
    graph = gasla.Graph.from_edges(src, dst, n=7)
    verify.katz(graph, gasla.katz_centrality(graph, alpha=1 / 21, tol=1e-9).scores, alpha=1 / 21, tol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without cycles, scores move towards the ends of paths ever more slowly
        found = gasla.eigenvector_centrality(graph, max_iter=3000)
    if found.converged:
        verify.eigenvector(graph, found.scores)


def test_what_does_not_settle_is_told() -> None:
    grid = datasets.grid(6)
    with pytest.warns(gasla.ConvergenceWarning, match=r"alpha is 2, expected less than 1 / \(largest eigen"):
        found = gasla.katz_centrality(grid, alpha=2.0)
    assert not found.converged and found.iterations < 1000
    with pytest.warns(
        gasla.ConvergenceWarning, match="mean change of a score was still .* after 3 iterations; raise max_iter or tol"
    ):
        assert not gasla.katz_centrality(grid, alpha=0.24, max_iter=3).converged
    with pytest.warns(gasla.ConvergenceWarning, match="mean change of a score was still .* after 2 iterations"):
        assert not gasla.eigenvector_centrality(grid, max_iter=2).converged
    with pytest.warns(gasla.ConvergenceWarning):
        assert gasla.eigenvector_centrality(grid, max_iter=0).iterations == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gasla.katz_centrality(grid, tol=0, max_iter=7).iterations == 7
        assert gasla.eigenvector_centrality(grid, tol=0, max_iter=7).iterations == 7


@pytest.mark.slow  # types of their own are compiled
def test_small_weights_tell_as_much_as_large_ones() -> None:
    matrix = csr_array(np.array([[0, 3, 1], [3, 0, 1], [1, 1, 0]]) * 1e-150)
    found = gasla.eigenvector_centrality(matrix, weighted=True, tol=1e-12, max_iter=1000).scores
    right = abs(np.linalg.eigh(matrix.toarray() * 1e150)[1][:, -1])
    np.testing.assert_allclose(found, right, rtol=1e-6)
    with pytest.raises(ValueError, match="scores overflow in float64: the weights are too large"):
        gasla.eigenvector_centrality(matrix * 1e300 * 1e150, weighted=True)


@pytest.mark.parametrize(("kind", "size"), [(np.float32, 1e20), (np.float32, -1e300), (np.float64, 1e160)])
def test_a_start_that_is_too_large_is_named(kind: Any, size: float) -> None:
    """And not alpha, with which scores converge from any other start."""
    pair = csr_array(np.array([[0.0, 1], [1, 0]]))
    with pytest.raises(ValueError, match=r"nstart of vertex 1 is 1e\+\d+ in size; expected at most 1\.\d+e\+"):
        gasla.katz_centrality(pair, alpha=0.1, nstart={1: size}, dtype=kind)
    found = gasla.katz_centrality(pair, alpha=0.1, nstart={1: 1e18}, dtype=kind, normalized=False)
    assert found.converged and np.allclose(found.scores, 1 / 0.9)


@pytest.mark.parametrize("function", [gasla.katz_centrality, gasla.eigenvector_centrality])
def test_bad_input_is_refused(function: Any) -> None:
    pair = csr_array(np.array([[0.0, 1], [1, 0]]))
    for options, words in (
        ({"tol": -1}, "tol is -1; expected a number, 0 or more"),
        ({"tol": np.nan}, "tol is nan"),
        ({"max_iter": -1}, "max_iter is -1"),
        ({"dtype": np.int32}, "dtype is int32; expected float32 or float64"),
        ({"nstart": [1, 2, 3]}, r"nstart has shape \(3,\); expected \(2,\)"),
        ({"nstart": {5: 1}}, "nstart: vertex 5 is outside a graph of 2 vertices"),
        ({"nstart": [1, np.nan]}, "nstart of vertex 1 is nan; expected a finite number"),
    ):
        with pytest.raises(ValueError, match=words):
            function(pair, **options)
    for bad in (np.nan, -1.0, np.inf):
        with pytest.raises(ValueError, match=f"weight of edge 1 is {bad}"):
            function(csr_array(np.array([[0.0, 1], [bad, 0]])), weighted=True)
    empty = function(csr_array((0, 0)))
    assert empty.scores.shape == (0,) and empty.converged


def test_bad_numbers_are_refused() -> None:
    pair = csr_array(np.array([[0.0, 1], [1, 0]]))
    for alpha in (-0.1, np.nan, np.inf):
        with pytest.raises(ValueError, match=f"alpha is {alpha}"):
            gasla.katz_centrality(pair, alpha=alpha)
    for beta, words in ((0, "beta is 0 everywhere"), ({}, "beta is 0 everywhere"), (np.inf, "beta is inf; expected")):
        with pytest.raises(ValueError, match=words):
            gasla.katz_centrality(pair, beta=beta)
    for nstart, words in (([0, 0], "nstart is 0 everywhere"), ([-1, 1], "of vertex 0 is -1.0; expected .*, 0 or more")):
        with pytest.raises(ValueError, match=words):
            gasla.eigenvector_centrality(pair, nstart=nstart)


@pytest.mark.slow  # types of their own are compiled
def test_types_of_scores_and_arrays_that_stay() -> None:
    matrix = SHAPES["rmat"]()
    for function in (gasla.katz_centrality, gasla.eigenvector_centrality):
        options: dict[str, Any] = {"alpha": 1e-4} if function is gasla.katz_centrality else {}
        assert function(matrix, **options).scores.dtype == np.float64
        single = function(matrix, weighted=True, **options).scores
        assert single.dtype == np.float32
        double = function(matrix, weighted=True, dtype=np.float64, **options).scores
        np.testing.assert_allclose(single, double, atol=1e-4)
    start = np.ones(matrix.shape[0])
    gasla.katz_centrality(matrix, alpha=1e-4, nstart=start, beta=start)
    gasla.eigenvector_centrality(matrix, nstart=start)
    np.testing.assert_array_equal(start, 1)
    wide = gasla.Graph.from_csr(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data)
    np.testing.assert_allclose(
        gasla.eigenvector_centrality(wide).scores, gasla.eigenvector_centrality(matrix).scores, rtol=1e-9
    )


def test_the_verifier_rejects_wrong_scores() -> None:
    matrix = SHAPES["rmat"]()
    for function, check, options in (
        (gasla.katz_centrality, verify.katz, {"alpha": 0.002}),
        (gasla.eigenvector_centrality, verify.eigenvector, {}),
    ):
        right = function(matrix, **options).scores
        check(matrix, right, **options)
        moved = right.copy()
        moved[[1, 2]] = moved[[2, 1]] + [0.01, 0]
        for wrong in (moved, moved / np.linalg.norm(moved), right * 2, right[1:], np.full_like(right, np.nan)):
            with pytest.raises(VerificationError):
                check(matrix, wrong, **options)
