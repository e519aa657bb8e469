"""Generate the tables and plots of README and docs from the files in benchmarks/results.

    python -m benchmarks.tables                      rewrites the blocks of all pages, and their plots
    python -m benchmarks.tables ratios cpu.json      prints one block

A block of a page is enclosed in comments with the kind of table and the input files; tests check its content:

    <!-- benchmarks: ratios cpu-2026-11-26-thin.json cpu-2026-11-26-wide.json -->
    ...
    <!-- /benchmarks -->

File names may be patterns. If several files have the same cell, the last one counts. Plots go to docs/images, named
after the first file.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from statistics import linear_regression
from typing import Any

import numpy as np

from benchmarks import catalogue, overhead
from benchmarks.gpu import GRAPHS
from benchmarks.script import markdown
from gasla.bench import peers
from gasla.bench.cells import Cell
from gasla.bench.reports import plot
from gasla.bench.reports.report import Report
from gasla.bench.reports.table import milliseconds, number

ROOT = Path(__file__).resolve().parents[1]
RESULTS, IMAGES = ROOT / "benchmarks" / "results", ROOT / "docs" / "images"
DOCS = sorted(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts)
PAGES = (ROOT / "README.md", *DOCS, RESULTS / "README.md")
BLOCK = re.compile(r"^(<!-- benchmarks: (\S+) (.+?) -->\n)(.*?)^(<!-- /benchmarks -->)$", re.MULTILINE | re.DOTALL)
NAMES = {"graphblas": "GraphBLAS", "scipy": "SciPy", "networkit": "NetworKit", "cusparse": "cuSPARSE"}
ALGORITHMS = ("bfs", "levels", *peers.ALGORITHMS[1:])
CPU = "gasla-cpu"  # as a peer of the GPU
UNITS = {"ms": ", ms", "us": ", µs", "s": ", s", "x": "", "": ""}  # of figures on the GPU


class Files:
    """The contents of some result files; if several have the same cell, the last one counts."""

    def __init__(self, names: list[str]) -> None:
        self.paths = [path for name in names for path in sorted(RESULTS.glob(name)) or [RESULTS / name]]
        self.reports = [Report.read(path) for path in self.paths]
        self.cells = {(c.graph, c.algorithm): c for report in self.reports for c in report.cells}
        self.graphs = list(dict.fromkeys(graph for graph, _ in self.cells))

    def listed(self, what: str) -> list[dict[str, Any]]:
        """The concatenation of a list that all files have besides their cells."""
        return [entry for path in self.paths for entry in json.loads(path.read_text(encoding="utf-8"))[what]]

    def present(self) -> list[str]:
        """The measured ones of `ALGORITHMS`."""
        return [a for a in ALGORITHMS if any(a == algorithm for _, algorithm in self.cells)]

    def families(self) -> dict[str, list[str]]:
        """The graphs of each family with several graphs, by size."""
        found: dict[str, list[str]] = {}
        for graph in self.graphs:
            if match := re.fullmatch(r"([a-z]+)(\d+)", graph):
                found.setdefault(match[1], []).append(graph)
        return {f: sorted(some, key=lambda g: int(g[len(f) :])) for f, some in found.items() if len(some) > 1}

    def of(self, graphs: list[str], algorithm: str) -> list[Cell]:
        """Return the cells of an algorithm on some graphs."""
        return [self.cells[graph, algorithm] for graph in graphs if (graph, algorithm) in self.cells]

    def sizes(self) -> dict[str, int]:
        """The number of edges of each graph."""
        return {name: entry["m"] for report in self.reports for name, entry in report.graphs.items()}


def grid(rows: Iterable[str], columns: Iterable[str], show: Callable[[str, str], str]) -> str:
    """Return a table with a cell for each row and column."""
    columns = list(columns)
    return markdown(["", *columns], ([row, *(show(row, column) for column in columns)] for row in rows))


# --- cells ------------------------------------------------------------------------------------------------------------


def compared(cell: Cell | None) -> str:
    """Milliseconds, and how many times as fast that is as the fastest peer."""
    if cell is None:
        return ""
    said = cell.wrong or milliseconds(cell.seconds())
    if cell.best is None or not cell.ratio:
        return said
    note, speedup = cell.entries[cell.best].note, 1 / cell.ratio
    digits = 2 if speedup < 1 else 1 if speedup < 10 else 0
    return f"{said}, **{speedup:.{digits}f}×** {NAMES.get(cell.best, cell.best)}{f' ({note})' if note else ''}"


def ratios(files: Files) -> str:
    """One row per graph: milliseconds, and how many times as fast that is as the fastest peer."""
    return grid(files.graphs, files.present(), lambda graph, name: compared(files.cells.get((graph, name))))


def by_algorithm(files: Files) -> str:
    """As `ratios`, with one row per algorithm."""
    names = dict.fromkeys(algorithm for _, algorithm in files.cells)
    return grid(names, files.graphs, lambda name, graph: compared(files.cells.get((graph, name))))


def losses(files: Files) -> str:
    """The graphs on which a peer is faster than gasla, and how many times as fast it is."""

    def lost(algorithm: str, _: str) -> str:
        cells = [cell for cell in files.of(files.graphs, algorithm) if cell.best and cell.ratio and cell.ratio > 1]
        return ", ".join(f"{c.graph} {c.ratio:.1f}× {NAMES.get(c.best or '', c.best)}" for c in cells) or "none"

    return grid(files.present(), ["graphs on which a peer is faster: times as fast as gasla"], lost)


def growth(files: Files) -> str:
    """The exponent of the growth of time with the number of edges (least squares): all sizes, and the last three."""
    sizes = files.sizes()
    parts = [part for every in files.families().values() for part in (every, every[-3:])[: 1 + (len(every) > 4)]]
    ranges = {f"{graphs[0]} to {graphs[-1]}": graphs for graphs in parts}

    def exponent(row: str, algorithm: str) -> str:
        points = [(sizes[c.graph], s) for c in files.of(ranges[row], algorithm) if (s := c.seconds()) is not None]
        return f"{linear_regression(*np.log(points).T).slope:.2f}" if len(points) > 1 else ""

    return grid(ranges, files.present(), exponent)


def crossover(files: Files) -> str:
    """For each family, the smallest graph from which on the GPU is faster than the CPU, and its number of edges."""
    families, sizes = files.families(), files.sizes()

    def is_slower(cell: Cell) -> bool:
        own, rival = cell.seconds(), cell.seconds(CPU) if CPU in cell.entries else None
        return own is None or rival is None or own >= rival

    def first(family: str, algorithm: str) -> str:
        cells = files.of(families[family], algorithm)
        later = cells[max((k + 1 for k, cell in enumerate(cells) if is_slower(cell)), default=0) :]
        return f"{later[0].graph}, {sizes[later[0].graph]:,}" if later else "beyond"

    return grid(families, files.present(), first)


# --- results of `benchmarks.footprint` and `benchmarks.overhead` ------------------------------------------------------


def memory(files: Files) -> str:
    """Bytes per vertex: measured, and documented."""
    parts, taken = ("lists", "workspace", "fields"), {"held": "held", "grown": "at most", "again": "another call"}
    found = files.listed("memory")
    taken = {key: title for key, title in taken.items() if key in found[0]}
    rows = []
    for f in found:
        name = f"{f['algorithm']}, {f['name']}{', directed' if f['directed'] else ''}"
        sizes = [f["graph"], *(f[part] for part in parts), sum(f[part] for part in parts), *(f[key] for key in taken)]
        rows.append([name, *(number(size / f["n"]) for size in sizes)])
    return markdown(["bytes per vertex", "the graph", "+ lists", *parts[1:], "promised", *taken.values()], rows)


def outside(files: Files) -> str:
    """Microseconds per call, and the percentage outside of kernels; bold if over the bound.

    On a GPU, the time with synchronization after each call is in parentheses.
    """
    found = {(f["algorithm"], f["graph"]): f for f in files.listed("overhead")}
    algorithms, graphs = (dict.fromkeys(key[k] for key in found) for k in (0, 1))

    def show(algorithm: str, graph: str) -> str:
        if (f := found.get((algorithm, graph))) is None:
            return ""
        share = f"{f['outside']:.1%}"
        text = f"**{share}**" if f["outside"] > overhead.MOST_OUTSIDE and f["edges"] > overhead.LARGE else share
        alone = f" ({1e6 * f['alone']:,.0f})" if "alone" in f else ""
        return f"{1e6 * f['call']:,.0f}{alone}, {text}"

    return grid(algorithms, graphs, show)


# --- results of `benchmarks.gpu` --------------------------------------------------------------------------------------


def figures(files: Files, group: str) -> str:
    """Figures with their upper bounds in parentheses; bold if over the bound."""
    found = [f for f in files.listed("figures") if _group(f) == group]
    units = {f["name"]: UNITS[f["unit"]] for f in sorted(found, key=lambda f: bool(f["unit"]))}
    return _by_graph(found, _beside_its_bar, units)


def in_milliseconds(files: Files) -> str:
    """Figures in milliseconds, without their bounds."""
    found = [f for f in files.listed("figures") if _group(f) == "gpu" and f["unit"] != "x"]
    return _by_graph(found, lambda f: "wrong" if f["wrong"] else number(f["value"]))


def floors(files: Files) -> str:
    """Roofline: the lower bound of the time as a percentage of the measured time, and the limiting resource."""
    found = [f for f in files.listed("figures") if f["floor"] and not f["wrong"]]
    return _by_graph(found, lambda f: f"{100e3 * f['floor'][0] / f['value']:.0f}% {f['floor'][1]}")


def _by_graph(found: list[dict[str, Any]], show: Callable[..., str], units: Mapping[str, str] = {}) -> str:
    """One row per name, one column per graph."""
    graphs = sorted({f["graph"]: 0 for f in found}, key=lambda g: GRAPHS.index(g) if g in GRAPHS else -1)
    names = {f["name"] + units.get(f["name"], ""): f["name"] for f in found}
    shown = {(f["name"], f["graph"]): show(f) for f in found}
    return grid(names, graphs, lambda row, graph: shown.get((names[row], graph), ""))


def _beside_its_bar(figure: dict[str, Any]) -> str:
    if figure["wrong"]:
        return "wrong"
    text = number(figure["value"]) if figure["unit"] else f"{figure['value']:,}"
    if figure["bar"] is None:
        return text
    return f"{f'**{text}**' if figure['value'] > figure['bar'] else text} ({figure['bar']:g})"


def _group(figure: dict[str, Any]) -> str:
    """The table that a figure belongs to."""
    first = figure["name"].partition(" ")[0]
    if first in ("mxv", "own", "call", "first"):
        return f"gpu-{first}"
    return "gpu" if figure["unit"] in ("ms", "x") or figure["wrong"] else "gpu-iterations"


# --- results of `benchmarks.catalogue` --------------------------------------------------------------------------------


def of_functions(files: Files, show: Callable[[catalogue.Measured], str]) -> str:
    """A table of every public function, from all files."""
    return show(catalogue.Measured(files.cells.values(), files.listed("specialists")))


# --- blocks of pages --------------------------------------------------------------------------------------------------

TABLES: dict[str, Callable[[Files], str]] = {
    **{f.__name__: f for f in (ratios, losses, growth, crossover, memory, outside, floors)},
    **{f"gpu{group}": partial(figures, group=f"gpu{group}") for group in ("", "-mxv", "-own", "-call", "-first")},
    "gpu-iterations": partial(figures, group="gpu-iterations"),
    "gpu-ms": in_milliseconds,
    "by-algorithm": by_algorithm,
    "functions": partial(of_functions, show=catalogue.by_function),
    "methods": partial(of_functions, show=catalogue.methods),
    "reasons": partial(of_functions, show=catalogue.reasons),
}
PLOT = "plot"


def picture(names: list[str]) -> Path:
    """The path of a plot."""
    return IMAGES / f"{Path(names[0]).stem.rstrip('-*')}-{PLOT}.png"


def draw(names: list[str], path: Path) -> None:
    """Draw the cells of some files."""
    files = Files(names)
    plot.draw(files.reports[0]._replace(cells=list(files.cells.values())), path)


def block(kind: str, names: list[str], page: Path = PAGES[0]) -> str:
    """The content of a block on a page."""
    if kind == PLOT:
        return f"![{kind} of {', '.join(names)}]({os.path.relpath(picture(names), page.parent)})\n"
    return f"\n{TABLES[kind](Files(names))}\n"


def blocks(page: Path) -> list[tuple[str, list[str], str]]:
    """For every block of a page: the kind, the files, the text."""
    return [(m[2], m[3].split(), m[4]) for m in BLOCK.finditer(page.read_text(encoding="utf-8"))]


def rewrite(page: Path) -> None:
    """Update the blocks of a page, and draw its plots."""
    text = page.read_text(encoding="utf-8")
    new = BLOCK.sub(lambda m: m[1] + block(m[2], m[3].split(), page) + m[5], text)
    if new != text:
        page.write_text(new, encoding="utf-8")
    for kind, names, _ in blocks(page):
        if kind == PLOT:
            draw(names, picture(names))


def main(arguments: list[str] | None = None) -> None:
    """Print one block, or update all pages."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__.partition("\n")[0])
    parser.add_argument("kind", nargs="?", choices=[*TABLES, PLOT], help="what to print (default: all pages)")
    parser.add_argument("files", nargs="*", help="files in benchmarks/results")
    options = parser.parse_args(arguments)
    if options.kind:
        print(block(options.kind, options.files).strip())
    for page in () if options.kind else PAGES:
        rewrite(page)


if __name__ == "__main__":
    main()
