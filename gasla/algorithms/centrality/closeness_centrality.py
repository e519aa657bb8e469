"""Closeness: how near a vertex is to those from which it can be reached.

Returned is one over the mean distance to each vertex, scaled by the share of vertices from which it is reached.

Searches from all vertices, or from some that are drawn, each add to a sum at every vertex that they reach.

L. C. Freeman: Centrality in social networks: conceptual clarification. Social Networks 1 (1979).
D. Eppstein, J. Wang: Fast approximation of centrality. J. Graph Algorithms and Applications 8 (2004), on sampling.
"""

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from gasla.algorithms.centrality.distance_sums import (
    asks_for_lengths,
    distance_sums,
    distances_to,
    others,
    reversed_edges,
)
from gasla.arrays import array_module, module_of
from gasla.graph.arguments import check_flags, chosen_sources, source_vertex
from gasla.graph.graph import as_graph


def closeness_centrality(
    graph: Any,
    u: int | None = None,
    distance: Literal["weight"] | None = None,
    wf_improved: bool = True,
    *,
    sources: Iterable[int] | None = None,
    k: int | None = None,
    seed: Any = None,
) -> Any:
    """One over the mean distance from those vertices that reach a vertex, times the share that they are of all.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j. Distances are those *to* a vertex, along edges; for those from it give the
        transposed matrix.
    u : int, optional
        The one vertex that is asked about; by default all are.
    distance : "weight", optional
        The matrix's values are lengths, 0 or more; otherwise every edge counts as one.
    wf_improved : bool
        Multiply by the share of vertices from which a vertex is reached (Wasserman and Faust). Otherwise a vertex that
        few reach, from near, scores high.
    sources : ids, optional
        Only distances from these vertices are looked at: mean and share are taken over them, which estimates the
        result from all.
    k : int, optional
        In place of `sources`: how many to draw at random.
    seed : int or numpy.random.Generator, optional
        For drawing them.

    Returns
    -------
    (n,) float64, or a float
        As NetworkX's function of the same name gives; the float with `u`. 0 where no other vertex reaches.

    Raises
    ------
    TypeError, ValueError
        For vertices that are none, a `distance` that is neither None nor "weight", or lengths that are negative.

    References
    ----------
    L. C. Freeman: Centrality in social networks: conceptual clarification. Social Networks 1 (1979).
    D. Eppstein, J. Wang: Fast approximation of centrality. J. Graph Algorithms and Applications 8 (2004).

    Examples
    --------
    >>> import gasla, numpy as np
    >>> from scipy.sparse import csr_array
    >>> path = csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> gasla.closeness_centrality(path).round(3)
    array([0.667, 1.   , 0.667])
    """
    graph = as_graph(graph)
    check_flags(wf_improved=wf_improved)
    is_weighted = asks_for_lengths(graph, distance)
    chosen = chosen_sources(graph, sources, k, seed)
    if u is not None:
        u = source_vertex(graph, u, "u")
        to_it = distances_to(reversed_edges(graph, is_weighted), u, weighted=is_weighted)
        to_it = to_it[module_of(graph.device).asarray(chosen, np.int64)]
        reached = np.isfinite(to_it)
        nearness = _nearness(reached.sum(), to_it[reached].sum(), len(chosen) - (u in chosen), wf_improved)
        return float(nearness)
    count, total = distance_sums(graph, chosen, weighted=is_weighted, inverse=False)
    return _nearness(count, total, others(graph, chosen), wf_improved)


def _nearness(count: Any, total: Any, among: Any, wf_improved: bool) -> Any:
    """From how many a vertex is reached, over the sum of their distances; and the share that they are of so many."""
    xp: Any = array_module(count)
    mean = xp.where(total > 0, count / xp.where(total > 0, total, 1), 0.0)
    return mean * (count / xp.maximum(among, 1)) if wf_improved else mean
