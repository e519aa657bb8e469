"""Plot of a run, with a panel per algorithm, bars of GTEPS by graph and contestant, and lines at the hardware limit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any

from gasla.bench.cells import GASLA, OWN, TEPS, Cell
from gasla.bench.reports.report import Report

PAPER, INK, FAINT, GRID = "#ffffff", "#1b2733", "#6b7783", "#e3e7eb"
OURS = "#0b6e99"
OTHERS = {  # for each other library, the color of its bars
    "graphblas": "#e08e45",
    "scipy": "#8aa29e",
    "networkit": "#c2575b",
    "igraph": "#9a86b8",
    "cusparse": "#7fa650",
    "cugraph": "#b49a3c",
    "gasla-cpu": "#7fb8d1",
    OWN: "#4f9a86",
}
TITLES = {
    "bfs": "breadth-first search, parents",
    "levels": "breadth-first search, levels",
    "sssp": "shortest paths",
    "pagerank": "PageRank, 20 iterations",
    "components": "connected components",
    "triangles": "triangles",
    "betweenness": "betweenness, sampled",
}
LABEL: dict[str, Any] = {"fontsize": 8, "color": INK, "bbox": {"facecolor": PAPER, "linewidth": 0, "pad": 0.8}}
COLUMNS = 3
MANY = 6  # if a panel has more groups of bars, the labels below them are slanted
CROWD = 30  # if a panel has more bars, no numbers are written above them
# If the line of the hardware limit is below this multiple of a bar's height, the bar's number is written above the
# line.
CLOSE = 1.9
DECADES = 6  # largest range of the axis of speeds in powers of ten; contestants that are slower get no visible bar


def draw(report: Report, path: Path) -> None:
    """Draw a report's plot and write it to a file, whose suffix determines the format."""
    from matplotlib.figure import Figure

    from gasla.demo.worldmap import picture_format
    from gasla.output import replacing

    each_panel = list(panels(report.cells))
    across = 2 if len(each_panel) == 4 else min(COLUMNS, max(1, len(each_panel)))
    rows = -(-len(each_panel) // across) or 1
    width, height = max(7.5, 4.6 * across), 2.5 + 3.1 * rows
    figure = Figure(figsize=(width, height), facecolor=PAPER, layout=None)
    space = 0.54 if any(len(bars) > MANY for _, bars in each_panel) else 0.42
    figure.subplots_adjust(0.75 / width, 1.15 / height, 1 - 0.2 / width, 1 - 1.35 / height, wspace=0.22, hspace=space)
    for place, (title, bars) in enumerate(each_panel, 1):
        panel(figure.add_subplot(rows, across, place, facecolor=PAPER), title, bars)
    write_around(figure, report, width, height)
    with replacing(path) as stream:
        figure.savefig(stream, format=picture_format(path), dpi=150, facecolor=PAPER)


def panels(cells: list[Cell]) -> Iterator[tuple[str, list[tuple[str, Cell]]]]:
    """Yield for each panel of the plot its title, and the cells that the panel shows, each with its label.

    Panels of algorithms come first, then those of matrix products, then those of a user's programs.
    """
    grouped: dict[tuple[int, str], list[tuple[str, Cell]]] = {}
    for cell in cells:
        family, _, member = cell.algorithm.partition(" ")
        if member and family in ("mxv", "mxm"):
            grouped.setdefault((1, f"{family} on {cell.graph}"), []).append((member, cell))
        elif family == "own":
            grouped.setdefault((2, f"a user's own programs on {cell.graph}"), []).append((member, cell))
        else:
            grouped.setdefault((0, TITLES.get(cell.algorithm, cell.algorithm)), []).append((cell.graph, cell))
    for key in sorted(grouped, key=lambda key: key[0]):
        yield key[1], grouped[key]


def shown(cell: Cell) -> list[str]:
    """Return the names of the contestants of a cell that get bars, that of the cell's own contestant first.

    A contestant that is neither gasla, a library, nor a user's function gets no bar here, such as a semiring with which
    another one is compared. It has a group of bars of its own.
    """
    return [cell.own, *(name for name in cell.entries if name != cell.own and name in (GASLA, *OTHERS))]


def panel(axes: Any, title: str, bars: list[tuple[str, Cell]]) -> None:
    """Draw the groups of bars of a panel, on a logarithmic scale of GTEPS. A line across each group is its hardware
    limit.
    """
    heights = [g for _, cell in bars for name in shown(cell) if (g := cell.gteps(name))]
    ceilings = [c for _, cell in bars if (c := ceiling(cell))]
    top = max([*heights, *ceilings], default=1.0) * 2.2
    bottom = max(min([*heights, *ceilings], default=0.1) / 2.5, top / 10**DECADES)
    axes.set_yscale("log")
    axes.set_ylim(bottom, top)
    roomy = sum(len(shown(cell)) for _, cell in bars) <= CROWD
    for place, (_, cell) in enumerate(bars):
        group(axes, place, cell, bottom, roomy)
    axes.set_xlim(-0.55, len(bars) - 0.45)
    is_slanted = len(bars) > MANY
    axes.set_xticks(range(len(bars)), [below for below, _ in bars], rotation=35 if is_slanted else 0)
    for label in axes.get_xticklabels() if is_slanted else ():
        label.set(ha="right", rotation_mode="anchor")
    plain(axes, title)


def plain(axes: Any, title: str) -> None:
    """Set the title, the grid and the axes of an empty panel."""
    axes.set_title(title, loc="left", fontsize=11, color=INK, weight="bold", pad=8)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.minorticks_off()
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=FAINT, labelsize=9, length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)


