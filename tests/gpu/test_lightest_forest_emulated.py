"""Minimum spanning forests, without a GPU: the kernel compiled by g++, for a grid of one block."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import gasla
from gasla import Graph, datasets
from gasla.gpu.primitive import forests
from tests.algorithms.components.test_bipartite_and_bridges import SHAPES
from tests.helpers.emulated_kernel import EmulatedKernel, library

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")]
SMALL = {"SLICE": 64, "OF_LANE": 4, "STEPS": 2, "LIGHT": 1}  # so that small graphs go all ways
KINDS = (("f4", 4), ("i1", 8), ("u4", 4), (None, 4))


def both_ways(graph: Graph, weights: np.ndarray) -> Graph:
    """The graph with each edge in both directions, of the same weight, in sorted lists without parallel edges."""
    src, dst = graph.edges()
    low, high = np.minimum(src, dst), np.maximum(src, dst)
    _, first = np.unique(low.astype(np.int64) * graph.n + high, return_index=True)
    low, high, weights = low[first], high[first], weights[first]
    loop = low == high
    rows, columns, values = (np.append(a, b[~loop]) for a, b in ((low, high), (high, low), (weights, weights)))
    order = np.lexsort((columns, rows))
    indptr = np.searchsorted(rows[order], np.arange(graph.n + 1))
    return Graph(csr_array((values[order], columns[order], indptr), shape=(graph.n, graph.n)))


@pytest.mark.parametrize(("kind", "offset_size"), KINDS)
def test_forests_are_those_of_the_cpu(tmp_path: Path, kind: str | None, offset_size: int) -> None:
    dtype = None if kind is None else np.dtype(kind)
    built = library(forests.source(4, offset_size, dtype), ("lightest_forest",), tmp_path / "built", **SMALL)
    kernel, random = EmulatedKernel(built, "lightest_forest"), np.random.default_rng(8)
    chain = Graph.from_edges(np.arange(400), np.arange(1, 401))
    hub = Graph.from_edges(np.zeros(300, np.int64), np.arange(1, 301))
    large = (
        chain,
        hub,
        Graph(datasets.grid(8)),
        Graph(datasets.rmat(8)),
        Graph.from_edges(*random.integers(0, 200, (2, 3000))),
    )
    for given in [*(make() for make in SHAPES.values()), *large]:
        if given.n == 0:
            continue
        weights = random.integers(-3 if kind in ("f4", "i1", "i4") else 0, 4, given.m).astype(dtype or np.int32)
        if given is chain:
            weights = np.minimum(np.arange(400), 120).astype(dtype or np.int32)
        for lanes in (1, 8):
            graph = both_ways(given, weights if kind else np.ones_like(weights))
            n, m, lists = graph.n, graph.m, graph.out
            values = np.uint64(0) if kind is None else graph.values
            scratch = [np.full(n, 77, t) for t in (np.int32, np.int32, np.uint64, f"i{offset_size}", np.uint8)]
            taken, shared = np.full(n, 77, np.int64), np.zeros(7, np.uint64)
            kernel.plain(
                *(
                    1,
                    lists.indptr.astype(f"i{offset_size}"),
                    lists.indices.astype(np.int32),
                    np.uint64(n),
                    np.uint64(m),
                ),
                *(values, np.uint32(lanes), *scratch, taken),
                *(np.empty(3 * (2 * m // SMALL["SLICE"]) + 3, np.uint64), shared),
            )
            found = np.sort(taken[taken >= 0])
            np.testing.assert_array_equal(found, gasla.minimum_spanning_forest(graph).edges)
            assert not shared[:6].any()


def test_edges_are_sampled_by_positions_that_do_not_fit_ids(tmp_path: Path) -> None:
    """As with 2**31 edges and more between ids of 32 bits, with ids of 16."""
    short = forests.source(4, 4, np.dtype(np.int32)).replace("typedef int vertex_t", "typedef short vertex_t")
    kernel = EmulatedKernel(library(short, ("lightest_forest",), tmp_path / "built"), "lightest_forest")
    n, (low, high) = 220, np.triu_indices(220, 1)
    graph = both_ways(Graph.from_edges(low, high), -high.astype(np.int32))  # the lightest ones are at the end
    assert graph.m > 2**15
    scratch = [np.empty(n, t) for t in (np.int16, np.int16, np.uint64, np.int32, np.uint8)]
    taken, shared = np.empty(n, np.int64), np.zeros(7, np.uint64)
    offsets, ids = graph.out.indptr.astype(np.int32), graph.out.indices.astype(np.int16)
    kernel.plain(
        *(1, offsets, ids, np.uint64(n), np.uint64(graph.m), graph.values, np.uint32(2), *scratch, taken),
        *(np.empty(3 * (2 * graph.m // 2048), np.uint64), shared),
    )
    places = [i * 0x9E3779B97F4A7C15 % 2**64 % graph.m for i in range(512)]
    keys = sorted((int(graph.values[place]) + 2**31) * 2**32 + place for place in places)
    assert int(shared[6]) == keys[4 * n * 512 // graph.m]
    np.testing.assert_array_equal(np.sort(taken[taken >= 0]), gasla.minimum_spanning_forest(graph).edges)
