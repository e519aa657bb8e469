"""Measure every function of docs/functions.md on four shapes of graph, beside its floor and the fastest other code.

    python -m benchmarks.catalogue [--device gpu] [--scale 18] [--functions bfs,sssp] [--json FILE]
    python -m benchmarks.catalogue --specialists FILE    also with times of specialists, or commands that print them

A function is called as its task in `gasla bench` says, on an R-MAT graph, a uniformly random one, a random geometric
one and a grid of 2**scale vertices. Its floor is that of `gasla.bench.limits.floors`, and its best published method
stands in its row, at the end of its file. `python -m benchmarks.tables` then writes docs/floors.md from the file.

The file of specialists has columns device, graph, function, specialist, ms and command, separated by commas. A command
is run where there is no time: `{graph}` stands for the path of the graph in Matrix Market format, and the last number
that the command prints is its time in milliseconds.
"""

from __future__ import annotations

import csv
import inspect
import re
import shlex
import signal
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gasla
from benchmarks.script import Script, command, markdown
from gasla.arrays import Device
from gasla.bench import cells, peers, tasks
from gasla.bench.cells import Cell, Entry
from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.limits import ceilings
from gasla.bench.reports import table
from gasla.bench.reports.report import Report
from gasla.bench.reports.table import milliseconds
from gasla.cli.bench import names
from gasla.names import meant
from gasla.rows import rows

FUNCTIONS = Path(__file__).resolve().parents[1] / "docs" / "functions.md"
SHAPES = ("rmat", "urand", "rgg", "grid")
YARDSTICK = "connected_components"
NO_FLOOR = 1e-7  # seconds; lower floors are of functions that may look at a few edges only
LONG = 20  # times as long as the yardstick; longer calls need a reason
ROUNDS, BUDGET, LIMIT = 5, 0.3, 10.0
COLUMNS = "device", "graph", "function", "specialist", "ms", "command"  # of a file of specialists


@dataclass(frozen=True)
class Function:
    """A public function, as docs/functions.md lists it."""

    name: str
    section: str
    devices: str  # what the page says that it runs on

    @property
    def task(self) -> str:
        """The task of `gasla bench` that measures it."""
        return tasks.names_of(self.name)[0]


def functions() -> list[Function]:
    """Return the functions of docs/functions.md, in its order, without the parts of which programs are made."""
    found, section = [], ""
    text = FUNCTIONS.read_text(encoding="utf-8").partition("## Programs of your own")[0]
    for line in text.splitlines():
        section = line[3:] if line.startswith("## ") else section
        if line.startswith("| `"):
            columns = [column.strip() for column in line.split("|")]
            each = re.findall(r"`(\w+)`", columns[1])
            found += [Function(name, section, columns[4]) for name in each if inspect.isroutine(getattr(gasla, name))]
    return found


# --- specialists ------------------------------------------------------------------------------------------------------


def specialists(path: Path | None, device: Device, graph: BenchmarkGraph) -> Iterator[dict[str, Any]]:
    """Yield the times of specialists on a graph, from a file of times and commands; commands are run."""
    if path is None:
        return
    with open(path, encoding="utf-8", newline="") as file:
        listed = [row for row in csv.DictReader(file) if (row["device"], row["graph"]) == (device, graph.name)]
    with TemporaryDirectory() as folder:
        written = Path(folder) / f"{graph.name}.mtx"
        if any(not row["ms"] for row in listed):
            gasla.io.write(written, graph.on("cpu").matrix)
        for row in listed:
            ms = float(row["ms"]) if row["ms"] else run(row["command"], written)
            yield {"graph": graph.name, "function": row["function"], "specialist": row["specialist"], "ms": ms}


