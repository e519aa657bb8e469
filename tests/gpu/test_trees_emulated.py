"""Trees numbered along an Euler tour, and extremes of their subtrees: kernels of a GPU, compiled by g++."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gasla
from gasla import Graph, primitives
from gasla.cpu import primitive
from gasla.gpu.primitive import forest
from tests.algorithms.components.test_bipartite_and_bridges import SHAPES
from tests.gpu.test_trees import check_extremes, check_trees
from tests.helpers.emulated_kernel import EmulatedKernel, library

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")]
SMALL = {"SHORT": 4, "SLICE": 16, "STRIDE": 3}  # so that warps walk some lists, others are cut, and splitters are many


@pytest.mark.parametrize("sizes", [(4, 4), (4, 8), (8, 8)])
def test_trees_are_numbered_and_have_extremes(tmp_path: Path, sizes: tuple[int, int]) -> None:
    functions = ("number_trees", "extremes_of_subtrees")
    built = library(forest.source(*sizes, "trees"), functions, tmp_path / "built", **SMALL)
    number_trees, extremes = (EmulatedKernel(built, function) for function in functions)
    ids, offsets = (np.dtype(f"i{size}") for size in sizes)
    for name, make in SHAPES.items():
        graph = primitives.simplify(make())
        n, control = graph.n, np.zeros(8, np.uint64)
        if n == 0:
            continue
        trees = [np.full(n, -7, ids) for _ in range(3)]
        lists: list[Any] = [graph.out.indptr.astype(offsets), graph.out.indices.astype(ids), np.uint64(n)]
        room = [np.full(size, 5, ids) for size in (2 * n, 4 * n, n + 1, 4 * n)]
        words = [np.full(n, 5, np.uint32), np.full(n, 5, ids), np.empty(3 * graph.m, np.uint64)]
        number_trees.plain(1, *lists, np.uint64(graph.m), *trees, *room, *words, control)
        check_trees(graph, *trees)
        values = [np.random.default_rng(i).integers(0, 99, n).astype(ids) for i in range(2)]
        found = [each.copy() for each in values]
        extremes.plain(1, trees[1], trees[2], np.uint64(n), *found, *(np.empty(40 * n, ids) for _ in range(2)), control)
        check_extremes(trees, values, found)
        assert not control[:2].any(), name


def test_edges_across_trees_unite_as_on_the_cpu(tmp_path: Path) -> None:
    built = library(forest.source(4, 4, "forest"), ("forest_link_across",), tmp_path / "built", SHORT=4, SLICE=16)
    kernel = EmulatedKernel(built, "forest_link_across")
    for name in ("undirected", "dense", "rmat", "two rings and a bridge"):
        graph = primitives.simplify(SHAPES[name]())
        numbers, sizes = shallow(graph)
        for known in (None, 0):
            expected, found = np.arange(graph.n, dtype=np.int32), np.arange(graph.n, dtype=np.int32)
            primitive.link(graph, expected, 0, None, known, (numbers, sizes))
            limits = np.uint64(0), np.uint64(graph.m), np.uint64(2**64 - 1 if known is None else known), np.uint64(0)
            room = np.empty(3 * graph.m, np.uint64), np.zeros(8, np.uint64)
            kernel.plain(
                1, graph.out.indptr, graph.out.indices, np.uint64(graph.n), found, *limits, numbers, sizes, *room
            )
            for each in (expected, found):
                primitives.compress(each)
            np.testing.assert_array_equal(found, expected)


def shallow(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and sizes of trees whose vertices are all below the root at once, so most edges lead across."""
    labels = gasla.connected_components(graph).labels
    order = np.argsort(labels, kind="stable")
    numbers, sizes = np.empty_like(labels), np.ones_like(labels)
    numbers[order] = np.arange(graph.n)
    _, first, count = np.unique(labels, return_index=True, return_counts=True)
    sizes[first] = count
    return numbers, sizes


def test_a_path_of_shuffled_vertices(tmp_path: Path) -> None:
    """One long tree, with the stride that GPUs have."""
    built = library(forest.source(4, 4, "trees"), ("number_trees",), tmp_path / "built")
    n, order = 3000, np.random.default_rng(3).permutation(3000)
    graph = primitives.simplify(Graph.from_edges(order[1:], order[:-1], n=n))
    trees = [np.empty(n, np.int32) for _ in range(3)]
    room = [np.empty(size, np.int32) for size in (2 * n, 4 * n, n + 1, n, n, n)]
    given = graph.out.indptr, graph.out.indices, np.uint64(n), np.uint64(graph.m), *trees, *room
    EmulatedKernel(built, "number_trees").plain(1, *given, np.empty(3 * graph.m, np.uint64), np.zeros(8, np.uint64))
    check_trees(graph, *trees)
