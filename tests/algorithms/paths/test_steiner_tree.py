"""Steiner trees join the terminals, have no other leaves, and are no heavier than a spanning tree of the distances."""

import re
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import Graph, verify
from gasla.cli.compute import on_host
from tests.algorithms.community.test_edge_support import DEVICES, HARD, on
from tests.helpers.law import COPIED_WEIGHTS, WEIGHS_0, Asked, Row, only
from tests.helpers.mutants import ALL, Question, Questions, Small
from tests.helpers.mutants import Asked as Questioned

Array = np.ndarray[Any, Any]


def asked(q: Asked) -> dict[str, Any]:
    terminals = sorted({q.v(0), q.v(1), q.v(2)})
    found = gasla.steiner_tree(q.given, terminals)
    q.check(verify.steiner_tree, terminals, *on_host(found))
    return {"total": found.total} if len(terminals) == 1 else {}


LAWS = [
    Row(
        *("steiner_tree", asked),
        **{"weights": True, "split": COPIED_WEIGHTS, "zeros": WEIGHS_0},
        scaled=only("times the factor: verified"),
    )
]


def lightest(g: Small) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(g.n))
    for u, v, w in g.edges:
        if u != v:
            graph.add_edge(u, v, weight=min(w, graph.edges[u, v]["weight"] if graph.has_edge(u, v) else w))
    return graph


def trees(g: Small) -> Questioned:
    """The questions to the verifier."""
    graph, terminals = lightest(g), [0, g.n - 1, 2]
    reached = dict(nx.all_pairs_dijkstra_path_length(graph))
    closure = nx.Graph()
    closure.add_nodes_from(terminals)
    closure.add_weighted_edges_from((a, b, reached[a][b]) for a, b in combinations(terminals, 2) if b in reached[a])
    most = nx.minimum_spanning_tree(closure).size("weight")

    def is_right(edges: Array, total: float) -> bool:
        if edges.ndim != 1 or not all(0 <= e < len(g.edges) for e in edges) or len({*edges.tolist()}) < len(edges):
            return False
        tree = nx.Graph()
        tree.add_nodes_from(terminals)
        for e in edges.tolist():
            u, v, w = g.edges[e]
            if tree.has_edge(u, v) or u == v:
                return False
            tree.add_edge(u, v, weight=w)
        joined = nx.number_connected_components(tree) == nx.number_connected_components(closure)
        leaves = {v for v, degree in tree.degree if degree < 2}
        right = nx.is_forest(tree) and joined and leaves <= {*terminals}
        return bool(right and tree.size("weight") <= most + 1e-9 and np.isclose(total, tree.size("weight"), rtol=1e-9))

    found = gasla.steiner_tree(g.matrix, terminals)
    check = lambda edges, total: verify.steiner_tree(g.matrix, terminals, edges, total)
    yield Question(check, {"edges": found.edges, "total": found.total}, is_right)


QUESTIONS: Questions = {"steiner_tree": (trees, ALL)}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", HARD)
def test_hard_shapes(device: Any, shape: str) -> None:
    graph = on(device, HARD[shape])
    for terminals in ([], [*range(min(graph.n, 1))], [*range(graph.n)]):
        found = gasla.steiner_tree(graph, terminals)
        verify.steiner_tree(on("cpu", HARD[shape]), terminals, *on_host(found))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.integers(0, 30), st.integers(0, 10**6))
def test_trees_of_random_graphs(n: int, m: int, seed: int) -> None:
    """With loops, parallel edges, equal lengths and lengths of 0; never above twice the lightest tree."""
    random = np.random.default_rng(seed)
    graph = Graph.from_edges(*random.integers(0, n, (2, m)), random.integers(0, 4, m), n=n)
    terminals = random.choice(n, random.integers(1, n + 1), replace=False).tolist()
    found = gasla.steiner_tree(graph, terminals)
    verify.steiner_tree(graph, terminals, *found)
    src, dst = graph.edges()
    plain = nx.Graph()
    plain.add_nodes_from(range(n))
    for u, v, w in sorted(
        zip(src.tolist(), dst.tolist(), graph.values.tolist(), strict=True), key=lambda edge: -edge[2]
    ):
        plain.add_edge(u, v, weight=w)
    least = sum(lightest_tree(plain, [t for t in terminals if t in part]) for part in nx.connected_components(plain))
    assert least <= found.total <= 2 * least


def lightest_tree(graph: nx.Graph, terminals: list[int]) -> float:
    """The weight of the lightest tree that joins terminals, by trying all sets of other vertices."""
    if len(terminals) < 2:
        return 0
    others, best = [v for v in graph if v not in terminals], np.inf
    for size in range(len(others) + 1):
        for some in combinations(others, size):
            part = graph.subgraph([*terminals, *some])
            if nx.is_connected(part):
                best = min(best, nx.minimum_spanning_tree(part).size("weight"))
    return best


def test_a_hub_joins_its_leaves_and_names_are_terminals() -> None:
    star = Graph.from_networkx(nx.star_graph(["hub", "a", "b", "c", "d"]))
    found = gasla.steiner_tree(star, ["a", "c"])
    src, dst = star.edges()
    assert found.total == 2
    assert {*star.name(np.concatenate([src[found.edges], dst[found.edges]])).tolist()} == {"hub", "a", "c"}


@pytest.mark.parametrize(
    ("terminals", "weights", "message"),
    [
        ([0, 7], [1.0, 1.0], "terminals: vertex 7 is outside a graph of 3 vertices"),
        (3, [1.0, 1.0], "terminals is 3; expected several vertices"),
        ([0, 2], [1.0, -1.0], "edge 1 has the length -1.0; expected 0 or more"),
    ],
)
def test_wrong_arguments_are_refused(terminals: Any, weights: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        gasla.steiner_tree(Graph.from_edges([0, 1], [1, 2], weights), terminals)
