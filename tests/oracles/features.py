"""Oracle of aggregated features."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import Array, Edges, VerificationError, edges_of, require

BLOCK = 1 << 22  # products of edges and features per block


def aggregate_features(
    graph: Any, features: ArrayLike, aggregated: ArrayLike, reduce: str = "sum", *, weighted: bool = True
) -> None:
    """Verify aggregated features: sums and means by SciPy's product, maxima and minima edge by edge.

    Sums may differ by the rounding of their own type.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> pair = csr_array([[0.0, 2.0], [0.0, 0.0]])
    >>> aggregate_features(pair, [[1.0], [5.0]], [[0.0], [2.0]])
    >>> aggregate_features(pair, [[1.0], [5.0]], [[0.0], [5.0]])
    Traceback (most recent call last):
    gasla.verify.VerificationError: feature 0 of vertex 1 comes to 5.0; expected 2.0
    """
    edges, rows, given = edges_of(graph), np.asarray(features), np.asarray(aggregated)
    if given.shape != rows.shape:
        raise VerificationError(f"the answer has shape {given.shape}; expected that of the features, {rows.shape}")
    k = rows.shape[1] if rows.ndim == 2 else 1
    rows, found = rows.reshape(edges.n, k), given.reshape(edges.n, k).astype(np.float64)
    weight = edges.weight if weighted else np.ones(len(edges.weight))
    if reduce in ("sum", "mean"):
        right, size = _sums(edges, weight, rows, reduce == "mean")
        degrees = np.bincount(edges.dst, minlength=edges.n)[:, np.newaxis]
        kind = given.dtype if given.dtype.kind == "f" else np.dtype(np.float64)
        slack = (2 + degrees) * np.finfo(kind).eps * size
    else:
        right, slack = _extremes(edges, weight, rows, np.maximum if reduce == "max" else np.minimum, given.dtype)
    with np.errstate(invalid="ignore"):
        same = (found == right) | (np.abs(found - right) <= slack) | (np.isnan(found) & np.isnan(right))
    require(
        same.ravel(),
        lambda i: f"feature {i % k} of vertex {i // k} comes to {found.flat[i]}; expected {right.flat[i]}",
    )


def _sums(edges: Edges, weight: Array, rows: Array, mean: bool) -> tuple[Array, Array]:
    """Sums or means, and the size that their rounding errors are proportional to."""
    rows = rows.astype(np.float64)
    with np.errstate(all="ignore"):
        sums = edges.matrix(weight).T @ rows
        sizes = edges.matrix(np.abs(weight)).T @ np.abs(rows)
        total = np.bincount(edges.dst, weight, edges.n)[:, np.newaxis]
        total = np.where(mean & (total != 0), total, 1)
        return sums / total, sizes / np.abs(total)


def _extremes(edges: Edges, weight: Array, rows: Array, better: np.ufunc, kind: Any) -> tuple[Array, Array]:
    """Maxima or minima, 0 without in-edges; and a bound of the rounding of products."""
    right = np.zeros(rows.shape)
    order = np.argsort(edges.dst, kind="stable")
    vertices, first = np.unique(edges.dst[order], return_index=True)
    step = max(1, BLOCK // max(len(order), 1))
    for begin in range(0, rows.shape[1] if len(order) else 0, step):
        come = rows[edges.src[order], begin : begin + step].astype(np.float64) * weight[order, np.newaxis]
        right[vertices, begin : begin + step] = better.reduceat(come, first, axis=0)
    return right, 2 * np.finfo(kind if np.dtype(kind).kind == "f" else np.float64).eps * np.abs(right)
