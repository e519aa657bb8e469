"""Cells of sources, and a search up to a cutoff, as the GPU has them: on an emulated grid of blocks."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import gasla
from gasla.algorithms.paths.nearest_source import Cells
from gasla.algorithms.paths.sssp import DeltaSteppingWithin
from gasla.gpu.program.plan import Variant
from tests.helpers.emulated_loop import EmulatedRun

LIMIT = 9
pytestmark = [pytest.mark.thorough, pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")]


class CellsOfFloats(Cells):
    real = lengths = np.float32


class Within(DeltaSteppingWithin):
    real = lengths = np.float32
    limit = gasla.parameter(np.float64, LIMIT)


def test_distances_within_a_cutoff_and_cells(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    src, dst = rng.integers(0, 80, (2, 300), dtype=np.int32)
    graph = gasla.Graph.from_edges(src, dst, rng.integers(0, 9, 300).astype(np.float32), n=80)
    sources = [5, 40, 61]
    right = gasla.nearest_source(graph, sources, cutoff=LIMIT)
    assert 0 < np.isinf(right.distances).sum() < 60
    for blocks in (1, 3):
        shape = Variant(graph.out.indptr.dtype, small=blocks == 1)
        search = EmulatedRun(Within, graph, shape, blocks, {}, tmp_path / f"search{blocks}")
        distance = search.run(sources, distance=dict.fromkeys(sources, 0), at_once=3)["distance"].copy()
        np.testing.assert_array_equal(distance, right.distances)
        cells = EmulatedRun(CellsOfFloats, graph, shape, blocks, {}, tmp_path / f"cells{blocks}")
        found = cells.run(sources, distance=distance, nearest={v: i for i, v in enumerate(sources)})["nearest"]
        np.testing.assert_array_equal(found.view(np.int32), right.nearest)
