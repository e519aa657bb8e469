"""Verify what cycles tell of a graph read as undirected: its two sides, its bridges, its articulation points.

Bridges and articulation points are held against the low points of a depth-first search.
"""

from bisect import bisect_left
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import Array, Edges, VerificationError, answer, edge_name, edges_of, require


def bipartite(graph: Any, bipartite: bool, colors: ArrayLike | None = None) -> None:
    """Verify whether a graph is bipartite, and the colors if they are given.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph.
    bipartite : bool
        What is said of it.
    colors : array of int, optional
        0 or 1 for each vertex; -1 in components that have an odd cycle.

    Raises
    ------
    VerificationError
        If an edge joins two vertices of a color, a component without a color has no odd cycle, the smallest vertex
        of a component has the color 1, or it is said to be what it isn't.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> bipartite(path, True, [0, 1, 0])
    >>> bipartite(path, True, [0, 1, 1])
    Traceback (most recent call last):
    gasla.verify.VerificationError: edge 1 → 2 joins two vertices of the color 1
    """
    edges = edges_of(graph)
    piece, is_odd = _odd(edges)
    if bool(bipartite) == bool(is_odd.any()):
        raise VerificationError(f"the graph has {'an' if is_odd.any() else 'no'} odd cycle, but it was said otherwise")
    if colors is None:
        return
    color = answer("colors", colors, edges.n, "i").astype(np.int64)
    require((color >= -1) & (color <= 1), lambda v: f"vertex {v} has the color {color[v]}; expected 0, 1 or -1")
    require(
        (color == -1) == is_odd,
        lambda v: f"vertex {v} has the color {color[v]}, and its component {'an' if is_odd[v] else 'no'} odd cycle",
    )
    differ = (color[edges.src] != color[edges.dst]) | (color[edges.src] < 0)
    require(differ, lambda e: f"{edge_name(edges, e)} joins two vertices of the color {color[edges.src[e]]}")
    _, smallest = np.unique(piece, return_index=True)
    require(
        color[smallest] < 1,
        lambda p: f"vertex {smallest[p]} is the smallest of its component and has the color 1; expected 0",
    )


def _odd(edges: Edges) -> tuple[Array, Array]:
    """Each vertex's component, and whether that has an odd cycle: twice as many vertices don't fall apart then."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = edges.n
    ends = np.r_[edges.src, edges.src + n], np.r_[edges.dst + n, edges.dst]
    twofold = csr_array((np.ones(len(ends[0]), bool), ends), shape=(2 * n, 2 * n))
    _, side = connected_components(twofold, directed=False)
    _, piece = connected_components(edges.matrix(), directed=True, connection="weak")
    return piece, side[:n] == side[n:]


def bridges(graph: Any, bridges: ArrayLike) -> None:
    """Verify that these are the bridges of a graph.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph.
    bridges : (k, 2) array of int
        A row a bridge, the smaller end first; rows ascend.

    Raises
    ------
    VerificationError
        If a row is no bridge, one is missing, or they are not in order.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> bridges(path, [[0, 1], [1, 2]])
    >>> bridges(path, [[0, 1]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: the edge between 1 and 2 is a bridge, and is missing
    """
    edges = edges_of(graph)
    given = np.asarray(bridges)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
        raise VerificationError(f"bridges: pairs of vertices were expected, not {given.dtype} of shape {given.shape}")
    right = _cuts(edges).bridges
    named = set(map(tuple, given.tolist()))
    for u, v in given.tolist():
        if (u, v) not in right:
            raise VerificationError(f"an edge between {u} and {v} is no bridge, or there is none, or {v} is first")
    for u, v in sorted(right - named):
        raise VerificationError(f"the edge between {u} and {v} is a bridge, and is missing")
    if given.tolist() != [list(pair) for pair in sorted(named)]:
        raise VerificationError("the bridges don't ascend, or one occurs twice")


def articulation_points(graph: Any, points: ArrayLike) -> None:
    """Verify that these are the articulation points of a graph.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph.
    points : array of int
        Their ids, in ascending order.

    Raises
    ------
    VerificationError
        If a vertex is none, one is missing, or they are not in order.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> articulation_points(path, [1])
    >>> articulation_points(path, [0, 1])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 0 is no articulation point
    """
    edges = edges_of(graph)
    given = np.asarray(points)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise VerificationError(f"points: ids of vertices were expected, not {given.dtype} of shape {given.shape}")
    right, named = _cuts(edges).points, given.tolist()
    for v in named:
        if v not in right:
            raise VerificationError(f"vertex {v} is no articulation point")
    for v in sorted(right.difference(named)):
        raise VerificationError(f"vertex {v} is an articulation point, and is missing")
    if named != sorted(right):
        raise VerificationError("the articulation points don't ascend, or one occurs twice")


class _Cuts(NamedTuple):
    """What a graph falls apart without."""

    bridges: set[tuple[int, int]]
    points: set[int]


def _cuts(edges: Edges) -> _Cuts:
    """By the low points of a depth-first search: the earliest vertex next to a subtree (Hopcroft and Tarjan, 1973)."""
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
    """The neighbors of a vertex, loops aside, and whether a single edge joins two: i -> j and j -> i are one."""
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
