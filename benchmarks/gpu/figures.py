"""Figures of the GPU engine: those of `gasla bench`'s cells, and some for who works on the engine."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any, NamedTuple

import numpy as np

import gasla
from benchmarks import compare
from benchmarks.gpu.bars import PARENTS, bar
from gasla.arrays import array_module
from gasla.bench import cells, tasks
from gasla.bench.cells import Cell, Entry
from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.limits import floors
from gasla.bench.limits.floors import Floor
from gasla.bench.peers.gasla_peer import Gasla
from gasla.bench.reports.table import milliseconds

PATIENCE = 0.15  # seconds of calls of what isn't a cell
ITERATIONS = 10, 30  # two runs of PageRank, whose difference gives an iteration
NAMES = {"levels": "bfs", "bfs": "bfs with parents"}  # what cells are called here


class Figure(NamedTuple):
    """A number, the most that it should be, and what it comes from."""

    graph: str
    name: str
    value: float
    unit: str  # "ms", "us", "s", "x" for a ratio, or "" for a count
    bar: float | None = None
    wrong: str = ""  # what is wrong with the answer
    note: str = ""
    runs: Any = None  # seconds, where there is no cell that holds them
    floor: Floor | None = None

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Figure:
        """The same, from what JSON holds."""
        floor = saved["floor"]
        return cls(**{**{k: saved[k] for k in cls._fields}, "floor": Floor(*floor) if floor else None})


def of_cell(cell: Cell) -> Figure:
    """The time of an algorithm, or the ratio of a product or of a user's own program."""
    family = cell.algorithm.partition(" ")[0]
    if family in ("mxv", "own") or (family == "mxm" and cell.best is not None):
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


def parents_over_levels(graph: BenchmarkGraph, settings: cells.Settings) -> Figure:
    """What parents cost: both searches in turns, as the host's speed wanders."""
    library, name = Gasla(graph), "parents / levels"
    calls = {which: call for which in NAMES if (call := tasks.bind(library, which, graph.sources, []))}
    runs = cells.in_turns(graph.device, calls, settings, keep=frozenset(calls))
    entries = {which: Entry("", took) for which, took in runs.items()}
    cell = Cell(graph.name, graph.device, name, "bfs", tasks.edges(graph, "bfs", []), entries)
    assert cell.ratio is not None
    return Figure(graph.name, name, cell.ratio, "x", PARENTS, note="both in turns", runs=runs)


def seconds(call: Callable[[], Any], least: int = 1, most: int = 7) -> list[float]:
    """Times of some calls, each between two synchronisations of the stream."""
    import cupy

    times: list[float] = []
    finish = cupy.cuda.get_current_stream().synchronize
    gc.collect()
    gc.disable()
    try:
        while len(times) < least or (len(times) < most and sum(times) < PATIENCE):
            finish()
            start = time.perf_counter()
            result = call()
            finish()
            times.append(time.perf_counter() - start)
            del result
    finally:
        gc.enable()
    return times


# --- PageRank: an iteration, and until it has converged ---------------------------------------------------------------


def pagerank(graph: BenchmarkGraph, ceilings: Any) -> Iterator[Figure]:
    """To a change of 1e-6 in L1, and an iteration."""
    result = _pagerank(graph, 1e-6)
    wrong = moved_by_another(graph.pattern.astype(np.float64), result.ranks)
    if not result.converged:
        wrong = wrong or "did not converge"
    few, many = (seconds(lambda k=k: _pagerank(graph, 0.0, k), least=3) for k in ITERATIONS)
    each = 1e3 * (median(many) - median(few)) / (ITERATIONS[1] - ITERATIONS[0])
    operands = graph.pattern, array_module(graph.matrix).ones(graph.graph.n, np.float32)
    product = seconds(lambda: operands[0] @ operands[1], least=3)
    runs = {"10 iterations": few, "30 iterations": many, "cusparse": product}
    note = f"cusparse's product {milliseconds(median(product))}"
    work = floors.Work(graph.graph.n, graph.graph.m, graph.is_scattered, ceilings)
    limit, floor = bar(graph.name, "pagerank iteration"), floors.iteration(work)
    yield Figure(graph.name, "pagerank iteration", each, "ms", limit, wrong, note, runs, floor)
    whole = seconds(lambda: _pagerank(graph, 1e-6), least=3)
    limit, note = bar(graph.name, "pagerank"), f"{result.iterations} iterations"
    yield Figure(graph.name, "pagerank", 1e3 * median(whole), "ms", limit, wrong, note, whole)


def _pagerank(graph: BenchmarkGraph, tol: float, iterations: int = 100) -> Any:
    return gasla.pagerank(graph.graph, weighted=False, dtype=np.float32, tol=tol, max_iter=iterations)


def moved_by_another(pattern: Any, rank: Any, alpha: float = 0.85, tolerance: float = 1e-5) -> str:
    """What is wrong if one more power iteration, in float64, moves the ranks. The graph is undirected."""
    n, rank = len(rank), rank.astype(np.float64)
    degree = pattern @ array_module(rank).ones(n)
    lost = float(rank[degree == 0].sum())
    further = (1 - alpha + alpha * lost) / n + alpha * (pattern @ (rank / array_module(rank).maximum(degree, 1)))
    moved = float(abs(further - rank).sum())
    return "" if moved < tolerance else f"another iteration moves the ranks by {moved:.2g}"


# --- iterations by the GPU's clock ------------------------------------------------------------------------------------


def levels(graph: BenchmarkGraph, _: Any) -> Iterator[Figure]:
    """What every iteration of a search and of shortest paths takes, by the GPU's own clock."""
    source = graph.sources[0]
    for name, made in (("bfs", search(source)), ("sssp", shortest_paths(source))):
        for _ in range(2):
            rows = iterations(*made, graph.graph, source)
        took = np.diff(rows[:, 3]) / 1e3
        saved = [[*map(int, row[:3]), round(t, 2)] for row, t in zip(rows[1:], took.tolist())][:64]
        value = float(np.median(took)) if len(took) else 0.0
        yield Figure(graph.name, f"{name} iterations", len(rows), "")
        yield Figure(graph.name, f"{name} iteration", value, "us", note="by the GPU's clock", runs=saved)
        yield Figure(graph.name, f"{name} longest iteration", float(took.max(initial=0)), "us")


def search(source: int) -> tuple[Any, dict[str, Any]]:
    """The program of `gasla.bfs`, and what it starts with."""
    from gasla.algorithms.traversal.bfs import Levels

    return Levels(), {"level": {source: 0}}


def shortest_paths(source: int) -> tuple[Any, dict[str, Any]]:
    """The program of `gasla.sssp`, and what it starts with."""
    from gasla.algorithms.paths.sssp import NearFirst

    return NearFirst(real=np.float32, lengths=np.float32), {"distance": {source: 0}}


def iterations(program: Any, start: dict[str, Any], graph: Any, source: int) -> np.ndarray:
    """For every iteration: active vertices, edges, 1 for push or 2 for pull, nanoseconds of a clock at its end."""
    from gasla.gpu.program.engine import Prepared
    from gasla.graph.arguments import NO_LIMIT
    from gasla.operations.prepare import Course, in_pieces
    from gasla.program.frontier import Frontier

    run = Prepared().begin(program, graph, start, Frontier(graph.n, [source]))
    try:
        return np.concatenate(in_pieces(run, NO_LIMIT, Course(trace=True)))
    finally:
        run.close()
