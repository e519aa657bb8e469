"""The asv suite runs from a fresh clone, offline and in the environment at hand: every benchmark, on small graphs."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gasla
from benchmarks import suite
from benchmarks.suite import bench_algorithms, bench_graphs, bench_stages
from gasla import stages
from tests.helpers import ROOT

# Each case is a process. So each algorithm is tried once, by its GTEPS, and the other benchmarks of algorithms and the
# cold starts by one algorithm.
BENCHMARKS = "|".join(
    ("^bench_(?!process|algorithms)", "Types|track_gteps|(time_call|peakmem|Device).*bfs", "import|FirstCall.*bfs.*cpu")
)

pytest.importorskip("asv")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository of its own that holds what a clone would of the suite."""
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    folder = tmp_path / "gasla"
    shutil.copytree(ROOT / "benchmarks" / "suite", folder / "benchmarks" / "suite")
    shutil.copy(ROOT / "asv.conf.json", folder)
    for command in ("init -q -b main", "add .", "-c user.name=a -c user.email=a@b commit -qm suite"):
        subprocess.run(["git", *command.split()], cwd=folder, check=True)
    return folder


def asv(folder: Path, *arguments: str) -> str:
    """What asv prints; an assertion fails unless it succeeds."""
    environment = {**os.environ, "GASLA_BENCH_SCALES": "10", "HOME": str(folder.parent)}
    environment.setdefault("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    command = [sys.executable, "-m", "asv", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def values(folder: Path) -> dict[str, list[Any]]:
    """What was measured, a list of numbers for each benchmark; None where it failed, NaN where it was skipped."""
    (file,) = (
        f
        for f in (folder / ".asv" / "results").rglob("*.json")
        if f.stem.split("-")[0] not in ("machine", "benchmarks")
    )
    saved = json.loads(file.read_text())
    return {name: row[saved["result_columns"].index("result")] for name, row in saved["results"].items()}


@pytest.mark.slow  # a minute or two: continuous integration runs it by name
def test_quick_profile(clone: Path) -> None:
    asv(clone, "machine", "--yes")
    assert "No problems found" in asv(clone, "check")
    asv(clone, "run", "--quick", "--set-commit-hash", "HEAD", "--bench", BENCHMARKS, "--attribute", "timeout=120")
    found = values(clone)
    assert len(found) == 15
    for name, numbers in found.items():
        assert None not in numbers, f"{name} failed: {numbers}"
        assert "Device" in name or any(isinstance(x, float | int) and x > 0 for x in numbers), f"{name} was skipped"
    half = found["bench_algorithms.Algorithms.track_gteps"][::2]  # every other one is a GPU's
    assert len(half) == len(suite.ALGORITHMS) * 6 and not any(map(math.isnan, half))
    asv(clone, "publish")
    assert (clone / ".asv" / "site" / "benchmarks" / "index.html").exists()


def test_table_is_whole() -> None:
    """All families and the real graphs; every algorithm beside both engines; every stage."""
    assert {name.rstrip("0123456789") for name in suite.GRAPHS} == {
        *("rmat", "kron", "urand", "rgg", "grid"),
        *("openflights", "ny"),
    }
    assert {"bfs", "sssp", "pagerank", "components", "triangles", "betweenness"} <= set(suite.ALGORITHMS)
    assert bench_algorithms.Algorithms.params == (suite.ALGORITHMS, suite.GRAPHS, ["cpu", "gpu"])
    assert {*bench_stages.Stages.params[0], "start", "State"} == set(stages.__all__)


@pytest.mark.thorough
def test_graphs_are_made_and_changed() -> None:
    graph = suite.load("grid6", "cpu").graph
    ways = bench_graphs.ways(graph)
    assert bench_graphs.Building.params[0] == [*ways]
    assert all(way() is not None for way in ways.values())
    before, after = bench_graphs.changed(graph)
    assert (before.m, after.m) == (graph.m - 2, graph.m)
    assert (gasla.bfs(after, 0) == gasla.bfs(after, 0, start=gasla.bfs(before, 0))).all()


def test_without_a_gpu_a_case_says_why_it_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise RuntimeError("CuPy found no NVIDIA GPU")

    monkeypatch.setattr(suite, "require_gpu", missing)
    with pytest.raises(NotImplementedError, match="CuPy found no NVIDIA GPU"):
        bench_algorithms.Algorithms().setup("bfs", "ny", "gpu")
