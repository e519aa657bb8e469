"""Benchmark graphs by name. A name means the same graph, weights and sources on every machine.

Graphs are made once and stored in the user's cache folder.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, tril

import gasla
from gasla import datasets
from gasla.arrays import Device, array_module, device_of, moved, require_gpu
from gasla.cache import cache_directory
from gasla.graph.generators import first_of_largest
from gasla.graph.graph import Graph
from gasla.graph.io import read_ends
from gasla.names import meant
from gasla.output import placing

SOURCES = 8
FEATURES = 64
STEPS = 16  # number of steps per random walk
SHUFFLED = 7  # random seed for the order in which `BenchmarkGraph.shuffled` renumbers the vertices
RELATION = ("vertex", "to", "vertex")
SELECTED, ONE_WAY = 0.55, 55  # fraction of edges that the directed graphs keep, and the random seed for choosing them
SAMPLES = 1 << 14  # number of edges that are sampled to see whether neighbors are close in memory
# number of vertices of the small part of a graph, for functions whose results would be too large for the whole graph
PART = 1 << 10
POINTS = 1 << 13  # number of points in space, for searches of nearest neighbors
RANKED = 10  # number of vertices that a simulated recommender ranks for each vertex

FAMILIES = {
    "rmat": datasets.rmat,
    "kron": datasets.kron,
    "urand": datasets.uniform,
    "grid": datasets.grid,
    "rgg": datasets.rgg,
}


class Reach(NamedTuple):
    """What a search from a source reaches: the numbers of vertices and edges, and the number of levels."""

    vertices: int
    edges: int  # number of stored directed edges whose source is reachable; the unit TEPS counts these edges
    depth: int


class BenchmarkGraph:
    """An undirected graph with whole-number float32 weights, sources of searches, and all other inputs of algorithms.

    Parameters
    ----------
    name : str
    matrix : csr_array or cupyx.scipy.sparse.csr_matrix
        Determines the device.
    sources : list of int, optional
        By default eight vertices of the largest component, the same on every machine.
    fingerprint : str, optional
        The value of `gasla.datasets.fingerprint`, for a matrix on a GPU.
    """

    def __init__(
        self, name: str, matrix: Any, sources: list[int] | None = None, fingerprint: str | None = None
    ) -> None:
        self.name, self.matrix, self._fingerprint = name, matrix, fingerprint
        self._sources = sources
        self._reach: dict[int, Reach] = {}
        self._twin: BenchmarkGraph | None = None

    @property
    def device(self) -> Device:
        """The device that the matrix is on."""
        return device_of(self.matrix)

    @property
    def pattern(self) -> Any:
        """The matrix with all weights 1, for algorithms that ignore weights."""
        matrix = self.matrix
        return self._like(array_module(matrix).ones_like(matrix.data), matrix.indices, matrix.indptr)

    def _like(self, data: Any, indices: Any, indptr: Any) -> Any:
        """Return a matrix of the same type and shape as the graph's, with the given entries in CSR form."""
        return type(self.matrix)((data, indices, indptr), shape=self.matrix.shape)

    @cached_property
    def graph(self) -> Graph:
        """The matrix as a `gasla.Graph`."""
        return Graph(self.matrix)

    @cached_property
    def acyclic(self) -> Graph:
        """An acyclic directed graph, which has each edge once, from the smaller vertex to the larger."""
        owners, matrix = self.graph.out.owners(), self.matrix
        forward = owners < matrix.indices
        return Graph.from_edges(owners[forward], matrix.indices[forward], matrix.data[forward], n=self.graph.n)

    @cached_property
    def temporal(self) -> Graph:
        """The graph with a pseudorandom time for each edge, from 0 to 9999."""
        xp = array_module(self.matrix.data)
        times = xp.arange(self.graph.m, dtype=np.int64) * 7919 % 10_000
        return self.graph.with_edge_attributes(time=times)

    @cached_property
    def places(self) -> Any:
        """A pseudorandom location of every eighth vertex, NaN for all other vertices."""
        xp = array_module(self.matrix.data)
        ids = xp.arange(self.graph.n)
        coordinates = xp.stack([ids * 7919 % 1009, ids * 104_729 % 1013], axis=1).astype(np.float64)
        return xp.where((ids % 8 == 0)[:, None], coordinates, xp.nan)

    @cached_property
    def two_sides(self) -> Graph:
        """The bipartite double cover of the graph, which has an edge i - n + j for each edge i -> j."""
        lists, n = self.graph.out, self.graph.n
        return Graph.from_edges(lists.owners(), lists.indices.astype(np.int64) + n, n=2 * n)

    @cached_property
    def capacities(self) -> Any:
        """The matrix with int32 weights, as SciPy's maximum flow requires."""
        return self.matrix.astype(np.int32)

    @cached_property
    def network(self) -> Graph:
        """The graph with int32 weights as capacities of flows."""
        return self.graph.with_values(self.matrix.data.astype(np.int32))

    @cached_property
    def part(self) -> BenchmarkGraph:
        """A connected part of the graph with the `PART` vertices nearest to the first source."""
        level = moved(gasla.bfs(self.graph, self.sources[0]), "cpu")
        nearest = np.argsort(np.where(level < 0, self.graph.n, level), kind="stable")[
            : min(PART, int((level >= 0).sum()))
        ]
        matrix = csr_array(self.on("cpu").matrix)[np.sort(nearest)][:, np.sort(nearest)]
        return BenchmarkGraph(self.name, matrix).on(self.device)

    @cached_property
    def shuffled(self) -> Graph:
        """The graph with its vertices renumbered in random order, as a second graph for tests of isomorphism."""
        xp = array_module(self.matrix)
        order = xp.asarray(np.random.default_rng(SHUFFLED).permutation(self.graph.n))
        return Graph.from_edges(order[self.graph.out.owners()], order[self.matrix.indices], n=self.graph.n)

    @cached_property
    def typed(self) -> gasla.TypedGraph:
        """The graph as a typed graph with one type of vertices and one relation."""
        return gasla.TypedGraph({RELATION: self.graph})

    @cached_property
    def points(self) -> Any:
        """Random points in space, with one coordinate for each feature."""
        return self.features[:POINTS]

    @cached_property
    def costs(self) -> Graph:
        """A complete bipartite graph with random weights.

        It has a vertex for each feature on one side, and the vertices of the graph on the other side.
        """
        return Graph.from_bipartite(csr_array(moved(self.features, "cpu").T + 1))

    @cached_property
    def ranked(self) -> Any:
        """For each vertex `RANKED` different pseudorandom vertices, as a recommender system would rank them."""
        ids = array_module(self.matrix).arange(self.graph.n, dtype=np.int64)
        first, step = ids * 7919, array_module(self.matrix).arange(RANKED, dtype=np.int64) * 104_729
        return (first[:, None] + step) % self.graph.n

    @property
    def ends(self) -> tuple[int, int]:
        """The source and the target of flows and paths, which are the first two sources of searches."""
        return self.sources[0], self.sources[1]

    @cached_property
    def attenuation(self) -> float:
        """The attenuation factor alpha of Katz centrality, chosen so small that the iterations converge."""
        return 1 / (1 + int(self.graph.in_degrees.max()))

    @cached_property
    def one_way(self) -> Any:
        """The adjacency matrix of a directed graph, made by a random choice for each stored edge whether to keep it."""
        selected = np.random.default_rng(ONE_WAY).random(self.graph.m) < SELECTED
        selected, xp = array_module(self.matrix).asarray(selected), array_module(self.matrix)
        offsets = xp.concatenate([xp.zeros(1, np.int64), xp.cumsum(selected)])
        matrix, indptr = self.matrix, offsets[self.matrix.indptr].astype(self.matrix.indptr.dtype)
        return self._like(matrix.data[selected], matrix.indices[selected], indptr)

    @cached_property
    def directed(self) -> Graph:
        """The directed graph `one_way` as a `gasla.Graph`."""
        return Graph(self.one_way)

    @cached_property
    def groups(self) -> Any:
        """An arbitrary community label for each vertex: consecutive vertices form about sqrt(n) groups."""
        n = self.graph.n
        labels = np.arange(n, dtype=np.int32) // max(1, math.isqrt(n))
        return array_module(self.matrix).asarray(labels)

    @cached_property
    def features(self) -> Any:
        """A matrix of random features, with one row per vertex."""
        drawn = np.random.default_rng(FEATURES).random((self.graph.n, FEATURES), np.float32)
        return array_module(self.matrix).asarray(drawn)

    @cached_property
    def vector(self) -> Any:
        """A vector with one random number per vertex."""
        return moved(np.random.default_rng(1).random(self.matrix.shape[0], np.float32), self.device)

    @cached_property
    def products(self) -> int:
        """The number of multiplications in the product of the matrix with itself."""
        degrees = np.diff(moved(self.matrix.indptr, "cpu")).astype(np.int64)
        return int(degrees[moved(self.matrix.indices, "cpu")].sum())

    @cached_property
    def lower(self) -> Any:
        """The matrix with all weights 1 below the diagonal, with vertices sorted by descending degree.

        `triangle_count` uses the same order.
        """
        A = self.on("cpu").pattern
        order = np.argsort(-np.diff(A.indptr), kind="stable")
        L = csr_array(tril(A[order][:, order], -1, format="csr"))
        L.sort_indices()
        return self._like(*(moved(part, self.device) for part in (L.data, L.indices, L.indptr)))

    @cached_property
    def walkers(self) -> Any:
        """Start vertices of about n walkers, chosen in proportion to in-degree: the target of every (m / n)-th edge."""
        return self.graph.out.indices[:: max(1, self.graph.m // max(1, self.graph.n))]

    @cached_property
    def walks(self) -> Any:
        """Random walks from every sixteenth of the start vertices in `walkers`."""
        return gasla.random_walks(self.graph, self.walkers[::16], STEPS)

    @cached_property
    def personalizations(self) -> Any:
        """Personalizations for PageRank, with one row per source that puts all weight on that source."""
        rows = np.zeros((len(self.sources), self.graph.n), np.float32)
        rows[np.arange(len(self.sources)), self.sources] = 1
        return array_module(self.matrix).asarray(rows)

    @cached_property
    def sources(self) -> list[int]:
        """The vertices from which searches start, eight by default."""
        if self._sources is None:
            labels = gasla.connected_components(self.graph).labels
            self._sources = first_of_largest(moved(labels, "cpu"), SOURCES)
        return self._sources

    def spread(self, count: int) -> list[int]:
        """Return `count` vertices that are reachable from the first source, evenly spaced by id.

        If fewer vertices are reachable, return all of them.
        """
        reached = np.flatnonzero(moved(gasla.bfs(self.graph, self.sources[0]), "cpu") >= 0)
        positions = np.linspace(0, len(reached) - 1, min(count, len(reached)))
        return reached[positions.astype(np.int64)].tolist()

    def reach(self, source: int) -> Reach:
        """Return the size of the part of the graph that is reachable from a source. The result is cached."""
        if source not in self._reach:
            level = gasla.bfs(self.graph, source)
            reached = level >= 0
            edges = int(self.graph.out_degrees[reached].sum(dtype=np.int64))
            self._reach[source] = Reach(int(reached.sum()), edges, int(level.max()))
        return self._reach[source]

    @cached_property
    def is_scattered(self) -> bool:
        """Whether random reads miss the cache.

        They do if most neighbors are far apart in memory, and no hub is read so often that it stays in the cache.
        """
        n, m = self.graph.n, self.graph.m
        if m == 0 or int(self.graph.out_degrees.max()) >= 16 * m / n:
            return False
        sampled_edges = array_module(self.matrix).asarray(np.linspace(0, m - 1, SAMPLES).astype(np.int64))
        rows = array_module(self.matrix).searchsorted(self.matrix.indptr, sampled_edges, side="right") - 1
        return bool((abs(self.matrix.indices[sampled_edges] - rows) > n // 32).mean() > 0.5)

    @cached_property
    def fingerprint(self) -> str | None:
        """The value of `gasla.datasets.fingerprint` for the matrix.

        For a matrix on a GPU it was passed by the caller, or is None.
        """
        on_cpu = isinstance(self.matrix.data, np.ndarray)
        return datasets.fingerprint(self.matrix) if on_cpu else self._fingerprint

    def on(self, device: Device) -> BenchmarkGraph:
        """Return this benchmark graph on a device. If it is on the other device, the first call makes a copy, which is
        cached.
        """
        if device == self.device:
            return self
        if self._twin is None:
            matrix = {"cpu": lambda given: csr_array(given.get()), "gpu": _copy_to_gpu}[device](self.matrix)
            self._twin = BenchmarkGraph(self.name, matrix, self.sources, self.fingerprint)
        return self._twin


def _copy_to_gpu(matrix: Any) -> Any:
    """Return a copy of a SciPy matrix on the GPU, as a CuPy matrix."""
    require_gpu()
    from cupyx.scipy.sparse import csr_matrix

    return csr_matrix(matrix)


def load(name: str) -> BenchmarkGraph:
    """Return a benchmark graph, from the cache if possible.

    `name` is `ny`, `openflights`, a family of graphs and a scale, such as `rmat20`, or the path of a file.
    """
    if Path(name).is_file():
        matrix = _undirected(read_ends(name))
        if matrix.nnz == 0:
            raise ValueError(f"{name}: the graph has no edges besides self loops; expected edges to measure something")
        return BenchmarkGraph(Path(name).name.partition(".")[0], matrix)
    path = cache_directory() / "benchmarks" / f"{name}.npz"
    loaded = _read_from_cache(path)
    if loaded is None:
        matrix = _graph_maker(name)()
        loaded = matrix, datasets.sources(matrix)
        _write_to_cache(path, *loaded)
    return BenchmarkGraph(name, *loaded)


def check(name: str) -> None:
    """Raise ValueError if no benchmark graph has this name."""
    if not Path(name).is_file():
        _graph_maker(name)


def _graph_maker(name: str) -> Callable[[], csr_array]:
    """Return the function that makes the benchmark graph with this name. Raise ValueError for an unknown name."""
    if name == "ny":
        return lambda: datasets.with_weights(datasets.ny_roads())
    if name == "openflights":
        return lambda: _undirected(Graph(datasets.openflights().matrix))
    match = re.fullmatch(r"([a-z]+)(\d+)", name)
    if match is None or match[1] not in FAMILIES:
        raise ValueError(
            f"there is no benchmark graph {name!r}; expected ny, openflights, a file, or a family and a scale such as "
            f"rmat20, families: {', '.join(FAMILIES)}"
            f"{meant(name.rstrip('0123456789'), ['ny', 'openflights', *FAMILIES])}"
        )
    return partial(FAMILIES[match[1]], int(match[2]))


def _undirected(graph: Graph) -> csr_array:
    """Return the graph as benchmarks need it: undirected, without self loops, with whole-number weights."""
    src, dst = graph.edges()
    src, dst = np.append(src, dst), np.append(dst, src)
    is_no_loop = src != dst
    matrix = csr_array(
        (np.ones(is_no_loop.sum(), np.float32), (src[is_no_loop], dst[is_no_loop])), shape=(graph.n, graph.n)
    )
    return datasets.with_weights(matrix)


def _write_to_cache(path: Path, matrix: csr_array, sources: list[int]) -> None:
    """Write a graph to the cache folder. If the folder can't be written to, do nothing, because the graph can be made
    again.
    """
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with placing(path) as stream:
            np.savez(stream, indptr=matrix.indptr, indices=matrix.indices, data=matrix.data, sources=sources)


def _read_from_cache(path: Path) -> tuple[csr_array, list[int]] | None:
    """Return the graph and the sources in a file of the cache, or None if the file is missing or damaged."""
    try:
        with open(path, "rb") as file, np.load(file) as saved:
            n = len(saved["indptr"]) - 1
            matrix = csr_array((saved["data"], saved["indices"], saved["indptr"]), shape=(n, n))
            return matrix, saved["sources"].tolist()
    # damaged archives raise many types of exceptions, and checksums reveal damaged arrays; either way, the file is
    # ignored
    except Exception:
        return None
