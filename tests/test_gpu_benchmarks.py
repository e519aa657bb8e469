"""The GPU's benchmark: figures and their bars, on any machine; and all of it runs on a GPU."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gasla
from benchmarks.gpu import __main__ as command
from benchmarks.gpu import bars, figures, starting
from gasla.bench import cells, graphs
from gasla.bench.cells import Cell, Entry
from gasla.bench.limits import ceilings, floors
from gasla.bench.reports import report


@pytest.mark.slow
def test_ranks() -> None:
    grid = gasla.datasets.grid(8)
    pattern = (grid != 0).astype(np.float64)
    rank = gasla.pagerank(grid, weighted=False).ranks
    assert figures.moved_by_another(pattern, rank) == ""
    rank[0] *= 2
    assert figures.moved_by_another(pattern, rank).startswith("another iteration moves")


def cell(algorithm: str, own: str, **seconds: list[float]) -> Cell:
    return Cell("rmat22", "gpu", algorithm, own, [1, 1], {name: Entry("", s) for name, s in seconds.items()})


def test_figures_of_cells() -> None:
    levels = figures.of_cell(cell("levels", "gasla", gasla=[0.0002, 0.0004]))
    both = figures.of_cell(cell("bfs", "gasla", gasla=[0.0003, 0.0005], cugraph=[0.01]))
    assert (levels.name, levels.value, levels.bar) == ("bfs", pytest.approx(0.3), 0.25)
    assert both.name == "bfs with parents"
    assert both.note == "worst source 0.500, cugraph 10.0"
    product = figures.of_cell(cell("mxv min_plus", "min_plus", min_plus=[0.002], plus_times=[0.001]))
    assert (product.value, product.unit, product.bar) == (2, "x", 1.15)
    square = figures.of_cell(cell("mxm plus_times", "gasla", gasla=[0.003], cusparse=[0.004]))
    assert (square.value, square.unit, square.bar) == (pytest.approx(0.75), "x", 1.0)
    alone = figures.of_cell(cell("mxm plus_pair at entries", "gasla", gasla=[0.003]))
    assert (alone.value, alone.unit, alone.bar) == (pytest.approx(3), "ms", None)


@pytest.mark.slow
def test_parents_over_levels_are_measured_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graphs.load("rmat6")

    def in_turns(device: str, calls: dict[str, Any], settings: cells.Settings, keep: frozenset[str]) -> Any:
        assert all(call(0) is not None for call in calls.values())
        seconds = {"levels": 2.0, "bfs": 3.0}
        return {name: [seconds[name] + i % len(graph.sources) for i in range(20)] for name in keep & calls.keys()}

    monkeypatch.setattr(cells, "in_turns", in_turns)
    figure = figures.parents_over_levels(graph, command.Run(report.Report({}, {}, []), print).settings)
    middle = (len(graph.sources) - 1) / 2
    assert (figure.value, figure.bar) == (pytest.approx((3 + middle) / (2 + middle)), 1.3)


def test_the_table() -> None:
    def said(value: float, bar: float | None, wrong: str = "") -> str:
        return command.line(figures.Figure("rmat22", "bfs", value, "ms", bar, wrong))

    assert said(0.2, 0.25).split() == ["rmat22", "bfs", "0.200", "ms", "0.25", "ok"]
    assert said(0.3, 0.25).split()[-1] == "OVER"
    assert said(0.3, None).split()[-1] == "-"
    assert "WRONG" in said(0.1, 0.25, "no")
    assert bars.bar("grid24", "bfs") == 22
    assert bars.bar("grid10", "bfs") is None


def test_known_facts(tmp_path: Path) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    first.write_text('[{"graph": "rmat8", "triangles": 5}]')
    second.write_text('{"rmat8": {"components": 2}}')
    known = command.known_facts([first, second])
    assert known["rmat8"] == {"graph": "rmat8", "triangles": 5, "components": 2}


def test_a_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was measured before is kept, the later figure counts, and another commit's file is left alone."""
    file, rates = tmp_path / "run.json", {1 << 16: 1e10}
    found = ceilings.Ceilings("gpu", rates, rates, rates, 1e-6)
    monkeypatch.setattr(ceilings, "measure", lambda device: found)
    for module in (command, report):
        monkeypatch.setattr(module, "provenance", lambda device, commit=None: {"commit": commit, "gpu": "H100"})

    def measured(*values: tuple[str, float], add: bool = True, commit: str = "a") -> dict[str, float]:
        run = command.Run.begin(lambda figure: None, file, add, commit)
        run.figures += [figures.Figure(name, "bfs", x, "ms", floor=floors.Floor(1.0, "bytes")) for name, x in values]
        run.report.cells.extend(replace(cell("bfs", "gasla", gasla=[x]), graph=name) for name, x in values)
        run.write()
        saved = json.loads(file.read_text())
        assert [c["graph"] for c in saved["cells"]] == [f["graph"] for f in saved["figures"]]
        assert saved["figures"][-1]["floor"] == [1.0, "bytes"]
        return {f["graph"]: f["value"] for f in saved["figures"]}

    assert measured(("rmat22", 1.0), ("grid24", 2.0)) == {"rmat22": 1, "grid24": 2}
    assert measured(("grid24", 3.0), ("rgg22", 4.0)) == {"rmat22": 1, "grid24": 3, "rgg22": 4}
    with pytest.raises(ValueError, match="of another commit: a"):
        measured(("rmat22", 1.0), commit="b")
    assert measured(("rmat22", 5.0), add=False, commit="b") == {"rmat22": 5}


@pytest.mark.gpu
def test_first_calls() -> None:
    assert {figure.name for figure in starting.first_calls()} > {"first bfs", "first triangles"}


@pytest.mark.gpu
def test_every_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(graphs, "cache_directory", lambda: tmp_path)
    monkeypatch.setattr(figures, "PATIENCE", 0)
    monkeypatch.setitem(command.SETTINGS, "rounds", 1)
    file, known = tmp_path / "figures.json", tmp_path / "known.json"
    known.write_text(json.dumps({"grid8": {"components": gasla.connected_components(gasla.datasets.grid(8)).count}}))
    algorithms = ",".join(["call", *command.ALGORITHMS])
    what = ["--graphs", "grid8", "--algorithms", algorithms, "--reference", str(known)]
    ended = command.main([*what, "--json", str(file)])
    results: dict[str, Any] = json.loads(file.read_text())
    assert [figure for figure in results["figures"] if figure["wrong"]] == []
    assert ended == 0
    assert results["provenance"]["gpu"]
    assert "0 WRONG" in capsys.readouterr().out
