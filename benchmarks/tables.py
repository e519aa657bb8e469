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
import math
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import overhead
from benchmarks.gpu import GRAPHS
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

    def families(self) -> dict[str, list[Cell | Any]]:
        """The graphs of each family with several graphs, by size."""
        found: dict[str, list[str]] = {}
        for graph in self.graphs:
            if match := re.fullmatch(r"([a-z]+)(\d+)", graph):
                found.setdefault(match[1], []).append(graph)
        return {f: sorted(some, key=lambda g: int(g[len(f) :])) for f, some in found.items() if len(some) > 1}

    def sizes(self) -> dict[str, int]:
        """The number of edges of each graph."""
        return {name: entry["m"] for report in self.reports for name, entry in report.graphs.items()}


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


# --- cells ------------------------------------------------------------------------------------------------------------


def compared(cell: Cell) -> str:
    """Milliseconds, and how many times as fast that is as the fastest peer."""
    said = cell.wrong or milliseconds(cell.seconds())
    if cell.best is None or not cell.ratio:
        return said
    note, speedup = cell.entries[cell.best].note, 1 / cell.ratio
    digits = 2 if speedup < 1 else 1 if speedup < 10 else 0
    return f"{said}, **{speedup:.{digits}f}×** {NAMES.get(cell.best, cell.best)}{f' ({note})' if note else ''}"


def ratios(files: Files) -> str:
    """One row per graph: milliseconds, and how many times as fast that is as the fastest peer."""
    algorithms = files.present()
    rows = [
        [graph, *(compared(files.cells[graph, a]) if (graph, a) in files.cells else "" for a in algorithms)]
        for graph in files.graphs
    ]
    return markdown(["", *algorithms], rows)


def by_algorithm(files: Files) -> str:
    """As `ratios`, with one row per algorithm."""
    names = dict.fromkeys(algorithm for _, algorithm in files.cells)
    cells = [[files.cells.get((graph, name)) for graph in files.graphs] for name in names]
    rows = [[name, *(compared(cell) if cell else "" for cell in row)] for name, row in zip(names, cells)]
    return markdown(["", *files.graphs], rows)


def losses(files: Files) -> str:
    """The graphs on which a peer is faster than gasla, and how many times as fast it is."""
    rows = []
    for algorithm in files.present():
        lost = [
            f"{graph} {cell.ratio:.1f}× {NAMES.get(cell.best, cell.best)}"
            for graph in files.graphs
            if (cell := files.cells.get((graph, algorithm))) and cell.best and cell.ratio and cell.ratio > 1
        ]
        rows.append([algorithm, ", ".join(lost) or "none"])
    return markdown(["", "graphs on which a peer is faster: times as fast as gasla"], rows)


def growth(files: Files) -> str:
    """The exponent of the growth of time with the number of edges (least squares): all sizes, and the last three."""
    algorithms, sizes, rows = files.present(), files.sizes(), []
    for graphs in [part for every in files.families().values() for part in (every, every[-3:])[: 1 + (len(every) > 4)]]:
        row = [f"{graphs[0]} to {graphs[-1]}"]
        for algorithm in algorithms:
            cells = [files.cells[g, algorithm] for g in graphs if (g, algorithm) in files.cells]
            points = [(math.log(sizes[c.graph]), math.log(s)) for c in cells if (s := c.seconds()) is not None]
            row.append(f"{slope(points):.2f}" if len(points) > 1 else "")
        rows.append(row)
    return markdown(["", *algorithms], rows)


def slope(points: list[tuple[float, float]]) -> float:
    """The slope of the least-squares line through points."""
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points))
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


def crossover(files: Files) -> str:
    """For each family, the smallest graph from which on the GPU is faster than the CPU, and its number of edges."""
    algorithms, sizes, rows = files.present(), files.sizes(), []

    def is_faster(cell: Cell) -> bool:
        own, rival = cell.seconds(), cell.seconds(CPU) if CPU in cell.entries else None
        return own is not None and rival is not None and own < rival

    for family, graphs in files.families().items():
        row = [family]
        for algorithm in algorithms:
            cells = [files.cells[g, algorithm] for g in graphs if (g, algorithm) in files.cells]
            slower = [k for k, c in enumerate(cells) if not is_faster(c)]
            later = cells[slower[-1] + 1 :] if slower else cells
            row.append(f"{later[0].graph}, {sizes[later[0].graph]:,}" if later else "beyond")
        rows.append(row)
    return markdown(["", *algorithms], rows)


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
    titles = ["bytes per vertex", "the graph", *("+ lists", *parts[1:]), "promised", *taken.values()]
    return markdown(titles, rows)


