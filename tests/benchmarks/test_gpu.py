"""The GPU's benchmark: figures and their bars, on any machine; and all of it runs on a GPU."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import gpu, script
from gasla.bench import graphs
from gasla.bench.cells import Cell, Entry
from gasla.bench.limits import ceilings, floors


def cell(algorithm: str, own: str, **seconds: list[float]) -> Cell:
    return Cell("rmat22", "gpu", algorithm, own, [1, 1], {name: Entry("", s) for name, s in seconds.items()})


def test_figures_of_cells() -> None:
    levels = gpu.of_cell(cell("levels", "gasla", gasla=[0.0002, 0.0004]))
    both = gpu.of_cell(cell("bfs", "gasla", gasla=[0.0003, 0.0005], cugraph=[0.01]))
    assert (levels.name, levels.value, levels.bar) == ("bfs", pytest.approx(0.3), 0.25)
    assert both.name == "bfs with parents"
    assert both.note == "worst source 0.500, cugraph 10.0"
    product = cell("mxv min_plus", "min_plus", min_plus=[0.002], plus_times=[0.001])
    product = gpu.of_cell(replace(product, against=("plus_times",)))
    assert (product.value, product.unit, product.bar) == (2, "x", 1.15)
    square = gpu.of_cell(cell("mxm", "gasla", gasla=[0.003], cusparse=[0.004]))
    assert (square.value, square.unit, square.note) == (pytest.approx(3), "ms", "cusparse 4.00")


def test_a_line_shows_figure_and_bar() -> None:
    def said(value: float, bar: float | None, wrong: str = "") -> str:
        return gpu.Figure("rmat22", "bfs", value, "ms", bar, wrong).line()

    assert said(0.2, 0.25).split() == ["rmat22", "bfs", "0.200", "ms", "0.25", "ok"]
    assert said(0.3, 0.25).split()[-1] == "OVER"
    assert said(0.3, None).split()[-1] == "-"
    assert "WRONG" in said(0.1, 0.25, "no")
    assert gpu.bar("grid24", "bfs") == 22
    assert gpu.bar("grid10", "bfs") is None


def test_a_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was measured before is kept, the later figure counts, and another commit's file is left alone."""
    file, rates = tmp_path / "run.json", {1 << 16: 1e10}
    found = ceilings.Ceilings("gpu", rates, rates, rates, 1e-6)
    monkeypatch.setattr(ceilings, "measure", lambda device: found)
    monkeypatch.setattr(script, "module_of", lambda device: None)
    monkeypatch.setattr(script, "provenance", lambda device, commit=None: {"commit": commit, "gpu": "H100"})

    def measured(*values: tuple[str, float], more: tuple[str, ...] = ("--add",), commit: str = "a") -> dict[str, float]:
        run = gpu.begin(gpu.command_line(), ["--json", str(file), "--commit", commit, *more])
        run.report.cells.extend(replace(cell("bfs", "gasla", gasla=[x]), graph=name) for name, x in values)
        for name, x in values:
            gpu.show(run, gpu.Figure(name, "bfs", x, "ms", floor=floors.Floor(1.0, "bytes")))
        saved = json.loads(file.read_text())
        assert [c["graph"] for c in saved["cells"]] == [f["graph"] for f in saved["figures"]]
        assert saved["figures"][-1]["floor"] == [1.0, "bytes"]
        assert saved["ceilings"]["device"] == "gpu"
        return {f["graph"]: f["value"] for f in saved["figures"]}

    assert measured(("rmat22", 1.0), ("grid24", 2.0)) == {"rmat22": 1, "grid24": 2}
    assert measured(("grid24", 3.0), ("rgg22", 4.0)) == {"rmat22": 1, "grid24": 3, "rgg22": 4}
    with pytest.raises(ValueError, match="has commit a; expected b"):
        measured(("rmat22", 1.0), commit="b")
    assert measured(("rmat22", 5.0), more=(), commit="b") == {"rmat22": 5}


@pytest.mark.gpu
def test_first_calls_of_algorithms_have_figures() -> None:
    assert {figure.name for figure in gpu.firsts()} > {"first bfs", "first triangle_count"}


@pytest.mark.gpu
def test_every_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(graphs, "cache_directory", lambda: tmp_path)
    monkeypatch.setattr(gpu, "PATIENCE", 0)
    monkeypatch.setattr(gpu, "ROUNDS", 1)
    file = tmp_path / "figures.json"
    algorithms = ",".join(["call", *gpu.ALGORITHMS])
    ended = gpu.main(["--graphs", "grid8", "--algorithms", algorithms, "--json", str(file)])
    results: dict[str, Any] = json.loads(file.read_text())
    assert [figure for figure in results["figures"] if figure["wrong"]] == []
    assert ended == 0
    assert results["provenance"]["gpu"]
    assert "0 WRONG" in capsys.readouterr().out
