"""Oracles of cliques and patterns: cliques by Python's integers, matches by listing all.

Nothing is sampled: a number of cliques has no property that a wrong one would lack, so they are counted again.
"""

from collections.abc import Iterator, Mapping
from itertools import permutations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import Array, VerificationError, edges_of, require
from tests.oracles._common import adjacent

if TYPE_CHECKING:
    from scipy.sparse import csr_array

BATCH = 1 << 20  # approximate number of rows per block


def count_cliques(graph: Any, count: int, k: int) -> None:
    """Verify the number of cliques of k vertices; the graph is read as simple and undirected.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> triangle = csr_array([[0, 1, 1], [0, 0, 1], [0, 0, 0]])
    >>> count_cliques(triangle, 1, 3)
    >>> count_cliques(triangle, 2, 3)
    Traceback (most recent call last):
    gasla.verify.VerificationError: there are 1 cliques of 3 vertices, not 2
    """
    simple = edges_of(graph).simple()
    degree = np.diff(simple.indptr)
    rank = np.empty(len(degree), np.int64)
    rank[np.argsort(degree, kind="stable")] = np.arange(len(degree))
    right = 0
    for v in range(len(degree)):
        others = simple.indices[simple.indptr[v] : simple.indptr[v + 1]]
        later = others[rank[others] > rank[v]]
        if len(later) >= k - 1:
            right += _cliques(_bits(simple, later), (1 << len(later)) - 1, k - 1, 0)
    if count != right:
        raise VerificationError(f"there are {right} cliques of {k} vertices, not {count}")


def _bits(simple: "csr_array", vertices: Array) -> list[int]:
    """For each of some vertices, its neighbors among them as a bitmap."""
    place = {v: i for i, v in enumerate(vertices.tolist())}
    lists = (simple.indices[simple.indptr[v] : simple.indptr[v + 1]].tolist() for v in place)
    return [sum(1 << place[w] for w in near if w in place) for near in lists]


def _cliques(near: list[int], members: int, lack: int, pivots: int) -> int:
    """The number of cliques of `lack` vertices among members and pivots; pivots are adjacent to all."""
    if members.bit_count() + pivots < lack:
        return 0
    if not members or not lack:
        return comb(pivots, lack) if lack else 1
    pivot = max(_ones(members), key=lambda v: (near[v] & members).bit_count())
    total = 0
    for v in (pivot, *_ones(members & ~near[pivot] & ~(1 << pivot))):
        members &= ~(1 << v)
        total += _cliques(near, members & near[v], lack - (v != pivot), pivots + (v == pivot))
    return total


def _ones(bits: int) -> Iterator[int]:
    while bits:
        yield (bits & -bits).bit_length() - 1
        bits &= bits - 1


def subgraph_matches(
    graph: Any,
    matches: Any,
    pattern: ArrayLike,
    induced: bool = False,
    directed: bool = False,
    fitting: Mapping[tuple[int, int], Any] | None = None,
) -> None:
    """Verify matches of a pattern, or their number; the graph is read as simple, and undirected unless `directed`.

    `fitting` has graphs of the edges that fit at some edges of the pattern, such as those of a label.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> triangle, path = csr_array([[0, 1, 1], [0, 0, 1], [0, 0, 0]]), [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> subgraph_matches(triangle, [[0, 1, 2], [0, 2, 1], [1, 0, 2]], path)
    >>> subgraph_matches(triangle, [[0, 1, 2], [0, 2, 1], [2, 0, 1]], path)
    Traceback (most recent call last):
    gasla.verify.VerificationError: match 2 is [2 0 1], which is [1 0 2] in another order
    """
    both, edges = edges_of(graph).simple(), np.asarray(pattern) != 0
    simple = matrix_one_way(graph) if directed else both
    kinds = {pair: id(each) for pair, each in (fitting or {}).items()}
    kinds |= {} if directed else {(b, a): kind for (a, b), kind in kinds.items()}
    groups = [
        list(p)
        for p in permutations(range(len(edges)))
        if (edges[np.ix_(p, p)] == edges).all()
        and all(kinds.get((a, b)) == kinds.get((p[a], p[b])) for a, b in permutations(range(len(edges)), 2))
    ]
    count = int(matches) if np.ndim(matches) == 0 else len(matches)
    if np.ndim(matches):
        _check_rows(simple, np.asarray(matches), edges, induced, groups)
    chosen = {
        pair: matrix_one_way(each) if directed else edges_of(each).simple() for pair, each in (fitting or {}).items()
    }
    if np.ndim(matches):
        for (a, b), each in chosen.items():
            _check_fits(each, np.asarray(matches)[:, a], np.asarray(matches)[:, b])
    right = 0
    for rows in _embeddings(both, simple, edges, induced):
        fits = [adjacent(each, rows[:, a], rows[:, b]) for (a, b), each in chosen.items()]
        right += int(np.logical_and.reduce(fits, axis=0).sum()) if fits else len(rows)
    right //= len(groups)
    if count != right:
        raise VerificationError(f"the pattern is there {right} times, not {count}")


