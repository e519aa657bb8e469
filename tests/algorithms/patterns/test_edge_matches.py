"""Matches of edges, with conditions between them and sums over them, against all maps; laws; what is refused."""

from collections.abc import Callable
from itertools import permutations, product
from typing import Any

import networkx as nx
import numpy as np
import pytest

import gasla
import semirings
from gasla.algorithms.patterns import edge_matching
from gasla.algorithms.patterns.edge_conditions import Pair, edges_of
from gasla.algorithms.patterns.pattern import Pattern
from gasla.graph.graph import Graph

Tests = dict[Any, Callable[..., Any]]
Found = set[tuple[int, ...]]
PATTERNS = (
    *("0>1,1>2,2>0", "0>1,1>2", "0>1,1>0", "0>1,0>2,1>3,2>3", "0>1,1>2,2>3,3>0", "0>1,0>2,0>3", "0>1"),
    *("triangle", "cycle4", "path3", "star3", "0-1", "paw"),
)


def example(seed: int, symmetric: bool = False) -> Graph:
    """A small graph with loops, parallel edges and a vertex without edges, times and amounts."""
    rng = np.random.default_rng(seed)
    n, m = 5 + seed % 2, 8 + seed % 9
    src, dst = rng.integers(0, n - 1, (2, m))
    time, amount = rng.integers(0, 12, m), rng.integers(1, 5, m)
    if symmetric:
        src, dst = np.concatenate([src, dst]), np.concatenate([dst, src])
        time, amount = np.tile(time, 2), np.tile(amount, 2)
    graph = Graph.from_edges(src, dst, n=n).with_edge_attributes(time=time, amount=amount)
    return graph.weighted_by("amount")


def matches(
    graph: Graph, pattern: Pattern, where: dict[Pair, Any], between: dict[tuple[Pair, Pair], Any], induced: bool
) -> list[Found]:
    """All matches by trying all maps: of each the images that fulfill the same conditions."""
    src, dst = (ends.tolist() for ends in graph.edges())
    pairs, both = edges_of(pattern), set(zip(src, dst, strict=True))
    both |= set() if pattern.directed else {(v, u) for u, v in both}
    once = graph.is_symmetric and graph.has_symmetric_values and not pattern.directed
    found: dict[frozenset[int], Found] = {}
    by_ends: dict[Pair, list[int]] = {}
    for e, (u, v) in enumerate(zip(src, dst, strict=True)):
        for ends in [(u, v)] if pattern.directed or u == v else [(u, v), (v, u)]:
            if u != v and not (once and u > v):
                by_ends.setdefault(ends, []).append(e)
    others = [p for p in permutations(range(pattern.size), 2) if p not in pattern.edges]
    for row in permutations(range(graph.n), pattern.size):
        if induced and any((row[u], row[v]) in both for u, v in others):
            continue
        choices = [
            [e for e in by_ends.get((row[u], row[v]), []) if (u, v) not in where or where[u, v](e)] for u, v in pairs
        ]
        for chosen in product(*choices):
            at = dict(zip(pairs, chosen, strict=True))
            if all(test(at[a], at[b]) for (a, b), test in between.items()):
                found.setdefault(frozenset(chosen), set()).add(chosen)
    return list(found.values())


