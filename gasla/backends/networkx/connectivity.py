"""Components, bipartiteness, trees and bridges of NetworkX graphs."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np

import gasla
from gasla.arrays import moved
from gasla.backends.networkx.conversion import Array, Converted
from gasla.backends.networkx.dispatch import DIRECTED, NEVER, UNDIRECTED, compose, only, register


def _labels(G: Converted) -> tuple[int, Array]:
    """Return the number of weakly connected components, and for each node the number of its component.

    Components are numbered in the order of their first nodes.
    """
    if not len(G):
        return 0, np.zeros(0, np.int32)
    components = gasla.connected_components(G.plain().to(G.device))
    return int(components.count), moved(components.labels, "cpu")


def sets(G: Converted, labels: Array) -> Iterator[set[Any]]:
    """Yield for each of the labels 0, 1, … the set of the names of all nodes with this label."""
    order = np.argsort(labels, kind="stable")
    names = G.called(order)
    last = 0
    for size in np.bincount(labels).tolist():
        yield set(names[last : last + size])
        last += size


@register(DIRECTED, least=20_000, name="weakly_connected_components")
@register(UNDIRECTED, least=20_000)
def connected_components(G: Converted) -> Iterator[set[Any]]:
    """Yield the set of nodes of each component, regardless of the directions of edges."""
    yield from sets(G, _labels(G)[1])


@register(DIRECTED, least=20_000, name="number_weakly_connected_components")
@register(UNDIRECTED, least=20_000)
def number_connected_components(G: Converted) -> int:
    """Return the number of components, regardless of the directions of edges."""
    return _labels(G)[0]


def check_nodes(G: Converted) -> None:
    """Raise NetworkXPointlessConcept if the graph has no nodes, as NetworkX does."""
    if not len(G):
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")


@register(DIRECTED, least=20_000, name="is_weakly_connected")
@register(UNDIRECTED, least=20_000)
def is_connected(G: Converted) -> bool:
    """Return whether the graph is one component, regardless of the directions of edges."""
    check_nodes(G)
    return _labels(G)[0] == 1


@register(UNDIRECTED, least=20_000)
def node_connected_component(G: Converted, n: Any) -> set[Any]:
    """Return the set of nodes in the component of a node."""
    vertex = G.numbers[n]
    labels = _labels(G)[1]
    return set(G.called(np.flatnonzero(labels == labels[vertex])))


@register(DIRECTED, least=20_000)
def number_strongly_connected_components(G: Converted) -> int:
    """Return the number of strongly connected components."""
    return int(gasla.strongly_connected_components(G.plain().to(G.device)).count) if len(G) else 0


@register(DIRECTED, least=20_000)
def is_strongly_connected(G: Converted) -> bool:
    """Return whether the graph is one strongly connected component."""
    check_nodes(G)
    return int(gasla.strongly_connected_components(G.plain().to(G.device)).count) == 1


@register(DIRECTED, least=20_000, choice="NetworkX gives strong components in the order in which its search ends")
def strongly_connected_components(G: Converted) -> Iterator[set[Any]]:
    """Yield the set of nodes of each strongly connected component.

    Components are in the order of their first nodes, which is not NetworkX's order.
    """
    if len(G):
        components = gasla.strongly_connected_components(G.plain().to(G.device))
        yield from sets(G, moved(components.labels, "cpu"))


@register(least=20_000)
def is_bipartite(G: Converted) -> bool:
    """Return whether the nodes can be colored with two colors so that no edge joins nodes of one color."""
    return bool(gasla.is_bipartite(G.plain().to(G.device))) if len(G) else True


is_tree = compose(nx.is_tree, least=NEVER)


@register(least=20_000)
def is_forest(G: Converted) -> bool:
    """Return whether the graph has no cycle, regardless of the directions of edges."""
    if not len(G):
        raise nx.NetworkXPointlessConcept("G has no nodes.")
    return G.number_of_edges() == len(G) - _labels(G)[0]


compose(nx.is_arborescence, DIRECTED, least=20_000)
compose(nx.is_branching, DIRECTED, least=20_000)
compose(nx.is_eulerian, least=NEVER)
NO_ROOT = only("root", None)


@register(UNDIRECTED, NO_ROOT, least=20_000)
def bridges(G: Converted, root: Any = None) -> Iterator[tuple[Any, Any]]:
    """Return an iterator over the bridges (edges on no cycle), in the order in which NetworkX yields edges."""
    out, n = G.plain().out, len(G)
    tails, heads = out.owners().astype(np.int64), out.indices.astype(np.int64)
    ends = np.asarray(moved(gasla.bridges(G.plain().to(G.device)), "cpu"), np.int64).reshape(-1, 2)
    is_bridge = np.isin(tails * n + heads, ends[:, 0] * n + ends[:, 1])
    if G.edges.copies is not None:
        is_bridge &= G.edges.copies == 1
    return iter(list(zip(G.called(tails[is_bridge]), G.called(heads[is_bridge]))))


compose(nx.has_bridges, UNDIRECTED, NO_ROOT, least=20_000)


@register(UNDIRECTED, least=20_000)
def is_biconnected(G: Converted) -> bool:
    """Return whether the graph has an edge and stays connected if any single node is removed."""
    return len(G) > 1 and gasla.is_biconnected(G.plain().to(G.device))


@register(UNDIRECTED, least=20_000, choice="NetworkX gives biconnected components in the order of its search")
def biconnected_components(G: Converted) -> Iterator[set[Any]]:
    """Yield the set of nodes of each biconnected component. Their order is gasla's, which differs from NetworkX's."""
    if not len(G):
        return
    graph = G.plain().to(G.device)
    labels = np.asarray(moved(gasla.biconnected_components(graph).labels, "cpu"))
    src, dst = (np.asarray(moved(ends, "cpu"))[labels >= 0].astype(np.int64) for ends in graph.edges())
    keys = np.concatenate([labels[labels >= 0]] * 2).astype(np.int64) * len(G) + np.concatenate([src, dst])
    components, nodes = np.divmod(np.unique(keys), len(G))
    names = G.called(nodes)
    starts = np.flatnonzero(np.diff(components, prepend=-1, append=-1)).tolist()
    for first, last in pairwise(starts):
        yield set(names[first:last])


@register(UNDIRECTED, least=20_000, choice="NetworkX gives articulation points in the order of a depth-first search")
def articulation_points(G: Converted) -> Iterator[Any]:
    """Return an iterator over the nodes whose removal disconnects their component.

    They are in the order of the graph's nodes, which is not NetworkX's order.
    """
    return iter(G.called(moved(gasla.articulation_points(G.plain().to(G.device)), "cpu")) if len(G) else [])
