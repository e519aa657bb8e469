"""Core numbers by removing vertices in warps, without a GPU: the kernel compiled by g++, for a grid of one block."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from gasla import Graph, datasets, primitives
from gasla.gpu.primitive import drain_levels
from tests.algorithms.components.test_bipartite_and_bridges import SHAPES
from tests.helpers.emulated_kernel import EmulatedKernel, library

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")]


@pytest.mark.parametrize("sizes", [(4, 4), (4, 8), (8, 8)])
def test_core_numbers_are_those_of_the_cpu(tmp_path: Path, sizes: tuple[int, int]) -> None:
    built = library(drain_levels.source(*sizes), ("peel_vertices",), tmp_path / "built", ROOM=4)  # some find no room
    kernel, (ids, offsets) = EmulatedKernel(built, "peel_vertices"), (np.dtype(f"i{size}") for size in sizes)
    tree = Graph.from_edges(np.arange(1, 2000), np.random.default_rng(1).integers(0, np.arange(1, 2000)))
    for graph in [*(make() for make in SHAPES.values()), tree, Graph(datasets.grid(10)), Graph(datasets.rmat(8))]:
        simple, control = primitives.simplify(graph), np.zeros(8, np.uint64)
        n = simple.n
        if n == 0:
            continue
        degrees, first, second = (np.full(n, -3, ids) for _ in range(3))
        lists = simple.out.indptr.astype(offsets), simple.out.indices.astype(ids)
        kernel.plain(1, *lists, np.uint64(n), degrees, first, second, control)
        np.testing.assert_array_equal(degrees, primitives.peel(simple))
        assert not control.any()
