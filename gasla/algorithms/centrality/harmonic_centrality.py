"""Harmonic centrality: how near a vertex is to all others, where those that can't reach it are infinitely far.

Returned is the sum, over all other vertices, of one over the distance from each.

Searches from all vertices, or from some that are drawn, each add to a sum at every vertex that they reach.

P. Boldi, S. Vigna: Axioms for centrality. Internet Mathematics 10 (2014).
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
from gasla.arrays import module_of
from gasla.graph.arguments import chosen_sources, several_vertices
from gasla.graph.graph import Graph, as_graph


def harmonic_centrality(
    graph: Any,
    nbunch: Iterable[int] | None = None,
    distance: Literal["weight"] | None = None,
    sources: Iterable[int] | None = None,
    *,
    k: int | None = None,
    seed: Any = None,
) -> np.ndarray:
    """Sum over all other vertices of one over the distance from them.

    Parameters
    ----------
    graph : Graph or SciPy sparse array or matrix
        `A[i, j]` is the edge i -> j. Distances are those *to* a vertex, along edges; for those from it give the
        transposed matrix.
    nbunch : ids, optional
        The vertices that are asked about, a search each; by default all are.
    distance : "weight", optional
        The matrix's values are lengths, 0 or more; otherwise every edge counts as one.
    sources : ids, optional
        Only distances from these vertices are summed up.
    k : int, optional
        In place of `sources`: how many to draw at random. The sum is then scaled, to estimate that over all.
    seed : int or numpy.random.Generator, optional
        For drawing them.

    Returns
    -------
    (n,) float64, or (len(nbunch),)
        As NetworkX's function of the same name gives. Distances of 0 are left out.

    Raises
    ------
    TypeError, ValueError
        For vertices that are none, a `distance` that is neither None nor "weight", or lengths that are negative.

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
    is_weighted = asks_for_lengths(graph, distance)
    chosen = chosen_sources(graph, sources, k, seed)
    xp: Any = module_of(graph.device)
    if nbunch is None:
        _, total = distance_sums(graph, chosen, weighted=is_weighted, inverse=True)
        return total if k is None else total * _scale(graph, chosen)
    asked = several_vertices(graph, "nbunch", nbunch)
    backwards = reversed_edges(graph, is_weighted)
    sums = [_sum_to(backwards, v, chosen, is_weighted) for v in asked]
    total = xp.stack(sums) if sums else xp.zeros(0)
    return total if k is None else total * _scale(graph, chosen)[xp.asarray(asked, np.int64)]


def _sum_to(backwards: Graph, v: int, sources: list[int], is_weighted: bool) -> Any:
    xp: Any = module_of(backwards.device)
    distance = distances_to(backwards, v, weighted=is_weighted)[xp.asarray(sources, np.int64)]
    return (1 / distance[distance > 0]).sum()


def _scale(graph: Graph, sources: list[int]) -> Any:
    """How many others a vertex has, over how many of them were drawn; 0 where that is none."""
    xp: Any = module_of(graph.device)
    drawn = others(graph, sources)
    return xp.where(drawn > 0, (graph.n - 1) / xp.maximum(drawn, 1), 0.0)
