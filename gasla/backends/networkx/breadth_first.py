"""Breadth-first searches, with nodes in the order of NetworkX's queue."""

from collections.abc import Iterable, Iterator
from typing import Any

import networkx as nx

from gasla.backends.networkx.conversion import Converted
from gasla.backends.networkx.dispatch import compose, number, only, register
from gasla.backends.networkx.paths.unweighted import _within, depth
from gasla.backends.networkx.visit_order import layers, queue

CONDITIONS = only("sort_neighbors", None), number("depth_limit")


def _node_id(G: Converted, source: Any) -> int:
    """Return the id of the node `source`. Raise NetworkXError if the graph has no such node."""
    if source not in G:
        raise nx.NetworkXError(f"The node {source} is not in the {'digraph' if G.is_directed() else 'graph'}.")
    return G.numbers[source]


def _tree_edges(G: Converted, source: Any, reverse: bool, depth_limit: Any) -> Iterable[tuple[Any, Any]]:
    """Return an iterator over the edges of the breadth-first tree from a source, as pairs of a parent and a child."""
    start = _node_id(G, source)
    limit = depth(depth_limit)
    visited = queue(G, [start], reverse) if limit is None else _within(G, start, limit, reverse)[0]
    return zip(G.called(visited.parents[1:]), G.called(visited.order[1:]))


@register(*CONDITIONS, least=20_000)
def bfs_edges(
    G: Converted, source: Any, reverse: bool = False, depth_limit: Any = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, Any]]:
    """Yield the edges of a breadth-first tree, from parents to children."""
    yield from _tree_edges(G, source, reverse, depth_limit)


@register(least=20_000)
def bfs_layers(G: Converted, sources: Any) -> Iterator[list[Any]]:
    """Yield for each distance 0, 1, … the list of the nodes at this distance from the nearest source."""
    first = list({*([sources] if sources in G else sources)})
    for source in first:
        if source not in G:
            raise nx.NetworkXError(f"The node {source} is not in the graph.")
    if not first:
        return
    for layer in layers(queue(G, G.numbered(first))):
        yield G.called(layer)


for theirs in (nx.ancestors, nx.descendants, nx.descendants_at_distance):
    compose(theirs, least=20_000)
for theirs in (nx.bfs_tree, nx.bfs_predecessors, nx.bfs_successors):
    compose(theirs, *CONDITIONS, least=20_000)
