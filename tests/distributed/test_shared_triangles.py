"""Triangles of which each rank counts a share, with the whole graph, as cards do: here by the CPU's primitives."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import gasla
from gasla.cpu.primitive import neighbors
from gasla.distributed.collectives import joint_primitives
from gasla.distributed.collectives.triangles import count_on_replica
from gasla.graph.graph import Graph
from tests.algorithms.community.test_triangles import undirected
from tests.distributed.test_ranks import SHAPES, over, random_graph


def at_vertices(graph: Graph) -> np.ndarray:
    """The triangles at each vertex, by dense matrices."""
    src, dst = graph.edges()
    matrix = np.zeros((graph.n, graph.n), np.int64)
    matrix[src, dst] = matrix[dst, src] = 1
    np.fill_diagonal(matrix, 0)
    return np.asarray((matrix @ matrix * matrix).sum(axis=1) // 2)


def with_hubs() -> csr_array:
    """A random graph with a clique and two hubs, some hundred vertices: several shares."""
    matrix = undirected(700, 1500, 5, True).tolil()
    matrix[100:140, 100:140] = True
    for hub in (0, 650):
        matrix[hub, :] = matrix[:, hub] = True
    matrix.setdiag(False)
    return csr_array(matrix)


@pytest.fixture
def as_on_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_primitives, "count_triangles", count_on_replica)


@pytest.mark.usefixtures("as_on_cards")
@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("name", [*SHAPES, "random", "hubs"])
def test_triangles_are_counted_once(name: str, ranks: int) -> None:
    graph = {**SHAPES, "random": random_graph(), "hubs": Graph(with_hubs())}[name]
    spread, expected = over(graph, ranks), at_vertices(graph)
    for _ in range(2):  # the second call finds the simple graph and its replicas
        found = gasla.triangle_count(spread, per_vertex=True)
        np.testing.assert_array_equal(found.per_vertex, expected)
        assert found.total == gasla.triangle_count(spread) == expected.sum() // 3
    np.testing.assert_array_equal(gasla.clustering(spread), gasla.clustering(graph))


@pytest.mark.parametrize("way", ["merged", "by degree"])
@pytest.mark.parametrize("count", [1, 2, 5, 40])
def test_shares_add_up(way: str, count: int) -> None:
    """Also where there are fewer vertices than shares take."""
    for graph in (Graph(with_hubs()), Graph(undirected(20, 60, 1, True))):
        lists = graph.sorted_out if way == "merged" else neighbors.by_degree(graph)
        shares = [neighbors.count_common_neighbors(lists, True, (i, count)) for i in range(count)]
        expected = at_vertices(graph)
        np.testing.assert_array_equal(sum(counts for _, counts in shares), expected)
        totals = [neighbors.count_common_neighbors(lists, False, (i, count))[0] for i in range(count)]
        assert totals == [total for total, _ in shares] and sum(totals) == expected.sum() // 3
        if graph.n > 64 * count > 64:
            assert max(totals) < sum(totals)
