"""PageRank for many personalisations at once: every vertex holds a lane for each surfer, so that an edge is read once.

Eight surfers make a run, which ends when the last of them has settled. A vertex holds the shares alone that it gives,
and no ranks beside them: what is read and written of memory is what most of the time goes into.
"""

from collections.abc import Iterator
from functools import lru_cache, partial, reduce
from typing import Any

import numpy as np

import semirings
from gasla.arrays import array_module
from gasla.graph.graph import Graph
from gasla.operations.run import run
from gasla.program.fields import aggregate, edge, parameter, vertex
from gasla.program.program import VertexProgram

LANES = 8  # surfers of a run


class Surfers(VertexProgram):
    """share(v) = rank(v) * inverse(v), in each lane; where `inverse` is 0 the share is the rank, and nobody's.

    The lanes of an aggregate are aggregates of their own, `lost_0` and so on: see `_surfers`.
    """

    share = vertex(np.float64)
    home = vertex(np.float64)
    inverse = vertex(np.float64)
    alpha = parameter(np.float64, 0.85)
    tolerance = parameter(np.float64, 0)
    reduce = semirings.plus
    everyone = True

    def gather(self, src, dst, edge):
        return src.share

    def lost(self, vertex):
        """What was lost at dead ends, which comes back as jumps do."""
        lanes = vertex.share.type.length
        lost = semirings.vector(*(getattr(self, f"lost_{lane}") for lane in range(lanes)))
        return semirings.cast(lost, vertex.share.type)

    def jump(self, vertex):
        """What comes other than along an edge."""
        return (1 - self.alpha + self.alpha * self.lost(vertex)) * vertex.home

    def apply(self, vertex, gathered):
        return {"share": (self.jump(vertex) + self.alpha * gathered) * _part(vertex)}

    def activate(self, before, after):
        return True  # the residuals alone end the run


class WeightedSurfers(Surfers):
    """The same, where out-edges carry rank in proportion to their weights."""

    weight = edge(np.float64)

    def gather(self, src, dst, edge):
        return src.share * edge.weight


class _Elsewhere:
    """From a dead end they jump to other vertices than from elsewhere."""

    refuge = vertex(np.float64)

    def jump(self, vertex):
        return (1 - self.alpha) * vertex.home + self.alpha * self.lost(vertex) * vertex.refuge


class SurfersElsewhere(_Elsewhere, Surfers):
    """Surfers, with jumps from dead ends to other vertices."""


class WeightedSurfersElsewhere(_Elsewhere, WeightedSurfers):
    """The same, by weight."""


PROGRAMS = {  # whether by weight, and with jumps to elsewhere
    (False, False): Surfers,
    (False, True): SurfersElsewhere,
    (True, False): WeightedSurfers,
    (True, True): WeightedSurfersElsewhere,
}


def _part(vertex: Any) -> Any:
    """What a share is of a rank."""
    return semirings.where(vertex.inverse == 0, 1, vertex.inverse)


def _lost(lane: int, self: Any, before: Any, after: Any) -> Any:
    return semirings.where(after.inverse == 0, after.share[lane], 0)


def _residual(lane: int, self: Any, before: Any, after: Any) -> Any:
    return abs(after.share[lane] - before.share[lane]) * (1 / _part(after))


def _stop(lanes: int, self: Any) -> Any:
    """Whether all have settled."""
    return reduce(semirings.maximum, (getattr(self, f"residual_{lane}") for lane in range(lanes))) < self.tolerance


@lru_cache
def _surfers(lanes: int, kind: np.dtype, weights: np.dtype | None, elsewhere: bool, settles: bool) -> Any:
    """The program for so many lanes."""
    body: dict[str, Any] = {}
    for lane in range(lanes):
        body[f"lost_{lane}"] = aggregate(semirings.plus)(partial(_lost, lane))
        body[f"residual_{lane}"] = aggregate(semirings.plus)(partial(_residual, lane))
    if settles:
        body["stop"] = lambda self: _stop(lanes, self)
    base = PROGRAMS[weights is not None, elsewhere]
    types: dict[str, Any] = dict.fromkeys({"share", "home", "refuge"} & set(base.vertex_fields), (kind, (lanes,)))
    types |= {"inverse": kind, "alpha": kind} | ({} if weights is None else {"weight": weights})
    return type(base.__name__, (base,), body).typed(**types)


def settle(
    graph: Graph,
    weights: np.dtype | None,
    inverse: Any,
    homes: Any,
    refuges: Any,
    starts: Any,
    alpha: float,
    tol: float,
    max_iter: int,
) -> tuple[Any, int, Any, bool]:
    """Ranks for each row of `homes`, iterations of the slowest, every one's last change, and whether all settled."""
    xp: Any = array_module(inverse)
    kind, count = inverse.dtype, len(homes)
    part = xp.where(inverse == 0, 1, inverse).astype(kind)
    ranks, residuals = xp.empty((count, graph.n), kind), np.empty(count)
    lanes = max(2, min(count, LANES))
    program = _surfers(lanes, kind, weights, refuges is not None, tol > 0)(alpha=alpha, tolerance=tol)
    iterations, settled = 0, True
    for rows in _batches(count, lanes):
        fields = {"home": homes, "refuge": refuges}
        given = {name: _by_vertex(x, rows, kind) for name, x in fields.items() if x is not None}
        share = _by_vertex(starts, rows, kind) * part[:, np.newaxis]
        found = run(program, graph, max_iterations=max_iter, notice=False, share=share, inverse=inverse, **given)
        own = len(set(rows))
        ranks[rows[:own]] = (found.state["share"][:, :own] / part[:, np.newaxis]).T
        residuals[rows[:own]] = [float(found.aggregates[f"residual_{lane}"]) for lane in range(own)]
        iterations, settled = max(iterations, found.iterations), settled and found.converged
    return ranks, iterations, residuals, settled


def _batches(count: int, lanes: int) -> Iterator[list[int]]:
    """The rows of each run; the last of them as often as it takes to fill the lanes."""
    for first in range(0, count, lanes):
        yield [min(row, count - 1) for row in range(first, first + lanes)]


def _by_vertex(rows: Any, chosen: list[int], kind: np.dtype) -> Any:
    """Some rows, a lane each, vertex by vertex."""
    return array_module(rows).ascontiguousarray(rows[chosen].T, dtype=kind)
