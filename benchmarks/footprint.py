"""What a fresh process costs: time to import and to a first result, and the memory that an algorithm holds.

    python -m benchmarks.footprint [--graphs rmat20,grid20] [--json FILE]

Every figure is taken in a process of its own. Times are medians, with the cache of compiled code warm. Memory is what
the resident set grows by, at its highest, during a second call (the first has loaded the compiled code). Next to it
stand what `Graph.nbytes` grew by, what `workspace` promises for the program and what its fields take; and, of search
and PageRank, what is allowed: 32 bytes a vertex and the fields, and a CSC where the graph is not symmetric.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from gasla.bench.provenance import provenance
from gasla.bench.report import Report

REPEATS = 5
BARS = {"import": 0.5, "first result": 1.5}  # seconds
PER_VERTEX = 32  # bytes beyond the graph and the program's own fields
FIELDS = {"bfs": 8, "pagerank": 8}  # bytes a vertex: level and parent; rank and share
ALGORITHMS = ("bfs", "sssp", "pagerank")

IMPORT = "import time; t = time.perf_counter(); import gasla; print(time.perf_counter() - t)"
FIRST_RESULT = "import gasla; A = gasla.datasets.grid(8); gasla.bfs(A, 0)"
MEMORY = """
import json, sys
from pathlib import Path
import numpy as np
import gasla
from gasla.algorithms import bfs, pagerank, sssp
from gasla.bench import graphs
from gasla.cpu import generate
from gasla.gpu.space import field_bytes
from scipy.sparse import triu

def status(key):
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(key))
    return int(line.split()[1]) * 1024

def call(algorithm, graph, source):
    if algorithm == "bfs":
        return gasla.bfs(graph, source, parents=True)
    if algorithm == "sssp":
        return gasla.sssp(graph, source)
    return gasla.pagerank(graph, weighted=False, dtype=np.float32, tol=1e-3)

name, algorithm, directed = sys.argv[1], sys.argv[2], sys.argv[3] == "directed"
benchmark = graphs.load(name)
matrix = triu(benchmark.matrix, format="csr") if directed else benchmark.matrix
call(algorithm, graphs.load("rmat8").matrix, 0)
call(algorithm, triu(graphs.load("rmat8").matrix, format="csr"), 0)
graph = gasla.Graph(matrix)
graph.is_symmetric
before, lists = status("VmRSS"), graph.nbytes
Path("/proc/self/clear_refs").write_text("5")
answer = call(algorithm, graph, benchmark.sources[0])
grown, held = status("VmHWM") - before, status("VmRSS") - before
programs = {"bfs": bfs.Parents, "sssp": sssp.NearFirst, "pagerank": pagerank.Uniform}
types = {"bfs": (), "sssp": ("distance", "weight"), "pagerank": ("rank", "share", "inverse", "alpha")}[algorithm]
program = programs[algorithm].typed(**dict.fromkeys(types, np.dtype(np.float32)))
fields = field_bytes(generate.plan(program, graph.id_dtype), graph)
sizes = {"graph": lists, "lists": graph.nbytes - lists, "workspace": program.workspace(graph), "fields": fields}
print(json.dumps({"n": graph.n, "m": graph.m, "grown": grown, "held": held, **sizes}))
"""


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


def memory(graph: str, algorithm: str, directed: bool) -> dict[str, Any]:
    """Return by how many bytes the process grows, what was promised, and how many a vertex it may."""
    found = json.loads(output(MEMORY, graph, algorithm, "directed" if directed else "symmetric"))
    allowed = PER_VERTEX + FIELDS[algorithm] if algorithm in FIELDS else None
    if directed and allowed is not None:  # the in-edges: for each its neighbour and its place among the out-edges
        allowed += 8 * found["m"] / found["n"] + 4
    return {
        "name": graph,
        "algorithm": algorithm,
        "directed": directed,
        **found,
        "bytes_per_vertex": found["grown"] / found["n"],
        "allowed": allowed,
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure all, and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.footprint", description=__doc__.partition("\n")[0])
    parser.add_argument("--graphs", default="rmat20,grid20", help="whose memory is measured (%(default)s)")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args(arguments)
    times = {"import": import_seconds(), "first result": first_result_seconds()}
    for name, seconds in times.items():
        verdict = "ok" if seconds <= BARS[name] else "OVER"
        print(f"{name:<32}{seconds:8.2f} s   at most {BARS[name]:.1f} s   {verdict}", flush=True)
    figures = []
    for graph, algorithm, directed in product(options.graphs.split(","), ALGORITHMS, (False, True)):
        found = memory(graph, algorithm, directed)
        figures.append(found)
        per_vertex, allowed = found["bytes_per_vertex"], found["allowed"]
        verdict = f"   at most {allowed:.1f}   {'ok' if per_vertex <= allowed else 'OVER'}" if allowed else ""
        label = f"{algorithm}, {graph}{', directed' if directed else ''}"
        print(f"{label:<32}{per_vertex:8.1f} B/vertex{verdict}", flush=True)
    if options.json:
        Report(provenance("cpu"), {}, []).write(options.json, seconds=times, memory=figures)


if __name__ == "__main__":
    main()
