"""Compare the backends of NetworkX, by turns: NetworkX itself, gasla, nx-parallel and graphblas-algorithms.

    python -m benchmarks.networkx [--json FILE] [--rows REGEX] [--budget SECONDS]

A row has the median times in milliseconds, and how many times as fast as NetworkX a backend is, with and without
conversion of the graph (NetworkX caches converted graphs). Code is compiled beforehand. Backends that are not
installed, or don't support a function, are left out. NetworkX is timed at least once, even if a call takes minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import networkx as nx
import numpy as np

from benchmarks.script import Script, command
from gasla import datasets
from gasla.backends.networkx import convert_from_nx

Call = Callable[[int], Any]
PEERS = ("parallel", "graphblas")
CALLS: dict[str, Callable[..., Any]] = {
    "pagerank": nx.pagerank,
    "betweenness_centrality, k=4": lambda G, **by: nx.betweenness_centrality(G, k=4, seed=1, **by),
    "betweenness_centrality, k=64": lambda G, **by: nx.betweenness_centrality(G, k=64, seed=1, **by),
    "edge_betweenness_centrality, k=4": lambda G, **by: nx.edge_betweenness_centrality(G, k=4, seed=1, **by),
    "core_number": nx.core_number,
    "greedy_color": nx.greedy_color,
    "triangles": nx.triangles,
    "connected_components": lambda G, **by: list(nx.connected_components(G, **by)),
    "single_source_shortest_path_length": lambda G, **by: nx.single_source_shortest_path_length(G, 0, **by),
    "single_source_dijkstra_path_length": lambda G, **by: nx.single_source_dijkstra_path_length(G, 0, **by),
    "single_source_shortest_path": lambda G, **by: nx.single_source_shortest_path(G, 0, **by),
}


def graph_of(matrix: Any) -> Any:
    """An undirected NetworkX graph without self loops."""
    coordinates = matrix.tocoo()
    G = nx.Graph()
    G.add_nodes_from(range(matrix.shape[0]))
    ends = zip(coordinates.row.tolist(), coordinates.col.tolist(), coordinates.data.tolist())
    G.add_weighted_edges_from((u, v, w) for u, v, w in ends if u != v)
    return G


def graphs() -> Iterator[tuple[str, Any]]:
    """The included graphs, an R-MAT graph, and a random graph of 10^6 edges."""
    yield "openflights", graph_of(datasets.openflights().matrix)
    yield "NY roads", graph_of(datasets.ny_roads())
    yield "rmat14", graph_of(datasets.rmat(14))
    rng = np.random.default_rng(1)
    G = nx.Graph()
    G.add_nodes_from(range(100_000))
    G.add_edges_from(rng.integers(0, 100_000, (1_000_000, 2)).tolist())
    G.remove_edges_from([(v, v) for v in G if G.has_edge(v, v)])
    yield "10^6 random edges", G


def fresh(G: Any) -> Any:
    """The graph, without cached conversions."""
    G.__networkx_cache__.clear()
    return G


def conversions(G: Any) -> dict[str, Call]:
    """The conversion of a graph, which NetworkX makes to a sparse array."""
    return {
        "networkx": lambda _: nx.to_scipy_sparse_array(G, backend="networkx"),
        "gasla, with conversion": lambda _: convert_from_nx(G, edge_attrs={"weight": 1}),
    }


def contestants(G: Any, call: Callable[..., Any]) -> dict[str, Call]:
    """The calls by name, for all backends that support the function."""

    def converted(backend: str) -> Call:
        return lambda _: call(fresh(G), backend=backend)

    small, kept, peers = nx.path_graph(10), G.copy(), []
    for peer in PEERS:
        with suppress(Exception):  # not installed, or not supported
            call(small, backend=peer)
            peers.append(peer)
    return {
        "networkx": lambda _: call(G, backend="networkx"),
        "gasla, with conversion": converted("gasla"),
        "gasla, converted": lambda _: call(kept, backend="gasla"),
        **{peer: converted(peer) for peer in peers},
    }


def rows() -> Iterator[tuple[str, Callable[[], dict[str, Call]]]]:
    """The contestants of each row, by name."""
    for name, G in graphs():
        yield f"{name}: conversion", partial(conversions, G)
        yield from ((f"{name}: {called}", partial(contestants, G, call)) for called, call in CALLS.items())


def main() -> None:
    """Time all rows whose names match."""
    nx.config.warnings_to_ignore.add("cache")
    script = Script(command(__doc__, "json", "output", "rows", rounds=9, budget=10.0))
    for what, made in script.wanted(rows()):
        calls = made()
        script.contest(what, calls, warm=[name for name in calls if "gasla" in name], keep=())


if __name__ == "__main__":
    main()
