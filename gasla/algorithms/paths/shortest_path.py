"""A shortest path between two vertices, with its length, its vertices and its edges.

The search visits only a part of the graph. Vertices wait in buckets of distance plus a lower bound of the remaining
distance to the target. The search ends when the lowest bucket exceeds the distance of the target (A*). Without a bound,
this is Dijkstra's algorithm with early exit. A vertex is updated only if its distance decreases.

Without a given bound there are two searches. The first, from the source, ends at the target, or when its frontier
exceeds the square root of the number of vertices. Its settled distances are exact, and every other distance is at least
that of the first waiting vertex. The second search uses these distances as lower bounds and runs A* backwards from the
target.

At last the path is traced along tight edges, whose length equals the difference of the distances of their ends. A
breadth-first search along tight edges forms no cycle, not even of edges of length 0.
"""

import math
from collections.abc import Hashable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

import semirings
from gasla.algorithms.paths.sssp import length_types, sssp
from gasla.arrays import module_of, moved
from gasla.graph.arguments import (
    NO_LIMIT,
    check_choice,
    check_flags,
    float_type,
    has_negative,
    real_number,
    vertex_numbers,
)
from gasla.graph.exchange.vertex_names import translate_vertex
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.weights import may_overflow, takes_weight
from gasla.operations.run import run
from gasla.program import ID, VertexProgram, aggregate, edge, option, parameter, vertex
from gasla.rows import Command, Row

Method = Literal["auto", "a*", "bidirectional", "dijkstra"]
SAMPLE = 4096  # number of edges that are sampled to estimate the mean length of an edge


class Search(VertexProgram):
    """distance(v) = the length of a shortest path from the start, until the goal's distance is final or many vertices
    change.

    Vertices are processed in buckets of distance plus `bound`, a lower bound of what remains to the goal. The run ends,
    because a vertex is activated only by a smaller distance, the length of one of finitely many simple paths.
    """

    real = option(np.float64)
    lengths = option(np.float64)
    direction = option("in")
    distance = vertex(real, init=np.inf, missing=np.inf)
    bound = vertex(real)
    weight = edge(lengths)
    goal = parameter(np.int64, -1)
    width = parameter(np.float64, 1)  # width of a bucket, in the unit of distances
    most = parameter(np.int64, NO_LIMIT)  # the run ends early if an iteration updates more vertices than this
    reduce = semirings.min
    sources = "active"

    def bucket(self, vertex):
        return semirings.cast((vertex.distance + vertex.bound) / self.width, np.int64)

    def edge_mask(self, src, dst, edge):
        return src.distance + edge.weight < dst.distance

    def gather(self, src, dst, edge):
        return src.distance + edge.weight

    def apply(self, vertex, gathered):
        return {"distance": gathered}

    @aggregate(semirings.plus, np.int64)
    def nearer(self, before, after):
        return semirings.cast(1, np.int64)

    @aggregate(semirings.min, np.float64)
    def least(self, before, after):
        return semirings.cast(after.distance + after.bound, np.float64)

    @aggregate(semirings.max, np.int64)
    def opened(self, before, after):
        return self.bucket

    def stop(self):
        waits = semirings.minimum(self.bucket * self.width, self.least)
        return (self.at(self.goal).distance <= waits) | (self.nearer > self.most)


class TightPath(VertexProgram):
    """following(v) = the next vertex after v on a shortest path to the target. by(v) = the id of the edge to that
    vertex.

    The edge is tight: its length is the difference of the distances of its ends. Distances are those to the target.
    With direction "out" they are those from the source, and the path is traced backwards. The run ends after at most n
    iterations, since each vertex is reached once. The path has no cycle, since each vertex follows one that was reached
    before.
    """

    real = option(np.float64)
    lengths = option(np.float64)
    direction = option("in")
    distance = vertex(real)
    following = vertex(ID, init=-1, missing=-1)
    by = vertex(np.int64, init=-1)
    weight = edge(lengths)
    goal = parameter(np.int64, -1)
    reduce = semirings.any
    sources = "active"

    def mask(self, vertex):
        return vertex.following < 0

    def edge_mask(self, src, dst, edge):
        return dst.distance + edge.weight == src.distance

    def gather(self, src, dst, edge):
        return src.id + 1, edge.id + 1  # plus 1, since `any` takes 0 for no value

    def apply(self, vertex, gathered):
        return {"following": gathered[0] - 1, "by": gathered[1] - 1}

    def stop(self):
        return self.at(self.goal).following >= 0


class PathResult(NamedTuple):
    """The length of a shortest path, the ids of its vertices, and the ids of its edges."""

    distance: float
    path: np.ndarray
    edges: np.ndarray


