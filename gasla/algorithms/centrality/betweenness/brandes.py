"""Brandes' accumulation of path counts and dependencies from each source, for betweenness of vertices and of edges.

Three passes for every source: a search finds the levels; a forward pass counts the shortest paths to each vertex, level
by level; a backward pass accumulates the dependency of each vertex, from the last level to the first. Values are 0
until a vertex's own level has run, so a gather needs no test whether an edge leads to the next level. Path counts can
overflow float64 (2**2000 on a grid): the passes then run with numbers m * 2**(512 e), stored as vectors (m, e).

With lengths, an edge u -> v is on a shortest path if it is tight: distance(u) + length == distance(v), exactly. A short
edge may vanish when it is added to a large distance (1 + 1e-23 == 1), and is then tight in both directions. Among the
paths of the smallest distance, those with the fewest vanishing edges are the shortest: see `_acyclic_tight_graph`.

U. Brandes: A faster algorithm for betweenness centrality. J. Mathematical Sociology 25 (2001).
"""

from collections.abc import Callable, Iterator, Mapping
from math import log2
from typing import Any, NamedTuple, cast

import numpy as np

import semirings
from gasla.algorithms.paths.sssp import DeltaStepping, sssp
from gasla.algorithms.traversal.bfs import LEVELS
from gasla.arrays import any_true, array_module, finish
from gasla.graph.arguments import check_weights, weight_range
from gasla.graph.graph import Graph
from gasla.operations.prepare import Prepared, prepare
from gasla.operations.run import run
from gasla.program import Schedule, VertexProgram, edge, option, vertex
from gasla.progress import track

UNIT = 2.0**512  # value of one step of the exponent of a scaled number
VANISHES = 2.0**-53  # x + y may equal x in float64 only if y <= VANISHES * x
SCALED = semirings.VectorType(np.dtype(np.float64), 2)  # (m, e), which represents m * UNIT**e


def shifted(x, exponent):
    """Return the mantissa of a scaled number for a given exponent, or 0 if that exceeds its own by two or more."""
    steps = exponent - x[1]
    return x[0] * semirings.where(steps == 0, 1.0, semirings.where(steps == 1, 1 / UNIT, 0.0))


def _add_scaled(x, y):
    """Add two scaled numbers with mantissas below 2**256. Truncated parts are 2**512 times smaller than the sum."""
    top = semirings.maximum(x[1], y[1])
    total = shifted(x, top) + shifted(y, top)
    large = total >= 2.0**256
    return semirings.vector(semirings.where(large, total / UNIT, total), top + semirings.where(large, 1.0, 0.0))


scaled_plus = semirings.Monoid(_add_scaled, identity=0, name="scaled_plus")


def is_tight(tail, head, edge):
    """Return whether an edge lies on a shortest path.

    Unreached vertices have distance NaN, which equals nothing, so no edge to or from them is tight.
    """
    return tail.distance + edge.weight == head.distance


class Count(VertexProgram):
    """paths(v) = sum over in-edges of paths(u), level by level. If edges have lengths, only tight edges count."""

    lengths = option(None)  # dtype of the lengths; None if unweighted
    number = option(np.float64)  # or SCALED
    reduce = option(semirings.plus)  # or scaled_plus
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

    `score` accumulates the dependencies over all sources; `back` is (1 + dependency) / paths. With scaled numbers each
    edge contributes paths(v) / paths(w) <= 1, so sums are plain floats.
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
        return shifted(dst.paths, src.back[1]) * src.back[0] if self.number == SCALED else src.back

    def apply(self, vertex, gathered):
        if self.number == SCALED:
            back = semirings.vector((1 + gathered) / vertex.paths[0], vertex.paths[1])
            return {"score": vertex.score + gathered, "back": back}
        dependency = vertex.paths * gathered
        return {"score": vertex.score + dependency, "back": (1 + dependency) / vertex.paths}


