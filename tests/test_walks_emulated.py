"""Walks and samples of the GPU without one: the kernels by g++, against the CPU's, and what NVRTC says."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulated_kernel import EmulatedKernel, library

from gasla.cpu.primitive import walkers as cpu
from gasla.gpu.primitive import walkers
from gasla.gpu.runtime.compile import compile_source
from gasla.graph.graph import Graph

KEY = 2**64 - 12345


@pytest.mark.parametrize(("weighted", "biased"), [(False, False), (True, True)])
def test_compiles(weighted: bool, biased: bool) -> None:
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    for architecture, sizes in (("sm_90", (4, 4)), ("sm_80", (8, 8))):
        assert compile_source(walkers.source(*sizes, weighted, biased), architecture)


def graph_of(kind: Any) -> Graph:
    """Hubs, loops, parallel edges, dead ends, weights of 0, unsorted lists."""
    rng = np.random.default_rng(4)
    src, dst = rng.integers(0, 60, (2, 500), dtype=np.int32) ** 2 // 60
    made = Graph.from_edges(src, dst, rng.integers(0, 4, 500) / 2, n=64)
    return Graph.from_csr(made.out.indptr.astype(kind), made.out.indices, made.out_values)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize(("weighted", "bias"), [(False, (1, 1)), (True, (1, 1)), (False, (0.01, 3)), (True, (5, 1e-9))])
def test_equals_the_cpu(weighted: bool, bias: tuple[float, float], tmp_path: Path) -> None:
    graph = graph_of(np.int64 if weighted else np.int32)
    lists, near, n = graph.out, graph.sorted_out, np.uint64(graph.n)
    source = walkers.source(4, lists.indptr.dtype.itemsize, weighted, bias != (1, 1))
    compiled = library(f"{source}using namespace gasla;", ("sum_lists", "walk", "sample"), tmp_path / "built")
    values = graph.out_values
    assert values is not None
    sums = np.full(graph.m, np.nan)
    EmulatedKernel(compiled, "sum_lists").plain(1, n, lists.indptr, values, sums)
    np.testing.assert_array_equal(sums, cpu.list_sums(lists, values))
    starts = np.random.default_rng(5).integers(0, 64, 300).astype(np.int32)
    rows = np.uint64(300)
    arrays = sums, near.indptr, near.indices, starts
    kernel = EmulatedKernel(compiled, "walk")
    for steps in (30, 0, 1, 2, 3, 8):  # rows that begin anywhere within 16 bytes, and end there
        walks = np.full((300, steps + 1), -7, np.int32)
        numbers = rows, np.uint64(steps), lists.indptr, lists.indices, *arrays, np.uint64(KEY)
        kernel.plain(1, *numbers, *map(np.float64, bias), walks)
        np.testing.assert_array_equal(walks, cpu.walk(graph, starts, steps, KEY, sums if weighted else None, bias))
    for replace in (False, True):
        found = np.full((300, 6), -7, np.int32)
        kernel = EmulatedKernel(compiled, "sample")
        arguments = lists.indptr, lists.indices, starts, np.uint64(KEY), np.bool_(replace), found
        kernel.plain(1, rows, np.uint64(6), *arguments)
        np.testing.assert_array_equal(found, cpu.sample(graph, starts, 6, KEY, replace))
