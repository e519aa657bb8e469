"""Run the six kernels of LDBC Graphalytics on a graph in its format, validate the outputs, and print EPS and EVPS.

    python -m benchmarks.graphalytics FOLDER/NAME [--properties FILE] [--kernels bfs,pr] [--runs 3]
        [--device gpu | --cards all | --ranks 2] [--output FOLDER] [--reference FOLDER] [--json FILE]
    mpiexec -n 4 python -m benchmarks.graphalytics FOLDER/NAME --mpi

Reads NAME.v, NAME.e and NAME.properties. Each kernel is called once untimed, and its output compared with the file
NAME-KERNEL among the references, if there is one: by default next to the graph. Then it is timed: seconds are the
processing time T_p, with the graph in memory and the code compiled. EPS is edges per second, EVPS edges and vertices
per second. Over ranks, every process reads the files. The exit code is 1 if an output is wrong.

A. Iosup et al.: The LDBC Graphalytics Benchmark. arXiv:2011.15028 (2020).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

import gasla
from benchmarks import on_ranks
from benchmarks.on_ranks import Place
from benchmarks.script import Script, command
from gasla.arrays import Device, moved
from gasla.bench.runner import repeated, timed
from gasla.cli.bench import names

UNREACHED = np.iinfo(np.int64).max  # as the depth of a vertex that BFS does not reach
EPSILON = 1e-4  # relative error of floating-point outputs
RUNS = 3

Array = np.ndarray[Any, Any]


class Dataset(NamedTuple):
    """A graph of the benchmark."""

    ids: Array  # of the vertices in the files, ascending; their positions are gasla's ids
    graph: gasla.Graph  # an undirected graph has both directions of each edge
    edges: int  # in the file
    directed: bool
    parameters: dict[str, str]  # the properties of the graph, without the prefix ``graph.NAME.``

    def vertex(self, parameter: str) -> int:
        """The vertex that a parameter names."""
        return int(_positions(self.ids, np.array([int(self.parameters[parameter])], np.uint64), parameter)[0])


# --- input ------------------------------------------------------------------------------------------------------------


def load(prefix: Path, properties: Path | None = None) -> Dataset:
    """Read ``prefix.v`` and ``prefix.e``, as the properties describe them."""
    parameters = read_properties(properties or prefix.parent / f"{prefix.name}.properties")
    directed = parameters["directed"].lower() == "true"
    weighted = bool(parameters.get("edge-properties.names"))
    ids = _table(prefix.parent / f"{prefix.name}.v", np.dtype(np.uint64), 1)
    columns = [("src", np.uint64), ("dst", np.uint64), *([("weight", np.float64)] if weighted else [])]
    edges = _table(prefix.parent / f"{prefix.name}.e", np.dtype(columns), len(columns))
    src, dst = (_positions(ids, edges[end], "an edge") for end in ("src", "dst"))
    weights = edges["weight"].copy() if weighted else None
    if not directed:
        src, dst = np.concatenate((src, dst)), np.concatenate((dst, src))
        weights = None if weights is None else np.tile(weights, 2)
    return Dataset(ids, gasla.Graph.from_edges(src, dst, weights, n=len(ids)), len(edges), directed, parameters)


def read_properties(path: Path) -> dict[str, str]:
    """The properties of the graph that a file describes, without their common prefix."""
    pairs = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.lstrip().startswith(("#", "!")):
            pairs[key.strip()] = value.strip()
    prefixes = [key.removesuffix("directed") for key in pairs if key.startswith("graph.") and key.endswith(".directed")]
    if len(prefixes) != 1:
        raise ValueError(f"{path} has {len(prefixes)} properties graph.NAME.directed; expected one: one graph a file")
    return {key.removeprefix(prefixes[0]): value for key, value in pairs.items() if key.startswith(prefixes[0])}


def _table(path: Path, kind: np.dtype[Any], columns: int) -> Array:
    """The first columns of a text file without header."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*input contained no data")
        return np.loadtxt(path, kind, usecols=range(columns) if columns > 1 else 0, ndmin=1)


