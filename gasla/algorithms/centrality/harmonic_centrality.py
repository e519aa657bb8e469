"""Harmonic centrality: the sum of the inverse distances from all other vertices.

Vertices without a path to a vertex are infinitely far from it, and add 0 to its sum. Searches from all vertices, or
from a random sample, each add to a sum at every vertex that they reach (distance_sums.py).
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
from gasla.arrays import module_of
from gasla.graph.arguments import chosen_sources, several_vertices
from gasla.graph.graph import Graph, as_graph
from gasla.graph.weights import takes_weight
from gasla.operations.on_one_device import on_one_device
from gasla.rows import Row, Task, scores


@takes_weight
@on_one_device("sources")
def harmonic_centrality(
    graph: Any,
    nbunch: Iterable[Hashable] | None = None,
    distance: Literal["weight"] | None = None,
    sources: Iterable[Hashable] | None = None,
    *,
    k: int | None = None,
    seed: Any = None,
    weighted: bool = False,
) -> np.ndarray:
    """Compute the harmonic centrality of every vertex, or of some.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j. Distances are those *to* a vertex along the edges; pass the transposed matrix for
        distances from it.
    nbunch : ids or names, optional
        Compute only the scores of these vertices, by one search each.
    distance : "weight", optional
        NetworkX's word for `weighted`.
    sources : ids or names, optional
        Sum only over distances from these vertices.
    k : int, optional
        Number of sources to draw at random, instead of `sources`. The sum is scaled to estimate the sum over all.
    seed : int or numpy.random.Generator, optional
        Seed or generator for drawing the sources.
    weighted : bool
        Whether values are lengths, 0 or more; by default every edge has length 1.

    Returns
    -------
    (n,) float64, or (len(nbunch),)
        The values of NetworkX's function of the same name. Distances of 0 are left out.

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
    P. Boldi, S. Vigna: Axioms for centrality. Internet Mathematics 10 (2014).

    Examples
    --------
    >>> import gasla, numpy as np
    >>> from scipy.sparse import csr_array
    >>> path = csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> gasla.harmonic_centrality(path)
    array([1.5, 2. , 1.5])
    >>> gasla.harmonic_centrality(path, nbunch=[1])
    array([2.])
    """
    graph = as_graph(graph)
    weighted = has_lengths(graph, distance, weighted)
    source_ids = chosen_sources(graph, sources, k, seed)
    xp: Any = module_of(graph.device)
    if nbunch is None:
        _, inverse_total = distance_sums(graph, source_ids, weighted=weighted, inverse=True)
        return inverse_total if k is None else inverse_total * _sample_factor(graph, source_ids)
    vertices = several_vertices(graph, "nbunch", nbunch)
    backwards = reversed_edges(graph, weighted)
    inverse_total, ids = xp.zeros(len(vertices)), xp.asarray(source_ids, np.int64)
    for i, v in enumerate(vertices):
        distances = distances_to(backwards, v, weighted=weighted)[ids]
        with np.errstate(over="ignore"):  # the inverse of a subnormal distance may overflow to inf
            inverse_total[i] = (1 / distances[distances > 0]).sum()
    return (
        inverse_total
        if k is None
        else inverse_total * _sample_factor(graph, source_ids)[xp.asarray(vertices, np.int64)]
    )


def _sample_factor(graph: Graph, sources: list[int]) -> Any:
    """Return for each vertex the factor by which a sum over sampled sources estimates the sum over all vertices.

    The factor is the number of other vertices over the number of sampled sources other than the vertex, or 0 if there
    is no such source.
    """
    xp: Any = module_of(graph.device)
    source_count = count_others(graph, sources)
    return xp.where(source_count > 0, (graph.n - 1) / xp.maximum(source_count, 1), 0.0)


ROW = Row(
    harmonic_centrality,
    scores("harmonic", {"scores": "harmonic"}, lambda f: f.from_sources("highest closeness, by distances")),
    Task("harmonic", agree="near", several=64),
    "harmonic_centrality(g, weighted=True, k=8, seed=1)",
    method="MS-BFS with sums per level (Then et al., PVLDB 8, 2014)",
    longer="64 searches share the reading of edges, and a level waits for the one before.",
)
