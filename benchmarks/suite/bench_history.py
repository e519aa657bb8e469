"""A few calls whose times are compared from commit to commit: docs/history.md says how.

They use public names only, so the same file measures earlier commits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gasla
from gasla import datasets

from . import SCALES, Calls

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


class History(Calls):
    """A public function on a graph of 2**16 vertices; `GASLA_BENCH_SCALES` sets another size by its first number."""

    params = (list(CALLS), list(GRAPHS))
    param_names = ("function", "graph")
    repeat = (5, 20, 2.0)

    def prepare(self, function: str, graph: str) -> Callable[[], Any]:
        made = gasla.Graph(GRAPHS[graph](SCALES[0]))
        return lambda: CALLS[function](made)

    def time_call(self, function: str, graph: str) -> None:
        """The time of one call."""
        self.call()
