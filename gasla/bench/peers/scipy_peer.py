"""The algorithms of SciPy, which run on a single thread.

They are those of scipy.sparse.csgraph, and sparse matrix products for what csgraph lacks.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import tril
from scipy.sparse.csgraph import (
    breadth_first_order,
    connected_components,
    dijkstra,
    maximum_flow,
    minimum_spanning_tree,
)
from scipy.sparse.linalg import eigsh

from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.peers import Products, hub_iteration, levels_of, searches

# largest number of multiplications of a product L @ L that is measured; larger ones would take too much memory and time
LARGEST_PRODUCT = 1 << 30


class SciPy(Products):
    """Algorithms of scipy.sparse.csgraph, power iteration, and triangles by the product L @ L masked by L."""

    name = "scipy"

    def __init__(self, graph: BenchmarkGraph) -> None:
        super().__init__(graph)
        self.n = graph.matrix.shape[0]
        if self._degrees_squared() <= LARGEST_PRODUCT:
            self.triangles, self.mxm_masked = self._triangles, self._mxm_masked

    @cached_property
    def weights(self) -> Any:
        """The matrix in float64, because csgraph would otherwise convert it in every call."""
        return self.graph.matrix.astype(np.float64)

    @staticmethod
    def dense(result: Any) -> Any:
        """Return the levels if the result comes from searches, or the sum of entries if it is a matrix. Return an array
        as it is.
        """
        if isinstance(result, list):
            return levels_of(result, np.asarray)
        return result.data.sum(dtype=np.float64) if hasattr(result, "tocsr") else result

    def _degrees_squared(self) -> int:
        return int((np.diff(self.graph.matrix.indptr).astype(np.int64) ** 2).sum())

    def bfs(self, source: int) -> np.ndarray:
        """Return the parents in a breadth-first search, with -9999 for the source and unreachable vertices."""
        return breadth_first_order(self.weights, source)[1]

    def multi_source_bfs(self, sources: list[int]) -> Any:
        return searches(self, sources)

    def multi_source_shortest_paths(self, sources: list[int]) -> Any:
        return dijkstra(self.weights, indices=sources)

    def nearest_source(self, sources: list[int]) -> Any:
        return dijkstra(self.weights, indices=sources, min_only=True)

    def closeness(self, sources: list[int]) -> np.ndarray:
        """Return closeness centrality, computed from one search per source. A source does not count for itself."""
        levels = self.dense(searches(self, sources))
        count, among = (levels > 0).sum(axis=0), np.full(self.n, len(sources))
        among[sources] -= 1
        scores: np.ndarray = count / np.maximum(levels.clip(0).sum(axis=0), 1) * count / np.maximum(among, 1)
        return scores

    def harmonic(self, sources: list[int]) -> np.ndarray:
        """Return harmonic centrality, computed from one search per source."""
        levels = self.dense(searches(self, sources))
        scores: np.ndarray = np.where(levels > 0, 1 / np.maximum(levels, 1), 0).sum(axis=0)
        return scores

    def sssp(self, source: int) -> np.ndarray:
        return dijkstra(self.weights, indices=source)  # type: ignore[call-overload]

    def eigenvector(self) -> Any:
        """Return scores of eigenvector centrality that ARPACK computes to machine precision. Other libraries stop
        earlier.
        """
        return abs(eigsh(self.pattern, k=1, which="LA")[1][:, 0])

    def hits(self) -> np.ndarray:
        """Return the hub scores of HITS, by float32 products of vectors and an undirected graph's adjacency matrix."""
        hubs: np.ndarray = hub_iteration(self.pattern)
        return hubs

    def components(self) -> np.ndarray:
        return connected_components(self.weights, directed=False)[1]

    @cached_property
    def directed(self) -> Any:
        """The directed graph as a matrix in float64, to which csgraph would convert it in every call."""
        return self.graph.one_way.astype(np.float64)

    def strong_components(self) -> np.ndarray:
        """Return the component of each vertex, found by Pearce's variant of Tarjan's algorithm."""
        return connected_components(self.directed, connection="strong")[1]

    def minimum_spanning_forest(self) -> Any:
        """Return the weights of a minimum spanning forest, found by Kruskal's algorithm."""
        return minimum_spanning_tree(self.weights).data

    def maximum_flow(self) -> int:
        """Return the value of a maximum flow, found by Dinic's algorithm."""
        return int(maximum_flow(self.graph.capacities, *self.graph.ends).flow_value)

    def _triangles(self) -> int:
        lower = tril(self.pattern, -1, format="csr")
        return int((lower @ lower).multiply(lower).sum())

    def _mxm_masked(self) -> Any:
        return (self.graph.lower @ self.graph.lower).multiply(self.graph.lower)
