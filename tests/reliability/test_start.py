"""The time from the start of a process to the answer of its first search, with compiled code in the cache."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SEARCH = """
import sys, time
import gasla
gasla.bfs(gasla.Graph.from_edges([0, 1, 2], [1, 2, 3]), 0)
print(time.process_time(), *{name.split(".")[0] for name in sys.modules})
"""
LATER = {
    "scipy",
    "networkx",
    "matplotlib",
    "pandas",
    "pyarrow",
    "dask",
    "distributed",
    "cupy",
    "mpi4py",
    "multiprocessing",
}


def first_search(folder: Path) -> tuple[float, set[str]]:
    """CPU seconds of a whole process, with its own start and NumPy's import, and the packages that it imported."""
    left = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    found = {**left, "GASLA_CACHE_DIR": str(folder / "cache"), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    took, *names = subprocess.check_output([sys.executable, "-c", SEARCH], env=found, text=True, timeout=300).split()
    return float(took), {*names}


def test_a_first_search_imports_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    _, names = first_search(tmp_path)
    assert {"numpy", "llvmlite"} <= names and not names & LATER


@pytest.mark.slow  # and as long as others leave it the core
def test_a_first_search_takes_four_tenths_of_a_second(tmp_path: Path) -> None:
    first_search(tmp_path)
    assert min(first_search(tmp_path)[0] for _ in range(5)) < 0.4
