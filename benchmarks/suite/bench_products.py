"""`mxv` for predefined semirings and for one of a user's own, beside SciPy's product or cuSPARSE's; and `mxm`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gasla
from gasla.arrays import moved
from gasla.bench import mxm
from gasla.bench.mxv import SEMIRINGS

from . import ENGINES, SKEWED_AND_FLAT, Calls, load


class Products(Calls):
    """One product of a sparse matrix and a vector."""

    params = (
        ["scipy or cusparse", "plus_times", "min_plus", "user's own"],
        SKEWED_AND_FLAT,
        ["float32", "float64"],
        ENGINES,
    )
    param_names = ("semiring", "graph", "type", "engine")

    def prepare(self, semiring: str, graph: str, kind: str, engine: str) -> Callable[[], Any]:
        matrix = load(graph, engine).matrix.astype(kind)
        self.edges = matrix.nnz
        x: Any = moved(np.random.default_rng(1).random(matrix.shape[0]).astype(kind), engine)  # type: ignore[arg-type]
        if semiring not in SEMIRINGS:
            return lambda: matrix @ x
        return lambda: gasla.mxv(matrix, x, SEMIRINGS[semiring])

    def time_mxv(self, semiring: str, graph: str, kind: str, engine: str) -> None:
        """The time of one product."""
        self.call()

    def track_gteps(self, semiring: str, graph: str, kind: str, engine: str) -> float:
        """Stored entries of the matrix over the time of the product, in billions a second."""
        return self.gteps(self.edges)

    track_gteps.unit = "GTEPS"  # type: ignore[attr-defined]


class Matrices(Calls):
    """One product of two matrices: a square, closed wedges at the entries of a mask, many columns at once."""

    params = (["plus_times", "min_plus", "plus_pair at entries", "64 columns"], ["rmat14", "grid16"], ENGINES)
    param_names = ("product", "graph", "engine")

    def prepare(self, product: str, graph: str, engine: str) -> Callable[[], Any]:
        case = next(case for case in mxm.cases(load(graph, engine), {}) if case.name == product)
        self.products, call = case.products, next(iter(case.calls.values()))
        return lambda: call(0)

    def time_mxm(self, product: str, graph: str, engine: str) -> None:
        """The time of one product."""
        self.call()

    def track_gteps(self, product: str, graph: str, engine: str) -> float:
        """Products of two entries over the time, in billions a second."""
        return self.gteps(self.products)

    track_gteps.unit = "GTEPS"  # type: ignore[attr-defined]
