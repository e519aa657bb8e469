"""Verifiers of random walks and samples: that they follow edges. Randomness itself cannot be seen in one answer."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import Array, Edges, VerificationError, edges_of, require


def random_walks(graph: Any, starts: ArrayLike, walks: ArrayLike, *, weighted: bool = False) -> None:
    """Verify random walks, plain or node2vec: each begins at its start, follows edges, and ends only without out-edges.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph.
    starts : array of integers
        The first vertex of each walker.
    walks : (walkers, length + 1) array of integers
        The answer.
    weighted : bool
        Whether edges of weight 0 are never followed.

    Raises
    ------
    VerificationError
        If the answer has another shape, or a walk breaks a property.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> pair = csr_array([[0, 1], [0, 0]])
    >>> random_walks(pair, [0], [[0, 1, -1]])
    >>> random_walks(pair, [0], [[0, 0, 1]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: walker 0 goes from 0 to 0 in step 0; there is no such edge
    """
    edges, begun, rows = edges_of(graph), np.asarray(starts), np.asarray(walks)
    if rows.ndim != 2 or len(rows) != len(begun) or rows.shape[1] == 0 or rows.dtype.kind != "i":
        raise VerificationError(
            f"walks are {rows.dtype}{rows.shape}; expected integers, a row for each of {len(begun)}"
        )
    require(rows[:, 0] == begun, lambda w: f"walker {w} begins at {rows[w, 0]}; expected {begun[w]}")
    _require_vertices(edges, rows)
    usable = edges.weight > 0 if weighted else np.ones(len(edges.dst), bool)
    has_edges = np.bincount(edges.src[usable], minlength=edges.n) > 0
    before, after = rows[:, :-1].ravel(), rows[:, 1:].ravel()
    steps, stays = rows.shape[1] - 1, after < 0
    ends = (before < 0) | ~has_edges[before] if edges.n else before < 0

    def describe(i: int) -> str:
        return f"walker {i // steps} goes from {before[i]} to {after[i]} in step {i % steps}"

    require(~stays | ends, lambda i: f"{describe(i)}; expected a step along an edge")
    require(stays | (before >= 0), lambda i: f"{describe(i)}; expected -1 after -1")
    known = _pairs(edges.n, edges.src[usable], edges.dst[usable])
    right = stays | np.isin(_pairs(edges.n, before, after), known)
    require(right, lambda i: f"{describe(i)}; there is no such edge")


def sample_neighbors(graph: Any, ids: ArrayLike, k: int, sampled: ArrayLike, *, replace: bool = False) -> None:
    """Verify sampled out-neighbors: their number, and that none is sampled more often than it has edges.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph.
    ids : array of integers
        The vertices that were sampled from.
    k, replace
        The arguments of `gasla.sample_neighbors`.
    sampled : (rows, k) array of integers
        The answer.

    Raises
    ------
    VerificationError
        If the answer has another shape, or a row breaks a property.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> pair = csr_array([[0, 1], [0, 0]])
    >>> sample_neighbors(pair, [0, 1], 2, [[1, -1], [-1, -1]])
    >>> sample_neighbors(pair, [0], 2, [[1, 1]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: row 0 of vertex 0 has 2 neighbors; expected 1
    """
    edges, asked, rows = edges_of(graph), np.asarray(ids), np.asarray(sampled)
    if rows.shape != (len(asked), k) or rows.dtype.kind != "i":
        raise VerificationError(f"samples are {rows.dtype}{rows.shape}; expected integers of shape {len(asked), k}")
    _require_vertices(edges, rows)
    degrees = np.diff(edges.indptr)[asked] if len(asked) else np.zeros(0, int)
    wanted = np.where(degrees > 0, k, 0) if replace else np.minimum(degrees, k)
    found = (rows >= 0).sum(axis=1)
    require(found == wanted, lambda i: f"row {i} of vertex {asked[i]} has {found[i]} neighbors; expected {wanted[i]}")
    require(((rows >= 0) == (np.arange(k) < found[:, np.newaxis])).all(axis=1), lambda i: f"row {i} has -1 inside")
    for i, row in enumerate(rows):
        _require_neighbors(edges, i, int(asked[i]), row[row >= 0], replace)


def _require_neighbors(edges: Edges, i: int, v: int, row: Iterable[int], replace: bool) -> None:
    """Verify that each sampled vertex is a neighbor, and not sampled more often than it has edges."""
    stored = edges.dst[edges.indptr[v] : edges.indptr[v + 1]]
    for x, count in zip(*np.unique(np.asarray(row), return_counts=True)):
        most = int((stored == x).sum())
        if count > most and not (replace and most):
            raise VerificationError(f"row {i} has {x} {count} times; expected at most {most}, its edges from {v}")


def _require_vertices(edges: Edges, rows: Array) -> None:
    require(
        ((rows >= -1) & (rows < edges.n)).ravel(),
        lambda i: f"{rows.flat[i]} is not a vertex; expected 0 to {edges.n - 1}, or -1",
    )


def _pairs(n: int, src: Array, dst: Array) -> Array:
    return src.astype(np.int64) * n + dst
