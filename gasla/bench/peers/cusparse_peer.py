"""cuSPARSE by way of CuPy: sparse products, and PageRank by power iteration."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.peers import personal_iteration, power_iteration


class CuSparse:
    """Sparse products in float32, and algorithms made of them."""

    name = "cusparse"

    def __init__(self, graph: BenchmarkGraph) -> None:
        self.graph = graph

    @cached_property
    def pattern(self) -> Any:
        return self.graph.pattern

    @staticmethod
    def dense(result: Any) -> Any:
        return result.data.sum(dtype=np.float64) if hasattr(result, "tocsr") else result

    def pagerank(self) -> Any:
        return power_iteration(self.pattern)

    def personal_pageranks(self) -> Any:
        """Power iteration with a dense matrix, for all personalizations at once."""
        return personal_iteration(self.pattern, self.graph.personalizations)

    def aggregate_features(self) -> Any:
        """The product of the symmetric matrix and a dense matrix."""
        return self.graph.matrix @ self.graph.features

    def mxv(self) -> Any:
        return self.graph.matrix @ self.graph.vector

    def mxm(self) -> Any:
        """The product of the matrix with itself."""
        return self.graph.matrix @ self.graph.matrix
