"""Products of matrices: a graph's square, its closed wedges by a masked product, and 64 columns at once.

Beside SciPy's or cuSPARSE's, and GraphBLAS's; min_plus beside plus_times. What is counted are products of two entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import gasla
import semirings
from gasla.arrays import array_module, moved
from gasla.bench.graphs import BenchmarkGraph

GASLA, PLUS_TIMES = "gasla", "plus_times"
LANES = 64
MOST = 1 << 31  # products of a square; beyond, its memory and everybody's time are out of all proportion
PEERS = ("scipy", "graphblas", "cusparse")

Calls = dict[str, Callable[[int], Any]]


class Case(NamedTuple):
    """One product, and all who compute it; the first one is whom it is about."""

    name: str
    calls: Calls
    products: int
    total: Callable[[Any], float]  # of a result
    expected: float  # what that comes to
    bytes_moved: Callable[[Any], float]  # at least, by the first one's result


def cases(graph: BenchmarkGraph, rivals: dict[str, Any]) -> Iterator[Case]:
    """Yield the products of a graph, made ready."""
    A, xp = graph.matrix, array_module(graph.matrix)
    ones = xp.ones(A.shape[0])
    degrees, both = np.diff(moved(A.indptr, "cpu")).astype(np.int64), 8.0 * A.nnz
    products = int(degrees[moved(A.indices, "cpu")].sum())
    if products <= MOST:
        expected = float((ones @ A) @ (A @ ones))
        plus_times: Calls = {GASLA: lambda _: gasla.mxm(A, A), **_of(rivals, "square")}
        yield Case(PLUS_TIMES, plus_times, products, total, expected, lambda C: both + 8 * C.nnz)
        nearest = gasla.mxv(A, gasla.mxv(A, 0 * ones, semirings.min_plus), semirings.min_plus)
        semiring: Calls = {
            "min_plus": lambda _: gasla.mxm(A, A, semirings.min_plus),
            PLUS_TIMES: lambda _: gasla.mxm(A, A),
        }
        yield Case("min_plus", semiring, products, total_of_nearest, total(nearest), lambda C: both + 8 * C.nnz)
    L = lower(graph)
    lengths = np.diff(moved(L.indptr, "cpu")).astype(np.int64)
    masked: Calls = {GASLA: lambda _: gasla.mxm(L, L, semirings.plus_pair, mask=L), **_of(rivals, "closed_wedges")}
    count = float(gasla.triangle_count(graph.graph))
    wedges = int(lengths[moved(L.indices, "cpu")].sum())
    yield Case("plus_pair at entries", masked, wedges, total, count, lambda C: 4.0 * L.nnz + 8.0 * C.nnz)
    X = columns(graph)
    wide: Calls = {GASLA: lambda _: gasla.mxm(A, X), **_of(rivals, "columns")}
    size = 2.0 * X.nbytes + both
    yield Case(f"{LANES} columns", wide, LANES * A.nnz, total, float((ones @ A) @ X.sum(axis=1)), lambda _: size)


def _of(rivals: dict[str, Any], method: str) -> Calls:
    """The peers that have such a product."""
    found = {name: getattr(rival, method, None) for name, rival in rivals.items() if name in PEERS}
    return {name: partial(_call, call) for name, call in found.items() if call is not None}


def _call(product: Callable[[], Any], _: int) -> Any:
    return product()


def wrong(case: Case) -> dict[str, str]:
    """Return what is wrong with whose answer, by a sum of its entries."""
    notes = {}
    for name, call in case.calls.items():
        if name == PLUS_TIMES and case.name != PLUS_TIMES:
            continue  # it has been looked at
        try:
            found = case.total(call(0))
        except Exception as error:  # whatever a peer raises is its answer
            notes[name] = f"failed: {type(error).__name__}: {error}"
            continue
        if not np.isclose(found, case.expected, rtol=1e-3):
            notes[name] = f"wrong: its entries come to {found:g}; expected {case.expected:g}"
    return notes


def total(product: Any) -> float:
    """The sum of all entries of anybody's product."""
    if isinstance(product, gasla.Sparse):
        return float(product.data.sum(dtype=np.float64))
    if hasattr(product, "reduce_scalar"):
        return float(product.reduce_scalar().get(0))
    product = product.data if hasattr(product, "tocsr") else product
    return float(product[abs(product) < np.inf].sum(dtype=np.float64))


def total_of_nearest(product: gasla.Sparse) -> float:
    """The sum of the least entries of all rows."""
    start = array_module(product.indptr).zeros(product.shape[1])
    return total(gasla.mxv(product, start, semirings.min_plus))


def lower(graph: BenchmarkGraph) -> Any:
    """The edges to vertices before, those of large degrees first, as `triangle_count` would have them: a pattern."""
    from scipy.sparse import csr_array, tril

    A = graph.on("cpu").pattern
    order = np.argsort(-np.diff(A.indptr), kind="stable")
    L = csr_array(tril(A[order][:, order], -1, format="csr"))
    L.sort_indices()
    return on_device(L, graph)


def on_device(A: Any, graph: BenchmarkGraph) -> Any:
    """A matrix of SciPy's where the graph is."""
    indptr, indices, data = (moved(part, graph.device) for part in (A.indptr, A.indices, A.data))
    return type(graph.matrix)((data, indices, indptr), shape=A.shape)


def columns(graph: BenchmarkGraph) -> Any:
    """So many columns of numbers, the same for everybody."""
    x = np.random.default_rng(1).random((graph.matrix.shape[0], LANES), np.float32)
    return moved(x, graph.device)
