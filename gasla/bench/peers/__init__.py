"""What a user could install instead: one file a peer, one method an algorithm, all with the same names and arguments.

A peer is made from a `BenchmarkGraph` on its device. It converts the graph to its own structures when an algorithm
first asks for them, so that after one untimed call only the algorithm itself is measured. A method that a peer has no
fair answer for is missing.

`bfs(source)` returns parents, `multi_source_bfs(sources)` levels or what `searches` returns, `sssp(source)` and
`multi_source_shortest_paths(sources)` distances, `pagerank()` ranks after `PAGERANK_ITERATIONS` (every edge of weight
one), `hits()` hub scores after as many, `components()` labels, `strong_components()` those of the directed edges of
`graph.one_way`, `condensation()` the graph of these, `ego_graph(source)` that of all within `RADIUS`, of both of which
`dense` tells how many vertices and stored edges there are, `triangles()` their number, `core_number()` core numbers,
`maximal_independent_set()` who is in it,
`greedy_color()` colours, `maximal_matching()` and `weighted_matching()`, where heavier edges come first, mates,
`betweenness(sources)` and `edge_betweenness(sources)`, of each stored edge, scores up to a common factor,
`personal_pageranks()` a row of ranks for each of `graph.homes`,
`aggregate_features()` the sums of `graph.features`, `topological_order()` an order of the vertices and `longest_path()`
the lengths of longest paths to them, each edge leading from the smaller vertex to the larger, `katz()` scores by
`graph.attenuation` and `eigenvector()` scores (each to within `TOLERANCE` or nearer, up to their norm, every edge of
weight one), `bipartite()` whether the graph is, `bridges()` pairs of vertices, `articulation_points()` ids,
`minimum_spanning_forest()` an entry an edge, `label_propagation()` and `louvain_communities()` labels of communities,
`modularity()` that of `graph.groups`, every edge of weight one, `edge_support()` triangles at each stored edge,
`clustering()` coefficients, `k_truss()` whether each stored edge is in the truss of `TRUSS`, `jaccard()` and
`adamic_adar()` how alike the ends of each stored edge are, `top_k_similar()` the Jaccard scores of the `SIMILAR` most
similar to each vertex, `square_clustering()` coefficients, `four_cliques()` the number of cliques of four vertices,
`pagerank_nibble(source)` a community by `NIBBLE`, `maximum_flow()` and `minimum_cut()` the value of that between
`graph.ends`, weights being capacities, `random_walks()` and `node2vec_walks()` a row of `STEPS` for each of
`graph.walkers`, `sample_neighbors()` of `DRAWN`.
They return the peer's own kind of result; `dense` turns it into an array of NumPy or CuPy, outside of what is timed.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import Device, array_module, module_of
from gasla.bench.answers import depths
from gasla.bench.graphs import BenchmarkGraph

ALGORITHMS = ("bfs", "sssp", "pagerank", "components", "triangles", "betweenness")
PAGERANK_ITERATIONS = 20
TOLERANCE = 1e-6  # of scores that a product leaves where they are, in the mean
DAMPING = 0.85
SIMILAR = 10  # of each vertex
NIBBLE = 0.01, 1e-6  # how likely the lazy surfer jumps back, and the residual an edge that is enough for a push
STEPS = 16  # of each walker
DRAWN = 10  # neighbours of each vertex
NODE2VEC = 0.5, 2.0  # p and q
RADIUS = 2  # of ego graphs
TRUSS = 6  # every edge in four triangles


class Peer(NamedTuple):
    """Where a peer is, and what it needs."""

    cls: str
    module: str  # in this package
    package: str  # that has to be installed
    device: Device
    beside: tuple[Device, ...] = ("cpu", "gpu")  # where gasla may run that is compared with it


PEERS = {
    "graphblas": Peer("GraphBLAS", "graphblas_peer", "graphblas", "cpu"),
    "scipy": Peer("SciPy", "scipy_peer", "scipy", "cpu"),
    "igraph": Peer("Igraph", "igraph_peer", "igraph", "cpu"),
    "networkit": Peer("NetworKit", "networkit_peer", "networkit", "cpu"),
    "cusparse": Peer("CuSparse", "cusparse_peer", "cupy", "gpu", ("gpu",)),
    "cugraph": Peer("CuGraph", "cugraph_peer", "cugraph", "gpu", ("gpu",)),
    "gasla-cpu": Peer("Gasla", "gasla_peer", "gasla", "cpu", ("gpu",)),
}


def installed(device: Device) -> list[str]:
    """Those that compute on this device and are there; not gasla itself."""
    return [name for name, peer in PEERS.items() if peer.device == device and name != "gasla-cpu" and is_there(name)]


def is_there(name: str) -> bool:
    """Whether what a peer needs is installed."""
    return find_spec(PEERS[name].package) is not None


def device_of(name: str, graph: BenchmarkGraph) -> Device:
    """Where a contestant computes; gasla where the graph is."""
    return PEERS[name].device if name in PEERS else graph.device


def make(name: str, graph: BenchmarkGraph) -> Any:
    """Return the peer of this name on this graph; ImportError or RuntimeError where it can't be had."""
    peer = PEERS[name]
    module_of(peer.device)  # or an error that says what is missing
    module = importlib.import_module(f"{__name__}.{peer.module}")
    return getattr(module, peer.cls)(graph.on(peer.device))


