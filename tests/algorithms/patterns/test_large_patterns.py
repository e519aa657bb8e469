"""Patterns of five to eight vertices: compiled joins against NetworkX's matchers, array code, formulas and laws."""

from itertools import combinations
from math import comb
from typing import Any

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.isomorphism import DiGraphMatcher, GraphMatcher

import gasla
from gasla import engines
from gasla.algorithms.patterns import matching
from gasla.algorithms.patterns.matching import _groups
from gasla.algorithms.patterns.pattern import Pattern
from gasla.graph.graph import Graph
from tests import oracles
from tests.algorithms.patterns.test_cliques import complete, random_edges

HOUSE, BULL = "0-1,1-2,2-3,3-0,0-4,1-4", "0-1,1-2,0-2,0-3,1-4"
FEW = [HOUSE, BULL, "cycle5", "0>1,1>2,2>3,3>4,4>0,1>0"]
MORE = [
    *("path5", "star4", "clique5", "star5", "path6", "cycle6", "0-1,0-2,0-3,1-4,2-5", "0-1,1-2,2-3,3-0,0-4,1-5,2-4"),
    *(
        "0-1,1-2,0-2,2-3,3-4,2-4",
        "0-1,0-2,0-3,0-4,1-2,2-3,3-4,4-1",
        "0-1,1-2,0-2,0-3,1-3,2-3,3-4",
        "0-1,1-2,2-3,3-4,1-5",
    ),
    *("0>1,0>2,0>3,1>4,2>4,3>4", "0>1,1>0,1>2,2>1,2>3,3>4,0>4", "0>1,1>2,2>0,2>3,3>4,4>2", "1>0,2>0,3>0,4>0"),
    *("0>1,1>2,2>3,3>4,4>5,5>0", "0>1,1>0,0>2,2>0,0>3,3>4", "0-1,1-2,2-3,3-4,4-5,5-6,6-0", "star7"),
]
SMALL = ["0>1,1>2,2>3,3>0", "0>1,1>0,1>2,2>3,3>0,3>2", "path4", "paw", "cycle4", "diamond", "clique4", "star3", "0-1"]


def matrix(text: str) -> np.ndarray:
    pattern = Pattern.of(text)
    found = np.zeros((pattern.size, pattern.size), int)
    found[tuple(zip(*pattern.edges))] = 1
    return found


def maps(edges: tuple[int, np.ndarray, np.ndarray], text: str, induced: bool) -> int:
    """The number of matches by NetworkX, once for each automorphism."""
    n, src, dst = edges
    kind = nx.DiGraph if Pattern.of(text).directed else nx.Graph
    graph, pattern = kind(), nx.from_numpy_array(matrix(text), create_using=kind)
    graph.add_nodes_from(range(n))
    graph.add_edges_from((u, v) for u, v in zip(src.tolist(), dst.tolist()) if u != v)
    matcher: Any = (DiGraphMatcher if Pattern.of(text).directed else GraphMatcher)(graph, pattern)
    return sum(1 for _ in (matcher.subgraph_isomorphisms_iter if induced else matcher.subgraph_monomorphisms_iter)())


def check(n: int, seed: int, density: float, text: str) -> None:
    edges, pattern = random_edges(n, seed, density), Pattern.of(text)
    graph = Graph.from_edges(edges[1], edges[2], n=n)
    for induced in (False, True):
        number = maps(edges, text, induced) // len(pattern.automorphisms)
        assert gasla.subgraph_matches(graph, text, induced=induced, count=True) == number
        found: Any = gasla.subgraph_matches(graph, text, induced=induced)
        assert len(found) == number
        oracles.subgraph_matches(graph, found, matrix(text), induced, directed=pattern.directed)


@pytest.mark.parametrize("text", [HOUSE, FEW[-1]])  # of all others thoroughly, as each compiles several joins
def test_patterns_are_found_in_random_graphs(text: str) -> None:
    for seed in range(25):
        check(5 + seed % 4, seed, 0.15 + 0.07 * (seed % 9), text)


