"""Verifiers of graphs that are derived from graphs, such as condensations, ego graphs, complements and line graphs."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import semirings
from gasla.arrays import moved
from gasla.graph.graph import Graph, as_graph
from gasla.verify._common import Array, Edges, VerificationError, check_source, edges_by_id, edges_of, require, verifier
from gasla.verify.partitions import strong_components

# relative tolerance of the radius of an ego graph, because float32 distances are compared with the radius
SLACK = 1e-6
COMBINES = {  # for each monoid by which the values of edges are combined: NumPy's function, and the identity element
    semirings.plus: (np.add, 0.0),
    semirings.min: (np.minimum, np.inf),
    semirings.max: (np.maximum, -np.inf),
}


@verifier()
def condensation(
    graph: Any, condensed: Graph, labels: ArrayLike | None = None, *, combine: semirings.Monoid = semirings.plus
) -> None:
    """Verify `condensed` of `gasla.condensation`.

    The condensation has a vertex for each strong component, and an edge wherever an edge joins two components. The
    value of the edge is the combined value of these edges, up to rounding.

    Examples
    --------
    >>> import gasla
    >>> ring = gasla.Graph.from_edges([0, 1, 2, 1, 2], [1, 2, 0, 3, 3])
    >>> condensation(ring, gasla.condensation(ring))
    >>> condensation(ring, ring.contract([0, 0, 0, 1]))
    Traceback (most recent call last):
    gasla.verify.VerificationError: edge 0 → 0 of the condensation is superfluous, or a duplicate
    """
    edges, answer = edges_of(graph), edges_of(condensed)
    new_vertex = _new_vertices(condensed, edges.n)
    strong_components(graph, new_vertex, condensed.n)
    if labels is not None:
        require(
            np.asarray(labels) == new_vertex, lambda v: f"vertex {v} became vertex {new_vertex[v]}; expected its label"
        )
    joins_components = new_vertex[edges.src] != new_vertex[edges.dst]
    pairs, pair_index = np.unique(
        new_vertex[edges.src[joins_components]] * answer.n + new_vertex[edges.dst[joins_components]],
        return_inverse=True,
    )
    pair_of_edge = answer.src.astype(np.int64) * answer.n + answer.dst
    order = np.argsort(pair_of_edge, kind="stable")
    is_expected = np.isin(pair_of_edge, pairs)
    is_expected[order[1:]] &= pair_of_edge[order[1:]] != pair_of_edge[order[:-1]]
    require(
        is_expected,
        lambda e: f"edge {answer.src[e]} → {answer.dst[e]} of the condensation is superfluous, or a duplicate",
    )
    missing = ~np.isin(pairs, pair_of_edge)
    require(~missing, lambda p: f"edge {pairs[p] // answer.n} → {pairs[p] % answer.n} is missing from the condensation")
    if condensed.values is None and combine is semirings.plus:
        raise VerificationError("the condensation has no values; expected sums, or counts of edges")
    if condensed.values is not None:
        dtype = condensed.values.dtype
        values = answer.weight[order].astype(dtype if dtype.kind == "f" else np.float64)
        is_or = dtype.kind == "b" and combine is semirings.plus  # the sum of bools is "or", which equals their maximum
        _check_values(
            edges.weight[joins_components], pair_index, values, pairs, answer.n, semirings.max if is_or else combine
        )


@verifier()
def complement(graph: Any, made: Graph) -> None:
    """Verify `made` of `gasla.complement`: each pair of different vertices is an edge of either the graph or the
    complement, once.

    Examples
    --------
    >>> from gasla import Graph
    >>> path = Graph.from_edges([0, 1], [1, 2])
    >>> complement(path, Graph.from_edges([0, 1, 2, 2], [2, 0, 0, 1]))
    >>> complement(path, path)
    Traceback (most recent call last):
    gasla.verify.VerificationError: edge 0 → 1 of the complement is an edge of the graph
    """
    edges, answer = edges_of(graph), edges_of(made)
    _require_plain("complement", made, edges.n)
    pairs, pairs_of_graph = (each.src.astype(np.int64) * each.n + each.dst for each in (answer, edges))
    require(
        ~np.isin(pairs, pairs_of_graph),
        lambda e: f"edge {answer.src[e]} → {answer.dst[e]} of the complement is an edge of the graph",
    )
    _require_distinct("complement", answer)
    require(answer.src != answer.dst, lambda e: f"vertex {answer.src[e]} of the complement has a self loop")
    expected = edges.n * (edges.n - 1) - len(np.unique(pairs_of_graph[edges.src != edges.dst]))
    if answer.dst.size != expected:
        raise VerificationError(f"the complement has {answer.dst.size} edges; expected {expected}")


@verifier()
def line_graph(graph: Any, made: Graph, *, undirected: bool = False) -> None:
    """Verify `made` of `gasla.line_graph`: its edges join edges that meet, and are as many as paths of two edges.

    Examples
    --------
    >>> from gasla import Graph
    >>> path, edge = Graph.from_edges([0, 1], [1, 2]), {"edge": np.arange(2)}
    >>> line_graph(path, Graph.from_edges([0], [1]).with_vertex_attributes(edge))
    >>> line_graph(path, Graph.from_edges([1], [0]).with_vertex_attributes(edge))
    Traceback (most recent call last):
    gasla.verify.VerificationError: edge 1 → 0 of the line graph joins edges that do not meet
    """
    (src, dst, _), n, answer = edges_by_id(graph), as_graph(graph).n, edges_of(made)
    edge_src, edge_dst = (np.minimum(src, dst), np.maximum(src, dst)) if undirected else (src, dst)
    edges = np.arange(len(src))
    if undirected:
        edges = np.sort(np.unique(edge_src.astype(np.int64) * n + edge_dst, return_index=True)[1])
    _require_plain("line graph", made, len(edges))
    edge_of_vertex = np.asarray(moved(as_graph(made).vertex_attributes["edge"], "cpu"))
    require(edge_of_vertex == edges, lambda v: f"vertex {v} is edge {edge_of_vertex[v]}; expected {edges[v]}")
    edge_src, edge_dst = edge_src[edges], edge_dst[edges]
    first_edge, second_edge = answer.src, answer.dst
    meet = edge_dst[first_edge] == edge_src[second_edge]
    if undirected:
        meet = (
            meet
            | (edge_src[first_edge] == edge_src[second_edge])
            | (edge_src[first_edge] == edge_dst[second_edge])
            | (edge_dst[first_edge] == edge_dst[second_edge])
        ) & (first_edge != second_edge)
    require(meet, lambda e: f"edge {first_edge[e]} → {second_edge[e]} of the line graph joins edges that do not meet")
    _require_distinct("line graph", answer)
    out_degree, in_degree = np.bincount(edge_src, minlength=n), np.bincount(edge_dst, minlength=n)
    incident = out_degree + np.bincount(edge_dst[edge_src != edge_dst], minlength=n)
    expected = int((incident * (incident - 1) if undirected else out_degree * in_degree).sum())
    if answer.dst.size != expected:
        raise VerificationError(f"the line graph has {answer.dst.size} edges; expected {expected}")


def _require_plain(what: str, made: Graph, n: int) -> None:
    """Verify that the graph `made` has `n` vertices and no edge values."""
    if made.n != n or made.values is not None:
        raise VerificationError(f"the {what} has {made.n} vertices, or values; expected {n}, and no values")


def _require_distinct(what: str, edges: Edges) -> None:
    """Verify that a graph has no parallel edges. `what` is what the error message calls the graph."""
    is_first = np.zeros(edges.dst.size, bool)
    is_first[np.unique(edges.src.astype(np.int64) * edges.n + edges.dst, return_index=True)[1]] = True
    require(is_first, lambda e: f"edge {edges.src[e]} → {edges.dst[e]} of the {what} is there twice")


def _check_values(weight: Array, place: Array, values: Array, pairs: Array, n: int, combine: semirings.Monoid) -> None:
    """Verify that each edge of a condensation has the combined weight of the edges that it stands for.

    `pairs` has a number for each edge of the condensation (source * n + destination). Edge i of the original graph
    has the weight `weight[i]` and became the edge at index `place[i]` of `pairs`, whose value is in `values`.
    """
    if combine not in COMBINES:
        raise ValueError(f"combine is {combine!r}; expected semirings.plus, min or max")
    add, start = COMBINES[combine]
    expected, size = np.full(len(pairs), start), np.zeros(len(pairs))
    add.at(expected, place, weight)
    np.add.at(size, place, np.abs(weight))
    # a sum that is finite in float64 may be infinite in float32, and then the answer is infinite, too
    expected = expected.astype(values.dtype)
    require(
        _equal_or_nan(values, expected) | (np.abs(values - expected) <= 1e-5 * size),
        lambda p: (
            f"edge {pairs[p] // n} → {pairs[p] % n} of the condensation has the value {values[p]}, not {expected[p]}"
        ),
    )


@verifier("numbers")
def ego_graph(
    graph: Any,
    source: Any,
    ego: Graph,
    radius: float = 1,
    *,
    center: bool = True,
    undirected: bool = False,
    weighted: bool = False,
) -> None:
    """Verify `ego` of `gasla.ego_graph`: its vertices are those whose distance, by SciPy, is at most the radius, with
    all edges between them.

    Examples
    --------
    >>> import gasla
    >>> path = gasla.Graph.from_edges([0, 1, 2], [1, 2, 3])
    >>> ego_graph(path, 0, gasla.ego_graph(path, 0))
    >>> ego_graph(path, 0, gasla.ego_graph(path, 0, 2))
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 2 is in the ego graph, but at distance 2.0 from 0
    """
    every = edges_of(graph)
    source = check_source(source, every.n)
    distance = _distances(every, source, undirected, weighted)
    inside = _new_vertices(ego, every.n) >= 0
    reached = np.isfinite(distance)
    if not center:
        reached[source] = False
        require(~inside[[source]], lambda _: f"vertex {source} is in the ego graph, but center=False")
    slack = SLACK * radius if weighted and np.isfinite(radius) else 0.0
    require(
        ~inside | (reached & (distance <= radius + slack)),
        lambda v: f"vertex {v} is in the ego graph, but at distance {distance[v]} from {source}",
    )
    require(
        inside | ~(reached & (distance <= radius - slack)),
        lambda v: f"vertex {v} is missing from the ego graph, at distance {distance[v]} from {source}",
    )
    _require_induced(as_graph(graph), ego, inside)


def _require_induced(graph: Graph, part: Graph, inside: Array) -> None:
    """Verify that the graph `part` is the subgraph of `graph` that the vertices marked in `inside` induce.

    Vertices and edges must be in the same order as in `graph`.
    """
    new_id = np.where(inside, np.cumsum(inside) - 1, -1)
    answer_id = _new_vertices(part, graph.n)
    require(
        answer_id == new_id,
        lambda v: f"vertices are not in the order of their ids: vertex {v} became {answer_id[v]}; expected {new_id[v]}",
    )
    if part.n != inside.sum():
        raise VerificationError(f"there are {part.n} vertices; expected {inside.sum()}")
    (src, dst, weight), answer = edges_by_id(graph), edges_by_id(part)
    inner = np.flatnonzero(inside[src] & inside[dst])
    numbers = np.asarray(moved(part.origin.edges, "cpu")) if part.origin is not None else inner
    if not np.array_equal(numbers, inner):
        raise VerificationError(f"there are {len(numbers)} edges; expected the {len(inner)} edges between the vertices")
    _require_attribute("source", answer[0], new_id[src[inner]])
    _require_attribute("end", answer[1], new_id[dst[inner]])
    _require_attribute("value", answer[2], weight[inner])


def _require_attribute(what: str, given: Array, right: Array) -> None:
    """Verify that an edge attribute has the right value for each edge. `what` is what error messages call the
    attribute.
    """
    require(_equal_or_nan(given, right), lambda e: f"edge {e} has the {what} {given[e]}, not {right[e]}")


def _equal_or_nan(given: Array, right: Array) -> Array:
    """Return for each index whether two numbers are equal, or both NaN."""
    return np.asarray((given == right) | (np.isnan(given) & np.isnan(right)))


def _new_vertices(part: Graph, n: int) -> Array:
    """Return for each vertex of the original graph its id in `part`, or -1 if it is not in `part`."""
    if part.origin is None:
        raise VerificationError("the graph has no origin; expected the result of a transformation")
    new = np.asarray(moved(part.origin.new_vertices, "cpu")).astype(np.int64)
    if new.shape != (n,):
        raise VerificationError(f"the origin has {len(new)} vertices; expected {n}")
    return new


def _distances(edges: Edges, source: int, undirected: bool, weighted: bool) -> Array:
    """Return the distance of each vertex from the source by SciPy, along weights that may be negative."""
    from scipy.sparse.csgraph import NegativeCycleError, shortest_path

    src, dst, weight = edges.src, edges.dst, edges.weight if weighted else np.ones(edges.dst.size)
    if undirected:
        src, dst, weight = np.r_[src, dst], np.r_[dst, src], np.r_[weight, weight]
    search: Any = shortest_path
    try:
        lengths, method = (
            edges._replace(src=src, dst=dst, weight=weight).lightest(),
            "BF" if (weight < 0).any() else "D",
        )
        distances: Array = search(lengths, method=method, indices=source)
    except NegativeCycleError:
        raise VerificationError("a cycle has a negative length; expected an error instead of a graph") from None
    return distances
