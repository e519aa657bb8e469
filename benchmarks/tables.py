"""The tables and pictures of README and docs, made from the files in benchmarks/results.

    python -m benchmarks.tables                      rewrites the blocks of all pages, and draws what they show
    python -m benchmarks.tables gteps cpu.json       prints one block

A block of a page names what it shows and the files that it comes from; the tests compare what stands between:

    <!-- benchmarks: ratios cpu-2026-11-22-thin.json cpu-2026-11-22-wide.json -->
    ...
    <!-- /benchmarks -->

Of several files that hold the same cell the last counts. Pictures go to docs/images, named after the first file.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gasla.bench import peers, plot
from gasla.bench.cells import Cell
from gasla.bench.report import Report
from gasla.bench.table import milliseconds, number, size

ROOT = Path(__file__).resolve().parents[1]
RESULTS, IMAGES = ROOT / "benchmarks" / "results", ROOT / "docs" / "images"
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), RESULTS / "README.md")
BLOCK = re.compile(r"^(<!-- benchmarks: (\S+) (.+?) -->\n)(.*?)^(<!-- /benchmarks -->)$", re.MULTILINE | re.DOTALL)
NAMES = {"graphblas": "GraphBLAS", "scipy": "SciPy", "networkit": "NetworKit", "cusparse": "cuSPARSE"}


class Files:
    """Some results, as one."""

    def __init__(self, names: list[str]) -> None:
        self.paths = [RESULTS / name for name in names]
        self.reports = [Report.read(path) for path in self.paths]
        self.cells = {(c.graph, c.algorithm): c for report in self.reports for c in report.cells}
        self.graphs = list(dict.fromkeys(graph for graph, _ in self.cells))

    def rows(self, algorithms: list[str], show: Callable[[Cell], str]) -> list[list[str]]:
        """A row a graph, a column an algorithm, of those that there are."""
        return [
            [graph, *(show(self.cells[graph, a]) if (graph, a) in self.cells else "" for a in algorithms)]
            for graph in self.graphs
            if any((graph, a) in self.cells for a in algorithms)
        ]

    def present(self, algorithms: tuple[str, ...]) -> list[str]:
        """Those of the algorithms that were measured."""
        return [a for a in algorithms if any(a == algorithm for _, algorithm in self.cells)]

    def members(self, family: str) -> list[str]:
        """The algorithms whose names begin so."""
        return list(dict.fromkeys(a for _, a in self.cells if a.startswith(f"{family} ")))


ALGORITHMS = ("bfs", "levels", *peers.ALGORITHMS[1:])


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def ratios(files: Files) -> str:
    """Milliseconds, and how that compares with the best peer's."""

    def show(cell: Cell) -> str:
        said = cell.wrong or milliseconds(cell.seconds())
        if cell.best is None:
            return said
        note = cell.entries[cell.best].note
        return f"{said}, **{cell.ratio:.2f}** {NAMES.get(cell.best, cell.best)}{f' ({note})' if note else ''}"

    algorithms = files.present(ALGORITHMS)
    return markdown(["", *algorithms], files.rows(algorithms, show))


def gteps(files: Files) -> str:
    """GTEPS, and the share of the machine's ceiling."""

    def show(cell: Cell) -> str:
        share = "" if cell.share is None or cell.floor is None else f", {100 * cell.share:.0f}% of {cell.floor.cause}"
        return (cell.wrong or number(cell.gteps())) + share

    algorithms = files.present(ALGORITHMS)
    return markdown(["", *algorithms], files.rows(algorithms, show))


def products(files: Files) -> str:
    """plus_times in milliseconds, and over the library's product; other semirings over plus_times."""
    names = files.members("mxv")
    head, others = names[0], names[1:]
    times = files.rows([head], lambda cell: milliseconds(cell.seconds()))
    over = files.rows([head], lambda cell: f"**{cell.ratio:.2f}**")
    rest = files.rows(others, lambda cell: f"{cell.ratio:.2f}")
    library = NAMES.get(next(c.best or "" for (_, a), c in files.cells.items() if a == head), "")
    titles = ["", "plus_times", f"/ {library}", *(name.removeprefix("mxv ") for name in others)]
    return markdown(titles, [[*a, *b[1:], *c[1:]] for a, b, c in zip(times, over, rest)])


def programs(files: Files) -> str:
    """A user's own programs over the library's functions."""
    names = files.members("own")
    rows = files.rows(names, lambda cell: f"{cell.ratio:.2f}")
    return markdown(["", *(name.removeprefix("own ") for name in names)], rows)


def ceilings(files: Files) -> str:
    """What the machine can do, by the bytes worked on."""
    found = next(report.ceilings for report in files.reports if report.ceilings)
    kinds = {"copy": "copy, GB/s", "gather": "random 4-byte reads, G/s", "atomics": "atomic additions, G/s"}
    rows = [[title, *(number(rate / 1e9) for rate in getattr(found, kind).values())] for kind, title in kinds.items()]
    barrier = f"\nA barrier of all threads takes {number(1e6 * found.barrier)} µs.\n"
    return markdown(["", *map(size, found.copy)], rows) + barrier


def bars(files: Files) -> str:
    """Figures of `benchmarks.gpu` beside their bars: a row a figure, a column a graph."""
    figures = [f for path in files.paths for f in json.loads(path.read_text(encoding="utf-8"))["figures"]]
    graphs = list(dict.fromkeys(f["graph"] for f in figures if f["bar"] is not None))
    names = list(dict.fromkeys((f["name"], f["unit"]) for f in figures if f["bar"] is not None))
    shown = {(f["graph"], f["name"]): _beside_its_bar(f) for f in figures}
    rows = [[f"{name}, {unit}", *(shown.get((graph, name), "") for graph in graphs)] for name, unit in names]
    return markdown(["", *graphs], rows)


