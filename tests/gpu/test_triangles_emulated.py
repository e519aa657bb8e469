"""Triangles of the GPU at edges and vertices without one: the kernels by g++, with their host's own code over NumPy."""

import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from gasla.gpu.primitive import neighbors
from gasla.graph.graph import Graph
from tests.algorithms.community.test_edge_support import support_of
from tests.algorithms.community.test_triangles import undirected
from tests.helpers.emulated_kernel import EmulatedKernel, library

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")]
SMALL = {"LONG": 6, "BUSY": 12, "PIECE": 16}  # so that blocks take what is long, by pieces,
SLOTS = {"BLOCK_SLOTS": 32}  # and look forward lists up in parts
BY_BLOCKS = "count_by_blocks"
BY_WARPS = (
    *("count_merging", "spread_support", "list_pieces"),
    *("copy_forward_of_short", "copy_forward_of_pieces", "count_by_warps"),
)


@pytest.fixture
def emulated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The host's code launches kernels by g++; arrays are NumPy's."""

    @cache
    def built(threads: int, *kinds: Any) -> Any:
        text = f"{neighbors.source(*kinds)}using namespace gasla;"
        functions = (BY_BLOCKS,) if threads == neighbors.BLOCK_THREADS else BY_WARPS
        return library(text, functions, tmp_path / f"{threads}{kinds}", threads, **SMALL, **SLOTS)

    def kernel(
        function: str, threads: int, indptr: Any, indices: Any, per_vertex: bool = False, per_edge: bool = False
    ) -> Any:
        kinds = indices.dtype.itemsize, indptr.dtype.itemsize, per_vertex, per_edge
        made: Any = EmulatedKernel(built(threads, *kinds), function)
        made.blocks = 1
        return made

    monkeypatch.setattr(neighbors, "_kernel", kernel)
    monkeypatch.setattr(neighbors, "counters", lambda words: np.zeros(words, np.uint64))
    monkeypatch.setattr("gasla.gpu.runtime.compile.struct", lambda value: value)
    for name, value in SMALL.items():
        monkeypatch.setattr(neighbors, name, value)


def with_a_clique() -> csr_array:
    """A random graph; a clique of 40, whose forward lists take several parts; a star, whose middle has short ones."""
    matrix = undirected(80, 300, 5, True).tolil()
    matrix[20:60, 20:60] = True
    matrix[79, :] = matrix[:, 79] = True
    matrix.setdiag(False)
    return csr_array(matrix)


def shuffled(matrix: csr_array) -> Graph:
    """The same with every list in another order."""
    rng, indices = np.random.default_rng(3), matrix.indices.copy()
    for first, last in zip(matrix.indptr[:-1], matrix.indptr[1:]):
        indices[first:last] = rng.permutation(indices[first:last])
    return Graph.from_csr(matrix.indptr, indices)


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize("way", ["merged", "looked up"])
def test_triangles_of_each_edge_are_right(way: str) -> None:
    graph = shuffled(with_a_clique())
    lists: Any = graph.sorted_out
    if way == "looked up":
        lists = neighbors.by_degree(graph.out.indptr, graph.out.indices, graph.out_degrees)
    total, found = neighbors.count_at_edges(graph, lists)
    wanted = support_of(graph.n, graph.out.owners(), graph.out.indices)
    np.testing.assert_array_equal(found, wanted)
    assert int(total) * 6 == wanted.sum()


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize("way", ["merged", pytest.param("looked up", marks=pytest.mark.slow)])  # compiles all again
def test_triangles_of_each_vertex_are_right(way: str) -> None:
    graph = Graph(with_a_clique())
    lists: Any = graph.sorted_out
    if way == "looked up":
        lists = neighbors.by_degree(lists.indptr, lists.indices, graph.out_degrees)
    total, found = neighbors.count_common_neighbors(lists, True)
    support = support_of(graph.n, graph.out.owners(), graph.out.indices)
    np.testing.assert_array_equal(found, np.bincount(graph.out.owners(), support, graph.n) / 2)
    assert int(total) * 6 == support.sum()


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize("way", ["merged", "looked up"])
def test_shares_add_up(way: str) -> None:
    """Of which each GPU counts one."""
    graph = Graph(with_a_clique())
    lists: Any = graph.sorted_out
    if way == "looked up":
        lists = neighbors.by_degree(lists.indptr, lists.indices, graph.out_degrees)
    support = support_of(graph.n, graph.out.owners(), graph.out.indices)
    totals = [int(neighbors.count_common_neighbors(lists, False, (i, 2))[0]) for i in range(2)]
    assert all(totals) and sum(totals) * 6 == support.sum()


def test_without_edges() -> None:
    total, found = neighbors.count_at_edges(Graph.from_edges([], [], n=3), Graph.from_edges([], [], n=3).sorted_out)
    assert int(total) == 0 and len(found) == 0
