"""Measure the fraction of a call that is spent outside of kernels: in Python, launching kernels, waking threads.

    python -m benchmarks.overhead [--graphs rmat10,rmat20] [--algorithms bfs,sssp] [--engine gpu] [--json FILE]

(`--graphs-module FILE` as for `python -m benchmarks.gpu`.)

Kernels report their own time, on the GPU by CUDA events. `call` is the mean time in a sequence of calls; on the GPU the
stream is synchronized only after the last one, so the Python part of a call overlaps with the kernel of the previous
call. `alone` is the time on the GPU with synchronization after each call. On graphs of more than a million edges the
fraction should stay below 5%.
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
SECONDS = {"cpu": 0.3, "gpu": 0.1}  # duration of a sequence of calls
LEAST, MOST = 3, 500  # number of calls in a sequence
ROWS = 3  # number of sequences without synchronization
LARGE, MOST_OUTSIDE = 1_000_000, 0.05  # largest acceptable fraction outside of kernels, on graphs of more edges
COLUMNS = ("call", "alone", "kernel")

clock = time.perf_counter


def kernel_seconds(call: Callable[[], Any]) -> float:
    """The time of gasla's kernels in a call, by CUDA events."""
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
    """The mean time of a call in a sequence that is synchronized only at its end."""
    count = max(LEAST, min(MOST, int(SECONDS["gpu"] / alone)))
    finish("gpu")
    began = clock()
    for _ in range(count):
        call()
    finish("gpu")
    return (clock() - began) / count


def repeat(measure: Callable[[], Any], device: Device) -> list[Any]:
    """The results of repeated measurements."""
    began, found = clock(), []
    while len(found) < LEAST or (clock() - began < SECONDS[device] and len(found) < MOST):
        found.append(measure())
    return found


def seconds_of(call: Callable[[], Any], device: Device) -> dict[str, float]:
    """Medians of the time of a call, the time of its kernels, and the fraction outside of kernels."""

    def plain() -> float:
        began = clock()
        call()
        finish(device)
        return clock() - began

    plain()  # compiles, and builds neighbor lists
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
    """Measure all calls, by name."""
    for name, call in calls.items():
        yield name, seconds_of(call, device)


def line(cell: dict[str, Any]) -> str:
    """A result as one line, in microseconds."""
    parts = "".join(f"{1e6 * cell[part]:10.1f}" if part in cell else f"{'-':>10}" for part in COLUMNS)
    verdict = "  OVER" if cell["edges"] > LARGE and cell["outside"] > MOST_OUTSIDE else ""
    return f"{cell['graph']:<9}{cell['edges']:>10,} {cell['algorithm']:<12}{parts}{cell['outside']:8.1%}{verdict}"


def main(arguments: list[str] | None = None) -> None:
    """Measure all cases, and print one line for each, in microseconds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead", description=__doc__.partition("\n")[0])
    parser.add_argument("--graphs", default=",".join(GRAPHS), help="comma-separated (%(default)s)")
    parser.add_argument("--algorithms", default=",".join(FIRST), help=f"some of {', '.join(ALGORITHMS)} (%(default)s)")
    parser.add_argument("--engine", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--graphs-module", type=Path, help="a Python file that makes the graphs on the GPU")
    parser.add_argument("--commit", help="the commit to record, if git is not available")
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
