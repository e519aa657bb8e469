"""A new process: the time of `import gasla`, and of the first call."""

from __future__ import annotations

import subprocess
import sys

from . import ENGINES, require

CALLS = {
    "bfs": "bfs(graph, 0)",
    "sssp": "sssp(graph, 0)",
    "pagerank": "pagerank(graph)",
    "components": "connected_components(graph)",
    "triangles": "triangle_count(graph)",
    "betweenness": "betweenness_centrality(graph, k=1, seed=1)",
    "mxv": "mxv(graph, graph.values[:graph.n])",
}
ON_GPU = """
import cupy
cupy.ones(8).sum().item()  # initializes the driver
"""
CACHES = ("GASLA_CACHE_DIR", "CUPY_CACHE_DIR", "CUDA_CACHE_PATH")
NEW_TO_NVRTC = """
import time, gasla.gpu.runtime.compile
gasla.gpu.runtime.compile.OPTIONS += (f"-DMEASURED_BY={time.time_ns()}",)  # excludes NVRTC's own cache
"""
PREPARATION = """
import os, tempfile
for name in {unset}:
    os.environ[name] = tempfile.mkdtemp()
import gasla
{engine}
graph = gasla.Graph(gasla.datasets.rmat(8)).to({device!r})
graph.in_, graph.in_values
"""


class FirstCall:
    """The first call in a process, with the graph built: with an empty and with a full cache of compiled code."""

    params = (list(CALLS), ["empty", "full"], ENGINES)
    param_names = ("algorithm", "cache", "engine")
    timeout = 300
    number = 1
    rounds = 1
    repeat = 3

    def setup(self, algorithm: str, cache: str, engine: str) -> None:
        """Fill the cache."""
        require(engine)
        if cache == "full":
            call, preparation = self.timeraw_call(algorithm, cache, engine)
            subprocess.run([sys.executable, "-c", preparation + call], check=True)

    def timeraw_call(self, algorithm: str, cache: str, engine: str) -> tuple[str, str]:
        """The time of the call, without import and construction of the graph."""
        is_empty = cache == "empty"
        on_gpu = ON_GPU + NEW_TO_NVRTC * is_empty if engine == "gpu" else ""
        preparation = PREPARATION.format(unset=CACHES * is_empty, engine=on_gpu, device=engine)
        return f"gasla.{CALLS[algorithm]}", preparation


def timeraw_import() -> str:
    """The time of `import gasla`, without the start of the interpreter."""
    return "import gasla"
