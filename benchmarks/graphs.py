"""Benchmark graphs on a device; optionally made on the GPU by a Python file, because large ones take minutes."""

from __future__ import annotations

import importlib.util
from argparse import ArgumentParser
from pathlib import Path
from types import ModuleType

from gasla.arrays import Device, module_of
from gasla.bench import graphs
from gasla.bench.graphs import BenchmarkGraph


def module_at(path: Path | None) -> ModuleType | None:
    """Import a module from a file."""
    if path is None:
        return None
    found = importlib.util.spec_from_file_location(path.stem, path)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def check_device(parser: ArgumentParser, device: Device) -> None:
    """Refuse a device that is missing, before graphs are made."""
    try:
        module_of(device)
    except RuntimeError as error:
        parser.error(f"--device {device}: {error}")


def load(name: str, device: Device, generator: ModuleType | None = None) -> BenchmarkGraph:
    """A graph on a device. `generator.make(cupy, name)` returns n, rows, offsets, columns, weights, fingerprint."""
    if generator is None or device == "cpu":
        return graphs.load(name).on(device)
    import cupy
    from cupyx.scipy.sparse import csr_matrix

    n, _, indptr, indices, weights, *more = generator.make(cupy, name)
    matrix = csr_matrix((weights, indices, indptr), shape=(n, n))
    return BenchmarkGraph(name, matrix, fingerprint=f"{more[0]:016x}" if more else None)