class Steps(VertexProgram):
    """step(v) = the largest number of edges on a shortest path to v: the level at which v can be counted.

    Ends after at most n iterations, since the edges of shortest paths form no cycle.
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


class SourcePaths(NamedTuple):
    """The shortest paths from one source, after the forward and backward passes."""

    source: int
    graph: Graph  # all of its tight edges are on shortest paths
    levels: Any  # level of each vertex; 0 at the source, -1 if unreached
    fields: dict[str, Any]  # distances, if edges have lengths
    state: Mapping[str, Any]  # paths, back, and score, accumulated over all sources so far
    is_scaled: bool


def has_lengths(graph: Graph, weighted: bool) -> bool:
    """Return whether edges have lengths that count. Raises ValueError if one is not positive."""
    if not weighted or graph.value_type is None:
        return False
    graph.notice_values()
    check_weights(graph, positive=True)
    return True


def accumulate_sources(
    graph: Graph, sources: list[int], weighted: bool, visit: Callable[[SourcePaths], None] | None = None
) -> Any:
    """Sum the dependencies of each vertex over the sources. `visit` is called after each source.

    On a GPU the last kernels may still run when this returns.
    """
    for paths in source_paths(graph, sources, weighted, accumulates=True):
        if visit is not None:
            visit(paths)
    return paths.state["score"]


def source_paths(
    graph: Graph, sources: list[int], weighted: bool, *, accumulates: bool = False
) -> Iterator[SourcePaths]:
    """Yield the shortest paths from each source. With `accumulates`, scores are sums over the sources so far."""
    weighted = weighted and graph.value_type is not None
    passes, is_scaled, scores, prepared_for = _prepared(graph, weighted, scaled=False), False, None, graph
    try:
        orders = (_weighted_orders if weighted else _orders)(graph, sources)
        for source in track(sources, "sources"):
            schedule, tight_graph, fields = next(orders)
            if tight_graph is not prepared_for:
                passes, prepared_for = _prepared(tight_graph, weighted, is_scaled), tight_graph
            state = None
            if not is_scaled:  # plain float64 first, scaled numbers where it overflows
                state = _accumulate(graph, passes, source, schedule, 1, fields, scores)
            if state is None:
                if not is_scaled:
                    passes, is_scaled = _prepared(tight_graph, weighted, scaled=True), True
                state = _accumulate(graph, passes, source, schedule, (1, 0), fields, scores)
                assert state is not None
            scores = state["score"] if accumulates else None
            yield SourcePaths(source, tight_graph, schedule.levels, fields, state, is_scaled)
    except BaseException:  # Ctrl-C too: leave no search running
        finish(graph.device)
        raise


def count_paths(graph: Graph, source: int, weighted: bool) -> Any:
    """Return the number of shortest paths from a source to each vertex, as float64.

    It is infinite where it overflows.
    """
    schedule, tight_graph, fields = next((_weighted_orders if weighted else _orders)(graph, [source]))
    program = Count(lengths=tight_graph.value_type if weighted else None)
    count = prepare(program, tight_graph, scheduled=True, notice=False)
    return count(schedule=schedule, paths={source: 1}, **fields).state["paths"]


Order = tuple[Schedule, Graph, dict[str, Any]]


def _orders(graph: Graph, sources: list[int]) -> Iterator[Order]:
    """Yield for each source the schedule of its levels. The source itself, on level 0, is not part of it.

    The search from the next source is launched before the current one is used, so that a GPU stays busy.
    """
    search = prepare(LEVELS, graph)
    upcoming = search(active=[sources[0]], level={sources[0]: 0}, wait=False)
    for following in [*sources[1:], None]:
        paths = upcoming
        if following is not None:
            upcoming = search(active=[following], level={following: 0}, wait=False)
        yield Schedule(paths.state["level"], 1, paths.iterations - 1), graph, {}  # the last iteration reaches no vertex


def _weighted_orders(graph: Graph, sources: list[int]) -> Iterator[Order]:
    """Yield for each source the schedule by weighted distance, the graph of the tight edges, and the distances."""
    assert graph.value_type is not None
    exact, kind = graph, graph.value_type
    if kind.kind == "f" and kind.itemsize < 8:  # two sums may be equal in float32 but not in float64
        lengths: Any = graph.valued.by_out
        exact = Graph.from_csr(graph.out.indptr, graph.out.indices, lengths.astype(np.float64))
    least = float(weight_range(graph, positive=True)[0]) if graph.m else np.inf
    for source in sources:
        distances = sssp(exact, source)
        xp: Any = array_module(distances)
        is_reached = xp.isfinite(distances)
        distances, farthest = xp.where(is_reached, distances, np.nan), float(xp.where(is_reached, distances, 0).max())
        tight_graph = _acyclic_tight_graph(graph, source, distances) if least <= VANISHES * farthest else graph
        assert tight_graph.value_type is not None
        program = Steps(lengths=tight_graph.value_type)
        steps = run(program, tight_graph, active=[source], max_iterations=graph.n, distance=distances, notice=False)
        if not steps.converged:
            raise RuntimeError(
                f"betweenness: paths from {source} still grow after {graph.n} steps, the number of vertices; expected "
                "shortest paths to form no cycle. Please report this graph"
            )
        yield Schedule(xp.where(is_reached, steps.step, -1), first=1), tight_graph, {"distance": distances}


def _acyclic_tight_graph(graph: Graph, source: int, distances: Any) -> Graph:
    """Set the length of edges that are tight but on no shortest path to NaN, which makes them not tight.

    These edges join vertices of equal distance. `hops` counts such edges from the source, and from vertices that a
    tight edge reaches from a smaller distance; along an edge of a shortest path it grows by one. The edges that stay
    tight therefore ascend by (distance, hops), and form no cycle.
    """
    xp: Any = array_module(distances)
    tails, heads, values = graph.out.owners(), graph.out.indices, cast(Any, graph.valued.each)
    lengths = cast(Any, graph.valued.by_out)
    is_tight = xp.equal(distances[tails] + lengths, distances[heads])
    is_flat = is_tight & xp.equal(distances[tails], distances[heads])
    if not any_true(is_flat):
        return graph
    hops = xp.full(graph.n, np.inf)
    hops[heads[is_tight & ~is_flat]] = 0
    hops[source] = 0
    flat = Graph.from_edges(tails[is_flat], heads[is_flat], n=graph.n)
    hops = run(DeltaStepping, flat, active=xp.equal(hops, 0), distance=hops).distance
    values = values.astype(values.dtype if values.dtype.kind == "f" else np.float64)
    values[graph.out.numbers()[is_flat & xp.not_equal(hops[tails] + 1, hops[heads])]] = np.nan
    return graph.with_values(values)


def _accumulate(
    graph: Graph,
    passes: tuple[Prepared, Prepared],
    source: int,
    schedule: Schedule,
    one: Any,
    fields: dict[str, Any],
    scores: Any,
) -> Mapping[str, Any] | None:
    """Run both passes for one source and return their fields. Return None if path counts overflow plain float64.

    On a GPU the kernels may still run when this returns.
    """
    count, depend = passes
    if one == 1 and _surely_overflows(graph, schedule.depth):
        return None
    paths = count(schedule=schedule, paths={source: one}, wait=False, **fields).state["paths"]
    if one == 1 and _may_overflow(graph, schedule.depth) and not np.isfinite(float(paths.max())):
        return None
    out = {"paths": paths} if scores is None else {"paths": paths, "score": scores}
    return depend(schedule=schedule.reversed(), wait=False, out=out, **fields).state


def _prepared(graph: Graph, weighted: bool, scaled: bool) -> tuple[Prepared, Prepared]:
    """Prepare the forward pass, which counts paths, and the backward pass, which accumulates dependencies."""
    lengths = graph.value_type if weighted else None
    number, total = (SCALED, scaled_plus) if scaled else (np.float64, semirings.plus)
    count, depend = Count(lengths=lengths, number=number, reduce=total), Depend(lengths=lengths, number=number)
    return prepare(count, graph, scheduled=True, notice=False), prepare(depend, graph, scheduled=True, notice=False)


def _surely_overflows(graph: Graph, depth: int) -> bool:
    """Return whether path counts exceed float64 if every vertex has the mean degree.

    Scaled numbers are then tried at once.
    """
    return depth * log2(max(graph.m / max(graph.n, 1), 1)) > 2000


def _may_overflow(graph: Graph, depth: int) -> bool:
    """Return whether path counts can exceed float64 at all.

    The path count grows per level at most by the factor of the largest in-degree, which is at most m. The bound by m is
    tested first, because the largest degree may still have to be computed, on a GPU by one more kernel to compile.
    """
    return depth * log2(graph.m + 1) > 1000 and depth * log2(max(graph.max_in_degree, 1)) > 1000