def group(axes: Any, place: int, cell: Cell, bottom: float, figures: bool = True) -> None:
    """Draw the bars of one cell, that of its own contestant first, and the hardware limit as a line.

    With `figures`, the bar of the own contestant has a number above it. `place` is the position of the group on the
    horizontal axis.
    """
    names = shown(cell)
    width = min(0.82 / len(names), 0.4)
    left = place - width * len(names) / 2
    for k, name in enumerate(names):
        center, height = left + (k + 0.5) * width, cell.gteps(name)
        if height is not None:
            axes.bar(center, height - bottom, 0.9 * width, bottom, color=color(cell, name), zorder=2)
        else:
            text = "wrong" if cell.entries[name].note.startswith("wrong") else "failed"
            axes.text(center, bottom * 1.15, text, rotation=90, fontsize=7, color=FAINT, ha="center", va="bottom")
        if figures and name == cell.own and height is not None:
            text, limit = f"{height:.2g}" if height < 99 else f"{height:,.0f}", ceiling(cell)
            above = limit if limit and height < limit < CLOSE * height else height
            axes.text(center, above * 1.08, text, ha="center", va="bottom", zorder=4, **LABEL)
    if limit := ceiling(cell):
        axes.hlines(limit, place - 0.45, place + 0.45, color=INK, linewidth=1.4, zorder=3)


def ceiling(cell: Cell) -> float | None:
    """Return the GTEPS of a call that takes as long as the lower bound of its time, or None without such a bound."""
    return cell.edges[0] / cell.floor.seconds / 1e9 if cell.floor and cell.edges else None


def color(cell: Cell, name: str) -> str:
    """Return the color of a contestant's bars. gasla and each other library have their own colors."""
    is_ours = name == GASLA or (name == cell.own and cell.algorithm.startswith("mxv"))
    return OURS if is_ours else OTHERS.get(name, FAINT)


def write_around(figure: Any, report: Report, width: float, height: float) -> None:
    """Write the title, the legend and the definition of TEPS around the panels."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    provenance = report.provenance
    device = provenance.get("gpu") or f"{provenance['cpu']}, {provenance['threads']} threads"
    colors = {name: color(cell, name) for cell in report.cells for name in cell.entries}
    handles: list[Any] = [Patch(color=OURS, label=GASLA)]
    handles += [Patch(color=c, label=name) for name, c in OTHERS.items() if colors.get(name) == c]
    if any(map(ceiling, report.cells)):
        handles.append(Line2D([], [], color=INK, linewidth=1.4, label="ceiling: bandwidth, random reads or barriers"))
    figure.text(0.02, 1 - 0.36 / height, "GTEPS, more is better", fontsize=16, weight="bold", color=INK, va="center")
    figure.text(0.02, 1 - 0.64 / height, device, fontsize=10, color=FAINT, va="center")
    style: dict[str, Any] = {"frameon": False, "fontsize": 9, "labelcolor": INK, "handlelength": 1.2}
    corner = 0.013, 1 - 0.74 / height
    figure.legend(handles=handles, loc="upper left", bbox_to_anchor=corner, ncols=len(handles), **style)
    commit = f" ({provenance['commit'][:10]})" if provenance.get("commit") else ""
    origin = f"gasla {provenance['versions'].get('gasla', 'from a source tree')}{commit}, {provenance['date'][:10]}"
    busy = "; ".join(f"{what}: {each}" for what, each in report.disturbed().items())
    warning = wrap(f"The machine was busy with other work, and times may be too high: {busy}", int(16 * width))
    text = "\n".join([*wrap(TEPS, int(16 * width)), *(warning if busy else []), origin])
    figure.text(0.02, 0.1 / height, text, fontsize=7.5, color=FAINT, va="bottom", linespacing=1.5)
