"""Measure the first call of each function with an empty cache of compiled code, in one new process or in one each.

python -m benchmarks.first_calls [--alone] [--device gpu] [--output FILE]

Uses the flight network that comes with gasla. Prints CPU time (`cpu`) and elapsed time (`wall`) in seconds, then the
elapsed time of the same calls in a second process with a filled cache (`stored`). Import of gasla and construction of
the graph count as part of the first call.
"""

from __future__ import annotations

import tempfile
import time

from benchmarks.script import Script, command, new_process

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
        settings = {**caches, "PYTHONDONTWRITEBYTECODE": "", "MEASURED_BY": str(time.time_ns())}
        own = "-W", "ignore", "-c", PROGRAM, device, *(CALLS[name] for name in names)
        first, again = (_rows(new_process(*own, **settings)) for _ in range(2))
    return first, again


def _rows(output: str) -> list[Row]:
    rows = [line.split() for line in output.splitlines()]
    return [(name.removeprefix("gasla."), float(wall), float(cpu)) for name, wall, cpu in rows]


def main() -> None:
    """Measure, and print a table."""
    parser = command(__doc__, "output", "device")
    parser.add_argument("--alone", action="store_true", help="each call in a new process, with an empty cache")
    script, total = Script(parser), [0.0, 0.0, 0.0]
    script.say(f"{'first call':38s}{'wall':>8s}{'cpu':>8s}{'stored':>8s}")
    for names in [[name] for name in CALLS] if script.options.alone else [[*CALLS]]:
        for (name, wall, cpu), (_, stored, _) in zip(*cold_and_warm(names, script.device), strict=True):
            script.say(f"{name:38s}{wall:8.2f}{cpu:8.2f}{stored:8.2f}")
            total = [a + b for a, b in zip(total, (wall, cpu, stored), strict=True)]
    script.say(f"{'all':38s}{total[0]:8.2f}{total[1]:8.2f}{total[2]:8.2f}")


if __name__ == "__main__":
    main()