def searches(peer: Any, sources: list[int]) -> list[tuple[int, Any]]:
    """Parents from each source, by a search each."""
    return [(source, peer.bfs(source)) for source in sources]


def levels_of(found: list[tuple[int, Any]], dense: Callable[[Any], Any]) -> Any:
    """What `searches` found, as rows of levels."""
    return np.stack([depths(dense(parents), source) for source, parents in found])


def threads() -> int:
    """How many threads everyone may use: as many as gasla's kernels."""
    from gasla.cpu.runtime.threads import num_threads

    return num_threads()


def power_iteration(pattern: Any) -> Any:
    """Return PageRank after `PAGERANK_ITERATIONS`, of a graph that is its own transpose, in its values' precision."""
    xp, kind, n = array_module(pattern), pattern.dtype.type, pattern.shape[0]
    degrees = pattern.indptr[1:] - pattern.indptr[:-1]
    sinks = xp.flatnonzero(degrees == 0)
    factor = (DAMPING / xp.maximum(degrees, 1)).astype(kind)
    ranks = xp.full(n, 1 / n, kind)
    for _ in range(PAGERANK_ITERATIONS):
        teleport = (1 - DAMPING + DAMPING * ranks[sinks].sum()) / n
        ranks = pattern @ (ranks * factor) + teleport.astype(kind)
    return ranks


def hub_iteration(pattern: Any) -> Any:
    """Return hub scores after `PAGERANK_ITERATIONS` of HITS, of a graph that is its own transpose."""
    xp, kind, n = array_module(pattern), pattern.dtype.type, pattern.shape[0]
    hubs = xp.full(n, 1 / n, kind)
    for _ in range(PAGERANK_ITERATIONS):
        authorities = pattern @ hubs
        hubs = pattern @ (authorities / authorities.sum())
        hubs /= hubs.sum()
    return hubs


def personal_iteration(pattern: Any, homes: Any) -> Any:
    """Return the same for surfers who jump home, and from sinks too: a row each, as `homes` has."""
    xp, kind = array_module(pattern), pattern.dtype.type
    degrees, homes = pattern.indptr[1:] - pattern.indptr[:-1], xp.ascontiguousarray(homes.T, kind)
    sinks = xp.flatnonzero(degrees == 0)
    factor = (DAMPING / xp.maximum(degrees, 1)).astype(kind)[:, None]
    ranks = xp.full(homes.shape, 1 / len(homes), kind)
    for _ in range(PAGERANK_ITERATIONS):
        teleport = 1 - DAMPING + DAMPING * ranks[sinks].sum(axis=0)
        ranks = pattern @ (ranks * factor) + teleport.astype(kind) * homes
    return ranks.T
