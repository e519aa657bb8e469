"""Shortest paths from one vertex, with weights.

Returned are distances (infinite where the source does not reach) and, on request, parents.

The reduction is `min` over `distance(u) + weight(u, v)`, and a vertex that came nearer wakes its out-neighbours. As
the distance is the priority, near vertices go first (delta-stepping): a bucket of width delta at a time. With negative
weights there is no priority, and as many rounds as vertices mean a negative cycle.

U. Meyer, P. Sanders: Δ-stepping: a parallelizable shortest path algorithm. J. Algorithms 49 (2003).
"""

from typing import Any, Literal, NamedTuple, overload

import numpy as np

import semirings
from gasla.arrays import any_true, array_module, moved
from gasla.graph.arguments import check_source, float_type, has_negative, known_before, new_edges, source_vertex
from gasla.graph.graph import Graph, as_graph
from gasla.operations.run import run
from gasla.program.fields import ID, edge, vertex
from gasla.program.program import VertexProgram


class AnyOrder(VertexProgram):
    """distance(v) = min over in-edges of distance(u) + weight."""

    distance = vertex(np.float64, init=np.inf)
    weight = edge(np.float64)
    reduce = semirings.min

    def gather(self, src, dst, edge):
        return src.distance + edge.weight

    def apply(self, vertex, gathered):
        return {"distance": semirings.minimum(vertex.distance, gathered)}


class NearFirst(AnyOrder):
    """The same, near vertices first."""

    def priority(self, vertex):
        return vertex.distance


class Tight(VertexProgram):
    """parent(v) = some u strictly nearer with distance(u) + weight = distance(v)."""

    distance = vertex(np.float64)
    parent = vertex(ID, init=-1)
    weight = edge(np.float64)
    reduce = semirings.any
    sources = "active"

    def mask(self, vertex):
        return (vertex.parent < 0) & semirings.isfinite(vertex.distance)

    def edge_mask(self, src, dst, edge):
        return (src.distance + edge.weight == dst.distance) & (src.distance < dst.distance)

    def gather(self, src, dst, edge):
        return src.id + 1  # `any` passes over zero

    def apply(self, vertex, gathered):
        return {"parent": gathered - 1}


class TightLevels(Tight):
    """A search along tight edges, for vertices that only edges of no length lead to."""

    def edge_mask(self, src, dst, edge):
        return src.distance + edge.weight == dst.distance


class Improvers(VertexProgram):
    """AnyOrder, a round at a time; parent(v) = who was the last to improve v."""

    distance = vertex(np.float64, init=np.inf)
    parent = vertex(ID, init=-1)
    weight = edge(np.float64)
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


@overload
def sssp(
    graph: Any, source: int, *, parents: Literal[False] = ..., delta: float | None = ..., start: Any = ...
) -> np.ndarray: ...
@overload
def sssp(
    graph: Any, source: int, *, parents: Literal[True], delta: float | None = ..., start: Any = ...
) -> SSSPResult: ...


def sssp(
    graph: Any, source: int, *, parents: bool = False, delta: float | None = None, start: Any = None
) -> np.ndarray | SSSPResult:
    """Length of a shortest path from `source` to every vertex.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the length of the edge i -> j; stored zeros are edges of length 0. A graph without values has
        edges of length 1. Negative lengths are allowed where no cycle that the source reaches is negative.
    source : int
        Where to start.
    parents : bool
        Also return a vertex before each one on a shortest path.
    delta : float, optional
        Width of a bucket of distances; by default the mean length over the mean degree, or on sparse graphs several
        times that.
    start : array or SSSPResult, optional
        What this returned, from the same source, for the graph that `graph` was made of by `Graph.changed` with edges
        added alone: the search goes on from there. For a shorter edge, add it beside the longer one.

    Returns
    -------
    distances : (n,) float
        Infinite where the source does not reach. float32 for float32 lengths, else float64.
    SSSPResult(distances, parents)
        With `parents=True`. The source is its own parent; -1 where it does not reach.

    Raises
    ------
    ValueError
        If the source is not a vertex, a length is NaN, `delta` is not positive, or a cycle is negative; if `start` is
        of another source or graph, as far as that shows, or edges were removed since.
    TypeError
        If `start` is something else than this returned.

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
    source = source_vertex(graph, source)
    graph.notice_values()
    is_negative = has_negative(graph)
    program = graph.kept(("sssp", is_negative), _any_order if is_negative else _near_first)
    if delta is not None and not delta > 0:
        raise ValueError(f"delta is {delta}; expected a positive length")
    given, known = start if isinstance(start, SSSPResult) else (start, None)
    active, begin = _beginning(graph, source, given)
    if not is_negative:
        distances = run(program, graph, active=active, distance=begin, delta=delta, wait=False, notice=False).distance
    else:
        result = run(program, graph, active=active, max_iterations=graph.n, distance=begin, notice=False)
        distances = result.state["distance"]
        if not result.converged:
            cycle = _negative_cycle(graph, source)
            raise ValueError(f"a cycle{cycle} has a negative length; shortest paths do not exist")
    if not parents:
        return distances
    if known is not None:
        known = known_before(graph, "start.parents", known, graph.id_dtype)
        known = array_module(known).where(distances == given, known, known.dtype.type(-1))  # they lead on as they did
    return SSSPResult(distances, _parents(graph, source, distances, known))


def _beginning(graph: Graph, source: int, before: Any) -> tuple[Any, Any]:
    """Who is active first, and the distances to start with."""
    if before is None:
        return [source], {source: 0}
    src, _ = new_edges(graph)
    before = known_before(graph, "start", before, float_type(graph))
    check_source("start", before, source)
    return array_module(src).unique(src), before


def _any_order(graph: Graph) -> VertexProgram:
    return AnyOrder.typed(**_types(graph))()


def _near_first(graph: Graph) -> VertexProgram:
    return NearFirst.typed(**_types(graph))()


def _types(graph: Graph) -> dict[str, np.dtype]:
    kind = float_type(graph)
    return {"distance": kind, "weight": kind if graph.values is None else graph.values.dtype}


def _parents(graph: Graph, source: int, distances: Any, known: Any = None) -> Any:
    """One tight edge into every reached vertex. Edges of no length could close a circle, so they come last."""
    xp: Any = array_module(distances)
    types = _types(graph)
    fields: dict[str, Any] = {"distance": distances, "parent": {source: source} if known is None else known}
    found = run(Tight.typed(**types), graph, max_iterations=1, direction="pull", **fields).parent
    missing = xp.isfinite(distances) & xp.less(found, 0)
    if not any_true(missing):
        return found
    fields["parent"] = found
    return run(TightLevels.typed(**types), graph, active=xp.flatnonzero(xp.greater_equal(found, 0)), **fields).parent


def _negative_cycle(graph: Graph, source: int) -> str:
    """Where a negative cycle is, once there have been as many rounds as vertices.

    Whoever improves in a round was improved by one who did in the round before: so the last to improve has as many
    ancestors as there were rounds, and they come round.
    """
    program = Improvers.typed(**_types(graph))
    result = run(program, graph, active=[source], max_iterations=graph.n, distance={source: 0})
    if not result.active:  # the improvements of another order of sums were rounding
        return ""
    vertex, parents = int(result.active.ids[0]), moved(result.parent, "cpu")
    parents = np.where(parents < 0, np.arange(graph.n), parents)
    for _ in range(graph.n.bit_length()):  # twice as far each time
        vertex, parents = parents[vertex], parents[parents]
    return f" through vertex {vertex}"
