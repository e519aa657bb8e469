"""Single stages on all vertices and edges; and whole programs by push, pull, automatic choice, and stage by stage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gasla
import semirings
from gasla import stages
from gasla.algorithms.paths.sssp import BellmanFord
from gasla.algorithms.traversal.bfs import Levels

from . import ENGINES, SKEWED_AND_FLAT, Calls, load

FEW = 1 << 18  # number of edges for `intersect`, because edges between hubs have long lists
ITERATIONS = 10  # for programs that don't end by themselves
Paths = BellmanFord(real=np.float32, lengths=np.float32)


class Spread(gasla.VertexProgram):
    """load(v) = 0.01 times the sum of load over in-neighbors: an iteration of PageRank without aggregates."""

    load = gasla.vertex(np.float32, init=1)
    reduce = semirings.plus
    everyone = True

    def gather(self, src, dst, edge):
        return src.load

    def apply(self, vertex, gathered):
        return {"load": np.float32(0.01) * gathered}

    def activate(self, before, after):
        return True


class WithPostApply(Spread):
    """`Spread` with a post_apply."""

    def post_apply(self, vertex):
        return {"load": vertex.load + 1}


class Flow(Spread):
    """`Spread` by edge fields: a vertex scatters its load, and the next iteration gathers it."""

    sent = gasla.edge(np.float32, init=1)

    def gather(self, src, dst, edge):
        return edge.sent

    def scatter(self, src, dst, edge):
        return {"sent": src.load}


def on_all(graph: gasla.Graph) -> dict[str, Callable[[], Any]]:
    """Return each stage as a call on the whole graph."""
    everyone = gasla.Frontier.all(graph.n, graph.device)
    spread, flow, with_post_apply = (stages.start(program, graph) for program in (Spread, Flow, WithPostApply))
    edges, gathered, forest = stages.expand(graph, everyone), stages.gather(spread, everyone), stages.hook(graph)
    few = edges[slice(0, FEW)]
    return {
        "expand": lambda: stages.expand(graph, everyone),
        "contract": lambda: stages.contract(graph, edges),
        "gather": lambda: stages.gather(spread, everyone),
        "apply": lambda: stages.apply(spread, everyone, gathered),
        "scatter": lambda: stages.scatter(flow, everyone),
        "post_apply": lambda: stages.post_apply(with_post_apply, everyone),
        "intersect": lambda: stages.intersect(graph, few),
        "hook": lambda: stages.hook(graph),
        "link": lambda: stages.link(graph, forest.copy()),
        "compress": lambda: stages.compress(forest.copy()),
        "number": lambda: stages.number(forest.copy()),
    }


class Stages(Calls):
    """One stage on all vertices or edges (`intersect`: on at most 262,144 edges)."""

    params = (
        [
            *("expand", "contract", "gather", "apply", "scatter", "post_apply"),
            *("intersect", "hook", "link", "compress", "number"),
        ],
        SKEWED_AND_FLAT,
        ENGINES,
    )
    param_names = ("stage", "graph", "engine")

    def prepare(self, stage: str, graph: str, engine: str) -> Callable[[], Any]:
        on = load(graph, engine).graph
        self.edges = min(on.m, FEW) if stage == "intersect" else on.m
        return on_all(on)[stage]

    def time_stage(self, stage: str, graph: str, engine: str) -> None:
        """The time of one stage."""
        self.call()

    def track_gteps(self, stage: str, graph: str, engine: str) -> float:
        """Stored directed edges (`intersect`: its input edges) divided by the time of the stage, in billions / s.

        Stages that process only vertices (apply, post_apply, compress, number) count the edges of the graph as well.
        """
        return self.gteps(self.edges)

    track_gteps.unit = "GTEPS"  # type: ignore[attr-defined]


def by_stages(program: Any, graph: gasla.Graph, active: Any, iterations: int, **fields: Any) -> stages.State:
    """Run a program stage by stage, as an explicit loop."""
    state = stages.start(program, graph, **fields)
    frontier = gasla.Frontier.all(graph.n, graph.device) if active is None else gasla.Frontier(graph.n, active)
    while frontier and state.iteration < iterations:
        receivers = stages.contract(state, None if program.everyone else stages.expand(state, frontier))
        frontier = stages.apply(state, receivers, stages.gather(state, receivers, frontier))
        if "scatter" in state.has:
            stages.scatter(state, frontier)
        state.iteration += 1
    return state


class Programs(Calls):
    """`gasla.run` with automatic or given direction, compared with the same program stage by stage."""

    params = (["search", "paths", "spread", "flow"], SKEWED_AND_FLAT, ["auto", "push", "pull", "stages"], ENGINES)
    param_names = ("program", "graph", "way", "engine")

    def prepare(self, program: str, graph: str, way: str, engine: str) -> Callable[[], Any]:
        found = load(graph, engine)
        on, source = found.graph, found.sources[0]
        kind, active, iterations, fields = {
            "search": (Levels, [source], on.n, {"level": {source: 0}}),
            "paths": (Paths, [source], on.n, {"distance": {source: 0}}),
            "spread": (Spread, None, ITERATIONS, {}),
            "flow": (Flow, None, ITERATIONS, {}),
        }[program]
        if way == "stages":
            return lambda: by_stages(kind, on, active, iterations, **fields)
        return lambda: gasla.run(kind, on, active=active, max_iterations=iterations, direction=way, **fields)

    def time_run(self, program: str, graph: str, way: str, engine: str) -> None:
        """The time of a whole run."""
        self.call()
