"""Print pip constraints for the oldest package versions that pyproject.toml allows, as `name==2.0.*`.

If a package has several lower bounds, in the extras that the tests need, the highest counts. Packages without a bound
are left out.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def requirements(project: dict, extra: str) -> list[str]:
    """Return the requirements of an extra, including those of extras that it refers to."""
    found = []
    for line in project["optional-dependencies"][extra]:
        named = re.match(r"gasla\[(.*)\]", line)
        found += [x for name in named[1].split(",") for x in requirements(project, name)] if named else [line]
    return found


def oldest(lines: list[str]) -> dict[str, tuple[int, ...]]:
    """Return the highest lower bound of each package."""
    bounds: dict[str, tuple[int, ...]] = {}
    for line in lines:
        if found := re.match(r"([A-Za-z0-9_.-]+)(?:\[.*\])?>=([0-9.]+)", line):
            version = tuple(map(int, found[2].split(".")))
            bounds[found[1]] = max(bounds.get(found[1], ()), version)
    return bounds


def constraint(name: str, version: tuple[int, ...]) -> str:
    """Return the constraint: the newest patch release of the bound's first two numbers."""
    exact = (*version, 0)[: max(2, len(version))]
    return f"{name}=={'.'.join(map(str, exact))}.*"


if __name__ == "__main__":
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    bounds = oldest(project["dependencies"] + requirements(project, "test"))
    print("\n".join(constraint(name, version) for name, version in sorted(bounds.items())))
