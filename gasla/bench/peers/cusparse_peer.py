"""cuSPARSE by way of CuPy: its product of a matrix and a vector, of which PageRank can be made."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from gasla.bench import mxm
from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.peers import personal_iteration, power_iteration


class CuSparse:
    """Power iteration with float32 products."""

    name = "cusparse"

    def __init__(self, graph: BenchmarkGraph) -> None:
        self.graph = graph

    @cached_property
    def pattern(self) -> Any:
        return self.graph.pattern

    @staticmethod
    def dense(result: Any) -> Any:
        return result

    def pagerank(self) -> Any:
        return power_iteration(self.pattern)

    def personal_pageranks(self) -> Any:
        """Power iteration with float32 products, for all at once."""
        return personal_iteration(self.pattern, self.graph.homes)

    def aggregate_features(self) -> Any:
        """A product of the matrix, which is its own transpose, with a dense one."""
        return self.graph.matrix @ self.graph.features

    @cached_property
    def dense_columns(self) -> Any:
        return mxm.columns(self.graph)

    def square(self) -> Any:
        """The product of the matrix with itself."""
        return self.graph.matrix @ self.graph.matrix

    def columns(self) -> Any:
        """The product with many columns."""
        return self.graph.matrix @ self.dense_columns
