"""A person who changes a module finds its tests, and runs them by a path: `tests.helpers.where_tested` says how."""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import asks_for_tests_below
from tests.helpers import ROOT
from tests.helpers.where_tested import contents, where_tested

LINES = 40  # a shorter module is tested by the tests of those that use it
MODULES = [path.relative_to(ROOT) for name in ("gasla", "semirings") for path in sorted((ROOT / name).rglob("*.py"))]


def test_every_module_has_tests_that_are_found() -> None:
    long = [path for path in MODULES if len((ROOT / path).read_text(encoding="utf-8").splitlines()) > LINES]
    assert len(long) > 300
    found = {path.as_posix(): where_tested(path) for path in long}
    assert not [path for path, tests in found.items() if not tests]
    assert all((ROOT / test).exists() for tests in found.values() for test in tests)


def test_folders_of_tests_name_what_there_is() -> None:
    known = {".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in MODULES}
    named = {name for text in contents().values() for name in re.findall(r"\b(?:gasla|semirings)(?:\.\w+)+", text)}
    assert {"gasla.cpu.kernels", "gasla.backends.networkx"} <= named <= known


@pytest.mark.parametrize(
    ("module", "tests"),
    [
        ("gasla/graph/changes.py", ["tests/graph/test_changes.py"]),  # by its name
        ("gasla/graph/io/gml.py", ["tests/graph/test_io.py", "tests/graph/test_io_npz.py"]),  # by its package's
        ("gasla/algorithms/community/k_core.py", ["tests/algorithms/community"]),
        ("gasla/cpu/program/fingerprint.py", ["tests/cpu/test_fingerprint.py"]),  # in the second of two folders
        ("gasla/cpu/kernels/push.py", ["tests/program"]),  # by the folder, which names gasla.cpu.kernels
        ("gasla/nowhere/x.py", []),
    ],
)
def test_tests_are_found(module: str, tests: Sequence[str]) -> None:
    assert where_tested(Path(module)) == tests


@pytest.mark.parametrize("path", ["tests/program", "tests/cli/test_demo.py", "tests/cli/test_demo.py::test_x[a/b]"])
def test_paths_below_tests_are_told_from_others(path: str) -> None:
    def asks(args: Sequence[str], command: Sequence[str]) -> bool:
        config: Any = SimpleNamespace(args=args, invocation_params=SimpleNamespace(args=command, dir=ROOT))
        return asks_for_tests_below(config)

    assert asks([path], ["-q", path])
    assert asks(["gasla", path], ["gasla", path, "--maxfail=1"])
    assert not asks([path], ["-m", "slow", path])
    assert not asks([path], [path, "-mslow"])
    assert not asks(["tests", "semirings", "gasla"], [])
    assert not asks(["gasla/graph/graph.py"], ["gasla/graph/graph.py"])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ([], {"test_quick"}),
        (["tests/room"], {"test_quick", "test_thorough"}),
        (["-n", "1", "tests/room"], {"test_quick", "test_thorough"}),  # a process of its own chooses, too
        (["tests/room/test_it.py::test_thorough"], {"test_thorough"}),
        (["tests/room", "-m", "slow"], {"test_slow"}),
    ],
)
def test_a_path_below_tests_asks_for_thorough_tests_too(
    arguments: Sequence[str], names: set[str], tmp_path: Path
) -> None:
    room = tmp_path / "tests" / "room"
    room.mkdir(parents=True)
    for name in ("pyproject.toml", "tests/conftest.py", "tests/helpers/__init__.py", "tests/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    marked = "import pytest\n\n\ndef test_quick(): ...\n"
    marked += "".join(f"\n\n@pytest.mark.{mark}\ndef test_{mark}(): ...\n" for mark in ("thorough", "slow"))
    (room / "test_it.py").write_text(marked, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert {*re.findall(r"::(\w+)", done.stdout)} == names
