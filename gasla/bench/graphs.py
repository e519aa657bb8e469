"""The graphs that are measured: the same name means the same graph, the same weights and the same sources everywhere.

They are made once and stored in the user's cache folder.
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
from gasla import datasets, io
from gasla.arrays import Device, array_module, device_of, moved, require_gpu
from gasla.cache import cache_directory
from gasla.graph.generators import first_of_largest
from gasla.graph.graph import Graph
from gasla.names import meant
from gasla.output import placing

SOURCES = 8
FEATURES = 64
SELECTED, ONE_WAY = 0.55, 55  # the share of edges that a directed graph keeps, and its seed
SAMPLES = 1 << 14  # edges looked at, to see whether neighbours are near

FAMILIES = {
    "rmat": datasets.rmat,
    "kron": datasets.kron,
    "urand": datasets.uniform,
    "grid": datasets.grid,
    "rgg": datasets.rgg,
}


class Reach(NamedTuple):
    """What can be reached from a source."""

    vertices: int
    edges: int  # stored directed edges whose source was reached: what TEPS counts
    depth: int


class BenchmarkGraph:
    """An undirected graph with whole-number float32 weights, and the vertices that searches start from.

    Parameters
    ----------
    name : str
    matrix : csr_array or cupyx.scipy.sparse.csr_matrix
        It says on which device the graph is.
    sources : list of int, optional
        Found where they aren't given: eight vertices of the largest component, the same on every machine.
    fingerprint : str, optional
        That of `gasla.datasets.fingerprint`, where the matrix is on a GPU.
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
        """Where the matrix is."""
        return device_of(self.matrix)

    @property
    def pattern(self) -> Any:
        """The same edges, all of weight one, for the algorithms that ignore weights."""
        matrix = self.matrix
        ones = array_module(matrix).ones_like(matrix.data)
        return type(matrix)((ones, matrix.indices, matrix.indptr), shape=matrix.shape)

    @cached_property
    def graph(self) -> Graph:
        """The matrix as gasla takes it."""
        return Graph(self.matrix)

    @cached_property
    def acyclic(self) -> Graph:
        """Each edge once, from the smaller vertex to the larger."""
        owners, matrix = self.graph.out.owners(), self.matrix
        forward = owners < matrix.indices
        return Graph.from_edges(owners[forward], matrix.indices[forward], matrix.data[forward], n=self.graph.n)

    @cached_property
    def capacities(self) -> Any:
        """The matrix with its weights as whole numbers, as SciPy's flows want them."""
        return self.matrix.astype(np.int32)

    @cached_property
    def network(self) -> Graph:
        """The same as gasla takes it."""
        return self.graph.with_values(self.matrix.data.astype(np.int32))

    @property
    def ends(self) -> tuple[int, int]:
        """Where flows come from and where they go: the first two sources."""
        return self.sources[0], self.sources[1]

    @cached_property
    def attenuation(self) -> float:
        """What an edge leaves of a Katz score: little enough for scores to settle."""
        return 1 / (1 + int(self.graph.in_degrees.max()))

    @cached_property
    def one_way(self) -> Any:
        """The matrix of edges that are each there or not, by lot, whether or not there is the one that leads back."""
        selected = np.random.default_rng(ONE_WAY).random(self.graph.m) < SELECTED
        selected, xp = array_module(self.matrix).asarray(selected), array_module(self.matrix)
        before = xp.concatenate([xp.zeros(1, np.int64), xp.cumsum(selected)])
        matrix, indptr = self.matrix, before[self.matrix.indptr].astype(self.matrix.indptr.dtype)
        return type(matrix)((matrix.data[selected], matrix.indices[selected], indptr), shape=matrix.shape)

    @cached_property
    def directed(self) -> Graph:
        """The same as gasla takes it."""
        return Graph(self.one_way)

    @cached_property
    def groups(self) -> Any:
        """Labels of communities that say little: as many vertices with neighbouring numbers as there are groups."""
        n = self.graph.n
        labels = np.arange(n, dtype=np.int32) // max(1, math.isqrt(n))
        return array_module(self.matrix).asarray(labels)

    @cached_property
    def features(self) -> Any:
        """A row of numbers a vertex."""
        drawn = np.random.default_rng(FEATURES).random((self.graph.n, FEATURES), np.float32)
        return array_module(self.matrix).asarray(drawn)

    @cached_property
    def vector(self) -> Any:
        """A number a vertex."""
        return moved(np.random.default_rng(1).random(self.matrix.shape[0], np.float32), self.device)

    @cached_property
    def products(self) -> int:
        """How many pairs of entries the square of the matrix multiplies."""
        degrees = np.diff(moved(self.matrix.indptr, "cpu")).astype(np.int64)
        return int(degrees[moved(self.matrix.indices, "cpu")].sum())

    @cached_property
    def lower(self) -> Any:
        """The pattern below the diagonal, vertices of large degrees first, as `triangle_count` orders them."""
        A = self.on("cpu").pattern
        order = np.argsort(-np.diff(A.indptr), kind="stable")
        L = csr_array(tril(A[order][:, order], -1, format="csr"))
        L.sort_indices()
        indptr, indices, data = (moved(part, self.device) for part in (L.indptr, L.indices, L.data))
        return type(self.matrix)((data, indices, indptr), shape=L.shape)

    @cached_property
    def walkers(self) -> Any:
        """About as many as there are vertices, each where an edge leads: so hubs have more."""
        return self.graph.out.indices[:: max(1, self.graph.m // max(1, self.graph.n))]

    @cached_property
    def homes(self) -> Any:
        """Eight surfers' personalisations: each jumps back to a source."""
        rows = np.zeros((len(self.sources), self.graph.n), np.float32)
        rows[np.arange(len(self.sources)), self.sources] = 1
        return array_module(self.matrix).asarray(rows)

    @cached_property
    def sources(self) -> list[int]:
        """Where searches start."""
        if self._sources is None:
            labels = gasla.connected_components(self.graph).labels
            self._sources = first_of_largest(moved(labels, "cpu"), SOURCES)
        return self._sources

    def spread(self, count: int) -> list[int]:
        """So many vertices that the first source reaches, evenly spaced by number; or all of them."""
        reached = np.flatnonzero(moved(gasla.bfs(self.graph, self.sources[0]), "cpu") >= 0)
        places = np.linspace(0, len(reached) - 1, min(count, len(reached)))
        return reached[places.astype(np.int64)].tolist()

    def reach(self, source: int) -> Reach:
        """What a search from there finds."""
        if source not in self._reach:
            level = gasla.bfs(self.graph, source)
            reached = level >= 0
            edges = int(self.graph.out_degrees[reached].sum(dtype=np.int64))
            self._reach[source] = Reach(int(reached.sum()), edges, int(level.max()))
        return self._reach[source]

    @cached_property
    def is_scattered(self) -> bool:
        """Whether neighbours are anywhere, and none is read so often that a cache could keep it."""
        n, m = self.graph.n, self.graph.m
        if m == 0 or int(self.graph.out_degrees.max()) >= 16 * m / n:
            return False
        places = array_module(self.matrix).asarray(np.linspace(0, m - 1, SAMPLES).astype(np.int64))
        rows = array_module(self.matrix).searchsorted(self.matrix.indptr, places, side="right") - 1
        return bool((abs(self.matrix.indices[places] - rows) > n // 32).mean() > 0.5)

    @cached_property
    def fingerprint(self) -> str | None:
        """That of `gasla.datasets.fingerprint`; on the GPU the one that was given."""
        on_cpu = isinstance(self.matrix.data, np.ndarray)
        return datasets.fingerprint(self.matrix) if on_cpu else self._fingerprint

    def on(self, device: Device) -> BenchmarkGraph:
        """Itself if it is there already, else a copy on that device, made once."""
        if device == self.device:
            return self
        if self._twin is None:
            matrix = {"cpu": lambda given: csr_array(given.get()), "gpu": _on_gpu}[device](self.matrix)
            self._twin = BenchmarkGraph(self.name, matrix, self.sources, self.fingerprint)
        return self._twin


def _on_gpu(matrix: Any) -> Any:
    """Copy a matrix there."""
    require_gpu()
    from cupyx.scipy.sparse import csr_matrix

    return csr_matrix(matrix)


def load(name: str) -> BenchmarkGraph:
    """Return a graph by its name: `ny`, `openflights`, a family and a scale such as `rmat20`, or a file to read."""
    if Path(name).is_file():
        matrix = _undirected(io.read(name))
        if matrix.nnz == 0:
            raise ValueError(f"{name}: no two vertices are joined; expected edges, to measure something")
        return BenchmarkGraph(Path(name).name.partition(".")[0], matrix)
    path = cache_directory() / "benchmarks" / f"{name}.npz"
    found = _load(path)
    if found is None:
        matrix = _maker(name)()
        found = matrix, datasets.sources(matrix)
        _keep(path, *found)
    return BenchmarkGraph(name, *found)


def check(name: str) -> None:
    """Refuse a name that no graph has."""
    if not Path(name).is_file():
        _maker(name)


def _maker(name: str) -> Callable[[], csr_array]:
    """What makes the graph of this name."""
    if name == "ny":
        return lambda: datasets.with_weights(datasets.ny_roads())
    if name == "openflights":
        return lambda: _undirected(datasets.openflights().matrix)
    match = re.fullmatch(r"([a-z]+)(\d+)", name)
    if match is None or match[1] not in FAMILIES:
        raise ValueError(
            f"no benchmark graph is called {name!r}; expected ny, openflights, a scale after one of "
            f"{', '.join(FAMILIES)}, or a file{meant(name.rstrip('0123456789'), ['ny', 'openflights', *FAMILIES])}"
        )
    return partial(FAMILIES[match[1]], int(match[2]))


def _undirected(matrix: Any) -> csr_array:
    """Both directions of every edge, no loops, and whole-number weights, as all these graphs have."""
    src, dst = matrix.tocoo().coords
    src, dst = np.append(src, dst), np.append(dst, src)
    inside = src != dst
    both = csr_array((np.ones(inside.sum(), np.float32), (src[inside], dst[inside])), shape=matrix.shape)
    return datasets.with_weights(both)


def _keep(path: Path, matrix: csr_array, sources: list[int]) -> None:
    """Write a graph to the cache. Where that can't be, it is made each time."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with placing(path) as stream:
            np.savez(stream, indptr=matrix.indptr, indices=matrix.indices, data=matrix.data, sources=sources)


def _load(path: Path) -> tuple[csr_array, list[int]] | None:
    """The graph in a file of the cache and where searches start, or None if it isn't there, whole."""
    try:
        with open(path, "rb") as file, np.load(file) as saved:
            n = len(saved["indptr"]) - 1
            matrix = csr_array((saved["data"], saved["indices"], saved["indptr"]), shape=(n, n))
            return matrix, saved["sources"].tolist()
    except Exception:  # whatever the parsers of a damaged archive raise; its arrays have check sums
        return None
