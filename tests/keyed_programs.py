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


class Told(gasla.VertexProgram):
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
