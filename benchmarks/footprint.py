"""What a fresh process costs: time to import and to a first result, and the memory that an algorithm holds.

    python -m benchmarks.footprint [--device gpu] [--graphs rmat20,grid20] [--json FILE]

Times are medians of processes of their own, with the cache of compiled code warm. Memory is what a second call (the
first has loaded the compiled code) takes, at its highest and afterwards: on the CPU by what the resident set of a
process of its own grows, on the GPU by what CuPy's pool hands out. Next to it stand what `Graph.nbytes` grew by, what
`workspace` promises for the program and what its fields take; and, of search and PageRank on the CPU, what is allowed:
32 bytes a vertex and the fields, and a CSC where the graph is not symmetric.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy.sparse import triu

import gasla
from benchmarks.gpu import made
from gasla.algorithms.centrality import pagerank
from gasla.algorithms.paths import sssp
from gasla.algorithms.traversal import bfs
from gasla.arrays import device_of
from gasla.bench import graphs
from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.reports.provenance import provenance
from gasla.bench.reports.report import Report
from gasla.cpu.program import generate
from gasla.gpu.program.workspace import field_bytes

REPEATS = 5
BARS = {"import": 0.5, "first result": 1.5}  # seconds
PER_VERTEX = 32  # bytes beyond the graph and the program's own fields
FIELDS = {"bfs": 8, "pagerank": 8}  # bytes a vertex: level and parent; rank and share
ALGORITHMS = ("bfs", "sssp", "pagerank")

IMPORT = "import time; t = time.perf_counter(); import gasla; print(time.perf_counter() - t)"
FIRST_RESULT = "import gasla; A = gasla.datasets.grid(8); gasla.bfs(A, 0)"
MEMORY = "from benchmarks.footprint import grown_on_cpu; grown_on_cpu({!r}, {!r}, {!r})"


def output(code: str, *arguments: str) -> str:
    """Run Python code in a new process; return what it printed."""
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the measuring process failed with {done.returncode}:\n{done.stderr}")
    return done.stdout


def import_seconds() -> float:
    """Return the time of `import gasla`, the interpreter's own start left out."""
    return median(float(output(IMPORT)) for _ in range(REPEATS))


def first_result_seconds() -> float:
    """Return the time of a whole process that searches a small graph, from the interpreter's start to its end."""

    def once() -> float:
        start = time.perf_counter()
        output(FIRST_RESULT)
        return time.perf_counter() - start

    once()  # compiles, or finds the cache warm
    return median(once() for _ in range(REPEATS))


def process_seconds() -> Iterator[tuple[str, float]]:
    """Both, by name."""
    yield "import", import_seconds()
    yield "first result", first_result_seconds()


def called(algorithm: str, graph: Any, source: int) -> Any:
    """The answer; its size is that of the program's fields, or less."""
    if algorithm == "bfs":
        return gasla.bfs(graph, source, parents=True)
    if algorithm == "sssp":
        return gasla.sssp(graph, source)
    with warnings.catch_warnings(action="ignore", category=gasla.ConvergenceWarning):
        return gasla.pagerank(graph, weighted=False, dtype=np.float32, tol=1e-3)


def directed_or_not(matrix: Any, directed: bool) -> Any:
    """The matrix, or half of it."""
    if not directed:
        return matrix
    if device_of(matrix) == "cpu":
        return triu(matrix, format="csr")
    from cupyx.scipy import sparse

    return sparse.triu(matrix, format="csr")


def ready(benchmark: BenchmarkGraph, algorithm: str, directed: bool) -> gasla.Graph:
    """The graph, whose symmetry is known; the same has been called on a small one, so that all code is loaded."""
    small = graphs.load("rmat8").on(benchmark.device).matrix
    for other in (False, True):
        called(algorithm, directed_or_not(small, other), 0)
    graph = gasla.Graph(directed_or_not(benchmark.matrix, directed))
    graph.is_symmetric  # noqa: B018
    return graph


def promised(graph: gasla.Graph, algorithm: str) -> dict[str, int]:
    """What a run is said to take beside the graph."""
    programs = {
        "bfs": bfs.Parents(),
        "sssp": sssp.NearFirst(real=np.float32, lengths=np.float32),
        "pagerank": pagerank.PageRank(real=np.float32),
    }
    program: Any = type(programs[algorithm])
    return {
        "workspace": program.workspace(graph),
        "fields": field_bytes(generate.plan(program, graph.id_dtype), graph),
    }


def status(key: str) -> int:
    """Bytes of this process, as Linux counts them."""
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(key))
    return int(line.split()[1]) * 1024


