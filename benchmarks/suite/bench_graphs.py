"""Construction and transformation of graphs; and runs that continue after edges were inserted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gasla
import semirings
from gasla.arrays import array_module, moved
from gasla.graph.graph import Graph

from . import ENGINES, SKEWED_AND_FLAT, Calls, load

PART, SEED = 1e-4, 28  # fraction of inserted edges, and seed


def ways(made: Graph) -> dict[str, Callable[[], Any]]:
    """Return functions that make a graph, by name; `with_values` drops cached properties that depend on values."""
    (src, dst), rng = made.edges(), np.random.default_rng(SEED)
    xp: Any = array_module(src)
    labels = xp.asarray(rng.integers(0, made.n // 20 + 1, made.n, np.int32))
    edges, vertices = (xp.asarray(rng.random(size) < 0.5) for size in (made.m, made.n))

    def of_edges(**options: Any) -> Graph:
        return Graph.from_edges(src, dst, made.values, n=made.n, **options)

    return {
        "from_edges, out": lambda: of_edges().out,
        "from_edges, in": lambda: of_edges().in_,
        "from_edges, combined": lambda: of_edges(combine=semirings.plus),
        "simple": lambda: made.with_values(made.values).simple(semirings.plus),
        "symmetrized": lambda: made.with_values(made.values).symmetrized(semirings.max),
        "contract": lambda: made.contract(labels),
        "select": lambda: made.select(edges),
        "subgraph": lambda: made.subgraph(vertices),
    }


class Building(Calls):
    """Construction of a graph."""

    params = (
        [
            *("from_edges, out", "from_edges, in", "from_edges, combined", "simple", "symmetrized"),
            *("contract", "select", "subgraph"),
        ],
        SKEWED_AND_FLAT,
        ENGINES,
    )
    param_names = ("way", "graph", "engine")

    def prepare(self, way: str, graph: str, engine: str) -> Callable[[], Any]:
        return ways(load(graph, engine).graph)[way]

    def time_graph(self, way: str, graph: str, engine: str) -> None:
        """The time of one construction."""
        self.call()


class Changing(Calls):
    """Runs on a graph with inserted edges: from scratch, and continued from the previous answer."""

    params = (["bfs", "sssp", "components"], ["from nothing", "on"], SKEWED_AND_FLAT, ENGINES)
    param_names = ("algorithm", "start", "graph", "engine")

    def prepare(self, algorithm: str, start: str, graph: str, engine: str) -> Callable[[], Any]:
        found = load(graph, engine)
        before, after = changed(found.graph)
        call: Callable[..., Any] = {
            "bfs": lambda graph, **given: gasla.bfs(graph, found.sources[0], **given),
            "sssp": lambda graph, **given: gasla.sssp(graph, found.sources[0], **given),
            "components": gasla.connected_components,
        }[algorithm]
        given = {"start": call(before)} if start == "on" else {}
        return lambda: call(after, **given)

    def time_run(self, algorithm: str, start: str, graph: str, engine: str) -> None:
        """The time of one run."""
        self.call()


def changed(graph: Graph) -> tuple[Graph, Graph]:
    """Return the graph without some undirected edges, and the graph after inserting them again."""
    src, dst = (moved(ends, "cpu").astype(np.int64) for ends in graph.edges())
    forth = np.flatnonzero(src < dst)
    cut = np.random.default_rng(SEED).choice(forth, max(1, int(PART * len(forth))), replace=False)
    pairs = np.minimum(src, dst) * graph.n + np.maximum(src, dst)
    removed = np.flatnonzero(np.isin(pairs, pairs[cut]))
    xp: Any = array_module(graph.out.indptr)
    edges = tuple(map(xp.asarray, (src[removed], dst[removed], moved(graph.values, "cpu")[removed])))
    before = graph.changed(remove=xp.asarray(removed))
    return before, before.changed(insert=edges)
