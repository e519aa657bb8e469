"""Single-source shortest paths in a graph with edge lengths.

The program reduces distance(u) + weight(u, v) by `min`. A vertex whose distance decreases activates its out-neighbors.
With a cutoff, longer sums count as infinite, so that the search ends there. The distance is also the priority, so
vertices near the source go first, one bucket of width delta at a time (delta-stepping). With negative lengths there is
no priority (Bellman-Ford), and n rounds without an end mean a negative cycle.
"""

from collections.abc import Hashable, Iterable
from typing import Any, Literal, NamedTuple, overload

import numpy as np

import semirings
from gasla.arrays import any_true, array_module, moved
from gasla.graph.arguments import (
    check_flags,
    check_previous,
    check_source,
    float_type,
    is_one_vertex,
    new_edges,
    real_number,
    score_type,
    several_vertices,
    weight_range,
)
from gasla.graph.exchange.vertex_names import translate_vertex
from gasla.graph.graph import Graph, as_graph
from gasla.graph.weights import may_overflow, takes_weight
from gasla.operations.multiply import vxm
from gasla.operations.run import run
from gasla.program import ID, VertexProgram, edge, option, parameter, vertex
from gasla.rows import Command, Row, Task
from semirings import Semiring


class BellmanFord(VertexProgram):
    """distance(v) = the minimum of distance(u) + weight over the in-edges u -> v.

    The run ends unless a cycle is negative, because distances only decrease, each to the length of one of finitely many
    simple paths.
    """

    real = option(np.float64)
    lengths = option(np.float64)
    distance = vertex(real, init=np.inf)
    weight = edge(lengths)
    reduce = semirings.min

    def gather(self, src, dst, edge):
        return semirings.cast(src.distance + edge.weight, self.real)

    def apply(self, vertex, gathered):
        return {"distance": semirings.minimum(vertex.distance, gathered)}


class DeltaStepping(BellmanFord):
    """The program of shortest distances with a priority, so that vertices near the source are processed first."""

    def priority(self, vertex):
        return vertex.distance


class DeltaSteppingWithin(DeltaStepping):
    """Delta-stepping in which path lengths above the limit count as infinite, so that vertices beyond it are not
    reached.
    """

    limit = parameter(np.float64, np.inf)

    def gather(self, src, dst, edge):
        distance = super().gather(src, dst, edge)
        return semirings.where(distance <= self.limit, distance, np.dtype(self.real).type(np.inf))


class TightParents(VertexProgram):
    """parent(v) = some u with a tight edge to v, which is an edge on a shortest path.

    An edge is tight if distance(u) + weight = distance(v). Also distance(u) < distance(v) is required, so that parents
    form no cycle.
    """

    real = option(np.float64)
    lengths = option(np.float64)
    distance = vertex(real)
    parent = vertex(ID, init=-1)
    weight = edge(lengths)
    reduce = semirings.any
    everyone = True

    def mask(self, vertex):
        return (vertex.parent < 0) & semirings.isfinite(vertex.distance)

    def is_tight(self, src, dst, edge):
        """Return whether an edge is tight: its length, added to the distance of its start, gives the distance of its
        end.

        The sum is rounded as distances are.
        """
        return semirings.cast(src.distance + edge.weight, self.real) == dst.distance

    def edge_mask(self, src, dst, edge):
        return self.is_tight(src, dst, edge) & (src.distance < dst.distance)

    def gather(self, src, dst, edge):
        return src.id + 1  # plus 1, since `any` takes 0 for no value

    def apply(self, vertex, gathered):
        return {"parent": gathered - 1}


class TightSearch(TightParents):
    """A search along tight edges, for vertices reached only through edges of length 0 or edges that vanish in rounding.

    Parents form no cycle, since each was reached in an earlier iteration. The run ends after at most n iterations,
    since each vertex is reached once.
    """

    everyone = False
    sources = "active"

    def edge_mask(self, src, dst, edge):
        return self.is_tight(src, dst, edge)


