"""Brandes' accumulation of path counts and dependencies from each source, for betweenness of vertices and of edges.

There are three passes for every source. A search finds the levels of the vertices. A forward pass counts the shortest
paths to each vertex, level by level. A backward pass accumulates the dependency of each vertex, from the last level to
the first. The value of a vertex is 0 until the pass has processed its level, so a gather needs no test whether an edge
leads to the next level. Path counts can overflow float64 (2**2000 on a grid). The passes then run with numbers m *
2**(512 e), stored as vectors (m, e).

With lengths, an edge u -> v is on a shortest path if it is tight: distance(u) + length == distance(v), exactly. A short
edge may vanish when its length is added to a large distance (1 + 1e-23 == 1), and is then tight in both directions.
Among the paths of the smallest distance, those with the fewest vanishing edges are the shortest: see
`_acyclic_tight_graph`.

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

UNIT = 2.0**512  # a scaled number (m, e) has the value m * UNIT**e
VANISHES = 2.0**-53  # x + y == x is possible in float64 only if y <= VANISHES * x
# The type of a scaled number, a pair (m, e) that has the value m * UNIT**e. Numbers of paths may exceed float64.
SCALED = semirings.VectorType(np.dtype(np.float64), 2)


def shifted(x, exponent):
    """Return the mantissa that a scaled number x = (m, e), which has the value m * UNIT**e, has at another exponent.

    `exponent` is this exponent. If it exceeds e by two or more, the result is 0.
    """
    steps = exponent - x[1]
    return x[0] * semirings.where(steps == 0, 1.0, semirings.where(steps == 1, 1 / UNIT, 0.0))


def _add_scaled(x, y):
    """Add two scaled numbers (m, e), which have the value m * UNIT**e and mantissas below 2**256.

    The number with the smaller exponent loses digits, but these are at most 2**-512 of the sum.
    """
    top = semirings.maximum(x[1], y[1])
    total = shifted(x, top) + shifted(y, top)
    large = total >= 2.0**256
    return semirings.vector(semirings.where(large, total / UNIT, total), top + semirings.where(large, 1.0, 0.0))


scaled_plus = semirings.Monoid(_add_scaled, identity=0, name="scaled_plus")


def is_tight(tail, head, edge):
    """Return whether an edge is on a shortest path from the source, which it is if it is tight: tail distance + edge
    length equals head distance.

    Unreached vertices have distance NaN, which equals nothing, so no edge to or from them is tight.
    """
    return tail.distance + edge.weight == head.distance


class Count(VertexProgram):
    """paths(v) = sum of paths(u) over the in-edges u -> v: the number of shortest paths from the source, level by
    level.

    If edges have lengths, only tight edges count, which are on shortest paths.
    """

    lengths = option(None)  # dtype of the lengths; None if unweighted
    # dtype of the numbers of paths: float64, or SCALED for larger numbers (m, e) of value m * UNIT**e
    number = option(np.float64)
    reduce = option(semirings.plus)  # how numbers of paths are added; `scaled_plus` if they are SCALED
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
    """dependency(v) = paths(v) * sum over out-edges v -> w of (1 + dependency(w)) / paths(w), from the last level back.

    paths(v) is the number of shortest paths from the source to v. `score` accumulates the dependencies over all
    sources, and `back` is (1 + dependency) / paths. With scaled numbers, which have their own exponent, each edge
    contributes a multiple of paths(v) / paths(w) <= 1, so sums of dependencies fit plain floats.
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
    """step(v) = the largest number of edges on a shortest path to v, which is the level at which its paths are counted.

    The run ends after at most n iterations, since the edges of shortest paths form no cycle.
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
    """What Brandes' algorithm has computed for one source: levels, numbers of shortest paths, and dependencies."""

    source: int
    graph: Graph  # the input graph; edges that only rounding makes tight have length NaN (`_acyclic_tight_graph`)
    levels: Any  # level of each vertex; 0 at the source, -1 if unreached
    fields: dict[str, Any]  # {"distance": distance of each vertex} if edges have lengths, else empty
    state: Mapping[str, Any]  # the result of `Depend`: `paths` and `back`, and `score`, which adds up over sources
    is_scaled: bool


