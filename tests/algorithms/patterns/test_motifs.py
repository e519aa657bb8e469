"""Motifs and triads, against NetworkX and by looking at every set of vertices."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla.algorithms.patterns import exact_sums, match_counts
from gasla.graph.graph import Graph
from tests import oracles
from tests.algorithms.community.test_edge_support import DEVICES, HARD, on
from tests.algorithms.community.test_triangles import edge_lists
from tests.algorithms.patterns.test_cliques import complete, random_edges
from tests.algorithms.patterns.test_directed_patterns import peer

SMALL = st.integers(1, 12), st.integers(0, 2**32 - 1), st.floats(0, 1)


@pytest.mark.parametrize("device", DEVICES)
@settings(max_examples=25)
@given(*SMALL)
def test_motifs_of_random_graphs_are_counted_exactly(device: Any, n: int, seed: int, density: float) -> None:
    edges = random_edges(n, seed, density)
    graph = on(device, edges)
    counts = gasla.triadic_census(graph)
    assert list(counts.items()) == list(nx.triadic_census(peer(*edges)).items())
    assert all(type(count) is int for count in counts.values())
    oracles.motif_counts(on("cpu", edges), gasla.motif_counts(graph))


@settings(max_examples=25)
@given(edge_lists())
def test_loops_and_parallel_edges(edges: Any) -> None:
    graph = on("cpu", edges)
    oracles.triadic_census(graph, gasla.triadic_census(graph))
    assert gasla.motif_counts(graph) == gasla.motif_counts(gasla.primitives.simplify(graph))


@pytest.mark.thorough
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", HARD)
def test_hard_shapes_give_right_answers(device: Any, shape: str) -> None:
    graph = on(device, HARD[shape])
    assert gasla.triadic_census(graph) == nx.triadic_census(peer(*HARD[shape]))
    found = {name: count for name, count in gasla.motif_counts(graph).items() if count}
    if shape == "a star":
        assert found == {"path3": 499 * 249, "star3": 499 * 83 * 497}
    elif shape == "a path":
        assert found == {"path3": 498, "path4": 497}
    else:
        oracles.motif_counts(on("cpu", HARD[shape]), gasla.motif_counts(graph))


@pytest.mark.thorough
@settings(max_examples=6)
@given(st.integers(15, 25), st.integers(0, 2**32 - 1), st.floats(0.02, 0.4))
def test_counts_do_not_depend_on_the_size_of_parts(n: int, seed: int, density: float) -> None:
    edges = random_edges(n, seed, density)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact_sums, "LARGEST", 1 << 6)
        patch.setattr(match_counts, "PART", 50)
        oracles.motif_counts(on("cpu", edges), gasla.motif_counts(on("cpu", edges)))
        assert gasla.triadic_census(on("cpu", edges)) == nx.triadic_census(peer(*edges))


@pytest.mark.thorough
def test_motifs_are_induced_matches_of_their_names() -> None:
    graph = on("cpu", random_edges(30, 7, 0.2))
    for name, count in gasla.motif_counts(graph).items():
        assert gasla.subgraph_matches(graph, name, induced=True, count=True) == count
    assert set(gasla.motif_counts(complete(6)).items()) >= {("triangle", 20), ("clique4", 15), ("diamond", 0)}


def test_triads_of_a_hub_are_counted_without_their_list() -> None:
    """A hub with 10^5 edges out and as many in."""
    leaves, hubs = 100_000, np.zeros(100_000, int)
    first, second = np.arange(1, leaves + 1), np.arange(leaves + 1, 2 * leaves + 1)
    hub = Graph.from_edges(np.r_[hubs, second], np.r_[first, hubs])
    counts = {name: count for name, count in gasla.triadic_census(hub).items() if count}
    pairs = leaves * (leaves - 1) // 2
    assert (counts.pop("021D"), counts.pop("021U"), counts.pop("021C")) == (pairs, pairs, leaves**2)
    assert counts == {"003": hub.n * (hub.n - 1) * (hub.n - 2) // 6 - 2 * pairs - leaves**2}


@pytest.mark.slow
def test_the_airport_graph_against_networkx() -> None:
    graph = Graph(gasla.datasets.openflights().matrix)
    src, dst = graph.edges()
    assert gasla.triadic_census(graph) == nx.triadic_census(peer(graph.n, src, dst))
