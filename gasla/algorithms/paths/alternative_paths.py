"""Alternative paths are good paths from one vertex to another that have little in common.

A candidate leads from the source to some vertex, and from there to the target, each along a tree of shortest paths.
Where both trees have the same edges, on a plateau, the candidate is itself a shortest path. The longer its plateau, the
more sensible is the candidate. Lengths, plateaus, and what a candidate shares with another path are sums along the
trees. They are computed for all vertices at once: each pointer to a parent jumps twice as far as before, and its sum
grows by the sum of the pointer where it arrives.
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
FoundPath = tuple[float, list[int], list[int]]  # the length, the vertices and the edges of a path
# sums of the same lengths in another order differ by at most this factor, which comparisons of lengths allow for
ROUNDING = 1 + 1e-9


class Tree(NamedTuple):
    """A tree of shortest paths from a root: each vertex's distance, its parent, and the id of the edge from the parent.

    The root is its own parent, and its edge is -1.
    """

    distances: Array
    parents: Array
    edges: Array

    @classmethod
    def of(cls, tails: Array, heads: Array, lengths: Array, distances: Array, root: int) -> "Tree":
        """Return the tree of shortest paths from a root that have the fewest edges, given all distances from the root.

        Of several edges that may lead to a vertex, the tree has the one of the smallest id. `tails`, `heads` and
        `lengths` are the graph's edges, and `distances` the distances from the root.
        """
        n = len(distances)
        with np.errstate(over="ignore"):
            sums = distances[tails] + lengths
        if np.any(np.isinf(sums) & np.isfinite(distances[tails]) & np.isfinite(lengths)):
            raise ValueError(OVERFLOW)
        tight_edges = np.flatnonzero(np.isfinite(sums) & (sums == distances[heads]))
        levels = bfs(Graph.from_edges(tails[tight_edges], heads[tight_edges], n=n), root).astype(np.int64)
        tree_edges = tight_edges[
            (levels[tails[tight_edges]] >= 0) & (levels[heads[tight_edges]] == levels[tails[tight_edges]] + 1)
        ][::-1]
        edges = np.full(n, -1)
        # edges are in descending order of ids, so of several edges to a vertex, the one of the smallest id is written
        # last
        edges[heads[tree_edges]] = tree_edges
        parents = np.where(edges >= 0, tails[edges] if len(tails) else 0, np.arange(n))
        return cls(np.where(levels >= 0, distances, np.inf), parents, edges)

    def sums(self, lengths: Array, chosen: Array, cut: bool = False) -> Array:
        """Return for each vertex the total length of the edges on its path to the tree's root that `chosen` marks.

        `chosen` has a bool for each edge. With `cut`, only the chosen edges up to the first edge that is not chosen
        count.
        """
        has_edge = self.edges >= 0
        has_edge[has_edge] = chosen[self.edges[has_edge]]
        sums = np.zeros(len(has_edge))
        sums[has_edge] = lengths[self.edges[has_edge]]
        parents = np.where(has_edge, self.parents, np.arange(len(has_edge))) if cut else self.parents
        while True:
            grandparents = parents[parents]
            if np.array_equal(grandparents, parents):
                return sums
            sums, parents = sums + sums[parents], grandparents

    def path(self, v: int) -> tuple[list[int], list[int]]:
        """Return the vertices and the edges on the path from vertex `v` to the root of the tree."""
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
    candidates = _Candidates(graph, source, target)
    return [
        PathResult(distance, xp.asarray(path, dtype=graph.id_dtype), xp.asarray(edges, dtype=np.int64))
        for distance, path, edges in sorted(candidates.chosen(k, max_overlap, stretch))
    ]


class _Candidates:
    """Candidates for alternative paths between two vertices: for each vertex v, a shortest path that passes v.

    It is a shortest path from the source to v, followed by a shortest path from v to the target.
    """

    def __init__(self, graph: Graph, source: int, target: int) -> None:
        from_source = moved(sssp(graph, source, dtype=np.float64), "cpu")
        to_target = moved(sssp(graph.kept("edges reversed", Graph.reversed), target, dtype=np.float64), "cpu")
        src, dst = (np.asarray(moved(endpoint, "cpu")) for endpoint in graph.edges())
        self.lengths = np.ones(graph.m) if graph.values is None else moved(graph.values, "cpu").astype(np.float64)
        self.out = Tree.of(src, dst, self.lengths, from_source, source)
        self.back = Tree.of(dst, src, self.lengths, to_target, target)
        self.via, self.shortest = self.out.distances + self.back.distances, target
        edges = np.arange(graph.m)
        is_shared = (self.out.edges[dst] == edges) & (self.back.edges[src] == edges)
        self.plateaus = self._sums_on_candidates(is_shared, cut=True)

    def _sums_on_candidates(self, edge_mask: Array, cut: bool = False) -> Array:
        """Return for each vertex the total length of the chosen edges on the candidate path through the vertex.

        With `cut`, only the unbroken runs of chosen edges directly before and after the vertex count.
        """
        return self.out.sums(self.lengths, edge_mask, cut) + self.back.sums(self.lengths, edge_mask, cut)

    def by(self, v: int) -> FoundPath:
        """Return the candidate path through vertex `v`: its length, its vertices and its edges."""
        (first_vertices, edges_before), (last_vertices, edges_after) = self.out.path(v), self.back.path(v)
        edges = edges_before[::-1] + edges_after
        return float(self.lengths[edges].sum()), first_vertices[::-1] + last_vertices[1:], edges

    def chosen(self, k: int, max_overlap: float, stretch: float) -> list[FoundPath]:
        """Return up to k candidate paths, the shortest first, of which no two have more in common than `max_overlap`
        allows.
        """
        is_open = np.isfinite(self.via) & (self.via <= self.via[self.shortest] * stretch * ROUNDING)
        # for each candidate, the largest length that it has in common with a chosen path
        largest_overlap, v = np.zeros(len(is_open)), self.shortest
        paths: list[FoundPath] = []
        while len(paths) < k and is_open[v]:
            length, vertices, edges = candidate = self.by(v)
            on_path = np.array(vertices)
            # the candidates through these vertices of the path are the path itself, so they are not chosen again
            is_open[on_path[self.via[on_path] <= length * ROUNDING]] = is_open[v] = False
            if len({*vertices}) == len(vertices):
                paths.append(candidate)
                overlap = self._sums_on_candidates(np.isin(np.arange(len(self.lengths)), edges))
                is_open &= overlap <= max_overlap * np.minimum(self.via, length) * ROUNDING
                largest_overlap = np.maximum(largest_overlap, overlap)
            v = int(np.where(is_open, 2 * self.via + largest_overlap - self.plateaus, np.inf).argmin())
        return paths


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
