"""`mxv` for predefined semirings and for a user-defined one, compared with SciPy or cuSPARSE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gasla
import semirings
from gasla.arrays import moved

from . import ENGINES, SKEWED_AND_FLAT, Calls, load

SEMIRINGS = {
    "plus_times": semirings.plus_times,
    "min_plus": semirings.min_plus,
    "user's own": semirings.Semiring(semirings.max, lambda width, rest: semirings.minimum(width, rest)),
}


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
        """Stored entries of the matrix divided by the time of the product, in billions per second."""
        return self.gteps(self.edges)

    track_gteps.unit = "GTEPS"  # type: ignore[attr-defined]
