"""Oracle of square clustering: squares are counted at their corners."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import Array, edges_of, require, vertex_answer
from gasla.verify.spot_checks import edges_among_neighbors
from tests.oracles._common import blocks

if TYPE_CHECKING:
    from scipy.sparse import csr_array


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
    joined = edges_among_neighbors(simple, np.arange(n))
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
