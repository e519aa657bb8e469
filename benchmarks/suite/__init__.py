"""The asv suite (`asv run`): all combinations of algorithms, graphs and engines. docs/history.md says how to run it.

`GASLA_BENCH_SCALES` sets the sizes of the generated graphs, 2**scale vertices each: `10` for a quick test, `16,22` for
a large GPU. Of the real graphs, `ny` with 264,346 vertices takes part from scale 16 on. Cases that can't run on this
machine are skipped with a reason.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from statistics import median
from typing import Any

from gasla.arrays import finish, require_gpu
from gasla.bench import graphs, tasks

SCALES = [int(scale) for scale in os.environ.get("GASLA_BENCH_SCALES", "16,18,20").split(",")]
REAL = ["openflights", *(["ny"] if max(SCALES) >= 16 else [])]
GRAPHS = [f"{family}{scale}" for scale in SCALES for family in graphs.FAMILIES] + REAL
SKEWED_AND_FLAT = [f"{family}{scale}" for scale in SCALES for family in ("rmat", "grid")]  # the two extremes
ALGORITHMS = list(tasks.ALGORITHMS)
ENGINES = ["cpu", "gpu"]


def require(engine: str) -> None:
    """Skip the case if the engine is not available."""
    if engine == "gpu":
        try:
            require_gpu()
        except RuntimeError as error:
            raise NotImplementedError(error) from None


def load(name: str, engine: str) -> graphs.BenchmarkGraph:
    """Return a benchmark graph on the device of the engine."""
    require(engine)
    return graphs.load(name).on(engine)  # type: ignore[arg-type]


def call_of(algorithm: str, graph: graphs.BenchmarkGraph) -> Callable[[], Any]:
    """Return the call of `gasla bench`, with the first source of the graph, or with several."""
    call = tasks.bind(tasks.Gasla(graph), algorithm, graph.sources, tasks.sources_of(graph, algorithm))
    if call is None:
        raise NotImplementedError(f"{algorithm} takes too much memory on {graph.name}")
    return lambda: call(0)


class Calls(ABC):
    """Base class: one call per combination of parameters, made once untimed, to build the graph and compile code.

    asv calls `setup` before each sample; the prepared call is kept between samples in the same process.
    """

    timeout = 300
    warmup_time = 0
    number = 1
    repeat = (3, 10, 5.0)
    _made: tuple[Any, ...] | None = None

    @abstractmethod
    def prepare(self, *case: Any) -> Callable[[], Any]:
        """Return the call to measure."""

    def setup(self, *case: Any) -> None:
        """Prepare the call, and make it once."""
        require("gpu" if "gpu" in case else "cpu")
        if self._made != case:
            self._made, self._call, self._engine = case, self.prepare(*case), "gpu" if "gpu" in case else "cpu"
            self.call()

    def call(self) -> Any:
        """Make the call, including stream synchronization on a GPU."""
        result = self._call()
        finish(self._engine)  # type: ignore[arg-type]
        return result

    def gteps(self, edges: float) -> float:
        """Billions of edges per second: the median of three calls."""
        return edges / median(self._seconds() for _ in range(3)) / 1e9

    def _seconds(self) -> float:
        start = time.perf_counter()
        self.call()
        return time.perf_counter() - start