@takes_weight
def shortest_path(
    graph: Any,
    source: Hashable,
    target: Hashable,
    *,
    bound: Any = None,
    check_bound: bool = False,
    method: Method = "auto",
    delta: float | None = None,
) -> PathResult:
    """Find a shortest path from one vertex to another.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the length of the edge i -> j, 0 or more. A graph without values has edges of length 1.
    source, target : int or name
        The ends of the path.
    bound : (n,) array of float, or function, optional
        A lower bound of the distance from each vertex to the target, such as the straight-line distance: finite, 0 or
        more, and 0 at the target. A function is called once, as `bound(ids, target)` with an array of all ids. If the
        bound is too high at some vertex, the result may not be a shortest path.
    check_bound : bool
        Whether to check first that along each edge the bound decreases by at most the edge's length. It is then a valid
        lower bound everywhere.
    method : "auto", "a*", "bidirectional" or "dijkstra"
        "a*" uses `bound`; "bidirectional" searches from both ends; "dijkstra" only from the source. By default "a*" if
        there is a bound, else "bidirectional".
    delta : float, optional
        Width of a distance bucket; by default mean length over mean degree, and several times that on sparse graphs.

    Returns
    -------
    PathResult(distance, path, edges)
        The length of the path; (k,) ids of its vertices in order, from source to target; and (k - 1,) int64 ids of the
        edges between them, which index the graph's values. inf and empty arrays if the target is unreachable. Arrays
        are on the device of the graph.

    Raises
    ------
    ValueError
        If source or target is not a vertex, a length is negative or NaN, `delta` is not positive, the method needs a
        bound or excludes it, the bound is negative, infinite or not 0 at the target, or, with `check_bound`, too high.

    See Also
    --------
    gasla.sssp : distances to all vertices; allows negative lengths.

    Notes
    -----
    Stored zeros are edges of length 0. Of parallel edges the shortest counts. Lengths are summed in float32 if they are
    float32, else in float64; the path is shortest up to the rounding of these sums.

    References
    ----------
    P. Hart, N. Nilsson, B. Raphael: A Formal Basis for the Heuristic Determination of Minimum Cost Paths. IEEE
    Transactions on Systems Science and Cybernetics 4 (1968).

    I. Pohl: Bi-directional Search. Machine Intelligence 6 (1971).

    Examples
    --------
    >>> import gasla, numpy as np
    >>> graph = gasla.Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3], [1.0, 5.0, 2.0, 1.0])
    >>> distance, path, edges = gasla.shortest_path(graph, 0, 3)
    >>> distance, path, edges
    (3.0, array([0, 1, 3], dtype=int32), array([0, 2]))
    >>> gasla.shortest_path(graph, 0, 3, bound=[2, 2, 1, 0], check_bound=True).distance
    3.0
    """
    graph = whole_graph(graph)
    source, target = translate_vertex(graph, source), translate_vertex(graph, target, "target")
    check_choice("method", method, get_args(Method))
    check_flags(check_bound=check_bound)
    if (method == "a*" and bound is None) or (method in ("bidirectional", "dijkstra") and bound is not None):
        remedy = "give one" if bound is None else "leave it out, or choose 'a*'"
        raise ValueError(f"method {method!r} was asked for {'without' if bound is None else 'with'} a bound; {remedy}")
    if check_bound and bound is None:
        raise ValueError("check_bound was asked for without a bound; give one")
    delta = None if delta is None else real_number("delta", delta, above=True)
    graph.notice_values()
    if has_negative(graph):
        assert graph.value_type is not None
        e = int(graph.values.argmin())
        raise ValueError(f"edge {e} has the length {graph.values[e].item()}; expected 0 or more, or call gasla.sssp")
    if bound is not None:
        bound = _lower_bound(graph, bound, target)
        if check_bound:
            _check_bound(graph, bound)
    width = delta or graph.kept("width of buckets", _bucket_width)
    if source == target:
        return _result(graph, [source], [])
    path = None
    if bound is not None:
        path = _search_from_source(graph, source, target, width, bound)
    elif method != "dijkstra":
        path = _search_both_ways(graph, source, target, width)
    # Rounding may make some of the caller's lower bounds (`bound`) slightly too high. Then the search may end with
    # distances by which no path from source to target can be traced. A search without lower bounds finds the path.
    path = path or _search_from_source(graph, source, target, width, None)
    if path is None and may_overflow(graph, float_type(graph)):
        sssp(graph, source)  # raises ValueError if a sum of lengths overflows
    return path or PathResult(np.inf, *_ids(graph, [], []))


def _search_from_source(graph: Graph, source: int, target: int, width: float, lower_bounds: Any) -> PathResult | None:
    result = _search("in", graph, source, target, width, {} if lower_bounds is None else {"bound": lower_bounds})
    return _trace_path("out", graph, result.distance, source, target)


def _search_both_ways(graph: Graph, source: int, target: int, width: float) -> PathResult | None:
    frontier_limit = math.isqrt(graph.n)
    first_result = _search("in", graph, source, target, width, {}, most=frontier_limit)
    if not int(first_result.nearer) > frontier_limit:
        return _trace_path("out", graph, first_result.distance, source, target)
    # a lower bound of all distances from the source that may still decrease
    waits = min(float(first_result.least), (int(first_result.opened) + 1) * width)
    settled = first_result.distance.clip(max=first_result.distance.dtype.type(waits))
    second = _search("out", graph, target, source, width, {"bound": settled})
    return _trace_path("in", graph, second.distance, source, target)


