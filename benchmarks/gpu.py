"""Measure the GPU engine, and compare each figure with its upper bound: the cells of `gasla bench`, and some more.

    python -m benchmarks.gpu [--graphs rmat22,grid24] [--algorithms bfs,sssp] [--json FILE [--add]]

Bounds are times on one H100, or ratios. The file is written after every algorithm, so that an interrupted run keeps its
results; `--add` keeps results of a previous run at the same commit on the same GPU. Graphs of 2**22 vertices and more
take minutes to make on the CPU, once; `--graphs-module FILE` is a Python file whose `make(cupy, name)` makes them on
the GPU.
"""

from __future__ import annotations

import json
import time
import traceback
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import numpy as np

import gasla
from benchmarks import catalogue, compare, first_calls, programs
from benchmarks.script import Script, command
from gasla import verify
from gasla.bench import cells, peers, tasks
from gasla.bench.cells import Cell
from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.limits import ceilings, floors
from gasla.bench.limits.floors import Floor
from gasla.bench.reports import table
from gasla.bench.reports.report import Report
from gasla.bench.reports.table import milliseconds
from gasla.bench.runner import repeated

GRAPHS = ("rmat22", "kron21", "urand22", "rmat24", "rgg22", "grid24")
MILLISECONDS: dict[str, tuple[float | None, ...]] = {  # upper bounds on the graphs above
    "bfs": (0.25, 0.15, 0.45, 0.8, 6.5, 22),
    "sssp": (4.5, 4.5, 4.2, None, 27, 60),
    "pagerank iteration": (0.85, 0.95, 1.15, 4, 0.18, 0.27),
    "pagerank": (16, 14, 13, 65, 7.5, 14),
    "components": (1.0, 0.4, 1.2, 4, 1.0, 3),
    "triangles": (100, 300, 8, None, 2.5, 0.8),
    "betweenness": (40, 40, 60, None, 150, 500),
    "multi_source_bfs": (10, None, 7, None, 110, 150),
    "core_number": (120, None, 20, None, 25, 12),
    "label_propagation": (60, None, 80, None, 30, 40),
    "louvain_communities": (400, None, 600, None, 200, 300),
    "hits": (42, None, 46, None, 8, 12),  # 20 iterations
    "random_walks": (13.7, None, None, None, None, None),  # 16 steps of 4.3 million walkers, 5 billion steps per second
    "maximal_independent_set": (4.5, None, 9, None, 1.2, 1.9),
    "minimum_spanning_forest": (35, None, 30, None, 20, 60),
    "katz": (3, None, 40, None, 4, None),
    "eigenvector": (4.3, None, 5, None, 5.5, None),
    "strong_components": (40, None, None, None, None, None),
    "aggregate_features": (20, None, 30, None, 6, 6),  # 64 float32 numbers per vertex
}
CALL = 100  # microseconds, for calls on 1,000 vertices
FIRST_CALL = {"nothing compiled": 1.5, "compiled before": 0.05}  # seconds
PATIENCE = 0.15  # seconds of repeated calls for figures that are not cells
ITERATIONS = 10, 30  # two runs of PageRank, whose difference gives the time of an iteration
NAMES = {"levels": "bfs", "bfs": "bfs with parents"}  # names of these cells here
ROUNDS, BUDGET, SOME = 56, 0.6, 8
SAME = "commit", "gpu"  # must agree between runs in the same file
HEADER = f"{'graph':<15}{'':<22}{'figure':>10}    {'bar':>7}        {'floor':>8}"


class Figure(NamedTuple):
    """A result, its upper bound, and the times that it was derived from."""

    graph: str
    name: str
    value: float
    unit: str  # "ms", "us", "s", "x" for a ratio, or "" for a count
    bar: float | None = None
    wrong: str = ""  # what is wrong with the answer
    note: str = ""
    runs: Any = None  # times in seconds, if they are not in a cell
    floor: Floor | None = None

    @property
    def verdict(self) -> str:
        """Whether the figure is within its bound, as one word."""
        if self.wrong:
            return "WRONG"
        return "" if self.bar is None else "ok" if self.value <= self.bar else "OVER"

    def line(self) -> str:
        """The figure as one line of the table."""
        limit = "-" if self.bar is None else f"{self.bar:g}"
        row = f"{self.graph:<15}{self.name:<22}{self.value:>10.3f} {self.unit:<2}{limit:>8}  {self.verdict:<6}"
        floor = "" if self.floor is None else f"{1e3 * self.floor.seconds:.3f}"
        cause = "" if self.floor is None else f"floor of {self.floor.cause}"
        return f"{row}{floor:>8}  {'; '.join(filter(None, [self.wrong, self.note, cause]))}".rstrip()


def bar(graph: str, name: str) -> float | None:
    """The upper bound of a figure in milliseconds."""
    return MILLISECONDS[name][GRAPHS.index(graph)] if graph in GRAPHS and name in MILLISECONDS else None