@pytest.mark.thorough
@pytest.mark.parametrize("text", [*FEW, *MORE, *SMALL])
def test_all_patterns_are_found_in_random_graphs(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "FEW", 0)  # joins even if arrays would do
    for seed in range(1, 100, 4):
        check(4 + seed % 5, seed, 0.1 + 0.08 * (seed % 9), text)


@pytest.mark.thorough
@pytest.mark.parametrize("text", [*FEW, *MORE])
@pytest.mark.parametrize("induced", [False, True])
def test_arrays_find_the_same_as_joins(text: str, induced: bool) -> None:
    n, src, dst = random_edges(25, 3, 0.06)
    graph = Graph.from_edges(src, dst, n=n)
    found: Any = gasla.subgraph_matches(graph, text, induced=induced)
    with engines.programs_only():
        again: Any = gasla.subgraph_matches(graph, text, induced=induced)
        assert gasla.subgraph_matches(graph, text, induced=induced, count=True) == len(found)
    assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, again.tolist()))


def test_a_graph_of_several_blocks_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "ROWS", 1000)
    monkeypatch.setattr(matching, "AHEAD", 9)
    graph = Graph(gasla.datasets.rmat(7))
    for induced in (False, True):
        number: Any = gasla.subgraph_matches(graph, BULL, induced=induced, count=True)
        rows: Any = gasla.subgraph_matches(graph.subgraph(np.arange(40)), BULL, induced=induced)
        oracles.subgraph_matches(graph.subgraph(np.arange(40)), rows, matrix(BULL), induced)
        tallied: Any = gasla.subgraph_matches(graph, BULL, induced=induced, per_vertex=True)
        assert tallied.sum() == 5 * number


def test_groups_have_all_blocks_with_matches() -> None:
    assert [*_groups([3, 0, 10, 1, 0, 2, 4, 0], 4)] == [(0, 2), (2, 3), (3, 6), (6, 7)]
    assert [*_groups([0, 1, 0, 1], 1)] == [(1, 2), (3, 4)]
    assert [*_groups([0, 0], 4)] == []


def test_cliques_are_patterns() -> None:
    for k in (5, 6):
        graph = complete(11)
        wanted = gasla.count_cliques(graph, k)
        assert gasla.subgraph_matches(graph, f"clique{k}", count=True) == wanted
        assert len(gasla.subgraph_matches(graph, f"clique{k}")) == wanted  # type: ignore[arg-type]


def test_hubs_have_more_matches_than_64_bits_hold() -> None:
    leaves = 100_000
    star = Graph.from_edges(np.zeros(leaves, int), np.arange(1, leaves + 1))
    wanted = 1
    for k in range(5):
        wanted = wanted * (leaves - k) // (k + 1)
    assert wanted > 2**64
    assert gasla.subgraph_matches(star, "star5", count=True) == wanted
    for text in (HOUSE, BULL, "cycle5", "path5"):
        assert gasla.subgraph_matches(star, text, count=True) == 0


def test_isolated_vertices_and_new_numbers_change_nothing() -> None:
    n, src, dst = random_edges(30, 8, 0.15)
    order = np.random.default_rng(0).permutation(n + 5)
    graph, other = Graph.from_edges(src, dst, n=n), Graph.from_edges(order[src], order[dst], n=n + 5)
    for text in (HOUSE, BULL):
        for induced in (False, True):
            number = gasla.subgraph_matches(graph, text, induced=induced, count=True)
            assert gasla.subgraph_matches(other, text, induced=induced, count=True) == number


@pytest.mark.parametrize("n", [0, 1, 4])
def test_graphs_that_are_too_small(n: int) -> None:
    ends = np.array([*combinations(range(n), 2)], int).reshape(-1, 2).T
    graph = Graph.from_edges(*ends, n=n)
    assert gasla.subgraph_matches(graph, BULL, count=True) == 0
    assert gasla.subgraph_matches(graph, BULL).shape == (0, 5)  # type: ignore[union-attr]