def _positions(ids: Array, wanted: Array, what: str) -> Array:
    """The position of each wanted id among the vertices."""
    places = np.searchsorted(ids, wanted)
    missing = ids[np.minimum(places, len(ids) - 1)] != wanted if len(ids) else np.ones(len(wanted), bool)
    if missing.any():
        raise ValueError(f"{what} names the vertex {wanted[missing][0]}; expected a line with it in the vertex file")
    return places.astype(np.int64)


# --- kernels ----------------------------------------------------------------------------------------------------------


def _bfs(data: Dataset, graph: Any) -> Any:
    return gasla.bfs(graph, data.vertex("bfs.source-vertex"))


def _pagerank(data: Dataset, graph: Any) -> Any:
    rounds, damping = int(data.parameters["pr.num-iterations"]), float(data.parameters["pr.damping-factor"])
    return gasla.pagerank(graph, alpha=damping, weighted=False, tol=0, max_iter=rounds, dtype=np.float64).ranks


def _components(data: Dataset, graph: Any) -> Any:
    return gasla.connected_components(graph).labels


def _labels(data: Dataset, graph: Any) -> Any:
    rounds = int(data.parameters["cdlp.max-iterations"])
    return gasla.label_propagation(graph, method="synchronous", max_iter=rounds)


def _clustering(data: Dataset, graph: Any) -> Any:
    return gasla.clustering(graph, mode="neighborhood" if data.directed else "undirected")


def _sssp(data: Dataset, graph: Any) -> Any:
    return gasla.sssp(graph, data.vertex("sssp.source-vertex"), dtype=np.float64)


class Kernel(NamedTuple):
    """A kernel: its call, its output in the terms of the benchmark, and the rule of its validation."""

    call: Callable[[Dataset, Any], Any]
    output: Callable[[Dataset, Array], Array]
    rule: Callable[[Array, Array], Array]  # of reference and output; marks the vertices that are right


def exact(right: Array, found: Array) -> Array:
    """Equal values."""
    marks: Array = right == found
    return marks


def equivalent(right: Array, found: Array) -> Array:
    """Equal partitions: vertices with equal values in one have equal values in the other."""
    marks = np.ones(len(right), bool)
    for labels, others in ((right, found), (found, right)):
        _, first, group = np.unique(labels, return_index=True, return_inverse=True)
        marks &= others == others[first][group]
    return marks


def close(right: Array, found: Array) -> Array:
    """A relative error of at most `EPSILON`."""
    with np.errstate(invalid="ignore"):
        marks: Array = (right == found) | (np.abs(right - found) <= EPSILON * np.abs(right)) & np.isfinite(right)
    return marks


KERNELS = {
    "bfs": Kernel(_bfs, lambda _, x: np.where(x < 0, UNREACHED, x.astype(np.int64)), exact),
    "pr": Kernel(_pagerank, lambda _, x: x, close),
    "wcc": Kernel(_components, lambda data, x: data.ids[np.unique(x, return_index=True)[1]][x], equivalent),
    "cdlp": Kernel(_labels, lambda data, x: data.ids[x], exact),
    "lcc": Kernel(_clustering, lambda _, x: x, close),
    "sssp": Kernel(_sssp, lambda _, x: x, close),
}


# --- output and validation --------------------------------------------------------------------------------------------


def write(path: Path, ids: Array, values: Array) -> None:
    """Write an output file: a line ``id value`` for each vertex, floating-point numbers with 15 digits."""
    text = (f"{value:.15e}" if value < np.inf else "infinity" for value in values.tolist())
    shown = text if values.dtype.kind == "f" else map(str, values.tolist())
    path.write_text("".join(f"{vertex} {value}\n" for vertex, value in zip(ids.tolist(), shown, strict=True)))


def problem(kernel: str, data: Dataset, values: Array, reference: Path) -> str:
    """The first violation of the rule of a kernel by an output; "" if there is none."""
    kind = np.float64 if values.dtype.kind == "f" else values.dtype
    lines = _table(reference, np.dtype([("id", np.uint64), ("value", kind)]), 2)
    if not np.array_equal(np.sort(lines["id"]), data.ids):
        return f"{reference} has {len(lines)} lines; expected one for each of {len(data.ids)} vertices"
    right = lines["value"][np.argsort(lines["id"])]
    marks = KERNELS[kernel].rule(right, values)
    if marks.all():
        return ""
    v = int(np.argmin(marks))
    return f"{(~marks).sum():,} values differ: that of vertex {data.ids[v]} is {values[v]}; expected {right[v]}"


