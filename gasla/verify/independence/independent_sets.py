"""Verify independent sets: no two neighbours, and nobody who could be added."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.verify._common import Array, Edges, VerificationError, edge_name, edges_of, require, without_loops


def maximal_independent_set(graph: Any, members: ArrayLike, nodes: Iterable[int] | None = None) -> None:
    """Verify a maximal independent set.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph; directions, values and loops mean nothing.
    members : array of bool
        Whether each vertex is in the set.
    nodes : ids, optional
        Vertices that have to be in it.

    Raises
    ------
    VerificationError
        If two members are neighbours, a vertex could be added, or one of `nodes` is missing.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> maximal_independent_set(path, [True, False, True])
    >>> maximal_independent_set(path, [True, False, False])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 2 is no member, nor is a neighbour of it
    """
    edges = without_loops(edges_of(graph))
    inside = np.asarray(members)
    if inside.shape != (edges.n,) or inside.dtype != bool:
        raise VerificationError(f"members are {inside.dtype}{inside.shape}; expected bool, one a vertex")
    for v in () if nodes is None else nodes:
        if not inside[v]:
            raise VerificationError(f"vertex {v} has to be a member, and is none")
    both = inside[edges.src] & inside[edges.dst]
    require(~both, lambda e: f"{edge_name(edges, e)} joins two members")
    beside = _beside(edges, inside)
    require(inside | beside, lambda v: f"vertex {v} is no member, nor is a neighbour of it")


def _beside(edges: Edges, inside: Array) -> Array:
    """Who has a neighbour inside."""
    beside = np.zeros(len(inside), bool)
    beside[edges.dst[inside[edges.src]]] = True
    beside[edges.src[inside[edges.dst]]] = True
    return beside
