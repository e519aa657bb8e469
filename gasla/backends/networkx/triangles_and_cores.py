"""Triangles, squares, clustering coefficients, cores and colorings of NetworkX graphs."""

from typing import Any

import networkx as nx
import numpy as np
from scipy.sparse import csr_array

import gasla
from gasla.arrays import moved
from gasla.backends.networkx.conversion import Array, Converted
from gasla.backends.networkx.degrees import mutual
from gasla.backends.networkx.dispatch import (
    DIRECTED,
    SIMPLE,
    UNDIRECTED,
    by_name,
    compose,
    is_multigraph,
    only,
    register,
    when,
)
from gasla.graph.graph import Graph

LARGEST_FIRST = "largest_first", nx.coloring.strategy_largest_first


def _triangle_counts(G: Converted) -> Array:
    """Return the number of triangles that contain each node."""
    return np.asarray(moved(gasla.triangle_count(G.plain().to(G.device), per_vertex=True).per_vertex, "cpu"), np.int64)


def _neighbor_counts(G: Converted) -> Array:
    """Return the number of neighbors of each node. A node with a self loop is not its own neighbor."""
    return np.bincount(_edges_without_loops(G)[0], minlength=len(G))


def _edges_without_loops(G: Converted) -> tuple[Array, Array]:
    """Return the tails and heads of all edges that are not self loops. Parallel edges count once."""
    out = G.plain().out
    tails, heads = out.owners(), out.indices
    is_proper = tails != heads
    return tails[is_proper], heads[is_proper]


def _select(G: Converted, nodes: Any, values: list[Any]) -> Any:
    """Return values of nodes for NetworkX's argument `nodes`, which may be None (all nodes), one node or several nodes.

    For one node the result is its value, else a dictionary from the names of nodes to values.
    """
    if nodes is None:
        return dict(zip(G.names, values))
    if nodes in G:
        return values[G.numbers[nodes]]
    return {name: values[G.numbers[name]] for name in G.nbunch_iter(nodes)}


@register(
    UNDIRECTED,
    when("nodes of a multigraph", lambda given: is_multigraph(given) and given["nodes"] is not None),
    least=5_000,
)
def triangles(G: Converted, nodes: Any = None) -> Any:
    """Return the number of triangles at all nodes, some nodes, or one node."""
    return _select(G, nodes, _triangle_counts(G).tolist())


def _clustering_coefficients(G: Converted, weight: Any) -> list[float]:
    """Return for each node the fraction of pairs of its neighbors that are adjacent. As in NetworkX, 0 is an integer.

    With a weight, triangles count by the weights of their edges.
    """
    if weight is None:
        mode: Any = "directed" if G.is_directed() else "undirected"
        shares = moved(gasla.clustering(G.plain().to(G.device), mode=mode), "cpu")
    else:
        closed, pairs = _closed_walk_weights(G, weight)
        shares = closed / np.maximum(pairs, 1)
    return [share or 0 for share in shares.tolist()]


def _closed_walk_weights(G: Converted, weight: Any) -> tuple[Array, Array]:
    """Return for each node the total weight of closed walks of three edges, and the number of walks that are possible.

    Walks may follow edges in any direction. The weight of a walk is the geometric mean of its edges' weights, relative
    to the largest weight in the graph (J.-P. Onnela et al., 2005).
    """
    out = G.plain().out
    n, tails, heads = len(G), out.owners(), out.indices
    weights = G.values(weight, np.add).astype(np.float64)
    if not np.isfinite(weights).all() or (len(weights) and weights.max() == 0):
        raise NotImplementedError(f"{weight!r} of an edge is not finite, or 0 everywhere")
    shares = weights / (weights.max() if len(weights) else 1)
    if bool(((shares > 0) & (shares < 1e-102)).any()):
        raise NotImplementedError(f"{weight!r} of an edge is so small that a product of three underflows in NetworkX")
    roots = np.cbrt(shares)
    proper = tails != heads
    ends = tails[proper], heads[proper]
    one_way = csr_array((roots[proper], ends), shape=(n, n))
    joined = csr_array((np.ones(len(ends[0])), ends), shape=(n, n))
    adjacency, edge_counts = (one_way + one_way.T, joined + joined.T) if G.is_directed() else (one_way, joined)
    degrees = np.bincount(edge_counts.tocoo().row, edge_counts.data, n)
    pairs = degrees * (degrees - 1)
    if G.is_directed():
        pairs = 2 * (pairs - 2 * np.bincount(edge_counts.tocoo().row, edge_counts.data == 2, n))
    graph = Graph(adjacency).to(G.device)
    squares = moved(gasla.mxm(graph, graph, mask=graph).data, "cpu")
    return np.bincount(adjacency.tocoo().row, adjacency.data * squares, n), pairs


