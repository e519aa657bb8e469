"""Biconnected components are NetworkX's, on hard shapes, along both ways to find them, and in a fixed order."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import gasla
from gasla import Graph, verify
from gasla.cli.compute import on_host
from tests.algorithms.components.test_bipartite_and_bridges import DEVICES, SHAPES, both_ways, of
from tests.helpers.law import Answer as Known
from tests.helpers.law import Asked, Law, Row
from tests.helpers.mutants import ALL, Array, Question, Questions, Small
from tests.helpers.mutants import Asked as Questioned


def asked(q: Asked) -> Known:
    found = on_host(gasla.biconnected_components(q.given))
    q.check(verify.biconnected_components, *found)
    labels = q.at_edges(found.labels)
    groups = [int(np.flatnonzero(labels == label)[0]) if label >= 0 else -1 for label in labels]
    return {"count": found.count, "groups": np.array(groups), "points": q.vertices(np.unique(found.tree[:, 0]))}


FALSE = Law("False", lambda before, then, now: {"biconnected": False})
LAWS = [
    Row("biconnected_components", asked),
    Row("is_biconnected", lambda q: {"biconnected": gasla.is_biconnected(q.given)}, isolated=FALSE),
]


def right(simple: nx.Graph, src: Array, dst: Array) -> dict[str, Any]:
    """NetworkX's answer, numbered as gasla's: by the smallest vertex except that nearest to the smallest of all."""
    found = []
    for ends in nx.biconnected_component_edges(simple):
        members = {v for edge in ends for v in edge}
        root = min(nx.node_connected_component(simple, min(members)))
        levels = nx.single_source_shortest_path_length(simple, root)
        found.append((min(members - {min(members, key=levels.__getitem__)}), members, {frozenset(e) for e in ends}))
    found.sort(key=lambda component: component[0])
    place = {pair: i for i, (_, _, pairs) in enumerate(found) for pair in pairs}
    labels = [place.get(frozenset((u, v)), -1) for u, v in zip(src.tolist(), dst.tolist(), strict=True)]
    cut = sorted(nx.articulation_points(simple))
    tree = [(v, i) for v in cut for i, (_, members, _) in enumerate(found) if v in members]
    return {"count": len(found), "labels": np.array(labels, int), "tree": np.array(tree, int).reshape(-1, 2)}


def components(g: Small) -> Questioned:
    """The question to the verifier."""
    yield Question(lambda **a: verify.biconnected_components(g.matrix, **a), right(g.simple, *g.matrix.edges()))


QUESTIONS: Questions = {"biconnected_components": (components, ALL)}


def check(given: Graph, graph: Graph) -> None:
    """Hold an answer, perhaps of a GPU, against NetworkX's."""
    src, dst = given.edges()
    simple = nx.Graph()
    simple.add_nodes_from(range(given.n))
    simple.add_edges_from((u, v) for u, v in zip(src.tolist(), dst.tolist(), strict=True) if u != v)
    found, theirs = on_host(gasla.biconnected_components(graph)), right(simple, src, dst)
    assert found.count == theirs["count"]
    np.testing.assert_array_equal(found.labels, theirs["labels"])
    np.testing.assert_array_equal(found.tree, theirs["tree"])
    assert found.labels.dtype == found.tree.dtype == given.id_dtype
    verify.biconnected_components(given, *found)
    assert gasla.is_biconnected(graph) == (given.n > 1 and nx.is_biconnected(simple))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_hard_shapes(device: Any, shape: str) -> None:
    graph = SHAPES[shape]()
    check(graph, graph.to(device))


@pytest.mark.parametrize("way", [pytest.param("programs", marks=pytest.mark.thorough), "deep"])
def test_vertex_programs_and_deep_graphs_give_the_same(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gasla.algorithms.components.spanning_forest.ONE_THREAD", -1)
    if way == "deep":
        monkeypatch.setattr("gasla.algorithms.components.spanning_forest.DEEP", (2, 1 << 12))
    for name in ("parallel arcs", "two rings and a bridge", "tree", "directed", "grid"):
        check(SHAPES[name](), SHAPES[name]())


@given(st.booleans(), st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=18))
@settings(max_examples=25, deadline=None)
def test_any_small_graph(both: bool, edges: list[tuple[int, int]]) -> None:
    graph = both_ways(9, *edges) if both else of(9, *edges)
    check(graph, graph)


def test_a_path_and_a_ring_of_many_vertices() -> None:
    n = 20_000
    path = Graph.from_edges(np.arange(n - 1), np.arange(1, n))
    count, labels, tree = gasla.biconnected_components(path)
    assert count == n - 1 and (labels == np.arange(n - 1)).all() and len(tree) == 2 * (n - 2)
    ring = Graph.from_edges(np.arange(n), np.roll(np.arange(n), -1))
    assert gasla.is_biconnected(ring) and gasla.biconnected_components(ring).count == 1
    assert not gasla.is_biconnected(path)


@pytest.mark.parametrize("function", [gasla.biconnected_components, gasla.is_biconnected])
def test_wrong_input_is_refused(function: Any) -> None:
    with pytest.raises(ValueError, match="a row and column per vertex"):
        function(csr_array((2, 3)))
