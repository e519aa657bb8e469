"""The algorithms: time, GTEPS and memory; and the cost of wider types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gasla
from gasla.bench import tasks
from gasla.bench.peers import PAGERANK_ITERATIONS

from . import ALGORITHMS, ENGINES, GRAPHS, SKEWED_AND_FLAT, Calls, call_of, load


class _OnGraphs(Calls):
    param_names = ("algorithm", "graph", "engine")

    def prepare(self, algorithm: str, graph: str, engine: str) -> Callable[[], Any]:
        self.graph = load(graph, engine)
        return call_of(algorithm, self.graph)


class Algorithms(_OnGraphs):
    """The public functions on a `gasla.Graph`."""

    params = (ALGORITHMS, GRAPHS, ENGINES)

    def time_call(self, algorithm: str, graph: str, engine: str) -> None:
        """The time of one call."""
        self.call()

    def track_gteps(self, algorithm: str, graph: str, engine: str) -> float:
        """Stored directed edges whose source was reached, divided by the time of the call, in billions per second.

        The median of three calls, with the graph built and the code compiled. PageRank, components and triangles count
        all edges once (the 20 iterations of PageRank, too), betweenness once per source.
        """
        return self.gteps(tasks.edges(self.graph, algorithm, tasks.sources_of(self.graph, algorithm))[0])

    def peakmem_call(self, algorithm: str, graph: str, engine: str) -> None:
        """Peak memory of the process, including construction of the graph; without GPU memory."""
        self.call()

    track_gteps.unit = "GTEPS"  # type: ignore[attr-defined]


class DeviceMemory(_OnGraphs):
    """GPU memory."""

    params = (ALGORITHMS, GRAPHS, ["gpu"])

    def track_bytes(self, algorithm: str, graph: str, engine: str) -> int:
        """Bytes of GPU memory in CuPy's pool after a call."""
        import cupy

        return int(cupy.get_default_memory_pool().total_bytes())

    track_bytes.unit = "bytes"  # type: ignore[attr-defined]


class Types(Calls):
    """64-bit ids and offsets (on a GPU: offsets only) and float64 weights, compared with the usual types."""

    params = (["sssp", "pagerank"], SKEWED_AND_FLAT, ["int32 float32", "int64 float32", "int32 float64"], ENGINES)
    param_names = ("algorithm", "graph", "types", "engine")

    def prepare(self, algorithm: str, graph: str, types: str, engine: str) -> Callable[[], Any]:
        found, (ids, weights) = load(graph, "cpu"), types.split()
        lists = found.matrix.indptr.astype(ids), found.matrix.indices.astype(ids)
        typed = gasla.Graph.from_csr(*lists, found.matrix.data.astype(weights)).to(engine)  # type: ignore[arg-type]
        if algorithm == "sssp":
            return lambda: gasla.sssp(typed, found.sources[0])
        return lambda: weighted_pagerank(typed)

    def time_call(self, algorithm: str, graph: str, types: str, engine: str) -> None:
        """The time of one call."""
        self.call()


def weighted_pagerank(graph: gasla.Graph) -> Any:
    """Ranks in the type of the weights, with a fixed number of iterations."""
    return gasla.pagerank(graph, tol=0, max_iter=PAGERANK_ITERATIONS)
