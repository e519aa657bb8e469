"""Betweenness: for how many pairs of vertices a shortest path leads through each vertex.

Returned is a number a vertex: the sum over pairs (s, t) of the share of shortest paths from s to t that pass v.

From every source: levels; then the number of shortest paths to every vertex, level by level; then, from the last level
back, what each vertex takes part in. Both sums gather from neighbours that hold 0 until their own level is done, so
no edge needs a test. Path counts outgrow float64 on a grid (2**2000 and more): then they are held as m * 2**(512 e).

U. Brandes: A faster algorithm for betweenness centrality. J. Mathematical Sociology 25 (2001).
"""

from collections.abc import Iterable, Iterator
from math import log2
from typing import Any

import numpy as np

import semirings
from gasla.algorithms.paths.sssp import sssp
from gasla.algorithms.traversal.bfs import LEVELS
from gasla.arrays import array_module, finish, module_of
from gasla.graph.arguments import check_flags, check_weights, chosen_sources
from gasla.graph.graph import Graph, as_graph
from gasla.operations.prepare import Prepared, prepare
from gasla.operations.run import run
from gasla.program.fields import edge, vertex
from gasla.program.program import VertexProgram
from gasla.program.schedule import Schedule
from gasla.progress import track

UNIT = 2.0**512  # what one step of a wide number's exponent is worth
WIDE = semirings.VectorType(np.dtype(np.float64), 2)  # (m, e), standing for m * UNIT**e


def _shifted(x, exponent):
    """The m that a wide number has with another exponent; 0 where that is larger by two or more."""
    behind = exponent - x[1]
    return x[0] * semirings.where(behind == 0, 1.0, semirings.where(behind == 1, 1 / UNIT, 0.0))


def _add_wide(x, y):
    """The sum of two wide numbers whose m is below 2**256: what is lost is 2**512 times smaller."""
    top = semirings.maximum(x[1], y[1])
    total = _shifted(x, top) + _shifted(y, top)
    large = total >= 2.0**256
    return semirings.vector(semirings.where(large, total / UNIT, total), top + semirings.where(large, 1.0, 0.0))


wide_plus = semirings.Monoid(_add_wide, identity=0, name="wide_plus")


class Count(VertexProgram):
    """paths(v) = sum over in-edges of paths(u), level by level."""

    paths = vertex(np.float64)
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.paths

    def apply(self, vertex, gathered):
        return {"paths": gathered}


class Depend(VertexProgram):
    """dependency(v) = paths(v) * sum over out-edges of (1 + dependency(w)) / paths(w), from the last level back.

    The score is the sum of dependencies so far, over the sources.
    """

    paths = vertex(np.float64)
    score = vertex(np.float64)
    back = vertex(np.float64)
    direction = "out"
    reduce = semirings.plus

    def gather(self, src, dst, edge):
        return src.back

    def apply(self, vertex, gathered):
        dependency = vertex.paths * gathered
        return {"score": vertex.score + dependency, "back": (1 + dependency) / vertex.paths}


class WideCount(Count):
    """The same, in wide numbers."""

    paths = vertex(WIDE)
    reduce = wide_plus


class WideDepend(Depend):
    """The same, in wide numbers: paths(v) / paths(w) is at most 1, so a sum of such is a plain number."""

    paths = vertex(WIDE)
    back = vertex(WIDE)

    def gather(self, src, dst, edge):
        return _shifted(dst.paths, src.back[1]) * src.back[0]

    def apply(self, vertex, gathered):
        back = semirings.vector((1 + gathered) / vertex.paths[0], vertex.paths[1])
        return {"score": vertex.score + gathered, "back": back}


class _Tight:
    """Only edges that lie on a shortest path count."""

    distance = vertex(np.float64)
    weight = edge(np.float64)


class _TightIn(_Tight):
    def edge_mask(self, src, dst, edge):
        return src.distance + edge.weight == dst.distance


class _TightOut(_Tight):
    def edge_mask(self, src, dst, edge):
        return dst.distance + edge.weight == src.distance


