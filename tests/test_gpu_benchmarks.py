"""The GPU's benchmark: its checks know right answers from wrong ones, on any machine; and all of it runs on a GPU."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gasla
from benchmarks.gpu import __main__ as command
from benchmarks.gpu import answers, cells, floors
from gasla.bench import graphs

SOURCES = [13, 4, 10]


@pytest.fixture(scope="module")
def grid() -> Any:
    return gasla.datasets.grid(8)


@pytest.fixture(scope="module")
def ends(grid: Any) -> Any:
    return grid.tocoo().coords


def changed(array: Any, at: int, to: Any) -> Any:
    copy = array.copy()
    copy[at] = to
    return copy


def test_levels_and_parents(grid: Any, ends: Any) -> None:
    level, parent = gasla.bfs(grid, 13, parents=True)
    far = int(level.argmax())
    assert answers.levels(ends, 13, level) == ""
    assert answers.levels(ends, 13, changed(level, far, level[far] - 1)).startswith("a vertex has no neighbour")
    assert answers.levels(ends, 13, changed(level, far, level[far] + 1)) == "an edge skips a level"
    assert answers.levels(ends, 13, changed(level, far, -1)) == "an edge skips a level"
    assert answers.levels(ends, 13, changed(level, far, 0)).startswith("another vertex")
    assert answers.parents(ends, 13, level, parent) == ""
    assert answers.parents(ends, 13, level, changed(parent, far, 13)) == "a parent is not one"
    assert answers.parents(ends, 13, level, changed(parent, 13, 14)) == "a parent is not one"


def test_distances(grid: Any, ends: Any) -> None:
    distance = gasla.sssp(grid, 13)
    far = int(np.where(np.isfinite(distance), distance, 0).argmax())
    assert answers.distances(ends, grid.data, 13, distance) == ""
    assert answers.distances(ends, grid.data, 13, changed(distance, far, distance[far] + 1)) == (
        "an edge offers a shorter way"
    )
    assert answers.distances(ends, grid.data, 13, changed(distance, far, distance[far] - 0.5)) == (
        "a distance is not attained"
    )


def test_ranks(grid: Any) -> None:
    pattern = (grid != 0).astype(np.float64)
    rank = gasla.pagerank(grid, weighted=False).ranks
    assert answers.ranks(pattern, rank) == ""
    assert answers.ranks(pattern, changed(rank, 0, 2 * rank[0])).startswith("another iteration moves")


def test_labels_and_scores(grid: Any, ends: Any) -> None:
    count, label = gasla.connected_components(grid)
    assert answers.labels(ends, count, label) == ""
    assert answers.labels(ends, count + 1, label) == f"{count + 1} components with {count} labels"
    assert answers.labels(ends, count, changed(label, 13, label[13] + 1)) == "an edge leaves its component"
    depths = [gasla.bfs(grid, s) for s in SOURCES]
    score = gasla.betweenness_centrality(grid, sources=SOURCES, normalized=False)
    assert answers.scores(score, SOURCES, depths) == ""
    assert answers.scores(score * 1.001, SOURCES, depths).startswith("scores sum to")


def test_the_table() -> None:
    def said(value: float, bar: float | None, wrong: str = "") -> str:
        return command.line(cells.Figure("rmat22", "bfs", value, "ms", bar, wrong))

    assert said(0.2, 0.25).split() == ["rmat22", "bfs", "0.200", "ms", "0.25", "ok"]
    assert said(0.3, 0.25).split()[-1] == "OVER"
    assert said(0.3, None).split()[-1] == "-"
    assert "WRONG" in said(0.1, 0.25, "no")
    assert cells.bar("grid24", "bfs") == 22
    assert cells.bar("grid10", "bfs") is None


def test_floors() -> None:
    """What counts most is named, and barriers come on top."""
    scattered, local = floors.Work(1 << 22, 1 << 27, True), floors.Work(1 << 24, 1 << 26, False)
    assert floors.pagerank(scattered).cause == "random reads"
    assert floors.pagerank(scattered).milliseconds == pytest.approx(1e3 * (2**27 / 125e9 + 1.1e-6))
    assert floors.pagerank(local).cause == "bytes"
    assert floors.bfs(local, 1 << 24, 6000).cause == "barriers"
    assert floors.bfs(local, 1 << 24, 6000).milliseconds > 6.6
    faster = local._replace(device="NVIDIA H200")
    assert floors.pagerank(faster).milliseconds < floors.pagerank(local).milliseconds
    assert floors.betweenness(local, 1 << 24, 10, 8).milliseconds > 8 * floors.sssp(local, 10).milliseconds / 2


def test_known_facts(tmp_path: Path) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    first.write_text('[{"graph": "rmat8", "triangles": 5}]')
    second.write_text('{"rmat8": {"components": 2}}')
    known = command.known_facts([first, second])
    assert known["rmat8"] == {"graph": "rmat8", "triangles": 5, "components": 2}


@pytest.mark.gpu
def test_every_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(graphs, "cache_directory", lambda: tmp_path)
    monkeypatch.setattr(cells, "PATIENCE", 0)
    file, known = tmp_path / "figures.json", tmp_path / "known.json"
    known.write_text(json.dumps({"grid8": {"components": gasla.connected_components(gasla.datasets.grid(8)).count}}))
    ended = command.main(["--graphs", "rmat8,grid8", "--reference", str(known), "--json", str(file)])
    results = json.loads(file.read_text())
    assert [figure for figure in results["figures"] if figure["wrong"]] == []
    assert ended == 0
    assert results["provenance"]["gpu"]
    assert "0 WRONG" in capsys.readouterr().out
