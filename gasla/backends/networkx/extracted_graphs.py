"""Functions that return a graph: cores, trusses, ego graphs and spanning trees, as graphs of NetworkX's.

Nodes and edges are inserted in the order of NetworkX's copies of its views, which the results show.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import networkx as nx
import numpy as np

import gasla
from gasla.arrays import moved
from gasla.backends.networkx import kruskal
from gasla.backends.networkx.conversion import PLAIN, Array, Converted
from gasla.backends.networkx.dispatch import NEVER, SIMPLE, UNDIRECTED, number, register, when
from gasla.backends.networkx.paths import unweighted, weighted
from gasla.backends.networkx.triangles_and_cores import core_number as cores


def _like(G: Converted, names: Iterable[Any]) -> Any:
    """A graph of NetworkX's with some nodes of this one, and without edges."""
    if G.data is None or G.node_data is None:
        raise NotImplementedError("the graph was converted without its attributes")
    made = PLAIN[2 * G.is_multigraph() + G.is_directed()]()
    made.graph.update(G.graph)
    made.add_nodes_from((name, G.node_data[G.numbers[name]]) for name in names)
    return made


def _add(G: Converted, made: Any, entries: Array) -> None:
    """Add the edges of some adjacency entries, with their attributes."""
    out, copies = G.plain().out, G.edges.copies
    tails, heads = G.called(out.owners()[entries]), G.called(out.indices[entries])
    data: Any = G.data
    if not G.is_multigraph():
        made.add_edges_from(zip(tails, heads, map(data.__getitem__, entries.tolist())))
        return
    counts = np.ones(len(out.indices), np.int64) if copies is None else copies
    firsts = np.cumsum(counts) - counts
    for u, v, first, many in zip(tails, heads, firsts[entries].tolist(), counts[entries].tolist()):
        edges = range(first, first + many)
        made.add_edges_from((u, v, key, data[edge]) for edge, key in zip(edges, G.keys_of(np.array(edges))))


def induced(G: Converted, nodes: Iterable[Any]) -> Any:
    """A copy of the subgraph of some nodes. Where they are less than half of all, they come in the order of a set."""
    chosen = set(iter(nodes))
    names = list(chosen) if 2 * len(chosen) < len(G) else [name for name in G.names if name in chosen]
    places = np.full(len(G), -1, np.int64)
    places[G.numbered(names)] = np.arange(len(names))
    out = G.plain().out
    tails = places[out.owners()]
    kept = np.flatnonzero((tails >= 0) & (places[out.indices] >= 0))
    made = _like(G, names)
    _add(G, made, kept[np.argsort(tails[kept], kind="stable")])
    return made


Cores = Mapping[Any, int]
GIVEN = when(
    "core numbers that are no dict of all nodes",
    lambda given: (
        given["core_number"] is not None
        and not (isinstance(given["core_number"], dict) and set(given["core_number"]) == set(given["G"]))
    ),
)


def _core(G: Converted, k: Any, core_number: Cores | None, holds: Callable[[Any, int, Any], bool]) -> Any:
    """A copy of the subgraph of the nodes for which a condition on their core number and `k` holds."""
    found = cores(G) if core_number is None else core_number
    k = max(found.values()) if k is None else k
    return induced(G, (name for name in found if holds(name, found[name], k)))


@register(SIMPLE, GIVEN, least=10_000)
def k_core(G: Converted, k: Any = None, core_number: Cores | None = None) -> Any:
    """The largest subgraph in which every node has at least k neighbors; by default the innermost core."""
    return _core(G, k, core_number, lambda _, core, k: core >= k)


@register(SIMPLE, GIVEN, least=10_000)
def k_shell(G: Converted, k: Any = None, core_number: Cores | None = None) -> Any:
    """The subgraph of the nodes of core number k."""
    return _core(G, k, core_number, lambda _, core, k: core == k)


@register(SIMPLE, GIVEN, least=10_000)
def k_crust(G: Converted, k: Any = None, core_number: Cores | None = None) -> Any:
    """The subgraph of the nodes of core number k or less; by default all but the innermost core."""
    found = cores(G) if core_number is None else core_number
    return _core(G, max(found.values()) - 1 if k is None else k, found, lambda _, core, k: core <= k)


@register(SIMPLE, GIVEN, least=10_000)
def k_corona(G: Converted, k: Any, core_number: Cores | None = None) -> Any:
    """The subgraph of the nodes of core number k with exactly k neighbors in the k-core."""
    found = cores(G) if core_number is None else core_number
    out, numbers = G.plain().out, np.array([found[name] for name in G.names])
    inner = np.bincount(out.owners()[numbers[out.indices] >= k], minlength=len(G)).tolist() if len(G) else []
    return _core(G, k, found, lambda name, core, k: core == k == inner[G.numbers[name]])


@register(UNDIRECTED, SIMPLE, when("k is no integer", lambda given: type(given["k"]) is not int), least=10_000)
def k_truss(G: Converted, k: int) -> Any:
    """The subgraph of the edges with k - 2 triangles or more in it."""
    if G.has_loops():
        remedy = "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        raise nx.NetworkXNotImplemented(f"Input graph has self loops which is not permitted; {remedy}")
    out = G.plain().out
    are = np.ones(len(out.indices), np.bool_)
    if k > 2 and len(are):
        are = moved(gasla.k_truss(G.plain().to(G.device), k), "cpu")
    kept = np.flatnonzero(are)
    left = np.bincount(out.owners()[kept], minlength=len(G)) > 0
    made = _like(G, G.called(np.flatnonzero(left)))
    _add(G, made, kept)
    return made


@register(
    number("radius"),
    when("undirected neighborhoods", lambda given: bool(given["undirected"])),
    when("distance is a function", lambda given: callable(given["distance"])),
    least=NEVER,
)
def ego_graph(
    G: Converted, n: Any, radius: Any = 1, center: bool = True, undirected: bool = False, distance: Any = None
) -> Any:
    """The subgraph of the nodes within a radius of a node."""
    if distance is None:
        near = unweighted.single_source_shortest_path_length(G, n, radius)
    else:
        near = weighted.single_source_dijkstra_path_length(G, n, radius, distance)
    made = induced(G, near.keys())
    if not center:
        made.remove_node(n)
    return made


def _tree(G: Converted, edges: Iterator[tuple[Any, ...]]) -> Any:
    made = _like(G, G.names)
    made.add_edges_from(edges)
    return made


KRUSKAL = kruskal.CONDITIONS[:3]


@register(*KRUSKAL, least=20_000)
def minimum_spanning_tree(
    G: Converted, weight: Any = "weight", algorithm: str = "kruskal", ignore_nan: bool = False
) -> Any:
    """A minimum spanning forest: the one that Kruskal's algorithm selects."""
    return _tree(G, kruskal.minimum_spanning_edges(G, algorithm, weight, ignore_nan=ignore_nan))


@register(*KRUSKAL, least=20_000)
def maximum_spanning_tree(
    G: Converted, weight: Any = "weight", algorithm: str = "kruskal", ignore_nan: bool = False
) -> Any:
    """A maximum spanning forest: the one that Kruskal's algorithm selects."""
    return _tree(G, kruskal.maximum_spanning_edges(G, algorithm, weight, ignore_nan=ignore_nan))
