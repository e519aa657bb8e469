"""Closeness centrality: the inverse of the mean distance to a vertex from the vertices that reach it.

By default the inverse is multiplied by the fraction of vertices that reach the vertex (Wasserman and Faust). Searches
from all vertices, or from a random sample, each add to a count and to a sum of distances at every vertex that they
reach (distance_sums.py).
"""

from collections.abc import Hashable, Iterable
from typing import Any, Literal

import numpy as np

from gasla.algorithms.centrality.distance_sums import (
    count_others,
    distance_sums,
    distances_to,
    has_lengths,
    reversed_edges,
)
from gasla.arrays import array_module, module_of
from gasla.graph.arguments import check_flags, chosen_sources
from gasla.graph.exchange.vertex_names import translate_vertex
from gasla.graph.graph import as_graph
from gasla.graph.weights import takes_weight
from gasla.operations.on_one_device import on_one_device
from gasla.rows import Row, Task, scores


@takes_weight
@on_one_device("sources")
def closeness_centrality(
    graph: Any,
    u: Hashable | None = None,
    distance: Literal["weight"] | None = None,
    wf_improved: bool = True,
    *,
    sources: Iterable[Hashable] | None = None,
    k: int | None = None,
    seed: Any = None,
    weighted: bool = False,
) -> Any:
    """Compute the closeness centrality of every vertex, or of one.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j. Distances are those *to* a vertex along the edges; pass the transposed matrix for
        distances from it.
    u : int or name, optional
        Compute the closeness of this vertex alone.
    distance : "weight", optional
        NetworkX's word for `weighted`.
    wf_improved : bool
        Whether to multiply by the fraction of vertices that reach a vertex (Wasserman and Faust). Without it, a vertex
        scores high if only a few near vertices reach it.
    sources : ids or names, optional
        Use only distances from these vertices: mean and fraction are taken over them, which estimates the result for
        all.
    k : int, optional
        Number of sources to draw at random, instead of `sources`.
    seed : int or numpy.random.Generator, optional
        Seed or generator for drawing the sources.
    weighted : bool
        Whether values are lengths, 0 or more; by default every edge has length 1.

    Returns
    -------
    (n,) float64, or a float
        The values of NetworkX's function of the same name; a float if `u` is given. 0 if no other vertex reaches it.

    Raises
    ------
    TypeError, ValueError
        If a vertex is not in the graph, `distance` is neither None nor "weight", or a length is negative.

    Notes
    -----
    Stored zeros are edges, of length 0 with `weighted=True`. Of parallel edges the shortest counts. Self loops do
    not matter.

    One search from each vertex: in all, time in proportion to n (n + m), on a star too.

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
    weighted = has_lengths(graph, distance, weighted)
    source_ids = chosen_sources(graph, sources, k, seed)
    if u is not None:
        u = translate_vertex(graph, u, "u")
        distances = distances_to(reversed_edges(graph, weighted), u, weighted=weighted)
        distances = distances[module_of(graph.device).asarray(source_ids, np.int64)]
        is_reached = np.isfinite(distances)
        with np.errstate(over="ignore"):  # a sum beyond the range of float64 is inf, without a warning
            distance_total = distances[is_reached].sum()
        return float(_closeness(is_reached.sum(), distance_total, len(source_ids) - (u in source_ids), wf_improved))
    count, distance_total = distance_sums(graph, source_ids, weighted=weighted, inverse=False)
    return _closeness(count, distance_total, count_others(graph, source_ids), wf_improved)


def _closeness(count: Any, distance_total: Any, sources: Any, wf_improved: bool) -> Any:
    """Return the closeness of vertices from sums of distances.

    `count` is the number of sources that reach a vertex, `distance_total` the sum of their distances, and `sources` the
    number of all sources other than the vertex.
    """
    xp: Any = array_module(count)
    with np.errstate(over="ignore"):  # the inverse of a subnormal distance may overflow to inf
        mean = xp.where(distance_total > 0, count / xp.where(distance_total > 0, distance_total, 1), 0.0)
    return mean * (count / xp.maximum(sources, 1)) if wf_improved else mean


ROW = Row(
    closeness_centrality,
    scores(
        *("closeness", {"scores": "closeness"}, lambda f: f.from_sources("highest closeness, by distances")),
        fixed={"u": None},
    ),
    Task("closeness", agree="near", several=64),
    "closeness_centrality(g, k=8, seed=1)",
    "closeness_centrality(g, weighted=True, k=8, seed=1)",
    method="MS-BFS with sums per level (Then et al., PVLDB 8, 2014)",
    longer="64 searches share the reading of edges, and a level waits for the one before.",
)
