"""The graphs that are measured: the same name means the same graph, the same weights and the same sources everywhere.

They are made once and kept in the user's cache folder.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from gasla import datasets
from gasla.cache import cache_directory

FAMILIES = {
    "rmat": datasets.rmat,
    "kron": datasets.kron,
    "urand": datasets.uniform,
    "grid": datasets.grid,
    "rgg": datasets.rgg,
}


class BenchmarkGraph(NamedTuple):
    """An undirected graph with whole-number float32 weights, and the vertices that searches start from."""

    name: str
    matrix: csr_array
    sources: list[int]

    @property
    def pattern(self) -> csr_array:
        """The same edges, all of weight one, for the algorithms that ignore weights."""
        matrix = self.matrix
        return csr_array((np.ones_like(matrix.data), matrix.indices, matrix.indptr), shape=matrix.shape)


def load(name: str) -> BenchmarkGraph:
    """Return a graph by its name: `ny` or a family and a scale, such as `rmat20`."""
    path = cache_directory() / "benchmarks" / f"{name}.npz"
    if not path.exists():
        _keep(path, _make(name))
    with np.load(path) as kept:
        n = len(kept["indptr"]) - 1
        matrix = csr_array((kept["data"], kept["indices"], kept["indptr"]), shape=(n, n))
        return BenchmarkGraph(name, matrix, kept["sources"].tolist())


def _make(name: str) -> csr_array:
    if name == "ny":
        return datasets.with_weights(datasets.ny_roads())
    match = re.fullmatch(r"([a-z]+)(\d+)", name)
    if match is None or match[1] not in FAMILIES:
        raise ValueError(
            f"no benchmark graph is called {name!r}; expected ny or a scale after one of {', '.join(FAMILIES)}"
        )
    return FAMILIES[match[1]](int(match[2]))


def _keep(path: Path, matrix: csr_array) -> None:
    """Write the graph beside its final place first, so that an interrupted run leaves no half of a graph."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.npz")
    np.savez(
        unfinished,
        indptr=matrix.indptr,
        indices=matrix.indices,
        data=matrix.data,
        sources=datasets.sources(matrix),
    )
    unfinished.rename(path)
