"""Metrics of rankings are those of their definitions, row by row."""

import math
import re
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import Graph
from tests.algorithms.community.test_edge_support import DEVICES


def by_definition(rows: Any, test: set[tuple[int, int]], sources: list[int]) -> list[float]:
    each = []
    for source, row in zip(sources, rows, strict=True):
        right = {v for u, v in test if u == source}
        if right:
            hits = [place for place, v in enumerate(row, 1) if v in right]
            gain = sum(1 / math.log2(place + 1) for place in hits)
            best = sum(1 / math.log2(place + 1) for place in range(1, min(len(right), len(row)) + 1))
            first = 1 / hits[0] if hits else 0
            each.append([len(hits) / len(right), len(hits) / len(row), gain / best, first, bool(hits)])
    return [*np.mean(each, axis=0).tolist(), len(each)]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 8), st.integers(1, 30), st.integers(1, 8), st.integers(0, 10**6))
def test_random_rankings(n: int, m: int, k: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    src, dst = random.integers(0, n, (2, m))
    sources = random.integers(0, n, 5)
    sources[0] = src[0]
    rows = np.array([np.append(random.permutation(n), np.full(k, -1))[:k] for _ in sources])
    rows = np.where(random.random(rows.shape) < 0.2, -1, rows)
    found = gasla.ranking_metrics(rows, Graph.from_edges(src, dst, random.random(m), n=n), sources)
    right = by_definition(rows.tolist(), {*zip(src.tolist(), dst.tolist(), strict=True)}, sources.tolist())
    np.testing.assert_allclose(found, right)


@pytest.mark.parametrize("device", DEVICES)
def test_a_perfect_ranking_and_one_without_a_hit(device: Any) -> None:
    test = Graph.from_edges([0, 0, 1], [2, 1, 0]).to(device)
    assert gasla.ranking_metrics([[1, 2], [0, -1], [0, 1]], test) == (1, 0.75, 1, 1, 1, 2)
    assert gasla.ranking_metrics([[0, -1], [1, 2]], test) == (0, 0, 0, 0, 0, 2)


def test_recommendations_are_measured_beside_the_edges_left_out() -> None:
    """Members of two groups: the neighbors of neighbors are better than what comes first."""
    blocks = nx.planted_partition_graph(4, 25, 0.4, 0.01, seed=3)
    graph = Graph.from_networkx(blocks)
    train, test = (graph.select(edges) for edges in gasla.split_edges(graph, (0.8, 0.2)))
    found = gasla.top_k_pagerank(train, range(100), 10)
    good = gasla.ranking_metrics(found.vertices, test, range(100))
    poor = gasla.ranking_metrics(np.tile(np.arange(10), (100, 1)), test)
    assert good.recall > 2 * poor.recall and good.ndcg > 2 * poor.ndcg and good.mrr > 2 * poor.mrr
    names = Graph.from_networkx(nx.relabel_nodes(blocks, str))
    assert gasla.ranking_metrics(found.vertices[:3], names, ["0", "1", "2"]).sources == 3


WRONG: dict[str, tuple[Any, Any, str]] = {
    "one row": ([1, 2], None, "ranked is int64(2,); expected integers, k columns for each source"),
    "floats": ([[0.5]], None, "ranked is float64(1, 1); expected integers"),
    "no column": (np.zeros((3, 0), int), None, "ranked is int64(3, 0); expected integers"),
    "rows": ([[1], [2]], [0], "ranked has 2 rows, and there are 1 sources"),
    "too many rows": ([[1]] * 4, None, "ranked has 4 rows, and there are 4 sources of 3 vertices"),
    "outside": ([[1], [3]], None, "row 1 of ranked has a vertex outside a graph of 3 vertices"),
    "twice": ([[1, 2], [2, 2]], None, "row 1 of ranked has a vertex twice"),
    "nothing to find": ([[1]], [2], "no source has an out-neighbor in test"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_rankings_are_refused(case: str) -> None:
    ranked, sources, message = WRONG[case]
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        gasla.ranking_metrics(ranked, Graph.from_edges([0, 1], [1, 2]), sources)
