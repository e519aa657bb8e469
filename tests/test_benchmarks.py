"""The development benchmarks work: figures are compared with their bars, and processes are measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import compare, footprint
from gasla.bench import ceilings, graphs, interleave
from gasla.bench.cells import Cell, Entry


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "cache_directory", lambda: tmp_path)
    monkeypatch.setattr(interleave, "PAUSE", 0)


def check_all_cells(file: Path, peer_names: str) -> None:
    assert compare.main(["--graphs", "rmat8", "--rounds", "1", "--peers", peer_names, "--json", str(file)]) == 0
    results = json.loads(file.read_text())
    notes = [(c["algorithm"], name, e["note"]) for c in results["cells"] for name, e in c["entries"].items()]
    assert [note for note in notes if note[-1]] == []
    assert len(results["cells"]) > len(compare.GROUPS)
    assert all(cell["ratio"] for cell in results["cells"])
    assert results["provenance"]["python"]


def test_all_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    rates = {1 << 16: 1e10}
    monkeypatch.setattr(ceilings, "measure", lambda device: ceilings.Ceilings(device, rates, rates, rates, 1e-6))
    check_all_cells(tmp_path / "figures.json", "gasla,scipy,igraph")
    assert "rmat8" in capsys.readouterr().out


@pytest.mark.slow
def test_all_cells_with_every_peer(tmp_path: Path) -> None:
    pytest.importorskip("graphblas")
    pytest.importorskip("networkit")
    check_all_cells(tmp_path / "figures.json", "gasla,graphblas,scipy,igraph,networkit")


@pytest.mark.parametrize(
    ("graph", "algorithm", "seconds", "said"),
    [
        ("ny", "bfs", 0.8, "ok (0.85)"),
        ("ny", "bfs", 0.9, "OVER (0.85)"),
        ("ny", "mxv plus_times", 0.9, "ok (1.00)"),
        ("ny", "mxv min_plus", 1.2, "OVER (1.15)"),
        ("ny", "own bfs", 1.05, "ok (1.10)"),
        ("grid10", "bfs", 0.5, ""),
    ],
)
def test_bars(graph: str, algorithm: str, seconds: float, said: str) -> None:
    entries = {"gasla": Entry("", [seconds]), "scipy": Entry("", [1.0])}
    assert compare.verdict(Cell(graph, "cpu", algorithm, "gasla", [1], entries)) == said


def test_footprint() -> None:
    """A figure comes out of every measuring process; how large it is depends on what else the machine does."""
    assert 0 < float(footprint.output(footprint.IMPORT)) < 10
    if Path("/proc/self/clear_refs").exists():
        assert footprint.memory("grid10", "bfs", directed=True)["allowed"] > footprint.PER_VERTEX
