"""Verify sets of vertices or edges that have nothing to do with each other: independent sets, colorings, matchings."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gasla.graph.graph import as_graph
from gasla.verify._common import (
    Array,
    Edges,
    VerificationError,
    edge_name,
    edges_of,
    odd_components,
    require,
    vertex_answer,
)


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
        If two members are neighbors, a vertex could be added, or one of `nodes` is missing.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> maximal_independent_set(path, [True, False, True])
    >>> maximal_independent_set(path, [True, False, False])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 2 is no member, nor is a neighbor of it
    """
    edges = _between(edges_of(graph))
    inside = np.asarray(members)
    if inside.shape != (edges.n,) or inside.dtype != bool:
        raise VerificationError(f"members are {inside.dtype}{inside.shape}; expected bool, one a vertex")
    for v in () if nodes is None else nodes:
        if not inside[v]:
            raise VerificationError(f"vertex {v} has to be a member, and is none")
    both = inside[edges.src] & inside[edges.dst]
    require(~both, lambda e: f"{edge_name(edges, e)} joins two members")
    beside = _beside(edges, inside)
    require(inside | beside, lambda v: f"vertex {v} is no member, nor is a neighbor of it")


def greedy_color(graph: Any, colors: ArrayLike) -> None:
    """Verify a coloring that is proper and greedy.

    Parameters
    ----------
    graph : Graph or SciPy sparse array
        The graph; directions, values and loops mean nothing.
    colors : array of int
        The color of each vertex, from 0 on.

    Raises
    ------
    VerificationError
        If two neighbors have the same color, a vertex could take a lower one, or a component that two colors do for
        has more.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> greedy_color(path, [0, 1, 0])
    >>> greedy_color(path, [0, 1, 2])
    Traceback (most recent call last):
    gasla.verify.VerificationError: vertex 2 has color 2, and no neighbor of color 0
    """
    edges = _between(edges_of(graph))
    color = vertex_answer("colors", colors, edges.n, "iu").astype(np.int64)
    require(color >= 0, lambda v: f"vertex {v} has color {color[v]}; expected 0 or more")
    same = color[edges.src] == color[edges.dst]
    require(~same, lambda e: f"{edge_name(edges, e)} joins two vertices of color {color[edges.src[e]]}")
    v, seen = np.concatenate([edges.src, edges.dst]), color[np.concatenate([edges.dst, edges.src])]
    lower = seen < color[v]
    pairs = np.unique(np.stack([v[lower].astype(np.int64), seen[lower]]), axis=1)  # sorted: colors of each vertex
    lacks = np.bincount(pairs[0], minlength=edges.n) < color
    require(~lacks, lambda v: f"vertex {v} has color {color[v]}, and no neighbor of color {_gap(pairs, v)}")
    is_odd = odd_components(edges)[1]
    require(is_odd | (color < 2), lambda v: f"vertex {v} has color {color[v]}, where 0 and 1 would have done")


def _gap(pairs: Array, v: int) -> int:
    """The least color that no neighbor of a vertex has."""
    seen = pairs[1][pairs[0] == v]
    return int(np.setdiff1d(np.arange(len(seen) + 1), seen)[0])


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
        If a mate is no neighbor or has another mate, an edge could be added, or one is heavier than what its ends are
        matched by.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> path = csr_array([[0, 1, 0, 0], [0, 0, 5, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    >>> maximal_matching(path, [1, 0, 3, 2])
    >>> maximal_matching(path, [1, 0, 3, 2], weighted=True)
    Traceback (most recent call last):
    gasla.verify.VerificationError: edge 1 → 2 weighs 5, more than what either end is matched by
    """
    graph = as_graph(graph)
    edges = edges_of(graph)
    if graph.values is not None and graph.values.dtype.kind in "iu":
        edges = edges._replace(weight=np.asarray(graph.out_values))  # as float64 some are alike
    edges = _between(edges)
    mate = vertex_answer("mates", mates, edges.n, "iu").astype(np.int64)
    require((mate >= -1) & (mate < edges.n), lambda v: f"vertex {v} has the mate {mate[v]}, which is no vertex")
    has, ids = mate >= 0, np.arange(edges.n)
    back = np.where(has, mate[mate], ids) if edges.n else ids
    require(back == ids, lambda v: f"vertex {v} has the mate {mate[v]}, whose mate is {back[v]}")
    is_matched = mate[edges.src] == edges.dst
    kind = edges.weight.dtype
    lowest = -np.inf if kind.kind == "f" else np.iinfo(kind).min
    heaviest = np.full(edges.n, lowest, kind)  # of the edges to the mate
    there = np.zeros(edges.n, bool)
    for ends in (edges.src, edges.dst):
        np.maximum.at(heaviest, ends[is_matched], edges.weight[is_matched])
        there[ends[is_matched]] = True
    require(there | ~has, lambda v: f"vertex {v} has the mate {mate[v]}, which is no neighbor of it")
    require(has[edges.src] | has[edges.dst], lambda e: f"{edge_name(edges, e)} could be added: neither end has a mate")
    if weighted:
        most = np.maximum(heaviest[edges.src], heaviest[edges.dst])
        require(
            edges.weight <= most,
            lambda e: f"{edge_name(edges, e)} weighs {edges.weight[e]}, more than what either end is matched by",
        )


def _between(edges: Edges) -> Edges:
    """The edges but for loops; `indptr` is no longer theirs."""
    keep = edges.src != edges.dst
    return edges._replace(src=edges.src[keep], dst=edges.dst[keep], weight=edges.weight[keep])


def _beside(edges: Edges, inside: Array) -> Array:
    """Who has a neighbor inside."""
    beside = np.zeros(len(inside), bool)
    beside[edges.dst[inside[edges.src]]] = True
    beside[edges.src[inside[edges.dst]]] = True
    return beside
