"""Triangles over cards have the counts of one card and of SciPy. Ranks may share a card, so one card suffices here."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import gasla
from gasla import distributed
from gasla.arrays import device_of
from gasla.distributed.collectives import joint_primitives
from gasla.graph.graph import Graph
from tests.algorithms.community.test_triangles import scipy_triangles, undirected
from tests.distributed.test_ranks import SHAPES, random_graph
from tests.distributed.test_shared_triangles import at_vertices, with_hubs
from tests.gpu.test_components_over_cards import ranks

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("name", [*SHAPES, "random", "hubs"])
def test_shapes(name: str, size: int) -> None:
    graph = {**SHAPES, "random": random_graph(), "hubs": Graph(with_hubs())}[name]
    spread, expected = distributed.Graph.from_graph(graph, ranks(size)), at_vertices(graph)
    for _ in range(2):  # the second call finds the simple graph and its replicas
        found: Any = gasla.triangle_count(spread, per_vertex=True)
        np.testing.assert_array_equal(found.per_vertex, expected)
        assert found.total == gasla.triangle_count(spread) == expected.sum() // 3
    np.testing.assert_allclose(gasla.clustering(spread), gasla.clustering(graph.to("gpu")).get(), rtol=1e-12)


@pytest.mark.parametrize(("n", "m", "skewed"), [(3000, 100_000, True), (20_000, 300_000, False)])
def test_larger_graphs_and_without_room(n: int, m: int, skewed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists are looked up, or merged."""
    matrix: csr_array = undirected(n, m, 3, skewed)
    spread, expected = distributed.Graph.from_graph(Graph(matrix), ranks(2)), scipy_triangles(matrix)
    found: Any = gasla.triangle_count(spread, per_vertex=True)
    np.testing.assert_array_equal(found.per_vertex, expected)
    handle, name = found.per_vertex.handle, found.per_vertex.name
    assert handle.ranks.each(lambda rank, key: device_of(rank.kept[key][name]), handle.key) == ["gpu", "gpu"]
    monkeypatch.setattr(joint_primitives, "rooms", lambda graph: [np.inf, 0])
    again: Any = gasla.triangle_count(spread, per_vertex=True)
    assert found.total == again.total == expected.sum() // 3
    np.testing.assert_array_equal(again.per_vertex, expected)
