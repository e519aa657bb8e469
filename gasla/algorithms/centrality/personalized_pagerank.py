"""Several personalized PageRanks at once: every vertex has a vector of eight ranks, so each edge is read once for all.

Eight personalizations make a batch, which runs until the sum over the vertices of the largest change among the eight is
less than the tolerance. The run is bound by memory traffic. So a vertex stores only its share, rank * inverse, from
which the rank is computed.
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

BATCH = 8  # number of personalizations whose ranks one run computes, as a vector at each vertex


class PersonalizedPageRank(Spread):
    """share(v) = rank(v) * inverse(v) for each of several personalizations. If v has no out-edges, share(v) = rank(v).

    `inverse` is one over the weight of the out-edges, or 0 if there are none. The total rank of vertices without
    out-edges is an aggregate for each personalization: `lost_0`, `lost_1`, ...
    """

    width = option(BATCH)
    has_dangling = option(False)  # whether vertices without out-edges have a distribution of their own
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
        return _vector_maximum(abs(after.share - before.share)) / _share_factor(after)

    def stop(self):
        return self.until_converged and self.residual < self.tolerance


def _share_factor(vertex: Any) -> Any:
    """Return the ratio of a vertex's share, which it sends along each edge, to its rank.

    It is `inverse`, one over the weight of the out-edges, or 1 if the vertex has no out-edges.
    """
    return semirings.where(vertex.inverse == 0, 1, vertex.inverse)


def _vector_maximum(vector: Any) -> Any:
    """Return the largest entry of a vector, by comparisons of pairs.

    Entries must not be NaN. A maximum that respects NaN would take longer.
    """
    lanes = [vector[lane] for lane in range(vector.type.length)]
    while len(lanes) > 1:
        pairs = [semirings.where(x > y, x, y) for x, y in zip(lanes[::2], lanes[1::2])]
        lanes = pairs + lanes[2 * len(pairs) :]
    return lanes[0]


def _lost_rank(lane: int, self: Any, before: Any, after: Any) -> Any:
    """Return what a vertex adds to the aggregate `lost_i` of personalization i, which is number `lane`: its rank if it
    has no out-edges, or else 0.

    The sum over all vertices is the aggregate `lost_0`, `lost_1`, …
    """
    return semirings.where(after.inverse == 0, after.share[lane], 0)


@lru_cache
def _program_of(width: int) -> Any:
    """Return the program class for `width` personalizations, with one aggregate `lost_i` for each."""
    body = {f"lost_{lane}": aggregate(semirings.plus)(partial(_lost_rank, lane)) for lane in range(width)}
    return type("PersonalizedPageRank", (PersonalizedPageRank,), body | {"width": width})


class Rows(NamedTuple):
    """The distributions of jumps, of vertices without out-edges, and of initial ranks, one of each per personalization.

    If `dangling` is None, the rank of vertices without out-edges is distributed as jumps are.
    """

    personalization: Sequence[Any]
    dangling: Sequence[Any] | None
    nstart: Sequence[Any]


def personalized_ranks(
    graph: Graph, weights: np.dtype | None, inverse: Any, given: Rows, alpha: float, tol: float, max_iter: int
) -> tuple[Any, int, float, bool]:
    """Return the ranks for k personalizations, an array of shape (k, n), and how the runs ended.

    The personalizations run in batches. The number of iterations and the residual are maxima over the batches, and the
    last entry is whether all batches have converged.
    """
    ranks = array_module(inverse).empty((len(given.personalization), graph.n), inverse.dtype)
    iterations, residual, converged = 0, 0.0, True
    for rows, batch_ranks, result in batches(graph, weights, inverse, given, alpha, tol, max_iter):
        ranks[rows] = batch_ranks
        iterations, converged = max(iterations, result.iterations), converged and result.converged
        residual = max(residual, float(result.aggregates["residual"]))
    return ranks, iterations, residual, converged


def batches(
    graph: Graph, weights: np.dtype | None, inverse: Any, given: Rows, alpha: float, tol: float, max_iter: int
) -> Iterator[tuple[slice, Any, Any]]:
    """Compute PageRank for batches of personalizations, and yield for each batch three things.

    They are the slice of the personalizations that are in the batch, their ranks as an array with a row for each, and
    the result of the vertex program's run.
    """
    xp: Any = array_module(inverse)
    rank_dtype, count = inverse.dtype, len(given.personalization)
    factor = xp.where(inverse == 0, 1, inverse).astype(rank_dtype)
    width = max(2, min(count, BATCH))
    options = {
        "real": rank_dtype,
        "weights": weights,
        "has_dangling": given.dangling is not None,
        "until_converged": tol > 0,
    }
    program = _program_of(width)(**options, alpha=alpha, tolerance=tol)
    for first in range(0, count, width):
        # If fewer personalizations are left, the last one is repeated to fill the batch.
        rows = [min(row, count - 1) for row in range(first, first + width)]
        jumps = {"personalization": given.personalization, "dangling": given.dangling}
        fields = {name: _vectors_of_rows(x, rows, rank_dtype) for name, x in jumps.items() if x is not None}
        fields |= {"share": _vectors_of_rows(given.nstart, rows, rank_dtype), "inverse": inverse}
        fields["share"] *= factor[:, np.newaxis]
        result = run(program, graph, max_iterations=max_iter, notice=False, **fields)
        numbers = slice(first, min(first + width, count))
        yield numbers, (result.state["share"][:, : numbers.stop - first] / factor[:, np.newaxis]).T, result


def _vectors_of_rows(rows: Sequence[Any], chosen: list[int], dtype: np.dtype) -> Any:
    """Return some of the distributions `rows`, arrays with a number per vertex, as one array with a row for each
    vertex.

    `chosen` has the numbers of the distributions, each of which becomes a column.
    """
    first = rows[chosen[0]]
    vectors = array_module(first).empty((len(first), len(chosen)), dtype)
    for column, row in enumerate(chosen):  # copied one by one, so that no temporary array of all rows is needed
        vectors[:, column] = rows[row]
    return vectors