class BellmanFordParents(VertexProgram):
    """Bellman-Ford with parents, where parent(v) = the last in-neighbor to decrease the distance of v."""

    real = option(np.float64)
    lengths = option(np.float64)
    distance = vertex(real, init=np.inf)
    parent = vertex(ID, init=-1)
    weight = edge(lengths)
    reduce = semirings.argmin

    def gather(self, src, dst, edge):
        return src.distance + edge.weight, src.id

    def apply(self, vertex, gathered):
        distance, parent = gathered
        better = distance < vertex.distance
        return {
            "distance": semirings.where(better, distance, vertex.distance),
            "parent": semirings.where(better, parent, vertex.parent),
        }


class SSSPResult(NamedTuple):
    """The distances and the parents that a shortest-path search found."""

    distances: np.ndarray
    parents: np.ndarray


class NegativeCycleError(ValueError):
    """The error for a source that reaches a cycle of negative length, so that shortest paths do not exist."""


@overload
def sssp(
    graph: Any,
    source: Hashable | Iterable[Hashable],
    *,
    parents: Literal[False] = ...,
    cutoff: float | None = ...,
    delta: float | None = ...,
    dtype: Any = ...,
    start: Any = ...,
) -> np.ndarray: ...
@overload
def sssp(
    graph: Any,
    source: Hashable | Iterable[Hashable],
    *,
    parents: Literal[True],
    cutoff: float | None = ...,
    delta: float | None = ...,
    dtype: Any = ...,
    start: Any = ...,
) -> SSSPResult: ...


@takes_weight
def sssp(
    graph: Any,
    source: Hashable | Iterable[Hashable],
    *,
    parents: bool = False,
    cutoff: float | None = None,
    delta: float | None = None,
    dtype: Any = None,
    start: Any = None,
) -> np.ndarray | SSSPResult:
    """Find the lengths of shortest paths from a source to every vertex.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the length of the edge i -> j. A graph without values has edges of length 1. Negative lengths are
        allowed, unless the source reaches a negative cycle.
    source : int or name, or several of them
        The vertex to start from; of several, the nearest counts for each vertex.
    parents : bool
        Whether to return a parent of every vertex as well: its predecessor on a shortest path.
    cutoff : float, optional
        Maximum distance to search to, rounded to the type of the distances. Vertices farther away count as unreachable,
        and the search does not visit what lies beyond. Not with negative lengths.
    delta : float, optional
        Width of a distance bucket of delta-stepping; by default mean length over mean degree, and several times that on
        sparse graphs. On a CPU buckets grow from this width while few vertices improve others of the same bucket.
    dtype : float32 or float64, optional
        Type of the distances; by default float32 for float32 lengths, else float64, in which distances of integer
        lengths are exact up to 2**53.
    start : array or SSSPResult, optional
        A previous result to continue from, which saves most of the work: for the same sources, without `cutoff`, and
        for the graph that `Graph.changed` made into `graph` by inserting edges only. To shorten an edge, insert a
        shorter parallel one.

    Returns
    -------
    distances : (n,) float
        The distance of every vertex; inf if unreachable.
    SSSPResult(distances, parents)
        With `parents=True`. `parents`, shape (n,), ids: a source is its own parent, and unreachable vertices have -1.

    Raises
    ------
    ValueError
        If a source is not a vertex, a length is NaN, `delta` is not positive, `cutoff` is negative, a length is
        negative and there is a `cutoff`, a source reaches a negative cycle, or a sum of finite lengths overflows the
        type; if `start` visibly belongs to other sources or another graph, or edges were removed since.
    TypeError
        If `start` is not a result of this function, or a source is not an integer.

    See Also
    --------
    gasla.bfs : distances in edges; `depth_limit` is its cutoff.
    gasla.nearest_source : from several sources, also which one is nearest.
    gasla.multi_source_shortest_paths : the distances from each of several sources.

    Notes
    -----
    Stored zeros are edges of length 0. Of parallel edges the shortest counts. Self loops count only if negative.

    On a GPU the function may return before its kernel finishes, as CuPy's functions do. Later work on the same stream
    sees the finished result; `cupy.cuda.get_current_stream().synchronize()` waits for it.

    References
    ----------
    U. Meyer, P. Sanders: Δ-stepping: a parallelizable shortest path algorithm. J. Algorithms 49 (2003).

    Examples
    --------
    >>> import gasla, numpy as np
    >>> from scipy.sparse import csr_array
    >>> A = csr_array(np.array([[0, 2, 7, 0], [0, 0, 3, 0], [0, 0, 0, 0], [1, 0, 0, 0]], np.float32))
    >>> gasla.sssp(A, 0)
    array([ 0.,  2.,  5., inf], dtype=float32)
    >>> gasla.sssp(A, 0, parents=True).parents
    array([ 0,  0,  1, -1], dtype=int32)
    >>> gasla.sssp(A, 0, cutoff=2)
    array([ 0.,  2., inf, inf], dtype=float32)
    """
    graph = as_graph(graph)
    source_argument: Any = source
    check_flags(parents=parents)
    sources = (
        [translate_vertex(graph, source_argument)]
        if is_one_vertex(graph, source_argument)
        else several_vertices(graph, "source", source_argument, "vertex")
    )
    graph.notice_values()
    bounds = weight_range(graph)
    is_negative = bounds[0] < 0
    distance_type = score_type(float_type(graph), dtype)
    program: VertexProgram
    if cutoff is None:
        kind_of_search = BellmanFord if is_negative else DeltaStepping
        program = graph.kept(
            ("sssp", is_negative, distance_type), lambda graph: kind_of_search(**length_types(graph, distance_type))
        )
    else:
        program = search_within(graph, cutoff, distance_type, is_negative, start)
    delta = None if delta is None else real_number("delta", delta, most=np.inf, above=True)
    known_distances, known_parents = start if isinstance(start, SSSPResult) else (start, None)
    sources = list(dict.fromkeys(sources))  # a source that is given twice counts once
    active, start_distances = _initial_state(graph, sources, known_distances, distance_type)
    if not is_negative:
        distances = run(
            program, graph, active=active, distance=start_distances, delta=delta, wait=False, notice=False
        ).distance
    else:
        result = run(program, graph, active=active, max_iterations=graph.n, distance=start_distances, notice=False)
        distances = result.state["distance"]
        if not result.converged or (sources and (moved(distances, "cpu")[sources] < 0).all()):
            cycle = _negative_cycle(graph, sources)
            raise NegativeCycleError(f"a cycle{cycle} has a negative length; shortest paths do not exist")
    if not is_limited(cutoff, distance_type) and may_overflow(graph, distance_type, bounds):
        check_lengths(graph, distances)
    if not parents:
        return distances
    if known_parents is not None:
        known_parents = check_previous(graph, "start.parents", known_parents, graph.id_dtype)
        # a vertex whose distance did not change keeps its parent
        known_parents = array_module(known_parents).where(
            distances == known_distances, known_parents, known_parents.dtype.type(-1)
        )
    return SSSPResult(distances, _parents(graph, sources, distances, known_parents, is_negative))


