"""The algorithms of NetworKit, on all threads."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import networkit as nk
import numpy as np
from scipy.sparse import triu

from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.peers import DAMPING, NIBBLE, PAGERANK_ITERATIONS, TOLERANCE, threads, upper_places


class NetworKit:
    """Algorithms of NetworKit. Betweenness is left out, because its sources can't be chosen."""

    name = "networkit"

    def __init__(self, graph: BenchmarkGraph) -> None:
        nk.setNumberOfThreads(threads())
        self.graph, self.matrix = graph, graph.matrix

    def _graph(self, weighted: bool) -> nk.Graph:
        upper = triu(self.matrix, 1).tocoo()
        row, column = (np.ascontiguousarray(x, dtype=np.uint64) for x in upper.coords)
        data = upper.data.astype(np.float64)
        return nk.GraphFromCoo((data, (row, column)), n=self.matrix.shape[0], weighted=weighted)

    @cached_property
    def unweighted(self) -> nk.Graph:
        return self._graph(weighted=False)

    @cached_property
    def weighted(self) -> nk.Graph:
        return self._graph(weighted=True)

    @cached_property
    def indexed(self) -> nk.Graph:
        graph = self._graph(weighted=False)
        graph.indexEdges()
        return graph

    @cached_property
    def acyclic(self) -> nk.Graph:
        return self._directed(triu(self.matrix, 1))

    @cached_property
    def directed(self) -> nk.Graph:
        return self._directed(self.graph.one_way)

    def _directed(self, matrix: Any) -> nk.Graph:
        row, column = (np.ascontiguousarray(x, dtype=np.uint64) for x in matrix.tocoo().coords)
        return nk.GraphFromCoo((row, column), n=self.matrix.shape[0], directed=True)

    @staticmethod
    def dense(result: Any) -> Any:
        if isinstance(result, tuple):
            return _convert_katz_scores(np.array(result[0]), result[1])
        if isinstance(result, nk.matching.Matching):
            result = result.getVector()
        return np.array(result) if isinstance(result, list) else result

    def sssp(self, source: int) -> list[float]:
        return nk.distance.Dijkstra(self.weighted, source, storePaths=False).run().getDistances()

    def shortest_path(self) -> float:
        """Return the length of a shortest path, found by Dijkstra's algorithm from both ends."""
        return float(nk.distance.BidirectionalDijkstra(self.weighted, *self.graph.ends).run().getDistance())

    def pagerank(self) -> list[float]:
        """Return PageRank. The ranks sum to less than 1 if a vertex has no edge."""
        ranking = nk.centrality.PageRank(self.unweighted, DAMPING, 0.0)
        ranking.maxIterations = PAGERANK_ITERATIONS
        return ranking.run().scores()

    def katz(self) -> Any:
        """Return Katz scores as NetworKit defines them, which `dense` converts to the common definition."""
        ranking = nk.centrality.KatzCentrality(self.unweighted, self.graph.attenuation, 1.0, TOLERANCE)
        return ranking.run().scores(), self.graph

    def components(self) -> list[int]:
        return nk.components.ParallelConnectedComponents(self.unweighted).run().getPartition().getVector()

    def strong_components(self) -> list[int]:
        return nk.components.StronglyConnectedComponents(self.directed).run().getPartition().getVector()

    def triangles(self) -> int:
        return sum(nk.sparsification.TriangleEdgeScore(self.indexed).run().scores()) // 3

    @cached_property
    def edge_numbers(self) -> np.ndarray:
        """NetworKit's edge id for each stored entry of the matrix."""
        ends = zip(*(ids.tolist() for ids in triu(self.matrix, 1).tocsr().tocoo().coords))
        return np.array([self.indexed.edgeId(u, v) for u, v in ends], int)[upper_places(self.matrix)]

    def jaccard(self) -> np.ndarray:
        """Compute a score for each undirected edge, and return it for both directions."""
        return np.array(nk.sparsification.JaccardSimilaritySparsifier().scores(self.indexed))[self.edge_numbers]

    def label_propagation(self) -> list[int]:
        return nk.community.PLP(self.unweighted).run().getPartition().getVector()

    def louvain_communities(self) -> list[int]:
        return nk.community.PLM(self.unweighted).run().getPartition().getVector()

    def leiden_communities(self) -> list[int]:
        return nk.community.ParallelLeiden(self.unweighted, iterations=1).run().getPartition().getVector()

    def pagerank_nibble(self, source: int) -> list[int]:
        return [*nk.scd.PageRankNibble(self.unweighted, *NIBBLE).expandOneCommunity(source)]

    @cached_property
    def groups(self) -> nk.Partition:
        groups = nk.Partition(self.matrix.shape[0], self.graph.groups.tolist())
        groups.setUpperBound(int(self.graph.groups.max()) + 1)
        return groups

    def modularity(self) -> float:
        return nk.community.Modularity().getQuality(self.groups, self.unweighted)

    def core_number(self) -> list[float]:
        return nk.centrality.CoreDecomposition(self.unweighted).run().scores()

    def maximal_independent_set(self) -> list[bool]:
        return nk.independentset.Luby().run(self.unweighted)

    def maximal_matching(self) -> nk.matching.Matching:
        """Return a matching found by the suitor algorithm, which is the faster and better one of NetworKit's two."""
        return nk.matching.SuitorMatcher(self.unweighted, False).run().getMatching()

    def weighted_matching(self) -> nk.matching.Matching:
        return nk.matching.SuitorMatcher(self.weighted, False).run().getMatching()

    def topological_order(self) -> list[int]:
        return nk.graphtools.topologicalSort(self.acyclic)


def _convert_katz_scores(scores: Any, graph: BenchmarkGraph) -> Any:
    """Convert Katz scores from NetworKit's definition to the common one, alpha A scores + beta.

    NetworKit's scores are alpha A (scores + 1) + beta, divided by a norm.
    """
    attenuated = graph.attenuation * graph.pattern.astype(np.float64)
    return scores + (scores - attenuated @ scores).sum() / (attenuated.sum() + len(scores))
