"""What vertices take part in, of the shortest paths from each source in turn: for betweenness of vertices and edges.

From every source: levels; then the number of shortest paths to every vertex, level by level; then, from the last level
back, what each vertex takes part in. Both sums gather from neighbors that hold 0 until their own level is done, so
no edge needs a test. Path counts outgrow float64 on a grid (2**2000 and more): then they are held as m * 2**(512 e).

Edges with lengths are on a shortest path where they are tight: distance(u) + length == distance(v), exactly. Beside a
large distance a length may vanish (1 + 1e-23 == 1), and its edge is tight in both directions. Shortest paths are then
those of the least distance and, among these, of the fewest edges that vanish: see `_ascending`.

U. Brandes: A faster algorithm for betweenness centrality. J. Mathematical Sociology 25 (2001).
"""

from collections.abc import Callable, Iterator, Mapping
from math import log2
from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.paths.sssp import NearFirst, sssp
from gasla.algorithms.traversal.bfs import LEVELS
from gasla.arrays import any_true, array_module, finish
from gasla.graph.arguments import check_weights
from gasla.graph.graph import Graph
from gasla.graph.validate import range_of
from gasla.operations.prepare import Prepared, prepare
from gasla.operations.run import run
from gasla.program.fields import edge, vertex
from gasla.program.options import option
from gasla.program.program import VertexProgram
from gasla.program.schedule import Schedule
from gasla.progress import track

UNIT = 2.0**512  # what one step of a wide number's exponent is worth
VANISHES = 2.0**-53  # a float64 may stay as it is where this part of it is added, or less; more than that changes it
WIDE = semirings.VectorType(np.dtype(np.float64), 2)  # (m, e), standing for m * UNIT**e


def shifted(x, exponent):
    """The m that a wide number has with another exponent; 0 where that is larger by two or more."""
    behind = exponent - x[1]
    return x[0] * semirings.where(behind == 0, 1.0, semirings.where(behind == 1, 1 / UNIT, 0.0))


def _add_wide(x, y):
    """The sum of two wide numbers whose m is below 2**256: what is lost is 2**512 times smaller."""
    top = semirings.maximum(x[1], y[1])
    total = shifted(x, top) + shifted(y, top)
    large = total >= 2.0**256
    return semirings.vector(semirings.where(large, total / UNIT, total), top + semirings.where(large, 1.0, 0.0))


wide_plus = semirings.Monoid(_add_wide, identity=0, name="wide_plus")


def is_tight(tail, head, edge):
    """Whether an edge lies on a shortest path.

    The distance is NaN where a vertex is not reached, and equals nothing then: so an infinite edge leads nowhere.
    """
    return tail.distance + edge.weight == head.distance


class Count(VertexProgram):
    """paths(v) = sum over in-edges of paths(u), level by level; over tight edges, where edges have lengths."""

    lengths = option(None)  # their type, if edges have lengths
    number = option(np.float64)  # or WIDE
    reduce = option(semirings.plus)  # or wide_plus
    paths = vertex(number)
    distance = vertex(np.float64, when=lengths)
    weight = edge(lengths, when=lengths)

    def edge_mask(self, src, dst, edge):
        return not self.lengths or is_tight(src, dst, edge)

    def gather(self, src, dst, edge):
        return src.paths

    def apply(self, vertex, gathered):
        return {"paths": gathered}


class Depend(VertexProgram):
    """dependency(v) = paths(v) * sum over out-edges of (1 + dependency(w)) / paths(w), from the last level back.

    The score is the sum of dependencies so far, over the sources. Of wide numbers paths(v) / paths(w) is gathered,
    which is at most 1: a sum of such is a plain number.
    """

    lengths = option(None)
    number = option(np.float64)
    paths = vertex(number)
    score = vertex(np.float64)
    back = vertex(number)
    distance = vertex(np.float64, when=lengths)
    weight = edge(lengths, when=lengths)
    direction = "out"
    reduce = semirings.plus

    def edge_mask(self, src, dst, edge):
        return not self.lengths or is_tight(dst, src, edge)

    def gather(self, src, dst, edge):
        return shifted(dst.paths, src.back[1]) * src.back[0] if self.number == WIDE else src.back

    def apply(self, vertex, gathered):
        if self.number == WIDE:
            back = semirings.vector((1 + gathered) / vertex.paths[0], vertex.paths[1])
            return {"score": vertex.score + gathered, "back": back}
        dependency = vertex.paths * gathered
        return {"score": vertex.score + dependency, "back": (1 + dependency) / vertex.paths}


