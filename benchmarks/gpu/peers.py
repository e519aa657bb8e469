"""Who else computes on this GPU: cuSPARSE by way of CuPy, and cuGraph where it is installed."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from benchmarks.gpu.graphs import DeviceGraph, pattern


class CuSparse:
    """`matrix @ vector`, which is most of an iteration of PageRank."""

    def __init__(self, graph: DeviceGraph) -> None:
        self.source = graph

    @cached_property
    def _operands(self) -> tuple[Any, Any]:
        import cupy

        return pattern(self.source.matrix), cupy.ones(self.source.graph.n, "f4")

    def spmv(self) -> Any:
        matrix, vector = self._operands
        return matrix @ vector


class CuGraph:
    """The algorithms of RAPIDS, on a graph that is renumbered and built beforehand."""

    def __init__(self, graph: DeviceGraph) -> None:
        import cudf
        import cugraph

        self.cugraph = cugraph
        arrays = graph.matrix.indptr, graph.matrix.indices, graph.matrix.data
        self.graph = cugraph.Graph()
        self.graph.from_cudf_adjlist(*map(cudf.Series, arrays))

    def bfs(self, source: int) -> Any:
        return self.cugraph.bfs(self.graph, source)

    def sssp(self, source: int) -> Any:
        return self.cugraph.sssp(self.graph, source)

    def components(self) -> Any:
        return self.cugraph.weakly_connected_components(self.graph)

    def triangles(self) -> Any:
        return self.cugraph.triangle_count(self.graph)

    def betweenness(self, sources: list[int]) -> Any:
        return self.cugraph.betweenness_centrality(self.graph, k=sources, normalized=False)


PEERS = {"cusparse": CuSparse, "cugraph": CuGraph}


def found(graph: DeviceGraph) -> dict[str, Any]:
    """Those that are installed, by name."""
    made = {}
    for name, peer in PEERS.items():
        try:
            made[name] = peer(graph)
        except ImportError:
            continue
    return made