def _search(
    direction: str,
    graph: Graph,
    start: int,
    goal: int,
    width: float,
    bound_fields: dict[str, Any],
    most: int = NO_LIMIT,
) -> Any:
    program = Search(**length_types(graph, float_type(graph)), direction=direction, goal=goal, width=width, most=most)
    return run(program, graph, active=[start], distance={start: 0}, notice=False, **bound_fields)


def _trace_path(direction: str, graph: Graph, distance: Any, source: int, target: int) -> PathResult | None:
    """Return the path of tight edges from source to target, or None if there is no such path.

    An edge is tight if its length is the difference of the distances of its ends. `distance` has distances to the
    target, or from the source if direction is "out".
    """
    start, goal = (target, source) if direction == "out" else (source, target)
    if not float(distance[start]) < np.inf:
        return None
    program = TightPath(**length_types(graph, float_type(graph)), direction=direction, goal=goal)
    result = run(program, graph, active=[start], distance=distance, notice=False)
    following, by = moved(result.following, "cpu"), moved(result.by, "cpu")
    path, edges = [goal], []
    while path[-1] != start:
        if following[path[-1]] < 0:
            return None
        edges.append(int(by[path[-1]]))
        path.append(int(following[path[-1]]))
    return _result(graph, path, edges) if direction == "out" else _result(graph, path[::-1], edges[::-1])


def _result(graph: Graph, path: list[int], edges: list[int]) -> PathResult:
    numbers = _ids(graph, path, edges)
    values: Any = graph.valued.each
    lengths = np.ones(len(edges)) if values is None else moved(values[numbers[1]], "cpu")
    return PathResult(float(lengths.cumsum(dtype=float_type(graph))[-1]) if edges else 0.0, *numbers)


def _ids(graph: Graph, path: list[int], edges: list[int]) -> tuple[Any, Any]:
    xp = module_of(graph.device)
    return xp.asarray(path, dtype=graph.id_dtype), xp.asarray(edges, dtype=np.int64)


def _bucket_width(graph: Graph) -> float:
    """Return the width of the buckets of distances in which a search for a shortest path processes vertices.

    It is the mean length over the mean degree, and several times that on sparse graphs, where a wider bucket avoids
    iterations with few vertices.
    """
    values = graph.valued.each
    sampled_lengths = None if values is None or graph.m == 0 else values[:: max(1, graph.m // SAMPLE)]
    # lengths are divided before they are summed, so that the sum can't overflow
    mean = 1.0 if sampled_lengths is None else float((sampled_lengths / len(sampled_lengths)).sum(dtype=np.float64))
    degree = max(graph.m, 1) / graph.n
    width = max(1.0, 24.0 / degree) * mean / degree
    return width if 0 < width < np.inf else 1.0


def _lower_bound(graph: Graph, bound_argument: Any, target: int) -> Any:
    """Check a user's lower bound of distances to the target, and return it as an array of the dtype of distances."""
    if callable(bound_argument):
        bound_argument = bound_argument(module_of(graph.device).arange(graph.n, dtype=graph.id_dtype), target)
    lower_bounds = vertex_numbers(graph, "bound", bound_argument, least=0)
    if lower_bounds[target] != 0:
        raise ValueError(
            f"bound of the target {target} is {lower_bounds[target].item()}; expected 0, its distance to itself"
        )
    return lower_bounds.astype(float_type(graph), copy=False)


def _check_bound(graph: Graph, bound: Any) -> None:
    """Raise ValueError if a bound of distances is not consistent: if it decreases along an edge by more than its
    length.

    Differences due to rounding are allowed.
    """
    src, dst, numbers = graph.out.owners(), graph.out.indices, graph.out.numbers()
    lengths = graph.valued.by_out
    length = 1.0 if lengths is None else lengths.astype(np.float64)
    bound_before, bound_after = bound[src].astype(np.float64), bound[dst].astype(np.float64)
    broken = bound_before - (length + bound_after) > 4 * np.finfo(bound.dtype).eps * bound_before
    if not bool(broken.any()):
        return
    e = int(numbers[broken].min())
    edge_position = int((numbers == e).argmax())
    u, v, w = (
        int(src[edge_position]),
        int(dst[edge_position]),
        1 if graph.values is None else graph.values[e].item(),
    )
    raise ValueError(
        f"bound of vertex {u} is {bound[u].item()}, but edge {e} of length {w} leads from there to vertex {v}, whose "
        f"bound is {bound[v].item()}; expected at most {w + bound[v].item()}"
    )


ROW = Row(
    shortest_path,
    Command(
        *("shortest-path", {"path": "on_path"}),
        lambda f: (
            f"a shortest path from {f.ends} has {len(f['path']):,} vertices; its length is {f['distance']:,.6g}:"
            if len(f["path"])
            else f"no path leads from {f.ends}"
        ),
        lambda f: f.listed(f["path"], f.along_path(), more="more"),
        "ids",
        fixed={"check_bound": False},
    ),
    method="searches from both ends, or A* with landmarks (Goldberg, Harrelson, SODA 2005)",
    longer="A search from one end, then one from the other by buckets, with a barrier for each bucket.",
)