class Steps(VertexProgram):
    """step(v) = the largest number of edges on a shortest path to v: an order in which to count.

    Ends after n iterations at the latest, since edges that count close no circle.
    """

    lengths = option(np.float64)
    step = vertex(np.int32)
    distance = vertex(np.float64)
    weight = edge(lengths)
    reduce = semirings.max

    def edge_mask(self, src, dst, edge):
        return is_tight(src, dst, edge)

    def gather(self, src, dst, edge):
        return src.step + 1

    def apply(self, vertex, gathered):
        return {"step": semirings.maximum(vertex.step, gathered)}


class Found(NamedTuple):
    """What is known when the paths from one source have been followed there and back."""

    source: int
    graph: Graph  # in which all tight edges are on shortest paths
    levels: Any  # when paths came to each vertex; 0 at the source, -1 where none do
    fields: dict[str, Any]  # distances, if edges have lengths
    state: Mapping[str, Any]  # paths to each vertex; back, what it tells those before it; score, of all sources so far
    is_wide: bool


def has_lengths(graph: Graph, weighted: bool) -> bool:
    """Whether edges have lengths that count; those that aren't positive are refused."""
    if not weighted or graph.values is None:
        return False
    graph.notice_values()
    check_weights(graph, positive=True)
    return True


def follow(graph: Graph, sources: list[int], weighted: bool, visit: Callable[[Found], None] | None = None) -> Any:
    """The sum of dependencies over the sources, at each vertex; `visit` is called after each of these.

    A GPU may still be working on it.
    """
    weighted = weighted and graph.values is not None
    sums, is_wide, scores, at_hand = _prepared(graph, weighted, wide=False), False, None, graph
    try:
        orders = (_weighted_orders if weighted else _orders)(graph, sources)
        for source in track(sources, "sources"):
            schedule, ascending, fields = next(orders)
            if ascending is not at_hand:
                sums, at_hand = _prepared(ascending, weighted, is_wide), ascending
            state = None
            if not is_wide:  # plain numbers come first, and wide ones where they overflow
                state = _accumulate(graph, sums, source, schedule, 1, fields, scores)
            if state is None:
                if not is_wide:
                    sums, is_wide = _prepared(ascending, weighted, wide=True), True
                state = _accumulate(graph, sums, source, schedule, (1, 0), fields, scores)
                assert state is not None
            scores = state["score"]
            if visit is not None:
                visit(Found(source, ascending, schedule.levels, fields, state, is_wide))
        return scores
    except BaseException:  # such as Ctrl-C: no search that has begun is left running
        finish(graph.device)
        raise


Order = tuple[Schedule, Graph, dict[str, Any]]


def _orders(graph: Graph, sources: list[int]) -> Iterator[Order]:
    """For each source the order in which to count: every vertex reached but the source, which is on level 0.

    The next search begins before, so that a GPU has something to do meanwhile.
    """
    search = prepare(LEVELS, graph)
    coming = search(active=[sources[0]], level={sources[0]: 0}, wait=False)
    for following in [*sources[1:], None]:
        found = coming
        if following is not None:
            coming = search(active=[following], level={following: 0}, wait=False)
        yield Schedule(found.state["level"], 1, found.iterations - 1), graph, {}  # the last iteration reaches nothing


