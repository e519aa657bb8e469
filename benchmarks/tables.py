"""The tables and pictures of README and docs, made from the files in benchmarks/results.

    python -m benchmarks.tables                      rewrites the blocks of all pages, and draws what they show
    python -m benchmarks.tables gteps cpu.json       prints one block

A block of a page names what it shows and the files that it comes from; the tests compare what stands between:

    <!-- benchmarks: ratios cpu-2026-11-23-thin.json cpu-2026-11-23-wide.json -->
    ...
    <!-- /benchmarks -->

A name may have stars in it. Of several files that hold the same cell the last counts. Pictures go to docs/images, named
after the first.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks import growth, overhead
from benchmarks.gpu import tables as gpu_tables
from benchmarks.measured import ALGORITHMS, CPU, Files, markdown
from gasla.bench.cells import Cell
from gasla.bench.reports import plot
from gasla.bench.reports.table import milliseconds, number, size

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "benchmarks" / "results" / "README.md")
BLOCK = re.compile(r"^(<!-- benchmarks: (\S+) (.+?) -->\n)(.*?)^(<!-- /benchmarks -->)$", re.MULTILINE | re.DOTALL)
NAMES = {"graphblas": "GraphBLAS", "scipy": "SciPy", "networkit": "NetworKit", "cusparse": "cuSPARSE"}


def _compared(cell: Cell) -> str:
    """Milliseconds, and how that compares with the best peer's."""
    said = cell.wrong or milliseconds(cell.seconds())
    if cell.best is None:
        return said
    note = cell.entries[cell.best].note
    return f"{said}, **{cell.ratio:.2f}** {NAMES.get(cell.best, cell.best)}{f' ({note})' if note else ''}"


def ratios(files: Files) -> str:
    """Milliseconds, and how that compares with the best peer's."""
    algorithms = files.present(ALGORITHMS)
    return markdown(["", *algorithms], files.rows(algorithms, _compared))


def by_algorithm(files: Files) -> str:
    """The same with a row an algorithm, for many of them."""
    names = dict.fromkeys(algorithm for _, algorithm in files.cells)
    cells = [[files.cells.get((graph, name)) for graph in files.graphs] for name in names]
    rows = [[name, *(_compared(cell) if cell else "" for cell in row)] for name, row in zip(names, cells)]
    return markdown(["", *files.graphs], rows)


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
    """Milliseconds on the GPU, and over those of the CPU beside it; ° where either has fewer than three calls."""

    def show(cell: Cell) -> str:
        own, other = cell.seconds(), cell.seconds(CPU) if CPU in cell.entries else None
        text = milliseconds(own) + (f", **{own / other:.2f}**" if own and other else "")
        return text + "°" * (min(len(entry.seconds) for entry in cell.entries.values()) < 3)

    algorithms = files.present(ALGORITHMS)
    return markdown(["", *algorithms], files.rows(algorithms, show))


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
    """Microseconds of calls, and what share of each lies outside the kernels; bold where more than it should be.

    In brackets those of a call that is waited for, where that is another thing.
    """
    found: dict[str, dict[str, str]] = {}
    for f in files.listed("overhead"):
        share = f"{f['outside']:.1%}"
        text = f"**{share}**" if f["outside"] > overhead.MOST_OUTSIDE and f["edges"] > overhead.LARGE else share
        alone = f" ({1e6 * f['alone']:,.0f})" if "alone" in f else ""
        found.setdefault(f["algorithm"], {})[f["graph"]] = f"{1e6 * f['call']:,.0f}{alone}, {text}"
    graphs = list(dict.fromkeys(f["graph"] for f in files.listed("overhead")))
    return markdown(["", *graphs], [[a, *(shown.get(g, "") for g in graphs)] for a, shown in found.items()])


def parts(files: Files) -> str:
    """Where the microseconds of calls go, on the smallest of the graphs."""
    least = min(f["edges"] for f in files.listed("overhead"))
    found = [f for f in files.listed("overhead") if f["edges"] == least]
    names = [name for name in overhead.columns("gpu") if any(f.get(name) for f in found)]
    rows = [[f["algorithm"], *(f"{1e6 * f[name]:.1f}" for name in names)] for f in found]
    return markdown([found[0]["graph"], *names], rows)


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
            growth.growth,
            times,
            losses,
            devices,
            growth.crossover,
            memory,
            outside,
            parts,
            gpu_tables.floors,
        )
    },
    **{group: partial(gpu_tables.figures, group=group) for group in gpu_tables.GROUPS},
    "by-algorithm": by_algorithm,
    "gpu-ms": gpu_tables.milliseconds_of,
    "growth-by-vertices": lambda files: growth.growth(files, "n"),
    "growth-by-depth": lambda files: growth.growth(files, "depth"),
}
PICTURES: dict[str, Callable[[Files, Path], None]] = {
    "plot": lambda files, path: plot.draw(files.reports[0]._replace(cells=list(files.cells.values())), path),
    "growth-plot": growth.draw_growth,
    "shapes-plot": growth.draw_shapes,
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
