"""Fast random projections are the weighted powers of the definition, and tell planted blocks apart."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import Graph
from gasla.arrays import moved
from tests.algorithms.community.test_edge_support import DEVICES, HARD, on
from tests.helpers.law import ALL_SPLIT, NO_EDGE, SHARED, Answer, Array, Asked, Law, Row, host, only

CLOSE = Law("same, up to rounding", lambda before, then, now: before, atol=1e-4)
OTHER = only("other random rows")


def embedded(weighted: bool) -> Any:
    def call(q: Asked) -> Answer:
        found = gasla.fastrp(q.given, 24, weighted=weighted)
        assert np.linalg.norm(host(found), axis=1).max(initial=0) < 2 + 1e-5
        return {"rows": q.at_vertices(found)}

    return call


SAME: dict[str, Law] = {
    "isolated": OTHER,
    "renamed": OTHER,
    **dict.fromkeys(("order", "types", "forms", "engines"), CLOSE),
}
LAWS = [
    Row("fastrp", embedded(True), weights=True, split=SHARED, zeros=NO_EDGE, scaled=CLOSE, rtol=1e-4, **SAME),
    Row("fastrp", embedded(False), "weighted=False", split=ALL_SPLIT, rtol=1e-4, **SAME),
]


def by_definition(graph: Graph, shares: list[float], strength: float, width: int, seed: int) -> Array:
    """By dense matrices in float64; the random rows are those after no step, of graphs in which a row has an entry."""
    random = np.ceil(abs(first := gasla.fastrp(graph, width, iteration_weights=[1], seed=seed))) * np.sign(first)
    src, dst = graph.edges()
    matrix = np.zeros((graph.n, graph.n))
    np.add.at(matrix, (src, dst), np.ones(graph.m) if graph.values is None else graph.values)
    degree = np.bincount(src, minlength=graph.n)
    rows = random * np.where(degree > 0, degree, 1.0)[:, None] ** strength
    found, total = np.zeros(rows.shape), matrix.sum(axis=1, keepdims=True)
    for share in shares:
        sizes = np.linalg.norm(rows, axis=1, keepdims=True)
        found += share * rows / np.where(sizes > 0, sizes, 1)
        rows = matrix @ rows / np.where(total > 0, total, 1)
    return found


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 12), st.integers(0, 40), st.integers(0, 10**6), st.sampled_from([-1.0, -0.3, 0.0, 1.0]))
def test_rows_are_weighted_sums_of_powers(n: int, m: int, seed: int, strength: float) -> None:
    """Of graphs with loops, parallel edges, edges of weight 0 and vertices without edges."""
    random = np.random.default_rng(seed)
    graph = Graph.from_edges(*random.integers(0, n, (2, m)), random.integers(0, 4, m).astype(float), n=n)
    shares = random.normal(size=random.integers(1, 5)).tolist()
    found = gasla.fastrp(graph, 50, iteration_weights=shares, normalization_strength=strength, seed=seed)
    assert found.shape == (n, 50) and found.dtype == np.float32
    np.testing.assert_allclose(found, by_definition(graph, shares, strength, 50, seed), atol=2e-4)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", HARD)
def test_hard_shapes(device: Any, shape: str) -> None:
    graph = on(device, HARD[shape])
    found = moved(gasla.fastrp(graph, 20, iteration_weights=[0.5, 1, 2, 0]), "cpu")
    plain = on("cpu", HARD[shape])
    np.testing.assert_allclose(found, by_definition(plain, [0.5, 1, 2, 0], 0, 20, 0), atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_rows_of_a_block_are_similar(device: Any) -> None:
    G = nx.planted_partition_graph(4, 50, 0.3, 0.01, seed=1)
    rows = moved(gasla.fastrp(Graph.from_networkx(G).to(device), 128, seed=3), "cpu")
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    likeness, block = rows @ rows.T, np.arange(200) // 50
    same = block == block[:, None]
    assert likeness[same].mean() > likeness[~same].mean() + 0.4


def test_random_entries_are_balanced_and_a_third_are_not_zero() -> None:
    rows = np.sign(gasla.fastrp(Graph.from_edges([], [], n=4000), 100, iteration_weights=[1]))
    assert abs(rows.mean()) < 0.003 and abs((rows != 0).mean() - 86 / 256) < 0.003
    correlations = np.corrcoef(rows.T) - np.eye(100)
    assert abs(correlations).max() < 0.1
    fewer = np.sign(gasla.fastrp(Graph.from_edges([], [], n=9), 11, iteration_weights=[1]))
    np.testing.assert_array_equal(fewer, rows[:9, :11])  # whatever the size
    other = np.sign(gasla.fastrp(Graph.from_edges([], [], n=9), 11, iteration_weights=[1], seed=1))
    assert (fewer != other).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dimension": 0}, "dimension is 0; expected 1 or more"),
        ({"iteration_weights": []}, r"iteration_weights is \[\]; expected a list of one or more numbers"),
        ({"iteration_weights": [1, np.inf]}, r"iteration_weights\[1\] is inf"),
        ({"normalization_strength": 2}, "normalization_strength is 2; expected a number from -1 to 1"),
    ],
)
def test_wrong_arguments_are_refused(options: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        gasla.fastrp(Graph.from_edges([0, 1], [1, 2]), **options)
