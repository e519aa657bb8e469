"""How dense it is around nodes: triangles, clustering, cores; and communities."""

from typing import Any

import networkx as nx
import numpy as np

import gasla
from gasla.arrays import moved
from gasla.backends.networkx.conditions import is_directed, is_multigraph, offered, only, when
from gasla.backends.networkx.conversion import Array, Converted

UNDIRECTED = when("a directed graph", is_directed)
SIMPLE = when("a multigraph", is_multigraph)


def _triangles(G: Converted) -> Array:
    """In how many triangles each node is."""
    return np.asarray(moved(gasla.triangle_count(G.plain().to(G.device), per_vertex=True).per_vertex, "cpu"), np.int64)


def _neighbours(G: Converted) -> Array:
    """How many neighbours each node has, itself aside."""
    return G.plain().out_degrees.astype(np.int64) - G._loops()


def _of(G: Converted, nodes: Any, found: list[Any]) -> Any:
    """A number of every node, of some, or of one."""
    if nodes is None:
        return dict(zip(G.names, found))
    if nodes in G:
        return found[G.numbers[nodes]]
    return {name: found[G.numbers[name]] for name in G.nbunch_iter(nodes)}


@offered(
    UNDIRECTED,
    when("nodes of a multigraph", lambda given: is_multigraph(given) and given["nodes"] is not None),
    least=5_000,
)
def triangles(G: Converted, nodes: Any = None) -> Any:
    """In how many triangles nodes are."""
    return _of(G, nodes, _triangles(G).tolist())


def _clustering(G: Converted) -> list[float]:
    """The share of pairs of neighbours of each node that are neighbours; 0 is an integer, as in NetworkX."""
    twice, degrees = 2 * _triangles(G), _neighbours(G)
    pairs = degrees * (degrees - 1)
    return [share or 0 for share in (twice / np.maximum(pairs, 1)).tolist()]


UNWEIGHTED = only("weight", None)


@offered(UNDIRECTED, SIMPLE, UNWEIGHTED, least=5_000)
def clustering(G: Converted, nodes: Any = None, weight: Any = None) -> Any:
    """Clustering coefficients of nodes."""
    return _of(G, nodes, _clustering(G))


@offered(UNDIRECTED, SIMPLE, UNWEIGHTED, least=5_000)
def average_clustering(G: Converted, nodes: Any = None, weight: Any = None, count_zeros: bool = True) -> Any:
    """The mean clustering coefficient."""
    found = list(_of(G, nodes, _clustering(G)).values())
    if not count_zeros:
        found = [share for share in found if share > 0]
    return sum(found) / len(found)


@offered(UNDIRECTED, SIMPLE, least=5_000)
def transitivity(G: Converted) -> Any:
    """The share of pairs of neighbours that are neighbours, over the whole graph."""
    closed = 2 * int(_triangles(G).sum()) if len(G) else 0
    degrees = _neighbours(G)
    return closed / int((degrees * (degrees - 1)).sum()) if closed else 0


@offered(SIMPLE, least=10_000)
def core_number(G: Converted) -> dict[Any, int]:
    """The core number of every node."""
    if G.has_loops():
        remedy = "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        raise nx.NetworkXNotImplemented(f"Input graph has self loops which is not permitted; {remedy}")
    graph = G.plain().to(G.device)
    if G.is_directed() and _has_pairs(G):
        raise NotImplementedError("edges both ways between two nodes, which NetworkX counts as two")
    return G.by_name(gasla.core_number(graph)) if len(G) else {}


def _has_pairs(G: Converted) -> bool:
    """Whether any two nodes of a directed graph have edges both ways."""
    out = G.plain().out
    n = len(G)
    tails, heads = out.owners().astype(np.int64), out.indices.astype(np.int64)
    return bool(len(np.intersect1d(tails * n + heads, heads * n + tails, assume_unique=True)))


@offered(UNDIRECTED, least=20_000, choice="which of labels that weigh the same a node takes, is by lot")
def label_propagation_communities(G: Converted) -> Any:
    """Communities by label propagation: other ones than NetworkX's where labels weigh the same."""
    if not len(G):
        return {}.values()
    labels = moved(gasla.label_propagation(G.plain().to(G.device), tol=0), "cpu").tolist()
    found: dict[int, set[Any]] = {}
    for name, label in zip(G.names, labels):
        found.setdefault(label, set()).add(name)
    return found.values()
