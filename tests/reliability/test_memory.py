"""The k-th allocation fails, for every k: an error, nothing lost, and the next call is right."""

import contextlib
import gc
import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import gasla
import semirings
from gasla.arrays import moved
from gasla.graph.graph import Graph
from tests.helpers import failing_memory, programs
from tests.program.test_runs import staged

pytestmark = pytest.mark.thorough

N = 300
RNG = np.random.default_rng(5)
EDGES = RNG.integers(0, N, (2, 1500))
WEIGHTS = RNG.integers(1, 9, 1500).astype(np.float64)
FOREVER = 10**9

CALLS: dict[str, Callable[[Graph], Any]] = {
    "bfs": lambda graph: gasla.bfs(graph, 3, parents=True)[0],
    "sssp": lambda graph: gasla.sssp(graph, 3),
    "pagerank": lambda graph: gasla.pagerank(graph, tol=1e-12).ranks,
    "components": lambda graph: gasla.connected_components(graph)[1],
    "triangles": lambda graph: gasla.triangle_count(graph),
    "betweenness": lambda graph: gasla.betweenness_centrality(graph, sources=[1, 2, 3]),
    "mxv": lambda graph: gasla.mxv(graph, graph.values[:N], semirings.min_plus),
    "vxm": lambda graph: gasla.vxm(graph.values[:N], graph, semirings.max_times),
    "aggregates": lambda graph: gasla.run(programs.Settling, graph).value,
    "scatter": lambda graph: gasla.run(programs.Flow, graph, max_iterations=3).flow,
    "tuples": lambda graph: gasla.run(programs.Nearest, graph, active=[0], cost={0: 0}).parent,
    "both ways": lambda graph: gasla.run(programs.Bits, graph).seen,
    "along a schedule": lambda graph: gasla.run(programs.Counter, graph, schedule=np.arange(N) % 7).times,
    "deterministic": lambda graph: gasla.run(programs.Cooling, graph, deterministic=True, max_iterations=3).heat,
    "stages": lambda graph: staged(programs.Paths, graph, [3], 9, {"paths": {3: 1}, "level": {3: 0}}).paths,
}

QUICK = ("mxv", "stages")


def plain(answer: Any) -> np.ndarray:
    return np.asarray(moved(answer, "cpu"))


def fail_everywhere(
    name: str, graph: Callable[[], Graph], counts: failing_memory.Failing, held: Callable[[], int]
) -> None:
    call = CALLS[name]
    expected = plain(call(graph()))
    for failing in (1, FOREVER):
        for k in range(10**4):
            before, some = held(), graph()
            counts.arm(k, failing)
            try:
                got = plain(call(some))
            except MemoryError:
                got = None
            failed = counts.disarm()
            if got is not None:  # it did without, or tried once more
                np.testing.assert_allclose(got, expected, rtol=1e-9)
            assert got is not None or failed, "an error without a cause"
            np.testing.assert_allclose(plain(call(some)), expected, rtol=1e-9, err_msg=f"after allocation {k} failed")
            del some, got
            if held() > before:  # it may be part of a circle
                gc.collect()
            assert held() <= before, f"memory is lost after allocation {k} failed"
            if not failed:
                break
        else:
            raise AssertionError("there is no end to allocations")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in QUICK else pytest.mark.slow) for n in CALLS])
def test_on_the_cpu(name: str) -> None:
    with failing_memory.of_numpy() as counts:
        fail_everywhere(name, lambda: Graph.from_edges(*EDGES, WEIGHTS, n=N), counts, lambda: counts.live)


@pytest.mark.gpu
@pytest.mark.parametrize("name", CALLS)
def test_on_the_gpu(name: str) -> None:
    import cupy

    def held() -> int:
        cupy.cuda.Device().synchronize()
        return int(cupy.get_default_memory_pool().used_bytes())

    with failing_memory.of_cupy() as counts:
        fail_everywhere(name, lambda: Graph.from_edges(*EDGES, WEIGHTS, n=N).to("gpu"), counts, held)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_a_graph_is_made_or_is_not() -> None:
    matrix = csr_array((WEIGHTS, (EDGES[0], EDGES[1])), shape=(N, N))
    with failing_memory.of_numpy() as counts:
        for make in (Graph, lambda matrix: Graph(matrix.tocsc()).out.indptr, lambda matrix: Graph(matrix.tobsr())):
            for k in range(1000):
                counts.arm(k, 1)
                with contextlib.suppress(MemoryError):
                    make(matrix)
                if not counts.disarm():
                    break
            assert 0 < k < 999