def of_cell(cell: Cell) -> Figure:
    """The time of an algorithm, or the ratio of a product or of a user-written program."""
    if cell.against is not None or cell.algorithm.startswith("own "):
        ratio, best = cell.ratio, cell.best
        note = "" if best is None else f"{milliseconds(cell.seconds())} over {milliseconds(cell.seconds(best))} ms"
        value = float("nan") if ratio is None else ratio
        return Figure(cell.graph, cell.algorithm, value, "x", compare.bar(cell), cell.wrong, note)
    name, medians = NAMES.get(cell.algorithm, cell.algorithm), cell.medians(cell.own)
    said = [f"worst source {milliseconds(max(medians))}"] if len(medians) > 1 else []
    said += [f"{peer} {milliseconds(cell.seconds(peer))}" for peer in cell.entries if peer != cell.own]
    said += [f"{peer}: {entry.note}" for peer, entry in cell.entries.items() if entry.note and peer != cell.own]
    value = 1e3 * median(medians) if medians else float("nan")
    return Figure(cell.graph, name, value, "ms", bar(cell.graph, name), cell.wrong, ", ".join(said), None, cell.floor)


def seconds(call: Callable[[], Any], least: int = 1, most: int = 7) -> list[float]:
    """Times of several calls, each between two synchronizations of the stream."""
    return repeated(call, most, PATIENCE, least, "gpu")


# --- figures that are not cells ---------------------------------------------------------------------------------------


def pagerank(graph: BenchmarkGraph, limits: Any) -> Iterator[Figure]:
    """PageRank to an L1 change of 1e-6, and the time of an iteration."""

    def run(tol: float, iterations: int = 100) -> Any:
        return gasla.pagerank(graph.graph, weighted=False, dtype=np.float32, tol=tol, max_iter=iterations)

    result, wrong = run(1e-6), ""
    try:
        verify.pagerank(graph.on("cpu").graph, result.ranks.get(), weighted=False, tol=1e-5)
    except verify.VerificationError as error:
        wrong = str(error)
    few, many = (seconds(partial(run, 0.0, k), least=3) for k in ITERATIONS)
    each = 1e3 * (median(many) - median(few)) / (ITERATIONS[1] - ITERATIONS[0])
    work = floors.Work(graph.graph.n, graph.graph.m, graph.is_scattered, limits)
    limit, floor = bar(graph.name, "pagerank iteration"), floors.ITERATION(work, [])
    runs = {"10 iterations": few, "30 iterations": many}
    yield Figure(graph.name, "pagerank iteration", each, "ms", limit, wrong, "", runs, floor)
    taken, note = seconds(lambda: run(1e-6), least=3), f"{result.iterations} iterations"
    yield Figure(graph.name, "pagerank", 1e3 * median(taken), "ms", bar(graph.name, "pagerank"), wrong, note, taken)


def iterations(graph: BenchmarkGraph, _: Any) -> Iterator[Figure]:
    """The times of all iterations of a search and of shortest paths, by the clock of the GPU."""
    source = graph.sources[0]
    for name, program, start in (("bfs", programs.Levels(), "level"), ("sssp", programs.Paths(), "length")):
        for _ in range(2):
            rows = followed(program, {start: {source: 0}}, graph.graph, source)
        took = np.diff(rows[:, 3]) / 1e3
        saved = [[*map(int, row[:3]), round(t, 2)] for row, t in zip(rows[1:], took.tolist())][:64]
        value = float(np.median(took)) if len(took) else 0.0
        yield Figure(graph.name, f"{name} iterations", len(rows), "")
        yield Figure(graph.name, f"{name} iteration", value, "us", note="by the GPU's clock", runs=saved)
        yield Figure(graph.name, f"{name} longest iteration", float(took.max(initial=0)), "us")


def followed(program: Any, start: dict[str, Any], graph: Any, source: int) -> np.ndarray:
    """For each iteration: active vertices, edges, 1 for push or 2 for pull, nanoseconds on the GPU clock at its end."""
    from gasla.gpu.program.engine import Prepared
    from gasla.graph.arguments import NO_LIMIT
    from gasla.operations.prepare import Course, run_in_pieces
    from gasla.program.frontier import Frontier

    run = Prepared().begin(program, graph, start, Frontier(graph.n, [source]))
    try:
        course = Course(max_iterations=None, delta=None, trace=True, callback=None, progress=None, wait=True)
        return np.concatenate(run_in_pieces(run, NO_LIMIT, course))
    finally:
        run.close()


def small_calls() -> Iterator[Figure]:
    """The times of calls on a graph of 1,000 vertices."""
    rng = np.random.default_rng(1)
    graph = gasla.Graph.from_edges(*rng.integers(0, 1000, (2, 4000)), rng.random(4000, np.float32), n=1000).to("gpu")
    calls = {
        "bfs": lambda: gasla.bfs(graph, 0),
        "bfs with parents": lambda: gasla.bfs(graph, 0, parents=True),
        "sssp": lambda: gasla.sssp(graph, 0),
        "pagerank": lambda: gasla.pagerank(graph),
        "components": lambda: gasla.connected_components(graph),
        "mxv": lambda: gasla.mxv(graph, graph.values[:1000]),
    }
    for name, call in calls.items():
        for _ in range(3):
            call()
        runs = seconds(call, least=20, most=200)
        note = f"least {1e6 * min(runs):.1f}"
        yield Figure("1,000 vertices", f"call {name}", 1e6 * median(runs), "us", CALL, note=note)


