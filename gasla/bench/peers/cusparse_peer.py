"""Sparse matrix products of cuSPARSE, through CuPy, and algorithms made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasla.bench.peers import Products


class CuSparse(Products):
    """Sparse matrix products in float32, and algorithms made of them, such as PageRank by power iteration."""

    name = "cusparse"

    @staticmethod
    def dense(result: Any) -> Any:
        """Return the sum of the entries if the result is a sparse matrix. Return an array as it is."""
        return result.data.sum(dtype=np.float64) if hasattr(result, "tocsr") else result
