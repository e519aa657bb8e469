"""Measure the fraction of a call that is spent outside of kernels: in Python, launching kernels, waking threads.

    python -m benchmarks.overhead [--graphs rmat10,rmat20] [--algorithms bfs,sssp] [--device gpu] [--json FILE]

(`--graphs-module FILE` as for `python -m benchmarks.gpu`.)

`--turns` compares all threads with one instead, by turns, and prints what a cache line and a barrier cost meanwhile.
Start it several times: these costs depend on where a hypervisor has placed the cores.

Kernels report their own time, on the GPU by CUDA events. `call` is the mean time in a sequence of calls; on the GPU the
stream is synchronized only after the last one, so the Python part of a call overlaps with the kernel of the previous
call. `alone` is the time on the GPU with synchronization after each call. On graphs of more than a million edges the
fraction should stay below 5%.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise, product
from statistics import median
from typing import Any
from unittest import mock

import gasla
from benchmarks.script import Script, command
from gasla.arrays import Device
from gasla.bench import tasks
from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.runner import by_turns, repeated, timed
from gasla.cpu.runtime import threads, workers

GRAPHS = ("rmat10", "grid10", "rmat16", "grid20", "rmat20", "urand20", "ny")
FIRST = ("bfs", "levels", "sssp", "pagerank", "components", "triangles", "betweenness", "mxv")
SECONDS = {"cpu": 0.3, "gpu": 0.1}  # duration of a sequence of calls
LEAST, MOST = 3, 500  # number of calls in a sequence
ROWS = 3  # number of sequences without synchronization
LARGE, MOST_OUTSIDE = 1_000_000, 0.05  # largest acceptable fraction outside of kernels, on graphs of more edges
COLUMNS = ("call", "alone", "kernel")


def call_of(algorithm: str, graph: BenchmarkGraph) -> Callable[[], Any]:
    """Return the call of `gasla bench`, with the first source of the graph, or with several."""
    call = tasks.bind(tasks.Gasla(graph), algorithm, graph.sources, tasks.sources_of(graph, algorithm))
    if call is None:
        raise ValueError(f"{algorithm} takes too much memory on {graph.name}")
    return lambda: call(0)


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
    return timed(lambda: [call() for _ in range(count)] and None, "gpu")[0] / count


def seconds_of(call: Callable[[], Any], device: Device) -> dict[str, float]:
    """Medians of the time of a call, the time of its kernels, and the fraction outside of kernels."""
    enough: Any = {"rounds": MOST, "budget": SECONDS[device], "least": LEAST}
    timed(call, device)  # compiles, and builds neighbor lists
    found = {"call": median(repeated(call, **enough, device=device))}
    if device == "gpu":
        found["alone"] = found["call"]
        found["call"] = median(seconds_in_a_row(call, found["alone"]) for _ in range(ROWS))
        kernels: list[float] = []
        repeated(lambda: kernels.append(kernel_seconds(call)), **enough, device=device)
        found["kernel"] = median(kernels)
        return found | {"outside": max(0.0, 1 - found["kernel"] / found["call"])}
    with threads.time_kernels() as spent:
        call()

        def marked() -> None:
            call()
            marks.append(spent())

        marks = [spent()]
        seconds = repeated(marked, **enough)
    in_kernels = [1e-9 * (after - before) for before, after in pairwise(marks)]
    found["kernel"] = median(in_kernels)
    return found | {"outside": median(1 - kernel / each for kernel, each in zip(in_kernels, seconds))}


def by_threads(call: Callable[[], Any]) -> list[float]:
    """Medians of the time of a call on one thread and on all, called by turns."""
    most = gasla.get_num_threads()

    def before(name: str) -> None:
        gasla.set_num_threads(int(name))
        call()

    try:
        counts = dict.fromkeys(("1", str(most)), lambda _: call())
        found = by_turns(counts, MOST, SECONDS["cpu"], least=LEAST, before=before)
    finally:
        gasla.set_num_threads(most)
    return [median(seconds) for seconds in found.values()]


def say_turns(script: Script) -> None:
    """Say the times of all calls on one thread and on all, in milliseconds, and the costs of sharing."""
    script.say(f"{'graph':<9} {'algorithm':<20}{'one':>10}{'all':>10}  ratio  line, ns  barrier, ns")
    for name, algorithm in product(script.options.graphs, script.options.algorithms):
        one, every = by_threads(call_of(algorithm, script.load(name)))
        costs = f"{workers.pool[workers.LINE]:>10}{workers.pool[workers.BARRIER]:>13}"
        script.say(f"{name:<9} {algorithm:<20}{1e3 * one:10.3f}{1e3 * every:10.3f}{every / one:7.2f}{costs}")


def line(cell: dict[str, Any]) -> str:
    """A result as one line, in microseconds."""
    parts = "".join(f"{1e6 * cell[part]:10.1f}" if part in cell else f"{'-':>10}" for part in COLUMNS)
    verdict = "  OVER" if cell["edges"] > LARGE and cell["outside"] > MOST_OUTSIDE else ""
    return f"{cell['graph']:<9}{cell['edges']:>10,} {cell['algorithm']:<12}{parts}{cell['outside']:8.1%}{verdict}"


def main(arguments: list[str] | None = None) -> None:
    """Measure all cases, and print one line for each, in microseconds."""
    defaults = {"graphs": ",".join(GRAPHS), "algorithms": ",".join(FIRST)}
    parser = command(__doc__, "device", "graphs_module", "commit", "output", "json", **defaults)
    parser.add_argument("--turns", action="store_true", help="compare all threads with one, on the CPU")
    script = Script(parser, arguments, "overhead")
    if script.options.turns:
        say_turns(script)
        return
    titles = "".join(f"{part:>10}" for part in COLUMNS)
    script.say(f"{'graph':<9}{'edges':>10} {'algorithm':<12}{titles} outside")
    for name in script.options.graphs:
        graph = script.load(name)
        calls = {algorithm: call_of(algorithm, graph) for algorithm in script.options.algorithms}

        def each(calls: dict[str, Callable[[], Any]] = calls) -> Iterator[tuple[str, dict[str, float]]]:
            return ((algorithm, seconds_of(call, script.device)) for algorithm, call in calls.items())

        for algorithm, found in script.report.watch(name, each):
            cell = {"graph": name, "edges": graph.graph.m, "algorithm": algorithm, **found}
            script.say(line(cell), (name, algorithm), **cell)


if __name__ == "__main__":
    main()
