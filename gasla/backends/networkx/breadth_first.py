"""Breadth-first searches, in the order of NetworkX's queue."""

from collections.abc import Iterable, Iterator
from typing import Any

import networkx as nx
import numpy as np

from gasla.backends.networkx.conversion import Converted
from gasla.backends.networkx.dispatch import number, only, register
from gasla.backends.networkx.paths.unweighted import _within, depth, levels
from gasla.backends.networkx.visit_order import layers, queue

CONDITIONS = only("sort_neighbors", None), number("depth_limit")


def _start(G: Converted, source: Any) -> int:
    """The id of a node, or NetworkX's error."""
    if source not in G:
        raise nx.NetworkXError(f"The node {source} is not in the {'digraph' if G.is_directed() else 'graph'}.")
    return G.numbers[source]


def _edges(G: Converted, source: Any, reverse: bool, depth_limit: Any) -> Iterable[tuple[Any, Any]]:
    """The edges of the tree, from parents to children."""
    start = _start(G, source)
    limit = depth(depth_limit)
    found = queue(G, [start], reverse) if limit is None else _within(G, start, limit, reverse)[0]
    return zip(G.called(found.parents[1:]), G.called(found.order[1:]))


@register(*CONDITIONS, least=20_000)
def bfs_edges(
    G: Converted,
    source: Any,
    reverse: bool = False,
    depth_limit: Any = None,
    sort_neighbors: Any = None,
) -> Iterator[tuple[Any, Any]]:
    """The edges of a breadth-first search."""
    yield from _edges(G, source, reverse, depth_limit)


@register(*CONDITIONS, least=20_000)
def bfs_tree(
    G: Converted,
    source: Any,
    reverse: bool = False,
    depth_limit: Any = None,
    sort_neighbors: Any = None,
) -> Any:
    """The tree of a breadth-first search, as a graph of NetworkX's."""
    edges = _edges(G, source, reverse, depth_limit)
    tree = nx.DiGraph()
    tree.add_node(source)
    tree.add_edges_from(edges)
    return tree


@register(*CONDITIONS, least=20_000)
def bfs_predecessors(
    G: Converted, source: Any, depth_limit: Any = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, Any]]:
    """Each node with the node that reached it."""
    for parent, child in _edges(G, source, False, depth_limit):
        yield child, parent


@register(*CONDITIONS, least=20_000)
def bfs_successors(
    G: Converted, source: Any, depth_limit: Any = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, list[Any]]]:
    """Each node with the nodes reached from it."""
    children: list[Any] = []
    last = source
    for parent, child in _edges(G, source, False, depth_limit):
        if parent != last:
            yield last, children
            last, children = parent, []
        children.append(child)
    yield last, children


@register(least=20_000)
def bfs_layers(G: Converted, sources: Any) -> Iterator[list[Any]]:
    """The nodes at each distance from some nodes."""
    first = list({*([sources] if sources in G else sources)})
    for source in first:
        if source not in G:
            raise nx.NetworkXError(f"The node {source} is not in the graph.")
    if not first:
        return
    for layer in layers(queue(G, G.numbered(first))):
        yield G.called(layer)


@register(least=20_000)
def descendants_at_distance(G: Converted, source: Any, distance: Any) -> set[Any]:
    """The nodes at a distance from one."""
    if source not in G:
        raise nx.NetworkXError(f"The node {source} is not in the graph.")
    far = levels(G, G.numbers[source], None)
    return set(G.called(np.flatnonzero(far == distance))) if distance >= 0 else set()


def _reached(G: Converted, source: Any, reverse: bool) -> set[Any]:
    return set(G.called(np.flatnonzero(levels(G, _start(G, source), None, reverse) > 0)))


@register(least=20_000)
def descendants(G: Converted, source: Any) -> set[Any]:
    """The nodes reachable from a node."""
    return _reached(G, source, False)


@register(least=20_000)
def ancestors(G: Converted, source: Any) -> set[Any]:
    """The nodes from which a node is reachable."""
    return _reached(G, source, True)
