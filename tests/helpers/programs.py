"""Vertex programs for the tests: between them they use every part of what a program may say.

All compute with whole numbers, so that results do not depend on the order of a sum.
"""

from typing import Any

import numpy as np

import gasla
import semirings


class Hops(gasla.VertexProgram):
    """An idempotent reduction that apply absorbs: pushes go straight into the field."""

    hops = gasla.vertex(np.int32, init=10**6)
    reduce = semirings.min

    def gather(self, src, dst, edge):
        return src.hops + 1

    def apply(self, vertex, gathered):
        return {"hops": semirings.minimum(vertex.hops, gathered)}


class Cheapest(gasla.VertexProgram):
    """The same with weights and a priority."""

    cost = gasla.vertex(np.float64, init=np.inf)
    weight = gasla.edge(np.float64)
    reduce = semirings.min

    def gather(self, src, dst, edge):
        return src.cost + edge.weight

    def apply(self, vertex, gathered):
        return {"cost": semirings.minimum(vertex.cost, gathered)}

    def activate(self, before, after):
        return after.cost < before.cost

    def priority(self, vertex):
        return vertex.cost


class Bits(gasla.VertexProgram):
    """uint8 fields and another absorbing monoid; gathers over edges of both directions."""

    seen = gasla.vertex(np.uint8, init=lambda vertex: np.uint8(1) << (vertex.id % 8).astype(np.uint8))
    reduce = semirings.bor
    direction = "all"

    def gather(self, src, dst, edge):
        return src.seen

    def apply(self, vertex, gathered):
        return {"seen": vertex.seen | gathered}


class Paths(gasla.VertexProgram):
    """Sums from active vertices alone, into vertices that the mask still admits."""

    paths = gasla.vertex(np.int64)
    level = gasla.vertex(np.int32, init=-1)
    reduce = semirings.plus
    sources = "active"

    def mask(self, vertex):
        return vertex.level < 0

    def gather(self, src, dst, edge):
        return src.paths

    def apply(self, vertex, gathered):
        return {"paths": gathered, "level": self.iteration + 1}


class Reach(gasla.VertexProgram):
    """`any`, with a mask that settles; whoever is found first gives the same answer."""

    level = gasla.vertex(np.int16, init=-1)
    reduce = semirings.any
    sources = "active"

    def mask(self, vertex):
        return vertex.level < 0

    def gather(self, src, dst, edge):
        return self.iteration + 1

    def apply(self, vertex, gathered):
        return {"level": semirings.cast(gathered, np.int16)}


class Seven(Reach):
    """`any` of values some of which are zero, which it passes over; those that are not are all the same."""

    heard = gasla.vertex(np.int64)

    def gather(self, src, dst, edge):
        return src.id % 2 * 7

    def apply(self, vertex, gathered):
        return {"heard": gathered, "level": semirings.cast(self.iteration + 1, np.int16)}


class Nearest(gasla.VertexProgram):
    """A gather result of two parts, reduced in lexicographic order."""

    cost = gasla.vertex(np.float64, init=np.inf)
    parent = gasla.vertex(gasla.ID, init=-1)
    weight = gasla.edge(np.float64)
    reduce = semirings.argmin

    def gather(self, src, dst, edge):
        return src.cost + edge.weight, src.id

    def apply(self, vertex, gathered):
        cost, parent = gathered
        better = cost < vertex.cost
        return {
            "cost": semirings.where(better, cost, vertex.cost),
            "parent": semirings.where(better, parent, vertex.parent),
        }


class Chain(gasla.VertexProgram):
    """A reduction that does not commute (x -> a x + b, one after another), in the order of the input."""

    a = gasla.vertex(np.int64, init=lambda vertex: vertex.id + 2)
    b = gasla.vertex(np.int64, init=lambda vertex: 3 * vertex.id + 1)
    reduce = semirings.Monoid(
        lambda f, g: (f[0] * g[0], f[0] * g[1] + f[1]), identity=(1, 0), commutative=False, name="compose"
    )
    everyone = True

    def gather(self, src, dst, edge):
        return src.a + edge_free(src), src.b

    def apply(self, vertex, gathered):
        return {"a": gathered[0] % 1009, "b": gathered[1] % 1009}


def edge_free(src: Any) -> Any:
    """A plain helper that a program's function calls."""
    return src.out_degree % 3


class Spread(gasla.VertexProgram):
    """Vectors, every vertex in every iteration, in-neighbors' values of the iteration before."""

    x = gasla.vertex((np.int64, (3,)), init=lambda vertex: np.stack([vertex.id, vertex.id * 2, vertex.id % 5]))
    weight = gasla.edge(np.int64)
    reduce = semirings.plus
    everyone = True

    def gather(self, src, dst, edge):
        return src.x * edge.weight

    def apply(self, vertex, gathered):
        return {"x": (gathered + vertex.x * 2) % 101}


