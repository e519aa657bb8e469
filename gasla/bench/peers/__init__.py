"""What a user could install instead: one file a peer, one method an algorithm, all with the same names and arguments.

A peer is made from a `BenchmarkGraph` on its device. It converts the graph to its own structures when an algorithm
first asks for them, so that after one untimed call only the algorithm itself is measured. A method that a peer has no
fair answer for is missing.

The methods are called as `gasla.bench.tasks` says, and answer the same: `bfs` parents, `sssp` distances, `hits` hub
scores after `PAGERANK_ITERATIONS`, `betweenness` and `edge_betweenness` scores up to a common factor, `edge_support`,
`k_truss`, `jaccard` and `adamic_adar` a value for each stored edge, `top_k_similar` scores.
They return the peer's own kind of result; `dense` turns it into an array of NumPy or CuPy, outside of what is timed.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import Device, array_module, module_of
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
    module: str  # in gasla.bench
    package: str  # that has to be installed
    device: Device
    beside: tuple[Device, ...] = ("cpu", "gpu")  # where gasla may run that is compared with it


PEERS = {
    "graphblas": Peer("GraphBLAS", "peers.graphblas_peer", "graphblas", "cpu"),
    "scipy": Peer("SciPy", "peers.scipy_peer", "scipy", "cpu"),
    "igraph": Peer("Igraph", "peers.igraph_peer", "igraph", "cpu"),
    "networkit": Peer("NetworKit", "peers.networkit_peer", "networkit", "cpu"),
    "cusparse": Peer("CuSparse", "peers.cusparse_peer", "cupy", "gpu", ("gpu",)),
    "cugraph": Peer("CuGraph", "peers.cugraph_peer", "cugraph", "gpu", ("gpu",)),
    "gasla-cpu": Peer("Gasla", "tasks", "gasla", "cpu", ("gpu",)),
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
    module = importlib.import_module(f"gasla.bench.{peer.module}")
    return getattr(module, peer.cls)(graph.on(peer.device))


def searches(peer: Any, sources: list[int]) -> list[tuple[int, Any]]:
    """Parents from each source, by a search each."""
    return [(source, peer.bfs(source)) for source in sources]


def levels_of(found: list[tuple[int, Any]], dense: Callable[[Any], Any]) -> Any:
    """What `searches` found, as rows of levels."""
    return np.stack([depths(dense(parents), source) for source, parents in found])


def depths(parents: Any, source: int) -> Any:
    """Return how many steps every vertex is from the source along its parents, -1 where they do not lead there."""
    xp = array_module(parents)
    vertices = xp.arange(len(parents))
    ancestor = xp.where(parents < 0, vertices, parents)
    ancestor[source] = source
    steps = (ancestor != vertices).astype(np.int64)
    for _ in range(len(parents).bit_length()):  # each round doubles how far it looks; parents may go round in a circle
        if not bool((ancestor != (further := ancestor[ancestor])).any()):
            break
        steps += steps[ancestor]
        ancestor = further
    return xp.where(ancestor == source, steps, -1)


def upper_places(matrix: Any) -> np.ndarray[Any, Any]:
    """For each stored entry, which of those above the diagonal is its edge, in the order of the rows."""
    n, rows = matrix.shape[0], np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    keys = np.minimum(rows, matrix.indices) * n + np.maximum(rows, matrix.indices)
    return np.searchsorted(np.sort(keys[rows < matrix.indices]), keys)


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
