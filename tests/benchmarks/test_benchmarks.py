"""The development benchmarks work: figures are compared with their bars, and processes are measured."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import gasla
from benchmarks import (
    batches,
    cards,
    communities,
    compare,
    first_calls,
    footprint,
    overhead,
    parts,
    products,
    programs,
    samples,
    script,
    streamed,
    tables,
)
from gasla import stages
from gasla.bench import graphs, runner
from gasla.bench.cells import Cell, Entry
from gasla.bench.limits import ceilings
from gasla.bench.reports.report import Report
from tests.benchmarks.test_bench import OF_NO_PEER, OF_OTHER_PEERS


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "cache_directory", lambda: tmp_path)
    monkeypatch.setattr(runner, "PAUSE", 0)


def few_semirings_and_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them is compiled."""
    semirings = {name: products.SEMIRINGS[name] for name in ("plus_times", "min_plus")}
    monkeypatch.setattr(products, "SEMIRINGS", semirings)
    monkeypatch.setattr(programs, "ALGORITHMS", ("bfs",))


@pytest.mark.thorough
def test_wrong_products_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    few_semirings_and_programs(monkeypatch)
    graph = graphs.load("grid6")
    calls = products.contestants(graph)
    assert products.wrong(graph, calls) == {}
    calls["min_plus"] = calls["plus_times"]
    assert products.wrong(graph, calls) == {"min_plus": "wrong: differs from NumPy"}


def check_all_cells(file: Path, peer_names: str, without: frozenset[str] = frozenset()) -> None:
    assert compare.main(["--graphs", "rmat8", "--rounds", "1", "--peers", peer_names, "--json", str(file)]) == 0
    results = json.loads(file.read_text())
    notes = [(c["algorithm"], name, e["note"]) for c in results["cells"] for name, e in c["entries"].items()]
    assert [note for note in notes if note[-1]] == []
    assert len(results["cells"]) > len(compare.GROUPS)
    measured = {cell["algorithm"]: bool(cell["ratio"]) for cell in results["cells"]}
    assert {name for name, has_ratio in measured.items() if not has_ratio} == without & measured.keys()
    assert results["provenance"]["python"]


@pytest.mark.slow  # compiles all algorithms
def test_every_cell_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few_semirings_and_programs(monkeypatch)
    rates = {1 << 16: 1e10}
    monkeypatch.setattr(ceilings, "measure", lambda device: ceilings.Ceilings(device, rates, rates, rates, 1e-6))
    check_all_cells(tmp_path / "figures.json", "gasla,scipy,igraph", frozenset(OF_OTHER_PEERS))
    assert "rmat8" in capsys.readouterr().out


@pytest.mark.slow
def test_all_cells_with_every_peer(tmp_path: Path) -> None:
    pytest.importorskip("graphblas")
    pytest.importorskip("networkit")
    check_all_cells(tmp_path / "figures.json", "gasla,graphblas,scipy,igraph,networkit", frozenset(OF_NO_PEER))


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
def test_times_over_their_bar_are_named(graph: str, algorithm: str, seconds: float, said: str) -> None:
    entries = {"gasla": Entry("", [seconds]), "scipy": Entry("", [1.0])}
    assert compare.verdict(Cell(graph, "cpu", algorithm, "gasla", [1], entries)) == said


SHOWN = [(page, *block) for page in tables.PAGES for block in tables.blocks(page)]


@pytest.mark.parametrize(("page", "kind", "names", "text"), SHOWN, ids=[f"{s[0].stem}-{s[1]}" for s in SHOWN])
def test_pages_show_what_was_measured(page: Path, kind: str, names: list[str], text: str) -> None:
    """If not: `python -m benchmarks.tables`."""
    assert text == tables.block(kind, names, page)
    assert kind in tables.TABLES or tables.picture(names).exists()


