"""Run the GAP benchmark: six kernels on five kinds of graphs by its rules, optionally compared with its reference code.

    python -m benchmarks.gap --scale 20 [--graphs kron,road] [--kernels bfs,sssp] [--device gpu] [--gapbs FOLDER]
        [--json FILE]

kron and urand are the benchmark's synthetic graphs. Its road, web and Twitter graphs take a download of 100 GB, so
graphs of the same kind stand for them: a grid without a tenth of its edges, and directed Kronecker graphs with as many
edges per vertex, where of the web's edges three quarters stay in a site of 256 consecutive vertices. A file
(`gasla.io`) is a graph of its own, directed unless its matrix is symmetric.

Rules: 64 trials of bfs and sssp, each from another source; 16 of pr, cc, and bc from 4 sources each; 3 of tc. Sources
are those that the reference code picks. A time is that of one call, with the graph in memory; the figure is the average
of all trials. The first answer of a kernel is verified before. `--gapbs` names a folder with the programs that
https://github.com/sbeamer/gapbs builds: they run on the same graphs, which they read from files in its format.

S. Beamer, K. Asanović, D. Patterson: The GAP Benchmark Suite. arXiv:1508.03619 (2015).
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

import gasla
from benchmarks.graph500 import kronecker
from benchmarks.script import Script, command
from gasla import datasets, io, verify
from gasla.arrays import Device, moved
from gasla.bench.runner import by_turns
from gasla.bench.tasks import on_cpu
from gasla.cli.bench import names

SEED = 27491095  # of the reference code
TRIALS = {"bfs": 64, "sssp": 64, "pr": 16, "cc": 16, "bc": 16, "tc": 3}
BC_SOURCES = 4
TOLERANCE, ITERATIONS = 1e-4, 1000  # of PageRank
LARGEST_WEIGHT = 255
TWITTER, WEB = 24, 38  # edges per vertex
SITE, WITHIN = 256, 0.75  # vertices of a site of the web, and the fraction of edges that stay within
DELTAS = {"road": 8500}  # width of a bucket for the reference code: 17 times the mean weight, as for its own road graph
DELTA = 2

Array = Any


# --- sources, as the reference code picks them ------------------------------------------------------------------------


def mersenne_twister(seed: int) -> Iterator[int]:
    """The 64-bit Mersenne Twister (M. Matsumoto, T. Nishimura, 2000), which C++ calls `std::mt19937_64`."""
    size, shift, mask = 312, 156, (1 << 64) - 1
    words = [seed & mask]
    for i in range(1, size):
        words.append((6364136223846793005 * (words[-1] ^ words[-1] >> 62) + i) & mask)
    while True:
        for i in range(size):
            joined = words[i] >> 31 << 31 | words[(i + 1) % size] & (1 << 31) - 1
            words[i] = words[(i + shift) % size] ^ joined >> 1 ^ (0xB5026F5AA96619E9 if joined & 1 else 0)
            word = words[i]
            word ^= word >> 29 & 0x5555555555555555
            word ^= word << 17 & 0x71D67FFFEDA60000
            word ^= word << 37 & 0xFFF7EEE000000000
            yield word ^ word >> 43


def vertices_at_random(n: int) -> Iterator[int]:
    """The reference code's random vertices: the lower halves of random words, without bias towards small vertices."""
    excess = (1 << 64) % n  # the largest numbers, which would favor small vertices; taken of 64 bits there as well
    for word in mersenne_twister(SEED):
        low = word & 0xFFFFFFFF
        if excess == 0 or low < (1 << 32) - excess:
            yield low % n


# --- graphs -----------------------------------------------------------------------------------------------------------


class GapGraph:
    """A graph of the benchmark, with int32 weights."""

    def __init__(self, name: str, graph: gasla.Graph) -> None:
        self.name, self.graph = name, graph

    @cached_property
    def undirected(self) -> gasla.Graph:
        """The graph that triangles are counted in: simple and undirected, without values."""
        return gasla.primitives.simplify(self.graph.with_values(None))

    def sources(self, count: int) -> list[int]:
        """The first vertices with out-edges among those that the reference code picks at random."""
        degrees = moved(self.graph.out_degrees, "cpu")
        if not degrees.any():
            raise ValueError(f"{self.name} has no edges; expected edges to search along")
        return list(islice((v for v in vertices_at_random(self.graph.n) if degrees[v]), count))

    def to(self, device: Device) -> GapGraph:
        """The same on a device."""
        return GapGraph(self.name, self.graph.to(device))

    def write(self, path: Path, kind: str) -> None:
        """Write a file of the reference code: "sg", "wsg" with weights, or "U.sg", the undirected graph."""
        graph = (self.undirected if kind == "U.sg" else self.graph).to("cpu")
        directed = kind != "U.sg" and not graph.has_symmetric_values
        lists = [(graph.out, graph.out_values), *([(graph.in_, graph.in_values)] if directed else [])]
        with open(path, "wb") as file:
            file.write(np.array([directed], np.bool_).tobytes() + np.array([graph.m, graph.n], np.int64).tobytes())
            for neighbors, weights in lists:
                file.write(neighbors.indptr.astype(np.int64).tobytes())
                ids = neighbors.indices.astype(np.int32)
                file.write((np.stack((ids, weights.astype(np.int32)), 1) if kind == "wsg" else ids).tobytes())


