"""The order in which NetworkX visits nodes, which a queue, a heap or topological generations determine.

NetworkX's order follows from sequential steps, while gasla finds nodes in no particular order. So nodes are sorted
afterwards: by distance, and nodes of equal distance by the first edge that reached them, in the adjacency order of the
nodes before.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from gasla.backends.networkx.conversion import Array, Converted
from gasla.graph.graph import Graph


class Queue(NamedTuple):
    """Nodes in the order in which a breadth-first search puts them into its queue."""

    order: Array
    parents: Array  # for each node in `order`, the node from which the search reached it, or -1 for a source


def queue(G: Converted, sources: list[int], reverse: bool = False) -> Queue:
    """Return the nodes that a breadth-first search reaches, in its order.

    SciPy computes the order, because its search processes one node after another, as NetworkX's does.
    """
    matrix = G.once(("queue", reverse and G.is_directed()), lambda: _adjacency_matrix(G.plain(reverse)))
    if len(sources) == 1:
        order, parents = breadth_first_order(matrix, sources[0])
        queue_parents = parents[order]
        queue_parents[0] = -1
        return Queue(order, queue_parents)
    # SciPy's search has a single source, so it starts from an additional vertex with edges to all sources.
    n, first = len(G), matrix.indptr[-1]
    indptr = np.append(matrix.indptr, first + len(sources)).astype(matrix.indptr.dtype)
    indices = np.append(matrix.indices, sources).astype(matrix.indices.dtype)
    larger = csr_array((np.ones(len(indices)), indices, indptr), shape=(n + 1, n + 1))
    order, parents = breadth_first_order(larger, n)
    queue_parents = parents[order[1:]]
    queue_parents[: len(sources)] = -1
    return Queue(order[1:], queue_parents)


def _adjacency_matrix(graph: Graph) -> csr_array:
    out = graph.out
    return csr_array((np.ones(len(out.indices)), out.indices, out.indptr), shape=(graph.n, graph.n))


def layers(visited: Queue) -> list[Array]:
    """Return the nodes that a breadth-first search reached, as one array for each distance from the sources."""
    places = np.zeros(int(visited.order.max()) + 1, np.int64)
    places[visited.order] = np.arange(len(visited.order))
    # For each node, the position of its parent in the order of the search. These positions ascend.
    begins = places[visited.parents]
    begins[visited.parents < 0] = -1
    bounds = [0, int((visited.parents < 0).sum())]
    while bounds[-1] < len(begins):
        bounds.append(int(np.searchsorted(begins, bounds[-1])))
    return [visited.order[first:last] for first, last in pairwise(bounds)]


def ranks(keys: Array, edges: Callable[[], tuple[Array, Array]], sources: Array, *, latest: bool = False) -> Array:
    """Return the position of each vertex in the order of ascending keys, such as distances.

    Vertices with equal keys are sorted by the first edge that reached each of them, or the last if `latest`.

    Parameters
    ----------
    keys : (n,) array
        Infinite, or -1 for whole numbers, where a vertex has no rank.
    edges : function
        Returns tails and heads of the edges that may have reached a vertex, sorted by tail. No edge leads to a smaller
        key. The function isn't called if no two keys are equal.
    sources : ids
        The sources of the search, which come first, in their order.
    latest : bool
        Whether the last edge that reaches a vertex determines its rank.

    Returns
    -------
    (n,) array of int64
        -1 where a vertex has no rank.
    """
    reached = np.isfinite(keys) & (keys >= 0)
    reached[sources] = False
    later = np.flatnonzero(reached)
    order = np.concatenate([sources, later[np.argsort(keys[later], kind="stable")]])
    rank_of = np.full(len(keys), -1, np.int64)
    rank_of[order] = np.arange(len(order))
    sorted_keys = keys[order]
    starts = np.flatnonzero(np.append(True, sorted_keys[1:] != sorted_keys[:-1]))
    ends = np.append(starts[1:], len(order))
    tied = ends - starts > np.where(starts == 0, len(sources), 1)
    if not tied.any():
        return rank_of
    tails, heads = edges()
    # Edges are grouped by head. The edges to one head stay in the order in which `edges` returned them.
    by_head = np.argsort(rank_of[heads], kind="stable")
    tails, heads = tails[by_head], heads[by_head]
    places = rank_of[heads]
    firsts, lasts = np.searchsorted(places, starts[tied]), np.searchsorted(places, ends[tied])
    for start, end, first, last in zip(starts[tied].tolist(), ends[tied].tolist(), firsts.tolist(), lasts.tolist()):
        group = np.arange(first, last)
        # A mask of the edges between vertices with equal keys. With distances as keys, such edges have length 0.
        has_length_0 = keys[tails[group]] == keys[heads[group]]
        from_nearer, at_equal_distance = group[~has_length_0], group[has_length_0]
        ordered = (
            _order_of_arrival(tails[from_nearer], heads[from_nearer], by_head[from_nearer], rank_of, latest)
            if start
            else sources
        )
        if len(ordered) < end - start:
            ordered = _order_within_level(
                ordered.tolist(), tails[at_equal_distance], heads[at_equal_distance], by_head[at_equal_distance]
            )
        rank_of[ordered] = np.arange(start, end)
    return rank_of


def _order_of_arrival(tails: Array, heads: Array, places: Array, ranks: Array, latest: bool) -> Array:
    """Return the heads of some edges in the order in which a search first reaches them, or last if `latest`.

    The search follows edges by ascending rank of their tails, and those of one tail by `places`.
    """
    rows = np.lexsort((places, ranks[tails]))
    vertices, positions = np.unique(heads[rows[::-1] if latest else rows], return_index=True)
    ordered = vertices[np.argsort(positions)]
    return ordered[::-1] if latest else ordered


def _order_within_level(ordered: list[int], tails: Array, heads: Array, places: Array) -> Array:
    """Return the vertices at one distance from the sources in the order in which a search reaches them.

    The vertices `ordered`, which edges from smaller distances reach, come first. Edges of length 0 from `tails` to
    `heads` reach the other vertices.
    """
    rows: dict[int, list[int]] = {}
    for edge in np.argsort(places).tolist():
        rows.setdefault(int(tails[edge]), []).append(int(heads[edge]))
    seen = set(ordered)
    for vertex in ordered:
        for other in rows.get(vertex, ()):
            if other not in seen:
                seen.add(other)
                ordered.append(other)
    return np.array(ordered, np.int64)
