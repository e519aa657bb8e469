"""The tables and pictures of README and docs, made from the files in benchmarks/results.

    python -m benchmarks.tables                      rewrites the blocks of all pages, and draws what they show
    python -m benchmarks.tables gteps cpu.json       prints one block

A block of a page names what it shows and the files that it comes from; the tests compare what stands between:

    <!-- benchmarks: ratios cpu-2026-11-22-thin.json cpu-2026-11-22-wide.json -->
    ...
    <!-- /benchmarks -->

A name may have stars in it. Of several files that hold the same cell the last counts. Pictures go to docs/images, named
after the first.
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
from benchmarks.gpu.bars import GRAPHS as GPU_GRAPHS
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
        self.paths = [path for name in names for path in sorted(RESULTS.glob(name)) or [RESULTS / name]]
        self.reports = [Report.read(path) for path in self.paths]
        self.cells = {(c.graph, c.algorithm): c for report in self.reports for c in report.cells}
        self.graphs = list(dict.fromkeys(graph for graph, _ in self.cells))

    def listed(self, what: str) -> list[dict[str, Any]]:
        """A list that all files hold beside their cells."""
        return [entry for path in self.paths for entry in json.loads(path.read_text(encoding="utf-8"))[what]]

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


UNITS = {"ms": ", ms", "us": ", µs", "s": ", s", "x": "", "": ""}
CPU = "gasla-cpu"  # as a peer of the GPU
GPU_TABLES = ("gpu", "gpu-mxv", "gpu-own", "gpu-call", "gpu-first", "gpu-iterations")
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


def figures(files: Files, group: str) -> str:
    """Figures of `benchmarks.gpu`, in bold where over their bars, which follow: a row a figure, a column a graph."""
    found = [f for f in files.listed("figures") if _group(f) == group]
    units = {f["name"]: f["unit"] for f in sorted(found, key=lambda f: bool(f["unit"]))}
    return _by_graph(found, lambda f: f["name"] + UNITS[units[f["name"]]], _beside_its_bar)


def milliseconds_of(files: Files) -> str:
    """Those in milliseconds, by themselves."""
    found = [f for f in files.listed("figures") if _group(f) == "gpu" and f["unit"] != "x"]
    return _by_graph(found, lambda f: f["name"], lambda f: "wrong" if f["wrong"] else number(f["value"]))


def floors(files: Files) -> str:
    """How near figures of `benchmarks.gpu` come to the least time on that GPU, and what that would be spent on."""
    found = [f for f in files.listed("figures") if f["floor"] and not f["wrong"]]

    def show(figure: dict[str, Any]) -> str:
        least, cause = figure["floor"]
        return f"{100e3 * least / figure['value']:.0f}% {cause}"

    return _by_graph(found, lambda f: f["name"], show)


def _by_graph(found: list[dict[str, Any]], row: Callable[..., str], show: Callable[..., str]) -> str:
    """A row a name, a column a graph."""
    graphs = sorted({f["graph"]: 0 for f in found}, key=lambda g: GPU_GRAPHS.index(g) if g in GPU_GRAPHS else -1)
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


def sizes(files: Files, measure: str = "m") -> dict[str, int]:
    """The edges (m), vertices (n) or levels of a search (depth) of each graph."""
    return {name: facts[measure] for report in files.reports for name, facts in report.graphs.items()}


def points(
    files: Files, family: list[str], algorithm: str, measure: str = "m", who: str | None = None
) -> list[tuple[int, float]]:
    """That size and seconds."""
    size_of, cells = sizes(files, measure), [c for g in family if (c := files.cells.get((g, algorithm)))]
    timed = [(c.graph, c.seconds(who)) for c in cells if who is None or who in c.entries]
    return [(size_of[g], s) for g, s in timed if s is not None]


def slope(found: list[tuple[int, float]]) -> float:
    """The exponent of the size by which the time grows, least squares."""
    x, y = [math.log(m) for m, _ in found], [math.log(s) for _, s in found]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / sum((a - mean_x) ** 2 for a in x)


def growth(files: Files, measure: str = "m") -> str:
    """The exponent of the edges by which time grows, over all sizes; where there are many, over the last three too."""
    algorithms, rows = files.present(ALGORITHMS), []
    parts = [part for whole in families(files).values() for part in (whole, whole[-3:])[: 1 + (len(whole) > 4)]]
    for some in parts:
        found = [points(files, some, a, measure) for a in algorithms]
        rows.append([f"{some[0]} to {some[-1]}", *(f"{slope(p):.2f}" if len(p) > 1 else "" for p in found)])
    return markdown(["", *algorithms], rows)


def times(files: Files) -> str:
    """How large each graph is, and milliseconds."""
    algorithms = files.present(ALGORITHMS)
    facts = {name: facts for report in files.reports for name, facts in report.graphs.items()}
    rows = files.rows(algorithms, lambda cell: cell.wrong or milliseconds(cell.seconds()))
    measured = [[f"{facts[graph][k]:,}" for k in ("n", "m", "depth")] for graph, *_ in rows]
    return markdown(
        ["", "vertices", "edges", "levels", *algorithms], [[r[0], *f, *r[1:]] for r, f in zip(rows, measured)]
    )


def losses(files: Files) -> str:
    """The cells in which a peer is faster, and how many times its time gasla takes."""
    rows = []
    for algorithm in files.present(ALGORITHMS):
        lost = [
            f"{graph} {cell.ratio:.1f} {NAMES.get(cell.best, cell.best)}"
            for graph in files.graphs
            if (cell := files.cells.get((graph, algorithm))) and cell.best and cell.ratio and cell.ratio > 1
        ]
        rows.append([algorithm, ", ".join(lost) or "none"])
    return markdown(["", "gasla's time over the fastest peer's"], rows)


def devices(files: Files) -> str:
    """Milliseconds on the GPU, and over those of the CPU beside it."""

    def show(cell: Cell) -> str:
        own, other = cell.seconds(), cell.seconds(CPU) if CPU in cell.entries else None
        return milliseconds(own) + (f", **{own / other:.2f}**" if own and other else "")

    algorithms = files.present(ALGORITHMS)
    return markdown(["", *algorithms], files.rows(algorithms, show))


def crossover(files: Files) -> str:
    """The smallest graph of each family from which on the GPU is faster than the CPU beside it, and its edges."""
    algorithms, size_of, rows = files.present(ALGORITHMS), sizes(files), []
    for family, graphs in families(files).items():
        row = [family]
        for algorithm in algorithms:
            cells = [files.cells[g, algorithm] for g in graphs if (g, algorithm) in files.cells]
            slower = [k for k, c in enumerate(cells) if not _faster(c, CPU)]
            later = cells[slower[-1] + 1 :] if slower else cells
            row.append(f"{later[0].graph}, {size_of[later[0].graph]:,}" if later else "beyond")
        rows.append(row)
    return markdown(["", *algorithms], rows)


def _faster(cell: Cell, other: str) -> bool:
    own, rival = cell.seconds(), cell.seconds(other) if other in cell.entries else None
    return own is not None and rival is not None and own < rival


def memory(files: Files) -> str:
    """Bytes a vertex, as `benchmarks.footprint` found them, beside what was promised."""
    parts, taken = ("lists", "workspace", "fields"), {"held": "held", "grown": "at most", "again": "another call"}
    found = files.listed("memory")
    taken = {key: title for key, title in taken.items() if key in found[0]}
    rows = []
    for f in found:
        name = f"{f['algorithm']}, {f['name']}{', directed' if f['directed'] else ''}"
        sizes = [f["graph"], *(f[part] for part in parts), sum(f[part] for part in parts), *(f[key] for key in taken)]
        rows.append([name, *(number(size / f["n"]) for size in sizes)])
    titles = ["bytes a vertex", "the graph", *("+ lists", *parts[1:]), "promised", *taken.values()]
    return markdown(titles, rows)


def outside(files: Files) -> str:
    """Microseconds of calls, and what share of each lies outside the kernels; bold where more than it should be."""
    found: dict[str, dict[str, str]] = {}
    for f in files.listed("overhead"):
        share = f"{f['outside']:.1%}"
        text = f"**{share}**" if f["outside"] > overhead.MOST_OUTSIDE and f["edges"] > overhead.LARGE else share
        found.setdefault(f["algorithm"], {})[f["graph"]] = f"{1e6 * f['call']:,.0f}, {text}"
    graphs = list(dict.fromkeys(f["graph"] for f in files.listed("overhead")))
    return markdown(["", *graphs], [[a, *(shown.get(g, "") for g in graphs)] for a, shown in found.items()])


def parts(files: Files) -> str:
    """Where the microseconds of calls go, on the smallest of the graphs."""
    least = min(f["edges"] for f in files.listed("overhead"))
    found = [f for f in files.listed("overhead") if f["edges"] == least]
    names = [name for name in ("call", *overhead.PARTS) if any(f[name] for f in found)]
    rows = [[f["algorithm"], *(f"{1e6 * f[name]:.1f}" for name in names)] for f in found]
    return markdown([found[0]["graph"], *names], rows)


GAP = 0.085  # of a panel's height, from one label to the next


def draw_growth(files: Files, path: Path) -> None:
    """A panel an algorithm, a line a family: milliseconds by edges, both logarithmic; faint lines have slope one.

    Of the CPU beside a GPU there is a dashed line.
    """
    from matplotlib.figure import Figure

    algorithms, some = files.present(ALGORITHMS), families(files)
    colours = dict(zip(some, [plot.OURS, "#e08e45", "#c2575b", "#7fa650", "#9a86b8"]))
    columns = plot.columns(len(algorithms))
    rows = -(-len(algorithms) // columns)
    figure = Figure(figsize=(4.2 * columns, 3.4 * rows), facecolor=plot.PAPER, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
    for place, algorithm in enumerate(algorithms, 1):
        axes = figure.add_subplot(rows, columns, place, facecolor=plot.PAPER)
        found = {family: p for family, graphs in some.items() if (p := points(files, graphs, algorithm))}
        for family, family_points in found.items():
            edges, seconds = zip(*family_points)
            milli = [1e3 * s for s in seconds]
            axes.loglog(edges, milli, "o-", color=colours[family], markersize=4, linewidth=1.6)
            if beside := points(files, some[family], algorithm, who=CPU):
                edges, seconds = zip(*beside)
                axes.loglog(edges, [1e3 * s for s in seconds], "--", color=colours[family], linewidth=1.2)
        _label_ends(axes, found, colours)
        _proportional(axes)
        plot.plain(axes, plot.TITLES.get(algorithm, algorithm))
        axes.xaxis.set_major_formatter(_edges)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        axes.set_xlabel("edges", fontsize=9, color=plot.FAINT)
        axes.set_ylabel("ms", fontsize=9, color=plot.FAINT)
    if any(CPU in cell.entries for cell in files.cells.values()):
        found = files.reports[0].provenance
        text = f"solid: {found['gpu']}; dashed: {found['cpu']}, {found['threads']} threads"
        figure.suptitle(text, x=0.01, ha="left", fontsize=10, color=plot.FAINT)
    figure.savefig(path, dpi=150, facecolor=plot.PAPER)


def _edges(value: float, _: int = 0) -> str:
    return f"{value / 1e6:g} M" if value >= 1e6 else f"{value / 1e3:g} k" if value >= 1e3 else f"{value:g}"


def _label_ends(axes: Any, found: dict[str, list[tuple[int, float]]], colours: dict[str, str]) -> None:
    """The name of each line and its slope, at the right edge beside its end, moved apart where they would touch."""
    low, high = (math.log(y) for y in axes.get_ylim())
    ends = sorted((math.log(1e3 * some[-1][1]), family) for family, some in found.items())
    places = [(end - low) / (high - low) for end, _ in ends]
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + GAP)
    for i in range(len(places) - 1, -1, -1):
        places[i] = min(places[i], 1 - GAP * (len(places) - 1 - i))
    for place, (_, family) in zip(places, ends):
        edges, seconds = found[family][-1]
        text = f"{family}  {slope(found[family]):.2f}" if len(found[family]) > 1 else family
        leader = {"arrowstyle": "-", "color": colours[family], "linewidth": 0.6, "alpha": 0.6}
        axes.annotate(
            text, (edges, 1e3 * seconds), (1.03, place), textcoords="axes fraction", va="center", fontsize=9,
            color=colours[family], weight="bold", arrowprops={**leader, "relpos": (0, 0.5), "shrinkA": 0, "shrinkB": 3},
        )  # fmt: skip


def _proportional(axes: Any) -> None:
    """Faint lines along which time is proportional to edges."""
    limits = axes.get_xlim(), axes.get_ylim()
    (left, right), (low, high) = limits
    rate = 100 ** math.floor(math.log(low / right, 100))
    while rate * left < high:
        axes.plot([left, right], [rate * left, rate * right], color=plot.GRID, linewidth=0.8, zorder=0)
        rate *= 10
    axes.set_xlim(limits[0])
    axes.set_ylim(limits[1])


# --- blocks of pages --------------------------------------------------------------------------------------------------

TABLES: dict[str, Callable[[Files], str]] = {
    **{
        f.__name__: f
        for f in (
            ratios,
            gteps,
            products,
            programs,
            ceilings,
            growth,
            times,
            losses,
            devices,
            crossover,
            memory,
            outside,
            parts,
            floors,
        )
    },
    **{group: partial(figures, group=group) for group in GPU_TABLES},
    "gpu-ms": milliseconds_of,
    "growth-by-vertices": lambda files: growth(files, "n"),
    "growth-by-depth": lambda files: growth(files, "depth"),
}
PICTURES: dict[str, Callable[[Files, Path], None]] = {
    "plot": lambda files, path: plot.draw(files.reports[0]._replace(cells=list(files.cells.values())), path),
    "growth-plot": draw_growth,
}


def picture(kind: str, names: list[str]) -> Path:
    """Where a picture is kept."""
    return IMAGES / f"{Path(names[0]).stem.rstrip('-*')}-{kind}.png"


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
