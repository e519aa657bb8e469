"""The benchmark graphs on the GPU: as `benchmarks.graphs` makes them, or made there by a module of the user's."""

from __future__ import annotations

import importlib.util
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import gasla
from gasla.bench import graphs
from gasla.generators import first_of_largest


class DeviceGraph:
    """An undirected graph with whole-number float32 weights on the GPU, and the vertices that searches start from."""

    def __init__(self, name: str, matrix: Any, sources: list[int] | None = None) -> None:
        self.name, self.matrix = name, matrix
        self.graph = gasla.Graph(matrix)
        self._sources = sources

    @cached_property
    def sources(self) -> list[int]:
        """Eight vertices of the largest component, the same as everywhere."""
        return self._sources or first_of_largest(gasla.connected_components(self.graph).labels.get(), 8)

    @cached_property
    def ends(self) -> tuple[Any, Any]:
        """Sources and destinations of all edges, to check answers with."""
        return self.graph.out.owners(), self.graph.out.indices


def load(name: str, generator: ModuleType | None = None) -> DeviceGraph:
    """Return a graph by its name; `generator.make(cupy, name)` gives n, sources, offsets, destinations, weights."""
    import cupy
    from cupyx.scipy.sparse import csr_matrix

    if generator is None:
        made = graphs.load(name)
        return DeviceGraph(name, csr_matrix(made.matrix), made.sources)
    n, _, indptr, indices, weights, *_ = generator.make(cupy, name)
    return DeviceGraph(name, csr_matrix((weights, indices, indptr), shape=(n, n)))


def generator_at(path: Path | None) -> ModuleType | None:
    """Import a module by the path of its file."""
    if path is None:
        return None
    found = importlib.util.spec_from_file_location(path.stem, path)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def pattern(matrix: Any, kind: Any = np.float32) -> Any:
    """The same edges, all of weight one."""
    import cupy

    return type(matrix)((cupy.ones(matrix.nnz, kind), matrix.indices, matrix.indptr), shape=matrix.shape)
