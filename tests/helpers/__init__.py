"""Modules that several tests share, and programs that tests start as processes of their own."""

import importlib
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]  # of the repository


def beside(name: str) -> list[Any]:
    """The values of this name in the test files of algorithms that have one; other files are not imported."""
    files = sorted((ROOT / "tests" / "algorithms").glob("*/test_*.py"))
    having = [path for path in files if re.search(rf"^{name}\b", path.read_text(encoding="utf-8"), re.M)]
    return [getattr(importlib.import_module(f"tests.algorithms.{p.parent.name}.{p.stem}"), name) for p in having]