class Steps(_TightIn, VertexProgram):
    """step(v) = the largest number of edges on a shortest path to v: an order in which to count."""

    step = vertex(np.int32)
    reduce = semirings.max

    def gather(self, src, dst, edge):
        return src.step + 1

    def apply(self, vertex, gathered):
        return {"step": semirings.maximum(vertex.step, gathered)}


class WeightedCount(_TightIn, Count):
    """Count, over tight edges."""


class WeightedDepend(_TightOut, Depend):
    """Depend, over tight edges."""


class WideWeightedCount(_TightIn, WideCount):
    """WideCount, over tight edges."""


class WideWeightedDepend(_TightOut, WideDepend):
    """WideDepend, over tight edges."""


PROGRAMS = {
    (False, False): (Count, Depend),
    (False, True): (WideCount, WideDepend),
    (True, False): (WeightedCount, WeightedDepend),
    (True, True): (WideWeightedCount, WideWeightedDepend),
}


def betweenness_centrality(
    graph: Any,
    *,
    sources: Iterable[int] | None = None,
    k: int | None = None,
    seed: Any = None,
    normalized: bool = True,
    weighted: bool = False,
    endpoints: bool = False,
) -> np.ndarray:
    """For each vertex, the sum over pairs (s, t) of the share of shortest paths from s to t that pass it.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j. A symmetric matrix counts as undirected, each pair once. Parallel edges are
        different paths.
    sources : ids, optional
        Only paths from these vertices are looked at, and the result is scaled to estimate that of all.
    k : int, optional
        In place of `sources`: how many to draw at random.
    seed : int or numpy.random.Generator, optional
        For drawing them.
    normalized : bool
        Divide by the number of pairs.
    weighted : bool
        Whether the values are lengths, all positive; otherwise every edge counts as one.
    endpoints : bool
        Whether a path's own ends count as passed.

    Returns
    -------
    (n,) float64
        As NetworkX's function of the same name gives; but finite for a single source (whose own value is then 0), and
        right where the number of shortest paths exceeds float64.

    Raises
    ------
    ValueError
        For sources that are not vertices, or lengths that are not positive.

    Notes
    -----
    On a GPU it may return while its last kernels still run, as CuPy's functions do: what the stream does next finds the
    result finished.

    References
    ----------
    U. Brandes: A faster algorithm for betweenness centrality. J. Mathematical Sociology 25 (2001).

    Examples
    --------
    >>> import gasla, numpy as np
    >>> from scipy.sparse import csr_array
    >>> path = csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> gasla.betweenness_centrality(path)
    array([0., 1., 0.])
    """
    graph = as_graph(graph)
    check_flags(normalized=normalized, weighted=weighted, endpoints=endpoints)
    weighted = weighted and graph.values is not None
    if weighted:
        graph.notice_values()
        check_weights(graph, positive=True)
    chosen = chosen_sources(graph, sources, k, seed)
    if not chosen:
        return module_of(graph.device).zeros(graph.n)
    weight = graph.values.dtype if weighted else None
    sums, is_wide, scores = _prepared(graph, weight, wide=False), False, None
    try:
        orders = (_weighted_orders if weighted else _orders)(graph, chosen)
        for source in track(chosen, "sources"):
            schedule, fields = next(orders)
            added = None
            if not is_wide:  # plain numbers come first, and wide ones where they overflow
                added = _accumulate(graph, sums, source, schedule, 1, fields, scores)
            if added is None:
                if not is_wide:
                    sums, is_wide = _prepared(graph, weight, wide=True), True
                added = _accumulate(graph, sums, source, schedule, (1, 0), fields, scores)
            scores = added
            if endpoints:
                reached = array_module(scores).greater(schedule.levels, 0)
                scores += reached
                scores[source] += reached.sum()
        twice = not normalized and graph.is_symmetric and (not weighted or graph.has_symmetric_values)
        return _scale(scores, chosen, normalized, twice, endpoints)
    except BaseException:  # such as Ctrl-C: no search that has begun is left running
        finish(graph.device)
        raise


