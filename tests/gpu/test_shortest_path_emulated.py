"""A search from point to point as the GPU has it, on an emulated grid of blocks: the distance, and the way back."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import gasla
from gasla.algorithms.paths.shortest_path import Search, TightPath
from gasla.gpu.program.plan import Variant
from tests.helpers.emulated_loop import EmulatedRun

GOAL = 40
pytestmark = [pytest.mark.thorough, pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")]


class SearchTo(Search):
    real = lengths = np.float32
    goal = gasla.parameter(np.int64, GOAL)


class BackTo(TightPath):
    real = lengths = np.float32
    direction = "out"
    goal = gasla.parameter(np.int64, 0)


def test_a_search_and_the_way_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    src, dst = rng.integers(0, 80, (2, 300), dtype=np.int32)
    lengths = rng.integers(0, 9, 300).astype(np.float32)
    graph = gasla.Graph.from_edges(src, dst, lengths, n=80)
    right = gasla.shortest_path(graph, 0, GOAL, method="dijkstra")
    for blocks in (1, 3):
        shape = Variant(graph.out.indptr.dtype, small=blocks == 1)
        search = EmulatedRun(SearchTo, graph, shape, blocks, {}, tmp_path / f"search{blocks}")
        distance = search.run([0], distance={0: 0}, at_once=3)["distance"].copy()
        assert distance[GOAL] == right.distance
        back = EmulatedRun(BackTo, graph, shape, blocks, {}, tmp_path / f"back{blocks}")
        found = back.run([GOAL], distance=distance)
        v, total = 0, 0.0
        while v != GOAL:
            e = int(found["by"][v])
            assert (src[e], dst[e]) == (v, found["following"][v])
            v, total = int(dst[e]), total + float(lengths[e])
        assert total == right.distance
