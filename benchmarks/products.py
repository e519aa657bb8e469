"""`mxv`: plus_times beside SciPy's `A @ x`, other semirings, and one of a user's own, beside plus_times."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import gasla
import semirings
from gasla.bench.graphs import BenchmarkGraph

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


def contestants(graph: BenchmarkGraph) -> dict[str, Callable[[int], np.ndarray]]:
    """Return the products, all of the same float32 matrix and vector."""
    A = graph.matrix
    x = np.random.default_rng(1).random(A.shape[0], np.float32)
    calls: dict[str, Callable[[int], np.ndarray]] = {"scipy": lambda _: A @ x}
    for name, semiring in SEMIRINGS.items():
        calls[name] = lambda _, semiring=semiring: gasla.mxv(A, x, semiring)
    return calls


def wrong(graph: BenchmarkGraph, calls: dict[str, Callable[[int], np.ndarray]]) -> dict[str, str]:
    """Return what is wrong with whose answer; NumPy's reductions over the rows are the reference."""
    A = graph.matrix
    x = np.random.default_rng(1).random(A.shape[0], np.float32)
    rows = np.flatnonzero(np.diff(A.indptr))
    starts, gathered = A.indptr[rows], x[A.indices]
    products = {
        "scipy": (np.add, A.data * gathered),
        "plus_times": (np.add, A.data * gathered),
        "plus_first": (np.add, A.data),
        "min_plus": (np.minimum, A.data + gathered),
        "max_times": (np.maximum, A.data * gathered),
        "min_max": (np.minimum, np.maximum(A.data, gathered)),
        "and_or": (np.logical_and, (A.data != 0) | (gathered != 0)),
        "xor_and": (np.logical_xor, (A.data != 0) & (gathered != 0)),
        "logaddexp_plus": (np.logaddexp, A.data + gathered),
        "user's own": (np.maximum, np.minimum(A.data, gathered)),
    }
    notes = {}
    for name, (reduce, values) in products.items():
        expected = reduce.reduceat(values, starts) if len(rows) else values
        if not np.allclose(calls[name](0)[rows], expected, rtol=1e-4):
            notes[name] = "wrong: differs from NumPy"
    return notes
