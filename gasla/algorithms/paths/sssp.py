"""Shortest paths from one vertex, with weights.

Returned are distances (infinite where the source does not reach) and, on request, parents.

The reduction is `min` over `distance(u) + weight(u, v)`, and a vertex that came nearer wakes its out-neighbors. As
the distance is the priority, near vertices go first (delta-stepping): a bucket of width delta at a time. With negative
weights there is no priority, and as many rounds as vertices mean a negative cycle.

U. Meyer, P. Sanders: Δ-stepping: a parallelizable shortest path algorithm. J. Algorithms 49 (2003).
"""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, overload

import numpy as np

import semirings
from gasla.arrays import any_true, array_module, moved
from gasla.graph.arguments import (
    check_flags,
    check_previous,
    check_source,
    float_type,
    new_edges,
    real_number,
    score_type,
    several_vertices,
    source_vertex,
    weight_range,
)
from gasla.graph.graph import Graph, as_graph
from gasla.graph.weights import check_lengths, may_overflow
from gasla.operations.run import run
from gasla.program.fields import ID, edge, vertex
from gasla.program.options import option
from gasla.program.program import VertexProgram


class AnyOrder(VertexProgram):
    """distance(v) = min over in-edges of distance(u) + weight.

    Ends where no cycle is negative: distances only fall, and each is the sum along one of finitely many simple paths.
    """

    real = option(np.float64)
    lengths = option(np.float64)
    distance = vertex(real, init=np.inf)
    weight = edge(lengths)
    reduce = semirings.min

    def gather(self, src, dst, edge):
        return src.distance + edge.weight

    def apply(self, vertex, gathered):
        return {"distance": semirings.minimum(vertex.distance, gathered)}


class NearFirst(AnyOrder):
    """Shortest paths, near vertices first."""

    def priority(self, vertex):
        return vertex.distance


class Tight(VertexProgram):
    """parent(v) = some u strictly nearer with distance(u) + weight = distance(v)."""

    real = option(np.float64)
    lengths = option(np.float64)
    distance = vertex(real)
    parent = vertex(ID, init=-1)
    weight = edge(lengths)
    reduce = semirings.any
    everyone = True

    def mask(self, vertex):
        return (vertex.parent < 0) & semirings.isfinite(vertex.distance)

    def edge_mask(self, src, dst, edge):
        return (src.distance + edge.weight == dst.distance) & (src.distance < dst.distance)

    def gather(self, src, dst, edge):
        return src.id + 1  # `any` passes over zero

    def apply(self, vertex, gathered):
        return {"parent": gathered - 1}


class TightLevels(Tight):
    """A search along tight edges, for vertices that only edges of no length, or that vanish, lead to.

    Parents close no circle, as each has been found in an earlier iteration. Ends after n: each vertex receives once.
    """

    everyone = False
    sources = "active"

    def edge_mask(self, src, dst, edge):
        return src.distance + edge.weight == dst.distance


class Improvers(VertexProgram):
    """AnyOrder, a round at a time; parent(v) = the last vertex to improve v."""

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
    """Distances and parents of a shortest-path search."""

    distances: np.ndarray
    parents: np.ndarray


class NegativeCycleError(ValueError):
    """A source reaches a cycle of negative length: shortest paths do not exist."""


@overload
def sssp(
    graph: Any,
    source: int | Iterable[int],
    *,
    parents: Literal[False] = ...,
    delta: float | None = ...,
    dtype: Any = ...,
    start: Any = ...,
) -> np.ndarray: ...
@overload
def sssp(
    graph: Any,
    source: int | Iterable[int],
    *,
    parents: Literal[True],
    delta: float | None = ...,
    dtype: Any = ...,
    start: Any = ...,
) -> SSSPResult: ...


