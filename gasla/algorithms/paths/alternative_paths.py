"""Alternative paths: good ways from one vertex to another that have little in common, by single vertices on the way.

A candidate leads from the source to some vertex, and from there to the target, each along a tree of shortest paths.
Where both trees have the same edges, on a plateau, the way is a shortest one by itself: the longer its plateau, the
more sensible is the way. Lengths, plateaus, and what a candidate shares with another path are sums along the trees.
They are found for all vertices at once: each pointer to a parent jumps twice as far as before, with the sum on its way.
"""

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from gasla.algorithms.paths.k_shortest_paths import OVERFLOW, require_lengths
from gasla.algorithms.paths.shortest_path import PathResult
from gasla.algorithms.paths.sssp import sssp
from gasla.algorithms.traversal.bfs import bfs
from gasla.arrays import module_of, moved
from gasla.graph.arguments import real_number, whole_number
from gasla.graph.exchange.vertex_names import translate_vertex
from gasla.graph.graph import Graph, whole_graph
from gasla.rows import Command, Row

Array = np.ndarray[Any, Any]
Way = tuple[float, list[int], list[int]]  # length, vertices, edges
ROUNDING = 1 + 1e-9  # sums of the same lengths in another order differ by this factor at most


class Tree(NamedTuple):
    """Shortest paths from a root: the next vertex toward it, and the edge in between. The root has itself, and -1."""

    distances: Array
    parents: Array
    edges: Array

    @classmethod
    def of(cls, tails: Array, heads: Array, lengths: Array, distances: Array, root: int) -> "Tree":
        """Return the tree of paths that have the fewest edges of all shortest ones, and the smallest edge ids."""
        n = len(distances)
        with np.errstate(over="ignore"):
            sums = distances[tails] + lengths
        if np.any(np.isinf(sums) & np.isfinite(distances[tails]) & np.isfinite(lengths)):
            raise ValueError(OVERFLOW)
        tight = np.flatnonzero(np.isfinite(sums) & (sums == distances[heads]))
        levels = bfs(Graph.from_edges(tails[tight], heads[tight], n=n), root).astype(np.int64)
        leads = tight[(levels[tails[tight]] >= 0) & (levels[heads[tight]] == levels[tails[tight]] + 1)][::-1]
        edges = np.full(n, -1)
        edges[heads[leads]] = leads  # the last one stays
        parents = np.where(edges >= 0, tails[edges] if len(tails) else 0, np.arange(n))
        return cls(np.where(levels >= 0, distances, np.inf), parents, edges)

    def sums(self, lengths: Array, chosen: Array, cut: bool = False) -> Array:
        """Return the total length of the chosen edges from each vertex to the root.

        With `cut`, stop at the first other edge.

        `chosen` has a bool for each edge.
        """
        has = self.edges >= 0
        has[has] = chosen[self.edges[has]]
        sums = np.zeros(len(has))
        sums[has] = lengths[self.edges[has]]
        parents = np.where(has, self.parents, np.arange(len(has))) if cut else self.parents
        while True:
            further = parents[parents]
            if np.array_equal(further, parents):
                return sums
            sums, parents = sums + sums[parents], further

    def path(self, v: int) -> tuple[list[int], list[int]]:
        """Return the vertices and the edges from a vertex to the root."""
        vertices, edges = [v], []
        while self.edges[v] >= 0:
            edges.append(int(self.edges[v]))
            v = int(self.parents[v])
            vertices.append(v)
        return vertices, edges


