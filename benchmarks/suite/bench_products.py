"""`mxv` for predefined semirings and for one of a user's own, beside SciPy's product or cuSPARSE's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gasla
import semirings
from gasla.arrays import moved

from . import ENGINES, SKEWED_AND_FLAT, Calls, load

OWN = semirings.Semiring(semirings.max, lambda width, rest: semirings.minimum(width, rest))
SEMIRINGS = {"plus_times": semirings.plus_times, "min_plus": semirings.min_plus, "own": OWN}


class Products(Calls):
    """One product of a sparse matrix and a vector."""

    params = (["scipy or cusparse", *SEMIRINGS], SKEWED_AND_FLAT, ["float32", "float64"], ENGINES)
    param_names = ("semiring", "graph", "type", "engine")

    def prepare(self, semiring: str, graph: str, kind: str, engine: str) -> Callable[[], Any]:
        matrix = load(graph)[0].astype(kind)
        if engine == "gpu":
            from cupyx.scipy.sparse import csr_matrix

            matrix = csr_matrix(matrix)
        x: Any = moved(np.random.default_rng(1).random(matrix.shape[0]).astype(kind), engine)  # type: ignore[arg-type]
        if semiring not in SEMIRINGS:
            return lambda: matrix @ x
        return lambda: gasla.mxv(matrix, x, SEMIRINGS[semiring])

    def time_mxv(self, semiring: str, graph: str, kind: str, engine: str) -> None:
        """The time of one product."""
        self.call()
