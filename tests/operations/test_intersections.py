"""Common neighbors of chosen pairs, counted and weighed: both engines' kernels against NumPy's sets."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gasla.cpu.primitive import intersections, neighbors
from gasla.gpu.primitive import intersections as of_gpu
from gasla.gpu.runtime.compile import compile_source
from gasla.graph.graph import Graph
from gasla.operations.primitives import (
    Oriented,
    count_common_neighbors,
    intersect,
    orient,
    simplify,
    sum_at_edges,
)
from gasla.program.frontier import EdgeFrontier
from tests.algorithms.community.test_triangles import use_threads
from tests.helpers.emulated_kernel import EmulatedKernel, library

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]
N = 80


def graph_of(parallel: bool, offsets: Any = np.int32) -> Graph:
    """A vertex of all neighbors, hubs, vertices of none; unsorted lists; loops, and parallel edges if wanted."""
    rng = np.random.default_rng(6)
    src, dst = rng.integers(0, N - 5, (2, 900)) ** 2 // N
    src, dst = np.append(src, np.full(N, 3)), np.append(dst, np.arange(N))
    if not parallel:
        src, dst = np.divmod(rng.permutation(np.unique(src * N + dst)), N)
    made = Graph.from_edges(src, dst, n=N)
    return Graph.from_csr(made.out.indptr.astype(offsets), made.out.indices)


def stored(graph: Graph) -> np.ndarray:
    counts = np.zeros((graph.n, graph.n), np.int64)
    np.add.at(counts, (graph.out.owners(), graph.out.indices), 1)
    return counts


def pairs(count: int = 700) -> tuple[np.ndarray, np.ndarray]:
    """Those of some vertices come often, those of a vertex with itself too."""
    u, v = np.random.default_rng(7).integers(0, N, (2, count), dtype=np.int32)
    u[: count // 2], v[::9] = 3, u[::9]
    return u, v


WEIGHTS = np.random.default_rng(8).random(N) - 0.3


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("short", [-1, 10**9])
def test_counts_and_sums(device: Any, parallel: bool, short: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intersections, "SHORT", short)
    graph, (u, v) = graph_of(parallel), pairs()
    common = np.minimum(stored(graph)[u], stored(graph)[v])
    here = graph.to(device)
    edges = EdgeFrontier(N, np.arange(len(u)), u, v)
    for take in (slice(None), slice(1), slice(0)):  # a single pair's lists may be searched
        counts, sums = intersect(here, edges[take]), intersect(here, edges[take], WEIGHTS)
        assert (counts.dtype, sums.dtype) == (np.int64, np.float64)
        np.testing.assert_array_equal(counts.tolist(), common[take].sum(axis=1))
        np.testing.assert_allclose(sums.tolist(), common[take] @ WEIGHTS, atol=1e-12)
        assert (intersect(here, edges[take], WEIGHTS) == sums).all()
    infinite = np.where(np.arange(N) == 10, np.inf, 1.0)
    found = np.array(intersect(here, edges, infinite).tolist())
    np.testing.assert_array_equal(found, np.where(common[:, 10] > 0, np.inf, common.sum(axis=1)))
    assert intersect(here, edges, np.ones(N, bool)).tolist() == common.sum(axis=1).tolist()


def test_arguments_are_checked() -> None:
    graph, edges = graph_of(False), EdgeFrontier(N, np.arange(1), np.array([0]), np.array([1]))
    with pytest.raises(TypeError, match="weights are complex128; expected real numbers"):
        intersect(graph, edges, np.zeros(N, complex))
    with pytest.raises(ValueError, match=r"weights have shape \(3,\); expected \(80,\), one per vertex"):
        intersect(graph, edges, np.zeros(3))


@pytest.mark.thorough
@pytest.mark.parametrize("weighted", [False, True])
def test_compiles(weighted: bool) -> None:
    pytest.importorskip("cupy", reason="NVRTC comes with CuPy")
    for architecture, sizes in (("compute_90", (4, 4)), ("compute_80", (8, 8))):
        assert compile_source(of_gpu.source(*sizes, weighted), architecture)


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("weighted", [False, True])
def test_emulated(weighted: bool, tmp_path: Path) -> None:
    """With lists of 12 or more long, so that whole blocks take them."""
    graph, (u, v) = graph_of(True, np.int64 if weighted else np.int32), pairs()
    lists, common = graph.sorted_out, np.minimum(stored(graph)[u], stored(graph)[v])
    source, folder = of_gpu.source(4, lists.indptr.dtype.itemsize, weighted), tmp_path / "built"
    text = f"{source}using namespace gasla;"
    compiled = library(text, ("intersect_pairs",), folder, of_gpu.THREADS, LONG_PAIR=12)
    found = np.full(len(u), -7, np.float64 if weighted else np.int64)
    arrays = lists.indptr, lists.indices, u, v, WEIGHTS if weighted else of_gpu.NULL, np.zeros(1, np.uint64), found
    EmulatedKernel(compiled, "intersect_pairs").plain(1, np.uint64(len(u)), *arrays)
    np.testing.assert_allclose(found, common @ WEIGHTS if weighted else common.sum(axis=1), atol=1e-12)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("by_degree", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
def test_sums_at_all_edges(wide: bool, by_degree: bool, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compared with sums of given pairs; integers below 2**33 are summed exactly."""
    use_threads(monkeypatch, threads)
    monkeypatch.setattr("gasla.cpu.runtime.blocks.SMALL", 1)
    simple = graph_of(True, np.int64 if wide else np.int32).simple().symmetrized()
    graph = simplify(simple)
    oriented = Oriented(graph, neighbors.by_degree(graph) if by_degree else graph.sorted_out, graph)
    assert oriented.order == ("degrees" if by_degree else "ids")
    src, dst = graph.edges()
    edges = EdgeFrontier(graph.n, np.arange(graph.m), src, dst)
    few = np.random.default_rng(9).random(N) + 0.01
    sums = sum_at_edges(oriented, few)
    assert sums is not None
    np.testing.assert_allclose(sums, intersect(graph, edges, few), rtol=1e-12)
    assert (sums == sums[graph.reverse_edge_ids]).all()
    whole = np.random.default_rng(10).integers(0, 1000, N).astype(float)
    np.testing.assert_array_equal(sum_at_edges(oriented, whole), intersect(graph, edges, whole))
    ones = sum_at_edges(oriented, np.ones(N))
    np.testing.assert_array_equal(ones, count_common_neighbors(oriented, per_edge=True)[1])
    np.testing.assert_array_equal(sum_at_edges(oriented, np.zeros(N)), 0)


