"""The order in which NetworkX visits nodes: by a queue, a heap, or topological generations.

NetworkX's order follows from sequential steps, while gasla finds nodes in no particular order. So nodes are sorted
afterwards: by distance, and ties by the first edge that reached each, in the adjacency order of the nodes before.
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
    """Nodes in the order of a queue, and the node that enqueued each. Sources have -1."""

    order: Array
    parents: Array  # the parent of each node of `order`


def queue(G: Converted, sources: list[int], reverse: bool = False) -> Queue:
    """Return the order of a breadth-first search, by SciPy, which is also sequential."""
    matrix = G.once(("queue", reverse and G.is_directed()), lambda: _matrix(G.plain(reverse)))
    if len(sources) == 1:
        order, parents = breadth_first_order(matrix, sources[0])
        queue_parents = parents[order]
        queue_parents[0] = -1
        return Queue(order, queue_parents)
    n, first = len(G), matrix.indptr[-1]  # an additional vertex with edges to all sources
    indptr = np.append(matrix.indptr, first + len(sources)).astype(matrix.indptr.dtype)
    indices = np.append(matrix.indices, sources).astype(matrix.indices.dtype)
    larger = csr_array((np.ones(len(indices)), indices, indptr), shape=(n + 1, n + 1))
    order, parents = breadth_first_order(larger, n)
    queue_parents = parents[order[1:]]
    queue_parents[: len(sources)] = -1
    return Queue(order[1:], queue_parents)


def _matrix(graph: Graph) -> csr_array:
    out = graph.out
    return csr_array((np.ones(len(out.indices)), out.indices, out.indptr), shape=(graph.n, graph.n))


def layers(visited: Queue) -> list[Array]:
    """Return the nodes of a queue, grouped by distance from the sources."""
    places = np.zeros(int(visited.order.max()) + 1, np.int64)
    places[visited.order] = np.arange(len(visited.order))
    begins = places[visited.parents]  # positions of parents in the queue, which ascend
    begins[visited.parents < 0] = -1
    bounds = [0, int((visited.parents < 0).sum())]
    while bounds[-1] < len(begins):
        bounds.append(int(np.searchsorted(begins, bounds[-1])))
    return [visited.order[first:last] for first, last in pairwise(bounds)]


def ranks(keys: Array, edges: Callable[[], tuple[Array, Array]], sources: Array, *, latest: bool = False) -> Array:
    """Return the rank of each vertex by a key. The first edge that reached it breaks ties, or the last.

    Parameters
    ----------
    keys : (n,) array
        Infinite, or -1 for whole numbers, where a vertex has no rank.
    edges : function
        Returns tails and heads of the edges that count, in the order of the rows; none to a smaller key. Where no two
        keys are equal it isn't called.
    sources : ids
        The sources of the search, which come first in their order.
    latest : bool
        Whether the edge counts that comes to a vertex last.

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
    by_head = np.argsort(rank_of[heads], kind="stable")  # grouped by head, each group in row order
    tails, heads = tails[by_head], heads[by_head]
    places = rank_of[heads]
    firsts, lasts = np.searchsorted(places, starts[tied]), np.searchsorted(places, ends[tied])
    for start, end, first, last in zip(starts[tied].tolist(), ends[tied].tolist(), firsts.tolist(), lasts.tolist()):
        group = np.arange(first, last)
        along = keys[tails[group]] == keys[heads[group]]  # edges of length 0
        before, within = group[~along], group[along]
        begun = _arrived(tails[before], heads[before], by_head[before], rank_of, latest) if start else sources
        if len(begun) < end - start:
            begun = _followed(begun.tolist(), tails[within], heads[within], by_head[within])
        rank_of[begun] = np.arange(start, end)
    return rank_of


def _arrived(tails: Array, heads: Array, places: Array, ranks: Array, latest: bool) -> Array:
    """Return vertices in the order of the first edges that reach them, or of the last."""
    rows = np.lexsort((places, ranks[tails]))
    once, at = np.unique(heads[rows[::-1] if latest else rows], return_index=True)
    settled = once[np.argsort(at)]
    return settled[::-1] if latest else settled


def _followed(begun: list[int], tails: Array, heads: Array, places: Array) -> Array:
    """Order the vertices at one distance: first `begun`, which smaller distances lead to, then what these lead to."""
    rows: dict[int, list[int]] = {}
    for edge in np.argsort(places).tolist():
        rows.setdefault(int(tails[edge]), []).append(int(heads[edge]))
    seen = set(begun)
    for vertex in begun:
        for other in rows.get(vertex, ()):
            if other not in seen:
                seen.add(other)
                begun.append(other)
    return np.array(begun, np.int64)
