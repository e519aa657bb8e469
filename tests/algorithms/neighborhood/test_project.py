"""Projections of bipartite graphs: beside NetworkX's, on hard shapes, and what is said of what can't be."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

import gasla
import semirings
from gasla import Graph
from gasla.arrays import moved
from gasla.cli.compute import on_host
from gasla.verify import VerificationError
from tests import oracles

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]


def dense(graph: Graph) -> Any:
    return csr_array((graph.out_values, graph.out.indices, graph.out.indptr), shape=(graph.n, graph.n)).toarray()


def projected(graph: Any, side: Any, device: str = "cpu", **options: Any) -> Graph:
    made: Graph = on_host(gasla.project(Graph(graph).to(device), moved(np.asarray(side), device), **options))
    oracles.project(graph, side, made, counts=not options)
    assert made.origin is not None
    chosen = np.flatnonzero(side) if np.asarray(side).dtype == bool else side
    assert on_host(made.origin.vertices).tolist() == list(chosen)
    return made


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", ["both ways", "one way", "parallel"])
def test_projections_equal_networkxs(kind: str, device: str) -> None:
    for seed, (a, b, p) in enumerate([(12, 7, 0.3), (30, 40, 0.05), (5, 60, 0.2)]):
        made = nx.bipartite.random_graph(a, b, p, seed=seed)
        src, dst = np.array(made.edges, np.int32).reshape(-1, 2).T
        if kind == "both ways":
            src, dst = np.r_[src, dst], np.r_[dst, src]
        if kind == "parallel":
            src, dst = np.r_[src, dst, src], np.r_[dst, src, dst]
        for side in (range(a), range(a, a + b)):
            found = projected(Graph.from_edges(src, dst, n=a + b), np.array(side), device)
            expected = nx.to_numpy_array(nx.bipartite.weighted_projected_graph(made, side), nodelist=list(side))
            np.testing.assert_array_equal(dense(found), expected)


def test_a_side_by_colour_and_by_flag() -> None:
    graph = Graph.from_edges([0, 1, 1, 2, 5], [3, 3, 4, 4, 3], n=7)  # 6 has no neighbor
    colors = np.array([0, 0, 0, 1, 1, 0, 0])  # those of gasla.is_bipartite
    assert projected(graph, colors == 0).n == 5
    mask = np.arange(7) > 2
    mask[5] = False
    assert projected(graph, mask).out.indices.tolist() == [1, 0]


@pytest.mark.parametrize("device", DEVICES)
def test_values_are_combined(device: str) -> None:
    rating = np.array([[5, 0, 2], [1, 4, 0], [0, 3, 1.0]])
    whole = np.block([[np.zeros((3, 3)), rating], [np.zeros((3, 6))]])
    expected = rating @ rating.T * (1 - np.eye(3))
    for matrix in (whole, whole + whole.T):
        made = projected(csr_array(matrix), np.arange(3), device, combine=semirings.plus_times)
        np.testing.assert_array_equal(dense(made), expected)
    best = projected(csr_array(whole), np.arange(3), device, combine=semirings.Semiring(semirings.max, np.minimum))
    assert dense(best)[0].tolist() == [0, 1, 1]


@pytest.mark.parametrize("device", DEVICES)
def test_hard_shapes_give_right_answers(device: str) -> None:
    assert projected(Graph.from_edges([], [], n=0), np.zeros(0, int), device).n == 0
    assert projected(Graph.from_edges([], [], n=3), np.arange(2), device).m == 0
    star = Graph.from_edges(np.zeros(30, int), np.arange(1, 31))
    assert projected(star, np.arange(1, 31), device).m == 30 * 29
    assert projected(star, np.array([0]), device).m == 0


def test_names_go_along() -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"reader": ["ann", "bob", "bob"], "book": ["emma", "emma", "ulysses"]})
    graph = Graph.from_table(table, "reader", "book")
    made = gasla.project(graph, [graph.vertex("ann"), graph.vertex("bob")])
    assert made.names is not None and made.names.tolist() == ["ann", "bob"]


def test_attributes_of_vertices_go_along_and_those_of_edges_do_not() -> None:
    graph = Graph.from_edges([0, 1, 0], [2, 2, 3]).with_edge_attributes(time=[1, 2, 3])
    made = gasla.project(graph.with_vertex_attributes(height=[1, 2, 3, 4]), [1, 0])
    assert made.vertex_attributes["height"].tolist() == [2, 1]
    assert made.m == 2 and not made.edge_attributes


def test_an_invalid_side_is_refused() -> None:
    graph = Graph.from_edges([0, 1, 2], [3, 3, 1], n=5)
    with pytest.raises(ValueError, match="an edge joins 1 and 2, both of one side; expected a bipartite graph"):
        gasla.project(graph, [0, 1, 2])
    with pytest.raises(ValueError, match="an edge joins 0 and 3, both of one side"):
        gasla.project(graph, [1])
    with pytest.raises(ValueError, match="a vertex has a self loop"):
        gasla.project(Graph.from_edges([0], [0]), np.zeros(1, bool))
    with pytest.raises(ValueError, match="9"):
        gasla.project(graph, [9])


def test_the_verifier_rejects_wrong_answers() -> None:
    graph = Graph.from_edges([0, 1, 2], [3, 3, 3])
    made = gasla.project(graph, [0, 1, 2])
    wrong = {
        "has 2 vertices; expected 3": gasla.project(graph, [0, 1, 2]).subgraph([0, 1]),
        "edge 0 → 1 of the projection is missing": made.changed(remove=[0]),
        "superfluous": made.changed(insert=([0], [0], [1])),
        "has the value 2, not 1": made.with_values(made.values * 2),
    }
    for words, other in wrong.items():
        with pytest.raises(VerificationError, match=words):
            oracles.project(graph, [0, 1, 2], other)
