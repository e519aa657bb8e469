"""How cost grows with a graph's size: slopes, a picture, and the size from which on the GPU is faster."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from benchmarks.measured import ALGORITHMS, CPU, Files, markdown
from gasla.bench.cells import Cell
from gasla.bench.reports import plot


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


Lines = dict[str, list[tuple[int, float]]]  # sizes and seconds, by what a line is called
COLOURS = [plot.OURS, "#e08e45", "#c2575b", "#7fa650", "#9a86b8", "#8aa29e"]
MEASURES = {"m": "edges", "n": "vertices", "depth": "levels"}
GAP = 0.085  # of a panel's height, from one label to the next


def draw_growth(files: Files, path: Path) -> None:
    """A panel an algorithm, a line a family: milliseconds by edges, both logarithmic; faint lines have slope one.

    Of the CPU beside a GPU there is a dashed line.
    """
    algorithms, some = files.present(ALGORITHMS), families(files)
    colours = dict(zip(some, COLOURS))
    figure, panels = _figure(len(algorithms))
    for axes, algorithm in zip(panels, algorithms):
        found = {family: p for family, graphs in some.items() if (p := points(files, graphs, algorithm))}
        _lines(axes, found, colours)
        beside = {f: p for f in found if (p := points(files, some[f], algorithm, who=CPU))}
        _lines(axes, beside, colours, "--", linewidth=1.2)
        _finish(axes, found, colours, plot.TITLES.get(algorithm, algorithm), "edges")
    if any(CPU in cell.entries for cell in files.cells.values()):
        found = files.reports[0].provenance
        text = f"solid: {found['gpu']}; dashed: {found['cpu']}, {found['threads']} threads"
        figure.suptitle(text, x=0.01, ha="left", fontsize=10, color=plot.FAINT)
    figure.savefig(path, dpi=150, facecolor=plot.PAPER)


def draw_shapes(files: Files, path: Path) -> None:
    """A panel a family, by what varies most in it: edges, vertices or levels; a line an algorithm."""
    algorithms, some = files.present(ALGORITHMS), families(files)
    colours = dict(zip(algorithms, COLOURS))
    figure, panels = _figure(len(some))
    for axes, graphs in zip(panels, some.values()):
        measure = max(MEASURES, key=lambda kind: _spread([sizes(files, kind)[graph] for graph in graphs]))
        found = {a: sorted(p) for a in algorithms if (p := points(files, graphs, a, measure))}
        _lines(axes, found, colours)
        _finish(axes, found, colours, f"{graphs[0]} to {graphs[-1]}", MEASURES[measure])
    figure.savefig(path, dpi=150, facecolor=plot.PAPER)


def _spread(found: list[int]) -> float:
    return max(found) / min(found)


def _figure(count: int) -> tuple[Any, list[Any]]:
    """An empty picture of so many panels."""
    from matplotlib.figure import Figure

    columns = plot.columns(count)
    rows = -(-count // columns)
    figure = Figure(figsize=(4.2 * columns, 3.4 * rows), facecolor=plot.PAPER, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
    return figure, [figure.add_subplot(rows, columns, place, facecolor=plot.PAPER) for place in range(1, count + 1)]


def _lines(axes: Any, found: Lines, colours: dict[str, str], form: str = "o-", linewidth: float = 1.6) -> None:
    for name, some in found.items():
        across, seconds = zip(*some)
        axes.loglog(across, [1e3 * s for s in seconds], form, color=colours[name], markersize=4, linewidth=linewidth)


def _finish(axes: Any, found: Lines, colours: dict[str, str], title: str, measure: str) -> None:
    """What stands around the lines of a panel."""
    _label_ends(axes, found, colours)
    _proportional(axes)
    plot.plain(axes, title)
    axes.xaxis.set_major_formatter(_count)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes.set_xlabel(measure, fontsize=9, color=plot.FAINT)
    axes.set_ylabel("ms", fontsize=9, color=plot.FAINT)


def _count(value: float, _: int = 0) -> str:
    return f"{value / 1e6:g} M" if value >= 1e6 else f"{value / 1e3:g} k" if value >= 1e3 else f"{value:g}"


def _label_ends(axes: Any, found: Lines, colours: dict[str, str]) -> None:
    """The name of each line and its slope, at the right edge beside its end, moved apart where they would touch."""
    low, high = (math.log(y) for y in axes.get_ylim())
    ends = sorted((math.log(1e3 * some[-1][1]), name) for name, some in found.items())
    places = [(end - low) / (high - low) for end, _ in ends]
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + GAP)
    for i in range(len(places) - 1, -1, -1):
        places[i] = min(places[i], 1 - GAP * (len(places) - 1 - i))
    for place, (_, name) in zip(places, ends):
        across, seconds = found[name][-1]
        text = f"{name}  {slope(found[name]):.2f}" if len(found[name]) > 1 else name
        leader = {"arrowstyle": "-", "color": colours[name], "linewidth": 0.6, "alpha": 0.6}
        axes.annotate(
            text, (across, 1e3 * seconds), (1.03, place), textcoords="axes fraction", va="center", fontsize=9,
            color=colours[name], weight="bold", arrowprops={**leader, "relpos": (0, 0.5), "shrinkA": 0, "shrinkB": 3},
        )  # fmt: skip


def _proportional(axes: Any) -> None:
    """Faint lines along which time is proportional to the size."""
    limits = axes.get_xlim(), axes.get_ylim()
    (left, right), (low, high) = limits
    rate = 100 ** math.floor(math.log(low / right, 100))
    while rate * left < high:
        axes.plot([left, right], [rate * left, rate * right], color=plot.GRID, linewidth=0.8, zorder=0)
        rate *= 10
    axes.set_xlim(limits[0])
    axes.set_ylim(limits[1])
