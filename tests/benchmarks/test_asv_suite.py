"""The asv suite runs from a fresh clone, offline and in the environment at hand, on small graphs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.suite import bench_history
from tests.helpers import ROOT

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
    asv(clone, "run", "--quick", "--set-commit-hash", "HEAD")
    (numbers,) = values(clone).values()
    assert len(numbers) == len(bench_history.CALLS) * len(bench_history.GRAPHS)
    assert all(isinstance(x, float) and x > 0 for x in numbers), f"one failed or was skipped: {numbers}"
    asv(clone, "publish")
    assert (clone / ".asv" / "site" / "benchmarks" / "index.html").exists()
