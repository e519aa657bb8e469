"""Patterns with labels of vertices against NetworkX; numbers per vertex; blocks of matches."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.isomorphism import DiGraphMatcher, GraphMatcher, categorical_node_match

import gasla
from gasla import engines
from gasla.algorithms.patterns import matching
from gasla.algorithms.patterns.pattern import Pattern
from gasla.graph.graph import Graph
from tests.algorithms.patterns.test_cliques import complete, random_edges

HOUSE = "0-1,1-2,2-3,3-0,0-4,1-4"
CASES: list[tuple[str, dict[int, int]]] = [
    *((HOUSE, {4: 1}), (HOUSE, {0: 0, 1: 1, 3: 2}), ("path3", {0: 1, 2: 1}), ("cycle5", dict.fromkeys(range(5), 0))),
    *(("0>1,1>2,2>3,3>0", {0: 2}), ("star4", {0: 1, 1: 0, 2: 0, 3: 2}), ("0-1", {1: 1}), ("triangle", {0: 0, 1: 0})),
    *(("0>1,1>2,1>3,3>4,4>1", {1: 0, 3: 1}), ("0-1,1-2,0-2,0-3,1-4", {3: 0, 4: 0, 2: 1})),
]


def rows_of(graph: Any, pattern: Any, induced: bool) -> set[tuple[int, ...]]:
    """All maps by NetworkX; vertices of the pattern without a label match all."""
    kind: Any = DiGraphMatcher if graph.is_directed() else GraphMatcher
    matcher = kind(graph, pattern, lambda a, b: b["label"] is None or a["label"] == b["label"])
    found = matcher.subgraph_isomorphisms_iter() if induced else matcher.subgraph_monomorphisms_iter()
    return {tuple(sorted(match, key=match.__getitem__)) for match in found}


def check(seed: int, text: str, labels: dict[int, int]) -> None:
    n, density = 5 + seed % 4, 0.15 + 0.08 * (seed % 8)
    _, src, dst = random_edges(n, seed, density)
    pattern, of = Pattern.of(text), np.random.default_rng(seed).integers(0, 3, n)
    kind: Any = nx.DiGraph if pattern.directed else nx.Graph
    peer, small = kind(), kind()
    peer.add_nodes_from((v, {"label": int(of[v])}) for v in range(n))
    peer.add_edges_from((u, v) for u, v in zip(src.tolist(), dst.tolist()) if u != v)
    small.add_nodes_from((v, {"label": labels.get(v)}) for v in range(pattern.size))
    small.add_edges_from(pattern.edges)
    matcher: Any = DiGraphMatcher if pattern.directed else GraphMatcher
    orders = [
        [a[v] for v in range(pattern.size)]
        for a in matcher(small, small, categorical_node_match("label", None)).isomorphisms_iter()
    ]
    graph = Graph.from_edges(src, dst, n=n).with_vertex_attributes(kind=of)
    for induced in (False, True):
        rows = rows_of(peer, small, induced)
        wanted = sorted({min(tuple(row[v] for v in order) for order in orders) for row in rows})
        options: dict[str, Any] = {"labels": "kind", "pattern_labels": labels, "induced": induced}
        found: Any = gasla.subgraph_matches(graph, text, **options)
        assert sorted(map(tuple, found.tolist())) == wanted
        assert gasla.subgraph_matches(graph, text, count=True, **options) == len(wanted)
        tallied: Any = gasla.subgraph_matches(graph, text, per_vertex=True, **options)
        assert tallied.tolist() == np.bincount(found.ravel(), minlength=n).tolist()


@pytest.mark.parametrize(("text", "labels"), CASES[:4])
def test_labels_are_those_of_networkx(text: str, labels: dict[int, int]) -> None:
    for seed in (3, 8, 10, 12, 13, 15):  # others match the labels in further orders, each compiled for seconds
        check(seed, text, labels)


@pytest.mark.thorough
@pytest.mark.parametrize("few", [0, 1 << 15])
@pytest.mark.parametrize(("text", "labels"), CASES)
def test_all_labelled_patterns(text: str, labels: dict[int, int], few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "FEW", few)
    for seed in range(60):
        check(seed, text, labels)


@pytest.mark.thorough
@pytest.mark.parametrize(("text", "labels"), CASES)
def test_arrays_find_the_same(text: str, labels: dict[int, int]) -> None:
    with engines.programs_only():
        for seed in range(30):
            check(seed, text, labels)


def test_labels_in_any_form() -> None:
    graph = complete(4)
    names = ["ann", "bob", "ann", "eve"]
    wanted = gasla.subgraph_matches(graph, "path3", labels=[0, 1, 0, 2], pattern_labels={0: 0, 1: 2, 2: 0})
    assert wanted.tolist() == [[0, 3, 2]]  # type: ignore[union-attr]
    for labels in (names, np.array(names), np.array(names, object), np.array(names, "S")):
        given = ["ann", "eve", "ann"]
        asked = [one.encode() for one in given] if getattr(labels, "dtype", np.dtype("U")).kind == "S" else given
        found = gasla.subgraph_matches(graph, "path3", labels=labels, pattern_labels=asked)
        np.testing.assert_array_equal(found, wanted)
    assert gasla.subgraph_matches(graph, "path3", labels=names, pattern_labels={0: "zoe"}, count=True) == 0
    one_each = gasla.subgraph_matches(graph, "triangle", labels=names, pattern_labels=["bob", None, "eve"])
    assert one_each.tolist() == [[1, 0, 3], [1, 2, 3]]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"labels": [0] * 4}, ValueError, r"labels is \[0, 0, 0, 0\], and pattern_labels is None"),
        ({"pattern_labels": {0: 1}}, ValueError, "pattern_labels is {0: 1}, and labels is None"),
        ({"labels": "kind", "pattern_labels": {0: 1}}, ValueError, "labels: 'kind' is no vertex attribute"),
        (
            {"labels": [0] * 3, "pattern_labels": {0: 1}},
            TypeError,
            r"labels is int64\(3,\); expected .* the 4 vertices",
        ),
        ({"labels": [0.5] * 4, "pattern_labels": {0: 1}}, TypeError, "labels is float64"),
        ({"labels": [0] * 4, "pattern_labels": {0: "a"}}, TypeError, "has 'a', and labels are int64"),
        ({"labels": [0] * 4, "pattern_labels": {3: 0}}, ValueError, "has vertex 3; expected vertices 0 to 2"),
        ({"labels": [0] * 4, "pattern_labels": [1, 2]}, TypeError, "expected a mapping of vertices 0 to 2"),
        ({"labels": [0] * 4, "pattern_labels": {0: [1]}}, TypeError, "expected strings or whole numbers"),
        ({"count": True, "block": 5}, ValueError, "two of count, per_vertex, per_edge, semiring, block"),
        ({"block": 0}, ValueError, "block is 0; expected 1 or more"),
    ],
)
def test_what_is_refused(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        gasla.subgraph_matches(complete(4), "triangle", **options)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_blocks_have_all_matches_in_order(size: int) -> None:
    graph = complete(7)
    for pattern in ("cycle5", "path3"):
        blocks: Any = gasla.subgraph_matches(graph, pattern, block=size)
        blocks = [*blocks]
        assert max(map(len, blocks)) <= size
        np.testing.assert_array_equal(np.concatenate(blocks), gasla.subgraph_matches(graph, pattern))


def test_the_first_block_of_too_many_matches() -> None:
    """Some 10^14 matches; the first ones are found at once."""
    first: Any = next(gasla.subgraph_matches(complete(1000), "cycle5", block=10))  # type: ignore[call-overload]
    assert first.shape == (10, 5)
    assert len({tuple(row) for row in first.tolist()}) == 10
