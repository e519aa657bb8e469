"""Sets of nodes or edges of which many are correct. gasla finds others than NetworkX, so it runs only on request."""

from typing import Any

import networkx as nx
import numpy as np

import gasla
from gasla.arrays import moved
from gasla.backends.networkx.conversion import Converted
from gasla.backends.networkx.dispatch import DIRECTED, SIMPLE, UNDIRECTED, only, register, when

EMPTY = when("a graph without nodes", lambda given: not len(given["G"]))


@register(UNDIRECTED, EMPTY, least=20_000, choice="NetworkX draws the nodes of an independent set")
def maximal_independent_set(G: Converted, nodes: Any = None, seed: Any = None) -> list[Any]:
    """Return a maximal independent set that contains `nodes`. The seed selects one of many such sets."""
    wanted = set(nodes or ())
    if not all(name in G for name in wanted):
        raise nx.NetworkXUnfeasible(f"{wanted} is not a subset of the nodes of G")
    ids = np.array(G.numbered(wanted), np.int64)
    out = G.plain().out
    if np.isin(out.indices[np.isin(out.owners(), ids)], ids).any():
        raise nx.NetworkXUnfeasible(f"{wanted} is not an independent set of G")
    graph = G.plain().to(G.device)
    number = 0 if seed is None else seed.getrandbits(63)
    is_chosen = gasla.maximal_independent_set(graph, ids.tolist() or None, seed=number)
    return G.called(np.flatnonzero(moved(is_chosen, "cpu")))


@register(UNDIRECTED, SIMPLE, least=20_000, choice="NetworkX takes edges one after another")
def maximal_matching(G: Converted) -> set[tuple[Any, Any]]:
    """Return a maximal matching: edges without common nodes, to which no edge can be added."""
    if not len(G):
        return set()
    mates = np.asarray(moved(gasla.maximal_matching(G.plain().to(G.device)), "cpu"), np.int64)
    first = np.flatnonzero(mates > np.arange(len(G)))
    return set(zip(G.called(first), G.called(mates[first])))


@register(UNDIRECTED, least=5_000, choice="NetworkX takes augmenting paths one after another")
def hopcroft_karp_matching(G: Converted, top_nodes: Any = None) -> dict[Any, Any]:
    """Return a maximum matching of a bipartite graph, as a dictionary from each matched node to its partner."""
    graph = G.plain().to(G.device)
    if not len(G) or not gasla.is_bipartite(graph):
        raise NotImplementedError("the graph is not bipartite, or has no nodes")
    first = _side(G, graph, top_nodes)
    mates = np.asarray(moved(gasla.maximum_bipartite_matching(graph), "cpu"), np.int64)
    matched = mates >= 0
    order = np.concatenate([np.flatnonzero(matched & first), np.flatnonzero(matched & ~first)])
    return dict(zip(G.called(order), G.called(mates[order])))


def _side(G: Converted, graph: Any, top_nodes: Any) -> Any:
    """Return a mask of the nodes on one side of a bipartite graph, which is the side of `top_nodes`.

    If `top_nodes` is None, it is the side of the first node.
    """
    if top_nodes is None:
        if int(gasla.connected_components(graph).count) > 1:
            raise nx.AmbiguousSolution("Disconnected graph: Ambiguous solution for bipartite sets.")
        return np.asarray(moved(gasla.is_bipartite(graph, colors=True).colors, "cpu")) == 0
    first = np.zeros(len(G), bool)
    first[G.numbered(name for name in top_nodes if name in G)] = True
    out = G.plain().out
    if (first[out.owners()] == first[out.indices]).any():
        raise NotImplementedError("an edge joins two nodes of one side")
    return first


@register(DIRECTED, only("scc", None), least=20_000, choice="strong components have other numbers")
def condensation(G: Converted, scc: Any = None) -> Any:
    """Return the graph of strong components, which are numbered in the order of their first nodes."""
    result = nx.DiGraph()
    if not len(G):
        result.graph["mapping"] = {}
        return result
    components = gasla.strongly_connected_components(G.plain().to(G.device))
    labels, count = np.asarray(moved(components.labels, "cpu"), np.int64), int(components.count)
    result.graph["mapping"] = mapping = dict(zip(G.names, labels.tolist()))
    result.add_nodes_from((label, {"members": set()}) for label in range(count))
    for name, label in mapping.items():
        result.nodes[label]["members"].add(name)
    out = G.plain().out
    tails, heads = labels[out.owners()], labels[out.indices]
    edges = np.unique(np.column_stack([tails, heads])[tails != heads], axis=0)
    result.add_edges_from(map(tuple, edges.tolist()))
    return result
