"""Depth-first orders and dominators are NetworkX's, and right on hard shapes."""

import re
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla import Graph, verify
from tests.algorithms.community.test_edge_support import HARD, on
from tests.helpers.law import Answer, Asked, Row, only
from tests.helpers.mutants import ALL, Question, Questions, Small
from tests.helpers.mutants import Asked as Questioned


def dominated(q: Asked) -> Answer:
    found = gasla.dominators(q.given, q.v(0))
    q.check(verify.dominators, q.v(0), found)
    at = q.at_vertices(found)
    return {"dominators": np.where(at < 0, -1, q.was[at])}


def visited(q: Asked) -> Answer:
    found = gasla.depth_first_order(q.given, q.v(0))
    q.check(verify.depth_first_order, *found, q.v(0))
    return {"visited": q.vertices(found.preorder), "order": q.was[found.preorder]}


ANOTHER = only("another order: verified", "visited")
LAWS = [
    Row("dominators", dominated, gpu=False),
    Row("depth_first_order", visited, gpu=False, order=ANOTHER, renamed=ANOTHER, split=ANOTHER, forms=ANOTHER),
]


def trees(g: Small) -> Questioned:
    """The questions to the verifier of dominators."""
    for source in (0, g.n - 1):
        above = nx.immediate_dominators(g.directed, source) | {source: source}
        right = np.array([above.get(v, -1) for v in range(g.n)], np.int32)
        yield Question(lambda found, v=source: verify.dominators(g.matrix, v, found), {"found": right})


def orders(g: Small) -> Questioned:
    """The questions to the verifier of depth-first orders; NetworkX follows the lists of the matrix."""
    lists = g.matrix.out
    graph = nx.DiGraph()
    graph.add_nodes_from(range(g.n))
    graph.add_edges_from(zip(lists.owners().tolist(), lists.indices.tolist(), strict=True))
    for source in (0, None):
        before, after = (np.array([*f(graph, source)]) for f in (nx.dfs_preorder_nodes, nx.dfs_postorder_nodes))
        parents = np.full(g.n, -1)
        parents[before] = before
        for u, v in nx.dfs_edges(graph, source):
            parents[v] = u
        answer = {"preorder": before, "postorder": after, "parents": parents}
        yield Question(lambda v=source, **a: verify.depth_first_order(g.matrix, **a, source=v), answer)


QUESTIONS: Questions = {"dominators": (trees, (*ALL, "acyclic")), "depth_first_order": (orders, (*ALL, "acyclic"))}


def check(graph: Graph, source: int) -> None:
    src, dst = graph.edges()
    theirs = nx.DiGraph()
    theirs.add_nodes_from(range(graph.n))
    theirs.add_edges_from(zip(src.tolist(), dst.tolist(), strict=True))
    found = gasla.dominators(graph, source)
    above = nx.immediate_dominators(theirs, source) | {source: source}
    assert found.tolist() == [above.get(v, -1) for v in range(graph.n)]
    verify.dominators(graph, source, found)
    for start in (source, None):
        order = gasla.depth_first_order(graph, start)
        assert order.preorder.tolist() == [*nx.dfs_preorder_nodes(theirs, start)]
        assert order.postorder.tolist() == [*nx.dfs_postorder_nodes(theirs, start)]
        verify.depth_first_order(graph, *order, start)
    assert found.dtype == order.preorder.dtype == order.parents.dtype == graph.id_dtype


@pytest.mark.parametrize("shape", HARD)
def test_hard_shapes(shape: str) -> None:
    graph = on("cpu", HARD[shape])
    if graph.n:
        check(graph, 0)
    assert [len(part) for part in gasla.depth_first_order(graph)] == [graph.n] * 3


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 12), st.integers(0, 40), st.integers(0, 10**6))
def test_random_graphs(n: int, m: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    check(Graph.from_edges(*random.integers(0, n, (2, m)), n=n), int(random.integers(n)))


def test_long_ways_and_chains_of_detours() -> None:
    """A path of which every other vertex can be passed by, and whose end leads back to all."""
    n = 20_001
    v = np.arange(n)
    even = v[:-2:2]
    src, dst = np.r_[v[:-1], even, np.full(n, n - 1)], np.r_[v[1:], even + 2, v]
    graph = Graph.from_edges(src, dst)
    found = gasla.dominators(graph, 0)
    assert (found[1:] == np.r_[[(0, 0)], np.column_stack([even[1:], even[1:]])].ravel()[: n - 1]).all()
    assert (gasla.depth_first_order(graph, 0).preorder == v).all()


def test_names_and_the_exit_of_a_program() -> None:
    flow = nx.DiGraph([("in", "test"), ("test", "then"), ("test", "else"), ("then", "out"), ("else", "out")])
    graph = Graph.from_networkx(flow)
    assert graph.name(gasla.dominators(graph, "in")[graph.vertex("out")]) == "test"
    assert graph.name(gasla.dominators(graph.reversed(), "out")[graph.vertex("test")]) == "out"


@pytest.mark.parametrize("function", [gasla.dominators, gasla.depth_first_order])
@pytest.mark.parametrize("source", [3, -1, 1.5, "a"])
def test_a_source_that_is_no_vertex_is_refused(function: Any, source: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(str(source))):
        function(Graph.from_edges([0, 1], [1, 2]), source)
