"""Matrix-vector products: plus_times compared with SciPy or cuSPARSE, other semirings compared with plus_times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import gasla
import semirings
from gasla.arrays import array_module, moved
from gasla.bench.cells import Cell, Entry, Settings
from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.limits import floors
from gasla.bench.runner import by_turns

WIDEST = semirings.Semiring(semirings.max, lambda width, rest: semirings.minimum(width, rest), name="user's own")
SEMIRINGS = {
    "plus_times": semirings.plus_times,
    "plus_first": semirings.plus_first,
    "min_plus": semirings.min_plus,
    "max_times": semirings.max_times,
    "min_max": semirings.min_max,
    "and_or": semirings.and_or,
    "xor_and": semirings.xor_and,
    "logaddexp_plus": semirings.logaddexp_plus,
    "user's own": WIDEST,
}
CHECKED_ROWS = 4096

Calls = dict[str, Callable[[int], Any]]


def contestants(graph: BenchmarkGraph) -> Calls:
    """Return the products to time, all of the same float32 matrix and vector; for gasla the matrix is a Graph."""
    A, x = graph.matrix, graph.vector
    calls: Calls = {library(graph): lambda _: A @ x}
    for name, semiring in SEMIRINGS.items():
        calls[name] = partial(_multiply, graph.graph, x, semiring)
    return calls


def _multiply(A: Any, x: Any, semiring: Any, _: int) -> Any:
    return gasla.mxv(A, x, semiring)


def library(graph: BenchmarkGraph) -> str:
    """The library that computes `A @ x`."""
    return {"cpu": "scipy", "gpu": "cusparse"}[graph.device]


def wrong(graph: BenchmarkGraph, calls: Calls) -> dict[str, str]:
    """Compare some rows with NumPy's reductions; return a note for each wrong answer."""
    data, gathered, rows, starts = _some_rows(graph)
    products: dict[str, tuple[Any, Any]] = {
        library(graph): (np.add, data * gathered),
        "plus_times": (np.add, data * gathered),
        "plus_first": (np.add, data),
        "min_plus": (np.minimum, data + gathered),
        "max_times": (np.maximum, data * gathered),
        "min_max": (np.minimum, np.maximum(data, gathered)),
        "and_or": (np.logical_and, (data != 0) | (gathered != 0)),
        "xor_and": (np.logical_xor, (data != 0) & (gathered != 0)),
        "logaddexp_plus": (np.logaddexp, data + gathered),
        "user's own": (np.maximum, np.minimum(data, gathered)),
    }
    notes = {}
    for name, call in calls.items():
        reduce, values = products[name]
        expected = reduce.reduceat(values, starts) if len(rows) else values[:0]
        if not np.allclose(moved(call(0), "cpu")[rows], expected, rtol=1e-4):
            notes[name] = "wrong: differs from NumPy"
    return notes


def _some_rows(graph: BenchmarkGraph) -> tuple[Any, Any, Any, Any]:
    """Entries of some nonempty rows, the vector elements they multiply, the rows, and where each begins; in NumPy."""
    A, x, xp = graph.matrix, graph.vector, array_module(graph.matrix)
    indptr = moved(A.indptr, "cpu").astype(np.int64)
    filled = np.flatnonzero(np.diff(indptr))
    rows = filled[:: max(1, len(filled) // CHECKED_ROWS)]
    lengths = indptr[rows + 1] - indptr[rows]
    starts = np.cumsum(lengths) - lengths
    places = xp.asarray(np.repeat(indptr[rows] - starts, lengths) + np.arange(lengths.sum()))
    return moved(A.data[places], "cpu"), moved(x[A.indices[places]], "cpu"), rows, starts


def measure(graph: BenchmarkGraph, settings: Settings) -> Iterator[Cell]:
    """The cells: plus_times compared with the library's product, other semirings compared with plus_times."""
    calls = contestants(graph)
    notes = wrong(graph, calls)
    right = {name: call for name, call in calls.items() if name not in notes}
    seconds = by_turns(right, settings.rounds, settings.budget, device=graph.device)
    for name in SEMIRINGS:
        rival = library(graph) if name == "plus_times" else "plus_times"
        entries = {who: Entry(notes.get(who, ""), seconds.get(who, [])) for who in (name, rival)}
        floor = floors.floor(graph, "row sums" if name == "plus_first" else "mxv", [], settings.ceilings)
        yield Cell(graph.name, graph.device, f"mxv {name}", name, [graph.graph.m], entries, floor, (rival,))