def has_lengths(graph: Graph, weighted: bool) -> bool:
    """Return whether the values of a graph are used as lengths. Raise ValueError if a length is not positive."""
    if not weighted or graph.value_type is None:
        return False
    graph.notice_values()
    check_weights(graph, positive=True)
    return True


def accumulate_sources(
    graph: Graph, sources: list[int], weighted: bool, visit: Callable[[SourcePaths], None] | None = None
) -> Any:
    """Run Brandes' algorithm from each source, and return for each vertex the sum of its dependencies on the sources.

    `visit` is called after each source with the `SourcePaths` that were found. On a GPU the last kernels may still run
    when this returns.
    """
    for paths in source_paths(graph, sources, weighted, accumulates=True):
        if visit is not None:
            visit(paths)
    return paths.state["score"]


def source_paths(
    graph: Graph, sources: list[int], weighted: bool, *, accumulates: bool = False
) -> Iterator[SourcePaths]:
    """Yield the result of Brandes' algorithm for each source: numbers of shortest paths, and dependencies of vertices.

    With `accumulates`, scores are sums over all sources so far.

    Plain float64 numbers are used until the number of paths from a source overflows, and from then on scaled numbers.
    """
    weighted = weighted and graph.value_type is not None
    passes, is_scaled, scores, prepared_for = _prepare_passes(graph, weighted, scaled=False), False, None, graph
    try:
        schedules = (_distance_schedules if weighted else _level_schedules)(graph, sources)
        for source in track(sources, "sources"):
            schedule, tight_graph, fields = next(schedules)
            if tight_graph is not prepared_for:
                passes, prepared_for = _prepare_passes(tight_graph, weighted, is_scaled), tight_graph
            state = None
            if not is_scaled:  # numbers of paths are plain float64 until they overflow for a source
                state = _run_passes(graph, passes, source, schedule, 1, fields, scores)
            if state is None:
                if not is_scaled:
                    passes, is_scaled = _prepare_passes(tight_graph, weighted, scaled=True), True
                state = _run_passes(graph, passes, source, schedule, (1, 0), fields, scores)
                assert state is not None
            scores = state["score"] if accumulates else None
            yield SourcePaths(source, tight_graph, schedule.levels, fields, state, is_scaled)
    except BaseException:  # also for Ctrl-C: wait for the search from the next source, which may still run
        finish(graph.device)
        raise


def count_paths(graph: Graph, source: int, weighted: bool) -> Any:
    """Return the number of shortest paths from a source to each vertex, as float64, or inf if the number overflows."""
    schedule, tight_graph, fields = next((_distance_schedules if weighted else _level_schedules)(graph, [source]))
    program = Count(lengths=tight_graph.value_type if weighted else None)
    count = prepare(program, tight_graph, scheduled=True, notice=False)
    return count(schedule=schedule, paths={source: 1}, **fields).state["paths"]


Order = tuple[Schedule, Graph, dict[str, Any]]


def _level_schedules(graph: Graph, sources: list[int]) -> Iterator[Order]:
    """Yield for each source the order in which the passes of Brandes' algorithm process vertices, if edges have no
    lengths.

    An item is the order, the graph, and an empty dictionary of fields. The order is that of the levels of a
    breadth-first search. It starts at level 1, as the source on level 0 needs no work. The search from the next source
    is launched before the current levels are used, so that a GPU stays busy.
    """
    search = prepare(LEVELS, graph)
    upcoming = search(active=[sources[0]], level={sources[0]: 0}, wait=False)
    for next_source in [*sources[1:], None]:
        paths = upcoming
        if next_source is not None:
            upcoming = search(active=[next_source], level={next_source: 0}, wait=False)
        # The last iteration of the search finds no vertex, so it adds no level.
        yield Schedule(paths.state["level"], 1, paths.iterations - 1), graph, {}