def is_limited(cutoff: float | None, dtype: np.dtype) -> bool:
    """Return whether a cutoff is finite in the dtype of the distances, and so may leave out vertices."""
    with np.errstate(over="ignore"):
        return cutoff is not None and bool(np.isfinite(dtype.type(cutoff)))


def search_within(graph: Graph, cutoff: float, dtype: np.dtype, is_negative: bool, start: Any = None) -> VertexProgram:
    """Return the vertex program of a search for shortest paths up to a cutoff, rounded to the dtype of the distances.

    Raise ValueError if lengths are negative, or if `start`, the result of an earlier search, is given.
    """
    limit = real_number("cutoff", cutoff, most=np.inf)
    if start is not None:
        raise ValueError("start continues a search without a limit; leave out cutoff, or start")
    if is_negative:
        raise ValueError(
            "a cutoff was given, but lengths are negative, so that a path may exceed the cutoff and return below it; "
            "leave out cutoff, and compare the distances"
        )
    with np.errstate(over="ignore"):  # the cutoff may overflow float32 to inf, which means no limit
        return DeltaSteppingWithin(**length_types(graph, dtype), limit=float(dtype.type(limit)))


def _initial_state(graph: Graph, sources: list[int], known_distances: Any, dtype: np.dtype) -> tuple[Any, Any]:
    """Return the vertices that are active at the start of a search, and the initial distances.

    If `known_distances`, the result of an earlier search, is given, the search continues from it at the ends of
    inserted edges.
    """
    if known_distances is None:
        return sources, dict.fromkeys(sources, 0)
    src, _ = new_edges(graph)
    known_distances = check_previous(graph, "start", known_distances, dtype)
    for source in sources:
        check_source("start", known_distances, source)
    return array_module(src).unique(src), known_distances