def test_weights_that_integers_cannot_have() -> None:
    triangle = orient(Graph.from_edges([0, 1, 2, 3, 0, 1], [1, 2, 0, 0, 2, 0]))
    assert sum_at_edges(triangle, [1, 1, 1, np.inf]) is not None  # vertex 3 has one neighbor
    assert sum_at_edges(triangle, [1, 1, np.inf, 1]) is None
    assert sum_at_edges(triangle, [1, 1, 1e-12, 1]) is None
    assert sum_at_edges(triangle, [1, 1, 0, 1]) is not None
    assert sum_at_edges(triangle, [5e-324, 0, 0, 0]) is None
    for bad in (-1, np.nan):
        with pytest.raises(ValueError, match=r"the weight of vertex 2 is (-1\.0|nan); expected 0 or more"):
            sum_at_edges(triangle, [1, 1, bad, 1])
    with pytest.raises(ValueError, match=r"weights have shape \(3,\); expected \(4,\)"):
        sum_at_edges(triangle, [1, 1, 1])
    with pytest.raises(TypeError, match="expected an Oriented"):
        sum_at_edges(triangle.graph, [1, 1, 1, 1])  # type: ignore[arg-type]
    none = orient(Graph.from_edges([], [], n=0))
    found = sum_at_edges(none, [])
    assert found is not None and len(found) == 0
