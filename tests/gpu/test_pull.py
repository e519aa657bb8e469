"""Searches that pull on the GPU: the neighbor that is looked at first, and rows that begin anywhere in memory."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gasla
from gasla.algorithms.traversal import bfs
from gasla.gpu.program import rows
from gasla.gpu.runtime.compile import compile_source
from gasla.graph.generators import rmat, uniform
from gasla.graph.graph import Graph
from gasla.program.fields import vertex
from tests.helpers.emulated_loop import hub_neighbors


@pytest.fixture
def cupy() -> ModuleType:
    return pytest.importorskip("cupy")


@pytest.mark.parametrize("architecture", [pytest.param("sm_80", marks=pytest.mark.slow), "sm_90"])
@pytest.mark.parametrize(
    ("offset", "vertex", "packed"), [("i4", "i4", False), ("i8", "i4", False), ("i8", "i8", False), ("i4", "i4", True)]
)
def test_compiles(cupy: ModuleType, architecture: str, offset: str, vertex: str, packed: bool) -> None:
    source = rows.formatted(rows.HUB_NEIGHBORS, np.dtype(offset), np.dtype(vertex), packed)
    assert compile_source(source, architecture)


@pytest.mark.gpu
@pytest.mark.sanitize
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_a_head_has_most_neighbors(cupy: ModuleType, kind: type) -> None:
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 900, 4000), (1000 * rng.random(4000) ** 2).astype(np.int64)
    lists = Graph.from_edges(src, dst, n=1000).out
    short = np.diff(lists.indptr) < 60
    found = cupy.empty(1000, kind)
    rows.find_hub_neighbors(cupy.asarray(lists.indptr.astype(kind)), cupy.asarray(lists.indices.astype(kind)), found)
    assert short.sum() > 900
    np.testing.assert_array_equal(found.get()[short], hub_neighbors(lists)[short])


@pytest.mark.gpu
def test_a_hub_is_its_own_neighbors_head(cupy: ModuleType) -> None:
    star = np.zeros(5000, np.int32), np.arange(1, 5001, dtype=np.int32)
    lists = Graph.from_edges(np.append(*star), np.append(*star[::-1]), n=5001).out
    found = cupy.empty(5001, np.int32)
    rows.find_hub_neighbors(cupy.asarray(lists.indptr), cupy.asarray(lists.indices), found)
    assert (found[1:] == 0).all() and 0 < int(found[0]) <= 5000


class Through(bfs.Levels):
    """The same, keeping the edge that reached v."""

    through = vertex(np.int64, init=-1)

    def gather(self, src, dst, edge):
        return edge.id

    def apply(self, vertex, gathered):
        return {"level": self.iteration + 1, "through": gathered}


@pytest.mark.gpu
@pytest.mark.parametrize("shift", [0, 1, 2, 3])
@pytest.mark.parametrize("matrix", [rmat(13), uniform(13, 8)], ids=["rmat", "uniform"])
def test_pulls_find_all(cupy: ModuleType, matrix: Any, shift: int) -> None:
    """Wherever the rows begin in memory."""
    graph = Graph(matrix)
    lists = graph.out
    padded = cupy.empty(shift + graph.m, lists.indices.dtype)[shift:]
    padded[:] = cupy.asarray(lists.indices)
    there = Graph.from_csr(cupy.asarray(lists.indptr), padded)
    source = int(graph.out_degrees.argmax())
    expected = gasla.bfs(graph, source)
    reached, owners = np.flatnonzero(expected > 0), np.repeat(np.arange(graph.n), graph.out_degrees)
    for direction in ("auto", "pull"):
        start = {"active": [source], "level": {source: 0}, "direction": direction}
        state = gasla.run(bfs.Parents, there, **start).state
        np.testing.assert_array_equal(state["level"].get(), expected)
        assert (expected[state["parent"].get()[reached]] == expected[reached] - 1).all()
        state = gasla.run(Through, there, **start).state
        edges = state["through"].get()[reached]
        assert (lists.indices[edges] == reached).all() and (expected[owners[edges]] == expected[reached] - 1).all()
