"""The verifiers of graphs made of graphs, and of modularity: right answers pass, spoiled ones are told."""

from typing import Any

import networkx as nx
import numpy as np
import pytest

import gasla
import semirings
from gasla import verify
from gasla.cli import main
from gasla.verify import VerificationError

pytestmark = pytest.mark.thorough

Array = np.ndarray[Any, Any]


def drawn(seed: int, n: int = 30, m: int = 70) -> gasla.Graph:
    """Loops, parallel edges, vertices of no edge, whole-number weights."""
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, n - 3, m), rng.integers(0, n - 3, m)
    return gasla.Graph.from_edges(src, dst, rng.integers(0, 6, m).astype(np.float32), n=n)


EMPTY = gasla.Graph.from_edges([], [], n=0)
ALONE = gasla.Graph.from_edges([0], [0], [2.0], n=1)
GRAPHS = [*map(drawn, range(4)), EMPTY, ALONE, gasla.Graph.from_edges([0, 1, 2, 1], [1, 2, 0, 3], n=5)]


@pytest.mark.parametrize("combine", [semirings.plus, semirings.min, semirings.max])
@pytest.mark.parametrize("graph", GRAPHS)
def test_condensations_pass(graph: gasla.Graph, combine: semirings.Monoid) -> None:
    verify.condensation(graph, gasla.condensation(graph, combine=combine), combine=combine)
    labels = gasla.strongly_connected_components(graph).labels
    verify.condensation(graph, gasla.condensation(graph, labels, combine=combine), labels, combine=combine)


def test_condensations_that_are_none() -> None:
    graph = gasla.Graph.from_edges([0, 1, 2, 1, 2], [1, 2, 0, 3, 3], [1.0, 1.0, 1.0, 2.0, 3.0])
    right = gasla.condensation(graph)
    others = {
        "share component 0": graph.contract([0, 0, 0, 0], loops=False),
        "edge 0 → 0 of the condensation is superfluous, or a duplicate": graph.contract([0, 0, 0, 1]),
        "superfluous, or a duplicate": graph.contract([0, 0, 0, 1], None, loops=False),
        "edge 0 → 1 is missing": graph.select([True, True, True, False, False]).contract([0, 0, 0, 1], loops=False),
        "has the value 9.0, not 5.0": right.with_values(np.array([9.0])),
        "has no values": right.with_values(None),
        "has no origin": gasla.Graph.from_edges([0], [1]),
        "the origin has 2 vertices; expected 4": right.subgraph([0, 1]),
    }
    verify.condensation(graph, right)
    for words, wrong in others.items():
        with pytest.raises(VerificationError, match=words):
            verify.condensation(graph, wrong)
    with pytest.raises(VerificationError, match="vertex 3 became vertex 1; expected its label"):
        verify.condensation(graph, right, [0, 0, 0, 2])
    with pytest.raises(ValueError, match=r"combine is .*; expected semirings"):
        verify.condensation(graph, right, combine=semirings.times)


@pytest.mark.parametrize("graph", [g for g in GRAPHS if g.n])
@pytest.mark.parametrize("options", [{}, {"center": False}, {"undirected": True}, {"weighted": True}])
def test_ego_graphs_pass(graph: gasla.Graph, options: dict[str, bool]) -> None:
    for radius in (0, 1, 2, 3.5, np.inf):
        verify.ego_graph(graph, 0, gasla.ego_graph(graph, 0, radius, **options), radius, **options)


def test_an_ego_graph_without_end_is_who_is_reached() -> None:
    graph = gasla.Graph.from_edges([0, 1, 3], [1, 2, 0], [1.0, 2.0, 1.0])
    for weighted in (False, True):
        found = gasla.ego_graph(graph, 0, np.inf, weighted=weighted)
        theirs = nx.ego_graph(nx.DiGraph([(0, 1), (1, 2), (3, 0)]), 0, np.inf, distance=None)
        assert found.origin.vertices.tolist() == sorted(theirs) == [0, 1, 2]


def test_ego_graphs_that_are_none() -> None:
    graph = gasla.Graph.from_edges([0, 1, 2, 0], [1, 2, 3, 0], [1.0, 1.0, 1.0, 5.0])
    right = gasla.ego_graph(graph, 0)
    others = {
        "vertex 2 is in the ego graph, but at distance 2": gasla.ego_graph(graph, 0, 2),
        "vertex 1 is missing from the ego graph, at distance 1": graph.subgraph([0]),
        "not in the order of their ids": graph.subgraph([1, 0]),
        "there are 1 edges; expected the 2": graph.select([True, False, False, False]).subgraph([0, 1]),
        "edge 1 has the value 7.0, not 5.0": right.with_values(np.array([1.0, 7.0])),
    }
    verify.ego_graph(graph, 0, right)
    for words, wrong in others.items():
        with pytest.raises(VerificationError, match=words):
            verify.ego_graph(graph, 0, wrong)
    with pytest.raises(VerificationError, match="vertex 0 is in the ego graph, but center=False"):
        verify.ego_graph(graph, 0, right, center=False)


@pytest.mark.parametrize("weighted", [True, False])
def test_a_wrong_modularity_is_noticed(weighted: bool) -> None:
    for graph in GRAPHS[:4]:
        labels = np.arange(graph.n) % 4
        score = gasla.modularity(graph, labels, weighted=weighted, resolution=1.5)
        verify.modularity(graph, labels, score, weighted=weighted, resolution=1.5)
        with pytest.raises(VerificationError, match="the modularity is"):
            verify.modularity(graph, labels, score + 1e-6, weighted=weighted, resolution=1.5)
    with pytest.raises(VerificationError, match="the weights sum to 0"):
        verify.modularity(EMPTY, np.zeros(0, int), 0.0)
    with pytest.raises(VerificationError, match="1 values were expected"):
        verify.modularity(ALONE, [0, 0], 0.0)


def test_commands_check_their_results(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path, target = tmp_path / "small.txt", tmp_path / "answer.csv"
    path.write_text("0 1 2\n1 2 3.5\n2 0 1\n3 0 5\n1 3 1\n2 3 2\n5 6 1\n")
    assert main(["condensation", str(path), "--check", "-o", str(target)]) == 0
    out = capsys.readouterr().out
    assert "4 strong components, 3 of them single vertices; the largest:" in out
    assert "1 edges between components" in out
    assert target.read_text().splitlines()[4:] == ["3,0", "4,1", "5,2", "6,3"]
    options = ["--source", "0", "--radius", "2", "--weighted", "--no-center", "--check", "-o", str(target)]
    assert main(["ego-graph", str(path), *options]) == 0
    assert "1 of 7 vertices and 0 of 7 edges are within distance 2 of vertex 0, among them\n      vertex 1\n" in (
        capsys.readouterr().out
    )
    assert target.read_text().splitlines()[:3] == ["vertex,nearby", "0,0", "1,1"]
