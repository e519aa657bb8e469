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

PART = 1 << 24  # paths of two edges per block
FLAT = 128  # largest degree up to which a GPU takes vertices in any order
# Cycles of four: a path of three vertices is matched, and the fourth vertex, which joins its ends, is only counted.
CYCLES = JoinPlan(
    (Join(()), Join((Reach(0),), above=(0,)), Join((Reach(1),), above=(0,))),
    (Free(Join((Reach(0), Reach(2)), apart=(1,), above=(0,)), met=((1, ()),)),),
)


def matches(simple: Graph, pattern: Pattern, induced: bool) -> int:
    """Count the matches of a pattern in a simple graph."""
    if induced:
        return induced_counts(simple, [pattern, *pattern.larger()])[pattern.degrees]
    return COUNTS[pattern.degrees](Sums(simple))


def induced_counts(simple: Graph, patterns: Iterable[Pattern]) -> dict[tuple[int, ...], int]:
    """Count the induced matches of patterns, by their degrees. The larger patterns of each must be among them."""
    counts: dict[tuple[int, ...], int] = {}
    sums = Sums(simple)
    for one in sorted(patterns, key=lambda p: -len(p.edges)):
        within = sum(one.copies_in(other) * counts[other.degrees] for other in one.larger())
        counts[one.degrees] = COUNTS[one.degrees](sums) - within
    return counts


class Sums:
    """Numbers of matches in a simple graph, induced or not, from sums that several patterns share."""

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
        """Count vertices with some of their neighbors."""
        return sum_of_choices(self.degrees, leaves)

    def cliques(self, k: int) -> int:
        """Count sets of k vertices that are all adjacent."""
        return count_cliques(self.simple, k)

    def paths(self) -> int:
        """Count paths of four vertices, by their middle edges."""
        others, lists = (self.degrees - 1).clip(min=0), self.simple.out
        sums = running_sums(others[lists.indices])
        beyond = sums[lists.indptr[1:]] - sums[lists.indptr[:-1]]  # exact even if the sums have wrapped around
        return sum_of_products(others, beyond) // 2 - int(self.triangles.sum())

    def paws(self) -> int:
        """Count triangles with a neighbor of a corner."""
        return sum_of_products((self.degrees - 2).clip(min=0), self.triangles)

    def diamonds(self) -> int:
        """Count edges with two of their triangles."""
        _, triangles = count_common_neighbors(orient(self.simple), per_edge=True)
        return sum_of_choices(triangles, 2) // 2  # each edge is stored twice

    def cycles(self) -> int:
        """Count cycles of four vertices."""
        return _cycles(self.simple) if self.simple.m else 0


def _cycles(simple: Graph) -> int:
    if simple.engine == "gpu" and joins(simple):
        graph = simple if simple.max_out_degree <= FLAT else by_degree(simple, hubs_first=True)[0]
        return join(CYCLES, graph, (graph.out_degrees > 1).astype(np.uint8)).total() // 2
    graph, _ = by_degree(simple)
    return sum(sum_of_choices(paths.data, 2) for _, _, paths in _paths_to_earlier(graph))


def five_cycles(simple: Graph) -> int:
    """Return the number of cycles of five vertices in a simple undirected graph.

    Each cycle is found at its last vertex a, in the order of degrees, from which paths of two edges lead to both ends
    of the opposite edge c - d. So the sum over edges c - d of the products of the numbers of paths to c and to d counts
    it twice, and what has a vertex twice: with each triangle of a and two earlier vertices d, another neighbor of d as
    c (or of c as d), or a neighbor of d that is later than the triangle in the place of a.
    """
    graph, _ = by_degree(simple)
    degrees, total = graph.out_degrees.astype(np.int64), 0
    for first, rows, paths in _paths_to_earlier(graph):
        to_both = mxm(paths, graph, semirings.plus_first, mask=paths)
        triangles: Any = mxm(rows, graph, semirings.plus_pair, mask=rows).data
        last = Adjacency(rows.indptr, rows.indices).owners()
        later = degrees[last + first] - (rows.indptr[1:] - rows.indptr[:-1])[last]
        twice = 2 * (degrees[rows.indices] - 1) + later - 1
        total += sum_of_products(paths.data, to_both.data) - sum_of_products(triangles, twice)
    return total // 2


def _paths_to_earlier(graph: Graph) -> Iterator[tuple[int, Sparse, Sparse]]:
    """Yield for blocks of vertices the first one, their earlier neighbors, and how many paths lead over these.

    The paths have two edges and lead to earlier vertices.
    """
    lists = graph.sorted_out
    src, xp = lists.owners(), array_module(lists.indices)
    back = lists.indices < src
    src, dst = src[back], lists.indices[back]
    starts = xp.searchsorted(src, xp.arange(graph.n + 1))  # start of each vertex's list of earlier neighbors
    sums = running_sums(graph.out_degrees[dst])
    for part in shares(sums[starts[1:]] - sums[starts[:-1]], PART):
        first, last, count = int(starts[part.start]), int(starts[part.stop]), part.stop - part.start
        bounds = starts[part.start : part.stop + 1] - first
        rows = Sparse((count, graph.n), bounds, dst[first:last], xp.ones(last - first, bool))
        paths = mxm(rows, graph, semirings.plus_pair)
        owners = Adjacency(paths.indptr, paths.indices).owners()
        before = paths.indices < owners + part.start
        indptr = running_sums(before)[paths.indptr]
        yield part.start, rows, Sparse(paths.shape, indptr, paths.indices[before], paths.data[before])


def by_degree(simple: Graph, hubs_first: bool = False) -> tuple[Graph, Any]:
    """Return the graph with vertices sorted by degree, then by id, and each one's original id. `hubs_first` falls.

    With `hubs_first` the order is reversed.
    """
    xp = array_module(simple.out.indices)
    degrees = simple.out_degrees.astype(np.int64) + simple.in_degrees
    order = xp.argsort(degrees * simple.n + xp.arange(simple.n)).astype(simple.id_dtype)
    order = xp.ascontiguousarray(order[::-1]) if hubs_first else order
    return in_order(simple, order), order


def in_order(simple: Graph, order: Any) -> Graph:
    """Return the graph with its vertices in an order, and ascending lists."""
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
