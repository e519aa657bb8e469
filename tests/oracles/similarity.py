"""Oracle of the most similar vertices: rows of the adjacency matrix multiplied by SciPy."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import Array, VerificationError, edges_of
from gasla.verify.spot_checks import TOLERANCE, Measure, scored, weights_of


def top_k_similar(
    graph: Any, vertices: ArrayLike, scores: ArrayLike, k: int, measure: Measure = "jaccard", *, samples: int = 4096
) -> None:
    """Verify which vertices are most similar to each; the graph is read as simple and undirected.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> top_k_similar(path, [[2], [-1], [0]], [[1.0], [0.0], [1.0]], 1)
    >>> top_k_similar(path, [[2], [-1], [-1]], [[1.0], [0.0], [0.0]], 1)
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 2 has 0 others; 1 were expected
    """
    simple = edges_of(graph).simple()
    n, degree = simple.shape[0], np.diff(simple.indptr).astype(np.float64)
    found, score = np.asarray(vertices), np.asarray(scores)
    if found.shape != (n, k) or score.shape != (n, k) or found.dtype.kind not in "iu" or score.dtype.kind != "f":
        raise VerificationError(
            f"vertices, scores: {n} rows of {k} integers and of {k} floating-point numbers were expected, "
            f"not {found.dtype}{found.shape} and {score.dtype}{score.shape}"
        )
    chosen = np.arange(n) if n <= samples else np.random.default_rng(0).choice(n, samples, replace=False)
    weighed = simple.multiply(weights_of(measure, degree)).tocsr()
    for v in chosen.tolist():
        row = weighed[[v]] @ simple
        others, shared = row.indices[row.indices != v], row.data[row.indices != v]
        right = np.zeros(n)
        right[others] = scored(measure, np.full(len(others), degree[v]), degree[others], shared)
        _best_of(v, right, found[v], score[v], measure in ("jaccard", "overlap", "sorensen", "cosine"))


def _best_of(v: int, right: Array, found: Array, score: Array, is_exact: bool) -> None:
    """Verify one vertex, given its similarity to all others; ties are checked if scores are exact."""
    expected, count = min(int((right > 0).sum()), len(found)), int((found >= 0).sum())
    if count != expected:
        raise VerificationError(f"vertex {v} has {count} others; {expected} were expected")
    ids, here = found[:count], score[:count]
    if (found[count:] != -1).any() or score[count:].any() or (ids < 0).any():
        raise VerificationError(f"of vertex {v}, -1 and 0 were expected behind the last and nowhere else")
    if len(np.unique(ids)) < count or (ids >= len(right)).any() or v in ids:
        raise VerificationError(f"vertex {v} itself, or somebody twice, or no vertex is among its others: {ids}")
    wrong = ~np.isclose(here, right[ids], rtol=TOLERANCE, atol=0)
    if wrong.any():
        e = int(wrong.argmax())
        raise VerificationError(f"vertices {v} and {ids[e]} score {right[ids[e]]:.6g}, not {here[e]:.6g}")
    if (np.diff(here) > 0).any() or ((np.diff(here) == 0) & (np.diff(ids) < 0)).any():
        raise VerificationError(f"the others of vertex {v} are not in order: by score, and then by id")
    rest = right.copy()
    rest[ids] = 0
    if count and rest.max() > here[-1] * (1 + TOLERANCE):
        raise VerificationError(f"vertex {rest.argmax()} is more similar to {v} than {ids[-1]} is, and left out")
    ties = np.flatnonzero(rest[: ids[-1]] >= right[ids[-1]]) if count and is_exact else ids[:0]
    if len(ties):
        raise VerificationError(
            f"vertex {ties[0]} is as similar to {v} as {ids[-1]} is, has a smaller id, and is left out"
        )
