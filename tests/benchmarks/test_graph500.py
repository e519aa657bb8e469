"""Graph500: the generator's distribution, the output, and validation that refuses every kind of wrong tree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gasla
from benchmarks import gap, graph500
from benchmarks.graph500 import Edges, Tree, problem
from gasla.arrays import moved
from tests.distributed.test_clusters import MPIEXEC, QUIET, needs_mpi

pytestmark = pytest.mark.thorough

Array = np.ndarray[Any, Any]
ROOT = Path(graph500.__file__).parents[1]


def test_edges_have_the_distribution_of_the_generator() -> None:
    """The two highest bits of the ends fall into the four quarters by A, B, C, D; in the list nothing is in order."""
    src, dst = graph500.kronecker(12, 16, np.random.default_rng(0))
    quarter = np.bincount((src >> 11) * 2 + (dst >> 11), minlength=4) / len(src)
    np.testing.assert_allclose(quarter, [0.57, 0.19, 0.19, 0.05], atol=0.01)
    edges = graph500.edge_list(12)
    assert len(edges.src) == 16 << 12 and edges.weights.dtype == np.float32
    assert edges.weights.min() >= 0 and edges.weights.max() < 1 and abs(edges.weights.mean() - 0.5) < 0.01
    assert abs((edges.src < 1 << 11).mean() - 0.5) < 0.1  # 0.76 before vertices are renamed
    degrees = np.bincount(np.r_[src, dst], minlength=1 << 12), np.bincount(np.r_[edges.src, edges.dst])
    assert degrees[1].max() > 20 * 32 and degrees[0].max() > 20 * 32
    assert abs(np.corrcoef(edges.src[1:], edges.src[:-1])[0, 1]) < 0.02


def test_the_number_of_threads_does_not_change_the_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = graph500.edge_list(10)
    for count in (1, 3):
        monkeypatch.setattr(gasla, "get_num_threads", lambda count=count: count)
        for ends, others in zip(expected, graph500.edge_list(10), strict=True):
            np.testing.assert_array_equal(ends, others)
    src, dst = graph500.kronecker(10, 16, np.random.default_rng(1))
    pairs = (src << 10 | dst).reshape(16, -1)  # drawn by different generators
    assert len({part.tobytes() for part in pairs}) == 16


def test_roots_have_neighbors() -> None:
    edges = Edges(np.array([3, 5, 7]), np.array([3, 5, 9]), np.ones(3, np.float32))
    assert sorted(graph500.draw_roots(edges)) == [7, 9]
    edges = graph500.edge_list(8)
    roots = graph500.draw_roots(edges)
    assert len(set(roots)) == 64 and roots == graph500.draw_roots(edges) != graph500.draw_roots(edges, seed=2)


EDGES = Edges(  # a square 0 1 2 3 with the tail 3 - 4, a loop, a parallel edge; 5 - 6 apart
    np.array([0, 1, 2, 3, 3, 2, 0, 5]),
    np.array([1, 2, 3, 0, 4, 2, 1, 6]),
    np.array([0.5, 0.5, 0.25, 0.5, 0.125, 0.75, 0.875, 0.25], np.float32),
)
LEVELS = [0, 0, 1, 0, 3, -1, -1]
DISTANCES = [0, 0.5, 0.75, 0.5, 0.625, np.inf, np.inf]


@pytest.fixture(params=["whole", "parts"])
def edges(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Edges:
    """The edges as they are, and sorted and validated one by one."""
    if request.param == "whole":
        return EDGES
    monkeypatch.setattr(graph500, "PART", 1)
    return graph500.for_validation(EDGES)


def test_edges_are_sorted_for_validation() -> None:
    edges = graph500.edge_list(6)
    found = graph500.for_validation(edges)
    assert found.src.dtype == found.dst.dtype == np.int32 and (np.diff(found.src) >= 0).all()
    assert sorted(zip(*edges, strict=True)) == sorted(zip(*found, strict=True))
    large = Edges(np.array([2**31, 0]), np.array([1, 2**31]), np.zeros(2, np.float32))
    assert graph500.for_validation(large).src.tolist() == [0, 2**31]
    empty = Edges(*(array[:0] for array in EDGES))
    assert len(graph500.for_validation(empty).src) == 0 and problem(empty, 0, Tree(np.array([0, -1]))) == ""


def test_right_trees_are_accepted(edges: Edges) -> None:
    assert problem(edges, 0, Tree(np.array(LEVELS))) == ""
    assert problem(edges, 0, Tree(np.array([0, 0, 3, 0, 3, -1, -1]))) == ""
    assert problem(edges, 0, Tree(np.array([0, 0, 3, 0, 3, -1, -1]), np.array(DISTANCES, np.float32))) == ""


@pytest.mark.parametrize(
    ("parents", "says"),
    [
        ([1, 0, 1, 0, 3, -1, -1], "the parent of the root 0 is 1"),
        ([0, 0, 1, 0, 7, -1, -1], "the parent of a vertex is 7; expected a vertex below 7"),
        ([0, 2, 1, 0, 3, -1, -1], "the tree has a cycle"),
        ([0, 0, 1, 0, 5, -1, -1], "whose parent is outside of it"),
        ([0, 0, 1, 0, -1, -1, -1], "the tree has only one end of the edge 3 - 4"),
        ([0, 0, 1, 2, 3, -1, -1], "the levels of the edge 3 - 0 are 3 and 0"),
        ([0, 0, 0, 0, 3, -1, -1], "no edge joins vertex 2 and its parent 0"),
        ([0, 0, 1, 0, 3, 0, 5], "no edge joins vertex 5 and its parent 0"),
    ],
)
def test_wrong_trees_are_refused(edges: Edges, parents: list[int], says: str) -> None:
    assert says in problem(edges, 0, Tree(np.array(parents)))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({2: 1.0}, "the distances of the edge 2 - 3 differ by more than its weight 0.25"),
        ({2: 0.5}, "no edge joins vertex 2 and its parent 3 at its distance"),
        ({0: 0.25}, "not 0 at the root"),
        ({5: 3.0}, "distances are finite outside of the tree"),
        ({4: np.inf}, "distances are finite outside of the tree, or not in it"),
        ({4: np.nan}, "distances are finite outside of the tree, or not in it"),
    ],
)
def test_wrong_distances_are_refused(edges: Edges, change: dict[int, float], says: str) -> None:
    distances = np.array(DISTANCES, np.float32)
    for v, value in change.items():
        distances[v] = value
    assert says in problem(edges, 0, Tree(np.array([0, 0, 3, 0, 3, -1, -1]), distances))


def test_every_planted_error_is_found() -> None:
    """A level, a distance or a parent is changed in the output of a search of a random graph."""
    edges = graph500.edge_list(8)
    sorted_edges, root = graph500.for_validation(edges), graph500.draw_roots(edges)[0]
    graph, rng = graph500.construct(edges), np.random.default_rng(3)
    parents, distances = graph500.shortest_paths(graph, root)
    assert problem(sorted_edges, root, Tree(parents, distances)) == ""
    reached = np.flatnonzero((parents >= 0) & (np.arange(len(parents)) != root))
    neighbors = [{*graph.out.indices[graph.out.indptr[v] : graph.out.indptr[v + 1]].tolist()} for v in range(graph.n)]
    for v in rng.choice(reached, 40, replace=False):
        for factor in (0.5, 0.99, 1.01, 2):
            wrong = distances.copy()
            wrong[v] *= factor
            assert problem(sorted_edges, root, Tree(parents, wrong)) != ""
        stranger = rng.choice([u for u in reached if u not in neighbors[v]])
        moved_away = parents.copy()
        moved_away[v] = stranger
        assert problem(sorted_edges, root, Tree(moved_away)) != ""
        assert problem(sorted_edges, root, Tree(moved_away, distances)) != ""
        lost = parents.copy()
        lost[v] = -1
        assert problem(sorted_edges, root, Tree(lost)) != ""


def test_figures_are_those_of_the_format() -> None:
    lines = graph500.Searches([1.0, 2.0, 4.0], [8, 8, 8]).lines("bfs")
    found = {key: float(value) for key, value in (line.split(": ") for line in lines)}
    assert found["bfs_median_time"] == 2 and found["bfs_max_nedge"] == 8 and found["bfs_stddev_nedge"] == 0
    assert found["bfs_harmonic_mean_TEPS"] == pytest.approx(3 / (1 / 8 + 1 / 4 + 1 / 2))
    assert found["bfs_firstquartile_TEPS"] == 3 and found["bfs_mean_time"] == pytest.approx(7 / 3)
    assert len(lines) == 21


def test_a_run_prints_all_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert graph500.main(["--scale", "7", "--roots", "3", "--output", str(tmp_path / "run.txt")]) == 0
    lines = capsys.readouterr().out.splitlines()
    found = {key: float(value) for key, value in (line.split(": ") for line in lines)}
    assert found["SCALE"] == 7 and found["edgefactor"] == 16 and found["NBFS"] == 3
    assert found["bfs_max_nedge"] <= 16 << 7 and found["bfs_max_nedge"] == found["sssp_max_nedge"]
    assert found["sssp_harmonic_mean_TEPS"] > 0
    assert (tmp_path / "run.txt").read_text().splitlines()[1:] == lines


def test_searches_over_ranks_are_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "run.txt"
    assert graph500.main(["--scale", "7", "--roots", "3", "--ranks", "2", "--output", str(output)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "SCALE: 7" and lines[-1].startswith("sssp_harmonic_stddev_TEPS")
    assert "'place': '2 ranks'" in output.read_text().splitlines()[0]


@needs_mpi
def test_searches_under_mpiexec_are_printed_once() -> None:
    command = [str(MPIEXEC), "--oversubscribe", "-n", "2", sys.executable, "-m", "benchmarks.graph500"]
    environment = os.environ | QUIET | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, "--scale", "6", "--roots", "1", "--mpi"], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.count("sssp_harmonic_mean_TEPS") == 1


def test_one_kind_of_ranks_is_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        graph500.main(["--scale", "7", "--ranks", "2", "--device", "gpu"])
    assert "not allowed with argument" in capsys.readouterr().err


def test_an_invalid_search_leaves_no_figures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    search = graph500.search
    monkeypatch.setattr(graph500, "search", lambda graph, root: (search(graph, root)[0] * 0,))
    assert graph500.main(["--scale", "6", "--roots", "2"]) == 1
    assert capsys.readouterr().out.startswith("No results: ")


@pytest.mark.parametrize("command", [graph500.main, gap.main])
def test_a_missing_gpu_is_refused_before_graphs_are_made(
    command: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise RuntimeError("CuPy found no NVIDIA GPU")

    monkeypatch.setattr("gasla.arrays.require_gpu", missing)
    with pytest.raises(SystemExit, match="2"):
        command(["--scale", "60", "--device", "gpu"])
    assert "--device gpu: CuPy found no NVIDIA GPU" in capsys.readouterr().err


@pytest.mark.gpu
def test_a_gpu_searches_and_validates(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    on_gpu, wrong = EDGES.on("gpu"), np.array(DISTANCES, np.float32)
    assert problem(on_gpu, 0, Tree(moved(np.array(LEVELS), "gpu"))) == ""
    wrong[2] = 1
    tree = Tree(*(moved(array, "gpu") for array in (np.array([0, 0, 3, 0, 3, -1, -1]), wrong)))
    assert "the distances of the edge 2 - 3 differ" in problem(on_gpu, 0, tree)
    assert graph500.main(["--scale", "8", "--roots", "3", "--device", "gpu"]) == 0
    assert "sssp_harmonic_mean_TEPS" in capsys.readouterr().out
    monkeypatch.setattr(graph500, "search", lambda graph, root: (moved(np.zeros(graph.n, np.int32), "gpu"),))
    assert graph500.main(["--scale", "8", "--roots", "3", "--device", "gpu"]) == 1
