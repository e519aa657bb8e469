"""Components, bipartiteness, trees, bridges."""

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
    """Return the number of weak components, and the component of each node, in the order of their first nodes."""
    if not len(G):
        return 0, np.zeros(0, np.int32)
    components = gasla.connected_components(G.plain().to(G.device))
    return int(components.count), moved(components.labels, "cpu")


def sets(G: Converted, labels: Array) -> Iterator[set[Any]]:
    """Yield the nodes of each label: 0, 1, ..."""
    order = np.argsort(labels, kind="stable")
    names = G.called(order)
    last = 0
    for size in np.bincount(labels).tolist():
        yield set(names[last : last + size])
        last += size


@register(DIRECTED, least=20_000, name="weakly_connected_components")
@register(UNDIRECTED, least=20_000)
def connected_components(G: Converted) -> Iterator[set[Any]]:
    """Yield the nodes of each component. Directions do not count."""
    yield from sets(G, _labels(G)[1])


@register(DIRECTED, least=20_000, name="number_weakly_connected_components")
@register(UNDIRECTED, least=20_000)
def number_connected_components(G: Converted) -> int:
    """Return how many components there are. Directions do not count."""
    return _labels(G)[0]


def check_nodes(G: Converted) -> None:
    """Raise NetworkX's error for a graph without nodes."""
    if not len(G):
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")


@register(DIRECTED, least=20_000, name="is_weakly_connected")
@register(UNDIRECTED, least=20_000)
def is_connected(G: Converted) -> bool:
    """Return whether there is one component. Directions do not count."""
    check_nodes(G)
    return _labels(G)[0] == 1


@register(UNDIRECTED, least=20_000)
def node_connected_component(G: Converted, n: Any) -> set[Any]:
    """Return the nodes of a node's component."""
    vertex = G.numbers[n]
    labels = _labels(G)[1]
    return set(G.called(np.flatnonzero(labels == labels[vertex])))


@register(DIRECTED, least=20_000)
def number_strongly_connected_components(G: Converted) -> int:
    """Return how many strong components there are."""
    return int(gasla.strongly_connected_components(G.plain().to(G.device)).count) if len(G) else 0


@register(DIRECTED, least=20_000)
def is_strongly_connected(G: Converted) -> bool:
    """Return whether there is one strong component."""
    check_nodes(G)
    return int(gasla.strongly_connected_components(G.plain().to(G.device)).count) == 1


@register(DIRECTED, least=20_000, choice="NetworkX gives strong components in the order in which its search ends")
def strongly_connected_components(G: Converted) -> Iterator[set[Any]]:
    """Yield the nodes of each strong component, in the order of their first nodes, which is not NetworkX's order."""
    if len(G):
        components = gasla.strongly_connected_components(G.plain().to(G.device))
        yield from sets(G, moved(components.labels, "cpu"))


@register(least=20_000)
def is_bipartite(G: Converted) -> bool:
    """Return whether the graph can be colored with two colors."""
    return bool(gasla.is_bipartite(G.plain().to(G.device))) if len(G) else True


is_tree = compose(nx.is_tree, least=NEVER)


@register(least=20_000)
def is_forest(G: Converted) -> bool:
    """Return whether the graph has no cycle. Directions do not count."""
    if not len(G):
        raise nx.NetworkXPointlessConcept("G has no nodes.")
    return G.number_of_edges() == len(G) - _labels(G)[0]


compose(nx.is_arborescence, DIRECTED, least=20_000)
compose(nx.is_branching, DIRECTED, least=20_000)
compose(nx.is_eulerian, least=NEVER)
NO_ROOT = only("root", None)


@register(UNDIRECTED, NO_ROOT, least=20_000)
def bridges(G: Converted, root: Any = None) -> Iterator[tuple[Any, Any]]:
    """Return the edges on no cycle, in the order of NetworkX's edges."""
    out, n = G.plain().out, len(G)
    tails, heads = out.owners().astype(np.int64), out.indices.astype(np.int64)
    ends = np.asarray(moved(gasla.bridges(G.plain().to(G.device)), "cpu"), np.int64).reshape(-1, 2)
    are = np.isin(tails * n + heads, ends[:, 0] * n + ends[:, 1])
    if G.edges.copies is not None:
        are &= G.edges.copies == 1
    return iter(list(zip(G.called(tails[are]), G.called(heads[are]))))


compose(nx.has_bridges, UNDIRECTED, NO_ROOT, least=20_000)


@register(UNDIRECTED, least=20_000)
def is_biconnected(G: Converted) -> bool:
    """Return whether the graph has edges and stays connected without any one node."""
    return len(G) > 1 and gasla.is_biconnected(G.plain().to(G.device))


@register(UNDIRECTED, least=20_000, choice="NetworkX gives biconnected components in the order of its search")
def biconnected_components(G: Converted) -> Iterator[set[Any]]:
    """Yield the nodes of each biconnected component, in the order of gasla's numbers, which is not NetworkX's."""
    if not len(G):
        return
    graph = G.plain().to(G.device)
    labels = np.asarray(moved(gasla.biconnected_components(graph).labels, "cpu"))
    src, dst = (np.asarray(moved(ends, "cpu"))[labels >= 0].astype(np.int64) for ends in graph.edges())
    both = np.concatenate([labels[labels >= 0]] * 2).astype(np.int64) * len(G) + np.concatenate([src, dst])
    of, nodes = np.divmod(np.unique(both), len(G))
    names = G.called(nodes)
    starts = np.flatnonzero(np.diff(of, prepend=-1, append=-1)).tolist()
    for first, last in pairwise(starts):
        yield set(names[first:last])


@register(UNDIRECTED, least=20_000, choice="NetworkX gives articulation points in the order of a depth-first search")
def articulation_points(G: Converted) -> Iterator[Any]:
    """Return the nodes whose removal disconnects their component, in the graph's order, which is not NetworkX's."""
    return iter(G.called(moved(gasla.articulation_points(G.plain().to(G.device)), "cpu")) if len(G) else [])
