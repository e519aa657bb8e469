"""Bridges and articulation points, computed again by the low points of a depth-first search."""

from bisect import bisect_left
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gasla import verify
from gasla.verify._common import Edges, VerificationError, edges_of


def bridges(graph: Any, bridges: ArrayLike) -> None:
    """Verify all bridges of a graph.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> bridges(csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]]), [[0, 1], [1, 2]])
    """
    verify.bridges(graph, bridges)
    right, given = _cuts(edges_of(graph)).bridges, set(map(tuple, np.asarray(bridges).tolist()))
    if given != right:
        raise VerificationError(f"{sorted(given ^ right)[0]} is a bridge and missing, or the reverse")


def articulation_points(graph: Any, points: ArrayLike) -> None:
    """Verify all articulation points of a graph.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> articulation_points(csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]]), [1])
    """
    verify.articulation_points(graph, points)
    right, given = _cuts(edges_of(graph)).points, set(np.asarray(points).tolist())
    if given != right:
        raise VerificationError(
            f"{sorted(given ^ right)[0]} is an articulation point and missing, or not one and there"
        )


class _Cuts(NamedTuple):
    """The bridges, and the articulation points."""

    bridges: set[tuple[int, int]]
    points: set[int]


def _cuts(edges: Edges) -> _Cuts:
    """By low points, the earliest vertex adjacent to each subtree of a depth-first search (Hopcroft, Tarjan 1973)."""
    neighbors, is_single = _undirected(edges)
    found, low, parent = [-1] * edges.n, [0] * edges.n, [-1] * edges.n
    cuts, clock = _Cuts(set(), set()), 0
    for root in range(edges.n):
        if found[root] >= 0:
            continue
        found[root] = low[root] = clock
        clock += 1
        below_root, path = 0, [root]
        ahead = {root: iter(neighbors(root))}
        while path:
            v = path[-1]
            for w in ahead[v]:
                if found[w] < 0:
                    parent[w], found[w], low[w] = v, clock, clock
                    clock += 1
                    path.append(w)
                    ahead[w] = iter(neighbors(w))
                    break
                if w != parent[v]:
                    low[v] = min(low[v], found[w])
            else:
                path.pop()
                del ahead[v]
                u = parent[v]
                if u < 0:
                    continue
                low[u] = min(low[u], low[v])
                below_root += u == root
                if u != root and low[v] >= found[u]:
                    cuts.points.add(u)
                if low[v] > found[u] and is_single(u, v):
                    cuts.bridges.add((min(u, v), max(u, v)))
        if below_root > 1:
            cuts.points.add(root)
    return cuts


def _undirected(edges: Edges) -> tuple[Any, Any]:
    """Functions: the neighbors of a vertex other than itself; whether a single edge joins two (either direction)."""
    from scipy.sparse import csr_array

    apart = edges.src != edges.dst
    counts = csr_array((np.ones(int(apart.sum())), (edges.src[apart], edges.dst[apart])), shape=(edges.n, edges.n))
    most = csr_array(counts.maximum(counts.T))
    most.sort_indices()
    indptr, indices, data = most.indptr.tolist(), most.indices.tolist(), most.data

    def neighbors(v: int) -> list[int]:
        found: list[int] = indices[indptr[v] : indptr[v + 1]]
        return found

    def is_single(u: int, v: int) -> bool:
        return bool(data[bisect_left(indices, v, indptr[u], indptr[u + 1])] == 1)

    return neighbors, is_single
