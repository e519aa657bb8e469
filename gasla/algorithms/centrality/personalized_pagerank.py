"""Several personalized PageRanks at once: every vertex holds a vector of eight ranks, so that an edge is read once.

Eight personalizations make a batch, which runs until the sum over the vertices of the largest change among the eight is
less than the tolerance. A vertex stores its share, rank * inverse, and not the rank itself, since the run is bound by
memory traffic.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.centrality.ranking import Spread
from gasla.arrays import array_module
from gasla.graph.graph import Graph
from gasla.operations.run import run
from gasla.program import aggregate, option, parameter, vertex

BATCH = 8  # personalizations per run


class PersonalizedPageRank(Spread):
    """share(v) = rank(v) * inverse(v) for each personalization. If v has no out-edges (inverse 0), share(v) = rank(v).

    The rank of vertices without out-edges is one aggregate per personalization: `lost_0`, `lost_1`, ...
    """

    width = option(BATCH)
    has_dangling = option(False)  # vertices without out-edges have a distribution of their own
    until_converged = option(True)

    share = vertex((Spread.real, (width,)))
    personalization = vertex((Spread.real, (width,)))
    dangling = vertex((Spread.real, (width,)), when=has_dangling)
    inverse = vertex(Spread.real)
    alpha = parameter(Spread.real, 0.85)
    tolerance = parameter(np.float64, 0)

    def gather(self, src, dst, edge):
        return self.along(edge, src.share)

    def apply(self, vertex, gathered):
        lost = semirings.vector(*(getattr(self, f"lost_{lane}") for lane in range(self.width)))
        lost = self.alpha * semirings.cast(lost, vertex.share.type)
        jump = (1 - self.alpha + lost) * vertex.personalization
        if self.has_dangling:
            jump = (1 - self.alpha) * vertex.personalization + lost * vertex.dangling
        return {"share": (jump + self.alpha * gathered) * _share_factor(vertex)}

    @aggregate(semirings.plus)
    def residual(self, before, after):
        return _largest(abs(after.share - before.share)) / _share_factor(after)

    def stop(self):
        return self.until_converged and self.residual < self.tolerance


def _share_factor(vertex: Any) -> Any:
    """Return share / rank."""
    return semirings.where(vertex.inverse == 0, 1, vertex.inverse)


def _largest(vector: Any) -> Any:
    """Return the maximum of a vector without NaN, compared in pairs: handling NaN would be slower."""
    lanes = [vector[lane] for lane in range(vector.type.length)]
    while len(lanes) > 1:
        pairs = [semirings.where(x > y, x, y) for x, y in zip(lanes[::2], lanes[1::2])]
        lanes = pairs + lanes[2 * len(pairs) :]
    return lanes[0]


def _lost(lane: int, self: Any, before: Any, after: Any) -> Any:
    return semirings.where(after.inverse == 0, after.share[lane], 0)


@lru_cache
def _program_of(width: int) -> Any:
    """Return the program class for `width` personalizations, with one `lost` aggregate each."""
    body = {f"lost_{lane}": aggregate(semirings.plus)(partial(_lost, lane)) for lane in range(width)}
    return type("PersonalizedPageRank", (PersonalizedPageRank,), body | {"width": width})


class Rows(NamedTuple):
    """Per personalization the distributions of jumps, of dangling vertices (None: as jumps), and of initial ranks."""

    personalization: Sequence[Any]
    dangling: Sequence[Any] | None
    nstart: Sequence[Any]


def personalized_ranks(
    graph: Graph, weights: np.dtype | None, inverse: Any, given: Rows, alpha: float, tol: float, max_iter: int
) -> tuple[Any, int, float, bool]:
    """Run all batches. Return (k, n) ranks, the maxima over the batches of iterations and residual, and convergence."""
    ranks = array_module(inverse).empty((len(given.personalization), graph.n), inverse.dtype)
    iterations, residual, converged = 0, 0.0, True
    for rows, of_batch, result in batches(graph, weights, inverse, given, alpha, tol, max_iter):
        ranks[rows] = of_batch
        iterations, converged = max(iterations, result.iterations), converged and result.converged
        residual = max(residual, float(result.aggregates["residual"]))
    return ranks, iterations, residual, converged


def batches(
    graph: Graph, weights: np.dtype | None, inverse: Any, given: Rows, alpha: float, tol: float, max_iter: int
) -> Iterator[tuple[slice, Any, Any]]:
    """Run each batch: the numbers of its personalizations, a row of ranks for each, and the result of the run."""
    xp: Any = array_module(inverse)
    kind, count = inverse.dtype, len(given.personalization)
    factor = xp.where(inverse == 0, 1, inverse).astype(kind)
    width = max(2, min(count, BATCH))
    form = {"real": kind, "weights": weights, "has_dangling": given.dangling is not None, "until_converged": tol > 0}
    program = _program_of(width)(**form, alpha=alpha, tolerance=tol)
    for first in range(0, count, width):
        rows = [min(row, count - 1) for row in range(first, first + width)]  # the last batch repeats its last row
        jumps = {"personalization": given.personalization, "dangling": given.dangling}
        fields = {name: _by_vertex(x, rows, kind) for name, x in jumps.items() if x is not None}
        fields |= {"share": _by_vertex(given.nstart, rows, kind), "inverse": inverse}
        fields["share"] *= factor[:, np.newaxis]
        result = run(program, graph, max_iterations=max_iter, notice=False, **fields)
        here = slice(first, min(first + width, count))
        yield here, (result.state["share"][:, : here.stop - first] / factor[:, np.newaxis]).T, result


def _by_vertex(rows: Sequence[Any], chosen: list[int], dtype: np.dtype) -> Any:
    """Transpose the chosen rows to one vector per vertex."""
    first = rows[chosen[0]]
    columns = array_module(first).empty((len(first), len(chosen)), dtype)
    for lane, row in enumerate(chosen):  # without a temporary copy
        columns[:, lane] = rows[row]
    return columns
