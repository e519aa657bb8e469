"""Benchmark graphs on the GPU, from a Python file that makes them there: on the CPU the large ones take minutes."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from gasla.bench import graphs
from gasla.bench.graphs import BenchmarkGraph


def module_at(path: Path | None) -> ModuleType | None:
    """Import a module by the path of its file."""
    if path is None:
        return None
    found = importlib.util.spec_from_file_location(path.stem, path)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def load(name: str, generator: ModuleType | None, known: dict[str, Any] | None = None) -> BenchmarkGraph:
    """A graph on the GPU; `generator.make(cupy, name)` gives n, rows, offsets, columns, weights and a fingerprint."""
    if generator is None:
        made = graphs.load(name)
        made.known.update(known or {})
        return made.on("gpu")
    import cupy
    from cupyx.scipy.sparse import csr_matrix

    n, _, indptr, indices, weights, *more = generator.make(cupy, name)
    known = {**(known or {}), **({"fingerprint": f"{more[0]:016x}"} if more else {})}
    return BenchmarkGraph(name, csr_matrix((weights, indices, indptr), shape=(n, n)), known.get("sources"), known)


def asked_for(doc: str | None, names: str, rounds: int) -> Iterator[tuple[BenchmarkGraph, int]]:
    """The graphs that a command line asks for, on either engine, and in how many rounds; by default these."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", default=names)
    parser.add_argument("--engine", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--graphs-module", type=Path)
    options = parser.parse_args()
    for name in options.graphs.split(","):
        on_cpu = options.engine == "cpu"
        yield graphs.load(name) if on_cpu else load(name, module_at(options.graphs_module)), options.rounds
