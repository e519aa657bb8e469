"""The benchmark code works: tiny graphs, one round, every installed peer's answer agrees with gasla's."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import answers, compare, footprint, interleave, peers
from gasla.bench import graphs


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "cache_directory", lambda: tmp_path)


def test_graph_is_kept_and_read_back_the_same() -> None:
    made, read = graphs.load("grid8"), graphs.load("grid8")
    assert made.sources == read.sources
    assert (made.matrix != read.matrix).nnz == 0
    assert set(made.pattern.data) == {1}


def test_unknown_graph_is_refused() -> None:
    with pytest.raises(ValueError, match="no benchmark graph is called 'star3'"):
        graphs.load("star3")


def test_depths_of_parents() -> None:
    parents = np.array([1, 1, 0, -9999, 5, 4])  # 1 is the source; 3 was not reached; 4 and 5 name each other
    assert answers.depths(parents, 1).tolist() == [1, 0, 2, -1, -1, -1]


@pytest.mark.parametrize(
    ("algorithm", "a", "b", "same"),
    [
        ("components", [5, 5, 2], [0, 0, 9], True),
        ("components", [5, 5, 2], [0, 1, 1], False),
        ("sssp", [0, 2, 1.7e308], [0, 2, np.inf], True),
        ("pagerank", [0.2, 0.2], [0.5, 0.5], True),
        ("betweenness", [7, 1, 4], [0, 2, 8], True),  # vertex 0 is the source
        ("triangles", 3, 4, False),
    ],
)
def test_agree(algorithm: str, a: object, b: object, same: bool) -> None:
    left, right = (answers.comparable(algorithm, x, [0]) for x in (a, b))
    assert answers.agree(algorithm, left, right) is same


def test_rounds_take_turns_and_drop_the_hopeless() -> None:
    order: list[str] = []

    def contestant(name: str, seconds: float) -> object:
        return lambda number: (order.append(name), interleave.time.sleep(seconds))

    calls = {"a": contestant("a", 0.001), "slow": contestant("slow", 0.05), "own": contestant("own", 0.05)}
    seconds = interleave.interleaved(calls, rounds=3, budget=10, keep=frozenset({"own"}))
    assert {name: len(times) for name, times in seconds.items()} == {"a": 3, "slow": 1, "own": 3}
    assert order[:3] == ["a", "slow", "own"]


def test_wrong_answers_are_reported_and_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graphs.load("grid6")
    wrong = peers.make("scipy", graph)
    monkeypatch.setattr(wrong, "components", lambda: np.arange(64))
    entries = compare.cell({"scipy": peers.make("scipy", graph), "other": wrong}, "components", graph.sources, 1, 1.0)
    assert entries["other"].note == "wrong: differs from scipy"
    assert entries["other"].seconds == []
    assert len(entries["scipy"].seconds) == 1


def check_all_cells(file: Path, peer_names: str) -> None:
    compare.main(["--graphs", "rmat8", "--rounds", "1", "--peers", peer_names, "--json", str(file)])
    results = json.loads(file.read_text())
    notes = [(c["algorithm"], name, e["note"]) for c in results["cells"] for name, e in c["entries"].items()]
    assert [note for note in notes if note[-1]] == []
    assert len(results["cells"]) > len(compare.CELLS)
    assert all(cell["ratio"] for cell in results["cells"])
    assert results["provenance"]["python"]


def test_all_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_all_cells(tmp_path / "figures.json", "gasla,scipy,igraph")
    assert "rmat8" in capsys.readouterr().out


@pytest.mark.slow
def test_all_cells_with_every_peer(tmp_path: Path) -> None:
    pytest.importorskip("graphblas")
    pytest.importorskip("networkit")
    check_all_cells(tmp_path / "figures.json", "gasla,graphblas,scipy,igraph,networkit")


def test_footprint() -> None:
    """A figure comes out of every measuring process; how large it is depends on what else the machine does."""
    assert 0 < float(footprint.output(footprint.IMPORT)) < 10
    if Path("/proc/self/clear_refs").exists():
        assert footprint.memory("grid10", "bfs", directed=True)["allowed"] > footprint.PER_VERTEX
