"""What a user could install instead: one file a peer, one method an algorithm, all with the same names and arguments.

A peer is made from a `BenchmarkGraph`. It converts the graph to its own structures when an algorithm first asks for
them, so that after one untimed call only the algorithm itself is measured. A method that a peer has no fair answer for
is missing.

`bfs(source)` returns parents, `sssp(source)` distances, `pagerank()` ranks after `PAGERANK_ITERATIONS` (every edge of
weight one), `components()` labels, `triangles()` their number, `betweenness(sources)` scores up to a common factor.
They return the peer's own kind of result; `dense` turns it into NumPy, outside of what is timed.
"""

from __future__ import annotations

import importlib
from typing import Any

from gasla.bench.graphs import BenchmarkGraph

ALGORITHMS = ("bfs", "sssp", "pagerank", "components", "triangles", "betweenness")
PEERS = {  # name: module, class; gasla stands first, being compared with all others
    "gasla": ("benchmarks.peers.gasla_peer", "Gasla"),
    "graphblas": ("benchmarks.peers.graphblas_peer", "GraphBLAS"),
    "scipy": ("benchmarks.peers.scipy_peer", "SciPy"),
    "igraph": ("benchmarks.peers.igraph_peer", "Igraph"),
    "networkit": ("benchmarks.peers.networkit_peer", "NetworKit"),
}
PAGERANK_ITERATIONS = 20
DAMPING = 0.85
THREADS = 2


def make(name: str, graph: BenchmarkGraph) -> Any:
    """Return the peer of this name on this graph; ImportError where it is not installed."""
    module, cls = PEERS[name]
    return getattr(importlib.import_module(module), cls)(graph)
