"""Hubs and authorities, by mutual reinforcement and by random walks, against NetworkX and dense products."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

import gasla
from gasla import datasets, verify
from gasla.arrays import moved
from gasla.graph.graph import Graph
from tests.algorithms.test_basics import matrices

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]
Array = NDArray[Any]


def on(device: str, A: Any) -> Graph:
    return gasla.Graph(A).to(device)  # type: ignore[arg-type]


def stationary(A: Array) -> tuple[Array, Array]:
    """SALSA's scores by powers of dense matrices."""
    out, into = A.sum(axis=1), A.sum(axis=0)
    leave = np.divide(A, out[:, None], out=np.zeros_like(A), where=out[:, None] > 0)
    back = np.divide(A, into, out=np.zeros_like(A), where=into > 0)
    hub = (out > 0) / max((out > 0).sum(), 1)
    for _ in range(3000):
        authority = leave.T @ hub
        hub = back @ authority
    return hub, leave.T @ hub


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("weighted", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_hits_of_a_real_graph(device: str, weighted: bool) -> None:
    A = datasets.with_weights(datasets.rmat(7), largest=9).astype(np.float64)
    found = gasla.hits(on(device, A), tol=1e-10, max_iter=1000, weighted=weighted)
    assert found.converged
    theirs = nx.hits(nx.from_scipy_sparse_array(A if weighted else A != 0, create_using=nx.DiGraph))
    for mine, scores in zip((found.hubs, found.authorities), theirs, strict=True):
        np.testing.assert_allclose(moved(mine, "cpu"), [scores[v] for v in range(A.shape[0])], atol=1e-7)
    verify.hits(A, moved(found.hubs, "cpu"), moved(found.authorities, "cpu"), weighted=weighted, tol=1e-10)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("weighted", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_salsa_of_a_directed_graph(device: str, weighted: bool) -> None:
    rng = np.random.default_rng(5)
    A = rng.integers(1, 9, (40, 40)) * (rng.random((40, 40)) < 0.08).astype(float)
    A[30:] = A[:, 35:] = 0
    found = gasla.salsa(on(device, csr_array(A)), tol=1e-13, max_iter=9000, weighted=weighted)
    assert found.converged
    hub, authority = stationary(A if weighted else (A != 0).astype(float))
    np.testing.assert_allclose(moved(found.hubs, "cpu"), hub, atol=1e-9)
    np.testing.assert_allclose(moved(found.authorities, "cpu"), authority, atol=1e-9)


@pytest.mark.slow
def test_an_authority_has_its_part_of_the_in_edges() -> None:
    """Of a graph of one part the limit is known."""
    graph = gasla.Graph(
        datasets.grid(6) + csr_array(([1.0], ([0], [0])), shape=(64, 64))
    )  # a loop: it is not bipartite
    found = gasla.salsa(graph, weighted=False, tol=1e-12, max_iter=9000)
    np.testing.assert_allclose(found.authorities, graph.in_degrees / graph.m, atol=1e-9)


@pytest.mark.thorough
@settings(max_examples=20)
@given(A=matrices(), weighted=st.booleans())
def test_scores_of_random_matrices_converge(A: csr_array, weighted: bool) -> None:
    A = abs(A)
    for function, check in ((gasla.hits, verify.hits), (gasla.salsa, verify.salsa)):
        found = function(A, tol=1e-9, max_iter=20_000, weighted=weighted, dtype=np.float64)
        assert found.converged
        check(Graph(A), found.hubs, found.authorities, weighted=weighted, tol=1e-9)
        for scores in (found.hubs, found.authorities):
            assert np.isclose(scores.sum(), 1) or not scores.any()


SHAPES = {
    "empty": Graph.from_edges([], [], n=0),
    "one vertex": Graph.from_edges([], [], n=1),
    "a loop": Graph.from_edges([0], [0], n=1),
    "no edges": Graph.from_edges([], [], n=5),
    "parallel edges": Graph.from_edges([0, 0, 1], [1, 1, 2], n=3),
    "a star": Graph.from_edges(np.zeros(1000, int), np.arange(1, 1001), n=1001),
    "in parts": Graph.from_edges([0, 0, 2, 4], [1, 3, 3, 5], n=7),
}


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", SHAPES)
def test_hard_shapes_give_right_answers(name: str, device: str) -> None:
    graph = SHAPES[name]
    for function, check in ((gasla.hits, verify.hits), (gasla.salsa, verify.salsa)):
        found = function(graph.to(device), max_iter=1000)  # type: ignore[arg-type]
        assert found.converged
        check(graph, moved(found.hubs, "cpu"), moved(found.authorities, "cpu"))


@pytest.mark.slow
def test_starts_and_scales() -> None:
    A = datasets.rmat(6)
    start = np.random.default_rng(1).random(A.shape[0])
    a, b = gasla.hits(A, nstart=start, max_iter=500), gasla.hits(A, nstart=dict(enumerate(start)), max_iter=500)
    np.testing.assert_array_equal(a.hubs, b.hubs)
    largest = gasla.hits(A, normalized=False, max_iter=500)
    assert largest.hubs.max() == largest.authorities.max() == 1
    assert gasla.hits(A, dtype=np.float32, tol=1e-4).hubs.dtype == np.float32
    assert gasla.hits(A, tol=0, max_iter=3).iterations == 3


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda A: gasla.hits(A, tol=-1), ValueError, "tol is -1"),
        (lambda A: gasla.salsa(A, tol=np.nan), ValueError, "tol is nan"),
        (lambda A: gasla.hits(A, max_iter=-1), ValueError, "max_iter is -1"),
        (lambda A: gasla.hits(A, dtype=int), ValueError, "expected float32 or float64"),
        (lambda A: gasla.hits(A, nstart=[1, 2]), ValueError, r"nstart has shape \(2,\)"),
        (lambda A: gasla.hits(A, nstart={99999: 1}), ValueError, "nstart: vertex 99999 is outside"),
        (lambda A: gasla.hits(A * -1), ValueError, "the weight of edge 0 is"),
        (lambda A: gasla.salsa(A * np.nan), ValueError, "the weight of edge 0 is nan"),
        (lambda A: gasla.salsa(A * 0 + (A != 0) * 1e308), ValueError, "sum to infinity"),
    ],
)
def test_impossible_input_is_refused(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call(datasets.rmat(6).astype(np.float64))


@pytest.mark.slow
def test_no_end_is_said() -> None:
    for function in (gasla.hits, gasla.salsa):
        with pytest.warns(gasla.ConvergenceWarning, match="hub scores still changed by"):
            assert not function(datasets.rmat(6), max_iter=1, tol=1e-12).converged


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["hits", "salsa"])
def test_the_verifier_rejects_wrong_answers(name: str) -> None:
    A = datasets.rmat(6)
    found, check = getattr(gasla, name)(A, max_iter=500), getattr(verify, name)
    for hubs, authorities, words in (
        (found.hubs[::-1], found.authorities, "one more step moves"),
        (found.hubs, found.authorities[::-1], "one more step moves"),
        (-found.hubs, found.authorities, "negative score"),
        (found.hubs * np.nan, found.authorities, "has the score nan"),
        (found.hubs[1:], found.authorities, "one per vertex"),
    ):
        with pytest.raises(verify.VerificationError, match=words):
            check(A, hubs, authorities)
