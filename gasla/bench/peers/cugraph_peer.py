"""The algorithms of cuGraph, of NVIDIA's RAPIDS, on the GPU."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.peers import DAMPING, PAGERANK_ITERATIONS


class CuGraph:
    """Algorithms of cuGraph. Their results are tables whose rows, one per vertex, are in any order."""

    name = "cugraph"

    def __init__(self, graph: BenchmarkGraph) -> None:
        import cudf
        import cugraph

        self.library, self.series = cugraph, cudf.Series
        self.graph, self.matrix = graph, graph.matrix

    def _graph(self, *values: Any) -> Any:
        graph = self.library.Graph()
        graph.from_cudf_adjlist(*map(self.series, (self.matrix.indptr, self.matrix.indices, *values)))
        return graph

    @cached_property
    def unweighted(self) -> Any:
        return self._graph()

    @cached_property
    def directed(self) -> Any:
        graph, matrix = self.library.Graph(directed=True), self.graph.one_way
        graph.from_cudf_adjlist(*map(self.series, (matrix.indptr, matrix.indices)))
        return graph

    @cached_property
    def weighted(self) -> Any:
        return self._graph(self.matrix.data)

    def dense(self, result: Any) -> Any:
        """Return the column of a table with the result for each vertex as an array, in the order of vertices. Return a
        number as it is.
        """
        if not isinstance(result, tuple):
            return result
        table, column = result
        return table.sort_values("vertex")[column].to_cupy()

    def bfs(self, source: int) -> Any:
        return self.library.bfs(self.unweighted, source), "predecessor"

    def sssp(self, source: int) -> Any:
        return self.library.sssp(self.weighted, source), "distance"

    def pagerank(self) -> Any:
        options = {"max_iter": PAGERANK_ITERATIONS, "tol": 0.0, "fail_on_nonconvergence": False}
        table, _ = self.library.pagerank(self.unweighted, alpha=DAMPING, **options)
        return table, "pagerank"

    def components(self) -> Any:
        return self.library.weakly_connected_components(self.unweighted), "labels"

    def strong_components(self) -> Any:
        return self.library.strongly_connected_components(self.directed), "labels"

    def triangles(self) -> int:
        return int(self.library.triangle_count(self.unweighted)["counts"].sum()) // 3

    def core_number(self) -> Any:
        return self.library.core_number(self.unweighted), "core_number"

    def betweenness(self, sources: list[int]) -> Any:
        table = self.library.betweenness_centrality(self.unweighted, k=sources, normalized=False)
        return table, "betweenness_centrality"
