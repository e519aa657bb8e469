"""Vertex programs over wide vectors: between them they use every part of what a program may say.

Whole numbers, so that sums don't depend on their order.
"""

from typing import Any

import numpy as np

import gasla
import semirings


def counting(vertex: Any, lanes: int) -> np.ndarray:
    """What differs from vertex to vertex and from lane to lane."""
    return np.stack([(vertex.id * 7 + lane * lane) % 31 for lane in range(lanes)])


def summing(lanes: int) -> Any:
    """Everyone sums the features of neighbors, once."""

    class Summing(gasla.VertexProgram):
        x = gasla.vertex((np.float32, (lanes,)), init=lambda vertex: counting(vertex, lanes))
        y = gasla.vertex((np.float32, (lanes,)), init=0)
        reduce = semirings.plus
        everyone = True

        def gather(self, src, dst, edge):
            return src.x

        def apply(self, vertex, gathered):
            return {"y": gathered}

    return Summing


def scaled(lanes: int) -> Any:
    """The same with weights, two copies of the field, a mask, masks of edges, aggregates, and an end."""

    class Scaled(gasla.VertexProgram):
        x = gasla.vertex((np.int64, (lanes,)), init=lambda vertex: counting(vertex, lanes))
        w = gasla.edge(np.int64)
        reduce = semirings.plus
        everyone = True

        def mask(self, vertex):
            return (vertex.id % 5 != 0) & (semirings.max(vertex.x) < 96)

        def edge_mask(self, src, dst, edge):
            return (edge.w != 3) & (src.x[lanes - 1] < 90)

        def gather(self, src, dst, edge):
            return src.x * edge.w + dst.id % 3

        def apply(self, vertex, gathered):
            return {"x": (vertex.x + gathered) % 97}

        @gasla.aggregate(semirings.plus, np.int64)
        def total(self, before, after):
            return semirings.plus(after.x * before.x) % 1009

        @gasla.aggregate(semirings.max, np.int64)
        def most(self, before, after):
            return semirings.max(after.x)

        def stop(self):
            return self.total % 64 == 1

    return Scaled


def spreading(lanes: int, sources: str = "active") -> Any:
    """From who is active to their neighbors: a tuple, states of edges, and a look after all have applied."""

    class Spreading(gasla.VertexProgram):
        x = gasla.vertex((np.int32, (lanes,)), init=lambda vertex: counting(vertex, lanes))
        count = gasla.vertex(np.int32, init=0)
        flow = gasla.edge((np.int32, (lanes,)), init=1)
        load = gasla.edge(np.int32, init=0)
        reduce = semirings.product(semirings.max, semirings.plus)

        def edge_mask(self, src, dst, edge):
            return semirings.plus(src.x) % 7 != dst.id % 7

        def gather(self, src, dst, edge):
            return src.x + edge.flow % 5, 1

        def apply(self, vertex, gathered):
            return {"x": semirings.where(gathered[0] > vertex.x, gathered[0] % 50, vertex.x), "count": gathered[1]}

        def scatter(self, src, dst, edge):
            return {"flow": edge.flow + src.x * (1 + dst.id % 2), "load": edge.load + semirings.min(dst.x)}

        def post_apply(self, vertex):
            return {"count": vertex.count + vertex.x[0] % 2}

    Spreading.sources = sources
    return Spreading


def lowering(lanes: int, sources: str = "all") -> Any:
    """Minima travel along paths, in both directions."""

    class Lowering(gasla.VertexProgram):
        x = gasla.vertex((np.uint16, (lanes,)), init=lambda vertex: (2000 + counting(vertex, lanes)).astype(np.uint16))
        w = gasla.edge(np.int64)
        reduce = semirings.min
        direction = "all"

        def gather(self, src, dst, edge):
            return src.x + semirings.cast(edge.w, np.uint16)

        def apply(self, vertex, gathered):
            return {"x": semirings.minimum(vertex.x, gathered)}

    Lowering.sources = sources
    return Lowering


def first(lanes: int) -> Any:
    """Any value will do, as all are alike; who has one is masked."""

    class First(gasla.VertexProgram):
        x = gasla.vertex((np.int32, (lanes,)), init=-1)
        reduce = semirings.any

        def mask(self, vertex):
            return vertex.x[3] < 0

        def gather(self, src, dst, edge):
            return semirings.cast(dst.id % 4 + self.iteration + 1, (np.int32, (lanes,)))

        def apply(self, vertex, gathered):
            return {"x": gathered}

    return First


def looking(lanes: int) -> Any:
    """Only scalars are gathered, of wide fields at both ends."""

    class Looking(gasla.VertexProgram):
        x = gasla.vertex((np.int64, (lanes,)), init=lambda vertex: counting(vertex, lanes))
        near = gasla.vertex(np.int64, init=0)
        reduce = semirings.plus
        everyone = True

        def gather(self, src, dst, edge):
            return semirings.plus(src.x * dst.x)

        def apply(self, vertex, gathered):
            return {"near": gathered}

        def activate(self, before, after):
            return after.near > before.near

    return Looking


def nothing(lanes: int) -> Any:
    """Nothing is gathered: whoever hears of an active vertex goes on."""

    class Nothing(gasla.VertexProgram):
        x = gasla.vertex((np.bool_, (lanes,)), init=lambda vertex: counting(vertex, lanes) % 3 == 0)

        def apply(self, vertex, gathered):
            return {"x": ~vertex.x}

        def activate(self, before, after):
            return after.x[0] | (after.id % 3 == 1)

    return Nothing
