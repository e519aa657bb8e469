"""Measure algorithms on a graph that is mapped from disk, in a process whose memory is limited to half of the graph.

    python -m benchmarks.mapped [--scale 20] [--folder FOLDER] [--output FILE]

The process's own memory (RLIMIT_DATA: all but mapped files) may grow by half of the graph's bytes. The files are in the
page cache if it has room for them, as opening a graph reads its ids: the times say nothing of the disk.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import gasla
from gasla import datasets, io
from gasla.bench.reports.provenance import provenance

CALLS: dict[str, Callable[[gasla.Graph], Any]] = {
    "bfs": lambda graph: gasla.bfs(graph, 0),
    "pagerank, 1 iteration": lambda graph: gasla.pagerank(graph, weighted=False, max_iter=1),
    "pagerank, 10 iterations": lambda graph: gasla.pagerank(graph, weighted=False, max_iter=10),
    "connected_components": gasla.connected_components,
    "sssp": lambda graph: gasla.sssp(graph, 0),
    "core_number": gasla.core_number,
}


def measure(folder: Path, name: str, limited: bool) -> None:
    """Print one line on an algorithm; without a limit, only compile and store its code."""
    warnings.simplefilter("ignore", gasla.ConvergenceWarning)
    call, graph = CALLS[name], io.open(folder)
    call(gasla.Graph(datasets.rmat(8)))  # imports modules and starts threads, whose stacks count
    if not limited:
        call(graph)
        return
    with open("/proc/self/status") as status:
        data = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))
    allowed = sum(path.stat().st_size for path in folder.iterdir()) // 2
    resource.setrlimit(resource.RLIMIT_DATA, (data + allowed,) * 2)
    began = time.perf_counter()
    call(graph)
    print(f"{name:28}{time.perf_counter() - began:10.3f} s")


def lines(folder: Path) -> Iterator[str]:
    """The table, line by line; each algorithm runs in new processes."""
    size = sum(path.stat().st_size for path in folder.iterdir())
    yield f"{io.open(folder)}, {size / 1e6:,.0f} MB on disk, {size / 2e6:,.0f} MB of memory allowed"
    for name in CALLS:
        command = [sys.executable, "-m", "benchmarks.mapped", "--measure", str(folder), "--call", name]
        subprocess.run(command, check=True)
        done = subprocess.run([*command, "--limited"], check=True, stdout=subprocess.PIPE, text=True)
        yield done.stdout.rstrip()


def main() -> None:
    """Write the graph, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--folder", type=Path, help="a disk with room for the graph")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--call", help=argparse.SUPPRESS)
    parser.add_argument("--limited", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure is not None:
        measure(options.measure, options.call, options.limited)
        return
    text = [str(provenance("cpu")), ""]
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "graph.gasla"
        io.write(path, datasets.rmat(options.scale).astype(np.float32))
        for line in lines(path):
            print(line, flush=True)
            text.append(line)
    if options.output is not None:
        options.output.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
