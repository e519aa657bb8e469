"""Shortest paths by weight, in the order of NetworkX's heap."""

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
    """The result of Dijkstra's algorithm from some nodes, within a limit."""

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
        self._tight: tuple[Array, Array] | None = None
        self._ranks: Array | None = None

    def tight(self) -> tuple[Array, Array]:
        """Return tails and heads of the edges on shortest paths, in the order of the rows."""
        if self._tight is None:
            out = self.graph.out
            tails, heads, d = out.owners(), out.indices, self.distances
            long = 1.0 if self.graph.values is None else self.graph.out_values
            are = (d[tails] + long == d[heads]) & np.isfinite(d[heads])
            self._tight = tails[are], heads[are]
        return self._tight

    def ranks(self) -> Array:
        """Return the position of each node in the order in which NetworkX's heap yields them, or -1 if unreached."""
        if self._ranks is None:
            self._ranks = ranks(self.distances, self.tight, np.array(self.sources, np.int64))
        return self._ranks

    def order(self) -> Array:
        """Return the nodes reached, in the order in which NetworkX's Dijkstra takes them from its heap."""
        ranks = self.ranks()
        reached = np.flatnonzero(ranks >= 0)
        order = np.empty(len(reached), np.int64)
        order[ranks[reached]] = reached
        return order

    def number(self, distance: float) -> Any:
        """Return a distance in NetworkX's type."""
        return int(distance) if self.is_whole else distance

    def lengths(self) -> dict[Any, Any]:
        """Return distances by name, in order."""
        order = self.order()
        distances = self.distances[order]
        far = (distances.astype(np.int64) if self.is_whole else distances).tolist()
        far[: len(self.sources)] = [0] * len(self.sources)
        return dict(zip(self.G.called(order), far))

    def parents(self) -> Array:
        """Return the node that first reached each node at its distance, or -1 for sources."""
        tails, heads = self.tight()
        by_vertex, by_rank = np.full(len(self.G), -1, np.int64), self.ranks()
        last = np.argsort(-by_rank[tails], kind="stable")  # where positions repeat, the last value stays
        by_vertex[heads[last]] = tails[last]
        by_vertex[self.sources] = -1
        return by_vertex

    def paths(self) -> dict[Any, list[Any]]:
        """Return paths by the name of their last node: first the sources, then the other nodes in order."""
        order, before = self.order(), self.parents()
        paths: dict[Any, list[Any]] = {name: [name] for name in self.G.called(self.sources)}
        rest = order[len(self.sources) :]
        lengthen(paths, self.G.called(rest), self.G.called(before[rest]))
        return paths

    def is_only(self, target: int) -> bool:
        """Return whether the shortest path to a node is unique, also up to the rounding of sums from its other end."""
        out, d = self.graph.out, self.distances
        long = 1.0 if self.graph.values is None else self.graph.out_values
        near = np.flatnonzero(d[out.owners()] + long <= d[out.indices] * (1.0 if self.is_whole else 1 + 1e-9))
        counts = np.bincount(out.indices[near], minlength=len(self.G))
        return bool((counts[self.G.numbered(self.path(target)[1:])] == 1).all())

    def path(self, target: int) -> list[Any]:
        """Return the path to one node."""
        before, vertices = self.parents(), [target]
        while before[vertices[-1]] >= 0:
            vertices.append(int(before[vertices[-1]]))
        return self.G.called(vertices[::-1])


def _search(G: Converted, sources: Iterable[Any], cutoff: Any, weight: Any, reverse: bool = False) -> Search:
    """Return a search from some names, with NetworkX's errors."""
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
    """Return lengths and paths from the nearest of some nodes, to one node or to every one."""
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
    """Return distances from the nearest of some nodes."""
    return _search(G, sources, cutoff, weight).lengths()