class Outcome(NamedTuple):
    """The line of a kernel."""

    kernel: str
    seconds: list[float]
    verdict: str  # "valid", "no reference", or what is wrong
    eps: float
    evps: float


def measure(
    kernel: str, data: Dataset, graph: Any, device: Device, name: str, runs: int, output: Path | None, reference: Path
) -> Outcome:
    """Check a kernel's output, write it, and time the kernel."""
    values = KERNELS[kernel].output(data, np.asarray(moved(KERNELS[kernel].call(data, graph), "cpu")))
    file, verdict = f"{name}-{kernel.upper()}", "no reference"
    if output is not None:
        write(output / file, data.ids, values)
    if (reference / file).is_file():
        verdict = problem(kernel, data, values, reference / file) or "valid"
    seconds = repeated(lambda: KERNELS[kernel].call(data, graph), runs, device=device)
    usual = median(seconds)
    return Outcome(kernel, seconds, verdict, data.edges / usual, (data.edges + len(data.ids)) / usual)


def supported(data: Dataset, over_ranks: bool = False) -> list[str]:
    """The kernels that the properties ask for, by default all six.

    sssp is left out for a graph without weights, and lcc for a directed graph over ranks, which do not count its
    triangles.
    """
    named = data.parameters.get("algorithms")
    kernels = [name.strip() for name in named.split(",")] if named else list(KERNELS)
    left_out = {"sssp"} if data.graph.values is None else set()
    left_out |= {"lcc"} if data.directed and over_ranks else set()
    return [name for name in kernels if name not in left_out]


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line, and run the kernels; returns 1 if an output is wrong."""
    parser = command(__doc__, "json")
    parser.add_argument("graph", type=Path, help="the path of the graph's files without their endings")
    parser.add_argument("--properties", type=Path)
    parser.add_argument("--kernels", type=names, help="comma-separated (all that the properties name)")
    parser.add_argument("--runs", type=int, default=RUNS, help="timed calls of each kernel (%(default)s)")
    on_ranks.add_options(parser)
    parser.add_argument(
        "--output", dest="outputs", metavar="FOLDER", type=Path, help="write the outputs to this folder"
    )
    parser.add_argument("--reference", type=Path, help="folder of the reference outputs (that of the graph)")
    script = Script(parser, arguments, "kernels")
    if unknown := [name for name in script.options.kernels or () if name not in KERNELS]:
        parser.error(f"there is no kernel {unknown[0]!r}; expected some of {', '.join(KERNELS)}")
    with on_ranks.opened(script) as place:
        return int(any(one.verdict not in ("valid", "no reference") for one in run(script, place)))


def run(script: Script, place: Place) -> list[Outcome]:
    """Read the graph, run the kernels, and say a line for each."""
    options = script.options

    def loaded() -> tuple[Dataset, Any]:
        data = load(options.graph, options.properties)
        return data, place.put(data.graph)

    loading, (data, graph) = timed(loaded)
    outputs = options.outputs if script.is_first else None
    if outputs is not None:
        outputs.mkdir(parents=True, exist_ok=True)
    name, reference = options.graph.name, options.reference or options.graph.parent
    script.report.graphs[name] = {"n": len(data.ids), "m": data.edges, "directed": data.directed, "load": loading}
    kind = "directed" if data.directed else "undirected"
    script.say(f"{name}: {len(data.ids):,} vertices, {data.edges:,} edges, {kind}, {place.name}")
    script.say(f"load time {loading:.3f} s\n\n{'':6}{'seconds':>12}{'EPS':>12}{'EVPS':>12}  output")
    found = []
    for kernel in options.kernels or supported(data, place.is_divided):
        one = measure(kernel, data, graph, place.device, name, options.runs, outputs, reference)
        line = f"{kernel:6}{median(one.seconds):12.6f}{one.eps:12.4g}{one.evps:12.4g}  {one.verdict}"
        script.say(line, **one._asdict())
        found.append(one)
    return found


if __name__ == "__main__":
    raise SystemExit(main())