def test_tables_are_made_from_result_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rates = {1 << 16: 1e10, 1 << 24: 2e9}
    found = []
    for k, other in ((4, 1e-9), (6, 1e-9), (8, 2 * 1e-9 * 8**8)):
        entries = {"gasla": Entry("", [1e-9 * 8**k]), "x": Entry("", [1.0]), "gasla-cpu": Entry("", [other])}
        found.append(Cell(f"grid{k}", "cpu", "bfs", "gasla", [4**k], entries, None, ("x",)))
    graphs = {c.graph: {"n": c.edges[0], "m": c.edges[0], "depth": round(c.edges[0] ** 0.5)} for c in found}
    run = Report({"cpu": "c", "gpu": "g", "threads": 1, "date": "d", "versions": {}}, graphs, found)
    run = run._replace(ceilings=ceilings.Ceilings("cpu", rates, rates, rates, 1e-6))
    figures = [
        {"graph": graph, "name": name, "unit": unit, "value": value, "bar": bar, "wrong": "", "floor": None}
        for graph, name, unit, value, bar in [
            ("grid24", "bfs", "ms", 15.0, 22),
            ("rmat22", "bfs", "ms", 0.3, 0.25),
            ("rmat22", "bfs iterations", "", 1234, None),
            ("1,000 vertices", "call bfs", "us", 90.0, 100),
        ]
    ]
    failed = {"name": "sssp", "unit": "", "value": math.nan, "bar": None, "wrong": "failed"}
    figures.append(figures[0] | failed | {"graph": "rmat22"})
    figures[0]["floor"] = [0.003, "barriers"]
    run.write(tmp_path / "run.json", figures=figures)
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    assert "| bfs | none |" in tables.block("losses", ["run.json"])
    assert "| grid | grid8, 65,536 |" in tables.block("crossover", ["run.json"])
    assert tables.block("growth", ["run.json"]).splitlines()[-2] == "| grid4 to grid8 | 1.50 |"
    assert "| grid8 | 16.8, **60×** x |" in tables.block("ratios", ["run.json"])
    assert "| bfs | 0.00" in tables.block("by-algorithm", ["run.json"])
    assert tables.block("gpu", ["run.json"]).splitlines()[1:] == [
        "|  | rmat22 | grid24 |",
        "| --- | --- | --- |",
        "| bfs, ms | **0.300** (0.25) | 15.0 (22) |",
        "| sssp | wrong |  |",
        "",
    ]
    assert "| bfs | 0.300 | 15.0 |" in tables.block("gpu-ms", ["run.json"])
    assert "| bfs | 20% barriers |" in tables.block("floors", ["run.json"])
    assert "| bfs iterations | 1,234 |" in tables.block("gpu-iterations", ["run.json"])
    assert "| call bfs, µs | 90.0 (100) |" in tables.block("gpu-call", ["run.json"])
    tables.draw(["run.json"], tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.thorough
def test_every_process_reports_its_footprint() -> None:
    """A figure comes out of every measuring process; how large it is depends on what else the machine does."""
    if Path("/proc/self/clear_refs").exists():
        found = footprint.memory("grid10", "bfs", directed=True)
        assert found["allowed"] > footprint.PER_VERTEX
        assert all(found[part] > 0 for part in ("graph", "lists", "workspace", "fields"))


@pytest.mark.thorough
def test_first_calls_are_timed_cold_and_warm() -> None:
    for rows in first_calls.cold_and_warm(["bfs"]):
        ((name, wall, cpu),) = rows
        assert name == "bfs" and wall > 0 and cpu > 0


@pytest.mark.thorough
def test_overhead_is_the_time_outside_of_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kernels take a part of every call, and the table shows the rest of it."""
    monkeypatch.setitem(overhead.SECONDS, "cpu", 0.01)
    file = tmp_path / "overhead.json"
    overhead.main(["--graphs", "grid10", "--algorithms", "levels,pagerank,components,mxv", "--json", str(file)])
    cells = json.loads(file.read_text())["overhead"]
    for cell in cells:
        assert 0 < cell["kernel"] < 2 * cell["call"]
        assert 0 < cell["outside"] < 1
    assert "grid10" in capsys.readouterr().out
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    share = cells[0]["outside"]
    assert f"{share:.1%} |" in tables.block("outside", [file.name])
    monkeypatch.setattr(overhead, "LARGE", 1000)
    assert f"**{share:.1%}** |" in tables.block("outside", [file.name])


@pytest.mark.thorough
def test_communities_are_compared_with_what_was_planted(capsys: pytest.CaptureFixture[str]) -> None:
    communities.main(["--vertices", "200", "--seeds", "1"])
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 2 + len(communities.MIXINGS) and "leiden, runs=16" in rows[1]
    assert float(rows[2].split()[1]) > float(rows[-1].split()[1]) > 0


def test_batches_have_the_answers_of_a_loop(capsys: pytest.CaptureFixture[str]) -> None:
    batches.main(["--graphs", "12", "--vertices", "9", "--edges", "15", "--rounds", "1"])
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows] == [*batches.CALLS]
    assert all(float(row.split()[1]) > 0 for row in rows)


@pytest.mark.thorough
def test_samples_have_as_many_edges_as_those_of_pyg_lib(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyg_lib", reason="pyg-lib is not installed")
    samples.main(["--scale", "11", "--seeds", "200", "--walkers", "100", "--rounds", "1"])
    assert len(capsys.readouterr().out.splitlines()) == len(samples.TASKS) + 1


@pytest.mark.thorough
def test_every_part_is_measured(tmp_path: Path) -> None:
    """Every stage and every way of construction has a row; a row has all ways, and its pattern selects it."""
    file = tmp_path / "parts.json"
    parts.main(["--graphs", "grid6", "--rounds", "1", "--rows", "^(?!.*program)", "--json", str(file)])
    rows = {row["what"]: row["seconds"] for row in json.loads(file.read_text())["rows"]}
    assert {what.split()[-1] for what in rows if " stage " in what} | {"start", "State"} == set(stages.__all__)
    assert sum(" construction " in what for what in rows) == 8
    assert [*rows["grid6: types sssp"]] == ["int32 float32", "int64 float32", "int32 float64"]
    assert all(seconds > 0 for row in rows.values() for seconds in row.values())


@pytest.mark.thorough
def test_changes_are_made_and_taken_back() -> None:
    before, after = parts.changed(graphs.load("grid6").graph)
    assert (before.m, after.m) == (graphs.load("grid6").graph.m - 2, graphs.load("grid6").graph.m)
    assert (gasla.bfs(after, 0) == gasla.bfs(after, 0, start=gasla.bfs(before, 0))).all()


def test_a_file_holds_what_was_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Provenance and lines as text, provenance and figures as JSON, after each line; other processes say nothing."""
    text, file = tmp_path / "a.txt", tmp_path / "a.json"
    run = script.Script(script.command("", "output", "json"), ["--output", str(text), "--json", str(file)])
    run.say("head")
    run.contest("a row", {"one": lambda _: None, "other": lambda _: None}, 1)
    run.is_first = False
    run.say("not this")
    said = capsys.readouterr().out
    assert text.read_text() == f"{run.report.provenance}\n{said}" and said.startswith("head\na row ")
    saved = json.loads(file.read_text())
    assert [*saved["rows"][0]["seconds"]] == ["one", "other"] and saved["provenance"]["python"]


@pytest.mark.parametrize("command", [cards.main, streamed.main])
def test_a_missing_gpu_is_named(
    command: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise RuntimeError("CuPy found no NVIDIA GPU")

    monkeypatch.setattr("gasla.arrays.require_gpu", missing)
    monkeypatch.setattr("sys.argv", ["x"])
    with pytest.raises(SystemExit, match="2"):
        command()
    assert "CuPy found no NVIDIA GPU" in capsys.readouterr().err
