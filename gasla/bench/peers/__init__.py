"""Other libraries for comparison: one file per library, with one method per algorithm.

A peer is made from a `BenchmarkGraph` on its device. It converts the graph to its own data structures at first use, so
that after one untimed call only the algorithm itself is measured. Algorithms that a library can't compute in a
comparable way are left out.

Methods take the arguments listed in `gasla.bench.tasks`. `bfs` returns parents, `sssp` distances, `hits` hub scores
after `PAGERANK_ITERATIONS`, `betweenness` and `edge_betweenness` scores up to a common factor, `edge_support`,
`k_truss`, `jaccard` and `adamic_adar` one value per stored edge, `top_k_similar` scores. Results have the library's own
type; `dense`, which is not timed, converts them to NumPy or CuPy arrays.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cached_property
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from gasla.arrays import Device, array_module, module_of
from gasla.bench.graphs import BenchmarkGraph

ALGORITHMS = ("bfs", "sssp", "pagerank", "components", "triangles", "betweenness")
PAGERANK_ITERATIONS = 20
TOLERANCE = 1e-6  # largest mean change of the scores at which the iterations of centralities end
DAMPING = 0.85
SIMILAR = 10  # number of most similar vertices to find for each vertex
NIBBLE = 0.01, 1e-6  # the parameters alpha and epsilon of PageRank-Nibble
DRAWN = 10  # number of neighbors sampled per vertex
WINDOW = 2  # largest number of steps between the two vertices of a pair taken from a walk
NODE2VEC = 0.5, 2.0  # the parameters p and q of node2vec
RADIUS = 2  # largest number of edges from the center of an ego graph to its other vertices
TRUSS = 6  # k of the k-truss, in which every edge is in at least k - 2 = 4 triangles


class Peer(NamedTuple):
    """The place of a peer (another library to compare with), the package that it requires, and the device it computes
    on.
    """

    cls: str
    module: str  # name of the peer's module in the package gasla.bench
    package: str  # name of the Python package that has to be installed
    device: Device
    # devices of gasla with which this peer is compared; its own device may be another one
    beside: tuple[Device, ...] = ("cpu", "gpu")


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
    """Return the names of the installed peers that compute on a device. gasla itself is not among them."""
    return [
        name for name, peer in PEERS.items() if peer.device == device and name != "gasla-cpu" and is_installed(name)
    ]


def is_installed(name: str) -> bool:
    """Return whether the package that a peer requires is installed."""
    return find_spec(PEERS[name].package) is not None


def device_of(name: str, graph: BenchmarkGraph) -> Device:
    """Return the device on which a contestant computes: a peer on its own, gasla on the graph's."""
    return PEERS[name].device if name in PEERS else graph.device


def make(name: str, graph: BenchmarkGraph) -> Any:
    """Return an object of a peer's class for a graph, which is copied to the peer's device if necessary.

    Raise ImportError or RuntimeError if a package or a GPU is missing.
    """
    peer = PEERS[name]
    module_of(peer.device)  # raises a RuntimeError if the peer computes on a GPU and there is none
    module = importlib.import_module(f"gasla.bench.{peer.module}")
    return getattr(module, peer.cls)(graph.on(peer.device))


class Products:
    """Algorithms made of sparse matrix products in float32, for libraries whose matrices support `@`."""

    def __init__(self, graph: BenchmarkGraph) -> None:
        self.graph = graph

    @cached_property
    def pattern(self) -> Any:
        """Return the matrix with all weights 1."""
        return self.graph.pattern

    def pagerank(self) -> Any:
        """Compute PageRank by power iteration."""
        return power_iteration(self.pattern)

    def personal_pageranks(self) -> Any:
        """Compute PageRank for all personalizations at once, by power iteration with a dense matrix."""
        return personal_iteration(self.pattern, self.graph.personalizations)

    def aggregate_features(self) -> Any:
        """Multiply the graph's matrix, which is symmetric, by the dense matrix of features."""
        return self.graph.matrix @ self.graph.features

    def mxv(self) -> Any:
        """Multiply the graph's matrix by a vector."""
        return self.graph.matrix @ self.graph.vector

    def mxm(self) -> Any:
        """Multiply the graph's matrix by itself."""
        return self.graph.matrix @ self.graph.matrix


