"""Coloring in an order, without a GPU: the kernels compiled by g++, for a grid of one block."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from gasla import Graph, datasets
from gasla.gpu.primitive import coloring
from tests.algorithms.components.test_bipartite_and_bridges import SHAPES
from tests.helpers.emulated_kernel import EmulatedKernel, library

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")]
NAMES = ("place_vertices", "color_vertices")


def one_by_one(graph: Graph, order: np.ndarray, colors: np.ndarray) -> np.ndarray:
    colors = colors.copy()
    for v in order:
        if colors[v] < 0:
            taken = set(colors[graph.both.indices[graph.both.indptr[v] : graph.both.indptr[v + 1]]].tolist())
            colors[v] = next(c for c in range(graph.n) if c not in taken)
    return colors


def complete(n: int) -> Graph:
    return Graph.from_edges(*np.nonzero(~np.eye(n, dtype=bool)))


@pytest.mark.parametrize("sizes", [(4, 4), (4, 8), (8, 8)])
@pytest.mark.parametrize("constants", [{}, {"ROOM": 128, "WORDS": 1, "LONG": 8}])
def test_colors_are_those_of_one_thread(tmp_path: Path, sizes: tuple[int, int], constants: dict[str, int]) -> None:
    """A short window and a low limit of short lists make small graphs go all ways."""
    built = library(coloring.source(*sizes), NAMES, tmp_path / "built", **constants)
    place, color = (EmulatedKernel(built, name) for name in NAMES)
    ids, offsets = (np.dtype(f"i{size}") for size in sizes)
    random = np.random.default_rng(5)
    large = complete(150), Graph(datasets.grid(8)), Graph(datasets.rmat(8))
    for graph in [*(make() for make in SHAPES.values()), *large]:
        n = graph.n
        if n == 0:
            continue
        degrees = np.diff(graph.both.indptr)
        for order in (np.argsort(-degrees, kind="stable"), random.permutation(n)):
            before = np.where(random.random(n) < 0.05, 0, -1) if n < 100 else np.full(n, -1)
            before[[u for u in np.flatnonzero(before == 0) if degrees[u]]] = -1  # only vertices without neighbors
            expected = one_by_one(graph, order, before)
            lists = graph.both.indptr.astype(offsets), graph.both.indices.astype(ids)
            states, found, shared = np.zeros(n, f"u{sizes[0]}"), before.astype(np.int32), np.zeros(3, np.uint64)
            given = order.astype(ids)
            place.plain(1, lists[0], np.uint64(n), given, found, states, shared)
            color.plain(1, *lists, np.uint64(n), given, states, found, shared)
            np.testing.assert_array_equal(found, expected)
            assert not shared.any()


def test_a_call_after_one_that_was_interrupted(tmp_path: Path) -> None:
    """Between its two launches, on a larger graph, so that what it noted is left."""
    built = library(coloring.source(4, 4), NAMES, tmp_path / "built")
    place, color = (EmulatedKernel(built, name) for name in NAMES)
    graph, large = Graph(datasets.grid(4)), complete(600)
    shared = np.zeros(3, np.uint64)
    order, states, found = np.arange(600, dtype=np.int32), np.zeros(600, np.uint32), np.full(600, -1, np.int32)
    place.plain(1, large.both.indptr.astype(np.int32), np.uint64(600), order, found, states, shared)
    assert shared[1] == 600
    n, lists = graph.n, (graph.both.indptr.astype(np.int32), graph.both.indices.astype(np.int32))
    order, states, found = np.full(600, 2**30, np.int32), np.zeros(n, np.uint32), np.full(n, -1, np.int32)
    order[:n] = np.arange(n)
    place.plain(1, lists[0], np.uint64(n), order, found, states, shared)
    color.plain(1, *lists, np.uint64(n), order, states, found, shared)
    np.testing.assert_array_equal(found, one_by_one(graph, np.arange(n), np.full(n, -1)))
    assert not shared.any()
