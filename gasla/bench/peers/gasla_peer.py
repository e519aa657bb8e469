"""gasla itself, in the same form as its peers."""

from __future__ import annotations

from typing import Any

import numpy as np

import gasla
from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.peers import (
    DAMPING,
    DRAWN,
    NIBBLE,
    NODE2VEC,
    PAGERANK_ITERATIONS,
    RADIUS,
    SIMILAR,
    STEPS,
    TOLERANCE,
    TRUSS,
)


class Gasla:
    """The public functions, on a `gasla.Graph`."""

    name = "gasla"

    def __init__(self, graph: BenchmarkGraph) -> None:
        self.made, self.graph = graph, graph.graph

    @staticmethod
    def dense(result: Any) -> Any:
        return np.array([result.n, result.m]) if isinstance(result, gasla.Graph) else result

    def levels(self, source: int) -> Any:
        """A search without parents, which peers don't offer or aren't faster at."""
        return gasla.bfs(self.graph, source)

    def bfs(self, source: int) -> Any:
        return gasla.bfs(self.graph, source, parents=True).parents

    def multi_source_bfs(self, sources: list[int]) -> Any:
        return gasla.multi_source_bfs(self.graph, sources)

    def sssp(self, source: int) -> Any:
        return gasla.sssp(self.graph, source)

    def multi_source_shortest_paths(self, sources: list[int]) -> Any:
        return gasla.multi_source_shortest_paths(self.graph, sources)

    def closeness(self, sources: list[int]) -> Any:
        return gasla.closeness_centrality(self.graph, sources=sources)

    def harmonic(self, sources: list[int]) -> Any:
        return gasla.harmonic_centrality(self.graph, sources=sources)

    def pagerank(self) -> Any:
        """As many iterations as the peers', which no tolerance ends."""
        return gasla.pagerank(
            self.graph, alpha=DAMPING, weighted=False, tol=0.0, max_iter=PAGERANK_ITERATIONS, dtype=np.float32
        ).ranks

    def hits(self) -> Any:
        """As many iterations as the peers'."""
        return gasla.hits(self.graph, weighted=False, tol=0.0, max_iter=PAGERANK_ITERATIONS, dtype=np.float32).hubs

    def personal_pageranks(self) -> Any:
        """The same from each of the sources, at once."""
        return gasla.pagerank(
            self.graph, alpha=DAMPING, personalization=self.made.homes, weighted=False, tol=0.0,
            max_iter=PAGERANK_ITERATIONS, dtype=np.float32,
        ).ranks  # fmt: skip

    def aggregate_features(self) -> Any:
        return gasla.aggregate_features(self.graph, self.made.features)

    def katz(self) -> Any:
        return gasla.katz_centrality(self.graph, alpha=self.made.attenuation, tol=TOLERANCE).scores

    def eigenvector(self) -> Any:
        return gasla.eigenvector_centrality(self.graph, tol=TOLERANCE, max_iter=100_000).scores

    def bipartite(self) -> Any:
        return gasla.is_bipartite(self.graph)

    def bridges(self) -> Any:
        return gasla.bridges(self.graph)

    def articulation_points(self) -> Any:
        return gasla.articulation_points(self.graph)

    def components(self) -> Any:
        return gasla.connected_components(self.graph).labels

    def minimum_spanning_forest(self) -> Any:
        return gasla.minimum_spanning_forest(self.graph).edges

    def strong_components(self) -> Any:
        return gasla.strongly_connected_components(self.made.directed).labels

    def condensation(self) -> Any:
        return gasla.condensation(self.made.directed)

    def ego_graph(self, source: int) -> Any:
        return gasla.ego_graph(self.graph, source, RADIUS)

    def triangles(self) -> Any:
        return gasla.triangle_count(self.graph)

    def edge_support(self) -> Any:
        return gasla.edge_support(self.graph)

    def clustering(self) -> Any:
        return gasla.clustering(self.graph)

    def jaccard(self) -> Any:
        return gasla.jaccard(self.graph)

    def adamic_adar(self) -> Any:
        return gasla.adamic_adar(self.graph)

    def top_k_similar(self) -> Any:
        return gasla.top_k_similar(self.graph, SIMILAR).scores

    def square_clustering(self) -> Any:
        return gasla.square_clustering(self.graph)

    def k_truss(self) -> Any:
        return gasla.k_truss(self.graph, TRUSS)

    def four_cliques(self) -> Any:
        return gasla.count_cliques(self.graph, 4)

    def label_propagation(self) -> Any:
        return gasla.label_propagation(self.graph)

    def louvain_communities(self) -> Any:
        return gasla.louvain_communities(self.graph, weighted=False).labels

    def modularity(self) -> Any:
        return gasla.modularity(self.graph, self.made.groups, weighted=False)

    def pagerank_nibble(self, source: int) -> Any:
        return gasla.pagerank_nibble(self.graph, source, alpha=NIBBLE[0], epsilon=NIBBLE[1]).vertices

    def core_number(self) -> Any:
        return gasla.core_number(self.graph)

    def maximal_independent_set(self) -> Any:
        return gasla.maximal_independent_set(self.graph)

    def greedy_color(self) -> Any:
        return gasla.greedy_color(self.graph)

    def maximal_matching(self) -> Any:
        return gasla.maximal_matching(self.graph)

    def weighted_matching(self) -> Any:
        return gasla.maximal_matching(self.graph, weighted=True)

    def betweenness(self, sources: list[int]) -> Any:
        return gasla.betweenness_centrality(self.graph, sources=sources, normalized=False)

    def edge_betweenness(self, sources: list[int]) -> Any:
        return gasla.edge_betweenness_centrality(self.graph, sources=sources, normalized=False)

    def maximum_flow(self) -> Any:
        return gasla.maximum_flow(self.made.network, *self.made.ends).value

    def minimum_cut(self) -> Any:
        return gasla.minimum_cut(self.made.network, *self.made.ends).value

    def random_walks(self) -> Any:
        return gasla.random_walks(self.graph, self.made.walkers, STEPS)

    def node2vec_walks(self) -> Any:
        return gasla.node2vec_walks(self.graph, self.made.walkers, STEPS, p=NODE2VEC[0], q=NODE2VEC[1])

    def sample_neighbors(self) -> Any:
        return gasla.sample_neighbors(self.graph, self.made.walkers, DRAWN)

    def topological_order(self) -> Any:
        return gasla.topological_order(self.made.acyclic)

    def longest_path(self) -> Any:
        return gasla.longest_path(self.made.acyclic).lengths
