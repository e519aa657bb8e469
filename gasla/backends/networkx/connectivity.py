"""Components, bipartiteness, acyclicity and topological generations."""

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

import gasla
from gasla.arrays import moved
from gasla.backends.networkx.conversion import Array, Converted
from gasla.backends.networkx.dispatch import is_directed, register, when
from gasla.backends.networkx.visit_order import ranks

UNDIRECTED = when("a directed graph", is_directed)
DIRECTED = when("an undirected graph", lambda given: not is_directed(given))


def _labels(G: Converted) -> tuple[int, Array]:
    """The number of weak components, and the component of each node, in the order of their first nodes."""
    if not len(G):
        return 0, np.zeros(0, np.int32)
    found = gasla.connected_components(G.plain().to(G.device))
    return int(found.count), moved(found.labels, "cpu")


def _sets(G: Converted, labels: Array, count: int) -> Iterator[set[Any]]:
    """The nodes of each component."""
    order = np.argsort(labels, kind="stable")
    names = G.called(order)
    last = 0
    for size in np.bincount(labels, minlength=count).tolist():
        yield set(names[last : last + size])
        last += size


@register(UNDIRECTED, least=20_000)
def connected_components(G: Converted) -> Iterator[set[Any]]:
    """The nodes of each component."""
    count, labels = _labels(G)
    yield from _sets(G, labels, count)


@register(DIRECTED, least=20_000)
def weakly_connected_components(G: Converted) -> Iterator[set[Any]]:
    """The nodes of each weak component."""
    count, labels = _labels(G)
    yield from _sets(G, labels, count)


@register(UNDIRECTED, least=20_000)
def number_connected_components(G: Converted) -> int:
    """How many components there are."""
    return _labels(G)[0]


@register(DIRECTED, least=20_000)
def number_weakly_connected_components(G: Converted) -> int:
    """How many weak components there are."""
    return _labels(G)[0]


def _check_nodes(G: Converted) -> None:
    if not len(G):
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")


@register(UNDIRECTED, least=20_000)
def is_connected(G: Converted) -> bool:
    """Whether there is one component."""
    _check_nodes(G)
    return _labels(G)[0] == 1


@register(DIRECTED, least=20_000)
def is_weakly_connected(G: Converted) -> bool:
    """Whether there is one weak component."""
    _check_nodes(G)
    return _labels(G)[0] == 1


@register(UNDIRECTED, least=20_000)
def node_connected_component(G: Converted, n: Any) -> set[Any]:
    """The nodes of a node's component."""
    vertex = G.numbers[n]
    labels = _labels(G)[1]
    return set(G.called(np.flatnonzero(labels == labels[vertex])))


@register(DIRECTED, least=20_000)
def number_strongly_connected_components(G: Converted) -> int:
    """How many strong components there are."""
    return int(gasla.strongly_connected_components(G.plain().to(G.device)).count) if len(G) else 0


@register(DIRECTED, least=20_000)
def is_strongly_connected(G: Converted) -> bool:
    """Whether there is one strong component."""
    _check_nodes(G)
    return int(gasla.strongly_connected_components(G.plain().to(G.device)).count) == 1


@register(DIRECTED, least=20_000, choice="NetworkX gives strong components in the order in which its search ends")
def strongly_connected_components(G: Converted) -> Iterator[set[Any]]:
    """The nodes of each strong component, in the order of their first nodes, which is not NetworkX's order."""
    if len(G):
        found = gasla.strongly_connected_components(G.plain().to(G.device))
        yield from _sets(G, moved(found.labels, "cpu"), int(found.count))


@register(least=20_000)
def is_bipartite(G: Converted) -> bool:
    """Whether the graph can be colored with two colors."""
    return bool(gasla.is_bipartite(G.plain().to(G.device))) if len(G) else True


def _generations(G: Converted) -> Any:
    """The topological order and levels; None if there is a cycle."""
    try:
        return gasla.topological_order(G.plain().to(G.device), levels=True)
    except ValueError:  # which names the cycle
        return None


@register(least=20_000)
def has_cycle(G: Converted) -> bool:
    """Whether a directed graph has a cycle."""
    if not G.is_directed():
        raise nx.NetworkXError("Topological sort not defined on undirected graphs.")
    return len(G) > 0 and _generations(G) is None


@register(least=20_000)
def is_directed_acyclic_graph(G: Converted) -> bool:
    """Whether a graph is directed and has no cycle."""
    return G.is_directed() and not has_cycle(G)


@register(DIRECTED, least=20_000)
def topological_generations(G: Converted) -> Iterator[list[Any]]:
    """Nodes by the longest path that ends at each; within a generation, in the order in which they become ready."""
    if not len(G):
        return iter(())
    found = _generations(G)
    if found is None:
        raise NotImplementedError("a cycle, before which NetworkX gives the generations that there are")
    levels = np.asarray(moved(found.levels, "cpu"), np.int64)
    out = G.plain().out
    order = ranks(levels, lambda: (out.owners(), out.indices), np.flatnonzero(levels == 0), latest=True)
    by_rank = np.argsort(order)
    ends = np.cumsum(np.bincount(levels))
    return (G.called(part) for part in np.split(by_rank, ends[:-1]))