def grown_on_cpu(name: str, algorithm: str, directed: bool) -> None:
    """Print by how much this process grows in a call, as JSON."""
    benchmark = graphs.load(name)
    graph = ready(benchmark, algorithm, directed)
    before, lists = status("VmRSS"), graph.nbytes
    Path("/proc/self/clear_refs").write_text("5")
    answer = called(algorithm, graph, benchmark.sources[0])
    grown, held = status("VmHWM") - before, status("VmRSS") - before
    sizes = {"graph": lists, "lists": graph.nbytes - lists, **promised(graph, algorithm)}
    print(json.dumps({"n": graph.n, "m": graph.m, "grown": grown, "held": held, **sizes}))
    del answer


def grown_on_gpu(benchmark: BenchmarkGraph, algorithm: str, directed: bool) -> dict[str, int]:
    """The same of what CuPy hands out; and by how much another call grows, for which all is ready (again)."""
    graph, source = ready(benchmark, algorithm, directed), benchmark.sources[0]
    gc.collect()
    lists = graph.nbytes
    with watching_memory() as seen:
        answer = called(algorithm, graph, source)
    sizes = {"graph": lists, "lists": graph.nbytes - lists, **promised(graph, algorithm)}
    del answer
    with watching_memory() as then:
        called(algorithm, graph, source)
    return {"n": graph.n, "m": graph.m, **seen, "again": then["grown"], **sizes}


@contextmanager
def watching_memory() -> Iterator[dict[str, int]]:
    """How many bytes more CuPy's pool has handed out than before: at most (grown), and now (held)."""
    import cupy

    class Watch(cupy.cuda.MemoryHook):  # type: ignore[misc]
        name = "watch"

        def malloc_postprocess(self, **given: Any) -> None:
            seen["held"] += given["mem_size"]
            seen["grown"] = max(seen.values())

        def free_postprocess(self, **given: Any) -> None:
            seen["held"] -= given["mem_size"]

    seen = {"grown": 0, "held": 0}
    with Watch():
        yield seen


def memory(graph: str | BenchmarkGraph, algorithm: str, directed: bool) -> dict[str, Any]:
    """Return by how many bytes a call grows, what was promised, and how many a vertex it may."""
    if isinstance(graph, str):
        name, allowed = graph, PER_VERTEX + FIELDS[algorithm] if algorithm in FIELDS else None
        found: dict[str, int] = json.loads(output(MEMORY.format(graph, algorithm, directed)))
    else:
        name, allowed, found = graph.name, None, grown_on_gpu(graph, algorithm, directed)
    if directed and allowed is not None:  # the in-edges: for each its neighbour and its place among the out-edges
        allowed += 8 * found["m"] / found["n"] + 4
    return {
        "name": name,
        "algorithm": algorithm,
        "directed": directed,
        **found,
        "bytes_per_vertex": found["grown"] / found["n"],
        "allowed": allowed,
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure all, and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.footprint", description=__doc__.partition("\n")[0])
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu", help="on the GPU memory alone")
    parser.add_argument("--graphs", default="rmat20,grid20", help="whose memory is measured (%(default)s)")
    parser.add_argument("--graphs-module", type=Path, help="a Python file that makes the graphs on the GPU")
    parser.add_argument("--commit", help="what to name as measured, where there is no git")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args(arguments)
    generator = made.module_at(options.graphs_module)
    on_cpu = options.device == "cpu"
    report, times = Report(provenance(options.device, options.commit), {}, []), dict[str, float]()
    for name, seconds in report.watch("times of processes", process_seconds) if on_cpu else ():
        times[name] = seconds
        verdict = "ok" if seconds <= BARS[name] else "OVER"
        print(f"{name:<32}{seconds:8.2f} s   at most {BARS[name]:.1f} s   {verdict}", flush=True)
    figures = []
    for name in options.graphs.split(","):
        graph = name if on_cpu else made.load(name, generator)
        for algorithm, directed in product(ALGORITHMS, (False, True)):
            figures.append(memory(graph, algorithm, directed))
            print(line(figures[-1]), flush=True)
    if options.json:
        report.write(options.json, seconds=times, memory=figures)


def line(figure: dict[str, Any]) -> str:
    """A figure as one line: what was taken, what the parts that were promised come to, what is allowed."""
    per_vertex, allowed = figure["bytes_per_vertex"], figure["allowed"]
    parts = sum(figure[part] for part in ("lists", "workspace", "fields")) / figure["n"]
    verdict = f"   at most {allowed:.1f}   {'ok' if per_vertex <= allowed else 'OVER'}" if allowed else ""
    label = f"{figure['algorithm']}, {figure['name']}{', directed' if figure['directed'] else ''}"
    return f"{label:<32}{per_vertex:8.1f} B/vertex   promised {parts:8.1f}{verdict}"


if __name__ == "__main__":
    main()
