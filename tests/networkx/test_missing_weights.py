"""Weights that some edge lacks, or that are null, NaN or text: NetworkX's own answer, or its own error, or none."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import networkx as nx
import pytest

WEIGHTED: dict[str, Callable[..., Any]] = {
    "pagerank": lambda G, **k: nx.pagerank(G, weight="weight", **k),
    "dijkstra": lambda G, **k: nx.single_source_dijkstra_path_length(G, 0, weight="weight", **k),
    "shortest_path": lambda G, **k: nx.shortest_path(G, 0, 3, weight="weight", **k),
    "bellman_ford": lambda G, **k: nx.bellman_ford_path_length(G, 0, 3, weight="weight", **k),
    "betweenness": lambda G, **k: nx.betweenness_centrality(G, weight="weight", **k),
    "closeness": lambda G, **k: nx.closeness_centrality(G, distance="weight", **k),
    "eccentricity": lambda G, **k: nx.eccentricity(G, weight="weight", **k),
    "clustering": lambda G, **k: nx.clustering(G, weight="weight", **k),
    "katz": lambda G, **k: nx.katz_centrality(G, alpha=0.01, weight="weight", **k),
    "modularity": lambda G, **k: nx.community.modularity(G, [{0, 1, 2}, {3, 4}], weight="weight", **k),
    "spanning_edges": lambda G, **k: sorted(map(str, nx.minimum_spanning_edges(G, weight="weight", **k))),
    "maximum_flow": lambda G, **k: nx.maximum_flow_value(G, 0, 3, capacity="weight", **k),
    "adjacency": lambda G, **k: nx.to_numpy_array(G, weight="weight", **k).ravel().tolist(),
    "neighbor_degree": lambda G, **k: nx.average_neighbor_degree(G, weight="weight", **k),
    "ego_graph": lambda G, **k: sorted(nx.ego_graph(G, 0, radius=5, distance="weight", **k)),
}
ENDS = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2)]


def outcome(call: Callable[..., Any], *graph: Any, **backend: Any) -> tuple[bool, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return True, call(*graph, **backend)
        except Exception as error:
            return False, f"{type(error).__name__}: {error}"


@pytest.mark.thorough
@pytest.mark.parametrize("name", WEIGHTED)
def test_no_weight_is_made_up(name: str) -> None:
    kinds = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)
    for kind, place, missing in itertools.product(kinds, (0, 2, 5), (None, math.nan, "", "7", "absent")):
        G = kind()
        for number, (u, v) in enumerate(ENDS):
            data = {"weight": missing if number == place else number + 1}
            G.add_edge(u, v, **{key: x for key, x in data.items() if x != "absent"})
        is_right, theirs = outcome(WEIGHTED[name], G)
        is_answer, mine = outcome(WEIGHTED[name], G, backend="gasla")
        if is_answer:
            assert is_right, (kind, place, missing, theirs, mine)
            assert mine == pytest.approx(theirs, rel=1e-6, nan_ok=True) if name != "spanning_edges" else mine == theirs
        else:
            assert "NotImplementedError" in mine or mine == theirs, (kind, place, missing, theirs, mine)
