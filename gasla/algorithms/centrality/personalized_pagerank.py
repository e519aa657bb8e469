"""PageRank for many personalizations at once: every vertex holds a lane for each surfer, so that an edge is read once.

Eight surfers make a run, which ends when the last of them has settled: when the largest changes among them sum to
less than the tolerance, so that each one's do. A vertex holds the shares alone that it gives, and no ranks beside
them: what is read and written of memory is what most of the time goes into.
"""

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.arrays import array_module
from gasla.graph.graph import Graph
from gasla.operations.run import run
from gasla.program.fields import aggregate, edge, parameter, vertex
from gasla.program.options import option
from gasla.program.program import VertexProgram

LANES = 8  # surfers of a run


class PersonalizedPageRank(VertexProgram):
    """share(v) = rank(v) * inverse(v), in each lane; where `inverse` is 0 the share is the rank, and nobody's.

    What is lost in each lane is an aggregate of its own, `lost_0` and so on.
    """

    real = option(np.float64)
    lanes = option(LANES)
    weights = option(None)  # the type of the weights by which out-edges carry rank, if they do
    elsewhere = option(False)  # from a dead end they jump to other vertices than from elsewhere
    settles = option(True)

    share = vertex((real, (lanes,)))
    home = vertex((real, (lanes,)))
    refuge = vertex((real, (lanes,)), when=elsewhere)
    inverse = vertex(real)
    weight = edge(weights, when=weights)
    alpha = parameter(real, 0.85)
    tolerance = parameter(np.float64, 0)
    reduce = semirings.plus
    everyone = True

    def gather(self, src, dst, edge):
        return src.share * edge.weight if self.weights else src.share

    def apply(self, vertex, gathered):
        lost = semirings.vector(*(getattr(self, f"lost_{lane}") for lane in range(self.lanes)))
        lost = self.alpha * semirings.cast(lost, vertex.share.type)  # at dead ends
        jump = (1 - self.alpha + lost) * vertex.home
        if self.elsewhere:
            jump = (1 - self.alpha) * vertex.home + lost * vertex.refuge
        return {"share": (jump + self.alpha * gathered) * _part(vertex)}

    def activate(self, before, after):
        return True  # the residual alone ends the run

    @aggregate(semirings.plus)
    def residual(self, before, after):
        return _largest(abs(after.share - before.share)) / _part(after)

    def stop(self):
        return self.settles and self.residual < self.tolerance


def _part(vertex: Any) -> Any:
    """What a share is of a rank."""
    return semirings.where(vertex.inverse == 0, 1, vertex.inverse)


def _largest(vector: Any) -> Any:
    """The largest of numbers none of which is NaN, compared in pairs: with NaN among them it would take longer."""
    lanes = [vector[lane] for lane in range(vector.type.length)]
    while len(lanes) > 1:
        pairs = [semirings.where(x > y, x, y) for x, y in zip(lanes[::2], lanes[1::2])]
        lanes = pairs + lanes[2 * len(pairs) :]
    return lanes[0]


def _lost(lane: int, self: Any, before: Any, after: Any) -> Any:
    return semirings.where(after.inverse == 0, after.share[lane], 0)


@lru_cache
def _of_lanes(lanes: int) -> Any:
    """The program for so many lanes."""
    body = {f"lost_{lane}": aggregate(semirings.plus)(partial(_lost, lane)) for lane in range(lanes)}
    return type("PersonalizedPageRank", (PersonalizedPageRank,), body | {"lanes": lanes})


class Rows(NamedTuple):
    """For each surfer where jumps lead, where they lead from dead ends if that is elsewhere, and where it starts."""

    homes: list[Any]
    refuges: list[Any] | None
    starts: list[Any]


def settle(
    graph: Graph, weights: np.dtype | None, inverse: Any, given: Rows, alpha: float, tol: float, max_iter: int
) -> tuple[Any, int, float, bool]:
    """A row of ranks for each surfer; of runs the most iterations, the largest residual, and whether all settled."""
    xp: Any = array_module(inverse)
    kind, count = inverse.dtype, len(given.homes)
    part = xp.where(inverse == 0, 1, inverse).astype(kind)
    ranks = xp.empty((count, graph.n), kind)
    lanes = max(2, min(count, LANES))
    form = {"real": kind, "weights": weights, "elsewhere": given.refuges is not None, "settles": tol > 0}
    program = _of_lanes(lanes)(**form, alpha=alpha, tolerance=tol)
    iterations, residual, settled = 0, 0.0, True
    for rows in _batches(count, lanes):
        jumps = {"home": given.homes, "refuge": given.refuges}
        fields = {name: _by_vertex(x, rows, kind) for name, x in jumps.items() if x is not None}
        fields |= {"share": _by_vertex(given.starts, rows, kind), "inverse": inverse}
        fields["share"] *= part[:, np.newaxis]
        found = run(program, graph, max_iterations=max_iter, notice=False, **fields)
        for lane, row in enumerate(dict.fromkeys(rows)):
            ranks[row] = found.state["share"][:, lane] / part
        iterations, settled = max(iterations, found.iterations), settled and found.converged
        residual = max(residual, float(found.aggregates["residual"]))
    return ranks, iterations, residual, settled


def _batches(count: int, lanes: int) -> Iterator[list[int]]:
    """The rows of each run; the last of them as often as it takes to fill the lanes."""
    for first in range(0, count, lanes):
        yield [min(row, count - 1) for row in range(first, first + lanes)]


def _by_vertex(rows: list[Any], chosen: list[int], kind: np.dtype) -> Any:
    """Some rows, a lane each, vertex by vertex."""
    found = array_module(rows[0]).empty((len(rows[0]), len(chosen)), kind)
    for lane, row in enumerate(chosen):  # so no other copy is made
        found[:, lane] = rows[row]
    return found
