"""The six algorithms: time, billions of edges a second, memory; and what wider types cost."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import gasla

from . import ALGORITHMS, BETWEENNESS_SOURCES, ENGINES, GRAPHS, SKEWED_AND_FLAT, Calls, graph_on, load, pagerank


class _OnGraphs(Calls):
    param_names = ("algorithm", "graph", "engine")

    def prepare(self, algorithm: str, graph: str, engine: str) -> Callable[[], Any]:
        self.graph, self.sources = graph_on(engine, graph)
        return lambda: ALGORITHMS[algorithm](self.graph, self.sources)


class Algorithms(_OnGraphs):
    """The public functions on a `gasla.Graph`."""

    params = (list(ALGORITHMS), GRAPHS, ENGINES)

    def time_call(self, algorithm: str, graph: str, engine: str) -> None:
        """The time of one call."""
        self.call()

    def track_gteps(self, algorithm: str, graph: str, engine: str) -> float:
        """Stored directed edges whose source was reached over the time of the call, graph built and code compiled.

        In billions a second; the median of three calls. PageRank, components and triangles start nowhere in particular,
        and reach all. The 20 iterations of PageRank count as one call, as do betweenness's searches from 4 sources.
        """
        return self._edges(algorithm) / median(self._seconds() for _ in range(3)) / 1e9

    def peakmem_call(self, algorithm: str, graph: str, engine: str) -> None:
        """The highest memory of the whole process, building the graph included; on the GPU only the host's part."""
        self.call()

    track_gteps.unit = "GTEPS"  # type: ignore[attr-defined]

    def _seconds(self) -> float:
        start = time.perf_counter()
        self.call()
        return time.perf_counter() - start

    def _edges(self, algorithm: str) -> int:
        starts = {"bfs": 1, "sssp": 1, "betweenness": BETWEENNESS_SOURCES}
        if algorithm not in starts:
            return self.graph.m
        reached = sum(gasla.bfs(self.graph, s) >= 0 for s in self.sources[: starts[algorithm]]) > 0
        return int(self.graph.out_degrees[reached].sum())


class DeviceMemory(_OnGraphs):
    """What the GPU holds."""

    params = (list(ALGORITHMS), GRAPHS, ["gpu"])

    def track_bytes(self, algorithm: str, graph: str, engine: str) -> int:
        """Bytes of GPU memory that CuPy's pool took for the graph and a call."""
        import cupy

        return int(cupy.get_default_memory_pool().total_bytes())

    track_bytes.unit = "bytes"  # type: ignore[attr-defined]


class Types(Calls):
    """64-bit ids and offsets (on a GPU: offsets alone) and float64 weights, each beside what is usual."""

    params = (["sssp", "pagerank"], SKEWED_AND_FLAT, ["int32 float32", "int64 float32", "int32 float64"], ENGINES)
    param_names = ("algorithm", "graph", "types", "engine")

    def prepare(self, algorithm: str, graph: str, types: str, engine: str) -> Callable[[], Any]:
        matrix, sources = load(graph)
        ids, weights = types.split()
        lists = matrix.indptr.astype(ids), matrix.indices.astype(ids)
        typed = gasla.Graph.from_csr(*lists, matrix.data.astype(weights)).to(engine)  # type: ignore[arg-type]
        if algorithm == "pagerank":
            return lambda: pagerank(typed, weighted=True)
        return lambda: ALGORITHMS[algorithm](typed, sources)

    def time_call(self, algorithm: str, graph: str, types: str, engine: str) -> None:
        """The time of one call."""
        self.call()
