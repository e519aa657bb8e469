"""The algorithms of python-igraph, which run on a single thread."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cached_property
from typing import Any

import igraph
import numpy as np
from scipy.sparse import triu

from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.peers import RADIUS, upper_places

# Cliques are listed only in graphs with at most this many stored edges. An R-MAT graph of scale 12 has fewer, and 4
# million 4-cliques.
FEW = 1 << 17


class Igraph:
    """Algorithms of igraph. PageRank is left out, because the number of iterations can't be set."""

    name = "igraph"

    def __init__(self, graph: BenchmarkGraph) -> None:
        self.graph, self.matrix = graph, graph.matrix

    @cached_property
    def upper(self) -> Any:
        return triu(self.matrix, 1).tocoo()

    @cached_property
    def ends(self) -> np.ndarray:
        return np.column_stack(self.upper.coords)

    @cached_property
    def native(self) -> igraph.Graph:
        return igraph.Graph(n=self.matrix.shape[0], edges=self.ends)

    @cached_property
    def acyclic(self) -> igraph.Graph:
        return igraph.Graph(n=self.matrix.shape[0], edges=self.ends, directed=True)

    @cached_property
    def directed(self) -> igraph.Graph:
        ends = self.graph.one_way.tocoo().coords
        return igraph.Graph(n=self.matrix.shape[0], edges=np.column_stack(ends), directed=True)

    @cached_property
    def from_anywhere(self) -> igraph.Graph:
        """The acyclic graph with negated weights, and an additional vertex with edges of length 0 to all vertices.

        A search from this vertex finds the longest paths from anywhere.
        """
        n, graph = self.matrix.shape[0], self.acyclic.copy()
        graph.add_vertex()
        graph.add_edges([(n, v) for v in range(n)])
        graph.es["length"] = [-weight for weight in self.weights] + [0.0] * n
        return graph

    @cached_property
    def weights(self) -> list[float]:
        return self.upper.data.tolist()

    @staticmethod
    def dense(result: Any) -> Any:
        if isinstance(result, igraph.Graph):
            return np.array([result.vcount(), result.ecount() * (1 if result.is_directed() else 2)])
        return np.array(result) if isinstance(result, list) else result

    def bfs(self, source: int) -> list[int]:
        return self.native.bfs(source)[2]

    def sssp(self, source: int) -> list[float]:
        return self.native.distances(source, weights=self.weights)[0]

    def components(self) -> list[int]:
        return self.native.connected_components().membership

    def eigenvector(self) -> list[float]:
        """Return scores of eigenvector centrality that ARPACK computes to machine precision. Other libraries stop
        earlier.
        """
        with warnings.catch_warnings():
            # suppresses igraph's warnings about graphs without edges, or with several eigenvectors
            warnings.simplefilter("ignore")
            return self.native.eigenvector_centrality()

    def bipartite(self) -> bool:
        return self.native.is_bipartite()

    def bridges(self) -> np.ndarray:
        return self.ends[self.native.bridges()]

    def articulation_points(self) -> list[int]:
        return self.native.articulation_points()

    def biconnected_components(self) -> int:
        return len(self.native.biconnected_components())

    def strong_components(self) -> list[int]:
        return self.directed.connected_components(mode="strong").membership

    def condensation(self) -> igraph.Graph:
        """Return the condensation of the graph without weights. Other libraries sum the weights of merged edges."""
        return self.directed.connected_components(mode="strong").cluster_graph()

    def ego_graph(self, source: int) -> igraph.Graph:
        return self.native.induced_subgraph(self.native.neighborhood(source, order=RADIUS))

    def triangles(self) -> int:
        """Count triangles from local clustering coefficients, because listing triangles is far slower."""
        degrees = np.array(self.native.degree(), dtype=np.float64)
        shares = np.array(self.native.transitivity_local_undirected(mode="zero"))
        return round((shares * degrees * (degrees - 1) / 2).sum() / 3)

    def clustering(self) -> list[float]:
        return self.native.transitivity_local_undirected(mode="zero")

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        return list(map(tuple, self.ends.tolist()))

    @cached_property
    def places(self) -> np.ndarray:
        return upper_places(self.matrix)

    def jaccard(self) -> np.ndarray:
        """Compute a score for each undirected edge, and return it for both directions."""
        return np.array(self.native.similarity_jaccard(pairs=self.pairs, loops=False))[self.places]

    @cached_property
    def four_cliques(self) -> Callable[[], int] | None:
        """A function that counts the cliques of 4 vertices by listing them, or None for large graphs.

        Counting all motifs, as the alternative, takes ten times as long.
        """
        return None if self.matrix.nnz > FEW else lambda: len(self.native.cliques(4, 4))

    @cached_property
    def motif_counts(self) -> Callable[[], np.ndarray] | None:
        """A function that counts motifs by enumerating them, or None for large graphs."""

        def counts() -> np.ndarray:
            three, four = (np.array(self.native.motifs_randesu(size)) for size in (3, 4))
            return np.concatenate([three[[2, 3]], four[[6, 4, 8, 7, 9, 10]]]).astype(np.int64)

        return None if self.matrix.nnz > FEW else counts

    def triadic_census(self) -> np.ndarray:
        return np.array(self.directed.triad_census(), np.int64)

    def louvain_communities(self) -> list[int]:
        return self.native.community_multilevel().membership

    def leiden_communities(self) -> list[int]:
        return self.native.community_leiden("modularity", n_iterations=1).membership

    def label_propagation(self) -> list[int]:
        return self.native.community_label_propagation().membership

    @cached_property
    def groups(self) -> list[int]:
        return self.graph.groups.tolist()

    def modularity(self) -> float:
        return self.native.modularity(self.groups)

    def core_number(self) -> list[int]:
        return self.native.coreness()

    def greedy_color(self) -> list[int]:
        """Color vertices greedily. The next vertex is always one with the most colored neighbors."""
        return self.native.vertex_coloring_greedy()

    def betweenness(self, sources: list[int]) -> list[float]:
        return self.native.betweenness(sources=sources)

    def edge_betweenness(self, sources: list[int]) -> np.ndarray:
        """Compute a score for each undirected edge, and return it for both directions."""
        return np.array(self.native.edge_betweenness(directed=False, sources=sources))[self.places]

    def topological_order(self) -> list[int]:
        return self.acyclic.topological_sorting()

    def maximum_flow(self) -> float:
        """Return the value of a maximum flow, found by push-relabel with the highest label first."""
        return float(self.native.maxflow(*self.graph.ends, capacity=self.weights).value)

    @cached_property
    def measured(self) -> igraph.Graph:
        graph = self.native.copy()
        graph.es["length"] = self.weights
        return graph

    def shortest_path(self) -> float:
        """Return the length of a shortest path, found by Dijkstra's algorithm, which stops at the target."""
        path = self.measured.get_shortest_path(*self.graph.ends, weights="length", output="epath")
        return sum(self.weights[e] for e in path)

    def minimum_cut(self) -> float:
        """Return the capacity of a minimum cut, which the first phase of push-relabel finds."""
        return float(self.native.mincut(*self.graph.ends, capacity=self.weights).value)

    def longest_path(self) -> np.ndarray:
        """Return the lengths of longest paths, found as shortest paths with negated weights by Bellman-Ford.

        igraph has no algorithm for longest paths.
        """
        start = self.matrix.shape[0]
        return -np.array(self.from_anywhere.distances(start, weights="length", mode="out")[0][:start])
