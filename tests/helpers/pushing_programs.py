"""Vertex programs over tuples and vectors that push: what the tests of both engines run."""

import numpy as np

import gasla
import semirings
from semirings import maximum, minimum


class Sources(gasla.VertexProgram):
    """Shortest paths from eight sources at once: lanes that absorb, and near vertices first."""

    distance = gasla.vertex((np.float32, (8,)), init=np.inf)
    weight = gasla.edge(np.float32)
    reduce = semirings.min

    def gather(self, src, dst, edge):
        return src.distance + edge.weight

    def apply(self, vertex, gathered):
        return {"distance": minimum(vertex.distance, gathered)}

    def priority(self, vertex):
        return semirings.min(vertex.distance)


class AnyOrder(Sources):
    """The same in any order, and with a word on who is active."""

    priority = None  # type: ignore[assignment]

    def activate(self, before, after):
        return semirings.lor(after.distance < before.distance)


class ByTotal(Sources):
    """Another order: none of single lanes."""

    def priority(self, vertex):
        return vertex.distance[0] - vertex.distance[5]


class Both(gasla.VertexProgram):
    """Two fields of different types, each absorbed by a monoid of its own, in another order than they are gathered."""

    width = gasla.vertex(np.int16, init=0)
    hops = gasla.vertex((np.uint8, (2,)), init=200)
    names = gasla.vertex(np.int64, init=lambda vertex: np.int64(1) << (vertex.id % 60).astype(np.int64))
    capacity = gasla.edge(np.int16)
    reduce = semirings.product(semirings.min, semirings.bor, semirings.max)
    direction = "all"

    def gather(self, src, dst, edge):
        return (
            minimum(src.hops, np.uint8(200)) + np.uint8(1),
            src.names | (dst.id % 2),
            minimum(src.width, edge.capacity),
        )

    def apply(self, vertex, gathered):
        return {
            "width": maximum(vertex.width, gathered[2]),
            "hops": minimum(vertex.hops, gathered[0]),
            "names": gathered[1] | vertex.names,
        }


class Longest(gasla.VertexProgram):
    """Levels of an acyclic graph: sums and maxima side by side, until all have come."""

    waiting = gasla.vertex(np.int32, init=lambda vertex: vertex.in_degree.astype(np.int32))
    level = gasla.vertex(np.int32)
    reduce = semirings.product(semirings.plus, semirings.max)
    sources = "active"

    def gather(self, src, dst, edge):
        return np.int32(1), src.level + np.int32(1)

    def apply(self, vertex, gathered):
        return {"waiting": vertex.waiting - gathered[0], "level": maximum(vertex.level, gathered[1])}

    def activate(self, before, after):
        return after.waiting == 0


class Own(Longest):
    """The same by a function that somebody wrote."""

    reduce = semirings.Monoid(lambda a, b: (a[0] + b[0], maximum(a[1], b[1])), (0, -(2**31)), name="own")


class Votes(gasla.VertexProgram):
    """Vectors brought together, under masks, with aggregates and a second look."""

    votes = gasla.vertex((np.int64, (3,)), init=0)
    seen = gasla.vertex(np.int32, init=0)
    reduce = semirings.plus
    sources = "active"

    def mask(self, vertex):
        return vertex.id % 5 != 4

    def edge_mask(self, src, dst, edge):
        return (src.id + dst.id) % 7 != 0

    def gather(self, src, dst, edge):
        return semirings.vector(src.id % 3, edge.id % 5, src.votes[0] % 4)

    def apply(self, vertex, gathered):
        return {"votes": (vertex.votes + gathered) % 97}

    def activate(self, before, after):
        return after.votes[1] % 2 == 0

    def post_apply(self, vertex):
        return {"seen": vertex.seen + 1}

    @gasla.aggregate(semirings.plus, np.int64)
    def total(self, before, after):
        return after.votes[2] - before.votes[2]


class Halves(gasla.VertexProgram):
    """A vector beside a number, floats and small integers, under monoids that are not idempotent."""

    sums = gasla.vertex((np.float64, (2,)), init=1)
    odd = gasla.vertex(np.int8, init=0)
    reduce = semirings.product(semirings.plus, semirings.bxor)
    sources = "active"

    def gather(self, src, dst, edge):
        return src.sums * 0.5, (src.id % 11).astype(np.int8)

    def apply(self, vertex, gathered):
        return {"sums": semirings.where(vertex.odd > 5, gathered[0], vertex.sums), "odd": gathered[1]}

    def activate(self, before, after):
        return after.odd % 3 != 0


class Finders(gasla.VertexProgram):
    """Whoever comes first says two things, which belong together."""

    parent = gasla.vertex(np.int32, init=-1)
    level = gasla.vertex(np.int32, init=-1)
    reduce = semirings.any
    sources = "active"

    def mask(self, vertex):
        return vertex.level < 0

    def gather(self, src, dst, edge):
        return semirings.cast(src.id + 1, np.int32), semirings.cast(self.iteration + 1, np.int32)

    def apply(self, vertex, gathered):
        return {"parent": gathered[0] - np.int32(1), "level": gathered[1]}


PROGRAMS = [Sources, AnyOrder, ByTotal, Both, Longest, Own, Votes, Halves]
ABSORBING = [Sources, AnyOrder, ByTotal, Both]
