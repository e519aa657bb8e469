"""Patterns with labels of edges and conditions on edges against NetworkX; laws; what is refused."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.isomorphism import DiGraphMatcher, GraphMatcher

import gasla
from gasla import engines
from gasla.algorithms.patterns import matching
from gasla.algorithms.patterns.pattern import Pattern
from gasla.graph.graph import Graph
from tests import oracles
from tests.algorithms.patterns.test_labelled_patterns import HOUSE

Labels = dict[tuple[int, int], int]
CASES: list[tuple[str, Labels, dict[int, int]]] = [
    (HOUSE, {(0, 1): 1, (0, 4): 0}, {}),
    ("0>1,1>2,2>3,3>0,0>4", {(0, 1): 0, (1, 2): 0, (2, 3): 1}, {4: 1}),
    ("triangle", {(0, 1): 0, (1, 2): 0, (0, 2): 0}, {}),
    ("0>1,1>2,2>0", {(2, 0): 1}, {}),
    ("star4", {(0, 1): 0, (0, 2): 0, (0, 3): 1}, {}),
    ("cycle5", dict.fromkeys([(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)], 0), {}),
    ("path3", {(0, 1): 1}, {1: 0}),
    ("0>1,1>0,1>2,0>2,2>3", {(0, 1): 0, (1, 0): 1}, {}),
    ("0-1", {(0, 1): 1}, {}),
    ("0-1,1-2,0-2,0-3,1-4", {(0, 3): 1, (1, 4): 1, (0, 1): 0}, {}),
    ("clique4", {(0, 1): 0, (2, 3): 1}, {}),
    ("0>1,0>2,1>3,2>3,3>4", {(0, 1): 0, (0, 2): 0, (1, 3): 1, (2, 3): 1}, {}),
]


def example(seed: int) -> tuple[int, Any, Any, Any]:
    """A small graph with loops, parallel edges and a vertex without edges: its size, ends and labels."""
    rng = np.random.default_rng(seed)
    n, m = 6 + seed % 3, 10 + 3 * (seed % 7)
    return n, *rng.integers(0, n - 1, (2, m)), rng.integers(0, 2, m)


def expected(seed: int, text: str, labels: Labels, of_vertex: dict[int, int], induced: bool) -> list[tuple[int, ...]]:
    """The matches by NetworkX, of each orbit the smallest: an edge has the labels of all parallel edges."""
    n, src, dst, kinds = example(seed)
    pattern = Pattern.of(text)
    matcher: Any = DiGraphMatcher if pattern.directed else GraphMatcher
    peer, small = (nx.DiGraph(), nx.DiGraph()) if pattern.directed else (nx.Graph(), nx.Graph())
    peer.add_nodes_from((v, {"label": v % 2}) for v in range(n))
    for u, v, label in zip(src.tolist(), dst.tolist(), kinds.tolist(), strict=True):
        if u != v:
            peer.add_edge(u, v, labels=peer.get_edge_data(u, v, {}).get("labels", set()) | {label})
    small.add_nodes_from((v, {"label": of_vertex.get(v)}) for v in range(pattern.size))
    small.add_edges_from(pattern.edges)
    for (u, v), label in labels.items():
        small[u][v]["label"] = label

    def same(a: Any, b: Any) -> bool:
        return bool(a.get("label") == b.get("label"))

    def fits(a: Any, b: Any) -> bool:
        return b["label"] is None or a["label"] == b["label"]

    found = matcher(peer, small, fits, lambda a, b: "label" not in b or b["label"] in a["labels"])
    rows = found.subgraph_isomorphisms_iter() if induced else found.subgraph_monomorphisms_iter()
    orders = [[a[v] for v in range(pattern.size)] for a in matcher(small, small, same, same).isomorphisms_iter()]
    maps = {tuple(sorted(row, key=row.__getitem__)) for row in rows}
    return sorted({min(tuple(row[v] for v in order) for order in orders) for row in maps})


def check(seed: int, text: str, labels: Labels, of_vertex: dict[int, int]) -> None:
    n, src, dst, kinds = example(seed)
    graph = Graph.from_edges(src, dst, n=n).with_edge_attributes(kind=kinds)
    sign = ">" if ">" in text else "-"
    ways: list[dict[str, Any]] = [
        {"edge_labels": "kind", "pattern_edge_labels": labels},
        {"where": {f"{u}{sign}{v}": lambda edge, label=label: edge.kind == label for (u, v), label in labels.items()}},
    ]
    for induced in (False, True):
        wanted = expected(seed, text, labels, of_vertex, induced)
        options: dict[str, Any] = {"induced": induced, **ways[(seed + induced) % 2]}
        if of_vertex:
            options |= {"labels": np.arange(n) % 2, "pattern_labels": of_vertex}
        found: Any = gasla.subgraph_matches(graph, text, **options)
        assert sorted(map(tuple, found.tolist())) == wanted
        assert gasla.subgraph_matches(graph, text, count=True, **options) == len(wanted)
        tallied: Any = gasla.subgraph_matches(graph, text, per_vertex=True, **options)
        assert tallied.tolist() == np.bincount(found.ravel(), minlength=n).tolist()
        blocks: Any = gasla.subgraph_matches(graph, text, block=7, **options)
        assert sorted(tuple(row) for block in blocks for row in block.tolist()) == wanted


@pytest.mark.parametrize(("text", "labels", "of_vertex"), [CASES[0], *CASES[2:4]])
def test_labels_are_those_of_networkx(text: str, labels: Labels, of_vertex: dict[int, int]) -> None:
    for seed in (0, 1, 3, 4):  # with 2 labels are matched in another order, which is compiled for seconds
        check(seed, text, labels, of_vertex)


def test_the_oracle_takes_labels_of_edges() -> None:
    graph = Graph(gasla.datasets.rmat(7, 4))
    kinds = np.random.default_rng(0).integers(0, 2, graph.m)
    fitting = [graph.select(kinds == kind) for kind in range(2)]
    pattern = np.zeros((4, 4), int)
    pattern[[0, 1, 2, 3], [1, 2, 3, 0]] = 1
    asked: dict[str, Any] = {"edge_labels": kinds, "pattern_edge_labels": {(0, 1): 0, (2, 3): 0, (1, 2): 1}}
    for directed in (False, True):
        edges = pattern if directed else pattern | pattern.T
        found = gasla.subgraph_matches(graph, edges, directed=directed, **asked)
        wanted = {(0, 1): fitting[0], (2, 3): fitting[0], (1, 2): fitting[1]}
        oracles.subgraph_matches(graph, found, edges, directed=directed, fitting=wanted)


@pytest.mark.gpu
@pytest.mark.parametrize(("text", "labels", "of_vertex"), CASES[:4])
def test_a_gpu_finds_the_same(text: str, labels: Labels, of_vertex: dict[int, int]) -> None:
    for seed in range(3):
        n, src, dst, kinds = example(seed)
        graph = Graph.from_edges(src, dst, n=n).with_edge_attributes(kind=kinds)
        given: Any = {"edge_labels": "kind", "pattern_edge_labels": labels}
        if of_vertex:
            given |= {"labels": np.arange(n) % 2, "pattern_labels": of_vertex}
        rows: Any = gasla.subgraph_matches(graph, text, **given)
        found: Any = gasla.subgraph_matches(graph.to("gpu"), text, **given)
        assert sorted(found.tolist()) == sorted(rows.tolist())
        assert gasla.subgraph_matches(graph.to("gpu"), text, count=True, **given) == len(rows)


@pytest.mark.thorough
@pytest.mark.parametrize("few", [0, 1 << 15])
@pytest.mark.parametrize(("text", "labels", "of_vertex"), CASES)
def test_all_labelled_patterns(
    text: str, labels: Labels, of_vertex: dict[int, int], few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matching, "FEW", few)
    for seed in range(40):
        check(seed, text, labels, of_vertex)


@pytest.mark.thorough
@pytest.mark.parametrize(("text", "labels", "of_vertex"), CASES)
def test_arrays_find_the_same(text: str, labels: Labels, of_vertex: dict[int, int]) -> None:
    with engines.programs_only():
        for seed in range(20):
            check(seed, text, labels, of_vertex)
