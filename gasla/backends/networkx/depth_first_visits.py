"""Depth-first searches in NetworkX's order, which is gasla's, too, since both follow the order of adjacency lists."""

from collections.abc import Callable, Iterator
from typing import Any

import networkx as nx

import gasla
from gasla.backends.networkx.conversion import Converted
from gasla.backends.networkx.dispatch import DIRECTED, NEVER, Condition, compose, only, register, when


def in_graph(parameter: str) -> Condition:
    """Return the condition that an argument of a call is a node of the graph, or None.

    For any other value NetworkX raises its own error, so gasla leaves the call to NetworkX.
    """

    def is_missing(given: Any) -> bool:
        return given[parameter] is not None and given[parameter] not in given["G"]

    return when(f"{parameter} is not in the graph", is_missing)


CONDITIONS = in_graph("source"), only("depth_limit", None), only("sort_neighbors", None)
# Minimum number of nodes and edges from which on gasla yields nodes in depth-first order faster than NetworkX. It never
# yields edges and trees faster.
LEAST = 20_000


def _search(G: Converted, source: Any) -> Any:
    """Return the preorder, the postorder and the parents of nodes in a depth-first search from a source."""
    return gasla.depth_first_order(G.plain(), None if source is None else G.numbers[source])


@register(*CONDITIONS, least=NEVER)
def dfs_edges(
    G: Converted, source: Any = None, depth_limit: Any = None, *, sort_neighbors: Any = None
) -> Iterator[tuple[Any, Any]]:
    """Yield the edges of a depth-first tree, from parents to children."""
    visited = _search(G, source)
    children = visited.preorder[visited.parents[visited.preorder] != visited.preorder]
    yield from zip(G.called(visited.parents[children]), G.called(children))


def _nodes(order: str) -> Callable[..., Iterator[Any]]:
    """Register the function that yields nodes in the order `order` ("preorder" or "postorder"), and return it."""

    def nodes(
        G: Converted, source: Any = None, depth_limit: Any = None, *, sort_neighbors: Any = None
    ) -> Iterator[Any]:
        """Yield the nodes in preorder or postorder of a depth-first search."""
        yield from G.called(getattr(_search(G, source), order))

    return register(*CONDITIONS, least=LEAST, name=f"dfs_{order}_nodes")(nodes)


dfs_preorder_nodes, dfs_postorder_nodes = _nodes("preorder"), _nodes("postorder")
compose(nx.dfs_tree, *CONDITIONS, least=NEVER)


@register(DIRECTED, in_graph("start"), least=5_000)
def immediate_dominators(G: Converted, start: Any) -> dict[Any, Any]:
    """Return a dictionary from each node except `start` to its immediate dominator.

    Nodes are in the opposite of the order in which a depth-first search leaves them.
    """
    source = G.numbers[start]
    nodes = _search(G, start).postorder[-2::-1]
    return dict(zip(G.called(nodes), G.called(gasla.dominators(G.plain(), source)[nodes])))
