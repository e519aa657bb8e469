"""The same matrix, listed in another order, gives the same answer: parallel edges, sums and undirected readings."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
import semirings
from gasla import Graph, verify

GPU = pytest.param("gpu", marks=pytest.mark.gpu)
LENGTHS = [0.1, 0.2, 0.3, 0.7, 1.3, 2.9, 1e-9, 1e5]  # none vanishes beside another


@st.composite
def multigraphs(draw: Any, symmetric: bool = False) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    n = draw(st.integers(1, 6))
    edges = draw(st.lists(st.tuples(*[st.integers(0, n - 1)] * 2), max_size=14))
    src, dst = np.array(edges, np.int64).reshape(-1, 2).T
    weights = np.array(draw(st.lists(st.sampled_from(LENGTHS), min_size=len(src), max_size=len(src))))
    if symmetric:
        src, dst, weights = np.append(src, dst), np.append(dst, src), np.append(weights, weights)
    order = np.array(draw(st.permutations(range(len(src)))), np.int64)
    return n, src[order], dst[order], weights[order]


def is_its_transpose(graph: Graph) -> bool:
    """To the last bit."""
    dense = np.zeros((graph.n, graph.n))
    dense[tuple(graph.to("cpu").edges())] = graph.to("cpu").values
    return np.array_equal(dense, dense.T)


@pytest.mark.parametrize("device", ["cpu", GPU])
@settings(max_examples=60)
@given(data=multigraphs())
def test_symmetrized_is_symmetric_to_the_last_bit(device: str, data: Any) -> None:
    n, src, dst, weights = data
    graph = Graph.from_edges(src, dst, weights, n=n).to(device)
    for monoid in (semirings.plus, semirings.times, semirings.logaddexp, semirings.first, semirings.second):
        both = graph.symmetrized(monoid)
        assert is_its_transpose(both) and both.has_symmetric_values
        assert both.origin is not None
        pairs = {frozenset(ends) for ends in zip(src.tolist(), dst.tolist())}
        assert both.m == sum(len(pair) for pair in pairs)


@pytest.mark.parametrize("device", ["cpu", GPU])
@settings(max_examples=60)
@given(data=multigraphs(symmetric=True), groups=st.integers(1, 3))
def test_what_is_made_of_a_symmetric_graph_is_symmetric(device: str, data: Any, groups: int) -> None:
    n, src, dst, weights = data
    graph = Graph.from_edges(src, dst, weights, n=n).to(device)
    assert graph.has_symmetric_values
    labels = np.arange(n) % min(groups, n)
    if device == "gpu":
        import cupy

        labels = cupy.asarray(labels)
    monoids = semirings.plus, semirings.any
    made = [graph.simple(semirings.times, loops=True)]
    made += [graph.simple(monoid) for monoid in monoids] + [graph.contract(labels, monoid) for monoid in monoids]
    assert all(map(is_its_transpose, made)) and all(one.has_symmetric_values for one in made)


def test_many_edges_contract_to_a_symmetric_graph() -> None:
    """So many that sums are made by threads (`contracting`)."""
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 300, (2, 40_000))
    weights = rng.random(40_000)
    order = rng.permutation(80_000)
    both, turned, twice = (np.append(*ends)[order] for ends in ((src, dst), (dst, src), (weights, weights)))
    rows = np.argsort(both, kind="stable")
    graph = Graph.from_edges(both[rows], turned[rows], twice[rows], n=300)
    assert graph.has_symmetric_values and is_its_transpose(graph.contract(np.arange(300) % 7))


def by_edges(graph: Graph, values: Any) -> list[tuple[Any, ...]]:
    """What edges have, whichever place they are listed at."""
    src, dst = (ends.tolist() for ends in graph.edges())
    return sorted(zip(src, dst, graph.values.tolist(), np.round(values, 9).tolist()))  # type: ignore[union-attr]


@pytest.mark.thorough
@settings(max_examples=20)
@given(data=multigraphs(symmetric=True), seed=st.integers(0, 99))
def test_answers_depend_on_no_order(data: Any, seed: int) -> None:
    n, src, dst, weights = data
    order = np.random.default_rng(seed).permutation(len(src))
    listings = [(src, dst, weights), (src[order], dst[order], weights[order])]
    plain, other = (Graph.from_edges(*arrays, n=n) for arrays in listings)
    options: Any = {"weighted": True, "normalized": False}
    found = [gasla.betweenness_centrality(graph, **options) for graph in (plain, other)]
    np.testing.assert_allclose(*found, rtol=1e-12)
    edges = [gasla.edge_betweenness_centrality(graph, **options) for graph in (plain, other)]
    for graph, scores in zip((plain, other), edges, strict=True):
        verify.edge_betweenness(graph, scores, **options)
    assert by_edges(plain, edges[0]) == by_edges(other, edges[1])
    forests = [gasla.minimum_spanning_forest(graph) for graph in (plain, other)]
    for graph, forest in zip((plain, other), forests, strict=True):
        assert float(graph.values[forest.edges].sum()) == float(forest.total)  # type: ignore[index]
    assert np.isclose(forests[0].total, forests[1].total, rtol=1e-12)


@pytest.mark.thorough
@settings(max_examples=20)
@given(data=multigraphs(symmetric=True), seed=st.integers(0, 99))
def test_projections_depend_on_no_order(data: Any, seed: int) -> None:
    n, src, dst, weights = data
    crossing = src % 2 != dst % 2
    src, dst, weights = src[crossing], dst[crossing], weights[crossing]
    order = np.random.default_rng(seed).permutation(len(src))
    side = np.arange(n) % 2 == 0
    made = [
        gasla.project(Graph.from_edges(*arrays, n=n), side, semirings.plus_times)
        for arrays in ((src, dst, weights), (src[order], dst[order], weights[order]))
    ]
    assert made[0].out.indices.tolist() == made[1].out.indices.tolist()
    np.testing.assert_allclose(made[0].values, made[1].values, rtol=1e-12)
    assert all(map(is_its_transpose, made))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("monoid", [semirings.min, semirings.max, semirings.plus, semirings.times])
def test_what_is_combined_of_nan_and_infinities_warns_of_nothing(monoid: Any) -> None:
    values = np.array([np.nan, 1.0, np.inf, -np.inf, 1e300, 1e300, 1e300])
    src, dst = [0, 0, 1, 1, 2, 2, 2], [1, 1, 2, 2, 0, 0, 0]
    graph = Graph.from_edges(src, dst, values)
    graph.simple(monoid), graph.symmetrized(monoid), graph.contract([0, 1, 1], monoid)
    assert np.isnan(gasla.reduce_by_key(src, values, monoid)[0])
