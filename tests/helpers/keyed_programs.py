"""Programs that reduce by key, and what one such iteration comes to by plain loops over edges."""

from collections import defaultdict
from typing import Any

import numpy as np

import gasla
import semirings
from gasla.graph.graph import Graph


class Labels(gasla.VertexProgram):
    """The label that weighs most; of those that tie, the smallest."""

    label = gasla.vertex(gasla.ID, init=lambda v: v.id)
    weight = gasla.edge(np.float64)
    everyone = True
    reduce = semirings.plus

    def key(self, src, dst, edge):
        return src.label

    def gather(self, src, dst, edge):
        return edge.weight

    def choose(self, vertex, key, total):
        return total

    def apply(self, vertex, gathered):
        return {"label": semirings.where(gathered.key >= 0, gathered.key, vertex.label)}


class Chosen(gasla.VertexProgram):
    """All that is gathered is kept: key, total and both scores; with keys that are none, and scores that tie."""

    kind = gasla.vertex(np.int16, init=lambda v: semirings.cast(v.id % 5 - 1, np.int16))
    chosen = gasla.vertex(np.int32, init=-7)
    total = gasla.vertex(np.int64)
    score = gasla.vertex(np.int64)
    other = gasla.vertex(np.float64)
    rank = gasla.vertex(np.float64, init=lambda v: v.id % 3, missing=-1)
    everyone = True
    reduce = semirings.plus

    def key(self, src, dst, edge):
        return src.kind

    def gather(self, src, dst, edge):
        return src.id + edge.id

    def choose(self, vertex, key, total):
        return total % 4, self.at(key).rank + vertex.kind

    def apply(self, vertex, gathered):
        first, second = gathered.score
        return {"chosen": gathered.key, "total": gathered.total, "score": first, "other": second}


def hub_of_a_million(kind: str) -> tuple[Graph, np.ndarray, int]:
    """A vertex with a million neighbors, labels that are alike, all different or some, and the one that it takes."""
    n = 10**6
    some = np.arange(n + 1) % 1000
    some[::2] = 17
    labels = {"alike": np.zeros(n + 1, np.int64), "different": np.arange(n + 1), "some": some}[kind]
    graph = Graph.from_edges(np.arange(1, n + 1), np.zeros(n, np.int64), n=n + 1)
    return graph, labels.astype(graph.id_dtype), {"alike": 0, "different": 1, "some": 17}[kind]


def labels_once(graph: Graph, labels: np.ndarray) -> np.ndarray:
    """One iteration of Labels."""
    totals: Any = [defaultdict(float) for _ in range(graph.n)]
    for u, v, w in zip(graph.out.owners(), graph.out.indices, edge_values(graph), strict=True):
        totals[v][labels[u]] += w
    return np.array(
        [max(t, key=lambda k: (t[k], -k)) if t else labels[v] for v, t in enumerate(totals)], graph.id_dtype
    )


def edge_values(graph: Graph) -> np.ndarray:
    """The values of edges in the order of the lists of those that leave."""
    values = graph.out_values
    return np.ones(graph.m) if values is None else np.asarray(values)


class Heard(gasla.VertexProgram):
    """Masks of vertices and edges, active sources alone, a frontier, an aggregate at vertices, and one that sums."""

    label = gasla.vertex(gasla.ID, init=lambda v: v.id % 9, missing=-1)
    times = gasla.vertex(np.int32)
    weight = gasla.edge(np.int64)
    reduce = semirings.max
    sources = "active"

    @gasla.aggregate(semirings.plus, np.int64, at=lambda self, vertex: vertex.label)
    def members(self, before, after):
        return 1

    @gasla.aggregate(semirings.plus, np.int64)
    def moved(self, before, after):
        return semirings.where(before.label != after.label, 1, 0)

    def mask(self, vertex):
        return vertex.times < 3

    def edge_mask(self, src, dst, edge):
        return edge.weight + src.label % 2 != 2

    def key(self, src, dst, edge):
        return src.label - (edge.id % 5 == 0) * 100

    def gather(self, src, dst, edge):
        return edge.weight + dst.times

    def choose(self, vertex, key, total):
        return total * 2 - self.at(key).members, vertex.id % 2 * key

    def apply(self, vertex, gathered):
        own, _ = self.choose(vertex, vertex.label, 0)
        better = (gathered.key >= 0) & (gathered.score[0] > own)
        return {"label": semirings.where(better, gathered.key, vertex.label), "times": vertex.times + 1}

    def activate(self, before, after):
        return (before.label != after.label) | (after.times < 2)


class Both(Heard):
    """All sources, edges of both directions."""

    sources = "all"
    direction = "all"


class Out(Heard):
    """Everyone, over the edges that leave, from active sources, in floats."""

    everyone = True
    direction = "out"
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return edge.weight * 0.5

    def stop(self):
        return self.moved == 0
