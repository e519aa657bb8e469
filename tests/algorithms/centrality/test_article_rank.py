"""ArticleRanks solve their linear system."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import ConvergenceWarning, Graph, verify
from gasla.arrays import moved
from tests.algorithms.community.test_edge_support import DEVICES, HARD, on
from tests.helpers.law import ALL_SPLIT, NO_EDGE, SHARED, Answer, Array, Asked, Row, only
from tests.helpers.mutants import ALL, Question, Questions, Small
from tests.helpers.mutants import Asked as Questioned

SETTLES: dict[str, Any] = {"tol": 1e-13, "max_iter": 400}


def ranked(weighted: bool) -> Any:
    def call(q: Asked) -> Answer:
        found = gasla.article_rank(q.given, weighted=weighted, **SETTLES)
        q.check(verify.article_rank, found.ranks, weighted=weighted)
        return {"ranks": q.at_vertices(found.ranks)}

    return call


LOWER = only("the mean degree is lower: verified")
LAWS = [
    Row("article_rank", ranked(True), weights=True, ranks=True, split=SHARED, zeros=NO_EDGE, isolated=LOWER),
    Row("article_rank", ranked(False), "weighted=False", ranks=True, split=ALL_SPLIT, isolated=LOWER),
]


def solved(matrix: Array, alpha: float = 0.85) -> Array:
    """The ranks by the definition, from the matrix of weights."""
    degree = matrix.sum(axis=1)
    divisor = degree + degree.mean()
    passed = alpha * matrix.T / np.where(divisor > 0, divisor, 1)
    return np.asarray(np.linalg.solve(np.eye(len(matrix)) - passed, np.full(len(matrix), 1 - alpha)))


def ranks(g: Small) -> Questioned:
    """The questions to the verifier."""
    for weighted in (True, False):
        right = solved(g.dense if weighted else g.counts)
        check = lambda ranks, w=weighted: verify.article_rank(g.matrix, ranks, weighted=w, tol=1e-9)
        yield Question(check, {"ranks": right})


QUESTIONS: Questions = {"article_rank": (ranks, ALL)}


def check(graph: Graph, device: Any = "cpu", alpha: float = 0.85, weighted: bool = True) -> None:
    src, dst = graph.edges()
    matrix = np.zeros((graph.n, graph.n))
    np.add.at(matrix, (src, dst), graph.values if weighted and graph.values is not None else np.ones(graph.m))
    found = gasla.article_rank(graph.to(device), alpha=alpha, weighted=weighted, **SETTLES)
    assert found.converged and found.ranks.dtype == np.float64
    np.testing.assert_allclose(moved(found.ranks, "cpu"), solved(matrix, alpha), rtol=1e-9)
    verify.article_rank(graph, moved(found.ranks, "cpu"), alpha=alpha, weighted=weighted)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [shape for shape in HARD if shape != "no vertex"])
def test_hard_shapes(device: Any, shape: str) -> None:
    check(on("cpu", HARD[shape]), device)


def test_a_graph_without_vertices_has_no_ranks() -> None:
    found = gasla.article_rank(Graph.from_edges([], [], n=0))
    assert found.ranks.shape == (0,) and found.converged


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 12), st.integers(0, 40), st.integers(0, 10**6), st.sampled_from([0.0, 0.5, 0.85]), st.booleans())
def test_random_graphs(n: int, m: int, seed: int, alpha: float, weighted: bool) -> None:
    """With loops, parallel edges, edges of weight 0 and vertices without edges."""
    random = np.random.default_rng(seed)
    weights = random.integers(0, 4, m).astype(float)
    check(Graph.from_edges(*random.integers(0, n, (2, m)), weights, n=n), "cpu", alpha, weighted)


@pytest.mark.parametrize("power", [-1000, 0, 1000])
def test_weights_of_any_size(power: int) -> None:
    random = np.random.default_rng(1)
    graph = Graph.from_edges(*random.integers(0, 50, (2, 300)), random.integers(1, 5, 300).astype(float))
    found = gasla.article_rank(graph.with_values(np.ldexp(graph.values, power)))
    np.testing.assert_allclose(found.ranks, gasla.article_rank(graph).ranks, rtol=1e-9)


def test_runs_that_end_early_say_so() -> None:
    cycle = Graph.from_edges([0, 1, 2], [1, 2, 0])
    with pytest.warns(ConvergenceWarning, match="the ranks still changed by"):
        assert not gasla.article_rank(cycle, max_iter=2).converged


@pytest.mark.parametrize(
    ("options", "weights", "message"),
    [({"alpha": 1.5}, [1.0, 1.0], "alpha is 1.5"), ({}, [1.0, -1.0], "expected a finite number, 0 or more")],
)
def test_wrong_arguments_are_refused(options: Any, weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gasla.article_rank(Graph.from_edges([0, 1], [1, 2], weights), **options)