def _beside_its_bar(figure: dict[str, Any]) -> str:
    if figure["wrong"]:
        return "wrong"
    text = number(figure["value"])
    if figure["bar"] is None:
        return text
    return f"{f'**{text}**' if figure['value'] > figure['bar'] else text} ({figure['bar']:g})"


# --- how cost grows ---------------------------------------------------------------------------------------------------


def families(files: Files) -> dict[str, list[str]]:
    """The graphs of each family, by size, where there are several."""
    found: dict[str, list[str]] = {}
    for graph in files.graphs:
        if match := re.fullmatch(r"([a-z]+)(\d+)", graph):
            found.setdefault(match[1], []).append(graph)
    return {
        family: sorted(some, key=lambda g: int(g[len(family) :])) for family, some in found.items() if len(some) > 1
    }


def sizes(files: Files) -> dict[str, int]:
    """The edges of each graph."""
    return {name: facts["m"] for report in files.reports for name, facts in report.graphs.items()}


def points(files: Files, family: list[str], algorithm: str) -> list[tuple[int, float]]:
    """Edges and seconds."""
    edges, cells = sizes(files), files.cells
    timed = [(g, cells[g, algorithm].seconds()) for g in family if (g, algorithm) in cells]
    return [(edges[g], s) for g, s in timed if s is not None]


def slope(found: list[tuple[int, float]]) -> float:
    """The exponent of the edges by which the time grows, least squares."""
    x, y = [math.log(m) for m, _ in found], [math.log(s) for _, s in found]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / sum((a - mean_x) ** 2 for a in x)


def growth(files: Files) -> str:
    """The exponent of the edges by which time grows, over so many sizes."""
    algorithms, rows = files.present(ALGORITHMS), []
    for some in families(files).values():
        found = [points(files, some, a) for a in algorithms]
        rows.append([f"{some[0]} to {some[-1]}", *(f"{slope(p):.2f}" if len(p) > 1 else "" for p in found)])
    return markdown(["", *algorithms], rows)


def draw_growth(files: Files, path: Path) -> None:
    """A panel an algorithm, a line a family: milliseconds by edges, both logarithmic."""
    from matplotlib.figure import Figure

    algorithms, colours = files.present(ALGORITHMS), list(plot.OTHERS.values())
    columns = plot.columns(len(algorithms))
    rows = -(-len(algorithms) // columns)
    figure = Figure(figsize=(4.6 * columns, 3.2 * rows), facecolor=plot.PAPER, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
    for place, algorithm in enumerate(algorithms, 1):
        axes = figure.add_subplot(rows, columns, place, facecolor=plot.PAPER)
        for colour, (family, some) in zip([plot.OURS, *colours], families(files).items()):
            if found := points(files, some, algorithm):
                edges, seconds = zip(*found)
                axes.loglog(edges, [1e3 * s for s in seconds], "o-", color=colour, label=family, markersize=4)
        plot.plain(axes, plot.TITLES.get(algorithm, algorithm))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.set_xlabel("edges", fontsize=9, color=plot.FAINT)
        axes.set_ylabel("ms", fontsize=9, color=plot.FAINT)
        if place == 1:
            axes.legend(frameon=False, fontsize=9, labelcolor=plot.INK)
    figure.savefig(path, dpi=150, facecolor=plot.PAPER)


# --- blocks of pages --------------------------------------------------------------------------------------------------

TABLES = {f.__name__: f for f in (ratios, gteps, products, programs, ceilings, bars, growth)}
PICTURES: dict[str, Callable[[Files, Path], None]] = {
    "plot": lambda files, path: plot.draw(files.reports[0], path),
    "growth-plot": draw_growth,
}


def picture(kind: str, names: list[str]) -> Path:
    """Where a picture is kept."""
    return IMAGES / f"{Path(names[0]).stem}-{kind}.png"


def block(kind: str, names: list[str], page: Path = PAGES[0]) -> str:
    """What stands between the two comments, on that page."""
    if kind in PICTURES:
        return f"![{kind} of {', '.join(names)}]({os.path.relpath(picture(kind, names), page.parent)})\n"
    return f"\n{TABLES[kind](Files(names))}\n"


def blocks(page: Path) -> list[tuple[str, list[str], str]]:
    """Of every block of a page: the kind, the files, the text."""
    return [(m[2], m[3].split(), m[4]) for m in BLOCK.finditer(page.read_text(encoding="utf-8"))]


def rewrite(page: Path) -> None:
    """Bring the blocks of a page up to date, and draw what it shows."""
    text = page.read_text(encoding="utf-8")
    new = BLOCK.sub(lambda m: m[1] + block(m[2], m[3].split(), page) + m[5], text)
    if new != text:
        page.write_text(new, encoding="utf-8")
    for kind, names, _ in blocks(page):
        if kind in PICTURES:
            PICTURES[kind](Files(names), picture(kind, names))


def main(arguments: list[str] | None = None) -> None:
    """Print one block, or bring all pages up to date."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__.partition("\n")[0])
    parser.add_argument("kind", nargs="?", choices=[*TABLES, *PICTURES], help="what to print (default: all pages)")
    parser.add_argument("files", nargs="*", help="in benchmarks/results")
    options = parser.parse_args(arguments)
    if options.kind:
        print(block(options.kind, options.files).strip())
    for page in () if options.kind else PAGES:
        rewrite(page)


if __name__ == "__main__":
    main()
