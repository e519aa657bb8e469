"""A shortest path from one vertex to another: its length, its vertices and its edges.

A search need not go all over the graph to find one. Vertices wait in buckets by how long a path through them must be
at least: their distance, and a lower bound of what remains. Once no vertex is left below the target's own distance,
that is settled (A*; without a bound, Dijkstra's algorithm with an end). A vertex is heard only where it comes nearer.

With nothing known of the graph there are two searches. The first ends at the target, or as soon as it has become as
wide as the square root of the number of vertices. The vertices that it has settled are as far as it says, and all
others at least as far as the first that waits. These are lower bounds, with which the second search comes back from the
target by A*, straight on once it meets the first.

Last, edges that are tight lead back: those whose length is just the difference of distances. A breadth-first search
along them goes round no circle, even of edges of length 0.

P. Hart, N. Nilsson, B. Raphael: A Formal Basis for the Heuristic Determination of Minimum Cost Paths. IEEE Transactions
on Systems Science and Cybernetics 4 (1968). I. Pohl: Bi-directional Search. Machine Intelligence 6 (1971).
"""

import math
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

import semirings
from gasla.algorithms.paths.sssp import sssp
from gasla.arrays import module_of, moved
from gasla.graph.arguments import (
    NO_LIMIT,
    check_choice,
    check_flags,
    float_type,
    has_negative,
    real_number,
    source_vertex,
    vertex_numbers,
)
from gasla.graph.graph import Graph, as_graph
from gasla.graph.weights import may_overflow
from gasla.operations.run import run
from gasla.program.fields import ID, aggregate, edge, parameter, vertex
from gasla.program.options import option
from gasla.program.program import VertexProgram

Method = Literal["auto", "a*", "bidirectional", "dijkstra"]
SAMPLE = 4096  # lengths of edges of which the mean is taken


class Search(VertexProgram):
    """distance(v) from where it starts, in buckets of distance + bound, until the goal's is settled or it is wide.

    Ends: a vertex is active again only nearer, and its distances are sums along finitely many simple paths.
    """

    real = option(np.float64)
    lengths = option(np.float64)
    direction = option("in")
    distance = vertex(real, init=np.inf, missing=np.inf)
    bound = vertex(real)
    weight = edge(lengths)
    goal = parameter(np.int64, -1)
    width = parameter(np.float64, 1)  # of a bucket
    most = parameter(np.int64, NO_LIMIT)  # vertices that come nearer in one iteration
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


class Way(VertexProgram):
    """following(v) = the vertex before v on a tight edge, by = that edge.

    Distances are those to the target; or, with direction "out", from the source, and the way leads back against the
    edges. Ends after n iterations, as each vertex receives once; and the way closes no circle, as each vertex follows
    one that has been found before.
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
        return src.id + 1, edge.id + 1  # `any` passes over zero

    def apply(self, vertex, gathered):
        return {"following": gathered[0] - 1, "by": gathered[1] - 1}

    def stop(self):
        return self.at(self.goal).following >= 0


class PathResult(NamedTuple):
    """A shortest path."""

    distance: float
    path: np.ndarray
    edges: np.ndarray


def shortest_path(
    graph: Any,
    source: int,
    target: int,
    *,
    bound: Any = None,
    check_bound: bool = False,
    method: Method = "auto",
    delta: float | None = None,
) -> PathResult:
    """Find a shortest path from `source` to `target`.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the length of the edge i -> j, 0 or more; stored zeros are edges of length 0. A graph without
        values has edges of length 1.
    source, target : int
        Where the path begins, and where it ends.
    bound : (n,) array of float, or function, optional
        For each vertex a lower bound of its distance to the target, such as the length of a straight line: finite, 0
        or more, and 0 at the target. A function is called once, as `bound(ids, target)` with the array of all ids.
        With a bound that is too high at some vertex, the path may be too long.
    check_bound : bool
        Look first at each edge whether the bound is within the edge's length of that at its other end; then it is
        nowhere too high.
    method : "auto", "a*", "bidirectional" or "dijkstra"
        "a*" is the search with a bound; "bidirectional" searches from both ends; "dijkstra" from the source alone.
        By default "a*" if there is a bound, else "bidirectional".
    delta : float, optional
        Width of a bucket of distances; by default the mean length over the mean degree, or on sparse graphs several
        times that.

    Returns
    -------
    PathResult(distance, path, edges)
        The length; (k,) ids of the vertices in order, source and target included; and the (k - 1,) numbers of the
        edges between them, places in the graph's values. Infinite, and empty arrays, if the target is not reached.
        Arrays of the graph's device.

    Raises
    ------
    ValueError
        If source or target is not a vertex, a length is negative or NaN, `delta` is not positive, the bound is missing,
        negative, infinite or not 0 at the target, or, if that is looked for, higher than an edge allows.

    See Also
    --------
    gasla.sssp : distances to all vertices; negative lengths.

    Notes
    -----
    Lengths are added up in float32 if they are float32, else in float64. A path is a shortest one up to the rounding of
    such sums.

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
    graph = as_graph(graph)
    source, target = source_vertex(graph, source), source_vertex(graph, target, "target")
    check_choice("method", method, get_args(Method))
    check_flags(check_bound=check_bound)
    if (method == "a*" and bound is None) or (method in ("bidirectional", "dijkstra") and bound is not None):
        wanted = "give one" if bound is None else "leave it out, or choose 'a*'"
        raise ValueError(f"method {method!r} was asked for {'without' if bound is None else 'with'} a bound; {wanted}")
    if check_bound and bound is None:
        raise ValueError("check_bound was asked for without a bound; give one")
    delta = None if delta is None else real_number("delta", delta, above=True)
    graph.notice_values()
    if has_negative(graph):
        assert graph.values is not None
        e = int(graph.values.argmin())
        raise ValueError(f"edge {e} has the length {graph.values[e].item()}; expected 0 or more, or call gasla.sssp")
    if bound is not None:
        bound = _lower_bound(graph, bound, target)
        if check_bound:
            _check_bound(graph, bound)
    width = delta or graph.kept("width of buckets", _width)
    if source == target:
        return _result(graph, [source], [])
    found = None
    if bound is not None:
        found = _one_way(graph, source, target, width, bound)
    elif method != "dijkstra":
        found = _two_ways(graph, source, target, width)
    # Bounds that are too high by rounding may leave a distance that nothing attains any more: then without.
    found = found or _one_way(graph, source, target, width, None)
    if found is None and may_overflow(graph, float_type(graph)):
        sssp(graph, source)  # which refuses lengths that overflow
    return found or PathResult(np.inf, *_ids(graph, [], []))


