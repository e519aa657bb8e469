"""Shares of scores over in-edges: against NumPy, finite differences and PyTorch, and hostile input."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import datasets
from gasla.graph.graph import Graph

Array = Any
STAR = Graph.from_edges([0, 1, 2, 0, 3], [3, 3, 3, 1, 3])


def by_hand(graph: Graph, scores: Array) -> Array:
    """In extended precision, target by target."""
    found, dst = np.zeros(scores.shape, np.longdouble), graph.edges()[1]
    for v in range(graph.n):
        some = scores[dst == v].astype(np.longdouble)
        if len(some):
            parts = np.exp(some - some.max(axis=0))
            found[dst == v] = parts / parts.sum(axis=0)
    return found


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 5), st.integers(0, 9), st.sampled_from([None, 3]), st.sampled_from(["f4", "f8"]), st.randoms())
def test_shares_are_those_by_hand(n: int, m: int, heads: int | None, kind: str, random: Any) -> None:
    rng = np.random.default_rng(random.randrange(2**32))
    graph = Graph.from_edges(*rng.integers(0, n, (2, m)), n=n)
    scores = (rng.normal(size=(m,) if heads is None else (m, heads)) * rng.choice([1, 300])).astype(kind)
    given_scores = scores.copy()
    shares = gasla.edge_softmax(graph, scores)
    np.testing.assert_allclose(shares, by_hand(graph, scores), rtol=1e-5 if kind == "f4" else 1e-13, atol=1e-30)
    assert shares.dtype == scores.dtype and np.array_equal(scores, given_scores)


def test_gradients_are_finite_differences() -> None:
    rng = np.random.default_rng(3)
    graph = Graph.from_edges(*rng.integers(0, 5, (2, 12)), n=5)
    scores, weights = rng.normal(size=(12, 2)), rng.normal(size=(12, 2))
    slope = gasla.edge_softmax_gradient(graph, gasla.edge_softmax(graph, scores), weights)
    for edge in range(12):
        for head in range(2):
            ends = []
            for step in (-1e-5, 1e-5):
                moved = scores.copy()
                moved[edge, head] += step
                ends.append(float((by_hand(graph, moved) * weights).sum()))
            assert abs(slope[edge, head] - (ends[1] - ends[0]) / 2e-5) < 1e-8


def test_gradients_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    rng, graph = np.random.default_rng(3), Graph(datasets.rmat(6))
    scores, weights = rng.normal(size=graph.m), rng.normal(size=graph.m)
    x = torch.tensor(scores, requires_grad=True)
    shares = torch.zeros(graph.m, dtype=torch.float64)
    dst = graph.edges()[1]
    for v in range(graph.n):
        some = np.flatnonzero(dst == v)
        shares[some] = torch.softmax(x[some], 0)
    (shares * torch.tensor(weights)).sum().backward()
    found = gasla.edge_softmax(graph, scores)
    np.testing.assert_allclose(found, shares.detach().numpy(), rtol=1e-12)
    np.testing.assert_allclose(gasla.edge_softmax_gradient(graph, found, weights), x.grad.numpy(), atol=1e-12)


def test_hard_numbers_and_shapes() -> None:
    inf, nan = np.inf, np.nan
    assert gasla.edge_softmax(STAR, [-inf, 0, 0, -inf, -inf]).tolist() == [0, 0.5, 0.5, 0, 0]
    np.testing.assert_array_equal(gasla.edge_softmax(STAR, [nan, 1, 1, 1, 1]), [nan, nan, nan, 1, nan])
    assert np.isnan(gasla.edge_softmax(STAR, [inf, 1, 1, 1, 1])[[0]]).all()
    assert gasla.edge_softmax(STAR, [0, 0, 0, 5, 0]).tolist() == [0.25, 0.25, 0.25, 1, 0.25]
    assert gasla.edge_softmax(Graph.from_edges([], [], n=3), []).shape == (0,)
    assert gasla.edge_softmax(STAR, np.zeros((5, 0))).shape == (5, 0)
    assert gasla.edge_softmax(Graph.from_edges([0], [0]), [1e308]).tolist() == [1]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: gasla.edge_softmax(STAR, [1, 2]), ValueError, r"scores has shape \(2,\); expected \(5,\) or \(5, h"),
        (lambda: gasla.edge_softmax(STAR, ["a"] * 5), TypeError, "scores has type <U1; expected numbers"),
        (
            lambda: gasla.edge_softmax_gradient(STAR, np.zeros(5), np.zeros((5, 1))),
            ValueError,
            r"gradient has shape \(5, 1\); expected \(5,\), that of shares",
        ),
    ],
)
def test_errors_say_what_is_wrong(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.gpu
@pytest.mark.parametrize("heads", [None, 4])
def test_gpu_gives_the_same(heads: int | None) -> None:
    rng, graph = np.random.default_rng(3), Graph(datasets.rmat(10))
    scores = rng.normal(size=graph.m if heads is None else (graph.m, heads))
    shares, there = gasla.edge_softmax(graph, scores), graph.to("gpu")
    found = gasla.edge_softmax(there, scores)
    np.testing.assert_allclose(found.get(), shares, rtol=1e-12)
    slope = gasla.edge_softmax_gradient(there, found, scores)
    np.testing.assert_allclose(slope.get(), gasla.edge_softmax_gradient(graph, shares, scores), atol=1e-12)
