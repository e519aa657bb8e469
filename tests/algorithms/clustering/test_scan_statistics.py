"""Scan statistics: beside NetworkX's ego graphs, on hard shapes."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

import gasla
from gasla import verify
from gasla.verify import VerificationError
from tests.algorithms.community.test_edge_support import HARD, Edges, on, peer, plain
from tests.algorithms.community.test_triangles import edge_lists

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]


def check(device: Any, edges: Edges) -> None:
    graph, other = on(device, edges), peer(*edges)
    simple = nx.Graph(other)
    simple.remove_edges_from(list(nx.selfloop_edges(simple)))
    found = plain(gasla.scan_statistics(graph))
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, [nx.ego_graph(simple, v).size() for v in range(graph.n)])
    verify.scan_statistics(on("cpu", edges), found)


@settings(max_examples=30, deadline=None)
@given(edges=edge_lists())
def test_scan_statistics_are_sizes_of_ego_graphs(edges: Edges) -> None:
    check("cpu", edges)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", HARD)
def test_hard_shapes_have_scan_statistics(shape: str, device: Any) -> None:
    check(device, HARD[shape])


def test_the_verifier_rejects_wrong_numbers() -> None:
    graph = gasla.Graph.from_edges([0, 1, 2], [1, 2, 0])
    with pytest.raises(VerificationError, match="3 edges are among vertex 0 and its neighbors, not 4"):
        verify.scan_statistics(graph, [4, 3, 3])