def _weighted_orders(graph: Graph, sources: list[int]) -> Iterator[Order]:
    """The same by weight; distances; and the graph in which all tight edges are on shortest paths."""
    assert graph.values is not None
    exact, kind = graph, graph.values.dtype
    if kind.kind == "f" and kind.itemsize < 8:  # sums in float32 may tie where those in float64 do not
        assert graph.out_values is not None
        exact = Graph.from_csr(graph.out.indptr, graph.out.indices, graph.out_values.astype(np.float64))
    least = float(range_of(graph.values)[0]) if graph.m else np.inf
    for source in sources:
        distances = sssp(exact, source)
        xp: Any = array_module(distances)
        is_reached = xp.isfinite(distances)
        distances, farthest = xp.where(is_reached, distances, np.nan), float(xp.where(is_reached, distances, 0).max())
        ascending = _ascending(graph, source, distances) if least <= VANISHES * farthest else graph
        assert ascending.values is not None
        program = Steps(lengths=ascending.values.dtype)
        steps = run(program, ascending, active=[source], max_iterations=graph.n, distance=distances, notice=False)
        if not steps.converged:
            raise RuntimeError(
                f"betweenness: paths from {source} still grow after {graph.n} steps, the number of vertices; expected "
                "shortest paths to close no circle. Please report this graph"
            )
        yield Schedule(xp.where(is_reached, steps.step, -1), first=1), ascending, {"distance": distances}


def _ascending(graph: Graph, source: int, distances: Any) -> Graph:
    """The graph in which edges that are tight and on no shortest path have the length NaN, which is never tight.

    These are edges between vertices of one distance. Hops count the edges there from the source, and from vertices to
    which a tight edge leads from a lower distance; each edge of a shortest path has one hop more at its head than at
    its tail. So all edges that stay tight ascend by (distance, hops), and close no circle.
    """
    xp: Any = array_module(distances)
    tails, heads, lengths = graph.out.owners(), graph.out.indices, graph.out_values
    assert lengths is not None and graph.values is not None
    is_tight = xp.equal(distances[tails] + lengths, distances[heads])
    is_level = is_tight & xp.equal(distances[tails], distances[heads])
    if not any_true(is_level):
        return graph
    hops = xp.full(graph.n, np.inf)
    hops[heads[is_tight & ~is_level]] = 0
    hops[source] = 0
    level = Graph.from_edges(tails[is_level], heads[is_level], n=graph.n)
    hops = run(NearFirst, level, active=xp.equal(hops, 0), distance=hops).distance
    values = graph.values.astype(graph.values.dtype if graph.values.dtype.kind == "f" else np.float64)
    values[graph.out.numbers()[is_level & xp.not_equal(hops[tails] + 1, hops[heads])]] = np.nan
    return graph.with_values(values)


def _accumulate(
    graph: Graph,
    sums: tuple[Prepared, Prepared],
    source: int,
    schedule: Schedule,
    one: Any,
    fields: dict[str, Any],
    scores: Any,
) -> Mapping[str, Any] | None:
    """What every vertex takes part in of the paths from one source, and the scores; None if these exceed plain numbers.

    A GPU may still be working on them.
    """
    count, depend = sums
    if one == 1 and _surely_overflows(graph, schedule.depth):
        return None
    paths = count(schedule=schedule, paths={source: one}, wait=False, **fields).state["paths"]
    if one == 1 and _may_overflow(graph, schedule.depth) and not np.isfinite(float(paths.max())):
        return None
    out = {"paths": paths} if scores is None else {"paths": paths, "score": scores}
    return depend(schedule=schedule.reversed(), wait=False, out=out, **fields).state


def _prepared(graph: Graph, weighted: bool, wide: bool) -> tuple[Prepared, Prepared]:
    """What counts paths, and what adds up dependencies."""
    lengths = graph.values.dtype if weighted and graph.values is not None else None
    number, total = (WIDE, wide_plus) if wide else (np.float64, semirings.plus)
    count, depend = Count(lengths=lengths, number=number, reduce=total), Depend(lengths=lengths, number=number)
    return prepare(count, graph, scheduled=True, notice=False), prepare(depend, graph, scheduled=True, notice=False)


def _surely_overflows(graph: Graph, depth: int) -> bool:
    """Whether so many levels would have more paths than a plain number holds, if all vertices branched alike."""
    return depth * log2(max(graph.m / max(graph.n, 1), 1)) > 2000


def _may_overflow(graph: Graph, depth: int) -> bool:
    """Whether so many levels may have more paths than a plain number holds.

    A level has at most so many times the paths of those before it as a vertex has edges. There are no more than the
    graph has; that is asked first, since the largest degree may have to be found, on a GPU by a kernel more to compile.
    """
    return depth * log2(graph.m + 1) > 1000 and depth * log2(max(graph.max_in_degree, 1)) > 1000
