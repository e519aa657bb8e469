"""Topological orders and longest paths of acyclic graphs."""

from collections.abc import Iterator
from itertools import chain, pairwise
from typing import Any

import networkx as nx
import numpy as np

import gasla
from gasla.arrays import moved
from gasla.backends.networkx.conversion import Array, Converted
from gasla.backends.networkx.dispatch import DIRECTED, NEVER, by_name, compose, only, register
from gasla.backends.networkx.visit_order import ranks


def _generations(G: Converted) -> Any:
    """Return a topological order of the nodes and the level of each node, or None if the graph has a cycle."""
    try:
        return gasla.topological_order(G.plain().to(G.device), levels=True)
    except ValueError:  # gasla.topological_order raises ValueError for a graph with a cycle
        return None


@register(least=20_000)
def has_cycle(G: Converted) -> bool:
    """Return whether a directed graph has a cycle."""
    if not G.is_directed():
        raise nx.NetworkXError("Topological sort not defined on undirected graphs.")
    return len(G) > 0 and _generations(G) is None


compose(nx.is_directed_acyclic_graph, least=20_000)


@register(DIRECTED, least=20_000)
def topological_generations(G: Converted) -> Iterator[list[Any]]:
    """Yield the list of nodes of each generation.

    A node's generation is the number of edges of the longest path that ends at the node. Within a generation, nodes are
    in the order in which their last predecessor was yielded.
    """
    if not len(G):
        return iter(())
    generations = _generations(G)
    if generations is None:
        raise NotImplementedError("the graph has a cycle, and NetworkX yields the generations before it")
    levels = np.asarray(moved(generations.levels, "cpu"), np.int64)
    out = G.plain().out
    order = ranks(levels, lambda: (out.owners(), out.indices), np.flatnonzero(levels == 0), latest=True)
    by_rank = np.argsort(order)
    ends = np.cumsum(np.bincount(levels))
    return (G.called(part) for part in np.split(by_rank, ends[:-1]))


@register(DIRECTED, least=NEVER)
def topological_sort(G: Converted) -> Iterator[Any]:
    """Return the nodes in a topological order, which is the order of NetworkX: generation by generation."""
    return chain.from_iterable(topological_generations(G))


def _longest_path(G: Converted, weight: Any, default_weight: Any) -> tuple[list[int], Array]:
    """Return the vertices of a longest path of an acyclic graph, and the weights of all adjacency entries.

    If there are several longest paths, it is the path that NetworkX chooses.
    """
    # Weights are read before the search for cycles, so that an invalid weight raises its error first, as in NetworkX.
    values = G.each(weight, default_weight)
    if _generations(G) is None:
        raise nx.NetworkXUnfeasible("Graph contains a cycle or graph changed during iteration")
    if not np.isfinite(values).all():
        raise NotImplementedError(f"{weight!r} of an edge is not finite")
    values = G.edges.combined(values, np.maximum)
    graph = G.plain().with_values(values.astype(np.float64))
    lengths = np.asarray(moved(gasla.longest_path(graph.to(G.device)).lengths, "cpu"), np.float64)
    order = G.numbered(chain.from_iterable(topological_generations(G)))
    incoming, incoming_values = G.plain(reverse=True).out, values[G.backwards()]
    vertex, path = order[int(np.argmax(lengths[order]))], []
    while True:
        path.append(vertex)
        entries = slice(int(incoming.indptr[vertex]), int(incoming.indptr[vertex + 1]))
        totals = lengths[incoming.indices[entries]] + incoming_values[entries]
        if not len(totals) or not totals.max() >= 0:
            return path[::-1], values
        vertex = int(incoming.indices[entries][np.argmax(totals)])


@register(DIRECTED, by_name("weight"), only("topo_order", None), least=20_000)
def dag_longest_path(
    G: Converted, weight: Any = "weight", default_weight: Any = 1, topo_order: Any = None
) -> list[Any]:
    """Return the longest path of an acyclic graph. If there are several, return the one that NetworkX finds."""
    return G.called(_longest_path(G, weight, default_weight)[0]) if len(G) else []


@register(DIRECTED, by_name("weight"), least=20_000)
def dag_longest_path_length(G: Converted, weight: Any = "weight", default_weight: Any = 1) -> Any:
    """Return the length of the longest path of an acyclic graph."""
    if not len(G):
        return 0
    path, values = _longest_path(G, weight, default_weight)
    out, total = G.plain().out, 0
    for u, v in pairwise(path):
        row = slice(int(out.indptr[u]), int(out.indptr[u + 1]))
        total += values[row][out.indices[row] == v][0].item()
    return total
