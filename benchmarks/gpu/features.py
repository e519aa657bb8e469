"""Sums of the features of neighbours on the GPU: a product with a dense matrix of 16 columns and more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import gasla
import semirings
from benchmarks.gpu import figures
from benchmarks.gpu.bars import FEATURES_OF_64
from benchmarks.gpu.figures import Figure
from gasla.arrays import array_module, moved
from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.limits.floors import Floor
from gasla.bench.reports.table import milliseconds

FEATURES = 16, 64, 256
CHECKED = 1 << 12  # rows
SLICE = 1 << 20  # rows


def features(graph: BenchmarkGraph, ceilings: Any) -> Iterator[Figure]:
    """`A @ X` of so many columns beside cuSPARSE's. At least A and X are read once, and as much as X is written."""
    import cupy

    A, n, m = graph.graph, graph.graph.n, graph.graph.m
    for count in FEATURES:
        name, bar = f"features {count}", FEATURES_OF_64.get(graph.name) if count == 64 else None
        X = _numbers(n, count)
        own = _times(lambda X=X: gasla.mxm(A, X))
        theirs, note = _tried(lambda X=X: graph.matrix @ X)
        wrong = _wrong(graph, X)
        size = 8 * m + 8 * count * n
        floor = Floor(size / ceilings.rate("copy", size), "bytes")
        runs = {"gasla": own, "cusparse": theirs}
        yield Figure(graph.name, name, 1e3 * median(own), "ms", bar, wrong, f"cusparse {note}", runs, floor)
        runs, wrong = _by_program(A, X)
        yield Figure(graph.name, f"{name}, program", 1e3 * median(runs), "ms", bar, wrong, "", runs, floor)
        del X
        cupy.get_default_memory_pool().free_all_blocks()


def summing(count: int) -> type[gasla.VertexProgram]:
    """A user's program: the sums of neighbours' features."""

    class Summing(gasla.VertexProgram):
        x = gasla.vertex((np.float32, (count,)))
        total = gasla.vertex((np.float32, (count,)))
        reduce = semirings.plus
        direction = "out"
        everyone = True

        def gather(self, src, dst, edge):
            return src.x

        def apply(self, vertex, gathered):
            return {"total": gathered}

        def activate(self, before, after):
            return True

    return Summing


def _by_program(A: gasla.Graph, X: Any) -> tuple[list[float], str]:
    """Seconds of runs of the program, whose fields live in arrays that there are; and what is wrong with the sums."""
    out = {"x": X, "total": array_module(X).empty_like(X)}
    run = gasla.prepare(summing(X.shape[1]), A)
    times = _times(lambda: run(max_iterations=1, out=out))
    step = max(1, A.n // CHECKED)
    found, wanted = out["total"][::step], gasla.mxm(A, X, semirings.plus_second)[::step]
    return times, "" if np.allclose(moved(found, "cpu"), moved(wanted, "cpu"), rtol=1e-4) else "differs from mxm"


def _numbers(n: int, count: int) -> Any:
    """Random features, made some rows at a time: of over 2**31 numbers at once not every library is sure."""
    import cupy

    random, X = cupy.random.default_rng(1), cupy.empty((n, count), np.float32)
    for first in range(0, n, SLICE):
        rows = X[first : first + SLICE]
        rows[...] = random.random(rows.shape, dtype=np.float32)
    return X


def _times(call: Callable[[], Any]) -> list[float]:
    return figures.seconds(call, least=3)


def _tried(call: Callable[[], Any]) -> tuple[list[float], str]:
    """Its times, if another library can do it, and what to say of it."""
    import cupy

    try:
        found = _times(call)
    except Exception as error:
        return [], f"failed: {type(error).__name__}"
    finally:
        cupy.get_default_memory_pool().free_all_blocks()
    return found, f"{milliseconds(median(found))} ms"


def _wrong(graph: BenchmarkGraph, X: Any) -> str:
    """What is wrong with some rows, by SciPy on the CPU."""
    xp, step = array_module(X), max(1, graph.graph.n // CHECKED)
    found, some = gasla.mxm(graph.graph, X)[::step], graph.matrix[::step]
    columns, places = xp.unique(some.indices, return_inverse=True)
    wanted = csr_array((some.data.get(), places.get(), some.indptr.get())) @ X[columns].get()
    return "" if np.allclose(found.get(), wanted, rtol=1e-4) else "differs from SciPy"
