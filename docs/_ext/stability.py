"""The list of public names with their stability: docs/stable-api.txt has the stable ones, all others are provisional.

A line of that file is a name with the parameters that calls may pass: `gasla.bfs(graph, source, *, parents=...)`.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

PROMISES = Path(__file__).parents[1] / "stable-api.txt"
MODULES = (
    "gasla", "gasla.io", "gasla.datasets", "gasla.generators", "gasla.csgraph", "gasla.verify", "gasla.primitives",
    "gasla.stages", "gasla.distributed", "gasla.progress", "semirings",
)  # fmt: skip


def promises() -> dict[str, str]:
    """The parameters of each stable name, as text; empty for a name that is not called."""
    lines = PROMISES.read_text(encoding="utf-8").splitlines()
    names = [line.partition("(")[0] for line in lines if line and not line.startswith("#")]
    kept = [line for line in lines if line and not line.startswith("#")]
    return {name: line.removeprefix(name) for name, line in zip(names, kept)}


def public() -> dict[str, list[str]]:
    """The public names of each public module, without modules, which have entries of their own."""
    found = {name: importlib.import_module(name) for name in MODULES}
    return {
        name: [each for each in module.__all__ if not isinstance(getattr(module, each), ModuleType)]
        for name, module in found.items()
    }


def lookup(name: str) -> Any:
    """The object of a full name, such as `gasla.Graph.from_edges`."""
    package, *rest = name.split(".")
    thing: Any = importlib.import_module(package)
    for part in rest:
        thing = inspect.getattr_static(thing, part) if inspect.isclass(thing) else getattr(thing, part)
    return thing.__func__ if isinstance(thing, classmethod | staticmethod) else thing


def signature(thing: Any) -> str:
    """The parameters of a function or class as in the list; empty for anything else, and for exceptions."""
    is_error = inspect.isclass(thing) and issubclass(thing, BaseException)
    if is_error or not (inspect.isclass(thing) or inspect.isroutine(thing)):
        return ""
    plain = [
        each.replace(annotation=each.empty, default=each.empty if each.default is each.empty else ...)
        for each in inspect.signature(thing).parameters.values()
        if each.name not in ("self", "cls")
    ]
    return str(inspect.Signature(plain)).replace("=Ellipsis", "=...")


def page() -> str:
    """The list as a page in reStructuredText."""
    stable = promises()
    lines = ["Stability of names", "==================", ""]
    lines += [
        "All public names. :doc:`/stability` says what *stable* and *provisional* mean. Of the methods of ``Graph``, "
    ]
    lines += ["those listed are stable; all methods of other stable classes are.", ""]
    for module, names in public().items():
        methods = [name.removeprefix(f"{module}.") for name in stable if name.startswith(f"{module}.Graph.")]
        kinds = {"Stable": [name for name in names if f"{module}.{name}" in stable] + methods}
        kinds["Provisional"] = [name for name in names if name not in kinds["Stable"]]
        lines += [module, "-" * len(module), ""]
        for kind, found in kinds.items():
            lines += [f":{kind}: {', '.join(f'``{name}``' for name in found)}", ""] if found else []
    return "\n".join(lines)
