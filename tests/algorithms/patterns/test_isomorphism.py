"""Isomorphisms are those that NetworkX's matcher finds; colors and hashes are the same wherever there is one."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.isomorphism import DiGraphMatcher

import gasla
from gasla.graph.graph import Graph
from tests.helpers.law import Answer, Law, Row, only
from tests.helpers.law import Asked as LawAsked

Array = np.ndarray[Any, Any]
COUNTED: Law = only("each part counts")


def colors_of(q: LawAsked) -> Answer:
    return {"colors": q.groups(gasla.weisfeiler_lehman_colors(q.given).colors)}


def same_hash(q: LawAsked) -> Answer:
    turned = q.plain.subgraph(np.arange(q.n)[::-1])
    return {"same": gasla.weisfeiler_lehman_hash(q.given) == gasla.weisfeiler_lehman_hash(turned)}


def is_itself(q: LawAsked) -> Answer:
    return {"same": gasla.is_isomorphic(q.given, q.given)}


def turned_to_itself(q: LawAsked) -> Answer:
    return {"found": next(gasla.isomorphisms(q.given, q.given), None) is not None}


LAWS = [
    Row("weisfeiler_lehman_colors", colors_of, split=COUNTED),
    Row("weisfeiler_lehman_hash", same_hash),
    Row("is_isomorphic", is_itself),
    Row("isomorphisms", turned_to_itself),
]


def graph_of(ends: Array, n: int) -> tuple[Graph, nx.DiGraph]:
    other = nx.DiGraph()
    other.add_nodes_from(range(n))
    for u, v in ends.T.tolist():
        other.add_edge(u, v, count=other.get_edge_data(u, v, {"count": 0})["count"] + 1)
    return Graph.from_edges(*ends, n=n), other


def pair(seed: int) -> tuple[tuple[Graph, nx.DiGraph], tuple[Graph, nx.DiGraph]]:
    """Two graphs with loops and parallel edges, of which one is often the other."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    one = rng.integers(0, n, (2, int(rng.integers(0, 2 * n + 1))))
    two = rng.permutation(n)[one] if seed % 2 else rng.integers(0, n, one.shape)
    if seed % 3 == 0:
        one, two = (np.hstack([ends, ends[::-1]]) for ends in (one, two))
    return graph_of(one, n), graph_of(two, n)


@pytest.mark.parametrize("seeds", [range(60), pytest.param(range(60, 2000), marks=pytest.mark.slow, id="many")])
def test_isomorphisms_are_those_of_networkx(seeds: range) -> None:
    for seed in seeds:
        (one, a), (two, b) = pair(seed)
        matcher = DiGraphMatcher(a, b, edge_match=lambda x, y: x["count"] == y["count"])
        want = [[match[v] for v in range(one.n)] for match in matcher.isomorphisms_iter()]
        found = list(gasla.isomorphisms(one, two))
        assert sorted(each.tolist() for each in found) == sorted(want), seed
        assert gasla.is_isomorphic(one, two) == bool(want)
        colors, others = (gasla.weisfeiler_lehman_colors(graph).colors for graph in (one, two))
        assert all((colors == others[each]).all() for each in found), seed
        if want:
            assert gasla.weisfeiler_lehman_hash(one) == gasla.weisfeiler_lehman_hash(two)


def test_colors_are_split_until_neighbors_have_the_same() -> None:
    """By the definition, with sorted colors of neighbors in place of hashes."""
    for seed in range(40):
        (graph, other), _ = pair(seed)
        colors = [0] * graph.n
        for _ in range(graph.n):
            seen = [
                (
                    colors[v],
                    sorted((colors[u], other[v][u]["count"]) for u in other[v] for _ in range(other[v][u]["count"])),
                    sorted(
                        (colors[u], other[u][v]["count"]) for u in other.pred[v] for _ in range(other[u][v]["count"])
                    ),
                )
                for v in range(graph.n)
            ]
            seen = [(own, [c for c, _ in out], [c for c, _ in into]) for own, out, into in seen]
            colors = [sorted(seen).index(each) for each in seen]
        found = gasla.weisfeiler_lehman_colors(graph)
        groups = {(c, d) for c, d in zip(colors, found.colors.tolist(), strict=True)}
        assert len(groups) == len(set(colors)) == found.count == len(set(found.colors.tolist())), seed


def test_a_regular_graph_is_told_by_one_vertex_at_a_time() -> None:
    """All vertices have one color, until one has its own."""
    other = nx.random_regular_graph(3, 120, seed=1)
    graph = Graph.from_networkx(other)
    assert gasla.weisfeiler_lehman_colors(graph).count == 1
    turned = graph.subgraph(np.random.default_rng(2).permutation(120))
    found = next(gasla.isomorphisms(graph, turned))
    assert (turned.subgraph(found).to_scipy() != graph.to_scipy()).nnz == 0
    assert not gasla.is_isomorphic(graph, Graph.from_networkx(nx.random_regular_graph(3, 120, seed=5)))
    rings = [Graph.from_networkx(nx.disjoint_union(*map(nx.cycle_graph, sizes))) for sizes in ((3, 5), (4, 4))]
    assert not gasla.is_isomorphic(*rings)


def test_hard_shapes_take_no_longer_than_their_edges() -> None:
    n = 5000
    star = Graph.from_edges(np.zeros(n - 1, int), np.arange(1, n))
    for graph in (star, Graph.from_edges([], [], n=n), Graph.from_edges([], [], n=0)):
        turned = graph.subgraph(np.arange(graph.n)[::-1])
        assert gasla.is_isomorphic(graph, turned)
    assert not gasla.is_isomorphic(star, Graph.from_edges(np.zeros(n - 1, int), np.arange(n - 1), n=n))


def test_labels_of_vertices_have_to_agree() -> None:
    ring = Graph.from_edges([0, 1, 2], [1, 2, 0])
    found = list(gasla.isomorphisms(ring, ring, labels=[7, 7, 9], other_labels=[9, 7, 7]))
    assert [each.tolist() for each in found] == [[1, 2, 0]]
    assert not gasla.is_isomorphic(ring, ring, labels=[7, 7, 9], other_labels=[9, 9, 7])
    assert gasla.weisfeiler_lehman_colors(ring, labels=[7, 7, 9]).count == 3
    assert gasla.weisfeiler_lehman_colors(ring, labels=[7, 7, 9], max_iter=0).count == 2
    with pytest.raises(ValueError, match="labels and other_labels are for both"):
        gasla.is_isomorphic(ring, ring, labels=[1, 1, 1])
    with pytest.raises(ValueError, match="labels has 2 integers; expected 3, one per vertex"):
        gasla.weisfeiler_lehman_hash(ring, labels=[1, 2])


@pytest.mark.gpu
def test_colors_on_a_gpu_are_the_same() -> None:
    for seed in range(10):
        (graph, _), (other, _) = pair(seed)
        assert gasla.weisfeiler_lehman_hash(graph.to("gpu")) == gasla.weisfeiler_lehman_hash(graph)
        assert gasla.is_isomorphic(graph.to("gpu"), other.to("gpu")) == gasla.is_isomorphic(graph, other)