def smallest(found: list[Found], group: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Of each orbit under permutations of the pattern's edges the smallest."""
    return sorted({min(tuple(row[k] for k in a) for a in group) for orbit in found for row in orbit})


def check(seed: int, text: str, kind: int) -> None:
    graph, pattern = example(seed, "-" in text and seed % 2 == 0), Pattern.of(text)
    time, amount = graph.edge_attributes["time"], graph.edge_attributes["amount"]
    pairs, sign = edges_of(pattern), ">" if pattern.directed else "-"
    names = [f"{u}{sign}{v}" for u, v in pairs]
    options: dict[str, Any] = {"edges": True}
    where: dict[Pair, Any] = {}
    between: dict[tuple[Pair, Pair], Any] = {}
    if kind % 2:
        where[pairs[-1]] = lambda e: amount[e] > 2
        options["where"] = {names[-1]: lambda edge: edge.amount > 2}
    if kind >= 2 and len(pairs) > 1:
        between[pairs[0], pairs[1]] = lambda a, b: time[a] < time[b] <= time[a] + 6
        options["between"] = {(names[0], names[1]): lambda one, two: (one.time < two.time) & (two.time - one.time <= 6)}
    if kind >= 4 and len(pairs) > 2:
        between[pairs[1], pairs[2]] = between[pairs[0], pairs[1]]
        options["between"][names[1], names[2]] = lambda a, b: (a.time < b.time) & (b.time - a.time <= 6)
    for induced in (False, True):
        group = group_of(graph, pattern, where, between)
        wanted = smallest(matches(graph, pattern, where, between, induced), group)
        found: Any = gasla.subgraph_matches(graph, text, induced=induced, **options)
        assert sorted(map(tuple, found.tolist())) == wanted, (seed, text, kind)
        assert gasla.subgraph_matches(graph, text, induced=induced, count=True, **options) == len(wanted)
        tally: Any = gasla.subgraph_matches(graph, text, induced=induced, per_edge=True, **options)
        assert tally.tolist() == np.bincount(found.ravel(), minlength=graph.m).tolist()
        sums: Any = gasla.subgraph_matches(graph, text, induced=induced, semiring=semirings.plus_times, **options)
        assert sums == sum(int(np.prod(amount[list(row)])) for row in wanted)
        least: Any = gasla.subgraph_matches(graph, text, induced=induced, semiring=semirings.min_plus, **options)
        assert not wanted or least == min(int(amount[list(row)].sum()) for row in wanted)


def group_of(graph: Graph, pattern: Pattern, where: Any, between: Any) -> list[tuple[int, ...]]:
    """The automorphisms that keep conditions, as permutations of the edges, by NetworkX."""
    pairs = edges_of(pattern)
    peer: Any = nx.DiGraph() if pattern.directed else nx.Graph()
    peer.add_nodes_from(range(pattern.size))
    for pair in pairs:
        peer.add_edge(*pair, fits=pair in where)
    matcher: Any = nx.isomorphism.DiGraphMatcher if pattern.directed else nx.isomorphism.GraphMatcher
    found = set()
    for a in matcher(peer, peer, None, lambda x, y: x["fits"] == y["fits"]).isomorphisms_iter():
        images = [(a[u], a[v]) if pattern.directed or a[u] < a[v] else (a[v], a[u]) for u, v in pairs]
        to = dict(zip(pairs, images, strict=True))
        if {(to[x], to[y]) for x, y in between} == set(between):
            found.add(tuple(pairs.index(image) for image in images))
    return sorted(found)


@pytest.mark.parametrize("text", PATTERNS)
def test_edges_are_those_of_all_maps(text: str) -> None:
    for seed in range(4):
        check(seed, text, seed + 2 * (seed > 1))


@pytest.mark.thorough
@pytest.mark.parametrize("text", PATTERNS)
def test_many_matches_of_edges(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_matching, "PART", 3)
    for seed in range(40):
        check(seed, text, (seed // 2) % 6)


def test_renaming_and_isolated_vertices_change_nothing() -> None:
    rng = np.random.default_rng(0)
    between = {("0>1", "1>2"): lambda a, b: a.time < b.time, ("1>2", "2>0"): lambda a, b: a.time < b.time}
    for seed in range(20):
        graph = example(seed)
        src, dst = graph.edges()
        to = rng.permutation(graph.n + 3)[: graph.n]
        renamed = Graph.from_edges(to[src], to[dst], n=graph.n + 3).with_edge_attributes(
            time=graph.edge_attributes["time"]
        )
        options: dict[str, Any] = {"edges": True, "between": between, "where": {"0>1": lambda edge: edge.time >= 3}}
        rows: list[Any] = [gasla.subgraph_matches(g, "0>1,1>2,2>0", **options) for g in (graph, renamed)]
        assert sorted(rows[0].tolist()) == sorted(rows[1].tolist())


def test_conditions_that_always_hold_change_nothing() -> None:
    for seed in range(10):
        graph = example(seed)
        wanted: Any = gasla.subgraph_matches(graph, "0>1,1>2", edges=True)
        always = {("0>1", "1>2"): lambda earlier, later: earlier.id >= 0, ("1>2", "0>1"): lambda earlier, later: True}
        found: Any = gasla.subgraph_matches(graph, "0>1,1>2", edges=True, between=always)
        assert sorted(found.tolist()) == sorted(wanted.tolist())
        src, dst = graph.edges()
        vertices: Any = gasla.subgraph_matches(graph, "0>1,1>2")
        distinct = {(u, v, w) for u, v, w in zip(src[found[:, 0]], dst[found[:, 0]], dst[found[:, 1]], strict=True)}
        assert distinct == set(map(tuple, vertices.tolist()))


def test_matches_of_edges_are_temporal_cycles() -> None:
    graph = Graph(gasla.datasets.rmat(8, 4))
    graph = graph.with_edge_attributes(time=np.random.default_rng(0).integers(0, 100, graph.m))
    later = lambda a, b: a.time < b.time
    window = lambda a, b: b.time - a.time <= 10
    conditions = {("0>1", "1>2"): later, ("1>2", "2>0"): later, ("0>1", "2>0"): window}
    found = gasla.subgraph_matches(graph, "0>1,1>2,2>0", edges=True, between=conditions, count=True)
    assert found == gasla.temporal_cycles(graph, 3, 10, min_length=3, count=True)
    blocks: Any = gasla.subgraph_matches(graph, "0>1,1>2,2>0", edges=True, between=conditions, block=5)
    assert sum(map(len, blocks)) == found


def test_empty_graphs_have_no_matches() -> None:
    for graph in (Graph.from_edges([], [], n=0), Graph.from_edges([], [], n=3), Graph.from_edges([1], [1], n=2)):
        graph = graph.with_values(np.ones(graph.m))
        rows: Any = gasla.subgraph_matches(graph, "0>1,1>2", edges=True)
        tally: Any = gasla.subgraph_matches(graph, "triangle", edges=True, per_edge=True)
        assert rows.shape == (0, 2)
        assert tally.tolist() == [0] * graph.m
        assert gasla.subgraph_matches(graph, "triangle", edges=True, semiring=semirings.min_plus) == np.inf
        assert gasla.subgraph_matches(graph, "0>1", where={"0>1": lambda edge: edge.weight > 0}, count=True) == 0


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"between": {}}, ValueError, "between is {}, and edges is False; expected edges=True"),
        ({"per_edge": True}, ValueError, "per_edge is True, and edges is False"),
        ({"edges": True, "between": 5}, TypeError, "between is 5; expected a mapping"),
        ({"edges": True, "between": {"0>1": 5}}, TypeError, "between has '0>1'; expected two edges"),
        ({"edges": True, "between": {("0>1", (0, 1)): 5}}, ValueError, "an edge twice"),
        ({"edges": True, "between": {("0>1", "1>3"): 5}}, ValueError, "'1>3', which is no edge of the pattern"),
        (
            {"edges": True, "between": {("0>1", "1>2"): lambda a: a}},
            TypeError,
            "expected a function of earlier and later",
        ),
        ({"edges": True, "semiring": "min_plus"}, TypeError, "did you mean semirings.min_plus"),
        ({"edges": True, "semiring": semirings.min_secondi}, ValueError, "multiplies by indices"),
        ({"edges": True, "semiring": semirings.min_plus, "count": True}, ValueError, "two of count, per_vertex"),
        ({"edges": True, "limit": 0}, ValueError, "more than 0 matches"),
        ({"where": {"0>1": 5}}, TypeError, r"where\[\(0, 1\)\] is 5; expected a function of edge"),
        ({"where": {"0>1": lambda edge: edge.tiem > 3}}, AttributeError, "no field 'tiem'; it has amount, id, time"),
        ({"where": {"0>1": lambda edge: edge.time}}, TypeError, "expected True or False: a comparison"),
        ({"where": {"0-1": lambda edge: edge.time > 1}}, TypeError, "where has '0-1'; expected edges of the pattern"),
        ({"where": 5}, TypeError, "where is 5; expected a mapping of edges"),
        ({"edge_labels": "time"}, ValueError, "edge_labels is 'time', and pattern_edge_labels is None"),
        ({"pattern_edge_labels": {(0, 1): 1}}, ValueError, "and edge_labels is None"),
        ({"edge_labels": "x", "pattern_edge_labels": {(0, 1): 1}}, ValueError, "'x' is no edge attribute"),
        ({"edge_labels": [1], "pattern_edge_labels": {(0, 1): 1}}, TypeError, r"int64\(1,\); expected .* edges"),
        ({"edge_labels": "time", "pattern_edge_labels": {(0, 1): "a"}}, TypeError, "has 'a', and labels are int64"),
    ],
)
def test_what_is_refused(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        gasla.subgraph_matches(example(3), "0>1,1>2", **options)


def test_patterns_without_edges_and_graphs_without_values_are_refused() -> None:
    with pytest.raises(ValueError, match="the pattern has no edges"):
        gasla.subgraph_matches(example(0), [[0]], edges=True)
    with pytest.raises(ValueError, match="the graph has no values"):
        gasla.subgraph_matches(Graph.from_edges([0], [1]), "0>1", edges=True, semiring=semirings.plus_times)