def alternative_paths(
    graph: Any, source: Hashable, target: Hashable, k: int = 3, *, max_overlap: float = 0.5, stretch: float = 1.5
) -> list[PathResult]:
    """Find a shortest path and alternatives to it that differ, such as routes for a driver to choose from.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the length of the edge i -> j, 0 or more. A graph without values has edges of length 1.
    source, target : int or name
        The ends of the paths.
    k : int
        The largest number of paths, the shortest one included.
    max_overlap : float
        The largest part of its length, 0 to 1, that one of two paths has in common with the other.
    stretch : float
        The longest path is at most this many times as long as the shortest one; 1 or more.

    Returns
    -------
    list of PathResult(distance, path, edges)
        By increasing length; fewer than k if there are no more such paths by way of one vertex, and none if the target
        is out of reach. Each is as `gasla.shortest_path` returns it. Arrays are on the device of the graph.

    Raises
    ------
    TypeError, ValueError
        If source or target is not a vertex, a number is out of range, or a length is negative or NaN.

    See Also
    --------
    gasla.k_shortest_paths : the k shortest paths, most of which differ in a few edges.
    gasla.shortest_path : one path.

    Notes
    -----
    A path consists of two shortest ones, by way of some vertex, and visits no vertex twice. Of these paths the one is
    next for which twice its length, plus the length that it shares with another path, less that of its plateau, is
    smallest. The plateau is the part around that vertex which is shortest both from the source and to the target.

    Takes two calls of `gasla.sssp` on the graph's device; all else is done by NumPy on the CPU, in time
    O(m + k·n·log n).

    References
    ----------
    I. Abraham, D. Delling, A. Goldberg, R. Werneck: Alternative Routes in Road Networks. ACM Journal of Experimental
    Algorithmics 18 (2013).

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 0, 2, 1], [1, 3, 2, 3, 2], [1.0, 2.0, 2.0, 2.0, 1.5])
    >>> for distance, path, edges in gasla.alternative_paths(graph, 0, 3):
    ...     print(distance, path, edges)
    3.0 [0 1 3] [0 1]
    4.0 [0 2 3] [2 3]
    """
    graph = whole_graph(graph)
    source, target = translate_vertex(graph, source), translate_vertex(graph, target, "target")
    k = whole_number("k", k)
    max_overlap, stretch = real_number("max_overlap", max_overlap, most=1), real_number("stretch", stretch, 1)
    require_lengths(graph)
    xp: Any = module_of(graph.device)
    ways = _Ways(graph, source, target)
    return [
        PathResult(distance, xp.asarray(path, dtype=graph.id_dtype), xp.asarray(edges, dtype=np.int64))
        for distance, path, edges in sorted(ways.chosen(k, max_overlap, stretch))
    ]


class _Ways:
    """One path from a source to a target for each vertex v: a shortest path to v, then a shortest path from v."""

    def __init__(self, graph: Graph, source: int, target: int) -> None:
        there = moved(sssp(graph, source, dtype=np.float64), "cpu")
        back = moved(sssp(graph.kept("edges reversed", Graph.reversed), target, dtype=np.float64), "cpu")
        src, dst = (np.asarray(moved(ends, "cpu")) for ends in graph.edges())
        self.lengths = np.ones(graph.m) if graph.values is None else moved(graph.values, "cpu").astype(np.float64)
        self.out = Tree.of(src, dst, self.lengths, there, source)
        self.back = Tree.of(dst, src, self.lengths, back, target)
        self.via, self.shortest = self.out.distances + self.back.distances, target
        edges = np.arange(graph.m)
        is_shared = (self.out.edges[dst] == edges) & (self.back.edges[src] == edges)
        self.plateaus = self._sums(is_shared, cut=True)

    def _sums(self, chosen: Array, cut: bool = False) -> Array:
        """Return the total length of chosen edges on the way by each vertex.

        With `cut`, count those next to the vertex.
        """
        return self.out.sums(self.lengths, chosen, cut) + self.back.sums(self.lengths, chosen, cut)

    def by(self, v: int) -> Way:
        """Return the way by a vertex."""
        (first, before), (last, after) = self.out.path(v), self.back.path(v)
        edges = before[::-1] + after
        return float(self.lengths[edges].sum()), first[::-1] + last[1:], edges

    def chosen(self, k: int, max_overlap: float, stretch: float) -> list[Way]:
        """Return up to k ways, the shortest one first, of which no two have more in common than is allowed."""
        is_open = np.isfinite(self.via) & (self.via <= self.via[self.shortest] * stretch * ROUNDING)
        shared, v = np.zeros(len(is_open)), self.shortest  # what a way has in common with a chosen one
        ways: list[Way] = []
        while len(ways) < k and is_open[v]:
            length, vertices, edges = way = self.by(v)
            here = np.array(vertices)
            is_open[here[self.via[here] <= length * ROUNDING]] = is_open[v] = False  # their way is the same
            if len({*vertices}) == len(vertices):
                ways.append(way)
                common = self._sums(np.isin(np.arange(len(self.lengths)), edges))
                is_open &= common <= max_overlap * np.minimum(self.via, length) * ROUNDING
                shared = np.maximum(shared, common)
            v = int(np.where(is_open, 2 * self.via + shared - self.plateaus, np.inf).argmin())
        return ways


ROW = Row(
    alternative_paths,
    Command(
        *("alternative-paths", {"vertices": "on_paths"}),
        lambda f: f"{len(f['paths']):,} different paths from {f.ends}, by length:",
        *(lambda f: f.paths(), "ids"),
        unpack=lambda _, found: {
            "paths": found,
            "vertices": np.concatenate([[], *(p.path for p in found)]).astype(int),
        },
    ),
    method="single-via paths (Abraham, Delling, Goldberg, Werneck, ACM JEA 18, 2013)",
    longer="Two trees of shortest paths, and sums along them by pointers that jump, log n times.",
)
