"""What it costs to go on: a ten-thousandth of a graph's edges come back, against a run from nothing.

    python -m benchmarks.changing [--graphs grid18] [--engine gpu] [--rounds 15] [--graphs-module FILE]

Both are run by turns on the graph with all its edges. `first` is the first run that goes on, on a graph just made by
`Graph.changed`, and `changed` the making of it. Answers are compared. The bar is a tenth of the run from nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np

import gasla
from benchmarks.gpu import made
from gasla.arrays import array_module, finish, moved
from gasla.bench.graphs import BenchmarkGraph
from gasla.bench.interleave import interleave
from gasla.graph.graph import Graph

PART, SEED, BAR = 1e-4, 28, 0.1
Calls = dict[str, Callable[..., Any]]  # of a graph, and with what an earlier call returned as `start`


def calls(source: int) -> Calls:
    """What is measured."""
    return {
        "bfs": lambda graph, **start: gasla.bfs(graph, source, **start),
        "bfs, parents": lambda graph, **start: gasla.bfs(graph, source, parents=True, **start),
        "sssp": lambda graph, **start: gasla.sssp(graph, source, **start),
        "sssp, parents": lambda graph, **start: gasla.sssp(graph, source, parents=True, **start),
        "components": lambda graph, **start: gasla.connected_components(graph, **start),
    }


def without_some(graph: Graph) -> tuple[Graph, tuple[Any, ...]]:
    """The graph without some pairs of edges to and fro, and these edges."""
    src, dst = (moved(ends, "cpu").astype(np.int64) for ends in graph.edges())
    forth = np.flatnonzero(src < dst)
    cut = np.random.default_rng(SEED).choice(forth, max(1, int(PART * len(forth))), replace=False)
    pairs = np.minimum(src, dst) * graph.n + np.maximum(src, dst)
    gone = np.flatnonzero(np.isin(pairs, pairs[cut]))
    xp = array_module(graph.out.indptr)
    edges = (src[gone], dst[gone], moved(graph.values, "cpu")[gone])
    return graph.changed(remove=xp.asarray(gone)), tuple(map(xp.asarray, edges))


def measure(given: BenchmarkGraph, rounds: int) -> None:
    """Print a line for each call."""
    before, edges = without_some(given.graph)
    source, device = given.sources[0], before.device
    for name, call in calls(source).items():
        start = call(before)
        after = before.changed(insert=edges)
        check(name, call(after), call(after, start=start))
        pair = {
            "nothing": partial(answer, device, call, after),
            "on": partial(answer, device, call, after, start=start),
        }
        took = interleave(pair, rounds, 60.0, keep=frozenset(pair))
        nothing, on = (median(took[way]) for way in pair)
        making, first = [], []
        for _ in range(min(rounds, 7)):
            began = time.perf_counter()
            fresh = before.changed(insert=edges)
            finish(device)
            making.append(time.perf_counter() - began)
            began = time.perf_counter()
            answer(device, call, fresh, start=start)
            first.append(time.perf_counter() - began)
        verdict = "ok" if on <= BAR * nothing else "OVER"
        times = f"nothing {1e3 * nothing:9.3f} ms  on {1e3 * on:8.3f} ms"
        row = f"{given.name:<10}{name:<16}{len(edges[0]):>7} edges  {times}"
        rest = f"first {1e3 * median(first):8.3f} ms  changed {1e3 * median(making):8.3f} ms"
        print(f"{row}  {on / nothing:6.3f} {verdict:<5}{rest}", flush=True)


def answer(device: Any, call: Callable[..., Any], graph: Graph, _: int = 0, **start: Any) -> Any:
    """The answer, once it is there."""
    found = call(graph, **start)
    finish(device)
    return found


def check(name: str, right: Any, found: Any) -> None:
    """Refuse other levels, distances or labels; parents may be others."""
    pairs = zip(right, found) if isinstance(right, tuple) else [(right, found)]
    for part, (a, b) in enumerate(pairs):
        if "parents" in name and part == 1:
            a, b = a < 0, b < 0
        if not np.array_equal(moved(a, "cpu"), moved(b, "cpu")):
            raise AssertionError(f"{name}: what went on differs from a run from nothing")


def main() -> None:
    """Measure every graph."""
    for graph, rounds in made.asked_for(__doc__, "grid18", 15):
        measure(graph, rounds)


if __name__ == "__main__":
    main()