@pytest.mark.gpu
@pytest.mark.parametrize("text", FEW)
def test_a_gpu_lists_the_same(text: str) -> None:
    n, src, dst = random_edges(25, 3, 0.06)
    graph = Graph.from_edges(src, dst, n=n)
    for induced in (False, True):
        rows: Any = gasla.subgraph_matches(graph, text, induced=induced)
        found: Any = gasla.subgraph_matches(graph.to("gpu"), text, induced=induced).get()  # type: ignore[union-attr]
        assert sorted(map(tuple, rows.tolist())) == sorted(map(tuple, found.tolist()))


def test_cycles_of_five_are_those_of_closed_walks() -> None:
    """A closed walk of five edges is a cycle, or a triangle with an edge there and back."""
    rng = np.random.default_rng(0)
    for k in range(25):
        n, m = int(rng.integers(1, 40)), int(rng.integers(0, 250))
        graph = Graph.from_edges(*rng.integers(0, n, (2, m)), n=n)
        a = np.zeros((n, n), np.int64)
        a[graph.edges()] = 1
        a = np.triu(a | a.T, 1) + np.triu(a | a.T, 1).T
        cubed, degrees = a @ a @ a, a.sum(axis=0)
        closed = int(np.trace(cubed @ a @ a)) - int(((5 * degrees - 5) * cubed.diagonal()).sum())
        assert gasla.subgraph_matches(graph, "cycle5", count=True) == closed // 10, k


@pytest.mark.gpu
@pytest.mark.parametrize("n", [0, 1, 4])
def test_graphs_that_are_too_small_for_a_gpu(n: int) -> None:
    ends = np.array([*combinations(range(n), 2)], int).reshape(-1, 2).T
    graph = Graph.from_edges(*ends, n=n).to("gpu")
    assert gasla.subgraph_matches(graph, BULL, count=True) == 0
    assert gasla.subgraph_matches(graph, BULL).shape == (0, 5)  # type: ignore[union-attr]
    assert gasla.subgraph_matches(graph, BULL, per_vertex=True).tolist() == [0] * n  # type: ignore[union-attr]
    assert not [*gasla.subgraph_matches(graph, BULL, block=5)]  # type: ignore[misc]


@pytest.mark.gpu
def test_a_hub_with_a_million_leaves_on_a_gpu() -> None:
    leaves = 10**6
    star = Graph.from_edges(np.zeros(leaves, int), np.arange(1, leaves + 1)).to("gpu")
    assert gasla.subgraph_matches(star, "star4", count=True) == comb(leaves, 4) > 2**64
    assert gasla.subgraph_matches(star, HOUSE, count=True) == 0
    kinds = np.where(np.arange(leaves + 1) < 4, np.arange(leaves + 1), 5)
    pattern: Any = {"labels": kinds, "pattern_labels": {0: 0, 1: 1, 2: 2}}
    assert gasla.subgraph_matches(star, "star3", count=True, **pattern) == leaves - 2
    number = gasla.subgraph_matches(star, "star3", per_vertex=True, **pattern)
    assert number[:4].tolist() == [leaves - 2, leaves - 2, leaves - 2, 1]  # type: ignore[index]


@pytest.mark.gpu
@pytest.mark.parametrize("text", [*FEW, SMALL[0]])
def test_all_ways_to_take_matches_on_a_gpu(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "FEW", 0)
    n, src, dst = random_edges(40, 7, 0.12)
    graph, labels = Graph.from_edges(src, dst, n=n), np.arange(n) % 3
    for options in ({}, {"labels": labels, "pattern_labels": {0: 1, 1: 2}}):
        given: Any = {"induced": bool(options), **options}
        rows: Any = gasla.subgraph_matches(graph, text, **given)
        there = graph.to("gpu")
        number = gasla.subgraph_matches(graph, text, per_vertex=True, **given)
        assert gasla.subgraph_matches(there, text, count=True, **given) == len(rows)
        np.testing.assert_array_equal(gasla.subgraph_matches(there, text, per_vertex=True, **given).get(), number)  # type: ignore[union-attr]
        for size in (3, 1000):
            parts: Any = [*gasla.subgraph_matches(there, text, block=size, **given)]
            found = [row for part in parts for row in part.tolist()]
            assert sorted(found) == sorted(rows.tolist()) and all(len(part) <= size for part in parts)
