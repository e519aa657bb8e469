"""Shortest paths by weight, with nodes in the order in which NetworkX's Dijkstra takes them from its heap."""

from collections.abc import Iterable
from typing import Any

import networkx as nx
import numpy as np

import gasla
from gasla.arrays import moved
from gasla.backends.networkx.centralities import lengths
from gasla.backends.networkx.conversion import Array, Converted
from gasla.backends.networkx.dispatch import by_name, compose, number, only, register
from gasla.backends.networkx.paths.path_lists import lengthen, without_collecting
from gasla.backends.networkx.visit_order import ranks


class Search:
    """The result of Dijkstra's algorithm from some source nodes, up to a maximum distance."""

    def __init__(self, G: Converted, sources: Iterable[int], weight: Any, cutoff: Any, reverse: bool) -> None:
        self.G, self.sources = G, list(dict.fromkeys(sources))
        self.graph = lengths(G, weight, reverse=reverse)
        self.limit = np.inf if cutoff is None else float(cutoff)
        within = None if cutoff is None else max(self.limit, 0)
        distances = gasla.sssp(self.graph.to(G.device), self.sources, cutoff=within)
        self.distances: Array = np.array(moved(distances, "cpu"), np.float64)
        beyond = self.distances > self.limit
        beyond[self.sources] = False
        self.distances[beyond] = np.inf
        self.is_whole = G.are_whole(weight)
        self._tight_edges: tuple[Array, Array] | None = None
        self._ranks: Array | None = None

    def tight(self) -> tuple[Array, Array]:
        """Return the tails and heads of all edges that are on a shortest path, sorted by tail."""
        if self._tight_edges is None:
            out = self.graph.out
            tails, heads, distances = out.owners(), out.indices, self.distances
            edge_lengths = 1.0 if self.graph.values is None else self.graph.out_values
            is_tight = (distances[tails] + edge_lengths == distances[heads]) & np.isfinite(distances[heads])
            self._tight_edges = tails[is_tight], heads[is_tight]
        return self._tight_edges

    def ranks(self) -> Array:
        """Return the position of each node in the order in which NetworkX's search reaches nodes, or -1 for others."""
        if self._ranks is None:
            self._ranks = ranks(self.distances, self.tight, np.array(self.sources, np.int64))
        return self._ranks

    def order(self) -> Array:
        """Return the reached nodes in the order in which NetworkX's Dijkstra takes them from its heap."""
        ranks = self.ranks()
        reached = np.flatnonzero(ranks >= 0)
        order = np.empty(len(reached), np.int64)
        order[ranks[reached]] = reached
        return order

    def number(self, distance: float) -> Any:
        """Return a distance as a number of the type that NetworkX returns, which is int if all weights are integers."""
        return int(distance) if self.is_whole else distance

    def lengths(self) -> dict[Any, Any]:
        """Return the distance of each reached node, by name and in NetworkX's order."""
        order = self.order()
        distances = self.distances[order]
        numbers = (distances.astype(np.int64) if self.is_whole else distances).tolist()
        numbers[: len(self.sources)] = [0] * len(self.sources)
        return dict(zip(self.G.called(order), numbers))

    def parents(self) -> Array:
        """Return for each node its predecessor on the shortest path that NetworkX finds, or -1 for sources.

        Of several shortest paths, NetworkX keeps the first that reaches a node.
        """
        tails, heads = self.tight()
        by_vertex, by_rank = np.full(len(self.G), -1, np.int64), self.ranks()
        # If NumPy assigns to a position several times, the last value stays. Edges are sorted by descending rank of
        # their tails, so that the tail of lowest rank, which NetworkX visits first, stays.
        by_descending_rank = np.argsort(-by_rank[tails], kind="stable")
        by_vertex[heads[by_descending_rank]] = tails[by_descending_rank]
        by_vertex[self.sources] = -1
        return by_vertex

    def paths(self) -> dict[Any, list[Any]]:
        """Return the shortest path to each reached node, by the node's name.

        Sources come first, then nodes in NetworkX's order.
        """
        order, parents = self.order(), self.parents()
        paths: dict[Any, list[Any]] = {name: [name] for name in self.G.called(self.sources)}
        later = order[len(self.sources) :]
        lengthen(paths, self.G.called(later), self.G.called(parents[later]))
        return paths

    def is_only(self, target: int) -> bool:
        """Return whether there is only one shortest path to a node, so that NetworkX finds the same path.

        NetworkX sums distances from both ends, so paths whose lengths differ only by rounding count as equally short.
        """
        out, distances = self.graph.out, self.distances
        edge_lengths = 1.0 if self.graph.values is None else self.graph.out_values
        tight_edges = np.flatnonzero(
            distances[out.owners()] + edge_lengths <= distances[out.indices] * (1.0 if self.is_whole else 1 + 1e-9)
        )
        counts = np.bincount(out.indices[tight_edges], minlength=len(self.G))
        return bool((counts[self.G.numbered(self.path(target)[1:])] == 1).all())

    def path(self, target: int) -> list[Any]:
        """Return the names of the nodes on the shortest path from a source to the node with the id `target`."""
        parents, vertices = self.parents(), [target]
        while parents[vertices[-1]] >= 0:
            vertices.append(int(parents[vertices[-1]]))
        return self.G.called(vertices[::-1])


