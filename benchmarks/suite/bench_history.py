"""A few calls whose times are compared from commit to commit: docs/history.md says how.

They use public names only, so the same file measures earlier commits.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

import gasla
from gasla import datasets

SCALE = int(os.environ.get("GASLA_BENCH_SCALES", "16").split(",")[0])
CALLS: dict[str, Callable[[gasla.Graph], Any]] = {
    "bfs": lambda graph: gasla.bfs(graph, 0),
    "sssp": lambda graph: gasla.sssp(graph, 0),
    "pagerank": gasla.pagerank,
    "connected_components": gasla.connected_components,
    "triangle_count": gasla.triangle_count,
    "louvain_communities": lambda graph: gasla.louvain_communities(graph, seed=1),
    "core_number": gasla.core_number,
    "betweenness_centrality": lambda graph: gasla.betweenness_centrality(graph, k=2, seed=1),
    "strongly_connected_components": gasla.strongly_connected_components,
    "random_walks": lambda graph: gasla.random_walks(graph, np.arange(graph.n), length=8, seed=1),
}
GRAPHS = {"rmat": datasets.rmat, "grid": datasets.grid}  # few long rows, many short ones


class History:
    """A public function on a graph of 2**16 vertices; `GASLA_BENCH_SCALES` sets another size by its first number.

    asv calls `setup` before each sample; the prepared call, made once untimed, is kept between samples in a process.
    """

    params = (list(CALLS), list(GRAPHS))
    param_names = ("function", "graph")
    timeout = 300
    warmup_time = 0
    number = 1
    repeat = (5, 20, 2.0)
    # asv drops results of another version: its hash of an earlier text that computes the same. Change what is computed,
    # and it must be another one.
    version = "208b72019dd94b76c6da0d78b5c7209bf186b3f4eb1bb445003b9723b7c64a79"
    _made: tuple[str, str] | None = None

    def setup(self, function: str, graph: str) -> None:
        """Prepare the call, and make it once, to build the graph and compile code."""
        if self._made != (function, graph):
            made = gasla.Graph(GRAPHS[graph](SCALE))
            self._made, self._call = (function, graph), lambda: CALLS[function](made)
            self._call()

    def time_call(self, function: str, graph: str) -> None:
        """The time of one call."""
        self._call()
