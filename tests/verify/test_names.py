"""Verifiers take vertices by name where the algorithm does, and say the same as by number."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gasla
from gasla import Graph, verify
from gasla.graph.exchange.vertex_names import Names
from gasla.verify import VerificationError
from gasla.verify._common import VERTICES

pytestmark = pytest.mark.thorough

ENDS = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 1], [2, 0]])
BOTH = np.vstack([ENDS, ENDS[:, ::-1]]).T
PLAIN = Graph.from_edges(*BOTH, np.tile(np.arange(1.0, 7.0), 2), n=6)  # vertex 5 has no edges
PLAIN = PLAIN.with_edge_attributes(time=np.arange(12.0))
NAMES = {
    "strings": np.array(["Oslo", "Rome", "Bonn", "Bern", "Kyiv", "Riga"], object),
    "tuples": np.fromiter(((i, "x") for i in range(6)), object, 6),
    "integers": np.array([10**10 + i for i in range(6)], object),
    "numbers of others": np.array([5, 4, 3, 2, 1, 0], object),
}


def named(graph: Graph, names: np.ndarray) -> Graph:
    found = graph.with_values(graph.values)
    found.naming = Names(names)
    return found


Vertices = Callable[[Any], Any]
CHECKS: dict[str, Callable[[Graph, Vertices], None]] = {
    "bfs": lambda g, v: verify.bfs(g, v(2), *gasla.bfs(PLAIN, 2, parents=True)),
    "sssp": lambda g, v: verify.sssp(g, source=v(2), distances=gasla.sssp(PLAIN, 2)),
    "nearest_source": lambda g, v: verify.nearest_source(g, [v(2), v(0)], *gasla.nearest_source(PLAIN, [2, 0])),
    "multi_source_bfs": lambda g, v: verify.multi_source_bfs(g, [v(2), v(0)], gasla.multi_source_bfs(PLAIN, [2, 0])),
    "multi_source_shortest_paths": lambda g, v: verify.multi_source_shortest_paths(
        g, (v(2), v(0)), gasla.multi_source_shortest_paths(PLAIN, [2, 0])
    ),
    "shortest_path": lambda g, v: verify.shortest_path(g, v(0), v(4), *gasla.shortest_path(PLAIN, 0, 4)),
    "dominators": lambda g, v: verify.dominators(g, v(2), gasla.dominators(PLAIN, 2)),
    "depth_first_order": lambda g, v: verify.depth_first_order(g, *gasla.depth_first_order(PLAIN, 2), v(2)),
    "steiner_tree": lambda g, v: verify.steiner_tree(g, [v(0), v(4)], *gasla.steiner_tree(PLAIN, [0, 4])),
    "alternative_paths": lambda g, v: verify.alternative_paths(g, v(0), v(4), gasla.alternative_paths(PLAIN, 0, 4)),
    "k_shortest_paths": lambda g, v: verify.k_shortest_paths(g, v(0), v(4), 2, gasla.k_shortest_paths(PLAIN, 0, 4, 2)),
    "maximum_flow": lambda g, v: verify.maximum_flow(g, v(0), v(4), *gasla.maximum_flow(PLAIN, 0, 4)[:2]),
    "minimum_cut": lambda g, v: verify.minimum_cut(g, v(0), v(4), *gasla.minimum_cut(PLAIN, 0, 4)[:2]),
    "minimum_cost_flow": lambda g, v: verify.minimum_cost_flow(
        g, {v(0): 1, v(4): -1}, *gasla.minimum_cost_flow(PLAIN, {0: 1, 4: -1})
    ),
    "betweenness": lambda g, v: verify.betweenness(
        g, gasla.betweenness_centrality(PLAIN, sources=[2, 0]), sources=[v(2), v(0)]
    ),
    "number_of_shortest_paths": lambda g, v: verify.number_of_shortest_paths(
        g, v(2), gasla.number_of_shortest_paths(PLAIN, 2)
    ),
    "edge_betweenness": lambda g, v: verify.edge_betweenness(
        g, gasla.edge_betweenness_centrality(PLAIN, sources=[2, 0]), sources=[v(2), v(0)]
    ),
    "closeness": lambda g, v: verify.closeness(
        g, gasla.closeness_centrality(PLAIN, sources=[2, 0]), sources=[v(2), v(0)]
    ),
    "harmonic": lambda g, v: verify.harmonic(g, gasla.harmonic_centrality(PLAIN, sources=[2, 0]), sources=[v(2), v(0)]),
    "pagerank": lambda g, v: verify.pagerank(
        g, gasla.pagerank(PLAIN, personalization={2: 1.0, 0: 3.0}).ranks, personalization={v(2): 1.0, v(0): 3.0}
    ),
    "katz": lambda g, v: verify.katz(
        g, gasla.katz_centrality(PLAIN, beta={2: 1.0, 0: 3.0}).scores, beta={v(2): 1.0, v(0): 3.0}
    ),
    "pagerank_nibble": lambda g, v: verify.pagerank_nibble(
        g, v(2), *gasla.pagerank_nibble(PLAIN, 2, weighted=False)[:3]
    ),
    "ego_graph": lambda g, v: verify.ego_graph(g, v(2), gasla.ego_graph(PLAIN, 2), 1),
    "similarity": lambda g, v: verify.similarity(
        g, gasla.jaccard(PLAIN, ([0, 1], [2, 3])), pairs=([v(0), v(1)], [v(2), v(3)])
    ),
    "simple_paths": lambda g, v: verify.simple_paths(g, v(2), v(0), 3, gasla.simple_paths(PLAIN, 2, 0, 3)),
    "shared_nearest_neighbors": lambda g, v: verify.shared_nearest_neighbors(
        g, gasla.shared_nearest_neighbors(PLAIN, ([0, 1], [2, 3])), ([v(0), v(1)], [v(2), v(3)])
    ),
    "maximal_independent_set": lambda g, v: verify.maximal_independent_set(
        g, gasla.maximal_independent_set(PLAIN, nodes=[0, 3]), nodes=[v(0), v(3)]
    ),
    "random_walks": lambda g, v: verify.random_walks(g, [v(2), v(2), v(0)], gasla.random_walks(PLAIN, [2, 2, 0], 3)),
    "sample_neighbors": lambda g, v: verify.sample_neighbors(
        g, [v(2), v(0)], [2, 1], gasla.sample_neighbors(PLAIN, [2, 0], [2, 1])
    ),
    "earliest_arrival": lambda g, v: verify.earliest_arrival(g, v(2), gasla.earliest_arrival(PLAIN, 2)),
    "latest_departure": lambda g, v: verify.latest_departure(g, v(2), gasla.latest_departure(PLAIN, 2)),
    "fastest_durations": lambda g, v: verify.fastest_durations(g, v(2), gasla.fastest_durations(PLAIN, 2)),
    "temporal_reachability": lambda g, v: verify.temporal_reachability(
        g, [v(2), v(0)], gasla.temporal_reachability(PLAIN, [2, 0])
    ),
}


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("kind", NAMES)
def test_a_right_answer_is_right_by_name_and_by_number(check: str, kind: str) -> None:
    graph = named(PLAIN, NAMES[kind])
    own = NAMES[kind].tolist()
    if kind != "numbers of others":
        CHECKS[check](graph, own.__getitem__)
    for number in (np.int64, graph.vertex):
        CHECKS[check](graph, number if number is np.int64 else lambda v: number(own[v]))  # noqa: B023
    CHECKS[check](PLAIN, int)


def test_every_verifier_that_takes_vertices_is_listed() -> None:
    taking = {
        name
        for name in verify.__all__
        if inspect.isfunction(function := getattr(verify, name))
        and "graph" in (parameters := inspect.signature(function).parameters)
        and VERTICES.keys() & parameters.keys()
    }
    assert taking == CHECKS.keys()


def test_wrong_answers_and_wrong_names_are_told_apart() -> None:
    graph = named(PLAIN, NAMES["strings"])
    levels = gasla.bfs(graph, "Bonn")
    with pytest.raises(VerificationError, match="the source 0 is at level 1, not 0"):
        verify.bfs(graph, "Oslo", levels)
    with pytest.raises(ValueError, match=r"no vertex is named 'bonn'; .* did you mean 'Bonn'\?"):
        verify.bfs(graph, "bonn", levels)
    with pytest.raises(ValueError, match="source 6 is outside a graph of 6 vertices"):
        verify.bfs(PLAIN, 6, levels)
    ranks = gasla.pagerank(graph, personalization=["Oslo", "Rome"]).ranks
    verify.pagerank(graph, ranks, personalization=["Oslo", "Rome"])
    with pytest.raises(ValueError, match="source is 2, "):
        verify.bfs(named(PLAIN, NAMES["numbers of others"]), 2, levels)
