"""Weighted clustering coefficients, beside NetworkX's and a loop over triples."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import Graph, verify
from gasla.arrays import moved
from gasla.verify import VerificationError
from tests.helpers.hard_graphs import SHAPES, hard_graph

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]


def brute(graph: Graph) -> list[float]:
    """The coefficients by all triples; of parallel edges and both directions the largest value counts."""
    weight: dict[frozenset[int], float] = {}
    for u, v, w in zip(*(ends.tolist() for ends in graph.edges()), graph.values.tolist(), strict=True):
        if u != v:
            weight[frozenset((u, v))] = max(w, weight.get(frozenset((u, v)), 0))
    largest, found = max(weight.values(), default=0), []
    for v in range(graph.n):
        around = [u for u in range(graph.n) if frozenset((u, v)) in weight]
        total, pairs = 0.0, len(around) * (len(around) - 1) / 2
        for a, b in combinations(around, 2):
            sides = [frozenset(side) for side in ((a, b), (a, v), (b, v))]
            if largest and sides[0] in weight:
                total += float(np.cbrt(np.prod([weight[side] / largest for side in sides])))
        found.append(total / pairs if pairs else 0.0)
    return found


@settings(max_examples=40, deadline=None)
@given(st.data())
@pytest.mark.parametrize("device", DEVICES)
def test_beside_all_triples(device: Any, data: st.DataObject) -> None:
    n, m = data.draw(st.integers(1, 7)), data.draw(st.integers(0, 25))
    ends = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=2 * m, max_size=2 * m)), int).reshape(2, m)
    values = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0, 8.0]), min_size=m, max_size=m))
    graph = Graph.from_edges(*ends, np.array(values, float), n=n)
    found = moved(gasla.clustering(graph.to(device), weighted=True), "cpu")
    np.testing.assert_allclose(found, brute(graph), rtol=1e-12, atol=1e-12)
    verify.clustering(graph, found, weighted=True)
    unit = graph.with_values(np.full(m, 5))
    np.testing.assert_allclose(
        moved(gasla.clustering(unit.to(device), weighted=True), "cpu"), gasla.clustering(graph), rtol=1e-12
    )


def test_beside_networkx() -> None:
    nx = pytest.importorskip("networkx")
    G = nx.gnm_random_graph(60, 300, seed=1)
    rng = np.random.default_rng(2)
    for _, _, data in G.edges(data=True):
        data["weight"] = float(rng.random())
    expected = [*nx.clustering(G, weight="weight").values()]
    np.testing.assert_allclose(gasla.clustering(Graph.from_networkx(G), weighted=True), expected, rtol=1e-10)


@pytest.mark.parametrize("name", SHAPES)
def test_hard_shapes_without_values_count_1_each(name: str) -> None:
    graph = hard_graph(name)
    np.testing.assert_allclose(gasla.clustering(graph, weighted=True), gasla.clustering(graph), rtol=1e-12)


def test_wrong_input_and_wrong_answers_are_refused() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0], [1.0, 2.0, 4.0])
    for values, words in (([1, -1, 1], "the weight of edge 1 is -1"), ([1, 1, np.inf], "the weight of edge 2 is inf")):
        with pytest.raises(ValueError, match=f"{words}.*; expected a finite number, 0 or more"):
            gasla.clustering(graph.with_values(values), weighted=True)
    with pytest.raises(ValueError, match="mode is 'directed' and weighted is True; expected 'undirected'"):
        gasla.clustering(graph, mode="directed", weighted=True)
    with pytest.raises(VerificationError, match=r"the clustering of vertex 0 is 0\.5, not 1"):
        verify.clustering(graph, np.ones(3), weighted=True)
