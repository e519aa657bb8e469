"""Tables of the figures that `benchmarks.gpu` wrote: a row a figure, a column a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.gpu.bars import GRAPHS
from benchmarks.measured import Files, markdown
from gasla.bench.reports.table import number

UNITS = {"ms": ", ms", "us": ", µs", "s": ", s", "x": "", "": ""}
GROUPS = ("gpu", "gpu-mxv", "gpu-own", "gpu-call", "gpu-first", "gpu-iterations")


def figures(files: Files, group: str) -> str:
    """Figures in bold where they are over their bars, which follow in brackets."""
    found = [f for f in files.listed("figures") if _group(f) == group]
    units = {f["name"]: f["unit"] for f in sorted(found, key=lambda f: bool(f["unit"]))}
    return _by_graph(found, lambda f: f["name"] + UNITS[units[f["name"]]], _beside_its_bar)


def milliseconds_of(files: Files) -> str:
    """Those in milliseconds, by themselves."""
    found = [f for f in files.listed("figures") if _group(f) == "gpu" and f["unit"] != "x"]
    return _by_graph(found, lambda f: f["name"], lambda f: "wrong" if f["wrong"] else number(f["value"]))


def floors(files: Files) -> str:
    """How near they come to the least time on that GPU, and what that would be spent on."""
    found = [f for f in files.listed("figures") if f["floor"] and not f["wrong"]]

    def show(figure: dict[str, Any]) -> str:
        least, cause = figure["floor"]
        return f"{100e3 * least / figure['value']:.0f}% {cause}"

    return _by_graph(found, lambda f: f["name"], show)


def _by_graph(found: list[dict[str, Any]], row: Callable[..., str], show: Callable[..., str]) -> str:
    """A row a name, a column a graph."""
    graphs = sorted({f["graph"]: 0 for f in found}, key=lambda g: GRAPHS.index(g) if g in GRAPHS else -1)
    rows = {f["name"]: [row(f), *[""] * len(graphs)] for f in found}
    for f in found:
        rows[f["name"]][1 + graphs.index(f["graph"])] = show(f)
    return markdown(["", *graphs], list(rows.values()))


def _beside_its_bar(figure: dict[str, Any]) -> str:
    if figure["wrong"]:
        return "wrong"
    text = number(figure["value"]) if figure["unit"] else f"{figure['value']:,}"
    if figure["bar"] is None:
        return text
    return f"{f'**{text}**' if figure['value'] > figure['bar'] else text} ({figure['bar']:g})"


def _group(figure: dict[str, Any]) -> str:
    """In which table a figure stands."""
    first = figure["name"].partition(" ")[0]
    if first in ("mxv", "own", "call", "first"):
        return f"gpu-{first}"
    return "gpu" if figure["unit"] in ("ms", "x") or figure["wrong"] else "gpu-iterations"
