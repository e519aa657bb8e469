"""Shortest paths by any method, and measures of distance such as eccentricity."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import networkx as nx
import numpy as np
from scipy.sparse import csr_array

import gasla
from gasla.arrays import moved
from gasla.backends.networkx.centralities import lengths
from gasla.backends.networkx.connectivity import check_nodes, is_tree
from gasla.backends.networkx.conversion import Array, Converted
from gasla.backends.networkx.dispatch import SIMPLE, UNDIRECTED, by_name, compose, only, register, when
from gasla.backends.networkx.paths import unweighted, weighted
from gasla.backends.networkx.paths.both_ends import path_from_both_ends
from gasla.backends.networkx.paths.unweighted import MANY, many_levels
from gasla.graph.graph import Graph
from gasla.graph.memory_limit import require_room

METHODS = "dijkstra", "bellman-ford"


def _check_method(method: Any, known: tuple[str, ...] = METHODS) -> None:
    if method not in known:
        raise ValueError(f"method not supported: {method}")


ORDER = when(
    "the order of the Bellman-Ford algorithm's queue",
    lambda given: given["method"] == "bellman-ford" and given["weight"] is not None,
)


@register(ORDER, least=20_000)
def shortest_path(
    G: Converted, source: Any = None, target: Any = None, weight: Any = None, method: str = "dijkstra"
) -> Any:
    """Return shortest paths from a source, to a target, between both, or between all pairs of nodes."""
    _check_method(method)
    weight_option = {} if weight is None else {"weight": weight}
    if source is None and target is None:
        return (weighted.all_pairs_dijkstra_path if weight_option else unweighted.all_pairs_shortest_path)(
            G, **weight_option
        )
    if target is None:
        find = weighted.single_source_dijkstra_path if weight_option else unweighted.single_source_shortest_path
        return find(G, source, **weight_option)
    if source is None:
        return _paths_to(G, target, weight)
    if weight is None:
        return unweighted.bidirectional_shortest_path(G, source, target)
    return _path_between(G, source, target, weight)[1]


@register(least=20_000)
def bidirectional_dijkstra(G: Converted, source: Any, target: Any, weight: Any = "weight") -> tuple[Any, list[Any]]:
    """Return the distance from one node to another, and a shortest path."""
    return _path_between(G, source, target, weight)


def _paths_to(G: Converted, target: Any, weight: Any) -> dict[Any, list[Any]]:
    """Return a shortest path from every node to the target, as a dictionary from the first node of each path.

    The dictionary is in the order in which a search from the target reaches the nodes.
    """
    if weight is None:
        return unweighted._paths(G, unweighted.numbered(G, target, f"Source {target} not in G"), None, True)
    search = weighted._search(G, [target], None, weight, reverse=True)
    return {name: path[::-1] for name, path in search.paths().items()}


def _path_between(G: Converted, source: Any, target: Any, weight: Any) -> tuple[Any, list[Any]]:
    """Return the distance between two nodes, and a shortest path.

    If there are several shortest paths, return the one that NetworkX's bidirectional search finds.
    """
    first = unweighted.numbered(G, source, f"Source {source} is not in G")
    last = unweighted.numbered(G, target, f"Target {target} is not in G")
    if source == target:
        return 0, [source]
    search = weighted.Search(G, [first], weight, None, False)
    if not np.isfinite(search.distances[last]):
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    distance = search.number(float(search.distances[last]))
    if search.is_only(last):
        return distance, search.path(last)
    if callable(weight):
        raise NotImplementedError("several paths are as short, and NetworkX calls a weight function from both ends")
    back = lengths(G, weight, reverse=True)
    return distance, G.called(path_from_both_ends(search.graph, back, first, last))


@register(ORDER, least=20_000)
def shortest_path_length(
    G: Converted, source: Any = None, target: Any = None, weight: Any = None, method: str = "dijkstra"
) -> Any:
    """Return distances from a source, to a target, between both, or between all pairs of nodes."""
    _check_method(method)
    weight_option = {} if weight is None else {"weight": weight}
    if source is None and target is None:
        find = weighted.all_pairs_dijkstra_path_length if weight_option else unweighted.all_pairs_shortest_path_length
        return find(G, **weight_option)
    if target is None:
        if weight_option:
            return weighted.single_source_dijkstra_path_length(G, source, **weight_option)
        return unweighted.single_source_shortest_path_length(G, source)
    if source is None:
        if weight_option:
            return weighted._search(G, [target], None, weight, reverse=True).lengths()
        return unweighted._distances(G, unweighted.numbered(G, target, f"Source {target} is not in G"), None, True)
    if weight_option:
        return weighted.dijkstra_path_length(G, source, target, **weight_option)
    first = unweighted.numbered(G, source, f"Source {source} is not in G")
    last = unweighted.numbered(G, target, f"Target {target} is not in G")
    distance = int(unweighted.levels(G, first, None)[last])
    if distance < 0:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return distance


def rows_of(G: Converted, sources: list[int], weight: Any) -> Iterator[Array]:
    """Yield the distances from each of the nodes `sources` to all nodes, in matrices with a row for each source.

    A matrix has up to `MANY` rows. Unreachable nodes have the distance inf.
    """
    if weight is None:
        for rows in many_levels(G, sources):
            yield np.where(rows < 0, np.inf, rows)
        return
    graph = lengths(G, weight).to(G.device)
    for first in range(0, len(sources), MANY):
        distances = gasla.multi_source_shortest_paths(graph, sources[first : first + MANY])
        yield np.asarray(moved(distances, "cpu"), np.float64)


@register(least=500)
def average_shortest_path_length(G: Converted, weight: Any = None, method: Any = None) -> Any:
    """Return the mean distance over all pairs of nodes."""
    method = ("unweighted" if weight is None else "dijkstra") if method is None else method
    _check_method(method, ("unweighted", *METHODS, "floyd-warshall", "floyd-warshall-numpy"))
    n = len(G)
    if n == 0:
        message = "the null graph has no paths, thus there is no average shortest path length"
        raise nx.NetworkXPointlessConcept(message)
    if n == 1:
        return 0
    used_weight = None if method == "unweighted" else weight
    total = 0.0
    for rows in rows_of(G, list(range(n)), used_weight):
        if not np.isfinite(rows).all():
            kind = "strongly connected" if G.is_directed() else "connected"
            raise nx.NetworkXError(f"Graph is not {kind}.")
        total += float(rows.sum())
    is_integer = used_weight is None or G.are_whole(used_weight)
    return (int(total) if is_integer else total) / (n * (n - 1))


def _eccentricities(G: Converted, ids: list[int], weight: Any) -> list[Any]:
    """Return the eccentricity of each of the nodes with these ids, which is the distance to the farthest node."""
    eccentricities: list[Any] = []
    for rows in rows_of(G, ids, weight):
        farthest = rows.max(axis=1)
        if not np.isfinite(farthest).all():
            strongly = "because the digraph is not strongly connected"
            why = strongly if G.is_directed() else "because the graph is not connected"
            raise nx.NetworkXError(f"Found infinite path length {why}")
        are_integers = weight is None or G.are_whole(weight)
        eccentricities += [far or 0 for far in (farthest.astype(np.int64) if are_integers else farthest).tolist()]
    return eccentricities


@register(only("sp", None), least=500)
def eccentricity(G: Converted, v: Any = None, sp: Any = None, weight: Any = None) -> Any:
    """Return the distance to the farthest node, from every node, from some nodes, or from one node."""
    names = list(G.nbunch_iter(v))
    by_name = dict(zip(names, _eccentricities(G, G.numbered(names), weight)))
    return by_name[v] if v in G else by_name


for theirs in (nx.diameter, nx.radius, nx.periphery):
    compose(theirs, least=500)


@register(least=500)
def center(G: Converted, e: Any = None, usebounds: bool = False, weight: Any = None) -> list[Any]:
    """Return the nodes with the smallest eccentricity."""
    if e is None and weight is None and not usebounds and not G.is_directed() and is_tree(G):
        # NetworkX's algorithm for trees reads adjacency dictionaries, which the graphs of this backend lack. NetworkX
        # does not use this algorithm if it gets eccentricities, so they are computed first.
        e = eccentricity(G)
    vertices: list[Any] = nx.center.orig_func(G, e, usebounds, weight)
    return vertices


def barycenter(G: Converted, weight: Any = None, attr: Any = None, sp: Any = None) -> list[Any]:
    """Return the nodes whose sum of distances to all other nodes is smallest."""
    if weight is not None and not G.are_whole(weight):
        raise NotImplementedError(f"sums of {weight!r} are rounded, so another one may be the smallest")
    undirected = weight is None and not G.is_directed()
    if undirected and not len(G):
        raise nx.NetworkXPointlessConcept("G has no nodes.")
    sums = [rows.sum(axis=1) for rows in rows_of(G, list(range(len(G))), weight)]
    totals = np.concatenate(sums) if sums else np.zeros(0)
    if not np.isfinite(totals).all():
        raise nx.NetworkXNoPath(
            f"Input graph {G} is disconnected, so every induced subgraph has infinite barycentricity."
        )
    nearest = np.flatnonzero(totals == totals.min()) if len(totals) else totals.astype(np.int64)
    # For trees, NetworkX returns nodes in the order in which a walk from the first node reaches them, so they are
    # sorted by their distance from it.
    if undirected and is_tree(G):
        nearest = nearest[np.argsort(unweighted.levels(G, 0, None)[nearest], kind="stable")]
    return G.called(nearest)


if hasattr(nx, "centroid"):  # From version 3.7 on, NetworkX calls the function centroid, and barycenter is an alias.
    barycenter.__name__ = "centroid"
register(
    only("sp", None), when("an attribute of the graph to write", lambda given: given["attr"] is not None), least=500
)(barycenter)


def _sum_of_inverses(G: Converted, weight: Any) -> float:
    """Return the sum of 1 / distance over all ordered pairs of nodes.

    Pairs without a path and pairs at distance 0 are left out.
    """
    total = 0.0
    for rows in rows_of(G, list(range(len(G))), weight):
        distances = rows[np.isfinite(rows) & (rows > 0)]
        total += float((1 / distances).sum())
    return total


@register(only("sp", None), least=500)
def harmonic_diameter(G: Converted, sp: Any = None, *, weight: Any = None) -> float:
    """Return the harmonic mean of all distances."""
    n, total = len(G), _sum_of_inverses(G, weight)
    if total != 0:
        return n * (n - 1) / total
    return math.inf if n > 1 else math.nan


@register(UNDIRECTED, least=500)
def global_efficiency(G: Converted) -> float:
    """Return the mean of 1 / distance over all pairs of nodes."""
    n = len(G)
    return _sum_of_inverses(G, None) / (n * (n - 1)) if n > 1 else 0


def _to_integers(rows: Array) -> Array:
    """Return distances that are whole numbers as an array of integers, converted from floats.

    The result has dtype int64. If a sum of squared distances, or of their products with degrees, may exceed int64, it
    has Python's integers instead.
    """
    is_small = rows.size == 0 or float(rows.max() * rows.shape[1]) ** 2 * rows.size < 2**61
    integers: Array = rows.astype(np.int64) if is_small else np.vectorize(int, [object])(rows)
    return integers


def _connected_sum(G: Converted, weight: Any, measure: Callable[[Array, int], Array]) -> Any:
    """Return the sum of a measure over the distances of all pairs of nodes, or inf if a pair has no path.

    `measure` is called with some rows of the distance matrix and the number of the first of these rows.
    """
    check_nodes(G)
    total: Any = 0
    are_integers = len(G) == 1 or weight is None or G.are_whole(weight)
    first = 0
    for rows in rows_of(G, list(range(len(G))), weight):
        if not np.isfinite(rows).all():
            return math.inf
        total += np.asarray(measure(_to_integers(rows) if are_integers else rows, first).sum()).item()
        first += len(rows)
    return total


@register(least=500)
def wiener_index(G: Converted, weight: Any = None) -> Any:
    """Return the sum of the distances of all pairs of nodes."""
    total = _connected_sum(G, weight, lambda rows, first: rows)
    return total if G.is_directed() or total == math.inf else total / 2


@register(UNDIRECTED, SIMPLE, least=500)
def hyper_wiener_index(G: Converted, weight: Any = None) -> Any:
    """Return half the sum of distance + distance**2 over all ordered pairs of nodes."""
    return _connected_sum(G, weight, lambda rows, first: rows + rows**2) / 2


# NetworkX's dictionary of degrees holds the argument `weight` under the key "weight", in place of the degree of a node
# of that name, so gasla declines such graphs.
NAMED_WEIGHT = when("a node called 'weight'", lambda given: "weight" in given["G"])


@register(UNDIRECTED, SIMPLE, NAMED_WEIGHT, least=500)
def schultz_index(G: Converted, weight: Any = None) -> Any:
    """Return half the sum over all ordered pairs of nodes of the distance times the sum of both degrees."""
    degrees = G.degrees()
    return _connected_sum(G, weight, lambda rows, first: rows * (degrees[first:][: len(rows), None] + degrees)) / 2


@register(UNDIRECTED, SIMPLE, NAMED_WEIGHT, least=500)
def gutman_index(G: Converted, weight: Any = None) -> Any:
    """Return half the sum over all ordered pairs of nodes of the distance times the product of both degrees."""
    degrees = G.degrees()
    return _connected_sum(G, weight, lambda rows, first: rows * degrees[first:][: len(rows), None] * degrees) / 2


@register(by_name("weight"), least=500)
def floyd_warshall_numpy(G: Converted, nodelist: Any = None, weight: Any = "weight") -> Array:
    """Return the matrix of the distances between all nodes, computed by a search from every node."""
    if nodelist is not None and not len(nodelist) == len(G) == len(set(nodelist)):
        raise nx.NetworkXError(
            "nodelist must contain every node in G with no repeats."
            "If you wanted a subgraph of G use G.subgraph(nodelist)"
        )
    if nodelist is not None and (absent := set(nodelist) - set(G)):
        raise nx.NetworkXError(f"Nodes {absent} in nodelist is not in G")
    ids = list(range(len(G))) if nodelist is None else G.numbered(nodelist)
    require_room("the matrix has", len(ids) ** 2, 8, "cpu", "a part of the graph, or distances from some nodes")
    matrix = np.empty((len(ids), len(ids)))
    first = 0
    for rows in rows_of(G, ids, weight):
        matrix[first : first + len(rows)] = rows[:, ids]
        first += len(rows)
    return matrix


LARGE = 512  # From this number of neighbors of a node on, searches are faster than products of dense matrices.


@register(UNDIRECTED, least=500)
def local_efficiency(G: Converted) -> float:
    """Return the mean over all nodes of the global efficiency of the subgraph that the node's neighbors induce."""
    out, n = G.plain().out, len(G)
    # As in NetworkX, the sum is an integer if no node has two neighbors, so that the division by 0 nodes raises the
    # same error.
    total: float = 0
    degrees = np.diff(out.indptr)
    edges = np.sort(out.owners().astype(np.int64) * n + out.indices)
    for degree in np.unique(degrees[degrees > 1]).tolist():
        vertices = np.flatnonzero(degrees == degree)
        step = max(1, 2**20 // degree**2)
        for block in (vertices[first : first + step] for first in range(0, len(vertices), step)):
            neighbors = out.indices[out.indptr[block][:, None] + np.arange(degree)].astype(np.int64)
            pairs = neighbors[:, :, None] * n + neighbors[:, None, :]
            places = np.minimum(np.searchsorted(edges, pairs), len(edges) - 1)
            total += _sum_of_inverses_within(G, edges[places] == pairs) / (degree * (degree - 1))
    return total / n


def _sum_of_inverses_in(graph: Graph) -> float:
    """Return the sum of 1 / distance over all ordered pairs of vertices that are joined by a path."""
    starts = range(0, graph.n, MANY)
    rows = (gasla.multi_source_bfs(graph, list(range(first, min(first + MANY, graph.n)))) for first in starts)
    return float(sum((1 / distances[distances > 0]).sum() for distances in (moved(block, "cpu") for block in rows)))


def _sum_of_inverses_within(G: Converted, adjacent: Array) -> float:
    """Return the sum of 1 / distance over all pairs of nodes of several small graphs with equal numbers of nodes.

    `adjacent` is a three-dimensional array of the adjacency matrices of these graphs.
    """
    degree = adjacent.shape[1]
    if degree > LARGE:
        return float(sum(_sum_of_inverses_in(Graph(csr_array(each)).to(G.device)) for each in adjacent))
    steps = adjacent.astype(np.float32)
    reached, newly_reached = adjacent | np.eye(degree, dtype=np.bool_), adjacent & ~np.eye(degree, dtype=np.bool_)
    total, distance = 0.0, 1
    while count := int(newly_reached.sum()):
        total += count / distance
        newly_reached = (newly_reached.astype(np.float32) @ steps > 0) & ~reached
        reached |= newly_reached
        distance += 1
    return total


BY_PREDECESSORS = when(
    "a method other than Dijkstra's", lambda given: given["weight"] is not None and given["method"] != "dijkstra"
)


def _check_lengths(G: Converted, *_: Any, weight: Any = None, **__: Any) -> None:
    if weight is not None:
        lengths(G, weight)


compose(nx.all_shortest_paths, BY_PREDECESSORS, least=20_000)
for theirs in (nx.single_source_all_shortest_paths, nx.all_pairs_all_shortest_paths):
    compose(theirs, BY_PREDECESSORS, least=20_000, check=_check_lengths)
