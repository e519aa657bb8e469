"""Kernels that unite vertices or groups of them, without a GPU: compiled by g++, for a grid of one block."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gasla.algorithms.components.is_bipartite import two_sides
from gasla.cpu import primitive
from gasla.gpu.primitive import coloring, drain_levels, forest, forests
from gasla.graph.adjacency import Adjacency
from gasla.graph.graph import Graph
from tests.algorithms.components.test_bipartite_and_bridges import SHAPES
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


@pytest.mark.parametrize("sizes", [(4, 4), (4, 8), (8, 8)])
def test_sides_are_those_of_the_cpu(tmp_path: Path, sizes: tuple[int, int]) -> None:
    built = library(forest.source(*sizes, "sides"), ("label_sides",), tmp_path / "built", **SMALL)
    kernel, (ids, offsets) = EmulatedKernel(built, "label_sides"), (np.dtype(f"i{size}") for size in sizes)
    rng = np.random.default_rng(2)
    for graph in graphs_of_two_sides(rng):
        n, lists = graph.n, graph.out
        parents, work, sides = (np.full(size, -3, kind) for size, kind in ((2 * n, ids), (2 * n, ids), (n, np.int32)))
        numbers = [np.uint64(x) for x in (n, graph.m, not graph.is_symmetric)]
        slices, control = np.empty(3 * (4 * graph.m // SMALL["SLICE"]) + 3, np.uint64), np.zeros(8, np.uint64)
        kernel.plain(
            1, lists.indptr.astype(offsets), lists.indices.astype(ids), *numbers, parents, work, slices, control, sides
        )
        np.testing.assert_array_equal(sides, two_sides(graph, loops=True))
        assert not control[:2].any()


def test_offsets_hold_both_copies_of_each_edge() -> None:
    """With 2**30 edges and more, the lists of second copies seemed empty."""
    offsets = np.zeros(3, np.int32)
    assert forest.offsets_of_both(offsets, 2**30 - 1) is offsets
    assert forest.offsets_of_both(offsets, 2**30).dtype == np.int64
    wide = offsets.astype(np.int64)
    assert forest.offsets_of_both(wide, 2**40) is wide


def test_other_kernels_have_counters_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """On few multiprocessors as well: a forest leaves numbers in its own, and counters are told apart by their size."""
    monkeypatch.setattr(forest, "counters", lambda words: words)
    others = {1, coloring._COUNTERS, drain_levels._COUNTERS, forests._COUNTERS}
    for blocks in range(1, 9):
        words: Any = forest._counters(SimpleNamespace(blocks=blocks))  # type: ignore[arg-type]
        assert words >= 4 + blocks and words not in others


def graphs_of_two_sides(rng: np.random.Generator) -> Iterator[Graph]:
    """Few and many components, with and without odd cycles, symmetric and not."""
    yield from (make() for make in SHAPES.values() if make().n)
    for n, m in ((400, 150), (400, 380), (300, 900)):
        src, dst = rng.integers(0, n, m), rng.integers(0, n, m)
        apart = src % 2 != dst % 2
        yield Graph.from_edges(src, dst, n=n)
        yield Graph.from_edges(src[apart], dst[apart], n=n)
        yield Graph.from_edges(np.append(src[apart], dst[apart]), np.append(dst[apart], src[apart]), n=n)
