"""Verify matchings: mates are each other's, and no edge could be added or would be better."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import answer, edge_name, edges_of, require, without_loops


def maximal_matching(graph: Any, mates: ArrayLike, *, weighted: bool = False) -> None:
    """Verify a maximal matching, and with weights that no edge outweighs those at both of its ends.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph; directions and loops mean nothing, and of parallel edges the heaviest counts.
    mates : array of int
        The mate of each vertex, -1 where it has none.
    weighted : bool
        Whether heavier edges go first; it then has at least half the weight of the heaviest matching.

    Raises
    ------
    VerificationError
        If a mate is no neighbour or has another mate, an edge could be added, or one is heavier than what its ends are
        matched by.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0, 0], [0, 0, 5, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    >>> maximal_matching(path, [1, 0, 3, 2])
    >>> maximal_matching(path, [1, 0, 3, 2], weighted=True)
    Traceback (most recent call last):
    gasla.verify.VerificationError: edge 1 → 2 weighs 5.0, more than what either end is matched by
    """
    edges = without_loops(edges_of(graph))
    mate = answer("mates", mates, edges.n, "iu").astype(np.int64)
    require((mate >= -1) & (mate < edges.n), lambda v: f"vertex {v} has the mate {mate[v]}, which is no vertex")
    has, ids = mate >= 0, np.arange(edges.n)
    back = np.where(has, mate[mate], ids) if edges.n else ids
    require(back == ids, lambda v: f"vertex {v} has the mate {mate[v]}, whose mate is {back[v]}")
    is_matched = mate[edges.src] == edges.dst
    heaviest = np.full(edges.n, -np.inf)  # of the edges to the mate
    there = np.zeros(edges.n, bool)
    for ends in (edges.src, edges.dst):
        np.maximum.at(heaviest, ends[is_matched], edges.weight[is_matched])
        there[ends[is_matched]] = True
    require(there | ~has, lambda v: f"vertex {v} has the mate {mate[v]}, which is no neighbour of it")
    require(has[edges.src] | has[edges.dst], lambda e: f"{edge_name(edges, e)} could be added: neither end has a mate")
    if weighted:
        most = np.maximum(heaviest[edges.src], heaviest[edges.dst])
        require(
            edges.weight <= most,
            lambda e: f"{edge_name(edges, e)} weighs {edges.weight[e]}, more than what either end is matched by",
        )
