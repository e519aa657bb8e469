"""Measure algorithms on a graph that is mapped from disk, in a process whose memory is limited to half of the graph.

    python -m benchmarks.mapped [--scale 20] [--folder FOLDER] [--output FILE]

The process's own memory (RLIMIT_DATA: all but mapped files) may grow by half of the graph's bytes. The files are
removed from the page cache before each call, so that it reads from the disk; bytes read are those that Linux counts for
the process. For comparison the files are read from first to last byte, once by `read` and once through a mapping.
"""

from __future__ import annotations

import argparse
import mmap
import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gasla
from benchmarks.script import Script, command, new_process
from gasla import datasets, io
from gasla.bench.runner import timed

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
    import resource

    warnings.simplefilter("ignore", gasla.ConvergenceWarning)
    call, graph = CALLS[name], io.open(folder)
    call(gasla.Graph(datasets.rmat(8)))  # imports modules and starts threads, whose stacks count
    if not limited:
        call(graph)
        return
    with open("/proc/self/status") as status:
        data = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))
    allowed = sum(path.stat().st_size for path in folder.iterdir()) // 2
    forget(folder, [array for array in (*graph.lists.arrays(), graph.values) if array is not None])
    resource.setrlimit(resource.RLIMIT_DATA, (data + allowed,) * 2)
    show(name, lambda: call(graph))


def forget(folder: Path, arrays: list[Any]) -> None:
    """Remove the files from the page cache, once no page of them is mapped by this process."""
    for array in arrays:
        while isinstance(array, np.ndarray) and array.base is not None:
            array = array.base
        if isinstance(array, mmap.mmap):
            array.madvise(mmap.MADV_DONTNEED)
    for path in folder.iterdir():
        file = os.open(path, os.O_RDONLY)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def show(name: str, call: Callable[[], Any]) -> None:
    """Print the time of a call, and what it read from the disk."""
    before = _bytes_read()
    seconds, _ = timed(call)
    read = (_bytes_read() - before) / 1e6
    print(f"{name:28}{seconds:10.3f} s{read:10,.0f} MB read{read / seconds:10,.0f} MB/s", flush=True)


def _bytes_read() -> int:
    """The bytes that this process has had read from disks, page faults included."""
    with open("/proc/self/io") as counts:
        return next(int(line.split()[1]) for line in counts if line.startswith("read_bytes"))


def stream(folder: Path) -> None:
    """Print the rate at which the disk gives all files, by `read` and through mappings."""
    block = bytearray(1 << 22)

    def read() -> None:
        for path in folder.iterdir():
            with open(path, "rb", buffering=0) as file:
                while file.readinto(block):
                    pass

    def mapped() -> None:
        for path in folder.glob("*.npy"):
            array = np.load(path, mmap_mode="r")
            for begin in range(0, len(array), 1 << 20):
                array[begin : begin + (1 << 20)].max()

    for name, call in (("read", read), ("mapped, one thread", mapped)):
        forget(folder, [])
        show(name, call)


def main() -> None:
    """Write the graph, and measure."""
    parser = command(__doc__, "output")
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--folder", type=Path, help="a disk with room for the graph")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--call", help=argparse.SUPPRESS)
    parser.add_argument("--limited", action="store_true", help=argparse.SUPPRESS)
    script = Script(parser)
    options = script.options
    if options.measure is not None:
        if options.call is None:
            stream(options.measure)
        else:
            measure(options.measure, options.call, options.limited)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "graph.gasla"
        io.write(path, datasets.rmat(options.scale).astype(np.float32))
        size = sum(file.stat().st_size for file in path.iterdir())
        script.say(f"{io.open(path)}, {size / 1e6:,.0f} MB on disk, {size / 2e6:,.0f} MB of memory allowed")
        own = "-m", "benchmarks.mapped", "--measure", str(path)
        script.say(new_process(*own).rstrip())
        for name in CALLS:
            new_process(*own, "--call", name)  # compiles
            script.say(new_process(*own, "--call", name, "--limited").rstrip())


if __name__ == "__main__":
    main()
