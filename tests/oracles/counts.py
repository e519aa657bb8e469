"""Oracles of triangles, clustering and square clustering, by masked sparse products."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import Array, VerificationError, edges_of, require, vertex_answer
from tests.oracles._common import blocks

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def triangles(
    graph: Any,
    total: int,
    per_vertex: ArrayLike | None = None,
    *,
    effort: float = 3e8,
    samples: int = 64,
    seed: int = 0,
) -> None:
    """Verify a count of triangles; the graph is read as simple and undirected.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> triangle = csr_array([[0, 1, 1], [0, 0, 1], [0, 0, 0]])
    >>> triangles(triangle, 1, [1, 1, 1])
    >>> triangles(triangle, 1, [1, 2, 0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 1 is in 1 triangles, not 2
    """
    simple = edges_of(graph).simple()
    n = simple.shape[0]
    count = None if per_vertex is None else vertex_answer("per_vertex", per_vertex, n, "iu").astype(np.int64)
    if count is not None and int(count.sum()) != 3 * total:
        raise VerificationError(
            f"the counts of all vertices sum to {count.sum()}, not to 3 × {total}: every triangle has three corners"
        )
    degree = np.diff(simple.indptr).astype(np.int64)
    oriented = _oriented(simple, degree)
    out_degree = np.diff(oriented.indptr).astype(np.int64)
    work = int((out_degree**2).sum() + out_degree[oriented.indices].sum())
    if count is None or work <= effort:
        right = _count_triangles(oriented)
        if count is not None:
            require(count == right, lambda v: f"vertex {v} is in {right[v]} triangles, not {count[v]}")
        if right.sum() != 3 * total:
            raise VerificationError(f"there are {right.sum() // 3} triangles, not {total}")
        return
    most = degree * (degree - 1) // 2
    require(
        (count >= 0) & (count <= most),
        lambda v: f"vertex {v} has {degree[v]} neighbors, so that {count[v]} triangles are impossible",
    )
    chosen = np.random.default_rng(seed).choice(n, min(samples, n), replace=False)
    for v in map(int, chosen):
        neighbors = simple.indices[simple.indptr[v] : simple.indptr[v + 1]]
        around = simple[neighbors][:, neighbors].nnz // 2
        if count[v] != around:
            raise VerificationError(f"vertex {v} is in {around} triangles, not {count[v]}")


def clustering(graph: Any, scores: ArrayLike) -> None:
    """Verify clustering coefficients by counting triangles again.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> triangle = csr_array([[0, 1, 1], [0, 0, 1], [0, 0, 0]])
    >>> clustering(triangle, [1.0, 1.0, 1.0])
    >>> clustering(triangle, [1.0, 0.5, 1.0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: the clustering of vertex 1 is 1, not 0.5
    """
    simple = edges_of(graph).simple()
    score = vertex_answer("scores", scores, simple.shape[0], "f")
    degree = np.diff(simple.indptr).astype(np.int64)
    right = _count_triangles(_oriented(simple, degree)) / np.maximum(degree * (degree - 1) // 2, 1)
    require(
        np.abs(score - right) <= 1e-12,
        lambda v: f"the clustering of vertex {v} is {right[v]:.6g}, not {score[v]:.6g}",
    )


def square_clustering(graph: Any, scores: ArrayLike) -> None:
    """Verify square clustering coefficients: each square is counted at its corner of highest degree.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> square = csr_array([[0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    >>> square_clustering(square, [1.0, 1.0, 1.0, 1.0])
    >>> square_clustering(square, [1.0, 0.5, 1.0, 1.0])
    Traceback (most recent call last):
    gasla.verify.VerificationError: the square clustering of vertex 1 is 1, not 0.5
    """
    simple = edges_of(graph).simple()
    n, degree = simple.shape[0], np.diff(simple.indptr).astype(np.int64)
    score, squares = vertex_answer("scores", scores, n, "f"), np.zeros(n, np.int64)
    rank = _rank(degree)
    below = _oriented(simple, degree).T.tocsr()  # the neighbors of each that come before it
    for rows in blocks(below @ degree):
        middle, last = below[rows].indices, np.repeat(np.arange(n)[rows], np.diff(below.indptr)[rows])
        u, v = (np.repeat(ends, degree[middle]) for ends in (middle, last))
        w = simple[middle].indices
        before = rank[w] < rank[v]
        corners, path, count = np.unique(v[before] * n + w[before], return_inverse=True, return_counts=True)
        np.add.at(squares, np.concatenate(np.divmod(corners, n)), np.tile(count * (count - 1) // 2, 2))
        np.add.at(squares, u[before], count[path] - 1)
    joined = _count_triangles(_oriented(simple, degree))
    possible = (degree - 1) * (simple @ degree - degree) - 2 * joined - squares
    right = np.where(possible > 0, squares / np.maximum(possible, 1), 0)
    require(
        np.abs(score - right) <= 1e-12,
        lambda v: f"the square clustering of vertex {v} is {right[v]:.6g}, not {score[v]:.6g}",
    )


def _rank(degree: Array) -> Array:
    """The position of each vertex in the order of degrees."""
    rank = np.empty(degree.size, np.int64)
    rank[np.argsort(degree, kind="stable")] = np.arange(degree.size)
    return rank


def _oriented(simple: "csr_array", degree: Array) -> "csr_array":
    """Each undirected edge once, from the end of lower degree: no vertex keeps many out-edges."""
    from scipy.sparse import csr_array

    rank = _rank(degree)
    coo = simple.tocoo()
    upward = rank[coo.row] < rank[coo.col]
    return csr_array((coo.data[upward], (coo.row[upward], coo.col[upward])), shape=simple.shape)


def _count_triangles(oriented: "csr_array") -> Array:
    """Triangles u → v → w with u → w, counted at all three corners by masked sparse products."""
    n = oriented.shape[0]
    low, middle, high = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    backward = oriented.T.tocsr()
    for rows in row_blocks(oriented):
        closed = (oriented[rows] @ oriented).multiply(oriented[rows])  # at (u, w): how many v
        low[rows] += np.asarray(closed.sum(axis=1)).ravel()
        high += np.asarray(closed.sum(axis=0)).ravel()
        middle[rows] += np.asarray((backward[rows] @ oriented).multiply(oriented[rows]).sum(axis=1)).ravel()
    return low + middle + high


def row_blocks(matrix: "csr_array", entries: int = 1 << 18) -> Iterator[slice]:
    """Slices of rows with about `entries` entries each."""
    cuts = np.searchsorted(matrix.indptr, np.arange(0, matrix.nnz, entries))
    cuts = np.unique(np.append(np.minimum(cuts, matrix.shape[0]), matrix.shape[0]))
    start = 0
    for cut in map(int, cuts):
        if cut > start:
            yield slice(start, cut)
        start = cut
