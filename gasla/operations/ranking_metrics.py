"""Measure how well a ranking of vertices predicts the edges of a test set: recall, precision, NDCG, reciprocal rank."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import any_true, distinct, module_of, moved
from gasla.graph.arguments import vertex_ids
from gasla.graph.graph import whole_graph
from gasla.graph.validate import as_array
from gasla.rows import Row

Array = Any  # an array of NumPy or CuPy


class RankingMetrics(NamedTuple):
    """Measures of how well rankings of vertices predict edges, as means over the sources with an edge in the test set.

    `sources` is the number of these sources.
    """

    recall: float
    precision: float
    ndcg: float
    mrr: float
    hit_rate: float
    sources: int


def ranking_metrics(ranked: Array, test: Any, sources: Iterable[Hashable] | None = None) -> RankingMetrics:
    """Measure how well rankings of vertices, one for each source, predict the edges of a test set.

    Parameters
    ----------
    ranked : (s, k) array of integers
        For each source k vertices, the best first, padded with -1: the `vertices` of `top_k_pagerank` or of
        `top_k_similar`. The metrics are those "at k"; ``ranked[:, :10]`` are the best ten.
    test : Graph, or SciPy or CuPy sparse array
        The edges of the test set. The right answers for a source are its out-neighbors.
    sources : several vertices, optional
        The source of each row; by default vertex i of row i.

    Returns
    -------
    RankingMetrics(recall, precision, ndcg, mrr, hit_rate, sources)
        Means over the sources with an out-neighbor in `test`, of which there are `sources`. With h of the k vertices
        right, and r right answers: recall is h / r; precision is h / k; ndcg (normalized discounted cumulative gain)
        is the sum of 1 / log2(i + 1) over the places i of right ones, from 1 on, over the largest possible sum; mrr is
        the inverse of the first such place, or 0; hit_rate is 1 if h > 0.

    Raises
    ------
    TypeError, ValueError
        If `ranked` is not such an array, a row has a vertex twice, there is not one source for each row, or no source
        has an edge in `test`.

    See Also
    --------
    gasla.split_edges : makes a training set and a test set.
    gasla.top_k_pagerank, gasla.top_k_similar : rank vertices.

    References
    ----------
    K. Järvelin, J. Kekäläinen: Cumulated gain-based evaluation of IR techniques. ACM Transactions on Information
    Systems 20 (2002).

    Examples
    --------
    >>> import gasla
    >>> test = gasla.Graph.from_edges([0, 0, 1], [3, 4, 5], n=6)
    >>> found = gasla.ranking_metrics([[2, 3, 4], [5, 3, -1]], test, [0, 1])
    >>> found.recall, found.mrr, round(found.ndcg, 3)
    (1.0, 0.75, 0.847)
    """
    test = whole_graph(test)
    xp: Any = module_of(test.device)
    rows = moved(as_array("ranked", ranked), test.device)
    if rows.ndim != 2 or rows.shape[1] == 0 or rows.dtype.kind not in "iu":
        raise TypeError(f"ranked is {rows.dtype}{rows.shape}; expected integers, k columns for each source")
    count, k = rows.shape
    ids = xp.arange(count) if sources is None else vertex_ids(test, "sources", sources)
    if len(ids) != count or (sources is None and count > test.n):
        raise ValueError(
            f"ranked has {count} rows, and there are {len(ids)} sources of {test.n} vertices; expected a row for each"
        )
    if any_true((rows < -1) | (rows >= test.n)):
        row = int(((rows < -1) | (rows >= test.n)).any(axis=1).argmax())
        raise ValueError(f"row {row} of ranked has a vertex outside a graph of {test.n} vertices; expected ids, or -1")
    sorted_rows = xp.sort(rows, axis=1)
    again = (sorted_rows[:, 1:] == sorted_rows[:, :-1]) & (sorted_rows[:, 1:] >= 0)
    if any_true(again):
        raise ValueError(f"row {int(again.any(axis=1).argmax())} of ranked has a vertex twice; expected each once")
    src, dst = test.edges()
    pairs = distinct(src.astype(np.int64) * test.n + dst)
    relevant_counts = xp.bincount(pairs // max(test.n, 1), minlength=test.n)[ids]
    is_right = test.edge_ids(xp.repeat(ids, k), xp.maximum(rows, 0).ravel()).reshape(count, k) >= 0
    is_right &= rows >= 0
    source_ids = relevant_counts > 0
    if not any_true(source_ids):
        raise ValueError("no source has an out-neighbor in test; expected the edges of a test set")
    relevant_counts, is_right = relevant_counts[source_ids], is_right[source_ids]
    gains = 1 / xp.log2(xp.arange(k) + 2.0)
    hits, best_gains = is_right.sum(axis=1), xp.cumsum(gains)[xp.minimum(relevant_counts, k) - 1]
    means = (
        hits / relevant_counts,
        hits / k,
        (is_right * gains).sum(axis=1) / best_gains,
        xp.where(hits > 0, 1 / (1 + is_right.argmax(axis=1)), 0),
        hits > 0,
    )
    recall, precision, ndcg, mrr, hit_rate = (float(mean.mean()) for mean in means)
    return RankingMetrics(recall, precision, ndcg, mrr, hit_rate, len(relevant_counts))


ROW = Row(
    ranking_metrics,
    method="a sorted join of lists and answers (Järvelin, Kekäläinen, ACM TOIS 20, 2002)",
    longer="All edges are sorted as numbers of pairs, and each entry of the lists is looked up among them.",
)
