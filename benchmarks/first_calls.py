"""Measure the first call of each function with an empty cache of compiled code, in one new process or in one each.

python -m benchmarks.first_calls [--alone] [--gpu] [--output FILE]

Uses the flight network that comes with gasla. Prints CPU time (`cpu`) and elapsed time (`wall`) in seconds, then the
elapsed time of the same calls in a second process with a filled cache (`stored`). Import of gasla and construction of
the graph count as part of the first call.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CALLS = {
    "bfs": "gasla.bfs(directed, 0)",
    "sssp": "gasla.sssp(directed, 0)",
    "pagerank": "gasla.pagerank(directed)",
    "connected_components": "gasla.connected_components(undirected)",
    "louvain_communities": "gasla.louvain_communities(undirected)",
    "maximum_flow": "gasla.maximum_flow(directed, 0, 5)",
    "minimum_spanning_forest": "gasla.minimum_spanning_forest(undirected)",
    "greedy_color": "gasla.greedy_color(undirected)",
    "strongly_connected_components": "gasla.strongly_connected_components(directed)",
    "core_number": "gasla.core_number(undirected)",
    "triangle_count": "gasla.triangle_count(undirected)",
    "betweenness_centrality": "gasla.betweenness_centrality(undirected, k=4)",
    "closeness_centrality": "gasla.closeness_centrality(undirected)",
    "label_propagation": "gasla.label_propagation(undirected)",
    "hits": "gasla.hits(directed)",
    "katz_centrality": "gasla.katz_centrality(directed, alpha=0.001)",
    "k_truss": "gasla.k_truss(undirected, 4)",
    "bridges": "gasla.bridges(undirected)",
    "maximal_independent_set": "gasla.maximal_independent_set(undirected)",
}
ON_GPU = ["bfs", "sssp", "pagerank", "connected_components", "triangle_count", "betweenness_centrality"]
# On a GPU the driver has already been initialized. NVRTC has a cache of its own; a unique compiler option makes sure
# that nothing is found there. It is not used if the wheel ships compiled code, which it would exclude.
PROGRAM = """
import os, sys, time
began = time.perf_counter(), time.process_time()
import gasla
from gasla import datasets
from gasla.arrays import finish
device = sys.argv[1]
matrix = datasets.openflights().matrix
directed, undirected = gasla.Graph(matrix), gasla.Graph(((matrix + matrix.T) != 0).astype(float).tocsr())
if device == "gpu":
    import gasla.gpu.runtime.compile
    from gasla import cubins
    if not cubins.are_there():
        gasla.gpu.runtime.compile.OPTIONS += ("-DMEASURED_BY=" + os.environ["MEASURED_BY"],)
    directed, undirected = directed.to("gpu"), undirected.to("gpu")
    finish(device)
    began = time.perf_counter(), time.process_time()
for call in sys.argv[2:]:
    eval(call)
    finish(device)
    print(call.partition("(")[0], time.perf_counter() - began[0], time.process_time() - began[1], flush=True)
    began = time.perf_counter(), time.process_time()
"""
Row = tuple[str, float, float]


def cold_and_warm(names: list[str], device: str = "cpu") -> tuple[list[Row], list[Row]]:
    """For each call its name, elapsed time and CPU time: with empty caches, then with full ones."""
    with tempfile.TemporaryDirectory() as folder:
        caches = dict.fromkeys(("GASLA_CACHE_DIR", "CUPY_CACHE_DIR", "CUDA_CACHE_PATH"), folder)
        settings = {**os.environ, **caches, "PYTHONDONTWRITEBYTECODE": "", "MEASURED_BY": str(time.time_ns())}
        first, again = (_in_new_process([CALLS[name] for name in names], device, settings) for _ in range(2))
    return first, again


def _in_new_process(calls: list[str], device: str, environment: dict[str, str]) -> list[Row]:
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, device, *calls]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the measuring process failed with {done.returncode}:\n{done.stderr}")
    rows = [line.split() for line in done.stdout.splitlines()]
    return [(name.removeprefix("gasla."), float(wall), float(cpu)) for name, wall, cpu in rows]


def main() -> None:
    """Measure, print a table, and optionally write it to a file."""
    from gasla.cli.compute import provenance

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alone", action="store_true", help="each call in a new process, with an empty cache")
    parser.add_argument("--gpu", action="store_true", help="on the current GPU, with graphs in its memory")
    parser.add_argument("--output", type=Path, metavar="FILE")
    options = parser.parse_args()
    lines = [provenance(), f"{'first call':38s}{'wall':>8s}{'cpu':>8s}{'stored':>8s}"]
    total, device = [0.0, 0.0, 0.0], "gpu" if options.gpu else "cpu"
    for names in [[name] for name in CALLS] if options.alone else [[*CALLS]]:
        for (name, wall, cpu), (_, stored, _) in zip(*cold_and_warm(names, device), strict=True):
            lines.append(f"{name:38s}{wall:8.2f}{cpu:8.2f}{stored:8.2f}")
            total = [a + b for a, b in zip(total, (wall, cpu, stored), strict=True)]
    lines.append(f"{'all':38s}{total[0]:8.2f}{total[1]:8.2f}{total[2]:8.2f}")
    print(*lines, sep="\n")
    if options.output:
        options.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
