"""Iterators over all simple paths, cycles and cliques, which search only as far as they are read; one cycle."""

from collections.abc import Callable, Iterator
from math import ceil
from typing import Any

import networkx as nx

import gasla
from gasla.arrays import moved
from gasla.backends.networkx.conversion import Converted
from gasla.backends.networkx.dispatch import SIMPLE, UNDIRECTED, number, only, register, when

WHOLE = when("a bound that is no whole number", lambda given: not isinstance(given["length_bound"], int | None))
# The number of paths, cycles or cliques that the first search finds, and the factor by which this limit grows with each
# further search.
FIRST, GROWTH = 1 << 10, 32


def _search_in_steps(G: Converted, search: Callable[..., Any]) -> Iterator[list[Any]]:
    """Yield the paths, cycles or cliques that `search` finds, each as a list of nodes.

    `search` is called with the graph and a limit of results. When all results have been read, it is called again with a
    larger limit.
    """
    done, limit = 0, FIRST
    while True:
        paths = search(G.plain(), limit=limit)
        for i in range(done, len(paths)):
            yield G.called(paths[i])
        if len(paths) < limit:
            return
        done, limit = limit, limit * GROWTH


@register(SIMPLE, number("cutoff"), when("several targets", lambda given: given["target"] not in given["G"]), least=500)
def all_simple_paths(G: Converted, source: Any, target: Any, cutoff: Any = None) -> Iterator[list[Any]]:
    """Return an iterator over the paths between two nodes that visit no node twice, in NetworkX's order."""
    if source not in G or target not in G:
        raise NotImplementedError("a node is not in the graph")
    longest = len(G) - 1 if cutoff is None else ceil(min(cutoff, len(G) - 1))
    if source == target:
        return iter([[source]] if longest >= 0 else [])
    ends = G.numbers[source], G.numbers[target]
    return _search_in_steps(G, lambda graph, limit: gasla.simple_paths(graph, *ends, max(longest, 0), limit=limit))


@register(SIMPLE, WHOLE, least=500, choice="NetworkX gives cycles in another order and from other nodes")
def simple_cycles(G: Converted, length_bound: Any = None) -> Iterator[list[Any]]:
    """Return an iterator over the cycles that visit no node twice, in another order than NetworkX.

    Each cycle starts at the first of its nodes in the graph.
    """
    if length_bound is not None and length_bound < 0:
        raise NotImplementedError("a bound is negative")
    longest = len(G) if length_bound is None else min(length_bound, len(G))
    directed = G.is_directed()
    return _search_in_steps(G, lambda graph, limit: gasla.simple_cycles(graph, longest, directed=directed, limit=limit))


@register(
    SIMPLE,
    only("source", None),
    only("orientation", None),
    least=20_000,
    choice="NetworkX gives the cycle that its search finds first",
)
def find_cycle(G: Converted, source: Any = None, orientation: Any = None) -> list[tuple[Any, Any]]:
    """Return the edges of a cycle, which may be another one than NetworkX finds."""
    cycle = gasla.find_cycle(G.plain().to(G.device), directed=G.is_directed()) if len(G) else None
    if cycle is None:
        raise nx.NetworkXNoCycle("No cycle found.")
    nodes = G.called(moved(cycle, "cpu"))
    return [*zip(nodes, [*nodes[1:], nodes[0]])]


@register(UNDIRECTED, only("nodes", None), least=500, choice="NetworkX gives cliques in another order")
def find_cliques(G: Converted, nodes: Any = None) -> Iterator[list[Any]]:
    """Return an iterator over the maximal cliques, in another order than NetworkX.

    The nodes of a clique are in the order of the graph.
    """
    return _search_in_steps(G, lambda graph, limit: gasla.maximal_cliques(graph, limit=limit))
