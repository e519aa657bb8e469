"""The pages of the API reference: one per public module, and for `gasla` itself one table per family of functions.

They are written to docs/api when the site is built, from the names that `gasla` declares public.
"""

from __future__ import annotations

import importlib
import inspect
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import stability
from sphinx.application import Sphinx
from sphinx.config import Config

import gasla

TITLES = {
    "graph": "Graphs",
    "program": "Vertex programs",
    "operations": "Runs and products",
    "operations.walks": "Walk programs and sampling",
    "operations.sampling": "Walk programs and sampling",
    "operations.edge_softmax": "Walk programs and sampling",
    "operations.sampled_walks": "Walk programs and sampling",
    "algorithms.traversal": "Searches",
    "algorithms.paths": "Shortest paths",
    "algorithms.acyclic": "Acyclic graphs",
    "algorithms.centrality": "Centrality",
    "algorithms.components": "Components and trees",
    "algorithms.community": "Communities, cores and triangles",
    "algorithms.clustering": "Clustering coefficients",
    "algorithms.similarity": "Similarity",
    "algorithms.patterns": "Cliques and patterns",
    "algorithms.drawing": "Pictures",
    "algorithms.neighborhood": "Neighborhoods",
    "algorithms.independence": "Independent sets, colorings, matchings",
    "algorithms.flows": "Flows and cuts",
    "algorithms.walks": "Random walks",
    "algorithms.temporal": "Temporal graphs",
    "algorithms.spectral": "Eigenvectors",
    "backends.networkx_calls": "NetworkX",
}
MODULES = [
    "semirings", "gasla.primitives", "gasla.stages", "gasla.io", "gasla.datasets", "gasla.generators", "gasla.verify",
    "gasla.csgraph", "gasla.distributed", "gasla.progress",
]  # fmt: skip


GROUPS = {  # of pages, in the sidebar
    "Graphs and algorithms": ["gasla", "gasla.Graph.methods"],
    "Files and data": ["gasla.io", "gasla.datasets", "gasla.generators"],
    "Products and loops": ["semirings", "gasla.primitives", "gasla.stages"],
    "Checking and watching": ["gasla.verify", "gasla.progress"],
    "Other doors": ["gasla.csgraph", "gasla.distributed"],
    "Promises": ["stability"],
}


def families() -> dict[str, list[str]]:
    """Return the public names of gasla, grouped by the folder that defines them."""
    found: dict[str, list[str]] = {title: [] for title in TITLES.values()}
    for name in gasla.__all__:
        if isinstance(getattr(gasla, name), ModuleType):
            continue
        home = ".".join(gasla._HOMES[name].split(".")[:2])
        title = TITLES.get(home) or TITLES.get(home.split(".")[0]) or home.split(".")[-1].capitalize()
        found.setdefault(title, []).append(name)
    return {title: names for title, names in found.items() if names}


def page(title: str, module: str, tables: dict[str, list[str]], text: str = "") -> str:
    """Return a page of tables, whose rows link to a page for each name; names without a docstring are listed below."""
    lines = [title, "=" * len(title), "", text, "", f".. currentmodule:: {module}", ""]
    for heading, names in tables.items():
        lines += [heading, "-" * len(heading), ""] if heading else []
        described = [name for name in names if is_described(getattr(importlib.import_module(module), name))]
        lines += [".. autosummary::", "   :toctree: generated", ""] + [f"   {name}" for name in described] + [""]
        if beside := [name for name in names if name not in described]:
            lines += [f"And {', '.join(f'``{module}.{name}``' for name in beside)}.", ""]
    return "\n".join(lines)


def is_described(thing: Any) -> bool:
    """Whether `thing` is a class or function of ours: an object's docstring would be that of its class."""
    ours = getattr(thing, "__module__", "").split(".")[0] in ("gasla", "semirings")
    return ours and (inspect.isclass(thing) or inspect.isroutine(thing))


def introduction(module: ModuleType) -> str:
    """Return a module's docstring if it has a table, else its first paragraph."""
    said = inspect.getdoc(module) or ""
    return said if ".. list-table::" in said else " ".join(said.split("\n\n")[0].split())


def methods(owner: type) -> str:
    """Return a page with the public methods and attributes of a class, each of which has a page of its own."""
    names = [name for name, thing in vars(owner).items() if not name.startswith("_") and inspect.getdoc(thing)]
    title = f"Methods of {owner.__name__}"
    lines = [title, "=" * len(title), "", ".. currentmodule:: gasla", "", ".. autosummary::", "   :toctree: generated"]
    return "\n".join([*lines, "", *(f"   {owner.__name__}.{name}" for name in names), ""])


def write(app: Sphinx, config: Config) -> None:
    """Write all pages anew, so that no page of a removed name is left."""
    folder = Path(app.srcdir) / "api"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    pages = {"gasla": page("gasla", "gasla", families()), "gasla.Graph.methods": methods(gasla.Graph)}
    for name in MODULES:
        module = importlib.import_module(name)
        pages[name] = page(name, name, {"": list(module.__all__)}, introduction(module))
    pages["stability"] = stability.page()
    title, contents = "API reference", [""]
    for caption, names in GROUPS.items():
        contents += [
            ".. toctree::",
            "   :maxdepth: 2",
            f"   :caption: {caption}",
            "",
            *(f"   {name}" for name in names),
            "",
        ]
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(pages)
    pages["index"] = "\n".join([title, "=" * len(title), *contents])
    for name, text in pages.items():
        (folder / f"{name}.rst").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Write before Sphinx looks for pages."""
    app.connect("config-inited", write)
    return {"parallel_read_safe": True}
