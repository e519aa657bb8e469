"""The kernel that unites groups of vertices, without a GPU: compiled by g++, for a grid of one block."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gasla.cpu import primitive
from gasla.gpu.primitive import forest
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph
from tests.helpers.emulated_kernel import EmulatedKernel, library

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")]
SMALL = {"SHORT": 4, "SLICE": 16}  # so that warps walk some lists, and others are cut


@pytest.mark.parametrize("sizes", [(4, 4), (4, 8), (8, 8)])
def test_groups_are_united_as_on_the_cpu(tmp_path: Path, sizes: tuple[int, int]) -> None:
    built = library(forest.source(*sizes, "forest"), ("forest_link_groups",), tmp_path / "built", **SMALL)
    kernel, (ids, offsets) = EmulatedKernel(built, "forest_link_groups"), (np.dtype(f"i{size}") for size in sizes)
    rng = np.random.default_rng(1)
    hubs = np.repeat([3, 250, 299], [5, 16, 100])  # lists of a warp, and of slices
    src, dst = np.concatenate([rng.integers(0, 300, 60), hubs]), rng.integers(0, 300, 60 + len(hubs))
    lists = Graph.from_edges(src, dst, n=300).out
    for count, known in [(300, None), (300, 250), (40, None), (40, 7), (1, 0)]:
        groups = (rng.permutation(300) if count == 300 else rng.integers(0, count, 300)).astype(ids)
        expected, found = np.arange(count, dtype=ids), np.arange(count, dtype=ids)
        primitive.link_groups(Adjacency(lists.indptr, lists.indices), groups, expected, known)
        given: list[Any] = [
            lists.indptr.astype(offsets),
            lists.indices.astype(ids),
            np.uint64(300),
            np.uint64(lists.indices.size),
        ]
        given += [groups, found, np.uint64(2**64 - 1 if known is None else known)]
        control = np.zeros(8, np.uint64)
        kernel.plain(1, *given, np.empty(3 * (2 * lists.indices.size // SMALL["SLICE"]), np.uint64), control)
        assert (found <= np.arange(count)).all() and not control[:2].any()
        for each in (expected, found):
            primitive.compress(each)
        np.testing.assert_array_equal(found, expected)
