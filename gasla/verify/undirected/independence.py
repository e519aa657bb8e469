"""Verifiers of independent sets, colorings and matchings."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.graph.graph import as_graph
from gasla.verify._common import (
    Array,
    Edges,
    VerificationError,
    edge_name,
    edges_of,
    reachable,
    require,
    two_sides,
    verifier,
    vertex_answer,
)


@verifier()
def maximal_independent_set(graph: Any, members: ArrayLike, nodes: Iterable[Any] | None = None) -> None:
    """Verify `members` of `gasla.maximal_independent_set`: no edge joins two members, and every other vertex has a
    member as neighbor.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> maximal_independent_set(path, [True, False, True])
    >>> maximal_independent_set(path, [True, False, False])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 2 is not a member, nor is any of its neighbors
    """
    edges = _without_self_loops(edges_of(graph))
    is_member = vertex_answer("members", members, edges.n, "b")
    for v in () if nodes is None else nodes:
        if not is_member[v]:
            raise VerificationError(f"vertex {v} must be a member, but is not")
    joins_members = is_member[edges.src] & is_member[edges.dst]
    require(~joins_members, lambda e: f"{edge_name(edges, e)} joins two members")
    beside = _has_neighbor_inside(edges, is_member)
    require(is_member | beside, lambda v: f"vertex {v} is not a member, nor is any of its neighbors")


@verifier()
def greedy_color(graph: Any, colors: ArrayLike) -> None:
    """Verify `colors` of `gasla.greedy_color`: neighbors have different colors, and no vertex could have a lower color.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> greedy_color(path, [0, 1, 0])
    >>> greedy_color(path, [0, 1, 2])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 2 has color 2, but no neighbor of color 0
    """
    edges = _without_self_loops(edges_of(graph))
    color = vertex_answer("colors", colors, edges.n, "iu").astype(np.int64)
    require(color >= 0, lambda v: f"vertex {v} has color {color[v]}; expected 0 or more")
    same = color[edges.src] == color[edges.dst]
    require(~same, lambda e: f"{edge_name(edges, e)} joins two vertices of color {color[edges.src[e]]}")
    ends, neighbor_color = np.concatenate([edges.src, edges.dst]), color[np.concatenate([edges.dst, edges.src])]
    lower = neighbor_color < color[ends]
    # unique sorts the pairs of a vertex and a neighbor's color, so that the colors around each vertex are together
    pairs = np.unique(np.stack([ends[lower].astype(np.int64), neighbor_color[lower]]), axis=1)
    lacks = np.bincount(pairs[0], minlength=edges.n) < color
    require(
        ~lacks,
        lambda v: f"vertex {v} has color {color[v]}, but no neighbor of color {_smallest_free_color(pairs, v)}",
    )
    _, is_odd, _ = two_sides(edges)
    require(is_odd | (color < 2), lambda v: f"vertex {v} has color {color[v]}, but its component is bipartite")


def _smallest_free_color(pairs: Array, v: int) -> int:
    """Return the smallest color that no neighbor of the vertex `v` has.

    `pairs` is two rows, with a vertex and the color of one of its neighbors in each column.
    """
    seen = pairs[1][pairs[0] == v]
    return int(np.setdiff1d(np.arange(len(seen) + 1), seen)[0])


@verifier("numbers")
def maximal_matching(graph: Any, mates: ArrayLike, *, weighted: bool = False) -> None:
    """Verify `mates` of `gasla.maximal_matching`: mates are neighbors and mutual, and no edge could be added.

    If weighted, no edge is heavier than the matched edges at both of its ends.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0, 0], [0, 0, 5, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    >>> maximal_matching(path, [1, 0, 3, 2])
    >>> maximal_matching(path, [1, 0, 3, 2], weighted=True)
    Traceback (most recent call last):
    gasla.verify.VerificationError: edge 1 → 2 weighs 5, more than the matched edges at its ends
    """
    graph = as_graph(graph)
    edges = edges_of(graph)
    if graph.values is not None and graph.values.dtype.kind in "iu":
        # integer weights are compared as they are, because different integers may become equal in float64
        edges = edges._replace(weight=np.asarray(graph.out_values))
    edges = _without_self_loops(edges)
    mate = vertex_answer("mates", mates, edges.n, "iu").astype(np.int64)
    require((mate >= -1) & (mate < edges.n), lambda v: f"vertex {v} has the mate {mate[v]}, which is not a vertex")
    has_mate, ids = mate >= 0, np.arange(edges.n)
    mate_of_mate = np.where(has_mate, mate[mate], ids) if edges.n else ids
    require(mate_of_mate == ids, lambda v: f"vertex {v} has the mate {mate[v]}, whose mate is {mate_of_mate[v]}")
    is_matched = mate[edges.src] == edges.dst
    dtype = edges.weight.dtype
    lowest = -np.inf if dtype.kind == "f" else np.iinfo(dtype).min
    # for each vertex, the weight of the heaviest of the parallel edges to its mate
    heaviest = np.full(edges.n, lowest, dtype)
    has_edge = np.zeros(edges.n, bool)
    for ends in (edges.src, edges.dst):
        np.maximum.at(heaviest, ends[is_matched], edges.weight[is_matched])
        has_edge[ends[is_matched]] = True
    require(has_edge | ~has_mate, lambda v: f"vertex {v} has the mate {mate[v]}, which is not its neighbor")
    require(
        has_mate[edges.src] | has_mate[edges.dst],
        lambda e: f"{edge_name(edges, e)} could be added: neither end has a mate",
    )
    if weighted:
        heaviest_at_ends = np.maximum(heaviest[edges.src], heaviest[edges.dst])
        require(
            edges.weight <= heaviest_at_ends,
            lambda e: f"{edge_name(edges, e)} weighs {edges.weight[e]}, more than the matched edges at its ends",
        )


@verifier()
def maximum_bipartite_matching(graph: Any, mates: ArrayLike) -> None:
    """Verify `mates` of `gasla.maximum_bipartite_matching`.

    The mates are a matching, and no alternating path joins two unmatched vertices of both sides.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    >>> maximum_bipartite_matching(path, [1, 0, 3, 2])
    >>> maximum_bipartite_matching(path, [-1, 2, 1, -1])
    Traceback (most recent call last):
    gasla.verify.VerificationError: an augmenting path leads to vertex 3, so the matching is not maximum
    """
    mate = np.asarray(mates)
    maximal_matching(graph, mate)
    edges = edges_of(graph)
    _, is_odd, is_left = two_sides(edges)
    if is_odd.any():
        raise VerificationError("the graph has an odd cycle; expected a bipartite graph")
    src, dst = np.r_[edges.src, edges.dst].astype(np.int64), np.r_[edges.dst, edges.src].astype(np.int64)
    # An alternating path may take any edge from the left side to the right, but only matched edges back to the left.
    follows = is_left[src] | (mate[src] == dst)
    roots = np.flatnonzero(is_left & (mate < 0))
    reached = reachable(edges.n, src[follows], dst[follows], roots)
    require(
        ~(reached & ~is_left & (mate < 0)),
        lambda v: f"an augmenting path leads to vertex {v}, so the matching is not maximum",
    )


@verifier("numbers")
def assignment(graph: Any, mates: ArrayLike) -> None:
    """Verify `mates` of `gasla.assignment`: all vertices of the smaller side have mates, and no other matching is
    lighter.

    There is a lighter matching if and only if some alternating cycle, or alternating path to a vertex without a mate,
    has edges outside the matching that weigh less than its edges inside. Weights may differ by rounding, relative to
    the heaviest edge.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> costs = csr_array([[0, 0, 4, 2], [0, 0, 1, 7], [0, 0, 0, 0], [0, 0, 0, 0]])
    >>> assignment(costs, [3, 2, 1, 0])
    >>> assignment(costs, [2, 3, 0, 1])
    Traceback (most recent call last):
    gasla.verify.VerificationError: the matching is not the lightest: the edges of a cycle through vertex 2 weigh less
    """
    mate = np.asarray(mates)
    maximal_matching(graph, mate)
    edges, given_sides, values = edges_of(graph), as_graph(graph).sides, as_graph(graph).values
    if values is not None and edges.dst.size:
        largest = max(-values.min().item(), values.max().item())
        if largest == np.inf or (values.dtype.kind in "iu" and edges.n * largest > 2**53):
            raise VerificationError(f"a weight is {largest} in absolute value; expected an error instead of an answer")
    _, is_odd, is_left = two_sides(edges)
    if is_odd.any():
        raise VerificationError("the graph has an odd cycle; expected a bipartite graph")
    has_mate = mate >= 0
    is_small = np.asarray(is_left if given_sides is None else given_sides == 0)
    is_small = is_small if 2 * is_small.sum() <= edges.n else ~is_small
    must = np.ones(edges.n, bool) if given_sides is None else is_small
    require(has_mate | ~must, lambda v: f"vertex {v} has no mate; expected one, as it is on the smaller side")
    turned = ~is_small[edges.src]
    tail, head = np.where(turned, edges.dst, edges.src), np.where(turned, edges.src, edges.dst)
    cost = edges.weight.astype(np.float64) / max(1e-300, np.abs(edges.weight.astype(np.float64)).max(initial=0))
    matched = np.flatnonzero(mate[tail] == head)
    least = np.full(edges.n, np.inf)
    np.minimum.at(least, tail[matched], cost[matched])
    small_matched, large_free, large_matched = (
        np.flatnonzero(is_small & has_mate),
        np.flatnonzero(~is_small & ~has_mate),
        np.flatnonzero(~is_small & has_mate),
    )
    # the number of an added vertex; a path through it means that a vertex without a mate takes the place of one with a
    # mate
    hub = edges.n
    tail = np.r_[tail, mate[small_matched], large_free, np.full(len(large_matched), hub)].astype(np.int64)
    head = np.r_[head, small_matched, np.full(len(large_free), hub), large_matched].astype(np.int64)
    cost = np.r_[cost, -least[small_matched], np.zeros(len(large_free) + len(large_matched))]
    distance = np.zeros(edges.n + 1)
    for _ in range(edges.n + 2):
        shorter = distance.copy()
        np.minimum.at(shorter, head, distance[tail] + cost)
        improved = shorter < distance - 1e-10
        distance = shorter
        if not improved.any():
            return
    v = int(improved.argmax())
    raise VerificationError(f"the matching is not the lightest: the edges of a cycle through vertex {v} weigh less")


def _without_self_loops(edges: Edges) -> Edges:
    """Return the edges without self loops, as `Edges` whose `indptr` is invalid and must not be used."""
    keep = edges.src != edges.dst
    return edges._replace(src=edges.src[keep], dst=edges.dst[keep], weight=edges.weight[keep])


def _has_neighbor_inside(edges: Edges, inside: Array) -> Array:
    """Return for each vertex whether it has a neighbor in a set. `inside` is the set as a bool for each vertex."""
    beside = np.zeros(len(inside), bool)
    beside[edges.dst[inside[edges.src]]] = True
    beside[edges.src[inside[edges.dst]]] = True
    return beside
