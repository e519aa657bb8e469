"""Searches from many sources on an emulated grid of the GPU's blocks: pushing and pulling, all at once or by pieces."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gasla
from gasla.algorithms.centrality import distance_sums
from gasla.algorithms.paths import multi_source_shortest_paths as paths
from gasla.algorithms.traversal import multi_source_bfs as searches
from gasla.graph.graph import Graph
from tests.gpu.test_runs_emulated import AS_THEY_ARE, SOON_WIDE, emulated_run, grid, skewed

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")]
BATCHED = type(paths.BatchedDistances(real=np.float32, lengths=np.float32))
INVERSE = type(distance_sums.SingleSums(inverse=True))
RUNS = (0, 1000, 30.0), (0, 1, 1e9), (1, 1000, 1.0), (1, 4, 100.0), (2, 1, 300.0)  # way, iterations at once, delta


def start(graph: Graph, program: Any) -> tuple[list[int], dict[str, Any]]:
    sources = np.random.default_rng(2).choice(graph.n, 40, replace=False).tolist()
    if program is BATCHED:
        distance = np.full((graph.n, 8), np.inf, np.float32)
        distance[sources[:8], range(8)] = 0
        return sources[:8], {"distance": distance}
    if "level" in program.vertex_fields:
        return sources[:1], {"level": {sources[0]: 0}}
    fields = searches.initial_state(graph, sources)
    return fields.pop("active"), fields


@pytest.mark.parametrize("shape", ["grid", pytest.param("skewed", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "program",
    [
        *(type(searches.PROGRAMS[4]), BATCHED),
        *(
            pytest.param(program, marks=pytest.mark.slow)
            for program in (type(searches.PROGRAMS[16]), distance_sums.BatchedSums, INVERSE)
        ),
    ],
    ids=lambda program: program.__name__,
)
def test_equals_the_cpu(program: Any, shape: str, tmp_path: Path) -> None:
    graph = {"grid": lambda: grid(7), "skewed": skewed}[shape]()
    mode = {"bounded_degree": True, "local": True} if shape == "grid" else {}
    emulated = emulated_run(program, graph, SOON_WIDE if mode else AS_THEY_ARE, tmp_path, **mode)
    active, fields = start(graph, program)
    expected = gasla.run(program, graph, active=active, **fields).state
    answers = set(expected) - {"new"}  # which, of a vertex that isn't active, nobody reads
    for way, at_once, delta in RUNS:
        found = emulated.run(active, way=way, at_once=at_once, delta=delta, **fields)
        for name in answers:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-14, err_msg=f"{name} {way} {at_once}")


@pytest.mark.parametrize("fresh", [1, 0])
def test_rows_of_levels(fresh: int, tmp_path: Path) -> None:
    graph, rng = grid(7), np.random.default_rng(3)
    base = 0 if fresh else 255

    numbers = {"first": (np.uint64, 16), "up": (np.int32, 4), "base": (np.int32, base), "fresh": (np.int32, fresh)}
    program = type("Rows", (searches.Rows,), {name: gasla.parameter(*number) for name, number in numbers.items()})
    fields: dict[str, Any] = {f"row{i}": rng.integers(-1, 300, graph.n, np.int32) for i in range(8)}
    fields |= {f"digit{j}": rng.integers(0, 2**64, graph.n, np.uint64) for j in range(4)}
    found = emulated_run(program, graph, AS_THEY_ARE, tmp_path).run(None, limit=1, **fields)
    for i in range(8):
        bits = [fields[f"digit{j}"] >> np.uint64(16 + i) & np.uint64(1) for j in range(4)]
        level = sum(bit.astype(np.int32) << j for j, bit in enumerate(bits))
        before = np.full(graph.n, -1) if fresh else fields[f"row{i}"]
        expected = np.where(level > 0, np.maximum(before, base) + (level << 4), before)
        np.testing.assert_array_equal(found[f"row{i}"], expected)
