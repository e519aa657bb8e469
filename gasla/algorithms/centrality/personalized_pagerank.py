"""Several personalized PageRanks at once: every vertex holds a vector of eight ranks, so that an edge is read once.

Eight personalizations make a batch, which runs until the sum over the vertices of the largest change among the eight is
less than the tolerance. A vertex stores its share, rank * inverse, and not the rank itself, since the run is bound by
memory traffic.
"""

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

BATCH = 8  # personalizations per run


class PersonalizedPageRank(VertexProgram):
    """share(v) = rank(v) * inverse(v) for each personalization; share(v) = rank(v) if v has no out-edges (inverse 0).

    The rank of vertices without out-edges is one aggregate per personalization: `lost_0`, `lost_1`, ...
    """

    real = option(np.float64)
    width = option(BATCH)
    weights = option(None)  # dtype of the weights; None if unweighted
    has_dangling = option(False)  # vertices without out-edges have a distribution of their own
    until_converged = option(True)

    share = vertex((real, (width,)))
    personalization = vertex((real, (width,)))
    dangling = vertex((real, (width,)), when=has_dangling)
    inverse = vertex(real)
    weight = edge(weights, when=weights)
    alpha = parameter(real, 0.85)
    tolerance = parameter(np.float64, 0)
    reduce = semirings.plus
    everyone = True

    def gather(self, src, dst, edge):
        return src.share * edge.weight if self.weights else src.share

    def apply(self, vertex, gathered):
        lost = semirings.vector(*(getattr(self, f"lost_{lane}") for lane in range(self.width)))
        lost = self.alpha * semirings.cast(lost, vertex.share.type)
        jump = (1 - self.alpha + lost) * vertex.personalization
        if self.has_dangling:
            jump = (1 - self.alpha) * vertex.personalization + lost * vertex.dangling
        return {"share": (jump + self.alpha * gathered) * _share_factor(vertex)}

    def activate(self, before, after):
        return True  # only `stop` ends the run

    @aggregate(semirings.plus)
    def residual(self, before, after):
        return _largest(abs(after.share - before.share)) / _share_factor(after)

    def stop(self):
        return self.until_converged and self.residual < self.tolerance


def _share_factor(vertex: Any) -> Any:
    """Share / rank."""
    return semirings.where(vertex.inverse == 0, 1, vertex.inverse)


def _largest(vector: Any) -> Any:
    """The maximum of a vector without NaN, compared in pairs: handling NaN would be slower."""
    lanes = [vector[lane] for lane in range(vector.type.length)]
    while len(lanes) > 1:
        pairs = [semirings.where(x > y, x, y) for x, y in zip(lanes[::2], lanes[1::2])]
        lanes = pairs + lanes[2 * len(pairs) :]
    return lanes[0]


def _lost(lane: int, self: Any, before: Any, after: Any) -> Any:
    return semirings.where(after.inverse == 0, after.share[lane], 0)


@lru_cache
def _program_of(width: int) -> Any:
    """The program class for `width` personalizations, with one `lost` aggregate each."""
    body = {f"lost_{lane}": aggregate(semirings.plus)(partial(_lost, lane)) for lane in range(width)}
    return type("PersonalizedPageRank", (PersonalizedPageRank,), body | {"width": width})


class Rows(NamedTuple):
    """Per personalization the distributions of jumps, of dangling vertices (None: as jumps), and of initial ranks."""

    personalization: list[Any]
    dangling: list[Any] | None
    nstart: list[Any]


def personalized_ranks(
    graph: Graph, weights: np.dtype | None, inverse: Any, given: Rows, alpha: float, tol: float, max_iter: int
) -> tuple[Any, int, float, bool]:
    """Run all batches. Returns (k, n) ranks; the maxima over the batches of iterations and residual; convergence."""
    xp: Any = array_module(inverse)
    kind, count = inverse.dtype, len(given.personalization)
    factor = xp.where(inverse == 0, 1, inverse).astype(kind)
    ranks = xp.empty((count, graph.n), kind)
    width = max(2, min(count, BATCH))
    form = {"real": kind, "weights": weights, "has_dangling": given.dangling is not None, "until_converged": tol > 0}
    program = _program_of(width)(**form, alpha=alpha, tolerance=tol)
    iterations, residual, converged = 0, 0.0, True
    for first in range(0, count, width):
        rows = [min(row, count - 1) for row in range(first, first + width)]  # the last batch repeats its last row
        jumps = {"personalization": given.personalization, "dangling": given.dangling}
        fields = {name: _by_vertex(x, rows, kind) for name, x in jumps.items() if x is not None}
        fields |= {"share": _by_vertex(given.nstart, rows, kind), "inverse": inverse}
        fields["share"] *= factor[:, np.newaxis]
        found = run(program, graph, max_iterations=max_iter, notice=False, **fields)
        for lane, row in enumerate(dict.fromkeys(rows)):
            ranks[row] = found.state["share"][:, lane] / factor
        iterations, converged = max(iterations, found.iterations), converged and found.converged
        residual = max(residual, float(found.aggregates["residual"]))
    return ranks, iterations, residual, converged


def _by_vertex(rows: list[Any], chosen: list[int], kind: np.dtype) -> Any:
    """Transpose the chosen rows to one vector per vertex."""
    found = array_module(rows[0]).empty((len(rows[0]), len(chosen)), kind)
    for lane, row in enumerate(chosen):  # without a temporary copy
        found[:, lane] = rows[row]
    return found