def outside(files: Files) -> str:
    """Microseconds per call, and the percentage outside of kernels; bold if over the bound.

    On a GPU, the time with synchronization after each call is in parentheses.
    """
    found: dict[str, dict[str, str]] = {}
    for f in files.listed("overhead"):
        share = f"{f['outside']:.1%}"
        text = f"**{share}**" if f["outside"] > overhead.MOST_OUTSIDE and f["edges"] > overhead.LARGE else share
        alone = f" ({1e6 * f['alone']:,.0f})" if "alone" in f else ""
        found.setdefault(f["algorithm"], {})[f["graph"]] = f"{1e6 * f['call']:,.0f}{alone}, {text}"
    graphs = list(dict.fromkeys(f["graph"] for f in files.listed("overhead")))
    return markdown(["", *graphs], [[a, *(shown.get(g, "") for g in graphs)] for a, shown in found.items()])


# --- results of `benchmarks.gpu` --------------------------------------------------------------------------------------


def figures(files: Files, group: str) -> str:
    """Figures with their upper bounds in parentheses; bold if over the bound."""
    found = [f for f in files.listed("figures") if _group(f) == group]
    units = {f["name"]: f["unit"] for f in sorted(found, key=lambda f: bool(f["unit"]))}
    return _by_graph(found, lambda f: f["name"] + UNITS[units[f["name"]]], _beside_its_bar)


def in_milliseconds(files: Files) -> str:
    """Figures in milliseconds, without their bounds."""
    found = [f for f in files.listed("figures") if _group(f) == "gpu" and f["unit"] != "x"]
    return _by_graph(found, lambda f: f["name"], lambda f: "wrong" if f["wrong"] else number(f["value"]))


def floors(files: Files) -> str:
    """Roofline: the lower bound of the time as a percentage of the measured time, and the limiting resource."""
    found = [f for f in files.listed("figures") if f["floor"] and not f["wrong"]]

    def show(figure: dict[str, Any]) -> str:
        least, cause = figure["floor"]
        return f"{100e3 * least / figure['value']:.0f}% {cause}"

    return _by_graph(found, lambda f: f["name"], show)


def _by_graph(found: list[dict[str, Any]], row: Callable[..., str], show: Callable[..., str]) -> str:
    """One row per name, one column per graph."""
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
    """The table that a figure belongs to."""
    first = figure["name"].partition(" ")[0]
    if first in ("mxv", "own", "call", "first"):
        return f"gpu-{first}"
    return "gpu" if figure["unit"] in ("ms", "x") or figure["wrong"] else "gpu-iterations"


# --- blocks of pages --------------------------------------------------------------------------------------------------

TABLES: dict[str, Callable[[Files], str]] = {
    **{f.__name__: f for f in (ratios, losses, growth, crossover, memory, outside, floors)},
    **{f"gpu{group}": partial(figures, group=f"gpu{group}") for group in ("", "-mxv", "-own", "-call", "-first")},
    "gpu-iterations": partial(figures, group="gpu-iterations"),
    "gpu-ms": in_milliseconds,
    "by-algorithm": by_algorithm,
}
PICTURES: dict[str, Callable[[Files, Path], None]] = {
    "plot": lambda files, path: plot.draw(files.reports[0]._replace(cells=list(files.cells.values())), path),
}


def picture(kind: str, names: list[str]) -> Path:
    """The path of a plot."""
    return IMAGES / f"{Path(names[0]).stem.rstrip('-*')}-{kind}.png"


def block(kind: str, names: list[str], page: Path = PAGES[0]) -> str:
    """The content of a block on a page."""
    if kind in PICTURES:
        return f"![{kind} of {', '.join(names)}]({os.path.relpath(picture(kind, names), page.parent)})\n"
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
        if kind in PICTURES:
            PICTURES[kind](Files(names), picture(kind, names))


def main(arguments: list[str] | None = None) -> None:
    """Print one block, or update all pages."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__.partition("\n")[0])
    parser.add_argument("kind", nargs="?", choices=[*TABLES, *PICTURES], help="what to print (default: all pages)")
    parser.add_argument("files", nargs="*", help="files in benchmarks/results")
    options = parser.parse_args(arguments)
    if options.kind:
        print(block(options.kind, options.files).strip())
    for page in () if options.kind else PAGES:
        rewrite(page)


if __name__ == "__main__":
    main()
