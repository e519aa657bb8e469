"""Independent sets in the order of ranks, without a GPU: the kernel compiled by g++, for a grid of one block."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from gasla import Graph, datasets
from gasla.gpu.primitive import independent_set
from tests.algorithms.components.test_bipartite_and_bridges import SHAPES
from tests.helpers.emulated_kernel import EmulatedKernel, library

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")]
JOINED, LEFT = 2**32 - 1, 0


def one_by_one(graph: Graph, ranks: np.ndarray) -> np.ndarray:
    ranks, order = ranks.copy(), np.lexsort((np.arange(graph.n), ranks))[::-1]
    for v in order:
        if ranks[v] not in (JOINED, LEFT):
            near = graph.both.indices[graph.both.indptr[v] : graph.both.indptr[v + 1]]
            near = near[near != v]
            ranks[v] = LEFT if (ranks[near] == JOINED).any() else JOINED
    return ranks


@pytest.mark.parametrize("sizes", [(4, 4), (4, 8), (8, 8)])
@pytest.mark.parametrize("constants", [{}, {"OWN": 2}])
def test_sets_are_those_of_one_thread(tmp_path: Path, sizes: tuple[int, int], constants: dict[str, int]) -> None:
    """A low limit of what a thread walks alone makes small graphs go all ways."""
    built = library(independent_set.source(*sizes), ("decide_vertices",), tmp_path / "built", **constants)
    kernel, (ids, offsets) = EmulatedKernel(built, "decide_vertices"), (np.dtype(f"i{size}") for size in sizes)
    random = np.random.default_rng(3)
    for graph in [*(make() for make in SHAPES.values()), Graph(datasets.grid(8)), Graph(datasets.rmat(8))]:
        if graph.n == 0:
            continue
        lists = graph.both.indptr.astype(offsets), graph.both.indices.astype(ids)
        for most in (2, 5, 1000):  # equal ranks are ordered by ids
            ranks = random.integers(1, most, graph.n).astype(np.uint32)
            if graph.n > 200:
                ranks[random.integers(graph.n)] = LEFT
            found, members = ranks.copy(), np.zeros(graph.n, bool)
            kernel.plain(1, *lists, np.uint64(graph.n), found, members)
            np.testing.assert_array_equal(found, expected := one_by_one(graph, ranks))
            np.testing.assert_array_equal(members, expected == JOINED)
