"""Measure what algorithms are made of: stages, programs by direction, types, construction of graphs, changes.

    python -m benchmarks.parts [--graphs rmat16,grid16] [--rows stage] [--device gpu] [--json FILE]

A row has the times of several ways to the same end, by turns, and how many times as fast as the first the others are.
`gasla bench` measures the algorithms, `python -m benchmarks.compare --algorithms semirings` products.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import gasla
import semirings
from benchmarks.programs import Levels, Paths
from benchmarks.script import Script, command
from gasla import stages
from gasla.arrays import array_module, moved
from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.peers import PAGERANK_ITERATIONS
from gasla.graph.graph import Graph

FEW = 1 << 18  # number of edges for `intersect`, because edges between hubs have long lists
ITERATIONS = 10  # for programs that don't end by themselves
PART, SEED = 1e-4, 28  # fraction of inserted edges, and seed
Ways = dict[str, Callable[[], Any]]


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
    """`Spread` with the hook `post_apply`."""

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


def programs(found: BenchmarkGraph) -> Iterator[tuple[str, Ways]]:
    """Whole programs by automatic and by given direction, and stage by stage."""
    on, source = found.graph, found.sources[0]
    cases: dict[str, tuple[Any, Any, int, dict[str, Any]]] = {
        "search": (Levels, [source], on.n, {"level": {source: 0}}),
        "paths": (Paths, [source], on.n, {"length": {source: 0}}),
        "spread": (Spread, None, ITERATIONS, {}),
        "flow": (Flow, None, ITERATIONS, {}),
    }
    for name, (kind, active, iterations, fields) in cases.items():
        run = partial(gasla.run, kind, on, active=active, max_iterations=iterations, **fields)
        ways: Ways = {way: partial(run, direction=way) for way in ("auto", "push", "pull")}
        yield name, {**ways, "stages": partial(by_stages, kind, on, active, iterations, **fields)}


def types(found: BenchmarkGraph) -> Iterator[tuple[str, Ways]]:
    """64-bit ids and offsets (on a GPU: offsets only) and float64 weights, compared with the usual types."""
    matrix, typed = found.on("cpu").matrix, {}
    for ids, weights in (("int32", "float32"), ("int64", "float32"), ("int32", "float64")):
        lists = matrix.indptr.astype(ids), matrix.indices.astype(ids)
        typed[f"{ids} {weights}"] = Graph.from_csr(*lists, matrix.data.astype(weights)).to(found.device)
    search, ranks = partial(gasla.sssp, source=found.sources[0]), partial(gasla.pagerank, tol=0)
    yield "sssp", {name: partial(search, graph) for name, graph in typed.items()}
    yield "pagerank", {name: partial(ranks, graph, max_iter=PAGERANK_ITERATIONS) for name, graph in typed.items()}


def changes(found: BenchmarkGraph) -> Iterator[tuple[str, Ways]]:
    """Runs on a graph with inserted edges: from scratch, and continued from the previous answer."""
    before, after = changed(found.graph)
    calls: dict[str, Callable[..., Any]] = {
        "bfs": partial(gasla.bfs, source=found.sources[0]),
        "sssp": partial(gasla.sssp, source=found.sources[0]),
        "components": gasla.connected_components,
    }
    for name, call in calls.items():
        yield name, {"from nothing": partial(call, after), "on": partial(call, after, start=call(before))}


def rows(found: BenchmarkGraph) -> Iterator[tuple[str, Ways]]:
    """All rows of a graph."""
    for family, calls in (("stage", on_all), ("construction", ways)):
        yield from ((f"{family} {name}", {family: call}) for name, call in calls(found.graph).items())
    for family, cases in (("program", programs), ("types", types), ("changes", changes)):
        yield from ((f"{family} {name}", contestants) for name, contestants in cases(found))


def main(arguments: list[str] | None = None) -> None:
    """Measure all rows whose names match."""
    defaults: dict[str, Any] = {"graphs": "rmat16,grid16", "rounds": 9, "budget": 5.0}
    script = Script(command(__doc__, "device", "graphs_module", "rows", "output", "json", **defaults), arguments)
    for name in script.options.graphs:
        for what, contestants in script.wanted(rows(script.load(name))):
            calls = {way: lambda _, call=call: call() for way, call in contestants.items()}
            script.contest(f"{name}: {what}", calls)


if __name__ == "__main__":
    main()
