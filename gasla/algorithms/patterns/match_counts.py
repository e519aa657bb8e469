"""Counting of patterns of up to four vertices without listing matches, by sums over degrees and triangles.

With degrees d, and triangles t at vertices and at edges, the numbers of matches are:

    path of 3         the sum over vertices of d (d - 1) / 2
    star              the sum over vertices of d (d - 1) (d - 2) / 6
    path of 4         the sum over edges u - v of (d_u - 1) (d_v - 1), less 3 times the triangles
    tailed triangle   the sum over vertices of t (d - 2)
    diamond           the sum over edges of t (t - 1) / 2
    cycle of 4        the sum over pairs of c (c - 1) / 2, where c paths of two edges join the pair: each cycle is found
                      at its last vertex in the order of degrees and the opposite one
    triangle, clique  counted as such

These are all matches; the number of induced ones is obtained by subtracting those within larger patterns of as many
vertices. Sums are Python integers of any size.

A. Pinar, C. Seshadhri, V. Vishal: ESCAPE: Efficiently Counting All 5-Vertex Subgraphs. WWW 2017.
"""

from collections.abc import Callable
from math import comb
from typing import Any

import numpy as np

import semirings
from gasla.algorithms.patterns.pattern import Pattern
from gasla.arrays import any_true, array_module, moved, running_sums, shares
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph
from gasla.operations.matrices import mxm
from gasla.operations.primitives import count_cliques, count_common_neighbours, orient
from gasla.operations.sparse import Sparse

PART = 1 << 24  # paths of two edges per block
_BITS = 20  # bits of a factor that are multiplied at once: the sums fit in 64 bits


def matches(simple: Graph, pattern: Pattern, induced: bool) -> int:
    """Count the matches of a pattern in a simple graph."""
    if not simple.m:
        return simple.n if pattern.size == 1 else 0
    if not induced:
        return COUNTS[pattern.degrees](simple)
    found: dict[tuple[int, ...], int] = {}
    for one in sorted([pattern, *pattern.larger()], key=lambda p: -len(p.edges)):
        within = sum(one.copies_in(other) * found[other.degrees] for other in one.larger())
        found[one.degrees] = COUNTS[one.degrees](simple) - within
    return found[pattern.degrees]


def _degrees(simple: Graph) -> Any:
    return simple.out_degrees.astype(np.int64)


def _choices(values: Any, r: int) -> int:
    """The sum of the binomial coefficients (value over r) of some values."""
    if not len(values):
        return 0
    counts = moved(array_module(values).bincount(values), "cpu")
    return sum(comb(value, r) * int(counts[value]) for value in np.flatnonzero(counts).tolist())


def _product(a: Any, b: Any) -> int:
    """The sum of a * b for numbers that are 0 or more, as a Python integer."""
    total, shift = 0, 0
    while any_true(b > 0):
        total += int((a * (b & ((1 << _BITS) - 1))).sum()) << shift
        b, shift = b >> _BITS, shift + _BITS
    return total


def _triangles(simple: Graph) -> int:
    return count_cliques(simple, 3)


def _paths(simple: Graph) -> int:
    others, lists = (_degrees(simple) - 1).clip(min=0), simple.out
    sums = running_sums(others[lists.indices])
    beyond = sums[lists.indptr[1:]] - sums[lists.indptr[:-1]]  # exact even if the sums have wrapped around
    return _product(others, beyond) // 2 - 3 * _triangles(simple)


def _tailed_triangles(simple: Graph) -> int:
    _, triangles = count_common_neighbours(orient(simple), per_vertex=True)
    return _product((_degrees(simple) - 2).clip(min=0), triangles)


def _diamonds(simple: Graph) -> int:
    _, triangles = count_common_neighbours(orient(simple), per_edge=True)
    return _choices(triangles, 2) // 2  # each edge is stored twice


def _cycles(simple: Graph) -> int:
    graph, _ = by_degree(simple)
    lists = graph.sorted_out
    src, xp = lists.owners(), array_module(lists.indices)
    back = lists.indices < src
    src, dst = src[back], lists.indices[back]
    starts = xp.searchsorted(src, xp.arange(graph.n + 1))  # start of each vertex's list of preceding neighbors
    sums, total = running_sums(graph.out_degrees[dst]), 0
    for part in shares(sums[starts[1:]] - sums[starts[:-1]], PART):
        first, last, count = int(starts[part.start]), int(starts[part.stop]), part.stop - part.start
        bounds = starts[part.start : part.stop + 1] - first
        rows = Sparse((count, graph.n), bounds, dst[first:last], xp.ones(last - first, bool))
        paths = mxm(rows, graph, semirings.plus_pair)
        before = paths.indices < Adjacency(paths.indptr, paths.indices).owners() + part.start
        total += _choices(paths.data[before], 2)
    return total


def by_degree(simple: Graph) -> tuple[Graph, Any]:
    """The graph with its vertices sorted by degree, then by id; and the original id of each."""
    xp = array_module(simple.out.indices)
    order = xp.argsort(_degrees(simple) * simple.n + xp.arange(simple.n)).astype(simple.id_dtype)
    lists = simple.subgraph(order).sorted_out
    return Graph.from_csr(lists.indptr, lists.indices), order


COUNTS: dict[tuple[int, ...], Callable[[Graph], int]] = {
    (0,): lambda simple: simple.n,
    (1, 1): lambda simple: simple.m // 2,
    (1, 1, 2): lambda simple: _choices(_degrees(simple), 2),
    (2, 2, 2): _triangles,
    (1, 1, 1, 3): lambda simple: _choices(_degrees(simple), 3),
    (1, 1, 2, 2): _paths,
    (1, 2, 2, 3): _tailed_triangles,
    (2, 2, 2, 2): _cycles,
    (2, 2, 3, 3): _diamonds,
    (3, 3, 3, 3): lambda simple: count_cliques(simple, 4),
}