def length_types(graph: Graph, dtype: np.dtype) -> dict[str, np.dtype]:
    """Return the options `real` and `lengths` of a shortest-path program: the dtypes of distances and of lengths."""
    return {"real": dtype, "lengths": dtype if graph.value_type is None else graph.value_type}


def _overflows(length: Any, weight: Any) -> Any:
    """Return whether the sum of a finite path length and a finite weight is infinite."""
    length_sum = semirings.cast(length + semirings.cast(weight, length.dtype), length.dtype)
    return semirings.isfinite(length) & semirings.isfinite(weight) & semirings.isinf(length_sum)


OVERFLOWS = Semiring(semirings.max, _overflows)


def check_lengths(graph: Graph, lengths: Any) -> None:
    """Raise ValueError for path lengths that overflowed, which are infinite although both summands are finite."""
    overflows = array_module(lengths).isinf(lengths) & vxm(lengths, graph, OVERFLOWS)
    if any_true(overflows):
        v = int(overflows.argmax())
        remedy = "pass float64 weights" if lengths.dtype == np.float32 else "divide all weights by the same number"
        raise ValueError(
            f"the weights on a path to vertex {v} sum to infinity in {lengths.dtype}; expected a finite sum: {remedy}"
        )


def _parents(graph: Graph, sources: list[int], distances: Any, known_parents: Any, is_negative: bool) -> Any:
    """Return a parent of every reached vertex: the start of a tight edge, which is an edge on a shortest path.

    Edges of length 0 are used last, as they may form a cycle. With negative lengths, distances along a cycle of length
    0 may rise and fall. Then a search along tight edges finds the parents instead.
    """
    xp: Any = array_module(distances)
    types = length_types(graph, distances.dtype)
    at_sources = {source: source for source in sources}
    if is_negative:
        # A source with a negative distance is reached from another source, so it gets a parent like any other vertex.
        length = moved(distances, "cpu")
        at_sources = {source: source for source in sources if length[source] == 0}
        program = TightSearch(**types)
        return run(program, graph, active=list(at_sources), distance=distances, parent=at_sources).parent
    fields: dict[str, Any] = {"parent": at_sources} if known_parents is None else {}
    # the run may write its results into these arrays
    output_arrays = {"distance": distances} | ({} if known_parents is None else {"parent": known_parents})
    parents = run(TightParents(**types), graph, max_iterations=1, out=output_arrays, **fields).parent
    lacks_parent = xp.isfinite(distances) & xp.less(parents, 0)
    if not any_true(lacks_parent):
        return parents
    reached_vertices, output_arrays = (
        xp.flatnonzero(xp.greater_equal(parents, 0)),
        {"distance": distances, "parent": parents},
    )
    return run(TightSearch(**types), graph, active=reached_vertices, out=output_arrays).parent


def _negative_cycle(graph: Graph, sources: list[int]) -> str:
    """Return " through vertex v" for a vertex v on a negative cycle, for the error message, or "" if none is found.

    A vertex was improved in a round by a vertex improved in the round before. So the vertex that improves in round n
    has n ancestors, among which there must be a cycle.
    """
    program = BellmanFordParents(**length_types(graph, float_type(graph)))
    start = dict.fromkeys(sources, 0)
    result = run(program, graph, active=sources, max_iterations=graph.n, distance=start)
    if not result.active:  # no vertex improves any more, so earlier improvements were due to rounding
        return ""
    vertex, parents = int(result.active.ids[0]), moved(result.parent, "cpu")
    parents = np.where(parents < 0, np.arange(graph.n), parents)
    for _ in range(graph.n.bit_length()):  # pointer doubling: go back n steps or more, which leads to the cycle
        vertex, parents = parents[vertex], parents[parents]
    return f" through vertex {vertex}"


ROW = Row(
    sssp,
    Command(
        *("sssp", {"distances": "distance", "parents": "parent"}),
        *(lambda f: f.reached("distances"), lambda f: f.spread("distances", "farthest:")),
    ),
    Task(form="distances"),
    "sssp(g, [0, 1])",
    method="Δ-stepping (Meyer, Sanders, J. Algorithms 49, 2003) and ρ-stepping (Dong et al., SPAA 2021, PASGAL)",
    longer="Distances are improved several times, and one bucket of distances waits for the one before.",
)