def _orders(graph: Graph, sources: list[int]) -> Iterator[tuple[Schedule, dict[str, Any]]]:
    """For each source the order in which to count: every vertex reached but the source, which is on level 0.

    The next search begins before, so that a GPU has something to do meanwhile.
    """
    search = prepare(LEVELS, graph)
    coming = search(active=[sources[0]], level={sources[0]: 0}, wait=False)
    for following in [*sources[1:], None]:
        found = coming
        if following is not None:
            coming = search(active=[following], level={following: 0}, wait=False)
        yield Schedule(found.state["level"], 1, found.iterations - 1), {}  # the last iteration reaches nothing


def _weighted_orders(graph: Graph, sources: list[int]) -> Iterator[tuple[Schedule, dict[str, Any]]]:
    """The same by weight; and distances."""
    assert graph.values is not None
    exact = graph
    if graph.values.dtype == np.dtype(np.float32):  # sums in float32 may tie where those in float64 do not
        assert graph.out_values is not None
        exact = Graph.from_csr(graph.out.indptr, graph.out.indices, graph.out_values.astype(np.float64))
    program = Steps.typed(weight=graph.values.dtype)
    for source in sources:
        distances = sssp(exact, source)
        steps = run(program, graph, active=[source], distance=distances, notice=False).step
        xp: Any = array_module(steps)
        yield Schedule(xp.where(xp.isfinite(distances), steps, -1), first=1), {"distance": distances}


def _accumulate(
    graph: Graph,
    sums: tuple[Prepared, Prepared],
    source: int,
    schedule: Schedule,
    one: Any,
    fields: dict[str, Any],
    scores: Any,
) -> Any:
    """The scores, and what every vertex takes part in of the paths from one source; None if these exceed plain numbers.

    A GPU may still be working on them.
    """
    count, depend = sums
    if one == 1 and _surely_overflows(graph, schedule.depth):
        return None
    paths = count(schedule=schedule, paths={source: one}, wait=False, **fields).state["paths"]
    if one == 1 and _may_overflow(graph, schedule.depth) and not np.isfinite(float(paths.max())):
        return None
    out = {"paths": paths} if scores is None else {"paths": paths, "score": scores}
    return depend(schedule=schedule.reversed(), wait=False, out=out, **fields).state["score"]


def _prepared(graph: Graph, weight: np.dtype | None, wide: bool) -> tuple[Prepared, Prepared]:
    """What counts paths, and what adds up dependencies; `weight` is the type of the lengths, if edges have any."""
    types: dict[str, Any] = {} if weight is None else {"weight": weight}
    count, depend = (
        prepare(program.typed(**types), graph, scheduled=True, notice=False)
        for program in PROGRAMS[weight is not None, wide]
    )
    return count, depend


def _surely_overflows(graph: Graph, depth: int) -> bool:
    """Whether so many levels would have more paths than a plain number holds, if all vertices branched alike."""
    return depth * log2(max(graph.m / max(graph.n, 1), 1)) > 2000


def _may_overflow(graph: Graph, depth: int) -> bool:
    """Whether so many levels may have more paths than a plain number holds.

    A level has at most so many times the paths of those before it as a vertex has edges. There are no more than the
    graph has; that is asked first, since the largest degree may have to be found, on a GPU by a kernel more to compile.
    """
    return depth * log2(graph.m + 1) > 1000 and depth * log2(max(graph.max_in_degree, 1)) > 1000


def _scale(total: Any, chosen: list[int], normalized: bool, twice: bool, endpoints: bool) -> Any:
    """Divide by the pairs that were looked at, of those there are; a source is no vertex between its own.

    `twice`: each pair was looked at from both ends, and is to count once.
    """
    n = len(total)
    ends = n if endpoints else n - 1
    if ends < 2:
        return total
    pairs = float(len(chosen) if len(chosen) < n else ends)
    pairs *= ends - 1 if normalized else 2 if twice else 1
    total *= 1 / pairs if normalized else ends / pairs  # in NetworkX's way: to divide takes longer
    if 1 < len(chosen) < n and not endpoints:
        total[np.array(chosen)] *= len(chosen) / (len(chosen) - 1)
    return total
