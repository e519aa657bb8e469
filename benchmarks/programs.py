"""Programs as a user would write them, with public names only, compared with the library's functions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

import gasla
import semirings
from gasla import primitives
from gasla.arrays import array_module
from gasla.bench import cells, tasks
from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.peers import DAMPING, PAGERANK_ITERATIONS


class Tree(gasla.VertexProgram):
    """Breadth-first levels and parents."""

    level = gasla.vertex(np.int32, init=-1)
    parent = gasla.vertex(gasla.ID, init=-1)
    reduce = semirings.any
    sources = "active"

    def mask(self, vertex):
        return vertex.level < 0

    def gather(self, src, dst, edge):
        return src.id + 1  # `any` skips zeros

    def apply(self, vertex, gathered):
        return {"level": self.iteration + 1, "parent": gathered - 1}


class Paths(gasla.VertexProgram):
    """Lengths of shortest paths."""

    length = gasla.vertex(np.float32, init=np.inf)
    weight = gasla.edge(np.float32)
    reduce = semirings.min

    def gather(self, src, dst, edge):
        return src.length + edge.weight

    def apply(self, vertex, gathered):
        return {"length": semirings.minimum(vertex.length, gathered)}

    def activate(self, before, after):
        return after.length < before.length

    def priority(self, vertex):
        return vertex.length


class Surfer(gasla.VertexProgram):
    """PageRank with a fixed number of iterations; the rank of vertices without edges is distributed evenly."""

    rank = gasla.vertex(np.float32)
    share = gasla.vertex(np.float32)
    part = gasla.vertex(np.float32)  # 1 / out-degree
    reduce = semirings.plus
    everyone = True

    def gather(self, src, dst, edge):
        return src.share

    def apply(self, vertex, gathered):
        jump = (1 - DAMPING + DAMPING * self.lost) / self.n  # float64, because aggregates accumulate in float64
        rank = semirings.cast(jump, np.float32) + DAMPING * gathered
        return {"rank": rank, "share": rank * vertex.part}

    def activate(self, before, after):
        return True

    @gasla.aggregate(semirings.plus)
    def lost(self, before, after):
        return semirings.where(after.part == 0, after.rank, 0)

    @gasla.aggregate(semirings.plus)
    def change(self, before, after):
        return abs(after.rank - before.rank)


class Levels(gasla.VertexProgram):
    """Breadth-first levels."""

    level = gasla.vertex(np.int32, init=-1)
    reduce = semirings.any
    sources = "active"

    def mask(self, vertex):
        return vertex.level < 0

    def gather(self, src, dst, edge):
        return True

    def apply(self, vertex, gathered):
        return {"level": self.iteration + 1}


class Count(gasla.VertexProgram):
    """The number of shortest paths to each vertex, level by level."""

    paths = gasla.vertex(np.float64)
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.paths

    def apply(self, vertex, gathered):
        return {"paths": gathered}


class Depend(gasla.VertexProgram):
    """The dependency of the source on each vertex (Brandes), from the last level back; added to a score."""

    paths = gasla.vertex(np.float64)
    score = gasla.vertex(np.float64)
    back = gasla.vertex(np.float64)
    direction = "out"
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.back

    def apply(self, vertex, gathered):
        dependency = vertex.paths * gathered
        return {"score": vertex.score + dependency, "back": (1 + dependency) / vertex.paths}


class Own:
    """The programs above with the interface of a peer."""

    name = "user's own"

    def __init__(self, graph: BenchmarkGraph) -> None:
        self.graph = graph.graph

    @staticmethod
    def dense(result: Any) -> Any:
        return result

    def bfs(self, source: int) -> Any:
        start, own = {source: 0}, {source: source}
        return gasla.run(Tree, self.graph, active=[source], level=start, parent=own, wait=False).parent

    def sssp(self, source: int) -> Any:
        return gasla.run(Paths, self.graph, active=[source], length={source: 0}, wait=False).length

    @cached_property
    def evenly(self) -> dict[str, Any]:
        """The start values of PageRank, cached as in the library."""
        n, degrees = self.graph.n, self.graph.out_degrees
        part = (degrees > 0) / array_module(degrees).maximum(degrees, 1).astype(np.float32)
        return {"rank": 1 / n, "share": part / n, "part": part}

    def pagerank(self) -> Any:
        return gasla.run(Surfer, self.graph, max_iterations=PAGERANK_ITERATIONS, wait=False, **self.evenly).rank

    def betweenness(self, sources: list[int]) -> Any:
        """Up to a factor; without a check whether path counts overflow."""
        search = gasla.prepare(Levels, self.graph)
        count, depend = (gasla.prepare(program, self.graph, scheduled=True) for program in (Count, Depend))
        starts: dict[str, Any] = {}
        coming = search(active=[sources[0]], level={sources[0]: 0}, wait=False)
        for source, following in zip(sources, [*sources[1:], None]):
            found = coming
            if following is not None:  # on a GPU the next search is launched before the result of this one is read
                coming = search(active=[following], level={following: 0}, wait=False)
            order = gasla.Schedule(found.level, first=1, depth=found.iterations - 1)
            paths = count(schedule=order, paths={source: 1}, wait=False).paths
            starts = {"score": depend(schedule=order.reversed(), paths=paths, wait=False, **starts).score}
        return starts["score"]

    def components(self) -> Any:
        return primitives.label_components(self.graph)[1]

    def triangles(self) -> Any:
        return primitives.count_common_neighbors(primitives.orient(self.graph))[0]


ALGORITHMS = ("bfs", "sssp", "pagerank", "betweenness", "components", "triangles")


def measure(graph: BenchmarkGraph, settings: cells.Settings) -> Iterator[cells.Cell]:
    """One cell per algorithm: the user-written program compared with the library's function."""
    for algorithm in ALGORITHMS:
        both = {cells.OWN: Own(graph), cells.GASLA: tasks.Gasla(graph)}
        yield cells.cell(graph, both, algorithm, settings, name=f"own {algorithm}")
