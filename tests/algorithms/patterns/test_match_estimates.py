"""Estimates of numbers of matches, what is explained by them, and the warning."""

import numpy as np
import pytest

import gasla
from gasla.algorithms.patterns import matching
from gasla.algorithms.patterns.matching import Matching, expected
from gasla.algorithms.patterns.pattern import Pattern
from gasla.graph.graph import Graph
from tests.algorithms.patterns.test_cliques import complete


@pytest.mark.parametrize("text", ["triangle", "cycle4", "0-1,1-2,2-3,3-0,0-4,1-4", "0>1,1>2,2>3,3>0", "0>1,0>2,1>2"])
def test_estimates_are_near_the_numbers(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "SAMPLES", 1 << 13)
    pattern, graph = Pattern.of(text), Graph(gasla.datasets.rmat(9, 8))
    simple = graph.simple() if pattern.directed else gasla.primitives.simplify(graph)
    found = Matching(simple, pattern, False)
    (graphs, _), kinds = found._ordered, found._kinds(pattern)
    estimate = expected(found._listing.plan, graphs, kinds)[-1]
    assert estimate == pytest.approx(found.count(), rel=0.2)


@pytest.mark.parametrize("graph", [Graph.from_edges([], [], n=0), Graph.from_edges([], [], n=4), complete(3)])
def test_small_graphs_are_explained(graph: Graph) -> None:
    for text in ("cycle5", "0>1,1>2", "edge"):
        words = gasla.subgraph_matches(graph, text, explain=True)
        assert "Listing matches vertices" in str(words)
        assert ("some 0 matches" in str(words)) == (graph.m == 0 or text == "cycle5")
    assert gasla.subgraph_matches(graph, [[0]], explain=True) == "Each vertex that has the label is a match."


def test_a_count_that_takes_long_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "FEW", 10)
    monkeypatch.setattr(matching, "MANY", 10)
    graph = complete(9)
    with pytest.warns(UserWarning, match="partial matches are to be visited") as caught:
        gasla.subgraph_matches(graph, "paw", labels=np.zeros(9, int), pattern_labels={0: 0}, count=True)
    assert caught[0].filename == __file__


def test_explaining_excludes_answers() -> None:
    with pytest.raises(ValueError, match="two of count, per_vertex, per_edge, semiring, block and explain"):
        gasla.subgraph_matches(complete(3), "edge", explain=True, count=True)
    with pytest.raises(ValueError, match="explain and edges are True"):
        gasla.subgraph_matches(complete(3), "edge", explain=True, edges=True)
