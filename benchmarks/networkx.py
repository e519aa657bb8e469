"""Compare the backends of NetworkX, interleaved: NetworkX itself, gasla, nx-parallel and graphblas-algorithms.

    python -m benchmarks.networkx FILE.json [seconds per row [regular expression for rows]]

A row has the median times in milliseconds, and the speedup of gasla over NetworkX, with and without conversion of the
graph (NetworkX caches converted graphs). Code is compiled beforehand. Backends that are not installed, or don't support
a function, are left out. NetworkX is timed at least once, even if a call takes minutes.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import networkx as nx
import numpy as np

from gasla import datasets
from gasla.backends.networkx import convert_from_nx
from gasla.bench.interleave import interleave

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


def contestants(G: Any, call: Callable[..., Any]) -> Iterator[tuple[str, Callable[[int], Any]]]:
    """The calls by name, for all backends that support the function."""
    yield "networkx", lambda _: call(G, backend="networkx")
    yield "gasla, with conversion", lambda _: call(fresh(G), backend="gasla")
    call(G, backend="gasla")
    kept = G.copy()
    call(kept, backend="gasla")
    yield "gasla, converted", lambda _: call(kept, backend="gasla")
    small = nx.path_graph(10)
    for peer in PEERS:
        try:
            call(small, backend=peer)
        except Exception:  # not installed, or not supported
            continue
        yield peer, lambda _, peer=peer: call(fresh(G), backend=peer)


def rows() -> Iterator[tuple[str, Callable[[], dict[str, Callable[[int], Any]]]]]:
    """The contestants of each row, by name."""
    for name, G in graphs():
        yield (
            f"{name}: conversion",
            lambda G=G: {
                "networkx": lambda _: nx.to_scipy_sparse_array(G, backend="networkx"),
                "gasla, with conversion": lambda _: convert_from_nx(G, edge_attrs={"weight": 1}),
            },
        )
        for called, call in CALLS.items():
            yield f"{name}: {called}", lambda G=G, call=call: dict(contestants(G, call))


def main(path: str, budget: float = 10, pattern: str = "") -> None:
    """Time all rows whose names match, and rewrite the file after each."""
    nx.config.warnings_to_ignore.add("cache")
    found: dict[str, dict[str, float]] = {}
    for name, made in rows():
        if not re.search(pattern, name):
            continue
        seconds = interleave(made(), rounds=9, budget=budget)
        times = {who: 1000 * median(all_of) for who, all_of in seconds.items()}
        for who in ("gasla, with conversion", "gasla, converted"):
            if who in times:
                times[f"times NetworkX: {who}"] = times["networkx"] / times[who]
        found[name] = {who: round(value, 2) for who, value in times.items()}
        Path(path).write_text(json.dumps(found, indent=1), encoding="utf-8")
        print(name, found[name], flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *(float(x) for x in sys.argv[2:3]), *sys.argv[3:4])
