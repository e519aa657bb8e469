"""The pages of the API reference: one a public module, and for gasla itself a table a family, as its files lie.

They are written to docs/api when the site is built, from what `gasla` says is public: nothing is listed by hand.
"""

from __future__ import annotations

import importlib
import inspect
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

import gasla

TITLES = {
    "graph": "Graphs",
    "program": "Vertex programs",
    "operations": "Runs and products",
    "operations.walks": "Walk programs and sampling",
    "operations.sampling": "Walk programs and sampling",
    "algorithms.traversal": "Searches",
    "algorithms.paths": "Shortest paths",
    "algorithms.acyclic": "Graphs without cycles",
    "algorithms.centrality": "Centrality",
    "algorithms.components": "Components and trees",
    "algorithms.community": "Communities, cores and triangles",
    "algorithms.clustering": "Clustering coefficients",
    "algorithms.similarity": "Similarity",
    "algorithms.patterns": "Cliques and patterns",
    "algorithms.neighborhood": "Neighborhoods",
    "algorithms.independence": "Independent sets, colourings, matchings",
    "algorithms.flows": "Flows and cuts",
    "algorithms.walks": "Random walks",
}
MODULES = [
    "semirings", "gasla.primitives", "gasla.stages", "gasla.io", "gasla.datasets", "gasla.verify",
    "gasla.csgraph", "gasla.distributed", "gasla.progress",
]  # fmt: skip


def families() -> dict[str, list[str]]:
    """Return the public names of gasla, by the folder that they live in."""
    found: dict[str, list[str]] = {title: [] for title in TITLES.values()}
    for name in gasla.__all__:
        if isinstance(getattr(gasla, name), ModuleType):
            continue
        home = ".".join(gasla._HOMES[name].split(".")[:2])
        title = TITLES.get(home) or TITLES.get(home.split(".")[0]) or home.split(".")[-1].capitalize()
        found.setdefault(title, []).append(name)
    return {title: names for title, names in found.items() if names}


def page(title: str, module: str, tables: dict[str, list[str]], text: str = "") -> str:
    """Return a page of tables whose rows lead to a page each; what has no docstring is named alone."""
    lines = [title, "=" * len(title), "", text, "", f".. currentmodule:: {module}", ""]
    for heading, names in tables.items():
        lines += [heading, "-" * len(heading), ""] if heading else []
        described = [name for name in names if is_described(getattr(importlib.import_module(module), name))]
        lines += [".. autosummary::", "   :toctree: generated", ""] + [f"   {name}" for name in described] + [""]
        if beside := [name for name in names if name not in described]:
            lines += [f"And {', '.join(f'``{module}.{name}``' for name in beside)}.", ""]
    return "\n".join(lines)


def is_described(thing: Any) -> bool:
    """Whether it is a class or a function of ours, not an object, whose docstring would be its class's."""
    ours = getattr(thing, "__module__", "").split(".")[0] in ("gasla", "semirings")
    return ours and (inspect.isclass(thing) or inspect.isroutine(thing))


def first_line(module: ModuleType) -> str:
    """Return what a module says it is for."""
    return " ".join((inspect.getdoc(module) or "").split("\n\n")[0].split())


def write(app: Sphinx, config: Config) -> None:
    """Write all pages anew, so that none is left of what is gone."""
    folder = Path(app.srcdir) / "api"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    pages = {"gasla": page("gasla", "gasla", families())}
    for name in MODULES:
        module = importlib.import_module(name)
        pages[name] = page(name, name, {"": list(module.__all__)}, first_line(module))
    title = "API reference"
    contents = ["", ".. toctree::", "   :maxdepth: 2", "", *(f"   {name}" for name in pages), ""]
    pages["index"] = "\n".join([title, "=" * len(title), *contents])
    for name, text in pages.items():
        (folder / f"{name}.rst").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Write before Sphinx looks for pages."""
    app.connect("config-inited", write)
    return {"parallel_read_safe": True}
