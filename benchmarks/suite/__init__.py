"""The asv suite: `asv run`. What is measured is one table of algorithms, graphs and engines; CONTRIBUTING.md says how.

`GASLA_BENCH_SCALES` chooses the sizes of the generated graphs, 2**scale vertices each: `10` for a quick look, `16,22`
for a large GPU. A case that can't run on this machine is skipped, and says why.
"""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

import gasla
from gasla import datasets
from gasla.arrays import finish, require_gpu
from gasla.bench import graphs

# asv forks a process for each case: what is imported here, or made ready by a first call, is so once for all.
gasla.connected_components(datasets.grid(2))
with suppress(ImportError):
    import cupy  # noqa: F401  # CUDA itself must not start before the fork

SCALES = [int(scale) for scale in os.environ.get("GASLA_BENCH_SCALES", "16,18,20").split(",")]
REAL = ["openflights", "ny"]
GRAPHS = [f"{family}{scale}" for scale in SCALES for family in graphs.FAMILIES] + REAL
SKEWED_AND_FLAT = [f"{family}{scale}" for scale in SCALES for family in ("rmat", "grid")]  # the two extremes
ENGINES = ["cpu", "gpu"]
BETWEENNESS_SOURCES = 4
PAGERANK_ITERATIONS = 20


def pagerank(graph: gasla.Graph, weighted: bool = False) -> Any:
    """Ranks after a fixed number of iterations, as no tolerance is ever met."""
    with warnings.catch_warnings(action="ignore", category=gasla.ConvergenceWarning):
        return gasla.pagerank(
            graph, weighted=weighted, tol=0, max_iter=PAGERANK_ITERATIONS, dtype=None if weighted else np.float32
        )


ALGORITHMS: dict[str, Callable[[gasla.Graph, list[int]], Any]] = {
    "bfs": lambda graph, sources: gasla.bfs(graph, sources[0]),
    "sssp": lambda graph, sources: gasla.sssp(graph, sources[0]),
    "pagerank": lambda graph, _: pagerank(graph),
    "components": lambda graph, _: gasla.connected_components(graph),
    "triangles": lambda graph, _: gasla.triangle_count(graph),
    "betweenness": lambda graph, sources: gasla.betweenness_centrality(graph, sources=sources[:BETWEENNESS_SOURCES]),
}


def require(engine: str) -> None:
    """Skip the case where there is no such engine."""
    if engine == "gpu":
        try:
            require_gpu()
        except RuntimeError as error:
            raise NotImplementedError(error) from None


def load(name: str) -> tuple[Any, list[int]]:
    """Return a benchmark graph's matrix, and the vertices that searches start from."""
    if name == "openflights":
        matrix = datasets.openflights().matrix
        return matrix, datasets.sources(matrix)
    found = graphs.load(name)
    return found.matrix, found.sources


def graph_on(engine: str, name: str) -> tuple[gasla.Graph, list[int]]:
    """Return a benchmark graph where the engine is, and its sources."""
    require(engine)
    matrix, sources = load(name)
    return gasla.Graph(matrix).to(engine), sources  # type: ignore[arg-type]


class Calls(ABC):
    """A call for each combination of parameters, made once before it is timed: the graph is built, the code compiled.

    asv sets up anew before each sample; the call is kept between those of one process.
    """

    timeout = 900
    warmup_time = 0
    number = 1
    repeat = (3, 10, 5.0)
    _made: tuple[Any, ...] | None = None

    @abstractmethod
    def prepare(self, *case: Any) -> Callable[[], Any]:
        """Return what is to be called."""

    def setup(self, *case: Any) -> None:
        """Prepare the call, and make it once."""
        require("gpu" if "gpu" in case else "cpu")
        if self._made != case:
            self._made, self._call, self._engine = case, self.prepare(*case), "gpu" if "gpu" in case else "cpu"
            self.call()

    def call(self) -> Any:
        """Call, and wait until a GPU has done its part."""
        result = self._call()
        finish(self._engine)  # type: ignore[arg-type]
        return result
