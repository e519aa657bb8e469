"""cuSPARSE through CuPy: sparse products, and PageRank by power iteration."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.bench.peers import Products


class CuSparse(Products):
    """Sparse products in float32, and algorithms made of them."""

    name = "cusparse"

    @staticmethod
    def dense(result: Any) -> Any:
        """Return the sum of the entries of a sparse matrix, and an array as it is."""
        return result.data.sum(dtype=np.float64) if hasattr(result, "tocsr") else result