def _of_matrix(matrix: Any) -> gasla.Graph:
    """The graph of a matrix, with int32 weights."""
    return gasla.Graph(matrix.astype(np.int32))


def _twitter(scale: int) -> gasla.Graph:
    """A directed Kronecker graph with vertices in random order."""
    rng = np.random.default_rng(SEED)
    src, dst = kronecker(scale, TWITTER, rng)
    names = rng.permutation(1 << scale)
    return _directed(scale, names[src], names[dst], rng)


def _web(scale: int) -> gasla.Graph:
    """A directed Kronecker graph in which most edges lead to a near vertex instead."""
    rng = np.random.default_rng(SEED)
    src, dst = kronecker(scale, WEB, rng)
    near = src // SITE * SITE + rng.integers(0, min(SITE, 1 << scale), len(src))
    return _directed(scale, src, np.where(rng.random(len(src)) < WITHIN, near, dst), rng)


def _directed(scale: int, src: Array, dst: Array, rng: np.random.Generator) -> gasla.Graph:
    """A directed graph with random weights, without self loops and parallel edges."""
    weights = rng.integers(1, LARGEST_WEIGHT + 1, len(src), np.int32)
    return gasla.Graph.from_edges(src.astype(np.int32), dst.astype(np.int32), weights, n=1 << scale).simple()


MAKERS: dict[str, Callable[[int], gasla.Graph]] = {
    "kron": lambda scale: _of_matrix(datasets.rmat(scale)),
    "urand": lambda scale: _of_matrix(datasets.uniform(scale)),
    "road": lambda scale: _of_matrix(datasets.grid(scale + scale % 2)),
    "web": _web,
    "twitter": _twitter,
}


def load(name: str, scale: int) -> GapGraph:
    """A graph by its kind, or in a file, whose weights are rounded up."""
    if name in MAKERS:
        return GapGraph(f"{name}{scale}", MAKERS[name](scale))
    if not Path(name).is_file():
        raise ValueError(f"there is no graph {name!r}; expected a file, or one of {', '.join(MAKERS)}")
    graph = gasla.as_graph(io.read(name)).simple()
    weights = np.ones(graph.m) if graph.values is None else np.ceil(graph.values)
    return GapGraph(Path(name).name.partition(".")[0], graph.with_values(weights.astype(np.int32)))


# --- kernels ----------------------------------------------------------------------------------------------------------


class Kernel(NamedTuple):
    """How a kernel is called from some sources, how its answer is verified, and the reference code's command."""

    sources: int  # of each trial
    call: Callable[[GapGraph, list[int]], Any]
    verify: Callable[[GapGraph, Any, list[int]], None]
    file: str  # the ending of the file that the reference code reads
    options: tuple[str, ...] = ()  # of the reference code


def _pagerank(g: GapGraph, _: list[int]) -> Any:
    """In place and in float32, as the reference code computes them."""
    options: dict[str, Any] = {"tol": TOLERANCE, "max_iter": ITERATIONS, "dtype": np.float32, "order": "in place"}
    return gasla.pagerank(g.graph, weighted=False, **options).ranks


def _betweenness(g: GapGraph, sources: list[int]) -> Any:
    return gasla.betweenness_centrality(g.graph, sources=sources, normalized=False)


def _verify_triangles(g: GapGraph, total: int, _: list[int]) -> None:
    counts = gasla.triangle_count(g.undirected, per_vertex=True)
    verify.triangles(g.undirected, int(total), counts.per_vertex)