def _search(G: Converted, sources: Iterable[Any], cutoff: Any, weight: Any, reverse: bool = False) -> Search:
    """Return the result of Dijkstra's algorithm from the nodes with the names `sources`.

    Raise ValueError if there is no source, and NodeNotFound if a source is not in the graph, as NetworkX does.
    """
    if not sources:
        raise ValueError("sources must not be empty")
    for name in sources:
        if name not in G:
            raise nx.NodeNotFound(f"Node {name} not found in graph")
    return Search(G, G.numbered(sources), weight, cutoff, reverse)


@register(number("cutoff"), least=10_000)
def multi_source_dijkstra(
    G: Converted, sources: Any, target: Any = None, cutoff: Any = None, weight: Any = "weight"
) -> tuple[Any, Any]:
    """Return the distance from the nearest source, and a shortest path, for the node `target` or for all nodes."""
    search = _search(G, sources, cutoff, weight)
    if target in sources:
        return 0, [target]
    if target is None:
        return search.lengths(), search.paths()
    vertex = G.numbers.get(target)
    if vertex is None or not np.isfinite(search.distances[vertex]):
        raise nx.NetworkXNoPath(f"No path to {target}.")
    return search.number(float(search.distances[vertex])), search.path(vertex)


multi_source_dijkstra_path = compose(nx.multi_source_dijkstra_path, number("cutoff"), least=10_000)


@register(number("cutoff"), least=10_000)
def multi_source_dijkstra_path_length(
    G: Converted, sources: Any, cutoff: Any = None, weight: Any = "weight"
) -> dict[Any, Any]:
    """Return for each node the distance from the nearest source."""
    return _search(G, sources, cutoff, weight).lengths()


@register(least=10_000)
def voronoi_cells(G: Converted, center_nodes: Any, weight: Any = "weight") -> dict[Any, set[Any]]:
    """Return for each center the set of nodes that are nearer to it than to other centers.

    A node that is equally near to several centers belongs to the one from which NetworkX's search reaches it first.
    """
    search = _search(G, center_nodes, None, weight)
    order, parents = search.order(), search.parents()
    root = np.where(parents < 0, np.arange(len(parents)), parents)
    # Pointer doubling: after k rounds, `root` is the ancestor of each node up to 2**k steps toward its center.
    for _ in range(len(root).bit_length()):
        root = root[root]
    cells: dict[Any, set[Any]] = {}
    for center, node in zip(G.called(root[order]), G.called(order)):
        cells.setdefault(center, set()).add(node)
    if unreachable := set(G.names).difference(*cells.values()):
        cells["unreachable"] = unreachable
    return cells


single_source_dijkstra = compose(nx.single_source_dijkstra, number("cutoff"), least=10_000)
single_source_dijkstra_path = compose(nx.single_source_dijkstra_path, number("cutoff"), least=10_000)
single_source_dijkstra_path_length = compose(nx.single_source_dijkstra_path_length, number("cutoff"), least=10_000)
compose(nx.dijkstra_path, least=10_000)


@register(least=10_000)
def dijkstra_path_length(G: Converted, source: Any, target: Any, weight: Any = "weight") -> Any:
    """Return the distance from one node to another."""
    return _length(G, source, target, weight, f"Node {target} not reachable from {source}")


def _length(G: Converted, source: Any, target: Any, weight: Any, missing: str) -> Any:
    """Return the length of a shortest path from one node to another.

    If there is no path, raise NetworkXNoPath with the message `missing`.
    """
    search = _search(G, {source}, None, weight)
    vertex = G.numbers.get(target) if target in G else None
    if vertex is None or not np.isfinite(search.distances[vertex]):
        raise nx.NetworkXNoPath(missing)
    return 0 if source == target else search.number(float(search.distances[vertex]))