WEIGHT = by_name("weight")


@register(SIMPLE, WEIGHT, least=5_000)
def clustering(G: Converted, nodes: Any = None, weight: Any = None) -> Any:
    """Return the clustering coefficients of all nodes, some nodes, or one node."""
    return _select(G, nodes, _clustering_coefficients(G, weight))


compose(nx.average_clustering, SIMPLE, WEIGHT, least=5_000)


@register(UNDIRECTED, least=5_000)
def square_clustering(G: Converted, nodes: Any = None) -> Any:
    """Return for each node the fraction of possible squares through the node that exist.

    For a node without possible squares this is the integer 0 and not 0.0, as in NetworkX.
    """
    degrees, (tails, heads) = _neighbor_counts(G), _edges_without_loops(G)
    around = np.bincount(tails, degrees[heads], len(G)).astype(np.int64)
    # A mask of the nodes through which squares are possible, even if none of them exists.
    possible = (degrees - 1) * (around - degrees) > 2 * _triangle_counts(G)
    shares = moved(gasla.square_clustering(G.plain().to(G.device)), "cpu").tolist()
    return _select(G, nodes, [share or (0.0 if some else 0) for share, some in zip(shares, possible.tolist())])


@register(UNDIRECTED, SIMPLE, least=5_000)
def transitivity(G: Converted) -> Any:
    """Return the fraction of pairs of neighbors of a node that are adjacent, over all nodes of the graph."""
    closed = 2 * int(_triangle_counts(G).sum()) if len(G) else 0
    degrees = _neighbor_counts(G)
    return closed / int((degrees * (degrees - 1)).sum()) if closed else 0


@register(DIRECTED, only("nodelist", None), least=5_000)
def triadic_census(G: Converted, nodelist: Any = None) -> dict[str, int]:
    """Return the number of triads of each type."""
    return gasla.triadic_census(G.plain().to(G.device))


@register(SIMPLE, least=10_000)
def core_number(G: Converted) -> dict[Any, int]:
    """Return the core number of every node."""
    if G.has_loops():
        remedy = "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        raise nx.NetworkXNotImplemented(f"Input graph has self loops which is not permitted; {remedy}")
    graph = G.plain().to(G.device)
    if G.is_directed() and mutual(G).any():
        raise NotImplementedError("two nodes have edges both ways, which NetworkX counts as two")
    return G.by_name(gasla.core_number(graph)) if len(G) else {}


@register(
    UNDIRECTED,
    when("strategy is other than 'largest_first'", lambda given: given["strategy"] not in LARGEST_FIRST),
    when("interchange", lambda given: bool(given["interchange"])),
    least=20_000,
)
def greedy_color(G: Converted, strategy: Any = "largest_first", interchange: bool = False) -> dict[Any, int]:
    """Return the greedy coloring of nodes, in the order of decreasing degree."""
    degrees = G.degrees()
    colors = gasla.greedy_color(G.plain().to(G.device), priority=moved(degrees, G.device))
    order = np.argsort(-degrees, kind="stable")
    return dict(zip(G.called(order), moved(colors, "cpu")[order].tolist()))