KERNELS = {
    "bfs": Kernel(
        1, lambda g, s: gasla.bfs(g.graph, s[0], parents=True), lambda g, a, s: verify.bfs(g.graph, s[0], *a), "sg"
    ),
    "sssp": Kernel(
        1, lambda g, s: gasla.sssp(g.graph, s[0]), lambda g, a, s: verify.sssp(g.graph, s[0], a), "wsg"
    ),
    "pr": Kernel(
        0, _pagerank, lambda g, a, _: verify.pagerank(g.graph, a, weighted=False, tol=TOLERANCE), "sg",
        (f"-i{ITERATIONS}", f"-t{TOLERANCE}"),
    ),
    "cc": Kernel(
        0, lambda g, _: gasla.connected_components(g.graph).labels, lambda g, a, _: verify.components(g.graph, a), "sg"
    ),
    "bc": Kernel(
        BC_SOURCES, _betweenness,
        lambda g, a, s: verify.betweenness(g.graph, a, sources=s, normalized=False), "sg", (f"-i{BC_SOURCES}",),
    ),
    "tc": Kernel(0, lambda g, _: gasla.triangle_count(g.undirected), _verify_triangles, "U.sg"),
}  # fmt: skip


def times(name: str, graph: GapGraph, trials: int) -> list[float]:
    """Verify the first answer of a kernel, then time its trials; prepared graphs are not part of a time."""
    kernel = KERNELS[name]
    graph.graph.in_  # noqa: B018  # the reference code has the edges of both directions as well
    drawn = graph.sources(trials * kernel.sources) if kernel.sources else []
    chosen = [drawn[i * kernel.sources : (i + 1) * kernel.sources] for i in range(trials)]
    answer = on_cpu(kernel.call(graph, chosen[0]))
    kernel.verify(graph.to("cpu"), answer, chosen[0])
    return by_turns({name: lambda k: kernel.call(graph, chosen[k])}, trials, device=graph.graph.device)[name]


def times_of_reference(name: str, graph: GapGraph, trials: int, programs: Path, folder: Path) -> list[float]:
    """The times that a program of the reference code prints, on as many threads as gasla uses."""
    kernel = KERNELS[name]
    file = folder / f"{graph.name}.{kernel.file}"
    if not file.exists():
        graph.write(file, kernel.file)
    width = DELTAS.get(graph.name.rstrip("0123456789"), DELTA)
    options = (f"-d{width}",) if name == "sssp" else kernel.options
    command = [str(programs / name), "-f", str(file), f"-n{trials}", *options]
    environment = {**os.environ, "OMP_NUM_THREADS": str(gasla.get_num_threads())}
    shown = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [float(seconds) for seconds in re.findall(r"^Trial Time: *([\d.]+)", shown, re.MULTILINE)]


class Row(NamedTuple):
    """The times of a kernel on a graph."""

    graph: str
    kernel: str
    seconds: list[float]
    reference: list[float]
    wrong: str

    def line(self) -> str:
        """The row of the table."""
        if self.wrong:
            return f"{self.graph:12}{self.kernel:6}wrong: {self.wrong}"
        shown = f"{self.graph:12}{self.kernel:6}{len(self.seconds):7}{fmean(self.seconds):12.6f}"
        if not self.reference:
            return shown
        return f"{shown}{fmean(self.reference):12.6f}{fmean(self.seconds) / fmean(self.reference):8.2f}"


def measure(graph: GapGraph, kernels: list[str], trials: dict[str, int], programs: Path | None) -> Iterator[Row]:
    """The rows of a graph."""
    with tempfile.TemporaryDirectory() as folder:
        for name in kernels:
            try:
                seconds, wrong = times(name, graph, trials[name]), ""
            except verify.VerificationError as error:
                seconds, wrong = [], str(error)
            reference = []
            if programs is not None and not wrong:
                reference = times_of_reference(name, graph, trials[name], programs, Path(folder))
            yield Row(graph.name, name, seconds, reference, wrong)


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line, measure, and print a table; returns 1 if an answer is wrong."""
    parser = command(__doc__, "device", "output", "json", graphs=",".join(MAKERS))
    parser.add_argument("--scale", type=int, default=20, help="graphs have 2**scale vertices; road an even scale")
    parser.add_argument("--kernels", type=names, default=list(KERNELS), help="comma-separated (%(default)s)")
    parser.add_argument("--trials", type=int, help="at most so many trials, to try the command")
    parser.add_argument("--gapbs", type=Path, help="folder of the reference code's programs")
    script = Script(parser, arguments)
    options = script.options
    if unknown := [name for name in options.kernels if name not in KERNELS]:
        parser.error(f"there is no kernel {unknown[0]!r}; expected some of {', '.join(KERNELS)}")
    trials = {name: min(count, options.trials or count) for name, count in TRIALS.items()}
    beside = f"{'GAPBS s':>12}{'ratio':>8}" if options.gapbs else ""
    script.say(f"{'':18}{'trials':>7}{'average s':>12}{beside}")
    for name in options.graphs:
        for row in measure(load(name, options.scale).to(script.device), options.kernels, trials, options.gapbs):
            script.say(row.line(), **row._asdict())
    return int(any(row["wrong"] for row in script.figures.values()))


if __name__ == "__main__":
    raise SystemExit(main())