def firsts() -> Iterator[Figure]:
    """The times of first calls in a process, with an empty and with a full cache of compiled code."""
    for (when, limit), rows in zip(FIRST_CALL.items(), first_calls.cold_and_warm(first_calls.ON_GPU, "gpu")):
        for name, wall, _ in rows:
            yield Figure(f"airports, {when}", f"first {name}", wall, "s", limit)


# --- the command ------------------------------------------------------------------------------------------------------

APART = {"call": small_calls, "first": firsts}  # figures that need no benchmark graph
FIGURES = {"pagerank": pagerank, "levels": iterations}  # figures that are not cells
ON_HOST = {each.task for each in catalogue.functions() if "GPU" not in each.devices}  # functions that refuse a GPU
CELLS = {  # the groups of cells for each name on the command line
    "bfs": ["levels", "bfs"],
    **{name: [name] for name in tasks.COMPARED if name not in ("levels", "bfs", "pagerank", *ON_HOST)},
    **{name: [name] for name in ("semirings", "programs")},
}
ALGORITHMS = tuple(dict.fromkeys(["bfs", "sssp", "pagerank", *CELLS, *FIGURES]))


def begin(parser: ArgumentParser, arguments: list[str] | None = None) -> Script:
    """A new run, or with `--add` the continuation of the run in the file; later figures replace earlier ones."""
    script = Script(parser, arguments, "figures")
    file, now = script.options.json, script.report.provenance
    if file is None or not script.options.add or not file.exists():
        script.report = script.report._replace(ceilings=ceilings.measure("gpu"))
        return script
    script.report = Report.read(file)
    if wrong := [key for key in SAME if script.report.provenance[key] != now[key]]:
        before = script.report.provenance[wrong[0]]
        raise ValueError(f"{file} has {wrong[0]} {before}; expected {now[wrong[0]]}, as of this run")
    for figure in json.loads(file.read_text())["figures"]:
        script.figures[figure["graph"], figure["name"]] = figure
    return script


def show(script: Script, figure: Figure) -> str:
    """Print a figure, and return its verdict."""
    script.say(figure.line(), (figure.graph, figure.name), **figure._asdict(), verdict=figure.verdict)
    return figure.verdict


def shown(script: Script, graph: str, name: str, make: Callable[[], Iterable[Figure]]) -> Iterator[str]:
    """Say the figures of one function; yields verdicts. A failure is shown as wrong, and the run continues."""
    import cupy

    try:
        for figure in make():
            yield show(script, figure)
    except Exception as error:
        traceback.print_exc()
        failure = f"failed: {type(error).__name__}: {error}"
        yield show(script, Figure(graph, name, float("nan"), "", wrong=failure))
    cupy.get_default_memory_pool().free_all_blocks()


def of_cells(script: Script, graph: BenchmarkGraph, groups: list[str]) -> Iterator[Figure]:
    """Return the figures of groups of cells."""
    assert script.report.ceilings is not None
    settings = cells.Settings(ROUNDS, BUDGET, script.report.ceilings, SOME)
    measured = partial(compare.measure, graph, groups, peers.installed("gpu"), settings)
    yield from map(of_cell, script.report.measure(graph, measured))


def measure(script: Script, graph: BenchmarkGraph, algorithms: list[str]) -> Iterator[str]:
    """Measure the requested algorithms on one graph; yields verdicts."""
    began = time.perf_counter()
    for name in algorithms:
        if name in CELLS:
            yield from shown(script, graph.name, name, partial(of_cells, script, graph, CELLS[name]))
        elif name in FIGURES:
            yield from shown(script, graph.name, name, partial(FIGURES[name], graph, script.report.ceilings))
    note = f"n={graph.graph.n:,} m={graph.graph.m:,}"
    script.say(Figure(graph.name, "total", time.perf_counter() - began, "s", note=note).line())


def command_line() -> ArgumentParser:
    """Return the parser of the options."""
    algorithms = ",".join([*APART, *ALGORITHMS])
    parser = command(__doc__, "graphs_module", "commit", "json", graphs=",".join(GRAPHS), algorithms=algorithms)
    parser.add_argument("--add", action="store_true", help="keep the results that the file already has")
    parser.set_defaults(device="gpu")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line, measure, and optionally write a JSON file; returns 1 if an answer was wrong."""
    script = begin(command_line(), arguments)
    options = script.options
    print(*table.introduction(script.report), "", HEADER, sep="\n", flush=True)
    verdicts: list[str] = []
    for name in APART:
        if name in options.algorithms:
            verdicts += shown(script, "", name, APART[name])
    for name in options.graphs if set(options.algorithms) - set(APART) else ():
        verdicts += measure(script, script.load(name), options.algorithms)
    print(", ".join(f"{verdicts.count(word)} {word}" for word in ("ok", "OVER", "WRONG")))
    return int("WRONG" in verdicts)


if __name__ == "__main__":
    raise SystemExit(main())