def _check_rows(simple: "csr_array", rows: Array, edges: Array, induced: bool, groups: list[list[int]]) -> None:
    n, k = simple.shape[0], len(edges)
    if rows.ndim != 2 or rows.shape[1] != k or rows.dtype.kind not in "iu":
        raise VerificationError(f"matches: rows of {k} integers were expected, not {rows.dtype}{rows.shape}")
    require((rows.min(axis=1) >= 0) & (rows.max(axis=1) < n), lambda r: f"match {r} is {rows[r]}, outside {n} vertices")
    for a, b in permutations(range(k), 2):
        _check_pair(simple, rows, a, b, bool(edges[a, b]), induced)
    for group in groups:
        _check_order(rows, rows[:, group])
    _, index, repeats = np.unique(rows, axis=0, return_index=True, return_counts=True)
    once = np.ones(len(rows), bool)
    once[index[repeats > 1]] = False
    require(once, lambda r: f"match {r} is {rows[r]}, which is there twice")


def _check_pair(simple: "csr_array", rows: Array, a: int, b: int, is_edge: bool, induced: bool) -> None:
    u, v = rows[:, a], rows[:, b]
    require(u != v, lambda r: f"match {r} is {rows[r]}, with a vertex twice")
    there = adjacent(simple, u, v)
    if is_edge:
        require(there, lambda r: f"match {r} is {rows[r]}, and {u[r]} and {v[r]} are not joined")
    elif induced:
        require(~there, lambda r: f"match {r} is {rows[r]}, and {u[r]} and {v[r]} are joined")


def _check_fits(fitting: "csr_array", u: Array, v: Array) -> None:
    require(adjacent(fitting, u, v), lambda r: f"match {r} has the edge {u[r]} - {v[r]}, which does not fit")


def _check_order(rows: Array, other: Array) -> None:
    at, first = np.arange(len(rows)), (other != rows).argmax(axis=1)
    comes_first = rows[at, first] <= other[at, first]
    require(comes_first, lambda r: f"match {r} is {rows[r]}, which is {other[r]} in another order")


def matrix_one_way(graph: Any) -> "csr_array":
    """The adjacency matrix of ones of the simple directed graph."""
    edges = edges_of(graph)
    pattern = edges.matrix(np.ones(edges.dst.size, np.int64), edges.src != edges.dst)
    pattern.sum_duplicates()
    pattern.data[:] = 1
    return pattern


def _embeddings(both: "csr_array", simple: "csr_array", edges: Array, induced: bool) -> Iterator[Array]:
    """Yield blocks of matches, automorphic ones included, extended along the edges of the pattern in either direction.

    `both` has all edges in both directions, `simple` those that are compared.
    """
    order, joined = [0], edges | edges.T
    while len(order) < len(edges):
        order.append(next(v for v in range(len(edges)) if v not in order and joined[v, order].any()))
    degree = np.diff(both.indptr)

    def extended(rows: Array, place: int) -> Iterator[Array]:
        if place == len(order):
            yield rows[:, np.argsort(order)]
            return
        wanted, backward = edges[order[:place], order[place]], edges[order[place], order[:place]]
        anchor = int((wanted | backward).argmax())
        sums = np.cumsum(degree[rows[:, anchor]])
        for part in (
            np.split(rows, np.unique(np.searchsorted(sums, np.arange(BATCH, sums[-1], BATCH)))) if len(rows) else ()
        ):
            near = degree[part[:, anchor]]
            starts = np.repeat(both.indptr[part[:, anchor]] - (np.cumsum(near) - near), near)
            more = np.column_stack([np.repeat(part, near, axis=0), both.indices[starts + np.arange(near.sum())]])
            keep = (more[:, :-1] != more[:, -1:]).all(axis=1)
            for other in range(place):
                if wanted[other] or induced:
                    keep &= adjacent(simple, more[:, other], more[:, -1]) == wanted[other]
                if backward[other] or induced:
                    keep &= adjacent(simple, more[:, -1], more[:, other]) == backward[other]
            yield from extended(more[keep], place + 1)

    yield from extended(np.arange(both.shape[0])[:, None], 1)
