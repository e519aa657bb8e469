"""What it costs to start: a call on a graph so small that nothing else counts, and the first calls of a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from statistics import median

import numpy as np

import gasla
from benchmarks.gpu.bars import CALL, FIRST_CALL
from benchmarks.gpu.figures import Figure, seconds

CALLS = 200

# Each algorithm's first call, of a process that has used the GPU before. An option of its own keeps NVRTC from finding,
# in a cache that NVRTC has, what another process has compiled.
FIRST_CALLS = """
import json, os, time
import cupy, numpy as np
import gasla
import gasla.gpu.runtime.compile
gasla.gpu.runtime.compile.OPTIONS += ("-DMEASURED_BY=" + os.environ["MEASURED_BY"],)
ids = np.arange(64)
graph = gasla.Graph.from_edges(np.append(ids, (ids + 1) % 64), np.append((ids + 1) % 64, ids), np.ones(128, np.float32))
graph = graph.to("gpu")
graph.in_, graph.in_values, cupy.ones(8).sum().item()
calls = {
    "bfs": lambda: gasla.bfs(graph, 0),
    "sssp": lambda: gasla.sssp(graph, 0),
    "pagerank": lambda: gasla.pagerank(graph),
    "components": lambda: gasla.connected_components(graph),
    "triangles": lambda: gasla.triangle_count(graph),
    "betweenness": lambda: gasla.betweenness_centrality(graph, sources=[0]),
}
took = {}
for name, call in calls.items():
    start = time.perf_counter()
    call()
    cupy.cuda.runtime.deviceSynchronize()
    took[name] = time.perf_counter() - start
print(json.dumps(took))
"""


def first_calls() -> Iterator[Figure]:
    """Seconds until a first answer, with an empty cache of compiled code and with a filled one."""
    with tempfile.TemporaryDirectory() as folder:
        places = dict.fromkeys(("GASLA_CACHE_DIR", "CUPY_CACHE_DIR", "CUDA_CACHE_PATH"), folder)
        kept = {"PYTHONDONTWRITEBYTECODE": ""}  # Python's byte code, as of an installed package
        setting = {**os.environ, **places, **kept, "MEASURED_BY": str(time.time_ns())}
        cold, warm = (_in_new_process(setting) for _ in range(2))
    for (when, limit), took in zip(FIRST_CALL.items(), (cold, warm)):
        for name, value in took.items():
            yield Figure(f"64 vertices, {when}", f"first {name}", value, "s", limit)


def _in_new_process(environment: dict[str, str]) -> dict[str, float]:
    command = [sys.executable, "-c", FIRST_CALLS]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise RuntimeError(f"the measuring process failed with {done.returncode}:\n{done.stderr}")
    result: dict[str, float] = json.loads(done.stdout)
    return result


def small_calls() -> Iterator[Figure]:
    """Microseconds of a call on a graph of 1,000 vertices."""
    rng = np.random.default_rng(1)
    ends = rng.integers(0, 1000, (2, 4000))
    graph = gasla.Graph.from_edges(*ends, rng.random(4000, np.float32), n=1000).to("gpu")
    x = graph.values[:1000]
    calls = {
        "bfs": lambda: gasla.bfs(graph, 0),
        "bfs with parents": lambda: gasla.bfs(graph, 0, parents=True),
        "sssp": lambda: gasla.sssp(graph, 0),
        "pagerank": lambda: gasla.pagerank(graph),
        "components": lambda: gasla.connected_components(graph),
        "mxv": lambda: gasla.mxv(graph, x),
    }
    for name, call in calls.items():
        for _ in range(3):
            call()
        runs = seconds(call, least=20, most=CALLS)
        yield Figure(
            "1,000 vertices", f"call {name}", 1e6 * median(runs), "us", CALL, note=f"least {1e6 * min(runs):.1f}"
        )
