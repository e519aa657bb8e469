"""Compare gasla with what a user could install instead: same graphs, same machine, one interleaved run.

    python -m benchmarks.compare [--graphs rmat20,ny] [--algorithms bfs,sssp] [--peers scipy,graphblas] [--json FILE]

Every answer is compared before anything is timed: a wrong one is reported and not timed. (Where the numbers of
shortest paths overflow, on grids, peers answer with NaN or infinity for betweenness; those are timed all the same, and
marked.) Graphs are converted to each peer's own structures beforehand. The time of a cell is the median over the
rounds; in every round searches start from another of the graph's sources.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmarks import peers, products, programs
from benchmarks.answers import agree, comparable
from benchmarks.interleave import interleaved
from benchmarks.provenance import provenance
from gasla.bench import graphs
from gasla.bench.graphs import BenchmarkGraph

GRAPHS = ("rmat20", "urand20", "grid20", "ny")
CELLS = (*peers.ALGORITHMS, "mxv", "programs")
ROUNDS = 8  # one for every source
BUDGET = 20.0  # seconds a cell
BETWEENNESS_SOURCES = 4

# The largest ratio of gasla's time to the best peer's that is good enough.
BARS: dict[str, dict[str, float]] = {
    "rmat20": {"bfs": 0.60, "sssp": 0.25, "pagerank": 1.0, "components": 0.35, "triangles": 0.60, "betweenness": 1.0},
    "urand20": {"bfs": 0.70, "sssp": 0.60, "pagerank": 1.0, "components": 0.35},
    "grid20": {"bfs": 0.80, "sssp": 0.25, "pagerank": 0.90, "components": 0.25, "triangles": 0.20, "betweenness": 0.35},
    "ny": {"bfs": 0.85, "sssp": 0.35, "pagerank": 1.0, "components": 0.55, "triangles": 0.25, "betweenness": 0.60},
}
BAR_PRODUCT = 1.0  # mxv with plus_times beside SciPy's A @ x
BAR_SEMIRING = 1.15  # any other semiring beside plus_times
BAR_PROGRAM = 1.10  # a user's own program beside the library's function


class Entry(NamedTuple):
    """What one contestant did in one cell."""

    note: str  # "" where all went well, else why there are no times, or what is wrong with the answer
    seconds: list[float]


def bind(peer: Any, algorithm: str, sources: list[int]) -> Callable[[int], Any] | None:
    """Return the peer's algorithm as a function of the round, or None where it has none."""
    method = getattr(peer, algorithm, None)
    if method is None:
        return None
    if algorithm in ("bfs", "sssp"):
        return lambda number: method(sources[number % len(sources)])
    if algorithm == "betweenness":
        return lambda number: method(sources[:BETWEENNESS_SOURCES])
    return lambda number: method()


def check(algorithm: str, calls: dict[str, tuple[Any, Callable[[int], Any]]], sources: list[int]) -> dict[str, str]:
    """Call everyone once; return what is wrong with whose answer. A peer's first finite answer is the reference."""
    notes: dict[str, str] = {}
    answers: dict[str, np.ndarray] = {}
    for name, (peer, call) in calls.items():
        try:
            answers[name] = comparable(algorithm, peer.dense(call(0)), sources)
        except Exception as error:  # whatever a peer raises is its answer
            notes[name] = f"failed: {type(error).__name__}: {error}"
    finite = {n: a for n, a in answers.items() if algorithm != "betweenness" or np.isfinite(a).all()}
    reference = next((n for n in finite if n != "gasla"), next(iter(finite), None))
    for name in answers:
        if name not in finite:
            notes[name] = "overflows"
        elif not agree(algorithm, finite[name], finite[reference]):
            notes[name] = f"wrong: differs from {reference}"
    return notes


def cell(
    contestants: dict[str, Any], algorithm: str, sources: list[int], rounds: int, budget: float
) -> dict[str, Entry]:
    """Check, then time, one algorithm on one graph."""
    calls = {name: (peer, call) for name, peer in contestants.items() if (call := bind(peer, algorithm, sources))}
    notes = check(algorithm, calls, sources[:BETWEENNESS_SOURCES])
    timed = {name: call for name, (_, call) in calls.items() if notes.get(name, "overflows") == "overflows"}
    seconds = interleaved(timed, rounds, budget, keep=frozenset({"gasla"})) if timed else {}
    return {name: Entry(notes.get(name, ""), seconds.get(name, [])) for name in calls}


def summary(
    graph: str,
    algorithm: str,
    entries: dict[str, Entry],
    bar: float | None,
    own: str = "gasla",
    against: Collection[str] | None = None,
) -> dict[str, Any]:
    """Return the cell as it is kept: every run, the medians, the best of those compared with, the ratio and its bar."""
    medians = {name: median(entry.seconds) for name, entry in entries.items() if entry.seconds}
    others = {name: value for name, value in medians.items() if name != own and (against is None or name in against)}
    best = min(others, key=others.__getitem__, default=None)
    return {
        "graph": graph,
        "algorithm": algorithm,
        "own": own,
        "seconds": medians.get(own),
        "best": best,
        "best_seconds": others.get(best) if best else None,
        "ratio": medians[own] / others[best] if own in medians and best else None,
        "bar": bar,
        "entries": {name: entry._asdict() for name, entry in entries.items()},
    }


