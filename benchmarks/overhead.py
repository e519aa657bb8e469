"""Where the time of a call goes: which part is spent outside the kernels, in Python, and on what.

    python -m benchmarks.overhead [--graphs rmat10,rmat20] [--algorithms bfs,sssp] [--engine gpu] [--json FILE]

(`--graphs-module FILE` as for `python -m benchmarks.gpu`.)

A call passes through these, and each counts without those inside it:

arguments   the function itself: checks, conversions, arrays that a run starts with, whatever NumPy does in between
binding     fields and workspace of a run are made; at first, all that runs of the program on the graph have in common
start       the frontier, and the first direction
launch      arguments of the kernel; on the CPU threads wake, and the last one reports
kernel      compiled code, from the first thread's start to the last one's end; on the GPU, by its own clock
result      fields, aggregates and frontier handed out

`call` is the time of an unwatched call. On the GPU that is one of a row of calls at whose end the stream is waited for
once, as some return before their kernel has ended: then Python's part of the next passes meanwhile. `alone` is the time
of a call that is waited for, in which the parts are watched; the host mostly waits, and `waiting` is that.

The last is the share of a call outside the kernels; on graphs of over a million edges it should stay below 5%. To watch
the parts takes time itself, more than a microsecond a part after a kernel that used all caches: for the share nothing
is watched, and kernels tell how long they took; on the GPU in calls that are waited for.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import gasla
from benchmarks.gpu import made
from benchmarks.suite import ALGORITHMS, call_of, load
from gasla.arrays import finish
from gasla.bench.reports.provenance import provenance
from gasla.bench.reports.report import Report
from gasla.cpu.program.prepared import Prepared
from gasla.cpu.runtime import threads
from gasla.operations import prepare

GRAPHS = ("rmat10", "grid10", "rmat16", "grid20", "rmat20", "urand20", "ny")
PARTS = ("arguments", "binding", "start", "launch", "kernel", "waiting", "result")
SECONDS = {"cpu": 0.3, "gpu": 0.1}  # for each row of calls: watched, not watched, and on a GPU by its clock
LEAST, MOST = 3, 500  # calls
ROWS = 3  # of calls that nobody waits for
FUNCTIONS = ("bfs", "sssp", "pagerank", "connected_components", "triangle_count", "betweenness_centrality")
LARGE, MOST_OUTSIDE = 1_000_000, 0.05  # on graphs of more edges at most this share of a call

clock = time.perf_counter


class Watch:
    """Sums up the time of each part; a part inside another interrupts it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._part, self._since = "arguments", clock()

    def enter(self, part: str) -> str:
        """Let the time from now on count for this part; returns the one before."""
        now = clock()
        self.seconds[self._part] += now - self._since
        before, self._part, self._since = self._part, part, now
        return before

    def move(self, seconds: float, part: str, into: str) -> None:
        """Count some of one part's time as another's."""
        self.seconds[part] -= seconds
        self.seconds[into] += seconds

    def counting(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, its time counted for a part."""

        @wraps(function)
        def counted(*arguments: Any, **options: Any) -> Any:
            before = self.enter(part)
            try:
                return function(*arguments, **options)
            finally:
                self.enter(before)

        return counted

    def with_kernel(self, launch: Callable[..., Any], spent: Callable[[], int]) -> Callable[..., Any]:
        """A launch on the CPU, but for the time that its kernel runs on any thread; `spent` tells that of all."""

        def launched(*arguments: Any, **options: Any) -> Any:
            before = spent()
            found = launch(*arguments, **options)
            self.move(1e-9 * (spent() - before), "launch", "kernel")
            return found

        return self.counting("launch", launched)


@contextmanager
def watching_cpu(watch: Watch) -> Iterator[None]:
    """Have the engine tell what it is at."""
    parts = {"begin": "binding", "_activate": "start", "_follow": "start", "advance": "launch", "call": "launch"}
    with ExitStack() as stack:
        spent = stack.enter_context(threads.time_kernels())
        _count(watch, stack, Prepared, parts)
        _count(watch, stack, prepare, {"left_by": "result"})
        stack.enter_context(mock.patch.object(threads, "launch", watch.with_kernel(threads.launch, spent)))
        yield


@contextmanager
def watching_gpu(watch: Watch) -> Iterator[None]:
    """The same for the other engine."""
    from gasla.gpu.program import engine as gpu
    from gasla.gpu.runtime import compile as kernels

    parts = {"__init__": "binding", "activate": "start", **dict.fromkeys(("advance", "launch", "finish"), "launch")}
    with ExitStack() as stack:
        _count(watch, stack, gpu.Run, parts | {"_wait": "waiting", "state": "result"})
        _count(watch, stack, prepare, {"left_by": "result"})
        _count(watch, stack, kernels.Kernel, {"plain": "launch", "cooperative": "launch"})
        yield


def _count(watch: Watch, stack: ExitStack, owner: Any, parts: dict[str, str]) -> None:
    """Let functions of an owner count for a part each, while the stack is open."""
    for name, part in parts.items():
        stack.enter_context(mock.patch.object(owner, name, watch.counting(part, getattr(owner, name))))


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

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(kernels.Kernel, "launch", between_events(kernels.Kernel.launch)))
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


def repeat(measure: Callable[[], Any], device: str) -> list[Any]:
    """What some measurements give."""
    began, found = clock(), []
    while len(found) < LEAST or (clock() - began < SECONDS[device] and len(found) < MOST):
        found.append(measure())
    return found


def parts_of(call: Callable[[], Any], device: str) -> dict[str, float]:
    """The time of a call in seconds, and of its parts: medians."""

    def plain() -> float:
        began = clock()
        call()
        finish(device)  # type: ignore[arg-type]
        return clock() - began

    def watched(watching: Callable[[Watch], Any]) -> list[dict[str, float]]:
        """One call after the other, as unwatched ones: what comes between them leaves threads asleep."""
        watch = Watch()

        def once() -> dict[str, float]:
            watch.enter("arguments")
            watch.seconds.clear()
            call()
            watch.enter("waiting")
            finish(device)  # type: ignore[arg-type]
            watch.enter("end")
            return dict(watch.seconds)

        with watching(watch):
            once()
            return repeat(once, device)

    plain()  # compiles, and builds what the graph lacks
    found = {"call": median(repeat(plain, device))}
    seen = watched(watching_cpu if device == "cpu" else watching_gpu)
    found |= {part: median(one.get(part, 0.0) for one in seen) for part in PARTS}
    if device == "gpu":
        found["alone"] = found["call"]
        found["call"] = median(seconds_in_a_row(call, found["alone"]) for _ in range(ROWS))
        found["kernel"] = median(repeat(lambda: kernel_seconds(call), device))
        found["outside"] = max(0.0, 1 - found["kernel"] / found["call"])
    else:
        with threads.time_kernels() as spent:

            def outside() -> float:
                before, began = spent(), clock()
                call()
                seconds = clock() - began
                return 1 - 1e-9 * (spent() - before) / seconds

            outside()
            found["outside"] = median(repeat(outside, device))
    return found


def main(arguments: list[str] | None = None) -> None:
    """Measure all cells, and print a line for each, in microseconds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead", description=__doc__.partition("\n")[0])
    parser.add_argument("--graphs", default=",".join(GRAPHS), help="comma-separated (%(default)s)")
    parser.add_argument("--algorithms", default=",".join([*ALGORITHMS, "mxv"]), help="comma-separated (%(default)s)")
    parser.add_argument("--engine", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--graphs-module", type=Path, help="a Python file that makes the graphs on the GPU")
    parser.add_argument("--commit", help="what to name as measured, where there is no git")
    parser.add_argument("--json", type=Path, help="write the figures, in seconds, to this file")
    options = parser.parse_args(arguments)
    generator = made.module_at(options.graphs_module)
    print(
        f"{'graph':<9}{'edges':>10} {'algorithm':<12}",
        *(f"{part:>10}" for part in columns(options.engine)),
        "outside",
        sep="",
    )
    report, kept = Report(provenance(options.engine, options.commit), {}, []), dict[tuple[str, str], dict[str, Any]]()
    for name in options.graphs.split(","):
        benchmark = made.load(name, generator) if generator else load(name, options.engine)
        graph = benchmark.graph
        product = partial(gasla.mxv, graph, graph.values[: graph.n])
        calls = {
            algorithm: product if algorithm == "mxv" else of_gasla(call_of(algorithm, benchmark))
            for algorithm in options.algorithms.split(",")
        }
        for algorithm, found in report.watch(name, partial(each, calls, options.engine)):
            kept[name, algorithm] = {"graph": name, "edges": graph.m, "algorithm": algorithm, **found}
            print(line(kept[name, algorithm]), flush=True)
        if options.json:
            report.write(options.json, overhead=list(kept.values()))


def each(calls: dict[str, Callable[[], Any]], device: str) -> Iterator[tuple[str, dict[str, float]]]:
    """The parts of all calls, by name."""
    for name, call in calls.items():
        yield name, parts_of(call, device)


def of_gasla(call: Callable[[], Any]) -> Callable[[], Any]:
    """What a call of `gasla bench` calls of gasla's, without the functions of the benchmark that lead there."""
    with mock.patch.multiple(gasla, **dict.fromkeys(FUNCTIONS, mock.DEFAULT)) as watched:
        call()
    [(name, wanted)] = [(name, one.call_args) for name, one in watched.items() if one.called]
    return partial(getattr(gasla, name), *wanted.args, **wanted.kwargs)


def columns(engine: str) -> tuple[str, ...]:
    """What is measured of a call."""
    return ("call", *(["alone"] if engine == "gpu" else []), *PARTS)


def line(cell: dict[str, Any]) -> str:
    """A cell as one line, in microseconds."""
    parts = "".join(f"{1e6 * cell[part]:10.1f}" for part in columns("gpu" if "alone" in cell else "cpu"))
    verdict = "  OVER" if cell["edges"] > LARGE and cell["outside"] > MOST_OUTSIDE else ""
    return f"{cell['graph']:<9}{cell['edges']:>10,} {cell['algorithm']:<12}{parts}{cell['outside']:8.1%}{verdict}"


if __name__ == "__main__":
    main()
