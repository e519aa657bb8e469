"""The six algorithms: time, and billions of edges traversed a second."""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import numpy as np

from . import GRAPHS, QUICK  # first: it makes `benchmarks` known

from benchmarks import peers  # isort: skip
from gasla.bench import graphs

from benchmarks.compare import bind  # isort: skip
from benchmarks.peers.gasla_peer import Gasla  # isort: skip


class Algorithms:
    """gasla's functions on graphs that are built and with code that is compiled."""

    params = (GRAPHS, list(peers.ALGORITHMS))
    param_names = ("graph", "algorithm")
    timeout = 600
    warmup_time = 0
    number = 1
    repeat = (1, 3, 2.0) if QUICK else (3, 20, 20.0)

    def setup(self, graph: str, algorithm: str) -> None:
        """Build the graph, choose one source, and compile."""
        if not QUICK and graph in ("urand20", "rgg20") and algorithm in ("triangles", "betweenness"):
            raise NotImplementedError("no figure of interest: few triangles, or as on the grid")
        self.benchmark = graphs.load(graph)
        self.peer = Gasla(self.benchmark)
        call = bind(self.peer, algorithm, self.benchmark.sources[:1])
        assert call is not None
        self.call: Any = lambda: call(0)
        self.answer = self.call()

    def time_call(self, graph: str, algorithm: str) -> None:
        """The time of one call."""
        self.call()

    def track_gteps(self, graph: str, algorithm: str) -> float:
        """Stored directed edges whose source was reached, over the time of the call, graph built and code compiled.

        The median of three calls. Algorithms that start nowhere in particular reach every vertex; the 20 iterations of
        PageRank count as one call.
        """
        seconds = []
        for _ in range(3):
            start = time.perf_counter()
            self.call()
            seconds.append(time.perf_counter() - start)
        return self._edges(algorithm) / median(seconds) / 1e9

    track_gteps.unit = "GTEPS"  # type: ignore[attr-defined]

    def _edges(self, algorithm: str) -> int:
        degrees = np.diff(self.benchmark.matrix.indptr)
        if algorithm == "bfs":
            return int(degrees[self.answer >= 0].sum())
        if algorithm == "sssp":
            return int(degrees[np.isfinite(self.answer)].sum())
        return int(degrees.sum())