def _distance_schedules(graph: Graph, sources: list[int]) -> Iterator[Order]:
    """Yield for each source the order in which the passes of Brandes' algorithm process vertices, if edges have
    lengths.

    An item is the order, a graph, and the distances. The level of a vertex is the largest number of edges on a shortest
    path to it, so that all edges of shortest paths lead to a later level. In the graph, edges that only rounding makes
    tight (that is, on a shortest path) have length NaN.
    """
    assert graph.value_type is not None
    exact_graph, length_dtype = graph, graph.value_type
    # Distances are computed in float64, because two sums may be equal in float32 but not in float64.
    if length_dtype.kind == "f" and length_dtype.itemsize < 8:
        lengths: Any = graph.valued.by_out
        exact_graph = Graph.from_csr(graph.out.indptr, graph.out.indices, lengths.astype(np.float64))
    smallest_length = float(weight_range(graph, positive=True)[0]) if graph.m else np.inf
    for source in sources:
        distances = sssp(exact_graph, source)
        xp: Any = array_module(distances)
        is_reached = xp.isfinite(distances)
        distances, farthest = xp.where(is_reached, distances, np.nan), float(xp.where(is_reached, distances, 0).max())
        tight_graph = (
            _acyclic_tight_graph(graph, source, distances) if smallest_length <= VANISHES * farthest else graph
        )
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
    """Return the graph with length NaN for edges that only rounding makes tight, so that no pass takes them.

    An edge is tight if its length is the difference of the distances of its ends. A length may vanish when it is added
    to a distance, so that the edge is tight, and joins vertices of equal distance, without being on a shortest path.
    `hops` is, for each vertex, the smallest number of vanishing edges at the end of a path from the source. Along a
    vanishing edge of a shortest path `hops` grows by exactly one. Other vanishing edges get NaN. The edges that stay
    tight ascend by (distance, hops), so they form no cycle.
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


def _run_passes(
    graph: Graph,
    passes: tuple[Prepared, Prepared],
    source: int,
    schedule: Schedule,
    one_path: Any,
    fields: dict[str, Any],
    scores: Any,
) -> Mapping[str, Any] | None:
    """Run both passes of Brandes' algorithm from one source: count shortest paths, then sum up the dependencies of
    vertices.

    Return the fields of the program `Depend`.

    `one_path` is the number 1, plain or scaled. If it is plain and a number of paths overflows float64, return None. On
    a GPU the kernels may still run when this returns.
    """
    count, depend = passes
    if one_path == 1 and _surely_overflows(graph, schedule.depth):
        return None
    paths = count(schedule=schedule, paths={source: one_path}, wait=False, **fields).state["paths"]
    if one_path == 1 and _may_overflow(graph, schedule.depth) and not np.isfinite(float(paths.max())):
        return None
    out = {"paths": paths} if scores is None else {"paths": paths, "score": scores}
    return depend(schedule=schedule.reversed(), wait=False, out=out, **fields).state


def _prepare_passes(graph: Graph, weighted: bool, scaled: bool) -> tuple[Prepared, Prepared]:
    """Prepare the two passes of Brandes' algorithm: one counts shortest paths, and one sums up dependencies."""
    lengths = graph.value_type if weighted else None
    count_type, path_sum = (SCALED, scaled_plus) if scaled else (np.float64, semirings.plus)
    count, depend = (
        Count(lengths=lengths, number=count_type, reduce=path_sum),
        Depend(lengths=lengths, number=count_type),
    )
    return prepare(count, graph, scheduled=True, notice=False), prepare(depend, graph, scheduled=True, notice=False)


def _surely_overflows(graph: Graph, depth: int) -> bool:
    """Return whether numbers of shortest paths would exceed float64 if every vertex had the mean degree, on `depth`
    levels.

    If so, `source_paths` uses scaled numbers at once, without an attempt in plain float64.
    """
    return depth * log2(max(graph.m / max(graph.n, 1), 1)) > 2000


def _may_overflow(graph: Graph, depth: int) -> bool:
    """Return whether numbers of shortest paths, over `depth` levels, can exceed float64, so that the result has to be
    checked.

    From one level to the next, the largest number grows at most by the factor of the largest in-degree, which is at
    most m. The bound by m is tested first, because the largest in-degree may still have to be computed, on a GPU by one
    more kernel to compile.
    """
    return depth * log2(graph.m + 1) > 1000 and depth * log2(max(graph.max_in_degree, 1)) > 1000