def _one_way(graph: Graph, source: int, target: int, width: float, bound: Any) -> PathResult | None:
    found = _search("in", graph, source, target, width, {} if bound is None else {"bound": bound})
    return _path("out", graph, found.distance, source, target)


def _two_ways(graph: Graph, source: int, target: int, width: float) -> PathResult | None:
    most = math.isqrt(graph.n)
    first = _search("in", graph, source, target, width, {}, most=most)
    if not int(first.nearer) > most:
        return _path("out", graph, first.distance, source, target)
    waits = min(float(first.least), (int(first.opened) + 1) * width)  # no other vertex is nearer than that
    settled = first.distance.clip(max=first.distance.dtype.type(waits))
    second = _search("out", graph, target, source, width, {"bound": settled})
    return _path("in", graph, second.distance, source, target)


def _search(
    direction: str, graph: Graph, start: int, goal: int, width: float, bound: dict[str, Any], most: int = NO_LIMIT
) -> Any:
    program = Search(**_types(graph), direction=direction, goal=goal, width=width, most=most)
    return run(program, graph, active=[start], distance={start: 0}, notice=False, **bound)


def _path(direction: str, graph: Graph, distance: Any, source: int, target: int) -> PathResult | None:
    """The path by distances to the target, or with direction "out" from the source; None if there is none."""
    start, goal = (target, source) if direction == "out" else (source, target)
    if not float(distance[start]) < np.inf:
        return None
    program = Way(**_types(graph), direction=direction, goal=goal)
    found = run(program, graph, active=[start], distance=distance, notice=False)
    following, by = moved(found.following, "cpu"), moved(found.by, "cpu")
    path, edges = [goal], []
    while path[-1] != start:
        if following[path[-1]] < 0:
            return None
        edges.append(int(by[path[-1]]))
        path.append(int(following[path[-1]]))
    return _result(graph, path, edges) if direction == "out" else _result(graph, path[::-1], edges[::-1])


def _result(graph: Graph, path: list[int], edges: list[int]) -> PathResult:
    numbers = _ids(graph, path, edges)
    lengths = np.ones(len(edges)) if graph.values is None else moved(graph.values[numbers[1]], "cpu")
    return PathResult(float(lengths.cumsum(dtype=float_type(graph))[-1]) if edges else 0.0, *numbers)


def _ids(graph: Graph, path: list[int], edges: list[int]) -> tuple[Any, Any]:
    xp = module_of(graph.device)
    return xp.asarray(path, dtype=graph.id_dtype), xp.asarray(edges, dtype=np.int64)


def _types(graph: Graph) -> dict[str, Any]:
    kind = float_type(graph)
    return {"real": kind, "lengths": kind if graph.values is None else graph.values.dtype}


def _width(graph: Graph) -> float:
    """The mean length over the mean degree; several times that where few edges meet, and iterations would be thin."""
    some = None if graph.values is None or graph.m == 0 else graph.values[:: max(1, graph.m // SAMPLE)]
    mean = 1.0 if some is None else float((some / len(some)).sum(dtype=np.float64))  # whose sum doesn't overflow
    degree = max(graph.m, 1) / graph.n
    width = max(1.0, 24.0 / degree) * mean / degree
    return width if 0 < width < np.inf else 1.0


def _lower_bound(graph: Graph, given: Any, target: int) -> Any:
    """The bound as an array of what distances are."""
    if callable(given):
        given = given(module_of(graph.device).arange(graph.n, dtype=graph.id_dtype), target)
    bound = vertex_numbers(graph, "bound", given, least=0)
    if bound[target] != 0:
        raise ValueError(f"bound of the target {target} is {bound[target].item()}; expected 0, its distance to itself")
    return bound.astype(float_type(graph), copy=False)


def _check_bound(graph: Graph, bound: Any) -> None:
    """Refuse a bound that falls along an edge by more than its length, but for rounding."""
    src, dst, numbers = graph.out.owners(), graph.out.indices, graph.out.numbers()
    length = 1.0 if graph.out_values is None else graph.out_values.astype(np.float64)
    before, after = bound[src].astype(np.float64), bound[dst].astype(np.float64)
    broken = before - (length + after) > 4 * np.finfo(bound.dtype).eps * before
    if not bool(broken.any()):
        return
    e = int(numbers[broken].min())
    place = int((numbers == e).argmax())
    u, v, w = int(src[place]), int(dst[place]), 1 if graph.values is None else graph.values[e].item()
    raise ValueError(
        f"bound of vertex {u} is {bound[u].item()}, but edge {e} of length {w} leads from there to vertex {v}, whose "
        f"bound is {bound[v].item()}; expected at most {w + bound[v].item()}"
    )
