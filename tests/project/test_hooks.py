"""The table of the functions of programs is where they are named, and the guide shows it."""

import re
from pathlib import Path

import pytest

from gasla.program.hooks import HOOKS

ROOT = Path(__file__).parents[2]
ROOMS = (
    "program",
    "cpu/program",
    "cpu/kernels",
    "gpu/program",
    "gpu/kernels",
    "distributed/engine",
    "reference",
    "operations",
)
OPERANDS = {  # of products and frontiers, whose masks are no functions of programs
    "gasla/operations/matrices.py",
    "gasla/operations/operands.py",
    "gasla/program/frontier.py",
}
# How many files of these rooms may name a function as a string, or as a member of the struct of a CUDA program. Whoever
# lowers a number makes the function easier to change.
MOST = {
    **{"post_apply": 2, "choose": 5, "wake": 11, "idle": 12, "key": 12, "activate": 12, "priority": 12, "start": 15},
    **{"apply": 15, "bucket": 18, "edge_mask": 19, "gather": 19, "mask": 19, "stop": 22, "scatter": 24},
}


def files_that_name(name: str) -> set[str]:
    is_named = re.compile(rf'"{name}"|\bP::{name}\b|\bHAS_{name.upper()}\b').search
    files = [f for room in ROOMS for f in (ROOT / "gasla" / room).rglob("*") if f.suffix in (".py", ".cuh")]
    return {f.relative_to(ROOT).as_posix() for f in files if is_named(f.read_text(encoding="utf-8"))} - OPERANDS


@pytest.mark.parametrize("name", HOOKS)
def test_few_files_name_a_function(name: str) -> None:
    found = files_that_name(name)
    assert "gasla/program/hooks.py" in found
    assert len(found) <= MOST[name], sorted(found)


def test_few_files_speak_of_the_step_after_apply() -> None:
    library = [f for room in ("gasla", "semirings") for f in (ROOT / room).rglob("*") if f.suffix in (".py", ".cuh")]
    found = [f for f in library if re.search(r"\bpost_apply\b", f.read_text(encoding="utf-8"))]
    assert len(found) <= 5, found


def test_the_guide_shows_the_table() -> None:
    rows = [f"| {hook.task} | `{name}({', '.join(hook.parameters)})` |" for name, hook in HOOKS.items()]
    page = (ROOT / "docs" / "guide" / "programs.md").read_text(encoding="utf-8")
    assert "\n".join(["| to say | define |", "|---|---|", *rows, ""]) in page