class Flow(gasla.VertexProgram):
    """Edge state that scatter writes and the next gather reads; post_apply; waking along some edges only."""

    level = gasla.vertex(np.int64, init=lambda vertex: vertex.id % 7)
    count = gasla.vertex(np.int32)
    flow = gasla.edge(np.int64, init=1)
    reduce = semirings.plus

    def edge_mask(self, src, dst, edge):
        return (src.id + dst.id) % 3 != 0

    def gather(self, src, dst, edge):
        return edge.flow + edge.id

    def apply(self, vertex, gathered):
        return {"level": (vertex.level + gathered) % 11}

    def scatter(self, src, dst, edge):
        return {"flow": edge.flow + src.level - dst.level}

    def post_apply(self, vertex):
        return {"count": vertex.count + vertex.level % 2}


class Settling(gasla.VertexProgram):
    """Parameters, aggregates, a test to stop on; against the direction of the edges."""

    value = gasla.vertex(np.int64, init=lambda vertex: vertex.id * 5 % 13)
    factor = gasla.parameter(np.int64, 2)
    enough = gasla.parameter(np.int64, 3)
    reduce = semirings.max
    direction = "out"
    everyone = True

    def mask(self, vertex):
        return vertex.id % 4 != 1

    def gather(self, src, dst, edge):
        return src.value

    def apply(self, vertex, gathered):
        return {"value": (semirings.maximum(gathered, 0) * self.factor + vertex.value + self.moved) % 17}

    @gasla.aggregate(semirings.plus, np.int64)
    def moved(self, before, after):
        return abs(after.value - before.value)

    @gasla.aggregate(semirings.max, np.int64)
    def largest(self, before, after):
        return after.value

    def stop(self):
        return (self.moved < self.enough) | (self.iteration >= 6)


class Parity(Settling):
    """An aggregate of bools."""

    @gasla.aggregate(semirings.plus, bool)
    def odd(self, before, after):
        return after.value % 2 == 1


class Late(gasla.VertexProgram):
    """Nothing changes but in every fourth iteration: that an iteration is still doesn't end a run."""

    value = gasla.vertex(np.int64, init=lambda vertex: vertex.id * 5 % 13)
    reduce = semirings.plus
    everyone = True

    def gather(self, src, dst, edge):
        return src.value

    def apply(self, vertex, gathered):
        return {"value": semirings.where(self.iteration % 4 == 3, (gathered + vertex.value) % 17, vertex.value)}


class LateFlow(Late):
    """The same, where no vertex receives in most iterations; active ones scatter."""

    flow = gasla.edge(np.int64, init=0)

    def mask(self, vertex):
        return (self.iteration % 4 == 3) & (vertex.id % 3 != 1)

    def scatter(self, src, dst, edge):
        return {"flow": edge.flow + src.value}


class Waking(gasla.VertexProgram):
    """VertexAPI2's rule: the out-neighbors of who changed gather over all their in-edges."""

    load = gasla.vertex(np.int64, init=lambda vertex: vertex.id % 9)
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.load

    def apply(self, vertex, gathered):
        return {"load": (gathered + vertex.load) % 23}

    def activate(self, before, after):
        return after.load > before.load


class Counter(gasla.VertexProgram):
    """No gather at all: who receives counts."""

    times = gasla.vertex(np.int32)

    def apply(self, vertex, gathered):
        return {"times": vertex.times + 1}


class Alarm(gasla.VertexProgram):
    """A reduction with a terminal value, over all in-edges: who hears it late in a list must not be missed."""

    heard = gasla.vertex(np.int32)
    reduce = semirings.lor

    def gather(self, src, dst, edge):
        return src.id % 2 == 0

    def apply(self, vertex, gathered):
        return {"heard": vertex.heard + semirings.where(gathered, 2, 1)}


class Ring(gasla.VertexProgram):
    """The same with `any`, whose first value is the answer."""

    heard = gasla.vertex(np.int32)
    reduce = semirings.any

    def gather(self, src, dst, edge):
        return True

    def apply(self, vertex, gathered):
        return {"heard": vertex.heard + semirings.where(gathered, 2, 1)}


class Rising(gasla.VertexProgram):
    """Everyone receives in every iteration, from active vertices alone."""

    x = gasla.vertex(np.int64, init=lambda vertex: vertex.id * 7 % 31)
    reduce = semirings.min
    everyone = True
    sources = "active"

    def gather(self, src, dst, edge):
        return src.x * 3

    def apply(self, vertex, gathered):
        return {"x": (vertex.x ^ gathered) % 1009 + 1}

    def activate(self, before, after):
        return after.x % 2 == 1


class Cooling(gasla.VertexProgram):
    """Sums of floats that no order leaves alone, seen by the next iteration; receivers are listed as they come."""

    heat = gasla.vertex(np.float64, init=lambda vertex: 1 / (vertex.id + 1.0))
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.heat / semirings.maximum(src.out_degree, 1)

    def apply(self, vertex, gathered):
        return {"heat": 0.15 * vertex.heat + 0.85 * gathered + self.total / self.n}

    @gasla.aggregate(semirings.plus)
    def total(self, before, after):
        return after.heat * 1.1

    def stop(self):
        return self.total > 1e9