def sssp(
    graph: Any,
    source: int | Iterable[int],
    *,
    parents: bool = False,
    delta: float | None = None,
    dtype: Any = None,
    start: Any = None,
) -> np.ndarray | SSSPResult:
    """Length of a shortest path from `source` to every vertex.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the length of the edge i -> j; stored zeros are edges of length 0. A graph without values has
        edges of length 1. Negative lengths are allowed where no cycle that the source reaches is negative.
    source : int or ids
        Where to start; of several, the one that is nearest counts.
    parents : bool
        Also return a vertex before each one on a shortest path.
    delta : float, optional
        Width of a bucket of distances; by default the mean length over the mean degree, or on sparse graphs several
        times that.
    dtype : float32 or float64, optional
        The type of sums of lengths; by default float32 for float32 lengths, else float64. So distances of integers are
        exact up to 2**53.
    start : array or SSSPResult, optional
        What this returned, from the same sources, for the graph that `graph` was made of by `Graph.changed` with edges
        added alone: the search goes on from there. For a shorter edge, add it beside the longer one.

    Returns
    -------
    distances : (n,) float
        Infinite where the source does not reach.
    SSSPResult(distances, parents)
        With `parents=True`. A source is its own parent; -1 where none reaches.

    Raises
    ------
    ValueError
        If a source is not a vertex, a length is NaN, `delta` is not positive, a cycle is negative, or the sum of finite
        lengths overflows the type; if `start` is of other sources or another graph, as far as that shows, or edges were
        removed since.
    TypeError
        If `start` is something else than this returned, or a source no integer.

    Notes
    -----
    On a GPU it may return while its kernel still runs, as CuPy's functions do: what the stream does next finds the
    result finished, and `cupy.cuda.get_current_stream().synchronize()` waits for it.

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
    """
    graph = as_graph(graph)
    given: Any = source
    check_flags(parents=parents)
    is_one = isinstance(given, str) or not hasattr(given, "__iter__") or getattr(given, "ndim", 1) == 0
    sources = [source_vertex(graph, given)] if is_one else several_vertices(graph, "source", given, "vertex")
    graph.notice_values()
    bounds = weight_range(graph)
    is_negative = bounds[0] < 0
    kind = score_type(float_type(graph), dtype)
    make = _any_order if is_negative else _near_first
    program = graph.kept(("sssp", is_negative, kind), lambda graph: make(graph, kind))
    delta = None if delta is None else real_number("delta", delta, most=np.inf, above=True)
    before, known = start if isinstance(start, SSSPResult) else (start, None)
    sources = list(dict.fromkeys(sources))  # each once
    active, begin = _beginning(graph, sources, before, kind)
    if not is_negative:
        distances = run(program, graph, active=active, distance=begin, delta=delta, wait=False, notice=False).distance
    else:
        result = run(program, graph, active=active, max_iterations=graph.n, distance=begin, notice=False)
        distances = result.state["distance"]
        if not result.converged:
            cycle = _negative_cycle(graph, sources)
            raise NegativeCycleError(f"a cycle{cycle} has a negative length; shortest paths do not exist")
    if may_overflow(graph, kind, bounds):
        check_lengths(graph, distances)
    if not parents:
        return distances
    if known is not None:
        known = check_previous(graph, "start.parents", known, graph.id_dtype)
        known = array_module(known).where(distances == before, known, known.dtype.type(-1))  # they lead on as they did
    return SSSPResult(distances, _parents(graph, sources, distances, known, is_negative))


def _beginning(graph: Graph, sources: list[int], before: Any, kind: np.dtype) -> tuple[Any, Any]:
    """The vertices that are active first, and the distances to start with."""
    if before is None:
        return sources, dict.fromkeys(sources, 0)
    src, _ = new_edges(graph)
    before = check_previous(graph, "start", before, kind)
    for source in sources:
        check_source("start", before, source)
    return array_module(src).unique(src), before


def _any_order(graph: Graph, kind: np.dtype) -> VertexProgram:
    return AnyOrder(**_types(graph, kind))


def _near_first(graph: Graph, kind: np.dtype) -> VertexProgram:
    return NearFirst(**_types(graph, kind))


def _types(graph: Graph, kind: np.dtype) -> dict[str, np.dtype]:
    return {"real": kind, "lengths": kind if graph.values is None else graph.values.dtype}


def _parents(graph: Graph, sources: list[int], distances: Any, known: Any, is_negative: bool) -> Any:
    """One tight edge into every reached vertex. Edges of no length could close a circle, so they come last.

    Where lengths are negative a circle of no length goes up and down: then it is a search from the sources on.
    """
    xp: Any = array_module(distances)
    types = _types(graph, distances.dtype)
    at_sources = {source: source for source in sources}
    if is_negative:
        program = TightLevels(**types)
        return run(program, graph, active=sources, distance=distances, parent=at_sources).parent
    fields: dict[str, Any] = {"parent": at_sources} if known is None else {}
    places = {"distance": distances} | ({} if known is None else {"parent": known})  # no other reference to these
    found = run(Tight(**types), graph, max_iterations=1, out=places, **fields).parent
    missing = xp.isfinite(distances) & xp.less(found, 0)
    if not any_true(missing):
        return found
    reached, places = xp.flatnonzero(xp.greater_equal(found, 0)), {"distance": distances, "parent": found}
    return run(TightLevels(**types), graph, active=reached, out=places).parent


def _negative_cycle(graph: Graph, sources: list[int]) -> str:
    """Where a negative cycle is, once there have been as many rounds as vertices.

    A vertex that improves in a round was improved by one that did in the round before. So the last to do so has as many
    ancestors as there were rounds, and they come round.
    """
    program = Improvers(**_types(graph, float_type(graph)))
    start = dict.fromkeys(sources, 0)
    result = run(program, graph, active=sources, max_iterations=graph.n, distance=start)
    if not result.active:  # the improvements of another order of sums were rounding
        return ""
    vertex, parents = int(result.active.ids[0]), moved(result.parent, "cpu")
    parents = np.where(parents < 0, np.arange(graph.n), parents)
    for _ in range(graph.n.bit_length()):  # twice as far each time
        vertex, parents = parents[vertex], parents[parents]
    return f" through vertex {vertex}"
