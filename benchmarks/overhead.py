"""Which share of a call is spent outside the kernels: in Python, on launching, on waking threads.

    python -m benchmarks.overhead [--graphs rmat10,rmat20] [--algorithms bfs,sssp] [--engine gpu] [--json FILE]

(`--graphs-module FILE` as for `python -m benchmarks.gpu`.)

Kernels tell how long they took, on the GPU by its own clock. `call` is the time of a call in a row of calls, on the GPU
of one at whose end the stream is waited for once, as some return before their kernel has ended: then Python's part of
the next passes meanwhile. `alone` is the time of a call there that is waited for. On graphs of over a million edges the
share should stay below 5%. Where in Python the time goes, a profiler says.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

from benchmarks.graphs import load, module_at
from benchmarks.suite import ALGORITHMS, call_of
from gasla.arrays import Device, finish
from gasla.bench.reports.provenance import provenance
from gasla.bench.reports.report import Report
from gasla.cpu.runtime import threads

GRAPHS = ("rmat10", "grid10", "rmat16", "grid20", "rmat20", "urand20", "ny")
FIRST = ("bfs", "levels", "sssp", "pagerank", "components", "triangles", "betweenness", "mxv")
SECONDS = {"cpu": 0.3, "gpu": 0.1}  # for each row of calls
LEAST, MOST = 3, 500  # calls
ROWS = 3  # of calls that are not waited for
LARGE, MOST_OUTSIDE = 1_000_000, 0.05  # on graphs of more edges at most this share of a call
COLUMNS = ("call", "alone", "kernel")

clock = time.perf_counter


def kernel_seconds(call: Callable[[], Any]) -> float:
    """What gasla's kernels take in a call, by the GPU's clock."""
    import cupy

    from gasla.gpu.runtime import compile as kernels

    events: list[tuple[Any, Any]] = []

    def between_events(launch: Callable[..., Any]) -> Callable[..., Any]:
        def launched(*arguments: Any, **options: Any) -> None:
            events.append((cupy.cuda.Event(), cupy.cuda.Event()))
            events[-1][0].record()
            launch(*arguments, **options)
            events[-1][1].record()

        return launched

    with mock.patch.object(kernels.Kernel, "launch", between_events(kernels.Kernel.launch)):
        call()
        cupy.cuda.get_current_stream().synchronize()
    return sum(float(cupy.cuda.get_elapsed_time(*pair)) for pair in events) / 1e3


def seconds_in_a_row(call: Callable[[], Any], alone: float) -> float:
    """The time of a call among many of which only the last is waited for."""
    count = max(LEAST, min(MOST, int(SECONDS["gpu"] / alone)))
    finish("gpu")
    began = clock()
    for _ in range(count):
        call()
    finish("gpu")
    return (clock() - began) / count


def repeat(measure: Callable[[], Any], device: Device) -> list[Any]:
    """What some measurements give."""
    began, found = clock(), []
    while len(found) < LEAST or (clock() - began < SECONDS[device] and len(found) < MOST):
        found.append(measure())
    return found


def seconds_of(call: Callable[[], Any], device: Device) -> dict[str, float]:
    """The time of a call and of its kernels in seconds, and the share outside of these: medians."""

    def plain() -> float:
        began = clock()
        call()
        finish(device)
        return clock() - began

    plain()  # compiles, and builds what the graph lacks
    found = {"call": median(repeat(plain, device))}
    if device == "gpu":
        found["alone"] = found["call"]
        found["call"] = median(seconds_in_a_row(call, found["alone"]) for _ in range(ROWS))
        found["kernel"] = median(repeat(lambda: kernel_seconds(call), device))
        return found | {"outside": max(0.0, 1 - found["kernel"] / found["call"])}
    with threads.time_kernels() as spent:

        def kernels() -> tuple[float, float]:
            before, seconds = spent(), plain()
            return 1e-9 * (spent() - before), seconds

        kernels()
        pairs = repeat(kernels, device)
    found["kernel"] = median(kernel for kernel, _ in pairs)
    return found | {"outside": median(1 - kernel / seconds for kernel, seconds in pairs)}


def each(calls: dict[str, Callable[[], Any]], device: Device) -> Iterator[tuple[str, dict[str, float]]]:
    """All calls, by name."""
    for name, call in calls.items():
        yield name, seconds_of(call, device)


def line(cell: dict[str, Any]) -> str:
    """A cell as one line, in microseconds."""
    parts = "".join(f"{1e6 * cell[part]:10.1f}" if part in cell else f"{'-':>10}" for part in COLUMNS)
    verdict = "  OVER" if cell["edges"] > LARGE and cell["outside"] > MOST_OUTSIDE else ""
    return f"{cell['graph']:<9}{cell['edges']:>10,} {cell['algorithm']:<12}{parts}{cell['outside']:8.1%}{verdict}"


def main(arguments: list[str] | None = None) -> None:
    """Measure all cells, and print a line for each, in microseconds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead", description=__doc__.partition("\n")[0])
    parser.add_argument("--graphs", default=",".join(GRAPHS), help="comma-separated (%(default)s)")
    parser.add_argument("--algorithms", default=",".join(FIRST), help=f"some of {', '.join(ALGORITHMS)} (%(default)s)")
    parser.add_argument("--engine", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--graphs-module", type=Path, help="a Python file that makes the graphs on the GPU")
    parser.add_argument("--commit", help="what to name as measured, where there is no git")
    parser.add_argument("--json", type=Path, help="write the figures, in seconds, to this file")
    options = parser.parse_args(arguments)
    generator = module_at(options.graphs_module)
    titles = "".join(f"{part:>10}" for part in COLUMNS)
    print(f"{'graph':<9}{'edges':>10} {'algorithm':<12}{titles} outside")
    report, kept = Report(provenance(options.engine, options.commit), {}, []), dict[tuple[str, str], dict[str, Any]]()
    for name in options.graphs.split(","):
        graph = load(name, options.engine, generator)
        calls = {algorithm: call_of(algorithm, graph) for algorithm in options.algorithms.split(",")}
        for algorithm, found in report.watch(name, partial(each, calls, options.engine)):
            kept[name, algorithm] = {"graph": name, "edges": graph.graph.m, "algorithm": algorithm, **found}
            print(line(kept[name, algorithm]), flush=True)
        if options.json:
            report.write(options.json, overhead=list(kept.values()))


if __name__ == "__main__":
    main()
