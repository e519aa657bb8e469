"""Every public algorithm has a row beside it, and what is made of the rows is complete."""

import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gasla
from gasla import verify
from gasla.bench import tasks
from gasla.bench.limits import floors
from gasla.cli.verbs import ALGORITHMS
from gasla.rows import rows
from gasla.shipping import calls
from tests.helpers import ROOT

COMMANDS = [command for row in rows() for command in row.commands]
TASKS = [task for row in rows() for task in row.tasks]


def test_every_algorithm_has_one_row_in_its_file() -> None:
    """Other functions may have one: `sample_neighbors` has a command."""
    having = [row.function.__name__ for row in rows()]
    algorithms = [name for name, home in gasla._HOMES.items() if home.startswith("algorithms.")]
    assert [name for name in having if name in algorithms] == algorithms
    assert len({*having}) == len(having)
    for row in rows():
        assert row.function is getattr(gasla, row.function.__name__)
        file = sys.modules[row.function.__module__]
        assert "ROW" in vars(file), row.function.__module__


def test_commands_tasks_and_calls_are_those_of_the_rows() -> None:
    assert [verb.name for verb in ALGORITHMS] == [command.name for command in COMMANDS]
    assert {task.name for task in TASKS} <= tasks.TASKS.keys()
    assert {call for row in rows() for call in row.calls} <= {*calls.names()}
    for names in ([command.name for command in COMMANDS], [task.name for task in TASKS]):
        assert len({*names}) == len(names)


def test_names_in_rows_are_those_of_something() -> None:
    """Of verifiers, of arguments, and of what `gasla bench` compares answers by."""
    for row in rows():
        parameters = inspect.signature(row.function).parameters
        for command in row.commands:
            assert not command.checked_by or command.checked_by in verify.__all__
            assert {*command.options, *command.defaults, *command.fixed} <= parameters.keys(), command.name
        for task in row.tasks:
            assert not task.checked_by or task.checked_by in verify.__all__
            assert task.options.keys() <= parameters.keys(), task.name
            assert callable(getattr(tasks, task.form)) and callable(getattr(tasks, task.agree)), task.name
            assert task.size is None or floors.COUNTS[task.name] is not None


def test_a_row_is_light() -> None:
    """Of gasla it imports nothing but the face, so that files of all layers can have one."""
    code = "import sys, gasla.rows; print(sorted(n for n in sys.modules if n.startswith(('gasla', 'scipy'))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['gasla', 'gasla.rows']\n"


PAGE = (ROOT / "docs" / "contributing" / "algorithm.md").read_text(encoding="utf-8")
FILES = re.findall(r"^\| \d+ \| `([^`]+)` \|", PAGE, re.MULTILINE)
LINES = {  # of the page's example: after which line of a file it adds what
    "gasla/__init__.py": {'    "condensation": ': '    "peak": "algorithms.components.peak",\n'},
    "gasla/verify/__init__.py": {
        "from gasla.verify.partitions import": "from gasla.verify.peaks import peak\n",
        '    "pagerank_nibble",': '    "peak",\n',
    },
    "docs/functions.md": {"| `condensation` |": "| `peak` | the highest in-degree behind | m | CPU, GPU, ranks | |\n"},
    "docs/algorithms.md": {
        "## Temporal graphs": "\n### `peak`\n\n"
        "- *Stored zero*: an edge.\n- *Loop*: counts.\n- *Parallel edges*: all count.\n- *Direction*: along edges.\n"
        "- *Disconnected*: no effect.\n- *Uniqueness*: unique.\n- *Repeatability*: the same.\n"
    },
    "CHANGELOG.md": {"### Added": "\n- `gasla.peak`.\n"},
}


def test_the_page_for_contributors_names_at_most_eight_files() -> None:
    blocks = re.findall(r"^```python\n# (\S+)$", PAGE, re.MULTILINE)
    assert len(FILES) <= 8
    assert {*blocks, *LINES} == {*FILES}


@pytest.mark.slow
def test_the_example_of_the_page_needs_no_other_file(tmp_path: Path) -> None:
    """In a copy: all tests that call the new function, and those that say which list lacks it."""
    for name in ("gasla", "semirings", "tests", "docs", "benchmarks", "tools", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "_build"))
    for name in ("pyproject.toml", "CHANGELOG.md", "README.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name, code in re.findall(r"^```python\n# (\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        path = tmp_path / name
        path.write_text(f"{path.read_text()}\n\n{code}" if path.exists() else code)
    for name, added in LINES.items():
        text = (tmp_path / name).read_text(encoding="utf-8")
        for after, lines in added.items():
            found = re.search(rf"^{re.escape(after)}.*\n", text, re.MULTILINE)
            assert found, after
            text = text[: found.end()] + lines + text[found.end() :]
        (tmp_path / name).write_text(text, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    chosen = "peak or test_rows or test_every_algorithm or test_every_function or test_there_is_a_row"
    tests = ["-m", "not slow and not gpu", "tests", "-k", chosen]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