def searches(peer: Any, sources: list[int]) -> list[tuple[int, Any]]:
    """Return pairs of a source and the BFS parents from it, for libraries without a search from several sources."""
    return [(source, peer.bfs(source)) for source in sources]


def levels_of(trees: list[tuple[int, Any]], dense: Callable[[Any], Any]) -> Any:
    """Return the levels of all vertices for each tree of parents that `searches` returns, as the rows of a matrix."""
    return np.stack([depths(dense(parents), source) for source, parents in trees])


def depths(parents: Any, source: int) -> Any:
    """Return for each vertex the number of steps from it to the source, going from parent to parent.

    The number is -1 for a vertex whose parents don't lead to the source.
    """
    xp = array_module(parents)
    vertices = xp.arange(len(parents))
    ancestor = xp.where(parents < 0, vertices, parents)
    ancestor[source] = source
    steps = (ancestor != vertices).astype(np.int64)
    # Each round replaces the ancestor that is k steps above a vertex by that 2k steps above it (pointer doubling). The
    # number of rounds is limited, because wrong parents may form a cycle.
    for _ in range(len(parents).bit_length()):
        if not bool((ancestor != (further := ancestor[ancestor])).any()):
            break
        steps += steps[ancestor]
        ancestor = further
    return xp.where(ancestor == source, steps, -1)


def upper_places(matrix: Any) -> np.ndarray[Any, Any]:
    """Return for each stored entry of a symmetric matrix the position of its edge among the entries above the diagonal.

    Libraries that compute a value per undirected edge give it to both directions by these positions.
    """
    n, rows = matrix.shape[0], np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    keys = np.minimum(rows, matrix.indices) * n + np.maximum(rows, matrix.indices)
    return np.searchsorted(np.sort(keys[rows < matrix.indices]), keys)


def threads() -> int:
    """Return the number of threads that all contestants use, which is gasla's."""
    from gasla.cpu.runtime.threads import num_threads

    return num_threads()


def power_iteration(pattern: Any) -> Any:
    """Return PageRank of a symmetric graph after `PAGERANK_ITERATIONS` iterations, in the dtype of the matrix."""
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
    """Return the hub scores of HITS on a symmetric graph after `PAGERANK_ITERATIONS` iterations."""
    xp, kind, n = array_module(pattern), pattern.dtype.type, pattern.shape[0]
    hubs = xp.full(n, 1 / n, kind)
    for _ in range(PAGERANK_ITERATIONS):
        authorities = pattern @ hubs
        hubs = pattern @ (authorities / authorities.sum())
        hubs /= hubs.sum()
    return hubs


def personal_iteration(pattern: Any, personalizations: Any) -> Any:
    """Return personalized PageRank for several personalizations, with one row of ranks for each.

    Vertices without edges pass their rank on by the personalization, too.
    """
    xp, kind = array_module(pattern), pattern.dtype.type
    degrees, personalizations = pattern.indptr[1:] - pattern.indptr[:-1], xp.ascontiguousarray(personalizations.T, kind)
    sinks = xp.flatnonzero(degrees == 0)
    factor = (DAMPING / xp.maximum(degrees, 1)).astype(kind)[:, None]
    ranks = xp.full(personalizations.shape, 1 / len(personalizations), kind)
    for _ in range(PAGERANK_ITERATIONS):
        teleport = 1 - DAMPING + DAMPING * ranks[sinks].sum(axis=0)
        ranks = pattern @ (ranks * factor) + teleport.astype(kind) * personalizations
    return ranks.T
