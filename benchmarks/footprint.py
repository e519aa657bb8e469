"""Measure the memory that an algorithm needs in a new process.

    python -m benchmarks.footprint [--device gpu] [--graphs rmat20,grid20] [--json FILE]

The second call is measured, as the first loads compiled code: peak and remaining growth, on the CPU of the resident
set of the process, on the GPU of CuPy's memory pool. Compared with it are the growth of `Graph.nbytes`, the value of
`workspace` for the program, and the size of its fields; and for search and PageRank on the CPU an upper bound: 32 bytes
per vertex plus the fields, and a CSC if the graph is not symmetric.
"""

from __future__ import annotations

import gc
import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import triu

import gasla
from benchmarks import programs
from benchmarks.script import Script, command, new_process
from gasla.arrays import device_of
from gasla.bench import graphs
from gasla.bench.graphs import BenchmarkGraph

PER_VERTEX = 32  # bytes per vertex allowed besides the graph and the fields of the program
FIELDS = {"bfs": 8, "sssp": 4, "pagerank": 12}  # bytes per vertex: level, parent; length; rank, share and its divisor
PROGRAMS = {"bfs": programs.Tree, "sssp": programs.Paths, "pagerank": programs.Surfer}  # like the library's programs
BOUNDED = ("bfs", "pagerank")
MEMORY = "from benchmarks.footprint import grown_on_cpu; grown_on_cpu({!r}, {!r}, {!r})"


def called(algorithm: str, graph: Any, source: int) -> Any:
    """Call the algorithm; the answer is at most as large as the program's fields."""
    if algorithm == "bfs":
        return gasla.bfs(graph, source, parents=True)
    if algorithm == "sssp":
        return gasla.sssp(graph, source)
    with warnings.catch_warnings(action="ignore", category=gasla.ConvergenceWarning):
        return gasla.pagerank(graph, weighted=False, dtype=np.float32, tol=1e-3)


def directed_or_not(matrix: Any, directed: bool) -> Any:
    """The matrix, or its upper triangle for a directed graph."""
    if not directed:
        return matrix
    if device_of(matrix) == "cpu":
        return triu(matrix, format="csr")
    from cupyx.scipy import sparse

    return sparse.triu(matrix, format="csr")


def ready(benchmark: BenchmarkGraph, algorithm: str, directed: bool) -> gasla.Graph:
    """The graph, with known symmetry, after calls on a small graph that load all code."""
    small = graphs.load("rmat8").on(benchmark.device).matrix
    for other in (False, True):
        called(algorithm, directed_or_not(small, other), 0)
    graph = gasla.Graph(directed_or_not(benchmark.matrix, directed))
    graph.is_symmetric  # noqa: B018
    return graph


def promised(graph: gasla.Graph, algorithm: str) -> dict[str, int]:
    """The documented memory of a run besides the graph."""
    return {"workspace": gasla.workspace(PROGRAMS[algorithm], graph), "fields": FIELDS[algorithm] * graph.n}


def status(key: str) -> int:
    """A memory size of this process in bytes, from /proc/self/status."""
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(key))
    return int(line.split()[1]) * 1024


def grown_on_cpu(name: str, algorithm: str, directed: bool) -> None:
    """Print the growth of this process in a call, as JSON."""
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
    """The growth of CuPy's memory pool in a call, and in another call (`again`)."""
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
    """Bytes allocated from CuPy's pool since entering: peak (`grown`) and current (`held`)."""
    import cupy

    class Watch(cupy.cuda.MemoryHook):
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
    """Return the growth of a call, the documented sizes, and the allowed bytes per vertex."""
    if isinstance(graph, str):
        name = graph
        allowed: float | None = PER_VERTEX + FIELDS[algorithm] if algorithm in BOUNDED else None
        found: dict[str, int] = json.loads(new_process("-c", MEMORY.format(graph, algorithm, directed)))
    else:
        name, allowed, found = graph.name, None, grown_on_gpu(graph, algorithm, directed)
    if directed and allowed is not None:  # the in-edges: neighbor and edge number of each
        allowed += 8 * found["m"] / found["n"] + 4
    return {
        "name": name,
        "algorithm": algorithm,
        "directed": directed,
        **found,
        "bytes_per_vertex": found["grown"] / found["n"],
        "allowed": allowed,
    }


def line(figure: dict[str, Any]) -> str:
    """A result as one line: measured, documented and allowed bytes per vertex."""
    per_vertex, allowed = figure["bytes_per_vertex"], figure["allowed"]
    parts = sum(figure[part] for part in ("lists", "workspace", "fields")) / figure["n"]
    verdict = f"   at most {allowed:.1f}   {'ok' if per_vertex <= allowed else 'OVER'}" if allowed else ""
    label = f"{figure['algorithm']}, {figure['name']}{', directed' if figure['directed'] else ''}"
    return f"{label:<32}{per_vertex:8.1f} B/vertex   documented {parts:8.1f}{verdict}"


def main(arguments: list[str] | None = None) -> None:
    """Measure all cases, and print one line for each."""
    parser = command(__doc__, "device", "graphs_module", "commit", "json", graphs="rmat20,grid20")
    script = Script(parser, arguments, "memory")
    for name in script.options.graphs:
        graph = name if script.device == "cpu" else script.load(name)
        for algorithm, directed in product(FIELDS, (False, True)):
            figure = memory(graph, algorithm, directed)
            script.say(line(figure), **figure)


if __name__ == "__main__":
    main()
