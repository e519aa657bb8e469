"""Measure the GPU engine, compare each figure with its bar, and check the answers: `gasla bench` for who works on it.

    python -m benchmarks.gpu [--graphs rmat22,grid24] [--algorithms bfs,sssp] [--json FILE [--add]]

Bars are in milliseconds on one H100, or ratios. The file is written after every algorithm, so that a run which is cut
short loses only what it was at; with `--add` it keeps what a run before has measured at the same commit on the same
GPU. Graphs of 2**22 vertices and more take minutes to make on the CPU, once; `--graphs-module FILE` names a Python file
whose `make(cupy, name)` makes them on the GPU.
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.gpu import figures, starting
from benchmarks.gpu.bars import GRAPHS
from benchmarks.gpu.features import features
from benchmarks.gpu.figures import Figure
from benchmarks.gpu.made import load, module_at
from gasla.bench import cells, peers, tasks
from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.limits import ceilings
from gasla.bench.reports import table
from gasla.bench.reports.provenance import provenance
from gasla.bench.reports.report import Report

APART = {"call": starting.small_calls, "first": starting.first_calls}  # what needs no graph
CELLS = {  # the groups of cells that make the figures
    "bfs": ["levels", "bfs"],
    **{name: [name] for name in tasks.ALGORITHMS if name not in ("levels", "bfs", "pagerank")},
    "mxv": ["mxv"],
    "mxm": ["mxm"],
    "own": ["programs"],
}
FIGURES = {  # what is no cell
    "pagerank": figures.pagerank,
    "levels": figures.levels,
    "features": features,
}
ALGORITHMS = tuple(dict.fromkeys(["bfs", "sssp", "pagerank", *CELLS, *FIGURES]))
SETTINGS = {"rounds": 56, "budget": 0.6, "some": 8}
MOST_SQUARED = 1 << 23  # edges of a graph whose matrix is multiplied by itself
SAME = "commit", "gpu"  # of runs that make one file
HEADER = f"{'graph':<15}{'':<22}{'figure':>10}    {'bar':>7}        {'floor':>8}"


def verdict(figure: Figure) -> str:
    """One word for whether the figure is good enough."""
    if figure.wrong:
        return "WRONG"
    if figure.bar is None:
        return ""
    return "ok" if figure.value <= figure.bar else "OVER"


def line(figure: Figure) -> str:
    """Return a figure as one line of the table."""
    limit = "-" if figure.bar is None else f"{figure.bar:g}"
    row = f"{figure.graph:<15}{figure.name:<22}{figure.value:>10.3f} {figure.unit:<2}{limit:>8}  {verdict(figure):<6}"
    floor = "" if figure.floor is None else f"{1e3 * figure.floor.seconds:.3f}"
    cause = "" if figure.floor is None else f"floor of {figure.floor.cause}"
    return f"{row}{floor:>8}  {'; '.join(filter(None, [figure.wrong, figure.note, cause]))}".rstrip()


def known_facts(paths: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """What files say of graphs, by name: objects by graph, or lists of objects with the graph in them."""
    known: dict[str, dict[str, Any]] = {}
    for path in paths:
        content = json.loads(path.read_text())
        facts = content if isinstance(content, dict) else {entry["graph"]: entry for entry in content}
        for name, entry in facts.items():
            known.setdefault(name, {}).update(entry)
    return known


class Run:
    """All figures of a run, shown as they come. What fails is shown as wrong, and the rest goes on."""

    def __init__(
        self, report: Report, show: Callable[[Figure], Any], file: Path | None = None, before: Iterable[Figure] = ()
    ) -> None:
        self.report, self.show, self.file, self.figures = report, show, file, []
        self.before = list(before)
        self.settings = cells.Settings(ceilings=report.ceilings, **SETTINGS)

    @classmethod
    def begin(cls, show: Callable[[Figure], Any], file: Path | None, add: bool, commit: str | None) -> Run:
        """A new run, or the one that the file holds goes on."""
        if file is None or not add or not file.exists():
            return cls(Report.begin(ceilings.measure("gpu"), commit), show, file)
        report, now = Report.read(file), provenance("gpu", commit)
        if wrong := [key for key in SAME if report.provenance[key] != now[key]]:
            raise ValueError(f"{file} is of another {wrong[0]}: {report.provenance[wrong[0]]}")
        before = [Figure.from_dict(figure) for figure in json.loads(file.read_text())["figures"]]
        return cls(report, show, file, before)

    def write(self) -> None:
        """Write all of it to the file, if there is one; of what was measured twice the later."""
        if self.file is None:
            return
        figures = {(f.graph, f.name): f for f in [*self.before, *self.figures]}
        cells = {(c.graph, c.algorithm): c for c in self.report.cells}
        report = self.report._replace(cells=list(cells.values()))
        report.write(self.file, figures=[{**f._asdict(), "verdict": verdict(f)} for f in figures.values()])

    def take(self, graph: str, name: str, make: Callable[..., Iterable[Figure]], *arguments: Any) -> None:
        """The figures of one function."""
        import cupy

        try:
            for figure in make(*arguments):
                self._add(figure)
        except Exception as error:
            traceback.print_exc()
            self._add(Figure(graph, name, float("nan"), "", wrong=f"failed: {type(error).__name__}: {error}"))
        cupy.get_default_memory_pool().free_all_blocks()
        self.write()

    def _add(self, figure: Figure) -> None:
        self.figures.append(figure)
        self.show(figure)

    def of_cells(self, graph: BenchmarkGraph, groups: list[str]) -> Iterable[Figure]:
        """The figures of groups of cells."""
        if groups == CELLS["mxm"] and graph.graph.m > MOST_SQUARED:
            return
        rivals = peers.installed("gpu") if groups == CELLS["mxm"] else self.rivals()
        for cell in self.report.measure(graph, groups, rivals, self.settings):
            yield figures.of_cell(cell)
        if groups == CELLS["bfs"]:
            yield figures.parents_over_levels(graph, self.settings)

    def rivals(self) -> list[str]:
        """Who else computes on this GPU and is installed, but for cuSPARSE, whose products are what it has."""
        return [name for name in peers.installed("gpu") if name != "cusparse"]

    def measure(self, graph: BenchmarkGraph, algorithms: list[str]) -> None:
        """Everything that is asked for, of one graph."""
        took = {}
        for name in algorithms:
            began = time.perf_counter()
            if name in CELLS:
                self.take(graph.name, name, self.of_cells, graph, CELLS[name])
            elif name in FIGURES:
                self.take(graph.name, name, FIGURES[name], graph, self.report.ceilings)
            took[name] = time.perf_counter() - began
        note = f"n={graph.graph.n:,} m={graph.graph.m:,}; {', '.join(f'{n} {t:.1f}' for n, t in took.items())}"
        self.show(Figure(graph.name, "all of it", sum(took.values()), "s", note=note))


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def main(arguments: list[str] | None = None) -> int:
    """Read the command line, measure, and write the JSON file if one is asked for; 1 if any answer was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__.partition("\n")[0])
    parser.add_argument("--graphs", type=_names, default=list(GRAPHS), help="comma-separated (%(default)s)")
    everything = [*APART, *ALGORITHMS]
    parser.add_argument("--algorithms", type=_names, default=everything, help="comma-separated (%(default)s)")
    parser.add_argument("--reference", type=Path, nargs="*", default=[], help="JSON files of known answers")
    parser.add_argument("--graphs-module", type=Path, help="a Python file that makes the graphs on the GPU")
    parser.add_argument("--commit", help="what to name as measured, where there is no git")
    parser.add_argument("--json", type=Path, help="write every run and its provenance to this file")
    parser.add_argument("--add", action="store_true", help="to what the file holds")
    options = parser.parse_args(arguments)
    run = Run.begin(lambda figure: print(line(figure), flush=True), options.json, options.add, options.commit)
    print(*table.introduction(run.report), "", HEADER, sep="\n", flush=True)
    for name in APART:
        if name in options.algorithms:
            run.take("", name, APART[name])
    known, generator = known_facts(options.reference), module_at(options.graphs_module)
    for name in options.graphs if set(options.algorithms) - set(APART) else ():
        graph = load(name, generator, known.get(name, {}))
        run.measure(graph, options.algorithms)
        del graph
    counted = {word: sum(verdict(f) == word for f in run.figures) for word in ("ok", "OVER", "WRONG")}
    print(", ".join(f"{count} {word}" for word, count in counted.items()))
    return 1 if counted["WRONG"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