@register(least=10_000)
def bellman_ford_path_length(G: Converted, source: Any, target: Any, weight: Any = "weight") -> Any:
    """Return the distance from one node to another."""
    if source not in G:
        where = f"Node {source} not found in graph" if source == target else f"Source {source} not in G"
        raise nx.NodeNotFound(where)
    return _length(G, source, target, weight, f"node {target} not reachable from {source}")


@register(only("heuristic", None), only("cutoff", None), by_name("weight"), least=10_000)
def astar_path_length(
    G: Converted, source: Any, target: Any, heuristic: Any = None, weight: Any = "weight", *, cutoff: Any = None
) -> Any:
    """Return the distance from one node to another. Calls with a heuristic run on NetworkX."""
    if source not in G or target not in G:
        raise nx.NodeNotFound(f"Either source {source} or target {target} is not in G")
    return _length(G, source, target, weight, f"Node {target} not reachable from {source}")


@register(only("heuristic", None), only("cutoff", None), by_name("weight"), least=10_000)
def astar_path(
    G: Converted, source: Any, target: Any, heuristic: Any = None, weight: Any = "weight", *, cutoff: Any = None
) -> list[Any]:
    """Return a shortest path from one node to another. Calls with a heuristic run on NetworkX."""
    for name, node in (("Source", source), ("Target", target)):
        if node not in G:
            raise nx.NodeNotFound(f"{name} {node} is not in G")
    return _search_reaching(G, source, target, weight, f"Node {target} not reachable from {source}").path(
        G.numbers[target]
    )


@register(by_name("weight"), least=10_000)
def bellman_ford_path(G: Converted, source: Any, target: Any, weight: Any = "weight") -> list[Any]:
    """Return the shortest path from one node to another.

    If several paths are equally short, raise NotImplementedError, so that NetworkX chooses one itself.
    """
    if source not in G or target not in G:
        raise NotImplementedError("a node is not in the graph")
    search = _search_reaching(G, source, target, weight, f"Target {target} cannot be reached from given sources")
    if not search.is_only(G.numbers[target]):
        raise NotImplementedError("several paths are equally short, and NetworkX's depends on the order of a queue")
    return search.path(G.numbers[target])


def _search_reaching(G: Converted, source: Any, target: Any, weight: Any, missing: str) -> Search:
    """Return the result of Dijkstra's algorithm from a source, after a check that it reaches a target.

    If there is no path to the target, raise NetworkXNoPath with the message `missing`.
    """
    search = _search(G, {source}, None, weight)
    if not np.isfinite(search.distances[G.numbers[target]]):
        raise nx.NetworkXNoPath(missing)
    return search


@register(number("cutoff"), least=10_000)
def dijkstra_predecessor_and_distance(
    G: Converted, source: Any, cutoff: Any = None, weight: Any = "weight"
) -> tuple[dict[Any, list[Any]], dict[Any, Any]]:
    """Return the predecessors of each node on shortest paths from a source, and the distances."""
    if source not in G:
        raise nx.NodeNotFound(f"Node {source} is not found in the graph")
    search = _search(G, [source], cutoff, weight)
    tails, heads = search.tight()
    by_rank = np.argsort(search.ranks()[tails], kind="stable")
    with without_collecting():
        pred: dict[Any, list[Any]] = {name: [] for name in G.called(_discovery_order(search))}
        for name, parent in zip(G.called(heads[by_rank]), G.called(tails[by_rank])):
            pred[name].append(parent)
    return pred, search.lengths()


def _discovery_order(search: Search) -> Array:
    """Return the reached nodes in the order in which NetworkX's search first inserts them into its heap.

    A node may first be inserted with a larger distance than its final one.
    """
    out, distances = search.graph.out, search.distances
    tails, heads = out.owners(), out.indices
    edge_lengths = 1.0 if search.graph.values is None else search.graph.out_values
    is_within = np.isfinite(distances[tails]) & (distances[tails] + edge_lengths <= search.limit)
    tails, heads = tails[is_within], heads[is_within]
    discovered = heads[np.argsort(search.ranks()[tails], kind="stable")]
    discovered = np.concatenate([np.array(search.sources, discovered.dtype), discovered])
    _, first_positions = np.unique(discovered, return_index=True)
    return np.asarray(discovered[np.sort(first_positions)])


def _check_lengths(G: Converted, cutoff: Any = None, weight: Any = "weight") -> None:
    lengths(G, weight)


all_pairs_dijkstra, all_pairs_dijkstra_path, all_pairs_dijkstra_path_length = (
    compose(theirs, number("cutoff"), least=500, check=_check_lengths)
    for theirs in (nx.all_pairs_dijkstra, nx.all_pairs_dijkstra_path, nx.all_pairs_dijkstra_path_length)
)
