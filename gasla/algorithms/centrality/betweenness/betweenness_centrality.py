"""Betweenness centrality: the fraction of shortest paths that pass through each vertex.

The score of v is the sum over pairs (s, t) of the fraction of shortest s-t paths that pass through v. It is computed by
Brandes' accumulation from every source (brandes.py).
"""

from collections.abc import Hashable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from gasla.algorithms.centrality.betweenness.brandes import SourcePaths, accumulate_sources, has_lengths, source_paths
from gasla.arrays import array_module, module_of
from gasla.graph.arguments import check_flags, chosen_sources
from gasla.graph.graph import Graph, as_graph, is_undirected
from gasla.graph.weights import takes_weight
from gasla.operations.on_one_device import on_one_device
from gasla.rows import Row, Task, scores


@takes_weight
@on_one_device("sources")
def betweenness_centrality(
    graph: Any,
    *,
    sources: Iterable[Hashable] | None = None,
    k: int | None = None,
    seed: Any = None,
    normalized: bool = True,
    weighted: bool = False,
    endpoints: bool = False,
) -> np.ndarray:
    """Compute the betweenness centrality of vertices: the fraction of all shortest paths that pass through each.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j. A symmetric matrix is an undirected graph, in which each pair counts once.
    sources : ids or names, optional
        Count only paths that start at these vertices, and scale the result to estimate the betweenness over all
        sources.
    k : int, optional
        Number of sources to draw at random, instead of `sources`.
    seed : int or numpy.random.Generator, optional
        Seed or generator for drawing the sources.
    normalized : bool
        Whether to divide by the number of pairs.
    weighted : bool
        Whether values are lengths, which must be positive. Otherwise every edge has length 1.
    endpoints : bool
        Whether a path also counts for its two ends.

    Returns
    -------
    (n,) float64
        The values of NetworkX's function of the same name, with two exceptions: they are finite for a single source
        (whose own score is 0), and they are correct if the number of shortest paths overflows float64.

    Raises
    ------
    ValueError
        If a source is not a vertex, or a length is not positive.

    Notes
    -----
    Parallel edges are different paths; stored zeros are edges unless `weighted`. Self loops do not matter. An edge of
    infinite length is ignored. A short edge may vanish when it is added to a large distance (`1 + 1e-23 == 1` in
    float64): among paths of equal float64 length, those with the fewest vanishing edges are the shortest.

    One search from each source: without `sources` or `k`, time in proportion to n (n + m), on a star too.

    On a GPU the function may return before its last kernels finish, as CuPy's functions do; later work on the same
    stream sees the finished result.

    References
    ----------
    U. Brandes: A faster algorithm for betweenness centrality. J. Mathematical Sociology 25 (2001).

    Examples
    --------
    >>> import gasla, numpy as np
    >>> from scipy.sparse import csr_array
    >>> path = csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> gasla.betweenness_centrality(path)
    array([0., 1., 0.])
    """
    graph = as_graph(graph)
    check_flags(normalized=normalized, weighted=weighted, endpoints=endpoints)
    weighted = has_lengths(graph, weighted)
    source_ids = chosen_sources(graph, sources, k, seed)
    if not source_ids:
        return module_of(graph.device).zeros(graph.n)
    scores = _sum_scores(graph, source_ids, weighted, endpoints)
    twice = not normalized and is_undirected(graph, weighted)
    return _divide_by_pairs(scores, source_ids, normalized, twice, endpoints)


def _sum_scores(graph: Graph, sources: list[int], weighted: bool, endpoints: bool) -> Any:
    """Return for each vertex its dependency, summed over the sources.

    The dependency of a vertex on a source is the sum over all targets of the fraction of the shortest paths from the
    source to the target that pass through the vertex. With `endpoints`, the paths that start or end at a vertex count
    as well.
    """
    has_sharers = graph.sharers(len(sources)) > 0
    if has_sharers and graph.is_whole:
        return graph.sum_shares(partial(_yield_total, weighted, endpoints), sources)
    if has_sharers:
        terms = graph.sum_shares(partial(_yield_terms, weighted, endpoints), sources)
        return terms[: graph.n] + terms[graph.n :] if endpoints else terms
    path_ends = module_of(graph.device).zeros(graph.n, np.int64)

    def count(paths: SourcePaths) -> None:
        _count_ends(paths, path_ends)

    scores = accumulate_sources(graph, sources, weighted, count if endpoints else None)
    return scores + path_ends if endpoints else scores


def _count_ends(paths: SourcePaths, path_ends: Any) -> None:
    """Add to `path_ends` for each vertex the number of shortest paths from one source that start or end at the vertex.

    One path ends at each vertex that is reached, and all of these paths start at the source.
    """
    is_reached = array_module(path_ends).greater(paths.levels, 0)
    path_ends += is_reached
    path_ends[paths.source] += is_reached.sum()


def _yield_total(weighted: bool, endpoints: bool, graph: Graph, sources: list[int]) -> Iterator[Any]:
    """Yield one array: the scores of all vertices, summed over the given sources.

    `Graph.sum_shares` calls this on each rank for the sources of the rank, and adds up the arrays.
    """
    yield _sum_scores(graph, sources, weighted, endpoints)


def _yield_terms(weighted: bool, endpoints: bool, graph: Graph, sources: list[int]) -> Iterator[Any]:
    """Yield an array for each source: the dependencies of all vertices, and after them, with `endpoints`, the counts of
    ends.

    A count of ends is the number of shortest paths from the source that start or end at a vertex. `Graph.sum_shares`
    calls this on each rank, and adds up the arrays.
    """
    xp: Any = module_of(graph.device)
    for paths in source_paths(graph, sources, weighted):
        score = paths.state["score"]
        if endpoints:
            path_ends = xp.zeros(graph.n)
            _count_ends(paths, path_ends)
            score = xp.concatenate([score, path_ends])
        yield score


def _divide_by_pairs(score_sums: Any, source_ids: list[int], normalized: bool, twice: bool, endpoints: bool) -> Any:
    """Divide the betweenness scores of vertices by the number of pairs of vertices, in place, and return them.

    If only some vertices are sources, the result is an estimate for all sources. A source is never an inner vertex of
    its own paths, so a source among the chosen ones gets its dependencies from one source fewer, which is corrected.
    `twice` says that each pair was counted from both of its ends and should count once.
    """
    n = len(score_sums)
    end_count = n if endpoints else n - 1
    if end_count < 2:
        return score_sums
    pairs = float(len(source_ids) if len(source_ids) < n else end_count)
    pairs *= end_count - 1 if normalized else 2 if twice else 1
    # a product with the reciprocal is faster than a division, and rounds as NetworkX does
    score_sums *= 1 / pairs if normalized else end_count / pairs
    if 1 < len(source_ids) < n and not endpoints:
        score_sums[np.array(source_ids)] *= len(source_ids) / (len(source_ids) - 1)
    return score_sums


ROW = Row(
    betweenness_centrality,
    scores(
        *("betweenness", {"scores": "betweenness"}), lambda f: f.from_sources("highest betweenness, by shortest paths")
    ),
    Task("betweenness", {"normalized": False}, form="up_to_a_factor", agree="near", may_overflow=True),
    method="Brandes's dependencies (2001) by sparse products: TurboBC (Artiles, Saeed, ICPP Workshops 2021)",
    longer="Four sources: from each a search, and two passes over all edges with sums of 8 bytes at their ends.",
)