class Warming(Cooling):
    """The same, everyone in every iteration."""

    everyone = True


class Bell(Alarm):
    """The same with `any`, of pairs of which some are nothing."""

    reduce = semirings.any

    def gather(self, src, dst, edge):
        return src.id % 2 * 3, 0 * src.heard

    def apply(self, vertex, gathered):
        return {"heard": vertex.heard + semirings.cast(gathered[0], np.int32) + 1}


class Drawing(gasla.VertexProgram):
    """Bits that are counted and hashed, draws, a vector whose items are reduced, parameters that have no sign."""

    bits = gasla.vertex(np.uint64, init=lambda vertex: semirings.hash(vertex.id))
    items = gasla.vertex((np.int32, (3,)))
    salt = gasla.parameter(np.uint32, 2**32 - 1)
    doubles = gasla.parameter(np.bool_, True)
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        drawn = semirings.random(self.salt, src.id, dst.id, self.iteration)
        return semirings.popcount(src.bits ^ dst.bits) * semirings.where(drawn < 0.5, 1, 3)

    def apply(self, vertex, gathered):
        last = semirings.max(vertex.items) - semirings.min(vertex.items) + semirings.plus(vertex.items)
        grown = vertex.items * semirings.where(self.doubles & semirings.any(vertex.items > 0), 2, 1)
        news = semirings.vector(gathered, semirings.ctz(vertex.bits), last)
        return {"bits": semirings.hash(vertex.bits, gathered), "items": grown + semirings.cast(news, (np.int32, (3,)))}


class Cores(gasla.VertexProgram):
    """The vertices of the lowest degree go first; a neighbor's degree sinks no further than the open bucket."""

    degree = gasla.vertex(np.int32, init=lambda vertex: vertex.out_degree)
    reduce = semirings.plus
    sources = "active"

    def bucket(self, vertex):
        return vertex.degree

    def mask(self, vertex):
        return vertex.degree > self.bucket

    def gather(self, src, dst, edge):
        return semirings.cast(1, np.int32)

    def apply(self, vertex, gathered):
        return {"degree": semirings.maximum(vertex.degree - gathered, semirings.cast(self.bucket, np.int32))}


class Reaches(gasla.VertexProgram):
    """How many vertices a path leads from to each: one search after another, each when the last has ended."""

    seen = gasla.vertex(gasla.ID, init=-1)
    count = gasla.vertex(np.int32)
    turn = gasla.parameter(gasla.ID, -1)
    reduce = semirings.any
    sources = "active"

    def mask(self, vertex):
        return vertex.seen < self.turn

    def gather(self, src, dst, edge):
        return True

    def apply(self, vertex, gathered):
        return {"seen": self.turn, "count": vertex.count + 1}

    def idle(self):
        return {"turn": self.turn + 1}

    def wake(self, vertex):
        return vertex.id == self.turn


class Thawing(gasla.VertexProgram):
    """Buckets that sink below the open one, are left, and come again: warmth spreads, and whoever thaws is bucket 0."""

    warmth = gasla.vertex(np.int32, init=lambda vertex: vertex.id % 5)
    opened = gasla.vertex(np.int64, init=-1)
    turns = gasla.parameter(np.int32, 0)
    reduce = semirings.plus
    sources = "active"

    def bucket(self, vertex):
        return semirings.where(vertex.warmth > 60, -1, 60 // (vertex.warmth + 1))

    def gather(self, src, dst, edge):
        return src.warmth % 3 + 1

    def apply(self, vertex, gathered):
        return {"warmth": vertex.warmth + gathered, "opened": self.iteration * 100 + self.bucket}

    def idle(self):
        return {"turns": self.turns + 1}

    def wake(self, vertex):
        return (vertex.warmth < 30) & (self.turns < 4) & (vertex.id % 4 == self.turns)


class Stirring(gasla.VertexProgram):
    """Everyone takes part, and who wakes is asked of a field that neighbors read, and so has two copies."""

    everyone = True
    x = gasla.vertex(np.int64, init=lambda vertex: vertex.id)
    turns = gasla.parameter(np.int64, 0)
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.x

    def apply(self, vertex, gathered):
        return {"x": (vertex.x + gathered) % 7}

    def activate(self, before, after):
        return after.x < self.turns - 2

    def idle(self):
        return {"turns": self.turns + 1}

    def wake(self, vertex):
        return (vertex.x % 3 == self.turns % 3) & (self.turns < 5)


class Marked(gasla.VertexProgram):
    """A mask that reads a parameter, and may admit a vertex again after apply."""

    mark = gasla.vertex(np.int32, init=-1)
    number = gasla.parameter(np.int32, 3)
    reduce = semirings.any
    sources = "active"

    def mask(self, vertex):
        return vertex.mark < self.number

    def gather(self, src, dst, edge):
        return True

    def apply(self, vertex, gathered):
        return {"mark": self.number}
