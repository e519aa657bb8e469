"""gasla itself, in the same form as its peers."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any

import numpy as np

import gasla
from benchmarks.peers import DAMPING, PAGERANK_ITERATIONS, THREADS
from gasla.bench.graphs import BenchmarkGraph


class Gasla:
    """The public functions, on a `gasla.Graph`."""

    name = "gasla"
    threads = THREADS

    def __init__(self, graph: BenchmarkGraph) -> None:
        self.matrix = graph.matrix

    @cached_property
    def graph(self) -> gasla.Graph:
        return gasla.Graph(self.matrix)

    @staticmethod
    def dense(result: Any) -> Any:
        return result

    def bfs(self, source: int) -> np.ndarray:
        return gasla.bfs(self.graph, source, parents=True).parents

    def sssp(self, source: int) -> np.ndarray:
        return gasla.sssp(self.graph, source)

    def pagerank(self) -> np.ndarray:
        """No tolerance is ever reached, so that the number of iterations is the peers'."""
        with warnings.catch_warnings(action="ignore", category=gasla.ConvergenceWarning):
            return gasla.pagerank(
                self.graph, alpha=DAMPING, weighted=False, tol=0.0, max_iter=PAGERANK_ITERATIONS, dtype=np.float32
            ).ranks

    def components(self) -> np.ndarray:
        return gasla.connected_components(self.graph).labels

    def triangles(self) -> int:
        return gasla.triangle_count(self.graph)

    def betweenness(self, sources: list[int]) -> np.ndarray:
        return gasla.betweenness_centrality(self.graph, sources=sources, normalized=False)
