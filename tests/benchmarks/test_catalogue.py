"""Every public function has a method, a floor and a task, and the page of floors says what was measured."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import gasla
from benchmarks import catalogue, tables
from gasla.bench import graphs, runner, tasks
from gasla.bench.cells import Cell, Entry
from gasla.bench.limits import ceilings, floors
from gasla.bench.limits.ceilings import Ceilings
from gasla.rows import rows
from tests.helpers import ROOT

FUNCTIONS = catalogue.functions()
RATES = {1 << 16: 1e10}
FEW = "connected_components,bfs,transitive_closure"


@pytest.fixture(autouse=True)
def _quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "cache_directory", lambda: tmp_path)
    monkeypatch.setattr(runner, "PAUSE", 0)
    monkeypatch.setattr(ceilings, "measure", lambda device: Ceilings(device, RATES, RATES, RATES, 1e-6))


def test_every_public_function_has_a_method_a_floor_and_a_task() -> None:
    methods = {row.function.__name__: row.method for row in rows()}
    algorithms = {name for name, home in gasla._HOMES.items() if home.startswith("algorithms.")}
    listed = [function.name for function in FUNCTIONS]
    assert len({*listed}) == len(listed) and algorithms <= {*listed}
    for function in FUNCTIONS:
        assert methods[function.name], f"{function.name}: its row names no method"
        assert tasks.names_of(function.name), f"{function.name}: no task measures it"
        assert function.task in floors.COUNTS, f"{function.name}: {function.task} has no floor"
        assert "CPU" in function.devices


def test_tasks_of_different_functions_are_different() -> None:
    found = [function.task for function in FUNCTIONS]
    assert len({*found}) == len(found)


def test_what_is_long_has_a_reason() -> None:
    shown = [(kind, names) for kind, names, _ in tables.blocks(ROOT / "docs" / "floors.md") if kind == "reasons"]
    for kind, names in shown:
        assert "no reason is known" not in tables.block(kind, names)


def run(folder: Path, *more: str) -> dict[str, Any]:
    """Measure a few functions; return what is in the file."""
    file = folder / "figures.json"
    what = ["--scale", "8", "--functions", FEW, "--peers", "scipy", "--rounds", "1"]
    assert catalogue.main([*what, "--json", str(file), *more]) == 0
    found: dict[str, Any] = json.loads(file.read_text())
    return found


@pytest.mark.thorough
def test_functions_are_measured_on_four_shapes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run(tmp_path)
    measured = [(cell["graph"], cell["algorithm"]) for cell in found["cells"]]
    names = [tasks.names_of(name)[0] for name in ("bfs", "transitive_closure", "connected_components")]
    assert sorted(measured) == sorted((f"{shape}8", name) for shape in catalogue.SHAPES for name in names)
    assert all(cell["seconds"] > 0 and cell["floor"]["seconds"] > 0 for cell in found["cells"])
    assert {cell["best"] for cell in found["cells"]} == {"scipy", None}
    assert "wrong, failed or given up: none" in capsys.readouterr().out


def test_specialists_are_read_and_run(tmp_path: Path) -> None:
    rivals = tmp_path / "specialists.csv"
    rivals.write_text(
        "device,graph,function,specialist,ms,command\n"
        "cpu,grid8,bfs,fast,0.25,\n"
        "gpu,grid8,bfs,elsewhere,0.25,\n"
        "cpu,grid10,bfs,larger,0.25,\n"
        "cpu,rmat8,bfs,run,,sh -c 'test -s {graph} && echo took 1.5 ms'\n"
    )
    found = run(tmp_path, "--specialists", str(rivals), "--shapes", "rmat,grid")["specialists"]
    assert found == [
        {"graph": "rmat8", "function": "bfs", "specialist": "run", "ms": 1.5},
        {"graph": "grid8", "function": "bfs", "specialist": "fast", "ms": 0.25},
    ]
    with pytest.raises(RuntimeError, match="expected a number"):
        catalogue.run("echo nothing", rivals)
    with pytest.raises(RuntimeError, match="returned 1"):
        catalogue.run("sh -c 'echo 1; exit 1'", rivals)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--functions", "bfs,components"], "functions.md has no 'components'"),
        (["--shapes", "rmat,gird"], "there is no shape 'gird'; expected some of rmat, urand, rgg, grid"),
        (["--scale", "9"], "--scale 9: a square grid needs an even one"),
        (["--specialists", "nowhere.csv"], "--specialists: .*nowhere.csv"),
        (["--specialists", __file__], "has no column 'device'; expected device,graph,function,specialist,ms,command"),
    ],
)
def test_wrong_input_is_refused_before_anything_is_measured(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ceilings, "measure", None)
    with pytest.raises(SystemExit):
        catalogue.main(arguments)
    assert re.search(said, capsys.readouterr().err)


def test_what_fails_or_takes_too_long_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stuck(graph: graphs.BenchmarkGraph, *_: Any) -> None:
        while True:
            graph.graph.out_degrees.sum()

    monkeypatch.setitem(tasks.TASKS, "bfs", tasks.TASKS["bfs"]._replace(call=stuck))
    monkeypatch.setitem(tasks.TASKS, "transitive_closure", tasks.TASKS["k_core"]._replace(call=lambda g: 1 / 0))
    file = tmp_path / "figures.json"
    what = ["--scale", "4", "--functions", FEW, "--peers", "", "--shapes", "grid", "--limit", "2"]
    assert catalogue.main([*what, "--json", str(file)]) == 1
    notes = {cell["algorithm"]: cell["entries"]["gasla"]["note"] for cell in json.loads(file.read_text())["cells"]}
    assert notes == {
        "bfs": "failed: TimeoutError: over 2 s",
        "components": "",
        "transitive_closure": "failed: ZeroDivisionError: division by zero",
    }


def cell(algorithm: str, graph: str, ms: float, **others: float) -> Cell:
    entries = {name: Entry("", [value / 1e3]) for name, value in {"gasla": ms, **others}.items()}
    return Cell(graph, "cpu", algorithm, "gasla", [1], entries, floors.Floor(1e-3, "bytes"))


def test_tables_have_ratios_to_floor_components_and_the_fastest() -> None:
    slow = Cell("g", "cpu", "sssp", "gasla", [], {"gasla": Entry("failed: TimeoutError: over 1 s", [])})
    found = [cell("components", "g", 2), cell("bfs", "g", 50, scipy=100), cell("components", "h", 5), slow]
    results = catalogue.Measured(found, [{"graph": "g", "function": "bfs", "specialist": "fast", "ms": 10.0}])
    lines = catalogue.by_function(results).splitlines()
    assert "| `bfs` | 50.0, 50, 25, 5 fast |  |" in lines
    assert "| `connected_components` | 2.00, 2, 1, – | 5.00, 5, 1, – |" in lines
    assert "| `sssp` | over the limit |  |" in lines
    why = next(row.longer for row in rows() if row.function is gasla.bfs) or "**no reason is known**"
    assert f"| `bfs` | g 25 | {why} |" in catalogue.reasons(results).splitlines()
    assert [line.split(" | ")[0] for line in catalogue.methods(results).splitlines()[2:]] == [
        "| `bfs`",
        "| `sssp`",
        "| `connected_components`",
    ]


@pytest.mark.slow  # compiles all functions
def test_all_functions_are_measured(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    arguments = ["--scale", "8", "--shapes", "rmat,grid", "--peers", "", "--rounds", "1", "--json", str(file)]
    assert catalogue.main([*arguments, "--limit", "60"]) == 0
    assert len(json.loads(file.read_text())["cells"]) == 2 * len(FUNCTIONS)