@register(least=10_000)
def voronoi_cells(G: Converted, center_nodes: Any, weight: Any = "weight") -> dict[Any, set[Any]]:
    """Return the nodes that are nearest to each of some nodes. Of equally near ones, the heap's first wins."""
    search = _search(G, center_nodes, None, weight)
    order, before = search.order(), search.parents()
    root = np.where(before < 0, np.arange(len(before)), before)
    for _ in range(len(root).bit_length()):  # pointer doubling
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
    """Return the distance from one node to another. If there is no path, raise an error with the message."""
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
    """Return the distance from one node to another, without a heuristic."""
    if source not in G or target not in G:
        raise nx.NodeNotFound(f"Either source {source} or target {target} is not in G")
    return _length(G, source, target, weight, f"Node {target} not reachable from {source}")


@register(only("heuristic", None), only("cutoff", None), by_name("weight"), least=10_000)
def astar_path(
    G: Converted, source: Any, target: Any, heuristic: Any = None, weight: Any = "weight", *, cutoff: Any = None
) -> list[Any]:
    """Return the path from one node to another, without a heuristic."""
    for name, node in (("Source", source), ("Target", target)):
        if node not in G:
            raise nx.NodeNotFound(f"{name} {node} is not in G")
    return _reaching(G, source, target, weight, f"Node {target} not reachable from {source}").path(G.numbers[target])


@register(by_name("weight"), least=10_000)
def bellman_ford_path(G: Converted, source: Any, target: Any, weight: Any = "weight") -> list[Any]:
    """Return the path from one node to another, if it is the only one of its length."""
    if source not in G or target not in G:
        raise NotImplementedError("a node is not in the graph")
    search = _reaching(G, source, target, weight, f"Target {target} cannot be reached from given sources")
    if not search.is_only(G.numbers[target]):
        raise NotImplementedError("several paths are equally short, and NetworkX's depends on the order of a queue")
    return search.path(G.numbers[target])


def _reaching(G: Converted, source: Any, target: Any, weight: Any, missing: str) -> Search:
    """Return a search from one node that reaches another. If there is no path, raise an error with the message."""
    search = _search(G, {source}, None, weight)
    if not np.isfinite(search.distances[G.numbers[target]]):
        raise nx.NetworkXNoPath(missing)
    return search


@register(number("cutoff"), least=10_000)
def dijkstra_predecessor_and_distance(
    G: Converted, source: Any, cutoff: Any = None, weight: Any = "weight"
) -> tuple[dict[Any, list[Any]], dict[Any, Any]]:
    """Return the nodes before each one on shortest paths from a node, and distances."""
    if source not in G:
        raise nx.NodeNotFound(f"Node {source} is not found in the graph")
    search = _search(G, [source], cutoff, weight)
    tails, heads = search.tight()
    by_rank = np.argsort(search.ranks()[tails], kind="stable")
    with without_collecting():
        pred: dict[Any, list[Any]] = {name: [] for name in G.called(_discovered(search))}
        for name, parent in zip(G.called(heads[by_rank]), G.called(tails[by_rank])):
            pred[name].append(parent)
    return pred, search.lengths()


def _discovered(search: Search) -> Array:
    """Return nodes in the order in which the search first met them, at any distance within the limit."""
    out, d = search.graph.out, search.distances
    tails, heads = out.owners(), out.indices
    long = 1.0 if search.graph.values is None else search.graph.out_values
    are = np.isfinite(d[tails]) & (d[tails] + long <= search.limit)
    tails, heads = tails[are], heads[are]
    came = heads[np.argsort(search.ranks()[tails], kind="stable")]
    came = np.concatenate([np.array(search.sources, came.dtype), came])
    _, at = np.unique(came, return_index=True)
    return np.asarray(came[np.sort(at)])


def _check_lengths(G: Converted, cutoff: Any = None, weight: Any = "weight") -> None:
    lengths(G, weight)


all_pairs_dijkstra, all_pairs_dijkstra_path, all_pairs_dijkstra_path_length = (
    compose(theirs, number("cutoff"), least=500, check=_check_lengths)
    for theirs in (nx.all_pairs_dijkstra, nx.all_pairs_dijkstra_path, nx.all_pairs_dijkstra_path_length)
)