def line(result: dict[str, Any]) -> str:
    """Return a cell as one line of the table, what went wrong below it."""

    def number(value: float | None, scale: float, digits: int, width: int) -> str:
        return f"{'-' if value is None else format(value * scale, f'.{digits}f'):>{width}}"

    ratio, bar = result["ratio"], result["bar"]
    verdict = "" if ratio is None or bar is None else ("ok" if ratio <= bar else "OVER")
    row = (
        f"{result['graph']:<9}{result['algorithm']:<17}{number(result['seconds'], 1e3, 2, 10)}"
        f"{number(result['best_seconds'], 1e3, 2, 11)} {result['best'] or '':<10}"
        f"{number(ratio, 1, 3, 7)}{number(bar, 1, 2, 7)}  {verdict:<4}"
    )
    others = [
        f"{name} {median(entry['seconds']) * 1e3:.2f}"
        for name, entry in result["entries"].items()
        if entry["seconds"] and name not in (result["own"], result["best"])
    ]
    notes = [f"    {name}: {entry['note']}" for name, entry in result["entries"].items() if entry["note"]]
    return "\n".join([(row + ("  others: " + ", ".join(others) if others else "")).rstrip(), *notes])


def peer_cells(
    graph: BenchmarkGraph, contestants: dict[str, Any], algorithm: str, rounds: int, budget: float
) -> Iterator[dict[str, Any]]:
    """An algorithm: gasla beside the best peer."""
    entries = cell(contestants, algorithm, graph.sources, rounds, budget)
    yield summary(graph.name, algorithm, entries, BARS.get(graph.name, {}).get(algorithm))


def product_cells(graph: BenchmarkGraph, rounds: int, budget: float) -> Iterator[dict[str, Any]]:
    """`mxv`: plus_times beside SciPy, other semirings beside plus_times."""
    calls = products.contestants(graph)
    notes = products.wrong(graph, calls)
    right = {name: call for name, call in calls.items() if name not in notes}
    seconds = interleaved(right, rounds, budget, keep=frozenset(right))
    for name in products.SEMIRINGS:
        against, bar = ("scipy", BAR_PRODUCT) if name == "plus_times" else ("plus_times", BAR_SEMIRING)
        entries = {who: Entry(notes.get(who, ""), seconds.get(who, [])) for who in (name, against)}
        yield summary(graph.name, f"mxv {name}", entries, bar, own=name)


def program_cells(graph: BenchmarkGraph, rounds: int, budget: float) -> Iterator[dict[str, Any]]:
    """Programs of a user's own beside the library's functions."""
    contestants = programs.contestants(graph)
    for algorithm in programs.ALGORITHMS:
        entries = cell(contestants, algorithm, graph.sources, rounds, budget)
        yield summary(graph.name, f"own {algorithm}", entries, BAR_PROGRAM, own="user's own")


HEADER = f"{'graph':<9}{'algorithm':<17}{'ms':>10}{'best ms':>11} {'of':<10}{'ratio':>7}{'bar':>7}"


def _show(text: str) -> None:
    print(text, flush=True)


def run(
    graph_names: list[str],
    algorithms: list[str],
    peer_names: list[str],
    rounds: int = ROUNDS,
    budget: float = BUDGET,
    show: Callable[[str], Any] = _show,
) -> dict[str, Any]:
    """Measure all cells and show them as they come; return them with their provenance."""
    cells = []
    show(HEADER)
    for graph_name in graph_names:
        graph = graphs.load(graph_name)
        contestants: dict[str, Any] = {}
        for name in peer_names:
            try:
                contestants[name] = peers.make(name, graph)
            except ImportError as error:
                show(f"    {name} is left out: {error}")
        for algorithm in algorithms:
            if algorithm == "mxv":
                results = product_cells(graph, rounds, budget)
            elif algorithm == "programs":
                results = program_cells(graph, rounds, budget)
            else:
                results = peer_cells(graph, contestants, algorithm, rounds, budget)
            for result in results:
                cells.append(result)
                show(line(result))
    return {"provenance": provenance(), "threads": peers.THREADS, "cells": cells}


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, measure, and write the JSON file if one is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__.partition("\n")[0])
    parser.add_argument("--graphs", type=_names, default=list(GRAPHS), help="comma-separated (%(default)s)")
    parser.add_argument("--algorithms", type=_names, default=list(CELLS), help="comma-separated (%(default)s)")
    parser.add_argument("--peers", type=_names, default=list(peers.PEERS), help="comma-separated (%(default)s)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="at most (%(default)s)")
    parser.add_argument("--budget", type=float, default=BUDGET, help="seconds a cell, answers aside (%(default)s)")
    parser.add_argument("--json", type=Path, help="write every run and its provenance to this file")
    options = parser.parse_args(arguments)
    results = run(options.graphs, options.algorithms, options.peers, options.rounds, options.budget)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