def run(text: str, graph: Path) -> float:
    """Run the command of a specialist, and return the last number that it prints."""
    words = [word.replace("{graph}", str(graph)) for word in shlex.split(text)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    printed = re.findall(r"\d+(?:\.\d*)?(?:[eE][-+]?\d+)?", done.stdout)
    if done.returncode or not printed:
        raise RuntimeError(f"{text!r} returned {done.returncode} and printed {done.stdout[-200:]!r}; expected a number")
    return float(printed[-1])


# --- measuring --------------------------------------------------------------------------------------------------------


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in what takes longer."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"over {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def measured(
    graph: BenchmarkGraph, function: Function, rivals: list[str], settings: cells.Settings, limit: float
) -> Cell:
    """Return the cell of a function, without times if it takes longer than the limit."""
    try:
        with limited(limit):
            return next(cells.measure(graph, [function.task], rivals, settings))
    except Exception as error:  # such as an error in making an input, or memory that is missing
        note = f"failed: {type(error).__name__}: {error}"
        return Cell(graph.name, graph.device, function.task, cells.GASLA, [], {cells.GASLA: Entry(note, [])})


def refused(options: Any) -> str:
    """Return what is wrong with the options, which would show only after hours, or leave the tables empty."""
    known = [each.name for each in functions()]
    if unknown := [name for name in options.functions or () if name not in known]:
        return f"--functions: {FUNCTIONS.name} has no {unknown[0]!r}{meant(unknown[0], known)}"
    if unknown := [shape for shape in options.shapes if shape not in SHAPES]:
        return f"--shapes: there is no shape {unknown[0]!r}; expected some of {', '.join(SHAPES)}"
    if "grid" in options.shapes and options.scale % 2:
        return f"--scale {options.scale}: a square grid needs an even one; leave the grid out of --shapes"
    if options.specialists is not None:
        try:
            with open(options.specialists, encoding="utf-8", newline="") as file:
                columns = csv.DictReader(file).fieldnames or ()
        except OSError as error:
            return f"--specialists: {error}"
        if missing := [name for name in COLUMNS if name not in columns]:
            return f"--specialists: {options.specialists} has no column {missing[0]!r}; expected {','.join(COLUMNS)}"
    return ""


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line, and measure. Returns 1 if an answer was wrong or a function failed."""
    parser = command(__doc__, "device", "graphs_module", "commit", "json", rounds=ROUNDS, budget=BUDGET)
    add = parser.add_argument
    add("--scale", type=int, default=18, help="logarithm of the number of vertices (%(default)s)")
    add("--shapes", type=names, default=SHAPES, help="comma-separated (rmat,urand,rgg,grid)")
    add("--functions", type=names, help="comma-separated (all)")
    add("--peers", type=names, help="other libraries, comma-separated (all that are installed)")
    add("--specialists", type=Path, metavar="FILE", help="times of specialists, or commands that print them")
    add("--limit", type=float, default=LIMIT, help="seconds after which a function is given up (%(default)s)")
    add("--unverified", action="store_true", help="don't verify answers, which takes longer than finding them")
    script = Script(parser, arguments)
    if wrong_input := refused(script.options):
        parser.error(wrong_input)
    options, limits = script.options, ceilings.measure(script.device)
    report, others = Report.begin(limits, options.commit), list[dict[str, Any]]()
    settings = cells.Settings(options.rounds, options.budget, limits, verified=not options.unverified)
    rivals = peers.installed(script.device) if options.peers is None else options.peers
    chosen = [
        each
        for each in functions()
        if (options.functions is None or each.name in options.functions) and script.device.upper() in each.devices
    ]
    print(*table.introduction(report), "", table.HEADER, sep="\n", flush=True)
    try:
        for shape in options.shapes:
            graph = script.load(f"{shape}{options.scale}")
            report.describe(graph)
            for function in chosen:
                cell = measured(graph, function, rivals, settings, options.limit)
                report.cells.append(cell)
                print(table.line(cell), flush=True)
            others += specialists(options.specialists, script.device, graph)
    finally:  # an interrupted run keeps its results
        if options.json:
            report.write(options.json, specialists=others)
    wrong = [f"{cell.algorithm} on {cell.graph}" for cell in report.cells if cell.wrong]
    print("", f"wrong, failed or given up: {', '.join(wrong) or 'none'}", sep="\n")
    return int(bool(wrong))


# --- tables of docs/floors.md -----------------------------------------------------------------------------------------


class Measured:
    """The results of a run, by function and graph."""

    def __init__(self, found: Iterable[Cell], specialists: Iterable[dict[str, Any]]) -> None:
        self.cells = {(cell.algorithm, cell.graph): cell for cell in found}
        self.graphs = list(dict.fromkeys(graph for _, graph in self.cells))
        self.specialists: dict[tuple[str, str], tuple[float, str]] = {}
        for row in specialists:
            key, one = (row["function"], row["graph"]), (row["ms"], row["specialist"])
            self.specialists[key] = min(one, self.specialists.get(key, one))

    def of(self, function: Function, graph: str) -> Cell | None:
        """Return the cell of a function."""
        return self.cells.get((function.task, graph))

    def longer(self, function: Function, graph: str) -> float | None:
        """Return how many times as long a call takes as that of the yardstick."""
        own, other = self.of(function, graph), self.cells.get((tasks.names_of(YARDSTICK)[0], graph))
        seconds, unit = own and own.seconds(), other and other.seconds()
        return seconds / unit if seconds and unit else None

    def cell(self, function: Function, graph: str) -> str:
        """Milliseconds, and how many times as long that is as the floor, the yardstick and the fastest other code."""
        cell = self.of(function, graph)
        if cell is None:
            return ""
        seconds = cell.seconds()
        if seconds is None:
            return "over the limit" if "TimeoutError" in cell.wrong else "failed" if cell.wrong else "left out"
        least = cell.floor.seconds if cell.floor else 0
        parts = [milliseconds(seconds), times(seconds / least if least > NO_FLOOR else None)]
        parts.append(times(self.longer(function, graph)))
        rival = self.specialists.get((function.name, graph))
        if cell.best and (best := cell.seconds(cell.best)):
            rival = min((1e3 * best, cell.best), rival or (float("inf"), ""))
        parts.append(f"{times(1e3 * seconds / rival[0])} {rival[1]}" if rival else "–")
        return ", ".join(parts)


def times(ratio: float | None) -> str:
    """Return a ratio with two significant digits."""
    if ratio is None:
        return "–"
    return f"{ratio:.2g}" if ratio < 99.5 else f"{ratio:,.0f}"


def by_function(results: Measured) -> str:
    """One row per function, one column per graph."""
    lines, section = [], ""
    for function in functions():
        found = [results.cell(function, graph) for graph in results.graphs]
        if not any(found):
            continue
        if function.section != section:
            section = function.section
            lines.append([f"**{section}**", *[""] * len(found)])
        on_part = ", of the part" if tasks.TASKS[function.task].on_part else ""
        lines.append([f"`{function.name}`{on_part}", *found])
    return markdown(["", *results.graphs], lines)


def methods(results: Measured) -> str:
    """One row per measured function: its best published method."""
    best = {row.function.__name__: row.method for row in rows()}
    found = [each for each in functions() if any(results.of(each, graph) for graph in results.graphs)]
    return markdown(["function", "method"], ([f"`{each.name}`", best[each.name]] for each in found))


def reasons(results: Measured) -> str:
    """One row per function that takes over `LONG` times as long as the yardstick: where, and why."""
    why = {row.function.__name__: row.longer for row in rows()}
    lines = []
    for function in functions():
        ratios = {graph: results.longer(function, graph) for graph in results.graphs}
        over = [f"{graph} {times(ratio)}" for graph, ratio in ratios.items() if ratio is not None and ratio > LONG]
        over += [f"{g} over the limit" for g in results.graphs if results.cell(function, g) == "over the limit"]
        if over:
            lines.append([f"`{function.name}`", ", ".join(over), why[function.name] or "**no reason is known**"])
    return markdown(["function", f"times `{YARDSTICK}`", "why"], lines)


if __name__ == "__main__":
    raise SystemExit(main())
