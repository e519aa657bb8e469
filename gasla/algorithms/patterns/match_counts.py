"""Counting of patterns of up to four vertices, and of cycles of five, by sums over degrees, triangles and paths.

With degrees d, and triangles t at vertices and at edges, the numbers of matches are:

    path of 3         the sum over vertices of d (d - 1) / 2
    star              the sum over vertices of d (d - 1) (d - 2) / 6
    path of 4         the sum over edges u - v of (d_u - 1) (d_v - 1), less 3 times the triangles
    paw               the sum over vertices of t (d - 2)
    diamond           the sum over edges of t (t - 1) / 2
    cycle of 4        the sum over pairs of c (c - 1) / 2, where c paths of two edges join the pair: each cycle is found
                      at its last vertex in the order of degrees and the opposite one; on a GPU, by a join
    triangle, clique  counted as such
    cycle of 5        `five_cycles`

These are all matches; the number of induced ones is obtained by subtracting those within larger patterns of as many
vertices. Sums are Python integers of any size.

A. Pinar, C. Seshadhri, V. Vishal: ESCAPE: Efficiently Counting All 5-Vertex Subgraphs. WWW 2017.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

import semirings
from gasla.algorithms.patterns.exact_sums import sum_of_choices, sum_of_products
from gasla.algorithms.patterns.pattern import Pattern
from gasla.arrays import array_module, running_sums, shares
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph
from gasla.operations.joins import join, joins
from gasla.operations.matrices import mxm
from gasla.operations.primitives import count_cliques, count_common_neighbors, orient
from gasla.operations.sparse import Sparse
from gasla.program.join_plan import Free, Join, JoinPlan, Reach

PART = 1 << 24  # number of paths of two edges that are counted in one block, to bound memory
# If no vertex has more neighbors than this, a GPU counts in the order of ids, since sorting vertices by degree would
# take longer than it saves.
FLAT = 128
# Plan that counts cycles of four vertices. It matches a path of three vertices, and only counts the vertices that are
# neighbors of both ends of the path.
CYCLES = JoinPlan(
    (Join(()), Join((Reach(0),), above=(0,)), Join((Reach(1),), above=(0,))),
    (Free(Join((Reach(0), Reach(2)), apart=(1,), above=(0,)), met=((1, ()),)),),
)


def matches(simple: Graph, pattern: Pattern, induced: bool) -> int:
    """Return the number of matches of an undirected pattern of up to four vertices in a simple graph."""
    if induced:
        return induced_counts(simple, [pattern, *pattern.larger()])[pattern.degrees]
    return COUNTS[pattern.degrees](Sums(simple))


def induced_counts(simple: Graph, patterns: Iterable[Pattern]) -> dict[tuple[int, ...], int]:
    """Return the number of induced matches of each pattern, by the sorted degrees of the pattern's vertices.

    An induced match has no other edges between its vertices. With each pattern, `patterns` must have all patterns of as
    many vertices and more edges that contain it, because their matches are subtracted.
    """
    counts: dict[tuple[int, ...], int] = {}
    sums = Sums(simple)
    for pattern in sorted(patterns, key=lambda p: -len(p.edges)):
        counts_within_larger = sum(
            pattern.copies_in(larger_pattern) * counts[larger_pattern.degrees] for larger_pattern in pattern.larger()
        )
        counts[pattern.degrees] = COUNTS[pattern.degrees](sums) - counts_within_larger
    return counts


class Sums:
    """Numbers of matches of patterns of up to four vertices in a graph, from sums that several patterns share."""

    def __init__(self, simple: Graph) -> None:
        self.simple = simple

    @cached_property
    def degrees(self) -> Any:
        """The number of neighbors of each vertex."""
        return self.simple.out_degrees.astype(np.int64)

    @cached_property
    def triangles(self) -> Any:
        """The number of triangles at each vertex."""
        return count_common_neighbors(orient(self.simple), per_vertex=True)[1]

    def stars(self, leaves: int) -> int:
        """Return the number of stars, each of which is a vertex with `leaves` of its neighbors."""
        return sum_of_choices(self.degrees, leaves)

    def cliques(self, k: int) -> int:
        """Return the number of sets of k vertices that are all adjacent."""
        return count_cliques(self.simple, k)

    def paths(self) -> int:
        """Return the number of paths of four vertices, as a sum over their middle edges."""
        others_of_vertex, lists = (self.degrees - 1).clip(min=0), self.simple.out
        sums = running_sums(others_of_vertex[lists.indices])
        # The differences below are exact even if the sums, which are modulo 2**64, have wrapped around.
        sum_at_neighbors = sums[lists.indptr[1:]] - sums[lists.indptr[:-1]]
        return sum_of_products(others_of_vertex, sum_at_neighbors) // 2 - int(self.triangles.sum())

    def paws(self) -> int:
        """Return the number of paws. A paw is a triangle with another neighbor of one of its corners."""
        return sum_of_products((self.degrees - 2).clip(min=0), self.triangles)

    def diamonds(self) -> int:
        """Return the number of diamonds. A diamond is an edge with two of the triangles that it is in."""
        _, triangles = count_common_neighbors(orient(self.simple), per_edge=True)
        return sum_of_choices(triangles, 2) // 2  # each edge is stored twice, so the sum counts each diamond twice

    def cycles(self) -> int:
        """Return the number of cycles of four vertices."""
        return _cycles(self.simple) if self.simple.m else 0


def _cycles(simple: Graph) -> int:
    if simple.engine == "gpu" and joins(simple):
        graph = simple if simple.max_out_degree <= FLAT else by_degree(simple, hubs_first=True)[0]
        return join(CYCLES, graph, (graph.out_degrees > 1).astype(np.uint8)).total() // 2
    graph, _ = by_degree(simple)
    return sum(sum_of_choices(paths.data, 2) for _, _, paths in _paths_to_earlier(graph))


def five_cycles(simple: Graph) -> int:
    """Return the number of cycles of five vertices in a simple undirected graph.

    Each cycle is found at its last vertex a in the order of degrees. Paths of two edges lead from a to both ends of the
    opposite edge c - d. The sum over all edges c - d of the product of the numbers of paths to c and to d counts each
    cycle twice. It also counts closed walks that visit a vertex twice, which are subtracted. These have a triangle of a
    and two earlier vertices, one of which is d, and another neighbor of d as c (or the same with c and d exchanged), or
    a neighbor of d that is later than the triangle in the place of a.
    """
    graph, _ = by_degree(simple)
    degrees, cycle_total = graph.out_degrees.astype(np.int64), 0
    for first_edge, rows, paths in _paths_to_earlier(graph):
        to_both = mxm(paths, graph, semirings.plus_first, mask=paths)
        triangles: Any = mxm(rows, graph, semirings.plus_pair, mask=rows).data
        last_vertices = Adjacency(rows.indptr, rows.indices).owners()
        later = degrees[last_vertices + first_edge] - (rows.indptr[1:] - rows.indptr[:-1])[last_vertices]
        walks_to_subtract = 2 * (degrees[rows.indices] - 1) + later - 1
        cycle_total += sum_of_products(paths.data, to_both.data) - sum_of_products(triangles, walks_to_subtract)
    return cycle_total // 2


def _paths_to_earlier(graph: Graph) -> Iterator[tuple[int, Sparse, Sparse]]:
    """Yield for each block of vertices its first vertex, and two matrices with a row for each vertex of the block.

    The first matrix holds the adjacency of the block's vertices to neighbors of smaller id. An entry of the second is
    the number of paths of two edges from the vertex of its row to a vertex of smaller id, through a neighbor of
    smaller id.
    """
    lists = graph.sorted_out
    src, xp = lists.owners(), array_module(lists.indices)
    is_earlier = lists.indices < src
    src, dst = src[is_earlier], lists.indices[is_earlier]
    starts = xp.searchsorted(src, xp.arange(graph.n + 1))  # offsets in `src` of each vertex's neighbors of smaller id
    sums = running_sums(graph.out_degrees[dst])
    for vertex_range in shares(sums[starts[1:]] - sums[starts[:-1]], PART):
        first_edge, edge_end, count = (
            int(starts[vertex_range.start]),
            int(starts[vertex_range.stop]),
            vertex_range.stop - vertex_range.start,
        )
        bounds = starts[vertex_range.start : vertex_range.stop + 1] - first_edge
        rows = Sparse((count, graph.n), bounds, dst[first_edge:edge_end], xp.ones(edge_end - first_edge, bool))
        paths = mxm(rows, graph, semirings.plus_pair)
        owners = Adjacency(paths.indptr, paths.indices).owners()
        before = paths.indices < owners + vertex_range.start
        indptr = running_sums(before)[paths.indptr]
        yield vertex_range.start, rows, Sparse(paths.shape, indptr, paths.indices[before], paths.data[before])


def by_degree(simple: Graph, hubs_first: bool = False) -> tuple[Graph, Any]:
    """Return the graph with its vertices renumbered by ascending degree, and the original id of each vertex.

    Vertices of equal degree are in the order of ids. With `hubs_first` the order is reversed.
    """
    xp = array_module(simple.out.indices)
    degrees = simple.out_degrees.astype(np.int64) + simple.in_degrees
    order = xp.argsort(degrees * simple.n + xp.arange(simple.n)).astype(simple.id_dtype)
    order = xp.ascontiguousarray(order[::-1]) if hubs_first else order
    return in_order(simple, order), order


def in_order(simple: Graph, order: Any) -> Graph:
    """Return the graph with its vertices renumbered in the given order, and with ascending adjacency lists."""
    lists = simple.subgraph(order).sorted_out
    return Graph.from_csr(lists.indptr, lists.indices)


COUNTS: dict[tuple[int, ...], Callable[[Sums], int]] = {
    (0,): lambda sums: sums.simple.n,
    (1, 1): lambda sums: sums.simple.m // 2,
    (1, 1, 2): lambda sums: sums.stars(2),
    (2, 2, 2): lambda sums: sums.cliques(3),
    (1, 1, 1, 3): lambda sums: sums.stars(3),
    (1, 1, 2, 2): Sums.paths,
    (1, 2, 2, 3): Sums.paws,
    (2, 2, 2, 2): Sums.cycles,
    (2, 2, 3, 3): Sums.diamonds,
    (3, 3, 3, 3): lambda sums: sums.cliques(4),
}
